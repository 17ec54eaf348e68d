"""Tower cells, their overlaps with the city's cells, and the areal interpolation that the overlaps define.

A tower cell is the part of the city nearer to one tower than to any other (Acs & Castelluccia 2014, §5.2).
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray
from scipy.sparse import csr_array

from density_assets.errors import BadInput

POLYGON_DIMENSION = 2


def tower_cells(xy: NDArray[np.float64], city: Any) -> NDArray[np.object_]:
    """Voronoi cells of the points clipped to the city, in the order of the points.

    xy: distinct positions, shape (towers, 2), in the coordinate system of the city.
    city: polygon or multipolygon; a cell is a multipolygon where the city's border cuts it in pieces.
    """
    if len(xy) == 0:
        raise ValueError("a city needs at least one tower to be divided into tower cells, got none")
    diagram = shapely.voronoi_polygons(shapely.multipoints(xy), extend_to=city, ordered=True)
    return _clipped(shapely.get_parts(diagram), city)


def _clipped(polygons: NDArray[np.object_], city: Any) -> NDArray[np.object_]:
    """The polygons cut at the border of the city."""
    # Only cells at the border meet its thousands of vertices: on Paris 99 of 1,355.
    shapely.prepare(city)
    crossing = np.flatnonzero(~shapely.contains_properly(city, polygons))
    clipped = polygons.copy()
    clipped[crossing] = [_polygonal(part) for part in shapely.intersection(polygons[crossing], city)]
    return clipped


def _polygonal(geometry: Any) -> Any:
    """The geometry without the points and lines left where a cell only touches the city's border."""
    if geometry.geom_type != "GeometryCollection":
        return geometry
    parts = shapely.get_parts(geometry)
    return shapely.union_all(parts[shapely.get_dimensions(parts) == POLYGON_DIMENSION])


# Pieces this small come from rounding where borders almost coincide. They are dropped everywhere, cover
# included: a piece in one matrix and not in the other would break the identity of `cover_mapping`.
SLIVER_M2 = 1.0
NAMED_AT_MOST = 5


@dataclass(frozen=True)
class Overlaps:
    """Every piece (tower cell ∩ cell) larger than a sliver, sorted by tower, then cell.

    tower, cell: positions of the two sides of each piece.
    area: area of each piece in square metres; its share itself where footprints say it.
    towers, cells: how many there are of each, with or without pieces.
    footprints: whether shares were stated (`footprints.py`), and no areas measured.
    """

    tower: NDArray[np.int32]
    cell: NDArray[np.int32]
    area: NDArray[np.float64]
    towers: int
    cells: int
    footprints: bool = False

    def __len__(self) -> int:
        return len(self.area)

    @cached_property
    def share(self) -> NDArray[np.float64]:
        """Part of the tower cell's kept area that lies in the piece; sums to 1 over each tower."""
        whole = np.bincount(self.tower, weights=self.area, minlength=self.towers)
        return self.area / whole[self.tower]


def overlaps(tower_polygons: NDArray[np.object_], cell_polygons: NDArray[np.object_]) -> Overlaps:
    """Intersect the tower cells with the cells and keep the pieces larger than SLIVER_M2."""
    tower, cell = shapely.STRtree(cell_polygons).query(tower_polygons, predicate="intersects")
    area = shapely.area(shapely.intersection(tower_polygons[tower], cell_polygons[cell]))
    piece = np.flatnonzero(area > SLIVER_M2)
    piece = piece[np.lexsort((cell[piece], tower[piece]))]
    _refuse_towers_without_pieces(tower[piece], len(tower_polygons))
    return Overlaps(
        tower=tower[piece].astype(np.int32),
        cell=cell[piece].astype(np.int32),
        area=np.asarray(area[piece], dtype=np.float64),
        towers=len(tower_polygons),
        cells=len(cell_polygons),
    )


def interpolation(pieces: Overlaps) -> csr_array[np.float64, tuple[int, int]]:
    """The matrix W, shape (cells, towers): cell series = W @ tower series.

    X^L_t = Σ_i X^{T_i}_t · area(T_i ∩ L) / area(T_i)    (Acs & Castelluccia 2014, Formula 1)

    Columns sum to 1: areal interpolation moves visits between shapes and never creates any.
    """
    return csr_array((pieces.share, (pieces.cell, pieces.tower)), shape=(pieces.cells, pieces.towers))


def _refuse_towers_without_pieces(tower: NDArray[np.int64], towers: int) -> None:
    """The visits of a tower that overlaps no cell would vanish from every series."""
    lost = np.setdiff1d(np.arange(towers), tower)
    if len(lost) == 0:
        return
    named = ", ".join(map(str, lost[:NAMED_AT_MOST])) + (", ..." if len(lost) > NAMED_AT_MOST else "")
    raise BadInput(
        f"every tower cell must overlap some cell by more than {SLIVER_M2:g} m², "
        f"got {len(lost)} of {towers} that do not (positions {named}); "
        "remove these towers or merge them with their neighbours"
    )
