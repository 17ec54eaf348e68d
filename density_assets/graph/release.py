"""The release zone: everything here may be handed out. It reads public assets and what the doors drew.

In order: noisy numbers become an estimate of each cell (`estimating.py`), whole counts (`density`), files
(`published_counts`), what is promised of them (`privacy_statement`) and a page (`density_report`). The checks of
`density` stand before its files. All of these run in a process that cannot open confidential files.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import dagster as dg
import numpy as np
import polars as pl

from density_assets import series
from density_assets.calendar import HOURS
from density_assets.city import City
from density_assets.estimation.rounding import round_by_largest_remainder
from density_assets.geography.tables import cells_from
from density_assets.graph.assets import asset
from density_assets.graph.columns import CALENDAR, SETTINGS, column
from density_assets.graph.estimating import known_sums, of_sums
from density_assets.graph.past import learns
from density_assets.graph.step import Made, Step
from density_assets.privacy.accounts import Accounts
from density_assets.privacy.charges import Budget
from density_assets.privacy.estimates import ALONE, Estimated
from density_assets.privacy.zones import Zone
from density_assets.publication.files import (
    AUDIT_PAGE,
    COUNT_FILES,
    ERRORS_OF_SUMS,
    clock_note,
    density_table,
    dictionary,
    digests,
    geojson,
)
from density_assets.publication.keeping import published_statement, refuse_other_files
from density_assets.publication.manifest import Seal
from density_assets.publication.pages.areas import Area, areas_by_day
from density_assets.publication.pages.page import ReportData, report_html
from density_assets.publication.pictures.maps import value_map
from density_assets.publication.pictures.rhythm import week_rhythm
from density_assets.publication.statement import Facts, as_markdown, statement
from density_assets.publication.sum_errors import summary_from
from density_assets.quality.worth import Worth, worth
from density_assets.schemes.scheme import SERIES, TOTALS
from resources.tables.files import parquet_bytes, write_durably

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
    city = cells_from(cells)
    ids = pl.Series("cell_id", city.ids.tolist())
    counts = round_by_largest_remainder(series.matrix(smoothed_series, ids, "visits"))
    table = density_table(city, counts, series.matrix(smoothed_series, ids, "standard_error"), step.clock)
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
            "its digest", "density.count", "density.standard_error", "cells.geometry", *_values_of_sums(city)
        ),
    },
    deps=of_sums,
    kinds=("csv", "parquet"),
)
def published_counts(step: Step, density: pl.DataFrame, cells: pl.DataFrame) -> Made:
    """The counts as files: Parquet, CSV and GeoJSON, with errors of sums where they are known and a data dictionary."""
    contents = count_files(step, density, cells)
    _publish(step, contents)
    by_file = digests(list(contents))
    return Made(pl.DataFrame({"file": list(by_file), "sha256": list(by_file.values())}))


def count_files(step: Step, density: pl.DataFrame, cells: pl.DataFrame) -> dict[Path, bytes]:
    """The files of the counts and what they hold."""
    counts, sums = density["count"].to_numpy().reshape(-1, HOURS), known_sums(step)
    told_in = None if sums is None else step.files.file(*ERRORS_OF_SUMS).name
    of_counts = None if sums is None else _worth(density)  # earlier files say nothing of it, and stay as they are
    contents = (
        parquet_bytes(density),
        density.write_csv().encode(),
        geojson(cells_from(cells), counts).encode(),
        dictionary(step.settings.city.name, step.settings.city.timezone, step.clock, told_in, of_counts).encode(),
        *(() if sums is None else (parquet_bytes(sums),)),
    )
    return dict(zip(names_of_counts(step), contents, strict=True))


def _worth(density: pl.DataFrame) -> Worth:
    """What the counts say more than a flat or an empty map does."""
    return worth(*(density[name].to_numpy().reshape(-1, HOURS) for name in ("count", "standard_error")))


def names_of_counts(step: Step) -> list[Path]:
    """Where the counts of a week lie, their errors of sums and what explains them."""
    sums = () if known_sums(step) is None else (ERRORS_OF_SUMS,)
    return [step.files.file(*name) for name in (*COUNT_FILES, *sums)]


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
        *(("smoothed_series",) if learns(city) else ()),
    ),
    kinds=("json", "markdown"),
    given=("accounts", "paid_by", "estimated"),
)
def privacy_statement(step: Step, accounts: Accounts, paid_by: frozenset[str], estimated: Estimated | None) -> Made:
    """What is promised of the published counts, and how it was paid: as data and as text.

    The statement says what is promised to whom, every event with its scale, how it was paid, of which draws the counts
    are an estimate, and the digests of the files; nothing in it is computed from records. `make verify` checks that all
    of it and the ledger belong together.
    """
    _publish(step, chain_file(step, accounts, paid_by))
    said = stated(step, accounts, paid_by, estimated)
    _publish(step, statement_files(step, said))
    table = pl.DataFrame({"file": list(said["files"]), "sha256": list(said["files"].values())})
    return Made(table, facts={"statement": dg.MetadataValue.md(as_markdown(said))})


def chain_file(step: Step, accounts: Accounts, paid_by: frozenset[str]) -> dict[Path, bytes]:
    """The ledger's chain, which the statement refers to.

    It ends where this release does, so that making the statement again writes the same bytes: whoever is killed
    between the two leaves files that belong together.
    """
    chain = accounts.records.published(accounts.end_of(paid_by))
    return {step.files.file("ledger", "json"): json.dumps(chain).encode()}


def statement_files(step: Step, said: Mapping[str, Any]) -> dict[Path, bytes]:
    """A statement as data and as text."""
    data, text = (step.files.file("privacy_statement", suffix) for suffix in ("json", "md"))
    return {data: json.dumps(said, indent=2).encode(), text: as_markdown(said).encode()}


def stated(step: Step, accounts: Accounts, paid_by: frozenset[str], estimated: Estimated | None) -> dict[str, Any]:
    """What the statement says of counts and chain as they lie there."""
    city, file, end = step.settings.city, step.files.file("ledger", "json"), accounts.end_of(paid_by)
    facts = Facts(
        release=step.release,
        timezone=city.timezone,
        people=city.population or (city.simulated_users if city.synthetic else None),
        accounts=accounts,
        charges=[row for row in accounts.rows if row.hash in paid_by],
        end=end,
        ledger_file=file.name,
        budget=Budget.of(step.settings),
        files=digests([*names_of_counts(step), file]),
        estimated=estimated,
        fell_back=estimated is not None and step.read("smoothed_series")["estimator"][0] == ALONE,
        worth=_worth(step.read("density")),
    )
    said = statement(facts)
    # Warnings compare with the population that settings state, and grow with versions: those of a published week are
    # what was stated then.
    published = published_statement(step.files)
    return {**said, "warnings": published["warnings"]} if "warnings" in published else said


@asset(
    Zone.RELEASE,
    lambda city: {
        "file": column("the page", SETTINGS),
        "bytes": column(
            "its size", "density.count", "density.standard_error", "cells.geometry", STATED, *_values_of_sums(city)
        ),
    },
    deps=lambda city: ("privacy_statement", *of_sums(city)),
    kinds=("html",),
    given=("accounts", "paid_by"),
)
def density_report(
    step: Step, density: pl.DataFrame, cells: pl.DataFrame, accounts: Accounts, paid_by: frozenset[str]
) -> Made:
    """The release as one HTML page: map with a slider over the week, series of a cell, rhythm, statement, downloads.

    The page asks the network for nothing and can be handed out with the files beside it.
    """
    contents = page_file(step, density, cells, accounts, paid_by)
    _publish(step, contents)
    (file,) = contents
    table = pl.DataFrame({"file": [file.name], "bytes": [file.stat().st_size]})
    return Made(table, facts={"page": dg.MetadataValue.path(str(file))})


def page_file(
    step: Step, density: pl.DataFrame, cells: pl.DataFrame, accounts: Accounts, paid_by: frozenset[str]
) -> dict[Path, bytes]:
    """The page and what it holds."""
    files, city, sums = step.files, cells_from(cells), known_sums(step)
    downloads = {
        "Parquet": files.file("density", "parquet").name,
        "CSV": files.file("density", "csv").name,
        "GeoJSON": files.file("density", "geojson").name,
        **({} if sums is None else {"Errors of sums": files.file(*ERRORS_OF_SUMS).name}),
        "Data dictionary": files.file("data_dictionary", "md").name,
        "Privacy statement": files.file("privacy_statement", "json").name,
        "What is signed": files.file("manifest", "json").name,
        "Audit of all releases": AUDIT_PAGE,
    }
    counts, errors = (density[name].to_numpy().reshape(-1, HOURS) for name in ("count", "standard_error"))
    areas: list[Area] = []
    if sums is not None:
        happens = ~np.isin(np.arange(HOURS), step.clock.missing)
        areas = areas_by_day(summary_from(sums, cells["cell_id"]), counts, errors, city.centroids, happens)
    page = report_html(
        ReportData(
            city=step.settings.city.name,
            week=step.week,
            timezone=step.settings.city.timezone,
            cell_ids=city.ids.tolist(),
            polygons=city.polygons,
            counts=counts,
            standard_errors=errors,
            statement=files.file("privacy_statement", "md").read_text(encoding="utf-8"),
            downloads=downloads,
            notes=[clock_note(step.clock), *([] if sums is None else [_worth(density).note])],
            manifest=files.file("manifest", "json").name,
            fingerprint=Seal.at(accounts, accounts.end_of(paid_by)).fingerprint,
            areas=areas,
        )
    )
    return {files.file("report", "html"): page.encode()}


def _publish(step: Step, contents: Mapping[Path, bytes]) -> None:
    """Write files of a release; those of a published week only as they were signed, unless a person asked for others.

    A file that was damaged since is made whole by this.
    """
    if not step.again:
        refuse_other_files(step.files, contents)
    for file, content in contents.items():
        write_durably(file, content)
