"""A ledger in PostgreSQL: what locks and a lost server do to it; the contract of every book is in test_paying."""

import threading
from contextlib import contextmanager

import numpy as np
import pytest
from door import REQUEST, Door
from ledgers import ACT, opened_ledger
from postgres import OWNER, SERVICE

from resources.ledger.book import LedgerError
from resources.ledger.ledger import Ledger
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
