"""What every scheme of release offers.

A scheme says what its doors will spend, from settings alone, and how each door draws. It never touches ledger or
store: who pays and what is kept is decided outside.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from density_assets.privacy.events import Event
from density_assets.privacy.noise import Noise
from density_assets.settings import Settings

TOTALS, SERIES = "noisy_totals", "noisy_series"  # the doors, named after their assets

Plan = Mapping[str, tuple[Event, ...]]


@dataclass(frozen=True)
class Counts:
    """The confidential numbers of a week that a door declares; the others are absent.

    weighted: integer weights per tower and hour. visit_total: clamped number of visits.
    """

    weighted: NDArray[np.int64] | None = None
    visit_total: int | None = None

    def __post_init__(self) -> None:
        for name, counts in vars(self).items():
            if counts is not None and not (np.isfinite(counts).all() and np.min(counts, initial=0) >= 0):
                raise ValueError(f"{name} must be finite counts of zero or more: look at the tables it comes from")


class Scheme(Protocol):
    """One way to release a week."""

    name: str
    version: int
    reads: Mapping[str, tuple[str, ...]]

    def plan(self, settings: Settings) -> Plan:
        """What each door will spend: calibrated together to the asked (epsilon, delta)."""

    def totals(self, plan: Plan, counts: Counts, noise: Noise) -> dict[str, NDArray[Any]]:
        """Draw the first door."""

    def series(self, plan: Plan, counts: Counts, noise: Noise) -> dict[str, NDArray[Any]]:
        """Draw the second door."""
