"""Never Walk Alone on tracks that can be worked out by hand, and the attack it does not stop."""

import numpy as np
import pytest

from density_assets.errors import BadInput
from density_assets.research.approaches.workload import town
from density_assets.research.traces.matrix import Traces, binary
from density_assets.research.trajectories.never_walk_alone import (
    NEVER_WALK_ALONE,
    TRASH,
    Anonymised,
    NeverWalkAloneChoices,
    figure_tracks,
    gather_groups,
    group_around_pivots,
    interpolate_tracks,
    never_walk_alone,
    snap_to_places,
    trim_tracks,
)

TOWN = town(people=400, places=20, seed=1)
NEAR = NeverWalkAloneChoices(delta=300.0, period=24)


def traces(*points: tuple[int, int, int], users: int = 2, hours: int = 8) -> Traces:
    """Places lie on a line, 10 apart."""
    user, roi, hour = np.array(points, dtype=np.int64).reshape(-1, 3).T
    positions = np.array([(10.0 * x, 0.0) for x in range(5)])
    return Traces(binary(user, roi * hours + hour, (users, 5 * hours)), np.arange(users), hours, positions)


def distinct_share(made: Anonymised, metres: float = 1.0) -> float:
    """The share of published tracks that no other equals, at so many metres of precision."""
    rounded = np.round(np.nan_to_num(made.moved, nan=-1.0) / metres).reshape(len(made.moved), -1)
    _, label, size = np.unique(rounded, axis=0, return_inverse=True, return_counts=True)
    return float((size[label.ravel()] == 1).mean())


def linked_back(made: Anonymised) -> float:
    """The share of people whose own published track is nearest to the one they truly had, ties by their chance."""
    chances = []
    for person, track in enumerate(made.original):
        distance = np.nan_to_num(((made.moved - track) ** 2).sum(axis=-1), nan=np.inf)
        span = ~np.isnan(track[:, 0])
        away = distance[:, span].mean(axis=1)
        nearest = away <= away.min() + 1e-6
        chances.append(nearest[person] / nearest.sum())
    return float(np.mean(chances))


def everybody(found: Traces) -> np.ndarray:
    return np.arange(len(found.users))


def test_positions_lie_on_lines_between_sightings() -> None:
    found = traces((0, 0, 1), (0, 4, 5), (1, 1, 0), (1, 3, 0))
    tracks = interpolate_tracks(found, everybody(found))
    assert tracks.xy[0, :, 0].tolist() == pytest.approx([np.nan, 0, 10, 20, 30, 40, np.nan, np.nan], nan_ok=True)
    assert tracks.xy[1, 0].tolist() == [20, 0]  # the mean of two places in an hour
    assert (tracks.first.tolist(), tracks.last.tolist()) == ([1, 0], [5, 0])


def test_spans_begin_and_end_at_multiples_of_the_period() -> None:
    found = traces((0, 0, 1), (0, 4, 6), (1, 0, 1), (1, 0, 2))
    tracks = trim_tracks(interpolate_tracks(found, everybody(found)), 2)
    assert tracks.rows.tolist() == [0]  # the other has no whole period
    assert (tracks.first.tolist(), tracks.last.tolist()) == ([2], [5])
    assert np.flatnonzero(~np.isnan(tracks.xy[0, :, 0])).tolist() == [2, 3, 4, 5]


def test_a_span_may_be_a_single_hour() -> None:
    found = traces((0, 0, 3))
    tracks = trim_tracks(interpolate_tracks(found, everybody(found)), 1)
    assert (tracks.rows.tolist(), tracks.first.tolist(), tracks.last.tolist()) == ([0], [3], [3])


def test_tracks_snap_to_the_nearest_place() -> None:
    like = traces((0, 0, 0))
    xy = np.full((1, 8, 2), np.nan)
    xy[0, 3] = (14.0, 2.0)
    assert [one.tolist() for one in snap_to_places(xy, np.array([1]), like).points()] == [[0], [1], [3]]


