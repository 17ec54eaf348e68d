"""The test of epsilon: does any scheme give away more than it promises?

Each scheme's doors are run many times on neighbouring weeks, the strongest attack scores every run, and the scores
bound epsilon from below. A bound above the promise is a proof, up to alpha, that the promise is broken; a bound below
it proves nothing, which is why the highest bound that so many runs could show stands beside it.
"""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from density_assets.privacy.events import Gaussian
from density_assets.privacy.noise import Noise, SimulatedNoise
from density_assets.research.plots.attacks import bars_beside_claims
from density_assets.research.promise.epsilon_bounds import epsilon_bound, gaussian_bound, resolution
from density_assets.research.promise.likelihood import Attack, MatchedFilter, strongest
from density_assets.research.promise.town import CANARIES, PARAMETERS, Neighbours, neighbours
from density_assets.research.results import markdown
from density_assets.research.study import Row, Source, Study
from density_assets.schemes import SCHEMES
from density_assets.schemes.moving.schemes import StaticHybrid
from density_assets.schemes.run import draw
from density_assets.schemes.scheme import Counts, Plan, Scheme
from density_assets.series import Floats
from density_assets.settings import PrivacySettings, SchemeSettings, Settings

# Runs per scheme and side. No number of runs we can afford says much about a small epsilon; the doors are the same at a
# large one, so that is where most runs are spent.
RUNS = {0.3: 2_000, 1.0: 2_000, 4.0: 4_000}
HYBRID_RUNS = {4.0: 2_000}  # twenty times slower than the others, for the windows they choose; sound only
PUBLISHED_EPSILON = 4.0
WRONG_AT_MOST = 0.05  # probability that any bound of the test is too high


def _grid() -> tuple[Row, ...]:
    """Every scheme, sound at all epsilons, and as published at the largest; for ours nothing is printed."""
    runs = {name: HYBRID_RUNS if isinstance(scheme, StaticHybrid) else RUNS for name, scheme in SCHEMES.items()}
    cases = [("sound", epsilon, name) for epsilon in RUNS for name in SCHEMES if epsilon in runs[name]]
    printed = [name for name in SCHEMES if name != "lowrank" and runs[name] is RUNS]
    cases += [("published", PUBLISHED_EPSILON, name) for name in printed]
    return tuple(
        {"calibration": calibration, "epsilon": epsilon, "scheme": name, "runs": runs[name][epsilon]}
        for calibration, epsilon, name in cases
    )


GRID = _grid()
ALPHA = WRONG_AT_MOST / (2 * len(GRID) * len(CANARIES))  # two bounds each; together they are right by Bonferroni


def load(source: Source) -> Neighbours:
    """The test's own town: it needs no week of the city."""
    with tempfile.TemporaryDirectory() as folder:
        return neighbours(Path(folder))


def point_settings(point: Row) -> Settings:
    """The settings of a release in the test's town."""
    privacy = {name: PARAMETERS[name] for name in ("visits_per_user", "visits_clamp")}
    scheme = SchemeSettings(
        name=point["scheme"],
        calibration=point["calibration"],
        weight_l=PARAMETERS["weight_l"],
        tower_l=PARAMETERS["tower_l"],
    )
    return Settings(privacy=PrivacySettings(epsilon=point["epsilon"], **privacy), scheme=scheme)


def once(weeks: Neighbours, point: Row, seed: int) -> list[Row]:
    """The bounds for every canary, from one set of runs."""
    settings, scheme = point_settings(point), SCHEMES[point["scheme"]]
    plan, first = scheme.plan(settings), (len(CANARIES) + 1) * seed
    scored = scores(weeks, scheme, plan, point["runs"], lambda number: SimulatedNoise(first + number))
    return [{"canary": canary} | bounds_of(plan, *sides, settings.privacy.delta) for canary, sides in scored]


def bounds_of(plan: Plan, present: Floats, absent: Floats, delta: float) -> Row:
    """What scores with and without the newcomer say about epsilon."""
    gaussian = all(isinstance(event, Gaussian) for events in plan.values() for event in events)
    return {
        "bound": epsilon_bound(present, absent, delta, ALPHA),
        "gaussian_bound": gaussian_bound(present, absent, delta, ALPHA) if gaussian else None,
        "highest": resolution(len(present), delta, ALPHA),
        "delta": delta,
        "alpha": ALPHA,
    }


