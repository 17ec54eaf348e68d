"""Checks of confidential tables.

All but one ask whether our own arithmetic is right, which no record can make false: they block, because noise is
calibrated to what they check. The last one looks at the records themselves, so it neither blocks nor tells.
"""

from typing import Any

import dagster as dg
import numpy as np
import polars as pl

from density_assets import series
from density_assets.calendar import HOURS
from density_assets.graph.checks.outcomes import check, fault_answer, finding_answer
from density_assets.graph.step import RecordStep
from density_assets.quality.user_bounds import (
    capped,
    clamped_total,
    mass_kept,
    silent_hours,
    tower_weighted_total,
    tower_weights_bounded,
    weighted_total,
    weights_bounded,
)

COLUMNS = ("original", "truncated")

_asked_before: dict[str, dict[int, int]] = {}  # at most one, by the fingerprint of the visits it was asked of


@check("truncated_visits", "visits", blocking=True)
def cap_is_kept(step: RecordStep) -> dg.AssetCheckResult:
    """No user has more than `privacy.visits_per_user` visits in the stored table, nor two in one hour."""
    table = _counted(step, "kept_per_user")
    kept = {(visits, hours): users for visits, hours, users in table.rows()}
    good = capped(kept, step.settings.privacy.visits_per_user)
    return fault_answer(step, "truncated_visits", [] if good else ["truncation does not keep its cap"])


@check("tower_series", "visits", "truncated_visits", blocking=True)
def every_visit_is_counted_once(step: RecordStep) -> dg.AssetCheckResult:
    """The series sum to the rows of the visits they count, and weights to what each user may weigh, exactly."""
    sums = step.read("tower_series").select(pl.col("original", "truncated", "weighted").sum())
    original, truncated, weighted = (int(value) for value in sums.row(0))
    rows, kept = (step.read.rows(table) for table in ("visits", "truncated_visits"))
    users, weight_l = _users(step), step.settings.scheme.weight_l
    weights = weighted == weighted_total(users, weight_l) and weights_bounded(users, weight_l)
    questions = {
        "the series do not count every visit once": (original, truncated) == (rows, kept),
        "weights do not keep their bound": weights,
    }
    return fault_answer(step, "tower_series", [words for words, good in questions.items() if not good])


@check("tower_totals", "visits", blocking=True)
def tower_totals_keep_their_norm(step: RecordStep) -> dg.AssetCheckResult:
    """The totals of the towers sum to what each user may weigh, and no user's vector of them is too long, exactly."""
    counted, tower_l = step.read("tower_totals")["weighted"].sum(), step.settings.scheme.tower_l
    users = {(n, squares): many for n, squares, many in _counted(step, "squares_per_user").rows()}
    good = counted == tower_weighted_total(users, tower_l) and tower_weights_bounded(users, tower_l)
    return fault_answer(step, "tower_totals", [] if good else ["totals of towers do not keep their bound"])


@check("visit_total", "visits", blocking=True)
def clamp_is_kept(step: RecordStep) -> dg.AssetCheckResult:
    """The total counts no user more often than `privacy.visits_clamp`."""
    total = step.read("visit_total")["visits"].item()
    good = total == clamped_total(_users(step), step.settings.privacy.visits_clamp)
    return fault_answer(step, "visit_total", [] if good else ["the total does not keep its clamp"])


@check("one_visit_histogram", "visits", blocking=True)
def one_visit_per_user(step: RecordStep) -> dg.AssetCheckResult:
    """The histogram counts every user once."""
    counted = step.read("one_visit_histogram")["users"].sum()
    good = counted == sum(_users(step).values())
    return fault_answer(step, "one_visit_histogram", [] if good else ["the histogram does not count users once"])


@check("iris_series", "tower_series", blocking=True)
def cells_keep_mass(step: RecordStep) -> dg.AssetCheckResult:
    """In every hour the cells have as many visits as the towers."""
    return _mass_kept(step, "iris_series", ("cell_id",))


@check("cover_series", "tower_series", blocking=True)
def cover_keeps_mass(step: RecordStep) -> dg.AssetCheckResult:
    """In every hour the cells of the cover have as many visits as the towers."""
    return _mass_kept(step, "cover_series", ("kind", "id"))


@check("tower_series")
def week_is_complete(step: RecordStep) -> dg.AssetCheckResult:
    """No hour is far emptier than the same hour of the other days. Of real people the answer is confidential.

    Whether a week is released never depends on it: the released counts are looked at by a check of their own.
    """
    totals = _by_hour(step.read("tower_series"), "original")
    silent = silent_hours(totals, np.zeros(HOURS), step.clock.missing)
    return finding_answer(step, "tower_series", {"silent_hours": silent}, good=not silent)


def _counted(step: RecordStep, name: str) -> pl.DataFrame:
    return step.city.engine.counted(name, step.week, {}, lambda _: None)


def _users(step: RecordStep) -> dict[int, int]:
    """How many users have so many visits: three checks of a week ask, and all visits are grouped for the first."""
    visits = step.read.fingerprint("visits")
    if visits not in _asked_before:
        _asked_before.clear()
        _asked_before[visits] = dict(_counted(step, "visits_per_user").rows())
    return _asked_before[visits]


def _mass_kept(step: RecordStep, name: str, key: tuple[str, ...]) -> dg.AssetCheckResult:
    towers, mapped = step.read("tower_series"), step.read(name)
    dense = mapped.select(*key, "hour").n_unique() == len(mapped) and len(mapped) % HOURS == 0
    kept = all(mass_kept(*(_by_hour(table, column)[None] for table in (towers, mapped))) for column in COLUMNS)
    return fault_answer(step, name, [] if dense and kept else ["visits are made or lost between shapes"])


def _by_hour(table: pl.DataFrame, column: str) -> Any:
    hours = table.group_by("hour").agg(pl.col(column).sum()).sort("hour")
    return series.vector(hours, pl.Series("hour", range(HOURS)), column).astype(np.float64)
