"""Reading towers: sites, ids, the border of the city, and one test for each bad input."""

import numpy as np
import polars as pl
import pyproj
import pytest
import shapely

from density_assets.errors import BadInput
from density_assets.geography.cells_and_towers import Cells
from density_assets.geography.towers import read_towers

X0, Y0 = 650_000, 6_860_000
# A city of one square kilometre near Paris; every position below is in metres from its corner.
CITY = Cells(
    ids=np.array(["a"], dtype=object),
    polygons=np.array([shapely.box(X0, Y0, X0 + 1000, Y0 + 1000)]),
    crs="EPSG:2154",
)


def listed(tmp_path, places, ids=None, name="towers.csv"):
    table = pl.DataFrame({"x": [X0 + x for x, _ in places], "y": [Y0 + y for _, y in places]})
    if ids is not None:
        table = table.with_columns(pl.Series("site", ids))
    path = tmp_path / name
    if path.suffix == ".csv":
        table.write_csv(path)
    else:
        table.write_parquet(path)
    return path


def read(path, tower_id=None, x="x", y="y", crs="EPSG:2154", cells=CITY):
    return read_towers(path, tower_id=tower_id, x=x, y=y, crs=crs, cells=cells)


def complaint(path, **settings):
    with pytest.raises(BadInput) as caught:
        read(path, **settings)
    return str(caught.value)


def raw(tmp_path, text):
    (tmp_path / "towers.csv").write_text(text)
    return tmp_path / "towers.csv"


def metres(towers):
    return (towers.xy - (X0, Y0)).tolist()


def test_without_ids_the_distinct_sites_inside_are_numbered_in_order_of_appearance(tmp_path):
    places = [(900, 900), (5000, 5), (100, 100), (900, 900), (500, 500), (100, 100)]
    towers = read(listed(tmp_path, places))
    assert towers.ids.tolist() == [1, 2, 3]
    assert metres(towers) == [[900, 900], [100, 100], [500, 500]]
    assert towers.antennas == {1: 0, 2: 1, 3: 2}
    assert (towers.merged, towers.outside) == (2, 1)


def test_antennas_on_one_point_are_one_site_named_after_the_first(tmp_path):
    places = [(100, 100), (900, 900), (100, 100), (5000, 0)]
    towers = read(listed(tmp_path, places, ["P2", "P1", "P0", "far"]), tower_id="site")
    assert towers.ids.tolist() == ["P2", "P1"]
    assert towers.antennas == {"P2": 0, "P1": 1, "P0": 0}
    assert (towers.merged, towers.outside) == (1, 1)


def test_an_antenna_listed_again_at_its_point_is_no_other_antenna(tmp_path):
    towers = read(listed(tmp_path, [(1, 1), (1, 1), (2, 2)], [8, 8, 9]), tower_id="site")
    assert towers.antennas == {8: 0, 9: 1}
    assert (towers.merged, towers.repeated) == (0, 1)


@pytest.mark.parametrize("name", ["towers.csv", "towers.parquet"])
@pytest.mark.parametrize("ids", [[30, 4], ["30", "B4"], ["007", "4"]], ids=repr)
def test_whole_numbers_stay_integers_and_text_stays_text(tmp_path, name, ids):
    towers = read(listed(tmp_path, [(1, 1), (2, 2)], ids, name), tower_id="site")
    assert towers.ids.tolist() == ids
    assert list(towers.antennas) == ids
    assert [type(antenna) for antenna in towers.antennas] == [type(value) for value in ids]


def test_whole_numbers_stored_as_floats_are_integers(tmp_path):
    towers = read(listed(tmp_path, [(1, 1), (2, 2)], [30.0, 4.0], "towers.parquet"), tower_id="site")
    assert list(towers.antennas) == [30, 4]
    assert {type(antenna) for antenna in towers.antennas} == {int}


@pytest.mark.parametrize(("apart", "sites"), [(0.009, 1), (0.011, 2)])
def test_points_within_a_centimetre_coincide(tmp_path, apart, sites):
    assert len(read(listed(tmp_path, [(100.0, 100.0), (100.0 + apart, 100.0)]))) == sites


