"""Truncation and series of visits that are stored in order: what two models say, in a third of their time.

Visits lie sorted by user and hour. So a user is a run of rows, and an hour of a user a run within it; nothing has to be
hashed to find them, and of most rows nothing has to be drawn. SQL cannot say so. What the result is, the models in
`dbt_like_sql/` say and nothing else: this is used only for the very text it was compared with (`STANDS_FOR`), and only
where the file is as it expects; else the models run themselves. Tests compare all rows.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from density_assets.calendar import HOURS
from density_assets.series import Flags, Ints
from density_assets.threads import in_turn
from resources.sql.engine import KEYS
from resources.sql.models import Model

STANDS_FOR = {"truncated_visits": "43d946307254e226", "tower_series": "042b73e40e25df4f"}  # digests of models
VISIT = ("user_id", "hour", "tower_id", "user_key")
ROWS_AT_ONCE = 750_000
ROWS_IN_CACHE = 100_000  # numbers made on the way are then written where the last ones were, not on new pages
BYTES = 600_000_000  # of a few parts at work, with the copies that are made of them
LARGEST_TABLE = 1_000_000
UNKNOWN = "visits must be at towers of the public list"
OF_USER, OF_CANDIDATE = 1_226_874_159, 1_597_334_677  # see truncated_visits.sql
UNIT = 65_536  # of weights, see tower_series.sql


class OutOfOrder(ValueError):
    """Visits are not as they are stored: the models must run."""


def stands_for(query: Model) -> bool:
    """Whether a model is one that was compared with what is here."""
    return STANDS_FOR.get(query.name) == digest(query)


def digest(query: Model) -> str:
    """Of the text of a model."""
    return hashlib.sha256(query.sql.encode()).hexdigest()[:16]


def tables(
    name: str, files: Mapping[str, Path], towers: pl.DataFrame, parameters: dict[str, Any], threads: int
) -> Iterator[pa.Table]:
    """What a model says of the files it reads, in parts if it says it row by row."""
    if name == "truncated_visits":
        return truncated_visits(files["visits"], towers, parameters, threads)
    return iter([tower_series(files["visits"], files["truncated_visits"], towers, parameters, threads)])


def truncated_visits(
    visits: Path, towers: pl.DataFrame, parameters: dict[str, Any], threads: int
) -> Iterator[pa.Table]:
    """The rows of `truncated_visits.sql`, in their order; at least one part, which may be empty."""
    listed = TowerList(towers)

    def chosen(rows: pa.Table) -> pa.Table:
        new_user = _first_rows(rows)
        key, hour = (rows[name].to_numpy().astype(np.int64, copy=False) for name in ("user_key", "hour"))
        site_hour = listed.site[listed.positions(rows["tower_id"])] * HOURS + hour
        return rows.take(pa.array(kept(new_user, key, hour, site_hour, parameters)))

    def truncated(rows: pa.Table) -> pa.Table:
        return pa.concat_tables(map(chosen, _pieces(rows))).cast(_as_the_database_says(rows.schema))

    return in_turn(truncated, _whole_users(visits, VISIT), threads)


def _as_the_database_says(schema: pa.Schema) -> pa.Schema:
    """Texts come in one type, however they were written."""
    large = (pa.large_string(), pa.string_view())
    return pa.schema([field.with_type(pa.string()) if field.type in large else field for field in schema])


def kept(new_user: Flags, key: Ints, hour: Ints, site_hour: Ints, parameters: dict[str, Any]) -> Ints:
    """Positions of the visits that truncation keeps, ascending.

    new_user: whether a row is the first of its user. site_hour: both as one number.
    """
    new_hour = new_user.copy()
    new_hour[1:] |= hour[1:] != hour[:-1]
    first = np.flatnonzero(new_hour)  # of each hour of a user
    chosen = _one_of_each(first, len(hour), lambda at: _drawn(key[at], site_hour[at], parameters["site_salt"]))
    of_user = np.flatnonzero(new_user[first])  # of each user, the first hour
    hours = np.diff(of_user, append=len(first))
    busy = np.flatnonzero(hours > parameters["visits_per_user"])
    contested = _runs(of_user[busy], hours[busy])
    at = chosen[contested]
    order = _drawn(key[at], hour[at], parameters["hour_salt"])
    ranked = np.argsort(np.repeat(np.arange(len(busy)) * KEYS, hours[busy]) + order)  # within each user
    rank = _runs(np.zeros_like(busy), hours[busy])
    keep = np.ones(len(chosen), dtype=bool)
    keep[contested[ranked[rank >= parameters["visits_per_user"]]]] = False
    return chosen[keep]


def tower_series(
    visits: Path, truncated: Path, towers: pl.DataFrame, parameters: dict[str, Any], threads: int
) -> pa.Table:
    """The rows of `tower_series.sql`."""
    listed, cells = TowerList(towers), len(towers) * HOURS

    def weighed(rows: pa.Table) -> tuple[Ints, NDArray[np.float64]]:
        many = np.diff(np.flatnonzero(_first_rows(rows)), append=len(rows))  # visits of each user
        weight = np.minimum(UNIT, np.floor(np.sqrt(parameters["weight_l"] * UNIT**2 // many)))
        return listed.cells(rows), np.repeat(weight, many)

    def seen(rows: pa.Table) -> tuple[Ints, Ints]:
        cell, weight = map(np.concatenate, zip(*map(weighed, _pieces(rows)), strict=True))
        # Doubles hold these sums exactly: 2^37 rows of 2^16 each would be too many.
        return np.bincount(cell, minlength=cells), np.bincount(cell, weight, cells).astype(np.int64)

    def left(rows: pa.Table) -> Ints:
        _refuse_other_hours(rows["hour"].to_numpy())
        return np.bincount(listed.cells(rows), minlength=cells)

    counts = {name: np.zeros(cells, dtype=np.int64) for name in ("original", "truncated", "weighted")}
    for original, weighted in in_turn(seen, _whole_users(visits, VISIT), threads):
        counts["original"] += original
        counts["weighted"] += weighted
    for part in in_turn(left, _parts(truncated, ("hour", "tower_id")), threads):
        counts["truncated"] += part
    hours = pl.DataFrame({"hour": np.arange(HOURS)})
    table = towers.select("tower_id").join(hours, how="cross", maintain_order="left_right")
    return (
        table.with_columns(**{name: pl.Series(of) for name, of in counts.items()}).sort("tower_id", "hour").to_arrow()
    )


class TowerList:
    """The public list of towers, in which those of visits are found."""

    def __init__(self, towers: pl.DataFrame) -> None:
        self._listed = towers["tower_id"]
        self.site = towers["site"].to_numpy().astype(np.int64)
        self._first, self._table = 0, None  # by number, where towers are numbered closely enough for a table
        if self._listed.dtype.is_integer() and len(towers):
            number = self._listed.to_numpy()
            self._first, last = int(number.min()), int(number.max())
            if last - self._first < LARGEST_TABLE:
                self._table = np.full(last - self._first + 2, -1)  # its end stands for all numbers that are beyond
                self._table[number - self._first] = np.arange(len(number))

    def cells(self, rows: pa.Table) -> Ints:
        """Tower and hour of each row, as one number."""
        return np.asarray(self.positions(rows["tower_id"]) * HOURS + rows["hour"].to_numpy())

    def positions(self, tower: pa.ChunkedArray) -> Ints:
        """Where in the list the tower of each row stands."""
        if self._table is None or not pa.types.is_integer(tower.type):
            found = pc.index_in(tower, value_set=self._listed.to_arrow().cast(tower.type)).fill_null(-1).to_numpy()
        else:
            number = tower.to_numpy() - self._first
            if len(number) and number.min() < 0:
                raise OutOfOrder(UNKNOWN)
            found = self._table.take(number, mode="clip")
        if len(found) and found.min() < 0:
            raise OutOfOrder(UNKNOWN)
        return np.asarray(found, dtype=np.int64)


def _first_rows(rows: pa.Table) -> Flags:
    """Whether a row is the first of its user; refuses rows that are not in the order in which visits are stored.

    Were a user's rows scattered, each run of them would be truncated as if it were a user: no bound would hold.
    """
    users, key, hour = (rows[name].combine_chunks() for name in ("user_id", "user_key", "hour"))
    if users.null_count or key.null_count or hour.null_count:
        raise OutOfOrder("visits must have a user and an hour")
    key, hour, first = key.to_numpy(), hour.to_numpy(), np.ones(len(rows), dtype=bool)
    _refuse_other_hours(hour)
    if len(rows):
        first[1:] = pc.not_equal(users[1:], users[:-1]).to_numpy(zero_copy_only=False)
    new, other_key = first[1:], key[1:] != key[:-1]
    alike = np.flatnonzero(new & ~other_key)  # users of one key come one after the other
    sorted_alike = len(alike) == 0 or pc.all(pc.less(users.take(alike), users.take(alike + 1))).as_py()
    if not sorted_alike or (~new & (other_key | (hour[1:] < hour[:-1]))).any():
        raise OutOfOrder("visits must be sorted by user_key, user_id and hour")
    return first


def _refuse_other_hours(hour: Ints) -> None:
    if len(hour) and not 0 <= hour.min() <= hour.max() < HOURS:
        raise OutOfOrder("visits must lie in hours of the week")


def _one_of_each(first: Ints, rows: int, drawn: Callable[[Ints], Ints]) -> Ints:
    """Of each run of rows the one with the smallest number; only runs of several are drawn."""
    chosen, long = first.copy(), np.diff(first, append=rows)
    several = np.flatnonzero(long > 1)
    smallest = drawn(first[several])
    for step in range(1, int(long.max(initial=1))):
        longer = long[several] > step
        several, smallest = several[longer], smallest[longer]
        at = first[several] + step
        number = drawn(at)
        if (number == smallest).any():  # there are no ties within a user
            raise OutOfOrder("visits must be at most one per user, hour and tower")
        better = number < smallest
        chosen[several[better]] = at[better]
        smallest = np.minimum(smallest, number)
    return chosen


def _runs(start: Ints, long: Ints) -> Ints:
    """All positions of runs, one after the other."""
    before = np.cumsum(long) - long
    return np.asarray(np.arange(long.sum()) + np.repeat(start - before, long))


def _drawn(key: Ints, candidate: Ints, salt: int) -> Ints:
    """The keyed numbers that order a user's rows, see truncated_visits.sql."""
    number = _modulo(key * OF_USER + candidate * OF_CANDIDATE + salt)
    for _ in range(2):
        number = _modulo(_modulo(number * number) * number)
    return number


