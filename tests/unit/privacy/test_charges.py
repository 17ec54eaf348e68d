"""The budget is kept in every 52 consecutive weeks and every calendar year, in whichever order weeks are released."""

import math
from datetime import date, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from density_assets.privacy.charges import (
    Budget,
    BudgetRefused,
    Row,
    budget_in_force,
    budget_to_show,
    charged_events,
    events_of,
    price,
    refuse_over_budget,
    weekly_costs,
    worst_rolling_year,
)
from density_assets.privacy.composition import compose
from density_assets.privacy.events import Event, Gaussian, LaplaceVector
from density_assets.privacy.periods import calendar_year, ending_with, rolling_years
from density_assets.privacy.release import Charge
from density_assets.settings import Settings

BUDGET = Budget(3.0, 1e-5)
# Four weeks of it cost 2.925 together, eight 4.35.
BIG = Gaussian("series", 1_000.0, 1_000 * 0.99463 / math.sqrt(8))
SMALL = Gaussian("series", 1_700.0, 100.0)
MONDAY = date(2007, 11, 26)  # the sixth Monday before the new year's first


def charge(week: date, event: Event = BIG, population: str = "subscribers", revision: int = 1) -> Charge:
    return Charge(
        population=population,
        city="town",
        week=week.isoformat(),
        revision=revision,
        epsilon=0.3,
        delta=2e-6,
        door="noisy_series",
        measurement=f"{week} {revision}",
        events=(event,),
    )


class Book:
    """A ledger without a file."""

    def __init__(self, budget: Budget = BUDGET) -> None:
        self.rows: list[Row] = []
        self.budget = budget

    def pay(self, *charges: Charge) -> None:
        refuse_over_budget(self.rows, charges, self.budget)
        for due in charges:
            number = len(self.rows) + 1
            self.rows.append(Row(number, "2026-01-01", due, f"hash{number}", drawn=True))


def weeks(count: int, first: date = MONDAY) -> list[date]:
    return [first + timedelta(weeks=number) for number in range(count)]


def test_eight_weeks_across_new_year_are_one_year():
    """Four of each calendar year are within its budget; together they cost 4.35 within two months."""
    assert compose([BIG] * 4).epsilon(1e-5) == pytest.approx(2.925, abs=0.001)
    assert compose([BIG] * 8).epsilon(1e-5) == pytest.approx(4.35, abs=0.001)
    book = Book()
    across = weeks(8, date(2007, 12, 10))
    assert [week.year for week in across] == [2007] * 4 + [2008] * 4
    for week in across[:4]:
        book.pay(charge(week))
    for week in across[4:]:
        with pytest.raises(BudgetRefused, match="52 weeks from"):
            book.pay(charge(week))
    assert len(book.rows) == 4


def test_weeks_that_come_later_count_when_an_earlier_one_is_released():
    book = Book()
    for week in weeks(4, date(2008, 1, 7)):
        book.pay(charge(week))
    with pytest.raises(BudgetRefused):
        book.pay(charge(date(2007, 12, 31)))
    with pytest.raises(BudgetRefused):
        book.pay(charge(date(2007, 2, 5)))  # with the four of January it makes 52 weeks
    book.pay(charge(date(2007, 1, 8)))


def test_a_calendar_year_of_53_mondays_is_kept_as_well():
    week = compose([SMALL])
    between = ((week * 52).epsilon(1e-5) + (week * 53).epsilon(1e-5)) / 2
    book = Book(Budget(between, 1e-5))
    every = weeks(60, date(2007, 1, 1))
    for monday in every[:52]:
        book.pay(charge(monday, SMALL))
    with pytest.raises(BudgetRefused, match="calendar year 2007 from 2007-01-01 to 2007-12-31"):
        book.pay(charge(every[52], SMALL))
    for monday in every[53:]:
        book.pay(charge(monday, SMALL))  # the next year, and 51 of the 52 weeks before


def test_a_refusal_says_where_how_much_and_that_nothing_happened():
    book = Book()
    for week in weeks(3):
        book.pay(charge(week))
    with pytest.raises(BudgetRefused) as refused:
        book.pay(charge(weeks(4)[-1]), charge(weeks(4)[-1]))
    message = str(refused.value)
    assert "the releases of the calendar year 2007 from 2007-01-01 to 2007-12-31 for subscribers" in message
    three, two, five = (compose([BIG] * count).epsilon(1e-5) for count in (3, 2, 5))
    assert f"may cost epsilon 3 at delta 1e-05 together: spent {three:.3f}," in message
    assert f"this release costs {two:.3f} alone and would make {five:.3f}." in message
    assert f"Left are {3 - three:.3f}; an unspent budget is enough for 2 such releases." in message
    assert "Nothing was charged and nothing drawn" in message
    assert len(book.rows) == 3


