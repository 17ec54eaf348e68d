"""Checks of what everybody may see: the public geometry, the release, and the ledger of charges.

None of them reads records, and those of the ledger depend on settings and charges only.
"""

from collections.abc import Sequence
from datetime import date

import dagster as dg
import numpy as np
import polars as pl

from density_assets import series
from density_assets.geography.overlaps import Overlaps, interpolation
from density_assets.geography.places import to_cover
from density_assets.geography.tables import cover_from, overlaps_from
from density_assets.graph.catalogue import find_leaks
from density_assets.graph.checks.outcomes import check, open_answer
from density_assets.graph.step import Step
from density_assets.privacy.accounts import Accounts
from density_assets.privacy.charges import budget_to_show, population_name, weekly_costs
from density_assets.privacy.composition import compose
from density_assets.privacy.periods import WEEK, YEAR, rolling_years, weeks_that_fit, worst
from density_assets.privacy.policy import under_policy
from density_assets.privacy.zones import Zone
from density_assets.publication.pages.svg import Node
from density_assets.publication.verification import outcome
from density_assets.quality.released import Drift, Known, doubts_about_visits, drift, faults_of_counts
from density_assets.quality.user_bounds import CERTAIN, LIKELY, covers, shares_whole, silent_hours
from density_assets.schemes.scheme import Plan


@check("overlaps", "towers", "cells", blocking=True)
def overlaps_keep_mass(step: Step) -> dg.AssetCheckResult:
    """Every tower gives all of itself to cells, once: areal interpolation neither makes nor loses visits."""
    whole = shares_whole(interpolation(_pieces(step)))
    return open_answer([] if whole else ["the shares of some tower do not sum to one"])


@check("cover_graph", "overlaps", "towers", "cells", blocking=True)
def cover_covers(step: Step) -> dg.AssetCheckResult:
    """Every overlap has its tower or its cell in the cover, and belongs to exactly one of the cover's cells."""
    pieces = _pieces(step)
    cover = cover_from(step.read("cover_graph"), step.read("towers"), step.read("cells"))
    if not covers(pieces, cover):
        return open_answer(["some overlap has neither its tower nor its cell in the cover"])
    whole = shares_whole(to_cover(pieces, cover))
    return open_answer([] if whole else ["the cover does not take all of some tower"], cover=len(cover))


def _pieces(step: Step) -> Overlaps:
    return overlaps_from(step.read("overlaps"), step.read("towers"), step.read("cells"))


# --- release ---------------------------------------------------------------------------------------------------------


@check("density", "cells", blocking=True)
def counts_are_sound(step: Step) -> dg.AssetCheckResult:
    """Counts are non-negative integers, one for each cell and hour of the public list."""
    return open_answer(list(faults_of_counts(step.read("density"), step.read("cells")["cell_id"])))


@check("density", blocking=True)
def no_hour_is_silent(step: Step) -> dg.AssetCheckResult:
    """No released hour is far emptier than the same hour of the other days, where that can be told from noise.

    An hour that is certainly silent stops the week; one that noise might have emptied is a warning.
    A person who has looked, and wants the week published as it is, materialises `published_counts`,
    `privacy_statement`, `density_report` and `signed_release` by themselves.
    """
    hours = step.read("density").group_by("hour").agg(pl.col("count", "standard_error").sum()).sort("hour")
    totals, noise = (hours[name].to_numpy().astype(np.float64) for name in ("count", "standard_error"))
    silent, certain = (silent_hours(totals, noise, step.clock.missing, margin) for margin in (LIKELY, CERTAIN))
    problems = [f"hours {', '.join(map(str, silent))} are silent: records are missing, or nobody was there"]
    return open_answer(problems if silent else [], warn=not certain)


@check("density", "noisy_totals")
def visits_exceed_noise(step: Step) -> dg.AssetCheckResult:
    """The week's visits are more than noise alone may have made: a warning for cities too small for their promise.

    Where a scheme measures the number of visits, that number must stand out of its own noise as well: all counts are
    scaled to it, so all of them are off by as much as it is.
    """
    week, totals = step.read("density"), step.read("noisy_totals").filter(query="visits")
    visits, noise = int(week["count"].sum()), float(week["standard_error"].sum())
    of_total = float(totals["standard_error"].sum())  # one row, or none
    doubts = list(doubts_about_visits(visits, noise, of_total))
    return open_answer(doubts, warn=True, visits=visits, explained_by_noise=noise, error_of_total=of_total)


