"""Backups of a ledger, and what may be restored from them."""

import json
import sqlite3

import pytest
from charges import EVENT, charge, drawn, known, monday, paid
from ledgers import ACT
from shelves import SqliteShelf

from density_assets.privacy.acts import Act
from resources.ledger.book import LedgerError
from resources.ledger.ledger import Ledger
from resources.ledger.opening import (
    backup,
    restore,
)
from resources.ledger.witnesses import NOTHING


def test_backup_and_restore(ledger, shelf, tmp_path):
    drawn(ledger, charge(monday(0)))
    backup(ledger, tmp_path / "copies" / "one.sqlite")
    drawn(ledger, charge(monday(1)))
    backup(ledger, tmp_path / "copies" / "two.sqlite")
    witnesses = known(ledger)
    with pytest.raises(LedgerError, match="lacks 1"):  # an old copy
        restore(ledger, tmp_path / "copies" / "one.sqlite", ACT, witnesses)
    with pytest.raises(LedgerError, match="must hold everything the present one does"):
        restore(ledger, tmp_path / "copies" / "one.sqlite", ACT, NOTHING)
    shelf.lose()
    restore(ledger, tmp_path / "copies" / "two.sqlite", ACT, witnesses)
    assert len(ledger.accounts(witnesses).rows) == 2
    paid(ledger, charge(monday(2)))
    assert len(ledger.accounts(witnesses).rows) == 3


def test_a_lost_ledger_is_restored_from_the_chain_that_was_published_last(ledger, shelf, tmp_path):
    drawn(ledger, charge(monday(0)), charge(monday(1)))
    accounts = ledger.accounts()
    chain = tmp_path / "ledger_2007-01-15.json"
    chain.write_text(json.dumps(accounts.published(len(accounts.entries))))
    shelf.lose()
    restore(ledger, chain, Act("ann", "the disk broke"), known(ledger))
    assert ledger.accounts().rows == accounts.rows
    assert [entry.body["reason"] for entry in ledger.accounts().of("moved")] in ([], ["the disk broke"])
    paid(ledger, charge(monday(2)))
    chain.write_text(chain.read_text().replace("17.0", "18.0", 1))
    with pytest.raises(LedgerError, match="must be whole"):
        restore(ledger, chain, ACT, NOTHING)


def test_a_copy_that_forgot_a_draw_is_refused(ledger, tmp_path):
    """Put back, it would pay for a second draw with the charge of the first."""
    paid(ledger, charge())
    backup(ledger, tmp_path / "copy.sqlite")
    ledger.begin_draw(charge().measurement, (EVENT,))
    with pytest.raises(LedgerError, match="lacks 1 entries: keep the present one"):
        restore(ledger, tmp_path / "copy.sqlite", ACT, NOTHING)


def test_a_damaged_file_can_be_mended_from_a_copy(file_ledger, tmp_path):
    ledger = file_ledger
    drawn(ledger, charge(monday(0)), charge(monday(1)))
    backup(ledger, tmp_path / "copy.sqlite")
    before = ledger.rows()
    SqliteShelf(tmp_path).tamper("update entries set body = '{}' where row = 4")
    restore(ledger, tmp_path / "copy.sqlite", ACT, NOTHING)
    assert ledger.rows() == before
    with sqlite3.connect(ledger.file) as connection, pytest.raises(sqlite3.IntegrityError, match="append-only"):
        connection.execute("delete from entries")


def test_there_is_nothing_to_back_up_before_it_is_opened(tmp_path):
    with pytest.raises(LedgerError, match=r"there is no ledger at .*set DENSITY_HOME"):
        backup(Ledger(tmp_path), tmp_path / "copy.sqlite")
