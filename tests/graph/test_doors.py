"""The doors in the real graph: drawn once, one ledger row each, and refusals that draw nothing."""

import dagster as dg
import duckdb
import polars as pl
import pytest
from ledgers import ACT
from runs import WEEK, failures, materialise, only, shown, verdicts

from density_assets.city import City
from density_assets.definitions import build
from density_assets.settings import load_settings
from resources.ledger.ledger import Ledger
from resources.ledger.opening import Found, open_for_people
from resources.ledger.witnesses import NOTHING

DOORS = ("noisy_totals", "noisy_series")


def released(home) -> dict[str, pl.DataFrame]:
    with duckdb.connect(str(home / "town/release/release.duckdb"), read_only=True) as connection:
        return {door: pl.DataFrame(connection.table(door).to_arrow_table()).drop("week") for door in DOORS}


def test_a_week_materialised_twice_is_one_draw_and_one_row_per_door(town, tmp_path):
    versions = []
    for _ in range(2):
        result = materialise(town.settings, tmp_path)
        versions.append([shown(result, door).tags["dagster/data_version"] for door in DOORS])
        tables = released(tmp_path)
    assert versions[0] == versions[1]
    assert [row.charge.door for row in Ledger(tmp_path).rows()] == list(DOORS)
    assert tables["noisy_series"].columns == ["release", "cluster", "hour", "value", "kept"]
    assert len(tables["noisy_series"]) == 4 * 168
    sigma = Ledger(tmp_path).rows()[1].charge.events[0].sigma / 65536
    assert tables["noisy_series"]["value"].std() == pytest.approx(sigma, rel=0.15)


def test_changed_records_change_neither_draw_nor_ledger(town, tmp_path):
    materialise(town.settings, tmp_path)
    before = released(tmp_path)
    town.write_visits("".join(f"u{i},2007-09-10 08:00:00,A\n" for i in range(1000)))
    result = materialise(town.settings, tmp_path)
    assert result.success
    for door in DOORS:
        assert released(tmp_path)[door].equals(before[door])
    assert len(Ledger(tmp_path).rows()) == 2
    assert sorted(alert.name for alert in (tmp_path / "town/confidential/alerts").iterdir()) == [
        f"{WEEK}_noisy_series.json",
        f"{WEEK}_noisy_totals.json",
    ]


def test_a_drawn_week_keeps_its_promise_until_a_revision_is_declared(town, tmp_path, capsys):
    """Other settings, defaults or versions are for weeks that are not drawn; nothing fails, nothing is redrawn."""
    materialise(town.settings, tmp_path)
    before, files = released(tmp_path), published(tmp_path)
    town.set("[engine]", "[privacy]\nepsilon = 0.2\nvisits_clamp = 100\n[scheme]\nweight_l = 7\n[engine]")
    capsys.readouterr()
    materialise(town.settings, tmp_path)
    said = " ".join(capsys.readouterr().err.split())
    assert "keeps what it was drawn under (epsilon was 0.3 and is 0.2, visits_clamp was 732 and is 100" in said
    assert published(tmp_path) == files
    assert len(Ledger(tmp_path).rows()) == 2
    assert not (tmp_path / "town/confidential/alerts").exists()  # made under the old settings, tables are the same
    assert released(tmp_path)["noisy_series"].equals(before["noisy_series"])
    town.set("[engine]", f"[revisions]\n{WEEK} = 2\n[engine]")
    materialise(town.settings, tmp_path)
    rows = Ledger(tmp_path).rows()
    assert [(row.charge.epsilon, row.charge.revision) for row in rows] == [(0.3, 1), (0.3, 1), (0.2, 2), (0.2, 2)]
    assert not released(tmp_path)["noisy_series"].equals(before["noisy_series"])
    assert {name: content for name, content in published(tmp_path).items() if "_r2" not in name} == files


