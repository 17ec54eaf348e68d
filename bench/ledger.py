"""What it costs to add up a ledger, by how many weeks it holds: two charges a week, as the default scheme makes them.

The answer wanted is that a ledger of ten years is added up in well under a second, whatever is asked of it.
"""

from datetime import date, timedelta
from functools import cache

from bench.measure import cost
from density_assets.privacy.charges import Budget, Row, population_name, refuse_over_budget
from density_assets.privacy.release import Charge
from density_assets.publication.spending import budget_report, spending, year_so_far
from density_assets.schemes import SCHEMES
from density_assets.settings import Settings

HELD = (52, 520)
REPETITIONS = 3
FIRST = date(2007, 1, 1)
SETTINGS = Settings()
BUDGET = Budget.of(SETTINGS)


def compare() -> None:
    """Print one Markdown table: the least processor time of each question by weeks held, and their ratio."""
    questions = {
        "`budget`": budget,
        "spending of all years, as on the audit page": spend,
        "the ledger's table": table,
        "whether one more release fits": charge,
    }
    print(f"| question | {HELD[0]} weeks | {HELD[1]} weeks | ratio |")
    print("|---|--:|--:|--:|")
    for name, question in questions.items():
        few, many = (min(cost(question, weeks).processor for _ in range(REPETITIONS)) for weeks in HELD)
        print(f"| {name} | {few:.3f} s | {many:.3f} s | {many / few:.1f} |")


def budget(weeks: int) -> None:
    """What `density budget` says."""
    budget_report(SETTINGS, BUDGET, rows(weeks), FIRST, 52)


def spend(weeks: int) -> None:
    """Every week alone, in its year, in 52 weeks and in all."""
    spending(rows(weeks), population_name(SETTINGS), BUDGET.delta)


def table(weeks: int) -> None:
    """What each year had cost at every row."""
    year_so_far(rows(weeks), BUDGET.delta)


def charge(weeks: int) -> None:
    """The charges of a week that is there already, so that a revision of it is asked for."""
    refuse_over_budget(rows(weeks), [row.charge for row in rows(weeks)[:2]], BUDGET)


@cache
def rows(weeks: int) -> list[Row]:
    """A ledger of so many weeks in a row."""
    plan, held = SCHEMES[SETTINGS.scheme.name].plan(SETTINGS), []
    for number in range(weeks):
        week = (FIRST + timedelta(weeks=number)).isoformat()
        for door, events in plan.items():
            paid = Charge(population_name(SETTINGS), "embedded", week, 1, 0.3, 2e-6, door, f"{week} {door}", events)
            held.append(Row(len(held) + 1, "2026-01-01", paid, f"{len(held)}", drawn=True))
    return held