def test_longitude_and_latitude_are_projected_to_the_cells_system(tmp_path):
    lon, lat = pyproj.Transformer.from_crs("EPSG:2154", "EPSG:4326", always_xy=True).transform(X0 + 400, Y0 + 300)
    towers = read(raw(tmp_path, f"lon,lat\n{lon},{lat}\n"), x="lon", y="lat", crs="EPSG:4326")
    assert metres(towers)[0] == pytest.approx([400, 300], abs=1e-3)


def test_a_point_on_the_border_is_inside(tmp_path):
    towers = read(listed(tmp_path, [(0, 500), (1000, 1000), (-1, 500), (1001, 1000)]))
    assert metres(towers) == [[0, 500], [1000, 1000]]
    assert towers.outside == 2


def test_a_point_on_a_slanted_border_is_inside_whatever_the_rounding(tmp_path):
    triangle = shapely.Polygon([(X0, Y0), (X0 + 1000, Y0), (X0 + 1000, Y0 + 333)])
    city = Cells(ids=CITY.ids, polygons=np.array([triangle]), crs=CITY.crs)
    places = [(x, x * 0.333) for x in np.linspace(0, 1000, 97).tolist()]
    assert read(listed(tmp_path, places), cells=city).outside == 0


def test_a_hole_in_the_city_is_outside(tmp_path):
    ring = CITY.polygons[0].difference(shapely.box(X0 + 400, Y0 + 400, X0 + 600, Y0 + 600))
    city = Cells(ids=CITY.ids, polygons=np.array([ring]), crs=CITY.crs)
    towers = read(listed(tmp_path, [(500, 500), (100, 100)]), cells=city)
    assert (len(towers), towers.outside) == (1, 1)


def test_a_point_the_projection_cannot_reach_is_outside(tmp_path):
    lon, lat = pyproj.Transformer.from_crs("EPSG:2154", "EPSG:4326", always_xy=True).transform(X0 + 400, Y0 + 300)
    towers = read(raw(tmp_path, f"x,y\n{lon},{lat}\n{lon},-90\n999,999\n"), crs="EPSG:4326")
    assert (len(towers), towers.outside) == (1, 2)


def test_all_outside_suspects_the_coordinate_system_and_prints_both_extents(tmp_path):
    message = complaint(raw(tmp_path, "x,y\n2.35,48.85\n2.36,48.86\n"))
    assert "found all 2 outside" in message
    assert "x 2.35 to 2.36 and y 48.85 to 48.86 in EPSG:2154" in message
    assert "the city spans x 650,000.00 to 651,000.00 and y 6,860,000.00 to 6,861,000.00" in message
    assert "check that EPSG:2154 is their coordinate system" in message


def test_all_out_of_reach_of_the_projection_still_prints_extents(tmp_path):
    message = complaint(listed(tmp_path, [(1, 1)]), crs="EPSG:4326")
    assert "x 650,001.00 to 650,001.00 and y 6,860,001.00 to 6,860,001.00 in EPSG:4326" in message
    assert "nowhere in EPSG:2154" in message


def test_an_unknown_coordinate_system(tmp_path):
    message = complaint(listed(tmp_path, [(1, 1)]), crs="EPSG:nonsense")
    assert "must be one pyproj knows, such as EPSG:4326, got 'EPSG:nonsense'" in message


def test_a_missing_file(tmp_path):
    assert "the file of the towers must exist" in complaint(tmp_path / "nowhere.csv")


def test_an_unreadable_file(tmp_path):
    (tmp_path / "towers.parquet").write_text("this is not a table")
    assert complaint(tmp_path / "towers.parquet").startswith("towers.parquet: the towers must be a Parquet file")
    (tmp_path / "towers.csv").write_bytes("x,y,name\n1,2,Défense\n".encode("latin-1"))
    said = complaint(tmp_path / "towers.csv")
    assert "a CSV in UTF-8" in said
    assert "convert it by `iconv -f WINDOWS-1252 -t UTF-8`" in said


