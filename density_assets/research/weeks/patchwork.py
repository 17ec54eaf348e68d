"""The places of a patchwork city, and how they change from week to week.

A city unlike that of `people/`: nothing is smooth. It is cut into patches with sharp borders, each mostly of one of 40
kinds with opening hours and days of its own; towers mix up to three kinds. From week to week levels and mixtures walk
at random, hours of the kinds shift, weather favours some kinds on some days; there are public holidays, weeks of
school holidays, and strong events. No constant of an estimator was chosen on it.

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
from density_assets.series import Floats, Ints

PROFILES, CHARACTER, DRIFT, WEATHER, EVENTS, PEOPLE, VISITS = range(7)  # streams of randomness under one seed
KINDS, MIXED = 40, 3
PATCH_TOWERS = 12  # towers of a patch, on average
ODD_TOWERS = 0.35  # share of towers that are not of their patch's kind
SIZE_SPREAD = 0.9  # standard deviation of the logarithm of a tower's size
LEVEL_STEP, PATCH_STEP, LEVEL_MEMORY = 0.05, 0.03, 0.98  # logarithm of levels: step of a week, and what is remembered
MIX_STEP, SHIFT_STEP = 0.08, 0.1  # of the mixtures' log-weights, and of the kinds' clocks in hours
SCHOOLS, LEISURE = slice(0, 6), slice(6, 12)  # kinds that school holidays empty and fill
HOLIDAY_EVERY, HOLIDAY_WEEK, THURSDAY, SUNDAY = 10, 3, 3, 6
TERM, SCHOOL_HOLIDAYS = 13, (10, 11)  # weeks of a term, and which of them are holidays


@dataclass(frozen=True)
class Character:
    """What stays: sizes of towers, their patches and kinds, and what kinds are to people."""

    xy: Floats
    size: Floats
    patch: Ints
    kinds: Ints  # towers x MIXED
    weights: Floats  # towers x MIXED, log-weights of the first week
    profiles: Floats  # KINDS x 168
    homely: Floats  # per kind, 0..1
    hub: Floats  # per kind


@dataclass(frozen=True)
class Scene:
    """What one week offers.

    attraction: how alive each tower is, towers x 168, rows of mean 1.
    level: how busy each tower is against the first week.
    away: share of people who have left the city.
    event_tower, event_hour, event_hours, event_share: where and when people gather, and which share of them.
    """

    attraction: Floats
    level: Floats
    away: float
    event_tower: Ints
    event_hour: Ints
    event_hours: Ints
    event_share: Floats


def character(xy: Floats, seed: int) -> Character:
    """Invent a patchwork over the towers."""
    random = np.random.default_rng([seed, CHARACTER])
    patches = max(1, len(xy) // PATCH_TOWERS)
    middles = xy[random.choice(len(xy), patches, replace=False)]
    patch = np.asarray(cKDTree(middles).query(xy)[1], dtype=np.int64)
    kinds = random.integers(KINDS, size=(len(xy), MIXED))
    of_patch = random.random(len(xy)) > ODD_TOWERS
    kinds[of_patch, 0] = random.integers(KINDS, size=patches)[patch[of_patch]]
    return Character(
        xy=xy,
        size=random.lognormal(0.0, SIZE_SPREAD, len(xy)),
        patch=patch,
        kinds=kinds,
        weights=np.array([1.5, 0.0, -0.5]) + random.normal(0.0, 0.5, (len(xy), MIXED)),
        profiles=_profiles(seed),
        homely=random.beta(0.6, 0.6, KINDS),
        hub=random.lognormal(0.0, 1.2, KINDS),
    )


def scene(places: Character, seed: int, week: int) -> Scene:
    """What week number 1, 2, ... offers; drawn without looking at the weeks before."""
    level, mixture, shift = _drifted(places, seed, week)
    profiles = _this_week(_shifted(places.profiles, shift), seed, week)
    alive = np.einsum("im,imt->it", mixture, profiles[places.kinds])
    busy = alive.mean(axis=1)
    away = 0.1 if _school_holidays(week) else 0.0
    return Scene(alive / busy[:, None], level * busy, away, *_events(len(places.xy), seed, week))


def _profiles(seed: int) -> Floats:
    random = np.random.default_rng([seed, PROFILES])
    return np.stack([_profile(random) for _ in range(KINDS)])


def _profile(random: np.random.Generator) -> Floats:
    """A week of a kind of place: peaks by day of the week, opening hours with sharp edges, a day unlike the others."""
    working, saturday, sunday = (_day(random) for _ in range(3))
    days = np.stack([working] * 5 + [saturday * random.lognormal(0, 0.4), sunday * random.lognormal(-0.2, 0.5)])
    if random.random() < 0.3:
        days[random.integers(7)] *= random.choice([0.25, 1.8])
    return np.asarray(days.ravel() / days.mean())


def _day(random: np.random.Generator) -> Floats:
    peaks = [(random.uniform(6, 24), random.uniform(0.6, 3.0), random.lognormal(0, 0.5)) for _ in range(3)]
    opens, lasts = random.integers(5, 11), random.integers(8, 18)
    is_open = (np.arange(24) - opens) % 24 < lasts
    waking = day(1.0, (4.0, 2.2, -0.8))
    return np.asarray((0.25 + day(0.2, *peaks)) * np.where(is_open, 1.0, 0.3) * waking)


def _drifted(places: Character, seed: int, week: int) -> tuple[Floats, Floats, Floats]:
    """Levels, mixtures and clocks after `week - 1` steps; later weeks go on from the same steps."""
    towers, patches = len(places.xy), int(places.patch.max()) + 1
    level, mixed, shift = np.zeros(towers), places.weights.copy(), np.zeros(KINDS)
    random = np.random.default_rng([seed, DRIFT])
    for _ in range(week - 1):
        step = LEVEL_STEP * random.standard_normal(towers)
        level = LEVEL_MEMORY * level + step + PATCH_STEP * random.standard_normal(patches)[places.patch]
        mixed += MIX_STEP * random.standard_normal((towers, MIXED))
        shift += SHIFT_STEP * random.standard_normal(KINDS)
    share = np.exp(mixed)
    return np.exp(level), share / share.sum(axis=1, keepdims=True), shift


def _shifted(profiles: Floats, shift: Floats) -> Floats:
    clock = np.arange(HOURS)
    return np.stack([np.interp(clock + by, clock, row, period=HOURS) for row, by in zip(profiles, shift, strict=True)])


def _this_week(profiles: Floats, seed: int, week: int) -> Floats:
    """Profiles with the week's weather and holidays."""
    random = np.random.default_rng([seed, WEATHER, week])
    taste = np.random.default_rng([seed, WEATHER]).standard_normal(KINDS)
    weather = np.exp(0.08 * np.outer(taste, random.standard_normal(7)) + 0.03 * random.standard_normal(7))
    days = profiles.reshape(KINDS, 7, 24) * weather[:, :, None]
    if _school_holidays(week):
        days[SCHOOLS, :5] *= 0.25
        days[LEISURE, :5] *= 1.5
    if week % HOLIDAY_EVERY == HOLIDAY_WEEK:
        days[:, THURSDAY] = days[:, SUNDAY]
    return days.reshape(KINDS, HOURS)


def _school_holidays(week: int) -> bool:
    return (week - 1) % TERM + 1 in SCHOOL_HOLIDAYS


def _events(towers: int, seed: int, week: int) -> tuple[Ints, Ints, Ints, Floats]:
    """Two to four crowds of some hours, and six to ten fairs of a day."""
    random = np.random.default_rng([seed, EVENTS, week])
    crowds, fairs = int(random.integers(2, 5)), int(random.integers(6, 11))
    day_of = 24 * random.integers(7, size=crowds + fairs)
    hour = np.append(random.integers(14, 21, crowds), random.integers(8, 12, fairs))
    hours = np.append(random.integers(3, 7, crowds), random.integers(8, 13, fairs))
    share = np.append(random.uniform(0.005, 0.02, crowds), random.uniform(0.001, 0.003, fairs))
    return random.integers(towers, size=crowds + fairs), day_of + hour, hours, share


# --- people ----------------------------------------------------------------------------------------------------------


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
