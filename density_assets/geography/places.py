"""The places a scheme counts at (towers, cover cells or cells) and how their series become those of cells."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import shapely
from numpy.typing import NDArray
from scipy.sparse import csr_array, identity

from density_assets.geography.cover import Cover
from density_assets.geography.cover_mapping import from_cover, to_cover
from density_assets.geography.overlaps import Overlaps, interpolation

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
