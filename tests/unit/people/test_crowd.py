"""The stated facts of urban crowds hold for the simulated one."""

from itertools import pairwise

import numpy as np
import pytest

from density_assets.research.weeks.crowd import HOURS, crowd, grid
from density_assets.schemes.moving.windows import distances, histograms

PEOPLE = 8_000


@pytest.fixture(scope="module")
def made():
    return crowd(PEOPLE, days=2, seed=3)


def test_eight_thousand_cells_of_500_metres():
    assert len(grid()) == 8_000
    assert np.diff(grid()[:2, 0]).tolist() == [500.0]


def test_two_stays_a_day_and_hardly_ever_more_than_four(made):
    assert made.cells.shape == (2, PEOPLE, 19)
    assert made.stays.mean() == pytest.approx(2.1, abs=0.02)
    assert (made.stays <= 4).mean() == pytest.approx(0.977, abs=0.004)


def test_stays_are_counted_where_people_were(monkeypatch):
    monkeypatch.setattr("density_assets.research.weeks.crowd.SPEED", 1e12)  # nobody is seen on the way
    whole_day = crowd(2_000, days=1, seed=4, hours=tuple(range(24)))
    assert whole_day.stays[0].tolist() == [len(np.unique(person)) for person in whole_day.cells[0]]


def test_stays_at_night_are_longer_than_by_day():
    two_days = np.hstack(list(crowd(2_000, days=2, seed=4, hours=tuple(range(24))).cells))
    night, day = [], []
    for person in two_days:
        ends = np.flatnonzero(np.diff(person)) + 1
        for start, end in pairwise([0, *ends, 48]):
            if start < 24 < end:
                night.append(end - start)  # over midnight
            elif start % 24 >= 7 and end - start // 24 * 24 <= 21:
                day.append(end - start)
    assert np.mean(night) > 2 * np.mean(day)


def test_whoever_stays_at_one_place_is_in_one_cell(made):
    at_home = made.cells[0][made.stays[0] == 1]
    assert (at_home == at_home[:, :1]).all()


def test_people_move_by_day_and_rest_at_night(made):
    gaps = distances(histograms(made.cells[0], 8_000))
    clock = np.array(HOURS[1:])
    assert gaps[(clock >= 7) & (clock <= 10)].mean() > 4 * gaps[clock <= 5].mean()
    assert gaps[(clock >= 16) & (clock <= 19)].mean() > 1.5 * gaps[(clock >= 12) & (clock <= 14)].mean()


def test_days_are_alike_because_people_have_homes_and_work(made):
    monday, tuesday = made.cells
    assert (monday[:, 0] == tuesday[:, 0]).mean() > 0.95  # at three in the morning
    worker = (made.stays == 2).all(axis=0)
    assert (monday[worker, 9] == tuesday[worker, 9]).mean() > 0.7


def test_the_same_seed_is_the_same_crowd():
    one, same, other = (crowd(50, seed=seed) for seed in (1, 1, 2))
    assert (one.cells == same.cells).all()
    assert (one.cells != other.cells).any()
