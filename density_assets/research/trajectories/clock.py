"""Trajectories on a common clock: a position for every hour between the first and the last time a person was seen.

Never Walk Alone was made for vehicles that report where they are all the time. Phone records are sparse: a person is
seen in a dozen hours of a week, so most positions here are guesses on a straight line between two sightings. Where a
person was at several places in an hour, the position is their mean.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from density_assets.errors import BadInput
from density_assets.research.traces.matrix import Traces, binary

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Tracks:
    """Positions of people by the hour.

    xy: people x hours x 2, not a number outside a person's span. rows: whose they are, as rows of the traces.
    first, last: the hours of the span, both included.
    """

    xy: Floats
    rows: Ints
    first: Ints
    last: Ints


def hourly_tracks(traces: Traces, people: Ints) -> Tracks:
    """The tracks of those of some people who were seen, from the first to the last sighting."""
    if traces.matrix.nnz == 0:
        raise BadInput("there is nothing to publish of empty traces: they have no point; give traces with points")
    some, roi, hour = traces.rows(people).points()
    rows, person = np.unique(people[some], return_inverse=True)
    cell = person * traces.hours + hour
    shape = (len(rows), traces.hours)
    sightings = np.bincount(cell, minlength=shape[0] * shape[1]).reshape(shape)
    sums = [np.bincount(cell, traces.positions[roi, axis], shape[0] * shape[1]).reshape(shape) for axis in (0, 1)]
    seen = sightings > 0
    means = np.stack(sums, axis=-1) / np.maximum(sightings, 1)[:, :, None]
    first, last = seen.argmax(axis=1), traces.hours - 1 - seen[:, ::-1].argmax(axis=1)
    return Tracks(_between(means, seen), rows, first, last)


def _between(means: Floats, seen: NDArray[np.bool_]) -> Floats:
    """Positions on straight lines between sightings; not a number before the first and after the last."""
    hours = np.arange(seen.shape[1])
    before = np.maximum.accumulate(np.where(seen, hours, -1), axis=1)
    after = np.minimum.accumulate(np.where(seen, hours, seen.shape[1])[:, ::-1], axis=1)[:, ::-1]
    inside = (before >= 0) & (after < seen.shape[1])
    start, end = np.maximum(before, 0), np.minimum(after, seen.shape[1] - 1)
    way = (hours - start) / np.maximum(end - start, 1)
    person = np.arange(len(seen))[:, None]
    xy = means[person, start] * (1 - way)[:, :, None] + means[person, end] * way[:, :, None]
    return np.where(inside[:, :, None], xy, np.nan)


def trimmed(tracks: Tracks, period: int) -> Tracks:
    """Tracks that begin and end at multiples of a period, so that spans are alike; shorter ones are left out.

    The end is not included: a span from 24 to 72 has the hours 24 … 71.
    """
    first = -(-tracks.first // period) * period
    last = (tracks.last + 1) // period * period - 1
    kept = np.flatnonzero(last >= first)
    hours = np.arange(tracks.xy.shape[1])
    outside = (hours < first[kept, None]) | (hours > last[kept, None])
    xy = np.where(outside[:, :, None], np.nan, tracks.xy[kept])
    return Tracks(xy, tracks.rows[kept], first[kept], last[kept])


def snapped(xy: Floats, rows: Ints, like: Traces) -> Traces:
    """Tracks as traces: each position counts at the nearest place."""
    person, hour = np.nonzero(~np.isnan(xy[:, :, 0]))
    points = xy[person, hour]
    place = np.asarray(cKDTree(like.positions).query(points)[1], dtype=np.int64)
    matrix = binary(person, place * like.hours + hour, (len(xy), like.matrix.shape[1]))
    return Traces(matrix, like.users[rows], like.hours, like.positions, like.grid, like.placed)
