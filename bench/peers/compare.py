"""Puts the question to everybody, size by size, and shows the answers as one table.

Each answer is given by a process of its own. It is judged here, by the metrics of the studies, against all visits;
counts below zero are taken as zero, whoever gave them. A peer that cannot be installed or does not answer is named
below the table, with the reason.
"""

import math
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from bench.measure import run
from bench.peers.environments import ROOT, NotInstalled, interpreter
from bench.peers.question import PeerQuestion
from bench.peers.rows import cells, truth, write_rows
from bench.peers.watch import Failed, Watched, watch
from density_assets.privacy.calibration import calibrate, gaussian_sigma
from density_assets.privacy.events import Gaussian
from density_assets.privacy.sensitivity import truncated_l2
from density_assets.quality.accuracy import mre, pearson
from density_assets.research.published_metrics import mae_chen

SIZES = (200_000, 2_000_000)
EPSILONS = (1.0, 0.3)
DELTA = 2e-6
CAP = 30
OURS, OUR_NOISE = "ours, lowrank", "ours, noise alone"
PEERS = {"PipelineDP, local": "pipelinedp", "OpenDP on Polars": "opendp", "Tumult Analytics": "tumult"}
HEAD = "| rows | epsilon | who | s | s without start-up | x ours | CPU s | x ours | peak MB | MAE | x ours | MRE | PC |"
RULE = "|--:|--:|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|"


@dataclass(frozen=True)
class PeerAnswer:
    """What one process said of one file, and what it cost.

    seconds: without start-up. mae, mre, pc: against all visits.
    """

    who: str
    rows: int
    epsilon: float
    cost: Watched
    seconds: float
    mae: float
    mre: float
    pc: float


def compare(sizes: Sequence[int] = SIZES, epsilons: Sequence[float] = EPSILONS) -> None:
    """Print the table of everybody who answers, line by line, then how they grow and who did not answer."""
    commands, silent = _commands()
    answers: list[PeerAnswer] = []
    limits: list[str] = []

    def asked(folder: Path) -> Iterator[PeerAnswer]:
        for size in sizes:
            file = folder / f"{size}.parquet"
            run(write_rows, file, size)
            limits.append(limit(truth(file)))
            for epsilon, (who, command) in product(epsilons, commands.items()):
                try:
                    answers.append(_asked(who, command, file, epsilon))
                    yield answers[-1]
                except Failed as said:
                    silent.append(f"{who} gave no answer for about {size:,} rows at epsilon {epsilon:g}: {said}")

    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        for line in table(asked(Path(folder))):
            print(line, flush=True)
    print("", *growth(answers), *limits, *(f"\n{reason}" for reason in silent), sep="\n")


def table(answers: Iterable[PeerAnswer]) -> Iterator[str]:
    """Lines of one Markdown table; ratios are to `lowrank` at the same rows and epsilon, which must come first."""
    yield HEAD
    yield RULE
    ours: dict[tuple[int, float], PeerAnswer] = {}
    for answer in answers:
        if answer.who == OURS:
            ours[answer.rows, answer.epsilon] = answer
        yield f"| {' | '.join(_shown(answer, ours.get((answer.rows, answer.epsilon))))} |"


def _shown(answer: PeerAnswer, ours: PeerAnswer | None) -> Iterator[str]:
    def beside(value: Callable[[PeerAnswer], float], digits: int) -> tuple[str, str]:
        return f"{value(answer):.{digits}f}", f"{value(answer) / value(ours):.1f}" if ours else ""

    yield from (f"{answer.rows:,}", f"{answer.epsilon:g}", answer.who, f"{answer.cost.seconds:.1f}")
    yield from beside(lambda one: one.seconds, 1)
    yield from beside(lambda one: one.cost.processor, 1)
    yield f"{answer.cost.peak_mb:.0f}"
    yield from beside(lambda one: one.mae, 2)
    yield from (f"{answer.mre:.2f}", f"{answer.pc:.3f}")


def growth(answers: Sequence[PeerAnswer]) -> Iterator[str]:
    """With which power of the rows everybody's seconds grow, without start-up, from the fewest rows to the most.

    Epsilon does not change the work: of several, the fastest answer is taken.
    """
    for who in dict.fromkeys(answer.who for answer in answers):
        theirs = sorted((answer for answer in answers if answer.who == who), key=lambda answer: answer.seconds)
        few, many = (pick(answer.rows for answer in theirs) for pick in (min, max))
        if many > few:
            fast, slow = (next(answer.seconds for answer in theirs if answer.rows == rows) for rows in (few, many))
            power = math.log(slow / fast) / math.log(many / few)
            yield f"- {who}, {few:,} to {many:,} rows: seconds grow with power {power:.2f}"


def limit(true: NDArray[np.int64]) -> str:
    """How far off whoever knows every rate would be: by chance alone, which is far below the noise."""
    return f"- {true.sum():,} rows: who knew the rate of every cell would have an MAE of {chance(true).mean():.2f}"


def chance(rate: NDArray[np.int64]) -> NDArray[np.float64]:
    """Mean absolute deviation of Poisson counts with these means (De Moivre)."""
    known = np.maximum(rate, 1).astype(np.float64)
    return np.where(rate > 0, 2 * np.exp((known + 1) * np.log(known) - known - gammaln(known + 1)), 0.0)


def _commands() -> tuple[dict[str, list[str]], list[str]]:
    """How each of us is asked, and why some cannot be."""
    commands, missing = {}, []
    for who, what in {OURS: "lowrank", OUR_NOISE: "noise"}.items():
        commands[who] = [sys.executable, "-m", "bench.peers.ours", what]
    for who, peer in PEERS.items():
        try:
            commands[who] = [interpreter(peer), "-m", f"bench.peers.{peer}"]
        except NotInstalled as reason:
            missing.append(f"{who} could not be installed: {reason}")
    return commands, missing


def _asked(who: str, command: Sequence[str], file: Path, epsilon: float) -> PeerAnswer:
    given, true = file.with_name("answer.npz"), truth(file)
    # Spark leaves files where it runs and where it spills: both in the folder that is removed.
    own = {"PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1", "SPARK_LOCAL_DIRS": str(file.parent)}
    cost = watch([*command, str(_question(file, epsilon)), str(given)], {**os.environ, **own}, file.parent)
    with np.load(given) as said:
        counts, seconds = np.maximum(said["counts"], 0.0).reshape(true.shape), float(said["seconds"])
    given.unlink()  # so that nobody is judged by the answer of another
    errors = {"mae": mae_chen(true, counts), "mre": mre(true, counts), "pc": pearson(true, counts)}
    return PeerAnswer(who, int(true.sum()), epsilon, cost, seconds, **errors)


def _question(file: Path, epsilon: float) -> PeerQuestion:
    norm = truncated_l2(CAP)
    (event,) = calibrate(lambda rho: (Gaussian("visits", gaussian_sigma(rho, norm), norm),), epsilon, DELTA)
    assert isinstance(event, Gaussian)
    return PeerQuestion(str(file), cells(), CAP, epsilon, DELTA, event.rho)
