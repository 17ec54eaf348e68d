"""Probabilistic k^m-anonymity: m random items of a random record are shared by k records with probability at least p.

Acs, Achara & Castelluccia 2015 relax k^m-anonymity, because a few odd records cost everybody's precision and because
listing all sets is exponential in m; a sample is not. Here a person is drawn uniformly, then m of the items that are
published of that person (all of them where the record is shorter). With n draws the share s of sets that k records
have satisfies, by Hoeffding's inequality, P(true share < s - sqrt(ln(1/a) / 2n)) <= a. The cut is coarsened on one
sample and judged on a fresh one; the allowed error a is divided among the rounds, so the judgement holds for whichever
round comes last.
"""

from math import log, sqrt

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from density_assets.errors import BadInput
from density_assets.research.approaches.technique import Published, Technique
from density_assets.research.traces.matrix import Matrix, Traces
from density_assets.research.trajectories.counting import published
from density_assets.research.trajectories.cuts import Items, finest_cut, indexed, lifted, recoded, repaired
from density_assets.research.trajectories.hierarchy import Hierarchy
from density_assets.research.trajectories.km_anonymity import KmChoices, require_m_within
from density_assets.research.trajectories.records import Generalised, item_hierarchy, item_traces

Ints = NDArray[np.int64]
Sets = list[frozenset[int]]
ROUNDS = 20


class ProbabilisticChoices(KmChoices):
    """p: probability that m random items are shared. confidence: that it holds. draws: in a sample."""

    m: int = Field(default=4, ge=1)
    p: float = Field(default=0.9, gt=0, lt=1)
    confidence: float = Field(default=0.99, gt=0, lt=1)
    draws: int = Field(default=10_000, ge=1)


def hoeffding_margin(draws: int, error: float) -> float:
    """What a share among independent draws may lie above the true one, but with probability `error`."""
    return sqrt(log(1 / error) / (2 * draws))


def sampled_sets(records: Matrix, m: int, draws: int, rng: np.random.Generator) -> Sets:
    """Random items of random records, m of each, all items of shorter ones; records must not be empty."""
    rows = rng.integers(0, records.shape[0], draws)
    return [_some_items(records.indices[records.indptr[row] : records.indptr[row + 1]], m, rng) for row in rows]


def shared_at_least(records: Matrix, hierarchy: Hierarchy, cut: Ints, chosen: ProbabilisticChoices, seed: int) -> float:
    """A lower bound of the probability that k records share m random items, at the chosen confidence."""
    sample = sampled_sets(recoded(records, cut, hierarchy), chosen.m, chosen.draws, np.random.default_rng(seed))
    margin = hoeffding_margin(chosen.draws, 1 - chosen.confidence)
    return 1 - len(_rare(sample, indexed(records, hierarchy), chosen.k)) / chosen.draws - margin


def probabilistic_cut(records: Matrix, hierarchy: Hierarchy, chosen: ProbabilisticChoices, seed: int) -> Ints:
    """A cut with which the bound holds: the node of each item."""
    require_m_within(records, chosen.m)
    margin = hoeffding_margin(chosen.draws, (1 - chosen.confidence) / ROUNDS)
    allowed = int(chosen.draws * (1 - chosen.p - margin))
    if allowed < 0:
        raise BadInput(
            f"{chosen.draws:,} draws cannot show a probability of {chosen.p}: their margin is {margin:.3f}; "
            "choose more draws or a smaller p"
        )
    rng, items, cut = np.random.default_rng(seed), indexed(records, hierarchy), finest_cut(hierarchy)
    for _ in range(ROUNDS):
        recoded_records = recoded(records, cut, hierarchy)
        rare = _rare(sampled_sets(recoded_records, chosen.m, chosen.draws, rng), items, chosen.k)
        if len(rare) <= allowed:
            return cut
        cut = _coarsened(cut, rare, items, chosen.k, allowed)
    raise BadInput(
        f"no cut showed a probability of {chosen.p} in {ROUNDS} samples; choose more draws than {chosen.draws:,}"
    )


def probabilistic_generalised(traces: Traces, chosen: ProbabilisticChoices, seed: int) -> Generalised:
    """The records of traces, of which a random set is shared."""
    items = item_traces(traces, chosen.parts_of_day)
    hierarchy = item_hierarchy(traces.positions, chosen.parts_of_day)
    cut = probabilistic_cut(items.matrix, hierarchy, chosen, seed)
    return Generalised(recoded(items.matrix, cut, hierarchy), items.users, hierarchy)


def publish(traces: Traces, chosen: ProbabilisticChoices, seed: int) -> Published:
    """Records of which a random set is shared, counted to a density."""
    records = probabilistic_generalised(traces, chosen, seed)
    return published(records, traces, chosen.parts_of_day, chosen.totals, seed)


def _some_items(items: Ints, m: int, rng: np.random.Generator) -> frozenset[int]:
    drawn_items = items if len(items) <= m else rng.choice(items, m, replace=False)
    return frozenset(drawn_items.tolist())


def _rare(sets: Sets, items: Items, k: int) -> Sets:
    support = {one: items.support(one) for one in set(sets)}
    return [one for one in sets if support[one] < k]


def _coarsened(cut: Ints, rare: Sets, items: Items, k: int, allowed: int) -> Ints:
    """Repair sets of a sample in turn, until no more than allowed are rare in it.

    Half of what is allowed is aimed at: a fresh sample has other rare sets.
    """
    left = list(rare)
    while len(left) > allowed // 2:
        cut = repaired(cut, left[0], items, k)
        left = [one for one in left[1:] if items.support(lifted(one, cut, items.hierarchy)) < k]
    return cut


PROBABILISTIC_KM = Technique(
    name="probabilistic_km",
    approach="trajectories",
    protects="nobody",
    promise="m random items of a random record are shared by k records with probability at least p",
    source="Acs, Achara & Castelluccia 2015",
    parameters=ProbabilisticChoices,
    publish=publish,
)
