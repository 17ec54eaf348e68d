import numpy as np
import polars as pl
import pytest

from density_assets import series


def test_a_table_and_its_matrix_are_the_same_whatever_the_order_of_rows():
    values = np.arange(3 * 168.0).reshape(3, 168)
    places = pl.DataFrame({"cell_id": ["b", "a", "c"]})
    table = series.table(places, original=values, truncated=values / 2)
    assert table.columns == ["cell_id", "hour", "original", "truncated"]
    assert table.filter(cell_id="a", hour=5)["original"].item() == 168 + 5
    shuffled = table.sample(fraction=1, shuffle=True, seed=1)
    np.testing.assert_array_equal(series.matrix(shuffled, places["cell_id"], "truncated"), values / 2)


def test_a_series_with_a_missing_hour_is_refused():
    table = series.table(pl.DataFrame({"cell_id": ["a"]}), original=np.zeros((1, 168)))
    with pytest.raises(ValueError, match="expected 1 x 168 rows"):
        series.matrix(table.head(167), pl.Series("cell_id", ["a"]), "original")


def test_a_vector_follows_the_order_of_places_and_not_of_the_table():
    table = pl.DataFrame({"tower_id": ["A", "B", "C"], "users": [1, 2, 3]})
    assert series.vector(table, pl.Series("tower_id", ["C", "A", "B"]), "users").tolist() == [3, 1, 2]
    with pytest.raises(ValueError, match="each of 2 places"):
        series.vector(table, pl.Series("tower_id", ["C", "Z"]), "users")


@pytest.mark.parametrize("read", [series.matrix, series.vector])
def test_no_place_is_counted_twice_whatever_a_public_list_says(read):
    """As many rows as places, so nothing else is odd; one person's visits would be drawn twice with noise for one."""
    towers = pl.DataFrame({"tower_id": ["A", "B"]})
    tables = {series.matrix: series.table(towers, n=np.ones((2, 168))), series.vector: towers.with_columns(n=1)}
    with pytest.raises(ValueError, match="listed twice"):
        read(tables[read], pl.Series("tower_id", ["A", "A"]), "n")
