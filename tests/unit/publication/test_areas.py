"""Parts of the city by day: every cell in one part, sums that add up, intervals by the table of errors."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from density_assets.estimation.weeks.summary import Kind, Summary
from density_assets.publication.sum_errors import WeekCounts
from density_assets.publication.sums import WHOLE_CITY, areas_by_day, city_and_parts, compass

SIDE, HOURS = 6, 168
CENTROIDS = np.array([[x, y] for y in range(SIDE) for x in range(SIDE)], dtype=float)
COUNTS = np.arange(SIDE**2)[:, None] + np.ones((1, HOURS), dtype=np.int64)
EVERY = np.ones(HOURS, bool)


def by_name(summary: Summary, happens: np.ndarray = EVERY) -> dict:
    errors = np.full(COUNTS.shape, 10.0)
    week = WeekCounts(COUNTS.astype(float), errors, summary, happens)
    return {area.name: area for area in areas_by_day(week, city_and_parts(CENTROIDS))}


def nothing_shared() -> Summary:
    return Summary((), np.zeros((HOURS, 1)))


def test_every_cell_is_in_one_part_where_the_compass_says():
    parts = compass(CENTROIDS)
    assert np.sum(list(parts.values()), axis=0).tolist() == [1] * SIDE**2
    assert CENTROIDS[parts["north-west"]].tolist() == [[0, 4], [1, 4], [0, 5], [1, 5]]
    assert CENTROIDS[parts["east"]].tolist() == [[4, 2], [5, 2], [4, 3], [5, 3]]
    assert list(parts)[:3] == ["north-west", "north", "north-east"]


def test_a_few_cells_have_no_parts():
    assert compass(CENTROIDS[:17]) == {}


def test_parts_add_up_to_the_city_and_days_to_the_week():
    areas = by_name(nothing_shared())
    week = areas[WHOLE_CITY].sums[7]
    assert week.visits == COUNTS.sum()
    assert sum(areas[WHOLE_CITY].sums[day].visits for day in range(7)) == week.visits
    assert sum(area.sums[7].visits for name, area in areas.items() if name != WHOLE_CITY) == week.visits


def test_margins_are_those_of_the_sums():
    own = by_name(nothing_shared())[WHOLE_CITY].sums[0].margin
    assert own == pytest.approx(1.96 * 10 * np.sqrt(SIDE**2 * 24), rel=0.02)
    one_pattern = Kind("places", csr_array(np.full((SIDE**2, 1), 10.0)), np.ones((HOURS, 1)))
    shared = by_name(Summary((one_pattern,), np.zeros((HOURS, 1))))[WHOLE_CITY].sums[0].margin
    assert shared == pytest.approx(1.96 * 10 * SIDE**2 * 24, rel=0.02)


def test_hours_that_do_not_happen_are_not_counted():
    happens = EVERY.copy()
    happens[2] = False
    monday, all_monday = (by_name(nothing_shared(), when)[WHOLE_CITY].sums[0].visits for when in (happens, EVERY))
    assert monday == all_monday - COUNTS[:, 2].sum()
