"""What a scheme adds noise to, in two neighbouring weeks that gave the same answers so far.

A release is private if, whatever was answered before, the next values it adds noise to differ between neighbours by no
more than the noise is made for, and if nothing but answers leaves. So the doors are opened twice: once with a source
that draws and writes everything down, and once, on the neighbour, with one that gives the same answers again. What was
asked both times is then compared.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from density_assets.geography.places import Places
from density_assets.privacy.events import Event, Gaussian, Laplace, LaplaceVector, Selection, SparseVector
from density_assets.privacy.noise import SimulatedNoise
from density_assets.schemes import SCHEMES
from density_assets.schemes.scheme import Counts, Plan, Scheme, Values
from density_assets.settings import Settings


@dataclass(frozen=True)
class Call:
    """One use of noise: how, on which values, and what came out."""

    method: str
    event: Event
    values: np.ndarray
    answer: np.ndarray


class Recorder(SimulatedNoise):
    """Draws as asked, and writes it down."""

    def __init__(self, seed: int = 0) -> None:
        super().__init__(seed)
        self.calls: list[Call] = []

    def _answered(self, method: str, values: np.ndarray, event: Event) -> np.ndarray:
        answer = getattr(super(), method)(values, event)
        self.calls.append(Call(method, event, np.array(values, dtype=float), answer))
        return answer

    def gaussian(self, values, event):
        return self._answered("gaussian", values, event)

    def laplace(self, values, event):
        return self._answered("laplace", values, event)

    def discrete_gaussian(self, values, event):
        return self._answered("discrete_gaussian", values, event)

    def select(self, scores, event):
        return self._answered("select", scores, event)


class Replayer(Recorder):
    """Gives the answers of an earlier run, in order, whatever the values are."""

    def __init__(self, earlier: Sequence[Call]) -> None:
        super().__init__()
        self._earlier = list(earlier)

    def _answered(self, method: str, values: np.ndarray, event: Event) -> np.ndarray:
        assert len(self.calls) < len(self._earlier), "the neighbour is asked more often, after the same answers"
        before = self._earlier[len(self.calls)]
        asked, was = (method, event, np.shape(values)), (before.method, before.event, before.values.shape)
        assert asked == was, "the neighbour is asked something else, after the same answers"
        self.calls.append(Call(method, event, np.array(values, dtype=float), before.answer))
        return before.answer


@cache
def planned(
    name: str, improved: bool, visits_per_user: int, weight_l: int, visits_clamp: int, tower_l: int = 400
) -> tuple[Scheme, Plan]:
    """A scheme and its plan; calibration is a search, so it is made once."""
    privacy = {"visits_per_user": visits_per_user, "visits_clamp": visits_clamp}
    scheme = {"name": name, "improved": improved, "weight_l": weight_l, "tower_l": tower_l}
    settings = Settings(privacy=privacy, scheme=scheme)
    return SCHEMES[name], SCHEMES[name].plan(settings)


def asked_twice(
    scheme: Scheme,
    plan: Plan,
    weeks: tuple[Counts, Counts],
    places: Places,
    labels: np.ndarray | None = None,
) -> list[tuple[Call, Call]]:
    """Every use of noise, on one week and on its neighbour, with the answers drawn for the first.

    labels: clusters to use in place of those that the scheme finds.
    """
    recorder = Recorder()
    drawn = _open_doors(scheme, plan, weeks[0], places, labels, recorder)
    replayer = Replayer(recorder.calls)
    again = _open_doors(scheme, plan, weeks[1], places, labels, replayer)
    assert all(np.array_equal(drawn[name], again[name]) for name in drawn), "more than the answers leaves the doors"
    return list(zip(recorder.calls, replayer.calls, strict=True))


def _open_doors(
    scheme: Scheme, plan: Plan, counts: Counts, places: Places, labels: np.ndarray | None, noise: Recorder
) -> Values:
    """Everything that leaves both doors."""
    totals = scheme.totals(plan, counts, noise)
    clusters = scheme.clusters(plan, totals, places) if labels is None else labels
    return {**totals, **scheme.series(plan, counts, clusters, noise)}


def beyond(pairs: Sequence[tuple[Call, Call]], plan: Plan) -> list[str]:
    """What neighbours must keep and do not: each event's sensitivity, over all its uses, and the cost of the plan."""
    charged = [event for door in plan.values() for event in door]
    streams = next((event for event in charged if isinstance(event, SparseVector)), None)
    used: dict[Event, float] = defaultdict(float)
    found = []
    for before, after in pairs:
        moved = _moved(before, after)
        if before.event in charged:
            used[before.event] += moved
            continue
        if streams is None or before.event not in _noises(streams):
            found.append(f"{before.event} is drawn and not charged")
            continue
        limit = 0.0 if before.event == streams.threshold_noise else before.event.sensitivity
        found += [f"{before.event.query}: {moved} > {limit}"] if moved > limit else []
    limits = {event: _limit(event) for event in used}
    found += [f"{event.query}: {used[event]} > {limit}" for event, limit in limits.items() if used[event] > limit]
    cost, paid = _cost(pairs, streams), sum(map(_rho, charged))
    return [*found, f"the pair costs {cost} of zCDP, {paid} is paid"] if cost > paid else found


def _moved(before: Call, after: Call) -> float:
    """How far the values are apart, in what adds up over uses of the same event: squares, or for Laplace itself."""
    apart = np.abs(after.values - before.values)
    if before.method == "select":
        return float((apart.max(axis=1) ** 2).sum())
    return float(apart.sum() if isinstance(before.event, Laplace) else (apart**2).sum())


def _limit(event: Event) -> float:
    if isinstance(event, Laplace):
        return event.sensitivity
    assert isinstance(event, Gaussian | LaplaceVector | Selection)
    return event.sensitivity**2


def _noises(event: SparseVector) -> list[Laplace]:
    """All that a stream of histograms may draw."""
    last = [event.last_noise(done) for done in range(event.releases)]
    return [event.threshold_noise, event.distance_noise, event.release_noise, *last]


def _rho(event: Event) -> float:
    """What an event costs in zCDP, spelled out a second time."""
    if isinstance(event, Gaussian):
        return (event.sensitivity / event.sigma) ** 2 / 2
    if isinstance(event, Laplace | LaplaceVector):
        return (event.sensitivity / event.scale) ** 2 / 2
    assert isinstance(event, Selection | SparseVector)
    return event.rho


def _cost(pairs: Sequence[tuple[Call, Call]], streams: SparseVector | None) -> float:
    """What this very pair costs in zCDP, by the noise that was drawn and the change that it hides."""
    cost = 0.0
    for before, after in pairs:
        event, moved = before.event, _moved(before, after)
        if isinstance(event, Gaussian):
            cost += moved / (2 * event.sigma**2)
        elif isinstance(event, Selection):
            cost += moved * (event.epsilon / event.sensitivity) ** 2 / 8
        elif isinstance(event, LaplaceVector):
            cost += moved / (2 * event.scale**2)
        elif streams is not None and event in (streams.threshold_noise, streams.distance_noise):
            cost += streams.epsilon**2 / 2 if event == streams.threshold_noise else 0.0  # a run, however long it is
        else:
            cost += (moved / event.scale) ** 2 / 2
    return cost