def _modulo(number: Ints) -> Ints:
    """The remainder by the prime; numpy divides by a constant faster than it takes a remainder."""
    return number - number // KEYS * KEYS


def _whole_users(file: Path, columns: tuple[str, ...]) -> Iterator[pa.Table]:
    """A file in parts that cut no user in two; at least one part."""
    waiting: pa.Table | None = None
    for rows in _parts(file, columns):
        rows = rows if waiting is None else pa.concat_tables([waiting, rows])
        key = rows["user_key"].to_numpy()
        if (key[1:] < key[:-1]).any():
            raise OutOfOrder("visits must be sorted by user_key")
        whole = int(np.searchsorted(key, key[-1])) if len(key) else 0
        waiting = rows[whole:]
        if whole:
            yield rows[:whole]
    assert waiting is not None  # there is at least one part, and of the last one user is left
    yield waiting


def _pieces(rows: pa.Table) -> Iterator[pa.Table]:
    """A part in pieces that cut no user in two; one empty piece of an empty part."""
    key = rows["user_key"].to_numpy()
    cuts = np.searchsorted(key, key[ROWS_IN_CACHE::ROWS_IN_CACHE])
    for start, end in pairwise([0, *np.unique(cuts[cuts > 0]).tolist(), len(key)]):
        yield rows[start:end]


def _parts(file: Path, columns: tuple[str, ...]) -> Iterator[pa.Table]:
    """Some row groups at a time, read ahead by a thread of its own; one empty part of an empty file."""
    with pq.ParquetFile(file) as parquet:
        sizes = [parquet.metadata.row_group(group).num_rows for group in range(parquet.num_row_groups)]
        part = np.cumsum([0, *sizes])[:-1] // ROWS_AT_ONCE  # that each row group belongs to
        groups = [np.flatnonzero(part == number).tolist() for number in np.unique(part)]
        yield from in_turn(lambda some: parquet.read_row_groups(some, list(columns)), groups or [[]], 1)
