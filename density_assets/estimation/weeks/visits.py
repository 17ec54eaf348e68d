"""How many visits a week had, from its own noisy number and from two more that say it with less noise in a small city.

- Visits per weighted visit change slowly, by DRIFT a week, so the weeks before and this week's matrix say how many
  there were; unless the week's own number is far from that, because people are seen otherwise now.
- Totals of towers leave out what the weights of the few busiest people take, a few percent.

All are combined by precision. In a large city the week's own number is the best one by far.
"""

from typing import NamedTuple

DRIFT = 0.01  # of visits per weighted visit, from week to week
MISSING = 16.0  # visits that totals of towers leave out, relative, times the squared norm a user may have: 0.04 at 20
UNSURE = 2.5  # standard error of that, relative to it: cities have had 0.02 to 0.05 (`docs/weeks.md`)
ANOTHER = 4.0  # standard errors between a week's number and what the past expects: the past then says nothing of it
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

    def together(self, other: "Visits") -> "Visits":
        """What both say, by precision."""
        trust = other.variance / (self.variance + other.variance)
        return Visits(other.value + trust * (self.value - other.value), trust * self.variance)


def visits_by_towers(totals: Visits, norm: float) -> Visits:
    """The number of visits, from the sum of towers' totals. norm: the largest that a user's vector may have."""
    missing = MISSING / norm**2
    error = UNSURE * missing * totals.value
    return Visits((1 + missing) * totals.value, (1 + missing) ** 2 * totals.variance + error**2)


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
    if abs(measured.value - expected) > ANOTHER * (variance + measured.variance) ** 0.5:
        return measured, Scale(scale, own)
    trust = variance / (variance + measured.variance)
    gain = own / (own + 1 / spread)
    return (
        Visits(expected + trust * (measured.value - expected), trust * measured.variance),
        Scale(past.value + gain * (scale - past.value), own + 1 / spread),
    )
