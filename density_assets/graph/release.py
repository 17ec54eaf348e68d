"""The release zone: everything here may be handed out. It reads public assets and what the doors drew.

In order: noisy numbers become an estimate of each cell (`smoothed_series`), whole counts (`density`), files
(`published_counts`), what is promised of them (`privacy_statement`) and a page (`density_report`). The checks of
`density` stand before its files. All of these run in a process that cannot open confidential files.
"""

import dagster as dg
import numpy as np
import polars as pl

from density_assets import series
from density_assets.calendar import HOURS
from density_assets.city import City
from density_assets.estimation.weeks.measured import Measured
from density_assets.geography.places import Places
from density_assets.geography.tables import GEOGRAPHY, cells_from, place_ids, places_from
from density_assets.graph.assets import asset
from density_assets.graph.columns import CALENDAR, SETTINGS, Columns, column
from density_assets.graph.contents import (
    chain_file,
    count_files,
    fell_back,
    page_file,
    publish,
    rounded,
    stated,
    statement_files,
)
from density_assets.graph.doors import IDENTITY, PLACES, cluster_labels
from density_assets.graph.past import PAST, learns, refuse_unknown_draws, state_after
from density_assets.graph.step import Made, Step
from density_assets.graph.zones import GROUPS
from density_assets.privacy.accounts import Accounts
from density_assets.privacy.estimates import ALONE, WITH_EARLIER_WEEKS, Estimated
from density_assets.privacy.zones import Zone
from density_assets.publication.files import (
    digests,
)
from density_assets.publication.manifest import Seal
from density_assets.publication.pictures.maps import value_map
from density_assets.publication.pictures.rhythm import week_rhythm
from density_assets.publication.statement import as_markdown
from density_assets.schemes import learning_scheme, scheme_of
from density_assets.schemes.drawn_tables import series_from, totals_from
from density_assets.schemes.learning import estimate_after
from density_assets.schemes.scheme import SERIES, TOTALS, Estimate

IDS = {"towers": "towers.tower_id", "cells": "cells.cell_id", "cover": "cover_graph.id"}  # of places, by kind
DOORS = (TOTALS, SERIES)
STATED = "privacy_statement.sha256"
SAMPLE_CELLS = 5


def _clusters_columns(city: City) -> Columns:
    ids = (IDS[city.scheme.places],)
    drawn = ("noisy_totals.value",) if city.scheme.clustered else ()
    return {
        "kind": column("`tower` or `cell`", *ids),
        "id": column("identifier of the place, as text", *ids),
        "cluster": column("number of its cluster, from 0", *ids, *drawn),
    }


def _clusters_deps(city: City) -> tuple[str, ...]:
    """A scheme that does not cluster looks at the list of its places only."""
    if not city.scheme.clustered:
        return (*IDENTITY, PLACES[city.scheme.places])
    return ("noisy_totals", *GEOGRAPHY[city.scheme.places])


@asset(
    Zone.RELEASE,
    _clusters_columns,
    deps=_clusters_deps,
    group=GROUPS[Zone.MECHANISM],  # between the doors, so that the lineage page reads from left to right
)
def clusters(step: Step) -> Made:
    """Places that share one noisy series, because alone they are too small to carry a shape of their own.

    Found from noisy totals and public geometry only (Acs & Castelluccia 2014, Alg. 3). A scheme that does not cluster
    leaves every place alone, and nothing reads this table.
    """
    scheme = scheme_of(step.release.scheme, step.release.version)
    if scheme.clustered:
        drawn = totals_from(step.read("noisy_totals"))
        labels = scheme.clusters(step.release.doors, drawn, places_from(step.read, scheme.places))
    else:
        labels = cluster_labels(scheme, step.read)
    table = place_ids(step.read, scheme.places).with_columns(cluster=pl.Series(labels))
    return Made(table, facts={"clusters": int(labels.max()) + 1})


def _smoothed_columns(city: City) -> Columns:
    clustered = ("clusters.cluster",) if city.scheme.clustered else ()
    totals = ("noisy_totals.value",) if city.scheme.reads(city.settings)[TOTALS] else ()
    past = ("usual_week.values",) if learns(city) else ()
    drawn = ("noisy_series.value", *totals, *past)
    estimator = {"estimator": column("version of the estimator; 1 is that of a week alone", SETTINGS, *past)}
    return {
        "cell_id": column("identifier of the cell", "cells.cell_id"),
        "hour": column("hour of the week, 0 is Monday 00:00", "noisy_series.hour"),
        "visits": column("estimated visits, not yet rounded", *drawn, *clustered, "overlaps.share"),
        "standard_error": column(
            "how far noise may have moved the estimate, to first order", SETTINGS, *drawn, *clustered, "overlaps.share"
        ),
        **(estimator if past else {}),
    }


def _smoothed_deps(city: City) -> tuple[str, ...]:
    clustered = ("clusters",) if city.scheme.clustered else ()
    return (*clustered, *GEOGRAPHY[city.scheme.places])


