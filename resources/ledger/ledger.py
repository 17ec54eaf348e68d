"""The ledger: what every release of a population has cost, and whether one more may be paid.

One SQLite file for everything under `$DENSITY_HOME`, apart from any table a user may delete, because budgets follow
people and not cities. Rows are only ever added; each holds the hash of the one before. A charge is committed to disk
before noise is drawn, and so is the note that its noise is about to be drawn: whatever happens next, the same charge
never pays for a second draw.
"""

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from filelock import FileLock

from density_assets.privacy.chain import GENESIS, first_broken, row_hash
from density_assets.privacy.charges import Budget, Row, refuse_over_budget
from density_assets.privacy.events import Event, from_record, to_record
from density_assets.privacy.release import Charge

UNIT = "one subscriber identifier, one week"

_SCHEMA = """
create table if not exists charges (
    row integer primary key,
    at text not null,            -- the day it was charged, UTC
    population text not null,    -- whose budget it is
    unit text not null,          -- what one user's presence means
    city text not null,
    week text not null,
    revision integer not null,
    door text not null,          -- the mechanism asset that draws
    measurement text not null,   -- key of the measurement the charge pays for
    epsilon real not null,       -- promise of the whole release
    delta real not null,
    events text not null,        -- what this door spends, as JSON
    previous text not null,
    hash text not null unique
);
create table if not exists draws (
    row integer primary key,
    at text not null,
    charge text not null unique references charges (hash),
    previous text not null,
    hash text not null unique
);
"""
_TRIGGERS = {
    f"{table}_no_{action}": f"create trigger if not exists {table}_no_{action} before {action} on {table} "
    "begin select raise(abort, 'the ledger is append-only'); end"
    for table in ("charges", "draws")
    for action in ("update", "delete")
}


class LedgerError(RuntimeError):
    """The ledger cannot be trusted: nothing may be drawn until a person has looked."""


