"""A first settings file, guessed from names, headers and public tables of the files that a person gives.

Every guess is a line with its reason, for a person to confirm. What a release promises, how much one person may count,
what a year may cost and how many people there are is nobody's guess: it is decided, or a public figure. Of records only
the form is looked at (header, types of columns, whether times carry a zone): no value of a record is written down. The
time zone is that of the nearest town that the zone database names.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from shlex import quote
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from density_assets.cli.first_visits import (
    Beginning,
    Guess,
    first_of,
    first_week_in,
    guessed_visits,
    path_from,
    sample_of,
)
from density_assets.errors import BadInput, nearest
from density_assets.geography.cells import DEGREES, read_frame
from density_assets.geography.lists import public_files, read_whole_file
from density_assets.records.description import USUAL, bare, named_as
from density_assets.settings.city import CITY_NAME, CitySettings


def nearest_zone(latitude: float, longitude: float) -> str:
    """The zone whose town is nearest, by degrees."""
    towns, names = _towns()
    here, there = np.radians([latitude, longitude]), np.radians(towns)
    # The larger the cosine of the angle between two places, the nearer they are.
    along = np.cos(there[:, 0]) * np.cos(here[0]) * np.cos(there[:, 1] - here[1])
    return names[int(np.argmax(np.sin(there[:, 0]) * np.sin(here[0]) + along))]


@cache
def _towns() -> tuple[list[tuple[float, ...]], list[str]]:
    """Latitude and longitude of the town of every zone, and its name."""
    text = (files("tzdata") / "zoneinfo" / "zone1970.tab").read_text(encoding="utf-8")
    lines = [line.split("\t") for line in text.splitlines() if not line.startswith("#")]
    return [tuple(map(_degrees, re.findall(r"[+-]\d+", line[1]))) for line in lines], [line[2] for line in lines]


def _degrees(text: str) -> float:
    """Degrees from ISO 6709: `+4852`, `-0740023` with minutes and perhaps seconds."""
    sign, digits = text[0], text[1:]
    whole = 2 if len(digits) in (4, 6) else 3
    minutes, seconds = (int(digits[start : start + 2] or 0) for start in (whole, whole + 2))
    return (-1 if sign == "-" else 1) * (int(digits[:whole]) + minutes / 60 + seconds / 3600)


IDENTIFIERS = (
    *("cell_id", "grid_id", "zone_id", "zone", "code", "dcomiris", "code_iris", "insee", "codgeo"),
    *("plz", "ags", "kennung", "codigo", "cusec", "id", "name"),
)
PAIRS = (
    *(("lon", "lat"), ("longitude", "latitude"), ("lng", "lat"), ("x", "y"), ("easting", "northing")),
    *(("länge", "breite"), ("laenge", "breite"), ("längengrad", "breitengrad"), ("laengengrad", "breitengrad")),
    *(("rechtswert", "hochwert"), ("ostwert", "nordwert"), ("longitud", "latitud"), ("coord_x", "coord_y")),
)
STARTS = ("valid_date_start", "valid_from", "start_date", "gültig_ab", "gueltig_ab", "date_debut", "fecha_inicio")
ENDS = ("valid_date_end", "valid_to", "end_date", "gültig_bis", "gueltig_bis", "date_fin", "fecha_fin")
BARE = ("first_week", "last_week", "population", "users", "seed", "visit_where")  # keys whose values are no text


def guesses(out: Path, beginning: Beginning) -> Iterator[Guess]:
    """All lines of [city], in the order of the file."""
    areas = (
        None
        if beginning.areas is None
        else read_frame(beginning.areas, None, "cells" if beginning.cells else "boundary")
    )
    rows, visits = antennas(beginning.towers), beginning.visits
    found = None if visits is None else sample_of(visits)
    yield Guess("name", _name(out), "folder of the city under DENSITY_HOME")
    yield from _grid(out, beginning) if beginning.grid else _cells(out, beginning, areas)
    yield from _system(areas)
    yield from _towers(out, beginning.towers, rows, areas, None if found is None else found.roles.get("tower"))
    if visits is not None and found is not None:
        yield from guessed_visits(out, visits, found)
        yield Guess("first_week", first_week_in(visits), "the Monday of the earliest week that a path names")
    else:
        users = None if beginning.users is None else str(beginning.users)
        yield Guess("users", users, "people to simulate: nobody's records are read")
    yield Guess(
        "timezone",
        _zone(areas, rows),
        "the zone of the nearest town, be it across a border: look; weeks run on its clocks",
    )


def with_answers(guessed: Sequence[Guess], answers: Mapping[str, str]) -> list[Guess]:
    """The guesses, with what a person says in place of some."""
    for key in answers:
        if key not in CitySettings.model_fields:
            raise BadInput(f"--set must name a key of [city], got {key!r}{nearest(key, CitySettings.model_fields)}")
    lines = [Guess(guess.key, answers[guess.key], "given") if guess.key in answers else guess for guess in guessed]
    named = {guess.key for guess in guessed}
    return [*lines, *(Guess(key, value, "given") for key, value in answers.items() if key not in named)]


def settings_text(lines: Sequence[Guess], file: str, columns: Callable[[], str] = str) -> str:
    """The settings file; raises for a line that nobody could fill in.

    columns: says then which there are; files are looked at again for it.
    """
    if missing := [line.key for line in lines if not line.value]:
        raise BadInput(
            f"{' and '.join(missing)} of [city] could not be guessed: give "
            f"{' '.join(f'--set {key}=…' for key in missing)}{columns()}"
        )
    city = "\n".join(f"{line.key} = {_value(line)}  # {_plain(line.why)}" for line in lines)
    these = f"--settings {quote(file)}"
    return f"""# Guessed by `density init` from names, headers and public tables: look at every line, then at
