"""A book in one SQLite file, for everything under one home.

The file is never trusted further than it can be checked: every read begins with SQLite's own check of its pages and
indexes, takes the rows from the table itself and not by way of an index, and leaves all looking up to Python.

A home has such a book unless its settings name a database that it shares.
"""

import os
import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock

from density_assets.errors import BadInput
from density_assets.privacy.accounts import Record
from density_assets.settings import Settings
from resources.ledger.book import Book, LedgerError, Writer
from resources.tables.files import make_folder, private_files

_SCHEMA = """
create table if not exists entries (
    row integer primary key,
    format integer not null,
    kind text not null,
    at text not null,            -- the day, UTC
    body text not null,          -- what the entry says, as JSON
    previous text not null unique,
    hash text not null unique
);
"""
LEDGER = "ledger.sqlite"  # of a home
SCHEME = "postgresql://"
MACHINE = Path("/etc/machine-id")

# What is wrong with a disk, a lock or a permission, and not with the content of the file.
_NOT_DAMAGE = ("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_FULL", "SQLITE_IOERR", "SQLITE_CANTOPEN", "SQLITE_READONLY",
               "SQLITE_PERM", "SQLITE_NOMEM", "SQLITE_CONSTRAINT")  # fmt: skip


class SqliteBook:
    """The ledger's file."""

    shared = False

    def __init__(self, file: Path) -> None:
        self.file = file

    @property
    def name(self) -> str:
        """The name of the file."""
        return self.file.name

    @property
    def address(self) -> str:
        """The whole path."""
        return str(self.file)

    def written(self) -> tuple[int, ...]:
        """When the file and its log were changed, and how large they are."""
        seen: list[int] = []
        for file in (self.file, self.file.with_name(f"{self.file.name}-wal")):
            with suppress(FileNotFoundError):  # the log goes when nobody writes
                seen += [file.stat().st_mtime_ns, file.stat().st_size]
        return tuple(seen)

    def medium(self) -> str:
        """The file's own number, its file system's and the machine's: a copy differs in one of them.

        The number alone is not enough: copied to an empty disk of the same kind a file often gets the same. A clone of
        the whole disk has all three; only an anchor outside tells of it.
        """
        return f"{self.file.stat().st_ino} {os.statvfs(self.file).f_fsid} {_machine()}"

    def read(self) -> Sequence[Record]:
        """All rows."""
        if not self.file.exists():
            return ()
        with closing(self._connect()) as connection, self._clearly():
            return _read(connection)

    @contextmanager
    def writing(self) -> Iterator[Writer]:
        """A transaction that is on disk when it ends, or never was."""
        make_folder(self.file.parent)
        with private_files(), closing(self._connect()) as connection:
            with FileLock(self.file.with_suffix(".lock"), mode=0o600):  # SQLite does not wait for this change
                connection.execute("pragma journal_mode = wal")
            connection.execute("begin immediate")
            try:
                connection.execute(_SCHEMA)
                _guard(connection)
                yield _SqliteWriter(connection, self)
            except BaseException:
                connection.rollback()
                raise
            connection.commit()

    def alone(self, name: str) -> AbstractContextManager[None]:
        """Nothing to wait for: processes of this machine wait for each other by locks of files."""
        return nullcontext()

    def draw(self, charge: str) -> bytes | None:
        """Nothing: the draws of one machine are its files."""
        return None

    def backup(self, copy: Path) -> None:
        """Write a consistent copy, also while others write."""
        copy.parent.mkdir(parents=True, exist_ok=True)
        with private_files(), closing(self._connect()) as connection, closing(sqlite3.connect(copy)) as target:
            connection.backup(target)

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.file, timeout=60, isolation_level=None)
        connection.text_factory = lambda text: text.decode("utf-8", "surrogateescape")  # the chain tells damage
        with self._clearly():
            try:
                connection.execute("pragma synchronous = full")
                self._refuse_foreign(connection)
            except BaseException:
                connection.close()
                raise
        return connection

    def _refuse_foreign(self, connection: sqlite3.Connection) -> None:
        """Raise if the file holds tables and none of them is ours: it is no ledger, and no empty place for one."""
        query = "select name from sqlite_schema where type = 'table' and name not like 'sqlite_%' order by name"
        tables = [name for (name,) in connection.execute(query)]
        if tables and "entries" not in tables:
            raise LedgerError(
                f"a ledger must have a table `entries`, {self.file} holds something else (`{tables[0]}`). Nothing may "
                "be drawn; move it away and restore a backup"
            )

    @contextmanager
    def _clearly(self) -> Iterator[None]:
        """Say of a damaged file what to do; a locked or full one is another matter."""
        try:
            yield
        except sqlite3.DatabaseError as problem:
            if getattr(problem, "sqlite_errorname", "").startswith(_NOT_DAMAGE):
                raise
            raise LedgerError(
                f"the ledger must be a SQLite file, but {self.file} is damaged ({problem}). Nothing may be drawn; move "
                "it away with its -wal and -shm files and restore a backup"
            ) from None


def _machine() -> str:
    """What systemd calls this machine; nothing in a container, which has no name that stays."""
    with suppress(OSError, UnicodeDecodeError):
        name = MACHINE.read_text(encoding="ascii").strip()
        return name if re.fullmatch("[0-9a-f]{32}", name) else ""
    return ""


class _SqliteWriter:
    """A transaction of the file."""

    def __init__(self, connection: sqlite3.Connection, book: SqliteBook) -> None:
        self._connection = connection
        self._book = book

    def read(self) -> Sequence[Record]:
        """All rows, as they are now."""
        with self._book._clearly():
            return _read(self._connection)

    def append(self, record: dict[str, Any]) -> None:
        """Add an entry."""
        _insert(self._connection, record)

    def keep(self, entry: int, charge: str, content: bytes) -> None:
        """Leave it to the file of the draw."""

    def replace(self, records: Sequence[Record]) -> None:
        """Put other rows in place of all."""
        self._connection.execute("drop table entries")  # and its triggers with it
        self._connection.execute(_SCHEMA)
        for record in records:
            _insert(self._connection, record)
        _guard(self._connection)


def _read(connection: sqlite3.Connection) -> Sequence[Record]:
    checked = connection.execute("pragma integrity_check(1)").fetchall()
    if checked != [("ok",)]:
        raise sqlite3.DatabaseError(f"integrity check: {checked[0][0]}")
    if not connection.execute("select * from sqlite_schema where type = 'table' and name = 'entries'").fetchall():
        return ()
    cursor = connection.execute("select * from entries not indexed order by row")
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, values, strict=True)) for values in cursor]


def _guard(connection: sqlite3.Connection) -> None:
    """Let nobody change or remove a row by an honest mistake; the chain notices whoever does it on purpose."""
    for action in ("update", "delete"):
        connection.execute(
            f"create trigger if not exists entries_no_{action} before {action} on entries "
            "begin select raise(abort, 'the ledger is append-only'); end"
        )


def _insert(connection: sqlite3.Connection, row: Record) -> None:
    names, marks = ", ".join(row), ", ".join(f":{name}" for name in row)
    connection.execute(f"insert into entries ({names}) values ({marks})", row)  # noqa: S608  # our names


if TYPE_CHECKING:
    from resources.ledger.postgres import PostgresBook


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
