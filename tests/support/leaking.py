"""A released asset that tries to read what it must not, in every way we could think of.

It stands in a module of its own because its function is looked up by name in the process that runs it.
"""

import os
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import duckdb
import polars as pl
import pyarrow.parquet as pq

from density_assets.city import City
from density_assets.graph.assets import Blueprint, asset
from density_assets.graph.columns import SETTINGS, column
from density_assets.graph.given import GIVEN
from density_assets.graph.step import Made, Step
from density_assets.privacy.accounts import Accounts
from density_assets.privacy.estimates import DrawUsed
from density_assets.privacy.zones import Zone
from resources.tables.files import write_durably

TABLE = "tower_series"
LINK, FOLDER_LINK, STOLEN = "link.parquet", "link", "stolen.txt"  # all in the release folder


@asset(Zone.RELEASE, {"bytes": column("how much was stolen", SETTINGS)}, deps=("cells",))
def leak(step: Step, way: str) -> Made:
    """Hands out what it finds in one of the ways below."""
    found = WAYS[way](step)
    write_durably(step.folder / STOLEN, found.encode())
    return Made(pl.DataFrame({"bytes": [len(found)]}))


def leaking(way: str, *, deps: tuple[str, ...] = ("cells",)) -> Blueprint:
    """The asset, with the way it will try."""
    GIVEN["way"] = lambda asked: way
    return replace(leak, deps=lambda city: deps, given=("way",))


def _confidential(step: Step) -> Path:
    return step.home / step.settings.city.name / "confidential"


def _week(step: Step) -> Path:
    """A file whose name only a link tells, since its folder cannot be listed."""
    return Path(os.readlink(step.folder / LINK))


def _records(step: Step) -> Path:
    """A file of the operator's, as `town.py` writes it."""
    return step.settings.path(str(step.settings.city.visits)).parents[1] / str(step.week) / "part-0.csv"


def _view(step: Step) -> str:
    with duckdb.connect(str(_confidential(step) / "confidential.duckdb"), read_only=True) as connection:
        return str(connection.table(TABLE).fetchall())


def _sql(step: Step) -> str:
    with duckdb.connect() as connection:
        connection.execute(f"create view stolen as from read_parquet('{_week(step)}')")
        return str(connection.table("stolen").fetchall())


def _city(step: Step) -> str:
    return str(City(step.settings, step.home).store.read_week(TABLE, step.week).rows())


def _program(step: Step) -> str:
    done = subprocess.run(["cat", str(_week(step))], capture_output=True, check=False)
    if done.returncode:
        raise PermissionError(done.stderr.decode())
    return str(pl.read_parquet(done.stdout).rows())


def _hard_link(step: Step) -> str:
    link = step.folder / "hard.parquet"
    os.link(_week(step), link)
    return str(pl.read_parquet(link).rows())


def _moved(step: Step) -> str:
    moved = step.folder / "moved.parquet"
    os.rename(_week(step), moved)
    return str(pl.read_parquet(moved).rows())


def _renamed_folder(step: Step) -> str:
    """A neighbour of the release folder by another name."""
    hidden, elsewhere = _confidential(step), _confidential(step).with_name("elsewhere")
    os.rename(hidden, elsewhere)
    try:
        return str(pl.read_parquet(elsewhere / _week(step).relative_to(hidden)).rows())
    finally:
        os.rename(elsewhere, hidden)


BY_READER: dict[str, Callable[[Step], str]] = {
    "undeclared read": lambda step: str(step.read(TABLE).rows()),
    "week before": lambda step: str(step.read.before(TABLE)),
    "weeks before": lambda step: str(list(step.read.weeks_before(TABLE))),
    "fingerprint": lambda step: step.read.fingerprint(TABLE),
    "whether it is there": lambda step: str(step.read.exists(TABLE)),
    "number of rows": lambda step: str(step.read.rows(TABLE)),
    "tables of the reader": lambda step: str(step.read.tables.read_week(TABLE, step.week).rows()),
}
LOOKING_BACK: dict[str, Callable[[Step], str]] = {  # at released weeks, which is declared by itself
    "newest week": lambda step: str(step.read.before("density")),
    "all weeks": lambda step: str(list(step.read.weeks_before("density"))),
    "draws": lambda step: str(step.read.draw("density", DrawUsed("2007-09-03", 1, {}), Accounts())),
}
TO_THE_WEEK: dict[str, Callable[[Step], str]] = {
    "polars": lambda step: str(pl.read_parquet(_week(step)).rows()),
    "polars, lazily": lambda step: str(pl.scan_parquet(_week(step)).collect().rows()),
    "pyarrow": lambda step: str(pq.read_table(_week(step)).to_pylist()),
    "python": lambda step: str(pl.read_parquet(_week(step).read_bytes()).rows()),
    "view of the database": _view,
    "view of its own": _sql,
    "city of its own": _city,
    "another program": _program,
    "link to the file": lambda step: str(pl.read_parquet(step.folder / LINK).rows()),
    "link to the folder": lambda step: str(
        pl.read_parquet(step.folder / FOLDER_LINK / _week(step).relative_to(_confidential(step))).rows()
    ),
    "hard link": _hard_link,
    "moved file": _moved,
    "renamed folder": _renamed_folder,
}
TO_OTHER_FILES: dict[str, Callable[[Step], str]] = {
    "secret": lambda step: (_confidential(step) / "secret").read_bytes().hex(),
    "records": lambda step: _records(step).read_text(),
    "records, listed": lambda step: "".join(os.listdir(_records(step).parent)),
    "records, by SQL": lambda step: str(duckdb.sql(f"from read_csv('{_records(step)}')").fetchall()),
}
WAYS = BY_READER | LOOKING_BACK | TO_THE_WEEK | TO_OTHER_FILES
