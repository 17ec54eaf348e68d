"""Membership inference as a test of our own releases: the attack on every scheme at the city's promise.

What is attacked: releases of groups of people of an invented district (80 towers, one week), made with the epsilon,
delta and bounds of the settings, by the configured scheme as it is configured and by every other as it could be
released. Half of the groups have the victim added: the neighbours the promise is about. The adversary sees the series
that the second door publishes of every place, on which everything else that is published of them is computed. No
record of the city is read, so its numbers are nobody's.

Why that is a fair test at the size of a city: the noise depends on the settings alone, not on how many people or
towers there are, and others only blur the view. A hundred people hide a victim worse than two million do.

Two attacks: the published one (principal components, logistic regression), and one that knows the victim's week and
the bounds exactly and looks for it in the noise (matched filter), which is the stronger where noise is Gaussian.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure
from numpy.typing import NDArray

from density_assets.calendar import HOURS
from density_assets.geography.places import Places
from density_assets.geography.source import embedded_city
from density_assets.people.population import simulate_week
from density_assets.research.contributions import Contributions, bound_week
from density_assets.research.membership.attack import attack_auc, auc
from density_assets.research.membership.defenses import Groups
from density_assets.research.membership.people import MOBILITY, choose_victims, one_more
from density_assets.research.membership.releases import METRES, release_groups, roi_places
from density_assets.research.plots.attacks import distributions
from density_assets.research.promise.epsilon_bounds import largest_auc, smallest_epsilon
from density_assets.research.results import markdown
from density_assets.research.study import Row, Source, Study
from density_assets.research.traces.matrix import Traces, binary
from density_assets.schemes import SCHEMES
from density_assets.settings import Settings

CELLS, TOWERS, PEOPLE, OTHERS, SAMPLES = 60, 80, 400, 100, 240
SEED = 4
RAW = "raw counts"
ATTACKS = {"auc": "principal components", "matched": "matched filter"}


@dataclass(frozen=True)
class District:
    """People of an invented district, what they contribute, and the settings of the city's releases."""

    settings: Settings
    traces: Traces
    parts: Contributions
    places: Places
    victims: NDArray[np.int64]


def load_district(source: Source) -> District:
    """Invent a district of people for the week."""
    return district(source.settings, source.week)


def district(settings: Settings, week: Any) -> District:
    """The district under given settings, in a week."""
    cells, towers = embedded_city(cells=CELLS, towers=TOWERS, seed=SEED)
    (chunk,) = simulate_week(cells.centroids, towers.xy, users=PEOPLE, seed=SEED, week=week)
    column = chunk.tower.astype(np.int64) * HOURS + chunk.hour
    matrix = binary(chunk.user - 1, column, (PEOPLE, TOWERS * HOURS))
    traces = Traces(matrix, np.arange(PEOPLE), HOURS, towers.xy / METRES)
    parts = bound_week(traces, settings, np.random.default_rng(SEED))
    return District(settings, traces, parts, roi_places(traces), choose_victims(traces, SEED))


def attack_releases(inputs: District, point: Row, seed: int) -> list[Row]:
    """Attack one victim of each mobility group, on raw counts or on releases of a scheme."""
    if seed >= inputs.victims.shape[1]:
        return []
    rows, of = [], point["of"]
    for mobility, victim in zip(MOBILITY, inputs.victims[:, seed].tolist(), strict=True):
        rng = np.random.default_rng([seed, victim])
        game = one_more(len(inputs.traces.users), victim, size=OTHERS, samples=SAMPLES, rng=rng)
        views = [
            _view(inputs, Groups(inputs.traces, part.members), of, rng) for part in (game.training, game.challenge)
        ]
        known = own_part(inputs, victim, of)
        truth = np.concatenate([game.training.holds, game.challenge.holds])
        matched = np.concatenate([view.reshape(len(view), -1) @ known for view in views])
        row = {"configured": of == inputs.settings.scheme.name, "mobility": mobility, "victim": victim}
        row["matched"] = auc(truth, matched)
        row["auc"] = attack_auc(views[0], game.training.holds, views[1], game.challenge.holds)
        rows.append(row)
    return rows


