"""k^m-anonymity: whoever knows at most m items of a person finds no record or at least k of them.

Terrovitis, Mamoulis & Kalnis 2008. One cut of the hierarchy recodes all records. The apriori principle orders the
work: sets of one item are repaired first, then sets of two, up to m; a repair never makes another set rarer, because
raised nodes have more records. The work grows as records to the power of m: m of 2 or 3 is what one can do.

The chapter's Definition 2 speaks of "any m items". Read as exactly m it would not protect a person whose record is
shorter, and one rare place would be enough; up to m items is meant, here as in the paper. Table 1 (c) of the chapter is
the outcome for k = m = 2, see `generalisation` for what its caption says.

Probabilistic k^m-anonymity: m random items of a random record are shared by k records with probability at least p
-----------------------------------------------------------------------------------------------------------------
Acs, Achara & Castelluccia 2015 relax k^m-anonymity, because a few odd records cost everybody's precision and because
listing all sets is exponential in m; a sample is not. Here a person is drawn uniformly, then m of the items that are
published of that person (all of them where the record is shorter). With n draws the share s of sets that k records
have satisfies, by Hoeffding's inequality, P(true share < s - sqrt(ln(1/a) / 2n)) <= a. The cut is coarsened on one
sample and judged on a fresh one; the allowed error a is divided among the rounds, so the judgement holds for whichever
round comes last.
"""

from collections.abc import Iterator
from math import log, sqrt

import numpy as np
from pydantic import Field
from scipy.sparse import csr_array, triu

from density_assets.errors import BadInput
from density_assets.research.approaches.technique import Published, Technique
from density_assets.research.traces.matrix import Matrix, Traces
from density_assets.research.trajectories.generalisation import (
    GeneralisationChoices,
    Generalised,
    item_hierarchy,
    item_traces,
    publish_records,
)
from density_assets.research.trajectories.hierarchy import (
    Hierarchy,
    Items,
    finest_cut,
    index_records,
    lift,
    recode,
    repair,
)
from density_assets.series import Ints


class KmChoices(GeneralisationChoices):
    """m: items that an attacker knows of a person, at most. The others are those of k-anonymity."""

    m: int = Field(default=2, ge=1)


def rare_sets(records: Matrix, size: int, k: int) -> Iterator[frozenset[int]]:
    """Sets of exactly so many items that some records have, but fewer than k."""
    if size == 1:
        support = np.bincount(records.indices, minlength=records.shape[1])
        yield from (frozenset({int(item)}) for item in np.flatnonzero((support > 0) & (support < k)))
    elif size == 2:
        together = triu(csr_array(records.T) @ records, k=1).tocoo()
        rare = together.data < k
        yield from (frozenset({int(a), int(b)}) for a, b in zip(together.row[rare], together.col[rare], strict=True))
    else:
        yield from _rare_with_first(records, size, k)


def km_cut(records: Matrix, hierarchy: Hierarchy, k: int, m: int) -> Ints:
    """The cut with which records are k^m-anonymous: the node of each item."""
    require_m_within(records, m)
    items, cut = index_records(records, hierarchy), finest_cut(hierarchy)
    for size in range(1, m + 1):
        for rare in list(rare_sets(recode(records, cut, hierarchy), size, k)):
            cut = repair(cut, rare, items, k)
    return cut


def km_anonymous(records: Matrix, hierarchy: Hierarchy, k: int, m: int) -> Matrix:
    """Records recoded by the cut, people x nodes."""
    return recode(records, km_cut(records, hierarchy, k, m), hierarchy)


def require_m_within(records: Matrix, m: int) -> None:
    """Nobody can know more items of a person than the longest record has."""
    longest = int(np.diff(records.indptr).max(initial=0))
    if m > longest:
        raise BadInput(f"m must not be larger than the longest record, which has {longest} items, got m = {m}")


def generalise_km(traces: Traces, chosen: KmChoices) -> Generalised:
    """The k^m-anonymous records of traces."""
    items = item_traces(traces, chosen.parts_of_day)
    hierarchy = item_hierarchy(traces.positions, chosen.parts_of_day)
    nodes = km_anonymous(items.matrix, hierarchy, chosen.k, chosen.m)
    return Generalised(nodes, items.users, hierarchy)


