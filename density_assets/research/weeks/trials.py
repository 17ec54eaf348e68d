"""Trials of change: each says, week by week, what happens to a city that was ordinary for four weeks.

What happens in a week is a change of what is counted, at some towers and hours (`Effect`). Trials in HELD_OUT are of
kinds that no estimator was designed for: what helps in the others must not harm in these.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from density_assets.calendar import HOURS
from density_assets.research.weeks.counting import WeekCounts
from density_assets.series import Flags, Floats, Ints


@dataclass(frozen=True)
class Effect:
    """Visits x become factor_it · x_jh + extra_it, where j = towers_i and h = hours_t are where they are taken from.

    concerned: towers by hours; nothing else changes.
    extra: visits that come on top, by people like all others: they get the weight that visits have on average.
    """

    concerned: Flags
    factor: Floats
    extra: Floats
    towers: Ints
    hours: Ints


def effect(
    concerned: Flags,
    factor: Floats | float = 1.0,
    extra: Floats | float = 0.0,
    towers: Ints | None = None,
    hours: Ints | None = None,
) -> Effect:
    """An effect that leaves alone what is not given and whatever is not concerned."""
    rows, columns = concerned.shape
    return Effect(
        concerned,
        np.where(concerned, factor, 1.0),
        np.where(concerned, extra, 0.0),
        np.arange(rows) if towers is None else towers,
        np.arange(columns) if hours is None else hours,
    )


def happen(week: WeekCounts, what: Effect) -> WeekCounts:
    """The week as it would have been counted; all counts change alike, so bounds on users' weights still hold."""

    def changed(counts: Floats, weight: float) -> Floats:
        return what.factor * counts[np.ix_(what.towers, what.hours)] + weight * what.extra

    visits = week.original.sum()
    original = changed(week.original, 1.0)
    weighted = {name: changed(counts, counts.sum() / visits) for name, counts in week.weighted.items()}
    taken = week.original.sum(axis=1)[what.towers]
    left = (original - what.extra).sum(axis=1) / np.maximum(taken, 1.0)
    totals = left * week.tower_totals[what.towers] + week.tower_totals.sum() / visits * what.extra.sum(axis=1)
    return WeekCounts(original, weighted, totals, week.visits * float(original.sum() / visits))


FIRST, LAST = 5, 8  # weeks in which things happen, after four ordinary ones
HOUR, DAY = np.arange(HOURS) % 24, np.arange(HOURS) // 24
WORKING = DAY < 5
THURSDAY, SUNDAY = 3, 6


