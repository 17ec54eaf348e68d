"""What one user may contribute before anything is counted: the bounds of `dbt_like_sql/`, in NumPy.

A release bounds contributions in SQL, next to the records. Studies and techniques bound traces in memory, by the same
rules, once here:

rank_within        the position of each row within its user (or within any group), by a random key
keep_rows          truncation: which rows (user, hour) stay, c places an hour and l hours of each user
truncate           the same of `Traces`
integer_weights    weights that scale a user's vector to a norm: min(2^16, isqrt(bound · 2^32 / squared norm))
clamped_total      the number of visits, each user's clamped, to which `scale_to_total` scales what was truncated
bound_week         all of it for one week: `Contributions`, a row per user; rows add up to what the doors count
CountedWeek        what the doors count of a week, from contributions or from tables of a city (`read_counted`)

What stays of a user is drawn at random without looking at any other. So weeks with and without one user can be drawn
together such that they differ by the row of that user, and every bound of one row is a sensitivity. Truncation loses
the number of all visits; it is data, and is paid for.
"""

from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from density_assets import series
from density_assets.calendar import HOURS
from density_assets.errors import BadInput
from density_assets.geography.places import Places
from density_assets.privacy.sensitivity import WEIGHT_UNIT
from density_assets.research.traces.matrix import Matrix, Traces, group_sums, trace_matrix
from density_assets.schemes.scheme import Counts, Scheme
from density_assets.series import Flags, Floats, Ints
from density_assets.settings import Settings
from resources.tables.store import Store


def rank_within(group: Ints, key: Floats | None = None) -> Ints:
    """Return the position of each row within its group, from 0, by its key; without keys in the order of the rows."""
    order = np.argsort(group, kind="stable") if key is None else np.lexsort((key, group))
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    rank = np.empty(len(group), dtype=np.int64)
    rank[order] = np.arange(len(group)) - np.repeat(starts, np.diff(np.append(starts, len(group))))
    return rank


def keep_rows(
    user: Ints,
    hour: Ints,
    hours_per_user: int | None,
    rng: np.random.Generator,
    rng_of_hours: np.random.Generator | None = None,
    *,
    visits_per_hour: int = 1,
) -> Ints:
    """Return which rows truncation keeps, in order: so many of each user and hour, then so many hours of each user.

    hours_per_user: None keeps all hours.
    rng_of_hours: draws the hours; by default `rng` does. With one of its own, users appended at the end change nothing
        that is drawn for those before them.
    """
    slot = user * (int(hour.max(initial=0)) + 1) + hour
    rows = np.flatnonzero(rank_within(slot, rng.random(len(slot))) < visits_per_hour)
    if hours_per_user is None:
        return rows
    # An hour has one key, that of its first row, however many visits of it are kept.
    _, first, of_hour = np.unique(slot[rows], return_index=True, return_inverse=True)
    keys = (rng_of_hours or rng).random(len(rows))[first]
    kept: Ints = rows[(rank_within(user[rows[first]], keys) < hours_per_user)[of_hour]]
    return kept


def truncate(
    traces: Traces,
    hours_per_user: int | None,
    rng: np.random.Generator,
    rng_of_hours: np.random.Generator | None = None,
    *,
    visits_per_hour: int = 1,
) -> Traces:
    """Return traces with at most so many places of a user in an hour, in at most so many hours; as `keep_rows` draws.

    Guarantees: a row has at most visits_per_hour · hours_per_user ones, whatever the traces.
    """
    if visits_per_hour < 1 or (hours_per_user is not None and hours_per_user < 1):
        raise BadInput(f"truncation must keep at least one visit of each user, got {visits_per_hour}, {hours_per_user}")
    user, place, hour = traces.points()
    rows = keep_rows(user, hour, hours_per_user, rng, rng_of_hours, visits_per_hour=visits_per_hour)
    return trace_matrix(traces, user[rows], place[rows], hour[rows], traces.hours)


def count_visits(traces: Traces, hours_per_user: int, seed: int) -> Floats:
    """Return truncated visits per column (place·hours + hour): one place an hour, and so many hours of each user."""
    rng = np.random.default_rng([seed, 1])  # not the stream that noise is drawn from
    return truncate(traces, hours_per_user, rng).aggregate().astype(np.float64).ravel()


def require_visits(traces: Traces) -> Traces:
    """Return the traces, refused if nobody was anywhere."""
    if not traces.matrix.nnz:
        raise BadInput("traces must hold at least one visit, got none: give traces of people who were somewhere")
    return traces


def scale_to_total(density: Floats, total: float) -> Floats:
    """Return the density with a (noisy) total, at least 0; all places and hours alike if nothing is left of it."""
    left = density.sum()
    if left <= 0:
        return np.full(density.shape, max(total, 0.0) / density.size)
    return np.asarray(density * (max(total, 0.0) / left))


def at_hours(traces: Traces, hours: Flags) -> Traces:
    """Return the traces at some hours only: those that can be published, fixed beforehand, so no visit is wasted."""
    user, place, hour = traces.points()
    chosen = hours[hour]
    return trace_matrix(traces, user[chosen], place[chosen], hour[chosen], traces.hours)


def visits_of_users(traces: Traces) -> Ints:
    """Return the number of visits of each user."""
    return np.asarray(np.diff(traces.matrix.indptr), dtype=np.int64)


def clamped_total(visits: Ints, clamp: int) -> int:
    """Return the number of visits, counting at most `clamp` of each user: the sensitivity of this number."""
    return int(np.minimum(visits, clamp).sum())


