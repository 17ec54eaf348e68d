"""When the quietest hours of a city are no night: told of clocks that are far off, and of nothing else."""

import numpy as np
import pytest

from density_assets.people.rhythms import WAKING
from density_assets.records.verdict import quieter_than_night

ASLEEP = [9] * 2 + [2] * 4 + [9] * 18  # from 2h to 6h


def shifted(hours: int) -> list[int]:
    return [ASLEEP[(hour - hours) % 24] for hour in range(24)]


@pytest.mark.parametrize(
    ("hours", "quiet"),
    [
        (0, None),
        (1, None),
        (2, None),
        (3, None),
        (-4, None),
        (5, (7, 11)),
        (9, (11, 15)),
        (12, (14, 18)),
        (-6, (20, 0)),
    ],
)
def test_clocks_that_are_far_off_put_the_night_into_the_day(hours, quiet):
    assert quieter_than_night(shifted(hours)) == quiet


def test_days_without_a_rhythm_and_nights_without_a_record_say_nothing():
    assert quieter_than_night([0] * 24) is None
    assert quieter_than_night([0] * 8 + [100] * 12 + [0] * 4) is None
    even = np.random.default_rng(2007).multinomial(1_000, np.full(24, 1 / 24), size=2_000)
    assert not [day for day in even.tolist() if quieter_than_night(day) is not None]


def test_a_city_sleeps_at_night_on_its_own_clocks_only():
    day = (WAKING.reshape(7, 24).sum(axis=0) * 1_000).astype(int)
    assert quieter_than_night(day.tolist()) is None
    assert quieter_than_night(np.roll(day, 9).tolist()) is not None  # of Tokyo, read as UTC
