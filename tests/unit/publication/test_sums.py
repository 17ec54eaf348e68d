"""Sums of published counts: parts of the city by day, regions by hour, day and week, with errors of their own."""

from datetime import date
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
import pytest
from scipy.sparse import csr_array

from density_assets.calendar import HOURS, week_clock
from density_assets.estimation.weeks.summary import Kind, Summary
from density_assets.geography.regions import regions_named
from density_assets.publication.people import Factor, PeopleFactors, people_in_cells
from density_assets.publication.sum_errors import WeekCounts
from density_assets.publication.sums import (
    WHOLE_CITY,
    areas_by_day,
    city_and_parts,
    compass,
    people_for_page,
    region_sums,
)

SIDE = 6
CENTROIDS = np.array([[x, y] for y in range(SIDE) for x in range(SIDE)], dtype=float)
SQUARE_COUNTS = np.arange(SIDE**2)[:, None] + np.ones((1, HOURS), dtype=np.int64)
EVERY = np.ones(HOURS, bool)


def by_name(summary: Summary, happens: np.ndarray = EVERY) -> dict:
    errors = np.full(SQUARE_COUNTS.shape, 10.0)
    week = WeekCounts(SQUARE_COUNTS.astype(float), errors, summary, happens)
    return {area.name: area for area in areas_by_day(week, city_and_parts(CENTROIDS))}


def no_patterns() -> Summary:
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
    areas = by_name(no_patterns())
    week = areas[WHOLE_CITY].sums[7]
    assert week.visits == SQUARE_COUNTS.sum()
    assert sum(areas[WHOLE_CITY].sums[day].visits for day in range(7)) == week.visits
    assert sum(area.sums[7].visits for name, area in areas.items() if name != WHOLE_CITY) == week.visits


def test_margins_are_those_of_the_sums():
    own = by_name(no_patterns())[WHOLE_CITY].sums[0].margin
    assert own == pytest.approx(1.96 * 10 * np.sqrt(SIDE**2 * 24), rel=0.02)
    one_pattern = Kind("places", csr_array(np.full((SIDE**2, 1), 10.0)), np.ones((HOURS, 1)))
    shared = by_name(Summary((one_pattern,), np.zeros((HOURS, 1))))[WHOLE_CITY].sums[0].margin
    assert shared == pytest.approx(1.96 * 10 * SIDE**2 * 24, rel=0.02)


def test_hours_that_do_not_happen_are_not_counted():
    happens = EVERY.copy()
    happens[2] = False
    monday, all_monday = (by_name(no_patterns(), when)[WHOLE_CITY].sums[0].visits for when in (happens, EVERY))
    assert monday == all_monday - SQUARE_COUNTS[:, 2].sum()


PARIS = ZoneInfo("Europe/Paris")
REGIONS = regions_named(["S", "N", "S", "alone"], ["South", "North", "South", "Alone"])
COUNTS = np.random.default_rng(3).integers(0, 500, (4, HOURS))
CLOCK = week_clock(date(2007, 9, 10), PARIS)
SPRING = week_clock(date(2007, 3, 19), PARIS)  # Sunday from 2:00 to 3:00 does not happen


def week(clock=CLOCK, *, sums: bool = True) -> WeekCounts:
    """Errors of 5 in every cell and hour: 3 of each by itself, and 4 that S cells share within an hour."""
    shared = Kind("places", csr_array(np.array([[4.0], [0], [4], [0]])), np.eye(HOURS))
    own = Kind("places", csr_array(np.diag([3.0, 5, 3, 5])), np.eye(HOURS))
    summary = Summary((shared, own), np.zeros((HOURS, 1)))
    happens = ~np.isin(np.arange(HOURS), clock.missing)
    return WeekCounts(COUNTS.astype(float), np.full(COUNTS.shape, 5.0), summary if sums else None, happens)


def table(clock=CLOCK, **options) -> pl.DataFrame:
    return region_sums(REGIONS, week(clock, **options), clock)


def numbers(sums: pl.DataFrame, region: str | None, period: str, column: str = "count") -> list:
    of_region = pl.col("region_id").eq_missing(pl.lit(region))
    return sums.filter(of_region & (pl.col("period") == period))[column].to_list()


def test_every_hour_is_the_sum_of_its_cells():
    sums = table()
    assert numbers(sums, "S", "hour") == (COUNTS[0] + COUNTS[2]).tolist()
    assert numbers(sums, "N", "hour") == COUNTS[1].tolist()
    assert numbers(sums, None, "hour") == COUNTS.sum(axis=0).tolist()


def test_regions_add_up_to_the_city_and_hours_to_days_and_the_week():
    sums = table()
    for period, size in (("hour", 168), ("day", 7), ("week", 1)):
        of_regions = np.array([numbers(sums, region, period) for region in ("N", "S", "alone")])
        assert of_regions.sum(axis=0).tolist() == numbers(sums, None, period)
        assert len(numbers(sums, None, period)) == size
    assert numbers(sums, "S", "day")[1] == sum(numbers(sums, "S", "hour")[24:48])
    assert numbers(sums, "S", "week") == [sum(numbers(sums, "S", "day"))]