def publish_km(traces: Traces, chosen: KmChoices, seed: int) -> Published:
    """k^m-anonymous records, counted to a density."""
    return publish_records(generalise_km(traces, chosen), traces, chosen.parts_of_day, chosen.totals, seed)


def _rare_with_first(records: Matrix, size: int, k: int) -> Iterator[frozenset[int]]:
    """Rare sets by their first item: among the records that have it, the sets of later items one shorter."""
    by_item = csr_array(records.T)
    for item in np.flatnonzero(np.diff(by_item.indptr)):
        having = by_item.indices[by_item.indptr[item] : by_item.indptr[item + 1]]
        later = records[having]
        later = csr_array(later[:, item + 1 :])
        for rest in rare_sets(later, size - 1, k):
            yield frozenset({int(item)}) | frozenset(other + int(item) + 1 for other in rest)


KM_ANONYMITY = Technique(
    name="km_anonymity",
    approach="trajectories",
    protects="nobody",
    promise="whoever knows at most m items of a person finds no record or at least k; knowing more voids it",
    source="Terrovitis, Mamoulis & Kalnis 2008",
    parameters=KmChoices,
    publish=publish_km,
)


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


def sample_sets(records: Matrix, m: int, draws: int, rng: np.random.Generator) -> Sets:
    """Random items of random records, m of each, all items of shorter ones; records must not be empty."""
    rows = rng.integers(0, records.shape[0], draws)
    return [_some_items(records.indices[records.indptr[row] : records.indptr[row + 1]], m, rng) for row in rows]


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
    rng, items, cut = np.random.default_rng(seed), index_records(records, hierarchy), finest_cut(hierarchy)
    for _ in range(ROUNDS):
        recoded_records = recode(records, cut, hierarchy)
        rare = _rare(sample_sets(recoded_records, chosen.m, chosen.draws, rng), items, chosen.k)
        if len(rare) <= allowed:
            return cut
        cut = _coarsen(cut, rare, items, chosen.k, allowed)
    raise BadInput(
        f"no cut showed a probability of {chosen.p} in {ROUNDS} samples; choose more draws than {chosen.draws:,}"
    )


def generalise_probabilistic(traces: Traces, chosen: ProbabilisticChoices, seed: int) -> Generalised:
    """The records of traces, of which a random set is shared."""
    items = item_traces(traces, chosen.parts_of_day)
    hierarchy = item_hierarchy(traces.positions, chosen.parts_of_day)
    cut = probabilistic_cut(items.matrix, hierarchy, chosen, seed)
    return Generalised(recode(items.matrix, cut, hierarchy), items.users, hierarchy)


def publish_probabilistic(traces: Traces, chosen: ProbabilisticChoices, seed: int) -> Published:
    """Records of which a random set is shared, counted to a density."""
    records = generalise_probabilistic(traces, chosen, seed)
    return publish_records(records, traces, chosen.parts_of_day, chosen.totals, seed)


def _some_items(items: Ints, m: int, rng: np.random.Generator) -> frozenset[int]:
    drawn_items = items if len(items) <= m else rng.choice(items, m, replace=False)
    return frozenset(drawn_items.tolist())


def _rare(sets: Sets, items: Items, k: int) -> Sets:
    support = {one: items.support(one) for one in set(sets)}
    return [one for one in sets if support[one] < k]


def _coarsen(cut: Ints, rare: Sets, items: Items, k: int, allowed: int) -> Ints:
    """Repair sets of a sample in turn, until no more than allowed are rare in it.

    Half of what is allowed is aimed at: a fresh sample has other rare sets.
    """
    left = list(rare)
    while len(left) > allowed // 2:
        cut = repair(cut, left[0], items, k)
        left = [one for one in left[1:] if items.support(lift(one, cut, items.hierarchy)) < k]
    return cut


PROBABILISTIC_KM = Technique(
    name="probabilistic_km",
    approach="trajectories",
    protects="nobody",
    promise="m random items of a random record are shared by k records with probability at least p",
    source="Acs, Achara & Castelluccia 2015",
    parameters=ProbabilisticChoices,
    publish=publish_probabilistic,
)
