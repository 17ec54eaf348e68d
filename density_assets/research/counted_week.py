"""A week as the doors would see it, outside of the pipeline: what was counted, and the places it lies on."""

from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray

from density_assets import series
from density_assets.geography.places import Places
from density_assets.schemes.scheme import Counts, Scheme
from resources.tables.store import Store


@dataclass(frozen=True)
class CountedWeek:
    """Everything that is counted about a week after bounding: per tower and hour, per tower, and in all."""

    places: Places
    truncated: NDArray[np.float64]
    weighted: NDArray[np.int64]
    sampled: NDArray[np.int64]
    tower_totals: NDArray[np.int64]
    visit_total: int

    def counts(self, scheme: Scheme) -> Counts:
        """The confidential numbers as a scheme's doors would see them."""
        here: NDArray[Any] = self.weighted
        if scheme.places != "towers":
            here = self.places.from_towers(scheme.places) @ self.truncated
        return Counts(series=here, sampled=self.sampled, visit_total=self.visit_total, tower_totals=self.tower_totals)


def read_counted(store: Store, week: date, places: Places) -> CountedWeek:
    """The tables of a materialised week, as matrices."""
    towers, table = store.read_public("towers")["tower_id"], store.read_week("tower_series", week)
    return CountedWeek(
        places=places,
        truncated=series.matrix(table, towers, "truncated").astype(np.float64),
        weighted=series.matrix(table, towers, "weighted"),
        sampled=series.vector(store.read_week("one_visit_histogram", week), towers, "users"),
        tower_totals=series.vector(store.read_week("tower_totals", week), towers, "weighted"),
        visit_total=store.read_week("visit_total", week)["visits"].item(),
    )
