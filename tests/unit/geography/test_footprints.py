"""Footprints: a table of probabilities gives every site away once, and one person's part is bounded as before."""

import re
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st
from runs import MONDAY, WEEK, materialise, only
from town import make_town

from density_assets.city import City
from density_assets.cli.inspection import inspect
from density_assets.cli.looking import plan
from density_assets.definitions import build
from density_assets.errors import BadInput
from density_assets.geography.cells_and_towers import geography_hash
from density_assets.geography.footprints import read_footprints
from density_assets.geography.overlaps import interpolation
from density_assets.geography.places import from_cover, minimum_cover, to_cover
from density_assets.geography.source import city_cells, city_towers
from density_assets.geography.tables import (
    cells_from,
    cells_table,
    footprints_from,
    overlaps_from,
    overlaps_table,
    towers_from,
)
from density_assets.research.weeks import rehearsal
from density_assets.research.weeks.cities import Ground
from density_assets.schemes import SCHEMES
from density_assets.settings import load_settings

CELLS = ["SW", "SE", "NW", "NE"]
ANTENNAS = pl.DataFrame({"antenna_id": ["A", "B", "A2"], "tower_id": ["A", "B", "A"], "site": [0, 1, 0]})


def read(path, rows, cells=CELLS, antennas=ANTENNAS):
    pl.DataFrame(rows, schema={"a": pl.String, "c": pl.String, "p": pl.Float64}, orient="row").write_parquet(path)
    return read_footprints(path, tower="a", cell="c", share="p", antennas=antennas, cell_ids=cells)


def spread(found):
    return interpolation(found.pieces).toarray()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "footprints.parquet"


def test_what_lies_outside_is_dropped_before_the_rest_is_made_one(path):
    found = read(path, [("A", "SW", 0.3), ("A", "SE", 0.1), ("A", "abroad", 0.6), ("B", "NE", 0.5)])
    assert spread(found).T.round(12).tolist() == [[0.75, 0.25, 0, 0], [0, 0, 0, 1]]
    assert found.outside == pytest.approx((0.6 + 0) / 2)


def test_a_site_gives_the_mean_of_its_antennas_that_have_a_footprint(path):
    found = read(path, [("A", "SW", 0.2), ("A2", "SW", 0.5), ("A2", "NW", 0.5), ("B", "NE", 1.0)])
    assert spread(found)[:, 0].tolist() == [0.75, 0, 0.25, 0]
    alone = read(path, [("A", "SW", 0.2), ("A2", "abroad", 1.0), ("B", "NE", 1.0)])
    assert spread(alone)[:, 0].tolist() == [1, 0, 0, 0]


def test_rows_of_one_antenna_and_cell_add_up_as_days_of_one_network_do(path):
    days = [("A", "SW", 0.4), ("A", "SE", 0.6), ("B", "NE", 1.0)]
    assert np.allclose(spread(read(path, days * 7)), spread(read(path, days)))


def test_antennas_that_are_not_the_citys_are_counted_and_left_out(path):
    found = read(path, [("A", "SW", 1.0), ("B", "NE", 1.0), ("far", "NE", 1.0), ("far", "SE", 1.0), ("off", "SE", 1.0)])
    assert found.unknown == 2
    assert spread(found).T.tolist() == [[1, 0, 0, 0], [0, 0, 0, 1]]


@pytest.mark.parametrize("shares", [(5.0, -4.0), (float("nan"), 1.0), (float("inf"), 1.0)])
@pytest.mark.parametrize("column", ["share", "area_m2"])
def test_a_table_that_was_changed_lets_no_visit_count_more_than_once(shares, column):
    """Shares of 5 and -4 sum to one, as they must; one visit would move two cells by more than the noise hides."""
    towers, cells = pl.DataFrame({"tower_id": ["A"]}), pl.DataFrame({"cell_id": ["SW", "SE"]})
    area = pl.Series(shares if column == "area_m2" else [None, None], dtype=pl.Float64)
    table = pl.DataFrame({"tower_id": ["A", "A"], "cell_id": ["SW", "SE"], "area_m2": area, "share": shares})
    with pytest.raises(BadInput, match="must be numbers from 0"):
        overlaps_from(table, towers, cells)


