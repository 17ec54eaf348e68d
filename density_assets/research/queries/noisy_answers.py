"""Answers with independent Gaussian noise, at the level of a user's week.

Each user is truncated to l visits, all queries of a workload get noise of one standard deviation, calibrated to how far
one user can move all answers together. A query over several hours may move by up to l, not by 1 as in proofs for
records; the more queries overlap, the more noise all get. Answering every place and hour is a density.
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from density_assets.errors import BadInput
from density_assets.privacy.calibration import calibrate, gaussian_sigma
from density_assets.privacy.events import Event, Gaussian
from density_assets.privacy.noise import SimulatedNoise
from density_assets.research.approaches.technique import Parameters, Published, Technique
from density_assets.research.queries.contributions import clamped_total, counts, nearest_counts, scaled, truncate
from density_assets.research.queries.workload import every_place_and_hour, workload_sensitivity
from density_assets.research.traces.matrix import Matrix, Traces

Floats = NDArray[np.float64]


class NoisyAnswersParameters(Parameters):
    """visits: kept of each user (l). clamp: of a user's visits in the total. total_share: of the budget, for
    this total and that of kept visits.
    """

    epsilon: Annotated[float, Field(gt=0)] = 1.0
    delta: Annotated[float, Field(gt=0, lt=1)] = 1e-7
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
    noise, truth = SimulatedNoise(seed), counts(truncate(traces, parameters.visits, seed))
    exact = workload @ truth, np.array([clamped_total(traces, parameters.clamp)]), np.array([truth.sum()])
    values, total, kept = (noise.gaussian(one, event) for one, event in zip(exact, events, strict=True))
    return Answers(values, events[0].sigma, float(total[0]), float(kept[0]), events)


def answer_events(parameters: NoisyAnswersParameters, sensitivity: float) -> tuple[Gaussian, Gaussian, Gaussian]:
    """The noise on all answers and on both totals, which cost (epsilon, delta) together."""
    clamp, l = float(parameters.clamp), float(parameters.visits)

    def shared(rho: float) -> tuple[Gaussian, Gaussian, Gaussian]:
        on_total, on_answers = parameters.total_share * rho / 2, (1 - parameters.total_share) * rho
        return (
            Gaussian("answers", gaussian_sigma(on_answers, sensitivity), sensitivity),
            Gaussian("all visits", gaussian_sigma(on_total, clamp), clamp),
            Gaussian("kept visits", gaussian_sigma(on_total, l), l),
        )

    calibrated = calibrate(shared, parameters.epsilon, parameters.delta)
    return shared(sum(event.rho for event in calibrated))


def publish(traces: Traces, parameters: NoisyAnswersParameters, seed: int) -> Published:
    """Every place and hour as a query; then, at no cost, the nearest counts ≥ 0, scaled to the number of visits."""
    answers = answer(traces, every_place_and_hour(traces.rois, traces.hours), parameters, seed)
    density = scaled(nearest_counts(answers.values, answers.kept), answers.total)
    facts = {"sigma": answers.sigma, "queries": len(answers.values), "visits": parameters.visits}
    return Published(density.reshape(traces.rois, traces.hours), events=answers.events, facts=facts)


NOISY_ANSWERS = Technique(
    name="noisy_answers",
    approach="queries",
    protects="a user's week",
    promise="(epsilon, delta)-differential privacy of all that a user did in the week, for all answers together",
    source="Dwork et al. 2006; Bun & Steinke 2016 (zCDP)",
    parameters=NoisyAnswersParameters,
    publish=publish,
)
