"""Heads of a ledger that a test anchors, and what anchors must then say of it."""

from signed_release import DAY, key, open_book

from resources.anchors import Anchored, signed_head

OPERATOR = key("operator")
BOOK = open_book(OPERATOR)
OTHER = "f" * 32


def head(row: int, ledger: str = BOOK.identity, hashed: str | None = None) -> dict:
    return signed_head(OPERATOR, ledger, row, hashed or BOOK.entries[row - 1]["hash"], DAY)


def known(*rows: int) -> list[Anchored]:
    return [Anchored(BOOK.identity, row, BOOK.entries[row - 1]["hash"]) for row in rows]
