"""One day of people who are at one location per stamp, and its release by the four schemes, pure as in Chen et al.

The days are of a simulated crowd, or of taxis a person names. A user is in every histogram of the day once, so S stamps
that are drawn every time change by S (L1). The steps are those of weekly releases (`schemes/moving/`), paid from

published   the printed constants (Alg. 1, 2, 4, 5).
sound       what the same budget really buys: a histogram has sensitivity 1 (the 2 belongs to the comparisons), windows
            are chosen by the utility of bounded sensitivity, past days are people's days too and are paid for, and
            the threshold is counted from the distance that the noise of a release makes by itself.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from density_assets.errors import BadInput
from density_assets.privacy.events import Event, SparseVector
from density_assets.privacy.noise import Noise
from density_assets.research.study import Source
from density_assets.research.traces.readers import read_days
from density_assets.research.traces.recipe import BEIJING, read_recipe
from density_assets.research.weeks.crowd import HOURS, crowd
from density_assets.schemes.moving.budgets import HybridEvents, PureBudget, hybrid_events, hybrid_of, over_hours
from density_assets.schemes.moving.perturbation import direct, quiet_streams, threshold
from density_assets.schemes.moving.windows import FEWEST, Window, candidates, distances, histograms, sound_utility
from density_assets.series import Floats
from density_assets.settings import SchemeSettings

Name = Literal["direct", "threshold", "static_hybrid", "dynamic_hybrid"]
SCHEMES: tuple[Name, ...] = ("direct", "threshold", "static_hybrid", "dynamic_hybrid")
WINDOW_WEIGHT = 1.0  # λ of the sound utility
# Parts of the budget: of a threshold's for comparisons, of the whole for choosing windows, of the rest for the daytime.
SHARES = {"comparing_share": 0.1, "selecting_share": 0.05, "moving_share": 0.75, "window_weight": WINDOW_WEIGHT}
PAST = 7  # days that `dynamic_hybrid` learns from
SEED = 2008
NAMES: dict[str, str] = {name: name.replace("_", " ") for name in SCHEMES}


@dataclass(frozen=True)
class Days:
    """Days of people who are in one cell at every stamp; the last is the one that is released.

    xy: centres of the cells. cells: (days, people, stamps). clock: hour of the day of each stamp.
    source: whose days they are; published numbers differ. tally: what was read of files.
    """

    xy: Floats
    cells: NDArray[np.int32]
    clock: Floats
    source: Literal["crowd", "taxis"] = "crowd"
    tally: str = ""

    def streams(self) -> list[Floats]:
        """The histograms of each day."""
        return [histograms(day, len(self.xy)) for day in self.cells]

    @property
    def described(self) -> str:
        """Whose days they are, and what was read of files."""
        days, people, stamps = self.cells.shape
        made = f"{people:,} people of a simulated crowd" if self.source == "crowd" else self.tally
        return f"{made.rstrip('.')}. {days} days of {stamps} stamps, {len(self.xy):,} cells."

    @property
    def night(self) -> NDArray[np.bool_]:
        """Stamps at which people are taken to rest."""
        return np.asarray((self.clock < 7) | (self.clock >= 20))


@dataclass(frozen=True)
class Streams:
    """The histograms of all people: the days before, and today."""

    days: Days
    past: list[Floats]
    today: Floats


def load_days(source: Source) -> Days:
    """A crowd of 130,000 people, or the taxis of the files that are given, as the recipe beside them says."""
    if source.data is None:
        simulated = crowd(days=PAST + 1, seed=SEED)
        return Days(simulated.xy, simulated.cells, np.array(HOURS, dtype=np.float64))
    reading = read_recipe(source.data, gps=BEIJING)
    read = read_days(source.data, reading)
    source.report(str(read.tally))
    if len(read.days) < 2:
        raise BadInput(f"traces must cover two days or more, got {len(read.days)}: windows are learnt from days before")
    clock = np.arange(read.cells.shape[2]) * reading.minutes / 60
    return Days(read.xy, read.cells[-PAST - 1 :], clock, "taxis", str(read.tally))


def load_streams(source: Source) -> Streams:
    """The same as histograms."""
    return as_streams(load_days(source))


def as_streams(days: Days) -> Streams:
    """Histograms of all people."""
    *past, today = days.streams()
    return Streams(days, past, today)


@dataclass(frozen=True)
class Recipe:
    """What a person chooses; nothing here may be computed from the data that is released.

    change: the threshold T. releases: c, fresh histograms of each stream that is compared: the day under `threshold`,
    its quiet part under `static_hybrid`, before and after the window under `dynamic_hybrid`.
    """

    epsilon: float
    change: float
    releases: int
    sound: bool = True

    def __post_init__(self) -> None:
        if self.releases < FEWEST:
            raise BadInput(
                f"releases must be {FEWEST} or more, got {self.releases}: the first histogram of a stream is always "
                "drawn, so a stream with one release never compares. Use `direct`, or ask for more releases"
            )


@dataclass(frozen=True)
class Day:
    """A released day, the window it was divided by, and what was spent on it and on the days before."""

    released: Floats
    events: tuple[Event, ...]
    window: Window | None = None


def release(name: Name, past: Sequence[Floats], today: Floats, recipe: Recipe, noise: Noise) -> Day:
    """Release a day (stamps, locations); only `dynamic_hybrid` looks at the days before."""
    stamps, locations = today.shape
    streams = 2 if name == "dynamic_hybrid" else 1
    chosen = SchemeSettings.model_validate(SHARES | {"releases": recipe.releases * streams})
    budget = PureBudget(chosen, recipe.sound, stamps)
    if name == "direct":
        event = over_hours(budget.every_hour(recipe.epsilon), stamps)
        return Day(direct(today, event, noise), (event,))
    if name == "threshold":
        sparse = budget.changed_hours(recipe.epsilon)
        return Day(threshold(today, sparse, _bar(recipe, sparse, locations), noise), (sparse,))
    if name == "dynamic_hybrid" and not past:
        raise BadInput("dynamic_hybrid must have days before to learn its window from, got none: use static_hybrid")
    predicts, selections = name == "dynamic_hybrid", len(past) if name == "dynamic_hybrid" else 1
    events = hybrid_events(recipe.epsilon, budget, chosen, selections, streams)
    if predicts and not recipe.sound:
        events = _spend_in_parallel(recipe.epsilon, budget, chosen)
    selection, moving, still = events
    walk = hybrid_of(events, _bar(recipe, still, locations), predicts=predicts, sound=recipe.sound)
    released, (window,) = walk.release(past, [today], noise)
    return Day(released, (*[selection] * selections, over_hours(moving, len(window)), still), window)


def _spend_in_parallel(epsilon: float, budget: PureBudget, chosen: SchemeSettings) -> HybridEvents:
    """Return the events of the published `dynamic_hybrid`: each past day has the full budget "in parallel" with today.

    They are days of the same people: soundly all selections come out of one share.
    """
    moving, still = budget.every_hour(chosen.moving_share * epsilon, "daytime"), (1 - chosen.moving_share) * epsilon
    return budget.day_windows(epsilon, 1), moving, budget.changed_hours(still, 2)


def _bar(recipe: Recipe, event: SparseVector, locations: int) -> float:
    """Noise alone puts a release E|Laplace| = scale away from the truth at every location, which is public."""
    return recipe.change + (locations * event.scale if recipe.sound else 0.0)


def recipe(past: list[Floats], point: Mapping[str, Any]) -> Recipe:
    """The choices a point of a grid asks for: T as a multiple of T̄, and c, by one rule for all schemes if not named.

    Both are read off the day before, which nobody has to pay for on a crowd that nobody is in.
    """
    change = point["factor"] * mean_distance(past[-1])
    return Recipe(
        epsilon=point["epsilon"],
        change=change,
        releases=point.get("releases") or _releases_needed(past[-1], change, point["scheme"]),
        sound=point["calibration"] == "sound",
    )


def mean_distance(stream: Floats) -> float:
    """T̄, the mean distance of consecutive histograms: for streams nobody protects."""
    return float(distances(stream).mean())


def needed(stream: Floats, change: float) -> int:
    """How many fresh histograms `threshold` would draw from a stream without noise: for streams nobody protects."""
    last, count = stream[0], 1
    for histogram in stream[1:]:
        if abs(histogram - last).sum() >= change:
            last, count = histogram, count + 1
    return count


def _releases_needed(day: Floats, change: float, scheme: str) -> int:
    """As many releases as T asks for without noise, in any of the streams that the scheme compares.

    Quiet streams are those around the window in which people really move, whichever window noise will choose.
    """
    daytime = candidates(len(day))[int(np.argmax(sound_utility(day, WINDOW_WEIGHT)))].mask(len(day))
    hybrid = scheme in ("static_hybrid", "dynamic_hybrid")
    quiet = quiet_streams(daytime, len(day), parted=scheme == "dynamic_hybrid")
    compared = quiet if hybrid else [np.arange(len(day))]
    return max([FEWEST, *(needed(day[stamps], change) for stamps in compared)])
