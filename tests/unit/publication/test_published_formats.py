"""Published columns, described once and told alike by files, dictionary and metadata; the entry for portals."""

import hashlib
import io
from datetime import UTC, date, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import duckdb
import geopandas as gpd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest
from catalogues import DCAT, checksums, harvested
from rdflib import RDF, URIRef
from shapely import box

from density_assets.calendar import week_clock
from density_assets.estimation.weeks.summary import Kind, Summary
from density_assets.geography.cells_and_towers import Cells
from density_assets.privacy.release import Identity
from density_assets.publication.catalogues import Dataset, dcat
from density_assets.publication.columns import DENSITY, SUMS, described
from density_assets.publication.files import Naming, density_table
from density_assets.publication.release_files import Counted, table_files
from density_assets.publication.sum_errors import errors_table
from density_assets.schemes.drawn_tables import measurements, series_table, totals_table
from density_assets.settings.people import PublicationSettings

PARIS = ZoneInfo("Europe/Paris")
AUTUMN, SPRING = (week_clock(date(2007, *day), PARIS) for day in ((10, 22), (3, 19)))
CELLS = Cells(
    np.array(["b", "a"], dtype=object),
    np.array([box(650_000, 6_860_000, 651_000, 6_861_000), box(651_000, 6_860_000, 652_000, 6_861_000)], dtype=object),
    "EPSG:2154",
)
DRAWN = measurements(totals_table({}, {}), series_table({"series": np.ones((2, 168)), "kept": np.full(2, 168)}))
COUNTS, ERRORS = np.arange(2 * 168).reshape(2, 168), np.full((2, 168), 10.0)


def counted(folder, clock=AUTUMN, sums=None) -> Counted:
    density = density_table(CELLS, COUNTS, ERRORS, clock)
    naming = Naming(folder, str(clock.week), 1)
    promised = Identity("subscribers", "town", naming.week, 1, 0.3, 1e-7)
    return Counted(naming, "town", "Europe/Paris", clock, CELLS, density, sums, promised, DRAWN)


def written(folder, stem, suffix="parquet", **options):
    """One file of a release, written where other tools find it."""
    of = counted(folder, **options)
    file = of.naming.file(stem, suffix)
    file.write_bytes(table_files(of)[file])
    return file


def independent() -> pl.DataFrame:
    """Errors of sums of cells and hours that err by themselves, by 6 of their 10."""
    kinds = (Kind("towers", np.eye(2) * 6, np.eye(168)),)
    return errors_table(Summary(kinds, np.full((168, 1), 1e-9)), pl.Series(["b", "a"]))


def test_every_tool_reads_times_as_times(tmp_path):
    file = written(tmp_path, "density")
    first = datetime(2007, 10, 21, 22, tzinfo=UTC)  # Monday 00:00 in Paris
    back = datetime(2007, 10, 28, 2, tzinfo=UTC)  # 03:00 after clocks went back
    for read in (
        pd.read_parquet(file).set_index("hour").timestamp,
        pl.read_parquet(file).to_pandas().set_index("hour").timestamp,
        pq.read_table(file).to_pandas().set_index("hour").timestamp,
    ):
        assert (read[0].iloc[0].to_pydatetime(), read[147].iloc[0].to_pydatetime()) == (first, back)
        assert str(read.dt.tz) == "Europe/Paris"
    sql = f"select column_name, column_type from (describe from '{file}')"
    assert dict(duckdb.sql(sql).fetchall())["timestamp"] == "TIMESTAMP WITH TIME ZONE"
    assert duckdb.sql(f"select epoch(min(timestamp)) from '{file}'").fetchall() == [(first.timestamp(),)]


def test_an_hour_that_does_not_happen_has_no_time(tmp_path):
    table = pl.read_parquet(written(tmp_path, "density", clock=SPRING))
    assert table.filter(pl.col("timestamp").is_null())["hour"].unique().to_list() == [146]


def test_intervals_are_those_of_the_errors_and_rows_are_in_order(tmp_path):
    table = pl.read_parquet(written(tmp_path, "density"))
    assert table.equals(table.sort("cell_id", "hour"))
    assert table.filter(cell_id="b", hour=3).row(0)[3:] == (3, 10.0, date(2007, 10, 22), 0, 23)  # 3 ± 19.6, from zero
    assert table.filter(cell_id="a", hour=0).row(0)[6:] == (148, 188)


def test_parquet_says_what_its_columns_mean(tmp_path):
    schema = pq.read_schema(written(tmp_path, "density"))
    assert schema.field("count").metadata[b"unit"] == b"visits"
    assert b"(Europe/Paris)" in schema.field("hour").metadata[b"meaning"]
    assert schema.metadata[b"week"] == b"2007-10-22"
    assert pq.ParquetFile(tmp_path / "density_2007-10-22.parquet").metadata.row_group(0).column(0).compression == "ZSTD"


