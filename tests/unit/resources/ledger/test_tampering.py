"""Ledgers that were changed, cut or lost: whoever looks is told."""

import random
import sqlite3

import pytest
from charges import charge, drawn, known, monday, paid, weeks
from ledgers import order

from resources.ledger.book import LedgerError


@pytest.mark.parametrize("statement", ["update entries set body = '{}'", "delete from entries"])
def test_rows_cannot_be_changed_or_removed(ledger, shelf, statement):
    drawn(ledger, charge())
    assert "append-only" in shelf.refusal(statement)


@pytest.mark.parametrize(
    "statement",
    [
        "update entries set body = replace(body, '17.0', '17000.0') where kind = 'charge'",
        "update entries set at = '2007-01-01' where row = 2",
        "update entries set format = 2 where row = 3",
        "delete from entries where row = 4",
        "delete from entries where row = 1",
        "update entries set kind = 'moved' where kind = 'begun'",
        "insert into entries select 99, format, kind, at, body, 'else', 'forged' from entries where row = 4",
    ],
)
def test_tampering_past_the_triggers_is_noticed_and_stops_everything(ledger, shelf, statement):
    for week in weeks(3):
        drawn(ledger, charge(week))
    shelf.tamper(statement)
    with pytest.raises(LedgerError, match="not what was written"):
        ledger.accounts()
    with pytest.raises(LedgerError, match="Nothing may be drawn"):
        paid(ledger, charge(monday(9)))
    with pytest.raises(LedgerError, match="Nothing may be drawn"):
        ledger.rows()


def test_rows_that_were_believed_are_read_again_and_checked_if_anything_of_them_is_another(file_ledger, monkeypatch):
    """What compares as equal, 1 and 1.0, is not the same row: it has another hash."""
    drawn(file_ledger, charge())
    before = file_ledger.accounts()
    with monkeypatch.context() as patch:
        patch.setattr("resources.ledger.ledger.checked_accounts", None)  # is not asked again
        assert file_ledger.accounts() is before
    records = file_ledger.book.read()
    first = {**records[0], "format": float(records[0]["format"])}
    forged = [first, *records[1:]]
    assert forged == records
    monkeypatch.setattr(file_ledger.book, "read", lambda: forged)
    with pytest.raises(LedgerError, match="not what was written"):
        file_ledger.accounts()


def test_rows_that_are_nested_too_deep_are_not_believed(file_ledger, monkeypatch):
    nested: list = []
    for _ in range(100_000):
        nested = [nested]
    forged = [{"row": 1, "body": nested}]
    monkeypatch.setattr(file_ledger.book, "read", lambda: forged)
    with pytest.raises(LedgerError, match="nested deeper than any"):
        file_ledger.accounts()


def test_a_flipped_byte_is_noticed_or_changes_nothing(file_ledger):
    """Each is read as it was written or not at all; in an index, one once let a charge pay for two draws."""
    ledger = file_ledger
    for week in weeks(4):
        drawn(ledger, charge(week))
    with sqlite3.connect(ledger.file) as connection:
        connection.execute("pragma wal_checkpoint(truncate)")
    whole, before = ledger.file.read_bytes(), ledger.accounts()
    chance, noticed = random.Random(7), 0
    for _ in range(300):
        place = chance.randrange(100, len(whole))  # past SQLite's own header
        ledger.file.write_bytes(whole[:place] + bytes([whole[place] ^ (1 << chance.randrange(8))]) + whole[place + 1 :])
        for side in ("-wal", "-shm"):
            ledger.file.with_name(f"ledger.sqlite{side}").unlink(missing_ok=True)
        try:
            assert ledger.accounts() == before
        except LedgerError:
            noticed += 1
    assert noticed > 100


def test_a_cut_tail_and_a_lost_ledger_are_noticed_by_witnesses(ledger, shelf):
    for week in weeks(2):
        drawn(ledger, charge(week))
    witnesses = known(ledger)
    last = max(entry.row for entry in ledger.accounts().of("charge"))
    shelf.tamper(f"delete from entries where row >= {last}")
    assert len(ledger.rows()) == 1  # the chain alone cannot tell
    with pytest.raises(LedgerError, match=r"lacks 1 .* cut, lost or replaced by an older copy"):
        ledger.accounts(witnesses)
    with pytest.raises(LedgerError, match="restore a newer backup"):
        ledger.reserve([charge(monday(5))], order(), witnesses)
    shelf.lose()
    with pytest.raises(LedgerError, match="lacks 2"):
        ledger.accounts(witnesses)
    with pytest.raises(LedgerError, match="lacks 2"):
        ledger.reserve([charge(monday(5))], order(), witnesses)
