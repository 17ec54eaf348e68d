"""Checks of what is published. They read released values only, so they may show what they find and block on it."""

from collections.abc import Sequence
from datetime import date

import dagster as dg
import numpy as np
import polars as pl

from density_assets import series
from density_assets.graph.checks.outcomes import check, open_answer
from density_assets.graph.step import Step
from density_assets.graph.zone_rule import find_leaks
from density_assets.privacy.zones import Zone
from density_assets.publication.pages.svg import Node
from density_assets.publication.verification import outcome
from density_assets.quality.released import Drift, Known, disagreements, doubts_about_visits, drift, faults_of_counts
from density_assets.quality.user_bounds import CERTAIN, LIKELY, silent_hours


@check("density", "cells", blocking=True)
def counts_are_sound(step: Step) -> dg.AssetCheckResult:
    """Counts are non-negative integers, one for each cell and hour of the public list."""
    return open_answer(list(faults_of_counts(step.read("density"), step.read("cells")["cell_id"])))


@check("density", blocking=True)
def no_hour_is_silent(step: Step) -> dg.AssetCheckResult:
    """No released hour is far emptier than the same hour of the other days, where that can be told from noise.

    An hour that is certainly silent stops the week; one that noise might have emptied is a warning.
    A person who has looked, and wants the week published as it is, materialises `published_counts`,
    `privacy_statement` and `density_report` by themselves.
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
    if before is None or set(before["cell_id"]) != set(cells):
        step.say("compared with nothing: " + ("other cells" if before is not None else "no earlier week is released"))
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
    return open_answer(
        list(disagreements(*(step.files.file("density", kind) for kind in ("parquet", "csv", "geojson"))))
    )


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
    if before is None or before["week"][0] != compared_with:
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
