"""Event files as operators have them: quoted and compressed text, dates apart, bytes, other clocks, filters."""

from datetime import datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from ingested import table, text, visits

from density_assets.errors import BadInput


@pytest.mark.parametrize("name", ["r.csv", "r.csv.gz", "r.csv.zst", "r.txt", "r.TSV"])
@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
def test_quoted_fields_may_hold_the_delimiter(store, name, mark):
    rows = [
        ["user_id", "kind of event", "time", "tower_id"],
        ["ann", f'"MOC{mark} voice"', '"2007-09-10 08:00:00"', '"A"'],
        [f'"b{mark}o""b"', "x", "2007-09-10 08:00:00", "B"],
        ["cat", '""', "2007-09-10 08:00:00", "A"],
    ]
    found, rejected = visits(store, text(store, *map(mark.join, rows), name=name))
    assert found == {("ann", 8, "A"), (f'b{mark}o"b', 8, "B"), ("cat", 8, "A")}
    assert rejected == {}


def test_a_quote_that_is_not_closed_reaches_no_further_than_its_line(store):
    """A field that holds a line break makes two lines that name nobody; their neighbours are read as ever."""
    lines = [
        "user_id,note,time,tower_id",
        'ann,"two',
        'lines",2007-09-10 08:00:00,A',
        'bob,"open,2007-09-10 08:00:00,A',
        'cat,5" pipe,2007-09-10 08:00:00,B',
        'dan,"x"y,2007-09-10 08:00:00,B',
    ]
    found, rejected = visits(store, text(store, *lines))
    assert found == {("bob", 8, "A"), ("cat", 8, "B"), ("dan", 8, "B")}
    assert rejected == {"no user": 2}


@pytest.mark.parametrize(
    ("day", "time"),
    [
        ("20070911", "081500"),
        ("20070911", "81500"),
        ("2007-09-11", "08:15:00,25"),
        ("2007-09-11", "081500.75"),
        ("20070911", "8:15"),
        ("20070911", "08:15:00+02:00"),
    ],
)
def test_date_and_time_of_a_csv_may_stand_apart(store, day, time):
    file = text(store, "user_id;day;clock;tower_id", f"ann;{day};{time};A")
    assert visits(store, file, visit_date="day", visit_time="clock") == ({("ann", 32, "A")}, {})


def test_a_time_of_day_of_four_digits_is_counted_and_not_guessed(store):
    file = text(store, "user_id;day;clock;tower_id", "ann;20070911;0815;A", "ann;20079911;081500;A", "ann;;081500;A")
    assert visits(store, file, visit_date="day", visit_time="clock") == (set(), {"time not readable": 3})
    found = visits(store, file, visit_date="day", visit_time="clock", visit_time_format="%Y%m%d %H%M")
    assert found == ({("ann", 32, "A")}, {"time not readable": 2})


DAYS = [pa.array([13_767] * 2, pa.int32()).cast(pa.date32()), pa.array([20070911] * 2), pa.array(["2007-09-11"] * 2)]
CLOCKS = [
    pa.array([81_500, 2_359], pa.int32()),
    pa.array([29_700, 1_439], pa.int32()).cast(pa.time32("s")),
    pa.array([29_700 * 10**9, 1_439 * 10**9]).cast(pa.time64("ns")),
    pa.array(["08:15:00", "00:23:59"]),
    pa.array([81_500.0, 2_359.0]),
]


@pytest.mark.parametrize("clock", CLOCKS, ids=lambda array: str(array.type))
@pytest.mark.parametrize("day", DAYS, ids=lambda array: str(array.type))
def test_date_and_time_of_a_parquet_file_may_stand_apart(store, day, clock):
    file = table(store, user_id=["ann", "bob"], day=day, time=clock, tower_id=["A", "B"])
    assert visits(store, file, visit_date="day") == ({("ann", 32, "A"), ("bob", 24, "B")}, {})


