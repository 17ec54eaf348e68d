"""`release.duckdb`: equal to the tables it is made of, by reading what changed, whoever reads it or dies over it."""

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
from datetime import UTC, date, datetime
from pathlib import Path

import duckdb
import polars as pl
import pytest

from density_assets.errors import BadInput
from resources.tables.release_database import _version, _versions, adopt, export
from resources.tables.released import ReleasedTables
from resources.tables.store import Store

WEEK, NEXT, LATER = date(2007, 9, 10), date(2007, 9, 17), date(2007, 9, 24)
CELLS = pl.DataFrame({"cell_id": ["A", "B"], "geometry": [b"\x00\xff", None]})
COUNTS = pl.DataFrame({"cell_id": ["A", "B"], "count": [3, 4]})
FILES = ["cells.parquet", f"density/{WEEK}.parquet", f"density/{NEXT}.parquet"]


@pytest.fixture
def tables(tmp_path):
    """A public table and two weeks of a released one, not yet exported."""
    made = ReleasedTables(tmp_path / "town")
    made.write_public("cells", CELLS)
    made.write_release_week("density", WEEK, COUNTS, "r1")
    made.write_release_week("density", NEXT, COUNTS.reverse(), "r2")
    return made


def exported(tables: ReleasedTables) -> dict[str, list[tuple]]:
    """What the database holds, the rows of each table in order."""
    with duckdb.connect(str(tables.release_database), read_only=True) as connection:
        names = [name for (name,) in connection.sql("show tables").fetchall()]
        return {name: in_order(connection.table(name).pl()) for name in names}


def stored(tables: ReleasedTables) -> dict[str, list[tuple]]:
    """What the files hold, read without DuckDB."""
    public = {file.stem: pl.read_parquet(file) for file in tables.tables.glob("*.parquet") if file.stem != "exported"}
    weekly = {
        folder.name: pl.concat(map(pl.read_parquet, sorted(folder.glob("*.parquet"))), how="diagonal_relaxed")
        for folder in {file.parent for file in tables.tables.glob("*/*.parquet")}
    }
    return {name: in_order(frame) for name, frame in (public | weekly).items()}


def in_order(frame: pl.DataFrame) -> list[tuple]:
    return sorted(frame.select(sorted(frame.columns)).rows(), key=repr)


def columns(tables: ReleasedTables, table: str) -> dict[str, str]:
    with duckdb.connect(str(tables.release_database), read_only=True) as connection:
        found = connection.table(table)
        return dict(zip(found.columns, map(str, found.types), strict=True))


def test_the_database_holds_the_tables(tables):
    assert export(tables) == FILES
    assert exported(tables) == stored(tables)
    assert exported(tables)["cells"] == [("A", b"\x00\xff"), ("B", None)]
    assert columns(tables, "density") == {"week": "DATE", "release": "VARCHAR", "cell_id": "VARCHAR", "count": "BIGINT"}
    assert sorted(os.listdir(tables.release)) == ["release.duckdb", "tables"]
    assert stat.S_IMODE(tables.release_database.stat().st_mode) & 0o044 == 0o044


def test_only_what_changed_is_read_again(tables):
    export(tables)
    inode = tables.release_database.stat().st_ino
    assert export(tables) == []
    tables.write_release_week("density", NEXT, COUNTS.head(1), "r2")
    assert export(tables) == [f"density/{NEXT}.parquet"]
    tables.write_release_week("density", LATER, COUNTS, "r3")
    tables.write_public("cells", CELLS.head(1))
    assert export(tables) == ["cells.parquet", f"density/{LATER}.parquet"]
    tables.write_release_week("clusters", WEEK, COUNTS, "r1")  # the first week of a table
    assert export(tables) == [f"clusters/{WEEK}.parquet"]
    assert exported(tables) == stored(tables)
    assert tables.release_database.stat().st_ino == inode  # in place: weeks that did not change are not copied


def test_the_list_of_what_was_read_is_no_part_of_the_database(tables):
    tables.write_public("exported", pl.DataFrame({"file": FILES}))
    assert export(tables) == FILES
    assert exported(tables).keys() == {"cells", "density"}


def test_a_column_that_a_later_week_adds_is_empty_before(tables):
    export(tables)
    tables.write_release_week("density", LATER, COUNTS.select("cell_id", pl.lit(0.5).alias("error"), "count"), "r3")
    assert export(tables) == [f"density/{LATER}.parquet"]
    assert exported(tables) == stored(tables)
    with duckdb.connect(str(tables.release_database), read_only=True) as connection:
        errors = connection.sql("select distinct week, error from density order by week").fetchall()
    assert errors == [(WEEK, None), (NEXT, None), (LATER, 0.5)]
    # the columns of the file come in another order than those of the table: values stay with their names
    week = date(2007, 10, 1)
    tables.write_release_week("density", week, COUNTS.select("cell_id", pl.lit(1.5).alias("error"), "count"), "r4")
    assert export(tables) == [f"density/{week}.parquet"]
    assert exported(tables) == stored(tables)


def test_numbers_of_another_type_than_before_are_not_rounded(tables):
    export(tables)
    tables.write_release_week("density", LATER, COUNTS.with_columns(count=pl.col("count") + 0.5), "r3")
    export(tables)
    assert exported(tables) == stored(tables)
    assert [row[1] for row in exported(tables)["density"] if row[-1] == LATER] == [3.5, 4.5]


