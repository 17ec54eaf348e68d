"""Errors of sums as the page's script gets them: unpacked as the script does, they give the errors of the table."""

import base64

import numpy as np
from planned_weeks import periods
from scipy.sparse import csr_array

from density_assets.estimation.weeks.summary import Kind, Summary
from density_assets.publication.sum_errors import MOST_CELLS, packed_sums

HOURS = 168
EVERY = np.ones(HOURS, bool)


def numbers(text: str, kind: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), kind)


def along_cells(kind: dict, chosen: list[int]) -> float:
    """The square of what the patterns of a kind say of some cells together."""
    pattern = np.repeat(np.arange(len(kind["counts"])), kind["counts"])
    values = numbers(kind["values"], "<i2") * np.array(kind["scales"])[pattern]
    inside = np.isin(numbers(kind["cells"], "<u2"), chosen)
    return float((np.bincount(pattern[inside], values[inside]) ** 2).sum())


def test_patterns_come_back_as_they_were():
    random = np.random.default_rng(3)
    dense = random.normal(size=(9, 4)) * [1, 1e-3, 1e3, 0]
    sparse = csr_array(np.diag(random.normal(size=9)))
    places = Kind("places", csr_array(dense), random.normal(size=(HOURS, 3)))
    kinds = (places, Kind("towers", sparse, np.ones((HOURS, 1))))
    city = random.normal(size=(HOURS, 5))
    packed = packed_sums(Summary(kinds, city), EVERY)
    assert np.allclose(numbers(packed["city"], "<f4").reshape(HOURS, packed["width"]), city, rtol=1e-6)
    for kind, of_page in zip(kinds, packed["kinds"], strict=True):
        chosen = [1, 2, 7]
        areas = np.isin(np.arange(9), chosen).astype(float)[None]
        expected = kind.variance(areas, periods())[0]
        assert np.allclose(along_cells(of_page, chosen) * np.array(of_page["hours"]), expected, rtol=1e-3)


def test_days_and_the_week_leave_out_what_does_not_happen():
    """With a pattern that is one everywhere the squares are those of numbers of hours."""
    kind = Kind("places", csr_array(np.ones((2, 1))), np.ones((HOURS, 1)))
    packed = packed_sums(Summary((kind,), np.zeros((HOURS, 1))), np.arange(HOURS) != 146)
    assert packed["kinds"][0]["hours"] == [1] * HOURS + [24**2] * 6 + [23**2, 167**2]


def test_more_cells_than_can_be_numbered_are_not_packed():
    kind = Kind("places", csr_array((MOST_CELLS + 1, 1)), np.ones((HOURS, 1)))
    assert packed_sums(Summary((kind,), np.zeros((HOURS, 1))), EVERY) is None
