"""Weeks at a path or URL: there whole or not at all, whoever dies; on a disk and on an object store."""

import multiprocessing
import os
import signal
from pathlib import Path
from zoneinfo import ZoneInfo

import fsspec
import polars as pl
import pytest
from elsewhere import FRAME, NEXT, WEEK, change, objects
from object_store import KEYS, s3_server

from density_assets.calendar import week_clock
from density_assets.errors import BadInput
from density_assets.records.files import is_complete, record_files
from density_assets.settings import EngineSettings, Settings
from density_assets.settings.city import CitySettings
from resources.sql.duckdb_engine import DuckdbEngine
from resources.tables.retention import purge
from resources.tables.store import Store
from resources.tables.week_writer import WeekWriter
from resources.tables.weeks import Weeks


def test_a_week_written_twice_is_there_once_and_alone(store, root):
    store.write_week("visits", WEEK, FRAME)
    first = store.week_fingerprint("visits", WEEK)
    store.write_week("visits", WEEK, FRAME.head(1))
    assert store.read_week("visits", WEEK).equals(FRAME.head(1))
    assert store.week_shape("visits", WEEK) == (1, {"week": "date32[day]", "user_id": "int64", "hour": "int64"})
    assert len(objects(root)) == 3  # the file, the mark that it was begun, and what names it
    store.write_week("visits", WEEK, FRAME)
    assert store.week_fingerprint("visits", WEEK) == first
    assert not list((store.confidential / "spill").glob("*/*.parquet"))


def test_a_failure_half_way_leaves_the_old_week_and_no_trace(store, root):
    store.write_week("visits", WEEK, FRAME)
    before = objects(root)
    with pytest.raises(RuntimeError, match="disk"), store.writing_week("visits", WEEK) as writer:
        writer.write(FRAME.head(1).to_arrow())
        raise RuntimeError("disk")
    with pytest.raises(RuntimeError, match="disk"), store.gathering_week("visits", WEEK):
        raise RuntimeError("disk")
    assert objects(root) == before
    assert store.read_week("visits", WEEK).equals(FRAME)


POINTS = ("begun", "put", "noted")


def die_at(home: Path, root: str, point: str) -> None:
    """Write a week in this process and die at a point of it."""

    def die(*_: object, **__: object) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    system = type(fsspec.core.url_to_fs(root)[0])
    if point == "begun":
        if root.startswith("s3"):
            system.put_file = die
        else:
            WeekWriter.write = die
    elif point == "put":
        Weeks._publish = die
    else:
        system.rm = die
    Store(home, "town", None, root).write_week("visits", WEEK, FRAME.head(1))


@pytest.mark.parametrize("point", POINTS)
def test_a_killed_writer_leaves_nothing_that_is_read(tmp_path, store, root, point):
    store.write_week("visits", WEEK, FRAME)
    killed = multiprocessing.get_context("spawn").Process(target=die_at, args=(tmp_path / "home", root, point))
    killed.start()
    killed.join()
    assert killed.exitcode == -signal.SIGKILL
    there = FRAME if point != "noted" else FRAME.head(1)  # once it is noted it counts
    assert store.read_week("visits", WEEK).equals(there)
    assert len({name.split("/")[2] for name in objects(root)} - {"CURRENT"}) == 2  # what it left is still there
    store.write_week("visits", WEEK, FRAME)
    assert len(objects(root)) == 3


def test_a_killed_first_writer_leaves_no_week(tmp_path, store, root):
    killed = multiprocessing.get_context("spawn").Process(target=die_at, args=(tmp_path / "home", root, "put"))
    killed.start()
    killed.join()
    assert objects(root)
    assert not store.has_week("visits", WEEK)
    with pytest.raises(BadInput, match="it was never made"):
        store.read_week("visits", WEEK)
    purge(store, WEEK, 1, force=True)
    assert objects(root) == []


def test_who_was_overtaken_gives_up(tmp_path, store, root):
    other = Store(tmp_path / "other", "town", None, root)  # another machine, with locks of its own
    (other.confidential / "secret").write_bytes(store.secret)
    with (
        pytest.raises(BadInput, match="must be written by one run at a time, but another one wrote or erased it"),
        store.gathering_week("visits", WEEK) as attempt,
    ):
        other.write_week("visits", WEEK, FRAME)
        system, inside = fsspec.core.url_to_fs(attempt.folder, skip_instance_cache=True)
        system.makedirs(inside, exist_ok=True)
        FRAME.head(1).write_parquet(tmp_path / "late.parquet")
        system.put_file(str(tmp_path / "late.parquet"), f"{inside}/late.parquet")
    assert store.read_week("visits", WEEK).equals(FRAME)


PARAMETERS = {"visits_per_user": 5, "visits_clamp": 20, "weight_l": 3, "tower_l": 16}
SALTS = {"site_salt": 1, "hour_salt": 2, "visit_salt": 3}


