"""Greedy groups of at least k tracks around pivots that lie far from each other (Abul, Bonchi & Nanni 2008)."""

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
TRASH = -1


def around_pivots(xy: Floats, k: int, radius: float) -> Ints:
    """The group of each track of one span, numbered from 0, or TRASH.

    The first pivot is the track farthest from the mean of all, every next one the farthest from the pivots before. A
    pivot takes its k - 1 nearest free tracks if all lie within the radius. In the end, a free track joins the group of
    the nearest pivot within the radius.

    xy: tracks x hours x 2, without gaps.
    """
    points = (xy - xy.mean(axis=0)).reshape(len(xy), -1) / np.sqrt(xy.shape[1])
    squares = np.einsum("ij,ij->i", points, points)
    group = np.full(len(points), TRASH, dtype=np.int64)
    candidates, from_pivots = np.ones(len(points), bool), squares
    to_nearest, nearest_group = np.full(len(points), np.inf), np.full(len(points), TRASH, dtype=np.int64)
    groups = 0
    while candidates.any():
        pivot = int(np.argmax(np.where(candidates, from_pivots, -1.0)))
        distance = squared_distances(points, squares, pivot)
        candidates[pivot] = False
        members = _nearest_free(distance, group, k)
        if len(members) == k and distance[members].max() <= radius**2:
            group[members] = groups
            candidates[members] = False
            nearest_group[distance < to_nearest] = groups
            to_nearest = np.minimum(to_nearest, distance)
            from_pivots, groups = to_nearest, groups + 1
    return np.where((group == TRASH) & (to_nearest <= radius**2), nearest_group, group)


def squared_distances(points: Floats, squares: Floats, one: int) -> Floats:
    """Squared distances of all tracks to one of them: the mean over hours of the squared distance in space."""
    distance = np.maximum(squares + squares[one] - 2 * (points @ points[one]), 0.0)
    distance[one] = 0.0
    return np.asarray(distance)


def _nearest_free(distance: Floats, group: Ints, k: int) -> Ints:
    """The k nearest tracks without a group, or all where they are fewer."""
    free = np.flatnonzero(group == TRASH)
    return free if len(free) <= k else free[np.argpartition(distance[free], k - 1)[:k]]
