"""Checks of the ledger: it is whole, and there is something left. Both depend on settings and charges only."""

import dagster as dg

from density_assets.graph.checks.outcomes import check, open_answer
from density_assets.graph.step import Step
from density_assets.privacy.accounts import Accounts
from density_assets.privacy.charges import budget_to_show, population_name, weekly_costs
from density_assets.privacy.composition import compose
from density_assets.privacy.periods import WEEK, YEAR, rolling_years, weeks_that_fit, worst
from density_assets.privacy.policy import under_policy
from density_assets.schemes.scheme import Plan

WARN_BELOW = 4  # weeks: time enough to decide what to do about the rest of the year


@check("ledger", given=("problem", "accounts"))
def ledger_is_whole(step: Step, problem: str | None, accounts: Accounts) -> dg.AssetCheckResult:
    """Every row of the ledger is as it was written, and none that a stored measurement names is missing."""
    return open_answer([problem]) if problem else open_answer([], charges=len(accounts.rows))


@check("ledger", given=("accounts", "plan"))
def budget_is_left(step: Step, accounts: Accounts, plan: Plan) -> dg.AssetCheckResult:
    """The budget has room for more weeks like this one; a warning when few are left."""
    privacy, population = step.settings.privacy, population_name(step.settings)
    budget, refusal = budget_to_show(accounts.budget(population), step.settings)
    budget = under_policy(accounts, budget)
    weeks = weekly_costs(accounts.rows, population)
    if not weeks:
        return open_answer([], charges=0)
    asked = compose(event for events in plan.values() for event in events)
    newest = max(weeks)  # rows of old weeks may come late
    fit = weeks_that_fit(weeks, asked, newest + WEEK, budget.epsilon, budget.delta, most=YEAR)
    rolling = worst(rolling_years(newest, newest), weeks, budget.delta)
    spent = rolling.cost(weeks).epsilon(budget.delta)
    said = f"there is room for {fit} more weeks at epsilon {privacy.epsilon:g}: {spent:.3f} are spent"
    problems = [f"{said} of {budget.epsilon:g} in the {rolling}"] if fit < WARN_BELOW else []
    return open_answer([*problems, *filter(None, [refusal])], warn=True, spent=round(spent, 4), weeks_that_fit=fit)
