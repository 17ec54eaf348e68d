"""Times that carry no zone, on the clocks of the zone that settings name, also where clocks change."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from ingested import AUTUMN, SPRING, WEEK, table, text, visits

from density_assets.calendar import week_clock


@pytest.mark.parametrize("old", [False, True], ids=["microseconds", "INT96"])
def test_times_without_a_zone_are_those_of_the_zone_named(store, old):
    """Sunday 22:30 in UTC is Monday 0:30 in Paris, and Sunday 22:30 a week later is the next Monday."""
    times = [datetime(2007, 9, 9, 22, 30), datetime(2007, 9, 11, 6, 15), datetime(2007, 9, 16, 22, 30)]
    file = store.folder / "r.parquet"
    records = pa.table({"user_id": [1, 2, 3], "time": pa.array(times, pa.timestamp("us")), "tower_id": ["A"] * 3})
    pq.write_table(records, file, use_deprecated_int96_timestamps=old)
    assert visits(store, file, visit_timezone="UTC") == ({(1, 0, "A"), (2, 32, "A")}, {"outside the week": 1})
    assert visits(store, file) == ({(2, 30, "A"), (3, 166, "A")}, {"outside the week": 1})


def test_clocks_of_two_zones_may_change_in_a_week(store):
    """Clocks of New York go back a week after those of Paris: in between they are five hours apart, not six."""
    lines = ["ann,2007-10-28 02:30:00,A", "bob,2007-10-27 18:30:00,A"]
    file = text(store, "user_id,time,tower_id", *lines)
    found = visits(store, file, week=AUTUMN, visit_timezone="America/New_York")
    assert found == ({("ann", 151, "A"), ("bob", 144, "A")}, {})


@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo", "America/St_Johns", "Australia/Lord_Howe", "Africa/Casablanca"])
@pytest.mark.parametrize("week", [WEEK, SPRING, AUTUMN], ids=str)
def test_every_hour_of_another_zone_falls_where_python_says(store, zone, week):
    """Each half hour from the day before a week to the day after it, written as the clocks of the zone show it."""
    clock, there, here = week_clock(week, ZoneInfo("Europe/Paris")), ZoneInfo(zone), ZoneInfo("Europe/Paris")
    moments = range(clock.first_moment - 86_400, clock.end_moment + 86_400, 1_800)
    walls = [datetime.fromtimestamp(moment, there).replace(tzinfo=None) for moment in moments]
    first = [
        datetime.fromtimestamp(wall.replace(tzinfo=there).timestamp(), here) for wall in walls
    ]  # of a repeated hour
    expected = {(local.date() - week).days * 24 + local.hour for local in first}
    file = table(
        store, user_id=list(range(len(walls))), time=pa.array(walls, pa.timestamp("us")), tower_id=["A"] * len(walls)
    )
    found, rejected = visits(store, file, week=week, visit_timezone=zone)
    assert {hour for _, hour, _ in found} == {hour for hour in expected if 0 <= hour < 168}
    assert {(user, hour) for user, hour, _ in found} == {
        (user, (local.date() - week).days * 24 + local.hour)
        for user, local in enumerate(first)
        if 0 <= (local.date() - week).days < 7
    }
    assert rejected.keys() == {"outside the week"}


@pytest.mark.parametrize("spelling", ["2008-03-30 02:00:00", "2008-03-30 02:30:00", "2008-03-30T02:59:59.9"])
def test_an_hour_that_clocks_skip_holds_nothing(store, spelling):
    file = text(
        store, "user_id,time,tower_id", f"ann,{spelling},A", "bob,2008-03-30 01:59:59,A", "cat,2008-03-30 03:00:00,A"
    )
    found = visits(store, file, week=SPRING)
    assert found == ({("bob", 145, "A"), ("cat", 147, "A")}, {"hour that does not exist": 1})


def test_no_moment_falls_into_the_hour_that_clocks_skip(store):
    start = int(datetime(2008, 3, 30, tzinfo=UTC).timestamp())
    seconds = list(range(start, start + 4 * 3600, 60))
    found, rejected = visits(
        store, table(store, user_id=seconds, time=seconds, tower_id=["A"] * len(seconds)), week=SPRING
    )
    assert {hour for _, hour, _ in found} == {145, 147, 148, 149}
    assert rejected == {}