BAD = {
    "no antenna": ([("x", "SW", 1.0)], "none of 1 rows names an antenna of the list in 'a' and a cell"),
    "no cell": ([("A", "x", 1.0)], "a cell of the city in 'c', such as 'SW'"),
    "a site without": ([("A", "SW", 1.0)], r"found 1 of 2 without \(antennas B\)"),
    "nothing of a site": ([("A", "SW", 1.0), ("B", "SW", 0.0)], r"found 1 of 2 without \(antennas B\)"),
    "percent": ([("A", "SW", 40.0), ("B", "SW", 0.4)], "must lie between 0 and 1, found 1 that do not: 40.0"),
    "negative": ([("A", "SW", -0.1), ("B", "SW", 0.4)], "must lie between 0 and 1, found 1 that do not: -0.1"),
    "not a number": ([("A", "SW", float("nan"))], "probabilities in 'p' must be numbers"),
}


@pytest.mark.parametrize(("rows", "message"), BAD.values(), ids=BAD)
def test_tables_that_cannot_be_meant_are_refused(path, rows, message):
    with pytest.raises(BadInput, match=message):
        read(path, rows)


@st.composite
def tables(draw):
    """A table of 4 antennas on 3 sites over 5 cells and one outside; every site has some mass inside."""
    shares = draw(
        st.lists(st.lists(st.floats(0, 0.99, allow_subnormal=False), min_size=6, max_size=6), min_size=4, max_size=4)
    )
    return np.array(shares) + np.eye(4, 6) * 0.01


VISITS = st.lists(st.integers(0, 30), min_size=3, max_size=3)


@given(table=tables(), visits=VISITS)
def test_whatever_the_table_a_visit_moves_a_mass_of_one(tmp_path_factory, table, visits):
    """The bound of every scheme: by cells and by the cover, one person's visits weigh what they weigh at sites."""
    sites, names = [0, 0, 1, 2], [str(number) for number in range(5)]
    antennas = pl.DataFrame({"antenna_id": list("abcd"), "tower_id": sites, "site": sites})
    rows = [("abcd"[i], str(j), table[i, j]) for i in range(4) for j in range(6)]
    pieces = read(tmp_path_factory.getbasetemp() / "drawn.parquet", rows, names, antennas).pieces
    cover = minimum_cover(pieces)
    for matrix in (interpolation(pieces), to_cover(pieces, cover)):
        assert matrix.min() >= 0
        assert np.allclose(matrix.sum(axis=0), 1, rtol=0, atol=1e-12)
        assert (matrix @ np.array(visits)).sum() == pytest.approx(sum(visits), abs=1e-9)
    assert np.allclose((from_cover(pieces, cover) @ to_cover(pieces, cover)).toarray(), interpolation(pieces).toarray())


# --- the whole town ---------------------------------------------------------------------------------------------------

ROWS = """mast;square;chance
A;SW;0,5
A;SE;0,25
A;outside;0,25
A2;SW;1,0
B;SE;1,0
C;NW;1,0
D;NE;0,5
D;NW;0,5
"""
KEYS = 'footprints = "f.csv"\nfootprint_tower = "mast"\nfootprint_cell = "square"\nfootprint_share = "chance"\n'


def with_footprints(folder, rows=ROWS):
    town = make_town(folder)
    (town.folder / "f.csv").write_text(rows)
    town.set("[engine]", KEYS + "\n[engine]")
    return town


@pytest.mark.parametrize("scheme", ["lowrank", "efpag_iris"])
def test_a_week_is_released_with_footprints_under_a_geography_of_its_own(tmp_path, scheme):
    town = with_footprints(tmp_path)
    town.set("[engine]", f'[scheme]\nname = "{scheme}"\n[privacy]\nepsilon = 50.0\nbudget_epsilon = 100.0\n[engine]')
    settings, home = load_settings(town.settings), tmp_path / "home"
    said = str(inspect(settings, MONDAY, home))
    assert "footprints 6 shares; 5.0% of their mass lies outside; 0 antennas unknown" in said
    assert materialise(town.settings, home, sealed=False).success
    city = City(settings, home)
    tables = {name: city.store.read_public(name) for name in ("overlaps", "towers", "cells")}
    pieces = overlaps_from(*(tables[name] for name in ("overlaps", "towers", "cells")))
    assert pieces.footprints
    assert interpolation(pieces).toarray()[:, 0].tolist() == pytest.approx([5 / 6, 1 / 6, 0, 0])
    assert overlaps_table(pieces, tables["towers"], tables["cells"]).equals(tables["overlaps"])
    plain = geography_hash(cells_from(tables["cells"]), towers_from(tables["towers"]))
    assert city.geography() != plain
    assert city.release(MONDAY).geography == city.geography()
    counts = pl.read_parquet(home / f"town/release/density_{WEEK}.parquet")
    assert set(counts["cell_id"]) == set(CELLS)
    rehearsed = Ground.of(settings)
    assert np.array_equal(rehearsed.to_cells, interpolation(pieces).toarray())
    assert (rehearsed.hash, rehearsed.places.count("cover")) == (city.geography(), len(city.store.read_public("cover")))


