"""The places of a patchwork city, and how they change from week to week.

A city unlike that of `people/`: nothing is smooth. It is cut into patches with sharp borders, each mostly of one of 40
kinds with opening hours and days of its own; towers mix up to three kinds. From week to week levels and mixtures walk
at random, hours of the kinds shift, weather favours some kinds on some days; there are public holidays, weeks of
school holidays, and strong events. No constant of an estimator was chosen on it.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from density_assets.calendar import HOURS
from density_assets.people.rhythms import day

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

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
