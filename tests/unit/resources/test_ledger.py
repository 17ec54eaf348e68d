"""The ledger: paid before drawn, never over budget, and any tampering is noticed."""

import sqlite3
import subprocess
import sys
from dataclasses import replace

import pytest

from density_assets.privacy.accounting import rdp_bound
from density_assets.privacy.charges import Budget, BudgetRefused
from density_assets.privacy.events import Gaussian
from density_assets.privacy.release import Charge
from resources.ledger.ledger import Ledger, LedgerError

BUDGET = Budget(3.0, 1e-5)
EVENT = Gaussian("series", 17.0, 1.0)  # about epsilon 0.26 at delta 2e-6
NONE = frozenset()


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


def weeks(n: int, year: int = 2007) -> list[str]:
    return [f"{year}-w{i:02}" for i in range(n)]


@pytest.fixture
def ledger(tmp_path):
    return Ledger(tmp_path)


def paid(ledger: Ledger, *charges: Charge, budget: Budget = BUDGET) -> None:
    ledger.reserve(charges, budget, NONE)


def drawn(ledger: Ledger, *charges: Charge) -> None:
    paid(ledger, *charges)
    for made in charges:
        ledger.begin_draw(made.measurement, made.events)


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


def test_nothing_is_drawn_that_is_not_paid(ledger):
    with pytest.raises(LedgerError, match="must be paid for"):
        ledger.begin_draw("anything", (EVENT,))


def test_weeks_add_up_by_renyi_divergence_and_not_by_summing(ledger):
    for week in weeks(50):
        paid(ledger, charge(week))
    assert rdp_bound([EVENT] * 50, BUDGET.delta).epsilon < BUDGET.epsilon < 50 * 0.26


def test_a_refusal_says_spent_asked_and_left_and_charges_nothing(ledger):
    tight = Budget(0.5, 1e-5)
    for week in weeks(3):
        paid(ledger, charge(week), budget=tight)
    with pytest.raises(BudgetRefused) as refused:
        for week in weeks(20)[3:]:
            paid(ledger, charge(week, door="a"), charge(week, door="b"), budget=tight)
    before = len(ledger.rows())
    message = str(refused.value)
    assert "may cost epsilon 0.5 at delta 1e-05 together: spent 0." in message
    assert "this release costs" in message
    assert "enough for 0 such releases" in message
    assert before == 3 or before % 2 == 1  # both doors of a release or none
    assert ledger.verify() == before


def test_a_budget_smaller_than_one_release_refuses_the_first(ledger):
    with pytest.raises(BudgetRefused, match=r"spent 0\.000"):
        paid(ledger, charge(), budget=Budget(0.01, 1e-5))
    assert ledger.rows() == []


def test_budgets_are_per_population_and_calendar_year(ledger):
    tight = Budget(0.3, 1e-5)
    paid(ledger, charge("2007-09-10"), budget=tight)
    with pytest.raises(BudgetRefused):
        paid(ledger, charge("2007-09-17"), budget=tight)
    paid(ledger, charge("2008-01-07"), budget=tight)
    paid(ledger, charge("2007-09-17", population="others"), budget=tight)
    with pytest.raises(BudgetRefused):  # another city, the same people
        paid(ledger, charge("2007-09-17", city="lyon"), budget=tight)


@pytest.mark.parametrize("statement", ["update charges set epsilon = 0.01", "delete from charges", "delete from draws"])
def test_rows_cannot_be_changed_or_removed(ledger, statement):
    paid(ledger, charge())
    ledger.begin_draw(charge().measurement, (EVENT,))
    with sqlite3.connect(ledger.file) as connection, pytest.raises(sqlite3.IntegrityError, match="append-only"):
        connection.execute(statement)


@pytest.mark.parametrize(
    "statement",
    [
        "update charges set events = '[]' where row = 2",
        "update charges set week = '2007-01-01' where row = 1",
        "delete from charges where row = 2",
        "delete from charges where row = 1",
        "update draws set charge = (select hash from charges where row = 3) where row = 1",
        "insert into charges select 9, at, population, unit, city, week, revision, door, measurement, epsilon, delta, "
        "events, previous, 'forged' from charges where row = 1",
    ],
)
def test_tampering_past_the_triggers_is_noticed_and_stops_everything(ledger, statement):
    for week in weeks(3):
        paid(ledger, charge(week))
    ledger.begin_draw(charge("2007-w00").measurement, (EVENT,))
    with sqlite3.connect(ledger.file) as connection:
        for trigger in ("charges_no_update", "charges_no_delete", "draws_no_update", "draws_no_delete"):
            connection.execute(f"drop trigger {trigger}")
        connection.execute(statement)
    with pytest.raises(LedgerError, match="not what was written"):
        ledger.verify()
    with pytest.raises(LedgerError, match="Nothing may be drawn"):
        paid(ledger, charge("2007-w09"))


