"""What studies of moving characteristics work on: some days of a simulated crowd, or of taxis a person names."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from density_assets.errors import BadInput
from density_assets.people.crowd import HOURS, crowd
from density_assets.research.moving.daily import NAMES as SCHEMES
from density_assets.research.moving.daily import Recipe
from density_assets.research.study import Source
from density_assets.research.traces.days import read_days
from density_assets.research.traces.recipe import BEIJING, read_recipe
from density_assets.schemes.moving.stream import FEWEST, Floats, distances, histograms
from density_assets.schemes.moving.walk import quiet_streams
from density_assets.schemes.moving.windows import candidates, sound_utility

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
    asked = read_recipe(source.data, gps=BEIJING)
    read = read_days(source.data, asked)
    source.report(str(read.tally))
    if len(read.days) < 2:
        raise BadInput(f"traces must cover two days or more, got {len(read.days)}: windows are learnt from days before")
    clock = np.arange(read.cells.shape[2]) * asked.minutes / 60
    return Days(read.xy, read.cells[-PAST - 1 :], clock, "taxis", str(read.tally))


def load_streams(source: Source) -> Streams:
    """The same as histograms."""
    return as_streams(load_days(source))


def as_streams(days: Days) -> Streams:
    """Histograms of all people."""
    *past, today = days.streams()
    return Streams(days, past, today)


def recipe(past: list[Floats], point: Mapping[str, Any]) -> Recipe:
    """The choices a point of a grid asks for: T as a multiple of T̄, and c, by one rule for all schemes if not named.

    Both are read off the day before, which nobody has to pay for on a crowd that nobody is in.
    """
    change = point["factor"] * mean_distance(past[-1])
    return Recipe(
        epsilon=point["epsilon"],
        change=change,
        releases=point.get("releases") or _needed(past[-1], change, point["scheme"]),
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


def _needed(day: Floats, change: float, scheme: str) -> int:
    """As many releases as T asks for without noise, in any of the streams that the scheme compares.

    Quiet streams are those around the window in which people really move, whichever window noise will choose.
    """
    daytime = candidates(len(day))[int(np.argmax(sound_utility(day, Recipe.weight)))].mask(len(day))
    hybrid = scheme in ("static_hybrid", "dynamic_hybrid")
    quiet = quiet_streams(daytime, len(day), parted=scheme == "dynamic_hybrid")
    compared = quiet if hybrid else [np.arange(len(day))]
    return max([FEWEST, *(needed(day[stamps], change) for stamps in compared)])
