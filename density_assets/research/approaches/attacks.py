"""What an attacker gains from what a technique publishes: one small crowd for each attack, the same for all techniques.

membership   Is a person among those counted? Weeks of a hundred people are published, half of them with the victim
             added. The attacker knows the victim's week, and how much maps vary from week to week. In the map she
             looks for the victim's places and hours, the steadier the more; among records for the likest.
recovery     Where was everybody? People who are seen every hour are linked from hour to hour and from day to day (Xu et
             al. 2017). What the attack finds in what the technique publishes of other people is no gain.
finding      Which record is whose? Four points of a person are looked up among the records. Of techniques
             that publish records of real people, the share of all people whose own record they find; records of
             synthetic people are nobody's, and people with fewer points are not found. Of thresholds, the share of
             people of whom differences of counts that pass the threshold tell whether they were at the busiest place:
             a map of cells and hours does not answer such queries, a service with the same rule does.
given away   What is known of people whatever a technique's parameters: by answers, by points, by two releases together.

Small crowds hide people worse than cities do, where noise depends on the promise alone. They say nothing of a technique
that shows nothing of so few people, and none is said there.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from density_assets.calendar import HOURS
from density_assets.estimation.clustering import scaled_to
from density_assets.geography.source import embedded_city
from density_assets.research.approaches.technique import AnyTechnique, Parameters, Published
from density_assets.research.approaches.workload import answer_error, asked_rectangles, town
from density_assets.research.membership.attack import auc
from density_assets.research.membership.people import choose_victims
from density_assets.research.moving.recovery_attack import recover
from density_assets.research.moving.recovery_attack import score as recovered_share
from density_assets.research.queries.attacks_on_answers import attack_everybody, hadamard_attack, private_ratio
from density_assets.research.queries.audited_answers import AUDITED_ANSWERS
from density_assets.research.queries.noisy_answers import NoisyAnswersParameters, answer
from density_assets.research.streams.w_event import K_THRESHOLD, KThresholdParameters
from density_assets.research.study import Row
from density_assets.research.traces.matrix import Matrix, Traces, binary
from density_assets.research.trajectories.confidentiality import P_CONFIDENTIALITY, ConfidentialityChoices
from density_assets.research.trajectories.generalisation import (
    K_ANONYMITY,
    GeneralisationChoices,
    Generalised,
    generalise,
)
from density_assets.research.trajectories.km_anonymity import (
    KM_ANONYMITY,
    PROBABILISTIC_KM,
    generalise_km,
    generalise_probabilistic,
)
from density_assets.research.trajectories.never_walk_alone import NEVER_WALK_ALONE, NeverWalkAloneChoices
from density_assets.research.trajectories.record_attacks import (
    Uniqueness,
    intersect_releases,
    share_nearest,
    share_singled_out,
    share_singled_out_of_records,
    unique_by_points,
    unique_by_top_places,
)
from density_assets.research.weeks.crowd import crowd
from density_assets.series import Floats, Ints

PEOPLE, PLACES, GROUP, SEED = 400, 60, 100, 21
WEEKS = 24  # that are published of each victim, half of them with the victim
SEEN_PEOPLE, SEEN_PLACES, DAYS, DRAWS = 150, 60, 7, 4


@dataclass(frozen=True)
class Seen:
    """People who are seen at one place every hour of a week: where (people, hours), and as traces."""

    places: Ints
    traces: Traces


@lru_cache(maxsize=1)
def crowd_of_victims() -> Traces:
    """The people whose membership is at stake."""
    return town(PEOPLE, PLACES, SEED)


def membership(technique: AnyTechnique, chosen: Parameters, seed: int) -> dict[str, float]:
    """AUC of the attack on the map and, where records are published, on those; one victim of each kind of mobility."""
    people = crowd_of_victims()
    of_map: list[float] = []
    of_records: list[float] = []
    victims = choose_victims(people, SEED)
    for victim in victims[:, seed % victims.shape[1]].tolist():
        rng = np.random.default_rng([seed, victim])
        holds, maps, likeness = _weeks(technique, chosen, people, victim, rng)
        own = people.matrix[[victim]].toarray()[0]
        spread = maps.var(axis=0)
        if spread.any():
            of_map.append(auc(holds, maps @ (own / (spread + spread.mean()))))
        if likeness is not None:
            of_records.append(auc(holds, likeness))
    found = {"of_map": of_map, "of_records": of_records}
    return {name: float(np.mean(values)) for name, values in found.items() if values}


def _weeks(
    technique: AnyTechnique, chosen: Parameters, people: Traces, victim: int, rng: np.random.Generator
) -> tuple[NDArray[np.bool_], Floats, Floats | None]:
    """Weeks with and without the victim: whether, the map, and how like the victim the likest record is."""
    others = np.delete(np.arange(len(people.users)), victim)
    holds = np.arange(WEEKS) % 2 == 0
    maps, likeness = [], []
    for held in holds:
        group = rng.permutation(others)[:GROUP]
        members = rng.permutation(np.append(group, victim) if held else group)
        published = technique.publish(people.rows(members), chosen, int(rng.integers(2**31)))
        maps.append(published.density.ravel())
        if published.traces is not None:
            likeness.append(_likest(people.matrix[[victim]], published.traces))
    return holds, np.stack(maps), np.array(likeness) if likeness else None


def _likest(own: Matrix, records: Traces) -> float:
    """The largest share of points that a record has in common with the victim's, of all points of both."""
    common = np.asarray((records.matrix @ own.T).toarray()).ravel()
    sizes = np.diff(records.matrix.indptr) + own.sum() - common
    return float((common / np.maximum(sizes, 1)).max(initial=0.0))


