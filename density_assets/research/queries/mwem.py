"""Multiplicative weights with the exponential mechanism (MWEM: Hardt, Ligett & McSherry 2012), for users.

A made-up density starts as public geography. In each round the exponential mechanism draws the query that the density
answers worst, its answer is measured with noise, and the density is bent towards all measurements so far. The average
of the densities of all rounds is published, or the last.

* Universe: (place, hour). Trajectories would be one cell for every possible week.
* User level: proofs of the paper are for records. One user has l visits here, so utilities move by up to l, and so does
  a count over several hours. Blocks of disjoint queries (all places' weeks, all districts' hours, …) are drawn and
  measured as a whole: one user moves a block by l in L1, and in L2 by as little as sqrt(l), which is what zCDP charges.
  A single cell-hour is a poor query: there are many, and each is below the noise.
* The number of visits is data: it is measured before the first round, and paid for.
* The start is public: flat over places with a daily rhythm, or any density that is not made from the traces.

The chapter (§3.1.2) cites this paper for a mechanism which answers queries as they come. That is private multiplicative
weights (Hardt & Rothblum 2010), the online variant: it needs a noisy test for each query that the density answers well,
its constants are far larger, and a study knows its queries beforehand. It is left out.

All rounds share one budget: two totals, then a draw and a measurement per round. Blocks and start are public.
"""

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from density_assets.errors import BadInput
from density_assets.privacy.events import Event, Gaussian, Selection
from density_assets.privacy.noise import Noise, SimulatedNoise
from density_assets.privacy.sensitivity import FLOAT_SLACK
from density_assets.research.approaches.technique import PrivateParameters, Published, Technique, share_budget
from density_assets.research.contributions import (
    clamped_total,
    count_visits,
    require_visits,
    scale_to_total,
    visits_of_users,
)
from density_assets.research.queries.workload import districts, partition, partition_sensitivity
from density_assets.research.traces.matrix import Matrix, Traces
from density_assets.series import Floats


class MwemParameters(PrivateParameters):
    """What a person chooses of MWEM.

    visits: kept of each user (l). clamp: of a user's visits in the total. total_share: of the budget, for the two
    totals; select_share: of each round, for drawing. replays: of all measurements after each round. step: the
    denominator of the exponent, twice the number of visits as published, or twice those of the query itself, with
    which few replays suffice. output: the last density, or the average of all rounds as published.

    Defaults are the best of a grid on other invented people, at epsilon 1: the average and more rounds lose a little
    there, the published step much, as it would take hundreds of replays.
    """

    delta: float = Field(1e-7, gt=0, lt=1)
    visits: Annotated[int, Field(ge=1)] = 10
    rounds: Annotated[int, Field(ge=1)] = 3
    clamp: Annotated[int, Field(ge=1)] = 100
    total_share: Annotated[float, Field(gt=0, lt=1)] = 0.1
    select_share: Annotated[float, Field(gt=0, lt=1)] = 0.1
    replays: Annotated[int, Field(ge=1)] = 20
    step: Literal["published", "own mass"] = "own mass"
    output: Literal["average", "last"] = "last"


@dataclass(frozen=True)
class Block:
    """Disjoint queries, one row each, and how far one user can move their answers, in L2."""

    name: str
    rows: Matrix
    sensitivity: float


@dataclass(frozen=True)
class Plan:
    """The noise on the clamped total and on that of kept visits, and what each round draws and measures with.

    measure: for a block of sensitivity 1; of other blocks noise grows with it, and costs the same.
    """

    total: Gaussian
    kept: Gaussian
    draw: Selection
    measure: Gaussian

    def for_block(self, block: Block) -> Gaussian:
        """Return the noise on the answers of a block."""
        return Gaussian(block.name, self.measure.sigma * block.sensitivity, block.sensitivity)


def mwem_plan(parameters: MwemParameters) -> Plan:
    """Return noise such that all rounds and both totals cost (epsilon, delta), whatever is drawn."""
    l, clamp, rounds = float(parameters.visits), float(parameters.clamp), parameters.rounds
    totals, on_rounds = parameters.total_share, 1 - parameters.total_share
    events = share_budget(
        {"all visits": clamp, "kept visits": l, "worst block": l * FLOAT_SLACK, "block": 1.0},
        {
            "all visits": totals / 2,
            "kept visits": totals / 2,
            "worst block": on_rounds * parameters.select_share,
            "block": on_rounds * (1 - parameters.select_share),
        },
        parameters,
        selections=frozenset({"worst block"}),
        times={"worst block": rounds, "block": rounds},
    )
    total, kept, draw, measure = events.values()
    assert isinstance(total, Gaussian)
    assert isinstance(kept, Gaussian)
    assert isinstance(measure, Gaussian)
    assert isinstance(draw, Selection)
    return Plan(total, kept, draw, measure)


def mwem_events(plan: Plan, drawn: list[Block]) -> tuple[Event, ...]:
    """What was spent: both totals, then a draw and a measurement per round."""
    rounds = [event for block in drawn for event in (plan.draw, plan.for_block(block))]
    return (plan.total, plan.kept, *rounds)


DAY, PART = 24, 6  # hours
DISTRICTS = (4, 12, 40)
# Calls in the hours of a day from midnight, as everybody knows them: few at night, most in the early evening.
RHYTHM = (2, 1, 1, 1, 1, 2, 4, 8, 10, 10, 10, 11, 12, 11, 10, 10, 11, 13, 14, 13, 11, 9, 6, 4)


