"""What a file of records is taken for, said before anybody relies on it.

Looks at the first records of one file. What it says is for the terminal of those who may read the file: it repeats
times of a few records, and towers where settings name their column; of every other column it says only the form of its
values, because any may name somebody: a column `cell` may hold the numbers of cell phones.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq

from density_assets.errors import BadInput
from density_assets.records.csv_files import COMPRESSED, layout, text_ending
from density_assets.records.parquet_files import READING, ROWS
from density_assets.records.text_files import lines, opened
from density_assets.records.usual_names import USUAL, named_as
from density_assets.records.values import readable
from density_assets.settings.city import CitySettings

SAMPLE, SHOWN = 10_000, 3  # records looked at, and records repeated
BYTE_ORDER_MARK = b"\xef\xbb\xbf"

IdentifierForm = Literal["integer", "digits", "hex", "binary", "rounded", "text", "missing"]
TimeForm = Literal[
    "with a zone", "without a zone", "seconds", "milliseconds", "microseconds", "nanoseconds",
    "year to second in digits", "time of day", "date without a time", "missing", "not readable",
]  # fmt: skip
ON_CLOCKS: tuple[TimeForm, ...] = ("without a zone", "year to second in digits", "time of day", "date without a time")
BY_SIZE: tuple[tuple[float, TimeForm], ...] = (
    (1e11, "seconds"),
    (1e13, "milliseconds"),
    (1e14, "year to second in digits"),
    (1e17, "microseconds"),
    (float("inf"), "nanoseconds"),
)


@dataclass(frozen=True)
class Understood:
    """One file as it is read.

    kind: `csv` or `parquet`. compression, delimiter, encoding: of text, empty otherwise.
    columns: every column and its type, in order.
    roles: which of them are `user`, `date`, `time` and `tower`; whichever is not found is absent.
    identifiers, times: how many of the records looked at have an identifier, a time of each form.
    distinct: how many identifiers there are among them `as is`, `trimmed` and by their `digits` only: fewer after a
        change of form means that spellings differ. once: how many of them occur once.
    rows: the first records, with times and towers as they are; of all else the form, a digit being 9 and a letter a.
    unreadable: how many records looked at have no text in them or not as many fields as the first line.
    """

    file: str
    kind: str
    compression: str
    delimiter: str
    encoding: str
    columns: tuple[tuple[str, str], ...]
    roles: Mapping[str, str]
    sampled: int
    unreadable: int
    identifiers: Mapping[IdentifierForm, int]
    times: Mapping[TimeForm, int]
    distinct: Mapping[str, int]
    once: int
    rows: tuple[Mapping[str, str], ...]


def understood(file: Path, city: CitySettings) -> Understood:
    """What the first records of a file are taken for; a file that no record can be read of is refused.

    city: names the columns; where the file has none of that name, the usual names are tried.
    """
    if file.suffix.lower() == ".parquet":
        return _parquet(file, city)
    if text_ending(file):
        return _csv(file, city)
    raise BadInput(
        f"visit files must be .parquet, or .csv, .txt or .tsv (.gz, .zst), got {file.name}: unpack or convert it"
    )


def _csv(file: Path, city: CitySettings) -> Understood:
    with opened(file) as content:
        marked = content.read(3) == BYTE_ORDER_MARK
    how = layout(file, _named(city).values())
    if any(re.match(r"[-+.]?\d", name) or RECORDED.match(name) for name in how.columns):
        raise BadInput(f"{file.name}: line 1 must name the columns, it looks like a record")  # and is not repeated
    found = [line.as_py() for some in islice(lines(file), 2) for line in some[: SAMPLE + 1]][1 : SAMPLE + 1]
    cut = [how.cut(line) for line in found if line is not None]
    whole = [dict(zip(how.columns, fields, strict=True)) for fields in cut if len(fields) == len(how.columns)]
    return _said(
        file,
        city,
        whole,
        [(name, "text") for name in how.columns],
        sampled=len(found),
        text=(file.suffix.lower() if file.suffix.lower() in COMPRESSED else "", how.delimiter,
              "UTF-8 with a byte order mark" if marked else "UTF-8"),
    )  # fmt: skip


def _parquet(file: Path, city: CitySettings) -> Understood:
    with pq.ParquetFile(file, **READING) as opened_file:
        schema = opened_file.schema_arrow
        if any(map(RECORDED.match, schema.names)):
            raise BadInput(f"{file.name}: columns must have names, theirs look like a record: write it with a header")
        roles = _roles(schema.names, city)
        batches = islice(opened_file.iter_batches(ROWS, use_threads=False), -(-SAMPLE // ROWS))
        columns: list[list[Any]] = [[] for _ in schema.names]  # by position: names may be alike
        for batch in batches:
            for values, column, name in zip(columns, batch.columns, schema.names, strict=True):
                values += _values(column, told=name in roles.values())
    rows = [dict(zip(schema.names, values, strict=True)) for values in zip(*columns, strict=True)][:SAMPLE]
    return _said(file, city, rows, [(field.name, str(field.type)) for field in schema], sampled=len(rows))


def _values(column: pa.Array, *, told: bool) -> list[Any]:
    """Values that can be read; times as Arrow writes them, because Python's calendar ends earlier."""
    if not told or pa.types.is_nested(column.type):
        return [None if value is None else "…" for value in column.is_valid().to_pylist()]
    values = readable(column)
    return list(values.cast(pa.string()).to_pylist() if pa.types.is_temporal(values.type) else values.to_pylist())


