"""The code location of studies and attack tests, second in `workspace.yaml`: a city's own lineage shows the city alone.

Each is an asset: figures and summary in the UI, files where `density study` writes them. They belong to the evaluation
zone, because they compare with the truth; nothing is downstream of them.
"""

from collections.abc import Callable
from datetime import date
from typing import Any

import dagster as dg
import polars as pl

from density_assets.city import City
from density_assets.graph.catalogue import EPSILON_WITHIN_PROMISE, MEMBERSHIP_WITHIN_PROMISE, KnownCheck
from density_assets.graph.checks.outcomes import open_answer
from density_assets.graph.columns import inline_picture
from density_assets.graph.naming import OWNERS, key, own, weekly_partitions
from density_assets.graph.terminal import console
from density_assets.privacy.zones import Zone
from density_assets.research.membership.own_releases import beyond_doubt, mean_auc
from density_assets.research.promise.epsilon_bounds import largest_auc
from density_assets.research.promise.epsilon_study import broken_promises
from density_assets.research.studies import STUDIES, study_named
from density_assets.research.study import Source, Study, conduct
from density_assets.settings import Settings

GROUPS = {"study": "6_studies", "attack_test": "7_attack_tests"}

Judge = Callable[[Settings, pl.DataFrame], dg.AssetCheckResult]


@dg.definitions
def defs() -> dg.Definitions:
    """The studies of the city the environment names, or of all that share its instance."""
    return dg.Definitions.merge(*map(build_studies, City.all_here()))


def build_studies(city: City) -> dg.Definitions:
    """All studies and attack tests of one city, and the checks of what they find."""
    return dg.Definitions(
        assets=[study_asset(study_named(name), city) for name in STUDIES],
        asset_checks=[attack_check(known, judge, city) for known, judge in JUDGES],
        loggers={"console": console},
        executor=dg.in_process_executor,
    )


def study_asset(study: Study[Any], city: City) -> dg.AssetsDefinition:
    """One study as an asset; weekly ones have a partition per week."""

    def run(context: dg.AssetExecutionContext) -> dg.MaterializeResult[None]:
        outcome = conduct(study, _source(study, city, context), study.repetitions, context.log.info)
        pictures = {name: inline_picture(picture) for name, picture in outcome.pictures.items()}
        summary, folder = dg.MetadataValue.md(outcome.summary), str(outcome.folder.relative_to(city.store.folder))
        return dg.MaterializeResult(metadata={"summary": summary, "folder": folder, **pictures})

    return dg.asset(
        key=key(city, study.asset_name),
        description=f"{study.title}. {study.repetitions} seeded repetitions; finished ones are kept.",
        group_name=own(city, GROUPS[study.kind]),
        owners=[OWNERS[Zone.EVALUATION]],
        tags={"zone": Zone.EVALUATION.value},
        kinds={"python", "matplotlib"},
        code_version=str(study.version),
        partitions_def=weekly_partitions(city) if study.weekly else None,
        deps=[key(city, table) for table in study.tables],
    )(run)


def attack_check(known: KnownCheck, judge: Judge, city: City) -> dg.AssetChecksDefinition:
    """The check of what an attack test finds. Its people are invented, so numbers may be shown."""
    test = study_named(known.asset)

    def run(context: dg.AssetCheckExecutionContext) -> dg.AssetCheckResult:
        folder = test.folder(_source(test, city, context))
        return judge(city.settings, pl.read_parquet(folder / "results.parquet"))

    return dg.asset_check(asset=key(city, known.asset), name=known.name, description=known.about)(run)


def epsilon_within_promise(_: Settings, results: pl.DataFrame) -> dg.AssetCheckResult:
    """Fail if a sound scheme was seen to give away more than it promises."""
    return open_answer(broken_promises(results), bounds=len(results))


def membership_within_promise(settings: Settings, results: pl.DataFrame) -> dg.AssetCheckResult:
    """Warn if attacks on our own releases do on average better than allowed, by two standard errors."""
    epsilon, delta = settings.privacy.epsilon, settings.privacy.delta
    (mean, error), allowed = mean_auc(results), largest_auc(epsilon, delta)
    promise = f"epsilon {epsilon:g} and delta {delta:g} allow {allowed:.3f}"
    above = f"the mean AUC is {mean:.3f} ± {error:.3f} (standard error), but {promise}"
    problems = [above] if beyond_doubt(mean, error) > allowed else []
    return open_answer(problems, warn=True, mean_auc=mean, standard_error=error, largest_auc=allowed)


JUDGES: tuple[tuple[KnownCheck, Judge], ...] = (
    (EPSILON_WITHIN_PROMISE, epsilon_within_promise),
    (MEMBERSHIP_WITHIN_PROMISE, membership_within_promise),
)


def _source(study: Study[Any], city: City, context: dg.AssetExecutionContext | dg.AssetCheckExecutionContext) -> Source:
    """The city, and the week of the run if the study works on one."""
    week = date.fromisoformat(context.partition_key) if study.weekly else city.settings.city.first_week
    return Source(city.settings, city.store, week)
