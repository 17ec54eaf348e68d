"""The release zone: everything here may be handed out. It reads public assets and what the doors drew.

In order: noisy numbers become an estimate of each cell (`estimating.py`), whole counts (`density`), files
(`published_counts`), what is promised of them (`privacy_statement`) and a page (`density_report`). These show parts of
one composition and write no file; `signed_release` composes the whole from stored draws, and what it composed is signed
and written. The checks of `density` stand before. All of it runs in a process that cannot open confidential files.
"""

import json
from dataclasses import replace
from typing import Any

import dagster as dg
import numpy as np
import polars as pl

from density_assets.city import City
from density_assets.geography.tables import cells_from
from density_assets.graph.assets import asset
from density_assets.graph.columns import CALENDAR, SETTINGS, Columns, column
from density_assets.graph.estimating import composed, composed_of, of_sums, past_of
from density_assets.graph.given import Asked
from density_assets.graph.step import Made, Step
from density_assets.privacy.zones import Zone
from density_assets.publication.files import counts_and_errors
from density_assets.publication.pictures import value_map, week_rhythm
from density_assets.publication.statement import as_markdown
from density_assets.quality.released import disagreements
from density_assets.release.compose import Composition, Files, Terms, compose, sha256, whole_counts
from density_assets.release.estimate import state_digest
from density_assets.release.sign import Publication, sign_release

SAMPLE_CELLS = 5


def of_inputs(city: City) -> tuple[str, ...]:
    """The public assets that a city has of regions and factors of people."""
    settings = city.settings
    return (
        *(("regions",) if settings.city.has_regions else ()),
        *(("people_factors",) if settings.people.stated else ()),
    )


def _origins_of_files(city: City) -> tuple[str, ...]:
    """The columns that files of counts come from, besides the counts."""
    values = {"regions": "regions.region_id", "people_factors": "people_factors.value"}
    sums = (f"{name}.value" for name in of_sums(city))
    return ("density.standard_error", "cells.geometry", *sums, *(values[asset] for asset in of_inputs(city)))


def covering(*origins: str) -> Columns:
    """The columns of a table of signed files."""
    return {
        "file": column("file that is covered", SETTINGS),
        "sha256": column("its digest", *origins),
        "bytes": column("its size", *origins),
    }