@check("density", "cells", "noisy_totals", looks_back=("density", "noisy_totals"))
def like_the_week_before(step: Step) -> dg.AssetCheckResult | None:
    """Neither the city's visits nor their places changed by more than a quarter since the last released week.

    What was measured is compared where both weeks measured the totals of towers: an estimate that knows earlier weeks
    shares their draws, and would find them alike. Skipped where there is nothing to compare with: no earlier week is
    released, or it has other cells.
    """
    before, cells = step.read.before("density"), step.read("cells")["cell_id"]
    if before is None or before.is_empty() or set(before["cell_id"]) != set(cells):
        step.say("compared with nothing: " + ("no earlier week is released" if before is None else "other cells"))
        return None
    compared_with = before["week"][0]
    change = _measured_drift(step, compared_with)
    if change is None:
        now, then = (_week_of_cells(table, cells) for table in (step.read("density"), before))
        change = drift(now, then)
    facts = {"compared_with": str(compared_with), "change_of_visits": change.total, "share_moved": change.moved}
    words = f"visits changed by {change.total:+.0%} and {change.moved:.0%} of them moved since {compared_with}"
    return open_answer([words] if change.large else [], warn=True, **facts, explained_by_noise=change.noise)


@check("published_counts", blocking=True)
def release_is_readable(step: Step) -> dg.AssetCheckResult:
    """Parquet, CSV and GeoJSON open and hold the same counts."""
    return open_answer(step.read("published_counts")["problem"].drop_nulls().to_list())


@check("signed_release", given=("fingerprint",))
def release_verifies(step: Step, fingerprint: str) -> dg.AssetCheckResult:
    """Every published file, the statement, the ledger's chain and the signature belong together."""
    findings = outcome(step.files.file("manifest", "json"), fingerprint).findings
    return open_answer([f"not so: {text}" for holds, text in findings if not holds], findings=len(findings))


@check("density", blocking=True, given=("nodes",))
def nothing_passes_the_doors(step: Step, nodes: Sequence[Node]) -> dg.AssetCheckResult:
    """No asset that may be handed out declares confidential data as its input except through a mechanism.

    What assets read is held to what they declare while they run, and each released asset shows as `walled_off` whether,
    beyond that, it was made without a way to confidential files.
    """
    doors = ", ".join(sorted(node.name for node in nodes if node.zone is Zone.MECHANISM))
    return open_answer(sorted(find_leaks(nodes)), assets=len(nodes), doors=doors)


def _measured_drift(step: Step, compared_with: date) -> Drift | None:
    """By the noisy totals of both weeks, whose noise is independent; none if not both have those of the same towers."""
    before = step.read.before("noisy_totals")
    if before is None or before.is_empty() or before["week"][0] != compared_with:
        return None
    tables = step.read("noisy_totals"), before
    now, then = ({query: _drawn(table.filter(query=query)) for query in ("visits", "towers")} for table in tables)
    if not len(now["towers"].visits) or len(now["towers"].visits) != len(then["towers"].visits):
        return None
    visits, towers = drift(now["visits"], then["visits"]), drift(now["towers"], then["towers"])
    return Drift(visits.total, towers.moved, max(visits.noise, towers.noise))


def _drawn(table: pl.DataFrame) -> Known:
    ordered = table.sort("position")
    return Known(ordered["value"].to_numpy(), ordered["standard_error"].to_numpy())


def _week_of_cells(table: pl.DataFrame, cells: pl.Series) -> Known:
    """Visits of each cell over the week, and their standard error; noise of different hours is taken as one."""
    visits, errors = (series.matrix(table, cells, name).astype(np.float64) for name in ("count", "standard_error"))
    return Known(visits.sum(axis=1), errors.sum(axis=1))


# --- ledger ----------------------------------------------------------------------------------------------------------

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
