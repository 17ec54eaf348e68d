"""What (k, delta)-anonymity leaves to an attacker: tracks of a cylinder that differ.

Trujillo-Rasua & Domingo-Ferrer 2013: points within delta of each other are not the same point, so who knows where
somebody was more precisely than delta finds the track that lies nearest. k-anonymity would leave 1 in k of them.
"""

import numpy as np
from numpy.typing import NDArray

from density_assets.errors import BadInput
from density_assets.research.trajectories.never_walk_alone import Anonymised

Ints = NDArray[np.int64]
ASKED = 1_000


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