@pytest.mark.parametrize("text", ["", "x,y\n"], ids=["empty", "header only"])
def test_a_file_without_towers(tmp_path, text):
    with pytest.raises(BadInput, match=r"towers\.csv: "):
        read(raw(tmp_path, text))


def test_a_missing_column_lists_the_columns_and_names_the_nearest(tmp_path):
    message = complaint(raw(tmp_path, "Longitude,lat\n1,2\n"), x="longitud", y="lat")
    assert "x must name a column of the file, got 'longitud'" in message
    assert "did you mean 'Longitude'? (the columns are Longitude, lat)" in message


@pytest.mark.parametrize("word", ["here", '"2,350,000"', '"2,3.5"', "NaN", "inf", ""])
def test_coordinates_that_are_no_numbers(tmp_path, word):
    message = complaint(raw(tmp_path, f"x,y\n{X0},{Y0}\n{X0},{word}\n"))
    assert (
        "coordinates in 'y' must be numbers with a decimal point, or all with a comma, found 1 that are not" in message
    )
    assert "(row 2)" in message
    assert word.strip('"') in message


@pytest.mark.parametrize("name", ["towers.csv", "towers.parquet"])
@pytest.mark.parametrize("ids", [["P1", None], [1, None], ["P1", ""]], ids=repr)
def test_null_ids(tmp_path, name, ids):
    message = complaint(listed(tmp_path, [(1, 1), (2, 2)], ids, name), tower_id="site")
    assert "every tower must have an id in 'site', found 1 without (rows 2)" in message


def test_an_id_that_is_not_a_number_among_floats_is_null(tmp_path):
    path = listed(tmp_path, [(1, 1), (2, 2)], [1.0, float("nan")], "towers.parquet")
    assert "found 1 without (rows 2)" in complaint(path, tower_id="site")


@pytest.mark.parametrize("ids", [[1.5, 2.0], [True, False]], ids=repr)
def test_ids_that_are_neither_text_nor_whole_numbers(tmp_path, ids):
    message = complaint(listed(tmp_path, [(1, 1), (2, 2)], ids, "towers.parquet"), tower_id="site")
    assert "must be text or whole numbers below 2^63, got" in message


def test_one_id_at_two_points(tmp_path):
    message = complaint(listed(tmp_path, [(1, 1), (2, 2), (3, 3)], ["P1", "P2", "P1"]), tower_id="site")
    assert "an id in 'site' must be at one point, found 1 at points more than 1 cm apart: P1" in message


def test_one_id_inside_and_outside_the_city_is_at_two_points(tmp_path):
    message = complaint(listed(tmp_path, [(1, 1), (9000, 2)], ["P1", "P1"]), tower_id="site")
    assert "must be at one point" in message


@pytest.mark.parametrize("name", ["towers.csv", "towers.parquet"])
@pytest.mark.parametrize("odd", [" ", "\t ", "P\0", "\x1b[2J"])
def test_ids_that_are_blank_or_hold_control_characters(tmp_path, odd, name):
    message = complaint(listed(tmp_path, [(1, 1), (2, 2)], ["P1", odd], name), tower_id="site")
    assert "ids in 'site' must be neither blank nor hold control characters, found 1 that do" in message


@pytest.mark.parametrize("far", ["1e300", "-1e200", "1e31"])
def test_coordinates_beyond_the_earth_are_outside(tmp_path, far):
    towers = read(raw(tmp_path, f"x,y\n{X0},{Y0}\n{far},{Y0}\n{far},{far}\n"))
    assert (len(towers), towers.outside) == (1, 2)


@pytest.mark.parametrize("values", [[[1.0], [2.0]], [True, False], [b"1", b"2"], [{"a": 1}, {"a": 2}]], ids=repr)
def test_columns_that_are_neither_text_nor_numbers(tmp_path, values):
    table = pl.DataFrame({"x": [X0, X0], "y": [Y0, Y0], "odd": values})
    table.write_parquet(tmp_path / "towers.parquet")
    assert "coordinates in 'odd' must be numbers" in complaint(tmp_path / "towers.parquet", x="odd")
    assert "must be text or whole numbers" in complaint(tmp_path / "towers.parquet", tower_id="odd")
