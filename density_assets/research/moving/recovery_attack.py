"""Recovering trajectories from counts alone (Xu et al. 2017, "Trajectory recovery from ash").

Counts say how many people were where at each stamp. The attack links the people of one stamp to those of the next by
an assignment of least total cost, without knowing anything else:

night   the distance between the two cells: people sleep;
day     the distance to where the last two cells point: people keep their velocity;
days    the information gained when two days' cells are put together: people are regular, so the entropy of the union
        hardly exceeds the mean entropy of the two.

The cost of an assignment grows with the cube of the number of people: thousands are feasible, a city is not.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist

from density_assets.estimation.clustering import consistent, scaled_to
from density_assets.schemes.moving.windows import histograms
from density_assets.series import Floats, Ints


def recover(days: Sequence[Ints], xy: Floats, night: NDArray[np.bool_]) -> Ints:
    """Trajectories (people, stamps of all days) from counts (stamps, locations) of each day.

    days: whole counts, every stamp with the same total.
    xy: positions of the locations. night: which stamps of a day belong to the night.
    """
    whole = link_day(days[0], xy, night)
    for counts in days[1:]:
        fragment = link_day(counts, xy, night)
        whole = np.hstack([whole, fragment[_best(information_gain(whole, fragment, len(xy)))]])
    return whole


def link_day(counts: Ints, xy: Floats, night: NDArray[np.bool_]) -> Ints:
    """The trajectories of one day."""
    people = counts.sum(axis=1)
    if len(set(people.tolist())) != 1:
        raise ValueError(f"every stamp must count the same people, got totals from {people.min()} to {people.max()}")
    path = np.empty((int(people[0]), len(counts)), dtype=np.int64)
    path[:, 0] = _people(counts[0])
    for stamp in range(1, len(counts)):
        here, there = xy[path[:, stamp - 1]], _people(counts[stamp])
        velocity = 0.0 if night[stamp] or stamp == 1 else here - xy[path[:, stamp - 2]]
        path[:, stamp] = there[_best(cdist(here + velocity, xy[there]))]
    return path


def information_gain(left: Ints, right: Ints, locations: int) -> Floats:
    """Entropy of the union of two people's cells, minus the mean of their entropies; one row per person of the left.

    With f(x) = x·log x, entropies of counts with total n are log n − Σ f(count)/n, and f(a + b) differs from
    f(a) + f(b) only where both have been: a sparse product of places.
    """
    first, second = _visits(left, locations), _visits(right, locations)
    n, m = left.shape[1], right.shape[1]
    of_first, of_second = (np.add.reduceat(_f(v.data), v.indptr[:-1]) for v in (first, second))
    shared, after = np.zeros((len(left), len(right))), second.T.tocsr()
    columns = first.T.tocsr()
    for place in np.flatnonzero(np.diff(columns.indptr) * np.diff(after.indptr)).tolist():
        (rows, a), (others, b) = _column(columns, place), _column(after, place)
        shared[np.ix_(rows, others)] += _f(a[:, None] + b) - _f(a)[:, None] - _f(b)
    union = np.log(n + m) - (of_first[:, None] + of_second + shared) / (n + m)
    mean = (np.log(n) - of_first[:, None] / n + np.log(m) - of_second / m) / 2
    return np.asarray(union - mean)


def countable(noisy: Floats, people: int, random: np.random.Generator) -> Ints:
    """What an attacker makes of noisy counts (stamps, locations): consistent, and scaled to the people there are."""
    return scaled_to(consistent(noisy, random), people, random)


def overlap(truth: Ints, counts: Ints) -> float:
    """Share of (person, stamp) points that counts hold at all: whoever links and matches, no more can be right.

    At each stamp a cell has at most as many right points as people who are there, and as people who are counted there.
    """
    return float(np.minimum(histograms(truth, counts.shape[1]), counts).sum() / truth.size)


def score(truth: Ints, recovered: Ints, xy: Floats, within: float = 0.0) -> tuple[float, float]:
    """Share of (person, stamp) points that are right to so many metres, and mean distance in metres of all points.

    Recovered trajectories have no names: they are matched to the true ones so that as many points as possible agree.
    """
    agree = np.zeros((len(truth), len(recovered)))
    for stamp in range(truth.shape[1]):
        agree += cdist(xy[truth[:, stamp]], xy[recovered[:, stamp]]) <= within
    matched = recovered[_best(-agree)]
    away = np.linalg.norm(xy[truth] - xy[matched], axis=2)
    return float((away <= within).mean()), float(away.mean())


def _best(cost: Floats) -> Ints:
    """For each row its column in the assignment of least cost."""
    return np.asarray(linear_sum_assignment(cost)[1], dtype=np.int64)


def _people(counts: Ints) -> Ints:
    return np.repeat(np.arange(len(counts)), counts)


def _visits(path: Ints, locations: int) -> csr_array:
    """How often each person was at each location."""
    rows = np.repeat(np.arange(len(path)), path.shape[1])
    visits = csr_array((np.ones(path.size), (rows, path.ravel())), shape=(len(path), locations))
    visits.sum_duplicates()
    return visits


def _column(by_place: csr_array, place: int) -> tuple[NDArray[Any], Floats]:
    part = slice(by_place.indptr[place], by_place.indptr[place + 1])
    return by_place.indices[part], np.asarray(by_place.data[part], dtype=np.float64)


def _f(x: Floats) -> Floats:
    return np.asarray(x * np.log(x))