class Ledger:
    """The ledger file under a home folder."""

    def __init__(self, home: Path) -> None:
        self.file = home / "ledger.sqlite"
        self._home = home

    # --- paying ---------------------------------------------------------------------------------------------

    def reserve(self, charges: Sequence[Charge], budget: Budget, witnesses: frozenset[str]) -> list[Charge]:
        """Charge every door of a release that is not paid for yet, all or none; returns what was charged now.

        A charge whose noise may have been drawn already pays for nothing more: its door is charged again.

        witnesses: hashes of charges that stored measurements name; the ledger must know them all.
        """
        with self._writing() as connection:
            self._refuse_if_damaged(connection, witnesses)
            unused = {(row.charge.measurement, row.charge.events) for row in _rows(connection) if not row.drawn}
            due = [charge for charge in charges if (charge.measurement, charge.events) not in unused]
            if due:
                refuse_over_budget(list(_rows(connection)), due, budget)
            for charge in due:
                _append_charge(connection, charge)
            return due

    def begin_draw(self, measurement: str, events: tuple[Event, ...]) -> str:
        """Note that the noise of a charge for these very events is about to be drawn; returns the charge's hash.

        Committed before the first random number: from here on the charge is used, drawn or not.
        """
        with self._writing() as connection:
            for row in _rows(connection):
                if (row.charge.measurement, row.charge.events) == (measurement, events) and not row.drawn:
                    _append_draw(connection, row.hash)
                    return row.hash
        raise LedgerError(f"a draw must be paid for; measurement {measurement[:12]} has no unused charge: reserve it")

    # --- looking --------------------------------------------------------------------------------------------

    def rows(self) -> list[Row]:
        """Every charge, oldest first."""
        if not self.file.exists():
            return []
        with closing(self._connect()) as connection:
            return list(_rows(connection))

    def records(self) -> list[dict[str, Any]]:
        """Every charge as it is stored, for whoever wants to check the chain."""
        with closing(self._connect()) as connection:
            return _records(connection, "charges")

    def head(self) -> str:
        """Hash of the newest charge."""
        rows = self.rows()
        return rows[-1].hash if rows else GENESIS

    def verify(self, witnesses: frozenset[str] = frozenset()) -> int:
        """Check the whole chain and that nothing the measurements know of is missing; returns the number of charges."""
        if not self.file.exists():
            if witnesses:
                raise LedgerError(_missing(witnesses, self.file))
            return 0
        with closing(self._connect()) as connection:
            self._refuse_if_damaged(connection, witnesses)
            return len(list(_rows(connection)))

    def problem(self, witnesses: frozenset[str]) -> str | None:
        """Why the ledger cannot be trusted; none if it is whole."""
        try:
            self.verify(witnesses)
        except LedgerError as found:
            return str(found)
        return None

    def backup(self, copy: Path) -> None:
        """Write a consistent copy, also while others write."""
        if not self.file.exists():
            raise LedgerError(f"there is no ledger to back up yet: {self.file} is made by the first release")
        self.verify()
        copy.parent.mkdir(parents=True, exist_ok=True)
        with closing(self._connect()) as connection, closing(sqlite3.connect(copy)) as target:
            connection.backup(target)

    def restore(self, copy: Path, witnesses: frozenset[str]) -> None:
        """Put a copy back; refused if it is damaged, knows less than the measurements, or less than the ledger.

        Nobody charges meanwhile: the comparison and the exchange happen under the ledger's own lock.
        """
        saved = Ledger(copy.parent)
        saved.file = copy
        saved.verify(witnesses)
        with self._writing() as connection, closing(saved._connect()) as source:
            for table in ("charges", "draws"):
                if lost := _hashes(connection, table) - _hashes(source, table):
                    raise LedgerError(
                        f"a restored ledger must hold everything the present one does, {copy} lacks {len(lost)} "
                        f"{table}: keep the present one"
                    )
            for name in _TRIGGERS:
                connection.execute(f"drop trigger {name}")
            for table in ("draws", "charges"):
                connection.execute(f"delete from {table}")  # noqa: S608  # our names
            for table in ("charges", "draws"):
                for record in _records(source, table):
                    _insert(connection, table, record)
            for trigger in _TRIGGERS.values():
                connection.execute(trigger)

    # --- inside ---------------------------------------------------------------------------------------------

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.file, timeout=60, isolation_level=None)
        try:
            connection.execute("pragma synchronous = full")
            connection.execute("select count(*) from sqlite_schema").fetchall()
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError as problem:
            connection.close()
            raise LedgerError(
                f"the ledger must be a SQLite file, but {self.file} is damaged ({problem}). Nothing may be drawn; move "
                "it away with its -wal and -shm files and restore a backup"
            ) from None
        return connection

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction that is on disk when it ends, or never was."""
        self._home.mkdir(parents=True, exist_ok=True)
        with closing(self._connect()) as connection:
            with FileLock(self.file.with_suffix(".lock"), mode=0o600):  # SQLite does not wait for this change
                connection.execute("pragma journal_mode = wal")
            connection.executescript(_SCHEMA + ";".join(_TRIGGERS.values()))
            connection.execute("begin immediate")
            try:
                yield connection
            except BaseException:
                connection.rollback()
                raise
            connection.commit()

    def _refuse_if_damaged(self, connection: sqlite3.Connection, witnesses: frozenset[str]) -> None:
        for table in ("charges", "draws"):
            _verify_chain(connection, table)
        if unknown := witnesses - {row.hash for row in _rows(connection) if row.drawn}:
            raise LedgerError(_missing(unknown, self.file))


def _append_charge(connection: sqlite3.Connection, charge: Charge) -> None:
    content = {
        **{name: value for name, value in asdict(charge).items() if name != "events"},
        "at": _today(),
        "unit": UNIT,
        "events": json.dumps([to_record(event) for event in charge.events], sort_keys=True),
    }
    _append(connection, "charges", content)


def _append_draw(connection: sqlite3.Connection, charge_hash: str) -> None:
    _append(connection, "draws", {"at": _today(), "charge": charge_hash})


def _append(connection: sqlite3.Connection, table: str, content: dict[str, Any]) -> None:
    last = connection.execute(f"select hash from {table} order by row desc limit 1").fetchone()  # noqa: S608  # our names
    row = {**content, "previous": last[0] if last else GENESIS}
    _insert(connection, table, {**row, "hash": row_hash(row)})


def _insert(connection: sqlite3.Connection, table: str, row: dict[str, Any]) -> None:
    names, marks = ", ".join(row), ", ".join(f":{name}" for name in row)
    connection.execute(f"insert into {table} ({names}) values ({marks})", row)  # noqa: S608  # our names


def _hashes(connection: sqlite3.Connection, table: str) -> set[str]:
    return {record["hash"] for record in _records(connection, table)}


def _verify_chain(connection: sqlite3.Connection, table: str) -> None:
    if number := first_broken(_records(connection, table)):
        raise LedgerError(
            f"row {number} of the ledger's {table} is not what was written: it was changed, removed or inserted. "
            "Nothing may be drawn; restore a backup and find out what happened"
        )


def _records(connection: sqlite3.Connection, table: str) -> list[dict[str, Any]]:
    cursor = connection.execute(f"select * from {table} order by row")  # noqa: S608  # our names
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, values, strict=True)) for values in cursor]


def _rows(connection: sqlite3.Connection) -> Iterator[Row]:
    cursor = connection.execute(
        "select c.*, d.row is not null as drawn from charges c left join draws d on d.charge = c.hash order by c.row"
    )
    names = [column[0] for column in cursor.description]
    for values in cursor:
        row = dict(zip(names, values, strict=True))
        charge = Charge(
            **{name: row[name] for name in Charge.__dataclass_fields__ if name != "events"},
            events=tuple(from_record(record) for record in json.loads(row["events"])),
        )
        yield Row(row["row"], row["at"], charge, row["hash"], bool(row["drawn"]))


def _missing(unknown: frozenset[str], file: Path) -> str:
    return (
        f"the ledger must hold every charge a stored measurement was drawn under, {file.name} lacks {len(unknown)} "
        f"({min(unknown)[:12]}…): it was cut, lost or replaced by an older copy. "
        "Nothing may be drawn; restore a newer backup"
    )


def _today() -> str:
    """The day, no more: the ledger is handed out, and how long a week took to count tells how many records it has."""
    return datetime.now(UTC).date().isoformat()
