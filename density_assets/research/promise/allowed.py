"""What a promise of (epsilon, delta) allows an attack: the largest AUC, and the promise an AUC disproves.

An attack that tells neighbours apart with false positives α misses at least

    f(α) = max(0, 1 − δ − e^ε·α, e^−ε·(1 − δ − α))

of the true ones (Kairouz, Oh & Viswanath 2015; Dong, Roth & Su 2022). So its ROC curve lies below 1 − f(α). The two
lines meet at α = (1−δ)/(1+e^ε), and the area over the largest curve is

    ∫ f = (1−δ)² / (1 + e^ε),    hence    AUC ≤ 1 − (1−δ)² / (1 + e^ε).

Neighbours differ by one person's whole week, added or removed. Groups that are drawn at random around that difference
change nothing: mixtures of neighbours are as close as the neighbours are. Groups of one fixed size, with the victim or
with somebody else instead, differ by two people and may show twice epsilon.
"""

import math


def largest_auc(epsilon: float, delta: float) -> float:
    """The largest AUC that (epsilon, delta)-differential privacy allows any attack on one person."""
    if not (epsilon >= 0 and 0 <= delta <= 1):
        raise ValueError(f"a promise must have epsilon >= 0 and delta in 0 … 1, got {epsilon=}, {delta=}")
    return 1.0 - (1.0 - delta) ** 2 * math.exp(-epsilon) / (1.0 + math.exp(-epsilon))


def smallest_epsilon(auc: float, delta: float) -> float:
    """The smallest epsilon with which an AUC is possible: what an attack that works so well shows."""
    if auc >= 1.0:
        return math.inf
    return max(0.0, math.log(max((1.0 - delta) ** 2 / (1.0 - auc) - 1.0, 1e-300)))