def integer_weights(squared_norm: Ints, bound: int) -> Ints:
    """Return the weight of each user in units of 2^-16, so that weight² · squared norm is at most bound · 2^32.

    squared_norm: of a user's vector, n for n visits of one each, Σb² for b visits at each place. The root is exact:
        below 2^32 doubles are dense enough, and above it the weight is cut at 2^16 anyway.
    """
    roots = np.sqrt(bound * WEIGHT_UNIT**2 // np.maximum(squared_norm, 1).astype(np.int64))
    return np.minimum(WEIGHT_UNIT, roots).astype(np.int64)


def squares_over_places(user: Ints, place: Ints, users: int) -> Ints:
    """Return the sum of squares of the number of visits at each place, by user."""
    places = int(place.max(initial=0)) + 1
    pairs, times = np.unique(user * places + place, return_counts=True)
    squares = np.bincount(pairs // places, times.astype(np.float64) ** 2, minlength=users)
    return squares.astype(np.int64)


@dataclass(frozen=True)
class CountedWeek:
    """What is counted of a week after bounding: per tower and hour, per tower, and in all."""

    places: Places
    truncated: Floats
    weighted: Ints
    sampled: Ints
    tower_totals: Ints
    visit_total: int

    def counts(self, scheme: Scheme) -> Counts:
        """Return the confidential numbers as a scheme's doors read them."""
        here: NDArray[Any] = self.weighted
        if scheme.places != "towers":
            here = self.places.from_towers(scheme.places) @ self.truncated
        return Counts(series=here, sampled=self.sampled, visit_total=self.visit_total, tower_totals=self.tower_totals)


def read_counted(store: Store, week: date, places: Places) -> CountedWeek:
    """Return the tables of a materialized week as matrices."""
    towers, table = store.read_public("towers")["tower_id"], store.read_week("tower_series", week)
    return CountedWeek(
        places=places,
        truncated=series.matrix(table, towers, "truncated").astype(np.float64),
        weighted=series.matrix(table, towers, "weighted"),
        sampled=series.vector(store.read_week("one_visit_histogram", week), towers, "users"),
        tower_totals=series.vector(store.read_week("tower_totals", week), towers, "weighted"),
        visit_total=store.read_week("visit_total", week)["visits"].item(),
    )


@dataclass(frozen=True)
class Contributions:
    """What each user adds to the counts of a week, one row each.

    truncated: at most one point per hour and l in all. weighted: all points, in units of 2^-16. sampled: one point, per
    place. tower_totals: points of the week per place, in units of 2^-16. visits: number of points, clamped.
    """

    truncated: Matrix
    weighted: Matrix
    sampled: Matrix
    tower_totals: Matrix
    visits: Ints

    def count_groups(self, members: Matrix, *, towers: bool) -> list[Counts]:
        """Return the confidential numbers of each group of users as the doors read them.

        members: groups x users, zeros and ones. towers: whether series are the weighted ones, else the truncated.
        """
        picked, places = members.astype(np.int64), self.sampled.shape[1]
        whole: Any = (picked @ self.weighted).toarray() if towers else group_sums(members, self.truncated)
        groups = whole.astype(np.int64 if towers else np.float64).reshape(len(whole), places, -1)
        sampled, totals = ((picked @ part.astype(np.int64)).toarray() for part in (self.sampled, self.tower_totals))
        return [
            Counts(series=one, sampled=first, tower_totals=by_tower, visit_total=int(total))
            for one, first, by_tower, total in zip(groups, sampled, totals, picked @ self.visits, strict=True)
        ]

    def count_everybody(self, places: Places) -> CountedWeek:
        """Return the week of all users, on places that are towers."""
        sampled, totals = (np.asarray(part.sum(axis=0), dtype=np.int64) for part in (self.sampled, self.tower_totals))
        truncated, weighted = (
            np.asarray(part.sum(axis=0)).reshape(len(sampled), HOURS) for part in (self.truncated, self.weighted)
        )
        return CountedWeek(
            places, truncated.astype(np.float64), weighted.astype(np.int64), sampled, totals, int(self.visits.sum())
        )


def bound_week(traces: Traces, settings: Settings, rng: np.random.Generator) -> Contributions:
    """Return what each user adds to the counts of one week, bounded as the SQL of a release does it.

    settings: visits_per_user and visits_clamp of its privacy, weight_l and tower_l of its scheme.
    """
    if traces.hours != HOURS:
        raise ValueError(f"expected traces of one week of {HOURS} hours, got {traces.hours}")
    user, place, hour = traces.points()
    hourly = keep_rows(user, hour, None, rng)
    one = np.flatnonzero(rank_within(user, rng.random(len(user))) < 1)
    kept = hourly[rank_within(user[hourly], rng.random(len(hourly))) < settings.privacy.visits_per_user]
    visits = visits_of_users(traces)
    weighted = traces.matrix.astype(np.int64)
    weighted.data = np.repeat(integer_weights(visits, settings.scheme.weight_l), visits)
    return Contributions(
        truncated=trace_matrix(traces, user[kept], place[kept], hour[kept], HOURS).matrix,
        weighted=weighted,
        sampled=trace_matrix(traces, user[one], place[one], np.zeros_like(one), 1).matrix,
        tower_totals=_tower_totals(traces, settings.scheme.tower_l),
        visits=np.minimum(visits, settings.privacy.visits_clamp),
    )


def _tower_totals(traces: Traces, tower_l: int) -> Matrix:
    user, place, _ = traces.points()
    weight = integer_weights(squares_over_places(user, place, len(traces.users)), tower_l)
    totals = csr_array((weight[user], (user, place)), shape=(len(traces.users), traces.rois))
    totals.sum_duplicates()
    return totals
