"""Mass: the sums of every hour stay, and every overlap has an owner."""

import numpy as np
from scipy.sparse import csr_array

from density_assets.geography.overlaps import Overlaps
from density_assets.geography.places import Cover
from density_assets.quality.user_bounds import covers, mass_kept, shares_whole

TOWERS = np.array([[1.0, 5.0], [3.0, 0.0]])  # two towers, two hours: 4 and 5 visits


def test_moving_visits_between_places_keeps_the_mass_of_each_hour():
    assert mass_kept(TOWERS, np.array([[0.5, 2.5], [2.0, 2.5], [1.5, 0.0]]))
    assert not mass_kept(TOWERS, np.array([[5.0, 4.0]]))  # the same sum, in other hours
    assert not mass_kept(TOWERS, TOWERS * (1 + 1e-6))
    assert mass_kept(1e7 * TOWERS, 1e7 * TOWERS * (1 + 1e-15))  # rounding


def test_shares_of_a_tower_are_whole_or_not():
    assert shares_whole(csr_array(np.array([[0.25, 1.0], [0.75, 0.0]])))
    assert not shares_whole(csr_array(np.array([[0.25, 1.0], [0.70, 0.0]])))
    assert not shares_whole(csr_array(np.array([[1.0, 0.0], [0.0, 0.0]])))  # a tower that goes nowhere


def test_a_cover_has_one_end_of_every_overlap():
    pieces = Overlaps(np.array([0, 0, 1], np.int32), np.array([0, 1, 1], np.int32), np.ones(3), towers=2, cells=2)
    assert covers(pieces, Cover(towers=np.array([0]), cells=np.array([1])))
    assert not covers(pieces, Cover(towers=np.array([1]), cells=np.array([1])))  # tower 0 with cell 0
