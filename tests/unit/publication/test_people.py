"""People: visits by public factors as people state them, with intervals that hold, and sums that are sums."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from density_assets.calendar import HOURS
from density_assets.errors import BadInput
from density_assets.estimation.weeks.summary import Kind, Summary
from density_assets.geography.regions import regions_named
from density_assets.publication.people import (
    ENDS,
    Factor,
    PeopleFactors,
    city_factors,
    factors_table,
    people_in_cells,
    people_of_sums,
)
from density_assets.publication.sum_errors import WeekCounts
from density_assets.settings import load_settings
from density_assets.settings.people import FACTORS

CELL_COUNT = 5
EVERY = np.ones(HOURS, bool)
AREAS = np.array([[1.0, 1, 1, 1, 1], [1, 1, 0, 0, 0], [0, 0, 1, 1, 1]])
PERIODS = np.column_stack([np.eye(HOURS), np.ones(HOURS)])

shares = st.floats(0.05, 1.0)


def numbers(value: float, size: int, low: float = 1.0, high: float = 1.0) -> Factor:
    """A factor that is alike everywhere; bounds are relative."""
    return Factor(np.full(size, value), np.full(size, value * low), np.full(size, value * high))


def alike_factors(share=0.25, devices=2.0, active=0.5, *, low: float = 1.0, high: float = 1.0) -> PeopleFactors:
    return PeopleFactors(
        numbers(share, CELL_COUNT, low, high),
        numbers(devices, CELL_COUNT, low, high),
        numbers(active, HOURS, low, high),
    )


def counted(seed: int = 1, *, error: float = 10.0, shared: float = 0.0) -> WeekCounts:
    """Counts of a few cells; with an error of all cells and hours together, its size in each of them."""
    visits = np.random.default_rng(seed).integers(0, 2_000, (CELL_COUNT, HOURS)).astype(float)
    kind = Kind("places", csr_array(np.full((CELL_COUNT, 1), shared or 1e-9)), np.ones((HOURS, 1)))
    return WeekCounts(visits, np.full(visits.shape, error), Summary((kind,), np.zeros((HOURS, 1))), EVERY)


def test_people_are_visits_by_the_factors():
    """A quarter of the devices are ours, people carry two, half of these are heard of in an hour: four per visit."""
    found = people_in_cells(alike_factors(), counted())
    assert (found.number == 4 * counted().visits).all()


def test_each_factor_is_that_of_the_cell_and_hour():
    share, active = np.array([0.1, 0.2, 0.5, 1, 1]), np.where(np.arange(HOURS) % 24 < 6, 0.1, 0.5)
    by_place = PeopleFactors(Factor(share, share, share), numbers(1.0, CELL_COUNT), Factor(active, active, active))
    number = people_in_cells(by_place, counted()).number
    assert number[0, 3] == pytest.approx(counted().visits[0, 3] * 10 * 10, abs=1)
    assert number[2, 12] == pytest.approx(counted().visits[2, 12] * 2 * 2, abs=1)


@given(shares, shares, st.floats(0.5, 3.0), st.integers(0, 99))
def test_sums_of_people_are_sums_of_the_people_of_cells(share, active, devices, seed):
    """And all cells of an hour together are the people of all visits of the hour, but for one rounding."""
    known, week = alike_factors(share, devices, active, low=0.8, high=1.25), counted(seed)
    cells = people_in_cells(known, week)
    sums = people_of_sums(known, week, cells.number, AREAS, PERIODS)
    assert (sums.number == AREAS @ cells.number @ PERIODS).all()
    assert (sums.number[0] == sums.number[1] + sums.number[2]).all()
    of_all = week.visits.sum(axis=0) / (share * devices * active)
    assert np.abs(sums.number[0, :HOURS] - of_all).max() <= 0.5 + 1e-6


@given(shares, shares, st.floats(0.5, 3.0), st.floats(0.5, 1.0), st.floats(1.0, 2.0), st.floats(0.0, 50.0))
def test_intervals_hold_the_number_and_are_never_negative(share, active, devices, low, high, error):
    known, week = alike_factors(share, devices, active, low=low, high=high), counted(error=error)
    cells = people_in_cells(known, week)
    sums = people_of_sums(known, week, cells.number, AREAS, PERIODS)
    for found in (cells, sums):
        assert (found.low <= found.number).all()
        assert (found.number <= found.high).all()
        assert (found.low >= 0).all()


@given(shares, st.floats(0.5, 0.99))
def test_more_of_any_factor_is_fewer_people(share, less):
    """With every factor: what explains more of the devices leaves fewer people behind each visit."""
    for name in ("share", "devices", "active"):
        few, many = (
            people_in_cells(alike_factors(**{name: value}), counted()).number for value in (share, share * less)
        )
        assert (few <= many).all()
        assert few.sum() < many.sum()


@given(st.floats(0.5, 1.0), st.floats(1.0, 2.0), st.floats(0.5, 1.0), st.floats(1.0, 2.0))
def test_wider_bounds_are_wider_intervals(low, high, lower, higher):
    one, two = alike_factors(low=low, high=high), alike_factors(low=low * lower, high=high * higher)
    for week in (counted(), counted(shared=5.0)):
        narrow, wide = (
            people_of_sums(known, week, people_in_cells(known, week).number, AREAS, PERIODS) for known in (one, two)
        )
        assert (wide.low <= narrow.low).all()
        assert (wide.high >= narrow.high).all()


def test_an_interval_is_that_of_visits_where_each_visit_is_a_person():
    """Noise alone, and noise of sums as the release tells it: 10 in each cell that all share, 24 hours of 5 cells."""
    week = counted(error=10.0, shared=10.0)
    ones = alike_factors(1.0, 1.0, 1.0)
    day = np.zeros((HOURS, 1))
    day[:24] = 1
    cells = people_in_cells(ones, week)
    found = people_of_sums(ones, week, cells.number, AREAS[:1], day)
    half = 1.96 * 10 * 5 * 24
    assert found.high.item() - found.number.item() == pytest.approx(half, abs=1)
    assert found.number.item() - found.low.item() == pytest.approx(half, abs=1)


def test_without_errors_of_sums_only_a_single_cell_and_hour_has_an_interval():
    week = WeekCounts(counted().visits, np.full((CELL_COUNT, HOURS), 10.0), None, EVERY)
    cells = people_in_cells(alike_factors(), week)
    areas = np.vstack([np.eye(CELL_COUNT)[:1], AREAS[:1]])
    sums = people_of_sums(alike_factors(), week, cells.number, areas, PERIODS)
    assert np.isfinite(sums.low[0, :HOURS]).all()
    assert np.isnan(sums.low[0, HOURS])
    assert np.isnan(sums.low[1]).all()
    assert np.isnan(sums.high[1]).all()
    assert (sums.low[0, :HOURS] == cells.low[0]).all()


def test_the_interval_holds_the_truth_wherever_factors_lie_between_their_bounds():
    """Visits with noise of known size, factors drawn anew for every cell and hour between their bounds: 95 % at least.

    The people who are really there have those factors; the release knows the bounds alone.
    """
    random = np.random.default_rng(5)
    known, true = alike_factors(low=0.9, high=1.1), np.full((CELL_COUNT, HOURS), 500.0)
    held = []
    for _ in range(60):
        share, devices = (random.uniform(0.9, 1.1, (CELL_COUNT, 1)) * value for value in (0.25, 2.0))
        active = random.uniform(0.9, 1.1, HOURS) * 0.5
        people = true / (share * devices * active)
        noisy = np.maximum(np.rint(true + random.normal(0, 30, true.shape)), 0)
        week = WeekCounts(noisy, np.full(true.shape, 30.0), Summary((), np.zeros((HOURS, 1))), EVERY)
        cells = people_in_cells(known, week)
        sums = people_of_sums(known, week, cells.number, AREAS, PERIODS)
        held += [((cells.low <= people) & (people <= cells.high)).mean()]
        truth = AREAS @ people @ PERIODS
        held += [((sums.low <= truth) & (truth <= sums.high)).mean()]
    assert np.mean(held) >= 0.95


@pytest.mark.parametrize(("value", "low", "high"), [(0.5, 0.6, 0.7), (0.5, 0.4, 0.45), (0.5, 0.0, 1.0), (-1, -2, 1)])
def test_a_factor_outside_its_bounds_is_no_factor(value, low, high):
    with pytest.raises(ValueError, match="between its bounds"):
        Factor(*(np.full(3, number) for number in (value, low, high)))


CELLS = ["SW", "SE", "NW", "NE"]
REGIONS = regions_named(["S", "S", "N", "N"], ["South", "South", "North", "North"])
NUMBERS = {"market_share": 0.4, "devices_per_person": 1.2, "active_share": 0.25}


def factors(folder: Path, *lines: str, regions=REGIONS, **files: str) -> PeopleFactors:
    """What lines of the settings state, over numbers; files are written beside them."""
    for name, text in files.items():
        (folder / f"{name}.csv").write_text(text)
    stated = {name: f"{name} = {value}" for name, value in NUMBERS.items()}
    stated |= {line.split(" ")[0]: line for line in lines}
    file = folder / "my.toml"
    file.write_text("[people]\n" + "\n".join(stated.values()))
    found = city_factors(load_settings(file), CELLS, regions)
    assert found is not None
    return found


def test_nobody_is_counted_as_people_unless_somebody_says_so(tmp_path: Path) -> None:
    assert city_factors(load_settings(None), CELLS, None) is None


def test_numbers_hold_everywhere(tmp_path: Path) -> None:
    found = factors(tmp_path, "market_share_low = 0.3", "market_share_high = 0.5", "devices_per_person = 1")
    assert [found.market_share.low.tolist(), found.market_share.high.tolist()] == [[0.3] * 4, [0.5] * 4]
    assert found.devices_per_person.value.tolist() == [1.0] * 4
    assert found.active_share.value.tolist() == found.active_share.low.tolist() == [0.25] * HOURS


def test_shares_of_regions_are_those_of_their_cells(tmp_path: Path) -> None:
    table = "region_id,market_share,market_share_low,market_share_high\nN,0.5,0.4,0.6\nS,0.2,0.2,0.3\n"
    found = factors(tmp_path, 'market_share = "shares.csv"', shares=table).market_share
    assert found.value.tolist() == [0.2, 0.2, 0.5, 0.5]
    assert found.low.tolist() == [0.2, 0.2, 0.4, 0.4]
    assert found.high.tolist() == [0.3, 0.3, 0.6, 0.6]


def test_cells_may_have_their_own(tmp_path: Path) -> None:
    table = "cell_id,devices_per_person\nNE,4\nNW,3\nSE,2\nSW,1\n"
    found = factors(tmp_path, 'devices_per_person = "devices.csv"', regions=None, devices=table)
    assert found.devices_per_person.value.tolist() == [1, 2, 3, 4]


def test_hours_are_those_of_the_day_or_of_the_week(tmp_path: Path) -> None:
    day = "hour,active_share\n" + "".join(f"{hour:02d},{(hour + 1) / 100}\n" for hour in range(23, -1, -1))
    week = "hour,active_share\n" + "".join(f"{hour},{(hour + 1) / 1000}\n" for hour in range(HOURS))
    found = [factors(tmp_path, 'active_share = "active.csv"', active=text).active_share.value for text in (day, week)]
    assert found[0].tolist() == [(hour % 24 + 1) / 100 for hour in range(HOURS)]
    assert found[1].tolist() == [(hour + 1) / 1000 for hour in range(HOURS)]


SHARES = "region_id,market_share,market_share_low,market_share_high\nN,0.5,0.4,0.6\nS,0.2,0.2,0.3\n"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("S,0.2,0.2,0.3\n", "", "1 missing: S"),
        ("N,", "X,", "1 unknown: X"),
        ("0.2,0.2,0.3", "0.2,0.25,0.3", "must lie between its bounds, got 0.2"),
        ("0.2,0.2,0.3", "0.2,0.2,1.3", "1 others: '1.3'"),
        ("0.2,0.2,0.3", "0,0,0.3", "1 others: '0'"),
        ("0.2,0.2,0.3", "nan,0.2,0.3", "1 others: 'nan'"),
        ("0.2,0.2,0.3", ",0.2,0.3", "1 others: None"),
        (",market_share_high", ",high", "bounds must be two"),
        ("region_id", "district", "cell_id must name a column"),
        (",market_share,", ",share,", "market_share must name a column"),
    ],
)
def test_a_table_that_leaves_something_open_is_refused(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in SHARES
    with pytest.raises(BadInput, match=said) as refused:
        factors(tmp_path, 'market_share = "shares.csv"', shares=SHARES.replace(old, new))
    assert "shares.csv" in str(refused.value)


SEMICOLONS = "region_id;market_share;market_share_low;market_share_high\nN;0,5;0,4;1\nS;0,2;0,2;0,3\n"


@pytest.mark.parametrize("shares", [SEMICOLONS, 'region_id,market_share\nN,"0,5"\nS,"0,2"\n'])
def test_a_decimal_comma_is_one_where_no_point_is(tmp_path: Path, shares: str) -> None:
    found = factors(tmp_path, 'market_share = "shares.csv"', shares=shares).market_share
    points = factors(tmp_path, 'market_share = "shares.csv"', shares=SHARES).market_share
    assert found.value.tolist() == points.value.tolist()
    with pytest.raises(BadInput, match="with a decimal point, or all with a comma, found 1 others: '0,"):
        factors(tmp_path, 'market_share = "shares.csv"', shares=shares.replace("0,2", "0.2"))


def test_a_region_needs_regions(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="the city has none"):
        factors(tmp_path, 'market_share = "shares.csv"', shares=SHARES, regions=None)


def test_every_hour_must_be_there(tmp_path: Path) -> None:
    hours = "hour,active_share\n" + "".join(f"{hour},0.1\n" for hour in range(25))
    with pytest.raises(BadInput, match="143 missing: 25, 26"):
        factors(tmp_path, 'active_share = "active.csv"', active=hours)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("market_share = 0.4", "devices_per_person, active_share must be stated as well"),
        ("market_share = 0.4\ndevices_per_person = 1", "active_share must be stated as well"),
        ("market_share_low = 0.4", "must be stated as well"),
        ("market_share = 1.4\ndevices_per_person = 1\nactive_share = 1", "market_share must lie between 0.0001 and 1"),
        ("market_share = 0\ndevices_per_person = 1\nactive_share = 1", "market_share must lie between"),
        ("market_share = true\ndevices_per_person = 1\nactive_share = 1", "must be a number, got True"),
        ("market_share = nan\ndevices_per_person = 1\nactive_share = 1", "market_share must lie between"),
        ("market_share = 1\ndevices_per_person = -1\nactive_share = 1", "devices_per_person must lie between"),
        (
            "market_share = 0.4\nmarket_share_low = 0.5\ndevices_per_person = 1\nactive_share = 1",
            "market_share must lie between its bounds, got 0.4 and bounds 0.5 and 0.4",
        ),
        (
            'market_share = "x.csv"\nmarket_share_low = 0.5\ndevices_per_person = 1\nactive_share = 1',
            "leave out market_share_low",
        ),
        ('market_share = "../x.csv"\ndevices_per_person = 1\nactive_share = 1', "must not climb"),
        ("market_shares = 0.4", "did you mean 'market_share'?"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(tmp_path: Path, lines: str, said: str) -> None:
    file = tmp_path / "my.toml"
    file.write_text(f"[people]\n{lines}")
    with pytest.raises(BadInput) as refused:
        load_settings(file)
    assert said in str(refused.value)


def test_factors_are_kept_as_a_table(tmp_path: Path) -> None:
    table = "cell_id,devices_per_person\nNE,4\nNW,3\nSE,2\nSW,1\n"
    stated = factors(tmp_path, 'devices_per_person = "devices.csv"', devices=table)
    kept = factors_table(stated, CELLS)
    assert kept["factor"].unique(maintain_order=True).to_list() == list(FACTORS)
    for (name,), rows in kept.group_by("factor"):
        for end in ENDS:
            assert np.array_equal(rows[end], getattr(getattr(stated, name), end))
