"""What an identifier of a cell or a tower may be: text that others will read back as it was.

A blank one names nothing, and a control character does not survive a trip through C, a CSV or a terminal. What is
published must not be a formula either: a spreadsheet that opens the CSV would run it.
"""

import re
from collections.abc import Iterable
from pathlib import Path

from density_assets.errors import BadInput, some

# As spreadsheets take it: a sign alone may begin a name such as -12_34, but not a call or a link to a program.
FORMULA = re.compile(r"[=@]|[+-].*[(|!]")


def refuse_formulas(ids: Iterable[object], path: Path, column: str) -> None:
    """Raise if an identifier or a name that is published would be run by a spreadsheet."""
    odd = [repr(text) for text in map(str, ids) if FORMULA.match(text)]
    if odd:
        raise BadInput(
            f"{path.name}: {column!r} is published, so its values must not be formulas that a spreadsheet runs, found "
            f"{len(odd):,} that begin like one: {some(odd)}"
        )


def refuse_unprintable(ids: Iterable[object], path: Path, column: str) -> None:
    """Raise if an identifier is blank or has a control character."""
    texts = [str(id_) for id_ in ids]
    odd = [repr(text) for text in texts if not text.strip() or any(map(_control, text))]
    if odd:
        raise BadInput(
            f"{path.name}: ids in {column!r} must be neither blank nor hold control characters, "
            f"found {len(odd)} that do: {some(odd)}"
        )


def _control(character: str) -> bool:
    return character < " " or character == "\x7f"
