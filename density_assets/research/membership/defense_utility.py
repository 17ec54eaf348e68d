"""What defenses leave of the aggregates: the utility tables 5–26 of Pyrgelis et al.

Measured on one week of the aggregate of a random group of the published size (250 cabs of San Francisco; with all 534
the published errors do not come out: 250·340/504 = 168.6 cabs are active in a mean hour, and that ratio is in tables 6
and 10), and of everybody. One repetition is one group.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure
from scipy.sparse import csr_array

from density_assets.quality.accuracy import pearson
from density_assets.research.markdown_tables import markdown
from density_assets.research.membership.defenses import DEFENSES
from density_assets.research.membership.defenses.groups import Groups
from density_assets.research.membership.defenses.releases import bounded, release_groups, roi_places
from density_assets.research.membership.people import People, load_people
from density_assets.research.membership.published_defenses import PUBLISHED, Rows
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
from density_assets.research.study import Row, Study, averaged
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


def parameter(people: People, point: Mapping[str, Any]) -> tuple[float, str] | None:
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


def once(people: People, point: Row, seed: int) -> list[Row]:
    """Utility of one defended aggregate."""
    if (found := parameter(people, point)) is None:
        return []
    rng = np.random.default_rng([seed, point["level"]])
    true, defended = _aggregates(people, point, found[0], seed, rng)
    about = {"kind": people.recipe.kind, "near_empty": int(near_empty(true).sum()), "rois": len(true)}
    return [{"parameter": found[1], **utility(true, defended), **about}]


def _aggregates(people: People, point: Row, value: float, seed: int, rng: np.random.Generator) -> tuple[Any, Any]:
    week = people.weeks[people.recipe.defended_week]
    if point["of"] == "group":
        size = min(people.recipe.defended_group, len(week.users))
        week = week.rows(np.random.default_rng(seed).permutation(len(week.users))[:size])
    groups = Groups(week, csr_array(np.ones((1, len(week.users)), dtype=np.int32)))
    if point["defense"] in SCHEMES:
        settings = scheme_settings(point)
        parts = bounded(week, settings, rng)
        released = release_groups(groups, parts, roi_places(week), settings, seed).estimates
    else:
        released = DEFENSES[point["defense"]].release(groups, value, people.recipe, rng)
    return groups.counts[0], released[0]


def utility(true: Any, defended: Any) -> Row:
    """The metrics of the published tables, Kendall's tau of counts, and MRE where somebody comes every day.

    The last two are the meaningful ones.
    """
    return {
        "mre": mre_published_pyrgelis(true, defended),
        "mre_visited": mre_published_pyrgelis_visited(true, defended),
        "mre_10": mre_published_pyrgelis_busiest(true, defended),
        "f1": f1_of_busiest(true, defended),
        "tau_published": tau_published(true, defended),
        "js": js_distance(true, defended),
        "r": pearson(true, defended),
        "tau": tau_of_busiest(true, defended),
    }


def figures(people: People, results: pl.DataFrame) -> dict[str, Figure]:
    """Each metric over the levels of each family."""
    of_group = averaged(results.filter(of="group"), ["defense", "level"], METRICS)
    ours = pl.col("defense").is_in(list(SCHEMES))
    shown = ("f1", "js", "r")
    return {
        "defenses": curves(of_group.filter(~ours), "level", shown, "defense", over_label="parameter, first to last"),
        "schemes": curves(of_group.filter(ours), "level", shown, "defense", over_label=f"epsilon {EPSILONS}"),
    }


def summary(results: pl.DataFrame) -> str:
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
    once=once,
    figures=figures,
    summary=summary,
    about=lambda people: people.described,
    repetitions=20,
    version=3,
)