def _view(inputs: District, groups: Groups, of: str, rng: np.random.Generator) -> Any:
    if of == RAW:
        return groups.counts
    settings, seed = with_scheme(inputs.settings, of), int(rng.integers(2**31))
    return release_groups(groups, inputs.parts, inputs.places, settings, seed, estimate=False).series


def with_scheme(settings: Settings, name: str) -> Settings:
    """The settings as they are for the configured scheme; for another, as it could be released under them."""
    if name == settings.scheme.name:
        return settings
    scheme = settings.scheme.model_copy(update={"name": name, "calibration": "sound", "split": None})
    return settings.model_copy(update={"scheme": scheme})


def own_part(inputs: District, victim: int, of: str) -> Any:
    """What the victim adds to the view, as a vector."""
    if of == RAW:
        matrix = inputs.traces.matrix
    else:
        matrix = inputs.parts.weighted if SCHEMES[of].places == "towers" else inputs.parts.truncated
    return matrix[[victim]].toarray()[0].astype(np.float32)


def plot_audit(inputs: District, results: pl.DataFrame) -> dict[str, Figure]:
    """Distribution of AUC over victims, without and with noise; the line is what the promise allows on average."""
    own = inputs.settings.scheme.name
    shown = {RAW: pl.col("of") == RAW, f"{own}, configured": pl.col("of") == own}
    shown["other schemes"] = ~pl.col("of").is_in([RAW, own])
    panels = {
        title: {name: results.filter(mine)[column].to_numpy() for name, mine in shown.items()}
        for column, title in ATTACKS.items()
    }
    privacy = inputs.settings.privacy
    return {"audit": distributions(panels, largest_auc(privacy.epsilon, privacy.delta))}


def mean_auc(results: pl.DataFrame) -> tuple[float, float]:
    """Mean AUC on releases of the configured scheme and its standard error, of the attack that shows more for sure."""
    released = results.filter(configured=True)
    found = [mean_and_error(released[column].to_numpy()) for column in ATTACKS]
    return max(found, key=lambda pair: beyond_doubt(*pair))


def mean_and_error(scores: NDArray[np.float64]) -> tuple[float, float]:
    """The mean over victims and its standard error."""
    return float(np.mean(scores)), float(np.std(scores, ddof=1)) / len(scores) ** 0.5


def beyond_doubt(mean: float, error: float) -> float:
    """What a mean shows although few victims were attacked: two standard errors less."""
    return mean - 2.0 * error


def tabulate_audit(results: pl.DataFrame) -> str:
    """Mean AUC by mobility without noise and with that of each scheme, and the epsilon the attack shows."""
    rows = []
    for (of, configured), mine in results.group_by("of", "configured", maintain_order=True):
        for column, title in ATTACKS.items():
            parts = [float(np.mean(mine.filter(mobility=name)[column].to_numpy())) for name in MOBILITY]
            mean, error = mean_and_error(mine[column].to_numpy())
            shown = smallest_epsilon(mean, 0.0)
            name = f"**{of}** (configured)" if configured else str(of)
            rows.append([name, title, f"{mean:.3f} ± {error:.3f}", *(f"{part:.3f}" for part in parts), f"{shown:.2f}"])
    head = ("of", "attack", "mean AUC", *MOBILITY, "epsilon it shows")
    return f"{results['victim'].n_unique()} victims among {OTHERS} others.\n\n{markdown(head, rows, 'll')}"


MEMBERSHIP_TEST = Study(
    name="membership_audit",
    title="Membership inference on our own releases",
    grid=tuple({"of": of} for of in (RAW, *SCHEMES)),
    load=load_district,
    once=attack_releases,
    figures=plot_audit,
    summary=tabulate_audit,
    repetitions=10,
    weekly=True,
    version=3,
    kind="attack_test",
)
