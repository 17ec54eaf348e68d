"""How much one user's whole week can change each query: the bounds all noise is calibrated to.

Neighbours differ by one subscriber identifier. The bounds hold for the SQL in `dbt_like_sql/`, whatever the data:
truncation keeps at most one visit per hour and l per user, weights are integers with n·w² ≤ weight_l·2^32 (of totals of
towers: w²·Σb² ≤ tower_l·2^32), totals of the city are clamped. Tests check them on neighbouring pairs through that same
SQL.
"""

import math

WEIGHT_UNIT = 2**16  # a weight of one, in the integers of tower_series.weighted
FLOAT_SLACK = 1 + 1e-6  # sums, areal shares and transforms are rounded before noise is added


def truncated_l1(visits_per_user: int) -> float:
    """At most l counts change, each by at most one: towers, cells and cover alike (mass one per visit)."""
    return visits_per_user * FLOAT_SLACK


def truncated_l2(visits_per_user: int) -> float:
    """The l visits lie in different hours, so squares of their mass add up to at most l."""
    return math.sqrt(visits_per_user) * FLOAT_SLACK


def weighted_l2(weight_l: int) -> float:
    """In units of 2^-16: sqrt(n · w²) ≤ sqrt(weight_l · 2^32), exact in integers."""
    return math.sqrt(weight_l) * WEIGHT_UNIT


def tower_totals_l2(tower_l: int) -> float:
    """In units of 2^-16, for b visits at a tower: sqrt(w² · Σb²) ≤ sqrt(tower_l · 2^32), exact in integers."""
    return math.sqrt(tower_l) * WEIGHT_UNIT


def one_visit() -> float:
    """One count changes by one: L1 and L2 alike."""
    return 1.0


def clamped_total(visits_clamp: int) -> float:
    """One number changes by at most the clamp."""
    return float(visits_clamp)
