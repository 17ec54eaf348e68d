"""The inhabitants and visitors of an invented city: who they are, where they live, work and go out.

All of it is persistent: it depends on the seed and on the person's number, not on the week.

Heavy users are other people than light ones. The more a phone is used, the likelier its owner is a courier
(whole districts, delivery hours), a visitor (landmarks, late evenings) or a night worker (hospitals, stations
and workshops, at night), and the less likely somebody who stays around home. In the embedded city users of
more than 30 visits make 39 % of all visits, but between 24 % and 55 % of a tower's, most around landmarks
and stations, and between 35 % (5 p.m.) and 47 % (2 a.m.) of an hour's. A method that drops or down-weights
heavy users shows there: truncation to 30 visits changes a tower's share of the city by 6 % on average, at the
extremes by -17 % and +30 %.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from density_assets.people.neighbourhoods import Neighbourhoods
from density_assets.people.rhythms import ROLE_RHYTHMS
from density_assets.people.steps import Steps

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ROLES = tuple(ROLE_RHYTHMS)

# Kinds of person: log-odds at average activity, and their gain per standard deviation of log-activity.
PERSON_KINDS: dict[str, tuple[float, float]] = {
    "worker": (0.0, 0.0),
    "student": (-1.7, 0.2),
    "homebody": (-0.9, -0.8),
    "courier": (-4.2, 2.8),
    "visitor": (-3.7, 2.6),
    "night worker": (-3.9, 2.7),
}

# What share of a person's moments is spent in each role.
ROLE_SHARES: dict[str, dict[str, float]] = {
    "worker": {"home": 0.40, "work": 0.27, "errand": 0.10, "outing": 0.11, "transit": 0.12},
    "student": {"home": 0.30, "work": 0.25, "errand": 0.08, "outing": 0.24, "transit": 0.13},
    "homebody": {"home": 0.62, "errand": 0.26, "outing": 0.10, "transit": 0.02},
    "courier": {"home": 0.15, "errand": 0.05, "transit": 0.05, "rounds": 0.75},
    "visitor": {"home": 0.18, "outing": 0.14, "transit": 0.10, "sights": 0.58},
    "night worker": {"home": 0.30, "errand": 0.12, "outing": 0.05, "transit": 0.08, "night shift": 0.45},
}

# Where an anchor is looked for: the kinds of place that hold it, and how many draws compete to be near home.
ANCHOR_PLACES: dict[str, tuple[dict[str, float], int]] = {
    "work": (
        {"offices": 1.0, "shops": 0.5, "workshops": 0.6, "hospital": 0.6, "station": 0.2, "campus": 0.3},
        2,
    ),
    "errand": ({"shops": 0.8, "market": 1.2, "park": 0.7, "housing": 0.3, "hospital": 0.1}, 8),
    "outing": ({"nightlife": 1.0, "park": 0.8, "shops": 0.5, "housing": 0.15}, 2),
    "transit": ({"station": 1.0, "offices": 0.06, "housing": 0.06}, 3),
    "rounds": ({"offices": 0.8, "shops": 1.0, "workshops": 0.8, "housing": 0.15}, 1),
    "sights": ({"landmark": 1.0, "station": 0.3, "park": 0.2, "shops": 0.1, "nightlife": 0.2}, 1),
    "night shift": ({"hospital": 1.5, "workshops": 0.8, "station": 0.5, "nightlife": 0.2}, 2),
}
LODGING_PLACES = {"station": 0.7, "nightlife": 0.4, "shops": 0.4}
STUDY_PLACES = {"campus": 1.0}
SLOTS = 4_096  # some per tower of a city
HOME_TOWERS = 12  # towers among which the inhabitants of one cell share themselves


@dataclass(frozen=True)
class People:
    """A block of people.

    activity: standard normal; the persistent part of how much they use their phones.
    kind: position in PERSON_KINDS.
    anchors: the tower each role happens around, shape (people, roles).
    """

    activity: Floats
    kind: Ints
    anchors: Ints


class Anchors:
    """Draws the towers that people's lives turn around."""

    def __init__(self, cell_xy: Floats, tower_xy: Floats, places: Neighbourhoods) -> None:
        self._tower_xy = tower_xy
        self._dwellings = _cumulative(_inhabitants(cell_xy, tower_xy))
        self._lodgings = _cumulative(_weights(places, LODGING_PLACES))
        self._studies = _cumulative(_weights(places, STUDY_PLACES))
        self._places = {role: _cumulative(_weights(places, mix)) for role, (mix, _) in ANCHOR_PLACES.items()}

    def people(self, count: int, rng: np.random.Generator) -> People:
        """Draw a block of people; the draws depend on the generator alone."""
        activity = rng.standard_normal(count)
        kind = _person_kinds(activity, rng)
        home = self._home(kind, rng)
        anchors = np.empty((count, len(ROLES)), dtype=np.int64)
        for column, role in enumerate(ROLES):
            anchors[:, column] = home if role == "home" else self._around(role, home, rng)
        students = np.flatnonzero(kind == _kind("student"))
        anchors[students, ROLES.index("work")] = _draw(self._studies, (len(students),), rng)
        return People(activity, kind, anchors)

    def _home(self, kind: Ints, rng: np.random.Generator) -> Ints:
        chance = rng.random(len(kind))
        return np.where(kind == _kind("visitor"), self._lodgings.find(chance), self._dwellings.find(chance))

    def _around(self, role: str, home: Ints, rng: np.random.Generator) -> Ints:
        # The nearest of a few draws stands for the reluctance to travel, without a table of all pairs.
        candidates = _draw(self._places[role], (len(home), ANCHOR_PLACES[role][1]), rng)
        away = self._tower_xy[candidates] - self._tower_xy[home][:, None, :]
        nearest = np.argmin((away**2).sum(axis=2), axis=1)
        return np.asarray(candidates[np.arange(len(home)), nearest])


