"""The eleven defenses of Pyrgelis et al., §4, each with the parameters they tried: one line each.

A defense maps groups of users to what would be released of each, over the original regions of interest and hours, so
that attack and utility look at the same numbers. The adversary knows the defense and trains on its outcome.

Generalisation tells less precisely where (SPG), when (TG) or how many (DGFR, DGAR). Merged regions of interest (ROIs)
and slots count users, not points: who was in two merged ROIs counts once. The series is then spread back over the ROIs
and hours it stands for, because utility is measured there. Both follow from the published tables: with one ROI for all
of San Francisco, MRE is 168.6/125 of that of the constant 125, and 168.6 is how many of 250 cabs are active in a mean
hour. Hiding leaves points out (SSC, SLP, SMP); perturbation adds noise to small counts (PSC) or to Fourier coefficients
(FPA).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from density_assets.research.traces.matrix import Matrix, Traces, group_sums, trace_matrix
from density_assets.research.traces.recipe import Recipe
from density_assets.series import Ints

Aggregates = NDArray[np.float32]  # (groups, rois, hours)


@dataclass(frozen=True)
class Groups:
    """Groups of users of one week.

    members: groups x users, ones; a release is made of each row.
    sampled_with: the seed of defenses that sample every user's points once, so that all releases are of the same
    points; without one each release samples anew.
    """

    traces: Traces
    members: Matrix
    sampled_with: tuple[int, ...] | None = None

    @cached_property
    def counts(self) -> Aggregates:
        """The true aggregates: users per group, ROI and hour."""
        sums = group_sums(self.members, self.traces.matrix)
        return sums.reshape(len(sums), self.traces.rois, self.traces.hours)

    @property
    def size(self) -> int:
        """Users in the largest group: no count exceeds it."""
        return int(np.asarray(self.members.sum(axis=1)).max())

    @property
    def norm(self) -> float:
        """The largest L2 norm of one user's traces: the root of the number of points."""
        return float(np.sqrt(np.diff(self.traces.matrix.indptr).max(initial=1)))

    def among(self, traces: Traces) -> "Groups":
        """The same groups with other traces of the same users."""
        return replace(self, traces=traces)


# --- generalisation --------------------------------------------------------------------------------------------------


def merged_places(traces: Traces, label: Ints) -> Traces:
    """Traces over merged ROIs; the merged ROI lies amid its parts.

    label: the merged ROI of each ROI, numbered from 0.
    """
    user, roi, hour = traces.points()
    size = int(label.max()) + 1
    share = np.bincount(label, minlength=size)
    middle = [np.bincount(label, weights=axis, minlength=size) / share for axis in traces.positions.T]
    coarse = Traces(traces.matrix, traces.users, traces.hours, np.stack(middle, axis=1))
    return trace_matrix(coarse, user, label[roi], hour, traces.hours)