def test_duckdb_computes_the_same_wherever_weeks_are_kept(tmp_path, store):
    here = Store(tmp_path / "files", "town")
    rows = [(user, hour, "AB"[(user + hour) % 2]) for user in range(300) for hour in range(user % 40)]
    visits = pl.DataFrame(rows, schema={"user_id": pl.Int64, "hour": pl.Int64, "tower_id": pl.String}, orient="row")
    for kept in (here, store):
        kept.write_public("towers", pl.DataFrame({"tower_id": ["A", "B"], "site": [0, 1]}))
        kept.write_week("visits", WEEK, visits.with_columns(user_key=pl.col("user_id")))
        engine = DuckdbEngine(kept, EngineSettings(threads=1, rows_per_bucket=1_000))
        for name in ("truncated_visits", "tower_series", "tower_totals", "one_visit_histogram", "visit_total"):
            engine.materialise(name, WEEK, PARAMETERS | SALTS, lambda _: None)
            assert kept.read_week(name, WEEK).equals(here.read_week(name, WEEK))


def test_a_store_that_is_gone_is_an_error_that_says_what_to_do(tmp_path, monkeypatch):
    with s3_server() as (address, server):
        for name, value in {**KEYS, "AWS_ENDPOINT_URL": address, "AWS_MAX_ATTEMPTS": "1"}.items():
            monkeypatch.setenv(name, value)
        fsspec.filesystem("s3", skip_instance_cache=True).mkdir("s3://bucket")
        store = Store(tmp_path / "home", "town", None, "s3://bucket/weeks")
        store.write_week("visits", WEEK, FRAME)
        server.kill()
        server.wait()
        for deed in (lambda: store.read_week("visits", WEEK), lambda: store.write_week("visits", WEEK, FRAME)):
            with pytest.raises(BadInput, match=r"must be kept at s3://bucket/weeks/town .storage.weeks., but it gave"):
                deed()


def test_a_bucket_that_takes_nothing_more_leaves_the_old_week(store, root, monkeypatch):
    store.write_week("visits", WEEK, FRAME)

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    system = store.weeks._system
    for place, name in ((system, "put_file"), (system, "pipe_file")) if root.startswith("s3") else ((os, "fsync"),):
        with monkeypatch.context() as patched:
            patched.setattr(place, name, full)
            with pytest.raises((BadInput, OSError), match=r"it gave OSError: look whether it is there|No space left"):
                store.write_week("visits", WEEK, FRAME.head(1))
        assert store.read_week("visits", WEEK).equals(FRAME)


def test_a_week_that_counts_stays_when_older_attempts_cannot_be_removed(store, monkeypatch):
    store.write_week("visits", WEEK, FRAME)

    def stuck(*_: object, **__: object) -> None:
        raise PermissionError("no")

    with monkeypatch.context() as patched:
        patched.setattr(store.weeks._system, "rm", stuck)
        with pytest.raises(BadInput, match="it gave PermissionError"):
            store.write_week("visits", WEEK, FRAME.head(1))
    assert store.read_week("visits", WEEK).equals(FRAME.head(1))


def test_nobody_makes_a_bucket(tmp_path, monkeypatch, server):
    """One that was made by a slip would keep records where nobody said who may read them."""
    for name, value in {**KEYS, "AWS_ENDPOINT_URL": server}.items():
        monkeypatch.setenv(name, value)
    store = Store(tmp_path / "home", "town", None, "s3://nobodys/weeks")
    with pytest.raises(BadInput, match=r"it gave FileNotFoundError: look whether it is there.* it makes no bucket"):
        store.write_week("visits", WEEK, FRAME)
    assert not store.weeks.exists("visits", WEEK)
    assert "nobodys" not in fsspec.filesystem("s3", skip_instance_cache=True).ls("")


def test_a_store_that_nobody_knows_is_refused(tmp_path):
    with pytest.raises(BadInput, match="nowhere://bucket"):
        Store(tmp_path, "town", None, "nowhere://bucket")


def test_records_elsewhere_are_found_and_left_to_spark(tmp_path, root):
    if not root.startswith("s3"):
        pytest.skip("a path is this machine's")
    change(root, f"in/{WEEK}/1.parquet", b"")
    change(root, f"in/{WEEK}/_ignored", b"")
    pattern = f"{root}/town/in/{{week}}/*.parquet"
    settings = Settings.model_construct(city=CitySettings.model_construct(visits=pattern), folder=tmp_path)
    assert record_files(settings, WEEK) == [f"{root}/town/in/{WEEK}/1.parquet"]
    assert not is_complete(settings, WEEK)
    change(root, f"in/{WEEK}/_SUCCESS", b"")
    assert is_complete(settings, WEEK)
    with pytest.raises(BadInput, match="the week of 2007-09-17 must have visit files"):
        record_files(settings, NEXT)
    engine = DuckdbEngine(Store(tmp_path, "town"), EngineSettings())
    clock = week_clock(WEEK, ZoneInfo("Europe/Paris"))
    with pytest.raises(BadInput, match=r"DuckDB reads records of this machine, city.visits names 1 files elsewhere"):
        engine.ingest(clock, record_files(settings, WEEK), CitySettings(), lambda _: None)
