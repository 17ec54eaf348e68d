"""Exports that are killed: the database is the old or the new, and the next export makes it whole."""

import os
import signal
import subprocess
import sys

import pytest
from released import COUNTS, LATER, NEXT, exported, stored

from resources.tables.release_database import export
from resources.tables.released import ReleasedTables

DYING = """
import os, signal, sys
from pathlib import Path
import duckdb
from resources.tables import files, release_database
from resources.tables.released import ReleasedTables

def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

def replaced_one(*arguments, replace=release_database._replace):
    replace(*arguments)
    die()

class Unclosed:
    def __init__(self, *arguments, **options):
        self.connection = connect(*arguments, **options)
    def __enter__(self):
        return self.connection
    __exit__ = die

connect = duckdb.connect
moments = {
    "before the commit": lambda: setattr(release_database, "_replace", replaced_one),
    "committed, not closed": lambda: setattr(duckdb, "connect", Unclosed),
    "closed, not noted": lambda: setattr(release_database, "write_durably", die),
    "built aside": lambda: setattr(files.os, "replace", die),
}
moments[sys.argv[2]]()
release_database.export(ReleasedTables(Path(sys.argv[1])))
"""


def killed_export(tables: ReleasedTables, moment: str) -> None:
    done = subprocess.run([sys.executable, "-c", DYING, str(tables.folder), moment], check=False, timeout=120)
    assert done.returncode == -signal.SIGKILL


@pytest.mark.parametrize("moment", ["before the commit", "committed, not closed", "closed, not noted"])
def test_an_export_killed_in_place_leaves_the_old_or_the_new_and_the_next_makes_it_whole(tables, moment):
    export(tables)
    old = exported(tables)
    tables.write_release_week("density", NEXT, COUNTS.head(1), "r2")
    tables.write_release_week("density", LATER, COUNTS, "r3")
    killed_export(tables, moment)
    assert exported(tables) == (old if moment == "before the commit" else stored(tables))
    export(tables)
    assert exported(tables) == stored(tables)
    assert export(tables) == []
    assert sorted(os.listdir(tables.release)) == ["release.duckdb", "tables"]


@pytest.mark.parametrize("moment", ["built aside", "committed, not closed", "closed, not noted"])
@pytest.mark.parametrize("there", [True, False])
def test_an_export_killed_aside_leaves_the_old_or_the_new_and_the_next_makes_it_whole(tables, moment, there):
    old = None
    if there:
        export(tables)
        old = exported(tables)
        (tables.locks / "exported.json").unlink()  # so that it is built aside
    tables.write_release_week("density", LATER, COUNTS, "r3")
    killed_export(tables, moment)
    if moment == "closed, not noted":
        assert exported(tables) == stored(tables)
    elif there:
        assert exported(tables) == old
    else:
        assert not tables.release_database.exists()
    export(tables)
    assert exported(tables) == stored(tables)
    assert sorted(os.listdir(tables.release)) == ["release.duckdb", "tables"]


def test_what_was_built_aside_is_removed_also_by_an_export_in_place(tables):
    export(tables)
    for name in ("release.partial", "release.partial.wal"):
        (tables.release / name).write_bytes(b"half")
    assert export(tables) == []
    assert sorted(os.listdir(tables.release)) == ["release.duckdb", "tables"]
