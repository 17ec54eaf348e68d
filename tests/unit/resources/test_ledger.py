"""The ledger: opened once, paid before drawn, never over budget, and any tampering is noticed."""

import json
import os
import random
import sqlite3
import subprocess
import sys
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
from ledgers import ACT, BUDGET, KEY, acknowledge_input, opened_ledger, order
from shelves import SqliteShelf

from density_assets.city_settings import CitySettings
from density_assets.errors import BadInput
from density_assets.privacy.acknowledged import acknowledgement
from density_assets.privacy.acts import Act
from density_assets.privacy.charges import Budget, BudgetRefused
from density_assets.privacy.composition import compose
from density_assets.privacy.events import Gaussian
from density_assets.privacy.release import Charge
from density_assets.settings import Settings
from resources.ledger.book import LedgerError
from resources.ledger.ledger import Ledger, medium_digest
from resources.ledger.opening import (
    Found,
    backup,
    open_by_itself,
    open_for_people,
    restore,
    say_moved,
)
from resources.ledger.sqlite import SqliteBook
from resources.ledger.witnesses import NOTHING, Named, Witnesses

EVENT = Gaussian("series", 17.0, 1.0)  # about epsilon 0.26 at delta 2e-6
NOBODY = "simulated people of town"


def charge(week="2007-09-10", door="noisy_series", **changed) -> Charge:
    base = Charge(
        population="subscribers",
        city="paris",
        week=week,
        revision=1,
        epsilon=0.3,
        delta=2e-6,
        door=door,
        measurement="",
        events=(EVENT,),
    )
    made = replace(base, **changed)
    return replace(made, measurement=f"{made.population} {made.city} {made.week} {made.door}")


def monday(number: int) -> str:
    return (date(2007, 1, 8) + timedelta(weeks=number)).isoformat()


def weeks(n: int) -> list[str]:
    return [monday(number) for number in range(n)]


@pytest.fixture
def ledger(shelf):
    return opened_ledger(shelf.home, shelf.url)


@pytest.fixture
def file_ledger(tmp_path):
    """Of what is about the file."""
    return opened_ledger(tmp_path)


def paid(ledger: Ledger, *charges: Charge, budget: Budget = BUDGET) -> None:
    ledger.reserve(charges, order(budget), NOTHING)


def drawn(ledger: Ledger, *charges: Charge) -> None:
    paid(ledger, *charges)
    for made in charges:
        hashed = ledger.begin_draw(made.measurement, made.events)
        ledger.finish_draw(hashed, made.measurement, f"digest of {made.measurement}")


def known(ledger: Ledger) -> Witnesses:
    """What stored draws would say."""
    return Witnesses(drawn=tuple(Named(row.hash, "a draw") for row in ledger.rows() if row.drawn))


# --- opening ----------------------------------------------------------------------------------------------------------


def test_for_real_people_nothing_is_charged_before_somebody_opened_the_ledger(tmp_path):
    ledger = Ledger(tmp_path)
    with pytest.raises(LedgerError, match=r"opened by a person .* does not exist: `density ledger init --by NAME"):
        paid(ledger, charge())
    open_by_itself(ledger, NOBODY, lambda: KEY, Found([], NOTHING))
    with pytest.raises(LedgerError, match="opened by a person"):
        paid(ledger, charge())
    open_for_people(ledger, ACT, lambda: KEY, Found([], NOTHING), adopt=False)
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


def test_a_ledger_is_opened_once_and_has_an_identity_of_its_own(tmp_path):
    one, other = opened_ledger(tmp_path / "one"), opened_ledger(tmp_path / "other")
    assert one.accounts().identity != other.accounts().identity
    with pytest.raises(BadInput, match="opened once"):
        open_for_people(one, ACT, lambda: KEY, Found([], NOTHING), adopt=False)


