"""The places a scheme counts at (towers, cover cells or cells), and how their series become those of cells.

The minimum cover is the fewest tower cells and cells whose union still covers every overlap. Fewer cells mean larger
counts under the same noise. Only public geometry is read, so the choice costs no privacy (Acs & Castelluccia 2014,
§5.2).

Every piece (T, L) belongs to exactly one cover cell: to L if L is in the cover, else to T. The counts of the cover
therefore sum to the total, and one visit moves a mass of 1 among them as it does among towers. Acs & Castelluccia print
a reduction that subtracts X^L · share, which mixes in the visits of other towers; assigning pieces is what keeps the
identity

    from_cover @ to_cover = interpolation

without which back-mapping would be wrong even where no noise was added.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import shapely
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array, identity
from scipy.sparse.csgraph import breadth_first_order, maximum_bipartite_matching

from density_assets.geography.overlaps import Overlaps, interpolation

UNMATCHED = -1


@dataclass(frozen=True)
class Cover:
    """Positions of the tower cells and of the cells in the cover, each sorted.

    Cover cells are numbered towers first, then cells: that is the order of every series over the cover.
    """

    towers: NDArray[np.int64]
    cells: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.towers) + len(self.cells)


def minimum_cover(pieces: Overlaps) -> Cover:
    """A minimum vertex cover of the bipartite graph whose edges are the overlaps.

    By König's theorem it is as large as a maximum matching (Acs & Castelluccia 2014, Thm 5). A graph may have
    several minimum covers; the same overlaps always give the same one.
    """
    cell_of = _maximum_matching(pieces)
    reached = _alternating_reach(pieces, cell_of)
    in_reach, out_of_reach = np.flatnonzero(reached), np.flatnonzero(~reached)
    return Cover(
        towers=out_of_reach[out_of_reach < pieces.towers],
        cells=in_reach[in_reach >= pieces.towers] - pieces.towers,
    )


def _maximum_matching(pieces: Overlaps) -> NDArray[np.int64]:
    """The cell matched with each tower, or UNMATCHED (Hopcroft–Karp)."""
    edges = np.ones(len(pieces), dtype=np.int8)
    graph = csr_array((edges, (pieces.tower, pieces.cell)), shape=(pieces.towers, pieces.cells))
    return np.asarray(maximum_bipartite_matching(graph, perm_type="column"), dtype=np.int64)


def _alternating_reach(pieces: Overlaps, cell_of: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which vertices (towers, then cells) an alternating path joins to an unmatched tower.

    Such a path leaves a tower by any edge and a cell only by its matched edge, so it is a directed path in
    the graph built here. A source before all unmatched towers turns many searches into one.
    """
    matched = np.flatnonzero(cell_of != UNMATCHED)
    free = np.flatnonzero(cell_of == UNMATCHED)
    source = pieces.towers + pieces.cells
    tails = np.concatenate([pieces.tower, pieces.towers + cell_of[matched], np.full(len(free), source)])
    heads = np.concatenate([pieces.towers + pieces.cell.astype(np.int64), matched, free])
    arcs = coo_array((np.ones(len(tails)), (tails, heads)), shape=(source + 1, source + 1)).tocsr()
    visited = breadth_first_order(arcs, source, directed=True, return_predecessors=False)
    reached = np.zeros(source + 1, dtype=bool)
    reached[visited] = True
    return reached[:source]


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


Kind = Literal["towers", "cover", "cells"]
Matrix = Any  # scipy.sparse csr_array of float64; its stubs do not survive products


@dataclass(frozen=True)
class Places:
    """Public geography as schemes and post-processing use it.

    pieces, cover: overlaps of tower cells with cells, and the chosen cover.
    tower_xy: positions of the towers, in metres.
    tower_shapes, cell_shapes: polygons, in the order of the public lists.

    Cover and shapes of tower cells are absent where a scheme does not count at the cover: nothing can come of them.
    """

    pieces: Overlaps
    cover: Cover | None
    tower_xy: NDArray[np.float64]
    tower_shapes: NDArray[np.object_] | None
    cell_shapes: NDArray[np.object_]

    @property
    def chosen(self) -> Cover:
        """The cover."""
        if self.cover is None:
            raise ValueError("these places must have a cover, but they were read without: read those of the cover")
        return self.cover

    def from_towers(self, kind: Kind) -> Matrix:
        """The matrix that turns tower series into series of the places."""
        if kind == "towers":
            return csr_array(identity(self.pieces.towers))
        return interpolation(self.pieces) if kind == "cells" else to_cover(self.pieces, self.chosen)

    def to_cells(self, kind: Kind) -> Matrix:
        """The matrix that turns series of the places into series of the cells."""
        if kind == "cells":
            return csr_array(identity(self.pieces.cells))
        return interpolation(self.pieces) if kind == "towers" else from_cover(self.pieces, self.chosen)

    @cached_property
    def cover_shapes(self) -> NDArray[np.object_]:
        """What each cell of the cover counts: cells whole, tower cells without the cells of the cover."""
        assert self.tower_shapes is not None  # read with the cover
        cells = self.cell_shapes[self.chosen.cells]
        taken = shapely.union_all(cells) if len(cells) else shapely.Polygon()
        left = shapely.difference(self.tower_shapes[self.chosen.towers], taken)
        return np.concatenate([np.asarray(left, dtype=object), cells])

    def shapes(self, kind: Kind) -> NDArray[np.object_]:
        """The polygons of cells or of the cover, not overlapping each other."""
        return self.cell_shapes if kind == "cells" else self.cover_shapes

    def count(self, kind: Kind) -> int:
        """How many places there are."""
        sizes = {"towers": self.pieces.towers, "cells": self.pieces.cells}
        return sizes[kind] if kind != "cover" else len(self.chosen)
