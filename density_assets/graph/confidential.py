"""The confidential zone: everything that touches personal data before noise is added."""

import sys
from collections.abc import Callable

import numpy as np
import polars as pl

from density_assets import series
from density_assets.calendar import WeekClock
from density_assets.geography.overlaps import interpolation
from density_assets.geography.places import to_cover
from density_assets.geography.tables import cells_from, cover_from, overlaps_from, polygons, towers_from
from density_assets.graph.assets import Blueprint, asset, sql_version
from density_assets.graph.columns import Column, Columns, column, model_columns, upstream
from density_assets.graph.step import Made, RecordStep
from density_assets.people.population import simulate_week
from density_assets.privacy.zones import Zone
from density_assets.publication.pictures import value_map, week_rhythm
from density_assets.records.files import how_to_complete, is_complete, record_files, refuse_our_files
from resources.sql.engine import model_parameters
from resources.sql.ingest import write_simulated
from resources.sql.models import model
from resources.tables.weeks import roots_under

HOUR = column("hour of the week, 0 is Monday 00:00", "tower_series.hour")


def _visit_columns() -> Columns:
    texts = model("visits").columns
    origins = {"tower_id": ("antennas.tower_id",)}
    return {name: Column(text, origins.get(name, ("records",))) for name, text in texts.items()}


@asset(
    Zone.CONFIDENTIAL,
    _visit_columns(),
    kinds=("sql", "duckdb", "parquet"),
    code_version=sql_version(model("visits")),
)
def visits(step: RecordStep, antennas: pl.DataFrame, towers: pl.DataFrame, cells: pl.DataFrame) -> Made:
    """Who was seen where in which hour: one row per subscriber, hour and tower site of the week.

    Records are folded onto the city's clocks, mapped from antennas to sites and only then deduplicated.
    Records without a user, with an unreadable time, outside the week or at an unknown tower are counted and
    left out. A synthetic city's records are simulated.
    """
    settings, city, clock = step.settings, step.city, step.clock
    pattern = settings.city.visits
    _say_clock_changes(step, clock)
    if pattern is None:
        sites, users = towers_from(towers), settings.city.simulated_users
        homes = cells_from(cells).centroids
        chunks = simulate_week(homes, sites.xy, users=users, seed=settings.city.seed, week=clock.week)
        write_simulated(city.store, clock.week, chunks, sites, users, _progress(step))
        return Made(None)
    files = record_files(settings, clock.week)
    refuse_our_files(files, city.home, roots_under(city.home))
    if not is_complete(settings, clock.week):
        how = how_to_complete(settings, clock.week)
        step.warn(f"nothing says that the week is complete: make sure that it is. To say so, {how}")
    rejected = city.engine.ingest(clock, files, settings.city, _progress(step))
    return Made(None, facts={"rejected": rejected})


def _progress(step: RecordStep) -> Callable[[str], None]:
    """Tell how far work is; of real people only to the terminal, because the number of lines tells their number."""
    if step.city.synthetic:
        return step.say
    return lambda line: print(f"  … {line}", file=sys.stderr, flush=True) if sys.stderr.isatty() else None


def _say_clock_changes(step: RecordStep, clock: WeekClock) -> None:
    for hours, fate in (
        (clock.repeated, "happens twice and is one slot"),
        (clock.missing, "does not happen"),
    ):
        for hour in hours:
            step.say(f"clocks change in the week of {clock.week}: hour {hour} {fate}")


def _model_asset(name: str) -> Blueprint:
    """An asset whose work is the SELECT in `dbt_like_sql/<name>.sql`."""
    wanted = model(name)

    def run(step: RecordStep) -> Made:
        parameters = model_parameters(step.settings, step.city.store, step.week)
        step.city.engine.materialise(name, step.week, parameters, _progress(step))
        return Made(None)

    run.__name__, run.__doc__ = name, wanted.description
    return asset(
        Zone.CONFIDENTIAL,
        model_columns(wanted),
        deps=upstream(wanted),
        kinds=("sql", "duckdb", "parquet"),
        code_version=sql_version(wanted),
    )(run)


truncated_visits = _model_asset("truncated_visits")
tower_series = _model_asset("tower_series")
tower_totals = _model_asset("tower_totals")
one_visit_histogram = _model_asset("one_visit_histogram")
visit_total = _model_asset("visit_total")


@asset(
    Zone.CONFIDENTIAL,
    {
        "cell_id": column("identifier of the cell", "cells.cell_id"),
        "hour": HOUR,
        "original": column("visits before truncation", "tower_series.original", "overlaps.share"),
        "truncated": column("visits kept by truncation", "tower_series.truncated", "overlaps.share"),
    },
)
def iris_series(
    step: RecordStep,
    tower_series: pl.DataFrame,
    overlaps: pl.DataFrame,
    towers: pl.DataFrame,
    cells: pl.DataFrame,
) -> Made:
    """Visits per cell and hour: each tower's visits spread over the cells in proportion to overlapping area.

    Acs & Castelluccia 2014, Formula 1.
    """
    spread = interpolation(overlaps_from(overlaps, towers, cells))
    mapped = {
        name: spread @ series.matrix(tower_series, towers["tower_id"], name) for name in ("original", "truncated")
    }
    table = series.table(cells.select("cell_id"), **mapped)
    totals = {name: values.sum(axis=0) for name, values in mapped.items()}
    return Made(table, {"rhythm": week_rhythm("visits in the city by hour", **totals)})


@asset(
    Zone.CONFIDENTIAL,
    {
        "kind": column("`tower` or `cell`", "cover_graph.kind"),
        "id": column("identifier of the tower or cell", "cover_graph.id"),
        "hour": HOUR,
        "original": column("visits before truncation", "tower_series.original", "overlaps.share", "cover_graph.id"),
        "truncated": column("visits kept by truncation", "tower_series.truncated", "overlaps.share", "cover_graph.id"),
    },
)
def cover_series(
    step: RecordStep,
    tower_series: pl.DataFrame,
    overlaps: pl.DataFrame,
    cover_graph: pl.DataFrame,
    towers: pl.DataFrame,
    tower_cells: pl.DataFrame,
    cells: pl.DataFrame,
) -> Made:
    """Visits per cell of the cover and hour.

    Every piece of overlap belongs to exactly one cell of the cover, so nothing is counted twice: the cover sums
    to the city's total, and one visit still moves a mass of one.
    """
    pieces = overlaps_from(overlaps, towers, cells)
    cover = cover_from(cover_graph, towers, cells)
    gather = to_cover(pieces, cover)
    mapped = {
        name: gather @ series.matrix(tower_series, towers["tower_id"], name) for name in ("original", "truncated")
    }
    shapes = np.concatenate([polygons(tower_cells)[cover.towers], polygons(cells)[cover.cells]])
    means = mapped["truncated"].mean(axis=1)
    title = f"minimum cover, {means.mean():.0f} visits per cell and hour"
    picture = value_map(shapes, means, title, "mean visits per hour after truncation")
    return Made(series.table(cover_graph, **mapped), {"map": picture})