def test_a_cut_tail_and_a_lost_file_are_noticed_by_what_measurements_know(ledger):
    for week in weeks(2):
        drawn(ledger, charge(week))
    known = frozenset(row.hash for row in ledger.rows())
    with sqlite3.connect(ledger.file) as connection:
        connection.execute("drop trigger charges_no_delete")
        connection.execute("delete from charges where row = 2")
    assert ledger.verify() == 1  # the chain alone cannot tell
    with pytest.raises(LedgerError, match=r"lacks 1 .* cut, lost or replaced by an older copy"):
        ledger.verify(known)
    with pytest.raises(LedgerError, match="restore a newer backup"):
        ledger.reserve([charge("2007-w05")], BUDGET, known)
    for file in ledger.file.parent.glob("ledger.sqlite*"):
        file.unlink()
    with pytest.raises(LedgerError, match="lacks 2"):
        ledger.verify(known)
    with pytest.raises(LedgerError, match="lacks 2"):
        ledger.reserve([charge("2007-w05")], BUDGET, known)


def test_backup_and_restore(ledger, tmp_path):
    drawn(ledger, charge("2007-w00"))
    ledger.backup(tmp_path / "copies" / "one.sqlite")
    drawn(ledger, charge("2007-w01"))
    ledger.backup(tmp_path / "copies" / "two.sqlite")
    known = frozenset(row.hash for row in ledger.rows())
    with pytest.raises(LedgerError, match="lacks 1"):  # an old copy
        ledger.restore(tmp_path / "copies" / "one.sqlite", known)
    with pytest.raises(LedgerError, match="must hold everything the present one does"):
        ledger.restore(tmp_path / "copies" / "one.sqlite", NONE)
    for file in tmp_path.glob("ledger.sqlite*"):
        file.unlink()
    ledger.restore(tmp_path / "copies" / "two.sqlite", known)
    assert ledger.verify(known) == 2
    paid(ledger, charge("2007-w02"))
    assert ledger.verify(known) == 3


def test_a_copy_that_forgot_a_draw_is_refused(ledger, tmp_path):
    """Put back, it would pay for a second draw with the charge of the first."""
    paid(ledger, charge())
    ledger.backup(tmp_path / "copy.sqlite")
    ledger.begin_draw(charge().measurement, (EVENT,))
    with pytest.raises(LedgerError, match="lacks 1 draws: keep the present one"):
        ledger.restore(tmp_path / "copy.sqlite", NONE)


def test_a_damaged_ledger_can_be_mended_from_a_copy(ledger, tmp_path):
    drawn(ledger, charge("2007-w00"), charge("2007-w01"))
    ledger.backup(tmp_path / "copy.sqlite")
    with sqlite3.connect(ledger.file) as connection:
        connection.execute("drop trigger charges_no_update")
        connection.execute("update charges set events = '[]' where row = 2")
    ledger.restore(tmp_path / "copy.sqlite", NONE)
    assert ledger.verify() == 2
    with sqlite3.connect(ledger.file) as connection, pytest.raises(sqlite3.IntegrityError, match="append-only"):
        connection.execute("delete from charges")


def test_a_charge_pays_for_the_events_it_names_and_no_others(ledger):
    """Were a plan to change between two doors, by an upgrade say, the old charge would be too small."""
    paid(ledger, charge())
    louder = (Gaussian("series", 1.0, 1.0),)
    with pytest.raises(LedgerError, match="no unused charge"):
        ledger.begin_draw(charge().measurement, louder)
    paid(ledger, charge(events=louder), budget=Budget(50.0, 1e-5))
    assert len(ledger.rows()) == 2
    ledger.begin_draw(charge().measurement, louder)


def test_there_is_nothing_to_back_up_before_the_first_release(ledger, tmp_path):
    with pytest.raises(LedgerError, match="no ledger to back up yet"):
        ledger.backup(tmp_path / "copy.sqlite")


def test_many_processes_charge_one_chain(ledger, tmp_path):
    code = """
import sys; from pathlib import Path
from density_assets.privacy.events import Gaussian
from density_assets.privacy.charges import Budget
from density_assets.privacy.release import Charge
from resources.ledger.ledger import Ledger
ledger = Ledger(Path(sys.argv[1]))
for i in range(10):
    week = f"2007-{sys.argv[2]}-{i}"
    charge = Charge(population="p", city="c", week=week, revision=1, epsilon=0.3, delta=2e-6, door="d",
                    measurement=week, events=(Gaussian("q", 100.0, 1.0),))
    ledger.reserve([charge], Budget(3, 1e-5), frozenset())
    ledger.begin_draw(week, charge.events)
"""
    started = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path), name]) for name in "abc"]
    assert [process.wait() for process in started] == [0, 0, 0]
    assert ledger.verify() == 30
    assert all(row.drawn for row in ledger.rows())
