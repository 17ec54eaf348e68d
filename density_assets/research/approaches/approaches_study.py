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

from density_assets.errors import BadInput
from density_assets.research.approaches.attacks import (
    BITS,
    FINDERS,
    POINTS,
    ask_directly,
    measure_given_away,
    membership,
    random_bits,
    recovery,
)
from density_assets.research.approaches.technique import AnyTechnique, Parameters
from density_assets.research.approaches.techniques import TECHNIQUES
from density_assets.research.approaches.workload import PEOPLE, PLACES, score, town
from density_assets.research.plots.attacks import bits_by_noise, errors_against_gains, tracks_before_and_after
from density_assets.research.queries.attacks_on_answers import (
    hadamard_attack,
    private_ratio,
    program_attack,
    recovery_curve,
)
from density_assets.research.results import markdown
from density_assets.research.study import Row, Source, Study
from density_assets.research.traces.matrix import Traces
from density_assets.research.trajectories.never_walk_alone import figure_tracks
from density_assets.series import Floats

EPSILONS, SHOWN = (0.3, 1.0, 3.0), 1.0
DELTA = 1e-6
RATIOS = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0, 2.0, 5.0, 10.0)  # noise/√n
BY = ("technique", "epsilon", "unit", "seed")
WEAKER = "24 hours of a user"
LEGEND = (
    "Errors: MRE, PC (1 is best) and EMD of cells and hours; mean relative errors of 500 random rectangles of "
    "places and hours and of districts by day; the share of each hour's 20 busiest cells that is found. Attacks: "
    "membership is the AUC of telling weeks with somebody from weeks without, in the map and in published records "
    "(0.5 is guessing, 1 certainty; ± one standard error); recovery is the share of people's hours that counts "
    "give away beyond what they say of other people (0 nothing, 1 as much as exact counts; by chance also below "
    "0); found is the share of all people whose own record four points of theirs find, for `k_threshold` of whom "
    "differences of counts above k tell where they were. Rows that protect 24 hours of a user promise less and "
    "must not be compared with the others. Where nobody is protected there is no mathematical guarantee, only "
    "what the [page](approaches.md) says."
)


@dataclass(frozen=True)
class Town:
    """The people, what was true of them, and what attacks find that are about no technique's parameters."""

    traces: Traces
    truth: Floats
    given_away: Row


def load(source: Source) -> Town:
    """The same town for every technique; its seed is not one that constants were chosen on."""
    if source.data is not None:
        raise BadInput(
            "this study invents its people, got --data: try techniques on it by density technique NAME --data"
        )
    traces = town()
    return Town(traces, traces.aggregate().astype(np.float64), measure_given_away(traces))


def once(inputs: Town, point: Row, seed: int) -> list[Row]:
    """Publish once, compare, attack."""
    technique = TECHNIQUES[point["technique"]]
    chosen = parameters(technique, point)
    start = time.perf_counter()
    published = technique.publish(inputs.traces, chosen, seed)
    row: Row = {"seconds": time.perf_counter() - start}
    row |= score(inputs.truth, published.density, inputs.traces.positions)
    row |= membership(technique, chosen, seed) | {"recovery": recovery(technique, chosen, seed)}
    if find := FINDERS.get(technique.name):
        row["found"] = find(inputs.traces, chosen, seed)
    if technique.approach == "queries":
        row |= ask_directly(inputs.traces, technique, chosen, seed)
    return [{name: _plain(value) for name, value in row.items()}]


def parameters(technique: AnyTechnique, point: Row) -> Parameters:
    """A technique's own defaults, at the common promise where it has one."""
    promise = {} if point["epsilon"] is None else {"epsilon": point["epsilon"], "delta": DELTA}
    unit = {} if point["unit"] is None else {"unit": point["unit"]}
    known: Parameters = technique.parameters(**promise, **unit)
    return known


def gains(results: pl.DataFrame) -> pl.DataFrame:
    """Means by technique and epsilon, with what the best attack gains: 2·AUC − 1 of membership, or a share."""
    numbers = [name for name in results.columns if name not in BY]
    error = (pl.col("of_map").std() / pl.len().sqrt()).alias("of_map_error")
    means = results.group_by("technique", "epsilon", "unit", maintain_order=True).agg(pl.col(numbers).mean(), error)
    over_chance = [2 * pl.col(name) - 1 for name in ("of_map", "of_records") if name in numbers]
    shares = [pl.col(name) for name in ("recovery", "found") if name in numbers]
    return means.with_columns(gain=pl.max_horizontal(0.0, *over_chance, *shares))


