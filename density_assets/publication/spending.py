"""What the ledger says of a population, in words: what releases cost, what plans would cost, what people decided.

spending        epsilon week by week: alone, in the calendar year, in 52 weeks and in all
budget_report   what was spent, what is left and what plans would cost, for a terminal
decisions       what people decided; `changes` what is otherwise from one release to the next, so that nobody has to
                compare two statements by hand to see that a clamp, a version or a budget is another one
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import accumulate, groupby, pairwise
from typing import Any

from density_assets.privacy.accounts import ACT, BODIES, Accounts, Body, Entry
from density_assets.privacy.charges import Budget, Row, population_name, weekly_costs
from density_assets.privacy.composition import NOTHING, Composition, compose
from density_assets.privacy.events import Event
from density_assets.privacy.periods import (
    AHEAD,
    WEEK,
    YEAR,
    Period,
    Weeks,
    calendar_year,
    epsilon_that_fits,
    periods_with,
    rolling_years,
    weeks_that_fit,
    worst,
)
from density_assets.privacy.policy import INPUT
from density_assets.privacy.release import Charge
from density_assets.schemes import SCHEMES
from density_assets.schemes.expected import expected_errors, expected_worth, foreseen_noise
from density_assets.settings import Settings


@dataclass(frozen=True)
class Spending:
    """What the releases of a calendar year cost: epsilon for each of its weeks, in order.

    epsilon: of the calendar year up to and with the week.
    alone: of the week.
    rolling: of the 52 consecutive weeks that cost most among those that hold the week, later weeks included.
    lifetime: of all weeks up to and with this one.
    releases: how many there are; a week has several if it was revised, or if several cities share its budget.
    """

    year: str
    weeks: tuple[str, ...]
    epsilon: tuple[float, ...]
    alone: tuple[float, ...]
    rolling: tuple[float, ...]
    lifetime: tuple[float, ...]
    releases: int

    @property
    def count(self) -> str:
        """How many releases of how many weeks, in words."""
        return f"{count_noun(self.releases, 'release')} of {count_noun(len(self.weeks), 'week')}"


def count_noun(number: int, noun: str) -> str:
    """For example `1 week` or `2 weeks`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def releases_of(charges: Iterable[Charge]) -> set[tuple[Any, ...]]:
    """The releases that charges are for: each has one charge per door, and more where a run was killed."""
    return {tuple(charge.which.values()) for charge in charges}


def spending(rows: Sequence[Row], population: str, delta: float) -> list[Spending]:
    """Each calendar year of a population, as the ledger adds it up at the budget's delta.

    A charge counts for the week it releases, whenever it was made, so the order of releases does not matter.
    """
    weeks = weekly_costs(rows, population)
    charges = [row.charge for row in rows if row.charge.population == population]
    rolling = _worst_rolling(weeks, delta)
    lifetime = dict(zip(weeks, _epsilons(accumulate(weeks.values()), delta), strict=True))
    return [
        Spending(
            year=f"{year}",
            weeks=tuple(week.isoformat() for week in mondays),
            epsilon=_epsilons(accumulate(weeks[week] for week in mondays), delta),
            alone=_epsilons((weeks[week] for week in mondays), delta),
            rolling=tuple(rolling[week] for week in mondays),
            lifetime=tuple(lifetime[week] for week in mondays),
            releases=len(releases_of(charge for charge in charges if charge.year == f"{year}")),
        )
        for year, mondays in ((year, list(group)) for year, group in groupby(weeks, lambda week: week.year))
    ]


def year_so_far(rows: Iterable[Row], delta: float) -> list[float]:
    """For each row of the ledger: what its population's calendar year had cost when it was charged, in one pass."""
    years: dict[tuple[str, str], Composition] = {}
    epsilons = []
    for row in rows:
        key = row.charge.population, row.charge.year
        years[key] = years.get(key, NOTHING) + compose(row.charge.events)
        epsilons.append(years[key].epsilon(delta))
    return epsilons


def _epsilons(costs: Iterable[Composition], delta: float) -> tuple[float, ...]:
    return tuple(cost.epsilon(delta) for cost in costs)


