"""The eleven defenses of Pyrgelis et al., §4, each with the parameters they tried: one line each.

A defense maps groups of users to what would be released of each, over the original regions of interest and hours, so
that attack and utility look at the same numbers. The adversary knows the defense and trains on its outcome.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from density_assets.research.membership.defenses.generalisation import (
    adaptive_ranges,
    fixed_ranges,
    grid_labels,
    merged_places,
    merged_slots,
    neighbour_labels,
)
from density_assets.research.membership.defenses.groups import Counts, Groups
from density_assets.research.membership.defenses.hiding import sample_points, suppress_small, suppress_unpopular, thin
from density_assets.research.membership.defenses.perturbation import perturb_fourier, perturb_small
from density_assets.research.traces.recipe import Recipe

Rng = np.random.Generator
Release = Callable[[Groups, float, Recipe, Rng], Counts]


def _no_defense(groups: Groups, _: float, recipe: Recipe, rng: Rng) -> Counts:
    return groups.counts


def _places(groups: Groups, size: float, recipe: Recipe, rng: Rng) -> Counts:
    """size: cells per side of the coarse grid; without a grid, ROIs per group."""
    traces, grid = groups.traces, groups.traces.grid
    label = grid_labels(*grid, int(size)) if grid else neighbour_labels(traces.positions, int(size))
    return groups.among(merged_places(traces, label)).counts[:, label, :]


def _slots(groups: Groups, hours: float, recipe: Recipe, rng: Rng) -> Counts:
    merged = groups.among(merged_slots(groups.traces, int(hours))).counts
    return np.repeat(merged, int(hours), axis=2)[:, :, : groups.traces.hours]


def _sampled(groups: Groups, share: float, rng: Rng) -> Counts:
    """Each user's points are sampled once for all releases; or anew in each, point by point, which is faster."""
    if groups.sampled_with is not None:
        rng = np.random.default_rng(groups.sampled_with)
    elif groups.members.shape[0] > 1:
        return thin(groups.counts, share, rng)
    return groups.among(sample_points(groups.traces, share, rng)).counts


def _fourier(groups: Groups, epsilon: float, recipe: Recipe, rng: Rng) -> Counts:
    norm = recipe.fourier_norm or groups.norm
    return perturb_fourier(groups.counts, epsilon, norm, recipe.fourier_coefficients, groups.size, rng)


def _sampled_fourier(groups: Groups, share: float, recipe: Recipe, rng: Rng) -> Counts:
    """Who contributes fewer points has a smaller norm, and gets less noise."""
    norm = (recipe.fourier_norm or groups.norm) * float(np.sqrt(1.0 - share))
    sampled = _sampled(groups, share, rng)
    return perturb_fourier(sampled, SFPA_EPSILON, norm, recipe.fourier_coefficients, groups.size, rng)


def _sampled_small(groups: Groups, share: float, recipe: Recipe, rng: Rng) -> Counts:
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
