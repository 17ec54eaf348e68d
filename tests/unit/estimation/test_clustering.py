"""Clusters: the smallest joins its nearest neighbour until all are large enough."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from density_assets.estimation.clustering import cluster


def on_a_line(totals, positions, threshold, areas=None):
    centroids = np.column_stack([positions, np.zeros(len(positions))])
    weights = np.ones(len(positions)) if areas is None else np.array(areas, dtype=float)
    return cluster(np.array(totals, dtype=float), centroids, weights, threshold).tolist()


def reference(totals, centroids, areas, threshold):
    """Alg. 3 word for word, on lists of members."""
    clusters = [[cell] for cell in range(len(totals))]

    def centre(members):
        return (areas[members, None] * centroids[members]).sum(axis=0) / areas[members].sum()

    while len(clusters) > 1:
        clusters.sort(key=min)
        smallest = min(clusters, key=lambda members: totals[members].sum())
        if totals[smallest].sum() >= threshold:
            break
        others = [members for members in clusters if members is not smallest]
        nearest = min(others, key=lambda members: np.square(centre(members) - centre(smallest)).sum())
        clusters = [members for members in others if members is not nearest] + [smallest + nearest]
    label = {cell: number for number, members in enumerate(sorted(clusters, key=min)) for cell in members}
    return [label[cell] for cell in range(len(totals))]


def test_nothing_merges_when_the_threshold_is_below_everything():
    assert on_a_line([5, 7, 6], [0, 1, 2], threshold=5) == [0, 1, 2]


def test_the_smallest_cell_joins_its_nearest_neighbour():
    assert on_a_line([9, 9, 2, 9], [0, 10, 14, 20], threshold=5) == [0, 1, 1, 2]


def test_smaller_clusters_merge_first():
    # 1 at 10 goes first and takes the 2 at 11; had the 2 gone first, it would have joined the 9 at 11.5.
    assert on_a_line([1, 2, 9], [10, 11, 11.5], threshold=3) == [0, 0, 1]


def test_a_merged_cluster_is_looked_for_at_its_new_centre():
    # Cells 0 and 1 merge at x = 1, from where 9 is nearer than -8; from cell 0 itself it is not.
    assert on_a_line([1, 2, 50, 50], [0, 2, -8, 9], threshold=10) == [0, 0, 1, 0]


def test_areas_weigh_the_centre():
    # Cells 0 and 1 merge: at x = 1 with equal areas, where -6 is nearer than 9; at 1.8 with 1 : 9, where 9 is.
    assert on_a_line([1, 2, 50, 50], [0, 2, -6, 9], threshold=10) == [0, 0, 0, 1]
    assert on_a_line([1, 2, 50, 50], [0, 2, -6, 9], threshold=10, areas=[1, 9, 1, 1]) == [0, 0, 1, 0]


def test_of_equal_totals_the_first_cell_goes_first():
    # Cell 1 joins cell 0 and draws the others in; had cell 3 gone first, it would have formed a pair with cell 2.
    assert on_a_line([9, 1, 1, 1], [7, 6, 4, 0], threshold=2) == [0, 0, 0, 0]
    # Cell 0 forms a pair with cell 1; had cell 1 gone first, it would have joined cell 2, and cell 0 both.
    assert on_a_line([1, 1, 1, 9], [0, 4, 6, 7], threshold=2) == [0, 0, 1, 1]


def test_of_equally_near_clusters_the_first_is_taken():
    assert on_a_line([9, 1, 9], [0, 1, 2], threshold=5) == [0, 0, 1]
    assert on_a_line([9, 9, 1], [2, 0, 1], threshold=5) == [0, 1, 0]


def test_a_cluster_counts_as_its_first_cell_in_ties():
    # Cells 0 and 4 merge at x = 4, as far from cell 3 as cell 1 is: cell 3 joins the cluster of cell 0.
    assert on_a_line([1, 9, 9, 3, 4], [3, 8, 99, 6, 5], threshold=4) == [0, 1, 2, 0, 0]


def test_labels_are_numbered_by_the_first_cell():
    assert on_a_line([9, 9, 1, 1], [100, 0, 1, 101], threshold=5) == [0, 1, 1, 0]


def test_negative_totals_merge_first_and_subtract():
    # -4 takes the 6 beside it, and 2 is still too small: all three become one.
    assert on_a_line([-4, 6, 10], [0, 1, 5], threshold=3) == [0, 0, 0]
    assert on_a_line([-4, 6, 10], [0, 1, 5], threshold=2) == [0, 0, 1]


def test_a_threshold_out_of_reach_leaves_one_cluster():
    assert on_a_line([1, 2, 3, 4], [0, 1, 5, 9], threshold=11) == [0, 0, 0, 0]
    assert on_a_line([-1, -2], [0, 1], threshold=0) == [0, 0]
    assert on_a_line([1, 2, 3], [0, 1, 2], threshold=np.inf) == [0, 0, 0]


def test_one_cell_or_none_is_a_cluster_or_none():
    assert on_a_line([-5], [0], threshold=10) == [0]
    assert on_a_line([], [], threshold=10) == []


def test_cells_on_one_point_merge():
    assert on_a_line([1, 9, 1], [5, 0, 5], threshold=2) == [0, 1, 0]


def test_labels_are_int64_and_the_input_is_not_changed():
    totals, centroids, areas = np.array([1.0, 2.0]), np.array([[0.0, 0.0], [1.0, 0.0]]), np.ones(2)
    assert cluster(totals, centroids, areas, 3.0).dtype == np.int64
    assert (totals.tolist(), centroids.tolist(), areas.tolist()) == ([1, 2], [[0, 0], [1, 0]], [1, 1])


def test_unusable_cells_are_refused():
    with pytest.raises(ValueError, match=r"got 1 of 2 without \(first at position 1\)"):
        on_a_line([1, np.nan], [0, 1], threshold=3)
    with pytest.raises(ValueError, match="positive area"):
        on_a_line([1, 2], [0, 1], threshold=3, areas=[0, 1])
    with pytest.raises(ValueError, match=r"got \(2,\), \(3, 2\) and \(2,\)"):
        cluster(np.ones(2), np.ones((3, 2)), np.ones(2), 1.0)


@st.composite
def towns(draw):
    """Cells on a small lattice: many ties in totals and in distances, all sums exact."""
    cells = draw(st.integers(1, 12))
    numbers = st.lists(st.integers(-3, 6), min_size=cells, max_size=cells)
    places = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=cells, max_size=cells)
    sizes = st.lists(st.sampled_from([1, 2, 5]), min_size=cells, max_size=cells)
    return tuple(np.array(draw(values), dtype=float) for values in (numbers, places, sizes))


@settings(deadline=None, max_examples=150)
@given(towns(), st.integers(-4, 30))
def test_as_the_reference_does_on_a_lattice(town, threshold):
    assert cluster(*town, threshold).tolist() == reference(*town, threshold)


@pytest.mark.parametrize("seed", range(10))
def test_as_the_reference_does_on_a_random_town(seed):
    rng = np.random.default_rng(seed)
    totals, places, areas = rng.laplace(20, 30, 60), rng.uniform(6e6, 6.01e6, (60, 2)), rng.lognormal(11, 1, 60)
    assert cluster(totals, places, areas, 80.0).tolist() == reference(totals, places, areas, 80.0)


@settings(deadline=None)
@given(towns(), st.integers(-4, 30))
def test_clusters_reach_the_threshold_or_are_one(town, threshold):
    labels = cluster(*town, threshold)
    sizes = np.bincount(labels, weights=town[0])
    assert len(sizes) == 1 or (sizes >= threshold).all()
    numbers, first_cells = np.unique(labels, return_index=True)
    assert numbers.tolist() == list(range(len(sizes)))
    assert (np.diff(first_cells) > 0).all()
