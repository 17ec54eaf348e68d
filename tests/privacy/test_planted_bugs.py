"""Tests of the tests: each bug that would break the promise is planted, and must be caught."""

from dataclasses import replace

import numpy as np
import pytest
from door import Door
from goodness import GAUSSIAN_SAMPLE, fits, fits_discrete
from neighbours import ADVERSARIES, AUTUMN, CLAMP, CROWD, PLACES, TOWER_L, TWICE_AN_HOUR, WEIGHT_L, Case, L, violations
from planting import planted
from transcripts import asked_twice, beyond, planned

from density_assets.privacy.events import Gaussian
from density_assets.privacy.noise import OpenDpNoise
from density_assets.schemes.lowrank import LowRank
from density_assets.schemes.scheme import SERIES, TOTALS, Counts
from resources.ledger.book import LedgerError

EVENT = Gaussian("q", 50.0, 5.0)
MANY = 2 * GAUSSIAN_SAMPLE  # twice what notices it almost surely: this test must never fail by chance


# --- noise ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("factor", "values"),
    [(0.95, MANY), (0.5, 1_000), (1 / np.sqrt(30), 1_000)],
    ids=["5 % less", "half", "for one record"],
)
def test_too_little_noise_is_caught(factor, values):
    little = replace(EVENT, sigma=factor * EVENT.sigma)
    assert not fits(OpenDpNoise().gaussian(np.zeros(values), little), EVENT)
    assert not fits_discrete(OpenDpNoise().discrete_gaussian(np.zeros(values, dtype=np.int64), little), EVENT)


def test_a_fresh_draw_on_rematerialisation_is_caught(tmp_path):
    """A door without memory finds that the ledger has one."""
    door = Door(tmp_path)
    door(inputs="a")
    for file in (tmp_path / "town/release/measurements").glob("*.npz"):
        file.unlink()
    with pytest.raises(LedgerError, match="a revision of a week is drawn once"):
        door(inputs="a")
    assert door.drawn == 1


# --- bounds, from records to counts --------------------------------------------------------------------------------


def found(tmp_path, newcomer: str, **case) -> str:
    """What is said to be wrong with a pair, in one line; a week that cannot be counted at all is wrong too."""
    try:
        return "; ".join(violations(Case([*CROWD, *ADVERSARIES[newcomer]], **case).pair(tmp_path)))
    except (RuntimeError, ValueError) as error:
        return str(error)


BUGS = {
    "cap not enforced": ("truncated_visits", "place <= $visits_per_user", "place <= $visits_per_user + 1"),
    "cap enforced too late": ("truncated_visits", "> $visits_per_user", "> $visits_per_user + 1"),
    "visits of one hour": ("truncated_visits", "user_id, user_key, hour\n", "user_id, user_key, hour, tower_id\n"),
    "ranked among others": ("truncated_visits", "partition by user_id", "partition by 1"),
    "weights a little too large": ("tower_series", "// count(*)", "// greatest(1, count(*) - 1)"),
    "totals weigh visits, not squares": ("tower_totals", "sum(visits * visits)", "sum(visits)"),
    "totals weigh squares of one site": ("tower_totals", "sum(visits * visits)", "max(visits * visits)"),
    "totals weigh a little too much": ("tower_totals", "sum(visits * visits)", "greatest(1, sum(visits * visits) - 1)"),
    "totals with a larger norm": ("tower_totals", "$tower_l *", "($tower_l + 1) *"),
    "totals weigh rounded up": ("tower_totals", "floor(", "ceil("),
    "totals weigh more than one": ("tower_totals", "least(65536,", "greatest(65536,"),
    "totals weigh sites one by one": (
        "tower_totals",
        "from at_sites\n  group by user_id\n",
        "from at_sites\n  group by user_id, tower_id\n",
    ),
    "totals square the visits": ("tower_totals", "weight * visits as", "weight * visits * visits as"),
    "totals of towers where somebody was": ("tower_totals", "from towers\n", "from towers where false\n"),
    "total not clamped": ("visit_total", "$visits_clamp)", "$visits_clamp + 1)"),
    "two sampled visits": ("one_visit_histogram", "group by user_id", "group by user_id, y % 2"),
    "events counted": ("visits", "select distinct", "select"),
    "an hour too many": ("events", "hour > 167", "hour > 168"),
    "antennas for sites": ("events", "antennas.tower_id as", "(placed.record_tower = '00-a')::bigint + 1 as"),
}


