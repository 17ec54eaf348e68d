"""What was spent, what is left and what plans would cost, in words for a terminal."""

import math
from collections.abc import Iterator, Sequence
from datetime import date

from density_assets.privacy.charges import Budget, Row, population_name, weekly_costs
from density_assets.privacy.composition import NOTHING, compose
from density_assets.privacy.events import Event
from density_assets.privacy.periods import WEEK, Period, Weeks, calendar_year, periods_with, rolling_years, worst
from density_assets.privacy.planning import AHEAD, epsilon_that_fits, weeks_that_fit
from density_assets.publication.spending import counted, counted_weeks, releases_of
from density_assets.schemes import SCHEMES
from density_assets.schemes.expected import expected_errors, expected_worth, foreseen_noise
from density_assets.settings import Settings


def budget_report(
    settings: Settings, budget: Budget, rows: Sequence[Row], week: date, planned: int, towers: int | None = None
) -> str:
    """A population's budget: spent, left, the next release, and `planned` weeks in a row like it.

    week: its calendar year is shown; plans begin with it, or after the last week that was charged.
    towers: of the public geography; without them no error is foretold.
    """
    population = population_name(settings)
    weeks = weekly_costs(rows, population)
    charges = [row.charge for row in rows if row.charge.population == population]
    releases = releases_of(charges)
    following = max([week, *(charged + WEEK for charged in weeks)])
    promise = f"epsilon {settings.privacy.epsilon:g}, delta {settings.privacy.delta:g}"
    lines = [
        f"{population}: any 52 consecutive weeks and any calendar year may cost epsilon {budget.epsilon:g} at delta "
        f"{budget.delta:g}",
        *_spent(weeks, len(releases), calendar_year(week), budget),
        f"to come, from the week of {following} on, one release a week at {promise}",
        *_to_come(settings, weeks, following, planned, budget, towers),
    ]
    return "\n".join(lines)


def _spent(weeks: Weeks, releases: int, year: Period, budget: Budget) -> Iterator[str]:
    yield f"  charged so far       {counted(releases, len(weeks))}"
    if weeks:
        rolling = worst(rolling_years(min(weeks), max(weeks)), weeks, budget.delta)
        yield f"  costliest 52 weeks   {_of_budget(rolling, weeks, budget)}, from {rolling.first} to {rolling.last}"
    yield f"  {year.name}   {_of_budget(year, weeks, budget)}"
    yield f"  all weeks together   {sum(weeks.values(), NOTHING).epsilon(budget.delta):.3f}"


def _to_come(
    settings: Settings, weeks: Weeks, first: date, planned: int, budget: Budget, towers: int | None
) -> Iterator[str]:
    release = compose(release_events(settings))
    after = {**weeks, first: release}
    period = worst(periods_with(first), after, budget.delta)
    makes = period.cost(after).epsilon(budget.delta)
    verdict = "fits" if makes <= budget.epsilon else "would be refused"
    yield f"  the next one         {release.epsilon(budget.delta):.3f} alone, {makes:.3f} in the {period}: {verdict}"
    yield from _foretold(settings, towers)
    fit = weeks_that_fit(weeks, release, first, budget.epsilon, budget.delta)
    yield f"  weeks that fit       {fit if fit < AHEAD else 'any number: what is spent expires as fast'}"
    each = epsilon_that_fits(
        lambda epsilon: release_events(settings, epsilon),
        lambda one: weeks_that_fit(weeks, one, first, budget.epsilon, budget.delta, planned) == planned,
        budget.epsilon,
    )
    said = math.floor(1_000 * each) / 1_000  # rounded down, so that what is said fits
    yield f"  {planned} weeks in a row fit at " + (f"epsilon {said:.3f} each" if each else "no epsilon")
    if said:
        yield from _foretold(settings.with_epsilon(said), towers)


def _foretold(settings: Settings, towers: int | None) -> Iterator[str]:
    """By how much a cell and hour will be off, week by week, and what the first week is worth."""
    noise, told = foreseen_noise(settings, towers), expected_worth(settings, towers)
    if noise is None or told is None:
        return
    by_week = ", ".join(f"{_at_most_all(error)} in week {week}" for week, error in expected_errors(noise).items())
    yield f"    mean error         of a cell and hour, relative to it: {by_week}"
    yield f"    the first week     {told.note}"


def _at_most_all(error: float) -> str:
    return f"{error:.1%}" if error < 1.0 else "more than 100%"


def _of_budget(period: Period, weeks: Weeks, budget: Budget) -> str:
    spent = period.cost(weeks).epsilon(budget.delta)
    charged = counted_weeks(sum(map(period.holds, weeks)))
    return f"{spent:.3f} spent on {charged}, {budget.epsilon - spent:.3f} left"


def release_events(settings: Settings, epsilon: float | None = None) -> list[Event]:
    """Everything one release of these settings would be charged."""
    if epsilon is not None:
        settings = settings.with_epsilon(epsilon)
    plan = SCHEMES[settings.scheme.name].plan(settings)
    return [event for door in plan.values() for event in door]
