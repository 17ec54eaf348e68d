"""What is foretold of the error of weeks."""

from itertools import pairwise

import pytest

from density_assets.schemes.expected import MOST, MRE, WEEKS, expected_errors, expected_worth, noise_of
from density_assets.settings import Settings


def test_what_was_tried_is_told_as_it_was():
    for noise, errors in MRE.items():
        assert expected_errors(noise) == pytest.approx(dict(zip(WEEKS, errors, strict=True)))


def test_more_noise_is_more_error_and_later_weeks_are_better():
    by_noise = [expected_errors(noise) for noise in (0.01, 0.1, 0.3, 1.0, 2.0, 5.0)]
    for less, more in pairwise(by_noise):
        assert all(less[week] <= more[week] for week in WEEKS)
    assert all(list(errors.values()) == sorted(errors.values(), reverse=True) for errors in by_noise)


def test_nothing_is_worse_than_an_empty_map():
    assert set(expected_errors(100 * MOST).values()) == {1.0}


def test_noise_falls_with_people_and_epsilon_and_rises_with_towers():
    settings = Settings()
    noise = noise_of(settings, 1_303, 2_000_000)
    assert noise == pytest.approx(2 * noise_of(settings, 1_303, 4_000_000))
    assert noise == pytest.approx(noise_of(settings, 2_606, 2_000_000) / 2)
    assert 2.5 * noise_of(settings.with_epsilon(1.0), 1_303, 2_000_000) < noise
    efpag = settings.model_copy(update={"scheme": settings.scheme.model_copy(update={"name": "efpag"})})
    assert noise_of(efpag, 1_303, 2_000_000) is None


def city(people: int) -> Settings:
    return Settings.model_validate({"city": {"population": people}})


def test_a_large_city_is_worth_its_promise_and_a_small_one_is_not():
    large, small = (expected_worth(city(people), 1_303) for people in (2_000_000, 10_000))
    assert not large.too_small
    assert large.release < 0.2 * large.flat
    assert small.too_small
    assert small.release > small.flat


def test_fewer_towers_make_a_small_city_worth_it():
    assert expected_worth(city(10_000), 1_303).too_small
    assert not expected_worth(city(10_000), 60).too_small


def test_nothing_is_foretold_of_a_city_of_unknown_size():
    assert expected_worth(city(100_000), None) is None
