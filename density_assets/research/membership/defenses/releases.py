"""The release schemes of this software as defenses: from the traces of groups to noisy aggregates at an epsilon.

The steps are those of a release: bound what each user contributes, add up, draw both doors, estimate. Regions of
interest stand for towers and for cells alike, so nothing is interpolated.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray
from scipy.sparse import csr_array

from density_assets.calendar import HOURS
from density_assets.geography.cover import minimum_cover
from density_assets.geography.overlaps import Overlaps
from density_assets.geography.places import Places
from density_assets.geography.voronoi import tower_cells
from density_assets.privacy.noise import SimulatedNoise
from density_assets.privacy.sensitivity import WEIGHT_UNIT
from density_assets.research.membership.defenses.groups import Counts, Groups
from density_assets.research.traces.matrix import Matrix, Traces, group_sums, trace_matrix
from density_assets.schemes import SCHEMES
from density_assets.schemes import scheme as steps
from density_assets.schemes.run import cell_density, draw
from density_assets.settings import PrivacySettings, SchemeSettings, Settings

METRES = 500.0  # per unit of the positions of regions of interest: clusters look at neighbourhood only


@dataclass(frozen=True)
class Bounded:
    """What each user contributes to the doors, one row each.

    truncated: at most one point per hour and l in all. weighted: all points, in units of 2^-16. sampled: one point,
    per ROI. totals: points of the week per ROI, in units of 2^-16. visits: number of points, clamped.
    """

    truncated: Matrix
    weighted: Matrix
    sampled: Matrix
    totals: Matrix
    visits: NDArray[np.int64]


def bounded(traces: Traces, settings: Settings, rng: np.random.Generator) -> Bounded:
    """Bound the contributions of one week as the SQL of a release does, with draws from `rng`."""
    if traces.hours != HOURS:
        raise ValueError(f"schemes release one week of {HOURS} hours, got {traces.hours}")
    l, clamp = settings.privacy.visits_per_user, settings.privacy.visits_clamp
    sizes = np.diff(traces.matrix.indptr)
    hourly = _drawn(traces, 1, rng, per_hour=True)
    one = _drawn(traces, 1, rng)
    user, roi, _ = one.points()
    sampled = trace_matrix(one, user, roi, np.zeros_like(user), 1).matrix
    weighted = traces.matrix.astype(np.int64)
    weighted.data = np.repeat(_weights(sizes, settings.scheme.weight_l), sizes)
    totals = _totals(traces, settings.scheme.tower_l)
    return Bounded(_drawn(hourly, l, rng).matrix, weighted, sampled, totals, np.minimum(sizes, clamp).astype(np.int64))


def _totals(traces: Traces, tower_l: int) -> Matrix:
    """Points of each user per ROI, weighed down to their norm."""
    user, roi, _ = traces.points()
    visits = csr_array((np.ones_like(user), (user, roi)), shape=(traces.matrix.shape[0], traces.rois))
    visits.sum_duplicates()
    weight = _weights(visits.multiply(visits).sum(axis=1), tower_l)
    visits.data = visits.data * np.repeat(weight, np.diff(visits.indptr))
    return visits


def _weights(squares: NDArray[np.int64], norm: int) -> NDArray[np.int64]:
    """The integer weight of each user whose vector has so large a sum of squares."""
    least = np.maximum(squares, 1).astype(np.int64)
    return np.asarray(np.minimum(WEIGHT_UNIT, np.sqrt(norm * WEIGHT_UNIT**2 // least)), np.int64)


def _drawn(traces: Traces, most: int, rng: np.random.Generator, *, per_hour: bool = False) -> Traces:
    """At most so many points of each user, or of each user and hour, drawn uniformly."""
    user, roi, hour = traces.points()
    owner = user * traces.hours + hour if per_hour else user
    order = np.lexsort((rng.random(len(user)), owner))
    first = np.searchsorted(owner[order], owner[order], side="left")
    kept = order[np.arange(len(order)) - first < most]
    return trace_matrix(traces, user[kept], roi[kept], hour[kept], traces.hours)


def roi_places(traces: Traces) -> Places:
    """ROIs as towers, cells and cover at once: Voronoi cells of their positions."""
    xy = traces.positions * METRES
    area = shapely.box(*(xy.min(axis=0) - METRES), *(xy.max(axis=0) + METRES))
    shapes, own = tower_cells(xy, area), np.arange(len(xy), dtype=np.int32)
    pieces = Overlaps(own, own, np.asarray(shapely.area(shapes)), len(xy), len(xy))
    return Places(pieces, minimum_cover(pieces), xy, shapes, shapes)


@dataclass(frozen=True)
class GroupReleases:
    """Releases of groups. series: what the second door published of each place; estimates: the released counts."""

    series: Counts
    estimates: Counts


def release_groups(
    groups: Groups, parts: Bounded, places: Places, settings: Settings, seed: int, *, estimate: bool = True
) -> GroupReleases:
    """One simulated release of every group, at the epsilon and with the scheme of the settings.

    estimate: whether to compute the released counts as well; all of them follow from the doors.
    """
    scheme, noise = SCHEMES[settings.scheme.name], SimulatedNoise(seed)
    plan, members = cached_plan(settings.privacy, settings.scheme), groups.members
    shape = (members.shape[0], groups.traces.rois, HOURS)
    series, estimates = np.empty(shape, np.float32), np.empty(shape if estimate else (0, *shape[1:]), np.float32)
    for number, counts in enumerate(_counts(members, parts, scheme.places == "towers", shape)):
        drawn = draw(scheme, plan, counts, places, noise)
        series[number] = drawn.series["series"][drawn.labels]
        if estimate:
            estimates[number] = cell_density(scheme, settings, plan, drawn, places)
    return GroupReleases(series, estimates)


@lru_cache
def cached_plan(privacy: PrivacySettings, scheme: SchemeSettings) -> steps.Plan:
    """Calibration takes seconds for some schemes, and one plan serves all groups."""
    return SCHEMES[scheme.name].plan(Settings(privacy=privacy, scheme=scheme))


def _counts(members: Matrix, parts: Bounded, towers: bool, shape: tuple[int, ...]) -> list[steps.Counts]:
    """The confidential numbers of each group, as the doors would read them."""
    series: Any = members.astype(np.int64) @ parts.weighted if towers else group_sums(members, parts.truncated)
    series = (series.toarray() if towers else series.astype(np.float64)).reshape(shape)
    sampled = (members.astype(np.int64) @ parts.sampled.astype(np.int64)).toarray()
    totals = (members.astype(np.int64) @ parts.totals).toarray()
    visits = members.astype(np.int64) @ parts.visits
    return [
        steps.Counts(series=one, sampled=first, tower_totals=by_tower, visit_total=int(total))
        for one, first, by_tower, total in zip(series, sampled, totals, visits, strict=True)
    ]
