"""Never Walk Alone: at every hour, k people within a cylinder of diameter delta (Abul, Bonchi & Nanni 2008).

It was made for vehicles that report where they are all the time. Phone records are sparse: a person is
seen in a dozen hours of a week, so on a common clock, with a position for every hour between the first and the last
sighting, most positions are guesses on a straight line between two of them. Where a person was at several places in an
hour, the position is their mean.

Tracks are cut to spans that begin and end at multiples of a period. Those of one span are grouped greedily around
pivots that lie far from each other, within a radius; if more than a share finds no group, the radius grows and the
search starts again. Then every point that lies farther than delta / 2 from the mean of its group moves towards the mean
until it does not, so that any two points of a group at an hour are at most delta apart, as the chapter has it.

(k, delta)-anonymity is not k-anonymity: within a cylinder the k tracks still differ, and an attacker who knows more
precisely than delta where somebody was tells them apart (Trujillo-Rasua & Domingo-Ferrer 2013). `share_nearest` shows
it; only delta = 0, where a group has one track, hides who is who. The chapter says that such schemes represent a track
by the centroid of its group; with delta = 2,000 m in a town 4 km wide hardly a point moves. Whole tracks are seldom
found by exact points, because positions are guesses between sightings: `share_singled_out` understates this attack.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from scipy.spatial import cKDTree

from density_assets.errors import BadInput
from density_assets.research.approaches.technique import Parameters, Published, Technique
from density_assets.research.traces.matrix import Traces, binary
from density_assets.research.trajectories.generalisation import Totals, scale_to_totals
from density_assets.series import Floats, Ints


@dataclass(frozen=True)
class Tracks:
    """Positions of people by the hour.

    xy: people x hours x 2, not a number outside a person's span. rows: whose they are, as rows of the traces.
    first, last: the hours of the span, both included.
    """

    xy: Floats
    rows: Ints
    first: Ints
    last: Ints


def interpolate_tracks(traces: Traces, people: Ints) -> Tracks:
    """The tracks of those of some people who were seen, from the first to the last sighting."""
    if traces.matrix.nnz == 0:
        raise BadInput("there is nothing to publish of empty traces: they have no point; give traces with points")
    some, roi, hour = traces.rows(people).points()
    rows, person = np.unique(people[some], return_inverse=True)
    cell = person * traces.hours + hour
    shape = (len(rows), traces.hours)
    sightings = np.bincount(cell, minlength=shape[0] * shape[1]).reshape(shape)
    sums = [np.bincount(cell, traces.positions[roi, axis], shape[0] * shape[1]).reshape(shape) for axis in (0, 1)]
    seen = sightings > 0
    means = np.stack(sums, axis=-1) / np.maximum(sightings, 1)[:, :, None]
    first, last = seen.argmax(axis=1), traces.hours - 1 - seen[:, ::-1].argmax(axis=1)
    return Tracks(_between(means, seen), rows, first, last)


def _between(means: Floats, seen: NDArray[np.bool_]) -> Floats:
    """Positions on straight lines between sightings; not a number before the first and after the last."""
    hours = np.arange(seen.shape[1])
    before = np.maximum.accumulate(np.where(seen, hours, -1), axis=1)
    after = np.minimum.accumulate(np.where(seen, hours, seen.shape[1])[:, ::-1], axis=1)[:, ::-1]
    inside = (before >= 0) & (after < seen.shape[1])
    start, end = np.maximum(before, 0), np.minimum(after, seen.shape[1] - 1)
    way = (hours - start) / np.maximum(end - start, 1)
    person = np.arange(len(seen))[:, None]
    xy = means[person, start] * (1 - way)[:, :, None] + means[person, end] * way[:, :, None]
    return np.where(inside[:, :, None], xy, np.nan)


def trim_tracks(tracks: Tracks, period: int) -> Tracks:
    """Tracks that begin and end at multiples of a period, so that spans are alike; shorter ones are left out.

    The end is not included: a span from 24 to 72 has the hours 24 … 71.
    """
    first = -(-tracks.first // period) * period
    last = (tracks.last + 1) // period * period - 1
    kept = np.flatnonzero(last >= first)
    hours = np.arange(tracks.xy.shape[1])
    outside = (hours < first[kept, None]) | (hours > last[kept, None])
    xy = np.where(outside[:, :, None], np.nan, tracks.xy[kept])
    return Tracks(xy, tracks.rows[kept], first[kept], last[kept])


def snap_to_places(xy: Floats, rows: Ints, like: Traces) -> Traces:
    """Tracks as traces: each position counts at the nearest place."""
    person, hour = np.nonzero(~np.isnan(xy[:, :, 0]))
    points = xy[person, hour]
    place = np.asarray(cKDTree(like.positions).query(points)[1], dtype=np.int64)
    matrix = binary(person, place * like.hours + hour, (len(xy), like.matrix.shape[1]))
    return Traces(matrix, like.users[rows], like.hours, like.positions, like.grid, like.placed)


TRASH = -1


def group_around_pivots(xy: Floats, k: int, radius: float) -> Ints:
    """The group of each track of one span, numbered from 0, or TRASH.

    The first pivot is the track farthest from the mean of all, every next one the farthest from the pivots before. A
    pivot takes its k - 1 nearest free tracks if all lie within the radius. In the end, a free track joins the group of
    the nearest pivot within the radius.

    xy: tracks x hours x 2, without gaps.
    """
    points = (xy - xy.mean(axis=0)).reshape(len(xy), -1) / np.sqrt(xy.shape[1])
    squares = np.einsum("ij,ij->i", points, points)
    group = np.full(len(points), TRASH, dtype=np.int64)
    candidates, from_pivots = np.ones(len(points), bool), squares
    to_nearest, nearest_group = np.full(len(points), np.inf), np.full(len(points), TRASH, dtype=np.int64)
    groups = 0
    while candidates.any():
        pivot = int(np.argmax(np.where(candidates, from_pivots, -1.0)))
        distance = squared_distances(points, squares, pivot)
        candidates[pivot] = False
        members = _nearest_free(distance, group, k)
        if len(members) == k and distance[members].max() <= radius**2:
            group[members] = groups
            candidates[members] = False
            nearest_group[distance < to_nearest] = groups
            to_nearest = np.minimum(to_nearest, distance)
            from_pivots, groups = to_nearest, groups + 1
    return np.where((group == TRASH) & (to_nearest <= radius**2), nearest_group, group)


def squared_distances(points: Floats, squares: Floats, one: int) -> Floats:
    """Squared distances of all tracks to one of them: the mean over hours of the squared distance in space."""
    distance = np.maximum(squares + squares[one] - 2 * (points @ points[one]), 0.0)
    distance[one] = 0.0
    return np.asarray(distance)


def _nearest_free(distance: Floats, group: Ints, k: int) -> Ints:
    """The k nearest tracks without a group, or all where they are fewer."""
    free = np.flatnonzero(group == TRASH)
    return free if len(free) <= k else free[np.argpartition(distance[free], k - 1)[:k]]


class NeverWalkAloneChoices(Parameters):
    """What to choose; the chapter's figure 1 has k = 3 and 2,000 m for 1,000 tracks.

    delta: diameter of a cylinder, in metres. period: spans begin and end at multiples of it, in hours.
    trash: share of the tracks that may be thrown away. radius: of groups, to begin with, in metres; it grows by
    growth. tracks: how many people to publish at most, drawn at random; the others are left out.
    """

    k: int = Field(default=3, ge=2)
    delta: float = Field(default=2_000.0, ge=0)
    period: int = Field(default=6, ge=1)
    trash: float = Field(default=0.1, ge=0, lt=1)
    radius: float = Field(default=250.0, gt=0)
    growth: float = Field(default=1.5, gt=1)
    tracks: int = Field(default=20_000, ge=1)
    totals: Totals = "hour"


@dataclass(frozen=True)
class Anonymised:
    """What Never Walk Alone made of tracks.

    original, moved: positions by the hour before and after, people x hours x 2, of the same people in the same order.
    rows: whose they are, as rows of the traces. group: of each, numbered from 0. trash: rows thrown away because no
    group was near. too_short: how many have no whole period. radius: the one that sufficed.
    """

    original: Floats
    moved: Floats
    rows: Ints
    group: Ints
    trash: Ints
    too_short: int
    radius: float

    @property
    def distances(self) -> Floats:
        """How far each point moved; not a number outside spans."""
        return np.asarray(np.linalg.norm(self.moved - self.original, axis=-1))


def never_walk_alone(traces: Traces, chosen: NeverWalkAloneChoices, seed: int) -> Anonymised:
    """Tracks in groups of at least k, moved into cylinders."""
    everybody = interpolate_tracks(traces, _some_people(traces, chosen.tracks, seed))
    tracks = trim_tracks(everybody, chosen.period)
    if len(tracks.rows) < chosen.k:
        raise BadInput(
            f"k = {chosen.k} tracks must last a whole period of {chosen.period} hours, {len(tracks.rows)} do; "
            "choose a shorter period or give more traces"
        )
    group, radius = group_tracks(tracks, chosen)
    kept = group != TRASH
    moved = gather_groups(tracks.xy[kept], group[kept], chosen.delta)
    too_short = len(everybody.rows) - len(tracks.rows)
    return Anonymised(tracks.xy[kept], moved, tracks.rows[kept], group[kept], tracks.rows[~kept], too_short, radius)


def group_tracks(tracks: Tracks, chosen: NeverWalkAloneChoices) -> tuple[Ints, float]:
    """The group of each track, or TRASH, with the first radius that throws away few enough.

    Tracks of spans that fewer than k people have cannot be grouped with any radius: they are trash beside the share.
    """
    _, span, size = np.unique(tracks.first * tracks.xy.shape[1] + tracks.last, return_inverse=True, return_counts=True)
    alone = size[span] < chosen.k
    spans = [np.flatnonzero(span == number) for number in np.flatnonzero(size >= chosen.k)]
    radius = chosen.radius
    while True:
        group = _one_radius(tracks, spans, chosen.k, radius)
        thrown = np.count_nonzero((group == TRASH) & ~alone)
        if thrown <= chosen.trash * len(span):  # a radius as wide as the map throws nobody away
            return group, radius
        radius *= chosen.growth


def gather_groups(xy: Floats, group: Ints, delta: float) -> Floats:
    """Points moved towards the mean of their group and hour, as little as brings them within delta / 2 of it."""
    size = np.bincount(group)[:, None, None]
    means = np.zeros((len(size), *xy.shape[1:]))
    np.add.at(means, group, xy)  # a group has one span, so its members lack the same hours
    middle = (means / size)[group]
    away = np.linalg.norm(xy - middle, axis=-1, keepdims=True)
    return np.where(away > delta / 2, middle + (xy - middle) * (delta / 2) / np.maximum(away, 1e-9), xy)


def publish(traces: Traces, chosen: NeverWalkAloneChoices, seed: int) -> Published:
    """Moved tracks at the nearest places, and the density they are counted to."""
    made = never_walk_alone(traces, chosen, seed)
    published = snap_to_places(made.moved, made.rows, traces)
    density = scale_to_totals(published.aggregate().astype(np.float64), traces, chosen.totals)
    facts = {
        "people": len(made.rows),
        "people_left_out": len(traces.users) - len(made.rows),
        "too_short": made.too_short,
        "trash": len(made.trash),
        "groups": int(made.group.max(initial=-1)) + 1,
        "radius": made.radius,
        "metres_moved": float(np.nanmean(made.distances)),
    }
    return Published(density, published, facts=facts)


def figure_tracks(traces: Traces, people: int = 1_000, seed: int = 0) -> Anonymised:
    """Original and published tracks as the chapter's figure 1 has them: 1,000 of them, k = 3, 2,000 m.

    Spans are whole days: with shorter periods, too few of 1,000 people share a span.
    """
    return never_walk_alone(traces, NeverWalkAloneChoices(k=3, delta=2_000.0, period=24, tracks=people), seed)


def _one_radius(tracks: Tracks, spans: list[Ints], k: int, radius: float) -> Ints:
    """Groups of every span, numbered on."""
    group = np.full(len(tracks.rows), TRASH, dtype=np.int64)
    for members in spans:
        hours = slice(int(tracks.first[members[0]]), int(tracks.last[members[0]]) + 1)
        labels = group_around_pivots(tracks.xy[members, hours], k, radius)
        group[members] = np.where(labels == TRASH, TRASH, labels + group.max() + 1)
    return group


def _some_people(traces: Traces, most: int, seed: int) -> Ints:
    """Rows of at most so many people, in order."""
    people = np.arange(len(traces.users))
    return people if len(people) <= most else np.sort(np.random.default_rng(seed).choice(people, most, replace=False))


NEVER_WALK_ALONE = Technique(
    name="never_walk_alone",
    approach="trajectories",
    protects="nobody",
    promise="at every hour at least k published people are within a cylinder of diameter delta; "
    "within it they can still be told apart",
    source="Abul, Bonchi & Nanni 2008; Trujillo-Rasua & Domingo-Ferrer 2013",
    parameters=NeverWalkAloneChoices,
    publish=publish,
)
