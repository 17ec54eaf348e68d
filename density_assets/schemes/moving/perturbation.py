"""Perturbing a stream: every histogram (Chen et al., Alg. 1), only those that differ (Alg. 2), or both (Alg. 4, 5)."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from density_assets.privacy.events import Laplace, LaplaceVector, SparseVector
from density_assets.privacy.noise import Noise
from density_assets.schemes.moving.stream import Floats


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
    daytime: NDArray[np.bool_],
    quiet: Sequence[NDArray[np.integer]],
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


def around(daytime: NDArray[np.bool_], day: int) -> list[NDArray[np.integer]]:
    """The quiet stamps before and after each day's window, day by day; parts without stamps are left out."""
    parts: list[NDArray[np.integer]] = []
    for start in range(0, len(daytime), day):
        inside = np.flatnonzero(daytime[start : start + day])
        stamps = np.arange(start, min(start + day, len(daytime)))
        parts += [stamps[: inside[0]], stamps[inside[-1] + 1 :]] if len(inside) else [stamps]
    return [part for part in parts if len(part)]


def _noisy(value: float, event: Laplace, noise: Noise) -> float:
    return float(noise.laplace(np.array([value], dtype=np.float64), event)[0])
