"""The public geography as tables, and back."""

from collections.abc import Callable

import numpy as np
import polars as pl
import shapely

from density_assets.errors import BadInput
from density_assets.geography.cells_and_towers import Cells, Towers
from density_assets.geography.overlaps import Overlaps
from density_assets.geography.places import Cover, Kind, Places

TOWER, CELL = "tower", "cell"
GEOGRAPHY: dict[Kind, tuple[str, ...]] = {  # the assets that make the places of each kind
    "towers": ("overlaps", "towers", "cells"),
    "cells": ("overlaps", "towers", "cells"),
    "cover": ("cover_graph", "overlaps", "tower_cells", "towers", "cells"),
}


def cells_table(cells: Cells) -> pl.DataFrame:
    """One row per cell."""
    return pl.DataFrame(
        {
            "cell_id": cells.ids.tolist(),
            "x": cells.centroids[:, 0],
            "y": cells.centroids[:, 1],
            "area_m2": cells.areas,
            "crs": [cells.crs] * len(cells),
            "geometry": shapely.to_wkb(cells.polygons).tolist(),
        }
    )


def cells_from(table: pl.DataFrame) -> Cells:
    """The cells a table holds."""
    ids = np.array(table["cell_id"].to_list(), dtype=object)
    return Cells(ids=ids, polygons=polygons(table), crs=table["crs"][0])


def polygons(table: pl.DataFrame) -> np.ndarray[tuple[int], np.dtype[np.object_]]:
    """The geometry column of a table."""
    return np.asarray(shapely.from_wkb(table["geometry"].to_list()), dtype=object)


def antennas_table(towers: Towers) -> pl.DataFrame:
    """One row per identifier that a record may carry; identifiers are compared as text.

    Those of antennas outside the city have no site and come last.
    """
    sites = list(towers.antennas.values())
    inside = pl.DataFrame(
        {
            "antenna_id": [str(antenna) for antenna in towers.antennas],
            "tower_id": towers.ids[sites].tolist(),
            "site": sites,
            "x": towers.xy[sites, 0],
            "y": towers.xy[sites, 1],
        }
    )
    beyond = pl.DataFrame({"antenna_id": [str(antenna) for antenna in towers.beyond]}, schema={"antenna_id": pl.String})
    return pl.concat([inside, beyond], how="diagonal")


def antennas_inside(antennas: pl.DataFrame) -> pl.DataFrame:
    """The antennas that have a site."""
    return antennas.filter(pl.col("tower_id").is_not_null())


def towers_table(antennas: pl.DataFrame) -> pl.DataFrame:
    """One row per site, in the order of the list."""
    return antennas_inside(antennas).unique("site").sort("site").select("tower_id", "site", "x", "y")


def towers_from(table: pl.DataFrame) -> Towers:
    """The sites a table holds."""
    ids = table["tower_id"].to_numpy()
    return Towers(
        ids=ids, xy=table.select("x", "y").to_numpy(), antennas={id_: i for i, id_ in enumerate(ids.tolist())}
    )


def overlaps_table(pieces: Overlaps, towers: pl.DataFrame, cells: pl.DataFrame) -> pl.DataFrame:
    """One row per piece."""
    areas = pl.Series([None] * len(pieces), dtype=pl.Float64) if pieces.footprints else pieces.area
    return pl.DataFrame(
        {
            "tower_id": towers["tower_id"].gather(pieces.tower),
            "cell_id": cells["cell_id"].gather(pieces.cell),
            "area_m2": areas,
            "share": pieces.share,
        }
    )


def overlaps_from(table: pl.DataFrame, towers: pl.DataFrame, cells: pl.DataFrame) -> Overlaps:
    """The pieces a table holds, by position in the lists of towers and cells.

    A negative part would let others be above one, and a visit count more than once: people can write where tables lie.
    """
    tower = _positions(table["tower_id"], towers["tower_id"])
    cell = _positions(table["cell_id"], cells["cell_id"])
    stated = stated_in(table)
    area = table["share" if stated else "area_m2"].to_numpy()
    if not (np.isfinite(area) & (area >= 0)).all():
        raise BadInput("parts of towers in the table overlaps must be numbers from 0, found others: make it again")
    if not np.bincount(tower, weights=area, minlength=len(towers)).all():
        raise BadInput("every tower must have a part in the table overlaps, or its visits vanish: make it again")
    return Overlaps(tower, cell, area, len(towers), len(cells), stated)


def stated_in(overlaps: pl.DataFrame) -> bool:
    """Whether the shares of a table are footprints: those have no areas; a table without rows has no footprints."""
    return 0 < len(overlaps) == overlaps["area_m2"].null_count()


def footprints_from(overlaps: pl.DataFrame) -> list[tuple[str, str, float]]:
    """Tower, cell and share of each piece, if they are footprints; else nothing."""
    if not stated_in(overlaps):
        return []
    return list(overlaps.select(pl.col("tower_id", "cell_id").cast(pl.String), "share").iter_rows())


def cover_table(cover: Cover, towers: pl.DataFrame, cells: pl.DataFrame) -> pl.DataFrame:
    """One row per cell of the cover, in the order of every series over it."""
    ids = [
        *towers["tower_id"].gather(cover.towers).to_list(),
        *cells["cell_id"].gather(cover.cells).to_list(),
    ]
    kinds = [TOWER] * len(cover.towers) + [CELL] * len(cover.cells)
    return pl.DataFrame({"kind": kinds, "id": [str(id_) for id_ in ids]})


def cover_from(table: pl.DataFrame, towers: pl.DataFrame, cells: pl.DataFrame) -> Cover:
    """The cover a table holds, by position in the lists of towers and cells."""
    chosen = {kind: table.filter(pl.col("kind") == kind)["id"] for kind in (TOWER, CELL)}
    return Cover(
        towers=_positions(chosen[TOWER], towers["tower_id"].cast(pl.String)).astype(np.int64),
        cells=_positions(chosen[CELL], cells["cell_id"]).astype(np.int64),
    )


def places_from(read: Callable[[str], pl.DataFrame], kind: Kind) -> Places:
    """What schemes count at, and how its series become those of cells; reads what the kind needs, and no more.

    read: gives the table of an asset.
    """
    towers, cells = read("towers"), read("cells")
    covered = kind == "cover"
    return Places(
        pieces=overlaps_from(read("overlaps"), towers, cells),
        cover=cover_from(read("cover_graph"), towers, cells) if covered else None,
        tower_xy=towers_from(towers).xy,
        tower_shapes=polygons(read("tower_cells")) if covered else None,
        cell_shapes=polygons(cells),
    )


def place_ids(read: Callable[[str], pl.DataFrame], kind: Kind) -> pl.DataFrame:
    """Kind and identifier of the places, in order."""
    if kind == "cover":
        return read("cover_graph")
    word, key = (TOWER, "tower_id") if kind == "towers" else (CELL, "cell_id")
    ids = read(kind)[key].cast(pl.String).alias("id")
    return pl.DataFrame({"kind": [word] * len(ids), "id": ids})


def _positions(wanted: pl.Series, among: pl.Series) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    position = {id_: i for i, id_ in enumerate(among.to_list())}
    return np.array([position[id_] for id_ in wanted.to_list()], dtype=np.int32)
