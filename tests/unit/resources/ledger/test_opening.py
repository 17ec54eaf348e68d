"""How a ledger is opened, and where it may lie: on one disk, one machine, once."""

import json
import os
import sqlite3
from contextlib import closing
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import pytest
from charges import EVENT, NOBODY, charge, drawn, known, monday, paid
from ledgers import ACT, KEY, acknowledge_input, opened_ledger, order
from shelves import SqliteShelf

from density_assets.errors import BadInput
from density_assets.privacy.acts import Act
from density_assets.privacy.policy import acknowledgement
from density_assets.settings import Settings
from density_assets.settings.city import CitySettings
from resources.ledger.book import LedgerError
from resources.ledger.ledger import Ledger
from resources.ledger.opening import (
    backup,
    open_by_itself,
    open_for_people,
    restore,
    say_moved,
)
from resources.ledger.witnesses import NOTHING, Named, Witnesses


def test_for_real_people_nothing_is_charged_before_somebody_opened_the_ledger(shelf):
    ledger = shelf.ledger
    with pytest.raises(LedgerError, match=r"opened by a person .* does not exist: `density ledger init --by NAME"):
        paid(ledger, charge())
    open_by_itself(ledger, NOBODY, lambda: KEY, NOTHING)
    with pytest.raises(LedgerError, match="opened by a person"):
        paid(ledger, charge())
    open_for_people(ledger, ACT, lambda: KEY, NOTHING)
    acknowledge_input(ledger, order().settings)
    paid(ledger, charge())
    assert len(ledger.rows()) == 1


def test_for_real_people_nothing_is_charged_before_somebody_looked_at_their_files(shelf):
    """Once for each way of reading files; not again for a revision that was charged, never for simulated people."""
    ledger = opened_ledger(shelf.home, shelf.url)
    terms = order()
    read_otherwise = replace(terms, settings=of_city(visit_user="imsi"))
    one, two = charge(), charge(door="noisy_totals")
    ledger.reserve([charge(population=NOBODY)], read_otherwise, NOTHING)
    before = ledger.accounts().head
    with pytest.raises(BadInput, match=r"they have changed since.* Nothing was charged and nothing drawn"):
        ledger.reserve([one, two], read_otherwise, NOTHING)
    assert ledger.accounts().head == before
    ledger.reserve([one], terms, NOTHING)
    ledger.reserve([one, two], read_otherwise, NOTHING)
    with pytest.raises(BadInput, match="a person must look"):
        ledger.reserve([replace(one, revision=2, measurement="2")], read_otherwise, NOTHING)
    acknowledge_input(ledger, read_otherwise.settings)
    ledger.reserve([charge("2007-09-17")], read_otherwise, NOTHING)
    ledger.reserve([charge("2007-09-24")], terms, NOTHING)  # what was acknowledged once stays so
    assert len(ledger.rows()) == 5


def test_another_approval_acknowledges_no_files(shelf):
    ledger = opened_ledger(shelf.home, shelf.url)
    settings = of_city(visit_user="imsi")
    body = acknowledgement(settings)
    for other in ({**body, "what": "revision"}, {**body, "city": "paris"}, {**body, "inputs": "0" * 64}):
        ledger.record("approval", other, ACT, NOTHING)
    with pytest.raises(BadInput, match="a person must look"):
        ledger.reserve([charge()], replace(order(), settings=settings), NOTHING)


def of_city(**changed) -> Settings:
    return Settings().model_copy(update={"city": CitySettings.model_construct(**changed)})


def test_a_ledger_is_opened_once_and_has_an_identity_of_its_own(shelf):
    one, other = opened_ledger(shelf.home, shelf.url), opened_ledger(shelf.home / "other")
    assert one.accounts().identity != other.accounts().identity
    with pytest.raises(BadInput, match="opened once"):
        open_for_people(one, ACT, lambda: KEY, NOTHING)


def test_for_simulated_people_it_opens_by_itself_and_for_nobody_else(shelf):
    ledger = shelf.ledger
    assert not open_by_itself(ledger, "subscribers", lambda: KEY, NOTHING)
    assert not ledger.accounts().opened
    assert open_by_itself(ledger, NOBODY, lambda: KEY, NOTHING)
    assert not open_by_itself(ledger, NOBODY, lambda: KEY, NOTHING)
    paid(ledger, charge(population=NOBODY))


