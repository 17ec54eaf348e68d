"""What defenses leave of the aggregates, and what they take from the adversary, who knows them.

Utility (tables 5–26 of Pyrgelis et al.) is measured on one week of the aggregate of a random group of the published
size (250 cabs of San Francisco; with all 534 the published errors do not come out: 250·340/504 = 168.6 cabs are active
in a mean hour, and that ratio is in tables 6 and 10), and of everybody. One repetition is one group.

Privacy gain (§4 and §5) is measured on victims. One repetition attacks one victim of each mobility group, undefended
and under every defense, with the same groups.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure
from scipy.sparse import csr_array

from density_assets.quality.accuracy import pearson
from density_assets.research.contributions import bound_week
from density_assets.research.membership.attack import attack_auc, privacy_gain
from density_assets.research.membership.defenses import DEFENSES, Groups
from density_assets.research.membership.people import MOBILITY, PER_GROUP, AttackedPeople, SeenGroups, load_people
from density_assets.research.membership.published_defenses import PUBLISHED, Rows
from density_assets.research.membership.releases import release_groups, roi_places
from density_assets.research.plots.attacks import gain_boxes, planes
from density_assets.research.plots.curves import curves
from density_assets.research.published_metrics import (
    f1_of_busiest,
    js_distance,
    mre_published_pyrgelis,
    mre_published_pyrgelis_busiest,
    mre_published_pyrgelis_visited,
    near_empty,
    tau_of_busiest,
    tau_published,
)
from density_assets.research.results import markdown
from density_assets.research.study import Row, Study, averaged
from density_assets.research.traces.recipe import Sampling
from density_assets.schemes import SCHEMES
from density_assets.settings import PrivacySettings, SchemeSettings, Settings

METRICS = ("mre", "mre_visited", "mre_10", "f1", "tau_published", "js", "r", "tau")
VISITED = "MRE, ROIs with ≥ 1 visit a day"  # the others are near-empty
EPSILONS = (0.3, 1.0, 10.0)
DEFENDED = tuple(name for name in DEFENSES if name != "none")


def defense_grid() -> list[Row]:
    """Every defense with its first, second, … parameter (which parameters depends on the data), and every scheme."""
    points: list[Row] = [{"defense": name, "level": level} for name in DEFENDED for level in range(_levels(name))]
    return points + [{"defense": name, "level": level} for name in SCHEMES for level in range(len(EPSILONS))]


def _levels(name: str) -> int:
    return max(len(values) for values in DEFENSES[name].values.values())


def scheme_settings(point: Mapping[str, Any]) -> Settings:
    """The settings of a release with the scheme and the epsilon of a point."""
    privacy = PrivacySettings(epsilon=EPSILONS[point["level"]], budget_epsilon=100.0)
    return Settings(privacy=privacy, scheme=SchemeSettings(name=point["defense"]))


def parameter(people: AttackedPeople, point: Mapping[str, Any]) -> tuple[float, str] | None:
    """The value of a point's parameter for these data and how tables write it.

    None if there are fewer levels, or if neighbours are to be merged and nobody knows which are.
    """
    if point["defense"] in SCHEMES:
        epsilon = EPSILONS[point["level"]]
        return epsilon, f"{epsilon:g}"
    defense, kind = DEFENSES[point["defense"]], people.recipe.kind
    values = defense.parameters(kind)
    if point["level"] >= len(values) or (point["defense"] == "SPG" and not people.traces.placed):
        return None
    value = values[point["level"]]
    return value, defense.label(value, kind)


def measure_utility(people: AttackedPeople, point: Row, seed: int) -> list[Row]:
    """Utility of one defended aggregate."""
    if (found := parameter(people, point)) is None:
        return []
    rng = np.random.default_rng([seed, point["level"]])
    true, defended_counts = _aggregates(people, point, found[0], seed, rng)
    about = {"kind": people.recipe.kind, "near_empty": int(near_empty(true).sum()), "rois": len(true)}
    return [{"parameter": found[1], **utility(true, defended_counts), **about}]


def _aggregates(
    people: AttackedPeople, point: Row, value: float, seed: int, rng: np.random.Generator
) -> tuple[Any, Any]:
    week = people.weeks[people.recipe.defended_week]
    if point["of"] == "group":
        size = min(people.recipe.defended_group, len(week.users))
        week = week.rows(np.random.default_rng(seed).permutation(len(week.users))[:size])
    groups = Groups(week, csr_array(np.ones((1, len(week.users)), dtype=np.int32)))
    if point["defense"] in SCHEMES:
        settings = scheme_settings(point)
        parts = bound_week(week, settings, rng)
        released = release_groups(groups, parts, roi_places(week), settings, seed).estimates
    else:
        released = DEFENSES[point["defense"]].release(groups, value, people.recipe, rng)
    return groups.counts[0], released[0]


def utility(true: Any, defended_counts: Any) -> Row:
    """The metrics of the published tables, Kendall's tau of counts, and MRE where somebody comes every day.

    The last two are the meaningful ones.
    """
    return {
        "mre": mre_published_pyrgelis(true, defended_counts),
        "mre_visited": mre_published_pyrgelis_visited(true, defended_counts),
        "mre_10": mre_published_pyrgelis_busiest(true, defended_counts),
        "f1": f1_of_busiest(true, defended_counts),
        "tau_published": tau_published(true, defended_counts),
        "js": js_distance(true, defended_counts),
        "r": pearson(true, defended_counts),
        "tau": tau_of_busiest(true, defended_counts),
    }


def plot_utility(people: AttackedPeople, results: pl.DataFrame) -> dict[str, Figure]:
    """Each metric over the levels of each family."""
    of_group = averaged(results.filter(of="group"), ["defense", "level"], METRICS)
    ours = pl.col("defense").is_in(list(SCHEMES))
    shown = ("f1", "js", "r")
    return {
        "defenses": curves(of_group.filter(~ours), "level", shown, "defense", over_label="parameter, first to last"),
        "schemes": curves(of_group.filter(ours), "level", shown, "defense", over_label=f"epsilon {EPSILONS}"),
    }


def tabulate_utility(results: pl.DataFrame) -> str:
    """One table per defense: groups of the published size, everybody, and the published rows of such data."""
    means = averaged(results, ["defense", "level", "parameter", "of"], METRICS)
    city, printed = PUBLISHED.get(results["kind"][0], ("none", {}))
    head = ("parameter", "of", "MRE", VISITED, "MRE 10%", "F1", "τ published", "JS", "r", "τ", f"published ({city})")
    empty = np.mean(results.filter(of="group")["near_empty"].to_numpy())
    told = f"Near-empty in a group: {empty:.1f} of {results['rois'][0]} ROIs."
    parts = [f"{results['seed'].n_unique()} repetitions. {told}"]
    for name in means["defense"].unique(maintain_order=True):
        mine = means.filter(defense=name)
        rows = mine.sort("level", "of", descending=[False, True]).iter_rows(named=True)
        title = DEFENSES[name].title if name in DEFENSES else "release scheme, by epsilon"
        parts.append(f"### {name}: {title}\n\n{markdown(head, (_cells(row, printed) for row in rows), 'll')}")
    return "\n\n".join(parts)


def _cells(row: Mapping[str, Any], printed: Rows) -> list[str]:
    numbers = printed.get((row["defense"], row["parameter"]), ()) if row["of"] == "group" else ()
    beside = " / ".join("–" if value is None else f"{value:g}" for value in numbers)
    return [row["parameter"], row["of"], *(f"{row[metric]:.3f}" for metric in METRICS), beside]


DEFENSE_TABLES = Study(
    name="defenses",
    title="Utility under each defense (tables 5–26)",
    grid=tuple(point | {"of": of} for of in ("group", "everybody") for point in defense_grid()),
    load=load_people,
    once=measure_utility,
    figures=plot_utility,
    summary=tabulate_utility,
    about=lambda people: people.described,
    repetitions=20,
    version=4,
)


# --- privacy gain ----------------------------------------------------------------------------------------------------


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


def _gain_grid() -> tuple[Row, ...]:
    kept = [p for p in defense_grid() if p["defense"] in ("lowrank", *DEFENSES) or p["level"] == SCHEME_LEVEL]
    return ({"defense": "none", "level": 0}, *kept)


def measure_gain(people: AttackedPeople, point: Row, seed: int) -> list[Row]:
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
        training, holds = release_defended(people, point, found[0], game.training, rng, own)
        challenge, truth = release_defended(people, point, found[0], game.challenge, rng, released)
        row = {"parameter": found[1], "mobility": mobility, "victim": victim}
        row["auc"] = attack_auc(training, holds, challenge, truth)
        rows.append(
            row | (dict.fromkeys(METRICS) if rows else _utility_of_one(people, point, found[0], game.challenge, rng))
        )
    return rows


def sampling_seeds(sampling: Sampling, seed: Seed) -> tuple[Seed | None, Seed | None]:
    """Of what the adversary trains on and of what is released: the same, two, or none where each aggregate is anew."""
    if sampling == "anew":
        return None, None
    return (*seed, 0), (*seed, 0 if sampling == "once" else 1)


def release_defended(
    people: AttackedPeople,
    point: Row,
    value: float,
    seen: SeenGroups,
    rng: np.random.Generator,
    sampled_with: Seed | None = None,
) -> tuple[Any, Any]:
    """What the adversary sees of a game under a defense: of a scheme, the series its second door published."""
    released = [_released(people, point, value, groups, rng) for groups in people.groups(seen, sampled_with)]
    return np.concatenate(released), np.tile(seen.holds, len(seen.weeks))


def _released(
    people: AttackedPeople,
    point: Row,
    value: float,
    groups: Groups,
    rng: np.random.Generator,
    *,
    estimate: bool = False,
) -> Any:
    if point["defense"] not in SCHEMES:
        return DEFENSES[point["defense"]].release(groups, value, people.recipe, rng)
    settings, places = scheme_settings(point), roi_places(groups.traces)
    parts = bound_week(groups.traces, settings, rng)
    drawn = release_groups(groups, parts, places, settings, int(rng.integers(2**31)), estimate=estimate)
    return drawn.estimates if estimate else drawn.series


def _utility_of_one(
    people: AttackedPeople, point: Row, value: float, seen: SeenGroups, rng: np.random.Generator
) -> Row:
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


def plot_gain(people: AttackedPeople, results: pl.DataFrame) -> dict[str, Figure]:
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


def tabulate_gain(results: pl.DataFrame) -> str:
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
    grid=_gain_grid(),
    load=load_people,
    once=measure_gain,
    figures=plot_gain,
    summary=tabulate_gain,
    about=lambda people: people.described,
    repetitions=PER_GROUP,
    version=4,
)
