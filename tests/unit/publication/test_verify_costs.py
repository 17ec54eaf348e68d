"""What events cost: the verifier's own computation beside the one that chose the noise."""

import math
from collections.abc import Callable
from typing import Any

import pytest
from forging import OPERATOR, asked, wrong
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_ndtr
from signed_release import EVENTS, Release, canonical, make_release, open_book, sha256

from density_assets.privacy.composition import spent
from density_assets.privacy.events import (
    Event,
    Gaussian,
    Laplace,
    LaplaceVector,
    Selection,
    SparseVector,
    WindowSelection,
    to_record,
)
from density_assets.publication.verify import Damaged, epsilon_of, gaussian_delta
from density_assets.schemes import SCHEMES
from density_assets.settings import Settings

ratios = st.floats(0.005, 2)
deltas = st.floats(1e-9, 1e-5)


def cost(events: list[Event], delta: float) -> float:
    return epsilon_of([to_record(event) for event in events], delta)


@given(st.lists(ratios, min_size=1, max_size=5), deltas)
def test_gaussians_cost_what_the_exact_curve_says(noise, delta):
    events = [Gaussian("q", 1.0, ratio) for ratio in noise]
    assert cost(events, delta) == pytest.approx(spent(events, delta).epsilon, rel=1e-6)


@settings(max_examples=20)
@given(st.lists(ratios, min_size=1, max_size=3), st.lists(ratios, max_size=2), deltas)
def test_laplace_noise_costs_what_its_loss_distribution_says(laplace, gaussian, delta):
    events: list[Event] = [Laplace("q", 1.0, ratio) for ratio in laplace]
    events += [Gaussian("q", 1.0, ratio) for ratio in gaussian]
    ours, theirs = cost(events, delta), spent(events, delta).epsilon
    assert ours == pytest.approx(theirs, rel=2e-3, abs=4e-4)  # theirs rounds losses up to 1e-4, event by event
    assert ours <= sum(laplace) + cost([Gaussian("q", 1.0, ratio) for ratio in gaussian], delta) + 1e-6


@given(st.lists(ratios, min_size=1, max_size=3), st.floats(0.01, 1), deltas)
def test_mixtures_cost_what_renyi_divergence_says(noise, epsilon, delta):
    events = [Selection("s", epsilon, 3.0), *(Laplace("q", 1.0, ratio) for ratio in noise)]
    events.append(Gaussian("g", 2.0, noise[0]))
    assert cost(events, delta) == pytest.approx(spent(events, delta).epsilon, rel=2e-3)


@pytest.mark.parametrize(
    "event",
    [
        LaplaceVector("q", 100.0, 5.5),
        Selection("q", 0.1, 5.5),
        WindowSelection("q", 0.1, 5.5, 0.3),
        SparseVector("q", 0.01, 100.0, 1.0, 28),
        SparseVector("q", 0.01, 100.0, 1.0, 28, distance=2.0, streams=3, change=0.25),
        SparseVector("q", 0.001, 1000.0, 1.0, 5, pure=True),
    ],
)
def test_every_kind_of_event_is_known(event):
    assert cost([event], 2e-6) == pytest.approx(spent([event], 2e-6).epsilon, rel=2e-3)


@pytest.mark.parametrize("name", SCHEMES)
def test_what_every_scheme_plans_is_within_its_promise(name):
    """The calibration leaves a tenth of a percent; our computation must not need more."""
    chosen = Settings()
    chosen = chosen.model_copy(update={"scheme": chosen.scheme.model_copy(update={"name": name})})
    events = [event for door in SCHEMES[name].plan(chosen).values() for event in door]
    assert 0.9 * chosen.privacy.epsilon < cost(events, chosen.privacy.delta) <= chosen.privacy.epsilon


def test_noise_that_is_one_percent_too_small_is_noticed():
    chosen = Settings()
    plan = SCHEMES["lowrank"].plan(chosen)
    less = [Gaussian(e.query, 0.99 * e.sigma, e.sensitivity) for door in plan.values() for e in door]
    assert cost(less, chosen.privacy.delta) > chosen.privacy.epsilon