def covered(files: Files, manifest: str) -> Made:
    """Return what a step that signs made: the files, their list last, and a table of what the list names."""
    said = json.loads(files[manifest])
    table = pl.DataFrame([{"file": name, **about} for name, about in said["files"].items()])
    return Made(table, facts={"manifest": manifest, "fingerprint": said["key"]["fingerprint"]}, files=files)


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

    Rounded hour by hour by largest remainder. Its checks come before anything of it is signed.
    """
    city, table = cells_from(cells), whole_counts(smoothed_series, cells, step.clock)
    counts, _ = counts_and_errors(table)
    busiest = np.argsort(-counts.sum(axis=1))[:: max(1, len(counts) // SAMPLE_CELLS)][:SAMPLE_CELLS]
    pictures = {
        "map": value_map(city.polygons, counts.mean(axis=1), "released visits per hour", "mean visits per hour"),
        "sample": week_rhythm("released series of some cells", **{str(city.ids[i]): counts[i] for i in busiest}),
    }
    return Made(table, pictures, {"visits": int(counts.sum())})


@asset(
    Zone.RELEASE,
    lambda city: {
        "file": column("file with the counts, or the dictionary that explains them", SETTINGS),
        "sha256": column(
            "its digest", "density.count", "noisy_totals.value", "noisy_series.value", *_origins_of_files(city)
        ),
        "problem": column("why it cannot be handed out; empty if it can", "density.count"),
    },
    deps=lambda city: ("density", *composed_of(city), *of_sums(city), *of_inputs(city)),
    looks_back=past_of,
    kinds=("csv", "parquet"),
    given=("terms",),
)
def published_counts(step: Step, terms: Terms) -> Made:
    """The counts as files, with errors of sums where they are known, sums of regions, people, and a data dictionary.

    Parquet, CSV, GeoJSON, GeoPackage and SDMX, and the noisy measurements: `docs/release-files.md` says who loads what.
    `signed_release` writes them.
    """
    of = composed(step, terms)
    counts = [of.files.file("density", kind).name for kind in ("parquet", "csv", "geojson")]
    wrong = disagreements({name: of.count_files[name] for name in counts})
    rows = [(name, sha256(content), wrong.get(name)) for name, content in of.count_files.items()]
    return Made(pl.DataFrame(rows, schema=dict.fromkeys(("file", "sha256", "problem"), pl.String), orient="row"))


@asset(
    Zone.RELEASE,
    {
        "file": column("file of the release", "published_counts.file"),
        "sha256": column("its digest", "published_counts.sha256"),
    },
    deps=lambda city: ("published_counts", *composed_of(city), *of_sums(city), *of_inputs(city)),
    looks_back=past_of,
    kinds=("json", "markdown"),
    given=("terms",),
)
def privacy_statement(step: Step, terms: Terms) -> Made:
    """What is promised of the published counts, and how it was paid: as data and as text.

    The statement says what is promised to whom, every event with its scale, how it was paid, of which draws the counts
    are an estimate, and the digests of the files; nothing in it is computed from records. `density verify` checks that
    all of it and the ledger belong together. Data package, portal entry and entry of the registry of deployments say
    the same to machines.
    """
    said = composed(step, terms).statement
    table = pl.DataFrame({"file": list(said["files"]), "sha256": list(said["files"].values())})
    return Made(table, facts={"statement": dg.MetadataValue.md(as_markdown(said))})


@asset(
    Zone.RELEASE,
    lambda city: {
        "file": column("the page", SETTINGS),
        "bytes": column("its size", "density.count", "privacy_statement.sha256", *_origins_of_files(city)),
    },
    deps=lambda city: ("density", "privacy_statement", *composed_of(city), *of_sums(city), *of_inputs(city)),
    looks_back=past_of,
    kinds=("html",),
    given=("terms",),
)
def density_report(step: Step, terms: Terms) -> Made:
    """The release as one HTML page: map with a slider over the week, series of a cell, rhythm, statement, downloads.

    The page asks the network for nothing and can be handed out with the files beside it.
    """
    return Made(pl.DataFrame([{"file": name, "bytes": len(page)} for name, page in composed(step, terms).page.items()]))


def sign(asked: Asked, step: Step, arguments: dict[str, Any], made: Made) -> None:
    """Sign and write what was composed of a week, or of the final estimate of one."""
    (terms,) = arguments.values()
    estimated = terms.final or terms.estimated
    upto = terms.final.later[-1].week if terms.final else None
    state = {"state": made.facts["state"]} if "state" in made.facts else {}
    publication = Publication(
        step.release,
        replace(step.files, upto=upto),
        made.files,
        terms.accounts,
        terms.final.charges if terms.final else terms.paid_by,
        {} if estimated is None else {"estimate": estimated.key(step.release), **state},
        asked.act,
        asked.anew,
    )
    sign_release(asked.city, publication, step.say)


def signed(of: Composition) -> Made:
    """Return every file of a composition, to be signed."""
    return covered(compose(of), of.files.file("manifest", "json").name)


@asset(
    Zone.RELEASE,
    covering("published_counts.sha256", "privacy_statement.sha256", "density_report.bytes"),
    deps=lambda city: (
        *("published_counts", "privacy_statement", "density_report", *composed_of(city)),
        *(*of_inputs(city), *of_sums(city), *past_of(city)[:1]),
    ),
    looks_back=past_of,
    kinds=("json",),
    given=("terms",),
    after=sign,
)
def signed_release(step: Step, terms: Terms) -> Made:
    """Every published file of the week with its digest, signed: `verify.py` and the key's fingerprint check them all.

    All of it is composed here from stored draws that the ledger knows; what assets show along the way is not read. The
    fingerprint must come from elsewhere than the release: whoever forges the one can forge the other.
    """
    of = composed(step, terms)
    made, state = signed(of), of.estimation.state
    return made if state.is_empty() else replace(made, facts={**made.facts, "state": state_digest(state)})
