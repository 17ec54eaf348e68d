"""How many visits to keep per user, and what the improvements bring (Acs & Castelluccia 2014, Figs. 7 and 8)."""

from itertools import product

import polars as pl

from density_assets.research.density.releases import CHOSEN, label, released, score
from density_assets.research.density.resampling import SampledWeek, load_samples
from density_assets.research.density.week import TABLES, bounds
from density_assets.research.markdown_tables import figure_cell, markdown
from density_assets.research.plots.curves import curves
from density_assets.research.study import Row, Source, Study, averaged

EPSILONS = tuple(round(0.1 * step, 1) for step in range(1, 11))
METRICS = ("mre", "pc")
BY = ["scheme", "improved", "visits_per_user", "epsilon"]
READS = ("visits", *TABLES)


def _grid(schemes: tuple[tuple[str, bool], ...], caps: tuple[int, ...]) -> tuple[Row, ...]:
    return tuple(
        {"scheme": scheme, "improved": improved, "calibration": "published", "visits_per_user": cap, "epsilon": epsilon}
        for (scheme, improved), cap, epsilon in product(schemes, caps, EPSILONS)
    )


def load(source: Source) -> SampledWeek:
    """Every cap of Fig. 7, three samples each."""
    return load_samples(source, (10, 30, 168))


def once(inputs: SampledWeek, point: Row, seed: int) -> list[Row]:
    """One release of one sample."""
    week = inputs.at(point["visits_per_user"], seed)
    return [score(week, released(week, point, seed))]


def _lines(results: pl.DataFrame) -> pl.DataFrame:
    means = averaged(results, BY, METRICS)
    names = [f"{label(row)}, l = {row['visits_per_user']}" for row in means.iter_rows(named=True)]
    return means.with_columns(line=pl.Series(names))


def _table(results: pl.DataFrame) -> str:
    means = _lines(results).filter(pl.col("epsilon").is_in([0.1, 0.3, 0.5, 1.0]))
    rows = [
        [row["line"], f"{row['epsilon']:g}", *(figure_cell(row, metric) for metric in METRICS)]
        for row in means.iter_rows(named=True)
    ]
    return markdown(("scheme", "epsilon", "MRE", "PC"), rows, "l")


def cap_summary(results: pl.DataFrame) -> str:
    """How far apart the caps are, beside what was printed."""
    means = averaged(results.filter(scheme="efpag"), BY, METRICS)
    spread = means.group_by("epsilon").agg((pl.col(metric).max() - pl.col(metric).min()) for metric in METRICS)
    mre, pc = (spread[metric].to_numpy().max() for metric in METRICS)
    text = (
        "EFPAG and LPA as published, l = 10, 30 and 168 visits kept per user; three samples of the visits take turns. "
        "Published: EFPAG changes by ±0.03 in MRE and PC over these l. Measured: at any one epsilon, MRE differs "
        f"between l by at most {mre:.3f} and PC by at most {pc:.3f}."
    )
    return text + "\n\n" + _table(results)


def improvement_summary(results: pl.DataFrame) -> str:
    """Mean differences over all epsilons, beside what was printed."""

    def mean(metric: str, **where: object) -> float:
        return float(results.filter(**where)[metric].mean())  # type: ignore[arg-type]  # numbers, not dates

    def gain(metric: str, better: dict[str, object], worse: dict[str, object]) -> str:
        return f"{mean(metric, **better) - mean(metric, **worse):+.3f}".replace("-", "−")

    efpag, efpa = {"scheme": "efpag", "improved": True}, {"scheme": "efpa", "improved": True}
    plain = {"scheme": "efpag", "improved": False}
    at30 = {"visits_per_user": 30}
    rows = [
        ["EFPAG against EFPA, MRE", "−0.03", gain("mre", efpag | at30, efpa | at30)],
        ["EFPAG against EFPA, PC", "+0.02", gain("pc", efpag | at30, efpa | at30)],
        ["EFPAG against EFPAG −, MRE", "−0.07", gain("mre", efpag | at30, plain | {"visits_per_user": 168})],
        ["EFPAG against EFPAG −, PC", "+0.01", gain("pc", efpag | at30, plain | {"visits_per_user": 168})],
    ]
    text = (
        "Gaussian against Laplace noise on the coefficients, and with and without the improvements of §5.4 (−), as "
        "published. Means over epsilon 0.1 to 1; EFPAG and EFPA with l = 30, EFPAG − with l = 168 as in the paper."
    )
    return "\n\n".join([text, markdown(("comparison", "published", "measured"), rows, "l"), _table(results)])


CAPS = Study(
    name="caps",
    title="Visits kept per user (Fig. 7)",
    grid=_grid((("efpag", True), ("lpa", True)), (10, 30, 168)),
    load=load,
    once=once,
    figures=lambda _, results: {"caps": curves(_lines(results), "epsilon", METRICS, "line", log=("mre",))},
    summary=cap_summary,
    about=lambda inputs: bounds(inputs.week),
    weekly=True,
    tables=READS,
    chooses=CHOSEN,
)
IMPROVEMENTS = Study(
    name="improvements",
    title="Gaussian noise, and the improvements (Fig. 8)",
    grid=_grid((("efpag", False), ("efpag", True), ("efpa", True)), (30, 168)),
    load=load,
    once=once,
    figures=lambda _, results: {"improvements": curves(_lines(results), "epsilon", METRICS, "line")},
    summary=improvement_summary,
    about=lambda inputs: bounds(inputs.week),
    weekly=True,
    tables=READS,
    chooses=CHOSEN,
)
