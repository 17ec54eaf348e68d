"""Exact sensitivity: all records of one identifier more, from event files through the real ingest, SQL and matrices.

Every pair must keep every bound that noise is made for, whichever scheme adds it, and leave everybody else's rows as
they were. Bounds that nobody can reach would waste accuracy: the last tests reach them.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from event_files import BrokenLine, Layout
from hypothesis import HealthCheck, Phase, given, settings
from neighbours import (
    ADVERSARIES,
    AUTUMN,
    CLAMP,
    COVER,
    CROWD,
    NEWCOMER,
    PLACES,
    TO_COVER,
    TOWER_L,
    TWICE_AN_HOUR,
    WEIGHT_L,
    WHOLE_WEEK,
    Case,
    L,
    Pair,
    at,
    violations,
)
from raw_weeks import BROKEN, LABELS, cases
from transcripts import asked_twice, beyond, planned

from density_assets.schemes import SCHEMES

VARIANTS = [*((name, True) for name in SCHEMES), ("fpa", False), ("efpa", False), ("efpag", False)]
# Without shrinking: an example takes a second, and what is printed repeats it.
SLOW = {
    "phases": (Phase.explicit, Phase.generate),
    "suppress_health_check": list(HealthCheck),
    "print_blob": True,
    "database": None,
}


def broken(pair: Pair) -> list[str]:
    """What the pair breaks: a bound of a query, or one that a scheme relies on when it adds noise."""
    found = violations(pair)
    for name, improved in VARIANTS:
        scheme, plan = planned(name, improved, L, WEIGHT_L, CLAMP, TOWER_L)
        weeks = pair.absent.counted.counts(scheme), pair.present.counted.counts(scheme)
        any_clusters = np.resize(pair.labels, PLACES.count(scheme.places))
        for labels in [None, any_clusters] if scheme.clustered else [None]:
            pairs = asked_twice(scheme, plan, weeks, PLACES, labels)
            found += [f"{name}: {line}" for line in beyond(pairs, plan)]
    return found


@settings(max_examples=30, **SLOW)
@given(case=cases(), labels=LABELS)
def test_any_identifier_stays_within_the_bounds(tmp_path_factory, case, labels):
    assert broken(replace(case.pair(tmp_path_factory.mktemp("pair")), labels=labels)) == []


@pytest.mark.nightly
@settings(max_examples=500, **SLOW)
@given(case=cases(most_events=20_000), labels=LABELS)
def test_any_identifier_stays_within_the_bounds_at_length(tmp_path_factory, case, labels):
    assert broken(replace(case.pair(tmp_path_factory.mktemp("pair")), labels=labels)) == []


@pytest.mark.parametrize("newcomer", ADVERSARIES.values(), ids=ADVERSARIES)
def test_adversaries_stay_within_the_bounds(tmp_path, newcomer):
    assert broken(Case([*CROWD, *newcomer], threads=2).pair(tmp_path)) == []


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_an_hour_that_happens_twice_counts_once(tmp_path, kind):
    pair = Case(TWICE_AN_HOUR, week=AUTUMN, layout=Layout(kind, files=3)).pair(tmp_path)
    assert broken(pair) == []
    assert np.abs(pair.change("truncated")).sum() == 1


def test_records_spread_over_files_among_broken_lines_change_nobody_elses(tmp_path):
    """Every kind of broken line, the newcomer's and nobody's, in every file."""
    lines = [template.replace(b"|", b",") for template in BROKEN]
    nobodys = [BrokenLine(line.replace(b"%s", b"nobody")) for line in lines * 4]
    own = [BrokenLine(line.replace(b"%s", NEWCOMER.encode()), NEWCOMER) for line in lines * 4]
    entries = [*CROWD, *at(WHOLE_WEEK, ["00-a", "01-b"]), *nobodys, *own]
    assert broken(Case(entries, layout=Layout(files=4), threads=2).pair(tmp_path)) == []


@pytest.mark.nightly
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_lines_on_the_seams_of_large_files_change_nobody_elses(tmp_path, end):
    """Large files are read in several pieces at once; lines of three megabytes lie across where they are cut."""
    endless = [BrokenLine(b"x" * 3_000_000, NEWCOMER) for _ in range(10)]
    entries = [*(CROWD * 20_000), *ADVERSARIES["every antenna in every hour"], *endless]
    assert violations(Case(entries, layout=Layout(end=end, seed=5), threads=2).pair(tmp_path)) == []


# --- the bounds are reached --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def restless(tmp_path_factory) -> Pair:
    """Every antenna in every hour: over every cap."""
    return Case([*CROWD, *ADVERSARIES["every antenna in every hour"]]).pair(tmp_path_factory.mktemp("restless"))


def test_caps_and_clamps_are_reached(restless: Pair):
    truncated = restless.change("truncated")
    assert np.abs(truncated).sum() == (truncated**2).sum() == L
    assert restless.change("visit_total") == CLAMP
    assert np.abs(restless.change("sampled")).sum() == 1


def test_weights_fill_their_norm(tmp_path: Path):
    weighted = Case(ADVERSARIES["weights without a remainder"]).pair(tmp_path).change("weighted")
    assert sum(int(value) ** 2 for value in weighted.reshape(-1)) == WEIGHT_L * 2**32


@pytest.mark.parametrize("newcomer", ["totals without a remainder", "totals at four sites"])
def test_totals_of_towers_fill_their_norm(tmp_path: Path, newcomer):
    change = Case(ADVERSARIES[newcomer]).pair(tmp_path).change("tower_totals")
    assert sum(int(value) ** 2 for value in change) == TOWER_L * 2**32


def test_all_visits_in_one_cell_change_its_total_by_the_cap(tmp_path: Path):
    """Why totals of truncated series need l where the chapter has sqrt(l)."""
    change = Case(ADVERSARIES["one mast all week"]).pair(tmp_path).change("truncated")
    assert np.sqrt((change.sum(axis=1) ** 2).sum()) == L


def test_clusters_change_by_l_in_squares_together_and_by_more_when_added_up(tmp_path: Path):
    """Σ_E ‖ΔX^E‖₂² ≤ l for any clusters of the cover, though Σ_E ‖ΔX^E‖₂ may pass sqrt(l)."""
    newcomer = ADVERSARIES["as many sites as the cap, each in its own hour"]
    cover = TO_COVER @ Case(newcomer).pair(tmp_path).change("truncated")
    labels = np.arange(len(COVER)) % 4
    norms = [np.linalg.norm(cover[labels == label].sum(axis=0)) for label in range(4)]
    assert (np.array(norms) ** 2).sum() <= L * (1 + 1e-6)
    assert sum(norms) > np.sqrt(L)  # what the published proofs overlook
