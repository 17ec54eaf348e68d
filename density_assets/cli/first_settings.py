"""A first settings file, guessed from names, headers and public tables of the files that a person gives.

Every guess is a line with its reason, for a person to confirm. What a release promises, how much one person may count,
what a year may cost and how many people there are is nobody's guess: it is decided, or a public figure. Of records only
the form is looked at (header, types of columns, whether times carry a zone): no value of a record is written down.
"""

import glob
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow.parquet as pq
from numpy.typing import NDArray

from density_assets.city_settings import CITY_NAME, CitySettings
from density_assets.errors import BadInput, nearest
from density_assets.geography.cells import read_frame
from density_assets.geography.nearest_zone import nearest_zone
from density_assets.geography.public_csv import CSV_DAMAGE, read_public_csv
from density_assets.geography.public_files import is_parquet, public_files
from density_assets.records.understood import USUAL, Understood, understood

DEGREES = "EPSG:4326"
IDENTIFIERS = ("cell_id", "grid_id", "zone_id", "zone", "code", "dcomiris", "code_iris", "insee", "id", "name")
PAIRS = (
    ("lon", "lat"),
    ("longitude", "latitude"),
    ("lng", "lat"),
    ("x", "y"),
    ("easting", "northing"),
    ("länge", "breite"),
)
STARTS = ("valid_date_start", "valid_from", "start_date")
ENDS = ("valid_date_end", "valid_to", "end_date")
PLACEHOLDER = re.compile(r"\{(week|year|month|day)\}")
IN_PATHS = {"week": r"(?P<week>\d{4}-\d\d-\d\d)", "year": r"(?P<year>\d{4})", "month": r"(?P<month>\d\d?)"} | {
    "day": r"(?P<day>\d\d?)"
}
HIVE = "={year}"  # in paths of folders as Spark writes them
BARE = ("first_week", "last_week", "population", "users", "seed")  # keys whose values are no text


@dataclass(frozen=True)
class Guess:
    """One line of [city]: what it would say, and why; without a value nothing could be guessed."""

    key: str
    value: str | None
    why: str


def guesses(out: Path, cells: Path, towers: Path, visits: str) -> Iterator[Guess]:
    """All lines of [city], in the order of the file."""
    areas, events = read_frame(cells, None, "cells"), sample_of(visits)
    found = understood(events, CitySettings.model_construct())
    yield Guess("name", _name(out), "folder of the city under DENSITY_HOME")
    yield from _cells(out, cells, areas)
    yield from _towers(out, towers, areas, found)
    yield from _visits(out, visits, events, found)
    yield Guess("first_week", _first_week(visits), "the Monday of the earliest week that a path names")
    yield Guess("timezone", _zone(areas), "the zone whose town is nearest to the city; weeks run on its clocks")


def with_answers(found: Sequence[Guess], answers: Mapping[str, str]) -> list[Guess]:
    """The guesses, with what a person says in place of some."""
    for key in answers:
        if key not in CitySettings.model_fields:
            raise BadInput(f"--set must name a key of [city], got {key!r}{nearest(key, CitySettings.model_fields)}")
    kept = [Guess(guess.key, answers[guess.key], "given") if guess.key in answers else guess for guess in found]
    named = {guess.key for guess in found}
    return [*kept, *(Guess(key, value, "given") for key, value in answers.items() if key not in named)]


def settings_text(lines: Sequence[Guess], file: str, columns: str = "") -> str:
    """The settings file; raises for a line that nobody could fill in, and says which columns there are."""
    if missing := [line.key for line in lines if not line.value]:
        raise BadInput(
            f"{' and '.join(missing)} of [city] could not be guessed: give "
            f"{' '.join(f'--set {key}=…' for key in missing)}{columns}"
        )
    city = "\n".join(f"{line.key} = {_value(line)}  # {_plain(line.why)}" for line in lines)
    return f"""# Guessed by `density init` from names, headers and public tables: look at every line, then at
# `density check --settings {file}`, which says what your files are taken for.

[city]
{city}
# population = …  how many people live there: a public figure, for warnings and for `density plan`; never from records

[privacy]
# What a release promises and what a year may cost is decided by people, before any record is counted:
# `density plan --settings {file}` says which errors to expect at which promise. The defaults:
# epsilon = 0.3
# delta = 1e-7
# visits_per_user = 30
# budget_epsilon = 3.0
# budget_delta = 1e-7

[operator]
# name = "…"    who schedules act for, and why; recorded and published
# reason = "…"
"""