# `density check {these}`, which says what your files are taken for.

[city]
{city}
# population = …  how many people the records are of: inhabitants times your market share, by public figures, never
#                 counted from records. `density check` and `density plan` foresee errors by it

[privacy]
# What a release promises and what a year may cost is decided by people, before any record is counted:
# `density plan {these}` says which errors to expect at which promise. The defaults:
# epsilon = 0.3
# delta = 1e-7
# visits_per_user = 30
# budget_epsilon = 3.0
# budget_delta = 1e-7

[operator]
# name = "…"    who schedules act for, and why; recorded and published
# reason = "…"
"""


def _name(out: Path) -> str | None:
    name = re.sub(r"[^a-z0-9_-]+", "-", out.stem.lower()).strip("-_")
    return name if CITY_NAME.fullmatch(name) and name != "embedded" else None


def _grid(out: Path, beginning: Beginning) -> Iterator[Guess]:
    yield Guess(
        "grid", beginning.grid, f"its cells {'within the boundary' if beginning.boundary else 'around the antennas'}"
    )
    if beginning.boundary is not None:
        yield Guess("boundary", path_from(beginning.boundary, out), "given")


def _cells(out: Path, beginning: Beginning, areas: Any) -> Iterator[Guess]:
    assert beginning.cells is not None  # there is no grid
    yield Guess("cells", path_from(beginning.cells, out), f"{len(areas):,} areas")
    columns = [name for name in areas.columns if name != areas.geometry.name]
    unique = [name for name in columns if areas[name].notna().all() and areas[name].is_unique]
    yield Guess("cell_id", first_of(unique, IDENTIFIERS), "a value of its own for every area")


def _system(areas: Any) -> Iterator[Guess]:
    """The coordinate system of a file that carries none."""
    if areas is not None and areas.crs is None:
        degrees = _are_degrees(np.asarray(areas.total_bounds).reshape(2, 2))
        why = "the file does not say; its coordinates look like degrees"
        yield Guess("cells_crs", DEGREES if degrees else None, why)


def _towers(out: Path, towers: Path, rows: pl.DataFrame, areas: Any, of_records: str | None) -> Iterator[Guess]:
    yield Guess("towers", path_from(towers, out), f"{len(rows):,} rows")
    seen = [name for name in (of_records, *USUAL["tower"], *IDENTIFIERS) if name]
    plain = [name for name in rows.columns if rows[name].null_count() == 0]
    yield Guess("tower_id", first_of(plain, seen), "names an antenna as records do")
    x, y = _pair(rows.columns)
    yield Guess("tower_x", x, "longitude, or metres to the east")
    yield Guess("tower_y", y, "latitude, or metres to the north")
    yield Guess("tower_crs", *_crs(rows, x, y, areas))
    for key, usual in (("tower_valid_from", STARTS), ("tower_valid_to", ENDS)):
        if name := named_as(rows.columns, usual):
            yield Guess(key, name, "from when to when a row of the list holds")


def antennas(towers: Path) -> pl.DataFrame:
    """The last of the files that the list is made of."""
    return read_whole_file(public_files(towers)[-1], "towers")


def _pair(columns: Sequence[str]) -> tuple[str | None, str | None]:
    named = {bare(name): name for name in columns}
    pairs = ((named.get(bare(x)), named.get(bare(y))) for x, y in PAIRS)
    return next(((x, y) for x, y in pairs if x and y), (None, None))


def _crs(rows: pl.DataFrame, x: str | None, y: str | None, areas: Any) -> tuple[str | None, str]:
    """The coordinate system of the antennas: degrees, or that of the cells if some antenna then lies among them."""
    if x is None or y is None:
        return None, "of the coordinates"
    points = _points(rows, x, y)
    if _are_degrees(points):
        return DEGREES, "the coordinates look like degrees"
    if areas is not None and areas.crs is not None:
        west, south, east, north = areas.total_bounds
        inside = (points >= (west, south)).all(axis=1) & (points <= (east, north)).all(axis=1)
        if inside.any():
            return areas.crs.to_string(), f"that of the cells: {int(inside.sum()):,} of {len(points):,} lie among them"
    return None, "of the coordinates"


def _points(rows: pl.DataFrame, x: str, y: str) -> NDArray[np.float64]:
    return np.column_stack([_numbers(rows[name]) for name in (x, y)])


def _numbers(values: pl.Series) -> NDArray[np.float64]:
    text = values.cast(pl.String).str.replace(",", ".", literal=True)
    return text.cast(pl.Float64, strict=False).to_numpy().astype(np.float64)


def _are_degrees(points: NDArray[np.float64]) -> bool:
    known = points[np.isfinite(points).all(axis=1)]
    return bool(len(known)) and bool((np.abs(known) <= (180.0, 90.0)).all())


def _zone(areas: Any, rows: pl.DataFrame) -> str | None:
    """That of the middle of the areas; without any, of the antennas, some of which may stand at 0, 0."""
    if areas is None:
        x, y = _pair(rows.columns)
        points = _points(rows, x, y) if x and y else np.empty((0, 2))
        middle = np.nanmedian(points, axis=0) if _are_degrees(points) else None
    else:
        corners = np.asarray((areas if areas.crs is None else areas.to_crs(DEGREES)).total_bounds).reshape(2, 2)
        middle = corners.mean(axis=0) if _are_degrees(corners) else None
    return None if middle is None else nearest_zone(middle[1], middle[0])


def _value(line: Guess) -> str:
    text = line.value or ""
    return text if line.key in BARE else json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _plain(text: str) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in text)
