"""Crowds with moving characteristics: where each person is, stamp after stamp (Chen et al., §7.1).

The stated facts of urban crowds: 2.1 stays per person and day on average, at most 4 for 97.7 % of people, long stays
at night and short ones by day, and the same home, work and haunts day after day. Every person is in exactly one cell
at every stamp; who travels at a stamp may be seen on the way.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from density_assets.series import Floats, Ints

PEOPLE = 130_000
COLUMNS, ROWS, SIDE = 100, 80, 500.0  # 8,000 cells of 500 m
HOURS = tuple(range(3, 22))  # 19 hourly stamps, 03:00 to 21:00
STAYS = (0.29, 0.42, 0.20, 0.067, 0.023)  # share of people with 1 … 5 places a day: 2.11 on average, 97.7 % ≤ 4
WORKERS = 0.65
COMMUTE = 6_000.0  # metres: how fast the appeal of a workplace fades with distance from home
HAUNTS, HAUNT_REACH = 4, 1_500.0  # places a person goes to besides home and work, around one of both
SPEED = 25_000.0  # metres per hour, door to door
CENTRES = 12


@dataclass(frozen=True)
class Crowd:
    """People of one or more days.

    xy: centres of the cells, in metres.
    cells: (days, people, stamps), the cell each person is in.
    stays: (days, people), how many places each person has stayed at, all 24 hours counted.
    """

    xy: Floats
    cells: NDArray[np.int32]
    stays: Ints


@dataclass(frozen=True)
class _People:
    """What stays the same from day to day: places, how many of them a day, and when and how long."""

    home: Ints
    work: Ints
    haunts: Ints
    sociable: Floats
    rhythm: Floats
    worker: NDArray[np.bool_]


def grid(columns: int = COLUMNS, rows: int = ROWS, side: float = SIDE) -> Floats:
    """Centres of the cells of a regular grid, row by row."""
    x, y = np.meshgrid(np.arange(columns), np.arange(rows))
    return np.asarray((np.column_stack([x.ravel(), y.ravel()]) + 0.5) * side, dtype=np.float64)


def crowd(
    people: int = PEOPLE, days: int = 1, seed: int = 2008, xy: Floats | None = None, hours: tuple[int, ...] = HOURS
) -> Crowd:
    """Simulate a crowd; the same seed is the same crowd."""
    random = np.random.default_rng(seed)
    where = grid() if xy is None else xy
    they = _people(where, people, random)
    tree, cells, stays = cKDTree(where), [], []
    for _ in range(days):
        wanted = _wanted(they.sociable + random.normal(0, 0.7, people))
        place = _day(they, wanted, random)
        cells.append(_seen(where, tree, place, hours, random))
        stays.append(1 + np.count_nonzero(np.diff(np.sort(place, axis=1), axis=1), axis=1))
    return Crowd(where, np.array(cells, dtype=np.int32), np.array(stays))


def _people(xy: Floats, number: int, random: np.random.Generator) -> _People:
    home, work, haunts = _places(xy, number, random)
    sociable, rhythm = random.normal(0, 1, number), random.normal(0, 1, (2, number))
    return _People(home, work, haunts, sociable, rhythm, random.random(number) < WORKERS)


def _places(xy: Floats, people: int, random: np.random.Generator) -> tuple[Ints, Ints, Ints]:
    """Home, work and haunts: homes spread out, jobs concentrated, both around the same few centres."""
    low, high = xy.min(axis=0), xy.max(axis=0)
    centres = low + (high - low) * random.beta(2.5, 2.5, (CENTRES, 2))
    importance = random.lognormal(0, 0.6, CENTRES)
    apart = ((xy[:, None, :] - centres) ** 2).sum(axis=2) / float(np.prod(high - low))

    def density(width: float, grain: float) -> Floats:
        field = (importance * np.exp(-apart / (2 * width**2))).sum(axis=1) + 0.02
        field *= random.lognormal(0, grain, len(xy))
        return np.asarray(field / field.sum())

    homes, jobs = density(0.12, 0.6), density(0.05, 0.9)
    home = random.choice(len(xy), people, p=homes)
    offers = random.choice(len(xy), (people, 8), p=jobs)
    work = _preferred(xy, home, offers, COMMUTE, random)
    base = np.where(random.random((people, HAUNTS)) < 0.6, home[:, None], work[:, None])
    wanted = xy[base] + random.normal(0, HAUNT_REACH, (people, HAUNTS, 2))
    haunts: Ints = cKDTree(xy).query(wanted.reshape(-1, 2))[1].reshape(people, HAUNTS)
    return home, work, haunts


def _preferred(xy: Floats, home: Ints, offers: Ints, reach: float, random: np.random.Generator) -> Ints:
    """One of the offers each, the nearer the likelier."""
    away = np.linalg.norm(xy[offers] - xy[home][:, None, :], axis=2)
    best = np.argmax(random.gumbel(size=offers.shape) - away / reach, axis=1)
    return np.asarray(offers[np.arange(len(home)), best])


def _wanted(score: Floats) -> Ints:
    """How many places each person wants to stay at, in the stated shares; now and then two are the same."""
    rank = np.argsort(np.argsort(score)) / len(score)
    return np.asarray(np.searchsorted(np.cumsum(STAYS)[:-1], rank, side="right") + 1)


def _day(people: _People, count: Ints, random: np.random.Generator) -> Ints:
    """The place of each person in each of 24 hours: home, and stays elsewhere that last an hour at least."""
    number, clock = len(people.home), np.arange(24)
    place = np.repeat(people.home[:, None], 24, axis=1)
    worker, haunts = people.worker, people.haunts

    def stay(who: NDArray[np.bool_], first: NDArray[Any], hours: Floats, there: Ints) -> tuple[Ints, Ints]:
        start = np.clip(np.rint(first), 1, 22).astype(np.int64)
        end = np.clip(start + np.maximum(np.rint(hours), 1), 2, 24).astype(np.int64)
        during = who[:, None] & (clock >= start[:, None]) & (clock < end[:, None])
        np.copyto(place, np.broadcast_to(there[:, None], place.shape), where=during)
        return start, end

    early = 8.2 + 1.1 * people.rhythm[0] + random.normal(0, 0.4, number)
    office = 8.8 + 1.0 * people.rhythm[1] + random.normal(0, 0.5, number)
    first = np.where(worker, early, random.uniform(8, 17, number))
    hours = np.where(worker, office, random.gamma(4, 0.6, number))
    start, end = stay(count >= 2, first, hours, np.where(worker, people.work, haunts[:, 0]))
    stay(count >= 3, end, random.gamma(4, 0.4, number), haunts[:, 1])
    stay(count >= 4, np.where(worker, start + random.integers(2, 6, number), start - 1), np.ones(number), haunts[:, 2])
    stay(count >= 5, start - 2, np.ones(number), haunts[:, 3])
    return place


def _seen(xy: Floats, tree: "cKDTree[None]", place: Ints, hours: tuple[int, ...], random: np.random.Generator) -> Ints:
    """Cells at the stamps: where the person stays, or on the way there from the stay before."""
    before, there = place[:, np.array(hours) - 1], place[:, list(hours)]
    way = xy[there] - xy[before]
    travelling = random.random(there.shape) < np.linalg.norm(way, axis=2) / SPEED
    share = random.random(there.shape)
    cells = there.copy()
    on_the_way = (xy[before] + share[..., None] * way)[travelling]
    cells[travelling] = tree.query(on_the_way)[1]
    return cells
