"""A ledger in PostgreSQL: what roles, locks, a lost server and a copy do to it; for the rest see test_ledger."""

import json
import threading
from contextlib import contextmanager
from functools import partial

import numpy as np
import pytest
from door import REQUEST, Door
from ledgers import ACT, opened_ledger, order
from postgres import OWNER, SERVICE, USER
from shelves import PostgresShelf

from density_assets.errors import BadInput
from density_assets.privacy.accounts import Records
from density_assets.privacy.acts import Act
from density_assets.privacy.chain import row_hash
from density_assets.settings import Settings, load_settings
from resources.draws import contents_of_draws, fetch_draws, share_draws
from resources.ledger.book import LedgerError
from resources.ledger.chosen_book import book_at, book_of
from resources.ledger.ledger import Ledger
from resources.ledger.opening import backup, copy_to, restore, say_moved
from resources.ledger.postgres_tables import tables_sql
from resources.ledger.sqlite import SqliteBook
from resources.ledger.witnesses import NOTHING
from resources.measurements import Measurements


@pytest.fixture
def kept(postgres, tmp_path):
    return PostgresShelf(postgres.new_ledger(), tmp_path)


def same_rows(one: Records, other: Records) -> bool:
    return all(
        list(map(dict, getattr(one, name))) == list(map(dict, getattr(other, name)))
        for name in ("charges", "draws", "entries")
    )


# --- roles ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("table", ["entries", "earlier_rows", "draws"])
@pytest.mark.parametrize(
    "statement", ["update {} set {} = null", "delete from {}", "truncate {} cascade", "drop table {}"]
)
def test_the_service_may_neither_change_nor_remove_anything(kept, table, statement):
    Door(kept.home, url=kept.url)()
    column = {"entries": "body", "earlier_rows": "record", "draws": "content"}[table]
    said = kept.refusal(statement.format(table, column), SERVICE)
    assert "permission denied" in said or "must be owner" in said


@pytest.mark.parametrize("statement", ["update draws set content = ''", "truncate draws", "delete from earlier_rows"])
def test_the_owner_does_not_change_rows_by_a_slip(kept, statement):
    Door(kept.home, url=kept.url)()
    assert "append-only" in kept.refusal(statement, OWNER)


def test_the_service_may_not_disable_what_guards_the_rows(kept):
    assert "must be owner" in kept.refusal("alter table entries disable trigger append_only", SERVICE)
    assert "permission denied" in kept.refusal("set session_replication_role = replica", SERVICE)
    assert "permission denied" in kept.refusal("create table density.more (a int)", SERVICE)


@pytest.mark.parametrize("role", [OWNER, USER])
def test_a_role_that_can_change_rows_does_not_charge(kept, role):
    with pytest.raises(LedgerError, match=r"read and add rows .* and nothing else, but it may change and remove them"):
        opened_ledger(kept.home, kept.server.url(role))
    assert kept.ledger.book.read().entries == []


@pytest.mark.parametrize(
    "given", ["update on density.draws", "delete on density.earlier_rows", "update (body) on density.entries", OWNER]
)
def test_a_role_that_was_given_more_does_not_charge(kept, given):
    kept.server.run(f"grant {given} to {SERVICE}")
    try:
        with pytest.raises(LedgerError, match=r"and nothing else, but it may change and remove them"):
            opened_ledger(kept.home, kept.url)
    finally:
        kept.server.run(f"revoke {given} from {SERVICE}")


def test_a_list_of_connection_words_is_no_file():
    with pytest.raises(BadInput, match="got a list of connection words") as said:
        book_at("host=db password=secret dbname=ledger")
    assert "secret" not in str(said.value)


def test_a_role_that_was_given_nothing_is_told_whom_to_ask(kept):
    kept.server.run("drop role if exists stranger; create role stranger login")
    for ask in (lambda ledger: ledger.accounts(), lambda ledger: ledger.begin_draw("m", ())):
        with pytest.raises(LedgerError, match=r"must be able to read and add rows .*density ledger tables --service"):
            ask(Ledger(kept.home, book_at(kept.server.url("stranger"))))


def test_before_the_owner_made_the_tables_there_is_no_ledger_and_nothing_is_written(postgres, tmp_path):
    shelf = PostgresShelf(postgres.new_database(), tmp_path)
    assert not shelf.ledger.accounts().exists
    with pytest.raises(LedgerError, match="tables of a ledger must be made by their owner"):
        opened_ledger(tmp_path, shelf.url)