def test_times_are_moments_in_the_database_also_where_weeks_before_were_text(tables):
    """A database of earlier software holds text; the table is made anew when the next week comes."""
    hours = COUNTS.with_columns(timestamp=pl.Series(["2007-10-28T02:00:00+02:00", None], dtype=pl.String))
    tables.write_release_week("density", NEXT, hours, "r2")
    with duckdb.connect(str(tables.release_database)) as connection:
        connection.sql(f"select * from '{tables.release_file('density', NEXT)}'").create("density")
    versions = {name: version for name, version in _versions(tables.tables).items() if name.endswith(f"{NEXT}.parquet")}
    noted = {**versions, "release.duckdb": _version(tables.release_database)}
    (tables.tables / "exported.json").write_text(json.dumps(noted))
    assert columns(tables, "density")["timestamp"] == "VARCHAR"
    assert export(tables) == ["cells.parquet", f"density/{WEEK}.parquet"]
    assert columns(tables, "density")["timestamp"] == "TIMESTAMP WITH TIME ZONE"
    with duckdb.connect(str(tables.release_database), read_only=True) as connection:
        found = connection.sql("select week, epoch(timestamp) from density order by all").fetchall()
    first = datetime(2007, 10, 28, 0, tzinfo=UTC).timestamp()
    assert found == [(WEEK, None), (WEEK, None), (NEXT, first), (NEXT, None)]
    tables.write_release_week("density", LATER, hours, "r3")
    assert export(tables) == [f"density/{LATER}.parquet"]  # added to what is there


def test_text_with_its_offset_is_not_made_up_of_moments(tables):
    """Where the files are lost, other tables are taken over; that of the times is made again from stored draws."""
    tables.write_release_week("density", WEEK, COUNTS.with_columns(timestamp=pl.lit("2007-10-28T02:00:00+02:00")), "r1")
    export(tables)
    shutil.rmtree(tables.tables)
    adopt(tables)
    assert [file.name for file in tables.tables.iterdir()] == ["cells.parquet"]


@pytest.mark.parametrize("gone", [["cells.parquet"], [f"density/{NEXT}.parquet"], FILES[1:]])
def test_what_vanished_from_the_tables_vanishes_from_the_database(tables, gone):
    export(tables)
    for name in gone:
        (tables.tables / name).unlink()
    assert export(tables) == [name for name in FILES if name not in gone]
    assert exported(tables) == stored(tables)


@pytest.mark.parametrize(
    "damage",
    [
        lambda whole: b"not a database " * 1000,
        lambda whole: whole[:5000],
        lambda whole: whole[: len(whole) // 2],
        lambda whole: whole[:-1],
        lambda whole: b"",
        lambda whole: whole[:300_000] + b"garbage " * 1000 + whole[308_000:],  # opens, and cannot be read
    ],
)
def test_a_damaged_database_is_made_anew(tables, damage):
    export(tables)
    tables.release_database.write_bytes(damage(tables.release_database.read_bytes()))
    assert export(tables) == FILES
    assert exported(tables) == stored(tables)
    assert sorted(os.listdir(tables.release)) == ["release.duckdb", "tables"]


def test_a_database_that_somebody_changed_or_put_back_is_made_anew(tables):
    export(tables)
    old = tables.release_database.read_bytes()
    with duckdb.connect(str(tables.release_database)) as connection:
        connection.execute("delete from density")
    assert export(tables) == FILES
    tables.write_release_week("density", LATER, COUNTS, "r3")
    export(tables)
    tables.release_database.write_bytes(old)
    assert export(tables) == [*FILES, f"density/{LATER}.parquet"]
    assert exported(tables) == stored(tables)


@pytest.mark.parametrize("noted", [b"", b"{", b'{"cells.parquet": [1, 2]}'])
def test_without_a_note_of_what_was_exported_all_is_read(tables, noted):
    export(tables)
    (tables.tables / "exported.json").write_bytes(noted)
    assert export(tables) == FILES
    assert exported(tables) == stored(tables)


def test_a_damaged_table_is_named_and_the_database_stays(tables):
    export(tables)
    before = exported(tables)
    tables.release_file("density", NEXT).write_bytes(b"not a table")
    with pytest.raises(BadInput, match=rf"density/{NEXT}\.parquet must be a Parquet file.*FROM={NEXT} TO={NEXT}"):
        export(tables)
    assert exported(tables) == before
    tables.write_release_week("density", NEXT, COUNTS, "r2")
    export(tables)
    assert exported(tables) == stored(tables)


READER = """
import sys, duckdb
with duckdb.connect(sys.argv[1], read_only=True) as connection:
    for _ in sys.stdin:
        print(connection.sql("select count(*) from density").fetchall()[0][0], flush=True)
"""


def test_somebody_who_reads_the_database_does_not_stop_the_export(tables):
    export(tables)
    command = [sys.executable, "-c", READER, str(tables.release_database)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as reader:

        def asked() -> str:
            reader.stdin.write("rows\n")
            reader.stdin.flush()
            return reader.stdout.readline().strip()

        assert asked() == "4"
        tables.write_release_week("density", LATER, COUNTS, "r3")
        assert export(tables) == [*FILES, f"density/{LATER}.parquet"]  # beside the one that is being read
        assert exported(tables) == stored(tables)
        assert asked() == "4"  # the reader goes on with what it opened
        reader.stdin.close()
    assert reader.returncode == 0
    assert export(tables) == []
    assert len(exported(tables)["density"]) == 6


DYING = """
import os, signal, sys
from pathlib import Path
import duckdb
from resources.tables import databases, release_database
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
    "built aside": lambda: setattr(databases.os, "replace", die),
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
        (tables.tables / "exported.json").unlink()  # so that it is built aside
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


# --- databases of version 0.1, in which the tables themselves were kept -------------------------------------------


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
