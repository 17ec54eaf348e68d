"""Checks of confidential tables.

All but one ask whether our own arithmetic is right, which no record can make false: they block, because noise is
calibrated to what they check. The last one looks at the records themselves, so it neither blocks nor tells.
"""

from typing import Any

import dagster as dg
import numpy as np
import polars as pl

from density_assets import series
from density_assets.calendar import HOURS, week_clock
from density_assets.graph.checks.outcomes import Context, check, fault_answer, finding_answer, week_of
from density_assets.quality.gaps import silent_hours
from density_assets.quality.mass import mass_kept
from density_assets.quality.user_bounds import capped, clamped_total, weighted_total, weights_bounded

COLUMNS = ("original", "truncated")


@check("truncated_visits", blocking=True)
def cap_is_kept(context: Context) -> dg.AssetCheckResult:
    """No user has more than `privacy.visits_per_user` visits in the stored table, nor two in one hour."""
    table = _counted(context, "kept_per_user")
    kept = {(visits, hours): users for visits, hours, users in table.rows()}
    good = capped(kept, context.resources.settings.privacy.visits_per_user)
    return fault_answer(context, "truncated_visits", [] if good else ["truncation does not keep its cap"])


@check("tower_series", blocking=True)
def every_visit_is_counted_once(context: Context) -> dg.AssetCheckResult:
    """The series sum to the rows of the visits they count, and weights to what each user may weigh, exactly."""
    store, week = context.resources.store, week_of(context)
    sums = store.read_week("tower_series", week).select(pl.col("original", "truncated", "weighted").sum())
    original, truncated, weighted = (int(value) for value in sums.row(0))
    rows, kept = (store.week_shape(table, week)[0] for table in ("visits", "truncated_visits"))
    users, weight_l = _users(context), context.resources.settings.scheme.weight_l
    weights = weighted == weighted_total(users, weight_l) and weights_bounded(users, weight_l)
    questions = {
        "the series do not count every visit once": (original, truncated) == (rows, kept),
        "weights do not keep their bound": weights,
    }
    return fault_answer(context, "tower_series", [words for words, good in questions.items() if not good])


@check("visit_total", blocking=True)
def clamp_is_kept(context: Context) -> dg.AssetCheckResult:
    """The total counts no user more often than `privacy.visits_clamp`."""
    total = context.resources.store.read_week("visit_total", week_of(context))["visits"].item()
    good = total == clamped_total(_users(context), context.resources.settings.privacy.visits_clamp)
    return fault_answer(context, "visit_total", [] if good else ["the total does not keep its clamp"])


@check("one_visit_histogram", blocking=True)
def one_visit_per_user(context: Context) -> dg.AssetCheckResult:
    """The histogram counts every user once."""
    counted = context.resources.store.read_week("one_visit_histogram", week_of(context))["users"].sum()
    good = counted == sum(_users(context).values())
    return fault_answer(context, "one_visit_histogram", [] if good else ["the histogram does not count users once"])


@check("iris_series", blocking=True)
def cells_keep_mass(context: Context) -> dg.AssetCheckResult:
    """In every hour the cells have as many visits as the towers."""
    return _mass_kept(context, "iris_series", ("cell_id",))


@check("cover_series", blocking=True)
def cover_keeps_mass(context: Context) -> dg.AssetCheckResult:
    """In every hour the cells of the cover have as many visits as the towers."""
    return _mass_kept(context, "cover_series", ("kind", "id"))


@check("tower_series")
def week_is_complete(context: Context) -> dg.AssetCheckResult:
    """No hour is far emptier than the same hour of the other days. Of real people the answer is confidential.

    Whether a week is released never depends on it: the released counts are looked at by a check of their own.
    """
    settings, week = context.resources.settings, week_of(context)
    totals = _by_hour(context.resources.store.read_week("tower_series", week), "original")
    silent = silent_hours(totals, np.zeros(HOURS), week_clock(week, settings.city.zone).missing)
    return finding_answer(context, "tower_series", "week_is_complete", {"silent_hours": silent}, good=not silent)


def _counted(context: Context, name: str) -> pl.DataFrame:
    table: pl.DataFrame = context.resources.engine.counted(name, week_of(context), {}, lambda _: None)
    return table


def _users(context: Context) -> dict[int, int]:
    return dict(_counted(context, "visits_per_user").rows())


def _mass_kept(context: Context, name: str, place: tuple[str, ...]) -> dg.AssetCheckResult:
    store, week = context.resources.store, week_of(context)
    towers, mapped = store.read_week("tower_series", week), store.read_week(name, week)
    dense = mapped.select(*place, "hour").n_unique() == len(mapped) and len(mapped) % HOURS == 0
    kept = all(mass_kept(*(_by_hour(table, column)[None] for table in (towers, mapped))) for column in COLUMNS)
    return fault_answer(context, name, [] if dense and kept else ["visits are made or lost between shapes"])


def _by_hour(table: pl.DataFrame, column: str) -> Any:
    hours = table.group_by("hour").agg(pl.col(column).sum()).sort("hour")
    return series.vector(hours, pl.Series("hour", range(HOURS)), column).astype(np.float64)