def test_tables_may_be_made_again_and_no_row_changes(kept):
    Door(kept.home, url=kept.url)()
    before = kept.ledger.book.read()
    kept.server.run(tables_sql(SERVICE), OWNER)
    assert same_rows(kept.ledger.book.read(), before)
    Door(kept.home, url=kept.url)(door="noisy_totals")


@pytest.mark.parametrize("role", ["a; drop table x", 'a"b', "", "Ann", "1a", "a" * 64])
def test_a_role_is_a_plain_name(role):
    with pytest.raises(BadInput, match="must be named by lower-case letters"):
        tables_sql(role)


# --- tampering --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "statement",
    [
        "update entries set body = replace(body, '17.0', '17000.0') where kind = 'charge'",
        "delete from draws; delete from entries where kind = 'drawn'; update entries set row = row - 1 where row > 9",
        "insert into earlier_rows values ('draws', 1, '{}')",
        "insert into earlier_rows values ('charges', 1, 'no JSON')",
    ],
)
def test_what_an_owner_changes_on_purpose_the_chain_or_a_witness_shows(kept, statement):
    door = Door(kept.home, url=kept.url)
    door()
    door(door="noisy_totals")
    kept.tamper(statement)
    with pytest.raises(LedgerError, match="Nothing may be drawn"):
        kept.ledger.accounts(door.measurements.witnesses())


def test_a_draw_that_an_owner_changed_is_not_brought_in(kept, tmp_path):
    Door(kept.home, url=kept.url)()
    kept.tamper("update draws set content = 'PK'")
    other = Door(tmp_path / "other", url=kept.url)
    with pytest.raises(BadInput, match="must be the one that was made"):
        other()
    assert other.drawn == 0
    assert not list((tmp_path / "other").rglob("*.npz"))


def test_a_writer_that_forgets_the_lock_cannot_fork_the_chain(kept):
    """Nor can it be the service of an honest one: what it adds has to follow the newest row."""
    ledger = opened_ledger(kept.home, kept.url)
    last = dict(ledger.book.read().entries[-1])
    fork = {**last, "previous": last["previous"], "body": '{"place":"elsewhere"}'}
    values = (99, fork["version"], fork["kind"], fork["at"], fork["body"], fork["previous"], row_hash(fork))
    assert "previous" in kept.refusal(f"insert into entries values {values}", SERVICE)
    with pytest.raises(LedgerError, match="added past its lock"), ledger.book.writing() as writer:
        writer.append({**fork, "row": 99, "hash": row_hash(fork)})
    assert ledger.accounts().head == last["hash"]


# --- one writer at a time ---------------------------------------------------------------------------------------------