def test_another_geography_is_refused_for_a_published_week(town, tmp_path):
    materialise(town.settings, tmp_path)
    files = published(tmp_path)
    towers = town.folder / "towers.csv"
    towers.write_text(towers.read_text().replace("650500.0", "650520.0"))
    (message, *_) = failures(materialise(town.settings, tmp_path, raise_on_error=False))
    assert "must keep the geography it was drawn under" in message
    assert "declare revision 2" in message
    assert len(Ledger(tmp_path).rows()) == 2
    assert published(tmp_path) == files


def test_no_door_opens_before_somebody_looked_at_what_the_files_are_understood_as(town, tmp_path):
    """Whatever starts the run: nobody asks the doors but they themselves."""
    city = City(load_settings(town.settings), tmp_path)
    open_for_people(city.ledger, ACT, city.new_key, Found([], NOTHING), adopt=False)
    with dg.DagsterInstance.ephemeral() as instance:
        job = build(city).resolve_job_def("weekly_release")
        result = job.execute_in_process(instance=instance, partition_key=WEEK, raise_on_error=False)
    (message, *_) = failures(result)
    assert "a person must look at what their files are understood as" in message
    assert city.ledger.rows() == []
    assert not list((tmp_path / "town/release").glob("measurements/*"))


def published(home) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in (home / "town/release").glob(f"*_{WEEK}*.*")}


def test_versions_of_real_peoples_tables_do_not_tell_whether_records_changed(town, tmp_path):
    """Equal versions of equal records would."""

    def version(table: str) -> str:
        return shown(materialise(town.settings, tmp_path), table).tags["dagster/data_version"]

    assert version("visits") != version("visits")
    assert version("iris_series") != version("iris_series")
    town.set('name = "town"', 'name = "simulated"')
    town.set('visits = "visits/{week}/*.csv"', "users = 300")
    assert version("visits") == version("visits")


def test_past_the_budget_the_run_fails_and_the_released_week_stays(town, tmp_path):
    town.set("[engine]", "[privacy]\nbudget_epsilon = 0.31\n[revisions]\n2007-09-10 = 1\n[engine]")
    materialise(town.settings, tmp_path)
    before = released(tmp_path)
    town.set("2007-09-10 = 1", "2007-09-10 = 2")
    messages = failures(materialise(town.settings, tmp_path, raise_on_error=False))
    assert messages
    assert all("may cost epsilon 0.31 at delta 1e-07 together: spent 0.2" in message for message in messages)
    assert len(Ledger(tmp_path).rows()) == 2
    assert released(tmp_path)["noisy_series"].equals(before["noisy_series"])


def test_published_calibration_stops_at_the_first_door(town, tmp_path):
    town.set("[engine]", '[scheme]\ncalibration = "published"\n[engine]')
    messages = failures(materialise(town.settings, tmp_path, raise_on_error=False))
    assert messages
    assert all("a release must have sound calibration" in message for message in messages)
    assert Ledger(tmp_path).rows() == []


def test_the_ledger_is_a_table_and_is_checked(town, tmp_path):
    result = materialise(town.settings, tmp_path)
    check = verdicts(result)["ledger_is_whole"]
    assert check.passed
    with duckdb.connect(str(tmp_path / "town/release/release.duckdb"), read_only=True) as connection:
        rows = connection.sql("select population, week, door, epsilon, drawn from ledger order by row").fetchall()
    assert rows == [("subscribers", WEEK, door, 0.3, True) for door in DOORS]
    (tmp_path / "ledger.sqlite").unlink()
    for file in tmp_path.glob("ledger.sqlite-*"):
        file.unlink()
    (message, *_) = failures(materialise(town.settings, tmp_path, raise_on_error=False))
    assert "a ledger must be opened by a person" in message
    audited = materialise(town.settings, tmp_path, raise_on_error=False, asset_selection=only("ledger"))
    check = verdicts(audited)["ledger_is_whole"]
    assert not check.passed
    assert "cut, lost or replaced by an older copy" in check.description
