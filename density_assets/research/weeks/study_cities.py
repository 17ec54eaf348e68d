"""The cities a study of weeks works on, and what they are made from.

Without anything else the embedded city and the patchwork; a geography of one's own (settings) or a folder of
pedestrians (data) takes their place.
"""

from collections.abc import Callable, Mapping

from density_assets.research.study import Row, Source
from density_assets.research.weeks.cities import CityPlan, CountedCity, embedded, own, patchwork
from density_assets.research.weeks.counted_weeks import counted_city
from density_assets.research.weeks.estimators import LEARNING_NAME, LEARNING_VERSION
from density_assets.research.weeks.measuring import Promise
from density_assets.research.weeks.pedestrians import POPULATION, VISITS, pedestrian_city

NAMES = ("embedded", "patchwork", "own", "pedestrians")
KEPT = "cities"  # the folder of simulated weeks, beside those of the studies

Cities = Mapping[str, CountedCity]


def plans(source: Source) -> list[CityPlan]:
    """What is simulated."""
    if source.data is not None:
        return []
    return [embedded(), patchwork()] if source.settings.city.embedded else [own(source.settings)]


def load_cities(weeks: int) -> Callable[[Source], Cities]:
    """How to get the first weeks of the study's cities."""

    def load(source: Source) -> Cities:
        if source.data is not None:
            return {"pedestrians": pedestrian_city(source.data, weeks)}
        return {plan.name: counted_city(plan, weeks, source.folder / KEPT, source.report) for plan in plans(source)}

    return load


def made_from(source: Source) -> Row:
    """Plans and estimator: others make other repetitions."""
    return {"estimator": [LEARNING_NAME, LEARNING_VERSION], "cities": [plan.key for plan in plans(source)]}


def about(cities: Cities) -> str:
    """Each city in a few words."""
    parts = [
        f"{city.name}: {len(city.ground.towers):,} towers, {len(city.ground.cells):,} cells, "
        f"{city.weeks[0].visits:,.0f} visits in the first week"
        for city in cities.values()
    ]
    note = (
        f" Counts of pedestrians are scaled to {POPULATION:,} people of {VISITS} visits each and have no weights: "
        "there are no people in them."
    )
    return "; ".join(parts) + "." + (note if "pedestrians" in cities else "")


def point_of(promise: Promise) -> Row:
    """A promise as columns of a grid."""
    return {
        "promise": str(promise),
        "epsilon": promise.epsilon,
        "delta": promise.delta,
        "total_weeks": promise.weeks,
        "weight_l": promise.weight_l,
    }


def promise_of(point: Row) -> Promise:
    """The promise of a point of a grid."""
    return Promise(point["epsilon"], point["delta"], point["total_weeks"], point["weight_l"])
