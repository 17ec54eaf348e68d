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
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from density_assets.errors import BadInput
from density_assets.privacy.events import Gaussian
from density_assets.privacy.noise import Noise, SimulatedNoise
from density_assets.research.approaches.technique import Published, Technique
from density_assets.research.queries.contributions import clamped_total, counts, scaled, truncate
from density_assets.research.queries.mwem_blocks import Block, blocks, flat_start
from density_assets.research.queries.mwem_plan import MwemParameters, Plan, mwem_events, mwem_plan
from density_assets.research.traces.matrix import Traces

Floats = NDArray[np.float64]


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
    truth = counts(truncate(traces, parameters.visits, seed))
    total = _measured_total(noise, clamped_total(traces, parameters.clamp), plan.total)
    mass = max(_measured_total(noise, float(truth.sum()), plan.kept), 1.0)
    density, measured, iterates = scaled(_checked(start, traces), mass), list[Measured](), list[Floats]()
    for _ in range(parameters.rounds):
        block = _worst(workload, truth, density, plan, noise)
        event = plan.for_block(block)
        measured.append(Measured(block, noise.gaussian(block.rows @ truth, event), event.sigma))
        density = _replayed(density, measured, parameters, mass)
        iterates.append(density)
    chosen = np.mean(iterates, axis=0) if parameters.output == "average" else density
    return Published(
        density=scaled(chosen, total).reshape(traces.rois, traces.hours),
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
            density = bent(density, one, mass, parameters.step)
    return density


def bent(density: Floats, measured: Measured, mass: float, step: str) -> Floats:
    """Weights times exp(q·(m − q·A)/2n) for the queries q of a block with answers m, scaled to the mass n again.

    Queries of a block are disjoint, so their factors do not meet.
    """
    now = measured.block.rows @ density
    # With its own mass a query's exponent lies within ±1/2, and noise alone hardly moves it.
    size = mass if step == "published" else np.maximum(np.maximum(now, measured.answers), measured.sigma)
    exponent = (measured.answers - now) / (2 * size)
    return scaled(density * np.exp(measured.block.rows.T @ exponent), mass)


def _measured_total(noise: Noise, value: float, event: Gaussian) -> float:
    return float(noise.gaussian(np.array([value]), event)[0])


def _checked(start: Floats | None, traces: Traces) -> Floats:
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