@dataclass(frozen=True, eq=False)
class Stage:
    """The city before the change: positions of towers, an ordinary week's visits, and dice."""

    xy: Floats
    usual: Floats
    random: np.random.Generator

    def nobody(self) -> Flags:
        """Nothing concerned."""
        return np.zeros(self.usual.shape, dtype=bool)

    def everywhere(self) -> Ints:
        """All towers."""
        return np.arange(len(self.xy))

    def at(self, towers: Ints | Flags, hours: Flags | slice = slice(None)) -> Flags:
        """These towers in these hours."""
        concerned = self.nobody()
        concerned[np.ix_(np.arange(len(self.xy))[towers], np.arange(HOURS)[hours])] = True
        return concerned

    def busy(self, count: int) -> Ints:
        """Some towers among the busier half."""
        order = np.argsort(-self.usual.sum(axis=1))
        return self.random.permutation(order[: max(1, len(order) // 2)])[:count]

    def around(self, tower: int, count: int) -> Ints:
        """A tower and its neighbours, the nearest first."""
        return np.asarray(np.argsort(np.hypot(*(self.xy - self.xy[tower]).T), kind="stable")[:count])


Happenings = dict[int, Effect]  # by week number
Trial = Callable[[Stage], Happenings]


def holiday_thursday(stage: Stage) -> Happenings:
    """Thursday is lived like Sunday."""
    hours = np.where(DAY == THURSDAY, 24 * SUNDAY + HOUR, np.arange(HOURS))
    return {FIRST: effect(stage.at(stage.everywhere(), DAY == THURSDAY), hours=hours)}


def closed_towers(stage: Stage) -> Happenings:
    """Six towers fall silent for good."""
    gone = effect(stage.at(stage.busy(6)), factor=0.0)
    return dict.fromkeys(range(FIRST, LAST + 1), gone)


def opened_towers(stage: Stage) -> Happenings:
    """Six towers were silent and begin to count."""
    new = stage.at(stage.busy(6))
    silent, counting = effect(new, factor=0.0), effect(new)
    return {week: silent if week < FIRST else counting for week in range(1, LAST + 1)}


def outage(stage: Stage) -> Happenings:
    """Forty neighbouring towers count nothing for 48 hours, from Tuesday 10 h."""
    hours = slice(34, 34 + 48)
    return {FIRST: effect(stage.at(stage.around(int(stage.busy(1)[0]), 40), hours), factor=0.0)}


def school_holidays(stage: Stage) -> Happenings:
    """For two weeks mornings are calmer, an eighth is away, schools are empty and parks are full by day."""
    by_day = WORKING & (HOUR >= 8) & (HOUR < 17)
    factor = np.tile(np.where(WORKING & (HOUR >= 7) & (HOUR < 9), 0.65, 0.88), (len(stage.xy), 1))
    some = stage.random.permutation(len(stage.xy))
    few = max(1, len(some) // 20)
    factor[np.ix_(some[:few], by_day)] = 0.35
    factor[np.ix_(some[few : 2 * few], by_day)] = 1.35
    away = effect(stage.at(stage.everywhere()), factor=factor)
    return {FIRST: away, FIRST + 1: away}


def regime_shift(stage: Stage) -> Happenings:
    """The western third has 15 % more visits from now on, and another rhythm of the day."""
    west = stage.xy[:, 0] < np.quantile(stage.xy[:, 0], 1 / 3)
    rhythm = 1.15 * np.exp(0.25 * np.sin(2 * np.pi * (HOUR - 8) / 24))
    return dict.fromkeys(range(FIRST, LAST + 1), effect(stage.at(west), factor=rhythm[None, :]))


def stadium(stage: Stage) -> Happenings:
    """Four hours of a crowd of a dozen times an ordinary hour at one tower, and of less at its two neighbours."""
    towers = stage.around(int(stage.busy(1)[0]), 3)
    crowd = np.zeros_like(stage.usual)
    crowd[towers] = stage.usual.mean() * np.array([12.0, 3.5, 3.5])[: len(towers), None]
    return {FIRST: effect(stage.at(towers, slice(68, 72)), extra=crowd)}


def small_events(stage: Stage) -> Happenings:
    """Twenty towers have as many visits more as an ordinary tower has, for three hours each."""
    concerned = stage.nobody()
    for tower in stage.busy(20):
        begin = int(stage.random.integers(24, 140))
        concerned[tower, begin : begin + 3] = True
    return {FIRST: effect(concerned, extra=1.2 * float(stage.usual.mean()))}


def clock_change(stage: Stage) -> Happenings:
    """Everybody lives an hour later from now on: a change of clocks, or records in another time zone."""
    later = effect(stage.at(stage.everywhere()), hours=np.roll(np.arange(HOURS), 1))
    return dict.fromkeys(range(FIRST, LAST + 1), later)


def swapped_antennas(stage: Stage) -> Happenings:
    """Ten towers exchange their names with ten others far away from now on: each row is another's."""
    chosen = stage.random.permutation(len(stage.xy))[: 2 * min(10, len(stage.xy) // 2)]
    towers = np.arange(len(stage.xy))
    towers[chosen] = np.roll(chosen, len(chosen) // 2)
    return dict.fromkeys(range(FIRST, LAST + 1), effect(stage.at(chosen), towers=towers))


def snow(stage: Stage) -> Happenings:
    """From Wednesday noon the city empties within hours, most of all at the rim, and recovers over two days."""
    since = np.arange(HOURS) - (2 * 24 + 12)
    depth = np.where(since < 0, 0.0, np.minimum(since / 6, 1.0) * np.exp(-np.maximum(since - 24, 0) / 18))
    outward = np.hypot(*(stage.xy - stage.xy.mean(axis=0)).T)
    lost = np.outer(0.35 + 0.4 * outward / max(outward.max(), 1.0), depth)
    return {FIRST: effect(lost > 0.02, factor=1 - lost)}


def growing_quarter(stage: Stage) -> Happenings:
    """Thirty neighbouring towers have a tenth more visits every week: people move in."""
    new = stage.at(stage.around(int(stage.busy(1)[0]), 30))
    return {week: effect(new, factor=1.1 ** (week - FIRST + 1)) for week in range(FIRST, LAST + 1)}


TRIALS: dict[str, Trial] = {
    "holiday Thursday": holiday_thursday,
    "closed towers": closed_towers,
    "opened towers": opened_towers,
    "48 h outage": outage,
    "school holidays": school_holidays,
    "regime shift": regime_shift,
    "stadium": stadium,
    "small events": small_events,
}
HELD_OUT: dict[str, Trial] = {
    "clock change": clock_change,
    "swapped antennas": swapped_antennas,
    "snow": snow,
    "growing quarter": growing_quarter,
}
