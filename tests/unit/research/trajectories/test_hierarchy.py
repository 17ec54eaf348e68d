"""Trees over items, given by names and made by halving."""

import numpy as np
import pytest
from generalised_records import named_hierarchy

from density_assets.errors import BadInput
from density_assets.research.trajectories.hierarchy import halved_hierarchy

LINE = np.array([[0.0, 0.0], [3.0, 0.0], [1.0, 0.0], [2.0, 0.0]])


def test_names_become_a_tree_with_the_root_last() -> None:
    tree = named_hierarchy(("all", (("left", ("a", "b")), "c")))
    assert tree.names == ("a", "b", "c", "left", "all")
    assert tree.parent.tolist() == [3, 3, 4, 4, -1]
    assert tree.ancestors(0) == [0, 3, 4]
    assert tree.leaves_of(3).tolist() == [0, 1]
    assert tree.sizes.tolist() == [1, 1, 1, 2, 3]
    assert tree.losses.tolist() == pytest.approx([0, 0, 0, 2 / 3, 1])


def test_halves_are_neighbours_on_the_map() -> None:
    tree = halved_hierarchy(LINE)
    halves = {frozenset(tree.leaves_of(int(node)).tolist()) for node in tree.children[tree.root]}
    assert halves == {frozenset({0, 2}), frozenset({1, 3})}


def test_every_node_stands_for_what_its_children_stand_for() -> None:
    tree = halved_hierarchy(np.random.default_rng(0).random((37, 3)))
    assert tree.nodes == 2 * 37 - 1
    for node in range(tree.leaves, tree.nodes):
        below = np.concatenate([tree.leaves_of(int(child)) for child in tree.children[node]])
        assert sorted(below.tolist()) == sorted(tree.leaves_of(node).tolist())


def test_trees_that_cannot_be() -> None:
    with pytest.raises(BadInput, match="at least one item"):
        halved_hierarchy(np.zeros((0, 2)))