@given(st.floats(-30, 800), st.floats(1e-3, 60))
def test_the_gaussian_curve_by_logarithms(epsilon, mu):
    """A third way to write the same formula, precise where the two terms are far apart."""
    first, second = log_ndtr(mu / 2 - epsilon / mu), epsilon + log_ndtr(-mu / 2 - epsilon / mu)
    expected = math.exp(first) * -math.expm1(min(second - first, 0.0)) if first > -700 else 0.0
    assert gaussian_delta(epsilon, mu) == pytest.approx(expected, rel=1e-6, abs=1e-13)


def test_nothing_costs_nothing_and_little_noise_costs_everything():
    assert epsilon_of([], 1e-6) < 1e-9
    for sigma in (1e-300, 1e-150):  # beyond computing, and nearly
        assert cost([Gaussian("q", sigma, 1.0)], 1e-6) > 1e200
    assert cost([Laplace("q", 1e-3, 1.0)], 1e-6) == pytest.approx(1000, rel=1e-2)
    assert cost([Laplace("q", 1e-300, 1.0)], 1e-6) > 1e200
    many = [Laplace("q", 100.0, 1.0)] * 3000
    assert math.isfinite(cost(many, 1e-6))


@pytest.mark.parametrize(
    "event",
    [
        None,
        {},
        {"kind": "magic", "query": "q"},
        {"kind": "gaussian", "query": "q", "sigma": 1.0},
        {"kind": "gaussian", "query": "q", "sigma": 0.0, "sensitivity": 1.0},
        {"kind": "gaussian", "query": "q", "sigma": -1.0, "sensitivity": 1.0},
        {"kind": "gaussian", "query": "q", "sigma": True, "sensitivity": 1.0},
        {"kind": "gaussian", "query": "q", "sigma": "1", "sensitivity": 1.0},
        {"kind": "gaussian", "query": "q", "sigma": 1.0, "sensitivity": 1.0, "discount": 0.5},
        {"kind": ["gaussian"], "query": "q", "sigma": 1.0, "sensitivity": 1.0},
        {"kind": "sparse_vector", "query": "q", "epsilon": 1.0, "scale": 1.0, "sensitivity": 1.0, "releases": 0},
        {"kind": "sparse_vector", "query": "q", "epsilon": 1.0, "scale": 1.0, "sensitivity": 1.0, "releases": 1.5},
        {**to_record(SparseVector("q", 0.01, 100.0, 1.0, 28)), "streams": -1},
        {**to_record(SparseVector("q", 0.01, 100.0, 1.0, 28)), "pure": 1},
    ],
)
def test_an_event_that_cannot_be_accounted_for_is_refused(event):
    with pytest.raises(Damaged, match="event"):
        epsilon_of([event], 1e-6)


WEEKS = ("2007-09-10", "2007-09-17", "2007-09-24")
DOORS = sorted(EVENTS)
TOGETHER = 0.5477  # a little above what the Gaussians of three weeks cost together


@pytest.fixture
def release(tmp_path) -> Release:
    """The third of three weeks, which is estimated with the two before it."""
    book = open_book(OPERATOR)
    earlier = [make_release(tmp_path / week, OPERATOR, book, week) for week in WEEKS[:2]]
    made = make_release(tmp_path / "release", OPERATOR, book, WEEKS[2])
    made.statement |= {"geography": "abc", "parameters": {"weight_l": 20, "tower_l": 400, "split": None}}
    made.statement["estimate"] = {
        "vintage": "provisional",
        "alone": None,
        "weeks": [{"week": one.week, "revision": 1, "draws": draws(one)} for one in earlier],
        "left_out": [{"week": "2007-09-03", "revision": 1, "reason": "it was drawn by gpa"}],
        "own": {"epsilon": 0.2991, "delta": 2e-6, "accountant": "analytic Gaussian"},
        "together": {"epsilon": TOGETHER, "delta": 2e-6, "accountant": "exact Gaussian"},
    }
    return rekey(made).seal()


def draws(release: Release) -> dict[str, Any]:
    return {
        charge["door"]: {"charge": charge["hash"], "measurement": charge["measurement"], "draw": charge["draw"]}
        for charge in release.statement["charges"]
    }


