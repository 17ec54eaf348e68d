"""A book in a PostgreSQL database, for several machines that draw from one budget.

Whoever writes first takes a lock that the transaction holds to its end. It is the first statement of a READ COMMITTED
transaction, so what follows sees all that was committed before; under a stricter isolation whoever waits would look at
what was there before waiting. Should a writer forget the lock, `previous` is unique: the chain cannot fork.

Files of draws are kept beside the rows, in the transaction that notes their digest. So a draw that the ledger knows can
be had by every machine, and one that was lost on its way here was never a draw of the ledger.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from psycopg import IsolationLevel, sql

from density_assets.privacy.accounts import Record
from resources.ledger.book import LedgerError, Writer
from resources.ledger.postgres_tables import SERVICE, tables_sql
from resources.ledger.sqlite import SqliteBook
from resources.postgres import Connection, connected, lock_number, parsed, shown_address, take_lock
from resources.tables.files import private_files

WAITING = "60s"  # for whoever writes, before it is said to be stuck
COLUMNS = ("row", "format", "kind", "at", "body", "previous", "hash")
_RIGHTS = """
select current_setting('fsync') = 'on' as durable,
    has_table_privilege('density.entries', 'select') and has_table_privilege('density.entries', 'insert') as adds,
    exists (
        select from pg_class where relnamespace = 'density'::regnamespace and relkind = 'r' and (
            has_any_column_privilege(oid, 'update') or has_table_privilege(oid, 'delete')
            or has_table_privilege(oid, 'truncate') or pg_has_role(relowner, 'member'))
    ) as changes
