"""What is given away of people whatever a technique's parameters: by answers, by points, by two releases together."""

import numpy as np
from numpy.typing import NDArray

from density_assets.research.approaches.technique import AnyTechnique, Parameters
from density_assets.research.approaches.workload import answer_error, asked_rectangles
from density_assets.research.queries.attacks_on_answers import hadamard_attack, private_ratio
from density_assets.research.queries.audited_answers import AUDITED_ANSWERS
from density_assets.research.queries.noisy_answers import NoisyAnswersParameters, answer
from density_assets.research.study import Row
from density_assets.research.traces.matrix import Traces
from density_assets.research.trajectories.composition import intersected
from density_assets.research.trajectories.generalisation import GeneralisationChoices, generalised
from density_assets.research.trajectories.uniqueness import unique_by_points, unique_by_top_places

BITS = 512  # visits that are reconstructed
POINTS = range(1, 7)  # of a person that are known
TURNED = 0.6  # radians between the maps of two releases


def asked(traces: Traces, technique: AnyTechnique, chosen: Parameters, seed: int) -> Row:
    """What else holds of those who answer: bits that are reconstructed, and the error of what is asked directly."""
    if technique.name == AUDITED_ANSWERS.name:
        return {"bits": hadamard_attack(random_bits(seed), 0.0, seed)}
    if not isinstance(chosen, NoisyAnswersParameters):
        return {}
    noise = private_ratio(chosen.epsilon, chosen.delta) * np.sqrt(BITS)
    workload = asked_rectangles(traces.positions)
    answers = answer(traces, workload, chosen, seed).estimates
    return {
        "bits": hadamard_attack(random_bits(seed), noise, seed),
        "directly": answer_error(workload, traces.aggregate().astype(np.float64), answers),
    }


def random_bits(seed: int) -> NDArray[np.int64]:
    """Visits that are to be reconstructed: there or not, as likely."""
    return np.random.default_rng([seed, BITS]).integers(2, size=BITS)


def given_away(traces: Traces) -> Row:
    """What points single out, and what two k-anonymous releases tell together."""
    unique = {f"points_{p}": unique_by_points(traces, p, 0).share for p in POINTS}
    chosen = GeneralisationChoices(parts_of_day=1)
    both = intersected(generalised(traces, chosen), generalised(traces, chosen, turned=TURNED))
    told = {"alone": both.alone, "revealed": both.revealed, "revealed_by_one": both.revealed_by_one, "k": chosen.k}
    return {**unique, "top_2": unique_by_top_places(traces).share, **told}
