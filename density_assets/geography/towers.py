"""Read the tower sites of a city from an antenna list: CSV or Parquet, one file or many.

Several antennas on one point are one site: visits are counted per site, or a phone that hops between two antennas of
one mast would be counted twice. There is one geography for all weeks of a city. Every antenna counts that is valid on a
day from its first week on; an antenna that moved stands where its newest row says, in all weeks, and is reported as
moved. An end counts as valid.
"""

from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import shapely
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from density_assets.errors import BadInput, some
from density_assets.geography.cells import transformer
from density_assets.geography.cells_and_towers import Cells, Towers
from density_assets.geography.lists import numbers, read_list, refuse_unprintable

FROM, TO = "valid_from", "valid_to"  # roles of the columns
ALWAYS = date(1, 1, 1)


def still_valid(rows: pl.DataFrame, since: date, path: Path, names: dict[str, str]) -> pl.DataFrame:
    """The rows that hold on some day from `since` on, with the days read; an empty bound is none.

    names: what the columns are called, by role.
    """
    days = rows.with_columns(_days(rows[role], path, names[role]) for role in (FROM, TO) if role in names)
    return days.filter(pl.col(TO).is_null() | (pl.col(TO) >= since)) if TO in names else days


def newest(rows: pl.DataFrame, ids: NDArray[Any]) -> NDArray[np.bool_]:
    """Which rows are the newest of their antenna: no other of its rows holds from a later day."""
    start = rows[FROM].fill_null(ALWAYS).cast(pl.Int32) if FROM in rows.columns else pl.repeat(0, len(rows), eager=True)
    _, which = np.unique(ids, return_inverse=True)
    latest = np.full(which.max() + 1, np.iinfo(np.int32).min, dtype=np.int64)
    np.maximum.at(latest, which, start.to_numpy())
    return np.asarray(start.to_numpy() == latest[which])


def _days(values: pl.Series, path: Path, column: str) -> pl.Series:
    """A column of days: dates, times, or text that starts with a day such as 2023-01-02 or 20230102."""
    if values.dtype == pl.Date or isinstance(values.dtype, pl.Datetime):
        return values.cast(pl.Date)
    if not (values.dtype == pl.String or values.dtype.is_integer() or values.dtype == pl.Null):
        raise BadInput(f"{path.name}: days in {column!r} must be dates, times or text, found {values.dtype}")
    text = values.cast(pl.String).str.strip_chars()
    text = text.set(text == "", None)
    dashed, plain = (
        text.str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False),
        text.str.to_date("%Y%m%d", strict=False),
    )
    found = pl.select(pl.coalesce(dashed, plain)).to_series()
    bad = text.filter(text.is_not_null() & found.is_null())
    if len(bad):
        raise BadInput(
            f"{path.name}: days in {column!r} must start as 2023-01-02 or 20230102 do, or be empty, "
            f"found {len(bad)} others: {some(map(repr, bad.to_list()))}"
        )
    return found


# Coordinates are rounded and projected on their way here; nearer than this is the same place.
SAME_PLACE_M = 0.01
# Stands for the infinity a projection returns where it is not defined: finite, and far from any city.
NOWHERE_M = 1e15


def read_towers(
    path: Path,
    *,
    tower_id: str | None,
    x: str,
    y: str,
    crs: str,
    cells: Cells,
    valid_from: str | None = None,
    valid_to: str | None = None,
    since: date = date.min,
) -> Towers:
    """Read the antennas, merge those on one point, drop those outside the city.

    path: a file, a folder of Parquet, or a pattern of files.
    tower_id: the column of the identifier that visit records carry; without it the sites inside the city
        are numbered from 1 in order of first appearance. Whole numbers are integers, all else is text
        (a CSV column with a leading zero anywhere is text).
    x, y: the columns of the coordinates (longitude and latitude, or metres), in the system `crs`.
    valid_from, valid_to: the columns of the days between which a row holds; rows that ended before `since` are left
        out, and of an antenna that moved the newest row counts.
    """
    roles = {"tower_id": tower_id, "x": x, "y": y, FROM: valid_from, TO: valid_to}
    columns = {role: column for role, column in roles.items() if column is not None}
    listed = read_list(path, columns, "towers")
    rows = still_valid(listed, since, path, columns)
    if len(rows) == 0:
        raise BadInput(
            f"{path.name}: some tower must be valid on {since} or later, found none of {len(listed)} that is"
        )
    raw = _points(rows, path, x, y)
    xy = _projected(raw, crs, cells.crs, path)
    place = _places(xy)
    moved = 0
    if tower_id is None:
        ids, antennas = None, np.arange(len(rows))
    else:
        ids = _identifiers(rows["tower_id"], path, tower_id)
        latest = np.flatnonzero(newest(rows, ids))
        moved = _moved(ids, place)
        antennas = latest[_first_rows(ids[latest], place[latest], path, tower_id)]
    there = _inside(xy[antennas], cells)
    inside, beyond = antennas[there], antennas[~there]
    if len(inside) == 0:
        raise _all_outside(raw, xy, crs, cells, path)
    sites = _sites(ids, xy, place, inside, outside=len(beyond))
    named = () if ids is None else tuple(ids[beyond].tolist())
    repeated, expired = len(rows) - len(antennas), len(listed) - len(rows)
    return replace(sites, beyond=named, repeated=repeated, moved=moved, expired=expired)


def listed_points(path: Path, x: str, y: str) -> NDArray[np.float64]:
    """All points of an antenna list, as they stand there."""
    return _points(read_list(path, {"x": x, "y": y}, "towers"), path, x, y)