def _worst_rolling(weeks: Weeks, delta: float) -> dict[date, float]:
    """For each week the largest epsilon of the 52 consecutive weeks that hold it."""
    if not weeks:
        return {}
    first, last = min(weeks), max(weeks)
    periods = [period.cost(weeks).epsilon(delta) for period in rolling_years(first, last)]
    return {week: max(periods[(week - first) // WEEK :][:YEAR]) for week in weeks}


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
    next_week = max([week, *(charged + WEEK for charged in weeks)])
    promise = f"epsilon {settings.privacy.epsilon:g}, delta {settings.privacy.delta:g}"
    lines = [
        f"{population}: any 52 consecutive weeks and any calendar year may cost epsilon {budget.epsilon:g} at delta "
        f"{budget.delta:g}",
        *_spent_lines(weeks, len(releases), calendar_year(week), budget),
        f"to come, from the week of {next_week} on, one release a week at {promise}",
        *_plan_lines(settings, weeks, next_week, planned, budget, towers),
    ]
    return "\n".join(lines)


def _spent_lines(weeks: Weeks, releases: int, year: Period, budget: Budget) -> Iterator[str]:
    yield f"  charged so far       {count_noun(releases, 'release')} of {count_noun(len(weeks), 'week')}"
    if weeks:
        rolling = worst(rolling_years(min(weeks), max(weeks)), weeks, budget.delta)
        yield f"  costliest 52 weeks   {_budget_use(rolling, weeks, budget)}, from {rolling.first} to {rolling.last}"
    yield f"  {year.name}   {_budget_use(year, weeks, budget)}"
    yield f"  all weeks together   {sum(weeks.values(), NOTHING).epsilon(budget.delta):.3f}"


def _plan_lines(
    settings: Settings, weeks: Weeks, first: date, planned: int, budget: Budget, towers: int | None
) -> Iterator[str]:
    release = compose(release_events(settings))
    after = {**weeks, first: release}
    period = worst(periods_with(first), after, budget.delta)
    makes = period.cost(after).epsilon(budget.delta)
    verdict = "fits" if makes <= budget.epsilon else "would be refused"
    yield f"  the next one         {release.epsilon(budget.delta):.3f} alone, {makes:.3f} in the {period}: {verdict}"
    yield from _expected_error_lines(settings, towers)
    fit = weeks_that_fit(weeks, release, first, budget.epsilon, budget.delta)
    yield f"  weeks that fit       {fit if fit < AHEAD else 'any number: what is spent expires as fast'}"
    each = epsilon_that_fits(
        lambda epsilon: release_events(settings, epsilon),
        lambda one: weeks_that_fit(weeks, one, first, budget.epsilon, budget.delta, planned) == planned,
        budget.epsilon,
    )
    rounded = math.floor(1_000 * each) / 1_000  # down, so that it fits
    yield f"  {planned} weeks in a row fit at " + (f"epsilon {rounded:.3f} each" if each else "no epsilon")
    if rounded:
        yield from _expected_error_lines(settings.with_epsilon(rounded), towers)


def _expected_error_lines(settings: Settings, towers: int | None) -> Iterator[str]:
    """By how much a cell and hour will be off, week by week, and what the first week is worth."""
    noise, worth = foreseen_noise(settings, towers), expected_worth(settings, towers)
    if noise is None or worth is None:
        return
    by_week = ", ".join(
        f"{f'{error:.1%}' if error < 1.0 else 'more than 100%'} in week {week}"
        for week, error in expected_errors(noise).items()
    )
    yield f"    mean error         of a cell and hour, relative to it: {by_week}"
    yield f"    the first week     {worth.note}"


def _budget_use(period: Period, weeks: Weeks, budget: Budget) -> str:
    spent = period.cost(weeks).epsilon(budget.delta)
    charged_weeks = count_noun(sum(map(period.holds, weeks)), "week")
    return f"{spent:.3f} spent on {charged_weeks}, {budget.epsilon - spent:.3f} left"


def release_events(settings: Settings, epsilon: float | None = None) -> list[Event]:
    """Everything one release of these settings would be charged."""
    if epsilon is not None:
        settings = settings.with_epsilon(epsilon)
    plan = SCHEMES[settings.scheme.name].plan(settings)
    return [event for door in plan.values() for event in door]


DECISIONS = [
    kind for kind, fields in BODIES.items() if ACT.keys() <= fields.keys() and kind not in ("charge", "published")
]
DECISION_WORDS: dict[str, Callable[[Body], str]] = {  # what each kind of decision says, from its body
    "opened": lambda body: "opened the ledger",
    "declared": lambda body: "opened it for records of real people",
    "moved": lambda body: "said that it was moved or restored, not copied",
    "restored": lambda body: (
        f"put back a copy that ended with entry {body['row']}; what was charged after is not known"
    ),
    "key": lambda body: f"changed the key{'' if body['signed'] else ', without the old key saying so'}",
    "policy": lambda body: f"set the policy {body['sha256'][:12]}",
    "budget": lambda body: f"gave {body['population']} a budget of ({body['epsilon']:g}, {body['delta']:g})",
    "approval": lambda body: (
        f"acknowledged what the files of {body['city']} are understood as (input settings {body['inputs'][:12]})"
        if body["what"] == INPUT
        else f"approved revision {body['revision']} of the week of {body['week']}, {body['city']}"
    ),
}


@dataclass(frozen=True)
class Decision:
    """One thing that somebody decided."""

    at: str
    by: str
    what: str
    reason: str


@dataclass(frozen=True)
class Change:
    """What is otherwise in a release than in the one before it, of the same city.

    differences: by name, what it was and what it is.
    """

    city: str
    before: str
    after: str
    differences: Mapping[str, tuple[str, str]]


def decisions(accounts: Accounts, population: str) -> list[Decision]:
    """Everything people decided that matters for a population, oldest first; revisions among it."""
    entries = [entry for entry in accounts.of(*DECISIONS) if entry.body.get("population", population) == population]
    revisions = [row for row in _first_charges(accounts, population) if row.charge.revision > 1]
    by_row = {entry.row: _decision(entry) for entry in entries} | {row.entry: _revision(row) for row in revisions}
    return [by_row[number] for number in sorted(by_row)]


def changes(accounts: Accounts, population: str) -> list[Change]:
    """What changed from each release to the next one of its city, in the order in which they were charged."""
    charges = _first_charges(accounts, population)
    cities = sorted({row.charge.city for row in charges})
    return [
        Change(city, _name(before), _name(after), differences)
        for city in cities
        for before, after in pairwise(row for row in charges if row.charge.city == city)
        if (differences := dict(_differences(_draw_settings(before), _draw_settings(after))))
    ]


def _decision(entry: Entry) -> Decision:
    body = entry.body
    what = DECISION_WORDS[entry.kind](body) if entry.kind in DECISION_WORDS else f"recorded: {entry.kind}"
    return Decision(entry.at, body["by"], what, body["reason"])


def _revision(row: Row) -> Decision:
    what = f"asked for revision {row.charge.revision} of the week of {row.charge.week}, {row.charge.city}"
    return Decision(row.at, row.by, what, row.reason)


def _first_charges(accounts: Accounts, population: str) -> list[Row]:
    """One charge of each release, the first."""
    firsts: dict[tuple[Any, ...], Row] = {}
    for row in accounts.rows:
        if row.charge.population == population:
            firsts.setdefault((*row.charge.identity().values(), row.release["name"]), row)
    return list(firsts.values())


def _draw_settings(row: Row) -> dict[str, Any]:
    release, charge = row.release, row.charge
    named = {name: release.get(name) for name in ("scheme", "calibration", "geography")}
    software = {f"software: {name}": number for name, number in row.software.items()}
    promise = {"epsilon": charge.epsilon, "delta": charge.delta}
    return {**promise, **named, **release.get("parameters", {}), **software}


def _differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[tuple[str, tuple[str, str]]]:
    for name in {**before, **after}:
        if before.get(name) != after.get(name):
            yield name, (_short(before.get(name)), _short(after.get(name)))


def _short(value: Any) -> str:
    text = "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
    return f"{text[:16]}…" if len(text) == 64 else text


def _name(row: Row) -> str:
    revision = f", revision {row.charge.revision}" if row.charge.revision > 1 else ""
    return f"{row.charge.week}{revision}"
