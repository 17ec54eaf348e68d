"""Golden values: read from the files of a home, kept under tests/golden, compared one by one.

Nothing here imports the project: files and their formats are what later code must keep.
"""

import csv
import hashlib
import json
import re
import shutil
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

CITY = "town"
STAMP = b"density"  # key of the stamp in a Parquet file's metadata
CLOSE = 1e-9
MASK = "*"
HASH = re.compile("[0-9a-f]{64}")
ESTIMATES = {"smoothed_series": ("visits", "standard_error"), "density": ("count", "standard_error")}
TEXTS = ("privacy_statement_*.json", "privacy_statement_*.md", "data_dictionary_*.md", "ledger_*.json", "density_*.csv")
PUBLISHED = (
    *TEXTS,
    "density_*.parquet",
    "errors_of_sums_*.parquet",
    "density_*.geojson",
    "report_*.html",
    "manifest_2*",
    "key_*.pem",
)
HASHES = frozenset(  # names of what is not compared
    ("hash", "previous", "head", "charge", "digest", "draw", "manifest", "signature", "software", "state")
)
Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Values:
    """What a home holds: `exact` as plain JSON, `numbers` by name."""

    exact: dict[str, Any]
    numbers: Arrays


# --- reading a home ----------------------------------------------------------------------------------------------


def collect(home: Path) -> Values:
    """Everything that is pinned of a home, except its published texts."""
    release = home / CITY / "release"
    ledger = ledger_rows(home)
    draws, drawn = stored_draws(release / "measurements")
    exact = {
        "keys": keys(ledger),
        "stamps": stamps(home / CITY / "confidential"),
        "ledger": without_hashes(ledger),
        "draws": without_hashes(draws),
    }
    return Values(exact, drawn | estimates(release / "release.duckdb"))


def ledger_rows(home: Path) -> dict[str, list[dict[str, Any]]]:
    """All columns of all rows of the ledger: two tables in version 1, one since."""
    with closing(sqlite3.connect(home / "ledger.sqlite")) as connection:
        connection.row_factory = sqlite3.Row
        there = [name for (name,) in connection.execute("select name from sqlite_schema where type = 'table'")]
        tables = {table: connection.execute(f"select * from {table} order by row") for table in sorted(there)}
        return {table: [_with_body(dict(row)) for row in rows] for table, rows in tables.items()}


def _with_body(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "body": json.loads(row["body"])} if "body" in row else row


def keys(ledger: dict[str, list[dict[str, Any]]]) -> dict[str, str]:
    """The measurement key of each charge, by week, revision and door."""
    charges = [
        *ledger.get("charges", ()),
        *(row["body"] for row in ledger.get("entries", ()) if row["kind"] == "charge"),
    ]
    return {f"{row['week']} r{row['revision']} {row['door']}": row["measurement"] for row in charges}


def without_hashes(value: Any) -> Any:
    """The same without hashes and digests: those of draws depend on the last digit of a float, all later ones on them.

    How a row is hashed is pinned by the homes that are kept as they were written.
    """
    if isinstance(value, dict):
        return {name: MASK if name in HASHES else without_hashes(of) for name, of in value.items()}
    if isinstance(value, list):
        return [MASK if isinstance(of, str) and HASH.fullmatch(of) else without_hashes(of) for of in value]
    return value


def stamps(confidential: Path) -> dict[str, Any]:
    """What each confidential table says it was made under."""
    files = sorted(confidential.glob("*/*.parquet"))
    metadata = {f"{file.parent.name}/{file.name}": pq.read_schema(file).metadata or {} for file in files}
    return {name: json.loads(about[STAMP]) if STAMP in about else None for name, about in metadata.items()}


def stored_draws(folder: Path) -> tuple[dict[str, Any], Arrays]:
    """What is in each file of a stored draw, and its floating-point arrays."""
    draws: dict[str, Any] = {}
    numbers: Arrays = {}
    for file in sorted(folder.iterdir()):
        with np.load(file) as archive:
            arrays = {name: archive[name] for name in archive.files}
        about = json.loads(str(arrays.pop("about")))
        draws[file.name] = {"about": about, "arrays": {name: _described(array) for name, array in arrays.items()}}
        numbers |= {f"{file.name}/{name}": array for name, array in arrays.items() if array.dtype.kind == "f"}
    return draws, numbers


def _described(array: NDArray[Any]) -> dict[str, Any]:
    about: dict[str, Any] = {"dtype": array.dtype.str, "shape": list(array.shape)}
    if array.dtype.kind != "f":  # whole numbers are equal or not
        about["sha256"] = hashlib.sha256(array.tobytes()).hexdigest()
    return about


def estimates(database: Path) -> Arrays:
    """The released estimates, week by week, in the order of cells and hours."""
    found: Arrays = {}
    with duckdb.connect(str(database), read_only=True) as connection:
        for table, columns in ESTIMATES.items():
            for (week,) in connection.sql(f"select distinct week from {table}").fetchall():
                rows = f"select * from {table} where week = $week order by cell_id, hour"
                made = connection.execute(rows, {"week": week}).fetchnumpy()
                found |= {f"{table}/{week}/{name}": np.asarray(made[name]) for name in columns}
    return found


# --- published texts ---------------------------------------------------------------------------------------------


def masked(file: Path) -> str:
    """The text of a published file, without what depends on the machine: versions, hashes and digests."""
    text = file.read_text(encoding="utf-8")
    if file.match("privacy_statement_*.json"):
        return json.dumps(_masked_statement(json.loads(text)), indent=2)
    if file.match("ledger_*.json"):
        said = json.loads(text)
        entries = [_with_body(entry) for entry in said["entries"]]
        return json.dumps(without_hashes({**said, "entries": entries}), indent=1)
    if file.match("privacy_statement_*.md"):
        return re.sub(r"(?m)^Software: .*$", "Software: *", re.sub(r"\b[0-9a-f]{64}\b", MASK, text))
    return text