def _said(
    file: Path,
    city: CitySettings,
    rows: Sequence[Mapping[str, Any]],
    columns: Sequence[tuple[str, str]],
    *,
    sampled: int,
    text: tuple[str, str, str] = ("", "", ""),
) -> Understood:
    roles, types = _roles([name for name, _ in columns], city), dict(columns)
    users = [row[roles["user"]] for row in rows] if "user" in roles else []
    kind = types.get(roles.get("time", ""), "")
    times = [row[roles["time"]] for row in rows] if "time" in roles else []
    known = Counter(str(user) for user in users if identifier_form(user) != "missing")
    digits = {re.sub(r"\D", "", user) or user for user in known}
    return Understood(
        file=file.name,
        kind="csv" if text[1] else "parquet",
        compression=text[0],
        delimiter=text[1],
        encoding=text[2],
        columns=tuple(columns),
        roles=roles,
        sampled=sampled,
        unreadable=sampled - len(rows),
        identifiers=Counter(map(identifier_form, users)),
        times=Counter(time_form(time, kind) for time in times),
        distinct={"as is": len(known), "trimmed": len({user.strip() for user in known}), "digits": len(digits)},
        once=sum(number == 1 for number in known.values()),
        rows=tuple(_shown(row, _plain(roles, city)) for row in rows[:SHOWN]),
    )


def identifier_form(value: object) -> IdentifierForm:
    """The form of one identifier."""
    if isinstance(value, bytes):
        return "binary"
    if isinstance(value, (int, float, Decimal)):
        return "integer" if value % 1 == 0 else "missing"  # as they are read
    text = "" if value is None else str(value)
    for form, pattern in FORMS.items():
        if re.fullmatch(pattern, text):
            return form
    return "text"


# What no column is called: a pseudonym, a time of day, a subscriber's number. It is a record, where there is no header.
RECORDED = re.compile(r"[0-9a-fA-F]{16,}$|.*(\d\d:\d\d|\d{9})")
FORMS: dict[IdentifierForm, str] = {
    "missing": r"\s*",
    "digits": r"\d+",
    "rounded": r"\d([.,]\d+)?[eE]\+\d+",
    "hex": "(?:[0-9a-f]{2}){8,}|(?:[0-9A-F]{2}){8,}",
}


def time_form(value: object, kind: str = "text") -> TimeForm:
    """The form of one time.

    kind: the type of its column, as Arrow names it.
    """
    text = "" if value is None else str(value).strip()
    if not text:
        return "missing"
    if kind.startswith("date") or re.fullmatch(r"\d{4}-\d\d-\d\d", text):
        return "date without a time"
    if kind.startswith("timestamp"):
        return "with a zone" if "tz=" in kind else "without a zone"
    if re.fullmatch(r"-?\d+([.,]\d+)?(e[+-]?\d+)?", text, re.IGNORECASE):
        number = float(text.replace(",", "."))
        if number < 1e8:
            return "time of day" if 0 <= number < 240_000 else "not readable"
        return next((form for limit, form in BY_SIZE if number < limit), "not readable")
    if re.fullmatch(r"\d\d?:\d\d(:\d\d([.,]\d+)?)?( [AaPp][Mm])?", text):
        return "time of day"
    if re.match(r"\d{4}-?\d\d-?\d\d", text):
        return "with a zone" if re.search(r"(Z|[+-]\d\d(:?\d\d)?)$", text[10:]) else "without a zone"
    return "not readable"


def _named(city: CitySettings) -> dict[str, str]:
    named = {"user": city.visit_user, "date": city.visit_date, "time": city.visit_time, "tower": city.visit_tower}
    return {role: column for role, column in named.items() if column is not None}


def _roles(columns: Sequence[str], city: CitySettings) -> dict[str, str]:
    """The column of each role: the one that settings name, else the first with a usual name."""
    named = {role: name for role, name in _named(city).items() if name in columns}
    likely = {role: named.get(role) or named_as(columns, usual) for role, usual in USUAL.items()}
    return {role: column for role, column in likely.items() if column is not None}


def _plain(roles: Mapping[str, str], city: CitySettings) -> set[str]:
    """The columns whose values may be repeated."""
    told = {role: column for role, column in roles.items() if role != "tower" or column == city.visit_tower}
    return {told[role] for role in ("date", "time", "tower") if role in told} - {roles.get("user", "")}


def _shown(row: Mapping[str, Any], plain: set[str]) -> dict[str, str]:
    return {name: str(value) if name in plain else _form(value) for name, value in row.items()}


def _form(value: object) -> str:
    """What a value looks like, and nothing of what it says."""
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    text = "" if value is None else str(value)
    return re.sub(r"[^\W\d_]", "a", re.sub(r"\d", "9", text[:40]))
