"""A small crowd, and somebody in it who is everywhere at all times."""

import numpy as np
import pytest

from density_assets.research.traces.matrix import Traces, binary

PEOPLE, PLACES, HOURS = 300, 12, 168


def crowd(people: int = PEOPLE, seed: int = 0) -> Traces:
    """People who go round a few places, more by day than by night; the last row is empty."""
    random = np.random.default_rng(seed)
    visits = people * 15
    user = random.integers(0, people, visits)
    hour = (random.integers(0, 7, visits) * 24 + np.clip(random.normal(14, 4, visits), 0, 23)).astype(np.int64)
    place = (user + random.integers(0, 3, visits)) % PLACES
    positions = random.uniform(0, 10_000, (PLACES, 2))
    matrix = binary(user, place * HOURS + hour, (people + 1, PLACES * HOURS))
    return Traces(matrix, np.arange(people + 1), HOURS, positions)


@pytest.fixture
def traces() -> Traces:
    return crowd()


@pytest.fixture
def with_heavy_user(traces: Traces) -> Traces:
    """The same crowd, with somebody at every place in every hour."""
    user, place, hour = traces.points()
    everything = np.arange(PLACES * HOURS)
    matrix = binary(
        np.append(user, np.full(len(everything), PEOPLE)),
        np.append(place * HOURS + hour, everything),
        traces.matrix.shape,
    )
    return Traces(matrix, traces.users, HOURS, traces.positions)


@pytest.fixture
def empty(traces: Traces) -> Traces:
    return Traces(
        binary(np.array([], int), np.array([], int), traces.matrix.shape), traces.users, HOURS, traces.positions
    )