def sample_of(visits: str) -> Path:
    """The first file that a pattern names, whatever its placeholders stand for."""
    found = sorted(Path(name) for name in glob.glob(PLACEHOLDER.sub("*", visits), recursive=True))
    for file in found:
        if file.is_file() and not file.name.startswith(("_", ".")):
            return file
    raise BadInput(
        f"--visits must name at least one file, found none at {visits}: quote it, with {{week}} or {{day}} in it"
    )


def _name(out: Path) -> str | None:
    name = re.sub(r"[^a-z0-9_-]+", "-", out.stem.lower()).strip("-_")
    return name if CITY_NAME.fullmatch(name) and name != "embedded" else None


def _cells(out: Path, cells: Path, areas: Any) -> Iterator[Guess]:
    yield Guess("cells", _path(cells, out), f"{len(areas):,} areas")
    columns = [name for name in areas.columns if name != areas.geometry.name]
    unique = [name for name in columns if areas[name].notna().all() and areas[name].is_unique]
    yield Guess("cell_id", _first(unique, IDENTIFIERS), "a value of its own for every area")
    if areas.crs is None:
        degrees = _are_degrees(np.asarray(areas.total_bounds).reshape(2, 2))
        why = "the file does not say; its coordinates look like degrees"
        yield Guess("cells_crs", DEGREES if degrees else None, why)


def _towers(out: Path, towers: Path, areas: Any, events: Understood) -> Iterator[Guess]:
    rows = antennas(towers)
    yield Guess("towers", _path(towers, out), f"{len(rows):,} rows")
    seen = [name for name in (events.roles.get("tower"), *USUAL["tower"], *IDENTIFIERS) if name]
    plain = [name for name in rows.columns if rows[name].null_count() == 0]
    yield Guess("tower_id", _first(plain, seen), "names an antenna as records do")
    x, y = _pair(rows.columns)
    yield Guess("tower_x", x, "longitude, or metres to the east")
    yield Guess("tower_y", y, "latitude, or metres to the north")
    yield Guess("tower_crs", *_crs(rows, x, y, areas))
    for key, usual in (("tower_valid_from", STARTS), ("tower_valid_to", ENDS)):
        if name := _named(rows.columns, usual):
            yield Guess(key, name, "from when to when a row of the list holds")


def antennas(towers: Path) -> pl.DataFrame:
    """The last of the files that the list is made of."""
    file = public_files(towers)[-1]
    try:
        return pl.read_parquet(file) if is_parquet(file) else read_public_csv(file, "towers")
    except CSV_DAMAGE as error:
        raise BadInput(f"--towers must be CSV or Parquet, {file} gave {type(error).__name__}") from None


def _pair(columns: Sequence[str]) -> tuple[str | None, str | None]:
    named = {name.lower(): name for name in columns}
    return next(((named[x], named[y]) for x, y in PAIRS if x in named and y in named), (None, None))


def _crs(rows: pl.DataFrame, x: str | None, y: str | None, areas: Any) -> tuple[str | None, str]:
    """The coordinate system of the antennas: degrees, or that of the cells if some antenna then lies among them."""
    if x is None or y is None:
        return None, "of the coordinates"
    points = np.column_stack([_numbers(rows[name]) for name in (x, y)])
    if _are_degrees(points):
        return DEGREES, "the coordinates look like degrees"
    if areas.crs is not None:
        west, south, east, north = areas.total_bounds
        inside = (points >= (west, south)).all(axis=1) & (points <= (east, north)).all(axis=1)
        if inside.any():
            return areas.crs.to_string(), f"that of the cells: {int(inside.sum()):,} of {len(points):,} lie among them"
    return None, "of the coordinates"


def _numbers(values: pl.Series) -> NDArray[np.float64]:
    text = values.cast(pl.String).str.replace(",", ".", literal=True)
    return text.cast(pl.Float64, strict=False).to_numpy().astype(np.float64)


