"""Paying from a ledger, in a file or a database: once for each draw, and within the budget."""

import subprocess
import sys
from datetime import date, timedelta
from pathlib import Path

import pytest
from charges import EVENT, charge, paid, weeks
from ledgers import BUDGET, opened_ledger, order

from density_assets.errors import BadInput
from density_assets.privacy.acts import Act
from density_assets.privacy.charges import Budget, BudgetRefused
from density_assets.privacy.composition import compose
from density_assets.privacy.events import Gaussian
from resources.ledger.book import LedgerError
from resources.ledger.witnesses import NOTHING


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


def test_a_charge_pays_for_the_events_it_names_and_no_others(ledger):
    """Were a plan to change between two doors, by an upgrade say, the old charge would be too small."""
    paid(ledger, charge(), budget=Budget(50.0, 1e-5))
    louder = (Gaussian("series", 1.0, 1.0),)
    with pytest.raises(LedgerError, match="no unused charge"):
        ledger.begin_draw(charge().measurement, louder)
    paid(ledger, charge(events=louder))
    assert len(ledger.rows()) == 2
    ledger.begin_draw(charge().measurement, louder)


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
    support = str(Path(__file__).parents[3] / "support")
    started = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path), name, support, shelf.url]) for name in "abc"
    ]
    assert [process.wait() for process in started] == [0, 0, 0]
    rows = ledger.rows()
    assert len(rows) == 30
    assert all(row.drawn and row.digest for row in rows)
