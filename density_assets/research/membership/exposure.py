"""Membership inference on raw aggregates: who is exposed to which adversary, and why. Pyrgelis et al., §3.

One repetition attacks one victim of each mobility group; fifty are the published 150.
"""

from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from density_assets.research.markdown_tables import markdown
from density_assets.research.membership.attack import ATTACKS, attacked, principal_components
from density_assets.research.membership.mobility import characteristics, coefficients, extremes, importances
from density_assets.research.membership.people import People, load_people
from density_assets.research.membership.priors import PRIORS, Seen
from density_assets.research.membership.victims import MOBILITY, PER_GROUP
from density_assets.research.plots.attacks import bars, distributions, frequencies, heat_maps
from density_assets.research.study import Row, Study
from density_assets.research.traces.matrix import Traces
from density_assets.research.traces.recipe import Prior

TOP_COMPONENTS = 5  # of each victim, in the heat maps
SHOWN_VICTIMS = 6  # at most, of each kind, in the heat maps
SHOWN_ATTACKS = ("features", "pca")  # in the distributions
PUBLISHED_GAIN = {  # of the mean AUC by principal components instead of statistics (§3.1)
    "subset_of_locations": "65 % London, 46 % San Francisco",
    "same_groups": "22 %, 16 %",
    "different_groups": "26 %, 17 %",
}


def once(people: People, point: Row, seed: int) -> list[Row]:
    """Attack one victim of each mobility group, in every way, with the same groups."""
    if seed >= people.victims.shape[1] or (point["prior"] != "subset_of_locations" and people.traces.weeks < 2):
        return []
    rows = []
    for mobility, victim in zip(MOBILITY, people.victims[:, seed].tolist(), strict=True):
        game = people.game(point["prior"], victim, np.random.default_rng([seed, victim]))
        training, holds = observed(people, game.training)
        challenge, truth = observed(people, game.challenge)
        for how in ATTACKS:
            score = attacked(training, holds, challenge, truth, how)
            rows.append({"attack": how, "mobility": mobility, "victim": victim, "auc": score})
    return rows


def observed(people: People, seen: Seen) -> tuple[Any, Any]:
    """The raw aggregates of a game, all weeks one after the other, and whether they hold the victim."""
    counts = np.concatenate([groups.counts for groups in people.groups(seen)])
    return counts, np.tile(seen.holds, len(seen.weeks))


def figures(people: People, results: pl.DataFrame) -> dict[str, Figure]:
    """Figs. 1–6, and what separates the exposed from the others (tables 2 and 3)."""
    panels = {
        prior: {
            how: results.filter(prior=prior, attack=how)["auc"].to_numpy()
            for how in SHOWN_ATTACKS
            if len(results.filter(prior=prior, attack=how))
        }
        for prior in results["prior"].unique(maintain_order=True)
    }
    # Ranked by the statistics of series: with this prior the components find nearly everybody, so they rank nobody.
    victims, score = _scores(results, "subset_of_locations", "features")
    top, bottom = (victims[rows] for rows in extremes(score))
    found = {"distributions": distributions(panels), "components": _components(people, top, bottom)}
    if "same_groups" in panels:
        found["components_same_groups"] = _regular_components(people, victims)
    found["frequencies"] = frequencies(
        {"most exposed": _slot_use(people, top), "least exposed": _slot_use(people, bottom)}
    )
    found["victims"] = _separation(people, results)
    return found


def _scores(results: pl.DataFrame, prior: Prior, how: str) -> tuple[Any, Any]:
    """Victims and how well they are found."""
    mine = results.filter(prior=prior, attack=how)
    return mine["victim"].to_numpy(), mine["auc"].to_numpy()


def separating(people: People, results: pl.DataFrame) -> dict[str, dict[str, float]]:
    """What tells the exposed from the others: table 2, of the week attacked, and table 3, of all weeks."""
    victims, score = _scores(results, "subset_of_locations", "features")
    found = {"importance, subset of locations": importances(_of(people.weeks[0], victims), score)}
    victims, score = _scores(results, "different_groups", "pca")
    if len(victims):
        found["coefficient, different groups (−: exposed)"] = coefficients(_of(people.traces, victims), score)
    return found


