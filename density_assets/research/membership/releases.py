"""Releases of groups: what this software would publish of them, which the adversary attacks like a defense.

No single user's row differs by more than the bounds of the settings, whatever the groups.
"""

from dataclasses import dataclass

import numpy as np
import shapely

from density_assets.calendar import HOURS
from density_assets.geography.overlaps import Overlaps, tower_cells
from density_assets.geography.places import Places, minimum_cover
from density_assets.privacy.noise import SimulatedNoise
from density_assets.research.contributions import Contributions
from density_assets.research.membership.defenses import Aggregates, Groups
from density_assets.research.study import cached_plan
from density_assets.research.traces.matrix import Traces
from density_assets.schemes import SCHEMES
from density_assets.schemes.run import cell_density, draw
from density_assets.settings import Settings

METRES = 500.0  # per unit of the positions of regions of interest: clusters look at neighbourhood only


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

    series: Aggregates
    estimates: Aggregates


def release_groups(
    groups: Groups, parts: Contributions, places: Places, settings: Settings, seed: int, *, estimate: bool = True
) -> GroupReleases:
    """One simulated release of every group, at the epsilon and with the scheme of the settings.

    estimate: whether to compute the released counts as well; all of them follow from the doors.
    """
    scheme, noise = SCHEMES[settings.scheme.name], SimulatedNoise(seed)
    plan, members = cached_plan(settings.privacy, settings.scheme), groups.members
    shape = (members.shape[0], groups.traces.rois, HOURS)
    series, estimates = np.empty(shape, np.float32), np.empty(shape if estimate else (0, *shape[1:]), np.float32)
    for number, counts in enumerate(parts.count_groups(members, towers=scheme.places == "towers")):
        drawn = draw(scheme, plan, counts, places, noise)
        series[number] = drawn.series["series"][drawn.labels]
        if estimate:
            estimates[number] = cell_density(scheme, settings, plan, drawn, places)
    return GroupReleases(series, estimates)
