"""Table 1 of the chapter: (b) and (c) come out of (a) exactly, and what its text says of them is checked."""

import numpy as np
import pytest
from generalised_records import is_k_anonymous, is_km_anonymous, named_hierarchy
from scipy.sparse import csr_array

from density_assets.research.traces.matrix import Matrix, binary
from density_assets.research.trajectories.generalisation import Generalised, k_anonymous
from density_assets.research.trajectories.hierarchy import Hierarchy, finest_cut, raise_nodes, recode
from density_assets.research.trajectories.km_anonymity import km_anonymous

ORIGINAL = (
    {"LA"},
    {"LA", "Seattle"},
    {"NYC", "Boston"},
    {"NYC", "Boston"},
    {"LA", "Seattle", "NYC"},
    {"LA", "Seattle", "NYC"},
    {"LA", "Seattle", "NYC", "Boston"},
)


def cities(east: str) -> Hierarchy:
    return named_hierarchy(("US", (("West US", ("LA", "Seattle")), (east, ("NYC", "Boston")))))


def records(hierarchy: Hierarchy) -> Matrix:
    pairs = [(row, hierarchy.names.index(city)) for row, record in enumerate(ORIGINAL) for city in sorted(record)]
    row, item = np.array(pairs).T
    return binary(row, item, (len(ORIGINAL), hierarchy.leaves))


def named(nodes: Matrix, hierarchy: Hierarchy) -> list[set[str]]:
    return [set(one) for one in Generalised(nodes, np.arange(len(ORIGINAL)), hierarchy).named()]


def replaced_visits(nodes: Matrix, hierarchy: Hierarchy) -> int:
    """Visits of the original that are not published as themselves."""
    kept = records(hierarchy).multiply(csr_array(nodes)[:, : hierarchy.leaves])
    return int(records(hierarchy).nnz - kept.nnz)


# The printed label is West US in both places; with East US for New York and Boston the table makes sense.
@pytest.mark.parametrize("east", ["West US", "East US"])
def test_table_1_b(east: str) -> None:
    hierarchy = cities(east)
    published = named(k_anonymous(records(hierarchy), hierarchy, k=2), hierarchy)
    assert published == [{"West US"}] * 2 + [{"NYC", "Boston"}] * 2 + [{"LA", "Seattle", east}] * 3


@pytest.mark.parametrize("east", ["West US", "East US"])
def test_table_1_c(east: str) -> None:
    hierarchy = cities(east)
    published = named(km_anonymous(records(hierarchy), hierarchy, k=2, m=2), hierarchy)
    assert published == [{"LA"}, {"LA", "Seattle"}] + [{east}] * 2 + [{"LA", "Seattle", east}] * 3


def test_one_node_for_all_cities_cannot_be_what_the_table_means() -> None:
    hierarchy = named_hierarchy(("West US", ("LA", "Seattle", "NYC", "Boston")))
    assert {"LA", "Seattle", "West US"} not in named(k_anonymous(records(hierarchy), hierarchy, k=2), hierarchy)


def test_the_original_is_neither_and_the_tables_are_what_they_claim() -> None:
    hierarchy = cities("East US")
    original = records(hierarchy)
    b, c = k_anonymous(original, hierarchy, k=2), km_anonymous(original, hierarchy, k=2, m=2)
    assert not is_k_anonymous(original, 2)
    assert not is_km_anonymous(original, 2, 2)  # only row 7 has LA and Boston
    assert is_km_anonymous(original, 2, 1)
    assert is_k_anonymous(b, 2)
    assert is_km_anonymous(c, 2, 2)


def test_k_to_the_longest_record_is_not_k_anonymity() -> None:
    hierarchy = cities("East US")
    c = km_anonymous(records(hierarchy), hierarchy, k=2, m=2)
    assert is_km_anonymous(c, 2, 3)  # no record of (c) is longer
    assert not is_k_anonymous(c, 2)  # rows 1 and 2 are one of a kind
    assert is_km_anonymous(k_anonymous(records(hierarchy), hierarchy, k=2), 2, 3)


def test_fewer_generalisations_only_with_the_same_recoding() -> None:
    hierarchy = cities("East US")
    original = records(hierarchy)
    b, c = k_anonymous(original, hierarchy, k=2), km_anonymous(original, hierarchy, k=2, m=2)
    assert (original.nnz, replaced_visits(b, hierarchy), replaced_visits(c, hierarchy)) == (17, 7, 8)
    # One recoding for all: the cut with East US is not 2-anonymous, the one with both is, and replaces every visit.
    east, west = (frozenset({hierarchy.names.index(name)}) for name in ("East US", "West US"))
    only_east = raise_nodes(finest_cut(hierarchy), east, hierarchy)
    assert not is_k_anonymous(recode(original, only_east, hierarchy), 2)
    both = recode(original, raise_nodes(only_east, west, hierarchy), hierarchy)
    assert is_k_anonymous(both, 2)
    assert replaced_visits(both, hierarchy) == 17
