"""Heads of a ledger that a test anchors, and what anchors must then say of it."""

import subprocess
from pathlib import Path

from signed_release import DAY, key, open_book

from resources.anchors import Anchored, AnchorFile, Keeper, signed_head

OPERATOR = key("operator")
BOOK = open_book(OPERATOR)
OTHER = "f" * 32


def head(row: int, ledger: str = BOOK.identity, hashed: str | None = None) -> dict:
    return signed_head(OPERATOR, ledger, row, hashed or BOOK.entries[row - 1]["hash"], DAY)


def known(*rows: int) -> list[Anchored]:
    return [Anchored(BOOK.identity, row, BOOK.entries[row - 1]["hash"]) for row in rows]


def git(folder: Path, *words: str) -> str:
    who = ("-c", "user.name=somebody", "-c", "user.email=somebody@localhost")
    return subprocess.run(["git", "-C", str(folder), *who, *words], check=True, capture_output=True, text=True).stdout


def written(keeper: Keeper) -> Path:
    """Where the lines are."""
    return keeper.file if isinstance(keeper, AnchorFile) else keeper.folder / f"{BOOK.identity}.jsonl"
