"""Confidential tables: atomic weeks, private files, views that follow; erasing an unreleased week; spilling."""

import json
import os
import stat
import subprocess
import sys
from datetime import date

import duckdb
import polars as pl
import pytest
from elsewhere import week_file

from density_assets.errors import BadInput
from density_assets.settings import EngineSettings
from resources.sql.duckdb_engine import DuckdbEngine
from resources.tables.files import fingerprint, spill_folder, sweep
from resources.tables.retention import purge
from resources.tables.store import Store

WEEK, NEXT = date(2007, 9, 10), date(2007, 9, 17)
FRAME = pl.DataFrame({"user_id": [1, 2], "hour": [3, 4]})


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path, "town")


def views(store):
    with duckdb.connect(str(store.confidential / "confidential.duckdb"), read_only=True) as connection:
        return {name: connection.table(name).fetchall() for (name,) in connection.sql("show tables").fetchall()}


def test_a_week_written_twice_is_there_once(store):
    store.write_week("visits", WEEK, FRAME)
    store.write_week("visits", WEEK, FRAME.head(1))
    assert store.read_week("visits", WEEK).equals(FRAME.head(1))
    assert views(store) == {"visits": [(WEEK, 1, 3)]}


def test_views_show_every_week_of_every_table(store):
    store.write_week("visits", WEEK, FRAME)
    store.write_week("visits", NEXT, FRAME.head(1))
    store.write_week("series", NEXT, FRAME.head(0))
    assert sorted(views(store)["visits"]) == [(WEEK, 1, 3), (WEEK, 2, 4), (NEXT, 1, 3)]
    assert views(store)["series"] == []


def test_a_failure_half_way_leaves_the_old_week_and_no_trace(store):
    store.write_week("visits", WEEK, FRAME)
    with pytest.raises(RuntimeError, match="disk"), store.writing_week("visits", WEEK) as writer:
        writer.write(FRAME.head(1).to_arrow())
        raise RuntimeError("disk")
    assert store.read_week("visits", WEEK).equals(FRAME)
    assert len(os.listdir(store.confidential / f"weeks/visits/{WEEK}")) == 2  # what names the attempt, and that


def test_a_week_nothing_was_written_to_is_refused(store):
    with pytest.raises(ValueError, match="an empty week still has columns"), store.writing_week("visits", WEEK):
        pass
    assert not store.has_week("visits", WEEK)


def test_confidential_files_are_readable_by_their_owner_only(store):
    store.write_week("visits", WEEK, FRAME)
    assert store.secret
    for path in [store.confidential, *store.confidential.rglob("*")]:
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


def test_fingerprints_of_confidential_weeks_need_the_secret(tmp_path):
    here, there = Store(tmp_path / "a", "town"), Store(tmp_path / "b", "town")
    for store in (here, there):
        store.write_week("visits", WEEK, FRAME)
    assert week_file(here, "visits", WEEK).read_bytes() == week_file(there, "visits", WEEK).read_bytes()
    assert here.week_fingerprint("visits", WEEK) != there.week_fingerprint("visits", WEEK)
    before = here.week_fingerprint("visits", WEEK)
    here.write_week("visits", WEEK, FRAME)
    assert here.week_fingerprint("visits", WEEK) == before
    here.write_week("visits", WEEK, FRAME.head(1))
    assert here.week_fingerprint("visits", WEEK) != before


def test_public_fingerprints_are_those_of_the_content():
    assert fingerprint(FRAME) == fingerprint(FRAME.clone())
    assert fingerprint(FRAME) != fingerprint(FRAME.reverse())


# --- test erasing ----------------------------------------------------------------------------------------------------

WEEK, OTHER = date(2007, 9, 10), date(2007, 9, 17)


def weeks(store: Store) -> list[str]:
    """The weeks that the view of visits shows; none if there is no view."""
    with duckdb.connect(str(store.confidential / "confidential.duckdb"), read_only=True) as connection:
        if not connection.sql("show tables").fetchall():
            return []
        return [str(week) for (week,) in connection.sql("select distinct week from visits order by week").fetchall()]


def test_an_unreleased_week_goes_only_by_force_and_takes_no_other_with_it(tmp_path):
    store = Store(tmp_path, "town")
    for week in (WEEK, OTHER):
        store.write_week("visits", week, pl.DataFrame({"user_id": ["ann"]}))
    with pytest.raises(BadInput, match="revision 1 has no privacy statement: release it first, or force the purge"):
        purge(store, WEEK, 1)
    assert weeks(store) == [str(WEEK), str(OTHER)]
    week = week_file(store, "visits", WEEK)
    assert str(week) in purge(store, WEEK, 1, force=True)
    assert not week.parent.parent.exists()
    assert weeks(store) == [str(OTHER)]
    assert json.loads(store.purge_note(WEEK).read_text())["forced"] is True
    with pytest.raises(BadInput, match="its confidential zone was erased"):
        store.read_week("visits", WEEK)
    purge(store, OTHER, 1, force=True)
    assert weeks(store) == []


# --- test spill ------------------------------------------------------------------------------------------------------

KILLED = """
import os, signal, sys
from pathlib import Path
from resources.tables.files import spill_folder
with spill_folder(Path(sys.argv[1])) as folder:
    (folder / "block").write_text("records")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_does_not_fit_memory_is_written_for_its_owner_alone_and_goes(tmp_path):
    store = Store(tmp_path, "town")
    engine = DuckdbEngine(store, EngineSettings(memory="20MB", threads=1))
    with engine.connect() as connection:
        connection.execute("create table big as select range as a, range * 7919 % 10007 as b from range(4000000)")
        spilled = [file for file in (store.confidential / "spill").rglob("*") if file.is_file() and file.stat().st_size]
        assert spilled
        assert all(stat.S_IMODE(file.stat().st_mode) & 0o077 == 0 for file in spilled)
    assert [entry for entry in (store.confidential / "spill").iterdir() if entry.is_dir()] == []


def test_sweeping_takes_what_a_killed_process_left_and_spares_work_in_progress(tmp_path):
    subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False)
    (left,) = [entry for entry in (tmp_path / "spill").iterdir() if entry.is_dir()]
    assert (left / "block").read_text() == "records"
    with spill_folder(tmp_path) as mine:
        sweep(tmp_path)
        assert not left.exists()
        assert mine.exists()