def merged_slots(traces: Traces, length: int) -> Traces:
    """Traces over slots of `length` hours; the last may be shorter."""
    user, roi, hour = traces.points()
    return trace_matrix(traces, user, roi, hour // length, -(-traces.hours // length))


def grid_labels(rows: int, columns: int, coarse: int) -> Ints:
    """The cell of a coarse x coarse grid that each cell of a grid lies in, numbered row by row."""
    row, column = np.divmod(np.arange(rows * columns), columns)
    return np.asarray(row * coarse // rows * coarse + column * coarse // columns)


def neighbour_labels(positions: NDArray[np.float64], size: int) -> Ints:
    """Groups of `size` ROIs near each other: each ROI left, in order, takes the nearest others left."""
    label = np.full(len(positions), -1)
    for number in range(-(-len(positions) // size)):
        left = np.flatnonzero(label < 0)
        away = np.linalg.norm(positions[left] - positions[left[0]], axis=1)
        label[left[np.argsort(away, kind="stable")[:size]]] = number
    return label


def fixed_ranges(counts: Aggregates, length: int) -> Aggregates:
    """Each count becomes the middle of its range of `length` numbers: 0 … length-1, length … (DGFR).

    The middle is rounded down to a whole number, as the published errors have it (1 for two numbers, 2 for five).
    """
    return np.asarray(counts // length * length + length // 2, dtype=np.float32)


def adaptive_ranges(counts: Aggregates, buckets: int) -> Aggregates:
    """Ranges between the smallest and the largest count of each series, about `buckets` of them (DGAR).

    The range is a whole number, at least 1, so series of few different counts stay as they are; the largest count
    begins a range of its own, which is why a single bucket still has a correlation in the published tables.
    """
    least = counts.min(axis=-1, keepdims=True)
    length = np.maximum((counts.max(axis=-1, keepdims=True) - least) // buckets, 1)
    return np.asarray(least + (counts - least) // length * length + length // 2, dtype=np.float32)


# --- hiding ----------------------------------------------------------------------------------------------------------


def suppress_small(counts: Aggregates, least: float) -> Aggregates:
    """Counts below `least` become 0 (SSC)."""
    return np.where(counts < least, np.float32(0), counts)


def suppress_unpopular(counts: Aggregates, share: float) -> Aggregates:
    """Counts of unpopular regions of interest (ROIs) in unpopular slots become 0 (SLP).

    share: how many of the ROIs, and of the slots, are unpopular: those with the smallest sums, the first among equals.
    Both must be unpopular: in the published tables the busiest ROIs lose nothing, whatever the share.
    """
    places = _lowest(counts.sum(axis=-1), share)[..., :, None]
    slots = _lowest(counts.sum(axis=-2), share)[..., None, :]
    return np.where(places & slots, np.float32(0), counts)


def _lowest(sums: Aggregates, share: float) -> NDArray[np.bool_]:
    rank = np.argsort(np.argsort(sums, axis=-1, kind="stable"), axis=-1)
    return np.asarray(rank < round(share * sums.shape[-1]))


def sample_points(traces: Traces, share: float, rng: np.random.Generator) -> Traces:
    """Without `share` of each user's points (rounded), drawn at random (SMP)."""
    user, roi, hour = traces.points()
    order = np.lexsort((rng.random(len(user)), user))
    sizes = np.diff(traces.matrix.indptr)
    rank = np.arange(len(user)) - np.repeat(traces.matrix.indptr[:-1], sizes)
    kept = np.sort(order[rank >= np.rint(share * sizes)[user]])
    return trace_matrix(traces, user[kept], roi[kept], hour[kept], traces.hours)


def thin(counts: Aggregates, share: float, rng: np.random.Generator) -> Aggregates:
    """Aggregates of points each of which is left out with chance `share`: SMP afresh for every aggregate.

    The same as `sample_points` but for the number left out per user, which is `share` on average only. An attack needs
    thousands of aggregates; sampling the traces of each would take a hundred times longer.
    """
    kept = np.zeros(counts.shape, dtype=np.float32)
    some = counts > 0
    kept[some] = rng.binomial(counts[some].astype(np.int64), 1.0 - share)
    return kept


# --- perturbation ----------------------------------------------------------------------------------------------------


def perturb_small(counts: Aggregates, below: float, epsilon: float, rng: np.random.Generator) -> Aggregates:
    """Laplace noise of scale 1/epsilon on counts below a threshold, negative results to 0 (PSC).

    Clipped, as the published errors have it: with noise of mean size 10 they are those of the constant 5.
    """
    noise = rng.laplace(0.0, 1.0 / epsilon, counts.shape)
    return np.where(counts < below, np.maximum(counts + noise, 0.0), counts).astype(np.float32)


def perturb_fourier(
    counts: Aggregates, epsilon: float, norm: float, coefficients: int, most: float, rng: np.random.Generator
) -> Aggregates:
    """The first Fourier coefficients of each series with Laplace noise, the others dropped (FPA).

    norm: L2 norm of one user's part of all series. most: results are clipped to 0 … most, the size of the group.

    Guarantees: none that we would sign. The noise is sqrt(coefficients)·norm/epsilon on the real and the imaginary
    part of numpy's unnormalised transform, which is the size of the published errors; a proof would need sqrt(slots)
    times that, because that transform lengthens vectors so much (Rastogi & Nath 2010 have an orthonormal one), and a
    norm that is not read off the data. The schemes of this software are what a release should use.
    """
    slots = counts.shape[-1]
    spectrum = np.fft.rfft(counts, axis=-1)
    kept = min(coefficients, spectrum.shape[-1])
    scale = np.sqrt(kept) * norm / epsilon
    shape = (*counts.shape[:-1], kept)
    spectrum[..., :kept] += rng.laplace(0.0, scale, shape) + 1j * rng.laplace(0.0, scale, shape)
    spectrum[..., kept:] = 0.0
    return np.clip(np.fft.irfft(spectrum, n=slots, axis=-1), 0.0, most).astype(np.float32)


# --- all of them -----------------------------------------------------------------------------------------------------


Rng = np.random.Generator
Release = Callable[[Groups, float, Recipe, Rng], Aggregates]


def _no_defense(groups: Groups, _: float, recipe: Recipe, rng: Rng) -> Aggregates:
    return groups.counts


def _places(groups: Groups, size: float, recipe: Recipe, rng: Rng) -> Aggregates:
    """size: cells per side of the coarse grid; without a grid, ROIs per group."""
    traces, grid = groups.traces, groups.traces.grid
    label = grid_labels(*grid, int(size)) if grid else neighbour_labels(traces.positions, int(size))
    return groups.among(merged_places(traces, label)).counts[:, label, :]


def _slots(groups: Groups, hours: float, recipe: Recipe, rng: Rng) -> Aggregates:
    merged = groups.among(merged_slots(groups.traces, int(hours))).counts
    return np.repeat(merged, int(hours), axis=2)[:, :, : groups.traces.hours]


def _sampled(groups: Groups, share: float, rng: Rng) -> Aggregates:
    """Each user's points are sampled once for all releases; or anew in each, point by point, which is faster."""
    if groups.sampled_with is not None:
        rng = np.random.default_rng(groups.sampled_with)
    elif groups.members.shape[0] > 1:
        return thin(groups.counts, share, rng)
    return groups.among(sample_points(groups.traces, share, rng)).counts


def _fourier(groups: Groups, epsilon: float, recipe: Recipe, rng: Rng) -> Aggregates:
    norm = recipe.fourier_norm or groups.norm
    return perturb_fourier(groups.counts, epsilon, norm, recipe.fourier_coefficients, groups.size, rng)


def _sampled_fourier(groups: Groups, share: float, recipe: Recipe, rng: Rng) -> Aggregates:
    """Who contributes fewer points has a smaller norm, and gets less noise."""
    norm = (recipe.fourier_norm or groups.norm) * float(np.sqrt(1.0 - share))
    sampled = _sampled(groups, share, rng)
    return perturb_fourier(sampled, SFPA_EPSILON, norm, recipe.fourier_coefficients, groups.size, rng)


def _sampled_small(groups: Groups, share: float, recipe: Recipe, rng: Rng) -> Aggregates:
    return perturb_small(_sampled(groups, share, rng), recipe.small_count, recipe.small_epsilon, rng)


SFPA_EPSILON = 10.0  # §4.2.4
SHARES = (0.2, 0.4, 0.6, 0.8)
THRESHOLDS = (2, 5, 10, 20, 40, 80, 160)


@dataclass(frozen=True)
class Defense:
    """A defense and its parameters by kind of data (gps: San Francisco; taps: London)."""

    name: str
    title: str
    parameter: str
    values: Mapping[str, tuple[float, ...]]
    release: Release

    def parameters(self, kind: str) -> tuple[float, ...]:
        """What was tried on data of this kind; tables of visits are treated as taps."""
        return self.values.get(kind) or self.values["taps" if kind == "visits" and "taps" in self.values else "gps"]

    def label(self, value: float, kind: str) -> str:
        """A parameter as the published tables write it."""
        if self.name == "SPG" and kind == "gps":
            return f"{value:g}x{value:g}"
        return (
            {4: "4 hours", 8: "8 hours", 24: "1 day", 168: "1 week"}[int(value)] if self.name == "TG" else f"{value:g}"
        )


def _both(*values: float) -> dict[str, tuple[float, ...]]:
    return {"gps": values}


DEFENSES: dict[str, Defense] = {
    defense.name: defense
    for defense in (
        Defense("none", "No defense", "", _both(0), _no_defense),
        Defense("SPG", "Spatial generalization", "size", {"gps": (5, 2, 1), "taps": (5, 10, 20)}, _places),
        Defense("TG", "Temporal generalization", "slot", _both(4, 8, 24, 168), _slots),
        Defense(
            "DGFR",
            "Fixed ranges of size x",
            "x",
            {"gps": (2, 5, 10, 50, 100, 250), "taps": (2, 5, 10, 50, 150, 9500)},
            lambda groups, value, recipe, rng: fixed_ranges(groups.counts, int(value)),
        ),
        Defense(
            "DGAR",
            "Adaptive ranges, x' buckets",
            "x'",
            _both(1, 2, 4, 8, 16),
            lambda groups, value, recipe, rng: adaptive_ranges(groups.counts, int(value)),
        ),
        Defense(
            "SSC",
            "Suppressing small counts",
            "k",
            {"gps": THRESHOLDS, "taps": THRESHOLDS[:-1]},
            lambda groups, value, recipe, rng: suppress_small(groups.counts, value),
        ),
        Defense(
            "SLP",
            "Suppressing less popular locations/timeslots",
            "z",
            _both(*SHARES),
            lambda groups, value, recipe, rng: suppress_unpopular(groups.counts, value),
        ),
        Defense(
            "SMP", "Sampling", "w", _both(*SHARES), lambda groups, value, recipe, rng: _sampled(groups, value, rng)
        ),
        Defense(
            "PSC",
            "Perturbing small counts",
            "k",
            {"gps": THRESHOLDS, "taps": THRESHOLDS[:-1]},
            lambda groups, value, recipe, rng: perturb_small(groups.counts, value, recipe.small_epsilon, rng),
        ),
        Defense("FPA", "Fourier perturbation", "ε", _both(0.01, 0.1, 1, 10), _fourier),
        Defense("SPSC", "Sampling and perturbing small counts", "w", _both(*SHARES), _sampled_small),
        Defense("SFPA", "Sampling and Fourier perturbation", "w", _both(*SHARES), _sampled_fourier),
    )
}
