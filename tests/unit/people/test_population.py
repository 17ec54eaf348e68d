"""The simulated population: distinct sorted visits, published distribution, people who keep their habits."""

from collections.abc import Iterable
from datetime import date
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from density_assets.geography.source import embedded_city
from density_assets.people.population import VisitChunk, simulate_week

USERS = 60_000
MONDAY = date(2007, 9, 10)
NEXT_MONDAY = date(2007, 9, 17)
CELL_XY = embedded_city()[0].centroids
TOWER_XY = embedded_city()[1].xy


def simulate(users: int = USERS, week: date = MONDAY, seed: int = 2007) -> VisitChunk:
    return joined(simulate_week(CELL_XY, TOWER_XY, users=users, seed=seed, week=week))


def joined(chunks: Iterable[VisitChunk]) -> VisitChunk:
    parts = list(chunks)
    return VisitChunk(
        np.concatenate([part.user for part in parts]),
        np.concatenate([part.hour for part in parts]),
        np.concatenate([part.tower for part in parts]),
    )


def same(one: VisitChunk, other: VisitChunk) -> bool:
    return all(np.array_equal(getattr(one, column), getattr(other, column)) for column in ("user", "hour", "tower"))


def series(visits: VisitChunk, chosen: NDArray[np.bool_] | slice = slice(None)) -> NDArray[np.int64]:
    slot = visits.tower[chosen].astype(np.int64) * 168 + visits.hour[chosen]
    return np.bincount(slot, minlength=168 * len(TOWER_XY)).reshape(-1, 168)


