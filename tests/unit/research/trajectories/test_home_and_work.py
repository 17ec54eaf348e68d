"""Home and work of people who are tied between places: lots of their own, for each."""

import numpy as np

from density_assets.research.traces.matrix import Traces, binary
from density_assets.research.trajectories.dp_where import anchors

PEOPLE, HOURS = 2_000, 168


def test_a_lot_for_home_is_no_lot_for_work():
    """With one lot for both, whoever joins in the first row would move the work place of everybody after them."""
    user = np.repeat(np.arange(PEOPLE), 4)
    place, hour = np.tile([0, 1, 0, 1], PEOPLE), np.tile([1, 2, 10, 11], PEOPLE)  # both by night, both by day
    matrix = binary(user, place * HOURS + hour, (PEOPLE, 2 * HOURS))
    home, work = anchors(Traces(matrix, np.arange(PEOPLE), HOURS, np.array([[0.0, 0.0], [5_000.0, 0.0]])), 1)
    for share in (home.mean(), work.mean(), (home == work).mean()):
        assert 0.45 < share < 0.55
