"""Twelve weeks, one after another: how errors fall as weeks learn from weeks."""

from itertools import product

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from density_assets.calendar import HOURS
from density_assets.quality.accuracy import mean_emd, mre, pearson
from density_assets.research.plots.curves import curves
from density_assets.research.published_metrics import EMD_HOURS
from density_assets.research.results import markdown
from density_assets.research.study import Row, Study, averaged
from density_assets.research.weeks.cities import (
    NAMES,
    Cities,
    CountedCity,
    cities_made_from,
    describe_cities,
    load_cities,
    point_of,
    promise_of,
)
from density_assets.research.weeks.counting import WeekCounts, WeeksPromise, measure
from density_assets.research.weeks.estimators import WITH_AND_WITHOUT_PAST, WeekEstimate, coverage, week_by_week

WEEKS = 12
SHOWN = (1, 2, 4, 8, 12)
EMD_WEEKS = (1, 4, 8, 12)  # the dearest metric
METRICS = ("mre", "pc", "emd", "coverage")
PROMISES = (
    WeeksPromise(0.1, weight_l=10),
    WeeksPromise(0.3, weight_l=20),
    WeeksPromise(1.0, weight_l=20),
    WeeksPromise(1.0, delta=1e-6, weeks=52, weight_l=10),
)


def score(city: CountedCity, week: WeekCounts, estimate: WeekEstimate, *, emd: bool) -> Row:
    """MRE, PC, EMD and the coverage of intervals, on cells and against the original visits."""
    mapping = city.ground.to_cells
    true, density = mapping @ week.original, mapping @ estimate.series
    variance = estimate.variance_of_sums(mapping, np.eye(HOURS))
    metres = mean_emd(true, density, city.ground.cells.centroids, EMD_HOURS) if emd else None
    return {
        "mre": mre(true, density),
        "pc": pearson(true, density),
        "emd": metres,
        "coverage": coverage(true, density, variance),
    }


def once(cities: Cities, point: Row, seed: int) -> list[Row]:
    """All weeks of a city under one promise, by each estimator; nothing of a city that is not there."""
    if point["city"] not in cities:
        return []
    city, promise = cities[point["city"]], promise_of(point)
    measured = [measure(week, promise, (seed, number)) for number, week in enumerate(city.weeks, start=1)]
    rows = []
    for name, estimator in WITH_AND_WITHOUT_PAST.items():
        estimates = week_by_week(estimator, measured, city.ground.towers.xy)
        for number, (week, estimate) in enumerate(zip(city.weeks, estimates, strict=True), start=1):
            found = score(city, week, estimate, emd=number in EMD_WEEKS)
            rows.append({"estimator": name, "week": number, **found})
    return rows


def figures(cities: Cities, results: pl.DataFrame) -> dict[str, Figure]:
    """For each city the error, the correlation and the coverage over weeks, a line for each promise."""
    means = averaged(results, ["city", "promise", "estimator", "week"], METRICS)
    named = means.with_columns(line=pl.format("{}, {}", "promise", "estimator"))
    return {f"weeks_{city}": _over_weeks(named.filter(city=city)) for city in means["city"].unique(maintain_order=True)}


def _over_weeks(part: pl.DataFrame) -> Figure:
    figure = curves(part, "week", ("mre", "pc", "coverage"), "line")
    for axes in figure.axes:
        axes.set_xticks(part["week"].unique().sort().to_list()[1::2])
    return figure


def summary(results: pl.DataFrame) -> str:
    """MRE / PC / EMD and coverage of some weeks, and the last week's error beside that of the week alone."""
    means = averaged(results, ["city", "promise", "weight_l", "estimator", "week"], METRICS)
    rows = []
    for (city, promise, weight_l, estimator), part in means.group_by(
        "city", "promise", "weight_l", "estimator", maintain_order=True
    ):
        by_week = {row["week"]: row for row in part.iter_rows(named=True)}
        cells = [_cell(by_week[week]) if week in by_week else "" for week in SHOWN]
        rows.append([str(city), str(promise), str(weight_l), str(estimator), *cells])
    text = (
        "MRE / PC / EMD in metres (coverage of 95 % intervals) on cells, mean over repetitions. Every week is measured "
        "once; an estimate may use the measurements of the weeks before it, which costs nothing."
    )
    head = ("city", "promise", "weight_l", "estimator", *(f"week {week}" for week in SHOWN))
    return text + "\n\n" + markdown(head, rows, "llll")


def _cell(row: Row) -> str:
    metres = "" if row["emd"] is None else f" / {row['emd']:.0f}"
    return f"{row['mre']:.4f} / {row['pc']:.4f}{metres} ({row['coverage']:.3f})"


WEEKS_STUDY = Study(
    name="weeks",
    title="Week after week",
    grid=tuple({"city": city, **point_of(promise)} for city, promise in product(NAMES, PROMISES)),
    load=load_cities(WEEKS),
    once=once,
    figures=figures,
    summary=summary,
    about=describe_cities,
    made_from=cities_made_from,
)
