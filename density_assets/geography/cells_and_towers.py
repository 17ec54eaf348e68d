"""The public geography of a city: its cells and its tower sites, in one metric coordinate system.

Only values live here; reading them from files is `cells.py` and `towers.py`, inventing them is `source.py`.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

BILLION = 10**9


@dataclass(frozen=True)
class Cells:
    """The areas a release speaks of: valid, disjoint polygons in a metric coordinate system.

    ids: one identifier per cell, unique, in the order of the input file.
    polygons: shapely polygons or multipolygons, same order.
    crs: the metric coordinate system, as text pyproj understands.
    """

    ids: NDArray[np.object_]
    polygons: NDArray[np.object_]
    crs: str

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def city(self) -> Any:
        """The union of all cells."""
        return shapely.union_all(self.polygons)

    @cached_property
    def areas(self) -> NDArray[np.float64]:
        """Area of each cell in square metres."""
        return np.asarray(shapely.area(self.polygons), dtype=np.float64)

    @cached_property
    def centroids(self) -> NDArray[np.float64]:
        """Centroid of each cell, shape (cells, 2), in metres."""
        return np.asarray(shapely.get_coordinates(shapely.centroid(self.polygons)), dtype=np.float64)


@dataclass(frozen=True)
class Towers:
    """Tower sites: the distinct points of the antenna list that lie inside the city.

    ids: the identifier of each site (integers when the list has none or numbers them, else text).
    xy: positions, shape (sites, 2), in the cells' coordinate system.
    antennas: every identifier a record may carry and the position in `ids` of its site;
        antennas that share a point share a site, antennas outside the city are absent.
    merged, outside: how many antennas were merged into another's site or dropped, for the log.
    repeated: how many rows of the list name an antenna that another one does.
    beyond: identifiers of antennas outside the city: records at them are no records at unknown antennas.
    moved: how many antennas are listed at several places and stand where their newest row says.
    expired: how many rows ended before the first week of the city.
    """

    ids: NDArray[Any]
    xy: NDArray[np.float64]
    antennas: dict[Any, int]
    merged: int = 0
    outside: int = 0
    repeated: int = 0
    beyond: tuple[Any, ...] = ()
    moved: int = 0
    expired: int = 0

    def __len__(self) -> int:
        return len(self.ids)


def geography_hash(cells: Cells, towers: Towers, footprints: Sequence[tuple[str, str, float]] = ()) -> str:
    """One hash of the public geography, to the centimetre: measurements of another geography are other measurements.

    It must not change with the version of a library, or an upgrade would pay for every release again; hence coordinates
    rounded to centimetres and written as text.

    footprints: tower, cell and share, where footprints take the place of areas; shares count to a billionth.
    """
    content: dict[str, Any] = {
        "crs": cells.crs,
        "cells": [[str(id_), _centimetres(shape)] for id_, shape in zip(cells.ids, cells.polygons, strict=True)],
        "towers": [[str(id_), *_rounded(xy)] for id_, xy in zip(towers.ids, towers.xy, strict=True)],
    }
    if footprints:
        content["footprints"] = [[tower, cell, round(share * BILLION)] for tower, cell, share in footprints]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def _centimetres(shape: Any) -> list[list[list[list[int]]]]:
    """The rings of each part, its outer one first: which ring is a hole of which part makes another shape."""
    parts = [(part.exterior, *part.interiors) for part in shapely.get_parts(shape)]
    return [[[_rounded(point) for point in shapely.get_coordinates(ring)] for ring in rings] for rings in parts]


def _rounded(point: NDArray[np.float64]) -> list[int]:
    return [round(float(value) * 100) for value in point]
