"""What a file is taken for: its forms are told, and nobody's identifier is."""

import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from density_assets.errors import BadInput
from density_assets.records.description import describe, identifier_form, time_form
from density_assets.settings.city import CitySettings

CITY = CitySettings.model_construct()


def told(file: Path, content: bytes = b"", **columns: str):
    if content:
        file.write_bytes(content)
    return describe(file, CitySettings.model_construct(**columns))


def test_a_semicolon_csv_with_date_and_time_apart(tmp_path):
    content = (
        b"\xef\xbb\xbfIMSI;date;time;cell;note\r\n"
        b'208010000000001;20070910;081500;A;"MOC; voice"\r\n'
        b"208010000000001 ;20070910;081600;A;x\r\n"
        b"208010000000002;20070910;;B;x\r\n"
        b"208010000000003;20070910;081700;B\r\n"
    )
    found = told(tmp_path / "r.csv.gz", gzip.compress(content))
    assert (found.kind, found.compression, found.delimiter) == ("csv", ".gz", ";")
    assert found.encoding == "UTF-8 with a byte order mark"
    assert found.roles == {"user": "IMSI", "date": "date", "time": "time", "tower": "cell"}
    assert (found.sampled, found.unreadable) == (4, 1)
    assert found.identifiers == {"digits": 2, "text": 1}
    assert found.times == {"time of day": 2, "missing": 1}
    assert found.distinct == {"as is": 3, "trimmed": 2, "digits": 2}
    assert found.once == 3
    assert found.rows[0] == {
        "IMSI": "9" * 15,
        "date": "20070910",
        "time": "081500",
        "cell": "a",
        "note": "aaa; aaaaa",
    }


def test_binary_identifiers_and_moments_of_a_parquet_file(tmp_path):
    table = pa.table(
        {
            "user_id": pa.array([b"\x01" * 32, b"\x02" * 32, None]),
            "timestamp": pa.array([1189404900 * 10**9] * 3).cast(pa.timestamp("ns", "UTC")),
            "cell_id": ["A", "A", "B"],
            "imei": ["35 1234"] * 3,
        }
    )
    pq.write_table(table, tmp_path / "r.parquet")
    found = told(tmp_path / "r.parquet")
    assert found.columns[1] == ("timestamp", "timestamp[ns, tz=UTC]")
    assert found.identifiers == {"binary": 2, "missing": 1}
    assert found.times == {"with a zone": 3}
    assert (found.distinct["as is"], found.once) == (2, 2)
    assert found.rows[0]["timestamp"].startswith("2007-09-10 06:15:00")
    assert found.rows[0]["user_id"] == "32 bytes"
    assert "1234" not in str(found.rows)


def test_columns_that_are_not_read_may_have_one_name(tmp_path):
    """A release reads such a file, so a person must be able to look at it."""
    columns = {"user_id": 1, "time": 1189411200, "tower_id": "1", "x": 1, "y": 2}
    table = pa.table({name: [value] for name, value in columns.items()})
    pq.write_table(table.rename_columns(["user_id", "time", "tower_id", "x", "x"]), tmp_path / "r.parquet")
    found = told(tmp_path / "r.parquet")
    assert (found.sampled, found.times) == (1, {"seconds": 1})


def test_what_may_be_a_column_of_towers_is_repeated_only_if_settings_say_that_it_is(tmp_path):
    """A person's own file may call the number of their cell phone so."""
    content = b"imei,cell,time\n350000000000001,+33612345678,2007-09-10 08:00:00\n"
    assert told(tmp_path / "r.csv", content).rows[0]["cell"] == "+99999999999"
    assert told(tmp_path / "r.csv", content, visit_tower="cell").rows[0]["cell"] == "+33612345678"


def test_the_columns_that_settings_name_come_before_the_usual_names(tmp_path):
    content = b"user_id,who,time,tower_id\n1,ann,2007-09-10 08:00:00,A\n"
    found = told(tmp_path / "r.csv", content, visit_user="who")
    assert found.roles["user"] == "who"
    assert found.rows[0]["who"] == "aaa"
    assert found.rows[0]["user_id"] == "9"  # no column but times and towers is repeated


