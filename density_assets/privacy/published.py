"""The noise scales the papers print, kept apart from ours.

They reproduce published results. Some of the proofs behind them do not hold (docs/privacy.md says which and why), so
nothing calibrated here may be released.
"""

import math


def gaussian_sigma(sensitivity: float, epsilon: float, delta: float) -> float:
    """σ² = 2 Δ2² ln(4/δ) / ε² (Acs & Castelluccia 2014, Thm 3; ε ≤ 1)."""
    return sensitivity * math.sqrt(2 * math.log(4 / delta)) / epsilon


def gpa_sigma(visits_per_user: int, epsilon: float, delta: float) -> float:
    """σ = sqrt(2 l ln(1.25/δ)) / ε, on every cell and hour (Acs et al. 2018, §4.3)."""
    return math.sqrt(2 * visits_per_user * math.log(1.25 / delta)) / epsilon


def chapter_totals_sigma(visits_per_user: int, epsilon: float, delta: float) -> float:
    """σ = 2 sqrt(2 l ln(2.5/δ)) / ε, on the totals of cells (Acs et al. 2018)."""
    return 2 * math.sqrt(2 * visits_per_user * math.log(2.5 / delta)) / epsilon


def efpag_sigma(visits_per_user: int, series_epsilon: float, delta: float) -> float:
    """σ² = 8 Δ2² ln(4/δ) / ε² with Δ2 = sqrt(l); half of ε pays for k (Acs & Castelluccia 2014, Alg. 4)."""
    return gaussian_sigma(math.sqrt(visits_per_user), series_epsilon / 2, delta)


def efpa_scale(coefficients: int, visits_per_user: int, series_epsilon: float) -> float:
    """λ = 2 sqrt(k) Δ2 / ε with Δ2 = sqrt(l), on the k kept coefficients (Acs et al. 2012; 2014, Alg. 4)."""
    return 2 * math.sqrt(coefficients) * math.sqrt(visits_per_user) / series_epsilon


def laplace_scale(sensitivity: float, epsilon: float) -> float:
    """λ = Δ1 / ε (Dwork et al. 2006)."""
    return sensitivity / epsilon
