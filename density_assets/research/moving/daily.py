"""The budget of the four schemes on one day of people who are at one location per stamp: pure, as Chen et al. have it.

A user is in every histogram of the day once, so S stamps that are drawn every time change by S (L1). The schemes
themselves are those of weekly releases (`schemes/moving/`), here with the events of

published   the printed constants (Alg. 1, 2, 4, 5).
sound       what the same budget really buys: a histogram has sensitivity 1 (the 2 belongs to the comparisons), windows
            are chosen by the utility of bounded sensitivity, past days are people's days too and are paid for, and
            the threshold is counted from the distance that the noise of a release makes by itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from density_assets.errors import BadInput
from density_assets.privacy.events import Event, Laplace, Selection, SparseVector
from density_assets.privacy.noise import Noise
from density_assets.schemes.moving.perturbation import direct, threshold
from density_assets.schemes.moving.pure_budget import pure_changed
from density_assets.schemes.moving.stream import FEWEST, HISTOGRAM, PRINTED_DISTANCE, Floats
from density_assets.schemes.moving.walk import Hybrid
from density_assets.schemes.moving.windows import (
    Window,
    published_sensitivity,
    published_utility,
    sound_sensitivity,
    sound_utility,
)

Name = Literal["direct", "threshold", "static_hybrid", "dynamic_hybrid"]
NAMES: tuple[Name, ...] = ("direct", "threshold", "static_hybrid", "dynamic_hybrid")


@dataclass(frozen=True)
class Recipe:
    """What a person chooses; nothing here may be computed from the data that is released.

    change: the threshold T. releases: c, fresh histograms of each stream that is compared: the day under `threshold`,
    its quiet part under `static_hybrid`, before and after the window under `dynamic_hybrid`. comparing: part of a
    threshold's budget for comparisons. selecting: part of the budget for choosing windows. moving: part of the rest for
    the daytime. weight: λ of the sound utility.
    """

    epsilon: float
    change: float
    releases: int
    sound: bool = True
    comparing: float = 0.1
    selecting: float = 0.05
    moving: float = 0.75
    weight: float = 1.0

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
    if name == "direct":
        event = _every_stamp(recipe.epsilon, stamps)
        return Day(direct(today, event, noise), (event,))
    if name == "threshold":
        sparse = _changed(recipe.epsilon, recipe)
        return Day(threshold(today, sparse, _bar(recipe, sparse, locations), noise), (sparse,))
    if name == "dynamic_hybrid" and not past:
        raise BadInput("dynamic_hybrid must have days before to learn its window from, got none: use static_hybrid")
    walk = _hybrid(name, recipe, len(past), stamps, locations)
    released, (window,) = walk.released(past, [today], noise)
    selections = [walk.selection] * (len(past) if walk.predicts else 1)
    return Day(released, (*selections, walk.moving(len(window)), walk.still), window)


def pure_cost(events: Sequence[Event]) -> float:
    """What events cost together in pure DP, if the sensitivities they claim hold."""
    return sum(_pure(event) for event in events)


def _hybrid(name: Name, recipe: Recipe, past: int, stamps: int, locations: int) -> Hybrid:
    selecting, left = _shares(name, recipe, past)
    predicts = name == "dynamic_hybrid"
    bound = sound_sensitivity(stamps, recipe.weight) if recipe.sound else published_sensitivity(stamps)
    still = _changed((1 - recipe.moving) * left, recipe, 2 if predicts else 1)
    return Hybrid(
        predicts=predicts,
        selection=Selection("the window of a day", selecting, bound),
        utility=partial(sound_utility, weight=recipe.weight) if recipe.sound else published_utility,
        moving=partial(_every_stamp, recipe.moving * left),
        still=still,
        change=_bar(recipe, still, locations),
    )


def _shares(name: Name, recipe: Recipe, past: int) -> tuple[float, float]:
    """Epsilon of one selection, and of the day once its window is known.

    The published `dynamic_hybrid` spends the full budget on each past day, "in parallel" with today. They are days of
    the same people: soundly all selections come out of one share.
    """
    selecting = recipe.selecting * recipe.epsilon
    if name == "static_hybrid":
        return selecting, recipe.epsilon - selecting
    if not recipe.sound:
        return recipe.epsilon, recipe.epsilon
    return selecting / past, recipe.epsilon * (1 - recipe.selecting)


def _every_stamp(epsilon: float, stamps: int) -> Laplace:
    """One user adds one to every histogram."""
    return Laplace("histograms of some stamps", stamps * HISTOGRAM / epsilon, stamps * HISTOGRAM)


def _changed(epsilon: float, recipe: Recipe, streams: int = 1) -> SparseVector:
    return pure_changed(
        "histograms that have changed",
        epsilon,
        HISTOGRAM if recipe.sound else PRINTED_DISTANCE,
        releases=recipe.releases,
        streams=streams,
        comparing_share=recipe.comparing,
    )


def _bar(recipe: Recipe, event: SparseVector, locations: int) -> float:
    """Noise alone puts a release E|Laplace| = scale away from the truth at every location, which is public."""
    return recipe.change + (locations * event.scale if recipe.sound else 0.0)


def _pure(event: Event) -> float:
    if isinstance(event, Laplace):
        return event.sensitivity / event.scale
    if isinstance(event, Selection):
        return event.epsilon
    assert isinstance(event, SparseVector)
    return event.pure_epsilon
