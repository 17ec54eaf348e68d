"""The public zone: geometry anybody may know. Nothing here reads a record."""

import polars as pl
import shapely

from density_assets.city import City
from density_assets.geography.overlaps import overlaps as find_overlaps
from density_assets.geography.overlaps import tower_cells as voronoi
from density_assets.geography.places import minimum_cover
from density_assets.geography.regions import city_regions, regions_from, regions_table
from density_assets.geography.source import city_cells, city_footprints, city_towers
from density_assets.geography.tables import (
    antennas_table,
    cells_from,
    cells_table,
    cover_table,
    overlaps_from,
    overlaps_table,
    polygons,
    towers_from,
    towers_table,
)
from density_assets.graph.assets import asset
from density_assets.graph.columns import CALENDAR, SETTINGS, Columns, column
from density_assets.graph.step import Made, Step
from density_assets.privacy.zones import Zone
from density_assets.publication.people import city_factors, factors_table
from density_assets.publication.pictures import cover_map, outline_map

CELL_ID = "identifier of the cell"
TOWER_ID = "identifier of the tower site"


@asset(
    Zone.PUBLIC,
    {
        "cell_id": column(CELL_ID, SETTINGS),
        "x": column("centroid, metres in the system of `crs`", SETTINGS),
        "y": column("centroid, metres in the system of `crs`", SETTINGS),
        "area_m2": column("area in square metres", SETTINGS),
        "crs": column("metric coordinate system of x, y and geometry", SETTINGS),
        "geometry": column("polygon as WKB", SETTINGS),
    },
)
def cells(step: Step) -> Made:
    """The areas the release speaks of (IRIS cells in the case study), checked to be valid and disjoint."""
    city = city_cells(step.settings)
    facts = {"cells": len(city), "area_km2": round(float(city.areas.sum()) / 1e6, 2), "crs": city.crs}
    return Made(cells_table(city), {"map": outline_map(city.polygons, f"{len(city)} cells")}, facts)


@asset(
    Zone.PUBLIC,
    {
        "cell_id": column(CELL_ID, "cells.cell_id"),
        "region_id": column("identifier of the region it belongs to", SETTINGS),
        "region_name": column("name of the region", SETTINGS),
    },
    where=lambda city: city.settings.city.has_regions,
)
def regions(step: Step, cells: pl.DataFrame) -> Made:
    """The district each cell belongs to, by a public list: every cell has one. Sums of regions are published by it.

    It shapes no draw: counts are added up after everything is estimated.
    """
    ids = cells["cell_id"].to_list()
    found = city_regions(step.settings, ids)
    assert found is not None  # else the city does not have the asset
    return Made(regions_table(ids, found), facts={"regions": len(found)})


@asset(
    Zone.PUBLIC,
    {
        "factor": column("`market_share`, `devices_per_person` or `active_share`", SETTINGS),
        "cell_id": column("the cell, of a factor by cell; else empty", "cells.cell_id"),
        "hour": column("the hour of the week, of a factor by hour; else empty", CALENDAR),
        "low": column("the lowest it may be", SETTINGS),
        "value": column("the factor as stated", SETTINGS),
        "high": column("the highest it may be", SETTINGS),
    },
    deps=lambda city: ("regions",) if city.settings.city.has_regions else (),
    where=lambda city: city.settings.people.stated,
)
def people_factors(step: Step, cells: pl.DataFrame) -> Made:
    """What turns visits into people: public factors that a person states, and nothing computed from records.

    Released counts are divided by them after everything is estimated (`docs/people.md`).
    """
    ids = cells["cell_id"].to_list()
    known = regions_from(step.read("regions")) if step.settings.city.has_regions else None
    factors = city_factors(step.settings, ids, known)
    assert factors is not None  # else the city does not have the asset
    facts = {"people per visit, on average": round(float(factors.stated.matrix.mean()), 3)}
    return Made(factors_table(factors, ids), facts=facts)


@asset(
    Zone.PUBLIC,
    {
        "antenna_id": column("identifier a record may carry, as text", SETTINGS),
        "tower_id": column("identifier of the site the antenna stands on, empty outside the city", SETTINGS),
        "site": column("position of the site in the list, from 0", SETTINGS),
        "x": column("metres, in the cells' coordinate system", SETTINGS, "cells.crs"),
        "y": column("metres, in the cells' coordinate system", SETTINGS, "cells.crs"),
    },
)
def antennas(step: Step, cells: pl.DataFrame) -> Made:
    """Every antenna of the public list and, if it stands inside the city, the site it belongs to.

    Antennas that share a point are one site. Positions come from this list, never from records; a record at an
    antenna that is not listed or stands outside is counted and left out.
    """
    towers = city_towers(step.settings, cells_from(cells))
    if towers.merged:
        step.say(f"{towers.merged} antennas share a point with another and were merged into its site")
    if towers.outside:
        step.warn(f"{towers.outside} antennas lie outside the cells and were left out")
    if towers.moved:
        step.warn(f"{towers.moved} antennas moved: they stand where their newest row says, in all weeks")
    counts = ("merged", "outside", *(name for name in ("moved", "expired") if getattr(towers, name)))
    facts = {"sites": len(towers), **{name: getattr(towers, name) for name in counts}}
    return Made(antennas_table(towers), facts=facts)


