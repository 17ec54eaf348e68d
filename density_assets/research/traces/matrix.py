"""Traces as one sparse matrix: a row per user, a column per region of interest (ROI) and hour, 1 where a user was.

Column roi·hours + hour, so a row reshaped to (rois, hours) is the user's own map over time. The aggregate of a group
is the sum of its rows (Pyrgelis et al., §2.1). Sparse, because ten thousand users of 582 stations over four weeks have
four billion cells and two million ones.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

from density_assets.calendar import HOURS
from density_assets.series import Ints

Floats = NDArray[np.float32]
Matrix = Any  # csr_array of int32; scipy's stubs do not survive products
DENSE_IS_FASTER = 20_000_000  # cells below which a dense product beats a sparse one


@dataclass(frozen=True)
class Traces:
    """Binary traces of users over ROIs and hours.

    matrix: users x (rois·hours), csr, ones.
    users: identifiers, one per row.
    positions: x and y of each ROI, in any unit in which distances make sense.
    placed: whether the positions are known; else ROIs lie on a line in the order of their names.
    grid: rows and columns where the ROIs are a grid, numbered row by row from the south-west; else None.
    """

    matrix: Matrix
    users: NDArray[Any]
    hours: int
    positions: NDArray[np.float64]
    grid: tuple[int, int] | None = None
    placed: bool = True

    @property
    def rois(self) -> int:
        """How many regions of interest there are."""
        return len(self.positions)

    @property
    def weeks(self) -> int:
        """How many whole weeks the traces cover."""
        return self.hours // HOURS

    def week(self, number: int) -> "Traces":
        """The traces of one week, counted from 0; users keep their rows even if they are absent."""
        if not 0 <= number < self.weeks:
            raise ValueError(f"a week must be one of the {self.weeks} of the traces, counted from 0; got {number}")
        user, roi, hour = self.points()
        mine = hour // HOURS == number
        return trace_matrix(self, user[mine], roi[mine], hour[mine] % HOURS, HOURS)

    def points(self) -> tuple[Ints, Ints, Ints]:
        """Row, ROI and hour of every point, ordered by row and column."""
        user = np.repeat(np.arange(self.matrix.shape[0]), np.diff(self.matrix.indptr))
        roi, hour = np.divmod(self.matrix.indices.astype(np.int64), self.hours)
        return user, roi, hour

    def rows(self, chosen: NDArray[Any]) -> "Traces":
        """The traces of some users."""
        return replace(self, matrix=self.matrix[chosen], users=self.users[chosen])

    def aggregate(self) -> Floats:
        """How many users were in each ROI in each hour, (rois, hours)."""
        counts: Floats = np.asarray(self.matrix.sum(axis=0), dtype=np.float32).reshape(self.rois, self.hours)
        return counts


def trace_matrix(like: Traces, user: Ints, roi: Ints, hour: Ints, hours: int) -> Traces:
    """The same users and ROIs with other points; repeated points count once."""
    shape = (len(like.users), like.rois * hours)
    return replace(like, matrix=binary(user, roi * hours + hour, shape), hours=hours)


def binary(row: Ints, column: Ints, shape: tuple[int, int]) -> Matrix:
    """A sparse matrix of ones at the given places."""
    matrix = csr_array(coo_array((np.ones(len(row), dtype=np.int32), (row, column)), shape=shape))
    matrix.sum_duplicates()
    matrix.data[:] = 1
    return matrix


def group_sums(members: Matrix, matrix: Matrix) -> Floats:
    """Aggregates of many groups at once: (groups x users) @ (users x columns), dense.

    Counts are below 2^24, so single precision is exact. Large traces stay sparse and groups become dense: most users
    are in most groups, and a product of two sparse matrices would look up every cell of a full result.
    """
    groups, points = members.astype(np.float32).toarray(), matrix.astype(np.float32)
    if matrix.shape[0] * matrix.shape[1] <= DENSE_IS_FASTER:
        return np.asarray(groups @ points.toarray())
    return np.ascontiguousarray((points.T.tocsr() @ groups.T).T)
