"""Membership inference on raw aggregates: who is exposed to which adversary, and why. Pyrgelis et al., §3.

One repetition attacks one victim of each mobility group; fifty are the published 150. What makes a victim easy are
characteristics of the traces (§3.1), of which some separate the most from the least exposed (tables 2 and 3).
"""

from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure
from numpy.typing import NDArray

from density_assets.calendar import HOURS
from density_assets.research.membership.attack import ATTACKS, attack_auc, principal_components
from density_assets.research.membership.people import (
    MOBILITY,
    PER_GROUP,
    PRIORS,
    AttackedPeople,
    SeenGroups,
    count_per_user,
    load_people,
    volume,
)
from density_assets.research.plots.attacks import bars, distributions, frequencies, heat_maps
from density_assets.research.results import markdown
from density_assets.research.study import Row, Study
from density_assets.research.traces.matrix import Traces
from density_assets.research.traces.recipe import Prior
from density_assets.series import Floats

EXTREME = 0.1  # the top and bottom share of victims that are compared
WEEKEND_STARTS = 120  # hour of the week
DAYS = {"weekday": 5, "weekend": 2}


def characteristics(traces: Traces) -> dict[str, Floats]:
    """One number per user for each characteristic; means per weekday and per weekend day are over whole weeks."""
    user, roi, hour = traces.points()
    users, weeks = len(traces.users), max(traces.weeks, 1)
    slot_user, slot_hour = np.divmod(np.unique(user * traces.hours + hour), traces.hours)
    found = volume(traces)
    found["locations per slot"] = found["total events"] / np.maximum(found["active slots"], 1.0)
    for part, days in DAYS.items():
        mine = slot_hour % HOURS >= WEEKEND_STARTS if part == "weekend" else slot_hour % HOURS < WEEKEND_STARTS
        points = hour % HOURS >= WEEKEND_STARTS if part == "weekend" else hour % HOURS < WEEKEND_STARTS
        found[f"active slots/{part}"] = count_per_user(slot_user[mine], users) / (weeks * days)
        found[f"events/{part}"] = count_per_user(user[points], users) / (weeks * days)
    found["spatial entropy"] = _entropy(user, roi, traces.rois, users)
    found["temporal entropy"] = _entropy(user, hour, traces.hours, users)
    found["unicity"] = unicity(traces)
    return found


