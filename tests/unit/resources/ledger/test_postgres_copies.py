"""Ledgers that go from a file into PostgreSQL and back, with every hash and draw."""

import json
import re
import shutil
import subprocess
from contextlib import contextmanager
from functools import partial

import numpy as np
import pytest
from documented import documented
from door import REQUEST, Door
from ledgers import ACT, opened_ledger, order
from postgres import OWNER, SERVICE
from shelves import PostgresShelf, same_rows

from density_assets.errors import BadInput
from density_assets.privacy.accounts import row_hash
from density_assets.privacy.acts import Act
from resources.draws import contents_of_draws, fetch_draws, share_draws
from resources.ledger.book import LedgerError
from resources.ledger.ledger import Ledger
from resources.ledger.opening import backup, copy_to, restore, say_moved
from resources.ledger.sqlite import SqliteBook, book_at
from resources.ledger.witnesses import NOTHING


def draws_of(home):
    return partial(contents_of_draws, home)


def test_a_ledger_that_is_copied_keeps_every_hash_and_its_draws(database, tmp_path):
    file = Door(tmp_path / "one")
    first = file()
    copy_to(file.ledger, database.ledger.book, Act("ann", "more machines"), NOTHING, draws_of(tmp_path / "one"))
    assert same_rows(file.ledger.book.read(), database.ledger.book.read())
    assert file.ledger.accounts().identity == database.ledger.accounts().identity
    for either in (file.ledger, database.ledger):
        with pytest.raises(LedgerError, match="is a copy or was moved"):
            either.refuse_unready("subscribers")
    say_moved(database.ledger, Act("ann", "the file is gone"), NOTHING)
    elsewhere = Door(tmp_path / "elsewhere", url=database.url)
    np.testing.assert_array_equal(elsewhere().values["weighted"], first.values["weighted"])
    assert elsewhere.drawn == 0
    elsewhere(door="noisy_totals")
    with pytest.raises(LedgerError, match="is a copy or was moved"):
        file.ledger.reserve([REQUEST.charge("noisy_totals")], order(), NOTHING)
    assert SqliteBook(tmp_path / "one/ledger.sqlite").read()[-1]["kind"] == "moved"


@pytest.mark.parametrize("begun", [False, True])
def test_a_run_that_was_at_work_while_the_ledger_was_copied_draws_nothing_the_copy_does_not_know(
    database, tmp_path, monkeypatch, begun
):
    """Else the copy would hold an unused charge for noise that was drawn."""
    door, step = Door(tmp_path / "one"), "begin_draw" if begun else "reserve"
    whole = getattr(Ledger, step)

    def copied_after(self, *arguments):
        done = whole(self, *arguments)
        copy_to(door.ledger, database.ledger.book, ACT, NOTHING, draws_of(tmp_path / "one"))
        return done

    with monkeypatch.context() as patch, pytest.raises(LedgerError, match="is a copy or was moved"):
        patch.setattr(Ledger, step, copied_after)
        door()
    assert door.drawn == int(begun)
    assert same_rows(database.ledger.book.read(), door.ledger.book.read())
    assert [row.drawn for row in database.ledger.rows() if row.charge.door == "noisy_series"] == [begun]


def test_and_comes_back_to_a_file(database, tmp_path):
    shared = Door(tmp_path / "one", url=database.url)
    drawn = shared()
    other, target = tmp_path / "other", tmp_path / "other/ledger.sqlite"
    fetch_draws(database.ledger, other)
    copy_to(database.ledger, SqliteBook(target), ACT, NOTHING, draws_of(other))
    assert same_rows(database.ledger.book.read(), SqliteBook(target).read())
    say_moved(Ledger(other), ACT, NOTHING)
    np.testing.assert_array_equal(Door(other)().values["weighted"], drawn.values["weighted"])


def test_a_copy_goes_to_an_empty_place_only(database, tmp_path):
    file, _ = Door(tmp_path / "one"), opened_ledger(database.home, database.url)
    before = file.ledger.book.read()
    with pytest.raises(BadInput, match="must be copied to an empty place"):
        copy_to(file.ledger, database.ledger.book, ACT, NOTHING, draws_of(tmp_path))
    assert same_rows(file.ledger.book.read(), before)  # and may go on paying
    file.ledger.refuse_unready("subscribers")


def end_connections(database):
    database.server.run("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'density_service'")


