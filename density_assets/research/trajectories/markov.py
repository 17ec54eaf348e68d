"""First-order Markov synthesis: where people start, where they go next, how often and when they are seen.

Measured, each for one person at most as stated: the number of people and of visits, visits per person (one bin each),
first places (one each), transitions between places one after the other (at most l_max, and `repeats` of any one), and
the hours in which people are seen (a vector of norm 1 each). A synthetic person gets a number of visits, as many hours
of the week, a first place, and walks.

Time is not an item here: all places share one noisy profile of hours, since transitions per hour would be 150² times
24 counts of almost nothing. So the density cannot tell day places from night places.

Constants are the best of a grid at epsilon 1 (least MRE − PC, mean over towns 1, 2 and 3, never town 0): l_max in 5,
10, 20, repeats 1 or 2, threshold 0, 1, 2, 3: l_max = 10, once, threshold 1.
"""

import numpy as np
from pydantic import Field

from density_assets.privacy.noise import SimulatedNoise
from density_assets.research.approaches.technique import (
    Published,
    Statistic,
    Technique,
    measure_statistics,
    share_budget,
)
from density_assets.research.contributions import require_visits
from density_assets.research.traces.matrix import Traces
from density_assets.research.trajectories.synthesis import (
    Rng,
    SynthesisParameters,
    capped_counts,
    capped_sensitivity,
    draw_hours,
    draw_lengths,
    draw_outcomes,
    hour_weights,
    keep_visits,
    lengths,
    number_of_people,
    people,
    probabilities,
    profile,
    publication,
    synthetic,
    visits,
)
from density_assets.series import Floats, Ints

SHARES = {"people": 0.05, "visits": 0.05, "lengths": 0.1, "starts": 0.3, "transitions": 0.4, "profile": 0.1}


class MarkovParameters(SynthesisParameters):
    """What the chain fixes beforehand.

    l_max: transitions of one person that are counted; repeats: how often any one of them.
    threshold: transitions below so many standard deviations of the noise count as none.
    """

    l_max: int = Field(10, ge=1)
    repeats: int = Field(1, ge=1)
    threshold: float = Field(1.0, ge=0)


def statistics(traces: Traces, parameters: MarkovParameters, seed: int) -> dict[str, Statistic]:
    """All that the generator learns of the traces, before noise."""
    user, place, _ = keep_visits(traces, parameters.l_max + 1, seed)
    first = np.diff(user, prepend=-1) != 0
    follows = ~first[1:]
    codes, counts = capped_counts(
        user[1:][follows], (place[:-1] * traces.rois + place[1:])[follows], parameters.repeats
    )
    transitions = np.zeros(traces.rois**2)
    transitions[codes] = counts
    return {
        "people": people(traces),
        "visits": visits(traces, parameters.visits_clamp),
        "lengths": lengths(traces),
        "starts": Statistic(np.bincount(place[first], minlength=traces.rois).astype(np.float64), 1.0),
        "transitions": Statistic(
            transitions.reshape(traces.rois, traces.rois), capped_sensitivity(parameters.l_max, parameters.repeats)
        ),
        "profile": profile(traces),
    }


def publish(traces: Traces, parameters: MarkovParameters, seed: int) -> Published:
    """People who walk as a noisy chain says."""
    exact = statistics(require_visits(traces), parameters, seed)
    events = share_budget({name: each.sensitivity for name, each in exact.items()}, SHARES, parameters)
    noisy = measure_statistics(exact, events, SimulatedNoise(seed))
    bar = parameters.threshold * (events["transitions"].standard_deviation or 0.0)
    random = np.random.default_rng([seed, 3])
    count = number_of_people(noisy["people"], parameters.times, traces)
    wanted = np.minimum(draw_lengths(noisy["lengths"], count, random), traces.hours)
    person, hour = draw_hours(hour_weights(noisy["profile"][:, 0], traces.hours), wanted, random)
    starts = probabilities(noisy["starts"])
    place = walks(starts, chain(noisy["transitions"], bar, starts), wanted, random)
    facts = {"transitions above the threshold": int((noisy["transitions"] >= bar).sum())}
    walked = synthetic(traces, person, place, hour)
    return publication(walked, float(noisy["visits"][0]), tuple(events.values()), facts)


def chain(noisy: Floats, bar: float, otherwise: Floats) -> Floats:
    """Transition probabilities; a place of which nothing is known is left as people start."""
    known = np.where(noisy >= bar, np.maximum(noisy, 0.0), 0.0)
    return np.where(known.sum(axis=1, keepdims=True) > 0, probabilities(known), otherwise)


def walks(starts: Floats, transitions: Floats, wanted: Ints, random: Rng) -> Ints:
    """Places of all people one after the other, ordered by person: so many each."""
    steps = np.zeros((len(wanted), int(wanted.max())), dtype=np.int64)
    steps[:, 0] = draw_outcomes(starts[None, :], np.zeros(len(wanted), dtype=np.int64), random)
    for step in range(1, steps.shape[1]):
        walking = wanted > step
        steps[walking, step] = draw_outcomes(transitions, steps[walking, step - 1], random)
    walked: Ints = steps[np.arange(steps.shape[1]) < wanted[:, None]]
    return walked


MARKOV = Technique(
    name="markov",
    approach="trajectories",
    protects="a user's week",
    promise="(epsilon, delta) for all that a person did in the week; the trajectories are of nobody.",
    source="first-order case of Chen, Acs & Castelluccia 2012",
    parameters=MarkovParameters,
    publish=publish,
)
