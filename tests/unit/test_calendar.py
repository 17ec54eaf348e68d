from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import pytest

from density_assets.calendar import EARLIEST, LATEST, parse_week, week_clock
from density_assets.errors import BadInput

PARIS = ZoneInfo("Europe/Paris")


def utc(*parts: int) -> float:
    return datetime(*parts, tzinfo=UTC).timestamp()


def test_an_ordinary_week_counts_local_hours_from_monday():
    clock = week_clock(date(2007, 9, 10), PARIS)
    assert clock.hour(utc(2007, 9, 9, 22)) == 0  # Monday 00:00 in Paris is Sunday 22:00 UTC
    assert clock.hour(utc(2007, 9, 9, 21, 59)) == -1
    assert clock.hour(utc(2007, 9, 16, 21, 59)) == 167
    assert clock.hour(utc(2007, 9, 16, 22)) == 168
    assert not clock.repeated
    assert not clock.missing


def test_the_repeated_hour_of_autumn_folds_into_one_slot():
    clock = week_clock(date(2007, 10, 22), PARIS)  # Sunday 28 October, 03:00 becomes 02:00
    assert list(clock.repeated) == [146]
    assert not clock.missing
    assert clock.hour(utc(2007, 10, 28, 0, 30)) == clock.hour(utc(2007, 10, 28, 1, 30)) == 146
    assert clock.hour(utc(2007, 10, 28, 2, 30)) == 147
    assert clock.hour(utc(2007, 10, 28, 22, 59)) == 167


def test_the_missing_hour_of_spring_stays_empty():
    clock = week_clock(date(2007, 3, 19), PARIS)  # Sunday 25 March, 02:00 becomes 03:00
    assert list(clock.missing) == [146]
    assert not clock.repeated
    hours = {clock.hour(utc(2007, 3, 25, h, 30)) for h in range(22)}
    assert 146 not in hours
    assert max(hours) == 167


def test_a_city_without_daylight_saving_has_neither():
    clock = week_clock(date(2007, 3, 19), ZoneInfo("Asia/Kolkata"))
    assert clock.before == clock.after == 19800
    assert not clock.repeated
    assert not clock.missing


def test_a_week_is_named_by_its_monday():
    assert parse_week("2007-09-10") == date(2007, 9, 10)
    with pytest.raises(BadInput, match=r"2007-09-12 is a Wednesday, its Monday is 2007-09-10"):
        parse_week("2007-09-12")
    with pytest.raises(BadInput, match="got 'last'"):
        parse_week("last")


@pytest.mark.parametrize("text", ["9999-12-27", "9999-12-31", "0001-01-01", "0001-01-02"])
def test_a_week_at_the_end_of_the_calendar_is_refused(text):
    with pytest.raises(BadInput, match="a week must lie between 1970-01-05 and 2999-12-30"):
        parse_week(text)


@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "Pacific/Niue", "Europe/Paris"])
def test_the_first_and_the_last_week_have_clocks_everywhere(zone):
    for week in (EARLIEST, LATEST):
        assert parse_week(str(week)) == week
        assert week_clock(week, ZoneInfo(zone)).week == week
