"""Which places lie side by side: their Voronoi cells share a border."""

import numpy as np
import shapely
from numpy.typing import NDArray

from density_assets.errors import BadInput
from density_assets.geography.overlaps import tower_cells

Neighbours = tuple[frozenset[int], ...]
MARGIN = 0.1  # of the width of the map, beyond the outermost places


def neighbouring_places(positions: NDArray[np.float64]) -> Neighbours:
    """The neighbours of each place, on the map that the places divide among themselves."""
    if len(np.unique(positions, axis=0)) < len(positions):
        raise BadInput("places must have different positions to have cells of their own; merge those that coincide")
    margin = MARGIN * max(float(np.ptp(positions, axis=0).max()), 1.0)
    area = shapely.box(*(positions.min(axis=0) - margin), *(positions.max(axis=0) + margin))
    cells = tower_cells(positions, area)
    one, other = shapely.STRtree(cells).query(cells, predicate="intersects")
    border = shapely.length(shapely.intersection(cells[one], cells[other]))
    side_by_side = (one != other) & (border > margin * 1e-6)  # cells that meet at a corner are not neighbours
    return tuple(frozenset(other[side_by_side & (one == place)].tolist()) for place in range(len(positions)))
