"""A ledger in PostgreSQL: what roles may do to its rows, and what shows when an owner changed them."""

import pytest
from door import Door
from ledgers import opened_ledger
from postgres import OWNER, SERVICE, USER
from shelves import PostgresShelf, same_rows

from density_assets.errors import BadInput
from density_assets.privacy.accounts import row_hash
from resources.ledger.book import LedgerError
from resources.ledger.ledger import Ledger
from resources.ledger.postgres_tables import tables_sql
from resources.ledger.sqlite import book_at


@pytest.mark.parametrize("table", ["entries", "draws"])
@pytest.mark.parametrize(
    "statement", ["update {} set {} = null", "delete from {}", "truncate {} cascade", "drop table {}"]
)
def test_the_service_may_neither_change_nor_remove_anything(database, table, statement):
    Door(database.home, url=database.url)()
    column = {"entries": "body", "draws": "content"}[table]
    said = database.refusal(statement.format(table, column), SERVICE)
    assert "permission denied" in said or "must be owner" in said


@pytest.mark.parametrize("statement", ["update draws set content = ''", "truncate draws", "delete from entries"])
def test_the_owner_does_not_change_rows_by_a_slip(database, statement):
    Door(database.home, url=database.url)()
    assert "append-only" in database.refusal(statement, OWNER)


def test_the_service_may_not_disable_what_guards_the_rows(database):
    assert "must be owner" in database.refusal("alter table entries disable trigger append_only", SERVICE)
    assert "permission denied" in database.refusal("set session_replication_role = replica", SERVICE)
    assert "permission denied" in database.refusal("create table density.more (a int)", SERVICE)


@pytest.mark.parametrize("role", [OWNER, USER])
def test_a_role_that_can_change_rows_does_not_charge(database, role):
    with pytest.raises(LedgerError, match=r"read and add rows .* and nothing else, but it may change and remove them"):
        opened_ledger(database.home, database.server.url(role))
    assert database.ledger.book.read() == []


@pytest.mark.parametrize(
    "given", ["update on density.draws", "delete on density.entries", "update (body) on density.entries", OWNER]
)
def test_a_role_that_was_given_more_does_not_charge(database, given):
    database.server.run(f"grant {given} to {SERVICE}")
    try:
        with pytest.raises(LedgerError, match=r"and nothing else, but it may change and remove them"):
            opened_ledger(database.home, database.url)
    finally:
        database.server.run(f"revoke {given} from {SERVICE}")


def test_a_role_that_was_given_nothing_is_told_whom_to_ask(database):
    database.server.run("drop role if exists stranger; create role stranger login")
    for ask in (lambda ledger: ledger.accounts(), lambda ledger: ledger.begin_draw("m", ())):
        with pytest.raises(LedgerError, match=r"must be able to read and add rows .*density ledger tables --service"):
            ask(Ledger(database.home, book_at(database.server.url("stranger"))))


def test_before_the_owner_made_the_tables_there_is_no_ledger_and_nothing_is_written(postgres, tmp_path):
    shelf = PostgresShelf(postgres.new_database(), tmp_path)
    assert not shelf.ledger.accounts().opened
    with pytest.raises(LedgerError, match="tables of a ledger must be made by their owner"):
        opened_ledger(tmp_path, shelf.url)


def test_tables_may_be_made_again_and_no_row_changes(database):
    Door(database.home, url=database.url)()
    before = database.ledger.book.read()
    database.server.run(tables_sql(SERVICE), OWNER)
    assert same_rows(database.ledger.book.read(), before)
    Door(database.home, url=database.url)(door="noisy_totals")


@pytest.mark.parametrize("role", ["a; drop table x", 'a"b', "", "Ann", "1a", "a" * 64])
def test_a_role_is_a_plain_name(role):
    with pytest.raises(BadInput, match="must be named by lower-case letters"):
        tables_sql(role)


@pytest.mark.parametrize(
    "statement",
    [
        "update entries set body = replace(body, '17.0', '17000.0') where kind = 'charge'",
        "delete from draws; delete from entries where kind = 'drawn'; update entries set row = row - 1 where row > 9",
    ],
)
def test_what_an_owner_changes_on_purpose_the_chain_or_a_witness_shows(database, statement):
    door = Door(database.home, url=database.url)
    door()
    door(door="noisy_totals")
    database.tamper(statement)
    with pytest.raises(LedgerError, match="Nothing may be drawn"):
        database.ledger.accounts(door.measurements.witnesses())


def test_a_draw_that_an_owner_changed_is_not_brought_in(database, tmp_path):
    Door(database.home, url=database.url)()
    database.tamper("update draws set content = 'PK'")
    other = Door(tmp_path / "other", url=database.url)
    with pytest.raises(BadInput, match="must be the one that was made"):
        other()
    assert other.drawn == 0
    assert not list((tmp_path / "other").rglob("*.npz"))


def test_a_writer_that_forgets_the_lock_cannot_fork_the_chain(database):
    """Nor can it be the service of an honest one: what it adds has to follow the newest row."""
    ledger = opened_ledger(database.home, database.url)
    last = dict(ledger.book.read()[-1])
    fork = {**last, "previous": last["previous"], "body": '{"place":"elsewhere"}'}
    values = (99, fork["format"], fork["kind"], fork["at"], fork["body"], fork["previous"], row_hash(fork))
    assert "previous" in database.refusal(f"insert into entries values {values}", SERVICE)
    with pytest.raises(LedgerError, match="added past its lock"), ledger.book.writing() as writer:
        writer.append({**fork, "row": 99, "hash": row_hash(fork)})
    assert ledger.accounts().head == last["hash"]


def test_who_may_not_make_the_tables_is_told_who_may(postgres):
    """Not that the role that charges has too few rights: it has nothing to do with this."""
    database = postgres.new_database()
    with pytest.raises(LedgerError, match=r"by the owner of its database, .*deploy/roles\.sql.* Nothing was made"):
        book_at(database.url(SERVICE)).make_tables("nobody_yet")
