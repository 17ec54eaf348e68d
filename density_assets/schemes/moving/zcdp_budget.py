"""The events of weekly releases with moving characteristics, as a function of the zCDP they may cost.

The week is a stream of 168 histograms. Truncation keeps one visit per user and hour and l per week, and a visit has
mass one wherever it is counted, so one user changes a histogram by at most 1 (L1) and all of them together by at most l
(L1), sqrt(l) (L2). From this

direct      Σ d² ≤ l over all counts, whichever hours they belong to: Laplace noise costs l/(2b²) of zCDP.
threshold   a distance from an earlier release moves by at most 1, a fresh histogram by at most 1: `SparseVector`.
windows     the distance of consecutive hours moves by at most 2, as for people who are always somewhere; the days are
            those of the same people, so squares of what the selections lose add up over the days.

A day or an hour without the user only costs less, and which hours are fresh depends on released numbers alone.
"""

import math

from density_assets.calendar import HOURS
from density_assets.privacy.calibration import laplace_scale, selection_epsilon
from density_assets.privacy.events import LaplaceVector, SparseVector, WindowSelection
from density_assets.privacy.sensitivity import FLOAT_SLACK, truncated_l2
from density_assets.schemes.moving.stream import FEWEST, HISTOGRAM
from density_assets.schemes.moving.windows import sound_sensitivity
from density_assets.settings import SchemeSettings

DAY = 24
DAYS = HOURS // DAY
EVERY_HOUR, CHANGED = "truncated visits per place, {} hour", "truncated visits per place, hours that have changed"


def every_hour(rho: float, visits_per_user: int, which: str = "every") -> LaplaceVector:
    """Noise on every count of some hours."""
    norm = truncated_l2(visits_per_user)
    return LaplaceVector(EVERY_HOUR.format(which), laplace_scale(rho, norm), norm)


def changed_hours(rho: float, chosen: SchemeSettings, streams: int = 1) -> SparseVector:
    """Fresh histograms when hours have changed; `streams` share the releases of a week, `FEWEST` each at least."""
    releases = max(FEWEST, round(chosen.releases / streams))
    step, bound = rho / (releases * streams), HISTOGRAM * FLOAT_SLACK
    return SparseVector(
        CHANGED,
        epsilon=math.sqrt(2 * chosen.comparing_share * step),
        scale=laplace_scale((1 - chosen.comparing_share) * step, bound),
        sensitivity=bound,
        releases=releases,
        distance=bound,
        streams=streams,
        change=chosen.change,
    )


def day_windows(rho: float, days: int, chosen: SchemeSettings) -> WindowSelection:
    """The windows of so many days."""
    bound = math.sqrt(days) * sound_sensitivity(DAY, chosen.window_weight) * FLOAT_SLACK
    return WindowSelection("window of each day", selection_epsilon(rho), bound, chosen.window_weight)
