"""What ends a release before a record is read, and what can be looked at before it is paid."""

import shlex
import shutil
from collections.abc import Callable

import pytest
from commands import WHO, Said
from runs import MONDAY

from density_assets.city import City
from density_assets.cli import runs
from density_assets.privacy.acts import Act
from density_assets.settings import load_settings
from resources.ledger.ledger import Ledger


def test_a_first_release_is_refused_before_a_record_is_read_until_somebody_has_looked(density, town, tmp_path):
    """Whatever the verdict: these records are not ready, and acknowledging them is a person's business."""
    town.write_visits("ann,noon,A\n")
    these = ("--settings", str(town.settings), "--week", "2007-09-10")
    assert "opened by a person" in density("check", *these, "--acknowledge", *WHO).err
    assert density("ledger", "init", "--settings", str(town.settings), *WHO).status == 0
    refused = density("release", *these)
    assert (refused.status, "a person must look at what their files are understood as" in refused.err) == (2, True)
    assert not list((tmp_path / "home/town").glob("confidential/weeks/visits/*"))
    looked = density("check", *these)
    assert looked.status == 1
    assert "NOT ready:" in looked.out
    assert "nobody has acknowledged yet" in looked.out
    assert f"then look again: density check --week 2007-09-10 --settings {town.settings}" in looked.out
    said = density("check", *these, "--acknowledge", *WHO)
    assert (said.status, "NOT ready:" in said.out, "are acknowledged, by ann" in said.out) == (0, True, True)
    assert "nothing was recorded" in density("check", *these, "--acknowledge", *WHO).out
    (entry,) = Ledger(tmp_path / "home").accounts().of("approval")
    assert entry.body.keys() == {"what", "city", "inputs", "by", "reason", "how"}
    city = City(load_settings(town.settings), tmp_path / "home")
    city.refuse_week(MONDAY, Act("ann", "a study"))


def test_a_week_that_should_be_looked_at_ends_with_3_and_one_that_is_ready_with_0(density, town):
    these = ("--settings", str(town.settings), "--week", "2007-09-10")
    assert density("check", *these).status == 0
    town.write_visits("ann,2007-09-10 08:10:00,A\nann,noon,A\n")
    said = density("check", *these)
    assert (said.status, "look at this:" in said.out) == (3, True)


def test_what_check_says_to_do_next_can_be_typed_as_it_stands(density, town, monkeypatch, tmp_path):
    """With settings in a folder with a blank in its name, and from another folder."""
    folder = town.folder.rename(town.folder.with_name("our data"))
    check = ("check", "--settings", str(folder / town.settings.name), "--week", "2007-09-10")

    def next_of(said: Said) -> list[str]:
        assert said.status == 0, said.err
        line = next(line for line in said.out.partition("what next:")[2].splitlines() if ": density " in line)
        return shlex.split(line.partition(": density ")[2].replace("NAME", "ann").replace("WHY", "'a study'"))

    monkeypatch.chdir(folder)
    opens = next_of(density("check", "--settings", town.settings.name, "--week", "2007-09-10"))
    monkeypatch.chdir(tmp_path)
    assert (opens[:2], density(*opens).status) == (["ledger", "init"], 0)
    acknowledges = next_of(density(*check))
    releases = next_of(density(*acknowledges))
    assert (acknowledges[:2], releases[:1]) == (["check", "--acknowledge"], ["release"])
    assert [releases[releases.index(option) + 1] for option in ("--settings", "--week")] == [check[2], check[4]]


