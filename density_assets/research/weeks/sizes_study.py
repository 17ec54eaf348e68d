"""Small cities: from how many people on a release says more than a flat or an empty map, and never less than EFPAG.

All of it is about the first week of a city, when nothing is known of it but its geography.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from density_assets.estimation.weeks.state import Measured
from density_assets.privacy.noise import SimulatedNoise
from density_assets.privacy.release import FORMAT
from density_assets.privacy.sensitivity import WEIGHT_UNIT
from density_assets.quality.accuracy import mre, pearson
from density_assets.research.contributions import CountedWeek
from density_assets.research.plots.curves import over_people
from density_assets.research.results import markdown
from density_assets.research.study import Row, Source, Study, averaged, cached_plan
from density_assets.research.weeks.cities import (
    KEPT,
    TRUNCATED_TO,
    CityPlan,
    CountedCity,
    Generator,
    counted_city,
    plan_city,
    truncated_week,
)
from density_assets.research.weeks.counting import TruncatedCounts, WeeksPromise, measure
from density_assets.research.weeks.estimators import LEARNING, LEARNING_NAME, LEARNING_VERSION
from density_assets.schemes import SCHEMES
from density_assets.schemes.run import run
from density_assets.series import Floats
from density_assets.settings import Settings

USERS = (20_000, 50_000, 100_000, 500_000, 2_000_000)
TOWERS = (60, 1300)
SEEDS: dict[Generator, int] = {"people": 17, "patchwork": 23}
EPSILONS = (0.1, 0.3, 1.0)
METRICS = ("mre", "pc")
WORSE = 1.03  # times the error of EFPAG, at most
FLAT, EMPTY = "flat map, noisy rhythm", "empty map"
BESIDE = "efpag"
BY = ["generator", "towers", "users", "epsilon", "method"]


@dataclass(frozen=True, eq=False)
class SmallCity:
    """One week of a city, counted for every scheme."""

    city: CountedCity
    truncated: TruncatedCounts

    def counted(self, weight_l: int) -> CountedWeek:
        """As schemes' doors see it."""
        (week,) = self.city.weeks
        weighted = np.rint(week.weighted[weight_l] * WEIGHT_UNIT).astype(np.int64)
        return CountedWeek(
            places=self.city.ground.places,
            truncated=self.truncated.truncated,
            weighted=weighted,
            sampled=self.truncated.sampled,
            visit_total=int(week.visits),
            tower_totals=np.rint(week.tower_totals * WEIGHT_UNIT).astype(np.int64),
        )


SmallCities = Mapping[tuple[Generator, int, int], SmallCity]


@cache
def _plan_of(generator: Generator, towers: int, users: int) -> CityPlan:
    return plan_city(f"{generator}_{towers}_{users}", generator, towers, SEEDS[generator], users)


def load(source: Source) -> SmallCities:
    """All cities, of one week each."""
    folder, found = source.folder / KEPT, {}
    for key in product(SEEDS, TOWERS, USERS):
        plan = _plan_of(*key)
        city = counted_city(plan, 1, folder, source.report)
        found[key] = SmallCity(city, truncated_week(plan, folder))
        source.report(f"sizes: {len(found)} of {len(SEEDS) * len(TOWERS) * len(USERS)} cities are there")
    return found


def once(cities: SmallCities, point: Row, seed: int) -> list[Row]:
    """Every method on one city at one epsilon."""
    key = (point["generator"], point["towers"], point["users"])
    if key not in cities:
        return []
    small, promise = cities[key], WeeksPromise(point["epsilon"])
    (week,), ground = small.city.weeks, small.city.ground
    measured = measure(week, promise, (seed, 1))
    estimate, _ = LEARNING(None, measured, ground.towers.xy)
    densities = {LEARNING_NAME: ground.to_cells @ estimate.series, BESIDE: released_under(small, BESIDE, promise, seed)}
    true = ground.to_cells @ week.original
    densities |= {FLAT: ground.to_cells @ flat_map(measured), EMPTY: np.zeros_like(true)}
    return [{"method": name, "mre": mre(true, map_), "pc": pearson(true, map_)} for name, map_ in densities.items()]