def test_the_defaults_of_a_server_do_not_matter(kept):
    """Under REPEATABLE READ whoever waited for the lock would not see what was added meanwhile."""
    opened_ledger(kept.home, kept.url)
    for name, value in (
        ("default_transaction_isolation", "'serializable'"),
        ("synchronous_commit", "off"),
        ("lock_timeout", "1"),
        ("statement_timeout", "2000"),
    ):
        kept.server.run(f"alter role {SERVICE} in database {kept.server.database} set {name} = {value}")
    ledgers = [kept.ledger for _ in range(4)]
    threads = [
        threading.Thread(target=ledger.record, args=("approval", {"what": str(number)}, ACT, NOTHING))
        for number, ledger in enumerate(ledgers)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    told = {entry.body["what"] for entry in kept.ledger.accounts().of("approval")}
    assert told - {"input"} == {"0", "1", "2", "3"}


def test_a_transaction_waits_for_the_disk(kept):
    kept.server.run(f"alter role {SERVICE} in database {kept.server.database} set synchronous_commit = off")
    with kept.ledger.book.writing() as writer:
        (found,) = writer._connection.execute("show synchronous_commit").fetchall()
    assert found["synchronous_commit"] == "on"


def test_one_machine_at_a_time_works_on_what_is_named(kept):
    """Whoever comes second waits until the first lets go; another name does not wait."""
    order_of_events, first_is_in, first_may_go = [], threading.Event(), threading.Event()

    def first():
        with kept.ledger.book.alone("week"):
            first_is_in.set()
            first_may_go.wait(60)
            order_of_events.append("first")

    def second():
        with kept.ledger.book.alone("week"):
            order_of_events.append("second")

    threads = [threading.Thread(target=target) for target in (first, second)]
    threads[0].start()
    assert first_is_in.wait(60)
    threads[1].start()
    with kept.ledger.book.alone("another week"):
        first_may_go.set()
    for thread in threads:
        thread.join(60)
    assert order_of_events == ["first", "second"]


def test_of_two_runs_that_drew_one_door_the_first_is_believed(kept, tmp_path):
    """A lock goes with its connection: a second run may begin while the first still draws."""
    slow, quick = (Door(tmp_path / name, url=kept.url) for name in ("slow", "quick"))

    def interrupted(noise):
        kept.server.run("select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() "
                        "and pid <> pg_backend_pid()")  # fmt: skip
        quick()
        return {"weighted": noise.gaussian(np.zeros(50), REQUEST.doors["noisy_series"][0])}

    with pytest.raises(LedgerError, match=r"another run has drawn noisy_series .* This one is not kept"):
        slow.measure(REQUEST, "noisy_series", lambda: interrupted)
    assert not list(tmp_path.rglob("*.drawing"))
    np.testing.assert_array_equal(slow().values["weighted"], quick().values["weighted"])
    rows = kept.ledger.rows()
    assert [(row.charge.door, row.drawn, bool(row.digest)) for row in rows if row.charge.door == "noisy_series"] == [
        ("noisy_series", True, False),  # paid for, and lost
        ("noisy_series", True, True),
    ]


# --- a server that goes -----------------------------------------------------------------------------------------------


@contextmanager
def gone_after(kept, monkeypatch, owner: type, deed: str):
    """The server stops once something was done, and is back at the end."""
    done = getattr(owner, deed)

    def and_gone(self, *arguments):
        result = done(self, *arguments)
        kept.server.stop()
        return result

    try:
        with monkeypatch.context() as patch:
            patch.setattr(owner, deed, and_gone)
            yield
    finally:
        kept.server.start()


def test_a_server_that_goes_between_charge_and_draw_stops_the_draw(kept, monkeypatch):
    door = Door(kept.home, url=kept.url)
    with gone_after(kept, monkeypatch, Ledger, "reserve"):
        with pytest.raises(LedgerError, match=r"must answer, but .* nothing is drawn"):
            door()
        assert door.drawn == 0
    door()
    assert (door.drawn, len(kept.ledger.rows())) == (1, 2)  # what was paid for is used


def test_a_server_that_goes_between_draw_and_store_costs_the_charge_and_no_more(kept, monkeypatch):
    door = Door(kept.home, url=kept.url)
    with (
        gone_after(kept, monkeypatch, Measurements, "_set_aside"),
        pytest.raises(LedgerError, match=r"must answer, but .* bring it back"),
    ):
        door()
    drawn = door()
    np.testing.assert_array_equal(drawn.values["weighted"], door().values["weighted"])
    series = [row for row in kept.ledger.rows() if row.charge.door == "noisy_series"]
    assert [bool(row.digest) for row in series] == [False, True]
    assert all(row.drawn for row in series)


def test_nothing_is_charged_while_the_server_is_away(kept):
    door = Door(kept.home, url=kept.url)
    kept.server.stop()
    try:
        with pytest.raises(
            LedgerError, match=r"must answer, but postgresql://127\.0\.0\.1:\d+/ledger_of_a_test did not"
        ):
            door()
    finally:
        kept.server.start()
    assert (door.drawn, kept.ledger.rows()) == (0, [])


def test_a_server_that_may_forget_what_it_committed_is_refused(kept):
    kept.server.run("alter system set fsync = off")
    kept.server.run("select pg_reload_conf()")
    try:
        while kept.server.run("show fsync") == [("on",)]:
            pass
        with pytest.raises(LedgerError, match="could forget a charge"):
            opened_ledger(kept.home, kept.url)
    finally:
        kept.server.run("alter system reset fsync")
        kept.server.run("select pg_reload_conf()")
        while kept.server.run("show fsync") == [("off",)]:
            pass


def draws_of(home):
    return partial(contents_of_draws, home)


# --- copies -----------------------------------------------------------------------------------------------------------


def test_a_ledger_that_is_copied_keeps_every_hash_and_its_draws(kept, tmp_path):
    file = Door(tmp_path / "one")
    first = file()
    copy_to(file.ledger, kept.ledger.book, Act("ann", "more machines"), NOTHING, draws_of(tmp_path / "one"))
    assert same_rows(file.ledger.book.read(), kept.ledger.book.read())
    assert file.ledger.accounts().identity == kept.ledger.accounts().identity
    for either in (file.ledger, kept.ledger):
        with pytest.raises(LedgerError, match="is a copy or was moved"):
            either.refuse_unready("subscribers")
    say_moved(kept.ledger, Act("ann", "the file is gone"), NOTHING)
    elsewhere = Door(tmp_path / "elsewhere", url=kept.url)
    np.testing.assert_array_equal(elsewhere().values["weighted"], first.values["weighted"])
    assert elsewhere.drawn == 0
    elsewhere(door="noisy_totals")
    with pytest.raises(LedgerError, match="is a copy or was moved"):
        file.ledger.reserve([REQUEST.charge("noisy_totals")], order(), NOTHING)
    assert SqliteBook(tmp_path / "one/ledger.sqlite").read().entries[-1]["kind"] == "moved"


@pytest.mark.parametrize("begun", [False, True])
def test_a_run_that_was_at_work_while_the_ledger_was_copied_draws_nothing_the_copy_does_not_know(
    kept, tmp_path, monkeypatch, begun
):
    """Else the copy would hold an unused charge for noise that was drawn."""
    door, step = Door(tmp_path / "one"), "begin_draw" if begun else "reserve"
    whole = getattr(Ledger, step)

    def copied_after(self, *arguments):
        done = whole(self, *arguments)
        copy_to(door.ledger, kept.ledger.book, ACT, NOTHING, draws_of(tmp_path / "one"))
        return done

    with monkeypatch.context() as patch, pytest.raises(LedgerError, match="is a copy or was moved"):
        patch.setattr(Ledger, step, copied_after)
        door()
    assert door.drawn == int(begun)
    assert same_rows(kept.ledger.book.read(), door.ledger.book.read())
    assert [row.drawn for row in kept.ledger.rows() if row.charge.door == "noisy_series"] == [begun]


def test_and_comes_back_to_a_file(kept, tmp_path):
    shared = Door(tmp_path / "one", url=kept.url)
    drawn = shared()
    other, target = tmp_path / "other", tmp_path / "other/ledger.sqlite"
    fetch_draws(kept.ledger, other)
    copy_to(kept.ledger, SqliteBook(target), ACT, NOTHING, draws_of(other))
    assert same_rows(kept.ledger.book.read(), SqliteBook(target).read())
    say_moved(Ledger(other), ACT, NOTHING)
    np.testing.assert_array_equal(Door(other)().values["weighted"], drawn.values["weighted"])


def test_a_copy_goes_to_an_empty_place_only(kept, tmp_path):
    file, _ = Door(tmp_path / "one"), opened_ledger(kept.home, kept.url)
    before = file.ledger.book.read()
    with pytest.raises(BadInput, match="must be copied to an empty place"):
        copy_to(file.ledger, kept.ledger.book, ACT, NOTHING, draws_of(tmp_path))
    assert same_rows(file.ledger.book.read(), before)  # and may go on paying
    file.ledger.refuse_unready("subscribers")


def test_a_copy_that_fails_half_way_leaves_no_second_payer(postgres, tmp_path):
    """The ledger says first that it lies nowhere; whoever starts again ends with one payer all the same."""
    empty, file = PostgresShelf(postgres.new_database(), tmp_path), opened_ledger(tmp_path / "one")
    with pytest.raises(LedgerError, match="must be made by their owner"):
        copy_to(file, empty.ledger.book, ACT, NOTHING, draws_of(tmp_path))
    with pytest.raises(LedgerError, match="is a copy or was moved"):
        file.refuse_unready("subscribers")
    say_moved(file, Act("ann", "the copy was given up"), NOTHING)
    file.refuse_unready("subscribers")


def test_rows_of_version_1_are_copied_as_they_were_written(kept, tmp_path):
    from old_ledger import old_ledger

    old_ledger(tmp_path / "old.sqlite")
    records = SqliteBook(tmp_path / "old.sqlite").read()
    assert records.charges
    with kept.ledger.book.writing() as writer:
        writer.replace(records)
    assert same_rows(kept.ledger.book.read(), records)
    assert len(kept.ledger.rows()) == len(records.charges)


def test_a_restored_database_gets_its_draws_from_the_files(kept, tmp_path):
    door = Door(kept.home, url=kept.url)
    drawn = door()
    backup(kept.ledger, tmp_path / "copy.sqlite")
    kept.lose()
    restore(kept.ledger, tmp_path / "copy.sqlite", ACT, door.measurements.witnesses())
    share_draws(kept.ledger, kept.home)
    other = Door(tmp_path / "other", url=kept.url)
    np.testing.assert_array_equal(other().values["weighted"], drawn.values["weighted"])
    assert other.drawn == 0


def test_damaged_rows_of_a_database_are_for_its_owner_to_mend(kept, tmp_path):
    Door(kept.home, url=kept.url)()
    backup(kept.ledger, tmp_path / "copy.sqlite")
    kept.tamper("update entries set body = '{}' where row = 2")
    with pytest.raises(LedgerError, match=r"added and never replaced, .* let the owner"):
        restore(kept.ledger, tmp_path / "copy.sqlite", ACT, NOTHING)


def test_a_chain_made_in_a_file_has_the_hashes_it_has_in_a_database(kept, tmp_path):
    ledger = opened_ledger(tmp_path / "one")
    records = ledger.book.read()
    with kept.ledger.book.writing() as writer:
        writer.replace(records)
    assert [row_hash(row) for row in kept.ledger.book.read().entries] == [row["hash"] for row in records.entries]
    assert json.dumps(kept.ledger.accounts().records.published(9)) == json.dumps(ledger.accounts().records.published(9))


# --- addresses --------------------------------------------------------------------------------------------------------


def test_no_message_shows_a_password(postgres, tmp_path):
    secret = "pass%40word"
    addresses = [
        f"postgresql://ann:{secret}@127.0.0.1:1/ledger",
        f"postgresql://ann:{secret}@127.0.0.1:{postgres.port}/nothing",
        f"postgresql://ann:{secret}@[::1/ledger",
        f"postgresql://ann:{secret}@127.0.0.1:x/ledger",
        f"postgresql://ann@127.0.0.1:{postgres.port}/nothing?password={secret}&nonsense=1",
    ]
    for address in addresses:
        with pytest.raises((LedgerError, BadInput)) as said:
            Ledger(tmp_path, book_at(address)).accounts()
        assert not [word for word in ("pass%40word", "pass@word") if word in str(said.value)]
        assert said.value.__cause__ is None


@pytest.mark.parametrize("table", ['ledger]\nurl = "{}"', 'dagster]\nstorage = "{}"'])
@pytest.mark.parametrize("address", ["mysql://ann:secret@h/d", "ann:secret@h", "postgresql://ann:secret@h:port/d"])
def test_settings_refuse_what_is_no_address_without_repeating_it(tmp_path, table, address):
    file = tmp_path / "town.toml"
    file.write_text("[" + table.format(address))
    with pytest.raises(BadInput, match="must be the address of a PostgreSQL database") as said:
        load_settings(file)
    assert "secret" not in str(said.value)


def test_another_kind_of_address_is_no_file():
    with pytest.raises(BadInput, match="got another kind of address") as said:
        book_at("postgres://ann:secret@h/d")
    assert "secret" not in str(said.value)


def test_settings_do_not_show_an_address(tmp_path):
    file = tmp_path / "town.toml"
    file.write_text('[ledger]\nurl = "postgresql://ann:secret@h/d"\n[dagster]\nstorage = "postgresql://b:secret@h/e"')
    settings = load_settings(file)
    assert settings.ledger.url.get_secret_value() == "postgresql://ann:secret@h/d"
    assert "secret@" not in repr(settings) + str(settings.model_dump()) + settings.model_dump_json()
    assert settings.without_databases().ledger.url is settings.without_databases().dagster.storage is None


def test_without_the_extra_it_is_said_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "resources.ledger.postgres", None)
    with pytest.raises(BadInput, match=r"needs psycopg, .* pip install 'density-assets\[postgres\]'"):
        book_at("postgresql://h/d")


def test_by_default_the_ledger_is_a_file_of_the_home(tmp_path):
    assert isinstance(book_of(Settings(), tmp_path), SqliteBook)
