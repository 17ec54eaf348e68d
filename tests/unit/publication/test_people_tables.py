"""Factors as people state them: numbers, or tables by cell, region and hour; anything else is refused by name."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from density_assets.calendar import HOURS
from density_assets.errors import BadInput
from density_assets.geography.regions import regions_named
from density_assets.publication.people import ENDS, PeopleFactors, city_factors, factors_from, factors_table
from density_assets.settings import load_settings
from density_assets.settings.people import FACTORS

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
    again = factors_from(pl.DataFrame(kept.to_arrow()))
    for name in FACTORS:
        for end in ENDS:
            assert np.array_equal(getattr(getattr(again, name), end), getattr(getattr(stated, name), end))
