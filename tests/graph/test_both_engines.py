"""A whole release on each engine, and with weeks kept elsewhere: the same tables, the same draws to pay for."""

import shutil
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import fsspec
import numpy as np
import polars as pl
import pytest
from elsewhere import objects
from engines import needs_java
from object_store import KEYS, s3_server
from runs import MONDAY, WEEK, failures, materialise, opened, shown
from town import Town, make_town

from density_assets.city import City
from resources.draws import contents_of_draws, draw_files, read_draw
from resources.tables.retention import purge
from resources.wall import available

TABLES = ("visits", "truncated_visits", "tower_series", "tower_totals", "one_visit_histogram", "visit_total")
SPARK = '[engine]\nname = "spark"\nmaster = "local[2]"'
WAYS = {
    "duckdb": "[engine]",
    "spark": SPARK,
    "duckdb elsewhere": '[storage]\nweeks = "kept"\n[engine]',
    "duckdb on S3": '[storage]\nweeks = "s3://bucket/weeks"\n[engine]',
}
ELSEWHERE = ("duckdb elsewhere", "duckdb on S3")
PEOPLE, VISITS = 400, 15

pytestmark = needs_java


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


@pytest.fixture(scope="module", autouse=True)
def bucket() -> Iterator[None]:
    """An S3 server with an empty bucket, and the variables by which it is found."""
    with s3_server() as (address, _), pytest.MonkeyPatch.context() as environment:
        for name, value in {**KEYS, "AWS_ENDPOINT_URL": address}.items():
            environment.setenv(name, value)
        fsspec.filesystem("s3", skip_instance_cache=True).mkdir("s3://bucket")
        yield


@pytest.fixture(scope="module")
def released(tmp_path_factory, bucket) -> dict[str, City]:
    """The same week of the same installation, released in every way, behind walls."""
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
        assert shown(result, "density").metadata["walled_off"].value is available()
        cities[way] = City(city.settings, home)
    return cities


@pytest.mark.parametrize("way", list(WAYS)[1:])
@pytest.mark.parametrize("table", TABLES)
def test_every_confidential_table_is_the_same(released, way, table):
    one, other = (city.store.read_week(table, MONDAY) for city in (released["duckdb"], released[way]))
    assert one.schema == other.schema
    assert one.sort(one.columns).equals(other.sort(other.columns))


def charged_and_drawn(city: City) -> dict[str, object]:
    """Each door's charge as the ledger has it, with the names, types and shapes of what was stored under it."""
    rows = city.ledger.rows()
    assert contents_of_draws(city.home, city.ledger.accounts()).keys() == {row.hash for row in rows}
    stored = {about["key"]: values for about, values in map(read_draw, draw_files(city.home))}
    shapes = {key: {name: (a.dtype, a.shape) for name, a in values.items()} for key, values in stored.items()}
    return {row.charge.door: (row.charge, shapes.pop(row.charge.measurement)) for row in rows}


@pytest.mark.parametrize("way", list(WAYS)[1:])
def test_the_same_is_charged_and_drawn_under_the_same_keys(released, way):
    one, other = (charged_and_drawn(city) for city in (released["duckdb"], released[way]))
    assert one == other
    assert other.keys() == released[way].release(MONDAY).doors.keys() != set()


@pytest.mark.parametrize("way", ELSEWHERE)
def test_a_release_with_weeks_root_can_be_erased(released, way):
    city = released[way]
    assert any(name.endswith(".parquet") for name in objects(city.weeks_root))
    erased = purge(city.store, MONDAY, 1)
    assert any(name.startswith(city.weeks_root) for name in erased)
    assert objects(city.weeks_root) == []
    assert not city.store.has_week("visits", MONDAY)