def unicity(traces: Traces) -> Floats:
    """Share of slots in which nobody else was in the same set of regions of interest (ROIs).

    Sets are compared by the sum of random 64-bit numbers of their ROIs: two different sets among millions collide with
    chance below one in a million. Slots without a point are not unique.
    """
    user, roi, hour = traces.points()
    mark = np.random.default_rng(0).integers(0, 2**63, traces.rois, dtype=np.uint64)
    slots, where = np.unique(user * traces.hours + hour, return_inverse=True)
    key = np.zeros(len(slots), dtype=np.uint64)
    np.add.at(key, where, mark[roi])
    pair = np.stack([(slots % traces.hours).astype(np.uint64), key], axis=1)
    _, which, count = np.unique(pair, axis=0, return_inverse=True, return_counts=True)
    alone = count[which.ravel()] == 1
    return count_per_user(slots[alone] // traces.hours, len(traces.users)) / traces.hours


def extremes(score: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Positions of the most and of the least exposed: a tenth each, at least two."""
    order = np.argsort(-score, kind="stable")
    size = max(2, round(EXTREME * len(order)))
    return order[:size], order[-size:]


def importances(table: dict[str, Floats], score: Floats) -> dict[str, float]:
    """Importance of each characteristic for a random forest that tells top from bottom victims (table 2).

    score: AUC of each victim; the table has their characteristics.
    """
    from sklearn.ensemble import RandomForestClassifier  # a second, which every start would pay for

    x, hidden = _top_and_bottom(table, score)
    forest = RandomForestClassifier(100, random_state=0).fit(x, hidden)
    return dict(zip(table, map(float, forest.feature_importances_), strict=True))


def coefficients(table: dict[str, Floats], score: Floats) -> dict[str, float]:
    """Logistic coefficients of characteristics, top against bottom victims; negative: exposed, as in table 3."""
    from sklearn.linear_model import LogisticRegression

    x, hidden = _top_and_bottom(table, score)
    line = LogisticRegression(max_iter=1_000).fit(x, hidden)
    return dict(zip(table, map(float, line.coef_[0]), strict=True))


def _top_and_bottom(table: dict[str, Floats], score: Floats) -> tuple[Any, NDArray[np.bool_]]:
    """Standardised characteristics of the extreme victims, and which of them are hard to find."""
    from sklearn.preprocessing import StandardScaler

    top, bottom = extremes(score)
    rows = np.concatenate([top, bottom])
    x = StandardScaler().fit_transform(np.stack([values[rows] for values in table.values()], axis=1))
    return x, np.arange(len(rows)) >= len(top)


def _entropy(user: NDArray[np.int64], kind: NDArray[np.int64], kinds: int, users: int) -> Floats:
    """Entropy in nats of how a user's points spread over ROIs or hours."""
    pair, count = np.unique(user * kinds + kind, return_counts=True)
    share = count / count_per_user(user, users)[pair // kinds]
    return np.asarray(np.bincount(pair // kinds, weights=-share * np.log(share), minlength=users), np.float64)


TOP_COMPONENTS = 5  # of each victim, in the heat maps
SHOWN_VICTIMS = 6  # at most, of each kind, in the heat maps
SHOWN_ATTACKS = ("features", "pca")  # in the distributions
PUBLISHED_GAIN = {  # of the mean AUC by principal components instead of statistics (§3.1)
    "subset_of_locations": "65 % London, 46 % San Francisco",
    "same_groups": "22 %, 16 %",
    "different_groups": "26 %, 17 %",
}


def attack_raw_counts(people: AttackedPeople, point: Row, seed: int) -> list[Row]:
    """Attack one victim of each mobility group, in every way, with the same groups."""
    if seed >= people.victims.shape[1] or (point["prior"] != "subset_of_locations" and people.traces.weeks < 2):
        return []
    rows = []
    for mobility, victim in zip(MOBILITY, people.victims[:, seed].tolist(), strict=True):
        game = people.game(point["prior"], victim, np.random.default_rng([seed, victim]))
        training, holds = raw_aggregates(people, game.training)
        challenge, truth = raw_aggregates(people, game.challenge)
        for how in ATTACKS:
            score = attack_auc(training, holds, challenge, truth, how)
            rows.append({"attack": how, "mobility": mobility, "victim": victim, "auc": score})
    return rows


def raw_aggregates(people: AttackedPeople, seen: SeenGroups) -> tuple[Any, Any]:
    """The raw aggregates of a game, all weeks one after the other, and whether they hold the victim."""
    counts = np.concatenate([groups.counts for groups in people.groups(seen)])
    return counts, np.tile(seen.holds, len(seen.weeks))


def plot_exposure(people: AttackedPeople, results: pl.DataFrame) -> dict[str, Figure]:
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


def separating(people: AttackedPeople, results: pl.DataFrame) -> dict[str, dict[str, float]]:
    """What tells the exposed from the others: table 2, of the week attacked, and table 3, of all weeks."""
    victims, score = _scores(results, "subset_of_locations", "features")
    found = {"importance, subset of locations": importances(_of(people.weeks[0], victims), score)}
    victims, score = _scores(results, "different_groups", "pca")
    if len(victims):
        found["coefficient, different groups (−: exposed)"] = coefficients(_of(people.traces, victims), score)
    return found


def _of(traces: Traces, victims: Any) -> dict[str, Any]:
    return {name: values[victims] for name, values in characteristics(traces).items()}


def _separation(people: AttackedPeople, results: pl.DataFrame) -> Figure:
    found = separating(people, results)
    names = next(iter(found.values()))
    return bars({name: [column[name] for column in found.values()] for name in names}, list(found))


def _components(people: AttackedPeople, top: Any, bottom: Any) -> Figure:
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


def _regular_components(people: AttackedPeople, victims: Any) -> Figure:
    """Fig. 6: what regularity over weeks the components find, for who is in groups that stay the same."""
    raw = loadings(people, "same_groups", victims[:SHOWN_VICTIMS])
    return heat_maps({"by place and hour": raw, "sorted by popularity": _sorted(people, raw)})


def _sorted(people: AttackedPeople, values: Any) -> Any:
    """By popularity of places and of hours, ascending."""
    week = people.weeks[0].aggregate()
    places, slots = np.argsort(week.sum(axis=1), kind="stable"), np.argsort(week.sum(axis=0), kind="stable")
    return values[places][:, slots]


def loadings(people: AttackedPeople, prior: Prior, victims: Any) -> Any:
    """Mean absolute correlation of each place and hour with the first components, over victims of a prior."""
    total = np.zeros((people.traces.rois, people.weeks[0].hours))
    for victim in np.asarray(victims).tolist():
        game = people.game(prior, victim, np.random.default_rng(victim))
        seen = raw_aggregates(people, game.training)[0]
        counts = seen.reshape(len(seen), -1)
        found = principal_components(counts, TOP_COMPONENTS)
        deviation = counts.std(axis=0, ddof=1)
        scaled = np.abs(found.directions) * np.sqrt(found.variance)[:, None]
        correlation = np.divide(scaled, deviation, out=np.zeros_like(scaled), where=deviation > 0)
        total += correlation.mean(axis=0).reshape(total.shape)
    return total / max(len(victims), 1)


def _slot_use(people: AttackedPeople, victims: Any) -> Any:
    return people.weeks[0].rows(np.asarray(victims)).aggregate().sum(axis=0)


def tabulate_exposure(results: pl.DataFrame) -> str:
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
    once=attack_raw_counts,
    figures=plot_exposure,
    summary=tabulate_exposure,
    about=lambda people: people.described,
    repetitions=PER_GROUP,
    version=3,
)
