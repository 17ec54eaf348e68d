"""Weeks at a path or URL: there whole or not at all, whoever dies or lies; on a disk and on an object store."""

import json
import multiprocessing
import os
import signal
import stat
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from zoneinfo import ZoneInfo

import fsspec
import polars as pl
import pytest
from object_store import KEYS, s3_server

from density_assets.calendar import week_clock
from density_assets.city_settings import CitySettings
from density_assets.errors import BadInput
from density_assets.records.found_files import is_complete, record_files
from density_assets.settings import EngineSettings, Settings
from resources.sql.duckdb_engine import DuckdbEngine
from resources.tables import week_objects
from resources.tables.retention import purge
from resources.tables.store import Store

WEEK, NEXT = date(2007, 9, 10), date(2007, 9, 17)
FRAME = pl.DataFrame({"user_id": [1, 2], "hour": [3, 4]})
STAMP = {"population": "people", "visits_per_user": 30}


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with s3_server() as (address, _):
        yield address


@pytest.fixture(params=["path", "s3"])
def root(request, tmp_path, monkeypatch) -> str:
    """Where weeks are kept."""
    if request.param == "path":
        return str(tmp_path / "elsewhere")
    for name, value in {**KEYS, "AWS_ENDPOINT_URL": request.getfixturevalue("server")}.items():
        monkeypatch.setenv(name, value)
    bucket = f"s3://bucket{abs(hash(str(tmp_path)))}"
    fsspec.filesystem("s3", skip_instance_cache=True).mkdir(bucket)
    return f"{bucket}/weeks"


@pytest.fixture
def store(tmp_path, root) -> Store:
    return Store(tmp_path / "home", "town", None, root)


def objects(root: str) -> list[str]:
    """Everything that lies there, seen from there."""
    system, inside = fsspec.core.url_to_fs(f"{root}/town", use_listings_cache=False, skip_instance_cache=True)
    return sorted(name.removeprefix(inside).strip("/") for name in system.find(inside))


def change(root: str, name: str, content: bytes) -> None:
    system, inside = fsspec.core.url_to_fs(f"{root}/town", use_listings_cache=False, skip_instance_cache=True)
    system.pipe_file(f"{inside}/{name}", content)


def read(root: str, name: str) -> bytes:
    system, inside = fsspec.core.url_to_fs(f"{root}/town", use_listings_cache=False, skip_instance_cache=True)
    return system.cat_file(f"{inside}/{name}")


def current(root: str, table: str = "visits", week: date = WEEK) -> str:
    return f"{table}/{week}/CURRENT"


def part(root: str) -> str:
    (found,) = [name for name in objects(root) if name.endswith(".parquet")]
    return found


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
        system.put_file = die
    elif point == "put":
        week_objects.WeekObjects._publish = die
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


def damaged(store: Store, table: str = "visits", week: date = WEEK) -> str:
    with pytest.raises(BadInput, match="must be whole") as caught:
        store.read_week(table, week)
    return str(caught.value)