def _kind(name: str) -> int:
    return list(PERSON_KINDS).index(name)


def _person_kinds(activity: Floats, rng: np.random.Generator) -> Ints:
    level, gain = np.array(list(PERSON_KINDS.values())).T
    odds = np.exp(level + np.outer(activity, gain))
    cumulative = np.cumsum(odds, axis=1) / odds.sum(axis=1, keepdims=True)
    return np.asarray((rng.random(len(activity))[:, None] > cumulative[:, :-1]).sum(axis=1))


def _inhabitants(cell_xy: Floats, tower_xy: Floats) -> Floats:
    """Share the inhabitants of each cell, equally many in all, among the towers around it."""
    known = min(HOME_TOWERS, len(tower_xy))
    found = cKDTree(tower_xy).query(cell_xy, k=list(range(1, known + 1)))
    distance, tower = np.asarray(found[0]), np.asarray(found[1])
    spread = np.maximum(distance[:, :1], 150.0)
    share = np.exp(-((distance / spread) ** 2))
    share /= share.sum(axis=1, keepdims=True)
    people = np.bincount(tower.ravel(), share.ravel(), minlength=len(tower_xy))
    return np.asarray(people + 0.05 * people.mean())  # some live right under a tower that is nobody's nearest


def _weights(places: Neighbourhoods, mix: dict[str, float]) -> Floats:
    seldom = np.full(len(places.size), 1e-3)  # no place is out of the question, not even in a city of one kind
    return places.size * sum((weight * places.shares[kind] for kind, weight in mix.items()), seldom)


def _cumulative(weights: Floats) -> Steps:
    cumulative = np.cumsum(weights)
    # The last entry is left out so that a draw near 1 cannot fall off the end.
    return Steps(cumulative[:-1] / cumulative[-1], upto=1, slots=SLOTS)


def _draw(cumulative: Steps, shape: tuple[int, ...], rng: np.random.Generator) -> Ints:
    return cumulative.find(rng.random(shape))
