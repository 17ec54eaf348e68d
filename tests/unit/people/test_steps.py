"""The search in cumulative chances finds what a plain search finds."""

import numpy as np
import pytest

from density_assets.people.inhabitants import Steps


def rows(count: int, long: int, seed: int) -> np.ndarray:
    """Cumulative chances of several rows, one after the other; most chances of a row may be tiny."""
    chances = np.random.default_rng(seed).lognormal(0.0, 4.0, (count, long))
    steps = np.cumsum(chances, axis=1)
    return (steps / steps[:, -1:] + np.arange(count)[:, None]).ravel()


@pytest.mark.parametrize(("count", "long", "slots"), [(1, 1, 1), (1, 5, 2), (3, 168, 128), (40, 168, 16)])
def test_numbers_are_found_where_a_plain_search_finds_them(count, long, slots):
    ascending = rows(count, long, seed=long)
    drawn = count * np.random.default_rng(1).random(2_000)
    edges = [ascending, np.nextafter(ascending, -1), np.arange(count * slots + 1) / slots, drawn]
    numbers = np.clip(np.concatenate(edges), 0, count)
    np.testing.assert_array_equal(
        Steps(ascending, count, slots).find(numbers), np.searchsorted(ascending, numbers, side="right")
    )


def test_numbers_keep_their_shape_and_equal_steps_count_each():
    steps = Steps(np.array([0.25, 0.25, 0.75]), 1, 4)
    np.testing.assert_array_equal(steps.find(np.array([[0.0, 0.25], [0.5, 1.0]])), [[0, 2], [2, 3]])