def scores(
    weeks: Neighbours, scheme: Scheme, plan: Plan, runs: int, noise: Callable[[int], Noise]
) -> Iterator[tuple[str, tuple[Floats, Floats]]]:
    """For each canary the scores of runs with and without it; all canaries share the runs without.

    noise: sources of independent noise, by number.
    """
    absent, places = weeks.absent.counts(scheme), weeks.absent.places
    present = {canary: week.counts(scheme) for canary, week in weeks.present.items()}
    attacks = [strongest(scheme, plan, absent, counts) for counts in present.values()]

    def scored(counts: Counts, attacks: Sequence[Attack | MatchedFilter], source: Noise) -> Floats:
        """The scores of independent runs of the doors on one week, one row each."""
        drawn = (draw(scheme, plan, counts, places, source) for _ in range(runs))
        return np.array([[attack.score(release) for attack in attacks] for release in drawn])

    without = scored(absent, attacks, noise(0))
    for number, (canary, counts) in enumerate(present.items()):
        yield canary, (scored(counts, attacks[number : number + 1], noise(1 + number))[:, 0], without[:, number])


# --- what to make of it -------------------------------------------------------------------------------------


def broken_promises(results: pl.DataFrame) -> list[str]:
    """Every sound scheme that was seen to give away more than it promises, in words."""
    over = results.filter(pl.col("calibration") == "sound", _best() > pl.col("epsilon")).with_columns(best=_best())
    text = "{scheme} promises epsilon {epsilon:g} and gives at least {best:.2f} (canary: {canary})"
    return [text.format(**row) for row in over.iter_rows(named=True)]


def _best() -> pl.Expr:
    return pl.max_horizontal("bound", "gaussian_bound")


def figures(weeks: Neighbours, results: pl.DataFrame) -> dict[str, Figure]:
    """Bounds beside claims, one panel per calibration and epsilon."""
    return {"epsilon_audit": bars_beside_claims(results)}


def summary(results: pl.DataFrame) -> str:
    """Bounds per scheme and canary beside the claim, and what so many runs could have shown."""
    broken, bounds, alpha = broken_promises(results), 2 * len(results), float(results["alpha"][0])
    verdict = "; ".join(broken) if broken else "No bound of a sound scheme is above its promise."
    said = (
        f"Lower bounds on epsilon at delta {results['delta'][0]:g}. Each is too high with probability {alpha:.1e} at "
        f"most, any of the {bounds} with {min(bounds * alpha, 1.0):.2g}. In brackets: bounds that take the noise to be "
        "Gaussian, where it is. The last column is the highest bound so many runs could show."
    )
    parts = results.partition_by(["calibration", "epsilon", "scheme"], maintain_order=True)
    head = ("scheme", "calibration", "claim", *CANARIES, "runs per side", "could show")
    return f"{verdict}\n\n{said}\n\n" + markdown(head, map(_line, parts), "ll")


def _line(part: pl.DataFrame) -> list[str]:
    one = part.row(0, named=True)
    bounds = [_cell(row) for row in _by_canary(part)]
    claim = f"{one['epsilon']:g}"
    return [one["scheme"], one["calibration"], claim, *bounds, f"{one['runs']:,}", f"{one['highest']:.1f}"]


def _by_canary(part: pl.DataFrame) -> list[Row]:
    """One row per canary; of several repetitions the highest, as an attacker would."""
    highest = part.group_by("canary").agg(pl.col("bound", "gaussian_bound").max())
    by_canary = {row["canary"]: row for row in highest.iter_rows(named=True)}
    return [by_canary[canary] for canary in CANARIES]


def _cell(row: dict[str, Any]) -> str:
    gaussian = "" if row["gaussian_bound"] is None else f" ({row['gaussian_bound']:.2f})"
    return f"{row['bound']:.2f}{gaussian}"


EPSILON_TEST = Study(
    name="epsilon_audit",
    title="Does any scheme give away more than it promises?",
    grid=GRID,
    load=load,
    once=once,
    figures=figures,
    summary=summary,
    repetitions=1,
    version=2,
    kind="attack_test",
)
