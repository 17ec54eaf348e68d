"""Never Walk Alone: at every hour, k people within a cylinder of diameter delta (Abul, Bonchi & Nanni 2008).

Tracks on a common clock are cut to spans that begin and end at multiples of a period (`clock`). Those of one span are
grouped around pivots within a radius (`pivots`); if more than a share finds no group, the radius grows and the search
starts again. Then every point that lies farther than delta / 2 from the mean of its group moves towards the mean until
it does not, so that any two points of a group at an hour are at most delta apart, as the chapter has it.

(k, delta)-anonymity is not k-anonymity: within a cylinder the k tracks still differ, and an attacker who knows more
precisely than delta where somebody was tells them apart (Trujillo-Rasua & Domingo-Ferrer 2013). `cylinder_attack` shows
it; only delta = 0, where a group has one track, hides who is who. The chapter says that such schemes represent a track
by the centroid of its group; with delta = 2,000 m in a town 4 km wide hardly a point moves. Whole tracks are seldom
found by exact points, because positions are guesses between sightings: `singled_out` understates this attack.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from density_assets.errors import BadInput
from density_assets.research.approaches.technique import Parameters, Published, Technique
from density_assets.research.traces.matrix import Traces
from density_assets.research.trajectories.clock import Tracks, hourly_tracks, snapped, trimmed
from density_assets.research.trajectories.counting import Totals, scaled
from density_assets.research.trajectories.pivots import TRASH, around_pivots

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


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
    everybody = hourly_tracks(traces, _some_people(traces, chosen.tracks, seed))
    tracks = trimmed(everybody, chosen.period)
    if len(tracks.rows) < chosen.k:
        raise BadInput(
            f"k = {chosen.k} tracks must last a whole period of {chosen.period} hours, {len(tracks.rows)} do; "
            "choose a shorter period or give more traces"
        )
    group, radius = grouped(tracks, chosen)
    kept = group != TRASH
    moved = gathered(tracks.xy[kept], group[kept], chosen.delta)
    too_short = len(everybody.rows) - len(tracks.rows)
    return Anonymised(tracks.xy[kept], moved, tracks.rows[kept], group[kept], tracks.rows[~kept], too_short, radius)


def grouped(tracks: Tracks, chosen: NeverWalkAloneChoices) -> tuple[Ints, float]:
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


def gathered(xy: Floats, group: Ints, delta: float) -> Floats:
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
    published = snapped(made.moved, made.rows, traces)
    density = scaled(published.aggregate().astype(np.float64), traces, chosen.totals)
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
        labels = around_pivots(tracks.xy[members, hours], k, radius)
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
