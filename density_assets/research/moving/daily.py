"""The four schemes on one day of people who are at one location per stamp, with pure budgets, as published.

published   the printed constants (Chen et al., Alg. 1, 2, 4, 5).
sound       what the same budget really buys: a histogram has sensitivity 1 (the 2 belongs to the comparisons), windows
            are chosen by the utility of bounded sensitivity, past days are people's days too and are paid for, and
            the threshold is counted from the distance that the noise of a release makes by itself.

Weekly releases of the pipeline use the same steps with other events: `schemes/moving.py`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from density_assets.errors import BadInput
from density_assets.privacy.events import Event, Laplace, Selection, SparseVector
from density_assets.privacy.noise import Noise
from density_assets.schemes.moving.perturbation import around, direct, hybrid, threshold
from density_assets.schemes.moving.stream import FEWEST, HISTOGRAM, PRINTED_DISTANCE, Floats, distances
from density_assets.schemes.moving.windows import (
    Window,
    choose,
    predict,
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
    if name == "direct":
        event = _direct_event(len(today), recipe.epsilon)
        return Day(direct(today, event, noise), (event,))
    if name == "threshold":
        sparse = _sparse(recipe.epsilon, recipe)
        return Day(threshold(today, sparse, _bar(recipe, sparse, today), noise), (sparse,))
    return _static(today, recipe, noise) if name == "static_hybrid" else _dynamic(past, today, recipe, noise)


def pure_cost(events: Sequence[Event]) -> float:
    """What events cost together in pure DP, if the sensitivities they claim hold."""
    return sum(_pure(event) for event in events)


def needed(stream: Floats, change: float) -> int:
    """How many fresh histograms `threshold` would draw from a stream without noise: for streams nobody protects."""
    last, count = stream[0], 1
    for histogram in stream[1:]:
        if abs(histogram - last).sum() >= change:
            last, count = histogram, count + 1
    return count


def mean_distance(stream: Floats) -> float:
    """T̄, the mean distance of consecutive histograms: for streams nobody protects."""
    return float(distances(stream).mean())


def _static(today: Floats, recipe: Recipe, noise: Noise) -> Day:
    selecting = recipe.selecting * recipe.epsilon
    window, chosen = _window(today, selecting, recipe, noise)
    day = _divided(today, window, recipe.epsilon - selecting, 1, recipe, noise)
    return Day(day.released, (chosen, *day.events), window)


def _dynamic(past: Sequence[Floats], today: Floats, recipe: Recipe, noise: Noise) -> Day:
    """Published: each past day at the full budget, "in parallel" with today. Sound: all of them out of one budget."""
    if not past:
        raise BadInput("dynamic_hybrid must have days before to learn its window from, got none: use static_hybrid")
    selecting = recipe.selecting * recipe.epsilon / len(past) if recipe.sound else recipe.epsilon
    left = recipe.epsilon * (1 - recipe.selecting) if recipe.sound else recipe.epsilon
    chosen = [_window(day, selecting, recipe, noise) for day in past]
    window = predict([window for window, _ in chosen], len(today))
    day = _divided(today, window, left, 2, recipe, noise)
    return Day(day.released, (*(event for _, event in chosen), *day.events), window)


def _divided(today: Floats, window: Window, epsilon: float, streams: int, recipe: Recipe, noise: Noise) -> Day:
    """`direct` inside the window, `threshold` outside: as one stream, or before and after."""
    daytime = window.mask(len(today))
    moving = _direct_event(len(window), recipe.moving * epsilon)
    still = _sparse((1 - recipe.moving) * epsilon, recipe, streams)
    noisy = hybrid(today, daytime, quiet_streams(daytime, streams), (moving, still), _bar(recipe, still, today), noise)
    return Day(noisy, (moving, still))


def quiet_streams(daytime: NDArray[np.bool_], streams: int) -> list[NDArray[np.integer]]:
    """The stamps outside a window: as one stream, or before and after; none if the window is the whole day."""
    parts = around(daytime, len(daytime))
    return [np.concatenate(parts)] if streams == 1 and parts else parts


def _window(day: Floats, epsilon: float, recipe: Recipe, noise: Noise) -> tuple[Window, Selection]:
    stamps = len(day)
    utility = sound_utility(day, recipe.weight) if recipe.sound else published_utility(day)
    bound = sound_sensitivity(stamps, recipe.weight) if recipe.sound else published_sensitivity(stamps)
    event = Selection("the window of a day", epsilon, bound)
    return choose(utility, event, stamps, noise), event


def _direct_event(stamps: int, epsilon: float) -> Laplace:
    """One user adds one to every histogram."""
    return Laplace("histograms of some stamps", stamps * HISTOGRAM / epsilon, stamps * HISTOGRAM)


def _sparse(epsilon: float, recipe: Recipe, streams: int = 1) -> SparseVector:
    step, sensitivity = epsilon / (recipe.releases * streams), HISTOGRAM if recipe.sound else PRINTED_DISTANCE
    return SparseVector(
        "histograms that have changed",
        epsilon=recipe.comparing * step,
        scale=sensitivity / ((1 - recipe.comparing) * step),
        sensitivity=sensitivity,
        releases=recipe.releases,
        streams=streams,
        pure=True,
    )


def _bar(recipe: Recipe, event: SparseVector, stream: Floats) -> float:
    """Noise alone puts a release E|Laplace| = scale away from the truth at every location, which is public."""
    return recipe.change + (stream.shape[1] * event.scale if recipe.sound else 0.0)


def _pure(event: Event) -> float:
    if isinstance(event, Laplace):
        return event.sensitivity / event.scale
    if isinstance(event, Selection):
        return event.epsilon
    assert isinstance(event, SparseVector)
    return event.pure_epsilon