def test_errors_are_those_of_sums():
    """What cells share adds up, the rest in squares: 8 and 3 and 3 in an hour, of a day with 24 hours by themselves."""
    sums = table()
    in_an_hour = np.sqrt(8**2 + 3**2 + 3**2)
    assert numbers(sums, "S", "hour", "standard_error") == pytest.approx([in_an_hour] * HOURS, abs=1e-3)
    assert numbers(sums, "S", "day", "standard_error") == pytest.approx([in_an_hour * 24**0.5] * 7, abs=1e-3)
    city = np.sqrt(8**2 + 3**2 + 3**2 + 5**2 + 5**2)
    assert numbers(sums, None, "week", "standard_error") == pytest.approx([city * HOURS**0.5], abs=1e-3)
    low, high = (numbers(sums, "S", "day", f"count_{end}") for end in ("low", "high"))
    middle, half = numbers(sums, "S", "day")[0], 1.96 * in_an_hour * 24**0.5
    assert (low[0], high[0]) == (np.floor(middle - half), np.ceil(middle + half))


def test_where_nothing_tells_how_errors_go_together_there_are_none():
    sums = table(sums=False)
    assert numbers(sums, "alone", "hour", "standard_error") == [5.0] * HOURS  # a region of one cell is that cell
    for region, period in (("S", "hour"), ("alone", "day"), (None, "hour"), (None, "week")):
        for column in ("standard_error", "count_low", "count_high"):
            assert set(numbers(sums, region, period, column)) == {None}
    assert numbers(sums, "S", "hour") == (COUNTS[0] + COUNTS[2]).tolist()


def test_an_hour_that_does_not_happen_is_in_no_day_and_not_in_the_week():
    sums, skipped = table(SPRING), 6 * 24 + 2
    assert list(SPRING.missing) == [skipped]
    assert numbers(sums, None, "hour")[skipped] == COUNTS[:, skipped].sum()  # as the files of cells have it
    assert numbers(sums, None, "hour", "timestamp")[skipped] is None
    assert numbers(sums, None, "week") == [COUNTS.sum() - COUNTS[:, skipped].sum()]
    assert numbers(sums, None, "day")[6] == COUNTS[:, 144:].sum() - COUNTS[:, skipped].sum()


def test_periods_say_when_they_start():
    sums = table()
    assert numbers(sums, "N", "day", "timestamp")[2] == "2007-09-12T00:00:00+02:00"
    assert numbers(sums, "N", "day", "hour") == [0, 24, 48, 72, 96, 120, 144]
    assert set(sums["week"]) == {date(2007, 9, 10)}
    assert sums["region_name"].unique(maintain_order=True).to_list() == [WHOLE_CITY, "North", "South", "Alone"]


def factors() -> PeopleFactors:
    """Half of the devices are ours; they are heard of in every second hour, or in every third, or always."""
    share, ones, active = (np.full(size, value) for size, value in ((4, 0.5), (4, 1.0), (HOURS, 0.5)))
    return PeopleFactors(
        Factor(share, share, share), Factor(ones, ones, ones), Factor(active, active / 1.5, active * 2)
    )


def test_people_of_a_region_are_those_of_its_cells():
    people = people_in_cells(factors(), week()).number
    sums = region_sums(REGIONS, week(), CLOCK, factors(), people)
    assert numbers(sums, "S", "hour", "people") == (people[0] + people[2]).tolist()
    assert numbers(sums, None, "week", "people") == [people.sum()]
    low, high = (numbers(sums, "S", "hour", f"people_{end}")[5] for end in ("low", "high"))
    count, half = (COUNTS[0] + COUNTS[2])[5], 1.96 * np.sqrt(8**2 + 3**2 + 3**2)
    assert low == max(0, np.floor((count - half) * 2))
    assert high == np.ceil((count + half) * 6)


def test_a_page_gets_the_numbers_of_the_files():
    people = people_in_cells(factors(), week()).number
    sums = region_sums(REGIONS, week(), CLOCK, factors(), people)
    parts = city_and_parts(np.zeros((4, 2)), REGIONS)
    assert {name: part.tolist() for name, part in parts.items()} == {
        WHOLE_CITY: [True] * 4,
        "North": [False, True, False, False],
        "South": [True, False, True, False],
        "Alone": [False, False, False, True],
    }
    shown = people_for_page(factors(), week(), parts)
    assert shown["numbers"] == people.tolist()
    assert shown["groups"][2]["low"] == numbers(sums, "S", "hour", "people_low")
    assert shown["groups"][0]["high"] == numbers(sums, None, "hour", "people_high")
    assert (shown["fewest"]["hours"][0], shown["most"]["hours"][0]) == (1.0, 3.0)
    untold = people_for_page(factors(), week(sums=False), parts)["groups"]
    assert [group is None for group in untold] == [True, False, True, False]  # a region of one cell is that cell


def test_regions_of_one_name_are_told_apart():
    twice = regions_named(["a", "b"], ["Centre", "Centre"])
    assert list(city_and_parts(np.zeros((2, 2)), twice)) == [WHOLE_CITY, "Centre (a)", "Centre (b)"]