@lru_cache(maxsize=1)
def crowds_to_recover() -> tuple[Seen, Seen]:
    """The people whose week is to be recovered, and as many others of the same town."""
    xy = embedded_city(cells=SEEN_PLACES, towers=SEEN_PLACES, seed=SEED)[1].xy
    both = np.hstack(list(crowd(2 * SEEN_PEOPLE, DAYS, SEED, xy, tuple(range(24))).cells)).astype(np.int64)
    first, second = (_seen(places, xy) for places in np.split(both, 2))
    return first, second


def _seen(places: Ints, xy: Floats) -> Seen:
    user = np.repeat(np.arange(len(places)), HOURS)
    matrix = binary(user, (places * HOURS + np.arange(HOURS)).ravel(), (len(places), len(xy) * HOURS))
    return Seen(places, Traces(matrix, np.arange(len(places)), HOURS, xy))


def recovery(technique: AnyTechnique, chosen: Parameters, seed: int) -> float:
    """Share of (person, hour) points that are recovered beyond what is said of others, of what exact counts give.

    About 0 where nothing is gained, above or below by chance: a mean over draws.
    """

    def published(week: Traces, draw: int) -> Floats:
        return technique.publish(week, chosen, draw).density

    draws = np.random.default_rng(seed).integers(2**31, size=DRAWS).tolist()
    return float(np.mean([_beyond_others(published, draw) for draw in draws])) / _beyond_others_without_noise()


@lru_cache(maxsize=1)
def _beyond_others_without_noise() -> float:
    return _beyond_others(lambda week, draw: week.aggregate().astype(np.float64), 0)


def _beyond_others(published: Callable[[Traces, int], Floats], draw: int) -> float:
    people, others = crowds_to_recover()
    return _found(published(people.traces, draw), draw) - _found(published(others.traces, draw), draw)


def _found(density: Floats, seed: int) -> float:
    people, _ = crowds_to_recover()
    counts = scaled_to(np.maximum(density, 0.0).T, len(people.places), np.random.default_rng(seed))
    still = np.ones(24, dtype=bool)  # linking by distance alone is the stronger attack on hourly counts
    xy = people.traces.positions
    return recovered_share(people.places, recover(np.split(counts, DAYS), xy, still), xy)[0]


KNOWN_POINTS = 4  # single out 95 % of 1.5 million people where nothing is done (de Montjoye et al. 2013)

Finder = Callable[[Traces, Any, int], float]


def _of_all(found: Uniqueness) -> float:
    """As a share of everybody: who has too few points is not found."""
    return found.share * found.asked / (found.asked + found.left_out)


def _among(generalise: Callable[[Traces, Any, int], Generalised]) -> Finder:
    """Among generalised records, which cover items of their own hierarchy."""

    def find(traces: Traces, chosen: GeneralisationChoices, seed: int) -> float:
        records = generalise(traces, chosen, seed)
        return _of_all(share_singled_out_of_records(traces, records, chosen.parts_of_day, KNOWN_POINTS, seed))

    return find


def _in_cylinders(traces: Traces, chosen: NeverWalkAloneChoices, seed: int) -> float:
    return share_nearest(traces, _published_records(NEVER_WALK_ALONE.publish(traces, chosen, seed)), KNOWN_POINTS, seed)


def _on_the_map(traces: Traces, chosen: ConfidentialityChoices, seed: int) -> float:
    records = _published_records(P_CONFIDENTIALITY.publish(traces, chosen, seed))
    return _of_all(share_singled_out(traces, records, KNOWN_POINTS, seed))


def _published_records(published: Published) -> Traces:
    assert published.traces is not None  # these techniques publish records
    return published.traces


def _by_differences(traces: Traces, chosen: KThresholdParameters, seed: int) -> float:
    busiest = int(traces.aggregate().sum(axis=1).argmax())
    return attack_everybody(traces, busiest, chosen.k).learnt / len(traces.users)


FINDERS: dict[str, Finder] = {
    K_ANONYMITY.name: _among(lambda traces, chosen, seed: generalise(traces, chosen)),
    KM_ANONYMITY.name: _among(lambda traces, chosen, seed: generalise_km(traces, chosen)),
    PROBABILISTIC_KM.name: _among(generalise_probabilistic),
    NEVER_WALK_ALONE.name: _in_cylinders,
    P_CONFIDENTIALITY.name: _on_the_map,
    K_THRESHOLD.name: _by_differences,
}


BITS = 512  # visits that are reconstructed
POINTS = range(1, 7)  # of a person that are known
TURNED = 0.6  # radians between the maps of two releases


def ask_directly(traces: Traces, technique: AnyTechnique, chosen: Parameters, seed: int) -> Row:
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


def measure_given_away(traces: Traces) -> Row:
    """What points single out, and what two k-anonymous releases tell together."""
    unique = {f"points_{p}": unique_by_points(traces, p, 0).share for p in POINTS}
    chosen = GeneralisationChoices(parts_of_day=1)
    both = intersect_releases(generalise(traces, chosen), generalise(traces, chosen, turned=TURNED))
    told = {"alone": both.alone, "revealed": both.revealed, "revealed_by_one": both.revealed_by_one, "k": chosen.k}
    return {**unique, "top_2": unique_by_top_places(traces).share, **told}