def flat_map(measured: Measured) -> Floats:
    """As many visits at every tower, in the rhythm of the whole city as it was measured."""
    rhythm = np.maximum(measured.series.sum(axis=0), 0.0)
    share = rhythm / rhythm.sum() if rhythm.any() else np.full(len(rhythm), 1 / len(rhythm))
    return np.tile(max(measured.visits, 0.0) / len(measured.series) * share, (len(measured.series), 1))


def released_under(small: SmallCity, name: str, promise: WeeksPromise, seed: int) -> Floats:
    """The first week as a scheme releases it: visits per cell and hour."""
    settings = _settings(name, promise)
    plan = cached_plan(settings.privacy, settings.scheme)
    counts = small.counted(promise.weight_l).counts(SCHEMES[name])
    return run(SCHEMES[name], settings, plan, counts, small.city.ground.places, SimulatedNoise(seed))


@cache
def _settings(name: str, promise: WeeksPromise) -> Settings:
    privacy = {"epsilon": promise.epsilon, "delta": promise.delta, "visits_per_user": TRUNCATED_TO}
    chosen = {"privacy": privacy, "scheme": {"name": name, "weight_l": promise.weight_l}}
    return Settings.model_validate(chosen)


def figures(cities: SmallCities, results: pl.DataFrame) -> dict[str, Figure]:
    """The estimator's error beside EFPAG's over the size of the city."""
    named = _beside_efpag(results).with_columns(kind=pl.format("{}, {} towers", "generator", "towers"))
    return {"sizes": over_people(named, "ratio", "kind", label="MRE beside EFPAG's", mark=WORSE)}


def _beside_efpag(results: pl.DataFrame) -> pl.DataFrame:
    """One row per city and epsilon: the error of each method, and the estimator's as a multiple of EFPAG's."""
    means = averaged(results, BY, METRICS)
    wide = means.pivot("method", index=BY[:-1], values="mre")
    return wide.with_columns(ratio=pl.col(LEARNING_NAME) / pl.col(BESIDE))


def summary(results: pl.DataFrame) -> str:
    """MRE of every method, and the estimator beside EFPAG."""
    methods = (LEARNING_NAME, BESIDE, FLAT, EMPTY)
    rows = [
        [
            row["generator"],
            f"{row['towers']:,}",
            f"{row['users']:,}",
            f"{row['epsilon']:g}",
            *(f"{row[method]:.3f}" for method in methods),
            f"{row['ratio']:.2f}" + ("" if row["ratio"] <= WORSE else " (worse)"),
        ]
        for row in _beside_efpag(results).iter_rows(named=True)
    ]
    text = (
        f"MRE of the first week, delta 2e-6, weights for 20, mean over repetitions. `{LEARNING_NAME}` is the default "
        "scheme, here without any; `efpag` has sound calibration; the flat map has the noisy rhythm of the whole city "
        f"at every tower; the empty map is zero everywhere. Worse: more than {WORSE:g} times the error of EFPAG."
    )
    head = ("people of", "towers", "people", "epsilon", *methods, "beside EFPAG")
    return text + "\n\n" + markdown(head, rows, "l")


def made_from(source: Source) -> Row:
    """What is compared, and the plans of the cities."""
    versions = {LEARNING_NAME: LEARNING_VERSION, BESIDE: FORMAT}
    return {"compared": versions, "cities": [_plan_of(*key).key for key in product(SEEDS, TOWERS, USERS[:1])]}


SIZES_STUDY = Study(
    name="sizes",
    title="Small cities",
    grid=tuple(
        {"generator": generator, "towers": towers, "users": users, "epsilon": epsilon}
        for generator, towers, users, epsilon in product(SEEDS, TOWERS, USERS, EPSILONS)
    ),
    load=load,
    once=once,
    figures=figures,
    summary=summary,
    repetitions=5,
    made_from=made_from,
)