def figures(inputs: Town, results: pl.DataFrame) -> dict[str, Figure]:
    """Error against gain at the middle promise."""
    at_shown = pl.col("epsilon").is_null() | (pl.col("epsilon") == SHOWN)
    shown = gains(results).filter(at_shown & pl.col("unit").is_null())  # weaker promises are never mixed with ours
    known = [{"technique": t.name, "approach": t.approach, "protects": t.protects} for t in TECHNIQUES.values()]
    made = figure_tracks(inputs.traces)
    curves = {
        f"{name}, {bits} visits": recovery_curve(attack, random_bits(0)[:bits], RATIOS, 0)
        for name, attack, bits in (
            ("Hadamard counts", hadamard_attack, BITS),
            ("4n random counts", program_attack, 128),
        )
    }
    return {
        "approaches": errors_against_gains(shown.join(pl.DataFrame(known), on="technique")),
        "never_walk_alone": tracks_before_and_after(made.original, made.moved),
        "reconstruction": bits_by_noise(RATIOS, curves, {f"ε = {e:g}": private_ratio(e, DELTA) for e in EPSILONS}),
    }


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
        protects = technique.protects if row["unit"] is None else WEAKER
        numbers = [_number(row.get(name), places) for name, places in digits.items()]
        if row["of_map_error"] is not None:
            numbers[list(digits).index("of_map")] += f" ± {row['of_map_error']:.2f}"
        rows.append([technique.name, technique.approach, protects, epsilon, *numbers])
    return "\n\n".join([LEGEND, markdown(head, rows, "lll"), _of_answers(results)])


def _of_answers(results: pl.DataFrame) -> str:
    """Reconstruction, and rectangles that are asked directly."""
    means = results.filter(pl.col("directly").is_not_null()).group_by("epsilon", maintain_order=True)
    said = "; ".join(
        f"epsilon {row['epsilon']:g}: {row['directly']:.3f} asked directly, {row['rectangles']:.3f} from cell-hours, "
        f"{100 * row['bits']:.0f} % of bits reconstructed"
        for row in means.agg(pl.col("directly", "rectangles", "bits").mean()).iter_rows(named=True)
    )
    return f"Rectangles by noisy answers, and what {BITS} Hadamard counts with such noise give away: {said}."


def about(inputs: Town) -> str:
    """The people, and what is given away of them before any technique is chosen."""
    told = inputs.given_away
    points = ", ".join(f"{p}: {100 * told[f'points_{p}']:.0f} %" for p in POINTS)
    return (
        f"{PEOPLE:,} invented people, {PLACES} places, {inputs.traces.matrix.nnz:,} visits in a week; delta {DELTA:g} "
        f"where a technique has one. Singled out by random points of their own, {points}; by their two most visited "
        f"places {100 * told['top_2']:.0f} %. Two releases of places that are {told['k']}-anonymous each, over maps "
        f"that are turned: {100 * told['alone']:.0f} % of people are alone in both together, a place of "
        f"{100 * told['revealed']:.0f} % is certain ({100 * told['revealed_by_one']:.0f} % from the better one alone)."
    )


def _number(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def _plain(value: Any) -> float | None:
    return None if np.isnan(value) else float(value)


def _points(technique: AnyTechnique) -> list[Row]:
    """Every epsilon; for streams also the weaker unit that they were published with."""
    known = technique.parameters.model_fields
    points = [{"technique": technique.name, "epsilon": e, "unit": None} for e in EPSILONS if "epsilon" in known]
    if "unit" in known:
        points.append({"technique": technique.name, "epsilon": SHOWN, "unit": "w hours"})
    return points or [{"technique": technique.name, "epsilon": None, "unit": None}]


APPROACHES_STUDY = Study(
    name="approaches",
    title="Three ways to publish a week, side by side",
    grid=tuple(point for technique in TECHNIQUES.values() for point in _points(technique)),
    load=load,
    once=once,
    figures=figures,
    summary=summary,
    about=about,
    repetitions=5,
)