def _masked_statement(said: dict[str, Any]) -> dict[str, Any]:
    files = {name: digest if name.startswith("data_dictionary_") else MASK for name, digest in said["files"].items()}
    return without_hashes({**said, "files": files})


def published_texts(release: Path) -> dict[str, str]:
    """The published texts of a release folder, masked, by the names of their files."""
    return {file.name: masked(file) for pattern in TEXTS for file in sorted(release.glob(pattern))}


def text_difference(name: str, expected: str, actual: str) -> str:
    """How two published texts differ; empty if they do not."""
    if name.endswith(".csv"):
        return difference(*map(_csv_columns, (expected, actual)), name, close=CLOSE)
    if name.startswith("privacy_statement_") and name.endswith(".json"):
        order = difference(*(list(json.loads(text)) for text in (expected, actual)), f"{name}: keys")
        return order or difference(*map(json.loads, (expected, actual)), name, close=CLOSE)
    if name.endswith(".json") and (found := difference(*map(json.loads, (expected, actual)), name)):
        return found  # names the row, where the line would be the whole file
    return difference(expected.splitlines(), actual.splitlines(), f"{name}: line")


def _csv_columns(text: str) -> dict[str, Any]:
    header, *rows = csv.reader(text.splitlines())
    columns: dict[str, Any] = dict(zip(header, map(list, zip(*rows, strict=True)), strict=True))
    errors = columns["standard_error"]
    plain = [
        bool(re.fullmatch(r"\d+\.(0|\d{0,2}[1-9])", error)) for error in errors
    ]  # 12.0, 12.34, never 1e1 or 12.340
    return {"header": header, **columns, "standard_error": list(map(float, errors)), "plain standard_error": plain}


# --- comparing ---------------------------------------------------------------------------------------------------


def difference(expected: Any, actual: Any, where: str, close: float = 0.0) -> str:
    """The first place where two JSON values differ, with both values; empty if there is none.

    close: how far floating-point numbers may be apart, relative to the expected one.
    """
    if isinstance(expected, dict) and isinstance(actual, dict):
        if lost := [name for name in expected if name not in actual]:
            return f"{where}: {lost[0]!r} must be there and is missing"
        if more := [name for name in actual if name not in expected]:
            return f"{where}: {more[0]!r} is new: {actual[more[0]]!r}"
        found = (difference(expected[name], actual[name], f"{where} {name}", close) for name in expected)
        return next(filter(None, found), "")
    if isinstance(expected, list) and isinstance(actual, list):
        pairs = enumerate(zip(expected, actual, strict=False))
        found = (difference(one, other, f"{where} [{number}]", close) for number, (one, other) in pairs)
        lengths = f"{where}: must have {len(expected)} entries, has {len(actual)}"
        return next(filter(None, found), lengths if len(expected) != len(actual) else "")
    if close and isinstance(expected, float) and isinstance(actual, float):
        return "" if abs(expected - actual) <= close * abs(expected) else f"{where}: must be {expected}, is {actual}"
    return "" if expected == actual else f"{where}: must be {expected!r}, is {actual!r}"


def number_difference(expected: Arrays, actual: Arrays, where: str) -> str:
    """The first number that is not close to the expected one, or the first name that only one side has."""
    if names := difference(dict.fromkeys(sorted(expected)), dict.fromkeys(sorted(actual)), where):
        return names
    for name in sorted(expected):
        one, other = expected[name], actual[name]
        if one.shape != other.shape:
            return f"{where} {name}: must have shape {one.shape}, has {other.shape}"
        scale = float(np.abs(one).max(initial=0.0))  # zeros reached by subtraction are as exact as what they came from
        apart = ~np.isclose(other, one, rtol=CLOSE, atol=1e-12 * scale)
        if apart.any():
            place = tuple(int(index[0]) for index in np.nonzero(apart))
            return f"{where} {name} {place}: must be {one[place]!r}, is {other[place]!r}"
    return ""


# --- keeping -----------------------------------------------------------------------------------------------------


def read(golden: Path, name: str) -> Values:
    """The golden values of one home."""
    exact = json.loads((golden / "exact.json").read_text(encoding="utf-8"))[name]
    with np.load(golden / "numbers.npz") as archive:
        mine = {key.removeprefix(f"{name}/"): archive[key] for key in archive.files if key.startswith(f"{name}/")}
    return Values(exact, mine)


def write(golden: Path, homes: dict[str, Values], studies: dict[str, Any]) -> None:
    """Write the golden values of all homes."""
    write_json(golden / "exact.json", {name: values.exact for name, values in homes.items()})
    write_json(golden / "studies.json", studies)
    numbers = {f"{name}/{key}": array for name, values in homes.items() for key, array in values.numbers.items()}
    np.savez_compressed(golden / "numbers.npz", **numbers)


def write_json(file: Path, value: Any) -> None:
    """Write JSON that a reader can follow line by line."""
    file.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def write_published(folder: Path, home: Path) -> None:
    """Keep the masked texts of a home's releases."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, text in published_texts(home / CITY / "release").items():
        (folder / name).write_text(text, encoding="utf-8")


def keep_home(folder: Path, home: Path) -> None:
    """Keep what a home must not lose: its ledger, the stored draws and what is published."""
    release, kept = home / CITY / "release", folder / CITY / "release"
    shutil.copytree(release / "measurements", kept / "measurements")
    shutil.copy(home / "ledger.sqlite", folder)
    for file in (file for pattern in PUBLISHED for file in release.glob(pattern)):
        shutil.copy(file, kept)
