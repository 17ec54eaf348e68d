"""Checks of the ledger: it is whole, and there is something left. Both depend on settings and charges only."""

from typing import Any

import dagster as dg

from density_assets.city import City
from density_assets.graph.catalogue import Catalogue
from density_assets.graph.checks.outcomes import check, open_answer
from density_assets.graph.step import Step
from density_assets.privacy.charges import Row, charged_events, population_name
from density_assets.privacy.events import Event
from density_assets.privacy.planning import cost_of, releases_that_fit

WARN_BELOW = 4  # weeks: time enough to decide what to do about the rest of the year


def _verdict(city: City, catalogue: Catalogue) -> dict[str, Any]:
    return {"problem": city.ledger.problem(city.measurements.witnesses()), "charges": len(city.ledger.rows())}


@check("ledger", given=_verdict)
def ledger_is_whole(step: Step, problem: str | None, charges: int) -> dg.AssetCheckResult:
    """Every row of the ledger is as it was written, and none that a stored measurement names is missing."""
    return open_answer([problem]) if problem else open_answer([], charges=charges)


def _spent(city: City, catalogue: Catalogue) -> dict[str, Any]:
    return {"rows": city.ledger.rows(), "asked": [event for events in city.plan.values() for event in events]}


@check("ledger", given=_spent)
def budget_is_left(step: Step, rows: list[Row], asked: list[Event]) -> dg.AssetCheckResult:
    """The year's budget has room for more releases like this one; a warning when few are left."""
    settings, population = step.settings, population_name(step.settings)
    own = [row for row in rows if row.charge.population == population]
    if not own:
        return open_answer([], charges=0)
    year, privacy = max(row.charge.week for row in own)[:4], settings.privacy  # rows of old weeks may come late
    before = charged_events(own, population, year)
    fit = releases_that_fit(before, asked, privacy.budget_epsilon, privacy.budget_delta)
    spent = cost_of(before, [], 0, privacy.budget_delta)
    said = f"{year} has room for {fit} more releases at epsilon {privacy.epsilon:g}: {spent:.3f} are spent"
    problems = [f"{said} of {privacy.budget_epsilon:g}"] if fit < WARN_BELOW else []
    return open_answer(problems, warn=True, year=year, spent=round(spent, 4), releases_that_fit=fit)
