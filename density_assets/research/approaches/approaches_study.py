"""The three approaches side by side: every technique on one week of one town, with its error and its attacks.

The chapter says that releasing the density is usually the most accurate of the three. Here all have the same people
and, where they promise anything in these terms, the same (epsilon, delta) for a user's week. Constants of techniques
were chosen on other towns (their modules say how).
"""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from density_assets.research.approaches.attacks import membership, recovery
from density_assets.research.approaches.finding import FINDERS
from density_assets.research.approaches.technique import AnyTechnique, Floats, Parameters
from density_assets.research.approaches.techniques import TECHNIQUES
from density_assets.research.approaches.town import PEOPLE, PLACES, town
from density_assets.research.approaches.workload import score
from density_assets.research.markdown_tables import markdown
from density_assets.research.plots.approaches import errors_against_gains
from density_assets.research.study import Row, Source, Study
from density_assets.research.traces.matrix import Traces

EPSILONS, SHOWN = (0.3, 1.0, 3.0), 1.0
DELTA = 1e-6


@dataclass(frozen=True)
class Town:
    """The people and what was true of them."""

    traces: Traces
    truth: Floats


def load(source: Source) -> Town:
    """The same town for every technique; its seed is not one that constants were chosen on."""
    traces = town()
    return Town(traces, traces.aggregate().astype(np.float64))


def once(inputs: Town, point: Row, seed: int) -> list[Row]:
    """Publish once, compare, attack."""
    technique = TECHNIQUES[point["technique"]]
    chosen = parameters(technique, point["epsilon"])
    start = time.perf_counter()
    published = technique.publish(inputs.traces, chosen, seed)
    row: Row = {"seconds": time.perf_counter() - start}
    row |= score(inputs.truth, published.density, inputs.traces.positions)
    row |= membership(technique, chosen, seed) | {"recovery": recovery(technique, chosen, seed)}
    if find := FINDERS.get(technique.name):
        row["found"] = find(inputs.traces, chosen, seed)
    return [{name: _plain(value) for name, value in row.items()}]


def parameters(technique: AnyTechnique, epsilon: float | None) -> Parameters:
    """A technique's own defaults, at the common promise where it has one."""
    given = {} if epsilon is None else {"epsilon": epsilon, "delta": DELTA}
    known = technique.parameters.model_fields
    found: Parameters = technique.parameters(**{name: value for name, value in given.items() if name in known})
    return found


def gains(results: pl.DataFrame) -> pl.DataFrame:
    """Means by technique and epsilon, with what the best attack gains: 2·AUC − 1 of membership, or a share."""
    numbers = [name for name in results.columns if name not in {"technique", "epsilon", "seed"}]
    means = results.group_by("technique", "epsilon", maintain_order=True).agg(pl.col(numbers).mean())
    over_chance = [2 * pl.col(name) - 1 for name in ("of_map", "of_records") if name in numbers]
    shares = [pl.col(name) for name in ("recovery", "found") if name in numbers]
    return means.with_columns(gain=pl.max_horizontal(0.0, *over_chance, *shares))


def figures(inputs: Town, results: pl.DataFrame) -> dict[str, Figure]:
    """Error against gain at the middle promise."""
    shown = gains(results).filter(pl.col("epsilon").is_null() | (pl.col("epsilon") == SHOWN))
    about = pl.DataFrame([{"technique": t.name, "approach": t.approach, "protects": t.protects} for t in _techniques()])
    return {"approaches": errors_against_gains(shown.join(about, on="technique"))}


def summary(results: pl.DataFrame) -> str:
    """One table."""
    head = ["technique", "approach", "protects", "epsilon", "MRE", "PC", "EMD (m)", "rectangles", "districts × days"]
    head += ["busiest 20", "membership", "by records", "recovery", "found by 4 points", "seconds"]
    digits = {"mre": 3, "pc": 3, "emd": 0, "rectangles": 3, "districts": 3, "busiest": 2}
    digits |= {"of_map": 2, "of_records": 2, "recovery": 2, "found": 2, "seconds": 1}
    rows = []
    for row in gains(results).iter_rows(named=True):
        technique = TECHNIQUES[row["technique"]]
        epsilon = "–" if row["epsilon"] is None else f"{row['epsilon']:g}"
        numbers = [_number(row.get(name), places) for name, places in digits.items()]
        rows.append([technique.name, technique.approach, technique.protects, epsilon, *numbers])
    return markdown(head, rows, "lll")


def _techniques() -> tuple[AnyTechnique, ...]:
    return tuple(TECHNIQUES.values())


def _number(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def _plain(value: Any) -> float | None:
    return None if np.isnan(value) else float(value)


def _points(technique: AnyTechnique) -> list[Row]:
    promised = "epsilon" in technique.parameters.model_fields
    return [{"technique": technique.name, "epsilon": epsilon} for epsilon in (EPSILONS if promised else (None,))]


APPROACHES_STUDY = Study(
    name="approaches",
    title="Three ways to publish a week, side by side",
    grid=tuple(point for technique in _techniques() for point in _points(technique)),
    load=load,
    once=once,
    figures=figures,
    summary=summary,
    about=lambda inputs: (
        f"{PEOPLE:,} invented people, {PLACES} places, {inputs.traces.matrix.nnz:,} visits in a week; delta {DELTA:g} "
        "where a technique has one."
    ),
    repetitions=5,
)
