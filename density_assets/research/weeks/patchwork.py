"""The people of a patchwork city: where and when they are seen, week by week.

A person has a home, a workplace, a haunt and a hub. A visit is to one of the four, near its tower, in an hour when the
person would be there and the place is alive; now and then the next visit is a neighbouring tower in the same hour.
Who uses the phone much is likely to roam around hubs, so weights that restrain heavy users bend the map here as well.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from density_assets.calendar import HOURS
from density_assets.people.population import VisitChunk
from density_assets.people.rhythms import day, week
from density_assets.research.weeks.patchwork_places import (
    PEOPLE,
    VISITS,
    Character,
    Floats,
    Ints,
    Scene,
    character,
    scene,
)

BLOCK = 20_000  # people drawn from one seed: what they do cannot depend on how many others there are
LOG_VISITS_MEAN, LOG_VISITS_SD, PERSISTENT, MOST_VISITS = 2.25, 1.0, 0.7, 600
ROAMERS, ROAMERS_GAIN = -2.2, 1.6  # log-odds of roaming, and their gain per standard deviation of activity
SHARES = np.array([[0.42, 0.28, 0.24, 0.06], [0.15, 0.05, 0.20, 0.60]])  # of home, work, haunt, hub; roamers below
REACH = np.array([3, 4, 8, 40])  # towers around each of them
WORK_OFFERS, HAUNT_OFFERS = 4, 6  # the nearest to home of so many draws is taken
SAME_HOUR = 0.25  # chance that a visit is a neighbour of the one before, in the same hour
SEEN = 0.75  # chance that a visit at a tower of level 1 is seen
PULL = 0.25  # share of their visits that those who go spend at an event

RHYTHMS = np.stack(
    [
        week(day(0.5, (7, 1.5, 1.0), (21, 2.5, 1.6)), day(0.7, (10, 2.5, 0.6), (20, 3.0, 0.6))),
        week(day(0.05, (9.5, 1.5, 1.0), (14.5, 2.5, 1.3)), day(0.08, (11, 3.0, 0.3))),
        week(day(0.2, (12.5, 1.5, 0.6), (18.5, 2.0, 1.0)), day(0.3, (15, 3.5, 1.2))),
        week(day(0.5, (9, 2.0, 0.8), (17, 2.0, 0.8), (1, 2.0, 0.5)), day(0.6, (16, 4.0, 0.8), (1, 2.5, 0.9))),
    ]
)


@dataclass(frozen=True)
class _Setting:
    """A week's scene, with what drawing from it needs: neighbours, and cumulative chances of hours and towers."""

    places: Character
    scene: Scene
    neighbours: Ints
    hour_steps: Floats
    homes: Floats
    works: Floats
    haunts: Floats
    hubs: Floats