@asset(
    Zone.RELEASE,
    _smoothed_columns,
    deps=_smoothed_deps,
    looks_back=lambda city: PAST if learns(city) else (),
    given=("accounts", "estimated"),
)
def smoothed_series(
    step: Step,
    noisy_totals: pl.DataFrame,
    noisy_series: pl.DataFrame,
    accounts: Accounts,
    estimated: Estimated | None,
) -> Made:
    """What the noisy numbers say of each cell: denoised, non-negative, scaled to the noisy totals, mapped to cells.

    Where the scheme learns, with what earlier weeks have said (`usual_week`), whose draws are paid for as well.
    """
    scheme = scheme_of(step.release.scheme, step.release.version)
    places, labels = places_from(step.read, scheme.places), cluster_labels(scheme, step.read)
    totals, drawn = totals_from(noisy_totals), series_from(noisy_series)
    estimate, estimator = None, {}
    if learner := learning_scheme(step.release.scheme, step.release.version):
        estimate = _with_earlier_weeks(
            step, learner.measured(step.release.doors, totals, drawn), places, accounts, estimated
        )
        estimator = {"estimator": pl.lit(ALONE if estimate is None else WITH_EARLIER_WEEKS, pl.Int64)}
    estimate = estimate or scheme.estimate(step.settings, step.release.doors, totals, labels, drawn, places)
    visits = places.to_cells(scheme.places) @ estimate.series
    ids = step.read("cells").select("cell_id")
    table = series.table(ids, visits=visits, standard_error=estimate.cell_error)
    return Made(table.with_columns(**estimator))


def _with_earlier_weeks(
    step: Step, measured: Measured, places: Places, accounts: Accounts, estimated: Estimated | None
) -> Estimate | None:
    """The estimate with what earlier weeks have said; none where the week is estimated alone."""
    if estimated is None or estimated.alone:
        return None
    refuse_unknown_draws(step, estimated.used, accounts)
    past = state_after(step, estimated.used, accounts)
    estimate = estimate_after(past, measured, places.to_cells("towers"), places.tower_xy)
    if estimate is None:
        step.warn(
            f"the week of {step.week} is estimated alone: with earlier weeks the estimator finds no finite numbers"
        )
    return estimate


@asset(
    Zone.RELEASE,
    {
        "cell_id": column("identifier of the cell", "smoothed_series.cell_id"),
        "hour": column("hour of the week, 0 is Monday 00:00", "smoothed_series.hour"),
        "timestamp": column("start of the hour, with offset; empty for an hour that does not happen", CALENDAR),
        "count": column("visits: devices seen in the cell in that hour", "smoothed_series.visits"),
        "standard_error": column("how far noise may have moved the count", "smoothed_series.standard_error"),
    },
)
def density(step: Step, smoothed_series: pl.DataFrame, cells: pl.DataFrame) -> Made:
    """The release as a table: visits per cell and hour, as non-negative integers.

    Rounded hour by hour by largest remainder. Its checks come before any file of it is written.
    """
    city, table = cells_from(cells), rounded(step, smoothed_series, cells)
    counts = table["count"].to_numpy().reshape(-1, HOURS)
    busiest = np.argsort(-counts.sum(axis=1))[:: max(1, len(counts) // SAMPLE_CELLS)][:SAMPLE_CELLS]
    pictures = {
        "map": value_map(city.polygons, counts.mean(axis=1), "released visits per hour", "mean visits per hour"),
        "sample": week_rhythm("released series of some cells", **{str(city.ids[i]): counts[i] for i in busiest}),
    }
    return Made(table, pictures, {"visits": int(counts.sum())})


@asset(
    Zone.RELEASE,
    {
        "file": column("file with the counts, or the dictionary that explains them", SETTINGS),
        "sha256": column("its digest", "density.count", "density.standard_error", "cells.geometry"),
    },
    kinds=("csv", "parquet"),
)
def published_counts(step: Step, density: pl.DataFrame, cells: pl.DataFrame) -> Made:
    """The counts as files: Parquet, CSV and GeoJSON, with a data dictionary."""
    contents = count_files(step, density, cells)
    publish(step, contents)
    by_file = digests(list(contents))
    return Made(pl.DataFrame({"file": list(by_file), "sha256": list(by_file.values())}))


@asset(
    Zone.RELEASE,
    {
        "file": column("file of the release", "published_counts.file"),
        "sha256": column("its digest", "published_counts.sha256"),
    },
    deps=lambda city: (*DOORS, "published_counts", *(("smoothed_series",) if learns(city) else ())),
    kinds=("json", "markdown"),
    given=("accounts", "paid_by", "estimated"),
)
def privacy_statement(step: Step, accounts: Accounts, paid_by: frozenset[str], estimated: Estimated | None) -> Made:
    """What is promised of the published counts, and how it was paid: as data and as text.

    The statement says what is promised to whom, every event with its scale, how it was paid, of which draws the counts
    are an estimate, and the digests of the files; nothing in it is computed from records. `make verify` checks that all
    of it and the ledger belong together.
    """
    end = accounts.end_of(paid_by)
    publish(step, chain_file(step, accounts, end))
    said = stated(step, accounts, paid_by, end, estimated, fell_back=fell_back(step, estimated))
    publish(step, statement_files(step, said))
    table = pl.DataFrame({"file": list(said["files"]), "sha256": list(said["files"].values())})
    return Made(table, facts={"statement": dg.MetadataValue.md(as_markdown(said))})


@asset(
    Zone.RELEASE,
    {
        "file": column("the page", SETTINGS),
        "bytes": column("its size", "density.count", "density.standard_error", "cells.geometry", STATED),
    },
    deps=("privacy_statement",),
    kinds=("html",),
    given=("accounts", "paid_by"),
)
def density_report(
    step: Step, density: pl.DataFrame, cells: pl.DataFrame, accounts: Accounts, paid_by: frozenset[str]
) -> Made:
    """The release as one HTML page: map with a slider over the week, series of a cell, rhythm, statement, downloads.

    The page asks the network for nothing and can be handed out with the files beside it.
    """
    contents = page_file(step, density, cells, Seal.at(accounts, accounts.end_of(paid_by)))
    publish(step, contents)
    (file,) = contents
    table = pl.DataFrame({"file": [file.name], "bytes": [file.stat().st_size]})
    return Made(table, facts={"page": dg.MetadataValue.path(str(file))})
