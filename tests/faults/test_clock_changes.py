"""Weeks in which clocks change, through the real ingest: every moment falls into the hour people read off the clock."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import polars as pl
import pytest

from density_assets.calendar import week_clock
from density_assets.settings import EngineSettings
from density_assets.settings.city import CitySettings
from resources.sql.duckdb_engine import DuckdbEngine
from resources.tables.store import Store

CITY = CitySettings.model_construct(visit_user="user_id", visit_time="time", visit_tower="tower_id")


@pytest.mark.parametrize(
    ("zone", "week", "real_hours", "missing", "twice"),
    [
        ("Europe/Paris", date(2008, 3, 24), 167, {6 * 24 + 2}, set()),
        ("Europe/Paris", date(2007, 10, 22), 169, set(), {6 * 24 + 2}),
        ("America/New_York", date(2008, 3, 3), 167, {6 * 24 + 2}, set()),
        ("Australia/Lord_Howe", date(2008, 3, 31), 168.5, set(), {6 * 24 + 1}),  # half an hour back
    ],
)
def test_one_record_per_half_hour_of_the_week(tmp_path, zone, week, real_hours, missing, twice):
    """A user who is seen all the time, in UTC: nothing is lost at the edges, and no hour is counted twice."""
    local = ZoneInfo(zone)
    start, end = (datetime.combine(day, datetime.min.time(), local) for day in (week, week + timedelta(days=7)))
    moments = [start.astimezone(UTC)]
    while moments[-1] + timedelta(minutes=30) < end.astimezone(UTC):
        moments.append(moments[-1] + timedelta(minutes=30))
    assert len(moments) == 2 * real_hours
    store = Store(tmp_path, "town")
    store.write_public("antennas", pl.DataFrame({"antenna_id": ["A"], "tower_id": ["A"]}))
    outside = [moments[0] - timedelta(seconds=1), end.astimezone(UTC)]
    file = tmp_path / "r.csv"
    lines = [f"ann,{moment:%Y-%m-%dT%H:%M:%SZ},A" for moment in [*moments, *outside]]
    file.write_text("\n".join(["user_id,time,tower_id", *lines]) + "\n")
    engine = DuckdbEngine(store, EngineSettings(threads=1))
    rejected = engine.ingest(week_clock(week, local), [file], CITY, lambda _: None)
    assert list(rejected.values()) == [2]  # those of the weeks before and after
    hours = store.read_week("visits", week)["hour"].to_list()
    assert sorted(hours) == [hour for hour in range(168) if hour not in missing]
    on_the_clock = [(m.astimezone(local).weekday() * 24 + m.astimezone(local).hour) for m in moments]
    assert {hour for hour in on_the_clock if on_the_clock.count(hour) > 2} == twice