def test_a_column_of_dates_is_the_one_that_settings_name(tmp_path):
    content = b"user_id,day,begun,time,tower_id\nann,1,20070910,081500,A\n"
    found = told(tmp_path / "r.csv", content, visit_date="begun")
    assert (found.roles["date"], found.rows[0]["begun"], found.rows[0]["day"]) == ("begun", "20070910", "9")


@pytest.mark.parametrize(
    ("value", "form"),
    [(7, "integer"), ("007", "digits"), ("00a1" * 8, "hex"), (b"\1", "binary"), ("ann", "text"), ("", "missing"),
     (None, "missing"), ("cafe", "text"), (491700000001.0, "integer"), (float("nan"), "missing"), (1.5, "missing")],
)  # fmt: skip
def test_forms_of_identifiers(value, form):
    assert identifier_form(value) == form


@pytest.mark.parametrize(
    ("value", "form"),
    [
        ("2007-09-10 08:15:00", "without a zone"),
        ("2007-09-10T08:15:00.5Z", "with a zone"),
        ("2007-09-10 08:15:00+02:00", "with a zone"),
        ("1189404900", "seconds"),
        ("1189404900,25", "seconds"),
        (1189404900000, "milliseconds"),
        (20070910081500, "year to second in digits"),
        (1189404900000000, "microseconds"),
        (1189404900000000000, "nanoseconds"),
        ("081500", "time of day"),
        ("8:15", "time of day"),
        ("2007-09-10", "date without a time"),
        ("10/09/2007 08:15", "not readable"),
        ("noon", "not readable"),
        ("1e999", "not readable"),
        (None, "missing"),
    ],
)
def test_forms_of_times(value, form):
    assert time_form(value) == form


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("r.csv", b"208010000000001;20070910;A\n", "line 1 must name the columns"),
        ("r.csv", b"IMSI208010000000001,noon,A\n", "line 1 must name the columns"),
        ("r.csv", b"Dupont,Mon Sep 10 08:15,A\n", "line 1 must name the columns"),
        ("r.csv", b"c20801000000000108ab,noon,A\n", "line 1 must name the columns"),
        ("r.csv", "user_id,time\n1,2\n".encode("utf-16"), "text must be UTF-8, r.csv is UTF-16"),
        ("r.csv", "user_id,time\n1,2\n".encode("utf-16-le"), "text must be UTF-8, r.csv is UTF-16"),
        (
            "r.csv",
            "user_id,Straße\n1,2\n".encode("cp1252"),
            "line 1 of r.csv is not: .* `iconv -f WINDOWS-1252",
        ),
        ("r.csv", gzip.compress(b"user_id,time\n", mtime=0), "r.csv begins as .gz does: rename or unpack it"),
        ("r.csv", b"\nuser_id,time\n208010000000001,2\n", "r.csv is empty in line 1: leave out empty lines"),
        ("r.zip", b"208010000000001", "must be .parquet or .csv.*, got r.zip: unpack or convert it"),
    ],
)
def test_a_file_that_no_record_can_be_read_of_is_refused_unquoted(tmp_path, name, content, words):
    with pytest.raises(BadInput, match=words) as caught:
        told(tmp_path / name, content)
    assert not [word for word in ("208010000000001", "Dupont") if word in str(caught.value)]


def test_a_parquet_file_without_names_is_refused_unquoted(tmp_path):
    """Whoever reads a table without its header takes the first record for it."""
    pq.write_table(pa.table({"208010000000001": ["208010000000002"], "Dupont": ["Martin"]}), tmp_path / "r.parquet")
    with pytest.raises(BadInput, match=r"r\.parquet: columns must have names") as caught:
        told(tmp_path / "r.parquet")
    assert not [word for word in ("208010000000001", "Dupont") if word in str(caught.value)]