def test_what_was_changed_is_noticed(store, root):
    store.write_week("visits", WEEK, FRAME)
    content = bytearray(read(root, part(root)))
    for at in (5, len(content) // 2, len(content) - 5):
        spoiled = bytearray(content)
        spoiled[at] ^= 1
        change(root, part(root), bytes(spoiled))
        assert "it is not what was written" in damaged(store)
    change(root, part(root), bytes(content))
    assert store.read_week("visits", WEEK).equals(FRAME)
    system, inside = fsspec.core.url_to_fs(f"{root}/town", skip_instance_cache=True)
    system.rm(f"{inside}/{part(root)}")
    assert "a file of it is missing" in damaged(store)


def test_what_names_the_files_cannot_be_forged(store, root, tmp_path):
    store.write_week("visits", WEEK, FRAME)
    store.write_week("visits", NEXT, FRAME.head(1))
    genuine = json.loads(read(root, current(root)))
    forgeries = [
        {**genuine, "noted": {**genuine["noted"], "stamp": {"visits_per_user": 7}}},
        {**genuine, "seal": "0" * 32},
        json.loads(read(root, current(root, week=NEXT))),  # of another week
    ]
    for forged in forgeries:
        change(root, current(root), json.dumps(forged).encode())
        assert "was not written by this installation" in damaged(store)
    for nonsense in (b"", b"[]", b"null", b'{"noted": {}}', b"\xff"):
        change(root, current(root), nonsense)
        assert "what names its files cannot be read" in damaged(store)
    stranger = Store(tmp_path / "stranger", "town", None, root)
    change(root, current(root), json.dumps(genuine).encode())
    assert "was not written by this installation" in damaged(stranger)
    assert store.read_week("visits", WEEK).equals(FRAME)


def test_weeks_of_other_settings_are_refused(tmp_path, root):
    made = Store(tmp_path / "home", "town", STAMP, root)
    made._geography = (made.written("antennas", "cells", "overlaps"), {})
    made.write_week("other_table", WEEK, FRAME)
    changed = Store(tmp_path / "home", "town", {**STAMP, "visits_per_user": 40}, root)
    changed._geography = made._geography
    assert made.read_week("other_table", WEEK).equals(FRAME)
    with pytest.raises(BadInput, match="but visits_per_user was 30 and is 40"):
        changed.read_week("other_table", WEEK)


def test_a_week_that_a_check_refused_is_not_read_until_it_is_made_again(store):
    store.write_week("visits", WEEK, FRAME)
    store.refuse_week("visits", WEEK)
    with pytest.raises(BadInput, match="one found a fault of the software"):
        store.read_week("visits", WEEK)
    store.write_week("visits", WEEK, FRAME)
    assert store.read_week("visits", WEEK).equals(FRAME)


def test_erasing_a_week_leaves_nothing_of_it_and_all_of_others(store, root):
    for week in (WEEK, NEXT):
        store.write_week("visits", week, FRAME)
        store.write_week("tower_series", week, FRAME)
    store.refuse_week("tower_series", WEEK)
    erased = purge(store, WEEK, 1, force=True)
    assert len(erased) == 8  # the mark that one was refused lies in the home
    assert all(str(WEEK) in name for name in erased)
    assert not [name for name in objects(root) if str(WEEK) in name]
    with pytest.raises(BadInput, match="its confidential zone was erased"):
        store.read_week("visits", WEEK)
    assert store.read_week("visits", NEXT).equals(FRAME)
    assert purge(store, WEEK, 1, force=True) == [str(store.purge_note(WEEK))]


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


def test_files_of_a_path_are_readable_by_their_owner_only(tmp_path):
    store = Store(tmp_path / "home", "town", None, str(tmp_path / "elsewhere"))
    store.write_week("visits", WEEK, FRAME)
    for path in (tmp_path / "elsewhere").rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


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

    for name in ("put_file", "pipe_file") if root.startswith("s3") else ("put_file",):
        with monkeypatch.context() as patched:
            patched.setattr(store.weeks._system, name, full)
            with pytest.raises(BadInput, match="it gave OSError: look whether it is there, has room"):
                store.write_week("visits", WEEK, FRAME.head(1))
        assert store.read_week("visits", WEEK).equals(FRAME)


def test_a_refused_week_stays_refused_when_its_mark_is_taken_away(store, root):
    store.write_week("visits", WEEK, FRAME)
    store.refuse_week("visits", WEEK)
    system, inside = fsspec.core.url_to_fs(f"{root}/town", skip_instance_cache=True)
    system.rm(f"{inside}/visits/{WEEK}/FAULTY")
    with pytest.raises(BadInput, match="one found a fault of the software"):
        store.read_week("visits", WEEK)
    store.write_week("visits", WEEK, FRAME)
    assert store.read_week("visits", WEEK).equals(FRAME)


def test_erasing_looks_wherever_weeks_were_ever_kept(tmp_path, store, root):
    store.write_week("visits", WEEK, FRAME)
    moved = Store(tmp_path / "home", "town", None, str(tmp_path / "new place"))
    moved.write_week("visits", WEEK, FRAME)
    assert len(purge(moved, WEEK, 1, force=True)) == 6
    assert objects(root) == objects(str(tmp_path / "new place")) == []


def test_cities_that_share_a_place_leave_each_other_alone(tmp_path, store, root):
    other = Store(tmp_path / "home", "village", None, root)
    store.write_week("visits", WEEK, FRAME)
    other.write_week("visits", WEEK, FRAME.head(1))
    purge(other, WEEK, 1, force=True)
    assert store.read_week("visits", WEEK).equals(FRAME)


def test_nonsense_beside_weeks_has_no_view_and_stops_nobody(tmp_path):
    store = Store(tmp_path / "home", "town", None, str(tmp_path / "elsewhere"))
    stray = tmp_path / "elsewhere" / "town" / "other" / str(WEEK) / "CURRENT"
    stray.parent.mkdir(parents=True)
    stray.write_text("{}")
    store.write_week("visits", WEEK, FRAME)
    assert store.read_week("visits", WEEK).equals(FRAME)


def test_weeks_are_not_kept_where_others_read(tmp_path):
    with pytest.raises(BadInput, match="must not be a folder of the home that others may read"):
        Store(tmp_path, "town", None, str(tmp_path / "town" / "release"))


def test_a_week_that_counts_stays_when_older_attempts_cannot_be_removed(store, monkeypatch):
    store.write_week("visits", WEEK, FRAME)

    def stuck(*_: object, **__: object) -> None:
        raise PermissionError("no")

    with monkeypatch.context() as patched:
        patched.setattr(store.weeks._system, "rm", stuck)
        with pytest.raises(BadInput, match="it gave PermissionError"):
            store.write_week("visits", WEEK, FRAME.head(1))
    assert store.read_week("visits", WEEK).equals(FRAME.head(1))


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