def _of(traces: Traces, victims: Any) -> dict[str, Any]:
    return {name: values[victims] for name, values in characteristics(traces).items()}


def _separation(people: People, results: pl.DataFrame) -> Figure:
    found = separating(people, results)
    names = next(iter(found.values()))
    return bars({name: [column[name] for column in found.values()] for name in names}, list(found))


def _components(people: People, top: Any, bottom: Any) -> Figure:
    """Figs. 2 and 4: for all, for the most and for the least exposed."""
    all_victims = np.unique(np.concatenate([top[:SHOWN_VICTIMS], bottom[:SHOWN_VICTIMS]]))
    raw, most, least = (
        loadings(people, "subset_of_locations", victims)
        for victims in (all_victims, top[:SHOWN_VICTIMS], bottom[:SHOWN_VICTIMS])
    )
    return heat_maps(
        {
            "by place and hour": raw,
            "sorted by popularity": _sorted(people, raw),
            "most exposed, sorted": _sorted(people, most),
            "least exposed, sorted": _sorted(people, least),
        }
    )


def _regular_components(people: People, victims: Any) -> Figure:
    """Fig. 6: what regularity over weeks the components find, for who is in groups that stay the same."""
    raw = loadings(people, "same_groups", victims[:SHOWN_VICTIMS])
    return heat_maps({"by place and hour": raw, "sorted by popularity": _sorted(people, raw)})


def _sorted(people: People, values: Any) -> Any:
    """By popularity of places and of hours, ascending."""
    week = people.weeks[0].aggregate()
    places, slots = np.argsort(week.sum(axis=1), kind="stable"), np.argsort(week.sum(axis=0), kind="stable")
    return values[places][:, slots]


def loadings(people: People, prior: Prior, victims: Any) -> Any:
    """Mean absolute correlation of each place and hour with the first components, over victims of a prior."""
    total = np.zeros((people.traces.rois, people.weeks[0].hours))
    for victim in np.asarray(victims).tolist():
        game = people.game(prior, victim, np.random.default_rng(victim))
        seen = observed(people, game.training)[0]
        counts = seen.reshape(len(seen), -1)
        found = principal_components(counts, TOP_COMPONENTS)
        deviation = counts.std(axis=0, ddof=1)
        scaled = np.abs(found.directions) * np.sqrt(found.variance)[:, None]
        correlation = np.divide(scaled, deviation, out=np.zeros_like(scaled), where=deviation > 0)
        total += correlation.mean(axis=0).reshape(total.shape)
    return total / max(len(victims), 1)


def _slot_use(people: People, victims: Any) -> Any:
    return people.weeks[0].rows(np.asarray(victims)).aggregate().sum(axis=0)


def summary(results: pl.DataFrame) -> str:
    """Mean AUC by prior, attack and mobility, and what the components gain over each reading of the statistics."""
    by = results.group_by("prior", "attack", maintain_order=True).agg(
        pl.col("auc").mean(),
        *(pl.col("auc").filter(pl.col("mobility") == name).mean().alias(name) for name in MOBILITY),
    )
    components = dict(by.filter(attack="pca").select("prior", "auc").iter_rows())
    rows = []
    for row in by.iter_rows(named=True):
        gain = f"{components[row['prior']] / row['auc'] - 1:+.0%}" if row["attack"] != "pca" else ""
        numbers = [f"{row[name]:.3f}" for name in ("auc", *MOBILITY)]
        printed = PUBLISHED_GAIN[row["prior"]] if gain else ""
        rows.append([row["prior"].replace("_", " "), row["attack"], *numbers, gain, printed])
    head = ("prior", "attack", "mean AUC", *MOBILITY, "components gain", "published")
    victims = results["victim"].n_unique()
    said = f"{victims} victims; privacy loss is AUC − 0.5."
    return f"{said}\n\n{markdown(head, rows, 'll')}"


MEMBERSHIP = Study(
    name="membership",
    title="Membership inference on raw aggregates",
    grid=tuple({"prior": prior} for prior in PRIORS),
    load=load_people,
    once=once,
    figures=figures,
    summary=summary,
    about=lambda people: people.described,
    repetitions=PER_GROUP,
    version=3,
)