def test_groups_gather_around_far_pivots() -> None:
    line = np.array([0.0, 1, 2, 50, 51, 52, 53, 1000])
    xy = np.stack((line, np.zeros(8)), axis=1)[:, None, :]
    group = group_around_pivots(xy, 3, radius=5.0)
    assert group[7] == TRASH
    assert len(set(group[:3].tolist())) == 1
    assert len(set(group[3:7].tolist())) == 1  # the one that is left over joins the pivot nearby
    assert group[0] != group[3]


def test_too_few_for_a_group_of_their_own_join_one_nearby() -> None:
    xy = np.stack((np.arange(5.0), np.zeros(5)), axis=1)[:, None, :]
    assert np.bincount(group_around_pivots(xy, 3, radius=10.0)).tolist() == [5]


def test_points_move_no_farther_than_they_must() -> None:
    xy = np.array([[[0.0, 0.0]], [[10.0, 0.0]], [[2.0, 0.0]]])
    moved = gather_groups(xy, np.zeros(3, dtype=np.int64), delta=8.0)
    assert moved[:, 0, 0].tolist() == pytest.approx([0, 8, 2])  # the mean is 4


def test_groups_have_k_members_within_a_cylinder_at_every_hour() -> None:
    made = never_walk_alone(TOWN, NEAR, 0)
    assert np.bincount(made.group).min() >= 3
    for number in range(int(made.group.max()) + 1):
        tracks = made.moved[made.group == number]
        assert (np.isnan(tracks) == np.isnan(tracks[0])).all()
        apart = np.linalg.norm(tracks[:, None] - tracks[None], axis=-1)
        assert np.nanmax(apart) <= 300.0 + 1e-6
    assert np.nanmax(made.distances) > 0


def test_few_enough_are_thrown_away_and_everybody_is_accounted_for() -> None:
    made = never_walk_alone(TOWN, NEAR, 0)
    assert len(made.rows) + len(made.trash) + made.too_short == 400
    strict = never_walk_alone(TOWN, NeverWalkAloneChoices(delta=300.0, period=24, trash=0.0), 0)
    assert strict.radius > made.radius
    assert len(strict.trash) < len(made.trash)


def test_tracks_of_a_cylinder_still_differ() -> None:
    made = never_walk_alone(TOWN, NEAR, 0)
    assert distinct_share(made) > 0.95
    assert linked_back(made) > 0.9


def test_only_a_cylinder_without_width_hides_who_is_who() -> None:
    made = never_walk_alone(TOWN, NeverWalkAloneChoices(delta=0.0, period=24), 0)
    assert distinct_share(made, metres=0.01) == 0.0
    assert linked_back(made) <= 1 / 3 + 1e-9


def test_published_traces_and_what_is_said_of_them() -> None:
    published = NEVER_WALK_ALONE.publish(TOWN, NEAR, 0)
    assert published.traces is not None
    assert len(published.traces.users) == published.facts["people"]
    assert published.facts["people"] + published.facts["people_left_out"] == 400
    # An hour in which no published track runs cannot be scaled.
    counts, truth = published.traces.aggregate().sum(axis=0), TOWN.aggregate().sum(axis=0)
    assert published.density.sum(axis=0) == pytest.approx(np.where(counts > 0, truth, 0.0))


def test_the_figure_has_the_same_people_before_and_after() -> None:
    made = figure_tracks(TOWN, people=100)
    assert made.original.shape == made.moved.shape
    assert len(made.original) <= 100
    assert (np.isnan(made.original) == np.isnan(made.moved)).all()


def test_what_cannot_be_published() -> None:
    with pytest.raises(BadInput, match="empty traces"):
        NEVER_WALK_ALONE.publish(traces(), NEAR, 0)
    with pytest.raises(BadInput, match="choose a shorter period"):
        NEVER_WALK_ALONE.publish(traces((0, 0, 0), (1, 0, 0)), NEAR, 0)
