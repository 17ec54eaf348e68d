"""Kinds of values in TOML files: strict, so that `true` is no number, and bounded; and errors that name key and value.

Bounds lie beyond anything a city needs, and before what a library further on would answer with an error of its own.
"""

import os
import re
import shlex
import tomllib
from datetime import date
from pathlib import Path
from typing import Annotated, Any, cast
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, Strict, ValidationError

from density_assets.calendar import EARLIEST, LATEST
from density_assets.errors import BadInput, nearest

MAX_DELTA = 1e-5
MIN_DELTA = 1e-15  # accounting is done in floating point, where 1 - delta is 1 from 1e-16 on
# One person's week may change the odds of anything by a factor of e^epsilon. At 100 nothing is promised any more, and
# e^epsilon is on its way out of floating point; at 0.001 the noise is larger than any city.
MIN_EPSILON, MAX_EPSILON = 1e-3, 100.0
UNITS = {"MB": 10**6, "GB": 10**9, "MiB": 2**20, "GiB": 2**30}
LEAST_BYTES, MOST_BYTES = 10**6, 2**50
OTHER_NAMES = {"file": "a path", "local": "a path", "s3a": "s3://", "s3n": "s3://"}  # of places that have a plain one
TIME_PARTS = "YymdbBjHIMSfp"  # of formats of times: what strptime of Python and of DuckDB read alike
DATABASES = {
    "postgresql", "postgres", "mysql", "mariadb", "oracle", "mssql", "sqlite", "duckdb", "jdbc", "odbc", "hive",
    "clickhouse", "snowflake", "bigquery", "redshift", "trino",
}  # fmt: skip
LONGEST = 80  # characters of a value that a message repeats
AGENT = "agent:"  # before the name of a key that an SSH agent holds
LONGEST_PATH, LONGEST_NAME = 4_000, 255  # bytes, as file systems have it


class Table(BaseModel):
    """A table of a TOML file: its keys are those it declares, and stay as they were read."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def read_toml(file: Path, what: str) -> dict[str, Any]:
    """Return the tables of a file; raises BadInput that names it if it is not TOML.

    what: what the file is, to begin the message with.
    """
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadInput(f"{what} must be readable: {file}: {error.strerror}") from None
    except RecursionError:
        raise BadInput(f"{what} must be TOML: {file}: its values are nested too deeply") from None
    except ValueError as error:  # TOMLDecodeError, UnicodeDecodeError, and integers of thousands of digits
        raise BadInput(f"{what} must be TOML: {file}: {error}") from None


def explain(error: ValidationError, model: type[BaseModel]) -> str:
    """Return what is wrong with the values a model got: of each its key, what must hold, and the value."""
    return "; ".join(_explain_one(problem, model) for problem in error.errors())


def _explain_one(problem: Any, model: type[BaseModel]) -> str:
    where = ".".join(shown(part, str) for part in problem["loc"])
    if problem["type"] == "extra_forbidden":
        *tables, key = problem["loc"]
        for table in tables:
            model = cast(type[BaseModel], model.model_fields[table].annotation)
        return f"unknown key {where}{nearest(key, model.model_fields)}"
    if problem["type"] == "model_type":
        return f"[{where}] must be a table, got {shown(problem['input'])}"
    what = problem["msg"].removeprefix("Value error, ")
    got = "" if problem["type"] == "value_error" else f", got {shown(problem['input'])}"
    return f"{where}: {what}{got}" if where else what


def shown(value: object, text: Any = repr) -> str:
    """Return a value as a message repeats it: its beginning, if it is long; only the kind of a list or a table."""
    if isinstance(value, list | dict):  # which may be nested deeper than Python can follow
        return "a list" if isinstance(value, list) else "a table"
    whole: str = text(value)
    return whole if len(whole) <= LONGEST else f"{whole[:LONGEST]}…"


def memory_bytes(memory: str) -> int:
    """The number of bytes that `800MB` or `1.5 GiB` means."""
    number, unit = re.findall(r"[0-9.]+|[A-Za-z]+", memory)
    return int(float(number) * UNITS[unit])


def _enough(memory: str) -> str:
    if not LEAST_BYTES <= memory_bytes(memory) <= MOST_BYTES:
        raise ValueError(f"memory must lie between 1MB and {MOST_BYTES >> 30}GiB, got {memory!r}")
    return memory


def plain_path(path: Path | str) -> Path | str:
    """A path as it was given; raises ValueError if no file can have it, or it climbs."""
    text, parts = str(path), Path(path).parts
    kind = text.partition(":")[0]  # what follows may be a password: jdbc:oracle:thin:ROLE/PASSWORD@HOST
    if _of_database(text) or re.match("[a-z][a-z0-9+.:-]+:/", text, re.IGNORECASE):  # also jdbc:postgresql://
        raise ValueError(f"must be a path of this machine, got one of {kind}: copy or export the file to here")
    if ".." in parts:
        raise ValueError(f"paths must not climb with '..', got {text!r}: write it absolute")
    long = len(os.fsencode(text)) > LONGEST_PATH or any(len(os.fsencode(part)) > LONGEST_NAME for part in parts)
    if long or "\0" in text:
        raise ValueError(f"must be a path that a file can have, got one {'too long' if long else 'with a NUL'}")
    return path


def words_of_command(command: str) -> str:
    """A command as it was given; raises ValueError if it holds no words, or a quote that does not end."""
    if not shlex.split(command):
        raise ValueError("must name a program")
    return command


def _address(webhook: str) -> str:
    try:
        _ = urlsplit(webhook).port  # parsed when it is asked for
    except ValueError as error:
        raise ValueError(f"must be an address of the web: {error}") from None
    return webhook


def _of_database(place: str) -> bool:
    kind, colon, _ = place.partition(":")
    return bool(colon) and kind.lower() in DATABASES


def is_url(place: str) -> bool:
    """Whether a place is a store's, and not a path of this machine."""
    return "://" in place


