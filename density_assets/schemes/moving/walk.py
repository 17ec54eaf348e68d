"""The hybrids on days of histograms, given the events they draw with (Chen et al., Alg. 4 and 5).

Both walk the same way, whatever one user can change and in whichever privacy it is paid:

    windows → daytime → quiet streams → `direct` by day, `threshold` at night

`static_hybrid` draws each day's window from that day, and the quiet stamps of all days are one stream. `dynamic_hybrid`
predicts each day's window from the days before, so that stamps can be released as they come, and every day has a quiet
stream before its window and one after it. Windows are drawn first and counts afterwards: where to draw is then known
from settings and released choices alone.

The events are those of a week in `zcdp_budget.py` and `pure_budget.py`, and those of one day in
`research/moving/daily.py`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from density_assets.privacy.events import Laplace, LaplaceVector, Selection, SparseVector
from density_assets.privacy.noise import Noise
from density_assets.schemes.moving.perturbation import around, hybrid
from density_assets.schemes.moving.stream import Floats
from density_assets.schemes.moving.windows import Window, choose, predict

FIRST_DAY = Window(6, 20)  # of hours, where there is no day to learn from; public, chosen on synthetic crowds


@dataclass(frozen=True)
class Hybrid:
    """A hybrid and what it spends.

    predicts: whether windows are predicted from the days before (`dynamic_hybrid`) or drawn from the day itself.
    selection, utility: how one window is drawn; the event must bound the change of this utility.
    moving: the event of so many daytime stamps. As published its scale grows with their number; in zCDP it does not.
    still: the event of the quiet streams.
    change: the public threshold T, in people (L1).
    """

    predicts: bool
    selection: Selection
    utility: Callable[[Floats], Floats]
    moving: Callable[[int], Laplace | LaplaceVector]
    still: SparseVector
    change: float

    def released(self, past: Sequence[Floats], days: Sequence[Floats], noise: Noise) -> tuple[Floats, list[Window]]:
        """The noisy stream of `days`, one after another, and the windows they were divided by.

        past: days before them, to learn from only. All days have equally many stamps.
        """
        windows = self.windows(past, days, noise)
        daytime = np.concatenate([window.mask(len(day)) for window, day in zip(windows, days, strict=True)])
        quiet = quiet_streams(daytime, len(days[0]), parted=self.predicts)
        events = self.moving(int(daytime.sum())), self.still
        return hybrid(np.concatenate(days), daytime, quiet, events, self.change, noise), windows

    def windows(self, past: Sequence[Floats], days: Sequence[Floats], noise: Noise) -> list[Window]:
        """The window of each of `days`.

        Guarantees: static, one selection for each of `days`; dynamic, one for each day but the last, `past` included,
        and no window depends on its own day or on a later one.
        """
        if not self.predicts:
            return [self._drawn(day, noise) for day in days]
        drawn = [self._drawn(day, noise) for day in (*past, *days[:-1])]
        known = range(len(past), len(past) + len(days))  # how many windows stand before each day
        return [predict(drawn[:n], len(days[0])) if n else FIRST_DAY for n in known]

    def _drawn(self, day: Floats, noise: Noise) -> Window:
        return choose(self.utility(day), self.selection, len(day), noise)


def quiet_streams(daytime: NDArray[np.bool_], day: int, *, parted: bool) -> list[NDArray[np.integer]]:
    """The stamps outside the windows of days of so many stamps; none if every window is a whole day.

    parted: a stream before and one after each window, rather than one of all quiet stamps.
    """
    parts = around(daytime, day)
    return parts if parted or not parts else [np.concatenate(parts)]
