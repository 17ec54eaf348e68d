"""Ledgers that somebody has opened for real people."""

from pathlib import Path

import pytest
from ledgers import opened_ledger
from postgres import Server
from shelves import PostgresShelf, Shelf

from resources.ledger.ledger import Ledger


@pytest.fixture
def ledger(shelf: Shelf) -> Ledger:
    """In a file, and in a database."""
    return opened_ledger(shelf.home, shelf.url)


@pytest.fixture
def file_ledger(tmp_path: Path) -> Ledger:
    """Of what is about the file."""
    return opened_ledger(tmp_path)


@pytest.fixture
def database(postgres: Server, tmp_path: Path) -> PostgresShelf:
    """A database with the tables of a ledger."""
    return PostgresShelf(postgres.new_ledger(), tmp_path)
