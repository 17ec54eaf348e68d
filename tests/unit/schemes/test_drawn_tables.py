"""Draws as tables and back: nothing is lost, exchanged or added."""

import numpy as np

from density_assets.privacy.events import Gaussian, Laplace
from density_assets.schemes.drawn_tables import series_from, series_table, totals_from, totals_table
from density_assets.schemes.scheme import TOTALS


def test_totals_there_and_back():
    plan = {TOTALS: (Gaussian("sampled", 3.0, 1.0), Laplace("visits", 2.0, 1.0))}
    values = {"sampled": np.array([5.5, -1.0, 2.0]), "visits": np.array([7])}
    table = totals_table(values, plan)
    assert table.columns == ["query", "position", "value", "standard_error"]
    assert table["query"].to_list() == ["sampled"] * 3 + ["visits"]
    assert table["position"].to_list() == [0, 1, 2, 0]
    np.testing.assert_allclose(table["standard_error"], [3, 3, 3, 2 * np.sqrt(2)])
    back = totals_from(table.sample(fraction=1, shuffle=True, seed=1))
    assert {name: part.tolist() for name, part in back.items()} == {"sampled": [5.5, -1.0, 2.0], "visits": [7.0]}


def test_no_totals_are_an_empty_table():
    table = totals_table({}, {})
    assert table.is_empty()
    assert table.columns == ["query", "position", "value", "standard_error"]
    assert totals_from(table) == {}


def test_series_there_and_back():
    series = np.arange(3 * 168.0).reshape(3, 168)
    table = series_table({"series": series, "kept": np.array([168, 3, 7])})
    assert table.columns == ["cluster", "hour", "value", "kept"]
    assert table.row(168 + 5) == (1, 5, 173.0, 3)
    back = series_from(table.sample(fraction=1, shuffle=True, seed=1))
    np.testing.assert_array_equal(back["series"], series)
    assert back["kept"].tolist() == [168, 3, 7]
