"""DP-WHERE (Mir et al. 2013): people with a home, a work place and habits, drawn from noisy histograms.

Each person enters each histogram once, so the promise is about all that a person did, without truncation:
home        the place where they are seen most at night (20 to 7), or else at any time
work        the place where they are seen most by day (weekdays 9 to 17); who is never seen then has none
commute     the median distance from home to work of the people of each coarse region of homes, chosen by the
            exponential mechanism; distances are exponential, so the rate is ln 2 over the median
calls       visits in the week, one bin each
profile     hours of weekdays and weekends at home and at work, a vector of norm 1 each: it gives both the hourly
            profile and the probability of being at home by the hour. A visit is at the nearer of the two
people, visits   how many there are

A synthetic person gets a home, a distance, a work place in the ring of that distance around home in proportion to the
noisy work histogram, a number of visits, as many hours, and is at home or at work in each.

Constants are the best of a grid at epsilon 1 (least MRE − PC, mean over towns 1, 2 and 3, never town 0): 1, 3 or 5
regions per side, 10, 20 or 40 rings: 3 and 10; differences are below .01.
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
    DAY,
    WEEKDAYS,
    SynthesisParameters,
    draw_hours,
    draw_lengths,
    draw_outcomes,
    hour_weights,
    lengths,
    number_of_people,
    people,
    probabilities,
    profile,
    profile_bin,
    publication,
    synthetic,
    visits,
)
from density_assets.series import Floats, Ints

SHARES = {
    "people": 0.05, "visits": 0.05, "home": 0.35, "work": 0.25, "commute": 0.05, "calls": 0.1, "profile": 0.15,
}  # fmt: skip
NOWHERE = -1
CANDIDATES = 200  # medians to choose from, up to the largest distance between two places


class DpWhereParameters(SynthesisParameters):
    """Coarse regions of homes are a square grid of so many per side; rings around a home are equally wide."""

    regions_per_side: int = Field(3, ge=1)
    rings: int = Field(10, ge=1)


def statistics(traces: Traces, parameters: DpWhereParameters, seed: int) -> dict[str, Statistic]:
    """All that the generator learns of the traces, before noise."""
    home, work = anchors(traces, seed)
    return {
        "people": people(traces),
        "visits": visits(traces, parameters.visits_clamp),
        "home": Statistic(_histogram(home, traces.rois), 1.0),
        "work": Statistic(_histogram(work, traces.rois), 1.0),
        "commute": commute_scores(traces, home, work, parameters.regions_per_side),
        "calls": lengths(traces),
        "profile": profile(traces, at_work(traces, home, work), 2),
    }


def anchors(traces: Traces, seed: int) -> tuple[Ints, Ints]:
    """Home and work of each person; NOWHERE for who has none."""
    hour = traces.points()[2]
    of_day, weekday = hour % DAY, hour // DAY % 7 < WEEKDAYS
    night = (of_day >= 20) | (of_day < 7)
    by_day = weekday & (of_day >= 9) & (of_day < 17)
    always = np.ones(len(hour), dtype=np.bool_)
    # Lots of their own: one that is used twice would tie the work places of some people to the homes of others.
    lots = (np.random.default_rng([seed, 4, purpose]) for purpose in range(3))
    home, anywhere, work = (most_seen(traces, *one) for one in zip((night, always, by_day), lots, strict=True))
    return np.where(home == NOWHERE, anywhere, home), work


def most_seen(traces: Traces, counted: np.typing.NDArray[np.bool_], random: np.random.Generator) -> Ints:
    """The place where each person has most of the counted visits; NOWHERE without any.

    One of several is drawn: most people are seen a few times only, and the first of the list would get them all.
    """
    user, place, _ = traces.points()
    pairs, counts = np.unique(user[counted] * traces.rois + place[counted], return_counts=True)
    lots = random.random(len(pairs))
    order = np.lexsort((lots, -counts, pairs // traces.rois))
    owners = pairs[order] // traces.rois
    first = np.diff(owners, prepend=-1) != 0
    found = np.full(len(traces.users), NOWHERE, dtype=np.int64)
    found[owners[first]] = pairs[order][first] % traces.rois
    return found


def at_work(traces: Traces, home: Ints, work: Ints) -> Ints:
    """Whether each visit is nearer to work than to home: 1 or 0."""
    user, place, _ = traces.points()
    between = distances(traces.positions)
    nearer = between[place, work[user]] < between[place, home[user]]
    return np.where((work[user] != NOWHERE) & nearer, 1, 0)


def commute_scores(traces: Traces, home: Ints, work: Ints, regions_per_side: int) -> Statistic:
    """For each region and candidate median, by how many those below it outnumber those above, or the reverse.

    A person is in one region at most, and moves each of its scores by one.
    """
    commutes = (home != NOWHERE) & (work != NOWHERE)
    distance = distances(traces.positions)[home[commutes], work[commutes]]
    region = regions(traces.positions, regions_per_side)[home[commutes]]
    scores = np.zeros((regions_per_side**2, CANDIDATES))
    for each in range(len(scores)):
        below = np.searchsorted(np.sort(distance[region == each]), candidates(traces.positions), side="right")
        scores[each] = np.abs(2 * below - np.count_nonzero(region == each))
    return Statistic(scores, 1.0)


def candidates(positions: Floats) -> Floats:
    """Medians to choose from: places are public, and so is how far apart they are."""
    return np.arange(1, CANDIDATES + 1) / CANDIDATES * max(float(distances(positions).max()), 1.0)


def regions(positions: Floats, per_side: int) -> Ints:
    """The cell of each place in a coarse grid over all of them."""
    low, high = positions.min(axis=0), positions.max(axis=0)
    column, row = np.clip((positions - low) / np.maximum(high - low, 1e-9) * per_side, 0, per_side - 1).astype(int).T
    return np.asarray(row * per_side + column, dtype=np.int64)


def distances(positions: Floats) -> Floats:
    """Between all pairs of places."""
    return np.asarray(np.linalg.norm(positions[:, None] - positions[None, :], axis=2))


def work_given_home(work: Floats, medians: Floats, positions: Floats, rings: int) -> Floats:
    """Probabilities of work places for each home: a ring by its distance, a place in it by the work histogram.

    medians: of the commute from each place. A ring without places, or without work, passes its share to the others.
    """
    between = distances(positions)
    width = max(float(between.max()), 1.0) / rings
    ring = np.minimum((between / width).astype(np.int64), rings - 1)
    survival = np.exp(-np.log(2) / medians[:, None] * width * np.arange(rings + 1))
    mass = np.take_along_axis(survival[:, :-1] - survival[:, 1:], ring, axis=1)
    weight = np.zeros((len(positions), rings))
    np.add.at(weight, (np.arange(len(positions))[:, None], ring), work)
    in_ring = np.take_along_axis(weight, ring, axis=1)
    return probabilities(mass * np.divide(work, in_ring, out=np.zeros_like(in_ring), where=in_ring > 0))


def publish(traces: Traces, parameters: DpWhereParameters, seed: int) -> Published:
    """People between a home and a work place."""
    exact = statistics(require_visits(traces), parameters, seed)
    bounds = {name: each.sensitivity for name, each in exact.items()}
    events = share_budget(bounds, SHARES, parameters, selections=frozenset({"commute"}))
    noisy = measure_statistics(exact, events, SimulatedNoise(seed))
    random = np.random.default_rng([seed, 3])
    count = number_of_people(noisy["people"], parameters.times, traces)
    home = draw_outcomes(probabilities(noisy["home"])[None, :], np.zeros(count, dtype=np.int64), random)
    chosen = candidates(traces.positions)[noisy["commute"].astype(np.int64)]
    medians = chosen[regions(traces.positions, parameters.regions_per_side)]
    to_work = work_given_home(probabilities(noisy["work"]), medians, traces.positions, parameters.rings)
    work = draw_outcomes(to_work, home, random)
    wanted = np.minimum(draw_lengths(noisy["calls"], count, random), traces.hours)
    person, hour = draw_hours(hour_weights(np.maximum(noisy["profile"], 0).sum(axis=1), traces.hours), wanted, random)
    working = draw_outcomes(probabilities(noisy["profile"]), profile_bin(hour), random) == 1
    place = np.where(working, work[person], home[person])
    facts = {"median commute": float(np.median(medians))}
    drawn_people = synthetic(traces, person, place, hour)
    return publication(drawn_people, float(noisy["visits"][0]), tuple(events.values()), facts)


def _histogram(place: Ints, places: int) -> Floats:
    return np.bincount(place[place != NOWHERE], minlength=places).astype(np.float64)


DP_WHERE = Technique(
    name="dp_where",
    approach="trajectories",
    protects="a user's week",
    promise="(epsilon, delta) for all that a person did in the week; the trajectories are of nobody.",
    source="Mir et al. 2013",
    parameters=DpWhereParameters,
    publish=publish,
)
