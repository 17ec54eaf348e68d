"""Estimates that know what earlier weeks have said, and what to do where they fail.

All of it is post-processing of draws that are paid for. An estimator that does not come to finite numbers is not a
reason to publish nothing: the week is then estimated alone, as its scheme does without a past, and whoever states the
estimate says so.
"""

import hashlib

import numpy as np

from density_assets.estimation.weeks.estimate import WeekEstimate, estimate_week, final_week
from density_assets.estimation.weeks.state import Measured, State
from density_assets.estimation.weeks.summary import Summary, summarise
from density_assets.geography.places import Matrix
from density_assets.schemes.scheme import Estimate
from density_assets.series import Floats

_LAST: dict[bytes, tuple[WeekEstimate, State]] = {}  # at most one

FAILURES = (ValueError, ArithmeticError)  # of linear algebra: no solution, or numbers that are not finite


def estimate_after(past: State | None, measured: Measured, to_cells: Matrix, xy: Floats) -> Estimate | None:
    """The estimate of a week after others; none if the estimator fails.

    past: what the weeks before have left; none before the first.
    to_cells: the matrix that turns series of towers into series of cells. xy: positions of the towers.
    """
    made = _estimated(past, measured, xy)
    return None if made is None else in_cells(made[0], to_cells)


def week_between(before: State | None, after: State | None, measured: Measured, xy: Floats) -> WeekEstimate | None:
    """The estimate of a week between others; none if the estimator fails.

    before, after: what the weeks before have left, oldest first, and the weeks after, newest first.
    """
    try:
        with np.errstate(all="ignore"):
            return final_week(before, after, measured, xy)
    except FAILURES:
        return None


def sums_after(past: State | None, measured: Measured, to_cells: Matrix, xy: Floats) -> Summary | None:
    """Errors of sums of cells of that estimate; none if the estimator fails."""
    made = _estimated(past, measured, xy)
    return None if made is None else sums_in_cells(made[0], to_cells)


def sums_in_cells(estimate: WeekEstimate, to_cells: Matrix) -> Summary | None:
    """Errors of sums of cells of an estimate; none unless they are finite."""
    try:
        with np.errstate(all="ignore"):
            summary = summarise(estimate.errors, to_cells)
    except FAILURES:  # errors of sums are then not published
        return None
    return summary if summary.finite else None


def learned(past: State | None, measured: Measured, xy: Floats) -> State | None:
    """What is known after one more week; a week on which the estimator fails leaves what was known."""
    made = _estimated(past, measured, xy)
    return past if made is None else made[1]


def _estimated(past: State | None, measured: Measured, xy: Floats) -> tuple[WeekEstimate, State] | None:
    """What the estimator makes of a week; none if it fails.

    The last one is remembered, for whoever asks in one process for several things that are made of it: before a week is
    signed, its counts, its state and its errors of sums are made again.
    """
    key = _digest(past, measured, xy)
    if key in _LAST:
        return _LAST[key]
    _LAST.clear()
    if made := _estimated_anew(past, measured, xy):
        _LAST[key] = made
    return made


def _digest(past: State | None, measured: Measured, xy: Floats) -> bytes:
    """Of everything that an estimate is made from."""
    given = {**vars(measured), "xy": xy, **({} if past is None else {f"past {k}": v for k, v in past.arrays().items()})}
    digest = hashlib.sha256()
    for name, value in given.items():
        part = np.asarray(np.nan if value is None else value, np.float64)
        digest.update(f"{name} {part.shape}".encode())
        digest.update(np.ascontiguousarray(part).tobytes())
    return digest.digest()


def _estimated_anew(past: State | None, measured: Measured, xy: Floats) -> tuple[WeekEstimate, State] | None:
    try:
        with np.errstate(all="ignore"):  # what is not finite is seen below
            estimate, state = estimate_week(past, measured, xy)
    except FAILURES:
        return None
    finite = np.isfinite(estimate.series).all() and all(np.isfinite(part).all() for part in state.arrays().values())
    return (estimate, state) if finite else None


def in_cells(estimate: WeekEstimate, to_cells: Matrix) -> Estimate | None:
    """The estimate with the errors of cells; none unless all of it is finite."""
    with np.errstate(all="ignore"):
        errors = np.sqrt(estimate.variance_of_sums(to_cells, np.eye(estimate.series.shape[1])))
    finite = np.isfinite(estimate.series).all() and np.isfinite(errors).all()
    return Estimate(estimate.series, errors) if finite else None