def plain_place(place: str) -> str:
    """A path, or the URL of a store; a password in it would end up in messages and logs."""
    if _of_database(place):
        raise ValueError("must be files, got a database: export its records to Parquet, a folder for each week or day")
    if not is_url(place):
        return str(plain_path(place))
    parts = urlsplit(place)
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ValueError("must be a path or a plain URL such as s3://bucket/folder: keys belong into the environment")
    if parts.scheme in OTHER_NAMES or "//" in parts.path or ".." in parts.path.split("/"):
        raise ValueError(f"must have one name only: write {OTHER_NAMES.get(parts.scheme, 'it without // and ..')}")
    return place


def _database(url: Any) -> SecretStr:
    """The address of a database; it may hold a password, so no message repeats it."""
    try:
        if not (isinstance(url, str) and url.startswith("postgresql://") and url.isprintable()):
            raise ValueError
        _ = urlsplit(url).port
    except ValueError:
        raise ValueError(
            "must be the address of a PostgreSQL database, postgresql://ROLE@HOST:PORT/DATABASE; what was given is not "
            "repeated, since it may hold a password"
        ) from None
    return SecretStr(url)


def _readable_format(pattern: str) -> str:
    parts = re.findall("%(.?)", pattern)
    if unknown := [part for part in parts if part not in TIME_PARTS]:
        raise ValueError(f"must be made of {', '.join(f'%{part}' for part in TIME_PARTS)}, got %{unknown[0]}")
    if not ({*"Yy"} & {*parts} and {*"HI"} & {*parts}):
        raise ValueError(f"must hold year and hour, such as %d/%m/%Y %H:%M, got {pattern!r}")
    return pattern


def _comparable(value: Any) -> str | int | float | bool:
    if not isinstance(value, str | int | float) or (isinstance(value, int | float) and not abs(value) <= 2**53):
        raise ValueError("must be a text, a number or a truth value, such as 'domestic', 0 or true")
    return value


def _day(value: Any) -> date:
    """A day as TOML has it, or as text; pydantic would take a number for seconds since 1970."""
    if isinstance(value, str):
        return date.fromisoformat(value)
    if type(value) is not date:
        raise ValueError("must be a day such as 2007-09-10")
    return value


def _in_the_calendar(day: date) -> date:
    if not EARLIEST <= day <= LATEST:
        raise ValueError(f"weeks must lie between {EARLIEST} and {LATEST}, got {day}")
    return day


Name = Annotated[str, Field(min_length=1, max_length=1_000, pattern=r"^[^\x00]+$")]  # of a column or a system
Week = Annotated[date, BeforeValidator(_day), AfterValidator(_in_the_calendar)]
PlainPath = Annotated[Path, AfterValidator(plain_path)]
TimeFormat = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_readable_format)]
Comparable = Annotated[Any, BeforeValidator(_comparable)]  # what a column of records is compared with
PlainPattern = Annotated[str, AfterValidator(plain_path)]
Address = Annotated[str, Field(pattern=r"^https?://[^\s/]+"), AfterValidator(_address)]
Place = Annotated[str, Field(min_length=1), AfterValidator(plain_place)]
Database = Annotated[SecretStr, BeforeValidator(_database)]
Flag = Annotated[bool, Strict()]
Count = Annotated[int, Strict(), Field(ge=1, le=10**10)]  # of people or rows
Cap = Annotated[int, Strict(), Field(ge=1, le=10**6)]  # of visits; times 2^32 it must fit into 64 bits
Threads = Annotated[int, Strict(), Field(ge=1, le=1_024)]
Seed = Annotated[int, Strict(), Field(ge=0, lt=2**63)]
AboveZero = Annotated[float, Strict(), Field(gt=0, le=10**9)]
Share = Annotated[float, Strict(), Field(gt=0, lt=1)]
Epsilon = Annotated[float, Strict(), Field(ge=MIN_EPSILON, le=MAX_EPSILON)]
Delta = Annotated[float, Strict(), Field(ge=MIN_DELTA, le=MAX_DELTA)]
Memory = Annotated[str, Field(pattern=r"^[0-9]{1,15}(\.[0-9]{1,15})? ?(MB|GB|MiB|GiB)$"), AfterValidator(_enough)]
