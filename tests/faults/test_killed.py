"""kill -9 of whole runs, and two runs of one week at once: the week becomes whole, and nothing is drawn twice."""

import json
import os
import signal
import subprocess
import sys
from datetime import date
from pathlib import Path

import duckdb
import polars as pl
import pytest
from elsewhere import week_file
from ledgers import witnesses_under
from runs import WEEK

from density_assets.city import City
from density_assets.definitions import BLUEPRINTS
from density_assets.graph.naming import FINAL, GROUPS
from density_assets.privacy.zones import Zone
from density_assets.publication.verification import outcome
from density_assets.settings import load_settings
from resources.ledger.ledger import Ledger
from resources.tables.store import Store

ROOT = Path(__file__).parents[2]


def processes(town, home: Path, what: str) -> list[dict]:
    command = [sys.executable, str(ROOT / "tests/support/dying.py"), str(town.settings), str(home), what]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def assert_whole(home: Path) -> None:
    """The release is complete, its parts belong together, and the records are counted as in the files."""
    with duckdb.connect(str(home / "town/release/release.duckdb"), read_only=True) as connection:
        exported = {name: len(connection.table(name)) for (name,) in connection.sql("show tables").fetchall()}
    files = (home / "town/release/tables").rglob("*.parquet")
    stored = {file.parent.name if file.stem == WEEK else file.stem: len(pl.read_parquet(file)) for file in files}
    after = {"exported", "signed_register"}  # written once the database is, so it has those of the run before, if any
    assert {name: rows for name, rows in exported.items() if name not in after} == {
        name: rows for name, rows in stored.items() if name not in after
    }
    assert exported["density"] == 4 * 168
    found = outcome(home / f"town/release/manifest_{WEEK}.json")
    assert [text for holds, text in found.findings if not holds] == []
    assert found.status == 3  # whole; whose key it is is not asked
    assert len(pl.read_parquet(home / f"town/release/density_{WEEK}.parquet")) == 4 * 168
    visits = pl.read_parquet(week_file(Store(home, "town"), "visits", date.fromisoformat(WEEK)))
    assert sorted(visits.select("user_id", "hour").rows()) == [("ann", 8), ("bob", 68)]
    Ledger(home).accounts(witnesses_under(home))


def test_a_run_killed_at_every_step_goes_on_where_it_was_and_draws_once(town, tmp_path):
    home = tmp_path / "home"
    *killed, last = processes(town, home, "killed")
    assert {line["status"] for line in killed} == {-signal.SIGKILL}
    moments = [line["moment"] for line in killed]
    assert [moments.count(moment) for moment in ("aside", "drawn")] == [8, 2]
    asked_for = (GROUPS[Zone.EVALUATION], FINAL)  # of real people by a person
    city = City(load_settings(town.settings), home)
    weekly = [plan for plan in BLUEPRINTS if plan.where(city) and plan.group not in asked_for]
    assert moments.count("stored") == len({line["step"] for line in killed}) == len(weekly)
    assert last["status"] == 0
    assert_whole(home)
    # a draw that was stored before a kill is the draw of every later run
    known: dict[str, str] = {}
    for line in [*killed, last]:
        assert line["draws"].items() >= known.items()
        known = line["draws"]
    assert len(known) == 2
    # one charge per door, and one that is lost where noise had been drawn but not stored
    doors = sorted(row.charge.door for row in Ledger(home).rows())
    assert doors == ["noisy_series"] * 2 + ["noisy_totals"] * 2
    assert [file for file in (home / "town").rglob("*.partial") if "dagster" not in file.parts] == []


def test_two_runs_of_one_week_at_once_both_succeed_and_draw_once(town, tmp_path):
    home = tmp_path / "home"
    assert [line["status"] for line in processes(town, home, "at_once")] == [0, 0]
    assert_whole(home)
    assert sorted(row.charge.door for row in Ledger(home).rows()) == ["noisy_series", "noisy_totals"]


@pytest.mark.parametrize("left", ["draw.npz.999999999.partial"])
def test_what_a_dead_process_left_is_removed_by_the_next_that_writes_the_file(tmp_path, left):
    from resources.tables.files import write_durably

    (tmp_path / left).write_bytes(b"half")
    living = tmp_path / f"draw.npz.{os.getppid()}.partial"
    living.write_bytes(b"being written")
    write_durably(tmp_path / "draw.npz", b"whole")
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted(["draw.npz", living.name])
