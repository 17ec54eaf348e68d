"""What the noisy numbers of a week say of each cell, and of sums of cells: the estimate, in the release zone.

The estimate is that of the week's scheme. Where the scheme learns, it starts from what earlier weeks have said
(`past.py`), and the errors of any sum of its cells can be told.
"""

import polars as pl

from density_assets import series
from density_assets.city import City
from density_assets.estimation.weeks.state import Measured
from density_assets.geography.places import Places
from density_assets.geography.tables import GEOGRAPHY, place_ids, places_from
from density_assets.graph.assets import asset
from density_assets.graph.columns import SETTINGS, Columns, column
from density_assets.graph.doors import PLACES, cluster_labels, identity
from density_assets.graph.missing_hours import without_missing
from density_assets.graph.naming import GROUPS
from density_assets.graph.past import DRAWN, PAST, learns, refuse_unknown_draws, state_after
from density_assets.graph.step import Made, Step
from density_assets.privacy.accounts import Accounts
from density_assets.privacy.estimates import ALONE, WITH_EARLIER_WEEKS, Estimated
from density_assets.privacy.zones import Zone
from density_assets.publication.sum_errors import MEANING, SCHEMA, errors_table
from density_assets.schemes import SCHEMES, learning_scheme
from density_assets.schemes.drawn_tables import series_from, totals_from
from density_assets.schemes.learning import estimate_after, sums_after
from density_assets.schemes.scheme import TOTALS, Estimate

ORIGINS_OF_SUMS = {
    "kind": (SETTINGS,),
    "pattern": (SETTINGS,),
    "cell_id": ("cells.cell_id",),
    "hour": ("noisy_series.hour",),
    "value": (SETTINGS, *DRAWN, "usual_week.values", "overlaps.share"),
}
IDS = {"towers": "towers.tower_id", "cells": "cells.cell_id", "cover": "cover_graph.id"}  # of places, by kind


def _clusters_columns(city: City) -> Columns:
    ids = (IDS[city.scheme.places],)
    drawn = ("noisy_totals.value",) if city.scheme.clustered else ()
    return {
        "kind": column("`tower` or `cell`", *ids),
        "id": column("identifier of the place, as text", *ids),
        "cluster": column("number of its cluster, from 0", *ids, *drawn),
    }


def _clusters_deps(city: City) -> tuple[str, ...]:
    """A scheme that does not cluster looks at the list of its places only."""
    if not city.scheme.clustered:
        return (*identity(city), PLACES[city.scheme.places])
    return ("noisy_totals", *GEOGRAPHY[city.scheme.places])


@asset(
    Zone.RELEASE,
    _clusters_columns,
    deps=_clusters_deps,
    group=GROUPS[Zone.MECHANISM],  # between the doors, so that the lineage page reads from left to right
)
def clusters(step: Step) -> Made:
    """Places that share one noisy series, because alone they are too small to carry a shape of their own.

    Found from noisy totals and public geometry only (Acs & Castelluccia 2014, Alg. 3). A scheme that does not cluster
    leaves every place alone, and nothing reads this table.
    """
    scheme = SCHEMES[step.release.scheme]
    if scheme.clustered:
        drawn = totals_from(step.read("noisy_totals"))
        labels = scheme.clusters(step.release.doors, drawn, places_from(step.read, scheme.places))
    else:
        labels = cluster_labels(scheme, step.read)
    table = place_ids(step.read, scheme.places).with_columns(cluster=pl.Series(labels))
    return Made(table, facts={"clusters": int(labels.max()) + 1})


def _smoothed_columns(city: City) -> Columns:
    clustered = ("clusters.cluster",) if city.scheme.clustered else ()
    totals = ("noisy_totals.value",) if city.scheme.reads(city.settings)[TOTALS] else ()
    past = ("usual_week.values",) if learns(city) else ()
    drawn = ("noisy_series.value", *totals, *past)
    estimator = {"estimator": column("1 for a week estimated alone, 2 with other weeks", SETTINGS, *past)}
    return {
        "cell_id": column("identifier of the cell", "cells.cell_id"),
        "hour": column("hour of the week, 0 is Monday 00:00", "noisy_series.hour"),
        "visits": column("estimated visits, not yet rounded", *drawn, *clustered, "overlaps.share"),
        "standard_error": column(
            "how far noise may have moved the estimate, to first order", SETTINGS, *drawn, *clustered, "overlaps.share"
        ),
        **(estimator if past else {}),
    }


