"""What things cost on this machine, as Markdown tables: `make bench`, `make bench-scale`, `make bench-year`.

what     measures                                                         minutes   needs
steps    each step on visits, at a tenth of the case study to ten times      10     4 GB of disk, below $TMPDIR
scale    the visits side from raw records, on DuckDB and on Spark             9     2 GB of disk, Java 17, PySpark
year     whole releases of a town of four cells, week after week             10     100 MB of disk
weeks    a week's writes with 2 and with 52 weeks stored                      2     1 GB of disk
ledger   adding up a ledger of 52 and of 520 weeks                            2
towers   the estimate of a week with 1,303, 6,000 and 20,000 towers           6     3 GB of memory
noise    the exact noise of a week, on one thread and as released             1
peers    the same counts by other libraries and by us                        16     5 GB of memory; a network once

Minutes are of two idle cores; on a machine that others use as well look at processor time and ratios. What is written
is removed at the end. What the tables said here is in docs/performance.md and docs/scale.md.
"""

import argparse
import math
import sys
import tempfile
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import pyarrow.parquet as pq

from bench import ledger, noise, scale, steps, towers, weeks, year
from bench.measure import Cost, cost
from bench.peers import compare as peers

SIZES = (200_000, 1_992_846, 10_000_000, 19_928_460)
TIMES = 3  # what is put in ratio to a scan, and the scan itself, is the least of so many
QUESTIONS = {
    "weeks": weeks.compare,
    "year": year.compare,
    "ledger": ledger.compare,
    "towers": towers.compare,
    "noise": noise.compare,
    "scale": scale.compare,
    "peers": peers.compare,
}


def main() -> None:
    """Print one Markdown table per question."""
    parser = argparse.ArgumentParser(
        prog="python -m bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", nargs="?", choices=("steps", *QUESTIONS), default="steps", help="by default steps")
    parser.add_argument("--users", type=int, nargs="+", default=SIZES, help="of steps: how many people to simulate")
    parser.add_argument("--rows", type=int, nargs="+", help="of peers: how many rows to ask about")
    asked = parser.parse_args()
    if asked.what == "steps":
        _steps(asked.users)
    elif asked.what == "peers" and asked.rows:
        peers.compare(asked.rows)
    else:
        QUESTIONS[asked.what]()


def _steps(sizes: Sequence[int]) -> None:
    alone = {
        "geometry and cover of the embedded city": steps.geometry,
        "aggregates of 500 groups of 9,500 users": steps.group_aggregates,
        "recovery of 1,000 people over 19 stamps": steps.recovery,
    }
    for name, step in alone.items():
        measured = cost(step)
        print(f"{name}: {measured.seconds:.1f} s, {measured.peak_mb:.0f} MB\n")
    print("| users | visits | step | seconds | x scan | rows/s | peak MB |")
    print("|--:|--:|---|--:|--:|--:|--:|")
    totals = []
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        for users in sizes:
            rows, seconds = _size(Path(folder), users)
            totals.append((rows, seconds))
    for (rows, seconds), (more_rows, more_seconds) in pairwise(totals):
        slope = math.log(more_seconds / seconds) / math.log(more_rows / rows)
        print(f"\nvisits -> truncated -> series, {rows:,} to {more_rows:,} visits: cost grows with power {slope:.2f}")


def _size(home: Path, users: int) -> tuple[int, float]:
    def row(step: str, measured: Cost) -> None:
        ratio = measured.seconds / yardstick.seconds
        figures = f"{measured.seconds:.1f} | {ratio:.1f} | {rows / measured.seconds:,.0f} | {measured.peak_mb:.0f}"
        print(f"| {users:,} | {rows:,} | {step} | {figures} |")
        sys.stdout.flush()

    simulated = cost(steps.simulate, home, users)
    rows = pq.read_metadata(steps.store_of(home, users).current_week("visits", steps.WEEK).files[0]).num_rows
    yardstick = _least(steps.scan, home, users)
    row("scan once", yardstick)
    row("simulate and write visits", simulated)
    pipeline = _least(steps.materialise, home, users, "truncated_visits", "tower_series")
    row("**visits → truncated (written) → tower series**", pipeline)
    row("truncated visits alone", _least(steps.materialise, home, users, "truncated_visits"))
    row("tower series alone (original, truncated, weighted)", _least(steps.materialise, home, users, "tower_series"))
    row("tower totals", _least(steps.materialise, home, users, "tower_totals"))
    row("one-visit histogram", _least(steps.materialise, home, users, "one_visit_histogram"))
    row("clamped total", _least(steps.materialise, home, users, "visit_total"))
    return rows, pipeline.seconds


def _least(step: Callable[..., object], *arguments: object) -> Cost:
    return min((cost(step, *arguments) for _ in range(TIMES)), key=lambda measured: measured.seconds)


if __name__ == "__main__":
    main()
