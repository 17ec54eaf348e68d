"""Rhythms are shapes over a week; neighbouring places share theirs, and a few profiles do not span a city."""

import numpy as np
import pytest

from density_assets.geography.source import embedded_city
from density_assets.people.inhabitants import Neighbourhoods, neighbourhoods
from density_assets.people.rhythms import (
    KIND_RHYTHMS,
    ROLE_RHYTHMS,
    WAKING,
    day,
    on_days,
    spatial_fields,
    week,
    weekly_field,
)


@pytest.fixture(scope="module")
def tower_xy() -> np.ndarray:
    return embedded_city()[1].xy


@pytest.fixture(scope="module")
def places(tower_xy: np.ndarray) -> Neighbourhoods:
    return neighbourhoods(tower_xy, [2007, 0])


def test_a_peak_before_midnight_reaches_into_the_morning() -> None:
    profile = day(1.0, (23.0, 2.0, 1.0))
    assert profile[23] == pytest.approx(2.0)
    assert profile[1] == pytest.approx(profile[21])


def test_a_week_is_five_weekdays_and_a_weekend_of_mean_1() -> None:
    hours = week(day(2.0), day(1.0), day(4.0)).reshape(7, 24)
    assert hours.mean() == pytest.approx(1.0)
    assert (hours[:, 0] / hours[5, 0]).tolist() == [2.0, 2.0, 2.0, 2.0, 2.0, 1.0, 4.0]


def test_a_market_is_open_on_its_own_days() -> None:
    hours = on_days(np.array([False, True, False, False, False, True, False]), day(3.0), day(1.0)).reshape(7, 24)
    assert np.flatnonzero(hours[:, 12] > 1.0).tolist() == [1, 5]


@pytest.mark.parametrize("rhythm", [*ROLE_RHYTHMS.values(), *KIND_RHYTHMS.values()])
def test_no_hour_is_impossible(rhythm: np.ndarray) -> None:
    assert rhythm.shape == (168,)
    assert rhythm.min() > 0.0


def test_the_city_sleeps_deepest_at_four() -> None:
    assert WAKING.reshape(7, 24).argmin(axis=1).tolist() == [4] * 7


def test_spatial_fields_have_variance_1_and_the_given_length() -> None:
    points = np.array([[0.0, 0.0], [0.0, 500.0], [0.0, 9_000.0]])
    fields = spatial_fields(points, 500.0, 2_000, np.random.default_rng(1))
    correlation = np.corrcoef(fields)
    assert fields.std(axis=1) == pytest.approx(1.0, abs=0.08)
    assert correlation[0, 1] == pytest.approx(np.exp(-0.5), abs=0.08)
    assert correlation[0, 2] == pytest.approx(0.0, abs=0.08)


def test_a_weekly_field_is_smooth_across_the_turn_of_the_week(tower_xy: np.ndarray) -> None:
    field = weekly_field(tower_xy, 1_000.0, 3.0, np.random.default_rng(1))
    steps = np.abs(np.diff(field, axis=1, append=field[:, :1])).mean(axis=0)
    assert steps[-1] < 1.5 * steps.mean()
    assert steps.mean() < 0.5 * np.abs(field).mean()


def test_shares_of_kinds_sum_to_1_and_every_kind_dominates_somewhere(places: Neighbourhoods) -> None:
    shares = np.stack(list(places.shares.values()))
    assert shares.sum(axis=0) == pytest.approx(1.0)
    assert len(np.unique(shares.argmax(axis=0))) == len(shares) == 11


def test_markets_keep_different_days(places: Neighbourhoods) -> None:
    markets = places.attraction[places.shares["market"] > 0.4].reshape(-1, 7, 24)[:, :, 11]
    assert len(markets) > 20
    assert len(np.unique(markets.argmax(axis=1))) >= 5


def test_ten_profiles_do_not_span_the_city(places: Neighbourhoods) -> None:
    shape = WAKING * places.attraction
    shape = shape / shape.sum(axis=1, keepdims=True)
    left, weight, right = np.linalg.svd(shape, full_matrices=False)
    approximation = (left[:, :10] * weight[:10]) @ right[:10]
    assert np.mean(np.abs(approximation - shape) / np.maximum(1e-3, shape)) > 0.03