def test_a_day_or_time_of_day_that_no_clock_has_stops_nobody(store):
    days = pa.array([13_767, 2**31 - 1, -(2**31), 13_767, 13_767], pa.int32()).view(pa.date32())
    clocks = pa.array([29_700, 0, 0, 2**31 - 1, -1], pa.int32()).view(pa.time32("s"))
    file = table(store, user_id=[1, 2, 3, 4, 5], day=days, time=clocks, tower_id=["A"] * 5)
    assert visits(store, file, visit_date="day") == ({(1, 32, "A")}, {"time not readable": 4})


@pytest.mark.parametrize(
    "time", ["20070911081500", "20070911 081500", "20070911T081500", "2007-09-11 08:15:00,250", "20070911T061500Z",
             "1189491300,5", "1189491300000000", "1189491300000000000"],
)  # fmt: skip
def test_times_in_digits_and_with_decimal_commas(store, time):
    assert visits(store, text(store, "user_id;time;tower_id", f"ann;{time};A")) == ({("ann", 32, "A")}, {})


@pytest.mark.parametrize(
    "time", [20070911081500, 1189491300, 1189491300000, 1189491300000000, 1189491300000000000, 20070911081500.0]
)
def test_numbers_say_by_their_size_what_they_count(store, time):
    assert visits(store, table(store, user_id=["ann"], time=[time], tower_id=["A"])) == ({("ann", 32, "A")}, {})


def test_the_digits_of_a_number_must_be_a_time(store):
    file = table(store, user_id=[1, 2, 3], time=[20071311081500, 20070911086000, 20070911240000], tower_id=["A"] * 3)
    assert visits(store, file) == (set(), {"time not readable": 3})


def test_times_may_be_written_as_the_settings_say(store):
    file = text(store, "user_id,time,tower_id", "ann,11/09/2007 8:15 AM,A", "bob,2007-09-11 08:15,A")
    found = visits(store, file, visit_time_format="%d/%m/%Y %I:%M %p")
    assert found == ({("ann", 32, "A")}, {"time not readable": 1})


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), pa.binary(4)], ids=str)
def test_identifiers_of_bytes_are_their_hexadecimal_digits(store, kind):
    users = pa.array([b"\x00\xff\x10\xab", b"\x01\x02\x03\x04", None], kind)
    times = pa.array([datetime(2007, 9, 11, 8, 15)] * 3, pa.timestamp("us"))
    file = table(store, user_id=users, time=times, tower_id=["A", "B", "A"])
    assert visits(store, file) == ({("00FF10AB", 32, "A"), ("01020304", 32, "B")}, {"no user": 1})


@pytest.mark.parametrize("kind", [pa.float64(), pa.decimal128(20, 0), pa.decimal128(38, 10)], ids=str)
def test_identifiers_that_tables_keep_with_a_point_are_their_digits(store, kind):
    """Pandas keeps integers with gaps as floats, databases keep numbers of any size as decimals."""
    users = pa.array([208010000000001, 208010000000001, None]).cast(kind)
    files = [store.folder / "whole.parquet", store.folder / "point.parquet"]
    for file, identifiers in zip(files, (pa.array([208010000000001] * 3), users), strict=True):
        rows = {"user_id": identifiers, "time": [1189491300] * 3, "tower_id": ["A", "A", "B"]}
        pq.write_table(pa.table(rows), file)
    assert visits(store, *files) == ({("208010000000001", 32, "A"), ("208010000000001", 32, "B")}, {"no user": 1})


def test_numbers_that_may_stand_for_several_people_are_nobody(store):
    users = [2.0**53, 1.5, float("nan"), 7.0]
    file = table(store, user_id=users, time=[1189491300] * 4, tower_id=["A"] * 4)
    assert visits(store, file) == ({("7", 32, "A")}, {"no user": 3})


@pytest.mark.parametrize(
    ("column", "reason"), [("user_id", "no user"), ("time", "time not readable"), ("tower_id", "unknown tower")]
)
def test_a_file_where_nobody_has_a_value_stops_no_week(store, column, reason):
    """Such a column has a type of its own, that of nothing."""
    rows = {"user_id": [7], "time": [1189491300], "tower_id": ["A"]}
    pq.write_table(pa.table({**rows, column: pa.nulls(1)}), store.folder / "none.parquet")
    assert visits(store, table(store, **rows), store.folder / "none.parquet")[1] == {reason: 1}


