"""The budgets that releases with moving characteristics are paid from: events as a function of what they may cost.

Every scheme takes the same steps and asks its budget for their events. There are two, each over any number of days:

zCDP   Weekly releases. The week is a stream of 168 histograms. Truncation keeps one visit per user and hour and l per
       week, and a visit has mass one wherever it is counted, so one user changes a histogram by at most 1 (L1) and all
       of them together by at most l (L1), sqrt(l) (L2). From this

       direct      Σ d² ≤ l over all counts, whichever hours they belong to: Laplace noise costs l/(2b²) of zCDP.
       threshold   a distance from an earlier release moves by at most 1, a fresh histogram by at most 1:
                   `SparseVector`.
       windows     the distance of consecutive hours moves by at most 2, as for people who are always somewhere; the
                   days are those of the same people, so squares of what the selections lose add up over the days.

       A day or an hour without the user only costs less, and which hours are fresh depends on released numbers alone.
pure   As Chen et al. have it: every user is at one place at every stamp, and budgets add up over stamps, so noise grows
       with their number. As printed, a histogram has sensitivity 2 (which belongs to the comparisons), windows have a
       sensitivity that does not hold, and days are treated as if they had different people: no such week may leave as a
       release. Soundly (one day, in `research/moving/days.py`), all three are mended.
"""

import math
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from density_assets.calendar import HOURS
from density_assets.privacy.calibration import laplace_scale, selection_epsilon
from density_assets.privacy.events import Event, Laplace, LaplaceVector, SparseVector, WindowSelection
from density_assets.privacy.sensitivity import FLOAT_SLACK, truncated_l2
from density_assets.schemes.moving.perturbation import Hybrid
from density_assets.schemes.moving.windows import (
    FEWEST,
    HISTOGRAM,
    PRINTED_DISTANCE,
    published_sensitivity,
    published_utility,
    sound_sensitivity,
    sound_utility,
)
from density_assets.settings import SchemeSettings

DAY = 24
DAYS = HOURS // DAY
EVERY_HOUR, CHANGED = "truncated visits per place, {} hour", "truncated visits per place, hours that have changed"

HybridEvents = tuple[WindowSelection, Laplace | LaplaceVector, SparseVector]


class Budget(Protocol):
    """What the events of each step are, given what the step may cost."""

    def every_hour(self, cost: float, which: str = "every") -> Laplace | LaplaceVector:
        """Noise on every count of some hours; `over_hours` makes it that of so many."""

    def changed_hours(self, cost: float, streams: int = 1) -> SparseVector:
        """Fresh histograms when hours have changed; `streams` share the releases of a week, `FEWEST` each at least."""

    def day_windows(self, cost: float, days: int) -> WindowSelection:
        """The windows of so many days."""


@dataclass(frozen=True)
class ZcdpBudget:
    """Costs in zCDP, of weeks of truncated visits."""

    chosen: SchemeSettings
    visits_per_user: int

    def every_hour(self, cost: float, which: str = "every") -> LaplaceVector:
        """The same noise for any number of hours: all visits of a user together have a bounded norm."""
        norm = truncated_l2(self.visits_per_user)
        return LaplaceVector(EVERY_HOUR.format(which), laplace_scale(cost, norm), norm)

    def changed_hours(self, cost: float, streams: int = 1) -> SparseVector:
        """A step is a run of comparisons and a fresh histogram."""
        releases = max(FEWEST, round(self.chosen.releases / streams))
        step, bound = cost / (releases * streams), HISTOGRAM * FLOAT_SLACK
        return SparseVector(
            CHANGED,
            epsilon=math.sqrt(2 * self.chosen.comparing_share * step),
            scale=laplace_scale((1 - self.chosen.comparing_share) * step, bound),
            sensitivity=bound,
            releases=releases,
            distance=bound,
            streams=streams,
            change=self.chosen.change,
        )

    def day_windows(self, cost: float, days: int) -> WindowSelection:
        """The people of all days are the same."""
        bound = math.sqrt(days) * sound_sensitivity(DAY, self.chosen.window_weight) * FLOAT_SLACK
        return WindowSelection("window of each day", selection_epsilon(cost), bound, self.chosen.window_weight)


@dataclass(frozen=True)
class PureBudget:
    """Costs in pure DP, of people who are at one place at every stamp.

    sound: whether the bounds hold; else as printed (Alg. 1, 2, §6.3). stamps: of a day.
    """

    chosen: SchemeSettings
    sound: bool = False
    stamps: int = DAY

    def every_hour(self, cost: float, which: str = "every") -> Laplace:
        """The event of one hour; the scale is multiplied by the number of hours (Alg. 1)."""
        return Laplace(EVERY_HOUR.format(which), HISTOGRAM / cost, HISTOGRAM)

    def changed_hours(self, cost: float, streams: int = 1) -> SparseVector:
        """As printed Δ = 2 for comparisons and histograms alike (Alg. 2)."""
        releases = max(FEWEST, round(self.chosen.releases / streams))
        step, bound = cost / (releases * streams), HISTOGRAM if self.sound else PRINTED_DISTANCE
        return SparseVector(
            CHANGED,
            epsilon=self.chosen.comparing_share * step,
            scale=bound / ((1 - self.chosen.comparing_share) * step),
            sensitivity=bound,
            releases=releases,
            streams=streams,
            change=self.chosen.change,
            pure=True,
        )

    def day_windows(self, cost: float, days: int) -> WindowSelection:
        """As printed each day has the whole cost to itself."""
        weight = self.chosen.window_weight
        if self.sound:
            return WindowSelection("window of each day", cost / days, sound_sensitivity(self.stamps, weight), weight)
        return WindowSelection("window of each day", cost, published_sensitivity(self.stamps), weight)


def hybrid_events(cost: float, budget: Budget, chosen: SchemeSettings, selections: int, streams: int) -> HybridEvents:
    """Return the events of a hybrid: its windows, the hours between them, and the quiet streams outside."""
    left = (1 - chosen.selecting_share) * cost
    return (
        budget.day_windows(chosen.selecting_share * cost, selections),
        budget.every_hour(chosen.moving_share * left, "daytime"),
        budget.changed_hours((1 - chosen.moving_share) * left, streams),
    )


def hybrid_of(events: HybridEvents, change: float, *, predicts: bool, sound: bool) -> Hybrid:
    """Return the hybrid that draws with these events.

    change: the threshold, in people. sound: whether windows have the utility of bounded sensitivity.
    """
    selection, moving, still = events
    utility = partial(sound_utility, weight=selection.weight) if sound else published_utility
    return Hybrid(predicts, selection, utility, partial(over_hours, moving), still, change)


def over_hours(event: Event, hours: int) -> Laplace | LaplaceVector:
    """Return the event of so many hours: in pure DP the scale grows with their number, in zCDP it does not."""
    assert isinstance(event, Laplace | LaplaceVector)
    if isinstance(event, LaplaceVector):
        return event
    return Laplace(event.query, hours * event.scale, hours * event.sensitivity)
