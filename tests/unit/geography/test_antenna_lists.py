"""Antenna lists as operators export them: any dialect of CSV, folders that Spark writes, rows that hold for a while."""

import gzip
from datetime import date

import polars as pl
import pytest
import shapely
from town import SIDE, X0, Y0, make_town

from density_assets.errors import BadInput
from density_assets.geography.cells import read_cells
from density_assets.geography.lists import public_files
from density_assets.geography.source import city_cells, city_towers
from density_assets.geography.towers import read_towers
from density_assets.records.files import refuse_our_files
from density_assets.settings import load_settings

INSIDE = {"A": (X0 + 500.5, Y0 + 500), "B": (X0 + 1500, Y0 + 500)}
SINCE = date(2007, 9, 10)


@pytest.fixture
def cells(town):
    return read_cells(town.folder / "cells.geojson", "code")


def read(path, cells, **validity):
    return read_towers(path, tower_id="site", x="x", y="y", crs="EPSG:2154", cells=cells, **validity)


# --- CSV --------------------------------------------------------------------------------------------------------------


def lines(mark=";", point=",", quote=""):
    number = [f"{value:.1f}".replace(".", point) for place in INSIDE.values() for value in place]
    rows = [("site", "comment", "x", "y"), ("A", "", *number[:2]), ("B", "", *number[2:])]
    return "\r\n".join(mark.join(f"{quote}{field}{quote}" for field in row) for row in rows) + "\r\n"


CSV = {
    "semicolon": lines(";").encode(),
    "semicolon with points": lines(";", ".").encode(),
    "tab": lines("\t").encode(),
    "bar": lines("|", ".").encode(),
    "quoted": lines(",", ",", '"').encode(),
    "byte-order mark": lines(";").encode("utf-8-sig"),
    "quoted mark inside": lines(";").replace("A;;", 'A;"MOC; voice";').encode(),
}


@pytest.mark.parametrize("content", CSV.values(), ids=CSV)
def test_a_csv_of_any_dialect_is_the_same_list(tmp_path, cells, content):
    (tmp_path / "list.csv").write_bytes(content)
    (tmp_path / "list.csv.gz").write_bytes(gzip.compress(content))
    for name in ("list.csv", "list.csv.gz"):
        towers = read(tmp_path / name, cells)
        assert towers.antennas == {"A": 0, "B": 1}
        assert [tuple(xy) for xy in towers.xy.tolist()] == list(INSIDE.values())


