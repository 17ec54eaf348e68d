"""What was spent, what is left and what plans would cost, in words for a terminal."""

from collections.abc import Iterator

from density_assets.privacy.charges import Budget, Row, charged_events, population_name
from density_assets.privacy.events import Event
from density_assets.privacy.planning import cost_of, epsilon_that_fits, releases_that_fit
from density_assets.schemes import SCHEMES
from density_assets.settings import Settings


def budget_report(settings: Settings, rows: list[Row], year: str, weeks: int) -> str:
    """The year of a population: spent, left, the next release, and `weeks` more like it."""
    return "\n".join(_lines(settings, rows, year, weeks))


def _lines(settings: Settings, rows: list[Row], year: str, weeks: int) -> Iterator[str]:
    population, budget = population_name(settings), Budget.of(settings)
    before, release = charged_events(rows, population, year), release_events(settings)
    spent, after = (cost_of(before, release, n, budget.delta) for n in (0, 1))
    released = sorted({row.charge.week for row in rows if row.charge.population == population})
    yield f"{population}, {year}: budget epsilon {budget.epsilon:g} at delta {budget.delta:g}"
    yield f"  spent            {spent:.3f} for {sum(week.startswith(year) for week in released)} weeks"
    yield f"  left             {budget.epsilon - spent:.3f}"
    verdict = "fits" if after <= budget.epsilon else "would be refused"
    promise = f"epsilon {settings.privacy.epsilon:g}, delta {settings.privacy.delta:g}"
    yield f"  one more release at {promise}: {after:.3f} in all, {verdict}"
    yield f"  {weeks} more of them: {cost_of(before, release, weeks, budget.delta):.3f} in all"
    fit = releases_that_fit(before, release, budget.epsilon, budget.delta)
    yield f"  {fit} more of them fit"
    each = epsilon_that_fits(
        lambda epsilon: release_events(settings, epsilon), before, weeks, budget.epsilon, budget.delta
    )
    yield f"  {weeks} more fit at epsilon {each:.3f} each"
    whole = [event for row in rows if row.charge.population == population for event in row.charge.events]
    yield f"all years together: {cost_of(whole, [], 0, budget.delta):.3f} for {len(released)} weeks"


def release_events(settings: Settings, epsilon: float | None = None) -> list[Event]:
    """Everything one release of these settings would be charged."""
    if epsilon is not None:
        settings = settings.with_epsilon(epsilon)
    plan = SCHEMES[settings.scheme.name].plan(settings)
    return [event for door in plan.values() for event in door]
