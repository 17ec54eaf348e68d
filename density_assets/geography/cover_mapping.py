"""From tower series to cover series and from cover series to cell series.

Every piece (T, L) belongs to exactly one cover cell: to L if L is in the cover, else to T. The counts of the
cover therefore sum to the total, and one visit moves a mass of 1 among them as it does among towers.

Acs & Castelluccia (2014, §5.2) print a reduction that subtracts X^L · share, which mixes in the visits of
other towers; assigning pieces is what keeps the identity

    from_cover @ to_cover = interpolation

without which back-mapping would be wrong even where no noise was added.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from density_assets.geography.cover import Cover
from density_assets.geography.overlaps import Overlaps


def to_cover(pieces: Overlaps, cover: Cover) -> csr_array[np.float64, tuple[int, int]]:
    """The matrix of shape (cover cells, towers): cover series = to_cover @ tower series.

    Entries are shares of the tower; columns sum to 1.
    """
    owner = _owner(pieces, cover)
    return csr_array((pieces.share, (owner, pieces.tower)), shape=(len(cover), pieces.towers))


def from_cover(pieces: Overlaps, cover: Cover) -> csr_array[np.float64, tuple[int, int]]:
    """The matrix of shape (cells, cover cells): cell series = from_cover @ cover series.

    A cell in the cover keeps its own series; any other cell L gets from each overlapping tower T the share
    area(T ∩ L) / area(T minus the cells in the cover).
    """
    owner = _owner(pieces, cover)
    by_tower = owner < len(cover.towers)
    area, giver = pieces.area[by_tower], owner[by_tower]
    left_to_tower = np.bincount(giver, weights=area, minlength=len(cover.towers))
    own = np.arange(len(cover.towers), len(cover))
    shares = np.concatenate([area / left_to_tower[giver], np.ones(len(own))])
    takers = np.concatenate([pieces.cell[by_tower], cover.cells])
    return csr_array((shares, (takers, np.concatenate([giver, own]))), shape=(pieces.cells, len(cover)))


def _owner(pieces: Overlaps, cover: Cover) -> NDArray[np.int64]:
    """The cover cell each piece belongs to, as a row of the cover series."""
    tower_row = _rows(cover.towers, first=0, among=pieces.towers)
    cell_row = _rows(cover.cells, first=len(cover.towers), among=pieces.cells)
    owner = np.where(cell_row[pieces.cell] >= 0, cell_row[pieces.cell], tower_row[pieces.tower])
    if (owner < 0).any():
        raise ValueError(
            "a cover must hold the tower or the cell of every overlap, "
            f"got {np.count_nonzero(owner < 0)} of {len(owner)} overlaps with neither; "
            "use the cover of these same overlaps"
        )
    return owner


def _rows(members: NDArray[np.int64], first: int, among: int) -> NDArray[np.int64]:
    """The row of each position that is a member of the cover, -1 for the others."""
    rows = np.full(among, -1, dtype=np.int64)
    rows[members] = first + np.arange(len(members))
    return rows
