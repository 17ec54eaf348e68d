"""Files of several kinds, each from `density init` to a release that verifies: little of them, but all as they come."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import geopandas as gpd
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from runs import materialise
from shapely import box
from sydney import WEEK as SYDNEYS_WEEK
from sydney import make_sydney

from density_assets.cli.inspection import inspect
from density_assets.cli.starting import init
from density_assets.publication.verification import outcome
from density_assets.records.verdict import Verdict
from density_assets.settings import load_settings

WEST, SOUTH, SIDE = -3.72, 40.40, 0.01  # Madrid
MONDAY = datetime(2023, 1, 2, tzinfo=UTC)
PEOPLE, EVENTS = 400, 8


@dataclass(frozen=True)
class Files:
    """What a person names when they begin, and what `init` cannot know."""

    cells: Path
    towers: Path
    visits: str
    week: str
    answers: tuple[str, ...] = ()


def squares(folder: Path, columns: int, rows: int, name: str = "cells.geojson") -> Path:
    """Squares of a hundredth of a degree; of Parquet, without a coordinate system."""
    corners = [(WEST + i * SIDE, SOUTH + j * SIDE) for j in range(rows) for i in range(columns)]
    shapes = [box(x, y, x + SIDE, y + SIDE) for x, y in corners]
    codes = [f"z{number:04}" for number in range(len(corners))]
    frame = gpd.GeoDataFrame({"zone_id": codes}, geometry=shapes, crs="EPSG:4326")
    if name.endswith(".parquet"):
        frame.set_crs(None, allow_override=True).to_parquet(folder / name)
    else:
        frame.to_file(folder / name)
    return folder / name


def masts(columns: int, rows: int, number: int) -> pl.DataFrame:
    random = np.random.default_rng(1)
    lon, lat = (random.uniform(0.1, size - 0.1, number) * SIDE for size in (columns, rows))
    return pl.DataFrame({"cell_id": [f"c{n}" for n in range(number)], "lon": WEST + lon, "lat": SOUTH + lat})


def events(towers: Sequence[str]) -> pl.DataFrame:
    """Events of some people over a week of UTC."""
    random = np.random.default_rng(2)
    seconds = random.integers(7 * 86_400, size=PEOPLE * EVENTS)
    moments = [MONDAY + timedelta(seconds=int(second)) for second in seconds]
    people = np.repeat(np.arange(PEOPLE), EVENTS)
    return pl.DataFrame({"user": people, "time": moments, "cell_id": random.choice(list(towers), len(people))})


def small_csv(folder: Path, columns: int, rows: int, number: int) -> Files:
    towers = masts(columns, rows, number)
    towers.write_csv(folder / "towers.csv")
    (folder / "cdr").mkdir()
    table = events(towers["cell_id"].to_list()).with_columns(pl.col("time").dt.strftime("%Y-%m-%dT%H:%M:%SZ"))
    table.rename({"user": "imsi"}).write_csv(folder / "cdr/2023-01-02.csv")
    (folder / "cdr/_SUCCESS").touch()
    return Files(squares(folder, columns, rows), folder / "towers.csv", f"{folder}/cdr/{{week}}.csv", "2023-01-02")


def three_cells(folder: Path) -> Files:
    return small_csv(folder, 3, 1, 2)


def five_thousand_cells(folder: Path) -> Files:
    return small_csv(folder, 100, 50, 150)


def european_pipeline(folder: Path) -> Files:
    """Identifiers of 32 bytes, INT96 times of UTC, a folder per day, checksums beside, zones without a system."""
    towers = masts(3, 2, 5)
    network = folder / "network/year=2023/month=1/day=2"
    network.mkdir(parents=True)
    since = towers.with_columns(pl.lit("2023-01-01").alias("valid_date_start"))
    since.rename({"lon": "longitude", "lat": "latitude"}).write_parquet(network / "part-0.parquet")
    table = events(towers["cell_id"].to_list())
    for day in (MONDAY + timedelta(days=n) for n in range(-1, 7)):
        part = table.filter(pl.col("time").dt.date() == day.date())
        where = folder / f"events/year={day.year}/month={day.month}/day={day.day}"
        where.mkdir(parents=True)
        users = [int(user).to_bytes(32, "big") for user in part["user"]]
        times = pa.array(part["time"].dt.replace_time_zone(None).to_list(), pa.timestamp("ns"))
        columns = {
            "user_id": pa.array(users, pa.binary()),
            "timestamp": times,
            "cell_id": pa.array(part["cell_id"].to_list(), pa.string()),
        }
        pq.write_table(pa.table(columns), where / "part-0.parquet", use_deprecated_int96_timestamps=True)
        (where / ".part-0.parquet.crc").write_bytes(b"crc")
    (folder / "complete").mkdir()
    (folder / "complete/2023-01-02").touch()
    answers = ("cells_crs=EPSG:4326",)
    visits = f"{folder}/events/year={{year}}/month={{month}}/day={{day}}/*.parquet"
    return Files(squares(folder, 3, 2, "zones.parquet"), folder / "network", visits, "2023-01-02", answers)


def sydney(folder: Path) -> Files:
    town = make_sydney(folder / "files")
    visits = f"{town.folder}/visits/{{week}}/*.csv"
    return Files(town.folder / "cells.geojson", town.folder / "towers.csv", visits, SYDNEYS_WEEK)


@pytest.mark.parametrize("kind", [three_cells, european_pipeline, sydney, five_thousand_cells])
def test_files_go_from_init_to_a_verified_release(tmp_path, kind):
    files, settings, home = kind(tmp_path), tmp_path / "city.toml", tmp_path / "home"
    init(settings, str(files.cells), str(files.towers), files.visits, given=list(files.answers), yes=True)
    found = inspect(load_settings(settings), date.fromisoformat(files.week), home)
    assert found.verdict is Verdict.READY, str(found)
    assert materialise(settings, home, files.week).success
    verified = outcome(home / "city/release" / f"manifest_{files.week}.json")
    assert [text for holds, text in verified.findings if not holds] == []
    density = pl.read_parquet(home / f"city/release/density_{files.week}.parquet")
    assert density["cell_id"].n_unique() == len(
        gpd.read_file(files.cells) if files.cells.suffix == ".geojson" else gpd.read_parquet(files.cells)
    )
