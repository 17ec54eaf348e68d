"""Where the rows of a ledger are kept: read as a whole, added to one at a time, never changed.

A book knows nothing of charges and budgets. `SqliteBook` is one file under the home, for one machine. `PostgresBook` is
a database, for several. Whoever keeps a book elsewhere offers these methods, and the same contract tests hold.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

from density_assets.privacy.accounts import Record, row_hash


class LedgerError(RuntimeError):
    """The ledger cannot be trusted: nothing may be drawn until a person has looked."""


class Writer(Protocol):
    """A transaction in which nobody else writes."""

    def read(self) -> Sequence[Record]:
        """All rows, as they are now."""

    def append(self, record: dict[str, Any]) -> None:
        """Add an entry."""

    def keep(self, entry: int, charge: str, content: bytes) -> None:
        """Keep the file of a draw where every machine finds it; a book of one machine leaves it to the file.

        entry: the row that says its digest. charge: hash of the one that paid for it.
        """

    def replace(self, records: Sequence[Record]) -> None:
        """Put other rows in place of all; for restoring or moving a ledger, and nothing else."""


class Book(Protocol):
    """Where rows are kept."""

    @property
    def name(self) -> str:
        """For people."""

    @property
    def address(self) -> str:
        """Where to find it, for people; nothing secret."""

    @property
    def shared(self) -> bool:
        """Whether several machines write to it, so that draws are kept in it too."""

    def written(self) -> tuple[int, ...]:
        """What changes when something is added."""

    def medium(self) -> str:
        """What changes when the book is copied."""

    def read(self) -> Sequence[Record]:
        """All rows, after a look at whether what they are kept in is sound; raises `LedgerError` if it is not."""

    def writing(self) -> AbstractContextManager[Writer]:
        """A transaction that is on disk when it ends, or never was."""

    def alone(self, name: str) -> AbstractContextManager[None]:
        """One machine at a time works on what is named; processes of one machine have locks of files."""

    def draw(self, charge: str) -> bytes | None:
        """The file of the draw that a charge paid for, if it is kept here."""

    def backup(self, copy: Path) -> None:
        """Write a consistent copy, also while others write."""


def medium_digest(identity: str, book: Book) -> str:
    """Return where a ledger lies, said without showing it: a copy is told by it from the ledger that was copied."""
    return row_hash({"ledger": identity, "place": book.medium()})[:32]


def nowhere_digest(identity: str) -> str:
    """Return what a ledger says of its medium while it is copied: no book lies there."""
    return row_hash({"ledger": identity, "place": "nowhere"})[:32]
