"""k^m-anonymity and its relaxation against counting every set."""

from itertools import combinations, product

import numpy as np
import pytest
from generalised_records import is_km_anonymous

from density_assets.errors import BadInput
from density_assets.research.approaches.workload import town
from density_assets.research.traces.matrix import Matrix, binary
from density_assets.research.trajectories import hierarchy as cuts
from density_assets.research.trajectories.hierarchy import finest_cut, halved_hierarchy, index_records, recode, repair
from density_assets.research.trajectories.km_anonymity import (
    PROBABILISTIC_KM,
    ProbabilisticChoices,
    hoeffding_margin,
    km_anonymous,
    probabilistic_cut,
    rare_sets,
    sample_sets,
)

TREE = halved_hierarchy(np.arange(8.0)[:, None])
TOWN = town(people=500, places=10, seed=6)


def random_records(seed: int, people: int = 40, items: int = 8) -> Matrix:
    row, column = np.nonzero(np.random.default_rng(seed).random((people, items)) < 0.3)
    return binary(row, column, (people, items))


def skewed_records(people: int, items: int) -> Matrix:
    """Everybody has item 0, later items are rarer."""
    row, column = np.nonzero(np.random.default_rng(0).random((people, items)) < 1 / (1 + np.arange(items) / 3))
    return binary(row, column, (people, items))


PEOPLE = skewed_records(300, 12)


def sets_of(records: Matrix) -> list[frozenset[int]]:
    return [frozenset(row.tolist()) for row in np.split(records.indices, records.indptr[1:-1])]


def naive_rare(records: Matrix, size: int, k: int) -> set[frozenset[int]]:
    rows = sets_of(records)
    every = {frozenset(one) for row in rows for one in combinations(sorted(row), size)}
    return {one for one in every if sum(one <= row for row in rows) < k}


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_rare_sets_are_those_of_a_naive_count(size: int) -> None:
    records, k = random_records(size), 12 // size
    assert naive_rare(records, size, k)
    assert set(rare_sets(records, size, k)) == naive_rare(records, size, k)


@pytest.mark.parametrize(("k", "m"), [(2, 2), (3, 3), (10, 2)])
def test_published_records_have_no_rare_set(k: int, m: int) -> None:
    for seed in range(5):
        published = km_anonymous(random_records(seed), TREE, k, m)
        assert not any(naive_rare(published, size, k) for size in range(1, m + 1))


def test_one_rare_place_is_noticed_though_no_pair_is_rare() -> None:
    records = binary(np.array([0, 1, 1, 2, 2]), np.array([0, 1, 2, 1, 2]), (3, 3))
    assert not naive_rare(records, 2, 2)
    assert not is_km_anonymous(records, 2, 2)


def test_a_repair_is_the_cheapest_of_all() -> None:
    records = random_records(3, people=25)
    items = index_records(records, TREE)
    for pair in sorted(naive_rare(records, 2, 5), key=sorted):
        chosen = repair(finest_cut(TREE), pair, items, 5)
        lost = float((items.frequency * TREE.losses[chosen]).sum())
        cheapest = min(_loss(choice, items) for choice in product(*map(TREE.ancestors, pair)) if _enough(choice, items))
        assert lost == pytest.approx(cheapest)


def _cut(choice: tuple[int, ...]) -> np.ndarray:
    cut = finest_cut(TREE)
    for node in sorted(choice, key=lambda one: TREE.sizes[one]):
        cut[TREE.leaves_of(node)] = node
    return cut


def _loss(choice: tuple[int, ...], items: cuts.Items) -> float:
    return float((items.frequency * TREE.losses[_cut(choice)]).sum())


def _enough(choice: tuple[int, ...], items: cuts.Items) -> bool:
    top = frozenset(_cut(choice)[TREE.leaves_of(node)[0]] for node in choice)
    return items.support(top) >= 5


def test_a_long_search_still_repairs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuts, "SEARCHED", 2)
    for seed in range(5):
        assert is_km_anonymous(km_anonymous(random_records(seed), TREE, 6, 2), 6, 2)


def test_m_must_not_be_larger_than_records() -> None:
    longest = int(np.diff(random_records(0).indptr).max())
    with pytest.raises(BadInput, match=f"which has {longest} items, got m = {longest + 1}"):
        km_anonymous(random_records(0), TREE, 2, longest + 1)
    with pytest.raises(BadInput, match="longest record"):
        PROBABILISTIC_KM.publish(TOWN, ProbabilisticChoices(m=41), 0)


def test_more_records_are_needed_than_k() -> None:
    with pytest.raises(BadInput, match="k = 41"):
        km_anonymous(random_records(0), TREE, 41, 1)


def shared_exactly(records: Matrix, m: int, k: int) -> float:
    """The probability that k records have m random items of a random record, by listing every set."""
    rows = sets_of(records)
    return float(np.mean([_shared(row, rows, m, k) for row in rows]))


def _shared(row: frozenset[int], rows: list[frozenset[int]], m: int, k: int) -> float:
    every = [frozenset(one) for one in combinations(sorted(row), min(m, len(row)))]
    return float(np.mean([sum(one <= other for other in rows) >= k for one in every]))


def test_the_relaxed_promise_holds_and_costs_less() -> None:
    records, tree = PEOPLE, halved_hierarchy(np.arange(12.0)[:, None])
    chosen = ProbabilisticChoices(k=40, m=3, p=0.8, draws=4_000)
    published = recode(records, probabilistic_cut(records, tree, chosen, seed=1), tree)
    assert shared_exactly(records, 3, 40) < 0.8 <= shared_exactly(published, 3, 40)
    strict = km_anonymous(records, tree, 40, 3)
    assert tree.losses[published.indices].mean() < tree.losses[strict.indices].mean()


def test_sampled_sets_are_items_of_one_record() -> None:
    records = binary(np.array([0, 0, 0, 1]), np.array([0, 1, 2, 5]), (2, 8))
    sample = sample_sets(records, 2, 400, np.random.default_rng(0))
    assert set(sample) == {frozenset({0, 1}), frozenset({0, 2}), frozenset({1, 2}), frozenset({5})}
    assert 150 < sample.count(frozenset({5})) < 250


def test_the_margin_is_hoeffdings() -> None:
    assert hoeffding_margin(10_000, 0.01) == pytest.approx(0.015174, abs=1e-6)


def test_too_few_draws_cannot_show_a_high_probability() -> None:
    with pytest.raises(BadInput, match="choose more draws"):
        PROBABILISTIC_KM.publish(TOWN, ProbabilisticChoices(p=0.99, draws=100), 0)
