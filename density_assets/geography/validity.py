"""Since when and until when a row of an antenna list holds.

There is one geography for all weeks of a city. Every antenna counts that is valid on a day from its first week on; an
antenna that moved stands where its newest row says, in all weeks, and is said to have moved. An end counts as valid.
"""

from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from density_assets.errors import BadInput, some

FROM, TO = "valid_from", "valid_to"  # roles of the columns
ALWAYS = date(1, 1, 1)


def still_valid(rows: pl.DataFrame, since: date, path: Path, names: dict[str, str]) -> pl.DataFrame:
    """The rows that hold on some day from `since` on, with the days read; an empty bound is none.

    names: what the columns are called, by role.
    """
    days = rows.with_columns(_days(rows[role], path, names[role]) for role in (FROM, TO) if role in names)
    return days.filter(pl.col(TO).is_null() | (pl.col(TO) >= since)) if TO in names else days


def newest(rows: pl.DataFrame, ids: NDArray[Any]) -> NDArray[np.bool_]:
    """Which rows are the newest of their antenna: no other of its rows holds from a later day."""
    start = rows[FROM].fill_null(ALWAYS).cast(pl.Int32) if FROM in rows.columns else pl.repeat(0, len(rows), eager=True)
    _, which = np.unique(ids, return_inverse=True)
    latest = np.full(which.max() + 1, np.iinfo(np.int32).min, dtype=np.int64)
    np.maximum.at(latest, which, start.to_numpy())
    return np.asarray(start.to_numpy() == latest[which])


def _days(values: pl.Series, path: Path, column: str) -> pl.Series:
    """A column of days: dates, times, or text that starts with a day such as 2023-01-02 or 20230102."""
    if values.dtype == pl.Date or isinstance(values.dtype, pl.Datetime):
        return values.cast(pl.Date)
    if not (values.dtype == pl.String or values.dtype.is_integer() or values.dtype == pl.Null):
        raise BadInput(f"{path.name}: days in {column!r} must be dates, times or text, found {values.dtype}")
    text = values.cast(pl.String).str.strip_chars()
    text = text.set(text == "", None)
    dashed, plain = (
        text.str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False),
        text.str.to_date("%Y%m%d", strict=False),
    )
    found = pl.select(pl.coalesce(dashed, plain)).to_series()
    bad = text.filter(text.is_not_null() & found.is_null())
    if len(bad):
        raise BadInput(
            f"{path.name}: days in {column!r} must start as 2023-01-02 or 20230102 do, or be empty, "
            f"found {len(bad)} others: {some(map(repr, bad.to_list()))}"
        )
    return found
