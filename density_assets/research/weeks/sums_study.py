"""Errors of sums: whether 95 % intervals of areas and periods of all sizes hold, and how wide they are.

Intervals are those of each estimate, and those that readers make with the published table of errors of sums.
"""

from collections.abc import Iterator, Mapping
from itertools import product

import polars as pl
from matplotlib.figure import Figure

from density_assets.estimation.weeks.estimate import WeekEstimate as Learned
from density_assets.research.markdown_tables import markdown
from density_assets.research.plots.trials import dots
from density_assets.research.study import Row, Study, averaged
from density_assets.research.weeks.cities import Ground
from density_assets.research.weeks.estimators import WITH_AND_WITHOUT_PAST, Floats, WeekEstimate, week_by_week
from density_assets.research.weeks.measuring import Promise, measure
from density_assets.research.weeks.study_cities import (
    NAMES,
    Cities,
    about,
    load_cities,
    made_from,
    point_of,
    promise_of,
)
from density_assets.research.weeks.sums import Published, Sums, judged, kinds_of_sums

WEEKS = 8
JUDGED = (1, 4, 8)
METRICS = ("coverage", "width", "off", "spread")
DIGITS = {"coverage": 3, "width": 3, "off": 2, "spread": 2}
PUBLISHED = "published table"
PROMISES = (Promise(0.1, weight_l=10), Promise(0.3, weight_l=20), Promise(1.0, weight_l=20))
ENOUGH = 0.92  # of 95 % intervals


def once(cities: Cities, point: Row, seed: int) -> list[Row]:
    """Each kind of sum in some weeks, by each estimator; random sets are others in every repetition."""
    if point["city"] not in cities:
        return []
    city, promise = cities[point["city"]], promise_of(point)
    kinds = kinds_of_sums(city.ground, seed)
    measured = [measure(week, promise, (seed, number)) for number, week in enumerate(city.weeks, start=1)]
    rows = []
    for name, estimator in WITH_AND_WITHOUT_PAST.items():
        for number, estimate in enumerate(week_by_week(estimator, measured, city.ground.towers.xy), start=1):
            if number in JUDGED:
                of_week = _of_week(name, estimate, city.weeks[number - 1].original, city.ground, kinds)
                rows += [{"week": number, **row} for row in of_week]
    return rows


def _of_week(
    name: str, estimate: WeekEstimate, true: Floats, ground: Ground, kinds: Mapping[str, Sums]
) -> Iterator[Row]:
    """Each kind of sum with the errors of an estimate and, where there is one, by its published table."""
    stated = {name: None} | ({PUBLISHED: Published.of(estimate, ground)} if isinstance(estimate, Learned) else {})
    for (by, published), (kind, sums) in product(stated.items(), kinds.items()):
        yield {"estimator": by, "sums": kind, **judged(sums, true, estimate, published)}


def figures(cities: Cities, results: pl.DataFrame) -> dict[str, Figure]:
    """For each city the coverage of each kind of sum, by estimator and week, at all promises together."""
    means = averaged(results, ["city", "estimator", "week", "sums"], METRICS)
    named = means.with_columns(line=pl.format("{}, week {}", "estimator", "week"))
    label = "share of 95 % intervals that hold"
    return {
        f"sums_{city}": dots(named.filter(city=city), "sums", "coverage", "line", label=label, mark=0.95)
        for city in means["city"].unique(maintain_order=True)
    }


def summary(results: pl.DataFrame) -> str:
    """Coverage and width of each kind of sum, over the judged weeks."""
    by = ["city", "promise", "estimator", "sums"]
    rows = []
    means = averaged(results, [*by, "week"], METRICS)
    for key, part in means.group_by(by, maintain_order=True):
        cells = [", ".join(f"{row[metric]:.{DIGITS[metric]}f}" for metric in METRICS) for row in part.to_dicts()]
        rows.append([*map(str, key), *cells])
    text = (
        "Share of 95 % intervals that hold the truth, their width beside what they hold (median), errors in standard "
        "errors (root of mean squares; 1 if these are right), and standard errors beside those of the estimate itself "
        f"(mean; the published table is a summary of these). At least {ENOUGH:.0%} should hold."
    )
    head = ("city", "promise", "estimator", "sums", *(f"week {week}" for week in JUDGED))
    return text + "\n\n" + markdown(head, rows, "llll")


SUMS_STUDY = Study(
    name="sums",
    title="Errors of sums",
    grid=tuple({"city": city, **point_of(promise)} for city, promise in product(NAMES, PROMISES)),
    load=load_cities(WEEKS),
    once=once,
    figures=figures,
    summary=summary,
    about=about,
    repetitions=10,
    version=2,
    made_from=made_from,
)
