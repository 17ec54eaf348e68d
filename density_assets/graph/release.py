"""The release zone: everything here may be handed out. It reads public assets and what the doors drew."""

import json
from datetime import date

import dagster as dg
import numpy as np
import polars as pl

from density_assets import series
from density_assets.calendar import HOURS, week_clock
from density_assets.estimation.rounding import round_by_largest_remainder
from density_assets.geography.tables import cells_from
from density_assets.graph.doors import CLUSTERS, SCHEME, cluster_labels, release_request
from density_assets.graph.zones import GROUPS, Made, Zone, asset, column
from density_assets.privacy.charges import charged_events
from density_assets.privacy.planning import cost_of
from density_assets.publication.files import Naming, clock_note, density_table, dictionary, digests, geojson
from density_assets.publication.pages.page import ReportData, report_html
from density_assets.publication.statement import Facts, as_markdown, statement
from density_assets.research.plots.maps import value_map
from density_assets.research.plots.rhythm import week_rhythm
from density_assets.schemes.drawn_tables import series_from, totals_from
from density_assets.schemes.scheme import TOTALS
from resources.ledger.ledger import Ledger
from resources.measurements import Measurements
from resources.tables.geography import read_places
from resources.tables.store import Store, parquet_bytes, write_durably

AUDIT_PAGE = "audit.html"  # beside the pages of releases
PLACE_KINDS = {"towers": "tower", "cells": "cell"}
SAMPLE_CELLS = 5
GEOMETRY = ("cover_graph", "overlaps", "tower_cells", "towers", "cells")
CLUSTERED_BY = ("noisy_totals",) if SCHEME.clustered else ()


@asset(
    Zone.RELEASE,
    {
        "kind": column("`tower` or `cell`"),
        "id": column("identifier of the place, as text", "towers.tower_id", "cells.cell_id", "cover_graph.id"),
        "cluster": column("number of its cluster, from 0", *(f"{door}.value" for door in CLUSTERED_BY)),
    },
    deps=(*CLUSTERED_BY, *GEOMETRY),
    group=GROUPS[Zone.MECHANISM],  # between the doors, so that the lineage page reads from left to right
)
def clusters(context: dg.AssetExecutionContext) -> Made:
    """Places that share one noisy series, because alone they are too small to carry a shape of their own.

    Found from noisy totals and public geometry only (Acs & Castelluccia 2014, Alg. 3). A scheme that does not cluster
    leaves every place alone, and nothing reads this table.
    """
    store = context.resources.store
    request = release_request(context.resources.settings, store, context.partition_key)
    drawn = context.resources.measurements.stored(request, TOTALS).values if SCHEME.clustered else {}
    labels = SCHEME.clusters(request.doors, drawn, read_places(store))
    table = place_ids(store).with_columns(cluster=pl.Series(labels))
    return Made(table, facts={"clusters": int(labels.max()) + 1})


@asset(
    Zone.RELEASE,
    {
        "cell_id": column("identifier of the cell", "cells.cell_id"),
        "hour": column("hour of the week, 0 is Monday 00:00"),
        "visits": column("estimated visits, not yet rounded", "noisy_series.value", "noisy_totals.value"),
        "standard_error": column("how far noise may have moved the estimate, to first order"),
    },
    deps=(*CLUSTERS, *GEOMETRY),
)
def smoothed_series(context: dg.AssetExecutionContext, noisy_totals: pl.DataFrame, noisy_series: pl.DataFrame) -> Made:
    """What the noisy numbers say of each cell: denoised, non-negative, scaled to the noisy totals, mapped to cells."""
    settings, store = context.resources.settings, context.resources.store
    request, where = release_request(settings, store, context.partition_key), read_places(store)
    estimate = SCHEME.estimate(
        settings,
        request.doors,
        totals_from(noisy_totals),
        cluster_labels(store, request),
        series_from(noisy_series),
        where,
    )
    visits = where.to_cells(SCHEME.places) @ estimate.series
    ids = store.read_public("cells").select("cell_id")
    return Made(series.table(ids, visits=visits, standard_error=estimate.cell_error))


