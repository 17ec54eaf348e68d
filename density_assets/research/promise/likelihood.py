"""The strongest attack there is: the likelihood ratio of what the doors gave out.

The attacker knows settings, geography, everybody else's week and the newcomer's week, and asks whether the newcomer was
there. No test of the same output does better than the ratio of its probabilities (Neyman & Pearson 1933). Doors add
noise of known shape to numbers the attacker can compute both ways, and choose with known probabilities, so the
logarithm of the ratio is a sum over what was drawn.

Streams that are drawn afresh when they have changed, and windows that are chosen first, depend on all comparisons
before; that likelihood is not computed. There the attacker looks for the newcomer's counts in the released series
(`MatchedFilter`): any score bounds epsilon from below, a weaker one by less.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import log_softmax

from density_assets.calendar import HOURS
from density_assets.estimation.rhythm import coefficients
from density_assets.privacy.events import (
    Event,
    Gaussian,
    Laplace,
    LaplaceVector,
    Selection,
    SparseVector,
    WindowSelection,
)
from density_assets.privacy.sensitivity import WEIGHT_UNIT
from density_assets.schemes.run import Drawn
from density_assets.schemes.scheme import SERIES, TOTALS, Counts, Plan, Scheme, Values
from density_assets.schemes.scheme import present as given
from density_assets.series import Floats, Ints

REMEMBERED = 256  # ways to cluster the town whose exact series are kept


class NoNoise:
    """Adds nothing, keeps everything, and remembers how likely each choice would have been."""

    simulation = True

    def __init__(self) -> None:
        self.log_odds: Floats | None = None  # of every choice, one row per selection

    def gaussian(self, values: Floats, event: Gaussian) -> Floats:
        return np.array(values, dtype=np.float64)

    def laplace(self, values: Floats, event: Laplace | LaplaceVector) -> Floats:
        return np.array(values, dtype=np.float64)

    def discrete_gaussian(self, values: Ints, event: Gaussian) -> Ints:
        return np.array(values, dtype=np.int64)

    def select(self, scores: Floats, event: Selection) -> Ints:
        self.log_odds = np.asarray(log_softmax(-scores / event.scale, axis=1))
        return np.full(len(scores), HOURS - 1)


@dataclass(frozen=True)
class _Exact:
    """What the second door adds noise to, and the logarithms of its choices' probabilities."""

    numbers: Floats
    log_odds: Floats | None


class MatchedFilter:
    """How much of what the newcomer adds is seen in the released series."""

    def __init__(self, absent: Counts, present: Counts) -> None:
        self._added = given(present.series) - given(absent.series)

    def score(self, release: Drawn) -> float:
        """Higher speaks for the newcomer."""
        return float((self._added * release.series["series"]).sum())


def strongest(scheme: Scheme, plan: Plan, absent: Counts, present: Counts) -> "Attack | MatchedFilter":
    """The likelihood ratio where it can be computed."""
    if any(isinstance(event, SparseVector | WindowSelection) for event in plan[SERIES]):
        return MatchedFilter(absent, present)
    return Attack(scheme, plan, absent, present)


class Attack:
    """Log-likelihood ratios of releases: the week with a newcomer against the week without."""

    def __init__(self, scheme: Scheme, plan: Plan, absent: Counts, present: Counts) -> None:
        self._scheme, self._plan, self._weeks = scheme, plan, (absent, present)
        self._totals = tuple(scheme.totals(plan, counts, NoNoise()) for counts in self._weeks)
        self._known = lru_cache(REMEMBERED)(self._both)

    def score(self, release: Drawn) -> float:
        """Higher speaks for the newcomer."""
        return self._score_totals(release.totals) + self._score_series(release)

    def _score_totals(self, drawn: Values) -> float:
        absent, present = self._totals
        events = zip(drawn, self._plan.get(TOTALS, ()), strict=True)
        return sum(_log_ratio(drawn[name], absent[name], present[name], event) for name, event in events)

    def _score_series(self, release: Drawn) -> float:
        absent, present = self._known(release.labels.tobytes())
        kept, event = release.series["kept"], self._plan[SERIES][-1]
        inside = np.arange(HOURS) < kept[:, None]  # what was cut off tells nothing
        # As published, Laplace noise on coefficients grows with the root of their number.
        widths = np.sqrt(kept)[:, None] if self._scheme.clustered and isinstance(event, Laplace) else 1.0
        exact = absent.numbers * inside, present.numbers * inside
        score = _log_ratio(self._numbers(release.series), *exact, event, widths)
        if absent.log_odds is not None and present.log_odds is not None:
            score += float((present.log_odds - absent.log_odds)[np.arange(len(kept)), kept - 1].sum())
        return score

    def _both(self, labels: bytes) -> tuple[_Exact, _Exact]:
        absent, present = (self._exact(counts, np.frombuffer(labels, dtype=np.int64)) for counts in self._weeks)
        return absent, present

    def _exact(self, counts: Counts, labels: Ints) -> _Exact:
        quiet = NoNoise()
        return _Exact(self._numbers(self._scheme.series(self._plan, counts, labels, quiet)), quiet.log_odds)

    def _numbers(self, drawn: Values) -> Floats:
        """The numbers that got independent noise: coefficients, integer weights, or the counts themselves."""
        if self._scheme.clustered:
            return coefficients(drawn["series"])
        return np.asarray(drawn["series"] * (WEIGHT_UNIT if self._scheme.places == "towers" else 1.0))


def _log_ratio(drawn: Floats, absent: Floats, present: Floats, event: Event, widths: Floats | float = 1.0) -> float:
    """How much better `present` explains what was drawn than `absent` does."""
    if isinstance(event, Gaussian):
        return float(((present - absent) * (2 * drawn - absent - present)).sum() / (2 * event.sigma**2))
    if isinstance(event, Laplace | LaplaceVector):
        return float(((np.abs(drawn - absent) - np.abs(drawn - present)) / (event.scale * widths)).sum())
    raise TypeError(f"numbers must be drawn by a Gaussian or Laplace event, got {event.kind}: add its density here")
