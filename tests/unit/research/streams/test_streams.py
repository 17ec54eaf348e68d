"""All streams: the promise in every window, nothing but noisy values used, and the truth where noise is small."""

from functools import partial

import numpy as np
import pytest
from small_crowd import DeafNoise, crowd

from density_assets.errors import BadInput
from density_assets.privacy.composition import spent
from density_assets.privacy.events import Laplace
from density_assets.privacy.noise import SimulatedNoise
from density_assets.quality.accuracy import pearson
from density_assets.research.streams import terms as stream_terms
from density_assets.research.streams.filtered import (
    FAST,
    RESCUE_DP,
    Alike,
    FastParameters,
    Levels,
    RescueParameters,
    append_values,
    correct_levels,
    fast,
    group_labels,
    no_values,
    observe,
    on_clock,
    pid,
    predict_levels,
    rescue,
    wanted_prices,
)
from density_assets.research.streams.terms import Charge, Terms, dearest_events, price, window_costs
from density_assets.research.streams.w_event import (
    BUDGET_ABSORPTION,
    BUDGET_DISTRIBUTION,
    K_THRESHOLD,
    SAMPLE,
    UNIFORM,
    budget_absorption,
    budget_distribution,
    sample,
)

TECHNIQUES = (UNIFORM, SAMPLE, BUDGET_DISTRIBUTION, BUDGET_ABSORPTION, FAST, RESCUE_DP)
SCHEMES = {
    "uniform": partial(sample, every=1),
    "distribution": partial(budget_distribution, comparison_share=0.3),
    "absorption": partial(budget_absorption, comparison_share=0.3, most_parts=168),
    "absorption of few parts": partial(budget_absorption, comparison_share=0.3, most_parts=3),
    "fast": partial(fast, chosen=FastParameters(samples=20)),
    "fast, own clocks": partial(fast, chosen=FastParameters(samples=20, clock="per place")),
    "rescue": partial(rescue, chosen=RescueParameters()),
    "rescue, own clocks": partial(rescue, chosen=RescueParameters(clock="per place")),
}


def changing(seed: int, places: int = 9, hours: int = 168) -> np.ndarray:
    """Counts with jumps and quiet stretches."""
    random = np.random.default_rng(seed)
    jumps = random.random((places, hours)) < 0.1
    return np.abs(np.cumsum(jumps * random.normal(0, 60, (places, hours)), axis=1)).round()


def all_windows(charges, terms, hours):
    """The same as `window_costs`, in the words of the definition."""
    for start in range(hours - terms.window + 1):
        costs = [
            sum(price(charge.event, terms.pure) for charge in charges if charge.hour == hour)
            for hour in range(start, start + terms.window)
        ]
        yield sum(sorted(costs)[-terms.active :])


@pytest.mark.parametrize("name", SCHEMES)
@pytest.mark.parametrize(
    "terms",
    [
        Terms(0.5, 1, 1, 1, True),
        Terms(1.0, 24, 24, 2, True),
        Terms(20.0, 40, 40, 1, True),
        Terms(2.0, 168, 9, 2, False),
    ],
)
@pytest.mark.parametrize("seed", range(3))
def test_no_window_costs_more_than_the_budget(name, terms, seed):
    counts = changing(seed)
    stream = SCHEMES[name](counts, terms, SimulatedNoise(seed))
    costs = list(all_windows(stream.charges, terms, counts.shape[1]))
    assert max(costs) <= terms.budget * (1 + 1e-9)
    assert max(costs) > 0.05 * terms.budget
    assert window_costs(stream.charges, terms, counts.shape[1]) == pytest.approx(costs)


@pytest.mark.parametrize("name", SCHEMES)
@pytest.mark.parametrize("terms", [Terms(1.0, 24, 24, 1, True), Terms(1.0, 168, 9, 1, False)])
def test_releases_and_schedules_follow_from_noisy_values_alone(name, terms):
    """A variance, a threshold or a group read off the raw stream would make these differ."""
    one, other = (SCHEMES[name](changing(seed), terms, DeafNoise(5)) for seed in (0, 1))
    assert np.array_equal(one.values, other.values)
    assert one.charges == other.charges


@pytest.mark.parametrize("technique", TECHNIQUES)
@pytest.mark.parametrize("unit", ["week", "w hours"])
def test_all_that_is_published_follows_from_noisy_values_alone(technique, unit, monkeypatch):
    monkeypatch.setattr(stream_terms, "SimulatedNoise", DeafNoise)
    one, other = (technique.publish(crowd(seed=seed), technique.parameters(unit=unit), 5) for seed in (0, 1))
    assert np.array_equal(one.density, other.density)
    assert (one.facts, one.events) == (other.facts, other.events)


