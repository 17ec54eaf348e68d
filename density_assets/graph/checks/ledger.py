"""Checks of the ledger: it is whole, and there is something left. Both depend on settings and charges only."""

import dagster as dg

from density_assets.graph.checks.outcomes import check, open_answer
from density_assets.graph.step import Step
from density_assets.privacy.charges import Row, charged_events, population_name
from density_assets.privacy.planning import cost_of, releases_that_fit
from density_assets.schemes.scheme import Plan

WARN_BELOW = 4  # weeks: time enough to decide what to do about the rest of the year


@check("ledger", given=("problem", "rows"))
def ledger_is_whole(step: Step, problem: str | None, rows: list[Row]) -> dg.AssetCheckResult:
    """Every row of the ledger is as it was written, and none that a stored measurement names is missing."""
    return open_answer([problem]) if problem else open_answer([], charges=len(rows))


@check("ledger", given=("rows", "plan"))
def budget_is_left(step: Step, rows: list[Row], plan: Plan) -> dg.AssetCheckResult:
    """The year's budget has room for more releases like this one; a warning when few are left."""
    privacy, population = step.settings.privacy, population_name(step.settings)
    own = [row for row in rows if row.charge.population == population]
    if not own:
        return open_answer([], charges=0)
    year = max(row.charge.week for row in own)[:4]  # rows of old weeks may come late
    before, asked = charged_events(own, population, year), [event for events in plan.values() for event in events]
    fit = releases_that_fit(before, asked, privacy.budget_epsilon, privacy.budget_delta)
    spent = cost_of(before, [], 0, privacy.budget_delta)
    said = f"{year} has room for {fit} more releases at epsilon {privacy.epsilon:g}: {spent:.3f} are spent"
    problems = [f"{said} of {privacy.budget_epsilon:g}"] if fit < WARN_BELOW else []
    return open_answer(problems, warn=True, year=year, spent=round(spent, 4), releases_that_fit=fit)
