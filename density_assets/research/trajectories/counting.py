"""Generalised records counted to a density.

Sets of items lack how often somebody was there. Each generalised item is spread evenly over the places and hours that
it stands for, and the result is scaled to totals published beside the records: syntactic models do not object to
totals, and without them every technique would lose by counts alone.
"""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from density_assets.research.approaches.technique import Published
from density_assets.research.traces.matrix import Traces, binary
from density_assets.research.trajectories.records import DAY, Generalised, part_of_day

Floats = NDArray[np.float64]
Totals = Literal["none", "week", "hour"]


def published(records: Generalised, original: Traces, parts_of_day: int, totals: Totals, seed: int) -> Published:
    """Generalised records as what is published: their density, and one reading of them as trajectories."""
    density = counted(records, original, parts_of_day, totals)
    return Published(density, drawn(records, original, parts_of_day, seed), facts=facts(records, original))


def counted(records: Generalised, original: Traces, parts_of_day: int, totals: Totals) -> Floats:
    """Visits per place and hour from generalised records, scaled to published totals of the original."""
    hierarchy = records.hierarchy
    per_node = np.bincount(records.nodes.indices, minlength=hierarchy.nodes)
    per_item = hierarchy.covers.T @ (per_node / hierarchy.sizes)
    by_part = per_item.reshape(original.rois, parts_of_day)
    part = part_of_day(np.arange(original.hours), parts_of_day)
    hours_of_part = np.maximum(np.bincount(part, minlength=parts_of_day), 1)
    return scaled((by_part / hours_of_part)[:, part], original, totals)


def scaled(density: Floats, original: Traces, totals: Totals) -> Floats:
    """The density, scaled to the total of the week or of each hour where those are published."""
    if totals == "none":
        return density
    truth = original.aggregate().astype(np.float64)
    axis = 0 if totals == "hour" else None
    got = density.sum(axis=axis)
    return np.asarray(density * (truth.sum(axis=axis) / np.where(got > 0, got, 1.0)))


def drawn(records: Generalised, original: Traces, parts_of_day: int, seed: int) -> Traces:
    """One reading of generalised records as trajectories: each item becomes one place and hour that it stands for.

    An attacker compares with the records (`singled_out_of_records`), not with this reading, which has lost them.
    """
    rng, hierarchy = np.random.default_rng(seed), records.hierarchy
    node = records.nodes.indices
    user = np.repeat(np.arange(records.nodes.shape[0]), np.diff(records.nodes.indptr))
    leaf = hierarchy.covers.indices[hierarchy.covers.indptr[node] + rng.integers(0, hierarchy.sizes[node])]
    place, part = np.divmod(leaf.astype(np.int64), parts_of_day)
    length = DAY // parts_of_day
    days = max(original.hours // DAY, 1)
    hour = rng.integers(0, days, len(leaf)) * DAY + part * length + rng.integers(0, length, len(leaf))
    matrix = binary(
        user, place * original.hours + hour % original.hours, (len(records.users), original.matrix.shape[1])
    )
    return Traces(matrix, records.users, original.hours, original.positions, original.grid, original.placed)


def facts(records: Generalised, traces: Traces) -> dict[str, float]:
    """What a reader should know of generalised records."""
    sizes = records.hierarchy.sizes[records.nodes.indices]
    return {
        "people": len(records.users),
        "people_without_points": len(traces.users) - len(records.users),
        "groups": int(records.groups().max()) + 1,
        "items": int(records.nodes.nnz),
        "precise_items": float((sizes == 1).mean()),
        "median_items_covered": float(np.median(sizes)),
    }
