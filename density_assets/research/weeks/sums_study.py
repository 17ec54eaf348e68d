"""Errors of sums: whether 95 % intervals of areas and periods of all sizes hold, and how wide they are."""

from itertools import product

import polars as pl
from matplotlib.figure import Figure

from density_assets.research.markdown_tables import markdown
from density_assets.research.plots.trials import dots
from density_assets.research.study import Row, Study, averaged
from density_assets.research.weeks.estimators import WITH_AND_WITHOUT_PAST, week_by_week
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
from density_assets.research.weeks.sums import judged, kinds_of_sums

WEEKS = 8
JUDGED = (1, 4, 8)
METRICS = ("coverage", "width", "off")
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
            for kind, sums in kinds.items() if number in JUDGED else ():
                found = judged(sums, city.weeks[number - 1].original, estimate)
                rows.append({"estimator": name, "week": number, "sums": kind, **found})
    return rows


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
        cells = [f"{row['coverage']:.3f}, {row['width']:.3f}, {row['off']:.2f}" for row in part.iter_rows(named=True)]
        rows.append([*map(str, key), *cells])
    text = (
        "Share of 95 % intervals that hold the truth, their width beside what they hold (median), and errors in "
        f"standard errors (root of mean squares; 1 if these are right). At least {ENOUGH:.0%} should hold."
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
    made_from=made_from,
)
