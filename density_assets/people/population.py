"""A week of visits of an invented population, for the embedded city or for any real geography.

A person's week is a number of visits, grouped in moments. A moment is a role (home, work, ...) around that
role's tower, in an hour when the person would do it and the place is alive. A phone in motion shows at
several neighbouring towers within the hour: the visits of one moment.

How much people use their phones is lognormal, the persistent part of it `people.py`'s; who the heavy users
are, and so what their loss does to the tower series, is said there.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from density_assets.people.inhabitants import PERSON_KINDS, ROLE_SHARES, ROLES, Anchors, People, Steps, neighbourhoods
from density_assets.people.rhythms import ROLE_RHYTHMS, WEEK_HOURS, Gatherings, gatherings, strikes
from density_assets.series import Floats, Ints
from density_assets.threads import in_turn

# People are drawn in blocks of this size, each from its own seed: what a person does cannot depend on how
# many others there are. Changing it changes every simulated city.
BLOCK = 20_000
PLACES, PEOPLE, EVENTS, WEEK = range(4)  # streams of randomness under one seed

# Visits of a user in a week, chosen so that 13.55 ± 18.33 distinct ones remain, as published.
LOG_VISITS_MEAN = 2.09
LOG_VISITS_SD = 1.035
PERSISTENT = 0.8  # of the variance of log-activity; the rest is the week's
MOST_VISITS = 732
# Visits per moment: those who use their phones most are also those on the move.
BURST_BASE = 1.3
BURST_GAIN = 1 / 150

# Around how many towers a role wanders, its anchor first.
REACH: dict[str, int] = {
    "home": 2,
    "work": 3,
    "errand": 6,
    "outing": 5,
    "transit": 4,
    "rounds": 64,
    "sights": 32,
    "night shift": 3,
}
NEIGHBOURS = 64
SLOTS = 128  # of the hours of one role at one tower: about as many as hours
GATHERING_REACH = 3
GATHERING_PULL = 0.15  # share of the week's moments that those who go spend at the gathering


@dataclass(frozen=True)
class VisitChunk:
    """Distinct visits of whole users, sorted by user, hour and tower.

    user: identifiers 1..users.
    hour: hour of the week, 0..167 from Monday 00:00.
    tower: position of the tower in the array of towers.
    """

    user: NDArray[np.int64]
    hour: NDArray[np.uint8]
    tower: NDArray[np.int32]


@dataclass(frozen=True)
class _Scene:
    """What one week of one city offers to everybody: where people anchor, and when each place is alive."""

    anchors: Anchors
    neighbours: Ints
    hour_steps: Steps
    gatherings: Gatherings

    @property
    def towers(self) -> int:
        return len(self.neighbours)


def simulate_week(cell_xy: Floats, tower_xy: Floats, *, users: int, seed: int, week: date) -> Iterator[VisitChunk]:
    """Return the visits of a population in one week, in chunks of whole users, in ascending order.

    cell_xy, tower_xy: cell centroids and tower positions in metres, shapes (cells, 2) and (towers, 2).
    users: how many; a larger population begins with the smaller one.
    seed: of the city's rhythms and of its people, who keep their places and habits from week to week.
    week: any day of the week to simulate; it decides the week's own draws and its events.
    """
    if users < 1 or len(cell_xy) < 1 or len(tower_xy) < 1:
        raise ValueError(
            "a population needs at least one user, cell and tower, "
            f"got users={users}, cells={len(cell_xy)}, towers={len(tower_xy)}"
        )
    monday = week.toordinal() - week.weekday()
    scene = _scene(np.asarray(cell_xy), np.asarray(tower_xy), seed, monday)
    blocks = range(-(-users // BLOCK))
    return in_turn(lambda block: _block(scene, block, users, seed, monday), blocks, os.cpu_count())


def _scene(cell_xy: Floats, tower_xy: Floats, seed: int, monday: int) -> _Scene:
    places = neighbourhoods(tower_xy, [seed, PLACES])
    rng = np.random.default_rng([seed, EVENTS, monday])
    attraction = places.attraction * strikes(tower_xy, rng)
    known = min(NEIGHBOURS, len(tower_xy))
    neighbours = cKDTree(tower_xy).query(tower_xy, k=list(range(1, known + 1)))[1]
    return _Scene(
        anchors=Anchors(cell_xy, tower_xy, places),
        neighbours=np.asarray(neighbours, dtype=np.int64),
        hour_steps=_hour_steps(attraction),
        gatherings=gatherings(len(tower_xy), rng),
    )


def _hour_steps(attraction: Floats) -> Steps:
    """Return the cumulative chances of the hours for every role and tower, one row after the other.

    Row i runs from i to i + 1, so that one search in the flat array finds row and hour at once.
    """
    steps = np.stack([np.cumsum(ROLE_RHYTHMS[role] * attraction, axis=1) for role in ROLES])
    steps = steps.reshape(-1, WEEK_HOURS)
    steps = steps / steps[:, -1:] + np.arange(len(steps))[:, None]
    return Steps(steps.ravel(), upto=len(steps), slots=SLOTS)


def _block(scene: _Scene, block: int, users: int, seed: int, monday: int) -> VisitChunk:
    people = scene.anchors.people(BLOCK, np.random.default_rng([seed, PEOPLE, block]))
    rng = np.random.default_rng([seed, WEEK, monday, block])
    visits = _visits(people.activity, rng)
    person = np.repeat(np.arange(BLOCK), visits)
    starts, rank = _moments(visits, person, rng)
    hour, tower = _whereabouts(scene, people, person[starts], rng)
    lasting = np.diff(np.append(starts, len(person)))
    hour, tower = np.repeat(hour, lasting), np.repeat(tower, lasting)
    tower = scene.neighbours[tower, rank % scene.neighbours.shape[1]]
    return _distinct(person, hour, tower, scene.towers, block * BLOCK + 1, users)


def _visits(activity: Floats, rng: np.random.Generator) -> Ints:
    """Draw how many visits each person would make if no two coincided."""
    weekly = rng.standard_normal(len(activity))
    level = np.sqrt(PERSISTENT) * activity + np.sqrt(1.0 - PERSISTENT) * weekly
    visits = np.rint(np.exp(LOG_VISITS_MEAN + LOG_VISITS_SD * level))
    return np.asarray(np.clip(visits, 1, MOST_VISITS), dtype=np.int64)


def _moments(visits: Ints, person: Ints, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Group each person's visits in moments: where the moments start, and each visit's rank in its own."""
    per_moment = BURST_BASE + BURST_GAIN * visits
    begins = rng.random(len(person)) < (1.0 / per_moment)[person]
    begins[np.cumsum(visits) - visits] = True
    starts = np.flatnonzero(begins)
    rank = np.arange(len(person)) - starts[np.cumsum(begins) - 1]
    return starts, rank


