"""Jensen–Shannon divergence and distance between shares of places, natural logarithm.

JSD(p, q) = (KL(p‖m) + KL(q‖m)) / 2 with m = (p+q)/2, in nats: 0 to ln 2 = 0.693. The distance is its square root,
0 to 0.833. A side without mass has no shares, all of them 0: two such sides agree, and one beside a map with mass is
at ln 2 / 2 = 0.347, a distance of 0.589.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import rel_entr

from density_assets.research.metrics.pairs import Floats, paired, shares


def js_divergence_of_totals(true: NDArray[Any], estimate: NDArray[Any]) -> float:
    """Divergence of the frequencies of places, from one total per place (Acs & Castelluccia 2014, Fig. 6a)."""
    true, estimate = paired(true, estimate)
    if true.ndim != 1:
        raise ValueError(f"totals must be one number per place, got shape {true.shape}")
    return float(_divergences(true[:, None], estimate[:, None])[0])


def js_distance_per_slot(true: NDArray[Any], estimate: NDArray[Any]) -> Floats:
    """Distance of the two maps of each column; where both have mass, that of scipy's `jensenshannon`."""
    true, estimate = paired(true, estimate)
    return np.sqrt(_divergences(true, estimate))


def js_distance(true: NDArray[Any], estimate: NDArray[Any]) -> float:
    """The published "JS" of Pyrgelis et al., who call it a divergence: the mean distance over slots.

    Slots that a defence empties count 0.589. The tables have it so: with nearly everything suppressed (SSC, k = 160)
    they print 0.595, and slots of which anything is left are further away than that.
    """
    return float(js_distance_per_slot(true, estimate).mean())


def _divergences(true: Floats, estimate: Floats) -> Floats:
    p, q = shares(true), shares(estimate)
    middle = (p + q) / 2
    divergences: Floats = (rel_entr(p, middle) + rel_entr(q, middle)).sum(axis=0) / 2
    return np.maximum(divergences, 0)  # rounding can leave -1e-17
