"""Heads of the ledger noted beside it, before anything is drawn.

Witnesses that are made from a draw protect what is older than themselves: between a draw and its first published file
nothing would miss the newest rows. So every row that a draw stands on is noted here before the first random number, in
a file of its own, on disk. Whoever cuts the ledger must cut this file too, which an anchor outside does not let them.
"""

import os
from pathlib import Path

from density_assets.privacy.accounts import Accounts
from density_assets.publication.verify import Damaged, canonical, read_json, shaped
from resources.ledger.book import LedgerError
from resources.ledger.witnesses import NOTHING, Named, Witnesses

HEADS = "ledger.heads"  # of a home; one JSON line for each head, oldest first


def note_head(home: Path, accounts: Accounts) -> None:
    """Note the newest entry, on disk when this returns; nothing if it was the last that was noted."""
    line = canonical({"ledger": accounts.identity, "row": len(accounts.entries), "head": accounts.head}) + b"\n"
    file = home / HEADS
    if file.exists() and file.read_bytes().endswith(line):
        return
    handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        if os.write(handle, line) != len(line):
            raise OSError(28, "the disk is full", str(file))
        os.fsync(handle)
    finally:
        os.close(handle)


def noted_heads(home: Path) -> Witnesses:
    """What was noted under a home; the end of a line that was cut off by a crash says nothing."""
    file = home / HEADS
    if not file.exists():
        return NOTHING
    hashes, ledgers = [], []
    for number, line in enumerate(file.read_bytes().splitlines(keepends=True), start=1):
        if not line.endswith(b"\n"):
            continue
        try:
            said = shaped(read_json(line), "it", ledger="text", row="a whole number from 1", head="text")
        except Damaged:
            raise LedgerError(
                f"line {number} of {file} must be as it was written, but it is damaged: restore {HEADS} with the "
                "ledger, from the same backup"
            ) from None
        hashes.append(Named(said["head"], HEADS))
        ledgers.append(Named(said["ledger"], HEADS))
    return Witnesses(hashes=tuple(hashes), ledgers=tuple(ledgers))