@pytest.mark.parametrize("footprints", [True, False])
def test_a_rehearsal_tries_no_scheme_that_a_release_would_refuse(tmp_path, monkeypatch, footprints):
    town = with_footprints(tmp_path) if footprints else make_town(tmp_path)
    monkeypatch.setenv("DENSITY_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("DENSITY_SETTINGS", str(town.settings))

    def only_asked(ground, asked, *_):
        raise BadInput(f"asked for {asked.beside}, footprints {ground.footprints is not None}")

    monkeypatch.setattr(rehearsal, "rehearse", only_asked)
    beside = () if footprints else ("efpag",)
    with pytest.raises(BadInput, match=re.escape(f"asked for {beside}, footprints {footprints}")):
        plan(epsilons="50", people=50, quick=False, out=tmp_path)


def test_the_geography_of_a_city_without_footprints_is_what_it_was(tmp_path, town):
    materialise(town.settings, tmp_path, asset_selection=only("cells", "antennas", "towers", "tower_cells", "overlaps"))
    city = City(load_settings(town.settings), tmp_path)
    cells, towers = (city.store.read_public(name) for name in ("cells", "towers"))
    assert cells_table(cells_from(cells)).equals(cells)
    assert city.geography() == geography_hash(cells_from(cells), towers_from(towers))


def test_another_share_is_another_geography_and_the_last_digits_are_not(town):
    settings = load_settings(town.settings)
    cells = city_cells(settings)
    towers = city_towers(settings, cells)
    first, same, other = (geography_hash(cells, towers, [("A", "SW", share)]) for share in (0.5, 0.5 + 1e-12, 0.6))
    assert first == same != other
    assert geography_hash(cells, towers, []) == geography_hash(cells, towers) != first


def test_another_coordinate_system_or_another_hole_is_another_geography(town):
    settings = load_settings(town.settings)
    cells = city_cells(settings)
    towers = city_towers(settings, cells)
    outer, inner, apart = (shapely.box(*corners).exterior for corners in ((0, 0, 9, 9), (2, 2, 4, 4), (20, 0, 29, 9)))
    holed = shapely.MultiPolygon([shapely.Polygon(outer, [inner]), shapely.Polygon(apart)])
    filled = shapely.MultiPolygon([shapely.Polygon(ring) for ring in (outer, inner, apart)])
    others = [np.array([shape, *cells.polygons[1:]], dtype=object) for shape in (holed, filled)]
    changed = [replace(cells, crs="EPSG:27561"), *(replace(cells, polygons=shapes) for shapes in others)]
    assert len({geography_hash(geography, towers) for geography in (cells, *changed)}) == 4


def test_a_tower_without_a_part_is_refused_and_a_table_without_rows_has_no_footprints(tmp_path, town):
    materialise(town.settings, tmp_path, asset_selection=only("cells", "antennas", "towers", "tower_cells", "overlaps"))
    store = City(load_settings(town.settings), tmp_path).store
    pieces, towers, cells = (store.read_public(name) for name in ("overlaps", "towers", "cells"))
    assert footprints_from(pieces.clear()) == []
    for spoilt in (pieces.clear(), pieces.filter(pl.col("tower_id") != towers["tower_id"][0])):
        with pytest.raises(BadInput, match="every tower must have a part"):
            overlaps_from(spoilt, towers, cells)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_schemes_that_need_areas_are_refused_and_no_others(tmp_path, scheme):
    town = with_footprints(tmp_path)
    town.set("[engine]", f'[scheme]\nname = "{scheme}"\n[engine]')
    if scheme not in ("fpa", "efpa", "efpag"):
        assert build(City(load_settings(town.settings), tmp_path / "home"))
        return
    with pytest.raises(BadInput, match=r"with footprints, scheme\.name must be one of lpa, gpa, efpag_iris, lowrank"):
        build(City(load_settings(town.settings), tmp_path / "home"))


def test_footprints_need_identifiers_and_their_columns_need_footprints(tmp_path):
    town = with_footprints(tmp_path)
    town.set('tower_id = "name"\n', "")
    with pytest.raises(BadInput, match="footprints name antennas by identifier"):
        load_settings(town.settings)
    town.set('footprints = "f.csv"\n', "")
    with pytest.raises(BadInput, match="name columns of footprints: give footprints, a table, as well"):
        load_settings(town.settings)
