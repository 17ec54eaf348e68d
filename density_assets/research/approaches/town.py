"""A town small enough for trajectories: invented people whose week is known, at places that are cells of a map."""

from datetime import date

import numpy as np

from density_assets.calendar import HOURS
from density_assets.geography.source import embedded_city
from density_assets.people.population import simulate_week
from density_assets.research.traces.matrix import Traces, binary

PEOPLE, PLACES = 20_000, 150
WEEK = date(2007, 9, 10)


def town(people: int = PEOPLE, places: int = PLACES, seed: int = 0, week: date = WEEK) -> Traces:
    """A week of invented people; places are the Voronoi cells of towers, positions in metres."""
    cells, towers = embedded_city(cells=places, towers=places, seed=seed)
    chunks = list(simulate_week(cells.centroids, towers.xy, users=people, seed=seed, week=week))
    user, tower, hour = (
        np.concatenate([getattr(chunk, name) for chunk in chunks]).astype(np.int64)
        for name in ("user", "tower", "hour")
    )
    matrix = binary(user - 1, tower * HOURS + hour, (people, places * HOURS))
    return Traces(matrix, np.arange(people), HOURS, towers.xy)