def _whereabouts(scene: _Scene, people: People, person: Ints, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Draw hour and tower of the moments of the given people."""
    role = _roles(people.kind[person], rng)
    reach = np.array([REACH[name] for name in ROLES])[role]
    # Cubed, so that most moments stay close to the anchor.
    step = (reach * rng.random(len(role)) ** 3).astype(np.int64)
    tower = scene.neighbours[people.anchors[person, role], step % scene.neighbours.shape[1]]
    row = role * scene.towers + tower
    position = scene.hour_steps.find(row + rng.random(len(row)))
    hour = np.minimum(position - row * WEEK_HOURS, WEEK_HOURS - 1)
    return _gathered(scene, person, hour, tower, rng)


def _roles(kind: Ints, rng: np.random.Generator) -> Ints:
    shares = np.array([[ROLE_SHARES[name].get(role, 0.0) for role in ROLES] for name in PERSON_KINDS])
    steps = np.cumsum(shares, axis=1) / shares.sum(axis=1, keepdims=True) + np.arange(len(shares))[:, None]
    role = np.searchsorted(steps.ravel(), kind + rng.random(len(kind)), side="right") - kind * len(ROLES)
    return np.asarray(np.minimum(role, len(ROLES) - 1))


def _gathered(scene: _Scene, person: Ints, hour: Ints, tower: Ints, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Move some moments of those who go to a gathering there."""
    joined = np.searchsorted(np.cumsum(scene.gatherings.share), rng.random(BLOCK), side="right")[person]
    there = np.flatnonzero((joined < len(scene.gatherings.share)) & (rng.random(len(person)) < GATHERING_PULL))
    event = joined[there]
    since = (scene.gatherings.hours[event] * rng.random(len(there))).astype(np.int64)
    hour[there] = (scene.gatherings.first_hour[event] + since) % WEEK_HOURS
    near = rng.integers(GATHERING_REACH, size=len(there)) % scene.neighbours.shape[1]
    tower[there] = scene.neighbours[scene.gatherings.tower[event], near]
    return hour, tower


def _distinct(person: Ints, hour: Ints, tower: Ints, towers: int, first_user: int, users: int) -> VisitChunk:
    """Sort the visits, drop repetitions and whoever is beyond the last user."""
    code = np.sort((person * WEEK_HOURS + hour) * towers + tower)
    code = code[np.append(True, code[1:] != code[:-1])]
    code = code[: np.searchsorted(code, (users - first_user + 1) * WEEK_HOURS * towers)]
    moment, position = np.divmod(code, towers)
    user, when = np.divmod(moment, WEEK_HOURS)
    return VisitChunk(user + first_user, when.astype(np.uint8), position.astype(np.int32))