def blocks(positions: Floats, hours: int, visits: int) -> list[Block]:
    """Weeks, days and parts of the day of places, hours of the whole map, hours and hours of the day of districts."""
    places, every_hour = np.arange(len(positions)), np.arange(hours)
    cuts = {
        "weeks of places": (places, np.zeros_like(every_hour)),
        "days of places": (places, every_hour // DAY),
        "parts of the day of places": (places, every_hour % DAY // PART),
        "hours": (np.zeros_like(places), every_hour),
    }
    for count in (number for number in DISTRICTS if number < len(positions)):
        area = districts(positions, count)
        cuts[f"hours of {count} districts"] = area, every_hour
        cuts[f"hours of the day of {count} districts"] = area, every_hour % DAY
    return [Block(name, partition(*cut), partition_sensitivity(cut[1], visits)) for name, cut in cuts.items()]


def flat_start(places: int, hours: int) -> Floats:
    """The same at all places, with a daily rhythm; hours count from midnight."""
    return np.tile(np.resize(np.array(RHYTHM, float), hours), (places, 1))


@dataclass(frozen=True)
class Measured:
    """A block with noisy answers of standard deviation sigma."""

    block: Block
    answers: Floats
    sigma: float


def mwem(traces: Traces, parameters: MwemParameters, seed: int, start: Floats | None = None) -> Published:
    """The density after all rounds, or its average over them.

    start: a public density of any total, (places, hours); flat with a daily rhythm if none is given.

    Guarantees: (epsilon, delta)-DP for the whole week of a user. What is drawn and measured is charged; the rest is
    made from that, the start and the map.
    """
    workload = blocks(traces.positions, traces.hours, parameters.visits)
    noise, plan = SimulatedNoise(seed), mwem_plan(parameters)
    truth = count_visits(require_visits(traces), parameters.visits, seed)
    total = _measured_total(noise, clamped_total(visits_of_users(traces), parameters.clamp), plan.total)
    mass = max(_measured_total(noise, float(truth.sum()), plan.kept), 1.0)
    density, measured, iterates = scale_to_total(_checked_start(start, traces), mass), list[Measured](), list[Floats]()
    for _ in range(parameters.rounds):
        block = _worst(workload, truth, density, plan, noise)
        event = plan.for_block(block)
        measured.append(Measured(block, noise.gaussian(block.rows @ truth, event), event.sigma))
        density = _replayed(density, measured, parameters, mass)
        iterates.append(density)
    chosen = np.mean(iterates, axis=0) if parameters.output == "average" else density
    return Published(
        density=scale_to_total(chosen, total).reshape(traces.rois, traces.hours),
        events=mwem_events(plan, [one.block for one in measured]),
        facts={"blocks": ", ".join(one.block.name for one in measured), "visits": parameters.visits},
    )


def _worst(workload: list[Block], truth: Floats, density: Floats, plan: Plan, noise: Noise) -> Block:
    """The block with the largest sum of errors beyond what noise would put there, by the exponential mechanism."""
    gains = [error_sum(block, truth, density) - _expected_noise(block, plan) for block in workload]
    return workload[int(noise.select(-np.array([gains]), plan.draw)[0])]


def error_sum(block: Block, truth: Floats, density: Floats) -> float:
    """The sum of absolute errors of a block: queries are disjoint, so one user changes it by at most l."""
    return float(np.abs(block.rows @ (truth - density)).sum())


def _expected_noise(block: Block, plan: Plan) -> float:
    """The mean sum of absolute noise on a block, which is public."""
    return float(np.sqrt(2 / np.pi) * plan.for_block(block).sigma * block.rows.shape[0])


def _replayed(density: Floats, measured: list[Measured], parameters: MwemParameters, mass: float) -> Floats:
    """All measurements in turn, several times, the newest first."""
    for _ in range(parameters.replays):
        for one in reversed(measured):
            density = bend_density(density, one, mass, parameters.step)
    return density


def bend_density(density: Floats, measured: Measured, mass: float, step: str) -> Floats:
    """Weights times exp(q·(m − q·A)/2n) for the queries q of a block with answers m, scaled to the mass n again.

    Queries of a block are disjoint, so their factors do not meet.
    """
    now = measured.block.rows @ density
    # With its own mass a query's exponent lies within ±1/2, and noise alone hardly moves it.
    size = mass if step == "published" else np.maximum(np.maximum(now, measured.answers), measured.sigma)
    exponent = (measured.answers - now) / (2 * size)
    return scale_to_total(density * np.exp(measured.block.rows.T @ exponent), mass)


def _measured_total(noise: Noise, value: float, event: Gaussian) -> float:
    return float(noise.gaussian(np.array([value]), event)[0])


def _checked_start(start: Floats | None, traces: Traces) -> Floats:
    density = flat_start(traces.rois, traces.hours) if start is None else np.asarray(start, float)
    if density.shape != (traces.rois, traces.hours) or not (np.isfinite(density) & (density >= 0)).all():
        raise BadInput(
            f"a start must be finite and not negative at {traces.rois} places and {traces.hours} hours, got "
            f"an array of shape {density.shape}"
        )
    if not density.any():
        raise BadInput("a start must have visits somewhere, got none: weights of 0 stay 0")
    return density.ravel()


MWEM = Technique(
    name="mwem",
    approach="queries",
    protects="a user's week",
    promise="(epsilon, delta)-differential privacy of all that a user did in the week",
    source="Hardt, Ligett & McSherry 2012",
    parameters=MwemParameters,
    publish=mwem,
)
