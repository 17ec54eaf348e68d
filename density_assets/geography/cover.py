"""The minimum cover: the fewest tower cells and cells whose union still covers every overlap.

Fewer cells mean larger counts under the same noise. Only public geometry is read, so the choice costs no
privacy (Acs & Castelluccia 2014, §5.2).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import breadth_first_order, maximum_bipartite_matching

from density_assets.geography.overlaps import Overlaps

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