@asset(
    Zone.RELEASE,
    {
        "cell_id": column("identifier of the cell", "smoothed_series.cell_id"),
        "hour": column("hour of the week, 0 is Monday 00:00", "smoothed_series.hour"),
        "timestamp": column("start of the hour, with offset; empty for an hour that does not happen"),
        "count": column("visits: devices seen in the cell in that hour", "smoothed_series.visits"),
        "standard_error": column("how far noise may have moved the count", "smoothed_series.standard_error"),
    },
    deps=("cells",),
)
def density(context: dg.AssetExecutionContext, smoothed_series: pl.DataFrame) -> Made:
    """The release as a table: visits per cell and hour, as non-negative integers.

    Rounded hour by hour by largest remainder. Its checks come before any file of it is written.
    """
    settings, store = context.resources.settings, context.resources.store
    cells = cells_from(store.read_public("cells"))
    ids = pl.Series("cell_id", cells.ids.tolist())
    counts = round_by_largest_remainder(series.matrix(smoothed_series, ids, "visits"))
    clock = week_clock(date.fromisoformat(context.partition_key), settings.city.zone)
    table = density_table(cells, counts, series.matrix(smoothed_series, ids, "standard_error"), clock)
    busiest = np.argsort(-counts.sum(axis=1))[:: max(1, len(counts) // SAMPLE_CELLS)][:SAMPLE_CELLS]
    pictures = {
        "map": value_map(cells.polygons, counts.mean(axis=1), "released visits per hour", "mean visits per hour"),
        "sample": week_rhythm("released series of some cells", **{str(cells.ids[i]): counts[i] for i in busiest}),
    }
    return Made(table, pictures, {"visits": int(counts.sum())})


@asset(
    Zone.RELEASE,
    {
        "file": column("file of the release"),
        "sha256": column("its digest"),
    },
    deps=("noisy_totals", "noisy_series", "cells"),
    kinds=("json", "markdown", "csv", "parquet"),
)
def privacy_statement(context: dg.AssetExecutionContext, density: pl.DataFrame) -> Made:
    """Publishes the week: its counts as Parquet, CSV and GeoJSON with a data dictionary, and what is promised of them.

    The statement says what is promised to whom, every event with its scale, how it was paid, and the digests of the
    files; nothing in it is computed from records. `make verify` checks that all of it and the ledger belong together.
    """
    store = context.resources.store
    name = naming(store, context)
    with store.locked(f"statement-{context.partition_key}"):
        _write_counts(context, density, name)
        said = statement(_facts(context, name))
        text = as_markdown(said)
        write_durably(name.file("privacy_statement", "json"), json.dumps(said, indent=2).encode())
        write_durably(name.file("privacy_statement", "md"), text.encode())
    table = pl.DataFrame({"file": list(said["files"]), "sha256": list(said["files"].values())})
    return Made(table, facts={"statement": dg.MetadataValue.md(text)})


@asset(
    Zone.RELEASE,
    {"file": column("the page"), "bytes": column("its size")},
    deps=("privacy_statement", "cells"),
    kinds=("html",),
)
def density_report(context: dg.AssetExecutionContext, density: pl.DataFrame) -> Made:
    """The release as one HTML page: map with a slider over the week, series of a cell, rhythm, statement, downloads.

    The page asks the network for nothing and can be handed out with the files beside it.
    """
    settings, store = context.resources.settings, context.resources.store
    name, cells = naming(store, context), cells_from(store.read_public("cells"))
    week = date.fromisoformat(context.partition_key)
    downloads = {
        "Parquet": name.file("density", "parquet").name,
        "CSV": name.file("density", "csv").name,
        "GeoJSON": name.file("density", "geojson").name,
        "Data dictionary": name.file("data_dictionary", "md").name,
        "Privacy statement": name.file("privacy_statement", "json").name,
        "Audit of all releases": AUDIT_PAGE,
    }
    page = report_html(
        ReportData(
            city=settings.city.name,
            week=week,
            timezone=settings.city.timezone,
            cell_ids=cells.ids.tolist(),
            polygons=cells.polygons,
            counts=density["count"].to_numpy().reshape(-1, HOURS),
            standard_errors=density["standard_error"].to_numpy().reshape(-1, HOURS),
            statement=name.file("privacy_statement", "md").read_text(encoding="utf-8"),
            downloads=downloads,
            notes=[clock_note(week_clock(week, settings.city.zone))],
        )
    )
    file = name.file("report", "html")
    write_durably(file, page.encode())
    table = pl.DataFrame({"file": [file.name], "bytes": [file.stat().st_size]})
    return Made(table, facts={"page": dg.MetadataValue.path(str(file))})


def place_ids(store: Store) -> pl.DataFrame:
    """Kind and identifier of the scheme's places, in order."""
    if SCHEME.places == "cover":
        return store.read_public("cover")
    table, key = ("towers", "tower_id") if SCHEME.places == "towers" else ("cells", "cell_id")
    ids = store.read_public(table)[key].cast(pl.String).alias("id")
    return pl.DataFrame({"kind": [PLACE_KINDS[SCHEME.places]] * len(ids), "id": ids})


def naming(store: Store, context: dg.AssetExecutionContext) -> Naming:
    """Where this release's files lie."""
    week = context.partition_key
    return Naming(store.release, week, context.resources.settings.revision_of(week))


def _write_counts(context: dg.AssetExecutionContext, density: pl.DataFrame, name: Naming) -> None:
    """The files a reader downloads."""
    settings, cells = context.resources.settings, cells_from(context.resources.store.read_public("cells"))
    clock = week_clock(date.fromisoformat(context.partition_key), settings.city.zone)
    write_durably(name.file("density", "parquet"), parquet_bytes(density))
    write_durably(name.file("density", "csv"), density.write_csv().encode())
    counts = density["count"].to_numpy().reshape(-1, HOURS)
    write_durably(name.file("density", "geojson"), geojson(cells, counts).encode())
    text = dictionary(settings.city.name, settings.city.timezone, clock)
    write_durably(name.file("data_dictionary", "md"), text.encode())


def _facts(context: dg.AssetExecutionContext, name: Naming) -> Facts:
    settings, ledger, measurements = (getattr(context.resources, key) for key in ("settings", "ledger", "measurements"))
    assert isinstance(ledger, Ledger)
    assert isinstance(measurements, Measurements)
    request = release_request(settings, context.resources.store, context.partition_key)
    paid_by = {measurements.stored(request, door).charge for door in request.doors}
    rows = [row for row in ledger.rows() if row.hash in paid_by]
    # The chain ends with this release's last charge, so that making the statement again writes the same bytes: whoever
    # is killed between the two leaves files that belong together.
    last = max(row.row for row in rows)
    chain, records = name.file("ledger", "json"), [record for record in ledger.records() if record["row"] <= last]
    write_durably(chain, json.dumps(records).encode())
    files = [
        *(name.file("density", suffix) for suffix in ("parquet", "csv", "geojson")),
        name.file("data_dictionary", "md"),
        chain,
    ]
    year = context.partition_key[:4]
    spent = charged_events(ledger.rows(), request.population, year)
    return Facts(
        city=request.city,
        week=request.week,
        timezone=settings.city.timezone,
        revision=request.revision,
        scheme=request.scheme,
        calibration=request.calibration,
        epsilon=request.epsilon,
        delta=request.delta,
        population=settings.city.population or (settings.city.simulated_users if settings.city.synthetic else None),
        parameters=request.parameters,
        doors=sorted(request.doors),
        charges=[row.public_record() for row in rows],
        ledger_file=chain.name,
        ledger_head=records[-1]["hash"],
        year=year,
        year_epsilon=cost_of(spent, [], 0, settings.privacy.budget_delta),
        budget_epsilon=settings.privacy.budget_epsilon,
        budget_delta=settings.privacy.budget_delta,
        files=digests(files),
    )
