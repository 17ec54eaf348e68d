"""A whole release on each engine, and with weeks kept elsewhere: the same tables, the same draws to pay for."""

import shutil
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from runs import MONDAY, WEEK, failures, materialise, opened
from town import Town, make_town

from density_assets.city import City
from resources.tables.retention import purge

TABLES = ("visits", "truncated_visits", "tower_series", "tower_totals", "one_visit_histogram", "visit_total")
SPARK = '[engine]\nname = "spark"\nmaster = "local[2]"'
WAYS = {
    "duckdb": "[engine]",
    "spark": SPARK,
    "duckdb elsewhere": '[storage]\nweeks = "kept"\n[engine]',
}
PEOPLE, VISITS = 400, 15

pytestmark = pytest.mark.skipif(shutil.which("java") is None, reason="Java is not installed and could not be")


def town_with_parquet(folder: Path) -> Town:
    town = make_town(folder)
    shutil.rmtree(town.visits)
    town.set("*.csv", "*.parquet")
    random, monday = np.random.default_rng(3), datetime.fromisoformat(WEEK)
    seconds = random.integers(604_800, size=PEOPLE * VISITS)
    frame = pl.DataFrame(
        {
            "user_id": [f"p{number % PEOPLE}" for number in range(PEOPLE * VISITS)],
            "time": [monday + timedelta(seconds=int(second)) for second in seconds],
            "tower_id": random.choice(["A", "A2", "B", "C", "D"], PEOPLE * VISITS),
        }
    )
    town.visits.mkdir(parents=True)
    (town.visits / "_SUCCESS").touch()
    frame.write_parquet(town.visits / "part-0.parquet")
    return town


@pytest.fixture(scope="module")
def released(tmp_path_factory) -> dict[str, City]:
    """The same week of the same installation, released in every way."""
    cities: dict[str, City] = {}
    for way, settings in WAYS.items():
        folder = tmp_path_factory.mktemp("way")
        town, home = town_with_parquet(folder), folder / "home"
        town.set("[engine]", settings)
        city = opened(town.settings, home)
        if cities:
            (city.store.confidential / "secret").write_bytes(cities["duckdb"].store.secret)
        assert city.store.secret
        result = materialise(town.settings, home, raise_on_error=False)
        assert result.success, failures(result)
        cities[way] = City(city.settings, home)
    return cities


@pytest.mark.parametrize("way", list(WAYS)[1:])
@pytest.mark.parametrize("table", TABLES)
def test_every_confidential_table_is_the_same(released, way, table):
    one, other = (city.store.read_week(table, MONDAY) for city in (released["duckdb"], released[way]))
    assert one.schema == other.schema
    assert one.sort(one.columns).equals(other.sort(other.columns))


@pytest.mark.parametrize("way", list(WAYS)[1:])
def test_every_draw_has_the_same_key(released, way):
    one, other = (city.release(MONDAY) for city in (released["duckdb"], released[way]))
    assert {door: one.key(door) for door in one.doors} == {door: other.key(door) for door in other.doors}
    assert other.doors


def test_a_release_with_weeks_root_can_be_erased_and_read_on(released):
    city = released["duckdb elsewhere"]
    kept = Path(city.weeks_root)
    assert list(kept.rglob("*.parquet"))
    erased = purge(city.store, MONDAY, 1)
    assert any(name.startswith(str(kept)) for name in erased)
    assert not [path for path in kept.rglob("*") if path.is_file()]
    assert not city.store.has_week("visits", MONDAY)
