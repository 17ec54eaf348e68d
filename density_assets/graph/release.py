"""The release zone: everything here may be handed out. It reads public assets and what the doors drew.

In order: noisy numbers become an estimate of each cell (`estimating.py`), whole counts (`density`), files
(`published_counts`), what is promised of them (`privacy_statement`) and a page (`density_report`). The checks of
`density` stand before its files. All of these run in a process that cannot open confidential files.
"""

import dagster as dg
import numpy as np
import polars as pl

from density_assets.city import City
from density_assets.geography.tables import cells_from
from density_assets.graph.assets import asset
from density_assets.graph.columns import CALENDAR, SETTINGS, column
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
from density_assets.graph.describing import description_files
from density_assets.graph.estimating import of_sums
from density_assets.graph.past import learns
from density_assets.graph.public_inputs import of_inputs, origins_of_inputs
from density_assets.graph.step import Made, Step
from density_assets.privacy.accounts import Accounts
from density_assets.privacy.estimates import Estimated
from density_assets.privacy.zones import Zone
from density_assets.publication.files import counts_and_errors, digests
from density_assets.publication.manifest import Seal
from density_assets.publication.pictures import value_map, week_rhythm
from density_assets.publication.statement import as_markdown
from density_assets.schemes.scheme import SERIES, TOTALS

DOORS = (TOTALS, SERIES)
STATED = "privacy_statement.sha256"
SAMPLE_CELLS = 5


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
    counts, _ = counts_and_errors(table)
    busiest = np.argsort(-counts.sum(axis=1))[:: max(1, len(counts) // SAMPLE_CELLS)][:SAMPLE_CELLS]
    pictures = {
        "map": value_map(city.polygons, counts.mean(axis=1), "released visits per hour", "mean visits per hour"),
        "sample": week_rhythm("released series of some cells", **{str(city.ids[i]): counts[i] for i in busiest}),
    }
    return Made(table, pictures, {"visits": int(counts.sum())})


def _values_of_sums(city: City) -> tuple[str, ...]:
    return tuple(f"{name}.value" for name in of_sums(city))


@asset(
    Zone.RELEASE,
    lambda city: {
        "file": column("file with the counts, or the dictionary that explains them", SETTINGS),
        "sha256": column(
            "its digest",
            *("density.count", "density.standard_error", "cells.geometry", "noisy_totals.value", "noisy_series.value"),
            *_values_of_sums(city),
            *origins_of_inputs(city),
        ),
    },
    deps=lambda city: (*DOORS, *of_sums(city), *of_inputs(city)),
    kinds=("csv", "parquet"),
)
def published_counts(step: Step, density: pl.DataFrame, cells: pl.DataFrame) -> Made:
    """The counts as files, with errors of sums where they are known, sums of regions, people, and a data dictionary.

    Parquet, CSV, GeoJSON, GeoPackage and SDMX, and the noisy measurements: `docs/release-files.md` says who loads what.
    """
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
    deps=lambda city: (
        *DOORS,
        "density",
        "published_counts",
        *of_sums(city),
        *of_inputs(city),
        *(("smoothed_series",) if learns(city) else ()),
    ),
    kinds=("json", "markdown"),
    given=("accounts", "paid_by", "estimated"),
)
def privacy_statement(step: Step, accounts: Accounts, paid_by: frozenset[str], estimated: Estimated | None) -> Made:
    """What is promised of the published counts, and how it was paid: as data and as text.

    The statement says what is promised to whom, every event with its scale, how it was paid, of which draws the counts
    are an estimate, and the digests of the files; nothing in it is computed from records. `density verify` checks that
    all of it and the ledger belong together. Data package, portal entry and entry of the registry of deployments say
    the same to machines.
    """
    end = accounts.end_of(paid_by)
    publish(step, chain_file(step, accounts, end))
    said = stated(step, step.read("density"), accounts, paid_by, end, estimated, fell_back=fell_back(step, estimated))
    publish(step, statement_files(step, said))
    publish(step, description_files(step, said, accounts))
    table = pl.DataFrame({"file": list(said["files"]), "sha256": list(said["files"].values())})
    return Made(table, facts={"statement": dg.MetadataValue.md(as_markdown(said))})


@asset(
    Zone.RELEASE,
    lambda city: {
        "file": column("the page", SETTINGS),
        "bytes": column(
            "its size",
            *("density.count", "density.standard_error", "cells.geometry", STATED),
            *_values_of_sums(city),
            *origins_of_inputs(city),
        ),
    },
    deps=lambda city: ("privacy_statement", *of_sums(city), *of_inputs(city)),
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
