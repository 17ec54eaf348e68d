"""Confidential tables: atomic weeks, private files, views that follow."""

import os
import stat
from datetime import date

import duckdb
import polars as pl
import pytest
from elsewhere import week_file

from resources.tables.files import fingerprint
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
