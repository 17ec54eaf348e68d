"""What charges mean: exact where it can be, sound everywhere, and plain data."""

import json
import math
from dataclasses import replace
from datetime import date, timedelta

import numpy as np
import pytest
from scipy.stats import norm

from density_assets.privacy.charges import Row
from density_assets.privacy.composition import compose
from density_assets.privacy.events import Gaussian, Laplace, LaplaceVector, Selection
from density_assets.privacy.promise import attacker_auc, explain, explain_release
from density_assets.privacy.release import Charge
from density_assets.schemes import SCHEMES
from density_assets.settings import Settings

GAUSSIAN = Gaussian("series", 1_000.0, 80.0)
WEEK = [event for door in SCHEMES["lowrank"].plan(Settings().with_privacy(delta=2e-6)).values() for event in door]


def auc_of(with_person, without):
    """The area under the curve of the best test between two distributions over a few outcomes."""
    order = np.argsort(-with_person / without)
    true, false = np.cumsum(with_person[order]), np.cumsum(without[order])
    return np.trapezoid(np.append(0, true), np.append(0, false))


# --- attackers ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mu", [0.08, 0.576, 2.0])
def test_against_gaussian_noise_the_best_attacker_is_known_exactly(mu):
    cost = compose([Gaussian("q", 1e6, mu * 1e6)])
    assert attacker_auc(cost) == pytest.approx(norm.cdf(mu / math.sqrt(2)), abs=1e-9)
    random = np.random.default_rng(1)
    here, gone = random.normal(mu, 1, 200_000), random.normal(0, 1, 200_000)
    assert attacker_auc(cost) == pytest.approx((here > gone).mean(), abs=0.005)


@pytest.mark.parametrize("rho", [1e-4, 0.003, 0.03, 0.15, 0.5, 1.5, 4.0])
def test_the_bound_for_other_noise_is_above_what_zcdp_permits_and_not_far(rho):
    """A Gaussian mechanism is one of those that cost so much zCDP."""
    bound = attacker_auc(compose([LaplaceVector("v", 1.0, math.sqrt(2 * rho))]))
    exact = norm.cdf(math.sqrt(rho))
    assert exact < bound < exact + 0.075


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 1.0, 3.0])
def test_the_bound_for_laplace_noise_is_above_its_best_attacker(epsilon):
    """Outcomes are fine bins of the noisy value; tests between them are as good as any up to their width."""
    edges = np.linspace(-40 / epsilon, 40 / epsilon, 400_001)
    below = [
        np.where(edges < at, np.exp((edges - at) * epsilon) / 2, 1 - np.exp((at - edges) * epsilon) / 2)
        for at in (1, 0)
    ]
    here, gone = (np.maximum(np.diff(part), 1e-300) for part in below)
    bound, exact = attacker_auc(compose([Laplace("l", 1 / epsilon, 1.0)])), auc_of(here, gone)
    assert exact <= bound < exact + 0.05
    assert bound <= 1 / (1 + math.exp(-epsilon)) + 1e-6  # what randomised response with this epsilon would give away


@pytest.mark.parametrize("runs", [1, 5, 40])
def test_the_bound_for_selections_is_above_their_best_attacker(runs):
    """Two candidates whose scores move apart by the sensitivity each: all runs together are a binomial."""
    event = Selection("k", 0.4, 1.0)
    share = 1 / (1 + math.exp(-event.epsilon))  # of exponents epsilon·1/2 and -epsilon·1/2, against even odds
    counts = np.arange(runs + 1)
    ways = np.array([math.comb(runs, count) for count in counts], dtype=float)
    here, gone = ways * share**counts * (1 - share) ** (runs - counts), ways / 2.0**runs
    assert auc_of(here, gone) <= attacker_auc(compose([event] * runs))


def test_who_sees_nothing_guesses():
    assert attacker_auc(compose([])) == 0.5


# --- the value that is shown ----------------------------------------------------------------------------------------


