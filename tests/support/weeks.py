"""A town with weeks of visits that rise above the noise, and what is published of them."""

import json
from dataclasses import replace
from datetime import date, datetime, timedelta
from pathlib import Path

import dagster as dg
import numpy as np
from runs import opened
from town import Town, make_town

from density_assets import definitions
from density_assets.graph.automation import REBUILD

WEEKS = ("2007-09-10", "2007-09-17", "2007-09-24")
NEXT = "2007-10-01"
PEOPLE, VISITS = 1_500, 20
PROMISE = "[privacy]\nepsilon = 5.0\nbudget_epsilon = 100.0\n"


# --- the town ---------------------------------------------------------------------------------------------------------


def town_of(folder: Path) -> Town:
    """A town with visits of four weeks: three to release, and the one after them."""
    town = make_town(folder)
    town.settings.write_text(f"{town.settings.read_text()}\n{PROMISE}")
    for week in (*WEEKS, NEXT):
        write_week(town, week)
    return town


def write_week(town: Town, week: str) -> None:
    """Visits of people who do not exist, enough of them to rise above the noise."""
    random, monday = np.random.default_rng(date.fromisoformat(week).toordinal()), datetime.fromisoformat(week)
    seconds = random.integers(604_800, size=(PEOPLE, VISITS))
    towers = random.choice(list("ABCD"), size=(PEOPLE, VISITS), p=(0.4, 0.3, 0.2, 0.1))
    lines = [
        f"p{person},{monday + timedelta(seconds=int(second))},{tower}"
        for person in range(PEOPLE)
        for second, tower in zip(seconds[person], towers[person], strict=True)
    ]
    folder = town.folder / "visits" / week
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "part-0.csv").write_text("user_id,time,tower_id\n" + "\n".join(lines) + "\n")
    (folder / "_SUCCESS").touch()


def revised(town: Town, week: str) -> Town:
    """The same town by other settings, which declare a revision of a week; those of the town stay as they are."""
    settings = town.settings.with_name("revised.toml")
    settings.write_text(f"{town.settings.read_text()}\n[revisions]\n{week} = 2\n")
    return replace(town, settings=settings)


def rebuild(town: Town, home: Path, week: str, **options) -> dg.ExecuteInProcessResult:
    """Make a released week again from its stored draws."""
    defs = definitions.build(opened(town.settings, home))
    with dg.DagsterInstance.ephemeral() as instance:
        return defs.resolve_job_def(REBUILD).execute_in_process(instance=instance, partition_key=week, **options)


# --- what is published of it ------------------------------------------------------------------------------------------


def folder_of(home: Path) -> Path:
    return home / "town/release"


def stated(home: Path, week: str) -> dict:
    return json.loads((folder_of(home) / f"privacy_statement_{week}.json").read_text())


def published(home: Path, week: str) -> dict[str, bytes]:
    """Every published file of a week."""
    return {file.name: file.read_bytes() for file in folder_of(home).glob(f"*_{week}*") if file.is_file()}


def state_file(home: Path, week: str) -> Path:
    return folder_of(home) / "tables/usual_week" / f"{week}.parquet"


def draw_of(home: Path, week: str) -> Path:
    """The stored draw of a week's noisy series."""
    (charge,) = [charge for charge in stated(home, week)["charges"] if charge["door"] == "noisy_series"]
    return folder_of(home) / "measurements" / f"{charge['measurement'][:32]}.npz"


def spoilt_draw(home: Path, week: str, *, lost: bool) -> Path:
    """The file of a week's draw, after it was lost, or replaced by the draw of the second week."""
    file = draw_of(home, week)
    if lost:
        file.unlink()
    else:
        file.write_bytes(draw_of(home, WEEKS[1]).read_bytes())
    return file