def rekey(release: Release) -> Release:
    """The key as it is documented: everything that decides the estimate, in the one canonical way."""
    said, estimate = release.statement, release.statement["estimate"]
    own = {charge["door"]: charge["draw"] for charge in said["charges"]}
    digests = [week["draws"][door]["draw"] for week in estimate["weeks"] for door in sorted(week["draws"])]
    decided = {
        "draws": [*digests, *(own[door] for door in DOORS)],
        **{name: said[name] for name in ("scheme", "geography")},
        "format": 1,
        "parameters": {"weight_l": 20, "tower_l": 400},
    }
    estimate["key"] = sha256(canonical(decided).encode())
    return release


def test_an_estimate_whose_draws_are_paid_for_is_verified(release):
    result = asked(release)
    assert (wrong(result), result.status) == ([], 0)
    texts = [text for _, text in result.findings]
    for week in WEEKS[:2]:
        assert f"noisy_series of the week of {week}, which the estimate uses, was paid for and drawn" in texts
    assert "the key of the estimate is that of its draws" in texts
    assert any(text.startswith("all draws of the estimate, of 3 weeks, cost epsilon 0.5") for text in texts)


def test_an_estimate_of_one_week_is_of_one_week(release):
    release.statement["estimate"]["weeks"] = []
    texts = [text for _, text in asked(rekey(release).seal()).findings]
    assert any(text.startswith("all draws of the estimate, of 1 week, cost epsilon 0.") for text in texts)


def week_of(release: Release, number: int = 0) -> dict[str, Any]:
    return release.statement["estimate"]["weeks"][number]


def draw_of(release: Release) -> dict[str, Any]:
    return week_of(release)["draws"]["noisy_series"]


FORGED: dict[str, tuple[Callable[[Release], Any], str]] = {
    "a changed digest": (lambda it: draw_of(it).update(draw="0" * 64), "was paid for and drawn"),
    "a draw that nobody paid for": (lambda it: draw_of(it).update(charge="0" * 64), "was paid for and drawn"),
    "another measurement": (lambda it: draw_of(it).update(measurement="0" * 64), "was paid for and drawn"),
    "another week": (lambda it: week_of(it).update(week="2007-09-03"), "was paid for and drawn"),
    "another revision": (lambda it: week_of(it).update(revision=2), "was paid for and drawn"),
    "the draws of another week": (lambda it: week_of(it).update(draws=week_of(it, 1)["draws"]), "was paid for"),
    "a week twice": (lambda it: it.statement["estimate"]["weeks"].insert(0, week_of(it)), "earlier weeks, each once"),
    "a later week": (lambda it: week_of(it, 1).update(week="2007-10-01"), "earlier weeks, each once"),
    "less cost": (lambda it: it.statement["estimate"]["together"].update(epsilon=0.3), "cost epsilon 0.5"),
    "another delta": (lambda it: it.statement["estimate"]["together"].update(delta=1e-3), "cost epsilon"),
    "no weeks": (lambda it: it.statement["estimate"].pop("weeks"), "must have a field 'weeks'"),
    "draws as a list": (lambda it: week_of(it).update(draws=[]), "must be a record"),
    "an estimate as text": (lambda it: it.statement.update(estimate="yes"), "must be a record"),
    "no reason": (lambda it: it.statement["estimate"]["left_out"][0].pop("reason"), "must have a field 'reason'"),
}


@pytest.mark.parametrize("what", FORGED)
def test_what_is_wrong_with_an_estimate_is_found_though_the_operator_signed_it(release, what):
    change, words = FORGED[what]
    change(release)
    if isinstance(release.statement["estimate"], dict) and "weeks" in release.statement["estimate"]:
        rekey(release)
    result = asked(release.seal())
    assert result.status == 1
    assert any(words in text for text in wrong(result)), wrong(result)


@pytest.mark.parametrize("what", ["a week less", "other parameters"])
def test_the_key_is_that_of_what_is_stated(release, what):
    if what == "a week less":
        del release.statement["estimate"]["weeks"][0]
    else:
        release.statement["parameters"]["weight_l"] = 10
    assert wrong(asked(release.seal())) == ["the key of the estimate is that of its draws"]


def test_a_statement_without_an_estimate_is_verified_as_before(release):
    del release.statement["estimate"]
    assert asked(release.seal()).status == 0


def test_only_a_manifest_of_a_final_estimate_makes_later_weeks_right(release):
    """Else a week could be published again with other numbers, under its first name."""
    release.statement["estimate"]["vintage"] = "final"
    assert "the estimate is provisional, as its manifest says" in wrong(asked(rekey(release).seal()))
