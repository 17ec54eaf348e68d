"""The question that everybody answers, and how an answer is given.

How many visits has each (tower, hour), where one user counts in at most `cap` cells, and in each at most once? Cells
are numbered and public. An answer is given by a process of its own, from the Parquet file of the visits to noisy counts
in the order of cells. This module runs in the environment of every peer: it needs Python and numpy, nothing else.
"""

import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

Ready = TypeVar("Ready")


@dataclass(frozen=True)
class PeerQuestion:
    """What is asked.

    visits: a Parquet file in no order with the columns `user_id`, `cell`, and what `cell` is made of: `time`, `tower`.
    rho: what Gaussian noise may cost in zCDP so that the release is (epsilon, delta) private, by exact accounting;
        for peers that take it. It spares them their own conversion, which would give them more noise.
    """

    visits: str
    cells: int
    cap: int
    epsilon: float
    delta: float
    rho: float

    def __str__(self) -> str:
        """As an argument of a command."""
        return json.dumps(asdict(self))

    @classmethod
    def of(cls, argument: str) -> "PeerQuestion":
        """The question that such an argument asks."""
        return cls(**json.loads(argument))


def answer(start: Callable[[], Ready], count: Callable[[Ready, PeerQuestion], Any]) -> None:
    """PeerAnswer the question of the last argument but one into the file of the last: noisy counts, and their seconds.

    start: what must run before any question can be answered, such as a JVM; like imports, it is start-up.
    """
    question, file = PeerQuestion.of(sys.argv[-2]), Path(sys.argv[-1])
    ready = start()
    begun = time.perf_counter()
    counts = np.asarray(count(ready, question), dtype=np.float64)
    seconds = time.perf_counter() - begun
    if counts.shape != (question.cells,):
        raise ValueError(f"there must be one count for each of {question.cells} cells, got shape {counts.shape}")
    np.savez(file, counts=counts, seconds=seconds)


def nothing() -> None:
    """The start-up of a peer that has none but its imports."""
