"""Answers with independent Gaussian noise, at the level of a user's week.

Each user is truncated to l visits, all queries of a workload get noise of one standard deviation, calibrated to how far
one user can move all answers together. A query over several hours may move by up to l, not by 1 as in proofs for
records; the more queries overlap, the more noise all get. Answering every place and hour is a density.
"""

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from density_assets.errors import BadInput
from density_assets.privacy.events import Event, Gaussian
from density_assets.privacy.noise import SimulatedNoise
from density_assets.research.approaches.technique import PrivateParameters, Published, Technique, share_budget
from density_assets.research.contributions import (
    clamped_total,
    count_visits,
    require_visits,
    scale_to_total,
    visits_of_users,
)
from density_assets.research.queries.workload import every_place_and_hour, workload_sensitivity
from density_assets.research.traces.matrix import Matrix, Traces
from density_assets.series import Floats


class NoisyAnswersParameters(PrivateParameters):
    """visits: kept of each user (l). clamp: of a user's visits in the total. total_share: of the budget, for
    this total and that of kept visits.
    """

    delta: float = Field(1e-7, gt=0, lt=1)
    visits: Annotated[int, Field(ge=1)] = 10
    clamp: Annotated[int, Field(ge=1)] = 100
    total_share: Annotated[float, Field(gt=0, lt=1)] = 0.05


@dataclass(frozen=True)
class Answers:
    """Noisy answers to a workload.

    values: unbiased for truncated visits. sigma: standard deviation of each. total, kept: visits of all users, clamped
    and truncated, with noise of their own.
    """

    values: Floats
    sigma: float
    total: float
    kept: float
    events: tuple[Event, ...]

    @property
    def estimates(self) -> Floats:
        """Answers for all visits: what truncation took is taken to be spread as what it left."""
        return np.asarray(self.values * max(self.total, 0.0) / max(self.kept, 1.0))


def answer(traces: Traces, workload: Matrix, parameters: NoisyAnswersParameters, seed: int) -> Answers:
    """Answers to all queries of a workload.

    Guarantees: (epsilon, delta)-DP for the whole week of a user, whose events are in the result.
    """
    if workload.shape[1] != traces.matrix.shape[1]:
        raise BadInput(
            f"queries must be about the {traces.matrix.shape[1]} places and hours of the traces, got "
            f"{workload.shape[1]} columns"
        )
    sensitivity = workload_sensitivity(workload, traces.hours, parameters.visits)
    events = answer_events(parameters, sensitivity)
    noise, truth = SimulatedNoise(seed), count_visits(require_visits(traces), parameters.visits, seed)
    exact = (
        workload @ truth,
        np.array([clamped_total(visits_of_users(traces), parameters.clamp)], dtype=np.float64),
        np.array([truth.sum()]),
    )
    values, total, kept = (noise.gaussian(one, event) for one, event in zip(exact, events, strict=True))
    return Answers(values, events[0].sigma, float(total[0]), float(kept[0]), events)


def answer_events(parameters: NoisyAnswersParameters, sensitivity: float) -> tuple[Gaussian, ...]:
    """Return the noise on all answers and on both totals, which cost (epsilon, delta) together."""
    totals = parameters.total_share
    events = share_budget(
        {"answers": sensitivity, "all visits": float(parameters.clamp), "kept visits": float(parameters.visits)},
        {"answers": 1 - totals, "all visits": totals / 2, "kept visits": totals / 2},
        parameters,
    )
    return tuple(event for event in events.values() if isinstance(event, Gaussian))


def publish(traces: Traces, parameters: NoisyAnswersParameters, seed: int) -> Published:
    """Every place and hour as a query; then, at no cost, the nearest counts ≥ 0, scaled to the number of visits."""
    answers = answer(traces, every_place_and_hour(traces.rois, traces.hours), parameters, seed)
    density = scale_to_total(nearest_counts(answers.values, answers.kept), answers.total)
    facts = {"sigma": answers.sigma, "queries": len(answers.values), "visits": parameters.visits}
    return Published(density.reshape(traces.rois, traces.hours), events=answers.events, facts=facts)


def nearest_counts(noisy: Floats, total: float) -> Floats:
    """Return the nearest numbers ≥ 0 with this sum (at least 1): noise of empty places is taken off everywhere.

    All values are lowered by one amount and those below 0 become 0. Clipping alone would keep the positive half of
    the noise of each empty place.
    """
    falling: Any = np.sort(noisy.ravel())[::-1]
    excess = (np.cumsum(falling) - max(total, 1.0)) / np.arange(1, noisy.size + 1)
    last = np.flatnonzero(falling > excess)[-1]
    return np.asarray(np.maximum(noisy - excess[last], 0.0))


NOISY_ANSWERS = Technique(
    name="noisy_answers",
    approach="queries",
    protects="a user's week",
    promise="(epsilon, delta)-differential privacy of all that a user did in the week, for all answers together",
    source="Dwork et al. 2006; Bun & Steinke 2016 (zCDP)",
    parameters=NoisyAnswersParameters,
    publish=publish,
)