@asset(
    Zone.PUBLIC,
    {
        "tower_id": column(TOWER_ID, "antennas.tower_id"),
        "site": column("position of the site in the list, from 0", "antennas.site"),
        "x": column("metres, in the cells' coordinate system", "antennas.x"),
        "y": column("metres, in the cells' coordinate system", "antennas.y"),
    },
)
def towers(step: Step, antennas: pl.DataFrame) -> Made:
    """Tower sites: the places a device can be seen at. Every series over towers has exactly these rows."""
    table = towers_table(antennas)
    return Made(table, facts={"towers": len(table)})


@asset(
    Zone.PUBLIC,
    {
        "tower_id": column(TOWER_ID, "towers.tower_id"),
        "area_m2": column("area in square metres", "towers.x", "towers.y", "cells.geometry"),
        "geometry": column("polygon as WKB", "towers.x", "towers.y", "cells.geometry"),
    },
)
def tower_cells(step: Step, towers: pl.DataFrame, cells: pl.DataFrame) -> Made:
    """The part of the city nearer to one tower than to any other: Voronoi cells cut at the city's border."""
    xy = towers_from(towers).xy
    shapes = voronoi(xy, cells_from(cells).city)
    table = towers.select("tower_id").with_columns(
        area_m2=pl.Series(shapely.area(shapes)), geometry=pl.Series(shapely.to_wkb(shapes).tolist())
    )
    return Made(table, {"map": outline_map(shapes, f"{len(table)} tower cells", xy)}, {"tower_cells": len(table)})


def _overlaps_columns(city: City) -> Columns:
    shapes = ("tower_cells.geometry", "cells.geometry")
    ids = {"tower_id": column(TOWER_ID, "tower_cells.tower_id"), "cell_id": column(CELL_ID, "cells.cell_id")}
    if city.settings.city.footprints is None:
        return ids | {
            "area_m2": column("area of the piece", *shapes),
            "share": column("area of the piece as a part of its tower cell", *shapes),
        }
    stated = (SETTINGS, "antennas.antenna_id", "antennas.site", "cells.cell_id")
    return ids | {
        "area_m2": column("empty: footprints say shares, and no areas", SETTINGS),
        "share": column("mean share of the cell in the footprints of the site's antennas, within the city", *stated),
    }


@asset(
    Zone.PUBLIC,
    _overlaps_columns,
    deps=lambda city: ("antennas",) if city.settings.city.footprints else (),
)
def overlaps(step: Step, tower_cells: pl.DataFrame, cells: pl.DataFrame) -> Made:
    """The pieces in which tower cells and cells overlap by more than 1 m²; or the footprints that settings give.

    A visit seen at a tower is spread over the cells by these shares, which sum to one for every tower.
    """
    if step.settings.city.footprints is None:
        pieces = find_overlaps(polygons(tower_cells), polygons(cells))
        return Made(overlaps_table(pieces, tower_cells, cells), facts={"overlaps": len(pieces)})
    found = city_footprints(step.settings, step.read("antennas"), cells_from(cells))
    assert found is not None  # settings name them
    facts = {"overlaps": len(found.pieces), "outside": round(found.outside, 4), "unknown_antennas": found.unknown}
    return Made(overlaps_table(found.pieces, tower_cells, cells), facts=facts)


@asset(
    Zone.PUBLIC,
    {
        "kind": column("`tower` or `cell`", "overlaps.tower_id", "overlaps.cell_id"),
        "id": column("identifier of the tower or cell, as text", "overlaps.tower_id", "overlaps.cell_id"),
    },
    table="cover",
)
def cover_graph(step: Step, overlaps: pl.DataFrame, tower_cells: pl.DataFrame, cells: pl.DataFrame) -> Made:
    """The fewest tower cells and cells that together cover the city, stored as table `cover`.

    Towers and cells are the two sides of a graph, joined where they overlap; a minimum vertex cover of it
    (Hopcroft–Karp matching and König's theorem; Acs & Castelluccia 2014, Thm 5) picks large cells, whose counts
    stand noise better. It looks at geometry only, so it costs no privacy.
    """
    pieces = overlaps_from(overlaps, tower_cells, cells)
    cover = minimum_cover(pieces)
    title = f"minimum cover: {len(cover)} cells of {pieces.towers} + {pieces.cells}"
    picture = cover_map(polygons(tower_cells)[cover.towers], polygons(cells)[cover.cells], title)
    facts = {"cover": len(cover), "towers": len(cover.towers), "cells": len(cover.cells)}
    return Made(cover_table(cover, tower_cells, cells), {"map": picture}, facts)
