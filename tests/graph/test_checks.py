"""Checks in the real graph: they run with the week, a fault stops what is downstream, and findings tell nobody."""

import json
from datetime import date
from shutil import copytree

import dagster as dg
import polars as pl
import pytest
from planting import planted
from runs import MONDAY, WEEK, failures, materialise, only, opened, ran, verdicts
from town import make_town

from density_assets.city import City
from density_assets.definitions import build
from density_assets.graph import confidential
from density_assets.graph.checks.outcomes import finding_answer
from density_assets.graph.step import Reader, RecordStep
from density_assets.privacy.zones import Zone
from density_assets.publication import release_files
from density_assets.settings import Settings
from resources.ledger.ledger import Ledger
from resources.sql.duckdb_engine import DuckdbEngine

PUBLIC = ("cells", "antennas", "towers", "tower_cells", "overlaps", "cover_graph")
COUNTED = ("visits", "truncated_visits", "tower_series", "tower_totals", "visit_total", "one_visit_histogram")
MAPPED = ("iris_series", "cover_series")
DOORS = ("noisy_totals", "noisy_series")
FILES = ("published_counts", "privacy_statement", "density_report")
FAULTS = {
    "cap_is_kept",
    "every_visit_is_counted_once",
    "tower_totals_keep_their_norm",
    "clamp_is_kept",
    "one_visit_per_user",
    "cells_keep_mass",
    "cover_keeps_mass",
}
COUNTS = "every_visit_is_counted_once"
CUT = "count(*) + 0 * $visits_clamp"
BUSY = "".join(f"ann,2007-09-1{day} {hour:02}:00:00,A\n" for day in range(4) for hour in range(24))


def some(town, home, *assets: str, **options) -> dg.ExecuteInProcessResult:
    return materialise(town.settings, home, asset_selection=only(*assets), raise_on_error=False, **options)


@pytest.fixture(scope="module")
def whole_week(tmp_path_factory):
    """A week of real people, from records to release, under a budget that is then used up."""
    folder = tmp_path_factory.mktemp("checked")
    town = make_town(folder)
    town.set("[engine]", "[privacy]\nbudget_epsilon = 0.31\n[engine]")
    return town, folder / "home", materialise(town.settings, folder / "home")


def test_every_check_runs_with_the_week_and_tells_its_story(whole_week):
    town, home, result = whole_week
    specs = [spec for check in build(opened(town.settings, home)).asset_checks for spec in check.check_specs]
    # The first week of a city has none before it to be compared with; whether weeks are late is no matter of one week.
    apart = {"like_the_week_before", "newest_week_is_out"}
    assert set(verdicts(result)) == {spec.name for spec in specs} - apart
    assert len(verdicts(result)) == 18
    assert all(len(spec.description) > 30 for spec in specs)
    assert {spec.name for spec in specs if not spec.blocking} == {
        "week_is_complete",
        "visits_exceed_noise",
        "like_the_week_before",
        "budget_is_left",
        "ledger_is_whole",
        "release_verifies",
        "newest_week_is_out",
    }


def test_a_check_that_only_warns_does_not_stop_the_week(whole_week):
    _, _, result = whole_week
    found = verdicts(result)["budget_is_left"]
    assert not found.passed
    assert found.severity == dg.AssetCheckSeverity.WARN
    assert "there is room for 0 more weeks at epsilon 0.3: 0.299 are spent of 0.31 in the 52 weeks" in found.description
    assert result.success
    failed = {name for name, check in verdicts(result).items() if not check.passed}
    assert failed - {"visits_exceed_noise"} == {"budget_is_left"}  # two people are as likely more than noise as not


def test_checks_of_real_people_say_pass_or_fail_and_no_number(whole_week):
    _, _, result = whole_week
    for name in FAULTS:
        check = verdicts(result)[name]
        assert (check.passed, check.description, check.metadata) == (True, None, {})


@pytest.fixture(scope="module")
def visited(tmp_path_factory):
    """A town whose only person is seen in more hours than any cap allows, up to its visits."""
    folder = tmp_path_factory.mktemp("visited")
    town = make_town(folder)
    town.set("[engine]", "[privacy]\nvisits_clamp = 50\n[engine]")
    town.write_visits(BUSY)
    assert some(town, folder / "home", *PUBLIC, "visits").success
    return town, folder / "home"


