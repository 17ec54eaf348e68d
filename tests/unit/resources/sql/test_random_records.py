"""Records drawn at random, their types and oddities too: both engines make the same tables of them, or refuse them."""

import os
from datetime import date
from pathlib import Path

import pytest
import warm
from engines import SETTINGS, ZONE, assert_agree, needs_java, store_at
from random_records import random_records
from spark_connect import agrees, connect_server

from density_assets.calendar import week_clock
from density_assets.errors import BadInput
from density_assets.settings.city import CitySettings
from resources.sql.duckdb_engine import DuckdbEngine
from resources.sql.spark_engine import SparkEngine


def refused_by_all(folder: Path, week: date, files: list[Path], city: CitySettings) -> bool:
    for engine in (DuckdbEngine, SparkEngine):
        store = store_at(folder / engine.__name__, str(folder / "weeks"))
        try:
            engine(store, SETTINGS).ingest(week_clock(week, ZONE), files, city, lambda _: None)
        except BadInput:
            continue
        return False
    return True


@needs_java
@pytest.mark.parametrize(
    "seeds", [range(6), pytest.param(range(6, 300), marks=pytest.mark.nightly)], ids=["some", "many"]
)
def test_both_engines_say_the_same_of_random_records(tmp_path, seeds):
    refused, differing = set(), {}
    for seed in seeds:
        week, files, city = random_records(tmp_path / str(seed), seed)
        try:
            assert_agree(tmp_path / str(seed), week, files, city, visits_only=seed % 10 != 9)
        except BadInput:
            refused.add(seed)
            if not refused_by_all(tmp_path / f"{seed} again", week, files, city):
                differing[seed] = "refused by one engine"
        except AssertionError as error:
            differing[seed] = str(error)[:200]
    assert differing == {}
    assert len(refused) < len(seeds) / 2


@needs_java
@pytest.mark.nightly
def test_the_same_is_said_over_spark_connect(tmp_path):
    with connect_server(tmp_path / "server") as address:
        done = warm.run(agrees, str(tmp_path), address, 8, environment=os.environ)
    assert done.returncode == 0, done.stderr
