"""The events of releases with moving characteristics in pure budgets, as Chen et al. print them.

Every user is at one place at every stamp. Budgets add up over stamps, so noise grows with their number, and the days of
a week are treated as if they had different people, which they do not: nothing here may leave as a release. What the
same budgets buy of one day, soundly, is in `research/moving/daily.py`.
"""

from density_assets.privacy.events import Laplace, SparseVector, WindowSelection
from density_assets.schemes.moving.stream import FEWEST, HISTOGRAM, PRINTED_DISTANCE
from density_assets.schemes.moving.windows import published_sensitivity
from density_assets.schemes.moving.zcdp_budget import CHANGED, DAY, EVERY_HOUR
from density_assets.settings import SchemeSettings


def published_hour(epsilon: float, which: str = "every") -> Laplace:
    """Of one hour; the scale is multiplied by the number of hours (Alg. 1)."""
    return Laplace(EVERY_HOUR.format(which), HISTOGRAM / epsilon, HISTOGRAM)


def over_hours(hour: Laplace, hours: int) -> Laplace:
    """The event of so many hours of which one is given."""
    return Laplace(hour.query, hours * hour.scale, hours * hour.sensitivity)


def pure_changed(
    query: str,
    epsilon: float,
    sensitivity: float,
    *,
    releases: int,
    streams: int,
    comparing_share: float,
    change: float = 0.0,
) -> SparseVector:
    """`releases` fresh histograms of each stream, in steps that cost epsilon together (Alg. 2).

    sensitivity: of a histogram.
    """
    step = epsilon / (releases * streams)
    return SparseVector(
        query,
        epsilon=comparing_share * step,
        scale=sensitivity / ((1 - comparing_share) * step),
        sensitivity=sensitivity,
        releases=releases,
        streams=streams,
        change=change,
        pure=True,
    )


def published_changed(epsilon: float, chosen: SchemeSettings, streams: int = 1) -> SparseVector:
    """Δ = 2 for comparisons and histograms alike (Alg. 2)."""
    return pure_changed(
        CHANGED,
        epsilon,
        PRINTED_DISTANCE,
        releases=max(FEWEST, round(chosen.releases / streams)),
        streams=streams,
        comparing_share=chosen.comparing_share,
        change=chosen.change,
    )


def published_windows(epsilon: float, chosen: SchemeSettings) -> WindowSelection:
    """The claimed sensitivity, which does not hold, and days as if they had different people (§6.3)."""
    return WindowSelection("window of each day", epsilon, published_sensitivity(DAY), chosen.window_weight)
