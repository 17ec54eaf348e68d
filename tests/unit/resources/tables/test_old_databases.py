"""Databases of version 0.1, in which the tables themselves were kept, are taken over once and whole."""

import os
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
from released import CELLS, COUNTS, FILES, NEXT, WEEK, exported, in_order

from density_assets.errors import BadInput
from resources.tables.release_database import adopt, export
from resources.tables.released import ReleasedTables
from resources.tables.store import Store


def old_home(home: Path) -> None:
    """A public table and two weeks of a released one, as version 0.1 left them; it kept no other file of them."""
    release = home / "town/release"
    release.mkdir(parents=True)
    with duckdb.connect(str(release / "release.duckdb")) as connection:
        connection.execute("create table cells (cell_id varchar, geometry blob)")
        connection.execute("insert into cells values ('A', '\\x00\\xFF'::blob), ('B', null)")
        connection.execute('create table density (week date, release varchar, cell_id varchar, "count" bigint)')
        connection.execute(
            """insert into density values
            ('2007-09-10', 'r1', 'A', 3), ('2007-09-10', 'r1', 'B', 4), ('2007-09-17', 'r2', 'B', 4)"""
        )


def test_a_database_of_version_0_1_is_taken_over(tmp_path):
    old_home(tmp_path)
    before = exported(ReleasedTables(tmp_path / "town"))
    store = Store(tmp_path, "town")
    assert store.read_public("cells").equals(CELLS)
    assert store.read_release_week("density", WEEK, "r1").equals(COUNTS)
    assert store.read_release_week("density", NEXT, "r2").equals(COUNTS.tail(1))
    assert sorted(store.released_weeks("density")) == [WEEK, NEXT]
    assert sorted(os.listdir(store.release)) == ["release.duckdb", "tables"]
    assert export(store) == FILES
    assert exported(store) == before


def test_it_is_taken_over_once(tmp_path):
    old_home(tmp_path)
    Store(tmp_path, "town").write_public("cells", CELLS.head(1))
    assert len(Store(tmp_path, "town").read_public("cells")) == 1


def test_it_is_taken_over_whole_or_not_at_all(tmp_path, monkeypatch):
    old_home(tmp_path)
    write = ReleasedTables.write_release_week

    def full(self, table, week, frame, release):
        if week == NEXT:
            raise OSError(28, "No space left on device")
        write(self, table, week, frame, release)

    monkeypatch.setattr(ReleasedTables, "write_release_week", full)
    with pytest.raises(BadInput, match="is full"):
        Store(tmp_path, "town")
    assert not (tmp_path / "town/release/tables").exists()
    monkeypatch.undo()
    store = Store(tmp_path, "town")
    assert sorted(store.released_weeks("density")) == [WEEK, NEXT]
    assert sorted(os.listdir(store.release)) == ["release.duckdb", "tables"]


def test_a_damaged_one_is_left_for_rebuilding(tmp_path):
    old_home(tmp_path)
    database = tmp_path / "town/release/release.duckdb"
    database.write_bytes(b"not a database " * 1000)
    store = Store(tmp_path, "town")
    assert os.listdir(store.release) == ["release.duckdb"]
    with pytest.raises(BadInput, match="must be there"):
        store.read_public("cells")
    store.write_public("cells", CELLS)
    export(store)
    assert exported(store) == {"cells": in_order(CELLS)}


WRITER = """
import sys, duckdb
with duckdb.connect(sys.argv[1]):
    print("open", flush=True)
    sys.stdin.read()
"""


def test_one_that_another_program_writes_to_is_not_mistaken_for_a_damaged_one(tmp_path):
    """Were it passed over, the next export would take its place, without its weeks."""
    old_home(tmp_path)
    command = [sys.executable, "-c", WRITER, str(tmp_path / "town/release/release.duckdb")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout.readline() == "open\n"
        with pytest.raises(BadInput, match="another program is writing to it: close that, then start again"):
            Store(tmp_path, "town")
        assert os.listdir(tmp_path / "town/release") == ["release.duckdb"]
        writer.stdin.close()
    assert sorted(Store(tmp_path, "town").released_weeks("density")) == [WEEK, NEXT]


def test_there_is_nothing_to_take_over_in_a_new_home(tmp_path):
    tables = ReleasedTables(tmp_path / "town")
    tables.release.mkdir(parents=True)
    adopt(tables)
    assert os.listdir(tables.release) == []
