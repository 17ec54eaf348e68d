"""What (k, delta)-anonymity leaves to an attacker: tracks of a cylinder that differ.

Trujillo-Rasua & Domingo-Ferrer 2013: points within delta of each other are not the same point, so who knows where
somebody was more precisely than delta finds the track that lies nearest. k-anonymity would leave 1 in k of them.
"""

import numpy as np
from numpy.typing import NDArray

from density_assets.errors import BadInput
from density_assets.research.traces.matrix import Traces
from density_assets.research.trajectories.never_walk_alone import Anonymised

Ints = NDArray[np.int64]
ASKED = 1_000
TINY = 1e-6  # metres


def distinct_share(made: Anonymised, metres: float = 1.0) -> float:
    """The share of published tracks that no other equals, at so many metres of precision."""
    rounded = np.round(np.nan_to_num(made.moved, nan=-1.0) / metres).reshape(len(made.moved), -1)
    _, label, size = np.unique(rounded, axis=0, return_inverse=True, return_counts=True)
    return float((size[label.ravel()] == 1).mean())


def linked_back(made: Anonymised, hours: int | None = None, seed: int = 0, asked: int = ASKED) -> float:
    """The share of people whose own published track is the one nearest to what an attacker knows.

    hours: how many random hours of a person's span the attacker knows; None for all of them. Where several tracks are
    equally near, the attacker draws one, which counts by its chance.
    asked: how many people, drawn at random, are attacked.
    """
    if hours is not None and hours < 1:
        raise BadInput(f"an attacker must know at least one hour, got {hours}")
    rng = np.random.default_rng(seed)
    people = rng.choice(len(made.rows), min(asked, len(made.rows)), replace=False)
    return float(np.mean([_chance(made, int(person), _known(made, int(person), hours, rng)) for person in people]))


def _known(made: Anonymised, person: int, hours: int | None, rng: np.random.Generator) -> Ints:
    span = np.flatnonzero(~np.isnan(made.original[person, :, 0]))
    return span if hours is None or hours >= len(span) else rng.choice(span, hours, replace=False)


def _chance(made: Anonymised, person: int, hours: Ints) -> float:
    """The chance to pick the person's own track among the nearest."""
    away = made.moved[:, hours] - made.original[person, hours]
    distance = np.nan_to_num((away**2).sum(axis=-1).mean(axis=-1), nan=np.inf)
    nearest = distance <= distance.min() + 1e-6
    return float(nearest[person] / nearest.sum())


def nearest_found(original: Traces, published: Traces, points: int, seed: int = 0, asked: int = ASKED) -> float:
    """The share of people whose own published record is the one nearest to some true points of theirs.

    An attacker sees what is published: places, hour by hour. A record that is nowhere in a known hour is taken to be as
    far away as the map is wide. People of whom no record is published, or who have fewer points, are not found.
    """
    rng, at = np.random.default_rng(seed), _places_by_hour(published)
    people = rng.choice(len(original.users), min(asked, len(original.users)), replace=False)
    rows = {user: row for row, user in enumerate(published.users.tolist())}
    user, place, hour = original.points()
    start = np.searchsorted(user, np.arange(len(original.users) + 1))
    xy = np.vstack([original.positions, original.positions.max(axis=0) + np.ptp(original.positions, axis=0)])
    found = 0.0
    for person in people.tolist():
        own = np.arange(start[person], start[person + 1])
        row = rows.get(original.users[person].item())
        if len(own) < points or row is None:
            continue
        known = rng.choice(own, points, replace=False)
        away = np.linalg.norm(xy[at[:, hour[known]]] - xy[place[known]], axis=2).sum(axis=1)
        nearest = np.flatnonzero(away <= away.min() + TINY)
        found += float(row in nearest) / len(nearest)
    return found / len(people)


def _places_by_hour(traces: Traces) -> Ints:
    """One place of each record in each hour, -1 where it has none."""
    row, place, hour = traces.points()
    at = np.full((len(traces.users), traces.hours), -1, dtype=np.int64)
    at[row, hour] = place
    return at
