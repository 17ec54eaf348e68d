"""The files of the counts: what each holds.

Everything here is computed from released counts, their errors and public geography, and is the same bytes whenever it
is computed: what an asset shows is what is signed.
"""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from density_assets.calendar import HOURS, WeekClock
from density_assets.geography.cells_and_towers import Cells
from density_assets.privacy.release import Identity
from density_assets.publication.catalogues import sdmx_csv
from density_assets.publication.columns import (
    CELLS,
    DENSITY,
    MEASUREMENTS,
    REGIONS,
    SUMS,
    Columns,
    described,
    described_parquet,
    geo_metadata,
    with_geometry,
)
from density_assets.publication.files import ERRORS_OF_SUMS, Naming, counts_and_errors, dictionary, geojson, in_degrees
from density_assets.publication.geopackage import geopackage
from density_assets.publication.people import People, people_in_cells, people_of_each_cell
from density_assets.publication.public_inputs import INPUTS_FILE, PublicInputs, explained, written
from density_assets.publication.sum_errors import WeekCounts, summary_from
from density_assets.publication.sums import (
    REGION_FILES,
    cell_totals,
    counts_with_intervals,
    region_sums,
    with_moments,
)
from density_assets.quality.released import Worth, worth_of
from density_assets.series import happening


@dataclass(frozen=True)
class Counted:
    """What files of counts are made of.

    naming: what the files are called. city, timezone, clock: of the week. cells: their geography, in the order of
    `density`: the released counts, 168 of each cell. sums: errors of sums, where they are known. promised: epsilon and
    delta. drawn: the noisy numbers themselves, which only files need. inputs: regions and factors of people, if any.
    """

    naming: Naming
    city: str
    timezone: str
    clock: WeekClock
    cells: Cells
    density: pl.DataFrame
    sums: pl.DataFrame | None
    promised: Identity
    drawn: pl.DataFrame = field(default_factory=pl.DataFrame)
    inputs: PublicInputs = field(default_factory=PublicInputs)

    @cached_property
    def counts(self) -> pl.DataFrame:
        """The rows of the counts as CSV has them."""
        people = {} if self.people is None else self.people.columns
        return counts_with_intervals(self.density, self.clock).with_columns(**people)

    @cached_property
    def week(self) -> WeekCounts:
        """The counts as matrices."""
        visits, error = counts_and_errors(self.density)
        summary = None if self.sums is None else summary_from(self.sums, pl.Series(self.cells.ids.tolist()))
        return WeekCounts(visits.astype(np.float64), error, summary, happening(self.clock.missing))

    @cached_property
    def worth(self) -> Worth:
        """What the counts say more than a flat or an empty map does."""
        return worth_of(*counts_and_errors(self.density))

    @cached_property
    def people(self) -> People | None:
        """People of each cell and hour, where factors are stated."""
        return None if self.inputs.factors is None else people_in_cells(self.inputs.factors, self.week)

    @cached_property
    def regions(self) -> pl.DataFrame | None:
        """Sums of regions, where there are any."""
        if self.inputs.regions is None:
            return None
        people = None if self.people is None else self.people.number
        return region_sums(self.inputs.regions, self.week, self.clock, self.inputs.factors, people)

    @cached_property
    def totals(self) -> pl.DataFrame:
        """The week of each cell."""
        table = cell_totals(self.cells, self.week, self.clock)
        if self.inputs.factors is None or self.people is None:
            return table
        happens = self.week.happens.astype(np.float64)
        return table.with_columns(
            **people_of_each_cell(self.inputs.factors, self.week, self.people.number, happens).columns
        )

    @cached_property
    def outlines(self) -> NDArray[Any]:
        """The cells in degrees."""
        return in_degrees(self.cells)

    @cached_property
    def about(self) -> dict[str, Any]:
        """What Parquet files say of themselves."""
        return {"city": self.city, "week": self.naming.week, "timezone": self.timezone}

    def described(self, columns: Columns, table: pl.DataFrame) -> Columns:
        """What describes the columns of a table."""
        return described(columns, table.columns, self.timezone)


def table_files(of: Counted) -> dict[Path, bytes]:
    """Every file of the counts and what it holds."""
    contents = {
        ("density", "parquet"): _density(of),
        ("density", "csv"): of.counts.write_csv().encode(),
        ("density", "geojson"): _geojson(of).encode(),
        ("data_dictionary", "md"): _dictionary(of).encode(),
        ("cells", "parquet"): _cells(of),
        ("density", "gpkg"): _geopackage(of),
        ("sdmx", "csv"): sdmx_csv(of.counts, of.described(DENSITY, of.counts), of.promised).encode(),
        ("measurements", "parquet"): described_parquet(of.drawn, of.described(MEASUREMENTS, of.drawn), of.about),
    }
    if of.sums is not None:
        contents[ERRORS_OF_SUMS] = described_parquet(of.sums, of.described(SUMS, of.sums), of.about)
    return {of.naming.file(*name): content for name, content in (contents | _of_inputs(of)).items()}


def _of_inputs(of: Counted) -> dict[tuple[str, str], bytes]:
    """What they hold."""
    contents = {INPUTS_FILE: written(of.inputs, of.cells.ids.tolist())} if of.inputs else {}
    if of.regions is not None:
        table = with_moments(of.regions, of.timezone)
        parquet = described_parquet(table, of.described(REGIONS, table), of.about)
        contents |= dict(zip(REGION_FILES, (parquet, of.regions.write_csv().encode()), strict=True))
    return contents


def _density(of: Counted) -> bytes:
    """In order of cells and hours, so that whoever reads one cell skips the others."""
    table = with_moments(of.counts, of.timezone).sort("cell_id", "hour")
    return described_parquet(table, of.described(DENSITY, table), of.about)


def _cells(of: Counted) -> bytes:
    table = with_geometry(of.totals, of.outlines)
    return described_parquet(table, of.described(CELLS, table), {**of.about, "geo": geo_metadata(of.outlines)})


def _geopackage(of: Counted) -> bytes:
    totals, counts = (
        (table, of.described(names, table)) for table, names in ((of.totals, CELLS), (of.counts, DENSITY))
    )
    return geopackage(of.outlines, totals, counts, of.clock, f"{of.city}, week of {of.naming.week}")


def _geojson(of: Counted) -> str:
    counts, errors = counts_and_errors(of.density)
    people = {} if of.people is None else of.people.columns
    by_cell = {name: values.to_numpy().reshape(-1, HOURS) for name, values in people.items()}
    return geojson(of.cells, of.outlines, week=of.naming.week, counts=counts, standard_errors=errors, **by_cell)


def _dictionary(of: Counted) -> str:
    told_in = None if of.sums is None else of.naming.file(*ERRORS_OF_SUMS).name
    cells, drawn = (of.naming.file(stem, "parquet").name for stem in ("cells", "measurements"))
    tables = {
        "density": of.described(DENSITY, of.counts),
        f"The week of each cell: `{cells}`": of.described(CELLS, with_geometry(of.totals, of.outlines)),
        f"The noisy measurements that the counts are made of: `{drawn}`": of.described(MEASUREMENTS, of.drawn),
    }
    if of.regions is not None:
        tables |= {f"Regions: `{of.naming.file(*REGION_FILES[0]).name}`": of.described(REGIONS, of.regions)}
    text = dictionary(of.city, of.timezone, of.clock, told_in, of.worth, of.naming.upto, tables)
    return f"{text}{explained(of.inputs, of.naming.file(*INPUTS_FILE).name)}"