@pytest.mark.parametrize(
    ("bug", "newcomer", "words"),
    [
        ("cap not enforced", "one mast all week", "towers L1"),
        ("cap enforced too late", "one hour above the cap", "towers L1"),
        ("visits of one hour", "every antenna in one hour", "in one hour"),
        ("ranked among others", "every antenna in every hour", "rows of others have changed"),
        ("weights a little too large", "weights without a remainder", "weighted L2"),
        ("totals weigh visits, not squares", "totals at four sites", "tower totals L2"),
        ("totals weigh squares of one site", "totals at four sites", "tower totals L2"),
        ("totals weigh a little too much", "totals without a remainder", "tower totals L2"),
        ("totals with a larger norm", "totals without a remainder", "tower totals L2"),
        ("totals weigh rounded up", "a visit more than fills the totals", "tower totals L2"),
        ("totals weigh more than one", "totals without a remainder", "tower totals L2"),
        ("totals weigh sites one by one", "totals at four sites", "tower totals L2"),
        ("totals square the visits", "totals without a remainder", "tower totals L2"),
        ("totals of towers where somebody was", "one visit", "expected a row for each of 15 places"),
        ("total not clamped", "one visit above the clamp", "total"),
        ("two sampled visits", "every antenna in every hour", "one visit L1"),
        ("events counted", "every antenna in one hour", "weighted L2"),
        ("an hour too many", "the last moment before the week and the first after it", "15 x 168 rows"),
        ("antennas for sites", "one mast all week", "read otherwise than written"),
    ],
)
def test_bounds_that_the_sql_does_not_keep_are_caught(monkeypatch, tmp_path, bug, newcomer, words):
    planted(monkeypatch, *BUGS[bug])
    assert words in found(tmp_path, newcomer)


def test_clocks_that_are_not_folded_are_caught(monkeypatch, tmp_path):
    planted(monkeypatch, "events", "else $after end", "else $before + 0 * $after end")
    pair = Case([replace(entry, spelling="seconds") for entry in TWICE_AN_HOUR], week=AUTUMN).pair(tmp_path)
    assert "read otherwise than written" in "; ".join(violations(pair))


# --- bounds, from counts to noise -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def concentrated(tmp_path_factory):
    """A newcomer who has all visits at one mast."""
    return Case([*CROWD, *ADVERSARIES["one mast all week"]]).pair(tmp_path_factory.mktemp("pair"))


def asked(pair, scheme, plan):
    weeks = pair.absent.counted.counts(scheme), pair.present.counted.counts(scheme)
    return asked_twice(scheme, plan, weeks, PLACES)


@pytest.mark.parametrize(
    ("name", "improved", "door", "place"),
    [
        ("efpag", False, TOTALS, 0),
        ("efpag", True, TOTALS, 0),
        ("efpag", True, TOTALS, 1),
        ("efpag", True, TOTALS, 2),
        ("efpa", True, SERIES, 1),
        ("gpa", True, SERIES, 0),
        ("lpa", True, SERIES, 0),
        ("lowrank", True, TOTALS, 0),
        ("lowrank", True, TOTALS, 1),
        ("lowrank", True, SERIES, 0),
        ("direct", True, SERIES, 0),
    ],
)
def test_noise_made_for_half_of_what_one_user_changes_is_caught(concentrated, name, improved, door, place):
    scheme, plan = planned(name, improved, L, WEIGHT_L, CLAMP, TOWER_L)
    assert beyond(asked(concentrated, scheme, plan), plan) == []
    events = list(plan[door])
    events[place] = replace(events[place], sensitivity=events[place].sensitivity / 2)
    found = beyond(asked(concentrated, scheme, {**plan, door: tuple(events)}), {**plan, door: tuple(events)})
    assert any(line.startswith(events[place].query) for line in found)


def test_noise_that_is_not_what_is_charged_is_caught(concentrated):
    scheme, plan = planned("gpa", True, L, WEIGHT_L, CLAMP, TOWER_L)
    (event,) = plan[SERIES]
    little = {SERIES: (replace(event, sigma=0.9 * event.sigma),)}
    assert any("is drawn and not charged" in line for line in beyond(asked(concentrated, scheme, little), plan))


class WithoutNoiseOnZeros(LowRank):
    """Counts of zero stay zero: it is known where nobody was."""

    def series(self, plan, counts, labels, noise):
        drawn = super().series(plan, counts, labels, noise)
        return {**drawn, "series": np.where(counts.series == 0, 0, drawn["series"])}


class OneNoiseForAll(LowRank):
    """One row of noise, added to all."""

    def series(self, plan, counts, labels, noise):
        row = super().series(plan, Counts(series=np.zeros_like(counts.series[:1])), labels, noise)
        return {**row, "series": counts.series + row["series"]}


@pytest.mark.parametrize("scheme", [WithoutNoiseOnZeros(), OneNoiseForAll()], ids=lambda scheme: type(scheme).__name__)
def test_counts_that_leave_beside_the_noise_are_caught(concentrated, scheme):
    _, plan = planned("lowrank", True, L, WEIGHT_L, CLAMP, TOWER_L)
    with pytest.raises(AssertionError, match="more than the answers leaves the doors"):
        asked(concentrated, scheme, plan)


class AsksAgain(LowRank):
    """Looks at the counts to decide whether to draw once more."""

    def totals(self, plan, counts, noise):
        drawn = super().totals(plan, counts, noise)
        return super().totals(plan, counts, noise) if counts.visit_total > 40 else drawn


def test_questions_that_depend_on_people_are_caught(concentrated):
    _, plan = planned("lowrank", True, L, WEIGHT_L, CLAMP, TOWER_L)
    with pytest.raises(AssertionError, match="the neighbour is asked"):
        asked(concentrated, AsksAgain(), plan)
