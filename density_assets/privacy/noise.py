"""Sources of noise: one for releases, one for studies and tests, behind the same four methods.

Releases draw from OpenDP: cryptographic randomness, noise on a lattice (no floating-point leaks), and no seed, which
is right. Before each draw OpenDP must agree that its measurement costs no more than the event that is charged. Studies
and tests draw from a seeded numpy generator; everything drawn so is stamped as a simulation and can never leave as a
release.
"""

import math
import os
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from opendp.domains import atom_domain, vector_domain
from opendp.measurements import make_gaussian, make_laplace, make_noisy_max
from opendp.measures import zero_concentrated_divergence
from opendp.metrics import l1_distance, l2_distance, linf_distance
from opendp.mod import Measurement, enable_features

from density_assets.privacy.events import Gaussian, Laplace, LaplaceVector, Selection
from density_assets.series import Floats
from density_assets.threads import in_turn

enable_features("contrib")

Integers = NDArray[np.int64]

# OpenDP rounds every step of its privacy maps upwards, so it may be a few last digits above a cost it agrees with.
LAST_DIGITS = 1 + 1e-12
BATCH = 5_000  # values drawn at once by one thread: some fifty milliseconds of exact noise
ROUNDING_IS_FINE = 1_000.0  # a rounded normal of this sigma has a variance too large by one part in ten million


class Noise(Protocol):
    """Draws what an event describes."""

    @property
    def simulation(self) -> bool:
        """Whether draws can be repeated by whoever knows a seed; such draws are never released."""

    def gaussian(self, values: Floats, event: Gaussian) -> Floats:
        """Values plus Gaussian noise."""

    def laplace(self, values: Floats, event: Laplace | LaplaceVector) -> Floats:
        """Values plus Laplace noise."""

    def discrete_gaussian(self, values: Integers, event: Gaussian) -> Integers:
        """Integers plus integer noise with probabilities in proportion to exp(-x²/(2 sigma²))."""

    def select(self, scores: Floats, event: Selection) -> Integers:
        """For each row the column drawn by the exponential mechanism; small scores are good."""


class MoreThanCharged(RuntimeError):
    """OpenDP says that a draw would cost more than its event: nothing was drawn."""


class OpenDpNoise:
    """Noise for releases.

    Guarantees: `privacy map(sensitivity) ≤ cost of the event` for each measurement, by OpenDP's own proof, or no draw.
    """

    simulation = False

    def gaussian(self, values: Floats, event: Gaussian) -> Floats:
        domain, metric = vector_domain(atom_domain(T=float, nan=False)), l2_distance(T=float)
        measurement = make_gaussian(domain, metric, scale=event.sigma)
        return _applied(_agreed(measurement, event, event.rho), _finite(values))

    def laplace(self, values: Floats, event: Laplace | LaplaceVector) -> Floats:
        """OpenDP bounds changes in L1. Where the event's bound is in L2 it agrees that all of it on one value costs
        sensitivity/scale; that squares add up over values is the event's own proof.
        """
        domain, metric = vector_domain(atom_domain(T=float, nan=False)), l1_distance(T=float)
        measurement = make_laplace(domain, metric, scale=event.scale)
        return _applied(_agreed(measurement, event, event.sensitivity / event.scale), _finite(values))

    def discrete_gaussian(self, values: Integers, event: Gaussian) -> Integers:
        domain, metric = vector_domain(atom_domain(T="i64")), l2_distance(T=float)
        measurement = make_gaussian(domain, metric, scale=event.sigma)
        return _applied(_agreed(measurement, event, event.rho), _integers(values))

    def select(self, scores: Floats, event: Selection) -> Integers:
        domain, metric = vector_domain(atom_domain(T=float, nan=False)), linf_distance(T=float)
        noisy_max = make_noisy_max(domain, metric, zero_concentrated_divergence(), scale=event.scale)
        largest = _agreed(noisy_max, event, event.rho)
        return np.array([largest(row) for row in -_finite(scores)], dtype=np.int64)


class SimulatedNoise:
    """Noise for studies and tests: the same distributions, from a seed."""

    simulation = True

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)

    def gaussian(self, values: Floats, event: Gaussian) -> Floats:
        return _finite(values) + self._random.normal(0, event.sigma, values.shape)

    def laplace(self, values: Floats, event: Laplace | LaplaceVector) -> Floats:
        return _finite(values) + self._random.laplace(0, event.scale, values.shape)

    def discrete_gaussian(self, values: Integers, event: Gaussian) -> Integers:
        return _integers(values) + _discrete_gaussian(self._random, event.sigma, values.shape)

    def select(self, scores: Floats, event: Selection) -> Integers:
        gumbel = self._random.gumbel(0, event.scale, scores.shape)
        best: Integers = np.argmax(gumbel - _finite(scores), axis=1)
        return best


def _discrete_gaussian(random: np.random.Generator, sigma: float, shape: tuple[int, ...]) -> Integers:
    """From the probabilities where they differ from those of a rounded normal, else from that."""
    if sigma > ROUNDING_IS_FINE:
        return np.rint(random.normal(0, sigma, shape)).astype(np.int64)
    support = np.arange(-math.ceil(12 * sigma) - 1, math.ceil(12 * sigma) + 2)
    weight = np.exp(-(support**2) / (2 * sigma**2))
    drawn = random.choice(len(support), size=shape, p=weight / weight.sum())
    return support[drawn]


def _agreed(
    measurement: Measurement, event: Gaussian | Laplace | LaplaceVector | Selection, cost: float
) -> Measurement:
    """The measurement, if OpenDP maps the event's sensitivity to at most its cost, in the measure it knows it by."""
    if not measurement.check(float(event.sensitivity), cost * LAST_DIGITS):
        raise MoreThanCharged(
            f"noise on {event.query!r} must cost at most {cost:g} at sensitivity {event.sensitivity:g}, but OpenDP "
            "says it costs more. Nothing was drawn; the software is at fault"
        )
    return measurement


def _applied(measurement: Measurement, values: NDArray[Any]) -> NDArray[Any]:
    """Values with noise, drawn on all cores: OpenDP lets go of the interpreter while it samples.

    Every value gets noise of its own, independent of all others, so the draws of parts of a vector, put together, are
    a draw of the whole, and cost what the measurement says of the whole.
    """
    parts = np.array_split(values.reshape(-1), 1 + values.size // BATCH)
    noisy = in_turn(lambda part: np.asarray(measurement(part), dtype=values.dtype), parts, os.cpu_count())
    return np.concatenate(list(noisy)).reshape(values.shape)


def _finite(values: Floats) -> Floats:
    if not np.isfinite(values).all():
        raise ValueError(f"noise is added to finite numbers only, got {np.count_nonzero(~np.isfinite(values))} others")
    return np.array(values, dtype=np.float64)  # a copy of our own: OpenDP refuses read-only arrays


def _integers(values: Integers) -> Integers:
    if not np.issubdtype(values.dtype, np.integer):
        raise ValueError(f"discrete noise is added to integers only, got {values.dtype}")
    return np.array(values, dtype=np.int64)