def test_visits_are_grouped_by_user_once_for_three_checks_and_again_once_they_are_others(
    visited, tmp_path, monkeypatch
):
    town, before = visited
    home, grouped, counted = copytree(before, tmp_path / "home"), [], DuckdbEngine.counted

    def noted(self, name, *asked, **options):
        grouped.append(name)
        return counted(self, name, *asked, **options)

    monkeypatch.setattr(DuckdbEngine, "counted", noted)
    asking = ("tower_series", "visit_total", "one_visit_histogram")
    assert some(town, home, "truncated_visits", *asking).success
    assert grouped.count("visits_per_user") == 1
    store = opened(town.settings, home).store
    fewer = store.read_week("visits", MONDAY).head(60)
    store.write_week("visits", MONDAY, fewer)
    assert some(town, home, "truncated_visits", *asking).success
    assert grouped.count("visits_per_user") == 2


@pytest.mark.parametrize(
    ("table", "old", "new", "check", "stopped"),
    [
        ("truncated_visits", "where place <= $visits_per_user", "where place <= 99", "cap_is_kept", "tower_series"),
        ("tower_series", "// count(*)", "// 1", COUNTS, "noisy_series"),
        ("tower_series", "0 as original, truncated,", "0 as original, 2 * truncated,", COUNTS, "noisy_series"),
        ("tower_totals", "sum(visits * visits)", "sum(visits)", "tower_totals_keep_their_norm", "noisy_totals"),
        ("visit_total", "least(count(*), $visits_clamp)", CUT, "clamp_is_kept", "noisy_totals"),
        ("one_visit_histogram", "group by user_id", "group by user_id, y % 2", "one_visit_per_user", None),
    ],
)
def test_a_planted_fault_is_caught_and_stops_what_reads_it(
    monkeypatch, visited, tmp_path, table, old, new, check, stopped
):
    town, home = visited[0], copytree(visited[1], tmp_path / "home")
    planted(monkeypatch, table, old, new)
    result = some(town, home, *(name for name in COUNTED if name != "visits"), *DOORS)
    found = verdicts(result)[check]
    assert not found.passed
    assert "this is a fault of the software" in found.description
    assert not any(character.isdigit() for character in found.description)
    assert table in ran(result)
    assert stopped not in ran(result)


def test_a_faulty_table_is_refused_by_hand_too_until_it_is_made_again(monkeypatch, visited, tmp_path):
    town, home = visited[0], copytree(visited[1], tmp_path / "home")
    planted(monkeypatch, "tower_series", "// count(*)", "// 1")
    some(town, home, "truncated_visits", "tower_series", "tower_totals", "visit_total")
    monkeypatch.undo()
    (message,) = failures(some(town, home, "noisy_series"))
    assert "tower_series of the week of 2007-09-10 must have passed its checks" in message
    assert Ledger(home).rows() == []
    assert some(town, home, "tower_series", *DOORS).success


def test_visits_lost_between_shapes_are_caught(monkeypatch, visited, tmp_path):
    town, home = visited[0], copytree(visited[1], tmp_path / "home")
    whole = confidential.interpolation
    monkeypatch.setattr(confidential, "interpolation", lambda pieces: whole(pieces) * 0.999)
    result = some(town, home, "truncated_visits", "tower_series", *MAPPED)
    assert not verdicts(result)["cells_keep_mass"].passed
    assert verdicts(result)["cover_keeps_mass"].passed


def test_what_records_say_is_told_to_the_confidential_zone_and_changes_nothing_else(visited, tmp_path):
    """Two weeks, one with a lost hour: the UI shows the same of both, and neither is stopped."""
    town, home = visited[0], copytree(visited[1], tmp_path / "home")
    every_day = [f"ann,2007-09-1{day} 08:00:00,A\n" for day in range(7)]
    shown, told = [], []
    for lines in (every_day, every_day[:3] + every_day[4:]):
        town.write_visits("".join(lines))
        result = some(town, home, *COUNTED, *DOORS)
        assert result.success
        shown.append([(c.check_name, c.passed, c.description, c.metadata) for c in verdicts(result).values()])
        told.append(
            json.loads((home / f"town/confidential/about/tower_series/{WEEK}_week_is_complete.json").read_text())
        )
    assert shown[0] == shown[1]
    assert told == [{"passed": True, "silent_hours": []}, {"passed": False, "silent_hours": [3 * 24 + 8]}]


def test_a_synthetic_city_shows_what_was_found(tmp_path):
    city = City(Settings(), tmp_path)
    read = Reader("week_is_complete", Zone.CONFIDENTIAL, {}, city.store, MONDAY)
    step = RecordStep(city.settings, read, city=city)
    answer = finding_answer(step, "tower_series", {"silent_hours": [80]}, good=False)
    assert not answer.passed
    assert answer.severity == dg.AssetCheckSeverity.WARN
    assert answer.metadata["silent_hours"].value == [80]


