"""What the exact noise of a week costs: on one thread, and as releases draw it, taken in turns in one run."""

import os
import time
from collections.abc import Callable

import numpy as np
import opendp.prelude as dp
from numpy.typing import NDArray

from density_assets.privacy.events import Gaussian
from density_assets.privacy.noise import OpenDpNoise

Counts = NDArray[np.int64]

CELLS = 1_303 * 168  # towers and hours of the embedded city
EVENT = Gaussian("weighted visits per tower and hour, times 65536", 4_123_456.789, 65_536.0)
REPETITIONS = 3


def compare() -> None:
    """Print one Markdown table: the least wall time of each way."""
    counts = np.zeros(CELLS, dtype=np.int64)
    turns = [(_seconds(one_thread, counts), _seconds(as_released, counts)) for _ in range(REPETITIONS)]
    alone, released = (min(times) for times in zip(*turns, strict=True))
    print(f"| exact discrete Gaussians of {CELLS:,} counts | seconds | ratio |")
    print("|---|--:|--:|")
    print(f"| one thread | {alone:.2f} | 1.00 |")
    print(f"| as released, on {os.cpu_count()} cores | {released:.2f} | {released / alone:.2f} |")


def one_thread(counts: Counts) -> None:
    """One call of OpenDP for the whole vector."""
    domain, metric = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T=float)
    np.asarray(dp.m.make_gaussian(domain, metric, scale=EVENT.sigma)(counts))


def as_released(counts: Counts) -> None:
    """As a door draws."""
    OpenDpNoise().discrete_gaussian(counts, EVENT)


def _seconds(draw: Callable[[Counts], None], counts: Counts) -> float:
    start = time.perf_counter()
    draw(counts)
    return time.perf_counter() - start
