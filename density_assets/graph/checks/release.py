"""Checks of what is published. They read released values only, so they may show what they find and block on it."""

from collections.abc import Sequence
from typing import Any

import dagster as dg
import numpy as np
import polars as pl

from density_assets import series
from density_assets.calendar import week_clock
from density_assets.graph.checks.outcomes import Context, check, open_answer, week_of
from density_assets.graph.doors import release_request
from density_assets.graph.zone_rule import find_leaks
from density_assets.publication.files import Naming
from density_assets.publication.verification import verify_release
from density_assets.quality.drift import drift
from density_assets.quality.gaps import CERTAIN, LIKELY, silent_hours
from density_assets.quality.released import disagreements, faults_of_counts


@check("density", blocking=True)
def counts_are_sound(context: Context) -> dg.AssetCheckResult:
    """Counts are non-negative integers, one for each cell and hour of the public list."""
    cells = context.resources.store.read_public("cells")["cell_id"]
    return open_answer(list(faults_of_counts(_released(context), cells)))


@check("density", blocking=True)
def no_hour_is_silent(context: Context) -> dg.AssetCheckResult:
    """No released hour is far emptier than the same hour of the other days, where that can be told from noise.

    An hour that is certainly silent stops the week; one that noise might have emptied is a warning.
    A person who has looked, and wants the week published as it is, materialises `privacy_statement` and
    `density_report` by themselves.
    """
    week, zone = week_of(context), context.resources.settings.city.zone
    hours = _released(context).group_by("hour").agg(pl.col("count", "standard_error").sum()).sort("hour")
    totals, noise = (hours[name].to_numpy().astype(np.float64) for name in ("count", "standard_error"))
    missing = week_clock(week, zone).missing
    silent, certain = (silent_hours(totals, noise, missing, margin) for margin in (LIKELY, CERTAIN))
    problems = [f"hours {', '.join(map(str, silent))} are silent: records are missing, or nobody was there"]
    return open_answer(problems if silent else [], warn=not certain)


@check("density")
def visits_exceed_noise(context: Context) -> dg.AssetCheckResult:
    """The week's visits are more than noise alone may have made: a warning for cities too small for their promise."""
    week = _released(context)
    visits, noise = int(week["count"].sum()), float(week["standard_error"].sum())
    words = "the visits of the week cannot be told from noise: count more people, longer, or in larger cells"
    return open_answer([] if visits > noise else [words], warn=True, visits=visits, explained_by_noise=noise)


@check("density")
def like_the_week_before(context: Context) -> dg.AssetCheckResult:
    """Neither the city's visits nor their places changed by more than a quarter since the last released week."""
    store, now = context.resources.store, _released(context)
    before = store.read_week_before("density", week_of(context))
    if before.is_empty():
        return open_answer([], compared_with="nothing: no earlier week is released")
    cells = store.read_public("cells")["cell_id"]
    if set(before["cell_id"]) != set(cells):
        return open_answer([], compared_with="nothing: the last released week has other cells")
    (mine, my_error), (theirs, their_error) = (_week_of_cells(table, cells) for table in (now, before))
    found = drift(mine, theirs, np.hypot(my_error, their_error))
    facts = {"compared_with": str(before["week"][0]), "change_of_visits": found.total, "share_moved": found.moved}
    words = f"visits changed by {found.total:+.0%} and {found.moved:.0%} of them moved since {before['week'][0]}"
    return open_answer([words] if found.large else [], warn=True, **facts, explained_by_noise=found.noise)


@check("privacy_statement", blocking=True)
def release_is_readable(context: Context) -> dg.AssetCheckResult:
    """Parquet, CSV and GeoJSON open and hold the same counts; files, statement and ledger belong together."""
    week = context.partition_key
    name = Naming(context.resources.store.release, week, context.resources.settings.revision_of(week))
    problems = list(disagreements(*(name.file("density", kind) for kind in ("parquet", "csv", "geojson"))))
    findings = list(verify_release(name.file("privacy_statement", "json")))
    return open_answer(problems + [f"not so: {text}" for holds, text in findings if not holds], findings=len(findings))


def zone_rule_check(assets: Sequence[dg.AssetsDefinition]) -> dg.AssetChecksDefinition:
    """The zone rule where auditors see it; it is enforced whenever the definitions load."""

    @check("density", blocking=True)
    def nothing_passes_the_doors(context: Context) -> dg.AssetCheckResult:
        """No asset that may be handed out reads confidential data except through a mechanism."""
        specs = [spec for asset in assets for spec in asset.specs]
        doors = sorted(spec.key.to_user_string() for spec in specs if spec.tags.get("zone") == "mechanism")
        return open_answer(sorted(find_leaks(specs)), assets=len(specs), doors=", ".join(doors))

    return nothing_passes_the_doors


def _released(context: Context) -> pl.DataFrame:
    store, week = context.resources.store, context.partition_key
    request = release_request(context.resources.settings, store, week)
    table: pl.DataFrame = store.read_release_week("density", week_of(context), request.name)
    return table


def _week_of_cells(table: pl.DataFrame, cells: pl.Series) -> tuple[Any, Any]:
    """Visits of each cell over the week, and their standard error; noise of different hours is taken as one."""
    visits, errors = (series.matrix(table, cells, name).astype(np.float64) for name in ("count", "standard_error"))
    return visits.sum(axis=1), errors.sum(axis=1)
