"""A small crowd over a week, and people who are added to it to move what is counted as far as they can."""

import numpy as np

from density_assets.research.contributions import truncate
from density_assets.research.traces.matrix import Traces, binary

PEOPLE, PLACES, HOURS = 300, 12, 168


def crowd(people: int = PEOPLE, seed: int = 0) -> Traces:
    """People who go round a few places, more by day than by night; the last row is empty."""
    random = np.random.default_rng(seed)
    visits = people * 15
    user = random.integers(0, people, visits)
    hour = (random.integers(0, 7, visits) * 24 + np.clip(random.normal(14, 4, visits), 0, 23)).astype(np.int64)
    place = (user + random.integers(0, 3, visits)) % PLACES
    positions = np.random.default_rng(0).uniform(0, 10_000, (PLACES, 2))
    matrix = binary(user, place * HOURS + hour, (people + 1, PLACES * HOURS))
    return Traces(matrix, np.arange(people + 1), HOURS, positions)


def joined(traces: Traces, place: np.ndarray, hour: np.ndarray) -> Traces:
    """The traces with somebody's visits in their last row."""
    user, places, hours = traces.points()
    added = np.full(len(place), len(traces.users) - 1)
    columns = np.append(places * HOURS + hours, place * HOURS + hour)
    matrix = binary(np.append(user, added), columns, traces.matrix.shape)
    return Traces(matrix, traces.users, HOURS, traces.positions)


def counts(traces: Traces) -> np.ndarray:
    """Visits per column of the traces."""
    return traces.aggregate().astype(float).ravel()


def kept(traces: Traces, visits: int, seed: int) -> Traces:
    """The traces as techniques that answer queries truncate them."""
    return truncate(traces, visits, np.random.default_rng([seed, 1]))


def nobody(traces: Traces) -> Traces:
    """The same places and rows without a visit."""
    none = np.array([], dtype=np.int64)
    return Traces(binary(none, none, traces.matrix.shape), traces.users, HOURS, traces.positions)


# Somebody who is everywhere at all times; at one place; to and fro between two; seen in one hour; seen once.
EVERY = np.arange(PLACES * HOURS)
ALWAYS = np.arange(HOURS)
HEAVY = {
    "everywhere": (EVERY // HOURS, EVERY % HOURS),
    "at home": (np.full(HOURS, 3), ALWAYS),
    "to and fro": (ALWAYS % 2, ALWAYS),
    "in one hour": (np.arange(PLACES), np.full(PLACES, 34)),
    "once": (np.array([5]), np.array([11])),
}


class DeafNoise:
    """Noise that does not hear the values it is added to: what comes out can depend on nothing else."""

    simulation = True

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)

    def gaussian(self, values, event):
        return self._random.normal(20, 15, values.shape)

    laplace = gaussian

    def select(self, scores, event):
        return self._random.integers(0, scores.shape[1], len(scores))
