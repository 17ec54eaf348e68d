"""Membership inference on raw aggregates: who is exposed to which adversary, and why. Pyrgelis et al., §3.

One repetition attacks one victim of each mobility group; fifty are the published 150.
"""

from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from density_assets.attacks.membership import attacked, principal_components
from density_assets.attacks.mobility import characteristics, extremes, separation
from density_assets.attacks.priors import PRIORS, Seen
from density_assets.attacks.victims import MOBILITY
from density_assets.plots.attacks import bars, distributions, frequencies, heat_maps
from density_assets.studies.people import People, load_people
from density_assets.studies.study import Row, Study
from density_assets.studies.tables import markdown

TOP_COMPONENTS = 5  # of each victim, in the heat maps
SHOWN_VICTIMS = 6  # at most, of each kind, in the heat maps
PUBLISHED_GAIN = {  # of the mean AUC by principal components instead of statistics (§3.1)
    "subset_of_locations": "65 % London, 46 % San Francisco",
    "same_groups": "22 %, 16 %",
    "different_groups": "26 %, 17 %",
}


def once(people: People, point: Row, seed: int) -> list[Row]:
    """Attack one victim of each mobility group."""
    if seed >= people.victims.shape[1] or (point["prior"] != "subset_of_locations" and people.traces.weeks < 2):
        return []
    rows = []
    for mobility, victim in zip(MOBILITY, people.victims[:, seed].tolist(), strict=True):
        game = people.game(point["prior"], victim, np.random.default_rng([seed, victim]))
        training, holds = observed(people, game.training)
        challenge, truth = observed(people, game.challenge)
        score = attacked(training, holds, challenge, truth, point["attack"])
        rows.append({"mobility": mobility, "victim": victim, "auc": score, "people": people.described})
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
            for how in ("features", "pca")
            if len(results.filter(prior=prior, attack=how))
        }
        for prior in results["prior"].unique(maintain_order=True)
    }
    victims, score = _scores(results, "features")
    top, bottom = (victims[rows] for rows in extremes(score))
    found = {"distributions": distributions(panels), "components": _components(people, top, bottom)}
    found["frequencies"] = frequencies(
        {"most exposed": _slot_use(people, top), "least exposed": _slot_use(people, bottom)}
    )
    table = {name: values[victims] for name, values in characteristics(people.weeks[0]).items()}
    names = ("importance (random forest)", "coefficient (logistic; negative: exposed)")
    found["victims"] = bars(separation(table, score), names)
    return found


def _scores(results: pl.DataFrame, how: str) -> tuple[Any, Any]:
    """Victims of the prior subset_of_locations and how well they are found.

    By the statistics of series: the components find nearly everybody, so they rank nobody.
    """
    mine = results.filter(prior="subset_of_locations", attack=how)
    return mine["victim"].to_numpy(), mine["auc"].to_numpy()


def _components(people: People, top: Any, bottom: Any) -> Figure:
    week = people.weeks[0].aggregate()
    places, slots = np.argsort(week.sum(axis=1), kind="stable"), np.argsort(week.sum(axis=0), kind="stable")
    all_victims = np.unique(np.concatenate([top[:SHOWN_VICTIMS], bottom[:SHOWN_VICTIMS]]))
    raw = loadings(people, all_victims)
    return heat_maps(
        {
            "by place and hour": raw,
            "sorted by popularity": raw[places][:, slots],
            "most exposed, sorted": loadings(people, top[:SHOWN_VICTIMS])[places][:, slots],
            "least exposed, sorted": loadings(people, bottom[:SHOWN_VICTIMS])[places][:, slots],
        }
    )


def loadings(people: People, victims: Any) -> Any:
    """Mean absolute correlation of each place and hour with the first components, over victims."""
    total = np.zeros((people.traces.rois, people.weeks[0].hours))
    for victim in np.asarray(victims).tolist():
        game = people.game("subset_of_locations", victim, np.random.default_rng(victim))
        counts = observed(people, game.training)[0].reshape(len(game.training.holds), -1)
        found = principal_components(counts, TOP_COMPONENTS)
        deviation = counts.std(axis=0, ddof=1)
        scaled = np.abs(found.directions) * np.sqrt(found.variance)[:, None]
        correlation = np.divide(scaled, deviation, out=np.zeros_like(scaled), where=deviation > 0)
        total += correlation.mean(axis=0).reshape(total.shape)
    return total / max(len(victims), 1)


def _slot_use(people: People, victims: Any) -> Any:
    return people.weeks[0].rows(np.asarray(victims)).aggregate().sum(axis=0)


def summary(results: pl.DataFrame) -> str:
    """Mean AUC by prior, attack and mobility, and what the components add."""
    by = results.group_by("prior", "attack", maintain_order=True).agg(
        pl.col("auc").mean(),
        *(pl.col("auc").filter(pl.col("mobility") == name).mean().alias(name) for name in MOBILITY),
    )
    plain = dict(by.filter(attack="features").select("prior", "auc").iter_rows())
    rows = []
    for row in by.iter_rows(named=True):
        gain = f"{row['auc'] / plain[row['prior']] - 1:+.0%}" if row["attack"] == "pca" else ""
        numbers = [f"{row[name]:.3f}" for name in ("auc", *MOBILITY)]
        printed = PUBLISHED_GAIN[row["prior"]] if gain else ""
        rows.append([row["prior"].replace("_", " "), row["attack"], *numbers, gain, printed])
    head = ("prior", "attack", "mean AUC", *MOBILITY, "over features", "published")
    victims = results["victim"].n_unique()
    said = f"{results['people'][0]}\n\n{victims} victims; privacy loss is AUC − 0.5."
    return f"{said}\n\n{markdown(head, rows, 'll')}"


MEMBERSHIP = Study(
    name="membership",
    title="Membership inference on raw aggregates",
    grid=tuple({"prior": prior, "attack": how} for prior in PRIORS for how in ("features", "pca")),
    load=load_people,
    once=once,
    figures=figures,
    summary=summary,
    repetitions=10,
    version=2,
)