def test_for_simulated_people_it_opens_by_itself_and_for_nobody_else(tmp_path):
    ledger = Ledger(tmp_path)
    assert not open_by_itself(ledger, "subscribers", lambda: KEY, Found([], NOTHING))
    assert not ledger.accounts().exists
    assert open_by_itself(ledger, NOBODY, lambda: KEY, Found([], NOTHING))
    assert not open_by_itself(ledger, NOBODY, lambda: KEY, Found([], NOTHING))
    paid(ledger, charge(population=NOBODY))


def test_a_new_ledger_beside_anything_that_was_released_is_refused(tmp_path):
    for witnesses in (
        Witnesses(drawn=(Named("a" * 64, "a draw"),)),
        Witnesses(hashes=(Named("a" * 64, "a chain"),)),
        Witnesses(releases=(Named("a" * 16, "a table"),)),
        Witnesses(ledgers=(Named("a" * 32, "a statement"),)),
    ):
        with pytest.raises(LedgerError, match=r"lacks 1 .* named by a .* restore a newer backup"):
            open_by_itself(Ledger(tmp_path), NOBODY, lambda: KEY, Found([], witnesses))
        with pytest.raises(LedgerError, match="lacks 1"):
            open_for_people(Ledger(tmp_path), ACT, lambda: KEY, Found([], witnesses), adopt=True)
    assert not Ledger(tmp_path).accounts().exists


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


def test_a_ledger_whose_place_was_its_number_alone_still_opens(tmp_path, monkeypatch):
    monkeypatch.setattr(SqliteBook, "medium", SqliteBook.earlier_medium)
    ledger = opened_ledger(tmp_path)
    monkeypatch.undo()
    ledger.refuse_unready("subscribers")
    say_moved(ledger, ACT, NOTHING)  # says it as it is said today
    ledger.refuse_unready("subscribers")
    assert ledger.accounts().medium == medium_digest(ledger.accounts().identity, ledger.book)


def test_a_ledger_that_is_moved_on_its_disk_goes_on(file_ledger, tmp_path):
    ledger = file_ledger
    paid(ledger, charge(monday(0)))
    ledger.file.rename(tmp_path / "elsewhere.sqlite")
    (tmp_path / "moved").mkdir()
    (tmp_path / "elsewhere.sqlite").rename(tmp_path / "moved" / "ledger.sqlite")
    paid(Ledger(tmp_path / "moved"), charge(monday(1)))


# --- paying -----------------------------------------------------------------------------------------------------------


def test_a_release_is_charged_once_however_often_it_is_reserved(ledger):
    doors = [charge(door="noisy_totals"), charge(door="noisy_series")]
    for _ in range(3):
        paid(ledger, *doors)
    assert [row.charge for row in ledger.rows()] == doors
    assert not any(row.drawn for row in ledger.rows())


def test_a_charge_pays_for_one_draw_only(ledger):
    paid(ledger, charge())
    first = ledger.begin_draw(charge().measurement, (EVENT,))
    with pytest.raises(LedgerError, match="has no unused charge"):
        ledger.begin_draw(charge().measurement, (EVENT,))
    paid(ledger, charge())
    second = ledger.begin_draw(charge().measurement, (EVENT,))
    assert first != second
    assert [row.hash for row in ledger.rows()] == [first, second]


def test_equal_charges_of_two_ledgers_differ(tmp_path):
    """Without a nonce, a ledger that was deleted and made again would have the hashes it had before."""
    hashes = set()
    for name in "ab":
        ledger = opened_ledger(tmp_path / name)
        paid(ledger, charge())
        hashes.add((ledger.rows()[0].nonce, ledger.rows()[0].hash))
    assert len(hashes) == len({nonce for nonce, _ in hashes}) == 2


def test_nothing_is_drawn_that_is_not_paid(ledger):
    with pytest.raises(LedgerError, match="must be paid for"):
        ledger.begin_draw("anything", (EVENT,))


