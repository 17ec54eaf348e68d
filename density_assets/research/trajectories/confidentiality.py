"""p-confidentiality: places are grouped around sensitive ones, so that nobody is known to have stopped there.

Cicek, Nergiz & Saygin 2014 anonymise the map instead of the trajectories. The attacker knows the map, the grouping and
how likely a path stops at each place. Of a path that enters a group, only the group is published; the chance that its
stop was at a sensitive place is the sensitive share of the group's stop probabilities, and may not exceed p. A group
grows by the neighbouring place that lowers the chance most; a neighbour that is in a group brings that group along. The
grouping uses public numbers only, never the traces, so it gives nothing away itself.

The promise rests on the stop probabilities. `chances` under other probabilities says what an attacker with better ones
believes. The paper reckons path by path through a group; phone records show stops and no paths, so here a group has
one chance, whichever way it is entered. Places are neighbours if their Voronoi cells share a border.
"""

from dataclasses import dataclass

import numpy as np
import shapely
from numpy.typing import NDArray
from pydantic import Field

from density_assets.errors import BadInput, some
from density_assets.geography.overlaps import tower_cells
from density_assets.research.approaches.technique import Parameters, Published, Technique
from density_assets.research.traces.matrix import Traces, binary
from density_assets.series import Floats, Ints

Neighbours = tuple[frozenset[int], ...]
MARGIN = 0.1  # of the width of the map, beyond the outermost places
ROUNDING = 1e-9  # of sums in another order


class ConfidentialityChoices(Parameters):
    """sensitive: places by number. p: the largest chance. stops: public stop probability or popularity of each place.

    Without stops all places are taken as equally likely.
    """

    sensitive: tuple[int, ...] = (10, 30, 50)
    p: float = Field(default=0.2, gt=0, le=1)
    stops: tuple[float, ...] | None = None


@dataclass(frozen=True)
class MapGroups:
    """An anonymised map. label: the group of each place, numbered from 0. sensitive: whether each place is."""

    label: Ints
    sensitive: NDArray[np.bool_]


def confidential_map(positions: Floats, chosen: ConfidentialityChoices) -> MapGroups:
    """Groups of places in which the chance of a sensitive stop is at most p; other places stay alone."""
    stops = stop_probabilities(len(positions), chosen)
    sensitive = _flags(len(positions), chosen.sensitive)
    least = float(stops[sensitive].sum() / stops.sum())
    if least > chosen.p + ROUNDING:
        raise BadInput(
            f"p must be at least {least:.3f}, the chance with all places in one group, got {chosen.p}; "
            "choose a larger p or fewer sensitive places"
        )
    neighbours, label = neighbouring_places(positions), np.arange(len(positions))
    for place in np.flatnonzero(sensitive).tolist():
        while _chance(label == label[place], sensitive, stops) > chosen.p + ROUNDING:
            label = np.where(label == _best_neighbour(label, place, neighbours, sensitive, stops), label[place], label)
    return MapGroups(np.unique(label, return_inverse=True)[1].ravel(), sensitive)


def chances(groups: MapGroups, stops: Floats) -> Floats:
    """The chance, group by group, that a stop in it was at a sensitive place, under some stop probabilities.

    Not a number where nobody stops at any place of a group.
    """
    whole = np.bincount(groups.label, stops)
    secret = np.bincount(groups.label, stops * groups.sensitive)
    chance: Floats = np.divide(secret, whole, out=np.full(len(whole), np.nan), where=whole > 0)
    return chance


def worst_chance(groups: MapGroups, stops: Floats) -> float:
    """The largest chance over all groups: at most p under the probabilities of the grouping, more under others."""
    return float(np.nanmax(chances(groups, stops)))


def stop_probabilities(places: int, chosen: ConfidentialityChoices) -> Floats:
    """The stop probabilities to reckon with, one per place."""
    stops = np.ones(places) if chosen.stops is None else np.asarray(chosen.stops, dtype=np.float64)
    if len(stops) != places or not np.isfinite(stops).all() or (stops < 0).any() or stops.sum() == 0:
        raise BadInput(
            f"stops must be {places} numbers, one per place, none negative and not all 0; got {len(stops)} numbers"
        )
    return stops


