"""Results as Markdown tables."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

DIGITS = {"mre": 3, "pc": 4, "emd": 0}


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]], align: str = "") -> str:
    """A table; `align` has one of l and r per column, r for the columns it does not reach."""
    rules = ["---" if mark == "l" else "--:" for mark in align.ljust(len(head), "r")]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (head, rules, *rows))


def figure_cell(row: Mapping[str, Any], metric: str, digits: int | None = None) -> str:
    """Mean ± standard deviation of a metric, as `averaged` gives them."""
    places = DIGITS.get(metric, 3) if digits is None else digits
    return f"{row[metric]:.{places}f} ± {row[metric + '_sd']:.{places}f}"
