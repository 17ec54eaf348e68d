"""Footprints: in which areas devices are that an antenna sees, as a table of probabilities instead of Voronoi cells.

A row says of an antenna and a cell how likely a device at the antenna is in the cell. Rows of cells that are not the
city's are dropped before anything is normalised: what is left of an antenna is scaled to a sum of one, and a site
gives the mean of its antennas that have any. So every site gives each visit away exactly once, as areas of overlap do,
and all that is proved of one person's part in the counts holds as before: a mean of distributions is a distribution.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from density_assets.errors import BadInput, some
from density_assets.geography.lists import numbers, read_list
from density_assets.geography.overlaps import Overlaps
from density_assets.geography.tables import antennas_inside

LEAST_MASS = 1e-9  # of an antenna within the city; with less, what is left is rounding
ROUNDING = 1e-6  # by which a probability may be above one

Positions = NDArray[np.int64]


@dataclass(frozen=True)
class Footprints:
    """What a table of footprints says of a city.

    pieces: the shares, by site and cell. outside: mean part of the antennas' mass that fell in no cell of the city.
    unknown: antennas of the table that are not in the city's list.
    """

    pieces: Overlaps
    outside: float
    unknown: int


def read_footprints(
    path: Path, *, tower: str, cell: str, share: str, antennas: pl.DataFrame, cell_ids: list[str]
) -> Footprints:
    """Read the table and make it the shares of sites.

    tower, cell, share: columns of the antenna's identifier, the cell's and the probability.
    antennas: identifier and site of every antenna in the city.
    """
    antennas = antennas_inside(antennas)
    rows = read_list(path, {"antenna": tower, "cell": cell, "share": share}, "footprints")
    shares = _probabilities(rows["share"], path, share)
    antenna = _places(_texts(rows["antenna"], path, tower), antennas["antenna_id"])
    place = _places(_texts(rows["cell"], path, cell), pl.Series(cell_ids))
    listed, in_city = antenna >= 0, place >= 0
    whole = np.bincount(antenna[listed], shares[listed], minlength=len(antennas))
    used = np.flatnonzero(listed & in_city & (shares > 0))
    if len(used) == 0:
        raise BadInput(
            f"{path.name}: some footprint must lie in the city, but none of {len(rows):,} rows names an antenna of the "
            f"list in {tower!r} and a cell of the city in {cell!r}, such as {cell_ids[0]!r}"
        )
    sites = antennas["site"].to_numpy()
    pieces = _of_sites(antenna[used], place[used], shares[used], sites, len(cell_ids))
    _refuse_sites_without(pieces, antennas, path)
    inside = np.bincount(antenna[used], shares[used], minlength=len(antennas))
    seen = whole > 0
    unknown = rows["antenna"].filter(pl.Series(~listed)).n_unique()
    return Footprints(pieces, float(np.mean(1 - inside[seen] / whole[seen])), unknown)


def _of_sites(
    antenna: Positions, cell: Positions, shares: NDArray[np.float64], sites: Positions, cells: int
) -> Overlaps:
    """Shares by site and cell, each site's summing to one; rows of one antenna and cell add up."""
    mass = np.bincount(antenna, shares, minlength=len(sites))
    counts = mass > LEAST_MASS
    antennas_of = np.bincount(sites[counts], minlength=int(sites.max()) + 1)
    counted = np.flatnonzero(counts[antenna])
    site = sites[antenna[counted]]
    part = shares[counted] / mass[antenna[counted]] / antennas_of[site]
    pairs, which = np.unique(site * cells + cell[counted], return_inverse=True)
    towers = len(antennas_of)
    return Overlaps(
        tower=(pairs // cells).astype(np.int32),
        cell=(pairs % cells).astype(np.int32),
        area=np.bincount(which, part, minlength=len(pairs)).astype(np.float64),
        towers=towers,
        cells=cells,
        footprints=True,
    )


def _refuse_sites_without(pieces: Overlaps, antennas: pl.DataFrame, path: Path) -> None:
    """The visits of a site without a footprint would vanish from every series."""
    lost = np.setdiff1d(np.arange(pieces.towers), pieces.tower)
    if len(lost):
        named = antennas.filter(pl.col("site").is_in(lost.tolist()))["antenna_id"]
        raise BadInput(
            f"{path.name}: every site in the city must have an antenna whose footprint reaches a cell of the city, "
            f"found {len(lost):,} of {pieces.towers:,} without (antennas {some(named)}): add their rows, or take them "
            "off the list of towers"
        )


def _probabilities(values: pl.Series, path: Path, column: str) -> NDArray[np.float64]:
    shares = numbers(values, path, column, "probabilities")
    odd = shares[(shares < 0) | (shares > 1 + ROUNDING)]
    if len(odd):
        raise BadInput(
            f"{path.name}: probabilities in {column!r} must lie between 0 and 1, found {len(odd):,} that do not: "
            f"{some(odd.tolist())}"
        )
    return shares


def _texts(values: pl.Series, path: Path, column: str) -> pl.Series:
    """Identifiers as text; whole numbers are often stored as floats."""
    if values.dtype.is_float():
        whole = values.cast(pl.Int64, strict=False)
        values = whole if whole.cast(values.dtype).equals(values) else values
    if not (values.dtype.is_integer() or values.dtype in (pl.String, pl.Categorical, pl.Enum)):
        raise BadInput(f"{path.name}: ids in {column!r} must be text or whole numbers, found {values.dtype}")
    return values.cast(pl.String)


def _places(wanted: pl.Series, among: pl.Series) -> NDArray[np.int64]:
    """The position of each value in a list, -1 if it is not there."""
    listed = pl.DataFrame({"id": among.cast(pl.String), "place": np.arange(len(among))})
    found = pl.DataFrame({"id": wanted}).join(listed, on="id", how="left", maintain_order="left")
    return found["place"].fill_null(-1).to_numpy()