@pytest.fixture
def tampered(whole_week, tmp_path):
    """The week before it was signed, with other numbers in its tables, and what comes after made of them."""
    town, home = whole_week[0], copytree(whole_week[1], tmp_path / "home")
    (home / f"town/release/manifest_{WEEK}.json").unlink()
    city = opened(town.settings, home)
    store, name = city.store, city.release(MONDAY).name

    def tamper(table: str, week: date = MONDAY, **columns: pl.Expr) -> None:
        frame = store.read_release_week(table, MONDAY, name).with_columns(**columns)
        store.write_release_week(table, week, frame, name)

    return town, home, tamper


def test_a_silent_hour_of_the_release_stops_its_statement_until_a_person_has_looked(tampered):
    town, home, tamper = tampered
    before = (home / f"town/release/density_{WEEK}.csv").read_bytes()
    tamper("smoothed_series", visits=pl.when(pl.col("hour") == 36).then(0.0).otherwise(1e6), standard_error=pl.lit(1.0))
    result = some(town, home, "density", *FILES)
    found = verdicts(result)["no_hour_is_silent"]
    assert (found.passed, found.description) == (
        False,
        "hours 36 are silent: records are missing, or nobody was there",
    )
    assert ran(result) == {"density"}
    assert (home / f"town/release/density_{WEEK}.csv").read_bytes() == before  # nothing bad is handed out
    assert ran(some(town, home, *FILES)) == set(FILES)


@pytest.mark.parametrize(
    ("visits", "of_total", "passed"),
    [(0.0, 1.0, False), (0.9, 1.0, False), (2.0, 1.0, True), (2.0, 4 * 168 / 2, True), (2.0, 4 * 168, False)],
    ids=["none", "below noise", "above", "four times the error of the total", "twice it"],
)
def test_visits_that_noise_may_have_made_are_a_warning(tampered, visits, of_total, passed):
    town, home, tamper = tampered
    tamper("smoothed_series", visits=pl.lit(visits), standard_error=pl.lit(1.0))
    tamper("noisy_totals", standard_error=pl.when(query="visits").then(of_total).otherwise(1e9))
    result = some(town, home, "density", "published_counts", "privacy_statement")
    found = verdicts(result)["visits_exceed_noise"]
    assert (found.passed, found.severity) == (passed, dg.AssetCheckSeverity.WARN)
    assert "privacy_statement" in ran(result)


def test_a_week_unlike_the_one_before_is_a_warning(tampered):
    town, home, tamper = tampered
    tamper("smoothed_series", visits=pl.lit(100.0), standard_error=pl.lit(1.0))
    tamper("density", date(2007, 9, 3), count=pl.lit(200, pl.Int64), standard_error=pl.lit(1.0))
    result = some(town, home, "density", "published_counts", "privacy_statement")
    found = verdicts(result)["like_the_week_before"]
    assert not found.passed
    assert found.description == "visits changed by -50% and 0% of them moved since 2007-09-03"
    assert ran(result) == {"density", "published_counts", "privacy_statement"}


@pytest.mark.parametrize(("times", "passed"), [(1.0, True), (2.0, False)])
def test_weeks_are_compared_by_what_was_measured_not_by_estimates_that_share_draws(tampered, times, passed):
    town, home, tamper = tampered
    tamper("noisy_totals", value=pl.lit(1e9), standard_error=pl.lit(1.0))
    tamper("noisy_totals", date(2007, 9, 3), value=pl.lit(times * 1e9), standard_error=pl.lit(1.0))
    tamper("density", date(2007, 9, 3), count=pl.lit(7, pl.Int64), standard_error=pl.lit(0.0))
    found = verdicts(some(town, home, "density"))["like_the_week_before"]
    assert found.passed == passed
    assert found.metadata["change_of_visits"].value == pytest.approx(1 / times - 1)


def test_a_week_before_with_other_cells_is_compared_with_nothing(tampered):
    town, home, tamper = tampered
    tamper("density", date(2007, 9, 3), cell_id=pl.col("cell_id") + "x")
    result = some(town, home, "density")
    assert result.success
    assert "like_the_week_before" not in verdicts(result)


def test_files_that_disagree_stop_the_page(tampered, monkeypatch):
    town, home, _ = tampered
    monkeypatch.setattr(release_files, "geojson", lambda *cells, **series: "{}")
    result = some(town, home, "density", *FILES, sealed=False)
    found = verdicts(result)["release_is_readable"]
    assert found.description == f"density_{WEEK}.geojson cannot be read: KeyError"
    assert ran(result) == {"density", "published_counts"}
