"""Records that are spoiled are left out one by one, files that are damaged are refused by name; neither is quoted."""

import gzip
import random
import traceback
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from ingested import rows, stored

from density_assets.errors import BadInput
from resources.tables.store import Store

SECRET = b"zq7x_zq7x\xff\xfe"
TEXTS = [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())]


def text(values: list[bytes], kind: pa.DataType = TEXTS[0]) -> pa.Array:
    """Text that nobody has looked at, as a hasty exporter writes it."""
    whole = pa.array(values, pa.large_binary())
    plain = pa.Array.from_buffers(pa.large_string(), len(whole), whole.buffers())
    return plain.dictionary_encode().cast(kind) if pa.types.is_dictionary(kind) else plain.cast(kind)


@pytest.mark.parametrize("kind", TEXTS, ids=str)
@pytest.mark.parametrize(
    ("column", "value", "reason"),
    [("user_id", b"ann", "no user"), ("time", b"2007-09-10 08:00:00", "time not readable"),
     ("tower_id", b"A", "unknown tower")],
)  # fmt: skip
def test_text_that_is_none_in_a_parquet_file_is_rejected_alone(store, column, value, reason, kind):
    """The database alone would stop, and say which text it was."""
    good = {"user_id": text([b"bob"] * 3), "time": text([b"2007-09-10 08:00:00"] * 3), "tower_id": text([b"B"] * 3)}
    file = store.folder / "r.parquet"
    pq.write_table(pa.table(good | {column: text([value, SECRET, value], kind)}), file)
    assert stored(store, [file]) == {reason: 1}
    who, where = ("ann" if column == "user_id" else "bob"), ("A" if column == "tower_id" else "B")
    assert rows(store) == {(who, 8, where)}


FAR = [2**63 - 1, 2**63 - 2, 2**62, -(2**62), -(2**63) + 1, -(2**63)]


@pytest.mark.parametrize("time", FAR)
@pytest.mark.parametrize("zone", [None, "UTC"])
@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_a_time_that_no_clock_has_stops_nobody(store, unit, zone, time):
    units = {"ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    times = pa.array([1189404900 * units, time, None], pa.int64()).cast(pa.timestamp(unit, zone))
    file = store.folder / "r.parquet"
    pq.write_table(pa.table({"user_id": [1, 2, 3], "time": times, "tower_id": ["A"] * 3}), file)
    assert sum(stored(store, [file]).values()) == 2
    assert rows(store) == {(1, 8 if zone else 6, "A")}  # with a zone it is UTC, 06:15, else the clock on the wall


@pytest.mark.parametrize("time", [2**62, -(2**62)])
def test_a_time_of_an_old_exporter_that_no_clock_has_stops_nobody(store, time):
    times = pa.array([1189404900 * 10**6, time], pa.int64()).cast(pa.timestamp("us"))
    file = store.folder / "r.parquet"
    table = pa.table({"user_id": [1, 2], "time": times, "tower_id": ["A"] * 2})
    pq.write_table(table, file, use_deprecated_int96_timestamps=True)
    assert sum(stored(store, [file]).values()) == 1
    assert rows(store) == {(1, 6, "A")}


def test_parquet_files_may_differ_in_the_types_of_their_columns(store):
    times = ["2007-09-10 08:00:00"]
    files = [store.folder / f"{name}.parquet" for name in "abc"]
    pq.write_table(pa.table({"user_id": [1], "time": times, "tower_id": ["A"]}), files[0])
    pq.write_table(pa.table({"tower_id": ["B"], "user_id": ["x"], "time": times, "more": [0]}), files[1])
    pq.write_table(pa.table({"user_id": pa.array([2], pa.int16()), "time": times, "tower_id": ["A"]}), files[2])
    assert stored(store, files) == {}
    assert rows(store) == {("1", 8, "A"), ("x", 8, "B"), ("2", 8, "A")}


def test_a_parquet_file_without_a_column_is_named(store):
    files = [store.folder / f"{name}.parquet" for name in "ab"]
    whole = pa.table({"user_id": [1], "time": ["2007-09-10 08:00:00"], "tower_id": ["A"]})
    pq.write_table(whole, files[0])
    pq.write_table(whole.drop_columns(["time"]), files[1])
    with pytest.raises(BadInput, match=r"b\.parquet: city\.visit_time must name a column of the file"):
        stored(store, files)
    pq.write_table(pa.table([pa.array(["A"])] * 4, ["user_id", "time", "tower_id", "user_id"]), files[1])
    with pytest.raises(BadInput, match=r"b\.parquet: city\.visit_user must name one column"):
        stored(store, files)


def complaint(store: Store, *files: Path) -> str:
    """What is printed of files that are refused."""
    try:
        stored(store, [*files])
    except BadInput as error:
        return "".join(traceback.format_exception(error))
    return ""


@pytest.mark.parametrize("place", range(4, 700, 29))
def test_nothing_of_a_damaged_file_is_quoted(store, place):
    """Wherever it is cut or overwritten: in pages, statistics or names of columns."""
    users = text([SECRET, b"zq7x_zq7x", b"ann"])
    table = pa.table({"user_id": users, "time": ["zq7x_zq7x"] * 3, "tower_id": ["zq7x_zq7x"] * 3})
    file = store.folder / "r.parquet"
    pq.write_table(table, file, compression="none", use_dictionary=False)
    content = file.read_bytes()
    for damaged in (content[:place], content[:place] + b"\xff\x00\xff" + content[place + 3 :]):
        file.write_bytes(damaged)
        assert "zq7x" not in complaint(store, file)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("r.parquet", b""),
        ("r.parquet", b"\x00\x01\x02\xff not a table"),
        ("r.csv.gz", b"not compressed"),
        ("r.csv.gz", gzip.compress(b"user_id,time,tower_id", mtime=0)[:-9]),
    ],
)
def test_an_unreadable_file(store, name, content):
    file = store.folder / name
    file.write_bytes(content)
    with pytest.raises(BadInput, match="visit files must be readable"):
        stored(store, [file])


@pytest.mark.parametrize("kind", ["csv.gz", "csv.zst", "parquet"])
def test_every_damaged_file_of_many_is_named_with_what_to_do(store, kind):
    """They are copied again together, so all must be known, also where the beginning of a file is whole."""
    files = [store.folder / f"part-{number}.{kind}" for number in range(4)]
    for number, file in enumerate(files):
        rows = pl.DataFrame({"user_id": random.Random(number).sample(range(10**9), 60_000)})
        rows = rows.with_columns(time=pl.lit("2007-09-10 08:00:00"), tower_id=pl.lit("A"))
        if kind == "parquet":
            rows.write_parquet(file, row_group_size=1_000)
            continue
        with pa.output_stream(str(file), compression="gzip" if kind == "csv.gz" else "zstd") as out:
            out.write(rows.write_csv().encode())
    for number in (1, 3):
        content = bytearray(files[number].read_bytes())
        middle = len(content) // 2
        if kind == "parquet":
            content[middle : middle + 4_000] = bytes(4_000)
        else:
            del content[middle:]
        files[number].write_bytes(content)
    said = complaint(store, *files)
    assert "2 of 4 are not: " in said, said
    assert [file.name in said for file in files] == [False, True, False, True]
    assert "copy or export them again" in said
