"""What a few known points of a person give away: whose record is whose, or where else somebody was.

Techniques that publish records of real people are asked for the share of all people whose own record four points of
theirs find; records of synthetic people are nobody's, and people with fewer points are not found. Thresholds are asked
for the share of people of whom differences of counts that pass the threshold tell whether they were at the busiest
place: a map of cells and hours does not answer such queries, a service with the same rule does.
"""

from collections.abc import Callable
from typing import Any

from density_assets.research.approaches.technique import Published
from density_assets.research.queries.attacks_on_answers import attack_everybody
from density_assets.research.streams.w_event import K_THRESHOLD, KThresholdParameters
from density_assets.research.traces.matrix import Traces
from density_assets.research.trajectories.confidentiality import P_CONFIDENTIALITY, ConfidentialityChoices
from density_assets.research.trajectories.cylinder_attack import nearest_found
from density_assets.research.trajectories.generalisation import K_ANONYMITY, GeneralisationChoices, generalised
from density_assets.research.trajectories.km_anonymity import KM_ANONYMITY, km_generalised
from density_assets.research.trajectories.never_walk_alone import NEVER_WALK_ALONE, NeverWalkAloneChoices
from density_assets.research.trajectories.probabilistic_km import PROBABILISTIC_KM, probabilistic_generalised
from density_assets.research.trajectories.records import Generalised
from density_assets.research.trajectories.uniqueness import Uniqueness, singled_out, singled_out_of_records

KNOWN_POINTS = 4  # single out 95 % of 1.5 million people where nothing is done (de Montjoye et al. 2013)

Finder = Callable[[Traces, Any, int], float]


def _of_all(found: Uniqueness) -> float:
    """As a share of everybody: who has too few points is not found."""
    return found.share * found.asked / (found.asked + found.left_out)


def _among(generalise: Callable[[Traces, Any, int], Generalised]) -> Finder:
    """Among generalised records, which cover items of their own hierarchy."""

    def find(traces: Traces, chosen: GeneralisationChoices, seed: int) -> float:
        records = generalise(traces, chosen, seed)
        return _of_all(singled_out_of_records(traces, records, chosen.parts_of_day, KNOWN_POINTS, seed))

    return find


def _in_cylinders(traces: Traces, chosen: NeverWalkAloneChoices, seed: int) -> float:
    return nearest_found(traces, _records(NEVER_WALK_ALONE.publish(traces, chosen, seed)), KNOWN_POINTS, seed)


def _on_the_map(traces: Traces, chosen: ConfidentialityChoices, seed: int) -> float:
    records = _records(P_CONFIDENTIALITY.publish(traces, chosen, seed))
    return _of_all(singled_out(traces, records, KNOWN_POINTS, seed))


def _records(published: Published) -> Traces:
    assert published.traces is not None  # these techniques publish records
    return published.traces


def _by_differences(traces: Traces, chosen: KThresholdParameters, seed: int) -> float:
    busiest = int(traces.aggregate().sum(axis=1).argmax())
    return attack_everybody(traces, busiest, chosen.k).learnt / len(traces.users)


FINDERS: dict[str, Finder] = {
    K_ANONYMITY.name: _among(lambda traces, chosen, seed: generalised(traces, chosen)),
    KM_ANONYMITY.name: _among(lambda traces, chosen, seed: km_generalised(traces, chosen)),
    PROBABILISTIC_KM.name: _among(probabilistic_generalised),
    NEVER_WALK_ALONE.name: _in_cylinders,
    P_CONFIDENTIALITY.name: _on_the_map,
    K_THRESHOLD.name: _by_differences,
}
