"""Checks of the ledger: it is whole, and there is something left. Both depend on settings and charges only."""

import dagster as dg

from density_assets.graph.checks.outcomes import Context, check, open_answer
from density_assets.privacy.charges import charged_events, population_name
from density_assets.privacy.planning import cost_of, releases_that_fit
from density_assets.publication.budget_report import release_events

WARN_BELOW = 4  # weeks: time enough to decide what to do about the rest of the year


@check("ledger")
def ledger_is_whole(context: Context) -> dg.AssetCheckResult:
    """Every row of the ledger is as it was written, and none that a stored measurement names is missing."""
    ledger = context.resources.ledger
    if problem := ledger.problem(context.resources.measurements.witnesses()):
        return open_answer([problem])
    return open_answer([], charges=len(ledger.rows()))


@check("ledger")
def budget_is_left(context: Context) -> dg.AssetCheckResult:
    """The year's budget has room for more releases like this one; a warning when few are left."""
    settings, population = context.resources.settings, population_name(context.resources.settings)
    rows = [row for row in context.resources.ledger.rows() if row.charge.population == population]
    if not rows:
        return open_answer([], charges=0)
    year, privacy = max(row.charge.week for row in rows)[:4], settings.privacy  # rows of old weeks may come late
    before = charged_events(rows, population, year)
    fit = releases_that_fit(before, release_events(settings), privacy.budget_epsilon, privacy.budget_delta)
    spent = cost_of(before, [], 0, privacy.budget_delta)
    said = f"{year} has room for {fit} more releases at epsilon {privacy.epsilon:g}: {spent:.3f} are spent"
    problems = [f"{said} of {privacy.budget_epsilon:g}"] if fit < WARN_BELOW else []
    return open_answer(problems, warn=True, year=year, spent=round(spent, 4), releases_that_fit=fit)