def test_a_copy_that_cannot_be_written_leaves_the_ledger_open(postgres, database, tmp_path):
    file = Door(tmp_path / "one")
    file()
    before, draws = file.ledger.book.read(), draws_of(tmp_path / "one")

    def draws_while_the_server_ends(accounts):
        end_connections(database)
        return draws(accounts)

    places = {
        "must be made by their owner": (PostgresShelf(postgres.new_database(), tmp_path).url, draws),
        "and nothing else": (database.server.url(OWNER), draws),
        "must answer, but .* did not": (database.url, draws_while_the_server_ends),
    }
    for said, (url, found) in places.items():
        with pytest.raises(LedgerError, match=said):
            copy_to(file.ledger, book_at(url), ACT, NOTHING, found)
        assert same_rows(file.ledger.book.read(), before)
    assert not database.ledger.accounts().opened
    copy_to(file.ledger, database.ledger.book, ACT, NOTHING, draws)  # and what failed does not stand in its way


def test_a_copy_whose_commit_is_lost_leaves_no_second_payer(database, tmp_path, monkeypatch):
    """Nobody knows whether it was committed: the ledger has said already that it lies nowhere."""
    file, adding = opened_ledger(tmp_path / "one"), Ledger.adding

    @contextmanager
    def losing(self, witnesses=NOTHING):
        with adding(self, witnesses) as added:
            yield added
        end_connections(database)

    with monkeypatch.context() as patch, pytest.raises(LedgerError, match="Whether the last row was written"):
        patch.setattr(Ledger, "adding", losing)
        copy_to(file, database.ledger.book, ACT, NOTHING, draws_of(tmp_path))
    with pytest.raises(LedgerError, match="is a copy or was moved"):
        file.refuse_unready("subscribers")
    assert not database.ledger.accounts().opened
    say_moved(file, Act("ann", "the copy was given up"), NOTHING)
    file.refuse_unready("subscribers")


@pytest.mark.skipif(shutil.which("pg_restore") is None, reason="PostgreSQL's own commands are not installed")
def test_a_dump_that_is_restored_elsewhere_is_a_copy_with_all_its_guards(database, tmp_path):
    """By the commands of the documentation, but for addresses."""
    drawn = Door(database.home, url=database.url)()
    elsewhere = PostgresShelf(database.server.new_database(), tmp_path / "elsewhere")
    commands = [
        line for block in documented("deployment.md", "sh") for line in block.split("\n") if "ledger.dump" in line
    ]
    assert [line.split()[0] for line in commands] == ["pg_dump", "pg_restore"]
    for line, shelf in zip(commands, (database, elsewhere), strict=True):
        command = re.sub(r"postgresql://density_owner@\S+/ledger", shelf.server.url(OWNER), line)
        subprocess.run(command.split(), cwd=tmp_path, check=True)
    assert same_rows(elsewhere.ledger.book.read(), database.ledger.book.read())
    with pytest.raises(LedgerError, match="is a copy or was moved"):
        elsewhere.ledger.refuse_unready("subscribers")
    assert "append-only" in elsewhere.refusal("delete from entries")
    assert "permission denied" in elsewhere.refusal("update entries set kind = ''", SERVICE)
    say_moved(elsewhere.ledger, ACT, NOTHING)
    again = Door(elsewhere.home, url=elsewhere.url)
    np.testing.assert_array_equal(again().values["weighted"], drawn.values["weighted"])
    assert again.drawn == 0


def test_a_restored_database_gets_its_draws_from_the_files(database, tmp_path):
    door = Door(database.home, url=database.url)
    drawn = door()
    backup(database.ledger, tmp_path / "copy.sqlite")
    database.lose()
    restore(database.ledger, tmp_path / "copy.sqlite", ACT, door.measurements.witnesses())
    share_draws(database.ledger, database.home)
    other = Door(tmp_path / "other", url=database.url)
    np.testing.assert_array_equal(other().values["weighted"], drawn.values["weighted"])
    assert other.drawn == 0


def test_damaged_rows_of_a_database_are_for_its_owner_to_mend(database, tmp_path):
    Door(database.home, url=database.url)()
    backup(database.ledger, tmp_path / "copy.sqlite")
    database.tamper("update entries set body = '{}' where row = 2")
    with pytest.raises(LedgerError, match=r"added and never replaced, .* let the owner"):
        restore(database.ledger, tmp_path / "copy.sqlite", ACT, NOTHING)


def test_a_chain_made_in_a_file_has_the_hashes_it_has_in_a_database(database, tmp_path):
    ledger = opened_ledger(tmp_path / "one")
    records = ledger.book.read()
    with database.ledger.book.writing() as writer:
        writer.replace(records)
    assert [row_hash(row) for row in database.ledger.book.read()] == [row["hash"] for row in records]
    assert json.dumps(database.ledger.accounts().published(9)) == json.dumps(ledger.accounts().published(9))
