"""Threshold and hybrid perturbation: what is drawn when, and that it never costs more than its event says."""

import re

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import laplace

from density_assets.privacy.events import Laplace, SparseVector
from density_assets.privacy.noise import SimulatedNoise
from density_assets.schemes.moving.perturbation import around, hybrid, threshold


class Bookkeeper(SimulatedNoise):
    """Draws as asked and writes down every use of noise."""

    def __init__(self, seed=0):
        super().__init__(seed)
        self.drawn = []

    def laplace(self, values, event):
        self.drawn.append((values.size, event.scale))
        return super().laplace(values, event)

    def order(self, paid):
        """The draws by name, one letter each: a histogram, a bar, a distance, or the last histogram."""
        names = {paid.release_noise.scale: "H", paid.threshold_noise.scale: "b", paid.distance_noise.scale: "d"}
        return "".join(names.get(scale, "L") for _, scale in self.drawn)


def event(releases=4, pure=True, **others):
    return SparseVector("hours", epsilon=0.02, scale=20.0, sensitivity=1.0, releases=releases, pure=pure, **others)


def spent(book: Bookkeeper, paid: SparseVector, places: int) -> tuple[float, float]:
    """What a user who is in every histogram pays, in pure DP and in zCDP, by what was really drawn."""
    released = [1.0 / scale for size, scale in book.drawn if size == places]
    runs = re.findall("bd+", book.order(paid))
    costs = [*released, *[paid.epsilon] * len(runs)]
    return sum(costs), sum(cost**2 for cost in costs) / 2


@pytest.mark.parametrize("pure", [True, False])
@pytest.mark.parametrize("change", [0.0, 300.0, 1e9])
@pytest.mark.parametrize("releases", [1, 2, 5, 40])
def test_no_stream_costs_more_than_its_event(pure, change, releases):
    paid = event(releases, pure)
    stream = np.random.default_rng(2).integers(0, 50, (24, 7)).astype(float)
    book = Bookkeeper()
    threshold(stream, paid, change, book)
    assert re.fullmatch("H(bd+H)*(bd+)?L?", book.order(paid))  # every run has a bar of its own
    epsilon, rho = spent(book, paid, places=7)
    assert epsilon <= paid.pure_epsilon + 1e-12
    assert rho <= paid.rho + 1e-12
    if change == 1e9 and releases > 1:
        assert (epsilon if pure else rho) == pytest.approx(paid.pure_epsilon if pure else paid.rho)  # all, at the last


def first_above(distances, bar, per_run, factor):
    """Probability that the last distance is the first to pass, by integration over the noisy threshold.

    factor: the threshold has Laplace noise of factor/per_run and distances twice that; 2 is what is needed.
    """
    on_bar, on_distance = laplace(0, factor / per_run), laplace(0, 2 * factor / per_run)

    def density(noise):
        below = np.prod(on_distance.cdf(bar + noise - np.array(distances[:-1])))
        return on_bar.pdf(noise) * below * on_distance.sf(bar + noise - distances[-1])

    reach = 60 * factor / per_run
    return quad(density, -reach, reach, points=[0.0], limit=400)[0]


def lost(bar, factor, quiet=200):
    """Logarithm of how much likelier one output is, where a user moves all distances by one, the last the other way."""
    without, present = [0.0] * quiet + [1.0], [1.0] * quiet + [0.0]
    return np.log(first_above(without, bar, 1.0, factor) / first_above(present, bar, 1.0, factor))


def test_a_run_of_comparisons_keeps_its_epsilon_and_would_not_with_half_the_noise():
    paid = event()
    assert paid.threshold_noise.scale == 2 / paid.epsilon  # the factor that is tested here
    assert paid.distance_noise.scale == 4 / paid.epsilon
    losses = [lost(bar, factor=2) for bar in (0.5, 5.0, 15.0)]
    assert max(np.abs(losses)) <= 1 + 1e-6
    assert max(losses) == pytest.approx(1, abs=1e-6)  # nothing to spare: the whole epsilon is lost
    assert lost(0.5, factor=1) > 1.9  # and twice that with the noise of sensitivity one


class Silence(SimulatedNoise):
    def __init__(self):
        super().__init__(0)

    def laplace(self, values, event):
        return np.array(values, dtype=float)


STREAM = np.array([[10.0, 0], [10, 1], [4, 7], [4, 7], [0, 11], [10, 1]])


def test_only_what_has_changed_is_drawn_afresh():
    released = threshold(STREAM, event(6), 5.0, Silence())
    assert released.tolist() == [[10, 0], [10, 0], [4, 7], [4, 7], [0, 11], [10, 1]]


def test_the_last_release_is_what_counts_not_the_first():
    there_and_back = np.array([[10.0, 0], [4, 7], [10, 0], [10, 0], [4, 7], [4, 7]])
    released = threshold(there_and_back, event(5), 5.0, Silence())
    assert released.tolist() == there_and_back.tolist()  # back again is as far from the last release as it was before


def test_after_the_last_release_everything_is_repeated():
    released = threshold(STREAM, event(2), 5.0, Silence())
    assert released.tolist() == [[10, 0], [10, 0], [4, 7], [4, 7], [4, 7], [4, 7]]


def test_the_last_stamp_spends_what_is_left():
    book = Bookkeeper()
    paid = event(4)
    threshold(STREAM, paid, 1e9, book)  # nothing passes: one step of four is used
    assert book.drawn[-1] == (2, pytest.approx(1 / (3 * (0.02 + 1 / 20))))
    with pytest.raises(ValueError, match="nothing is left to spend"):
        paid.last_noise(4)


def test_hybrids_draw_by_day_and_compare_at_night():
    daytime = np.array([False, True, True, False, False, False])
    quiet = around(daytime, 6)
    assert [part.tolist() for part in quiet] == [[0], [3, 4, 5]]
    events = (Laplace("day", 5.0, 1.0), event(1, streams=2))
    book = Bookkeeper()
    released = hybrid(STREAM, daytime, quiet, events, 5.0, book)
    assert [scale for size, scale in book.drawn if size > 1] == [5.0, 20.0, 20.0]
    assert released[4].tolist() == released[3].tolist() == released[5].tolist()
    with pytest.raises(ValueError, match="pays for 2 quiet streams, got 3"):
        hybrid(STREAM, daytime, [*quiet, np.array([1])], events, 5.0, book)


def test_days_without_a_window_or_without_nights_have_the_parts_they_have():
    daytime = np.array([False, False, True, True, True, True])
    assert [part.tolist() for part in around(daytime, 2)] == [[0, 1]]
