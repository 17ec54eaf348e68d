"""The database of a release: what the tables hold, read again only where they changed."""

import json
import os
import stat
import subprocess
import sys
from datetime import UTC, date, datetime

import duckdb
import polars as pl
import pytest
from released import CELLS, COUNTS, FILES, LATER, NEXT, WEEK, exported, stored

from density_assets.errors import BadInput
from resources.tables.release_database import _version, _versions, export
from resources.tables.released import ReleasedTables


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
    tables.locks.mkdir()
    (tables.locks / "exported.json").write_text(json.dumps(noted))
    assert columns(tables, "density")["timestamp"] == "VARCHAR"
    assert export(tables) == ["cells.parquet", f"density/{WEEK}.parquet"]
    assert columns(tables, "density")["timestamp"] == "TIMESTAMP WITH TIME ZONE"
    with duckdb.connect(str(tables.release_database), read_only=True) as connection:
        found = connection.sql("select week, epoch(timestamp) from density order by all").fetchall()
    first = datetime(2007, 10, 28, 0, tzinfo=UTC).timestamp()
    assert found == [(WEEK, None), (WEEK, None), (NEXT, first), (NEXT, None)]
    tables.write_release_week("density", LATER, hours, "r3")
    assert export(tables) == [f"density/{LATER}.parquet"]  # added to what is there


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


def test_what_is_handed_out_does_not_say_when_its_files_were_written(tables):
    """From the first table of a run to its draws it takes the longer the more records there are."""
    export(tables)
    times = [str(file.stat().st_mtime_ns).encode() for file in tables.tables.rglob("*.parquet")]
    contents = [file.read_bytes() for file in tables.release.rglob("*") if file.is_file()]
    assert not [time for time in times for content in contents if time in content]
    assert export(tables) == []


@pytest.mark.parametrize("noted", [b"", b"{", b'{"cells.parquet": [1, 2]}'])
def test_without_a_note_of_what_was_exported_all_is_read(tables, noted):
    export(tables)
    (tables.locks / "exported.json").write_bytes(noted)
    assert export(tables) == FILES
    assert exported(tables) == stored(tables)


def test_a_damaged_table_is_named_and_the_database_stays(tables):
    export(tables)
    before = exported(tables)
    tables.release_file("density", NEXT).write_bytes(b"not a table")
    with pytest.raises(BadInput, match=rf"density/{NEXT}\.parquet must be a Parquet file.*--from {NEXT} --to {NEXT}"):
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