def patchwork_week(xy: Floats, *, users: int, seed: int, number: int) -> Iterator[VisitChunk]:
    """The visits of week 1, 2, ... of a patchwork city over these towers, in chunks of whole users."""
    setting = _setting(character(np.asarray(xy), seed), seed, number)
    return (_block(setting, block, users, seed, number) for block in range(-(-users // BLOCK)))


def _setting(places: Character, seed: int, number: int) -> _Setting:
    now = scene(places, seed, number)
    near = min(int(REACH.max()), len(places.xy))
    neighbours = cKDTree(places.xy).query(places.xy, k=list(range(1, near + 1)))[1]
    share = np.exp(places.weights) / np.exp(places.weights).sum(axis=1, keepdims=True)
    homely, hub = ((share * values[places.kinds]).sum(axis=1) for values in (places.homely, places.hub))
    size = places.size
    return _Setting(
        places=places,
        scene=now,
        neighbours=np.asarray(neighbours, dtype=np.int64),
        hour_steps=_hour_steps(now.attraction),
        homes=_steps(size**0.5 * (homely + 0.05)),
        works=_steps(size * (1.05 - homely)),
        haunts=_steps(size),
        hubs=_steps(size * hub),
    )


def _steps(weights: Floats) -> Floats:
    """Cumulative chances but for the last, so that no draw falls off the end."""
    return np.asarray(np.cumsum(weights)[:-1] / weights.sum())


def _hour_steps(attraction: Floats) -> Floats:
    """Cumulative chances of the hours, one row per role and tower; row i runs from i to i + 1 in one flat array."""
    steps = np.cumsum(RHYTHMS[:, None, :] * attraction, axis=2).reshape(-1, HOURS)
    return np.asarray((steps / steps[:, -1:] + np.arange(len(steps))[:, None]).ravel())


def _block(setting: _Setting, block: int, users: int, seed: int, number: int) -> VisitChunk:
    """A block of people in one week; who they are depends on the block alone, what they do on the week as well."""
    random = np.random.default_rng([seed, PEOPLE, block])
    activity = random.standard_normal(BLOCK)
    roams = random.random(BLOCK) < 1 / (1 + np.exp(-ROAMERS - ROAMERS_GAIN * activity))
    anchors = _anchors(setting, random)
    random = np.random.default_rng([seed, VISITS, number, block])
    person = np.repeat(np.arange(BLOCK), _visits(activity, setting.scene.away, random))
    hour, tower = _whereabouts(setting, anchors[person], roams[person].astype(np.int64), random)
    hour, tower = _gathered(setting, person, hour, tower, random)
    hour, tower = _moving_on(setting, person, hour, tower, random)
    seen = random.random(len(person)) < SEEN * setting.scene.level[tower]
    return _distinct(person[seen], hour[seen], tower[seen], len(setting.places.xy), block * BLOCK + 1, users)


def _anchors(setting: _Setting, random: np.random.Generator) -> Ints:
    """Home, work, haunt and hub of each person."""
    home = np.searchsorted(setting.homes, random.random(BLOCK), side="right")
    work = _nearest(setting, home, setting.works, WORK_OFFERS, random)
    haunt = _nearest(setting, home, setting.haunts, HAUNT_OFFERS, random)
    hub = np.searchsorted(setting.hubs, random.random(BLOCK), side="right")
    return np.column_stack([home, work, haunt, hub])


def _nearest(setting: _Setting, home: Ints, steps: Floats, offers: int, random: np.random.Generator) -> Ints:
    offered = np.searchsorted(steps, random.random((len(home), offers)), side="right")
    away = setting.places.xy[offered] - setting.places.xy[home][:, None, :]
    return np.asarray(offered[np.arange(len(home)), np.argmin((away**2).sum(axis=2), axis=1)])


def _visits(activity: Floats, away: float, random: np.random.Generator) -> Ints:
    level = np.sqrt(PERSISTENT) * activity + np.sqrt(1 - PERSISTENT) * random.standard_normal(len(activity))
    visits = np.clip(np.rint(np.exp(LOG_VISITS_MEAN + LOG_VISITS_SD * level)), 1, MOST_VISITS).astype(np.int64)
    return np.where(random.random(len(activity)) < away, 0, visits)


def _whereabouts(setting: _Setting, anchors: Ints, roams: Ints, random: np.random.Generator) -> tuple[Ints, Ints]:
    steps = np.cumsum(SHARES, axis=1)[roams, :-1]
    role = (random.random(len(roams))[:, None] > steps).sum(axis=1)
    step = (REACH[role] * random.random(len(role)) ** 3).astype(np.int64)
    tower = setting.neighbours[anchors[np.arange(len(role)), role], step % setting.neighbours.shape[1]]
    row = role * len(setting.places.xy) + tower
    position = np.searchsorted(setting.hour_steps, row + random.random(len(row)), side="right")
    return np.minimum(position - row * HOURS, HOURS - 1), tower


def _gathered(
    setting: _Setting, person: Ints, hour: Ints, tower: Ints, random: np.random.Generator
) -> tuple[Ints, Ints]:
    """Move some visits of those who go to an event there."""
    now = setting.scene
    joined = np.searchsorted(np.cumsum(now.event_share), random.random(BLOCK), side="right")[person]
    there = np.flatnonzero((joined < len(now.event_share)) & (random.random(len(person)) < PULL))
    event = joined[there]
    since = (now.event_hours[event] * random.random(len(there))).astype(np.int64)
    near = np.minimum(random.integers(3, size=len(there)), setting.neighbours.shape[1] - 1)
    hour[there] = (now.event_hour[event] + since) % HOURS
    tower[there] = setting.neighbours[now.event_tower[event], near]
    return hour, tower


def _moving_on(
    setting: _Setting, person: Ints, hour: Ints, tower: Ints, random: np.random.Generator
) -> tuple[Ints, Ints]:
    """Turn some visits into a neighbour of the visit before."""
    follows = np.flatnonzero((person[1:] == person[:-1]) & (random.random(max(len(person) - 1, 0)) < SAME_HOUR)) + 1
    near = random.integers(1, 5, len(follows)) % setting.neighbours.shape[1]
    before = tower[follows - 1]
    hour[follows], tower[follows] = hour[follows - 1], setting.neighbours[before, near]
    return hour, tower


def _distinct(person: Ints, hour: Ints, tower: Ints, towers: int, first_user: int, users: int) -> VisitChunk:
    """Sort the visits, drop repetitions and whoever is beyond the last user."""
    code = np.unique((person * HOURS + hour) * towers + tower)
    code = code[: np.searchsorted(code, (users - first_user + 1) * HOURS * towers)]
    moment, position = np.divmod(code, towers)
    user, when = np.divmod(moment, HOURS)
    return VisitChunk(user + first_user, when.astype(np.uint8), position.astype(np.int32))
