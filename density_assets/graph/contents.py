"""What the files of a release hold: counts, chain, statement, page; and how they are written.

The assets of `release.py` write them, those of `final.py` write them once more of a final estimate, and before anything
is signed they are made again and compared (`following.py`).
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import polars as pl

from density_assets import series
from density_assets.estimation.clustering import round_by_largest_remainder
from density_assets.geography.tables import cells_from
from density_assets.graph.estimating import known_sums
from density_assets.graph.missing_hours import missing_hours
from density_assets.graph.public_inputs import known_inputs
from density_assets.graph.step import Step
from density_assets.privacy.accounts import Accounts
from density_assets.privacy.charges import Budget
from density_assets.privacy.estimates import ALONE, Estimated
from density_assets.publication.files import (
    AUDIT_PAGE,
    COUNT_FILES,
    DESCRIPTIONS,
    ERRORS_OF_SUMS,
    FURTHER_FILES,
    clock_note,
    counts_and_errors,
    density_table,
    digests,
)
from density_assets.publication.keeping import published_statement, refuse_other_files
from density_assets.publication.manifest import Seal
from density_assets.publication.pages.page import ReportData, report_html
from density_assets.publication.public_inputs import INPUTS_FILE, PublicInputs
from density_assets.publication.release_files import Counted, names_of_inputs, table_files
from density_assets.publication.statement import Facts, as_markdown, statement
from density_assets.publication.sums import REGION_FILES, areas_by_day, city_and_parts, people_for_page
from density_assets.publication.verification import read_statement
from density_assets.publication.vintages import PROVISIONAL_ESTIMATE, named_final
from density_assets.quality.released import Worth, worth_of
from density_assets.schemes.drawn_tables import measurements
from density_assets.schemes.scheme import SERIES, TOTALS
from resources.tables.files import write_durably

LABELS = {  # of what the page leads to, in this order; some only where the release has them
    ("density", "parquet"): "Parquet",
    ("density", "csv"): "CSV",
    ("density", "geojson"): "GeoJSON",
    ERRORS_OF_SUMS: "Errors of sums",
    ("density", "gpkg"): "GeoPackage for QGIS",
    ("cells", "parquet"): "Week of each cell (GeoParquet)",
    ("sdmx", "csv"): "SDMX-CSV",
    ("datapackage", "json"): "Data package",
    **dict(zip(REGION_FILES, ("Regions as Parquet", "Regions as CSV"), strict=True)),
    INPUTS_FILE: "Regions and factors",
    ("data_dictionary", "md"): "Data dictionary",
    ("privacy_statement", "json"): "Privacy statement",
    ("manifest", "json"): "What is signed",
}


def rounded(step: Step, estimate: pl.DataFrame, cells: pl.DataFrame) -> pl.DataFrame:
    """An estimate as a table of whole counts, with the hours' times."""
    city = cells_from(cells)
    ids = pl.Series("cell_id", city.ids.tolist())
    happens = series.happening(missing_hours(step))
    visits, errors = (series.matrix(estimate, ids, name) * happens for name in ("visits", "standard_error"))
    return density_table(city, round_by_largest_remainder(visits), errors, step.clock)


def count_files(step: Step, density: pl.DataFrame, cells: pl.DataFrame) -> dict[Path, bytes]:
    """The files of the counts and what they hold."""
    of = _counted(step, density, cells)
    made = table_files(replace(of, drawn=measurements(step.read(TOTALS), step.read(SERIES))))
    return {file: made[file] for file in _names(step, of.sums, of.inputs)}


def _counted(step: Step, density: pl.DataFrame, cells: pl.DataFrame) -> Counted:
    """What files and page are made of."""
    city, sums = step.settings.city, known_sums(step)
    geography, inputs = cells_from(cells), known_inputs(step)
    return Counted(
        step.files,
        city.name,
        city.timezone,
        step.clock,
        geography,
        density,
        sums,
        step.release,
        inputs=inputs,
    )


def _worth(density: pl.DataFrame) -> Worth:
    """What the counts say more than a flat or an empty map does."""
    return worth_of(*counts_and_errors(density))


def names_of_counts(step: Step) -> list[Path]:
    """Where the counts of a week lie, their errors of sums and what explains them."""
    return _names(step, known_sums(step), known_inputs(step))


def _names(step: Step, sums: pl.DataFrame | None, inputs: PublicInputs) -> list[Path]:
    further = (*FURTHER_FILES, *names_of_inputs(inputs))
    return [step.files.file(*name) for name in (*COUNT_FILES, *further, *(() if sums is None else (ERRORS_OF_SUMS,)))]


