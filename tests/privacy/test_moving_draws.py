"""Weekly releases with moving characteristics draw no more than they are charged for, whatever the week holds."""

import numpy as np
import pytest

from density_assets.privacy.events import LaplaceVector, SparseVector
from density_assets.privacy.noise import SimulatedNoise
from density_assets.privacy.sensitivity import truncated_l2
from density_assets.schemes import SCHEMES
from density_assets.schemes.moving.windows import sound_sensitivity
from density_assets.schemes.scheme import SERIES, Counts
from density_assets.settings import SchemeSettings, Settings

PLACES, VISITS = 60, 30
MOVING = ("direct", "threshold", "static_hybrid", "dynamic_hybrid")
SELECTIONS = {"static_hybrid": 7, "dynamic_hybrid": 6}


def plan(name):
    return SCHEMES[name].plan(Settings(scheme=SchemeSettings(name=name)))[SERIES]


def weeks():
    """People at rest, people who are somewhere else in every hour, and people who move by day."""
    random = np.random.default_rng(0)
    rest = np.full((PLACES, 168), 500.0)
    restless = random.integers(0, 3_000, (PLACES, 168)).astype(float)
    by_day = np.isin(np.arange(168) % 24, range(8, 19))
    return {"rest": rest, "restless": restless, "commute": np.where(by_day, restless, rest)}


class Bookkeeper(SimulatedNoise):
    """Draws as asked, and adds up by the noise that is drawn what the worst user pays, in zCDP.

    That user has all VISITS in hours that are drawn every time, and is in every histogram and every day besides.
    """

    def __init__(self, seed, events):
        super().__init__(seed)
        self.compares = next((event for event in events if isinstance(event, SparseVector)), None)
        self.weight = getattr(events[0], "weight", None)
        self.rho, self.selections, self.comparisons, self.bars, self.run_is_open = 0.0, 0, 0, [], False

    def laplace(self, values, event):
        if values.size == 1:
            self._compared(float(values[0]), event.scale)
        else:
            fresh = values.ndim == 1
            self.run_is_open = self.run_is_open and not fresh
            self.rho += (1 if fresh else VISITS) / (2 * event.scale**2)
        return super().laplace(values, event)

    def _compared(self, value, scale):
        """A run is epsilon-DP with noise of 2/epsilon on its threshold and of 4/epsilon on distances."""
        if scale == self.compares.threshold_noise.scale:
            self.bars.append(value)
            self.rho += (2 / scale) ** 2 / 2
            self.run_is_open = True
            return
        assert self.run_is_open, "a run of comparisons must have a threshold of its own"
        assert scale >= 2 * self.compares.threshold_noise.scale
        self.comparisons += 1

    def select(self, scores, event):
        self.selections += len(scores)
        self.rho += len(scores) * (2 * sound_sensitivity(24, self.weight) / event.scale) ** 2 / 8
        return super().select(scores, event)


def kept(name, series, seed):
    book = Bookkeeper(seed, plan(name))
    SCHEMES[name].series({SERIES: plan(name)}, Counts(series=series), np.arange(PLACES), book)
    return book


@pytest.mark.parametrize("name", MOVING)
@pytest.mark.parametrize("week", weeks())
def test_what_is_drawn_costs_no_more_than_what_is_charged(name, week):
    charged = sum(event.dp_event.rho for event in plan(name))
    for seed in range(3):
        book = kept(name, weeks()[week], seed)
        assert book.rho <= charged * (1 + 1e-9)
        assert book.selections == SELECTIONS.get(name, 0)


@pytest.mark.parametrize("name", MOVING)
def test_the_events_claim_what_one_user_can_change(name):
    for event in plan(name):
        if isinstance(event, LaplaceVector):
            assert event.sensitivity == truncated_l2(VISITS)
        if isinstance(event, SparseVector):
            assert min(event.sensitivity, event.distance) >= 1


@pytest.mark.parametrize("name", MOVING[1:])
def test_thresholds_know_nothing_of_the_week(name):
    bars = {bar for week in weeks().values() for bar in kept(name, week, 0).bars}
    event = plan(name)[-1]
    assert sorted(bars) == pytest.approx([(1 + event.change) * PLACES * event.scale], rel=1e-12)


def test_every_quiet_stream_of_a_dynamic_hybrid_may_compare():
    event = plan("dynamic_hybrid")[-1]
    assert (event.streams, event.releases) == (14, 2)
    book = kept("dynamic_hybrid", weeks()["commute"], 0)
    assert len(book.bars) > 7
    assert book.comparisons > 7