def publish(traces: Traces, chosen: ConfidentialityChoices, seed: int) -> Published:
    """Traces on the anonymised map: visits to a group, spread over its places by the public stop probabilities.

    The traces have each visit at a place of the group drawn by the same probabilities: one reading of them.
    """
    if traces.matrix.nnz == 0:
        raise BadInput("there is nothing to publish of empty traces: they have no point; give traces with points")
    groups = confidential_map(traces.positions, chosen)
    stops = stop_probabilities(traces.rois, chosen)
    by_group = _group_visits(traces, groups.label)
    share = stops / np.maximum(np.bincount(groups.label, stops)[groups.label], 1e-300)
    facts = {
        "groups": int(np.bincount(groups.label)[np.unique(groups.label[groups.sensitive])].size),
        "grouped_places": int((np.bincount(groups.label)[groups.label] > 1).sum()),
        "worst_chance": worst_chance(groups, stops),
    }
    return Published(by_group[groups.label] * share[:, None], _read(traces, groups.label, stops, seed), facts=facts)


def _flags(places: int, sensitive: tuple[int, ...]) -> NDArray[np.bool_]:
    unknown = [place for place in sensitive if not 0 <= place < places]
    if unknown or not sensitive:
        got = f"got {some(unknown)}" if unknown else "got none"
        raise BadInput(f"sensitive places must be on the map, numbers from 0 to {places - 1}; {got}")
    flags = np.zeros(places, bool)
    flags[list(sensitive)] = True
    return flags


def _chance(members: NDArray[np.bool_], sensitive: NDArray[np.bool_], stops: Floats) -> float:
    """The chance of one group; a sensitive place where nobody is thought to stop counts as certain."""
    whole = stops[members].sum()
    return float(stops[members & sensitive].sum() / whole) if whole > 0 else 1.0


def _best_neighbour(
    label: Ints, place: int, neighbours: Neighbours, sensitive: NDArray[np.bool_], stops: Floats
) -> int:
    """The group next to that of a place with which the chance becomes lowest."""
    members = label == label[place]
    around = {int(label[other]) for one in np.flatnonzero(members) for other in neighbours[one]} - {int(label[place])}
    return min(around, key=lambda group: (_chance(members | (label == group), sensitive, stops), group))


def _group_visits(traces: Traces, label: Ints) -> Floats:
    """Visits per group and hour."""
    visits = np.zeros((int(label.max()) + 1, traces.hours))
    np.add.at(visits, label, traces.aggregate())
    return visits


def _read(traces: Traces, label: Ints, stops: Floats, seed: int) -> Traces:
    """Every visit to a group of several places at one of them, drawn by the stop probabilities."""
    user, roi, hour = traces.points()
    order = np.lexsort((np.arange(len(label)), label))
    reach = np.cumsum(stops[order])
    last = np.searchsorted(label[order], np.arange(label.max() + 1), side="right") - 1
    start = np.concatenate(([0.0], reach[last[:-1]]))
    drawn = np.random.default_rng(seed).random(len(user))
    group = label[roi]
    target = start[group] + drawn * (reach[last[group]] - start[group])
    place = order[np.minimum(np.searchsorted(reach, target, side="right"), last[group])]
    matrix = binary(user, place * traces.hours + hour, traces.matrix.shape)
    return Traces(matrix, traces.users, traces.hours, traces.positions, traces.grid, traces.placed)


P_CONFIDENTIALITY = Technique(
    name="p_confidentiality",
    approach="trajectories",
    protects="nobody",
    promise="whoever knows no more than the stop probabilities believes in a sensitive stop with at most p; "
    "other places and identities are not protected",
    source="Cicek, Nergiz & Saygin 2014",
    parameters=ConfidentialityChoices,
    publish=publish,
)


def neighbouring_places(positions: NDArray[np.float64]) -> Neighbours:
    """The neighbours of each place, on the map that the places divide among themselves."""
    if len(np.unique(positions, axis=0)) < len(positions):
        raise BadInput("places must have different positions to have cells of their own; merge those that coincide")
    margin = MARGIN * max(float(np.ptp(positions, axis=0).max()), 1.0)
    area = shapely.box(*(positions.min(axis=0) - margin), *(positions.max(axis=0) + margin))
    cells = tower_cells(positions, area)
    one, other = shapely.STRtree(cells).query(cells, predicate="intersects")
    border = shapely.length(shapely.intersection(cells[one], cells[other]))
    side_by_side = (one != other) & (border > margin * 1e-6)  # cells that meet at a corner are not neighbours
    return tuple(frozenset(other[side_by_side & (one == place)].tolist()) for place in range(len(positions)))
