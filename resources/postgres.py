"""Connections to PostgreSQL: what they are opened with, what is said when one fails, and locks all machines see.

Imported only where a setting names such a database: psycopg comes with the extra `density-assets[postgres]`.
"""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import psycopg
from psycopg import IsolationLevel
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import dict_row

from density_assets.errors import BadInput

Connection = psycopg.Connection[dict[str, Any]]

# A server or a network that is gone is noticed within a minute, also by a connection that only holds a lock.
PATIENCE = {
    "connect_timeout": 10,
    "keepalives_idle": 20,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,
}
# Whatever server, database or role have by default: waiting for a lock is not a fault, nor is holding one for long.
SESSION = "set statement_timeout = 0; set lock_timeout = 0; set idle_session_timeout = 0; set client_encoding = 'UTF8'"


def parsed(url: str) -> dict[str, Any]:
    """The parts of an address; one that is none is refused without repeating it, because it may hold a password."""
    try:
        known = conninfo_to_dict(url)
        if any("@" in str(known.get(part)) for part in ("host", "dbname")):  # the rest of a password, which is shown
            raise psycopg.ProgrammingError
        return known
    except psycopg.ProgrammingError:
        raise BadInput(
            "the address of a database must be one that PostgreSQL can read, postgresql://ROLE@HOST:PORT/DATABASE; "
            "what was given is not (it is not repeated, since it may hold a password): mend it; in a password @ is "
            "written %40, / is %2F and % is %25"
        ) from None


def shown_address(url: str) -> str:
    """Where a database is, for people: without role and password."""
    known = parsed(url)
    if service := known.get("service"):
        return f"postgresql:///?service={service}"
    return f"postgresql://{known.get('host', '')}:{known.get('port', 5432)}/{known.get('dbname', '')}"


@contextmanager
def connected(
    url: str,
    fault: Callable[[str, psycopg.Error], Exception],
    isolation: IsolationLevel = IsolationLevel.READ_COMMITTED,
) -> Iterator[Connection]:
    """A connection on which every transaction has the isolation that is asked for, whatever the server's default.

    fault: makes what is raised in place of an error of the database; gets its first line, without any password.
    """
    known = parsed(url)
    try:
        with closing(psycopg.connect(**{**PATIENCE, **known}, autocommit=True, row_factory=dict_row)) as connection:
            connection.execute(SESSION)
            connection.isolation_level = isolation
            yield connection
    except psycopg.Error as problem:
        raise fault(_first_line(problem, known.get("password")), problem) from None


def take_lock(connection: Connection, name: str) -> None:
    """Wait until no other connection holds a lock, and hold it as long as this one lasts."""
    connection.execute("select pg_advisory_lock(%s)", (lock_number(name),))


def try_lock(connection: Connection, name: str) -> bool:
    """Hold a lock as long as this connection lasts, if nobody else does; whether that is so."""
    found = connection.execute("select pg_try_advisory_lock(%s) as held", (lock_number(name),)).fetchone()
    return bool(found and found["held"])


def lock_number(name: str) -> int:
    """The number PostgreSQL knows a lock by; two names that share one wait for each other, no more."""
    return int.from_bytes(hashlib.sha256(f"density {name}".encode()).digest()[:8], signed=True)


def _first_line(problem: psycopg.Error, password: str | None) -> str:
    said = str(problem).strip().splitlines() or [type(problem).__name__]
    return said[0].replace(password, "…") if password else said[0]
