"""A ledger in PostgreSQL: what locks and a lost server do to it; the contract of every book is in test_paying."""

import threading
from contextlib import contextmanager

import numpy as np
import pytest
from door import REQUEST, Door
from ledgers import ACT, opened_ledger
from postgres import OWNER, SERVICE, USER
from shelves import PostgresShelf, same_rows

from density_assets.errors import BadInput
from density_assets.privacy.accounts import row_hash
from resources.ledger.book import LedgerError
from resources.ledger.ledger import Ledger
from resources.ledger.postgres_tables import tables_sql
from resources.ledger.sqlite import book_at
from resources.ledger.witnesses import NOTHING
from resources.measurements import Measurements


def test_the_defaults_of_a_server_do_not_matter(database):
    """Under REPEATABLE READ whoever waited for the lock would not see what was added meanwhile."""
    opened_ledger(database.home, database.url)
    for name, value in (
        ("default_transaction_isolation", "'serializable'"),
        ("synchronous_commit", "off"),
        ("lock_timeout", "1"),
        ("statement_timeout", "2000"),
    ):
        database.server.run(f"alter role {SERVICE} in database {database.server.database} set {name} = {value}")
    ledgers = [database.ledger for _ in range(4)]
    threads = [
        threading.Thread(target=ledger.record, args=("approval", {"what": str(number)}, ACT, NOTHING))
        for number, ledger in enumerate(ledgers)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    told = {entry.body["what"] for entry in database.ledger.accounts().of("approval")}
    assert told - {"input"} == {"0", "1", "2", "3"}


def test_a_transaction_waits_for_the_disk(database):
    database.server.run(f"alter role {SERVICE} in database {database.server.database} set synchronous_commit = off")
    with database.ledger.book.writing() as writer:
        (found,) = writer._connection.execute("show synchronous_commit").fetchall()
    assert found["synchronous_commit"] == "on"


def test_one_machine_at_a_time_works_on_what_is_named(database):
    """Whoever comes second waits until the first lets go; another name does not wait."""
    order_of_events, first_is_in, first_may_go = [], threading.Event(), threading.Event()

    def first():
        with database.ledger.book.alone("week"):
            first_is_in.set()
            first_may_go.wait(60)
            order_of_events.append("first")

    def second():
        with database.ledger.book.alone("week"):
            order_of_events.append("second")

    threads = [threading.Thread(target=target) for target in (first, second)]
    threads[0].start()
    assert first_is_in.wait(60)
    threads[1].start()
    with database.ledger.book.alone("another week"):
        first_may_go.set()
    for thread in threads:
        thread.join(60)
    assert order_of_events == ["first", "second"]


def test_a_writer_that_holds_the_ledger_for_too_long_is_named(database, monkeypatch):
    ledger, other = opened_ledger(database.home, database.url), database.ledger
    before = ledger.accounts().head
    role = f"alter role {SERVICE} in database {database.server.database}"
    database.server.run(f"{role} set idle_in_transaction_session_timeout = '20s'")  # whoever waits on ends, and fails
    monkeypatch.setattr("resources.ledger.postgres.WAITING", "50ms")
    with (
        other.book.writing(),
        pytest.raises(LedgerError, match=r"let go of the ledger within 50ms.* Nothing was written"),
    ):
        ledger.record("approval", {"what": "waiting"}, ACT, NOTHING)
    assert ledger.accounts().head == before
    ledger.record("approval", {"what": "waiting"}, ACT, NOTHING)
    assert ledger.accounts().head != before


def test_of_two_runs_that_drew_one_door_the_first_is_believed(database, tmp_path):
    """A lock goes with its connection: a second run may begin while the first still draws."""
    slow, quick = (Door(tmp_path / name, url=database.url) for name in ("slow", "quick"))

    def interrupted(noise):
        database.server.run("select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() "
                        "and pid <> pg_backend_pid()")  # fmt: skip
        quick()
        return {"weighted": noise.gaussian(np.zeros(50), REQUEST.doors["noisy_series"][0])}

    with pytest.raises(LedgerError, match=r"another run has drawn noisy_series .* This one is not kept"):
        slow.measure(REQUEST, "noisy_series", lambda: interrupted)
    assert not list(tmp_path.rglob("*.drawing"))
    np.testing.assert_array_equal(slow().values["weighted"], quick().values["weighted"])
    rows = database.ledger.rows()
    assert [(row.charge.door, row.drawn, bool(row.digest)) for row in rows if row.charge.door == "noisy_series"] == [
        ("noisy_series", True, False),  # paid for, and lost
        ("noisy_series", True, True),
    ]


# --- a server that goes -----------------------------------------------------------------------------------------------


@contextmanager
def gone_after(database, monkeypatch, owner: type, deed: str):
    """The server stops once something was done, and is back at the end."""
    done = getattr(owner, deed)

    def and_gone(self, *arguments):
        result = done(self, *arguments)
        database.server.stop()
        return result

    try:
        with monkeypatch.context() as patch:
            patch.setattr(owner, deed, and_gone)
            yield
    finally:
        database.server.start()


def test_a_server_that_goes_between_charge_and_draw_stops_the_draw(database, monkeypatch):
    door = Door(database.home, url=database.url)
    with gone_after(database, monkeypatch, Ledger, "reserve"):
        with pytest.raises(LedgerError, match=r"must answer, but .* nothing is drawn"):
            door()
        assert door.drawn == 0
    door()
    assert (door.drawn, len(database.ledger.rows())) == (1, 2)  # what was paid for is used


def test_a_server_that_goes_between_draw_and_store_costs_the_charge_and_no_more(database, monkeypatch):
    door = Door(database.home, url=database.url)
    with (
        gone_after(database, monkeypatch, Measurements, "_set_aside"),
        pytest.raises(LedgerError, match=r"must answer, but .* bring it back"),
    ):
        door()
    drawn = door()
    np.testing.assert_array_equal(drawn.values["weighted"], door().values["weighted"])
    series = [row for row in database.ledger.rows() if row.charge.door == "noisy_series"]
    assert [bool(row.digest) for row in series] == [False, True]
    assert all(row.drawn for row in series)


def test_nothing_is_charged_while_the_server_is_away(database):
    door = Door(database.home, url=database.url)
    database.server.stop()
    try:
        with pytest.raises(
            LedgerError, match=r"must answer, but postgresql://127\.0\.0\.1:\d+/ledger_of_a_test did not"
        ):
            door()
    finally:
        database.server.start()
    assert (door.drawn, database.ledger.rows()) == (0, [])


FULL = """set search_path = density;
create function full_disk() returns trigger language plpgsql as $$ begin
    raise exception 'could not extend file: No space left on device' using errcode = 'disk_full';
end $$;
create trigger full_disk before insert on {table} for each row when ({rows}) execute function full_disk()"""


@pytest.mark.parametrize(
    ("table", "rows", "drawn", "paid"),
    [
        ("entries", "new.kind = 'charge'", 0, [True]),
        ("entries", "new.kind = 'begun'", 0, [True]),
        ("entries", "new.kind = 'drawn'", 1, [False, True]),
        ("draws", "true", 1, [False, True]),
    ],
)
def test_a_disk_that_is_full_is_named_and_nothing_is_drawn_twice(database, table, rows, drawn, paid):
    """What was drawn and finds no room is lost with its charge: nobody can know whether it was seen."""
    door = Door(database.home, url=database.url)
    database.server.run(FULL.format(table=table, rows=rows), OWNER)
    with pytest.raises(LedgerError, match=r"must have room for .* \(could not extend .* free some space"):
        door()
    assert door.drawn == drawn
    assert not list(database.home.rglob("*.npz"))
    assert not list(database.home.rglob("*.drawing"))
    database.server.run("drop function density.full_disk cascade", OWNER)
    np.testing.assert_array_equal(door().values["weighted"], door().values["weighted"])
    assert door.drawn == drawn + 1
    assert [bool(row.digest) for row in database.ledger.rows() if row.charge.door == "noisy_series"] == paid


def test_a_server_that_may_forget_what_it_committed_is_refused(database):
    database.server.run("alter system set fsync = off")
    database.server.run("select pg_reload_conf()")
    try:
        while database.server.run("show fsync") == [("on",)]:
            pass
        with pytest.raises(LedgerError, match="could forget a charge"):
            opened_ledger(database.home, database.url)
    finally:
        database.server.run("alter system reset fsync")
        database.server.run("select pg_reload_conf()")
        while database.server.run("show fsync") == [("off",)]:
            pass


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
