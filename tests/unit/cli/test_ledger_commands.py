"""What commands say of a ledger and its budget, and do to it."""

import shutil

import pytest
from commands import WHO, Said
from runs import MONDAY, opened

from density_assets.city import City
from density_assets.privacy.acts import Act
from density_assets.publication.verify import signature_holds
from density_assets.settings import Settings
from resources.ledger.deciding import KEY_CHANGE
from resources.ledger.ledger import Ledger
from resources.signing import make_key


def test_the_budget_shown_is_the_stricter_of_what_is_recorded_and_what_settings_state(density, town):
    said = ("--settings", str(town.settings), "--weeks", "3")
    assert density("ledger", "init", "--settings", str(town.settings), *WHO).status == 0
    assert "may cost epsilon 3 " in density("budget", *said, "--give", "3", "--delta", "1e-8", *WHO).out
    town.set("[engine]", "[privacy]\nbudget_epsilon = 1.0\n[engine]")
    shown = density("budget", *said, "--epsilon", "0.1").out
    assert "may cost epsilon 1 at delta 1e-08" in shown
    assert "the settings state less" in shown
    given = density("budget", *said, "--give", "4", *WHO).out
    assert "may cost epsilon 1 " in given
    assert "recorded is epsilon 4 at delta 1e-08" in given


def test_a_budget_that_settings_raise_is_shown_as_it_is_recorded_with_the_refusal(density, town):
    said = ("--settings", str(town.settings), "--weeks", "3")
    assert density("ledger", "init", "--settings", str(town.settings), *WHO).status == 0
    assert density("budget", *said, "--give", "2", *WHO).status == 0
    town.set("[engine]", "[privacy]\nbudget_epsilon = 5.0\n[engine]")
    shown = density("budget", *said)
    assert shown.status == 0
    assert "may cost epsilon 2 " in shown.out
    assert "raising a budget is a recorded act" in shown.out
    assert "may cost epsilon 5 " in density("budget", *said, "--give", "5", *WHO).out


@pytest.mark.parametrize("words", [["audit"], ["budget"], ["budget", "--give", "4", *WHO], ["ledger", "verify"]])
def test_a_damaged_ledger_is_said_in_words(density, town, tmp_path, words):
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "ledger.sqlite").write_bytes(b"garbage " * 1000)
    said = density(words[0], *words[1:], "--settings", str(town.settings))
    assert said.status == 2
    assert said.err.startswith("error: the ledger must be a SQLite file")
    assert "restore a backup" in said.err


def test_the_operator_of_the_settings_opens_the_ledger(density, town, monkeypatch):
    for name in ("DENSITY_BY", "DENSITY_REASON"):
        monkeypatch.delenv(name, raising=False)
    command = ("ledger", "init", "--settings", str(town.settings))
    assert "opening a ledger must say who and why" in density(*command).err
    town.set("[engine]", '[operator]\nname = "desk"\nreason = "weekly"\n[engine]')
    assert density(*command).status == 0


@pytest.mark.parametrize("words", [["budget"], ["ledger"], ["ledger", "verify"]])
def test_a_home_without_a_ledger_is_named_and_left_as_it_was(density, town, tmp_path, words):
    said = density(*words, "--settings", str(town.settings))
    assert said.status == 0
    assert f"there is no ledger at {tmp_path / 'home' / 'ledger.sqlite'}" in said.out
    assert "set DENSITY_HOME" in said.out
    assert not (tmp_path / "home").exists()


def test_an_audit_without_a_ledger_says_how_one_is_opened(density, town):
    assert (
        "`density ledger init --by NAME --reason WHY` opens one"
        in density("audit", "--settings", str(town.settings)).err
    )