def test_a_new_ledger_beside_anything_that_was_released_is_refused(shelf):
    for witnesses in (
        Witnesses(drawn=(Named("a" * 64, "a draw"),)),
        Witnesses(hashes=(Named("a" * 64, "a chain"),)),
        Witnesses(releases=(Named("a" * 16, "a table"),)),
        Witnesses(ledgers=(Named("a" * 32, "a statement"),)),
    ):
        with pytest.raises(LedgerError, match=r"lacks 1 .* named by a .* restore a newer backup"):
            open_by_itself(shelf.ledger, NOBODY, lambda: KEY, witnesses)
        with pytest.raises(LedgerError, match="lacks 1"):
            open_for_people(shelf.ledger, ACT, lambda: KEY, witnesses)
    assert not shelf.ledger.accounts().opened


def test_a_released_table_bears_witness_that_its_release_was_drawn_not_that_it_was_charged(ledger):
    """Else a ledger that is cut before the draw was begun would pay for another one."""
    made, table = charge(), Witnesses(releases=(Named("a" * 16, "a table"),))
    ledger.reserve([made], order(release={"name": "a" * 16}), NOTHING)
    with pytest.raises(LedgerError, match="named by a table"):
        ledger.accounts(table)
    ledger.begin_draw(made.measurement, made.events)
    assert ledger.accounts(table).releases == {"a" * 16}


def test_a_copy_is_refused_until_somebody_says_that_it_was_moved(file_ledger, tmp_path):
    ledger = file_ledger
    drawn(ledger, charge(monday(0)))
    copied = tmp_path / "copied"
    copied.mkdir()
    (copied / "ledger.sqlite").write_bytes(ledger.file.read_bytes())
    copy = Ledger(copied)
    with pytest.raises(LedgerError, match="is a copy or was moved to another disk"):
        paid(copy, charge(monday(1)))
    say_moved(copy, Act("ann", "the old disk is gone"), NOTHING)
    paid(copy, charge(monday(1)))
    assert [entry.body["by"] for entry in copy.accounts().of("moved")] == ["ann"]


def test_a_copy_with_the_same_number_on_another_disk_or_machine_is_a_copy(file_ledger, monkeypatch):
    """`cp -a` to an empty disk often gives a file the number it had."""
    ledger = file_ledger
    ledger.refuse_unready("subscribers")
    monkeypatch.setattr("resources.ledger.sqlite._machine", lambda: "another")
    with pytest.raises(LedgerError, match="is a copy or was moved"):
        ledger.refuse_unready("subscribers")
    monkeypatch.undo()
    elsewhere = SimpleNamespace(f_fsid=os.statvfs(ledger.file).f_fsid + 1)
    monkeypatch.setattr("resources.ledger.sqlite.os.statvfs", lambda file: elsewhere)
    with pytest.raises(LedgerError, match="is a copy or was moved"):
        ledger.refuse_unready("subscribers")


def test_a_ledger_that_is_moved_on_its_disk_goes_on(file_ledger, tmp_path):
    ledger = file_ledger
    paid(ledger, charge(monday(0)))
    ledger.file.rename(tmp_path / "elsewhere.sqlite")
    (tmp_path / "moved").mkdir()
    (tmp_path / "elsewhere.sqlite").rename(tmp_path / "moved" / "ledger.sqlite")
    paid(Ledger(tmp_path / "moved"), charge(monday(1)))


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


def test_a_database_of_something_else_is_no_ledger_and_becomes_none(tmp_path):
    """Nor is it taken for the absence of one, which may be opened."""
    ledger = Ledger(tmp_path)
    with closing(sqlite3.connect(ledger.file)) as connection:
        connection.execute("create table charges (week text)")
    content = ledger.file.read_bytes()
    for use in (ledger.accounts, partial(paid, ledger, charge()), partial(open_for_people, ledger, ACT, None, NOTHING)):
        with pytest.raises(LedgerError, match=r"must have a table `entries`.* \(`charges`\)"):
            use()
    assert ledger.file.read_bytes() == content


def test_there_is_nothing_to_back_up_before_it_is_opened(tmp_path):
    with pytest.raises(LedgerError, match=r"there is no ledger at .*set DENSITY_HOME"):
        backup(Ledger(tmp_path), tmp_path / "copy.sqlite")
