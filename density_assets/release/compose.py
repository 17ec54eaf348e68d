"""The files of a release: one function of draws, public geography, accounts and vintage.

`Composition` is what a release is made of; each part of it is computed when it is first asked for, and `compose` gives
every file by name, the list of all of them last. A first release and a final estimate differ in their estimate and in
how their files are called, and in nothing else. What assets show along the way are parts of the same composition, and
what is signed is what `compose` returns: no table and no file that lies on a disk enters, but for the public geography,
which must be the one that was drawn (`refuse_other_geography`), and the files of draws, which the ledger knows.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from importlib.resources import files as packaged
from typing import Any

import numpy as np
import polars as pl
import shapely

from density_assets import series
from density_assets.calendar import WeekClock, week_clock
from density_assets.errors import BadInput
from density_assets.estimation.clustering import round_by_largest_remainder
from density_assets.geography.cells_and_towers import geography_hash
from density_assets.geography.overlaps import overlaps, tower_cells
from density_assets.geography.places import minimum_cover
from density_assets.geography.tables import (
    cells_from,
    cover_table,
    footprints_from,
    overlaps_from,
    overlaps_table,
    polygons,
    stated_in,
    towers_from,
)
from density_assets.privacy.accounts import Accounts
from density_assets.privacy.charges import Budget
from density_assets.privacy.estimates import Estimated
from density_assets.privacy.release import Release
from density_assets.publication.catalogues import Dataset, data_package, dcat, deployment
from density_assets.publication.files import (
    AUDIT_PAGE,
    DESCRIPTIONS,
    ERRORS_OF_SUMS,
    Naming,
    clock_note,
    counts_and_errors,
    density_table,
    draw_file,
)
from density_assets.publication.pages.page import ReportData, report_html
from density_assets.publication.public_inputs import INPUTS_FILE, inputs_in
from density_assets.publication.release_files import Counted, table_files
from density_assets.publication.statement import Facts, as_markdown, statement
from density_assets.publication.sums import REGION_FILES, areas_by_day, city_and_parts, people_for_page
from density_assets.publication.verify import public_pem
from density_assets.publication.vintages import PROVISIONAL_ESTIMATE, Changed, named_final
from density_assets.release.estimate import Estimation, Source
from density_assets.release.manifest import VERIFIER, Seal, release_manifest
from density_assets.schemes.drawn_tables import measurements
from density_assets.settings import Settings
from density_assets.settings.people import PublicationSettings

Files = dict[str, bytes]  # contents by name

DOWNLOADS = {  # labels of what the page leads to, in this order; some only where the release has them
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


@dataclass(frozen=True)
class Stated:
    """What people state of a release beside its counts.

    inputs: the file of regions and factors; empty where there are none. publication: the words of the publisher.
    warnings: those of the statement, where they are not to be made from today's settings.
    """

    inputs: bytes
    publication: PublicationSettings
    warnings: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Terms:
    """What a release is composed under, besides public geography and draws: gathered where ledger and settings are.

    run: the run that asks. accounts: the ledger. paid_by: hashes of the charges of the week's own draws.
    estimated: which draws the first estimate uses; none where the scheme knows no other week.
    final: which draws the final estimate uses; none of a first release.
    """

    run: str
    accounts: Accounts
    paid_by: frozenset[str]
    estimated: Estimated | None
    stated: Stated
    final: Estimated | None = None


@dataclass(frozen=True)
class Composition:
    """What a release is composed of.

    files: how its files are called, which says the vintage.
    first: the estimate that the week was first published with, of a final one.
    """

    estimation: Estimation
    files: Naming
    stated: Stated
    first: Estimation | None = None

    @property
    def charges(self) -> frozenset[str]:
        """Hashes of the charges that paid for every draw that is published with it."""
        final = self.estimation.estimated if self.first else None
        return final.charges if final else self.estimation.paid_by

    @property
    def release(self) -> Release:
        """What was drawn, and what it promises."""
        return self.estimation.release

    @property
    def clock(self) -> WeekClock:
        """The clock of the week."""
        return week_clock(date.fromisoformat(self.release.week), self.estimation.settings.city.zone)

    @property
    def seal(self) -> Seal:
        """The ledger behind it, as it was after the last draw that enters, and the key it is signed with."""
        accounts = self.estimation.accounts
        return Seal.at(accounts, accounts.end_of(self.charges, **self.release.which))

    @cached_property
    def density(self) -> pl.DataFrame:
        """The released counts."""
        return whole_counts(self.estimation.cells, self.estimation.tables["cells"], self.clock)

    @cached_property
    def count_files(self) -> Files:
        """The counts, their errors, what explains them, and what was drawn."""
        return {file.name: content for file, content in table_files(self.counted).items()}

    @cached_property
    def counted(self) -> Counted:
        """What the files of counts are made of."""
        city, sums = self.estimation.settings.city, self.estimation.sums
        return Counted(
            self.files,
            city.name,
            city.timezone,
            self.clock,
            cells_from(self.estimation.tables["cells"]),
            self.density,
            None if sums.is_empty() else sums,
            self.release,
            measurements(self.estimation.totals_table, self.estimation.series_table),
            inputs_in(self.stated.inputs),
        )

    @cached_property
    def chain(self) -> Files:
        """The chain of the ledger up to the last draw that enters, to which the statement refers."""
        content = json.dumps(self.estimation.accounts.published(self.seal.row)).encode()
        return {self._named("ledger", "json"): content}

    @cached_property
    def statement(self) -> dict[str, Any]:
        """What is promised, and how it was paid, as data."""
        of, city = self.estimation, self.estimation.settings.city
        facts = Facts(
            release=self.release,
            timezone=city.timezone,
            people=city.people,
            accounts=of.accounts,
            charges=[row for row in of.accounts.rows if row.hash in of.paid_by],
            end=self.seal.row,
            ledger_file=self._named("ledger", "json"),
            budget=Budget.of(of.settings),
            files={name: sha256(content) for name, content in (self.count_files | self.chain).items()},
            estimated=of.estimated,
            fell_back=of.alone,
            worth=self.counted.worth,
        )
        warnings = {} if self.stated.warnings is None else {"warnings": list(self.stated.warnings)}
        return {**statement(facts), **warnings}

    @cached_property
    def statement_files(self) -> Files:
        """The statement for machines and for people."""
        data, text = json.dumps(self.statement, indent=2), as_markdown(self.statement)
        return {
            self._named("privacy_statement", suffix): content.encode()
            for suffix, content in (("json", data), ("md", text))
        }

    @cached_property
    def description_files(self) -> Files:
        """The entries of catalogues: a data package, that of a portal, and that of the registry of deployments."""
        described = self.count_files | self.statement_files | self.chain
        dataset = Dataset(self.files, self.statement, described, self.stated.publication)
        makers = (data_package, dcat, deployment)
        return {self._named(*name): make(dataset) for name, make in zip(DESCRIPTIONS, makers, strict=True)}

    @cached_property
    def page(self) -> Files:
        """The page for everybody."""
        of, city = self.counted, self.estimation.settings.city
        counts, errors = counts_and_errors(self.density)
        parts = city_and_parts(of.cells.centroids, of.inputs.regions)
        page = report_html(
            ReportData(
                city=city.name,
                week=date.fromisoformat(self.release.week),
                timezone=city.timezone,
                cell_ids=of.cells.ids.tolist(),
                polygons=of.cells.polygons,
                counts=counts,
                standard_errors=errors,
                statement=self.statement_files[self._named("privacy_statement", "md")].decode(),
                downloads=self._downloads,
                notes=[*self._notes, clock_note(self.clock), *([] if of.worth.too_small else [str(of.worth)])],
                manifest=self._named("manifest", "json"),
                fingerprint=self.seal.fingerprint,
                vintage=self._vintage,
                areas=areas_by_day(of.week, parts),
                warning=" ".join(of.worth.warnings),
                sums=of.week.sums,
                groups={name: np.flatnonzero(part).tolist() for name, part in parts.items()},
                missing=list(self.clock.missing),
                people=people_for_page(of.inputs.factors, of.week, parts) if of.inputs.factors else None,
            )
        )
        return {self._named("report", "html"): page.encode()}

    @cached_property
    def changed(self) -> Changed | None:
        """What changed since the week was first published; none in what it is first published with."""
        if self.first is None:
            return None
        return Changed.between(whole_counts(self.first.cells, self.first.tables["cells"], self.clock), self.density)

    @property
    def draws(self) -> Files:
        """The files of all draws that enter, as seen from the release folder, by name; they are published too."""
        of = self.estimation
        contents = {
            draw_file(draw.measurement): of.source.draw_content(door, week, of.accounts)
            for week in (of.used if self.first else [of.own])
            for door, draw in week.doors.items()
        }
        return dict(sorted(contents.items()))

    @property
    def _notes(self) -> list[str]:
        """What the page of a final estimate says of its vintages."""
        if self.changed is None:
            return []
        provisional = self._first_named("density", "csv")
        return [
            f"This is the final estimate of the week, with weeks up to {self.files.upto}. The provisional one, with "
            f"which the week was first published, stands beside it in {provisional}.",
            self.changed.words,
        ]

    @property
    def _downloads(self) -> dict[str, str]:
        """What the page leads to: names of files, by their labels."""
        written = {*self.count_files, *self.statement_files, self._named("manifest", "json")}
        written |= {self._named(*name) for name in DESCRIPTIONS}
        labelled = {label: self._named(*name) for name, label in DOWNLOADS.items()}
        beside = {"Provisional estimate": self._first_named("report", "html")} if self.first else {}
        present = {label: name for label, name in labelled.items() if name in written}
        return {**present, **beside, "Audit of all releases": AUDIT_PAGE}

    @property
    def _vintage(self) -> str:
        """Which estimate of the week the page shows; nothing where there is one only."""
        if self.files.upto:
            return named_final(self.files.upto)
        return PROVISIONAL_ESTIMATE if self.estimation.estimated else ""

    def _named(self, stem: str, suffix: str) -> str:
        return self.files.file(stem, suffix).name

    def _first_named(self, stem: str, suffix: str) -> str:
        return Naming(self.files.folder, self.files.week, self.files.revision).file(stem, suffix).name


_LAST: dict[tuple[Any, ...], Composition] = {}  # at most one


def composition(
    settings: Settings,
    release: Release,
    files: Naming,
    tables: Mapping[str, pl.DataFrame],
    source: Source,
    terms: Terms,
) -> Composition:
    """Return what a release is composed of, by the vintage that the terms name.

    tables: the public geography by name. The last composition is kept, because the assets of a run show parts of one;
    tables are compared by content, and draws are known by the digests in the accounts.
    """
    contents = tuple((name, table.write_ipc(None).getvalue()) for name, table in tables.items())
    key = (terms.run, release.name, files, terms.final is None, terms.accounts.head, repr(terms.stated), contents)
    if key not in _LAST:
        first = Estimation(settings, release, tables, source, terms.accounts, terms.paid_by, terms.estimated)
        made = Composition(first, files, terms.stated)
        if terms.final:
            upto = terms.final.later[-1].week
            stated = replace(terms.stated, warnings=None)  # those of the first were of what was spent by then
            made = Composition(replace(first, estimated=terms.final), replace(files, upto=upto), stated, first)
        _LAST.clear()
        _LAST[key] = made
    return _LAST[key]


def compose(of: Composition) -> Files:
    """Return every file of a release by name; the last is the list of them, which is what is signed.

    Guarantees: every file follows from draws that the ledger knows, from the geography that was drawn, from accounts
    and from what people state; the list names each with its digest, and the draws beside them.
    """
    refuse_other_geography(of.estimation.tables, of.release.geography)
    files = of.count_files | of.description_files | of.chain | of.statement_files | of.page
    tools = tools_beside(of.seal)
    listed = {**files, **of.draws, of.seal.key_file: tools[of.seal.key_file]}
    manifest = of.files.file("manifest", "json").name
    return {**files, **tools, manifest: release_manifest(of.files, of.release.which, listed, of.seal)}


def tools_beside(seal: Seal) -> Files:
    """Return what an outsider needs beside the files: the public key, and the script that checks."""
    script = packaged("density_assets.publication").joinpath(VERIFIER).read_bytes()
    return {seal.key_file: public_pem(bytes.fromhex(seal.key)), VERIFIER: script}


def whole_counts(estimate: pl.DataFrame, cells: pl.DataFrame, clock: WeekClock) -> pl.DataFrame:
    """Return an estimate as a table of whole counts, with the times of hours.

    An hour that clocks skip has rows, so that every cell has 168, and a count and an error of zero: an estimate smooths
    over such an hour, and what it says there means nothing.
    """
    city = cells_from(cells)
    ids, happens = pl.Series("cell_id", city.ids.tolist()), series.happening(clock.missing)
    visits, errors = (series.matrix(estimate, ids, name) * happens for name in ("visits", "standard_error"))
    return density_table(city, round_by_largest_remainder(visits), errors, clock)


def refuse_other_geography(tables: Mapping[str, pl.DataFrame], drawn: str) -> None:
    """Raise if public tables are not those that were drawn, or do not follow from them: they turn draws into counts.

    drawn: hash of the geography of the release.
    """
    for other in _other_geography(tables, drawn):
        raise BadInput(f"{other} is not that of the draws; materialize the public assets again. Nothing was signed")


def _other_geography(tables: Mapping[str, pl.DataFrame], drawn: str) -> list[str]:
    cells, towers, pieces = (tables[name] for name in ("cells", "towers", "overlaps"))
    city, sites = cells_from(cells), towers_from(towers)
    if geography_hash(city, sites, footprints_from(pieces)) != drawn:
        return ["the table of cells, towers or footprints"]
    wrong = []
    if not stated_in(pieces):
        shapes = tower_cells(sites.xy, city.city)
        if not _same_pieces(pieces, overlaps_table(overlaps(shapes, city.polygons), towers, cells)):
            wrong.append("the table of overlaps")
        if "tower_cells" in tables and not _same_shapes(polygons(tables["tower_cells"]), shapes):
            wrong.append("the table of tower cells")
    if "cover_graph" in tables:
        cover = minimum_cover(overlaps_from(pieces, towers, cells))
        if not tables["cover_graph"].equals(cover_table(cover, towers, cells)):
            wrong.append("the table of the cover")
    return wrong


def _same_shapes(stored: Any, again: Any) -> bool:
    return len(stored) == len(again) and bool(shapely.equals_exact(stored, again, tolerance=1e-3).all())


def _same_pieces(stored: pl.DataFrame, again: pl.DataFrame) -> bool:
    """Whether two tables have the same pieces, of the same size to a thousandth of a square metre or a millionth."""
    keys = pl.col("tower_id", "cell_id").cast(pl.String)
    if not stored.select(keys).equals(again.select(keys)):
        return False
    return bool(np.allclose(stored["area_m2"].to_numpy(), again["area_m2"].to_numpy(), rtol=1e-6, atol=1e-3))


def sha256(content: bytes) -> str:
    """Return the digest of a content."""
    return hashlib.sha256(content).hexdigest()