def test_a_copied_home_is_whole_and_may_not_pay(density, town, town_home, monkeypatch, tmp_path):
    assert density("ledger", "verify").status == 0
    shutil.copytree(town_home, tmp_path / "other")
    monkeypatch.setenv("DENSITY_HOME", str(tmp_path / "other"))
    said = density("ledger", "verify")
    assert said.status == 3
    assert "the ledger is whole" in said.out
    assert "may not pay until" in said.out
    assert "may not pay until" in density("budget", "--settings", str(town.settings)).out
    assert density("ledger", "moved", *WHO).status == 0
    assert density("ledger", "verify").status == 0


def test_a_backup_says_where_it_went_and_replaces_nothing(density, town_home, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert f"copied to {tmp_path / 'copy.sqlite'}\n" in density("ledger", "backup", "copy.sqlite").out
    again = density("ledger", "backup", "copy.sqlite")
    assert again.status == 2
    assert "must be a new file" in again.err


@pytest.mark.parametrize("action", ["moved", "restore", "key"])
def test_books_of_real_people_are_changed_by_somebody_named_whatever_the_settings(
    density, town_home, tmp_path, monkeypatch, action
):
    """Without settings the city is the embedded one, whose people are simulated."""
    for name in ("DENSITY_BY", "DENSITY_REASON"):
        monkeypatch.delenv(name, raising=False)
    copy = tmp_path / "copy.sqlite"
    assert density("ledger", "backup", str(copy)).status == 0
    (town_home / "ledger.sqlite").rename(tmp_path / "lost.sqlite")
    shutil.copy(copy, town_home / "ledger.sqlite")
    words = ("ledger", action, *([str(copy)] if action == "restore" else []))
    refused = density(*words)
    assert refused.status == 2
    assert "must say who and why" in refused.err
    assert density(*words, *WHO).status in (0, 3)
    assert "nobody named" not in (town_home / "ledger.sqlite").read_bytes().decode("latin-1")


def test_a_ledger_of_simulated_people_is_restored_by_anybody(density, tmp_path, monkeypatch):
    for name in ("DENSITY_BY", "DENSITY_REASON"):
        monkeypatch.delenv(name, raising=False)
    city = City(Settings(), tmp_path / "home")
    city.open_ledger(print)
    copy = tmp_path / "copy.sqlite"
    assert density("ledger", "backup", str(copy)).status == 0
    (tmp_path / "home" / "ledger.sqlite").unlink()
    assert density("ledger", "restore", str(copy)).status == 0


def test_only_a_revision_that_can_come_is_approved(density, town, tmp_path):
    city = opened(town.settings, tmp_path / "home")
    release = city.release(MONDAY)
    charges = [release.charge(door) for door in release.doors]
    city.ledger.reserve(charges, city.order(release, Act("ann", "a study")), city.witnesses())

    def approve(week: str, revision: int) -> Said:
        words = ("approve", "--settings", str(town.settings), "--week", week, "--revision", str(revision))
        return density(*words, "--by", "bob", "--reason", "I agree")

    assert "of a week that was released before" in approve("2007-09-03", 2).err
    assert "greater than or equal to 2" in approve("2007-09-10", 1).err
    said = approve("2007-09-10", 2)
    assert said.status == 0
    assert "counts only if somebody else asks for it" in said.out


def test_the_old_key_may_lie_outside_the_home_and_signs_the_change(density, town, tmp_path):
    who = ("--settings", str(town.settings), "--by", "op", "--reason", "a test")
    old, new = make_key(tmp_path / "old.pem"), make_key(tmp_path / "new.pem")
    town.set("[engine]", f'[signing]\nkey = "{tmp_path}/old.pem"\n[engine]')
    assert density("ledger", "init", *who).status == 0
    town.set("old.pem", "new.pem")
    assert "--old must be the key in force" in density("ledger", "key", *who, "--old", str(tmp_path / "new.pem")).err
    assert density("ledger", "key", *who, "--old", str(tmp_path / "old.pem")).status == 0
    (entry,) = Ledger(tmp_path / "home").accounts().of("key")
    assert signature_holds(old.public, KEY_CHANGE + new.public, bytes.fromhex(entry.body["signed"]))