@pytest.mark.parametrize("code", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf_16_is_refused_by_name(tmp_path, cells, code):
    (tmp_path / "list.csv").write_bytes(lines().encode(code))
    with pytest.raises(BadInput, match=r"list\.csv: .* found UTF-16: export it as UTF-8"):
        read(tmp_path / "list.csv", cells)


def test_commas_are_decimal_only_where_no_point_is(tmp_path, cells):
    (tmp_path / "list.csv").write_text(lines(";").replace(f"{Y0},0", f"{Y0}.0"))
    (tmp_path / "mixed.csv").write_text("site;x;y\nA;650500,5;6860500.0\nB;651500.0;6860500.0\n")
    with pytest.raises(BadInput, match=r"coordinates in 'x' .* found 1 that are not: '650500,5' \(row 1\)"):
        read(tmp_path / "mixed.csv", cells)


def test_a_missing_column_is_looked_for_in_the_likeliest_dialect(tmp_path, cells):
    (tmp_path / "list.csv").write_text(lines(";").replace("site;", "cellule;"))
    with pytest.raises(BadInput, match=r"tower_id must name a column .* \(the columns are cellule, comment, x, y\)"):
        read(tmp_path / "list.csv", cells)


# --- folders ----------------------------------------------------------------------------------------------------------


def topology(folder, days=(2, 3), **columns):
    """A network as the European reference pipeline writes it: a folder a day, with every antenna in each."""
    for day in days:
        part = folder / f"year=2023/month=1/day={day}"
        part.mkdir(parents=True)
        order = sorted(INSIDE, reverse=bool(day % 2))
        rows = [{"site": name, "x": INSIDE[name][0], "y": INSIDE[name][1], **columns} for name in order]
        pl.DataFrame(rows).write_parquet(part / "part-00000.c000.snappy.parquet")
        (part / ".part-00000.c000.snappy.parquet.crc").write_bytes(b"crc")
    (folder / "_SUCCESS").touch()
    (folder / "._SUCCESS.crc").write_bytes(b"crc")
    return folder


def test_a_folder_of_days_is_one_list_however_spark_cuts_it(tmp_path, cells):
    one = read(topology(tmp_path / "one"), cells)
    other = read(topology(tmp_path / "other", days=(3, 4, 5)), cells)
    assert one.ids.tolist() == other.ids.tolist() == ["A", "B"]
    assert (one.repeated, other.repeated, one.moved) == (2, 4, 0)


@pytest.mark.parametrize("pattern", ["net/year=*/month=1/day=2/*.parquet", "net/**/*.parquet", "net"])
def test_patterns_and_folders_are_settings(tmp_path, pattern):
    town = make_town(tmp_path)
    topology(town.folder / "net")
    town.set('towers = "towers.csv"', f'towers = "{pattern}"')
    town.set('tower_id = "name"', 'tower_id = "site"')
    settings = load_settings(town.settings)
    assert city_towers(settings, city_cells(settings)).ids.tolist() == ["A", "B"]


def test_only_the_setting_is_a_pattern_not_the_folder_it_lies_in(tmp_path):
    folder = tmp_path / "a[b]*"
    topology(folder / "net")
    assert len(public_files(folder / "net" / "**" / "*.parquet")) == 2
    assert public_files(folder / "net" / "nothing*") == [folder / "net" / "nothing*"]


def test_a_folder_without_lists_is_refused(tmp_path, cells):
    (tmp_path / "net").mkdir()
    with pytest.raises(BadInput, match=r"towers must exist, found a folder without Parquet files"):
        read(tmp_path / "net", cells)


def test_files_in_a_folder_are_still_not_those_that_this_software_keeps(tmp_path):
    kept = tmp_path / "home/town/release/tables/cells.parquet"
    kept.parent.mkdir(parents=True)
    kept.touch()
    (tmp_path / "net").mkdir()
    (tmp_path / "net/part.parquet").symlink_to(kept)
    with pytest.raises(BadInput, match="must not be what this software keeps"):
        refuse_our_files(public_files(tmp_path / "net"), tmp_path / "home")


# --- rows that hold for a while ---------------------------------------------------------------------------------------


def dated(tmp_path, *rows):
    """Rows of antenna, metres from the middle of the first square, and the days they hold from and to."""
    text = [f"{name},{X0 + 500 + metres},{Y0 + 500},{start},{end}" for name, metres, start, end in rows]
    (tmp_path / "list.csv").write_text("\n".join(["site,x,y,start,end", *text]) + "\n")
    return tmp_path / "list.csv"


def read_dated(path, cells):
    return read(path, cells, valid_from="start", valid_to="end", since=SINCE)


def test_an_antenna_counts_that_is_valid_on_some_day_from_the_first_week_on(tmp_path, cells):
    path = dated(
        tmp_path,
        ("ended", 0, "2001-01-01", "2007-09-09"),
        ("ends", 10, "2001-01-01T00:00:00", "2007-09-10T00:00:00"),
        ("open", 20, "", ""),
        ("later", 30, "20080101", ""),
    )
    towers = read_dated(path, cells)
    assert list(towers.antennas) == ["ends", "open", "later"]
    assert (towers.expired, towers.moved) == (1, 0)


def test_an_antenna_that_moved_stands_where_its_newest_row_says(tmp_path, cells):
    path = dated(tmp_path, ("A", 0, "2001-01-01", "2007-12-31"), ("A", SIDE, "2008-01-01", ""), ("B", 10, "", ""))
    towers = read_dated(path, cells)
    assert towers.moved == 1
    (place,) = [towers.xy[towers.antennas["A"]]]
    assert place.tolist() == [X0 + 500 + SIDE, Y0 + 500]


def test_two_places_on_one_day_are_refused_and_so_are_two_without_days(tmp_path, cells):
    path = dated(tmp_path, ("A", 0, "2008-01-01", ""), ("A", 90, "2008-01-01", ""))
    with pytest.raises(BadInput, match="must be at one point"):
        read_dated(path, cells)
    with pytest.raises(BadInput, match="must be at one point"):
        read(dated(tmp_path, ("A", 0, "2001-01-01", ""), ("A", 90, "2008-01-01", "")), cells)


@pytest.mark.parametrize("kind", [pl.Date, pl.Datetime("us"), pl.Datetime("us", "UTC")], ids=str)
def test_days_of_parquet_may_be_dates_or_times(tmp_path, cells, kind):
    table = pl.read_csv(dated(tmp_path, ("A", 0, "2001-01-01", "2007-09-09"), ("B", 9, "2001-01-01", "2008-01-01")))
    days = [pl.col(name).str.to_datetime("%Y-%m-%d").dt.replace_time_zone("UTC") for name in ("start", "end")]
    plain = [day.dt.replace_time_zone(None) for day in days] if kind != pl.Datetime("us", "UTC") else days
    table.with_columns(plain).cast({"start": kind, "end": kind}).write_parquet(tmp_path / "list.parquet")
    assert list(read_dated(tmp_path / "list.parquet", cells).antennas) == ["B"]


def test_days_that_are_none_are_refused(tmp_path, cells):
    with pytest.raises(BadInput, match=r"days in 'end' must start as 2023-01-02 .* found 1 others: '31/12/2007'"):
        read_dated(dated(tmp_path, ("A", 0, "2001-01-01", "31/12/2007")), cells)


def test_a_list_that_has_ended_is_refused(tmp_path, cells):
    with pytest.raises(BadInput, match=r"some tower must be valid on 2007-09-10 or later, found none of 1"):
        read_dated(dated(tmp_path, ("A", 0, "", "2007-09-09")), cells)


def test_the_settings_carry_the_days(tmp_path):
    town = make_town(tmp_path)
    dated(town.folder, ("A", 0, "", "2007-09-02"), ("B", 9, "", ""))
    town.set('towers = "towers.csv"', 'towers = "list.csv"\ntower_valid_from = "start"\ntower_valid_to = "end"')
    town.set('tower_id = "name"', 'tower_id = "site"')
    settings = load_settings(town.settings)
    assert city_towers(settings, city_cells(settings)).ids.tolist() == ["B"]
    town.set('tower_id = "site"\n', "")
    with pytest.raises(BadInput, match="needs tower_id"):
        load_settings(town.settings)


def test_the_squares_are_where_these_tests_think(cells):
    assert [shapely.contains_xy(cells.city, *place) for place in INSIDE.values()] == [True, True]
