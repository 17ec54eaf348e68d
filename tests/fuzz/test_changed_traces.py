"""Files of traces changed at random, their recipes and lists of stations: read, or refused in words."""

import gzip
import random
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest
from spoiled_files import raw_exceptions, spoiled_bytes, spoiled_lines, spoiled_toml

from density_assets.research.traces.readers import read_days, read_traces
from density_assets.research.traces.recipe import BEIJING, read_recipe

MONDAY_8 = int(datetime(2008, 5, 19, 15, 30, tzinfo=UTC).timestamp())
POINTS = [(f"cab{i % 3}", 37.75 + i / 1000, -122.41, MONDAY_8 + 600 * i) for i in range(12)]
TAPS = [(f"card{i % 3}", ("Bank", "Angel")[i % 2], f"2010-03-0{1 + i % 7} 08:10:00") for i in range(12)]
GPS = """kind = "gps"
first_week = 2008-05-19
weeks = 1
utc_offset = -7.0
south = 37.74
north = 37.82
west = -122.47
east = -122.37
rows = 10
columns = 10
user = "cab"
time = "unixtime"
"""
UNDERGROUND = """kind = "taps"
first_week = 2010-03-01
weeks = 1
timezone = "Europe/London"
station = "station"
stations = "where.csv"
"""
OWN = """kind = "visits"
weeks = 2
stations = "towers.parquet"
station = "tower_id"
"""


def cabs(folder: Path, ending: str) -> list[str]:
    """Points of cabs in one of the layouts; returns the files that may be changed."""
    table = pl.DataFrame(POINTS, schema=["cab", "lat", "lon", "unixtime"], orient="row")
    if ending == "parquet":
        table.write_parquet(folder / "cabs.parquet")
    elif ending == "txt":
        (folder / "cabs.txt").write_text("".join(" ".join(map(str, point)) + "\n" for point in POINTS))
    else:
        table.write_csv(folder / "cabs.csv")
    (folder / "traces.toml").write_text(GPS)
    return [f"cabs.{ending}", "traces.toml"]


def cards(folder: Path, ending: str) -> list[str]:
    """Taps of cards beside a list of stations."""
    table = pl.DataFrame(TAPS, schema=["user", "station", "time"], orient="row")
    table.write_parquet(folder / "taps.parquet") if ending == "parquet" else table.write_csv(folder / "taps.csv")
    (folder / "where.csv").write_text("station,x,y\nBank,1,2\nAngel,1,3\n")
    (folder / "traces.toml").write_text(UNDERGROUND)
    return [f"taps.{'parquet' if ending == 'parquet' else 'csv'}", "where.csv", "traces.toml"]


def visits(folder: Path, _: str) -> list[str]:
    """Two weeks of our own, and where the towers are."""
    for week in ("2007-09-10", "2007-09-17"):
        table = pl.DataFrame({"week": [week] * 2, "user_id": [1, 2], "hour": [5, 167], "tower_id": [30, 4]})
        table.with_columns(pl.col("week").str.to_date()).write_parquet(folder / f"{week}.parquet")
    pl.DataFrame({"tower_id": [4, 30], "x": [0.0, 1], "y": [5.0, 5]}).write_parquet(folder / "towers.parquet")
    (folder / "traces.toml").write_text(OWN)
    return ["2007-09-10.parquet", "towers.parquet", "traces.toml"]


def change(file: Path, rng: random.Random) -> None:
    """Change one file, each kind in its own way."""
    content = file.read_bytes()
    if file.suffix == ".toml":
        file.write_bytes(spoiled_toml(content.decode(), rng))
    elif file.suffix in (".csv", ".txt") and rng.randrange(3):
        file.write_bytes(spoiled_lines(content, rng, "," if file.suffix == ".csv" else " "))
    else:
        file.write_bytes(spoiled_bytes(content, rng))
    if file.suffix == ".csv" and file.name != "where.csv" and rng.randrange(4) == 0:
        zipped = gzip.compress(file.read_bytes(), mtime=0)
        file.with_name(f"{file.name}.gz").write_bytes(spoiled_bytes(zipped, rng) if rng.randrange(2) else zipped)
        file.unlink()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "seeds", [range(250), pytest.param(range(250, 6_000), marks=pytest.mark.nightly)], ids=["some", "many"]
)
def test_changed_traces_are_used_or_refused(tmp_path, seeds):
    used = []

    def attempt(rng):
        for old in tmp_path.iterdir():
            old.unlink()
        files = rng.choice([cabs, cabs, cards, visits])(tmp_path, rng.choice(["csv", "txt", "parquet"]))
        change(tmp_path / rng.choice(files), rng)
        traces = read_traces(tmp_path, read_recipe(tmp_path)).traces
        assert traces.matrix.shape == (len(traces.users), traces.rois * traces.hours)
        used.append(traces)

    assert raw_exceptions(seeds, attempt) == {}
    assert len(used) > len(seeds) // 5


@pytest.mark.parametrize(
    "seeds", [range(200), pytest.param(range(200, 6_000), marks=pytest.mark.nightly)], ids=["some", "many"]
)
def test_changed_traces_of_taxis_are_used_or_refused(tmp_path, seeds):
    lines = "".join(f"{i % 3},2008-02-02 15:{i:02}:08,116.4,39.9\n" for i in range(30)).encode()

    def attempt(rng):
        (tmp_path / "1.txt").write_bytes(rng.choice([spoiled_lines, spoiled_bytes])(lines, rng))
        found = read_days(tmp_path, read_recipe(tmp_path, gps=BEIJING))
        assert found.cells.shape[0] == len(found.days)

    assert raw_exceptions(seeds, attempt) == {}
