"""What defenses take from the adversary, who knows them: privacy gain, and against utility. Pyrgelis et al., §4 and §5.

One repetition attacks one victim of each mobility group, undefended and under every defense, with the same groups.
"""

from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from density_assets.research.markdown_tables import markdown
from density_assets.research.membership.attack import attacked, privacy_gain
from density_assets.research.membership.defense_utility import (
    METRICS,
    defense_grid,
    parameter,
    scheme_settings,
    utility,
)
from density_assets.research.membership.defenses import DEFENSES
from density_assets.research.membership.defenses.groups import Groups
from density_assets.research.membership.defenses.releases import bounded, release_groups, roi_places
from density_assets.research.membership.people import People, load_people
from density_assets.research.membership.priors import Seen
from density_assets.research.membership.victims import MOBILITY, PER_GROUP
from density_assets.research.plots.attacks import gain_boxes, planes
from density_assets.research.study import Row, Study
from density_assets.research.traces.recipe import Sampling
from density_assets.schemes import SCHEMES

Seed = tuple[int, ...]
SCHEME_LEVEL = 1  # epsilon 1, for every scheme; the default scheme at all
LOSSES = {  # how a metric becomes a loss, 0 where nothing is lost (Figs. 8–11)
    "MRE": ("mre", 0.0),
    "MRE 10%": ("mre_10", 0.0),
    "F1": ("f1", 1.0),
    "τ": ("tau", 1.0),
    "JS": ("js", 0.0),
    "r": ("r", 1.0),
}


def _grid() -> tuple[Row, ...]:
    kept = [p for p in defense_grid() if p["defense"] in ("lowrank", *DEFENSES) or p["level"] == SCHEME_LEVEL]
    return ({"defense": "none", "level": 0}, *kept)


def once(people: People, point: Row, seed: int) -> list[Row]:
    """Attack one victim of each mobility group under a defense; the first also tells the utility of one aggregate."""
    found = parameter(people, point)
    if found is None or seed >= people.victims.shape[1]:
        return []
    rows: list[Row] = []
    for mobility, victim in zip(MOBILITY, people.victims[:, seed].tolist(), strict=True):
        prior = people.recipe.defended_prior
        game = people.game(prior, victim, np.random.default_rng([seed, victim]), defended=True)
        rng = np.random.default_rng([seed, victim, point["level"], 1])
        own, released = sampling_seeds(people.recipe.sampling, (seed, victim, point["level"]))
        training, holds = defended(people, point, found[0], game.training, rng, own)
        challenge, truth = defended(people, point, found[0], game.challenge, rng, released)
        row = {"parameter": found[1], "mobility": mobility, "victim": victim}
        row["auc"] = attacked(training, holds, challenge, truth)
        rows.append(row | (dict.fromkeys(METRICS) if rows else _utility(people, point, found[0], game.challenge, rng)))
    return rows


def sampling_seeds(sampling: Sampling, seed: Seed) -> tuple[Seed | None, Seed | None]:
    """Of what the adversary trains on and of what is released: the same, two, or none where each aggregate is anew."""
    if sampling == "anew":
        return None, None
    return (*seed, 0), (*seed, 0 if sampling == "once" else 1)


def defended(
    people: People, point: Row, value: float, seen: Seen, rng: np.random.Generator, sampled_with: Seed | None = None
) -> tuple[Any, Any]:
    """What the adversary sees of a game under a defense: of a scheme, the series its second door published."""
    released = [_released(people, point, value, groups, rng) for groups in people.groups(seen, sampled_with)]
    return np.concatenate(released), np.tile(seen.holds, len(seen.weeks))


def _released(
    people: People, point: Row, value: float, groups: Groups, rng: np.random.Generator, *, estimate: bool = False
) -> Any:
    if point["defense"] not in SCHEMES:
        return DEFENSES[point["defense"]].release(groups, value, people.recipe, rng)
    settings, places = scheme_settings(point), roi_places(groups.traces)
    parts = bounded(groups.traces, settings, rng)
    drawn = release_groups(groups, parts, places, settings, int(rng.integers(2**31)), estimate=estimate)
    return drawn.estimates if estimate else drawn.series


def _utility(people: People, point: Row, value: float, seen: Seen, rng: np.random.Generator) -> Row:
    week = people.weeks[seen.weeks[0]]
    one = Groups(week, seen.members[:1])
    return utility(one.counts[0], _released(people, point, value, one, rng, estimate=True)[0])


def gains(results: pl.DataFrame) -> pl.DataFrame:
    """Results with the privacy gain of each victim under each defense."""
    plain = results.filter(defense="none").select("victim", "seed", undefended="auc")
    joined = results.filter(pl.col("defense") != "none").join(plain, on=["victim", "seed"], how="inner")
    numbers = [privacy_gain(a, b) for a, b in joined.select("undefended", "auc").iter_rows()]
    return joined.with_columns(gain=pl.Series(numbers, dtype=pl.Float64))


def _means(results: pl.DataFrame) -> pl.DataFrame:
    metrics = [pl.col(metric).drop_nulls().mean() for metric, _ in LOSSES.values()]
    by = ["defense", "level", "parameter"]
    return (
        gains(results)
        .group_by(by, maintain_order=True)
        .agg(
            pl.col("gain").mean(),
            pl.col("auc").mean(),
            *metrics,
            lower=pl.col("gain").quantile(0.25, "linear"),
            upper=pl.col("gain").quantile(0.75, "linear"),
        )
        .sort("level", maintain_order=True)
    )


def figures(people: People, results: pl.DataFrame) -> dict[str, Figure]:
    """Box plots of the gain (Fig. 7) and its planes with utility (Figs. 8–11)."""
    found, means = gains(results).sort("level", maintain_order=True), _means(results)
    names = means["defense"].unique(maintain_order=True).to_list()
    boxes = {
        name: {
            str(label): part["gain"].to_numpy()
            for (label,), part in found.filter(defense=name).group_by("parameter", maintain_order=True)
        }
        for name in names
    }
    points = {
        title: {
            name: (abs(best - mine[metric].to_numpy()), mine["gain"].to_numpy())
            for name in names
            for mine in (means.filter(defense=name),)
        }
        for title, (metric, best) in LOSSES.items()
    }
    return {"gain": gain_boxes(boxes), "planes": planes(points)}


def summary(results: pl.DataFrame) -> str:
    """Mean gain, its quartiles and the AUC under each defense."""
    plain = results.filter(defense="none")["auc"]
    head = ("defense", "parameter", "AUC", "privacy gain", "quartiles")
    rows = [
        [r["defense"], r["parameter"], f"{r['auc']:.3f}", f"{r['gain']:.2f}", f"{r['lower']:.2f} … {r['upper']:.2f}"]
        for r in _means(results).iter_rows(named=True)
    ]
    order = {name: place for place, name in enumerate([*DEFENSES, *SCHEMES])}
    rows.sort(key=lambda row: order[row[0]])
    said = f"{len(plain)} victims, mean AUC undefended {np.mean(plain.to_numpy()):.3f}."
    return f"{said}\n\n{markdown(head, rows, 'll')}"


PRIVACY_GAIN = Study(
    name="privacy_gain",
    title="Privacy gain of each defense (Figs. 7–11)",
    grid=_grid(),
    load=load_people,
    once=once,
    figures=figures,
    summary=summary,
    about=lambda people: people.described,
    repetitions=PER_GROUP,
    version=3,
)
