"""How many visits a week had, from its own noisy number and from what earlier weeks say of visits per weighted visit.

In a small city the number of visits has much more noise than the sum of the weighted matrix. Visits per weighted visit
change slowly, by DRIFT a week, so the weeks before and this week's matrix say how many there were, too. Both are
combined by precision. In a large city the week's own number is the better one.
"""

from typing import NamedTuple

DRIFT = 0.01  # of visits per weighted visit, from week to week
CLEAR = 5.0  # standard errors that both must rise above zero: else their ratio says nothing


class Scale(NamedTuple):
    """Visits per weighted visit, and the precision it is known with: zero before the first week."""

    value: float
    precision: float

    def joined(self, other: "Scale") -> "Scale":
        """What two sides of a week say of it together."""
        precision = self.precision + other.precision
        if precision == 0.0:
            return self
        return Scale((self.value * self.precision + other.value * other.precision) / precision, precision)


class Visits(NamedTuple):
    """A number of visits, or of weighted ones, and the variance of its error."""

    value: float
    variance: float

    @property
    def clear(self) -> bool:
        """Whether it rises above its noise."""
        return bool(self.value > CLEAR * self.variance**0.5)


def visits_of_week(past: Scale, measured: Visits, weighted: Visits) -> tuple[Visits, Scale]:
    """The number of visits of a week, and what is known of the scale after it.

    weighted: the sum of the noisy matrix.
    """
    if not (measured.clear and weighted.clear):
        return measured, past
    scale = measured.value / weighted.value
    own = weighted.value**2 / (measured.variance + scale**2 * weighted.variance)
    if past.precision == 0.0:
        return measured, Scale(scale, own)
    spread = 1 / past.precision + (DRIFT * past.value) ** 2
    expected = past.value * weighted.value
    variance = weighted.value**2 * spread + past.value**2 * weighted.variance
    trust = variance / (variance + measured.variance)
    gain = own / (own + 1 / spread)
    return (
        Visits(expected + trust * (measured.value - expected), trust * measured.variance),
        Scale(past.value + gain * (scale - past.value), own + 1 / spread),
    )
