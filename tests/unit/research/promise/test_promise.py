"""The largest AUC a promise allows: the closed form against the area, and against mechanisms that reach it."""

import math

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from density_assets.research.promise.epsilon_bounds import largest_auc, smallest_epsilon


@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 0.0), (0.3, 2e-6), (1.0, 1e-5), (1.0, 0.1), (5.0, 0.01)])
def test_the_closed_form_is_the_area_under_the_largest_curve(epsilon, delta):
    alpha = np.linspace(0, 1, 400_001)
    missed = np.maximum.reduce([0 * alpha, 1 - delta - np.exp(epsilon) * alpha, np.exp(-epsilon) * (1 - delta - alpha)])
    area = np.trapezoid(1 - missed, alpha)
    assert largest_auc(epsilon, delta) == pytest.approx(area, abs=1e-5)


def test_randomised_response_reaches_it():
    # Answers are true with chance e^ε/(1+e^ε), so the ROC curve has one corner, which lies on the bound.
    epsilon = 0.8
    true = math.exp(epsilon) / (1 + math.exp(epsilon))
    answers = np.random.default_rng(0).random(400_000) < np.repeat([1 - true, true], 200_000)
    reached = roc_auc_score(np.repeat([0, 1], 200_000), answers)
    assert reached == pytest.approx(largest_auc(epsilon, 0.0), abs=0.004)


def test_nothing_promised_allows_everything_and_everything_promised_nothing():
    assert largest_auc(0.0, 0.0) == 0.5
    assert largest_auc(50.0, 0.0) == pytest.approx(1.0)
    assert largest_auc(0.0, 1.0) == 1.0
    with pytest.raises(ValueError, match="epsilon >= 0"):
        largest_auc(-1.0, 0.0)


def test_the_epsilon_an_auc_shows_is_the_inverse():
    assert smallest_epsilon(largest_auc(0.7, 1e-5), 1e-5) == pytest.approx(0.7)
    assert smallest_epsilon(0.4, 0.0) == 0.0
    assert smallest_epsilon(1.0, 0.0) == math.inf
