"""Does a sample look like the noise an event claims? Used by the tests, and by the tests of the tests."""

import numpy as np
from scipy.stats import kstest, laplace, norm

from density_assets.privacy.events import Event, Gaussian, Laplace

SURE = 1e-6  # a correct sampler fails once in a million runs


def fits(sample: np.ndarray, event: Event) -> bool:
    """Whether the sample has the distribution and the scale of the event, and no value repeats suspiciously."""
    assert isinstance(event, Gaussian | Laplace)
    claimed = norm(0, event.sigma) if isinstance(event, Gaussian) else laplace(0, event.scale)
    flat = np.asarray(sample, dtype=float).reshape(-1)
    return bool(kstest(flat, claimed.cdf).pvalue > SURE) and not repeats(sample)


def repeats(sample: np.ndarray) -> bool:
    """Whether noise was drawn once and used twice: continuous values hardly ever coincide by chance."""
    flat = np.asarray(sample, dtype=float).reshape(-1)
    return len(np.unique(flat)) < 0.99 * len(flat)
