"""Traces of taxis, one position per line: `id,datetime,lon,lat` (T-Drive; Yuan et al. 2010, 2011).

Positions are laid on a grid of 500 m and 30 minutes, one cell per (id, stamp): the last position of the half hour.
Where a taxi was not seen it stays where it was last; before its first position of the day it is where that will be.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from density_assets.errors import BadInput

SIDE = 500.0  # metres
MINUTES = 30
STAMPS = 24 * 60 // MINUTES
METRES_PER_DEGREE = 111_320.0  # of latitude; of longitude, times the cosine of the latitude
BEIJING = (116.15, 39.75, 116.66, 40.10)  # west, south, east, north: about 87 x 78 cells


@dataclass(frozen=True)
class Traces:
    """Taxis of some days.

    xy: centres of the cells, in metres.
    cells: (days, taxis, stamps); taxis not seen on a day have -1 all day.
    left_out: lines that could not be used.
    """

    xy: NDArray[np.float64]
    cells: NDArray[np.int32]
    days: tuple[date, ...]
    left_out: int


@dataclass(frozen=True)
class Grid:
    """Cells of equal size over a box of degrees."""

    west: float
    south: float
    columns: int
    rows: int
    metres: tuple[float, float]  # per degree, east and north

    def cell(self, lon: float, lat: float) -> int | None:
        """The cell of a position; none outside."""
        column = int((lon - self.west) * self.metres[0] // SIDE)
        row = int((lat - self.south) * self.metres[1] // SIDE)
        return row * self.columns + column if 0 <= column < self.columns and 0 <= row < self.rows else None

    @property
    def centres(self) -> NDArray[np.float64]:
        """Of all cells, in metres."""
        x, y = np.meshgrid(np.arange(self.columns), np.arange(self.rows))
        return np.asarray((np.column_stack([x.ravel(), y.ravel()]) + 0.5) * SIDE, dtype=np.float64)


def grid_over(box: tuple[float, float, float, float]) -> Grid:
    """The grid of a box given as west, south, east, north."""
    west, south, east, north = box
    metres = (METRES_PER_DEGREE * float(np.cos(np.radians((south + north) / 2))), METRES_PER_DEGREE)
    columns, rows = np.ceil([(east - west) * metres[0] / SIDE, (north - south) * metres[1] / SIDE]).astype(int)
    return Grid(west, south, int(columns), int(rows), metres)


def read_traces(path: Path, box: tuple[float, float, float, float] = BEIJING) -> Traces:
    """Read one file or a folder of files; lines that cannot be used are counted and left out."""
    where, seen, left_out = grid_over(box), {}, 0  # type: Grid, dict[tuple[str, date, int], tuple[datetime, int]], int
    for line in _lines(path):
        try:
            name, moment, cell = _parsed(line, where)
        except ValueError:
            left_out += 1
            continue
        key = (name, moment.date(), (moment.hour * 60 + moment.minute) // MINUTES)
        if key not in seen or seen[key][0] <= moment:
            seen[key] = (moment, cell)
    if not seen:
        raise BadInput(f"traces must have lines `id,datetime,lon,lat` inside the box {box}, found none in {path}")
    return _laid_out(where, {key: cell for key, (_, cell) in seen.items()}, left_out)


def _lines(path: Path) -> Iterator[str]:
    if not path.exists():
        raise BadInput(f"traces must be a file or a folder of files: {path} does not exist")
    for file in sorted(path.rglob("*.txt")) or sorted(path.rglob("*.csv")) if path.is_dir() else [path]:
        with file.open(encoding="utf-8", errors="replace") as text:
            yield from (line for line in map(str.strip, text) if line)


def _parsed(line: str, where: Grid) -> tuple[str, datetime, int]:
    name, moment, lon, lat = line.split(",")
    cell = where.cell(float(lon), float(lat))
    if cell is None:
        raise ValueError("outside the box")
    return name, datetime.fromisoformat(moment), cell


def _laid_out(where: Grid, seen: dict[tuple[str, date, int], int], left_out: int) -> Traces:
    names, days = sorted({name for name, _, _ in seen}), sorted({day for _, day, _ in seen})
    row_of, day_of = {name: row for row, name in enumerate(names)}, {day: at for at, day in enumerate(days)}
    cells = np.full((len(days), len(names), STAMPS), -1, dtype=np.int32)
    for (name, day, stamp), cell in seen.items():
        cells[day_of[day], row_of[name], stamp] = cell
    return Traces(where.centres, _carried(cells), tuple(days), left_out)


def _carried(cells: NDArray[np.int32]) -> NDArray[np.int32]:
    """Gaps filled by the last cell before them, or the first after them."""
    known = cells >= 0
    latest = np.maximum.accumulate(np.where(known, np.arange(cells.shape[2]), -1), axis=2)
    first = np.argmax(known, axis=2)[..., None]
    return np.take_along_axis(cells, np.where(latest >= 0, latest, first), axis=2)
