"""What a ledger says of the medium its book lies on, so that a copy is told from the ledger that was copied."""

from density_assets.privacy.chain import row_hash
from resources.ledger.book import Book


def medium_digest(identity: str, book: Book) -> str:
    """Where a ledger lies, said without showing it."""
    return row_hash({"ledger": identity, "place": book.medium()})[:32]


def earlier_medium_digest(identity: str, book: Book) -> str:
    """The same as earlier versions said it; a ledger that was opened or moved by them is believed by it."""
    return row_hash({"ledger": identity, "place": book.earlier_medium()})[:32]


def nowhere_digest(identity: str) -> str:
    """What a ledger says of its medium while it is copied: no book lies there."""
    return row_hash({"ledger": identity, "place": "nowhere"})[:32]