def test_a_draw_is_finished_once_and_only_where_it_was_begun(ledger):
    paid(ledger, charge())
    (row,) = ledger.rows()
    with pytest.raises(ValueError, match="not begun"):
        ledger.finish_draw(row.hash, charge().measurement, "d")
    hashed = ledger.begin_draw(charge().measurement, (EVENT,))
    with pytest.raises(ValueError, match="not begun, or was made before"):
        ledger.finish_draw(hashed, "another measurement", "d")
    ledger.finish_draw(hashed, charge().measurement, "d")
    with pytest.raises(ValueError, match="was made before"):
        ledger.finish_draw(hashed, charge().measurement, "e")
    assert [row.digest for row in ledger.rows()] == ["d"]


def test_a_charge_of_real_people_says_who_and_why(ledger):
    with pytest.raises(BadInput, match="must say who and why"):
        ledger.reserve([charge()], order(act=None), NOTHING)
    assert ledger.rows() == []
    ledger.reserve([charge()], order(act=Act("ann", "first week", "schedule every_monday")), NOTHING)
    (row,) = ledger.rows()
    assert (row.by, row.reason, row.how) == ("ann", "first week", "schedule every_monday")


def test_weeks_add_up_in_squares_and_not_by_summing(ledger):
    for week in weeks(50):
        paid(ledger, charge(week))
    assert compose([EVENT] * 50).epsilon(BUDGET.delta) < BUDGET.epsilon < 50 * 0.26


def test_a_refusal_says_spent_asked_and_left_and_charges_nothing(ledger):
    tight = Budget(0.5, 1e-5)
    for week in weeks(3):
        paid(ledger, charge(week), budget=tight)
    with pytest.raises(BudgetRefused) as refused:
        for week in weeks(20)[3:]:
            paid(ledger, charge(week, door="a"), charge(week, door="b"))
    assert len(ledger.rows()) % 2 == 1  # both doors of a release or none
    message = str(refused.value)
    assert "epsilon 0.5 at delta 1e-05" in message
    assert "spent 0." in message
    assert "Nothing was charged and nothing drawn" in message


def test_eight_weeks_across_new_year_are_refused(ledger):
    """By calendar year they once passed a budget of 3.0 and cost 4.35 together."""
    loud = (Gaussian("series", 42.5, 15.0),)  # four of them cost 2.95, eight 4.35
    across = [(date(2007, 12, 10) + timedelta(weeks=n)).isoformat() for n in range(8)]
    with pytest.raises(BudgetRefused, match="52"):
        for week in across:
            paid(ledger, charge(week, events=loud))
    assert [row.charge.week[:4] for row in ledger.rows()] == ["2007"] * 4  # the fifth has a calendar year for itself


def test_a_budget_smaller_than_one_release_refuses_the_first_and_is_not_recorded(ledger):
    with pytest.raises(BudgetRefused, match=r"spent 0\.000"):
        paid(ledger, charge(), budget=Budget(0.01, 1e-5))
    assert ledger.rows() == []
    assert ledger.accounts().budget("subscribers") is None


def test_budgets_are_per_population_and_year(ledger):
    tight = Budget(0.25, 1e-5)
    paid(ledger, charge("2007-09-10"), budget=tight)
    with pytest.raises(BudgetRefused):
        paid(ledger, charge("2007-09-17"), budget=tight)
    with pytest.raises(BudgetRefused):  # another calendar year, but less than 52 weeks later
        paid(ledger, charge("2008-09-01"), budget=tight)
    paid(ledger, charge("2008-09-08"), budget=tight)
    paid(ledger, charge("2007-09-17", population="others"), budget=tight)
    with pytest.raises(BudgetRefused):  # another city, the same people
        paid(ledger, charge("2007-09-17", city="lyon"), budget=tight)