def test_a_release_that_no_budget_would_pay_for():
    with pytest.raises(
        BudgetRefused, match=r"spent 0\.000, .* Left are 1\.000; .* is enough for 0 such releases\. Nothing was charged"
    ):
        Book(Budget(1.0, 1e-5)).pay(charge(MONDAY))


def test_populations_have_budgets_of_their_own():
    book = Book()
    for week in weeks(4):
        book.pay(charge(week))
    book.pay(charge(weeks(5)[-1], population="others"))
    assert list(weekly_costs(book.rows, "others")) == [weeks(5)[-1]]


def test_charges_of_several_weeks_are_all_or_none():
    book = Book()
    book.pay(*(charge(week) for week in weeks(4)))
    with pytest.raises(BudgetRefused, match="for others"):
        book.pay(*(charge(week, population="others") for week in weeks(5)))
    assert len(book.rows) == 4


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 160), max_size=40), st.sampled_from([BIG, LaplaceVector("v", 1.0, 0.2)]))
def test_no_order_of_releases_passes_the_budget_anywhere(numbers, event):
    book = Book()
    for number in numbers:
        try:
            book.pay(charge(MONDAY + timedelta(weeks=number), event))
        except BudgetRefused:
            continue
    costs = weekly_costs(book.rows, "subscribers")
    if costs:
        periods = [*rolling_years(min(costs), max(costs)), *map(calendar_year, costs)]
        assert max(period.cost(costs).epsilon(1e-5) for period in periods) <= 3.0


def test_events_of_years_and_periods():
    book = Book(Budget(30.0, 1e-5))
    for week in weeks(8):
        book.pay(charge(week))
    book.pay(charge(MONDAY, SMALL, revision=2))
    assert len(charged_events(book.rows, "subscribers", "2007")) == 7
    assert len(charged_events(book.rows, "subscribers", "2008")) == 2
    assert len(events_of(book.rows, "subscribers", ending_with(weeks(2)[-1]))) == 3
    assert len(events_of(book.rows, "subscribers")) == 9
    assert events_of(book.rows, "others") == []
    assert weekly_costs(book.rows, "subscribers")[MONDAY].rho == pytest.approx(BIG.rho + SMALL.rho)
    assert worst_rolling_year(book.rows, "subscribers", MONDAY, 1e-5) == ending_with(weeks(8)[-1])


def test_the_price_says_release_52_weeks_year_and_all():
    book = Book(Budget(30.0, 1e-5))
    every = [*weeks(8), date(2012, 1, 2)]
    for week in every:
        book.pay(charge(week))
    said = price(book.rows, [charge(weeks(8)[-1])], BUDGET)
    one, two, nine = (compose([BIG] * count).epsilon(1e-5) for count in (1, 2, 9))
    assert said == (
        f"revision 1 of the week of 2008-01-14 costs epsilon {one:.3f} alone, at delta 1e-05; subscribers: 4.350 of 3 "
        "are spent in the 52 weeks from 2007-01-22 to 2008-01-14, -1.350 are left; "
        f"{two:.3f} are spent in 2008, {nine:.3f} in all 9 weeks"
    )


def test_the_price_of_the_first_week_is_that_of_one_week():
    book = Book(Budget(30.0, 1e-5))
    book.pay(charge(MONDAY))
    assert price(book.rows, [charge(MONDAY)], BUDGET).endswith(f", {compose([BIG]).epsilon(1e-5):.3f} in 1 week")


# --- the budget in force ----------------------------------------------------------------------------------------------


def stating(**budget: float) -> Settings:
    """Settings in which a person wrote these fields of the budget, and no other."""
    return Settings().with_privacy(**budget)


def test_settings_lower_what_is_recorded_field_by_field():
    recorded = Budget(3.0, 1e-8)
    assert budget_in_force(None, stating()) == Budget(3.0, 1e-7)
    assert budget_in_force(recorded, stating()) == recorded
    assert budget_in_force(recorded, stating(budget_epsilon=1.0)) == Budget(1.0, 1e-8)  # the default delta is larger
    assert budget_in_force(recorded, stating(budget_delta=1e-9)) == Budget(3.0, 1e-9)
    assert budget_in_force(recorded, stating(epsilon=0.1)) == recorded


def test_settings_do_not_raise_what_is_recorded():
    recorded = Budget(3.0, 1e-8)
    for settings_ in (stating(budget_epsilon=3.1), stating(budget_delta=1e-7, budget_epsilon=1.0)):
        with pytest.raises(BudgetRefused, match="raising a budget is a recorded act"):
            budget_in_force(recorded, settings_)
        shown, why = budget_to_show(recorded, settings_)
        assert shown == recorded
        assert "raising a budget" in why
    assert budget_to_show(recorded, stating(budget_epsilon=1.0)) == (Budget(1.0, 1e-8), "")
