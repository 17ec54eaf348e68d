"""How much one user moves the utility of a window: at most the sound bound, and far beyond the published one."""

import itertools

import numpy as np
import pytest

from density_assets.privacy.events import Selection
from density_assets.privacy.noise import SimulatedNoise
from density_assets.schemes.moving.windows import (
    Window,
    candidates,
    choose,
    distances,
    histograms,
    predict,
    published_sensitivity,
    published_utility,
    sound_sensitivity,
    sound_utility,
)

STAMPS, PLACES = 4, 2
NOWHERE = -1
NEWCOMERS = np.array(list(itertools.product((NOWHERE, 0, 1), repeat=STAMPS)))  # everyone, absent at some stamps or not


def alternating(people: int, stamps: int) -> np.ndarray:
    """People who all change between two places at every stamp."""
    return np.tile(np.arange(stamps) % 2, (people, 1))


@pytest.mark.parametrize("weight", [0.3, 1.0, 3.0])
def test_nobody_moves_the_sound_utility_by_more_than_its_bound(weight):
    random = np.random.default_rng(1)
    crowds = [random.integers(0, PLACES, (people, STAMPS)) for people in (0, 1, 2, 3, 5, 8)]
    crowds += [alternating(people, STAMPS) for people in (2, 4)]
    most = 0.0
    for others, newcomer in itertools.product(crowds, NEWCOMERS):
        without = histograms(others, PLACES)
        present = without + histograms(newcomer[None, :], PLACES)
        most = max(most, np.abs(sound_utility(present, weight) - sound_utility(without, weight)).max())
    bound = sound_sensitivity(STAMPS, weight)
    assert most <= bound
    assert most > 0.4 * bound  # the search is not blind: a bound of less than half would fail


# Whether the people of six places come (1) or go (-1), step by step: any two steps in a row have a place for each pair.
FLOWS = np.array([(1, -1, 1, -1), (-1, 1, -1, 1), (1, 1, -1, -1), (-1, -1, 1, 1), (1, -1, -1, 1), (-1, 1, 1, -1)])


def flowing(sizes: np.ndarray) -> np.ndarray:
    """A stream whose step t moves sizes[t] people into or out of every place."""
    flows = np.tile(FLOWS, 6)[:, : len(sizes)]
    return 1e5 + np.vstack([np.zeros(len(FLOWS)), np.cumsum((flows * sizes).T, axis=0)])


def worst_newcomer(sizes: np.ndarray, weight: float) -> np.ndarray:
    """The path that moves every distance the way the utility of the whole day grows most."""
    whole = candidates(len(sizes) + 1).index(Window(0, len(sizes)))
    before = sound_utility(flowing(sizes), weight)[whole]
    nudged = (sound_utility(flowing(sizes + step), weight)[whole] for step in np.eye(len(sizes)))
    up = np.sign([value - before for value in nudged])
    signs = np.sign(np.diff(flowing(sizes), axis=0))  # with the flow a step adds two to a distance, against it less two
    comes = np.vstack([np.ones(len(FLOWS)), signs == up[:, None]])
    goes = np.vstack([signs == -up[:, None], np.ones(len(FLOWS))])
    return np.argmax(comes * goes, axis=1)


@pytest.mark.parametrize(
    ("stamps", "weight", "reached"), [(19, 0.3, 0.7), (24, 0.3, 0.7), (19, 1.0, 0.55), (24, 3.0, 0.7)]
)
def test_the_sound_bound_is_nearly_reached_over_a_whole_day(stamps, weight, reached):
    most = 0.0
    for calm in range(stamps):
        sizes = np.where(np.arange(stamps - 1) < calm, 100.0, 200.0)
        without = flowing(sizes)
        present = without + histograms(worst_newcomer(sizes, weight)[None, :], len(FLOWS))
        most = max(most, np.abs(sound_utility(present, weight) - sound_utility(without, weight)).max())
    assert reached * sound_sensitivity(stamps, weight) < most <= sound_sensitivity(stamps, weight)


def test_one_user_breaks_the_published_bound():
    # Ten people commute between two places, so every distance is 20 and simVar just below 1. The newcomer goes with
    # them for half the day and against them for the other: distances become 22 and 18, simVar 1.9, the utility half.
    stamps = 19
    newcomer = np.arange(stamps) % 2
    newcomer[10:] = 1 - newcomer[10:]
    without = histograms(alternating(10, stamps), PLACES)
    present = without + histograms(newcomer[None, :], PLACES)
    assert set(distances(without)) == {20.0}
    assert set(distances(present)) == {18.0, 20.0, 22.0}
    change = np.abs(published_utility(present) - published_utility(without)).max()
    assert published_sensitivity(stamps) == pytest.approx(2.37, abs=0.01)
    assert change > 4 * published_sensitivity(stamps)
    assert np.abs(sound_utility(present, 1.0) - sound_utility(without, 1.0)).max() <= sound_sensitivity(stamps, 1.0)


def test_the_best_window_is_where_people_move():
    stream = np.zeros((10, 2))
    stream[:, 0] = [0, 0, 0, 50, 0, 60, 0, 0, 0, 0]  # all movement between stamps 2 and 6
    best = candidates(10)[int(np.argmax(sound_utility(stream, 1.0)))]
    assert best == Window(2, 6)
    event = Selection("window", 50.0, sound_sensitivity(10, 1.0))
    assert choose(sound_utility(stream, 1.0), event, 10, SimulatedNoise(0)) == best


def test_windows_are_predicted_along_a_line_and_stay_within_the_day():
    assert predict([Window(6, 18)], 24) == Window(6, 18)
    assert predict([Window(6, 18), Window(7, 19), Window(8, 20)], 24) == Window(9, 21)
    assert predict([Window(10, 12), Window(20, 23)], 24) == Window(23, 23)
    assert predict([Window(2, 20), Window(9, 12)], 24) == Window(4, 16)  # ends that cross are put in order