def _smoothed_deps(city: City) -> tuple[str, ...]:
    clustered = ("clusters",) if city.scheme.clustered else ()
    return (*clustered, *GEOGRAPHY[city.scheme.places])


@asset(
    Zone.RELEASE,
    _smoothed_columns,
    deps=_smoothed_deps,
    looks_back=lambda city: PAST if learns(city) else (),
    given=("accounts", "estimated"),
)
def smoothed_series(
    step: Step,
    noisy_totals: pl.DataFrame,
    noisy_series: pl.DataFrame,
    accounts: Accounts,
    estimated: Estimated | None,
) -> Made:
    """What the noisy numbers say of each cell: denoised, non-negative, scaled to the noisy totals, mapped to cells.

    Where the scheme learns, with what earlier weeks have said (`usual_week`), whose draws are paid for as well.
    """
    scheme = SCHEMES[step.release.scheme]
    places, labels = places_from(step.read, scheme.places), cluster_labels(scheme, step.read)
    totals, drawn = totals_from(noisy_totals), series_from(noisy_series)
    estimate, estimator = None, {}
    if learner := learning_scheme(step.release.scheme):
        estimate = _with_earlier_weeks(
            step, learner.measured(step.release.doors, totals, drawn), places, accounts, estimated
        )
        estimator = {"estimator": pl.lit(ALONE if estimate is None else WITH_EARLIER_WEEKS, pl.Int64)}
    estimate = estimate or scheme.estimate(step.settings, step.release.doors, totals, labels, drawn, places)
    visits = places.to_cells(scheme.places) @ estimate.series
    ids = step.read("cells").select("cell_id")
    table = series.table(ids, visits=visits, standard_error=estimate.cell_error)
    return Made(table.with_columns(**estimator))


def _with_earlier_weeks(
    step: Step, measured: Measured, places: Places, accounts: Accounts, estimated: Estimated | None
) -> Estimate | None:
    """The estimate with what earlier weeks have said; none where the week is estimated alone."""
    if estimated is None or estimated.alone:
        return None
    refuse_unknown_draws(step, estimated.used, accounts)
    past = state_after(step, estimated.used, accounts)
    estimate = estimate_after(past, measured, places.to_cells("towers"), places.tower_xy)
    if estimate is None:
        step.warn(
            f"the week of {step.week} is estimated alone: with earlier weeks the estimator finds no finite numbers"
        )
    return estimate


@asset(
    Zone.RELEASE,
    {name: column(meaning, *ORIGINS_OF_SUMS[name]) for name, meaning in MEANING.items()},
    deps=_smoothed_deps,
    looks_back=PAST,
    given=("accounts", "estimated"),
    where=learns,
)
def errors_of_sums(
    step: Step,
    noisy_totals: pl.DataFrame,
    noisy_series: pl.DataFrame,
    smoothed_series: pl.DataFrame,
    accounts: Accounts,
    estimated: Estimated | None,
) -> Made:
    """How errors of cells and hours go together, as a few patterns from which the error of any sum can be told.

    Of the same estimate as `smoothed_series`, at no cost. Empty for a week that was estimated alone.
    """
    learner = learning_scheme(step.release.scheme)
    if learner is None or estimated is None or smoothed_series["estimator"][0] == ALONE:
        return Made(pl.DataFrame(schema=SCHEMA))
    places = places_from(step.read, learner.places)
    measured = learner.measured(step.release.doors, totals_from(noisy_totals), series_from(noisy_series))
    past = state_after(step, estimated.used, accounts)
    summary = sums_after(past, measured, places.to_cells("towers"), places.tower_xy)
    if summary is None:
        step.warn(f"errors of sums of the week of {step.week} are not published: they are no finite numbers")
        return Made(pl.DataFrame(schema=SCHEMA))
    table = without_missing(step, errors_table(summary, step.read("cells")["cell_id"]))
    return Made(table, facts={"kinds": len(summary.kinds)})


def of_sums(city: City) -> tuple[str, ...]:
    """What those depend on who publish errors of sums, where a city has them."""
    return ("errors_of_sums",) if learns(city) else ()


def known_sums(step: Step) -> pl.DataFrame | None:
    """The errors of sums of a week, or of the final estimate of it; none where the estimate does not tell them."""
    name = "errors_of_sums" if step.upto is None else "final_errors_of_sums"
    if learning_scheme(step.release.scheme) is None or not step.read.made(name):
        return None
    table = step.read(name).select(*SCHEMA)
    return None if table.is_empty() else table
