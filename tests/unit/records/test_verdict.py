"""What is odd about the records of a week, and about an antenna list."""

from collections import Counter

import pytest

from density_assets.quality.released import Worth
from density_assets.records.verdict import (
    Verdict,
    WeekOfRecords,
    findings_of_geography,
    findings_of_week,
    verdict_of,
)


def week(**changed) -> WeekOfRecords:
    """A week in which nothing is odd."""
    usual = {"hours": (0, 167), "towers": 80, "sites": 100, "identifiers": 1_000, "once": 100, "by_hour": [30] * 168}
    return WeekOfRecords(Counter(usable=5_000), **{**usual, **changed})


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (week(), ""),
        (week(far=1, hours=(0, 5_000_000)), "1 records lie more than a year from the week"),
        (week(hours=(1, 24)), "lie in 24 hours of it"),
        (week(hours=(-30, 143)), ""),
        (week(towers=49), "at 49 of 100 sites only"),
        (week(once=501), "501 of 1,000 identifiers are seen once"),
        (week(identifiers=0), "each of 0 identifiers has more than a record a minute"),
        (week(by_hour=[30] * 48 + [5] * 24 + [30] * 72 + [5] * 24), "few or no records lie on Wednesday, Sunday: are"),
        (week(by_hour=[30] * 144 + [7] * 24), ""),
        (
            week(by_hour=([700] + [1] * 23) * 7),
            "4,900 of 5,061 records lie in one hour of the day, that from 0h: a date",
        ),
    ],
)
def test_what_is_odd_is_to_be_looked_at(found, words):
    said = findings_of_week(found)
    assert verdict_of(said) is (Verdict.LOOK if words else Verdict.READY)
    assert words in " ".join(finding.text for finding in said)


def test_an_antenna_list_of_elsewhere_and_a_city_too_small_are_to_be_looked_at():
    assert findings_of_geography(10, 10, Worth(0.1, 0.67).warnings) == []
    outside, small = findings_of_geography(10, 11, Worth(0.9, 0.67).warnings)
    assert "11 antennas of the list lie outside" in outside.text
    assert "too small for its promise" in small.text
