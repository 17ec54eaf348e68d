"""Hash chains: each row holds the hash of the one before, so that none can be changed, removed or inserted
unnoticed.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

GENESIS = "0" * 64
OUTSIDE = ("row", "hash")  # not part of what is hashed


def row_hash(row: Mapping[str, Any]) -> str:
    """The hash of a row, from its content and the hash before it."""
    content = {name: value for name, value in row.items() if name not in OUTSIDE}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def first_broken(rows: Iterable[Mapping[str, Any]]) -> int | None:
    """Number of the first row, counted from 1, that is not what was written; none if the chain is whole."""
    previous = GENESIS
    for number, row in enumerate(rows, start=1):
        if row["row"] != number or row["previous"] != previous or row["hash"] != row_hash(row):
            return number
        previous = row["hash"]
    return None
