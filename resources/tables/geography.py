"""The public geography of a city, read from its tables."""

from density_assets.geography.places import Places
from density_assets.geography.tables import cover_from, overlaps_from, polygons, towers_from
from resources.tables.store import Store


def read_places(store: Store) -> Places:
    """What schemes and studies count at, and how its series become those of cells."""
    towers, cells, shapes = (store.read_public(table) for table in ("towers", "cells", "tower_cells"))
    return Places(
        pieces=overlaps_from(store.read_public("overlaps"), towers, cells),
        cover=cover_from(store.read_public("cover"), towers, cells),
        tower_xy=towers_from(towers).xy,
        tower_shapes=polygons(shapes),
        cell_shapes=polygons(cells),
    )
