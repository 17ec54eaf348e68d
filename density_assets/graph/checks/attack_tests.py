"""Checks of the attack tests. Their people are invented, so numbers may be shown."""

from typing import Any

import dagster as dg
import polars as pl

from density_assets.graph.checks.outcomes import check, open_answer
from density_assets.graph.step import RecordStep
from density_assets.research.membership.membership_test import MEMBERSHIP_TEST, beyond_doubt, mean_auc
from density_assets.research.promise.allowed import largest_auc
from density_assets.research.promise.epsilon_test import EPSILON_TEST, broken_promises
from density_assets.research.study import Source, Study


@check(EPSILON_TEST.asset_name)
def epsilon_within_promise(step: RecordStep) -> dg.AssetCheckResult:
    """No sound scheme was seen to give away more than it promises."""
    results = _results(step, EPSILON_TEST)
    return open_answer(broken_promises(results), bounds=len(results))


@check(MEMBERSHIP_TEST.asset_name)
def membership_within_promise(step: RecordStep) -> dg.AssetCheckResult:
    """Attacks on our own releases do on average no better, by two standard errors, than epsilon and delta allow."""
    privacy = step.settings.privacy
    mean, error = mean_auc(_results(step, MEMBERSHIP_TEST))
    allowed = largest_auc(privacy.epsilon, privacy.delta)
    promise = f"epsilon {privacy.epsilon:g} and delta {privacy.delta:g} allow {allowed:.3f}"
    said = f"the mean AUC is {mean:.3f} ± {error:.3f} (standard error), but {promise}"
    problems = [said] if beyond_doubt(mean, error) > allowed else []
    return open_answer(problems, warn=True, mean_auc=mean, standard_error=error, largest_auc=allowed)


def _results(step: RecordStep, test: Study[Any]) -> pl.DataFrame:
    week = step.week if test.weekly else step.settings.city.first_week
    return pl.read_parquet(test.folder(Source(step.settings, step.city.store, week)) / "results.parquet")