def _points(rows: pl.DataFrame, path: Path, x: str, y: str) -> NDArray[np.float64]:
    return np.column_stack([numbers(rows[role], path, name, "coordinates") for role, name in (("x", x), ("y", y))])


def _projected(raw: NDArray[np.float64], crs: str, metric: str, path: Path) -> NDArray[np.float64]:
    """The points in the metric system of the cells."""
    change = transformer(crs, metric, path, "the crs of the towers")
    xy = np.column_stack(change.transform(raw[:, 0], raw[:, 1]))
    return np.where(np.abs(xy) < NOWHERE_M, xy, NOWHERE_M)


def _places(xy: NDArray[np.float64]) -> NDArray[np.int64]:
    """A number for each point, equal for points no more than SAME_PLACE_M apart."""
    # Exact repeats go first: a mast with many antennas would otherwise give a quadratic number of pairs.
    points, repeat = np.unique(xy, axis=0, return_inverse=True)
    pairs = cKDTree(points).query_pairs(SAME_PLACE_M, output_type="ndarray")
    near = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(len(points), len(points)))
    _, place = connected_components(near, directed=False)
    return np.asarray(place[repeat], dtype=np.int64)


def _identifiers(values: pl.Series, path: Path, column: str) -> NDArray[Any]:
    """The identifiers: an array of integers if all are whole numbers, else an object array of text."""
    textual = values.dtype in (pl.String, pl.Categorical, pl.Enum)
    known = values.cast(pl.String).replace("", None) if textual else values
    known = known.fill_nan(None) if known.dtype.is_float() else known
    missing = np.flatnonzero(known.is_null().to_numpy())
    if len(missing):
        raise BadInput(
            f"{path.name}: every tower must have an id in {column!r}, "
            f"found {len(missing)} without (rows {some(missing + 1)})"
        )
    if textual or known.dtype.is_numeric():
        whole = known.cast(pl.Int64, strict=False)
        # There and back: "007" stays text, for it may not be the same antenna as "7".
        if whole.cast(known.dtype, strict=False).equals(known):
            return whole.to_numpy()
    if textual:
        refuse_unprintable(known.to_list(), path, column)
        return np.array(known.to_list(), dtype=object)
    raise BadInput(
        f"{path.name}: ids in {column!r} must be text or whole numbers below 2^63, "
        f"got {known.dtype} such as {some(known.head(3).to_list())}"
    )


def _moved(ids: NDArray[Any], place: NDArray[np.int64]) -> int:
    """How many antennas are listed at more than one place."""
    pairs = np.unique(np.column_stack([np.unique(ids, return_inverse=True)[1], place]), axis=0)
    return int(np.sum(np.unique(pairs[:, 0], return_counts=True)[1] > 1))


def _first_rows(ids: NDArray[Any], place: NDArray[np.int64], path: Path, column: str) -> NDArray[np.int64]:
    """The row where each id first appears; wherever it appears again it must be at the same place."""
    _, first, which = np.unique(ids, return_index=True, return_inverse=True)
    moved = ids[place != place[first][which]]
    if len(moved):
        split = list(dict.fromkeys(moved.tolist()))
        raise BadInput(
            f"{path.name}: an id in {column!r} must be at one point, "
            f"found {len(split)} at points more than {SAME_PLACE_M * 100:g} cm apart: {some(split)}"
        )
    return np.sort(first)


def _inside(xy: NDArray[np.float64], cells: Cells) -> NDArray[np.bool_]:
    """Which points are in the city or on its border."""
    shapely.prepare(cells.city)
    # By distance, since a point meant to be on a slanted border is on it only up to rounding.
    return np.asarray(shapely.dwithin(cells.city, shapely.points(xy), SAME_PLACE_M), dtype=bool)


def _sites(
    ids: NDArray[Any] | None,
    xy: NDArray[np.float64],
    place: NDArray[np.int64],
    antennas: NDArray[np.int64],
    outside: int,
) -> Towers:
    """One site per place, in order of first appearance; its id and point are those of its first antenna.

    antennas: the rows to use, in order.
    """
    _, first, which = np.unique(place[antennas], return_index=True, return_inverse=True)
    position = np.argsort(np.argsort(first))[which]
    site_rows = antennas[np.sort(first)]
    site_ids = np.arange(1, len(site_rows) + 1) if ids is None else ids[site_rows]
    names, sites = (site_ids, np.arange(len(site_rows))) if ids is None else (ids[antennas], position)
    return Towers(
        ids=site_ids,
        xy=xy[site_rows],
        antennas=dict(zip(names.tolist(), sites.tolist(), strict=True)),
        merged=len(antennas) - len(site_rows),
        outside=outside,
    )


def _all_outside(raw: NDArray[np.float64], xy: NDArray[np.float64], crs: str, cells: Cells, path: Path) -> BadInput:
    """The error for a list without a single antenna in the city."""
    reached = xy[(xy < NOWHERE_M).all(axis=1)]
    there = f"{_extent(reached)} in {cells.crs}" if len(reached) else f"nowhere in {cells.crs}"
    return BadInput(
        f"{path.name}: towers must lie in the city, found all {len(raw)} outside; "
        f"they span {_extent(raw)} in {crs}, that is {there}, "
        f"while the city spans {_extent(shapely.get_coordinates(cells.city))}; "
        f"check that {crs} is their coordinate system and that x and y are not exchanged"
    )


def _extent(xy: NDArray[np.float64]) -> str:
    """The bounding box of points, as text."""
    (left, bottom), (right, top) = xy.min(axis=0), xy.max(axis=0)
    return f"x {left:,.2f} to {right:,.2f} and y {bottom:,.2f} to {top:,.2f}"
