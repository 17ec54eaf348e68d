"""Perturbing a stream: every histogram (Chen et al., Alg. 1), only those that differ (Alg. 2), or both (Alg. 4, 5).

Both hybrids walk the same way, whatever one user can change and in whichever privacy it is paid (`budgets.py`):

    windows → daytime → quiet streams → `direct` by day, `threshold` at night

`static_hybrid` draws each day's window from that day, and the quiet stamps of all days are one stream. `dynamic_hybrid`
predicts each day's window from the days before, so that stamps can be released as they come, and every day has a quiet
stream before its window and one after it. Windows are drawn first and counts afterwards: where to draw is then known
from settings and released choices alone.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from density_assets.privacy.events import Laplace, LaplaceVector, Selection, SparseVector
from density_assets.privacy.noise import Noise
from density_assets.schemes.moving.windows import Stamps, Window, choose, predict
from density_assets.series import Flags, Floats

FIRST_DAY = Window(6, 20)  # of hours, where there is no day to learn from; public, chosen on synthetic crowds


def direct(stream: Floats, event: Laplace | LaplaceVector, noise: Noise) -> Floats:
    """Laplace noise on every count."""
    return noise.laplace(stream, event)


def threshold(stream: Floats, event: SparseVector, change: float, noise: Noise) -> Floats:
    """Draw a histogram afresh when it is `change` or more away from the last release, repeat that release otherwise.

    change: the public threshold T, in people (L1).

    Guarantees: the draws cost one stream of the event. Every comparison run is opened by a threshold of its own and
    closed by at most one fresh histogram; how much is left for the last stamp depends on what was released alone.
    """
    released = np.empty(stream.shape)
    released[0] = noise.laplace(stream[0], event.release_noise)
    bar, done, last = None, 1, len(stream) - 1
    for stamp in range(1, len(stream)):
        released[stamp] = released[stamp - 1]
        if done == event.releases:
            continue
        if stamp == last:
            released[stamp] = noise.laplace(stream[stamp], event.last_noise(done))
            continue
        bar = _noisy(change, event.threshold_noise, noise) if bar is None else bar
        if _noisy(np.abs(released[stamp] - stream[stamp]).sum(), event.distance_noise, noise) >= bar:
            released[stamp] = noise.laplace(stream[stamp], event.release_noise)
            bar, done = None, done + 1
    return released


def hybrid(
    stream: Floats,
    daytime: Flags,
    quiet: Sequence[Stamps],
    events: tuple[Laplace | LaplaceVector, SparseVector],
    change: float,
    noise: Noise,
) -> Floats:
    """`direct` while people move, `threshold` on each quiet stream of stamps.

    daytime, quiet: which stamps; found from settings and earlier releases alone.
    """
    moving, still = events
    if len(quiet) > still.streams:
        raise ValueError(f"the event pays for {still.streams} quiet streams, got {len(quiet)}: refuse to draw")
    released = np.empty(stream.shape)
    if daytime.any():
        released[daytime] = direct(stream[daytime], moving, noise)
    for stamps in quiet:
        released[stamps] = threshold(stream[stamps], still, change, noise)
    return released


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

    def release(self, past: Sequence[Floats], days: Sequence[Floats], noise: Noise) -> tuple[Floats, list[Window]]:
        """Return the noisy stream of `days`, one after another, and the windows they were divided by.

        past: days before them, to learn from only. All days have equally many stamps.
        """
        windows = self.windows(past, days, noise)
        daytime = np.concatenate([window.mask(len(day)) for window, day in zip(windows, days, strict=True)])
        quiet = quiet_streams(daytime, len(days[0]), parted=self.predicts)
        events = self.moving(int(daytime.sum())), self.still
        return hybrid(np.concatenate(days), daytime, quiet, events, self.change, noise), windows

    def windows(self, past: Sequence[Floats], days: Sequence[Floats], noise: Noise) -> list[Window]:
        """Return the window of each of `days`.

        Guarantees: static, one selection for each of `days`; dynamic, one for each day but the last, `past` included,
        and no window depends on its own day or on a later one.
        """
        if not self.predicts:
            return [self._draw(day, noise) for day in days]
        drawn = [self._draw(day, noise) for day in (*past, *days[:-1])]
        before = range(len(past), len(past) + len(days))  # how many windows stand before each day
        return [predict(drawn[:n], len(days[0])) if n else FIRST_DAY for n in before]

    def _draw(self, day: Floats, noise: Noise) -> Window:
        return choose(self.utility(day), self.selection, len(day), noise)


def quiet_streams(daytime: Flags, day: int, *, parted: bool) -> list[Stamps]:
    """Return the stamps outside the windows of days of so many stamps; none if every window is a whole day.

    parted: a stream before and one after each window, rather than one of all quiet stamps.
    """
    parts = around(daytime, day)
    return parts if parted or not parts else [np.concatenate(parts)]


def around(daytime: Flags, day: int) -> list[Stamps]:
    """Return the quiet stamps before and after each day's window, day by day; parts without stamps are left out."""
    parts: list[Stamps] = []
    for start in range(0, len(daytime), day):
        inside = np.flatnonzero(daytime[start : start + day])
        stamps = np.arange(start, min(start + day, len(daytime)))
        parts += [stamps[: inside[0]], stamps[inside[-1] + 1 :]] if len(inside) else [stamps]
    return [part for part in parts if len(part)]


def _noisy(value: float, event: Laplace, noise: Noise) -> float:
    return float(noise.laplace(np.array([value], dtype=np.float64), event)[0])
