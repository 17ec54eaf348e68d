"""What happens on a disk with little room: `unshare -rm python full_disk.py <mount point>`, one JSON line each.

Runs in a mount namespace of its own, so the small disk it mounts is seen by nobody else and ends with the process.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from datetime import date
from pathlib import Path
from zoneinfo import ZoneInfo

import duckdb
import polars as pl
from door import REQUEST, Door
from elsewhere import week_file

from density_assets.calendar import week_clock
from density_assets.errors import BadInput
from density_assets.settings import EngineSettings
from density_assets.settings.city import CitySettings
from resources.faults import in_clear_words
from resources.ledger.ledger import Ledger
from resources.sql.duckdb_engine import DuckdbEngine
from resources.sql.spark_engine import SparkEngine
from resources.tables.release_database import export
from resources.tables.store import Store

WEEK, NEXT = date(2007, 9, 10), date(2007, 9, 17)
CITY = CitySettings.model_construct(visit_user="user_id", visit_time="time", visit_tower="tower_id")


def leave(disk: Path, pages: int) -> None:
    """Fill the disk but for so many pages."""
    ballast = disk / "ballast"
    ballast.unlink(missing_ok=True)
    space = os.statvfs(disk)
    with ballast.open("wb") as file:
        file.write(b"\1" * max(0, space.f_bavail - pages) * space.f_bsize)


def attempt(disk: Path, work) -> str:
    try:
        with in_clear_words(disk):
            work()
    except BadInput as error:
        return str(error)
    return ""


def ingest(disk: Path, records: Path) -> dict:
    """A week is stored; a larger one does not fit; then there is room again."""
    store = Store(disk / "ingest", "town")
    store.write_public("antennas", pl.DataFrame({"antenna_id": ["A"], "tower_id": ["A"]}))
    clock, engine = week_clock(WEEK, ZoneInfo("Europe/Paris")), DuckdbEngine(store, EngineSettings(threads=1))
    small, large = records / "small.csv", records / "large.csv"
    hours = [f"2007-09-{10 + n % 7} {n % 24:02}:00:00" for n in range(20)]
    for file, users in ((small, 1), (large, 5000)):
        names = [hashlib.sha256(str(user).encode()).hexdigest() for user in range(users)]  # does not compress
        lines = [f"{name},{hour},A" for name in names for hour in hours]
        file.write_text("\n".join(["user_id,time,tower_id", *lines]) + "\n")

    def write(file: Path) -> str:
        return attempt(disk, lambda: engine.ingest(clock, [file], CITY, lambda _: None))

    assert write(small) == ""
    week = week_file(store, "visits", WEEK)
    before = week.read_bytes()
    leave(disk, 20)
    refused, kept = write(large), week.read_bytes() == before
    leftovers = [str(file) for file in (store.confidential / "staging").rglob("*")]
    (disk / "ballast").unlink()
    return {
        "refused": refused,
        "kept": kept,
        "leftovers": leftovers,
        "later": write(large),
        "rows": len(pl.read_parquet(week_file(store, "visits", WEEK))),  # another attempt than before
    }


def spark(disk: Path, home: Path) -> dict:
    """As `ingest`, by Spark: weeks are kept on the small disk, and nothing else."""
    store = Store(home, "town", None, str(disk / "weeks"))
    store.write_public("antennas", pl.DataFrame({"antenna_id": ["A"], "tower_id": ["A"]}))
    clock, engine = week_clock(WEEK, ZoneInfo("Europe/Paris")), SparkEngine(store, EngineSettings(threads=2))

    def write(users: int) -> str:
        drawn = [hashlib.sha256(str(user).encode()).hexdigest() for user in range(users)]
        file, monday = home / f"{users}.parquet", 1_189_375_200
        pl.DataFrame({"user_id": drawn, "time": monday, "tower_id": "A"}).write_parquet(file)
        return attempt(disk, lambda: engine.ingest(clock, [file], CITY, lambda _: None))

    def files() -> set[Path]:
        return {path for path in (disk / "weeks").rglob("*") if path.is_file()}

    assert write(10) == ""
    before, there = store.read_week("visits", WEEK), files()
    leave(disk, 20)
    refused, leftovers = write(20_000), files() - there
    kept = store.read_week("visits", WEEK).equals(before)
    (disk / "ballast").unlink()
    later, rows, attempts = write(20_000), len(store.read_week("visits", WEEK)), len({file.parent for file in files()})
    shutil.rmtree(disk / "weeks")
    return {
        "refused": refused,
        "kept": kept,
        "leftovers": sorted(map(str, leftovers)),
        "later": later,
        "rows": rows,
        "folders": attempts,
    }


def released(disk: Path) -> list[dict]:
    """A week of a released table and the database made of it, on ever less room, then on enough."""
    found = []
    drawn = (hashlib.sha256(str(n).encode()).digest() for n in range(20_000))  # does not compress
    numbers = pl.DataFrame({"n": [int.from_bytes(digest[:6]) for digest in drawn]})
    for pages in (600, 400, 300, 200, 150, 100, 60, 40, 20, 0):
        store = Store(disk / f"released{pages}", "town")
        store.write_release_week("density", WEEK, numbers.head(100), "r1")
        export(store)

        def week(store: Store = store) -> None:
            store.write_release_week("density", NEXT, numbers, "r2")
            export(store)

        leave(disk, pages)
        refused = attempt(disk, week)
        rows = exported_rows(store)
        (disk / "ballast").unlink()
        found.append(
            {
                "refused": refused,
                "rows": rows,
                "old": store.read_release_week("density", WEEK, "r1").equals(numbers.head(100)),
                "later": attempt(disk, week),
                "rows_later": exported_rows(store),
                "leftovers": sorted(file.name for file in store.release.iterdir()),
            }
        )
        shutil.rmtree(store.folder.parent)
    return found


def exported_rows(store: Store) -> int:
    with duckdb.connect(str(store.release_database), read_only=True) as connection:
        return len(connection.table("density"))


def doors(disk: Path) -> list[dict]:
    """A door on ever less room, then on enough: how it ended, and how often noise was drawn and paid."""
    found = []
    for pages in range(40, -1, -4):
        home = disk / f"door{pages}"
        opened = Door(home)
        opened.store.secret  # noqa: B018  # the folders are there
        leave(disk, pages)
        first = attempt(disk, opened)
        (disk / "ballast").unlink()
        again = Door(home)
        values = [again().values["weighted"].tolist() for _ in range(2)]
        rows = Ledger(home).rows()
        found.append(
            {
                "first": first,
                "drawn": opened.drawn + again.drawn,
                "paid": sum(row.charge.measurement == REQUEST.key("noisy_series") for row in rows),
                "same": values[0] == values[1],
                "whole": list(Ledger(home).accounts(again.measurements.witnesses()).rows) == rows,
            }
        )
    return found


if __name__ == "__main__":
    place = Path(sys.argv[1])
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "small", str(place)], check=True)
    found = {"ingest": ingest(place, place.parent), "released": released(place), "doors": doors(place)}
    if shutil.which("java"):
        found["spark"] = spark(place, place.parent / "spark")
    print(json.dumps(found))
