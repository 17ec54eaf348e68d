"""Released tables: Parquet files that are whole or absent, belong to one release, and everybody may read."""

import os
import stat
from datetime import date

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from density_assets.errors import BadInput
from resources.tables.released import ReleasedTables
from resources.tables.store import Store

WEEK, NEXT, LATER = date(2007, 9, 10), date(2007, 9, 17), date(2007, 10, 1)
FRAME = pl.DataFrame({"cell_id": ["A", "B"], "count": [3, 4], "geometry": [b"\x00\xff", None]})
GARBAGE = b"not a table " * 1000


@pytest.fixture
def tables(tmp_path):
    return ReleasedTables(tmp_path / "town")


def test_a_table_comes_back_as_it_was_written(tables):
    tables.write_public("cells", FRAME)
    tables.write_release_week("density", WEEK, FRAME, "r1")
    tables.write_release_week("density", NEXT, FRAME.head(0), "r2")
    assert_frame_equal(tables.read_public("cells"), FRAME)
    assert_frame_equal(tables.read_release_week("density", WEEK, "r1"), FRAME)
    assert_frame_equal(tables.read_release_week("density", NEXT, "r2"), FRAME.head(0))
    assert sorted(tables.released_weeks("density")) == [WEEK, NEXT]


def test_the_files_say_which_week_and_release_they_are(tables):
    tables.write_release_week("density", WEEK, FRAME.select("count"), "r1")
    file = tables.tables / "density/2007-09-10.parquet"
    assert pl.read_parquet(file).rows() == [(WEEK, "r1", 3), (WEEK, "r1", 4)]


def test_a_week_written_twice_is_there_once_and_others_stay(tables):
    tables.write_release_week("density", WEEK, FRAME.select("count"), "r1")
    tables.write_release_week("density", NEXT, FRAME, "r2")  # with columns that the week before did not have
    tables.write_release_week("density", NEXT, FRAME.head(1), "r2")
    assert_frame_equal(tables.read_release_week("density", NEXT, "r2"), FRAME.head(1))
    assert_frame_equal(tables.read_release_week("density", WEEK, "r1"), FRAME.select("count"))


def test_a_week_of_another_release_is_refused(tables):
    tables.write_release_week("density", WEEK, FRAME, "r1")
    with pytest.raises(BadInput, match=r"must belong to the release of today's settings \(r2\), but it belongs to r1"):
        tables.read_release_week("density", WEEK, "r2")


def test_the_week_before_is_the_newest_earlier_one_of_whatever_release(tables):
    for week, count in ((WEEK, 1), (NEXT, 2), (LATER, 3)):
        tables.write_release_week("density", week, pl.DataFrame({"count": [count]}), f"r{count}")
    assert tables.read_week_before("density", WEEK) is None
    assert tables.read_week_before("density", NEXT).rows() == [(WEEK, "r1", 1)]
    assert tables.read_week_before("density", date(2007, 9, 24)).rows() == [(NEXT, "r2", 2)]
    assert tables.read_week_before("density", LATER).rows() == [(NEXT, "r2", 2)]
    assert tables.read_week_before("clusters", LATER) is None


def test_a_table_that_was_never_made_says_what_to_do(tables):
    with pytest.raises(BadInput, match=r"cells\.parquet must be there: materialise the public assets first"):
        tables.read_public("cells")
    with pytest.raises(BadInput, match=r"density/2007-09-10\.parquet must be there"):
        tables.read_release_week("density", WEEK, "r1")


@pytest.mark.parametrize("damage", [lambda whole: GARBAGE, lambda whole: whole[: len(whole) // 2], lambda whole: b""])
def test_a_damaged_file_says_what_to_do(tables, damage):
    tables.write_public("cells", FRAME)
    tables.write_release_week("density", WEEK, FRAME, "r1")
    for file in (tables.public_file("cells"), tables.release_file("density", WEEK)):
        file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(BadInput, match=r"cells\.parquet must be a Parquet file.*damaged.*`density rebuild` makes"):
        tables.read_public("cells")
    mended_by = f"`density rebuild --from {WEEK} --to {WEEK}` makes it again"
    with pytest.raises(BadInput, match=rf"density/2007-09-10\.parquet must be a Parquet file.*{mended_by}"):
        tables.read_release_week("density", WEEK, "r1")
    with pytest.raises(BadInput, match=mended_by):
        tables.read_week_before("density", NEXT)


def test_a_failed_write_leaves_the_old_table(tables):
    tables.write_public("cells", FRAME)
    with pytest.raises(AttributeError):
        tables.write_public("cells", None)
    assert_frame_equal(tables.read_public("cells"), FRAME)
    assert os.listdir(tables.tables) == ["cells.parquet"]


def test_a_reader_of_the_old_table_keeps_it_while_a_new_one_takes_its_place(tables):
    tables.write_public("cells", FRAME)
    with tables.public_file("cells").open("rb") as opened:
        tables.write_public("cells", FRAME.head(1))
        assert_frame_equal(pl.read_parquet(opened), FRAME)
    assert_frame_equal(tables.read_public("cells"), FRAME.head(1))


def test_released_tables_are_readable_by_others_also_when_the_store_writes_them(tmp_path):
    store = Store(tmp_path, "town")
    store.write_public("cells", FRAME)
    store.write_release_week("density", WEEK, FRAME, "r1")
    for path in (store.release, *store.release.rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) & 0o044 == 0o044, path


def test_what_was_computed_from_public_tables_holds_until_one_is_written_again(tables):
    nothing = tables.written("cells", "towers")
    tables.write_public("cells", FRAME)
    first = tables.written("cells", "towers")
    assert first == tables.written("cells", "towers") != nothing
    tables.write_public("towers", FRAME)
    assert tables.written("cells", "towers") != first
