"""How MWEM shares its privacy budget: two totals, then a draw and a measurement per round."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from density_assets.privacy.calibration import calibrate, gaussian_sigma, selection_epsilon
from density_assets.privacy.events import Event, Gaussian, Selection
from density_assets.privacy.sensitivity import FLOAT_SLACK
from density_assets.research.approaches.technique import Parameters
from density_assets.research.queries.mwem_blocks import Block


class MwemParameters(Parameters):
    """What a person chooses of MWEM.

    visits: kept of each user (l). clamp: of a user's visits in the total. total_share: of the budget, for the two
    totals; select_share: of each round, for drawing. replays: of all measurements after each round. step: the
    denominator of the exponent, twice the number of visits as published, or twice those of the query itself, with
    which few replays suffice. output: the last density, or the average of all rounds as published.

    Defaults are the best of a grid on other invented people, at epsilon 1: the average and more rounds lose a little
    there, the published step much, as it would take hundreds of replays.
    """

    epsilon: Annotated[float, Field(gt=0)] = 1.0
    delta: Annotated[float, Field(gt=0, lt=1)] = 1e-7
    visits: Annotated[int, Field(ge=1)] = 10
    rounds: Annotated[int, Field(ge=1)] = 3
    clamp: Annotated[int, Field(ge=1)] = 100
    total_share: Annotated[float, Field(gt=0, lt=1)] = 0.1
    select_share: Annotated[float, Field(gt=0, lt=1)] = 0.1
    replays: Annotated[int, Field(ge=1)] = 20
    step: Literal["published", "own mass"] = "own mass"
    output: Literal["average", "last"] = "last"


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
        """The noise on the answers of a block."""
        return Gaussian(block.name, self.measure.sigma * block.sensitivity, block.sensitivity)


def mwem_plan(parameters: MwemParameters) -> Plan:
    """Noise such that all rounds and both totals cost (epsilon, delta), whatever is drawn."""
    l, clamp = float(parameters.visits), float(parameters.clamp)

    def plan(rho: float) -> Plan:
        on_total, on_round = parameters.total_share * rho / 2, (1 - parameters.total_share) * rho / parameters.rounds
        on_draw = parameters.select_share * on_round
        return Plan(
            total=Gaussian("all visits", gaussian_sigma(on_total, clamp), clamp),
            kept=Gaussian("kept visits", gaussian_sigma(on_total, l), l),
            draw=Selection("worst block", selection_epsilon(on_draw), l * FLOAT_SLACK),
            measure=Gaussian("block", gaussian_sigma(on_round - on_draw, 1.0), 1.0),
        )

    def events(rho: float) -> tuple[Event, ...]:
        shared = plan(rho)
        return (shared.total, shared.kept, *(shared.draw, shared.measure) * parameters.rounds)

    return plan(sum(event.rho for event in calibrate(events, parameters.epsilon, parameters.delta)))


def mwem_events(plan: Plan, drawn: list[Block]) -> tuple[Event, ...]:
    """What was spent: both totals, then a draw and a measurement per round."""
    rounds = [event for block in drawn for event in (plan.draw, plan.for_block(block))]
    return (plan.total, plan.kept, *rounds)
