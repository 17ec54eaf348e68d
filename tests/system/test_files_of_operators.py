"""Files of several kinds, each from `density init` to a release that verifies: little of them, but all as they come."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

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

from density_assets.cli.inspection import Inspection, inspect
from density_assets.cli.starting import init
from density_assets.publication.verification import outcome
from density_assets.records.verdict import Verdict
from density_assets.settings import load_settings

WEST, SOUTH, SIDE = -3.72, 40.40, 0.01  # Madrid
MONDAY = datetime(2023, 1, 2, tzinfo=UTC)
PEOPLE, EVENTS = 400, 8
MULTIMNO = Path(os.environ.get("DENSITY_MULTIMNO", "no folder"))


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


def days_of(table: pl.DataFrame) -> Iterator[tuple[datetime, pl.DataFrame]]:
    """Each day of UTC that a week of Madrid touches, with its events."""
    for day in (MONDAY + timedelta(days=n) for n in range(-1, 7)):
        yield day, table.filter(pl.col("time").dt.date() == day.date())


def write_events(folder: Path, day: datetime, **columns: Any) -> None:
    """A part of a day as Spark writes it, with its checksum."""
    where = folder / f"events/year={day.year}/month={day.month}/day={day.day}"
    where.mkdir(parents=True, exist_ok=True)
    arrays = {name: values.to_arrow() if isinstance(values, pl.Series) else values for name, values in columns.items()}
    pq.write_table(pa.table(arrays), where / "part-0.parquet", use_deprecated_int96_timestamps=True)
    (where / ".part-0.parquet.crc").write_bytes(b"crc")


def european_pipeline(folder: Path) -> Files:
    """Identifiers of 32 bytes, INT96 times of UTC, a folder per day, checksums beside, zones without a system."""
    towers = masts(3, 2, 5)
    network = folder / "network/year=2023/month=1/day=2"
    network.mkdir(parents=True)
    since = towers.with_columns(pl.lit("2023-01-01").alias("valid_date_start"))
    since.rename({"lon": "longitude", "lat": "latitude"}).write_parquet(network / "part-0.parquet")
    for day, part in days_of(events(towers["cell_id"].to_list())):
        users = [int(user).to_bytes(32, "big") for user in part["user"]]
        times = pa.array(part["time"].dt.replace_time_zone(None).to_list(), pa.timestamp("ns"))
        write_events(folder, day, user_id=pa.array(users, pa.binary()), timestamp=times, cell_id=part["cell_id"])
    (folder / "complete").mkdir()
    (folder / "complete/2023-01-02").touch()
    answers = ("cells_crs=EPSG:4326",)
    visits = f"{folder}/events/year={{year}}/month={{month}}/day={{day}}/*.parquet"
    return Files(squares(folder, 3, 2, "zones.parquet"), folder / "network", visits, "2023-01-02", answers)


def sydney(folder: Path) -> Files:
    town = make_sydney(folder / "files")
    visits = f"{town.folder}/visits/{{week}}/*.csv"
    return Files(town.folder / "cells.geojson", town.folder / "towers.csv", visits, SYDNEYS_WEEK)


def begin(settings: Path, files: Files, *answers: str) -> None:
    given = [*files.answers, *answers]
    init(settings, cells=str(files.cells), towers=str(files.towers), visits=files.visits, given=given, yes=True)


@pytest.mark.parametrize("kind", [three_cells, european_pipeline, sydney, five_thousand_cells])
def test_files_go_from_init_to_a_verified_release(tmp_path, kind):
    files, settings, home = kind(tmp_path), tmp_path / "city.toml", tmp_path / "home"
    begin(settings, files)
    found = inspect(load_settings(settings), date.fromisoformat(files.week), home)
    assert found.verdict is Verdict.READY, str(found)
    assert materialise(settings, home, files.week).success
    verified = outcome(home / "city/release" / f"manifest_{files.week}.json")
    assert [text for holds, text in verified.findings if not holds] == []
    density = pl.read_parquet(home / f"city/release/density_{files.week}.parquet")
    assert density["cell_id"].n_unique() == len(
        gpd.read_file(files.cells) if files.cells.suffix == ".geojson" else gpd.read_parquet(files.cells)
    )


def counted(found: Inspection) -> list[str]:
    """How many records are usable, or not and why."""
    names = [name for name, _ in found.lines]
    return [text for _, text in found.lines[names.index("records") + 1 : names.index("seen at")]]


def test_events_with_errors_of_the_european_pipeline_are_left_out_one_by_one(tmp_path):
    """Of ten events one has no user, one is at an unknown antenna, one is flagged; every other day times are text.

    The first file, that of a Sunday, has no event to guess from.
    """
    files, settings = european_pipeline(tmp_path), tmp_path / "city.toml"
    antennas = pl.read_parquet(files.towers)["cell_id"].to_list()
    of_week = pl.col("time") < MONDAY + timedelta(days=7, hours=-1)  # of Madrid
    table = events(antennas).filter(of_week)[:3000].with_row_index("n").with_columns(pl.col("n") % 10)
    for day, part in days_of(table):
        users = [None if n == 0 else int(user).to_bytes(32, "big") for n, user in part.select("n", "user").iter_rows()]
        times = part["time"].dt.replace_time_zone(None).cast(pl.Datetime("ns"))
        write_events(
            tmp_path,
            day,
            user_id=pa.array(users, pa.binary()),
            timestamp=times.dt.strftime("%Y-%m-%d %H:%M:%S") if day.day % 2 else times,
            cell_id=part.select(pl.when(pl.col("n") == 1).then(pl.lit("away")).otherwise("cell_id"))["literal"],
            error_flag=part["n"].eq(2).cast(pl.Int32),
        )
    begin(settings, files, "visit_where={error_flag = 0}")
    found = inspect(load_settings(settings), MONDAY.date(), tmp_path / "home")
    assert counted(found) == ["300 left out by visit_where", "300 no user", "300 unknown tower", "2,100 usable"]
    assert [finding.verdict for finding in found.findings] == [Verdict.LOOK], str(found)
    assert found.findings[0].text.startswith("600 of 2,700 records cannot be used, 300 of them because of ")


@pytest.mark.skipif(
    not MULTIMNO.is_dir(),
    reason="needs cells.gpkg, mno_network and mno_events as multimno writes them: set DENSITY_MULTIMNO to their folder",
)
def test_what_multimno_wrote_goes_from_init_to_check(tmp_path):
    """Every event is counted, those without a user or at unknown antennas as such; no more is left out."""
    settings = tmp_path / "city.toml"
    written = "mno_events/year={year}/month={month}/day={day}/*.parquet"
    begin(settings, Files(MULTIMNO / "cells.gpkg", MULTIMNO / "mno_network", f"{MULTIMNO}/{written}", ""))
    city = load_settings(settings).city
    assert (city.visit_user, city.visit_time, city.visit_tower) == ("user_id", "timestamp", "cell_id")
    assert city.visit_timezone == "UTC"
    (tmp_path / "complete").mkdir()
    (tmp_path / f"complete/{city.first_week}").touch()  # days that nobody wrote are empty
    found = inspect(load_settings(settings), city.first_week, tmp_path / "home")
    assert found.verdict is Verdict.LOOK, str(found)  # a week of one day
    rows = pl.scan_parquet(f"{MULTIMNO}/mno_events/**/*.parquet").select("user_id", "cell_id")
    known = pl.scan_parquet(f"{MULTIMNO}/mno_network/**/*.parquet").select("cell_id").unique()
    nobody, away = pl.col("user_id").is_null(), pl.col("cell_id").is_in(known.collect()["cell_id"].implode()).not_()
    reason = (
        pl.when(nobody).then(pl.lit("no user")).when(away).then(pl.lit("unknown tower")).otherwise(pl.lit("usable"))
    )
    expected = rows.group_by(reason.alias("reason")).len().sort("reason").collect()
    assert counted(found) == [f"{number:,} {why}" for why, number in expected.iter_rows()]
