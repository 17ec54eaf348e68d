"""Bytes flipped, zeroed and cut off in many places: no confidential week is read as if nothing had happened.

Parquet itself would read about every other of these files without a word.
"""

import os
import random
from collections.abc import Callable
from datetime import date

import polars as pl
import pytest
from elsewhere import week_file

from density_assets.errors import BadInput
from density_assets.quality.released import disagreements
from density_assets.settings import EngineSettings
from resources.sql.duckdb_engine import DuckdbEngine
from resources.tables.released import read_whole
from resources.tables.store import Store

WEEK = date(2007, 9, 10)
DAMAGES = {"polars": 300, "pyarrow": 300, "duckdb": 60}  # a database is opened for every read
AGAIN = r"visits of the week of 2007-09-10 must be whole.*materialise it again"


def frame(seed: int = 0, rows: int = 2_000) -> pl.DataFrame:
    rng = random.Random(seed)
    return pl.DataFrame(
        {
            "user_id": [f"user{rng.randrange(500)}" for _ in range(rows)],
            "hour": [rng.randrange(168) for _ in range(rows)],
            "tower_id": [rng.choice("ABCD") for _ in range(rows)],
            "user_key": sorted(rng.randrange(2_147_483_579) for _ in range(rows)),
        }
    )


def damaged(content: bytes, seed: int) -> bytes:
    """A few bits flipped, a block zeroed, the end cut off, or a byte of the footer changed."""
    rng, data = random.Random(seed), bytearray(content)
    at = rng.randrange(len(data))
    match rng.randrange(4):
        case 0:
            for _ in range(rng.choice([1, 1, 8])):
                data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        case 1:
            data[at : at + 64] = bytes(byte ^ 0xFF for byte in data[at : at + 64])
        case 2:
            del data[at:]
        case 3:
            data[-1 - at % 1_500] ^= 1 << rng.randrange(8)
    assert bytes(data) != content
    return bytes(data)


@pytest.fixture
def store(tmp_path):
    store = Store(tmp_path, "town")
    store.write_week("visits", WEEK, frame())
    return store


READERS: dict[str, Callable[[Store], object]] = {
    "polars": lambda store: store.read_week("visits", WEEK),
    "pyarrow": lambda store: store.week_shape("visits", WEEK),
    "duckdb": lambda store: DuckdbEngine(store, EngineSettings(threads=1)).counted(
        "visits_per_user", WEEK, {}, lambda _: None
    ),
}


@pytest.mark.parametrize("reader", READERS)
def test_no_damage_is_read_silently(store, reader):
    file, read = week_file(store, "visits", WEEK), READERS[reader]
    content = file.read_bytes()
    read(store)
    for seed in range(DAMAGES[reader]):
        file.write_bytes(damaged(content, seed))
        with pytest.raises(BadInput, match=AGAIN):
            read(store)
    file.write_bytes(content)
    read(store)


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"0" * 32, b"x" * 10_000])
def test_damage_to_what_names_the_files_is_a_damaged_week(store, content):
    (week_file(store, "visits", WEEK).parent.parent / "CURRENT").write_bytes(content)
    for read in READERS.values():
        with pytest.raises(BadInput, match=AGAIN):
            read(store)
    store.write_week("visits", WEEK, frame())  # what the message says works
    for read in READERS.values():
        read(store)


@pytest.mark.parametrize("error", [OSError("cut"), pl.exceptions.ComputeError("x"), pl.exceptions.PanicException("x")])
def test_whatever_a_reader_raises_is_a_damaged_week(store, monkeypatch, error):
    def broken(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(pl, "read_parquet", broken)
    with pytest.raises(BadInput, match=AGAIN):
        store.read_week("visits", WEEK)


def test_a_process_that_dies_before_the_new_week_is_in_place_leaves_the_old_one_whole(store, monkeypatch):
    replace = os.replace

    def dying(source, target):
        if target.name == "CURRENT":
            raise KeyboardInterrupt
        replace(source, target)

    for seed in (1, 2):
        with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
            patched.setattr("os.replace", dying)
            store.write_week("visits", WEEK, frame(seed))
        assert store.read_week("visits", WEEK).equals(frame())
    store.write_week("visits", WEEK, frame(3))
    assert store.read_week("visits", WEEK).equals(frame(3))


def test_a_released_table_that_is_damaged_is_an_error_and_never_a_panic(tmp_path):
    store = Store(tmp_path, "town")
    store.write_public("numbers", frame())
    file, refused = store.public_file("numbers"), 0
    content = file.read_bytes()
    for seed in range(900):
        file.write_bytes(damaged(content, seed))
        try:
            read_whole(file)
        except BadInput as error:
            refused += "density rebuild" in str(error)
    assert refused > 300
    file.write_bytes(content)
    assert read_whole(file).equals(frame())


def test_a_panic_of_polars_is_an_error_like_any_other(store, monkeypatch, tmp_path):
    def panic(*_: object) -> None:
        raise pl.exceptions.PanicException("called `Result::unwrap()` on an `Err` value")

    store.write_public("numbers", frame())
    monkeypatch.setattr(pl, "read_parquet", panic)
    with pytest.raises(BadInput, match=AGAIN):
        store.read_week("visits", WEEK)
    with pytest.raises(BadInput, match="density rebuild"):
        store.read_public("numbers")
    file = store.public_file("numbers")
    counts = {file.name: file.read_bytes(), "a.csv": b"", "a.geojson": b""}
    assert disagreements(counts) == {"numbers.parquet": "numbers.parquet cannot be read: PanicException"}
