"""Which book a home has: a file of its own, or a database that it shares."""

from pathlib import Path
from typing import TYPE_CHECKING

from density_assets.errors import BadInput
from density_assets.settings import Settings
from resources.ledger.book import Book
from resources.ledger.sqlite import SqliteBook

if TYPE_CHECKING:
    from resources.ledger.postgres import PostgresBook

LEDGER = "ledger.sqlite"  # of a home
SCHEME = "postgresql://"


def book_of(settings: Settings, home: Path) -> Book:
    """The book that settings name; by default a file of the home."""
    url = settings.ledger.url
    return book_at(url.get_secret_value()) if url else SqliteBook(home / LEDGER)


def book_at(address: str) -> Book:
    """The book at the URL of a database, or in a file."""
    if address.startswith(SCHEME):
        return shared_book(address)
    if "://" in address:
        raise BadInput(
            f"a ledger is kept in a file or at an address that begins with {SCHEME}, got another kind of address (not "
            "repeated, since it may hold a password)"
        )
    if "password=" in address:
        raise BadInput("a ledger is kept in a file or at an address, got a list of connection words (not repeated)")
    return SqliteBook(Path(address).absolute())


def shared_book(url: str) -> "PostgresBook":
    """The book in a database; imported here, because who keeps a file needs none of it."""
    try:
        from resources.ledger.postgres import PostgresBook
    except ImportError as lacking:
        raise BadInput(
            f"a ledger in PostgreSQL needs psycopg, which is not here ({lacking}): "
            "pip install 'density-assets[postgres]'"
        ) from None
    return PostgresBook(url)