@pytest.mark.parametrize("scheme", [budget_distribution, partial(budget_absorption, most_parts=168)])
def test_every_hour_that_is_compared_pays_for_it(scheme):
    terms = Terms(1.0, 24, 24, 2, True)
    stream = scheme(changing(0), terms, SimulatedNoise(0), comparison_share=0.4)
    compared = {c.hour for c in stream.charges if c.event.sensitivity == pytest.approx(2 / 9)}
    published = {c.hour for c in stream.charges if c.event.sensitivity == 2}
    assert published <= compared
    assert all(price(c.event, True) == pytest.approx(0.4 / 24) for c in stream.charges if c.event.sensitivity < 1)
    if scheme is budget_distribution:
        assert compared == set(range(168))


class NoNoise:
    """Adds nothing, so that schedules can be worked out by hand."""

    simulation = True

    def gaussian(self, values, event):
        return values

    laplace = gaussian


def test_half_of_what_is_left_by_hand():
    """Jumps far above the noise: published each hour, a half, a quarter, an eighth; old budget returns after w."""
    terms = Terms(1e6, 3, 3, 1, True)
    stream = budget_distribution(np.array([[0, 1e3, 0, 1e3, 0, 1e3]]) + 1e4, terms, NoNoise(), 0.5)
    paid = [price(c.event, True) for c in stream.charges if c.event.query.startswith("counts")]
    assert paid == pytest.approx([5e5 * part for part in (1 / 2, 1 / 4, 1 / 8, 5 / 16, 9 / 32, 13 / 64)])


def test_absorbed_parts_are_paid_back_by_hand():
    """Nothing changes for three hours, so the fifth takes four parts; three hours are silent, the ninth has its own."""
    terms = Terms(1e6, 10, 10, 1, True)
    counts = np.array([[100, 100, 100, 100, 900, 1, 2e3, 3e3, 4e3, 4e3]], dtype=float)
    stream = budget_absorption(counts, terms, NoNoise(), 0.5, most_parts=168)
    paid = {c.hour: price(c.event, True) / 5e4 for c in stream.charges if c.event.query.startswith("counts")}
    assert paid == pytest.approx({0: 1, 4: 4, 8: 1})
    assert stream.values[0].round() == pytest.approx([100] * 4 + [900] * 4 + [4e3] * 2)


def test_places_with_budgets_of_their_own_overcharge_a_user_who_moves():
    """The bound as published, M samples for each place: other places are due at other hours."""
    counts, terms = changing(0), Terms(1.0, 168, 168, 1, True)
    stream = fast(counts, terms, SimulatedNoise(0), FastParameters(samples=20, clock="per place"))
    assert len(stream.charges) > 20
    as_published = [Charge(charge.hour, Laplace("x", 20 / terms.budget, 1.0)) for charge in stream.charges]
    with pytest.raises(ArithmeticError, match="refuse"):
        dearest_events(as_published, terms, 168)


@pytest.mark.parametrize("technique", TECHNIQUES)
@pytest.mark.parametrize("epsilon", [0.3, 3.0])
def test_events_sum_to_the_promise(technique, epsilon, traces):
    week = technique.publish(traces, technique.parameters(epsilon=epsilon), 0)
    assert 0 < spent(week.events, 1e-6).epsilon <= epsilon
    window = technique.publish(traces, technique.parameters(epsilon=epsilon, unit="w hours", window=12), 0)
    assert sum(price(event, True) for event in window.events) <= epsilon * (1 + 1e-9)
    assert (week.facts["protects"], window.facts["protects"]) == ("a user's week", "12 hours of a user")


@pytest.mark.parametrize("technique", [*TECHNIQUES, K_THRESHOLD])
def test_nobody_anywhere_is_refused(technique, empty):
    with pytest.raises(BadInput, match="at least one visit"):
        technique.publish(empty, technique.parameters(), 0)


EVERYTHING = {"epsilon": 1e6, "hours_per_user": 168, "visits_per_hour": 12, "visits_clamp": 2016}