def test_the_dictionary_explains_every_column_of_every_file(tmp_path):
    of = counted(tmp_path, sums=independent())
    files = table_files(of)
    said = files[of.naming.file("data_dictionary", "md")].decode()
    tables = [pl.read_parquet(io.BytesIO(content)) for file, content in files.items() if file.suffix == ".parquet"]
    assert len(tables) == 4
    assert {name for table in tables for name in table.columns if f"| `{name}` |" not in said} == set()
    assert "{timezone}" not in said


def test_a_column_that_nobody_described_is_refused():
    with pytest.raises(ValueError, match=r"every published column must be described .* got \['secret'\]"):
        described(DENSITY, ["cell_id", "secret"], "Europe/Paris")


def test_cells_are_a_map_with_the_sums_of_their_counts(tmp_path):
    """Independent errors: 6 of the 10 by a pattern, 8 by nothing that is shared, together 10 of each hour."""
    cells = gpd.read_parquet(written(tmp_path, "cells", sums=independent()))
    assert cells.crs == "OGC:CRS84"
    assert cells.set_index("cell_id")["count"].to_dict() == {"b": sum(range(168)), "a": sum(range(168, 336))}
    assert cells.standard_error.tolist() == pytest.approx([10 * np.sqrt(168)] * 2, abs=0.1)
    assert cells.area_km2.tolist() == [1.0, 1.0]
    assert cells.to_crs("EPSG:2154").area.tolist() == pytest.approx([1e6, 1e6], rel=1e-3)


def test_without_errors_of_sums_cells_have_none(tmp_path):
    assert "standard_error" not in pl.read_parquet(written(tmp_path, "cells")).columns


def test_geojson_has_week_and_errors(tmp_path):
    cells = gpd.read_file(written(tmp_path, "density", "geojson"))
    assert set(cells.week.astype(str)) == {"2007-10-22"}
    assert len(cells.standard_errors[0]) == len(cells.counts[0]) == 168


def test_files_are_the_same_bytes_when_they_are_made_again(tmp_path):
    assert table_files(counted(tmp_path, sums=independent())) == table_files(counted(tmp_path, sums=independent()))


def test_errors_of_sums_are_described_as_they_are_made():
    assert [column.name for column in SUMS] == independent().columns


def test_an_hour_that_does_not_happen_is_not_shown_and_one_that_happens_twice_lasts_for_two(tmp_path):
    """QGIS would show a feature without times always."""
    spring, autumn = (
        gpd.read_file(written(tmp_path, "density", "gpkg", clock=clock), layer="density").set_index("hour")
        for clock in (SPRING, AUTUMN)
    )
    assert sorted(set(range(168)) - set(spring.index)) == [146]
    lasts = (autumn.time_end - autumn.time_start).loc[autumn.cell_id == "b"]
    assert lasts[lasts != pd.Timedelta(hours=1)].to_dict() == {146: pd.Timedelta(hours=2)}
    assert len(pl.read_csv(written(tmp_path, "sdmx", "csv", clock=SPRING))) == 2 * 167


HOME = "https://town.example/presence"


def dcat_entry(folder: Path, week: str, **stated: str) -> Path:
    """The entry of a week with one file."""
    said = {"city": "town", "week": week, "epsilon": 0.3, "delta": 1e-6, "charges": [{"at": f"{week}T12:00:00"}]}
    naming = Naming(folder, week, 1)
    dataset = Dataset(naming, said, {"density.csv": b"abc"}, PublicationSettings(**stated))
    file = naming.file("dcat", "jsonld")
    file.write_bytes(dcat(dataset))
    return file


@pytest.mark.parametrize(
    "stated", [{}, {"homepage": HOME}, {"homepage": f"{HOME}#data"}], ids=["plain", "home", "part"]
)
def test_weeks_of_one_city_are_datasets_of_their_own(tmp_path, stated):
    graph = harvested(dcat_entry(tmp_path, "2007-09-10", **stated), dcat_entry(tmp_path, "2007-09-17", **stated))
    assert len(set(graph.subjects(RDF.type, DCAT.Dataset))) == 2
    assert set(graph.objects(None, DCAT.landingPage)) == {URIRef(page) for page in stated.values()}


def test_a_file_is_found_beside_the_entry_with_its_checksum(tmp_path):
    graph = harvested(dcat_entry(tmp_path, "2007-09-10", homepage=HOME))
    assert checksums(graph) == {(tmp_path / "density.csv").as_uri(): hashlib.sha256(b"abc").digest()}
