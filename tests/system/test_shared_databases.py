"""Whole releases with ledger and Dagster's history in PostgreSQL, as several machines share them."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from ledgers import ACT
from postgres import OWNER, SERVICE, Server
from runs import WEEK, density
from shelves import PostgresShelf
from town import Town

from density_assets.city import City
from density_assets.errors import BadInput
from density_assets.graph.instance import alone, open_instance
from density_assets.graph.worker import STORAGE_VARIABLE
from density_assets.publication.files import fingerprint
from density_assets.settings import load_settings
from resources.ledger.opening import say_moved
from resources.ledger.witnesses import NOTHING

VERIFY = Path(__file__).parents[2] / "density_assets" / "publication" / "verify.py"


def draws(home: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in (home / "town/release/measurements").glob("*.npz")}


def said(home: Path, *words: str) -> str:
    done = density(home, *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def share(town: Town, ledger: Server, history: Server) -> None:
    """Let the settings of the town name both databases."""
    databases = f'[ledger]\nurl = "{ledger.url(SERVICE)}"\n[dagster]\nstorage = "{history.url(OWNER)}"\n'
    town.set("[engine]", databases + "[engine]")


def test_a_release_of_machines_that_share_databases_is_that_of_one_machine(town, tmp_path, postgres):
    week = ("--settings", str(town.settings), "--week", WEEK)
    alone, one, two = (tmp_path / name for name in ("alone", "one", "two"))
    said(alone, "release", *week)

    ledger, history = postgres.new_database(), postgres.new_database()
    assert f"{SERVICE} may read and add" in said(one, "ledger", "tables", "--to", ledger.url(OWNER))
    share(town, ledger, history)
    said(one, "release", *week)
    accounts = PostgresShelf(ledger, one).ledger.accounts()
    assert [row.charge.door for row in accounts.rows] == ["noisy_totals", "noisy_series"]
    assert not (one / "ledger.sqlite").exists()
    assert draws(one).keys() == draws(alone).keys()  # keys of measurements know nothing of where books are kept
    assert draws(one) != draws(alone)  # another draw, and paid for by another ledger

    # Outsiders verify it with the file they have, and nothing else of ours.
    verify = [sys.executable, "-I", str(VERIFY), str(one / f"town/release/manifest_{WEEK}.json")]
    verified = subprocess.run(
        [*verify, "--key", fingerprint(accounts.key)], capture_output=True, text=True, check=False
    )
    assert verified.returncode == 0, verified.stdout + verified.stderr

    # Dagster's history is in its database, and the address of that in no file.
    ((runs,),) = history.run("select count(*) from runs where status = 'SUCCESS'")
    assert runs == 1
    instance = one / "town/dagster"
    assert not list(instance.rglob("*.db"))
    assert history.database not in "".join(file.read_text() for file in instance.rglob("*.yaml"))
    released = [file for file in (one / "town/release").rglob("*") if file.is_file()]
    assert not [file for file in released if ledger.database.encode() in file.read_bytes()]

    # Another machine, with the same keys and secret, finds what was drawn, and pays nothing.
    shutil.copytree(one / "keys", two / "keys")
    (two / "town/confidential").mkdir(parents=True)
    shutil.copy(one / "town/confidential/secret", two / "town/confidential/secret")
    said(two, "release", *week)
    assert draws(two) == draws(one)
    assert PostgresShelf(ledger, two).ledger.accounts().head == accounts.head
    for name in (f"density_{WEEK}.csv", f"manifest_{WEEK}.json", f"manifest_{WEEK}.sig"):
        assert (two / "town/release" / name).read_bytes() == (one / "town/release" / name).read_bytes()


def test_a_ledger_moves_to_a_database_by_commands_and_only_there_goes_on(town, tmp_path, postgres):
    home, settings = tmp_path / "home", ("--settings", str(town.settings))
    said(home, "release", *settings, "--week", WEEK)
    before = json.loads((home / f"town/release/ledger_{WEEK}.json").read_text())["entries"]
    ledger, history = postgres.new_database(), postgres.new_database()
    ledger.run(said(home, "ledger", "tables", "--service", SERVICE), OWNER)
    copied = said(home, "ledger", "copy", *settings, "--to", ledger.url(SERVICE))
    assert "neither may pay from now on" in copied
    assert density(home, "ledger", "verify", *settings).returncode == 3
    assert density(home, "ledger", "copy", *settings, "--to", ledger.url(SERVICE)).returncode == 2  # no empty place
    old = town.settings.read_text()
    share(town, ledger, history)
    assert density(home, "ledger", "verify", *settings).returncode == 3
    assert "the ledger is whole: 2 charges" in said(home, "ledger", "moved", *settings)
    shelf = PostgresShelf(ledger, home)
    assert list(map(dict, shelf.ledger.book.read()))[: len(before)] == before
    assert "2 charges" in said(home, "ledger", "backup", str(tmp_path / "copy.sqlite"), *settings)
    town.settings.write_text(old)  # whoever still has the old settings
    refused = density(home, "release", *settings, "--week", "2007-09-03", opening=False)
    assert refused.returncode == 2
    assert "is a copy or was moved to another disk or database" in refused.stderr


def test_a_database_of_dagster_is_of_one_city(town, tmp_path, postgres, monkeypatch):
    monkeypatch.setenv("DAGSTER_HOME", "")  # put back afterwards
    monkeypatch.setenv(STORAGE_VARIABLE, "")
    share(town, postgres.new_ledger(), postgres.new_database())
    open_instance(City(load_settings(town.settings), tmp_path / "home"))
    town.set('name = "town"', 'name = "village"')
    with pytest.raises(BadInput, match="each city must have a database of its own"):
        open_instance(City(load_settings(town.settings), tmp_path / "home"))


def test_an_instance_is_served_by_one_machine(town, tmp_path, postgres):
    share(town, postgres.new_ledger(), postgres.new_database())
    city = City(load_settings(town.settings), tmp_path / "home")
    with alone(city, "serving", waiting=False) as first:
        with alone(city, "serving", waiting=False) as second:
            assert (first, second) == (True, False)
        with alone(city, "opening") as other:
            assert other
    with alone(city, "serving", waiting=False) as again:
        assert again


def test_a_database_of_dagster_that_does_not_answer_is_named_without_its_password(town, tmp_path, monkeypatch):
    pytest.importorskip("dagster_postgres", reason="needs the extra density-assets[postgres]")
    monkeypatch.setenv("DAGSTER_HOME", "")
    monkeypatch.setenv(STORAGE_VARIABLE, "")
    town.set("[engine]", '[dagster]\nstorage = "postgresql://ann:secret@127.0.0.1:1/d"\n[engine]')
    with pytest.raises(BadInput, match=r"must answer, but postgresql://127\.0\.0\.1:1/d did not") as said_of_it:
        open_instance(City(load_settings(town.settings), tmp_path / "home"))
    assert "secret" not in str(said_of_it.value)


def test_the_ledger_of_the_settings_is_the_one_that_is_moved(town, tmp_path, postgres):
    """A person who says `moved` twice is told that nothing has."""
    share(town, postgres.new_ledger(), postgres.new_database())
    home = tmp_path / "home"
    said(home, "ledger", "init", "--settings", str(town.settings))
    city = City(load_settings(town.settings), home)
    with pytest.raises(BadInput, match="that was not moved needs no word about it"):
        say_moved(city.ledger, ACT, NOTHING)