def _are_degrees(points: NDArray[np.float64]) -> bool:
    known = points[np.isfinite(points).all(axis=1)]
    return bool(len(known)) and bool((np.abs(known) <= (180.0, 90.0)).all())


def _visits(out: Path, visits: str, events: Path, found: Understood) -> Iterator[Guess]:
    yield Guess("visits", _pattern(visits, out), _kind(found))
    usual = _usual(found.times)
    for role, key in (("user", "visit_user"), ("time", "visit_time"), ("tower", "visit_tower")):
        forms: dict[str, Mapping[Any, int]] = {"user": found.identifiers, "time": found.times}
        yield Guess(key, found.roles.get(role), _usual(forms.get(role, {})) or "identifiers of antennas")
    if "date" in found.roles and usual == "time of day":
        yield Guess("visit_date", found.roles["date"], "the day stands in a column of its own")
    if (usual == "without a zone" and HIVE in visits) or _is_int96(events, found.roles.get("time")):
        yield Guess("visit_timezone", "UTC", "times carry no zone, and Spark, which writes such files, means UTC")


def _usual(forms: Mapping[Any, int]) -> str:
    """The form that most records have: a form that one of them has would tell of that one."""
    known = {form: number for form, number in forms.items() if form != "missing"}
    return str(max(known, key=known.__getitem__)) if known else ""


def _kind(found: Understood) -> str:
    text = f"{found.kind}{f' ({found.compression})' if found.compression else ''}"
    return f"{text}, delimiter {found.delimiter!r}" if found.delimiter else text


def _is_int96(file: Path, column: str | None) -> bool:
    """Whether a column is of the type in which Spark keeps times, without saying that they are UTC."""
    if column is None or not is_parquet(file):
        return False
    schema = pq.ParquetFile(file).schema
    types = {schema.column(number).path: schema.column(number).physical_type for number in range(len(schema))}
    return types.get(column) == "INT96"


def _first_week(visits: str) -> str | None:
    """The Monday of the earliest week or day among the paths that a pattern names; contents are not looked at."""
    parts = PLACEHOLDER.split(visits)
    wild = [re.escape(part).replace(r"\*", "[^/]*") if n % 2 == 0 else part for n, part in enumerate(parts)]
    seen: set[str] = set()
    for number, part in enumerate(wild):
        if number % 2:
            wild[number] = f"(?P={part})" if part in seen else IN_PATHS[part]
            seen.add(part)
    days = [
        day
        for name in glob.glob(PLACEHOLDER.sub("*", visits), recursive=True)
        if (named := re.fullmatch("".join(wild).replace("[^/]*[^/]*", ".*"), name)) and (day := _day(named.groupdict()))
    ]
    first = min(days, default=None)
    return str(first - timedelta(days=first.weekday())) if first else None


def _day(named: Mapping[str, str]) -> date | None:
    try:
        if "week" in named:
            return date.fromisoformat(named["week"])
        return date(int(named["year"]), int(named["month"]), int(named.get("day", 1)))
    except (ValueError, KeyError):
        return None


def _zone(areas: Any) -> str | None:
    degrees = areas if areas.crs is None else areas.to_crs(DEGREES)
    west, south, east, north = degrees.total_bounds
    if not _are_degrees(np.array([[west, south], [east, north]])):
        return None
    return nearest_zone((south + north) / 2, (west + east) / 2)


def _first(columns: Sequence[str], usual: Sequence[str]) -> str | None:
    """The column with the first of the usual names, else the first column."""
    return _named(columns, usual) or next(iter(columns), None)


def _named(columns: Sequence[str], usual: Sequence[str]) -> str | None:
    by_lower = {name.lower(): name for name in reversed(columns)}
    return next((by_lower[name.lower()] for name in usual if name.lower() in by_lower), None)


def _path(path: Path, out: Path) -> str:
    """As the settings file writes it: from its folder on, if it lies below, else whole."""
    whole, folder = Path(os.path.abspath(path)), Path(os.path.abspath(out)).parent
    return whole.relative_to(folder).as_posix() if whole.is_relative_to(folder) else str(whole)


def _pattern(visits: str, out: Path) -> str:
    return visits if "://" in visits else _path(Path(visits), out)


def _value(line: Guess) -> str:
    text = line.value or ""
    return text if line.key in BARE else json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _plain(text: str) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in text)
