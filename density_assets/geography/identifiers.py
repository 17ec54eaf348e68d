"""What an identifier of a cell or a tower may be: text that others will read back as it was.

A blank one names nothing, and a control character does not survive a trip through C, a CSV or a terminal.
"""

from collections.abc import Iterable
from pathlib import Path

from density_assets.errors import BadInput, some


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
