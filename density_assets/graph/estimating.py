"""The estimate of a week as tables: what its noisy numbers say of each cell, and of sums of cells.

What they show is part of the composition that is signed (`release/compose.py`), so nothing is estimated twice in a run.
"""

import numpy as np
import polars as pl

from density_assets.city import City
from density_assets.geography.tables import GEOGRAPHY, place_ids, places_from
from density_assets.graph.assets import asset
from density_assets.graph.columns import SETTINGS, Columns, column
from density_assets.graph.doors import PLACES, cluster_labels, identity
from density_assets.graph.naming import GROUPS
from density_assets.graph.step import Made, Step
from density_assets.privacy.estimates import ALONE, WITH_EARLIER_WEEKS
from density_assets.privacy.zones import Zone
from density_assets.publication.pictures import week_rhythm
from density_assets.publication.sum_errors import MEANING
from density_assets.release.compose import Composition, Terms, composition
from density_assets.release.estimate import STATES, state_from
from density_assets.schemes import SCHEMES, learning_scheme
from density_assets.schemes.drawn_tables import totals_from
from density_assets.schemes.scheme import SERIES, TOTALS

DOORS = (TOTALS, SERIES)
PAST = (STATES, *DOORS)  # what an estimate with earlier weeks looks back at
DRAWN = ("noisy_totals.value", "noisy_series.value")
ORIGINS_OF_SUMS = {
    "kind": (SETTINGS,),
    "pattern": (SETTINGS,),
    "cell_id": ("cells.cell_id",),
    "hour": ("noisy_series.hour",),
    "value": (SETTINGS, *DRAWN, "usual_week.values", "overlaps.share"),
}
IDS = {"towers": "towers.tower_id", "cells": "cells.cell_id", "cover": "cover_graph.id"}  # of places, by kind


def learns(city: City) -> bool:
    """Whether weeks of a city can be estimated with what earlier weeks have said."""
    return learning_scheme(city.scheme.name) is not None


def composed_of(city: City) -> tuple[str, ...]:
    """The assets that a release of a city is composed of."""
    return (*DOORS, *GEOGRAPHY[city.scheme.places])


def past_of(city: City) -> tuple[str, ...]:
    """The assets whose earlier weeks enter a release of a city."""
    return PAST if learns(city) else ()


def composed(step: Step, terms: Terms) -> Composition:
    """Return what the release of the week is composed of."""
    places = SCHEMES[step.release.scheme].places
    tables = {name: step.read(name) for name in GEOGRAPHY[places]}
    return composition(step.settings, step.release, step.files, tables, step.read, terms)


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


@asset(
    Zone.RELEASE,
    {
        "part": column(
            "what of the state it is: sums over weeks, how hours vary together, how far weeks drift", SETTINGS
        ),
        "shape": column("rows and columns of its numbers; empty for a single number", "towers.tower_id"),
        "values": column(
            "its numbers, 64 bits each, little-endian, row by row", *DRAWN, "towers.x", "towers.y", "usual_week.values"
        ),
        "draws": column("digests of the draws it is made of, oldest week first", *DRAWN, "usual_week.draws"),
    },
    deps=composed_of,
    looks_back=PAST,
    given=("terms",),
    where=learns,
)
def usual_week(step: Step, terms: Terms) -> Made:
    """What this week and those before it say of a usual week: the state that the next week's estimate starts from.

    Made from the state of the week before and this week's draws, at no cost: all of it is paid for and public. Empty
    for a week that was estimated alone.
    """
    of = composed(step, terms).estimation
    if of.state.is_empty():
        return Made(of.state)
    parts = state_from(of.state).arrays()
    rhythm = (parts["total"] / np.maximum(parts["weight"], np.finfo(np.float64).tiny)).sum(axis=0)
    picture = week_rhythm(f"a usual week, from {len(of.used)} weeks", **{"weighted visits": rhythm})
    return Made(of.state, {"rhythm": picture}, {"weeks": len(of.used)})


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
    return (*(("clusters",) if city.scheme.clustered else ()), *composed_of(city))


@asset(Zone.RELEASE, _smoothed_columns, deps=_smoothed_deps, looks_back=past_of, given=("terms",))
def smoothed_series(step: Step, terms: Terms) -> Made:
    """What the noisy numbers say of each cell: denoised, non-negative, scaled to the noisy totals, mapped to cells.

    Where the scheme learns, with what earlier weeks have said (`usual_week`), whose draws are paid for as well.
    """
    of = composed(step, terms).estimation
    if of.estimated is None:
        return Made(of.cells)
    if of.alone:
        step.warn(
            f"the week of {step.week} is estimated alone: with earlier weeks the estimator finds no finite numbers"
        )
    estimator = ALONE if of.alone else WITH_EARLIER_WEEKS
    return Made(of.cells.with_columns(estimator=pl.lit(estimator, pl.Int64)))


@asset(
    Zone.RELEASE,
    {name: column(meaning, *ORIGINS_OF_SUMS[name]) for name, meaning in MEANING.items()},
    deps=lambda city: (*composed_of(city), "smoothed_series"),
    looks_back=PAST,
    given=("terms",),
    where=learns,
)
def errors_of_sums(step: Step, terms: Terms) -> Made:
    """How errors of cells and hours go together, as a few patterns from which the error of any sum can be told.

    Of the same estimate as `smoothed_series`, at no cost. Empty for a week that was estimated alone.
    """
    of = composed(step, terms).estimation
    if of.sums.is_empty() and not of.alone:
        step.warn(f"errors of sums of the week of {step.week} are not published: they are no finite numbers")
    return Made(of.sums, facts={"kinds": of.sums["kind"].n_unique()})


def of_sums(city: City) -> tuple[str, ...]:
    """The asset with errors of sums, where a city has it."""
    return ("errors_of_sums",) if learns(city) else ()
