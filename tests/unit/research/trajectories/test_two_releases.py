"""Two k-anonymous releases intersected, by hand and on a town."""

import numpy as np
import pytest
from generalised_records import is_k_anonymous, named_hierarchy

from density_assets.errors import BadInput
from density_assets.research.approaches.workload import town
from density_assets.research.traces.matrix import binary
from density_assets.research.trajectories.generalisation import (
    GeneralisationChoices,
    Generalised,
    generalise,
)
from density_assets.research.trajectories.hierarchy import Hierarchy
from density_assets.research.trajectories.record_attacks import intersect_releases

ROWS = named_hierarchy(("all", (("north", ("a", "b")), ("south", ("c", "d")))))
COLUMNS = Hierarchy(np.array([4, 5, 4, 5, 6, 6, -1]), 4, ("a", "b", "c", "d", "west", "east", "all"))


def release(tree: Hierarchy, *nodes: str, users: tuple[int, ...] = (0, 1, 2, 3)) -> Generalised:
    number = np.array([tree.names.index(name) for name in nodes])
    return Generalised(binary(np.arange(len(nodes)), number, (len(nodes), tree.nodes)), np.array(users), tree)


def test_two_halvings_of_a_square_tell_every_corner() -> None:
    # People 0 … 3 were at a … d. Each release hides two behind a half, both together nobody.
    one = release(ROWS, "north", "north", "south", "south")
    two = release(COLUMNS, "west", "east", "west", "east")
    assert is_k_anonymous(one.nodes, 2)
    assert is_k_anonymous(two.nodes, 2)
    found = intersect_releases(one, two)
    assert (found.smallest_group, found.alone, found.revealed, found.revealed_by_one) == (2, 1.0, 1.0, 0.0)
    assert found.narrowed == 0.5


def test_the_same_release_twice_tells_no_more() -> None:
    one = release(ROWS, "north", "north", "south", "south")
    found = intersect_releases(one, one)
    assert (found.alone, found.revealed, found.narrowed) == (0.0, 0.0, 0.0)


def test_only_people_of_both_operators_are_attacked() -> None:
    one = release(ROWS, "north", "north", users=(7, 8))
    two = release(COLUMNS, "west", "west", "east", "east", users=(5, 6, 8, 9))
    found = intersect_releases(one, two)
    assert (found.people, found.alone, found.revealed) == (1, 1.0, 1.0)


def test_k_anonymity_does_not_compose_on_a_town() -> None:
    people = town(people=1_000, places=30, seed=3)
    ten = GeneralisationChoices(k=10, parts_of_day=1)
    found = intersect_releases(generalise(people, ten), generalise(people, ten, turned=0.7))
    assert found.smallest_group >= 10
    assert found.alone > 0.1
    assert found.revealed > 2 * found.revealed_by_one


def test_releases_that_do_not_compose() -> None:
    one = release(ROWS, "north", "north", users=(1, 2))
    with pytest.raises(BadInput, match="no person is"):
        intersect_releases(one, release(COLUMNS, "west", "west", users=(3, 4)))
    other = named_hierarchy(("all", ("a", "b")))
    with pytest.raises(BadInput, match="same items, got 4 and 2"):
        intersect_releases(one, release(other, "all", "all", users=(1, 2)))