def test_a_rehearsal_reads_no_record_charges_nothing_and_leaves_a_table_and_a_figure(density, town, tmp_path):
    shutil.rmtree(town.visits)
    these = ("--settings", str(town.settings), "--quick", "--epsilons", "1,50", "--out", str(tmp_path / "plan"))
    assert "a public figure: set city.population or give --people" in density("plan", *these).err
    said = density("plan", *these, "--people", "500")
    assert said.status == 0, said.err
    assert "town: 4 cells, 4 sites, 500 invented people" in said.out
    assert "beside the invented one;" in said.out  # of two generators, the quick way asks one
    assert "| 50 | lowrank | 20 | visits too many or too few |" in said.out
    assert sorted(file.name for file in (tmp_path / "plan").iterdir()) == [
        f"plan_town.{kind}" for kind in ("csv", "png", "svg")
    ]
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize("command", ["plan", "study", "init", "check"])
@pytest.mark.parametrize("file", ["cells.geojson", "towers.csv"])
def test_what_is_kept_of_records_is_no_public_list_for_any_command(density, town, tmp_path, command, file):
    secret = tmp_path / "home/town/confidential/secret"
    secret.parent.mkdir(parents=True)
    (town.folder / file).rename(secret)
    (town.folder / file).symlink_to(secret)
    lists = [
        f"--{option}={town.folder / name}" for option, name in (("cells", "cells.geojson"), ("towers", "towers.csv"))
    ]
    words = {
        "plan": ("plan", "--settings", str(town.settings), "--quick", "--people", "500", "--out", str(tmp_path)),
        "study": ("study", "schemes", "--settings", str(town.settings)),
        "init": ("init", str(tmp_path / "my.toml"), *lists, f"--visits={town.folder}/visits/{{week}}/*.csv", "--yes"),
        "check": ("check", "--settings", str(town.settings), "--week", "2007-09-10"),
    }
    said = density(*words[command])
    assert (said.status, f"must not be what this software keeps, {file} is" in said.err) == (2, True), said.err


@pytest.mark.parametrize(("epsilons", "words"), [("a,b", "must be numbers such as"), ("0", "epsilon")])
def test_promises_to_rehearse_are_held_to_the_limits_of_settings(density, epsilons, words):
    said = density("plan", "--epsilons", epsilons)
    assert (said.status, words in said.err) == (2, True)


POLICY = 'epsilon = 0.1\nreleases = ["ann"]\n'


@pytest.fixture
def refused(density, town, monkeypatch) -> Callable[..., str]:
    """What a release of the town says that must end before its run starts."""

    def execute(*_: object, **__: object) -> None:
        raise AssertionError("a run was started")

    monkeypatch.setattr(runs, "execute", execute)

    def run(*words: str) -> str:
        said = density("release", "--settings", str(town.settings), "--week", "2007-09-10", *words)
        assert said.status == 2
        (error,) = said.err.splitlines()
        return error

    return run


def test_without_a_ledger_nothing_is_read(refused, tmp_path):
    assert refused().startswith("error: a ledger must be opened by a person")
    assert not (tmp_path / "home").exists()


def test_without_a_name_nothing_is_read(refused, town_home, monkeypatch):
    monkeypatch.delenv("DENSITY_BY", raising=False)
    assert refused().startswith("error: a release must say who and why")


def test_against_the_policy_nothing_is_read(refused, density, town, town_home, tmp_path):
    (tmp_path / "policy.toml").write_text(POLICY)
    assert density("policy", str(tmp_path / "policy.toml"), *WHO).status == 0
    assert refused(*WHO).startswith("error: the policy in force says: the epsilon of a release must be at most 0.1")
    town.set("[engine]", "[privacy]\nepsilon = 0.1\n[engine]")
    assert "only ann may release weeks; got bob" in refused("--by", "bob", "--reason", "a study")


def test_above_the_budget_nothing_is_read(refused, town, town_home):
    town.set("[engine]", "[privacy]\nbudget_epsilon = 0.2\n[engine]")
    assert "error: the releases of the " in refused()
    assert not list(town_home.glob("*/confidential/**/*.parquet"))


def test_a_backfill_that_stops_says_the_whole_command_to_go_on_with(density, town, tmp_path):
    words = ("backfill", "--settings", str(town.settings), "--from", "2007-09-10", "--to", "2007-09-17")
    said = density(*words, "--by", "ann's team", "--reason", "a study")
    assert said.status == 1
    last = said.out.splitlines()[-1]
    assert last.startswith("to go on: density backfill ")
    assert tuple(shlex.split(last)[-11:]) == (
        *("backfill", "--from", "2007-09-10", "--to", "2007-09-17", "--settings", str(town.settings)),
        *("--by", "ann's team", "--reason", "a study"),
    )
