"""The one error a person can act on, and the words it is made of."""

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path

NAMED_AT_MOST = 5
LONGEST_NAME = 60  # beyond it nothing is like a name of ours, and comparing takes long


class BadInput(ValueError):
    """Settings or files that cannot be used: says what must hold, what was found, where, what to do."""


class PublishedStays(BadInput):
    """Raised when a run would replace a published week. Nothing was charged or written."""


def missing_column(path: Path, setting: str, wanted: str, columns: Iterable[str]) -> BadInput:
    """The error for a column that a setting names and the file does not have."""
    return BadInput(
        f"{path.name}: {setting} must name a column of the file, got {wanted!r}{nearest(wanted, columns)} "
        f"(the columns are {', '.join(columns) or 'none'})"
    )


def nearest(word: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown name: the likeliest one meant, if any."""
    by_lower = {name.lower(): name for name in sorted(known, reverse=True)}
    match = get_close_matches(word[:LONGEST_NAME].lower(), by_lower, n=1, cutoff=0.4)
    return f"; did you mean {by_lower[match[0]]!r}?" if match else ""


def some(values: Iterable[object]) -> str:
    """The first few values as text, and how many more there are."""
    texts = [str(value) for value in values]
    more = len(texts) - NAMED_AT_MOST
    return ", ".join(texts[:NAMED_AT_MOST]) + (f" and {more} more" if more > 0 else "")
