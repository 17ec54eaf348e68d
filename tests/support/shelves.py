"""Where a test keeps its ledger: a file or a database; and what others do to it there."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from postgres import OWNER, SERVICE, USER, Server

from density_assets.privacy.accounts import Record
from resources.ledger.ledger import Ledger
from resources.ledger.sqlite import book_at


@dataclass(frozen=True)
class SqliteShelf:
    """The file of a home."""

    home: Path
    url: str = ""

    @property
    def ledger(self) -> Ledger:
        return Ledger(self.home)

    def tamper(self, *statements: str) -> None:
        """Change rows past the triggers."""
        with closing(sqlite3.connect(self.home / "ledger.sqlite")) as connection, connection:
            for action in ("update", "delete"):
                connection.execute(f"drop trigger entries_no_{action}")
            for statement in statements:
                connection.execute(statement)

    def refusal(self, statement: str) -> str:
        """What is said to whoever changes rows without such an effort."""
        with closing(sqlite3.connect(self.home / "ledger.sqlite")) as connection, pytest.raises(sqlite3.Error) as said:
            connection.execute(statement)
        return str(said.value)

    def lose(self) -> None:
        """Lose every row."""
        for file in self.home.glob("ledger.sqlite*"):
            file.unlink()


@dataclass(frozen=True)
class PostgresShelf:
    """A database with a ledger's tables."""

    server: Server
    home: Path

    @property
    def url(self) -> str:
        return self.server.url(SERVICE)

    @property
    def ledger(self) -> Ledger:
        return Ledger(self.home, book_at(self.url))

    def tamper(self, *statements: str) -> None:
        """Change rows as their owner, past the triggers."""
        off = "; ".join(f"alter table {table} disable trigger append_only" for table in ("entries", "draws"))
        self.server.run(f"set search_path = density; {off}; {'; '.join(statements)}", OWNER)

    def refusal(self, statement: str, role: str = OWNER) -> str:
        """What is said to whoever changes rows without such an effort, be it their owner."""
        import psycopg

        with pytest.raises(psycopg.Error) as said:
            self.server.run(f"set search_path = density; {statement}", role)
        return str(said.value)

    def lose(self) -> None:
        """Lose every row, and have the tables made again."""
        from resources.ledger.postgres import PostgresBook

        self.server.run("drop schema density cascade", USER)
        PostgresBook(self.server.url(OWNER)).make_tables(SERVICE)


Shelf = SqliteShelf | PostgresShelf


def same_rows(one: Sequence[Record], other: Sequence[Record]) -> bool:
    """Whether two books say the same."""
    return list(map(dict, one)) == list(map(dict, other))