def test_a_week_a_year_and_ten_years_at_the_papers_promise():
    said = explain(WEEK, WEEK * 52, WEEK * 520)
    week, year, lifetime = (said[name][0] for name in ("week", "rolling_year", "lifetime"))
    assert [bounds["epsilon"]["1e-05"] for bounds in (week, year, lifetime)] == [0.2668, 2.336, 8.917]
    assert [bounds["mu"] for bounds in (week, year)] == [0.07989, 0.5761]
    assert [bounds["attacker_auc"] for bounds in (week, year, lifetime)] == [0.523, 0.659, 0.902]
    assert list(week["epsilon"]) == ["1e-05", "1e-06", "1e-07", "1e-09"]
    assert week["unit"] == "the whole week of a person with at most one identifier"
    assert year["unit"] == "a person over 52 consecutive weeks with at most one identifier a week"
    assert said["lifetime"][2]["unit"] == "a person over all weeks charged so far with at most 7 identifiers a week"
    assert "in at most 52.3 of 100 cases; guessing gives 50" in week["in_words"]


def test_identifiers_multiply_what_a_person_has_at_stake():
    said = explain([GAUSSIAN], [GAUSSIAN] * 52, [GAUSSIAN] * 60)["week"]
    assert [bounds["identifiers"] for bounds in said] == [1, 2, 7]
    for bounds in said:
        number = bounds["identifiers"]
        alone = explain([replace(GAUSSIAN, sensitivity=80.0 * number)], [], [], identifiers=[1])["week"][0]
        assert bounds["epsilon"] == pytest.approx(alone["epsilon"], rel=1e-3)
        assert [bounds[name] for name in ("rho", "mu", "attacker_auc")] == pytest.approx(
            [alone[name] for name in ("rho", "mu", "attacker_auc")], rel=1e-3
        )


def test_mu_is_said_only_where_noise_is_gaussian():
    mixed = explain([GAUSSIAN, Selection("k", 0.05, 1.0)], [], [])["week"][0]
    assert mixed["mu"] is None
    assert mixed["rho"] == pytest.approx(0.08**2 / 2 + 0.05**2 / 8, rel=1e-3)


def test_numbers_are_rounded_upwards():
    cost, said = compose(WEEK), explain(WEEK, [], [])["week"][0]
    for shown, exact in (
        (said["rho"], cost.rho),
        (said["mu"], cost.mu),
        (said["attacker_auc"], attacker_auc(cost)),
        *((epsilon, cost.epsilon(float(delta))) for delta, epsilon in said["epsilon"].items()),
    ):
        assert exact <= shown <= exact * 1.002


def test_it_is_plain_data_and_the_same_every_time():
    said = explain(WEEK, WEEK * 52, WEEK * 60)
    assert json.loads(json.dumps(said, allow_nan=False)) == said
    assert json.dumps(explain(list(WEEK), WEEK * 52, WEEK * 60)) == json.dumps(said)


def test_a_release_is_explained_from_the_ledger():
    first = date(2007, 9, 10)
    rows = [
        Row(
            number,
            "2026-01-01",
            Charge("subscribers", "town", week, revision, 0.3, 2e-6, "d", "m", tuple(WEEK)),
            "h",
            True,
        )
        for number, (week, revision) in enumerate(
            [*(((first + timedelta(weeks=n)).isoformat(), 1) for n in range(60)), ("2007-09-17", 2)], start=1
        )
    ]
    said = explain_release(rows, "subscribers", date(2007, 9, 17), 1e-5)
    assert (said["from"], said["to"]) == ("2007-09-10", "2008-09-01")
    periods = explain(WEEK * 2, WEEK * 53, WEEK * 61)  # the week was released twice
    assert {name: said[name] for name in periods} == periods
    assert explain_release(rows, "others", date(2007, 9, 17), 1e-5)["lifetime"][0]["attacker_auc"] == 0.5