"""


class PostgresBook:
    """The ledger's database.

    url: of the database, with the role that charges.
    """

    shared = True

    def __init__(self, url: str) -> None:
        parsed(url)
        self._url = url

    @property
    def name(self) -> str:
        """Where it is, without anything secret."""
        return shown_address(self._url)

    address = name

    def written(self) -> tuple[int, ...]:
        """How many rows there are."""
        with self._connected() as connection:
            if not _made(connection):
                return ()
            found = connection.execute("select count(*) as many, coalesce(max(row), 0) as last from density.entries")
            return tuple(int(number) for row in found for number in row.values())

    def medium(self) -> str:
        """The cluster's own number and the database's: one that was restored from a dump elsewhere differs.

        A standby that takes over has both, as it should. A clone of the disk has them too; only an anchor tells.
        """
        with self._connected() as connection:
            found = connection.execute(
                "select system_identifier::text as cluster, oid::text as database "
                "from pg_control_system(), pg_database where datname = current_database()"
            ).fetchall()
        return f"{found[0]['cluster']} {found[0]['database']}"

    def read(self) -> Sequence[Record]:
        """All rows, of one moment."""
        with self._connected(IsolationLevel.REPEATABLE_READ) as connection, connection.transaction():
            return _read(connection) if _made(connection) else ()

    @contextmanager
    def writing(self) -> Iterator[Writer]:
        """A transaction that is on disk when it ends, or never was."""
        with self._connected() as connection, connection.transaction():
            connection.execute(sql.SQL("set local lock_timeout = {}").format(WAITING))
            connection.execute("select pg_advisory_xact_lock(%s)", (lock_number("ledger"),))
            connection.execute("set local synchronous_commit = on")  # and on a synchronous standby, if there is one
            self._refuse_unfit(connection)
            yield _PostgresWriter(connection, self.name)

    @contextmanager
    def alone(self, name: str) -> Iterator[None]:
        """One process at a time, on whatever machine; the lock goes with its connection.

        Should that be lost meanwhile, a second process may begin. Rows stay right all the same: whoever finishes a draw
        second is refused.
        """
        with self._connected() as connection:
            take_lock(connection, name)
            yield

    def draw(self, charge: str) -> bytes | None:
        """The file of the draw that a charge paid for."""
        with self._connected() as connection:
            found = connection.execute("select content from density.draws where charge = %s", (charge,)).fetchall()
        return bytes(found[0]["content"]) if found else None

    def backup(self, copy: Path) -> None:
        """Write all rows to a SQLite file, which any installation can read and restore; draws are files anyway."""
        copy.parent.mkdir(parents=True, exist_ok=True)
        records = self.read()
        with private_files(), SqliteBook(copy).writing() as writer:
            writer.replace(records)

    def make_tables(self, service: str = SERVICE) -> None:
        """Make the tables as their owner, and let a role read and add, nothing else."""
        with connected(self._url, self._not_made) as connection, connection.transaction():
            connection.execute(tables_sql(service).encode())

    def _connected(self, isolation: IsolationLevel = IsolationLevel.READ_COMMITTED) -> Any:
        return connected(self._url, self._fault, isolation)

    def _refuse_unfit(self, connection: Connection) -> None:
        """Raise unless what is added is on disk when it is committed, and stays."""
        if not _made(connection):
            raise LedgerError(
                f"the tables of a ledger must be made by their owner, {self.name} has none: `density ledger tables "
                "--help`. Nothing was written"
            )
        (rights,) = connection.execute(_RIGHTS).fetchall()
        if not rights["durable"]:
            raise LedgerError(
                f"the ledger's database must write to disk what it commits, {self.name} has fsync = off and could "
                "forget a charge: turn it on. Nothing was written"
            )
        if not rights["adds"]:
            raise LedgerError(self._wrong_role("it may not"))
        if rights["changes"]:
            raise LedgerError(
                self._wrong_role("it may change and remove them too: it is their owner, a member of it or a superuser")
            )

    def _wrong_role(self, got: str) -> str:
        return (
            f"the role that charges must be able to read and add rows of {self.name} and nothing else, but {got}: name "
            "the role that the owner gave to `density ledger tables --service` in [ledger] url. Nothing was written"
        )

    def _not_made(self, said: str, problem: psycopg.Error) -> LedgerError:
        if not isinstance(problem, psycopg.errors.InsufficientPrivilege):
            return self._fault(said, problem)
        return LedgerError(
            f"the tables of a ledger must be made by the owner of its database, after a superuser has made the roles "
            f"(deploy/roles.sql), but {self.name} gave: {said}. Nothing was made"
        )

    def _fault(self, said: str, problem: psycopg.Error) -> LedgerError:
        if isinstance(problem, psycopg.errors.InsufficientPrivilege):
            return LedgerError(self._wrong_role(said))
        if isinstance(problem, psycopg.errors.LockNotAvailable):
            return LedgerError(
                f"a writer must let go of the ledger within {WAITING}, but another one holds {self.name}: look whether "
                "a run is stuck, and start again. Nothing was written"
            )
        if isinstance(problem, psycopg.errors.DiskFull):
            return LedgerError(
                f"the ledger's database must have room for what is written, but {self.name} has none ({said}): free "
                "some space on its disk and start again. Nothing was written"
            )
        if isinstance(problem, psycopg.errors.UniqueViolation):
            return LedgerError(
                f"one writer at a time adds to a ledger, but a row of {self.name} was added past its lock ({said}): "
                "find out who did. Nothing was written"
            )
        return LedgerError(
            f"the ledger's database must answer, but {self.name} did not ({said}): bring it back and start again. "
            "Whether the last row was written is seen then; nothing is drawn twice"
        )


class _PostgresWriter:
    """A transaction that holds the lock."""

    def __init__(self, connection: Connection, name: str) -> None:
        self._connection = connection
        self._name = name

    def read(self) -> Sequence[Record]:
        """All rows, as they are now."""
        return _read(self._connection)

    def append(self, record: Mapping[str, Any]) -> None:
        """Add an entry."""
        names, marks = (sql.SQL(", ").join(map(kind, COLUMNS)) for kind in (sql.Identifier, sql.Placeholder))
        self._connection.execute(
            sql.SQL("insert into density.entries ({}) values ({})").format(names, marks), dict(record)
        )

    def keep(self, entry: int, charge: str, content: bytes) -> None:
        """Keep the file of a draw; one that is kept stays."""
        self._connection.execute(
            "insert into density.draws (charge, entry, content) values (%s, %s, %s) on conflict do nothing",
            (charge, entry, content),
        )
        (found,) = self._connection.execute("select content from density.draws where charge = %s", (charge,)).fetchall()
        if bytes(found["content"]) != content:
            raise LedgerError(
                f"a draw must be kept as it was made, but another one for its charge was put into {self._name}. "
                "Nothing was noted. Find out who writes there besides this software"
            )

    def replace(self, records: Sequence[Record]) -> None:
        """Add what is missing of other rows that begin like those which are there; nothing is ever removed."""
        present = self.read()
        if list(present) != list(records[: len(present)]):
            raise LedgerError(
                f"rows of a ledger in a database are added and never replaced, but those of {self._name} are others "
                "than the copy begins with: let the owner rename its schema (`alter schema density rename to …`) and "
                "make the tables again, or restore the database by its own backup. Nothing was written"
            )
        for record in records[len(present) :]:
            self.append(record)


def _made(connection: Connection) -> bool:
    (found,) = connection.execute("select to_regclass('density.entries') is not null as made").fetchall()
    return bool(found["made"])


def _read(connection: Connection) -> Sequence[Record]:
    names = sql.SQL(", ").join(map(sql.Identifier, COLUMNS))
    return connection.execute(sql.SQL("select {} from density.entries order by row").format(names)).fetchall()
