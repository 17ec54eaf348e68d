"""Small public tables that settings name (regions, factors): CSV or Parquet, every value read as text."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import polars as pl

from density_assets.errors import BadInput, missing_column, some
from density_assets.geography.public_csv import CSV_DAMAGE, read_public_csv
from density_assets.geography.public_files import is_parquet


def read_public_table(path: Path, what: str) -> pl.DataFrame:
    """All of a table as text without surrounding blanks; an empty value is none.

    what: what the table says, for messages.
    """
    if not path.exists():
        raise BadInput(f"{path}: the table of {what} must exist, found nothing there")
    try:
        table = pl.read_parquet(path) if is_parquet(path) else read_public_csv(path, f"table of {what}")
        text = table.select(pl.all().cast(pl.String).str.strip_chars().replace("", None))
    except CSV_DAMAGE as error:
        raise BadInput(
            f"{path.name}: the table of {what} must be a Parquet file or a CSV in UTF-8 with a header, of texts and "
            f"numbers, got: {str(error)[:200]}"
        ) from None
    if text.is_empty():
        raise BadInput(f"{path.name}: the table of {what} must have a row, found none")
    return text


def column_of(table: pl.DataFrame, path: Path, role: str, *names: str) -> str:
    """The first of these names that is a column of the table."""
    for name in names:
        if name in table.columns:
            return name
    raise missing_column(path, role, names[0], table.columns)


def refuse_other_keys(keys: pl.Series, wanted: Sequence[str], path: Path, what: str) -> None:
    """Raise unless keys are the wanted ones, each once."""
    wrong: dict[str, list[object]] = {
        "without one": [row for row, key in enumerate(keys, start=1) if key is None],
        "missing": _not_in(wanted, keys),
        "unknown": _not_in(keys.drop_nulls().unique(maintain_order=True), wanted),
        "there more than once": keys.drop_nulls().filter(keys.drop_nulls().is_duplicated()).unique().sort().to_list(),
    }
    found = "; ".join(f"{len(those):,} {how}: {some(those)}" for how, those in wrong.items() if those)
    if found:
        raise BadInput(f"{path.name}: every {what} must be in {keys.name!r} once and no other, found {found}")


def _not_in(values: Iterable[str], known: Iterable[str]) -> list[object]:
    there = set(known)
    return [value for value in values if value not in there]