def names_of_descriptions(step: Step) -> list[Path]:
    """Where lies what tells machines of the release (`describing.py`)."""
    return [step.files.file(*name) for name in DESCRIPTIONS]


def fell_back(step: Step, estimated: Estimated | None) -> bool:
    """Whether the week was estimated alone because the estimator failed."""
    return estimated is not None and step.read("smoothed_series")["estimator"][0] == ALONE


def chain_file(step: Step, accounts: Accounts, end: int) -> dict[Path, bytes]:
    """The ledger's chain up to an entry, which the statement refers to.

    It ends where this release does, so that making the statement again writes the same bytes: whoever is killed
    between the two leaves files that belong together.
    """
    chain = accounts.published(end)
    return {step.files.file("ledger", "json"): json.dumps(chain).encode()}


def statement_files(step: Step, said: Mapping[str, Any]) -> dict[Path, bytes]:
    """A statement as data and as text."""
    data, text = (step.files.file("privacy_statement", suffix) for suffix in ("json", "md"))
    return {data: json.dumps(said, indent=2).encode(), text: as_markdown(said).encode()}


def stated(
    step: Step,
    density: pl.DataFrame,
    accounts: Accounts,
    paid_by: frozenset[str],
    end: int,
    estimated: Estimated | None,
    *,
    fell_back: bool = False,
) -> dict[str, Any]:
    """What the statement says of counts and chain as they lie there.

    end: the entry that the chain ends with. fell_back: whether the estimator failed.
    """
    city, file = step.settings.city, step.files.file("ledger", "json")
    facts = Facts(
        release=step.release,
        timezone=city.timezone,
        people=city.people,
        accounts=accounts,
        charges=[row for row in accounts.rows if row.hash in paid_by],
        end=end,
        ledger_file=file.name,
        budget=Budget.of(step.settings),
        files=digests([*names_of_counts(step), file]),
        estimated=estimated,
        fell_back=fell_back,
        worth=_worth(density),
    )
    said = statement(facts)
    # Warnings compare with the population that settings state, and grow with versions: those of a published week are
    # what was stated then, until somebody asks for other files.
    published = accounts.publications(step.release.which, step.upto)
    kept = {} if step.again else published_statement(step.files, published)
    return {**said, "warnings": kept["warnings"]} if "warnings" in kept else said


def page_file(
    step: Step,
    density: pl.DataFrame,
    cells: pl.DataFrame,
    seal: Seal,
    notes: Sequence[str] = (),
    beside: Mapping[str, str] = MappingProxyType({}),
) -> dict[Path, bytes]:
    """The page and what it holds.

    notes: what it says besides. beside: further files it leads to, by their labels.
    """
    of = _counted(step, density, cells)
    files, city, inputs = step.files, of.cells, of.inputs
    counts, errors = counts_and_errors(density)
    summary, parts = of.week.sums, city_and_parts(city.centroids, inputs.regions)
    worth, clocks = of.worth, clock_note(step.clock)
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
            downloads=_downloads(step, of, beside),
            notes=[*notes, clocks, *([] if worth.too_small else [str(worth)])],
            manifest=files.file("manifest", "json").name,
            fingerprint=seal.fingerprint,
            vintage=_vintage(step),
            areas=areas_by_day(of.week, parts),
            warning=" ".join(worth.warnings),
            sums=summary,
            groups={name: np.flatnonzero(part).tolist() for name, part in parts.items()},
            missing=list(step.clock.missing),
            people=people_for_page(inputs.factors, of.week, parts) if inputs.factors else None,
        )
    )
    return {files.file("report", "html"): page.encode()}


def _downloads(step: Step, of: Counted, beside: Mapping[str, str]) -> dict[str, str]:
    """What a page leads to: names of files, by their labels."""
    there = {*_names(step, of.sums, of.inputs), *names_of_descriptions(step)}
    there |= {step.files.file(*name) for name in (("privacy_statement", "json"), ("manifest", "json"))}
    files = ((label, step.files.file(*name)) for name, label in LABELS.items())
    listed = {label: file.name for label, file in files if file in there}
    return {**listed, **beside, "Audit of all releases": AUDIT_PAGE}


def _vintage(step: Step) -> str:
    """Which estimate of the week a page shows; nothing where the statement names none."""
    if step.upto:
        return named_final(step.upto)
    return PROVISIONAL_ESTIMATE if "estimate" in read_statement(step.files.file("privacy_statement", "json")) else ""


def publish(step: Step, contents: Mapping[Path, bytes]) -> None:
    """Write files of a release; those of a published week only as they were signed, unless a person asked for others.

    A file that was damaged since is made whole by this.
    """
    if not step.again:
        refuse_other_files(step.files, contents)
    for file, content in contents.items():
        write_durably(file, content)