@pytest.mark.parametrize(
    ("technique", "parameters", "least"),
    [
        (UNIFORM, {}, 0.999),
        (SAMPLE, {"every": 1}, 0.999),
        (BUDGET_ABSORPTION, {}, 0.99),
        (FAST, {"samples": 168}, 0.99),
        (RESCUE_DP, {"small": 0, "unit": "w hours", "window": 1}, 0.7),
        (BUDGET_DISTRIBUTION, {"unit": "w hours", "window": 1}, 0.99),
    ],
)
def test_with_little_noise_the_density_is_the_truth(technique, parameters, least, traces):
    density = technique.publish(traces, technique.parameters(**(EVERYTHING | parameters)), 0).density
    assert pearson(traces.aggregate(), density) > least
    assert density.sum() == pytest.approx(traces.matrix.nnz, rel=0.02)


def test_small_counts_are_suppressed(traces):
    counts = traces.aggregate()
    zero = K_THRESHOLD.publish(traces, K_THRESHOLD.parameters(k=4), 0)
    half = K_THRESHOLD.publish(traces, K_THRESHOLD.parameters(k=4, suppressed="half"), 0)
    assert np.array_equal(zero.density, np.where(counts >= 4, counts, 0))
    assert np.array_equal(half.density, np.where(counts >= 4, counts, 1.5))
    assert zero.events == ()
    assert zero.facts["suppressed"] == (counts < 4).mean()


ALIKE = Alike(small=30, correlated=0.5, close=25)


def test_small_places_that_move_alike_are_counted_together():
    recent = np.array([[1, 2, 3], [2, 3, 4], [3, 2, 1], [100, 101, 102], [5, 6, 9]], float).T
    labels = group_labels(recent, np.ones(5, bool), ALIKE)
    assert labels[0] == labels[1] == labels[4]  # rising together
    assert len({labels[0], labels[2], labels[3]}) == 3  # falling; large


def test_a_group_ends_when_it_is_large():
    recent = np.array([[9, 10, 11], [11, 12, 13], [13, 14, 15], [15, 16, 17]], float).T
    labels = group_labels(recent, np.ones(4, bool), ALIKE)
    assert labels.tolist() == [0, 0, 0, 1]  # 10 + 12 is below 30, so the third joins; then it is 36


def test_places_that_are_not_due_or_not_known_stay_out():
    recent = np.array([[1, 2, 3], [1, 2, 3], [np.nan, 2, 3]], float).T
    labels = group_labels(recent, np.array([True, False, True]), ALIKE)
    assert labels[1] == -1
    assert labels[0] != labels[2]


def test_sums_are_shared_out_equally_at_the_most_modest_price():
    counts, labels = np.array([10.0, 20.0, 7.0, 5.0]), np.array([0, 0, 1, -1])
    observed, variance, dearest = observe(
        counts, labels, np.array([1e8, 2e8, 3e8, 9e8]), Terms(1e9, 1, 1, 1, True), SimulatedNoise(0)
    )
    assert observed == pytest.approx([15, 15, 7, 0], abs=1e-3)
    assert dearest == 3e8
    assert variance[:3] == pytest.approx([2 / 1e16 / 4, 2 / 1e16 / 4, 2 / 9e16])
    assert variance[3] == np.inf


def test_who_waits_longer_spends_more_up_to_a_fifth():
    terms = Terms(1.0, 24, 24, 1, True)
    wanted = wanted_prices(np.array([1.0, 5.0, 1e9]), 0.3, terms, RescueParameters())
    assert wanted == pytest.approx([0.2 * np.log(2) * 0.3, 0.2 * np.log(6) * 0.3, 0.6 * 0.3])
    assert wanted_prices(np.array([1e9]), 1.0, terms, RescueParameters()) == pytest.approx([0.2])


def test_the_filter_weighs_by_variances():
    before = predict_levels(Levels(np.zeros(2), np.full(2, 3.0)), 1.0)
    levels = correct_levels(before, np.full(2, 8.0), np.array([4.0, np.inf]))
    assert levels.values.tolist() == [4.0, 0.0]
    assert levels.variance.tolist() == [2.0, 4.0]


def test_the_controller_weighs_the_last_error_and_the_mean():
    errors = no_values(3, 2)
    for newest in (1.0, 2.0, 3.0, 4.0):
        errors = append_values(errors, np.array([True, newest == 1.0]), np.full(2, newest))
    assert pid(errors) == pytest.approx([0.9 * 4 + 0.1 * 3, 0.9 * 1 + 0.1 * 1])
    assert on_clock(np.array([1.0, 3.0]), "common").tolist() == [2.0, 2.0]