def test_the_budget_is_what_was_recorded_whatever_settings_say(ledger):
    """Budgets 3 and 8 in one home once took a year to 3.66 without a trace."""
    tight, wide = Budget(0.25, 1e-5), Budget(8.0, 1e-5)
    paid(ledger, charge("2007-09-10"), budget=tight)
    with pytest.raises(BudgetRefused, match=r"0\.25 at delta"):
        paid(ledger, charge("2007-09-17"), budget=wide)
    with pytest.raises(BudgetRefused, match="raising a budget is a recorded act"):
        ledger.reserve([charge("2007-09-17")], order(wide, stated=True), NOTHING)
    ledger.give_budget("subscribers", wide, Act("ann", "a study of traffic"), NOTHING)
    paid(ledger, charge("2007-09-17"), budget=tight)
    given = [(entry.body["epsilon"], entry.body["by"]) for entry in ledger.accounts().all_of("budget")]
    assert given == [(0.25, "tester"), (8.0, "ann")]
    with pytest.raises(BudgetRefused, match=r"0\.31 at delta"):  # settings may ask for less
        ledger.reserve([charge("2007-09-24")], order(Budget(0.31, 1e-5), stated=True), NOTHING)


# --- tampering --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("statement", ["update entries set body = '{}'", "delete from entries"])
def test_rows_cannot_be_changed_or_removed(ledger, shelf, statement):
    drawn(ledger, charge())
    assert "append-only" in shelf.refusal(statement)


@pytest.mark.parametrize(
    "statement",
    [
        "update entries set body = replace(body, '17.0', '17000.0') where kind = 'charge'",
        "update entries set at = '2007-01-01' where row = 2",
        "update entries set version = 1 where row = 3",
        "delete from entries where row = 4",
        "delete from entries where row = 1",
        "update entries set kind = 'moved' where kind = 'begun'",
        "insert into entries select 99, version, kind, at, body, 'else', 'forged' from entries where row = 4",
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


# --- copies -----------------------------------------------------------------------------------------------------------


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
    chain.write_text(json.dumps(accounts.records.published(len(accounts.entries))))
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


def test_a_charge_pays_for_the_events_it_names_and_no_others(ledger):
    """Were a plan to change between two doors, by an upgrade say, the old charge would be too small."""
    paid(ledger, charge(), budget=Budget(50.0, 1e-5))
    louder = (Gaussian("series", 1.0, 1.0),)
    with pytest.raises(LedgerError, match="no unused charge"):
        ledger.begin_draw(charge().measurement, louder)
    paid(ledger, charge(events=louder))
    assert len(ledger.rows()) == 2
    ledger.begin_draw(charge().measurement, louder)


def test_there_is_nothing_to_back_up_before_it_is_opened(tmp_path):
    with pytest.raises(LedgerError, match=r"there is no ledger at .*set DENSITY_HOME"):
        backup(Ledger(tmp_path), tmp_path / "copy.sqlite")


def test_many_processes_charge_one_chain(ledger, shelf, tmp_path):
    code = """
import sys; from datetime import date, timedelta; from pathlib import Path
sys.path.insert(0, sys.argv[3])
from ledgers import opened_ledger, order
from density_assets.privacy.events import Gaussian
from density_assets.privacy.release import Charge
from resources.ledger.witnesses import NOTHING
ledger = opened_ledger(Path(sys.argv[1]), sys.argv[4])
for i in range(10):
    week = str(date(2007, 1, 8) + timedelta(weeks=10 * "abc".index(sys.argv[2]) + i))
    charge = Charge(population="p", city="c", week=week, revision=1, epsilon=0.3, delta=2e-6, door="d",
                    measurement=week, events=(Gaussian("q", 100.0, 1.0),))
    ledger.reserve([charge], order(), NOTHING)
    ledger.finish_draw(ledger.begin_draw(week, charge.events), week, "digest")
"""
    support = str(Path(__file__).parents[2] / "support")
    started = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path), name, support, shelf.url]) for name in "abc"
    ]
    assert [process.wait() for process in started] == [0, 0, 0]
    rows = ledger.rows()
    assert len(rows) == 30
    assert all(row.drawn and row.digest for row in rows)
