"""The doors in the real graph: drawn once, one ledger row each, and refusals that draw nothing."""

import dagster as dg
import duckdb
import polars as pl
import pytest
from ledgers import ACT
from runs import WEEK, failures, materialise, only, opened, shown, verdicts

from density_assets.city import City
from density_assets.definitions import build
from density_assets.settings import load_settings
from resources.ledger.ledger import Ledger
from resources.ledger.opening import open_for_people
from resources.ledger.witnesses import NOTHING

DOORS = ("noisy_totals", "noisy_series")


def released(home) -> dict[str, pl.DataFrame]:
    with duckdb.connect(str(home / "town/release/release.duckdb"), read_only=True) as connection:
        return {door: pl.DataFrame(connection.table(door).to_arrow_table()).drop("week") for door in DOORS}


def test_a_week_materialised_twice_is_one_draw_and_one_row_per_door(released_once, released_town):
    town, home = released_town
    before = released(home)
    first, again = released_once[-1], materialise(town.settings, home)
    tables = released(home)
    for door in DOORS:
        assert len({shown(run, door).tags["dagster/data_version"] for run in (first, again)}) == 1
        assert tables[door].equals(before[door])
    assert [row.charge.door for row in Ledger(home).rows()] == list(DOORS)
    assert tables["noisy_series"].columns == ["release", "cluster", "hour", "value", "kept"]
    assert len(tables["noisy_series"]) == 4 * 168
    sigma = Ledger(home).rows()[1].charge.events[0].sigma / 65536
    assert tables["noisy_series"]["value"].std() == pytest.approx(sigma, rel=0.15)


def test_changed_records_change_neither_draw_nor_ledger(released_town):
    town, home = released_town
    before = released(home)
    town.write_visits("".join(f"u{i},2007-09-10 08:00:00,A\n" for i in range(1000)))
    result = materialise(town.settings, home)
    assert result.success
    for door in DOORS:
        assert released(home)[door].equals(before[door])
    assert len(Ledger(home).rows()) == 2
    assert sorted(alert.name for alert in (home / "town/confidential/alerts").iterdir()) == [
        f"{WEEK}_noisy_series.json",
        f"{WEEK}_noisy_totals.json",
    ]


def test_a_drawn_week_keeps_its_promise_until_a_revision_is_declared(released_town, capsys):
    """Other settings, defaults or versions are for weeks that are not drawn; nothing fails, nothing is redrawn."""
    town, home = released_town
    before, files = released(home), published(home)
    town.set("[engine]", "[privacy]\nepsilon = 0.2\nvisits_clamp = 100\n[scheme]\nweight_l = 7\n[engine]")
    capsys.readouterr()
    materialise(town.settings, home)
    said = " ".join(capsys.readouterr().err.split())
    assert "keeps what it was drawn under (epsilon was 0.3 and is 0.2, visits_clamp was 732 and is 100" in said
    assert published(home) == files
    assert len(Ledger(home).rows()) == 2
    assert not (home / "town/confidential/alerts").exists()  # made under the old settings, tables are the same
    assert released(home)["noisy_series"].equals(before["noisy_series"])
    town.set("[engine]", f"[revisions]\n{WEEK} = 2\n[engine]")
    materialise(town.settings, home)
    rows = Ledger(home).rows()
    assert [(row.charge.epsilon, row.charge.revision) for row in rows] == [(0.3, 1), (0.3, 1), (0.2, 2), (0.2, 2)]
    assert not released(home)["noisy_series"].equals(before["noisy_series"])
    assert {name: content for name, content in published(home).items() if "_r2" not in name} == files


def test_another_geography_is_refused_for_a_published_week(released_town):
    town, home = released_town
    files = published(home)
    towers = town.folder / "towers.csv"
    towers.write_text(towers.read_text().replace("650500.0", "650520.0"))
    (message, *_) = failures(materialise(town.settings, home, raise_on_error=False))
    assert message.startswith("density_assets.errors.PublishedStays")
    assert "declare revision 2" in message
    assert len(Ledger(home).rows()) == 2
    assert published(home) == files


def test_no_door_opens_before_somebody_looked_at_what_the_files_are_understood_as(town, tmp_path):
    """Whatever starts the run: nobody asks the doors but they themselves."""
    city = City(load_settings(town.settings), tmp_path)
    open_for_people(city.ledger, ACT, city.keys.new, NOTHING)
    with dg.DagsterInstance.ephemeral() as instance:
        job = build(city).resolve_job_def("weekly_release")
        result = job.execute_in_process(instance=instance, partition_key=WEEK, raise_on_error=False)
    (message, *_) = failures(result)
    assert "a person must look at what their files are understood as" in message
    assert city.ledger.rows() == []
    assert not list((tmp_path / "town/release").glob("measurements/*"))


def published(home) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in (home / "town/release").glob(f"*_{WEEK}*.*")}


def test_past_the_budget_the_run_fails_and_the_released_week_stays(released_town):
    town, home = released_town
    before = released(home)
    town.set("[engine]", "[privacy]\nbudget_epsilon = 0.31\n[revisions]\n2007-09-10 = 2\n[engine]")
    messages = failures(materialise(town.settings, home, raise_on_error=False))
    assert messages
    assert all("may cost epsilon 0.31 at delta 1e-07 together: spent 0.2" in message for message in messages)
    assert len(Ledger(home).rows()) == 2
    assert released(home)["noisy_series"].equals(before["noisy_series"])


def test_published_calibration_stops_at_the_first_door(town, tmp_path):
    town.set("[engine]", '[scheme]\ncalibration = "published"\n[engine]')
    messages = failures(materialise(town.settings, tmp_path, raise_on_error=False))
    assert messages
    assert all("a release must have sound calibration" in message for message in messages)
    assert Ledger(tmp_path).rows() == []


def test_the_ledger_is_a_table_and_is_checked(released_once, released_town):
    town, home = released_town
    check = verdicts(released_once[-1])["ledger_is_whole"]
    assert check.passed
    with duckdb.connect(str(home / "town/release/release.duckdb"), read_only=True) as connection:
        rows = connection.sql("select population, week, door, epsilon, drawn from ledger order by row").fetchall()
    assert rows == [("subscribers", WEEK, door, 0.3, True) for door in DOORS]
    (home / "ledger.sqlite").unlink()
    for file in home.glob("ledger.sqlite-*"):
        file.unlink()
    (message, *_) = failures(materialise(town.settings, home, raise_on_error=False))
    assert "a ledger must be opened by a person" in message
    audited = materialise(town.settings, home, raise_on_error=False, asset_selection=only("ledger"))
    check = verdicts(audited)["ledger_is_whole"]
    assert not check.passed
    assert "cut, lost or replaced by an older copy" in check.description


@pytest.mark.parametrize("week", ["2007-08-27", "2030-01-07"])
@pytest.mark.parametrize("step", ["visits", "noisy_series"])
def test_a_week_that_nobody_can_have_records_of_yet_is_refused_before_any_is_read(town, tmp_path, week, step):
    """Before the city's first, or not over: also where a run names it by its tag, which Dagster believes."""
    city = opened(town.settings, tmp_path / "home")
    with dg.DagsterInstance.ephemeral() as instance:
        job = build(city).resolve_job_def("weekly_release")
        tags = {"dagster/partition": week}
        ended = job.execute_in_process(instance=instance, tags=tags, asset_selection=only(step), raise_on_error=False)
    (said,) = failures(ended)
    assert "a week must lie between city.first_week (2007-09-03) and the last full one; got" in said
    assert city.ledger.rows() == []