@pytest.mark.parametrize("kind", [pa.decimal128(20, 0), pa.decimal128(38, 6)], ids=str)
def test_times_of_databases_may_be_decimals(store, kind):
    file = table(store, user_id=[7], time=pa.array([1189491300]).cast(kind), tower_id=["A"])
    assert visits(store, file) == ({(7, 32, "A")}, {})


WHERE = ["user_id,time,tower_id,domain,error", "ann,2007-09-10 08:00,A,home,0", "bob,2007-09-10 08:00,A,roaming,0",
         "cat,2007-09-10 08:00,A,home,2", ",2007-09-10 08:00,A,home,0", "dan,2007-09-10 08:00,A,home,"]  # fmt: skip


def test_records_may_be_left_out_by_what_their_columns_hold(store):
    found = visits(store, text(store, *WHERE), visit_where={"domain": "home", "error": 0})
    assert found == ({("ann", 8, "A")}, {"left out by visit_where": 3, "no user": 1})


@pytest.mark.parametrize("kind", [pa.int8(), pa.float32(), pa.bool_(), pa.string()], ids=str)
@pytest.mark.parametrize("value", [0, False, 0.0])
def test_a_filter_compares_numbers_and_truth_by_what_they_are(store, kind, value):
    flags = pa.array([0, 1, None], pa.int8()).cast(kind)
    times = ["2007-09-10 08:00"] * 3
    file = table(store, user_id=[1, 2, 3], time=times, tower_id=["A"] * 3, flag=flags)
    assert visits(store, file, visit_where={"flag": value}) == ({(1, 8, "A")}, {"left out by visit_where": 2})


def test_a_filter_that_no_record_could_pass_is_refused(store):
    file = table(store, user_id=[1], time=["2007-09-10 08:00"], tower_id=["A"], flag=[0])
    with pytest.raises(BadInput, match=r"visit_where must compare text with 'text', .* column 'flag' is BIGINT"):
        visits(store, file, visit_where={"flag": "0"})
    with pytest.raises(BadInput, match=r"city.visit_where.flags must name a column"):
        visits(store, file, visit_where={"flags": 0})


SPELLED = [
    "user_id,time,tower_id",
    *(f"{user},2007-09-10 08:00,A" for user in ("+33 612", "33612", " 33612\u00a0", "ann", "")),
]


@pytest.mark.parametrize(
    ("form", "users", "nobody"),
    [
        ("as is", {"+33 612", "33612", " 33612\u00a0", "ann"}, 1),
        ("trimmed", {"+33 612", "33612", "ann"}, 1),
        ("digits only", {"33612"}, 2),
    ],
)
def test_spellings_of_one_identifier_may_be_made_one(store, form, users, nobody):
    found, rejected = visits(store, text(store, *SPELLED), user_form=form)
    assert ({user for user, *_ in found}, rejected) == (users, {"no user": nobody})


def test_digits_of_bytes_are_nobody(store):
    with pytest.raises(BadInput, match="or bytes as they are, column 'user_id'"):
        visits(store, table(store, user_id=[b"\1"], time=[0], tower_id=["A"]), user_form="digits only")


def test_a_listed_tower_outside_the_city_is_told_from_an_unknown_one(store):
    lines = [f"ann,2007-09-10 08:00,{tower}" for tower in ("A", "far", "far", "nowhere", "")]
    found = visits(store, text(store, "user_id,time,tower_id", *lines))
    assert found == ({("ann", 8, "A")}, {"tower outside the city": 2, "unknown tower": 2})


def test_text_of_another_encoding_is_refused_by_name(store):
    file = store.folder / "r.csv"
    file.write_bytes("user_id,time,tower_id\nann,2007-09-10 08:00,A\n".encode("utf-16"))
    with pytest.raises(BadInput, match=r"r\.csv is UTF-16 or no text: `iconv -f UTF-16 -t UTF-8` converts it"):
        visits(store, file)


def test_a_cut_zst_is_refused(store):
    file = text(store, "user_id,time,tower_id", *["ann,2007-09-10 08:00,A"] * 100, name="r.csv.zst")
    file.write_bytes(file.read_bytes()[:-4])
    with pytest.raises(BadInput, match=r"visit files must be readable"):
        visits(store, file)