def favourite_tower(visits: VisitChunk, chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the tower each user is most often seen at among the chosen visits, -1 below five visits."""
    pairs = visits.user[chosen] * len(TOWER_XY) + visits.tower[chosen]
    pair, times = np.unique(pairs, return_counts=True)
    order = np.argsort(times, kind="stable")
    user, tower = np.divmod(pair[order], len(TOWER_XY))
    favourite = np.full(USERS + 1, -1)
    favourite[user] = tower
    favourite[np.bincount(visits.user[chosen], minlength=USERS + 1) < 5] = -1
    return favourite


@pytest.fixture(scope="module")
def visits() -> VisitChunk:
    return simulate()


@pytest.fixture(scope="module")
def next_visits() -> VisitChunk:
    return simulate(week=NEXT_MONDAY)


@pytest.fixture(scope="module")
def heavy(visits: VisitChunk) -> NDArray[np.bool_]:
    return (np.bincount(visits.user) > 30)[visits.user]


def test_visits_are_distinct_and_sorted_by_user_hour_and_tower(visits: VisitChunk) -> None:
    code = (visits.user * 168 + visits.hour) * len(TOWER_XY) + visits.tower
    assert (np.diff(code) > 0).all()
    assert (visits.user.dtype, visits.hour.dtype, visits.tower.dtype) == (np.int64, np.uint8, np.int32)
    assert visits.hour.max() == 167
    assert (visits.tower.min(), visits.tower.max()) == (0, len(TOWER_XY) - 1)


def test_chunks_hold_whole_users(visits: VisitChunk) -> None:
    chunks = list(simulate_week(CELL_XY, TOWER_XY, users=USERS, seed=2007, week=MONDAY))
    assert len(chunks) > 1
    assert all(one.user[-1] < other.user[0] for one, other in pairwise(chunks))


def test_seed_and_week_decide_everything(visits: VisitChunk, next_visits: VisitChunk) -> None:
    assert same(simulate(), visits)
    assert same(simulate(week=date(2007, 9, 16)), visits)  # Sunday of the same week
    assert not same(next_visits, visits)
    assert not same(simulate(seed=2008), visits)


def test_a_smaller_population_begins_the_larger_one(visits: VisitChunk) -> None:
    fewer = simulate(users=25_000)
    first = visits.user <= 25_000
    assert same(fewer, VisitChunk(visits.user[first], visits.hour[first], visits.tower[first]))


def test_visits_per_user_are_distributed_as_published(visits: VisitChunk) -> None:
    times = np.bincount(visits.user)[1:]
    assert len(times) == USERS
    assert times.min() == 1
    assert times.max() <= 732
    assert times.mean() == pytest.approx(13.55, rel=0.05)
    assert times.std() == pytest.approx(18.33, rel=0.05)


def test_truncation_to_thirty_hours_leaves_the_published_share(visits: VisitChunk) -> None:
    hours_per_user = np.bincount(np.unique(visits.user * 168 + visits.hour) // 168)
    kept = np.minimum(hours_per_user, 30).sum()
    assert 15 / 27 < kept / len(visits.user) < 18 / 27


def test_every_tower_is_visited(visits: VisitChunk) -> None:
    assert series(visits).sum(axis=1).min() > 50


def test_the_city_sleeps_at_four_and_peaks_in_the_morning_and_evening_of_weekdays(visits: VisitChunk) -> None:
    days = series(visits).sum(axis=0).reshape(7, 24)
    assert days.sum(axis=0).argmin() == 4
    assert set(days.argmin(axis=1)) <= {3, 4, 5}
    weekday, sunday = days[:5].mean(axis=0), days[6]
    assert weekday[8] > 1.2 * weekday[13]
    assert weekday[18] > 1.2 * weekday[13]
    assert sunday.sum() < weekday.sum()
    assert sunday[8] < weekday[8] / 2


def test_people_keep_their_homes_from_week_to_week(visits: VisitChunk, next_visits: VisitChunk) -> None:
    def night(week: VisitChunk) -> NDArray[np.bool_]:
        return np.isin(week.hour % 24, [21, 22, 23, 0, 1, 2, 3, 4, 5, 6])

    home = favourite_tower(visits, night(visits))
    next_home = favourite_tower(next_visits, night(next_visits))
    known = (home >= 0) & (next_home >= 0)
    assert known.sum() > 1_000
    moved = np.hypot(*(TOWER_XY[home[known]] - TOWER_XY[next_home[known]]).T)
    assert np.mean(moved < 500) > 0.6


def test_people_keep_their_activity_from_week_to_week(visits: VisitChunk, next_visits: VisitChunk) -> None:
    activity = [np.log(np.bincount(week.user)[1:]) for week in (visits, next_visits)]
    assert 0.6 < np.corrcoef(*activity)[0, 1] < 0.9


def test_neighbouring_towers_have_similar_weeks(visits: VisitChunk) -> None:
    distance = cdist(TOWER_XY, TOWER_XY)
    alike = np.corrcoef(series(visits))
    near = alike[(distance > 0) & (distance < 400)].mean()
    assert near > alike[distance > 4_000].mean() + 0.1


def test_heavy_users_go_to_other_places_than_light_ones(visits: VisitChunk, heavy: NDArray[np.bool_]) -> None:
    def preference(half: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return how much more of the heavy users' visits each tower gets than of the light users'."""
        spread = [series(visits, half & group).sum(axis=1) / (half & group).sum() for group in (heavy, ~heavy)]
        return np.asarray(spread[0] - spread[1])

    odd = visits.user % 2 == 1
    # Two halves of the population share no chance, so they agree only on a real difference.
    assert np.corrcoef(preference(odd), preference(~odd))[0, 1] > 0.4


def test_heavy_users_are_up_at_night(visits: VisitChunk, heavy: NDArray[np.bool_]) -> None:
    night = visits.hour % 24 < 4
    assert night[heavy].mean() > 1.2 * night[~heavy].mean()


def test_heavy_users_show_at_several_towers_within_an_hour(visits: VisitChunk, heavy: NDArray[np.bool_]) -> None:
    def towers_per_hour(chosen: NDArray[np.bool_]) -> float:
        return float(chosen.sum() / len(np.unique((visits.user * 168 + visits.hour)[chosen])))

    assert towers_per_hour(heavy) > 1.2 * towers_per_hour(~heavy)


def test_a_week_has_a_few_local_events_of_its_own(visits: VisitChunk, next_visits: VisitChunk) -> None:
    this_week, next_week = series(visits), series(next_visits)
    tower, _ = np.nonzero((this_week > 30) & (this_week > 5 * (next_week + 3)))
    assert 5 <= len(tower) <= 300
    assert len(np.unique(tower)) <= 60


@pytest.mark.parametrize(("cells", "towers"), [(30, 40), (4, 1)])
def test_a_small_city_works(cells: int, towers: int) -> None:
    small_cells, small_towers = embedded_city(cells=cells, towers=towers)
    chunks = simulate_week(small_cells.centroids, small_towers.xy, users=300, seed=1, week=MONDAY)
    visits = joined(chunks)
    assert np.array_equal(np.unique(visits.user), np.arange(1, 301))
    assert np.array_equal(np.unique(visits.tower), np.arange(towers))


@pytest.mark.parametrize(("users", "towers"), [(0, 3), (5, 0)])
def test_an_empty_population_is_refused(users: int, towers: int) -> None:
    with pytest.raises(ValueError, match=f"users={users}.*towers={towers}"):
        simulate_week(CELL_XY, TOWER_XY[:towers], users=users, seed=1, week=MONDAY)
