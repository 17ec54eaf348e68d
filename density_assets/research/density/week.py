"""What a study works on: the matrices of one materialised week of a synthetic city."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from density_assets import series
from density_assets.errors import BadInput
from density_assets.geography.tables import cells_from, places_from
from density_assets.research.contributions import CountedWeek, read_counted
from density_assets.research.study import Source
from density_assets.settings import Settings

PAPERS_DELTA = 2e-6  # Acs & Castelluccia 2014, §6; twenty times the default of releases
TABLES = (
    "tower_series",
    "tower_totals",
    "one_visit_histogram",
    "visit_total",
    "cells",
    "towers",
    "tower_cells",
    "overlaps",
    "cover_graph",
)


@dataclass(frozen=True)
class Week(CountedWeek):
    """A week's counts before and after truncation, and the public geography they lie on.

    settings: those the week was made under; a point of a grid may name others.
    truth: original visits per cell and hour, which every metric compares with.
    tower_visits: original visits of each tower.
    """

    settings: Settings
    centroids: NDArray[np.float64]
    truth: NDArray[np.float64]
    tower_visits: NDArray[np.float64]


def load_week(source: Source) -> Week:
    """Read a materialised week; real people's weeks are refused, because a study draws many times."""
    settings, store, week = as_printed(source.settings), source.store, source.week
    if not settings.city.synthetic:
        raise BadInput(
            "a study must run on a synthetic city, got records of real people: it draws noise many times and compares "
            "with the truth, which nobody pays for. Simulate people on the same geography: city.users, no city.visits"
        )
    if not all(store.has_week(table, week) for table in ("visit_total", "tower_totals")):
        raise BadInput(f"the week of {week} of {settings.city.name} must be materialised first: `density release`")
    towers, places = store.read_public("towers")["tower_id"], places_from(source.public, "cover")
    original = series.matrix(store.read_week("tower_series", week), towers, "original").astype(np.float64)
    return Week(
        **vars(read_counted(store, week, places)),
        settings=settings,
        centroids=cells_from(store.read_public("cells")).centroids,
        truth=places.to_cells("towers") @ original,
        tower_visits=original.sum(axis=1),
    )


def as_printed(settings: Settings) -> Settings:
    """Settings with the delta of the papers, unless a person has stated one: their tables are compared with."""
    stated = "delta" in settings.privacy.model_fields_set
    return settings if stated else settings.with_privacy(delta=PAPERS_DELTA)


def bounds(week: Week) -> str:
    """The settings that bound what one user adds, as a line above a summary."""
    privacy, scheme = week.settings.privacy, week.settings.scheme
    return (
        f"Unless a table says otherwise: delta {privacy.delta:g}, l = {privacy.visits_per_user} visits kept per user, "
        f"{privacy.visits_clamp} counted in the number of visits, weights for {scheme.weight_l}."
    )
