"""A real PostgreSQL on loopback, in a temporary folder, and databases with ledgers in it."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

import pytest
from object_store import free_port

INSTALLED = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda file: int(file.parts[-3]))
USER = "postgres"  # the server refuses to run as root
OWNER, SERVICE = "ledger_owner", "density_service"
_names = count(1)


def unavailable() -> str:
    """Why no server can be started here; empty if one can."""
    try:
        import psycopg  # noqa: F401
    except ImportError:
        return "needs psycopg: pip install 'density-assets[postgres]'"
    if not INSTALLED:
        return "needs Debian's postgresql, which is not installed and could not be"
    if os.geteuid() == 0 and not shutil.which("runuser"):
        return "PostgreSQL does not run as root, and there is no runuser"
    return ""


needs_postgres = pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "here")


@dataclass(frozen=True)
class Server:
    """A running server. Everybody on loopback may connect as every role: passwords are not what is tested here."""

    folder: Path
    port: int
    database: str = USER

    def url(self, role: str) -> str:
        """Of its database, for a role."""
        return f"postgresql://{role}@127.0.0.1:{self.port}/{self.database}"

    def run(self, statement: str, role: str = USER) -> list[tuple]:
        """Run SQL as a role; returns rows, if there are any."""
        import psycopg

        with psycopg.connect(self.url(role), autocommit=True) as connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def new_database(self) -> "Server":
        """A database of its own, empty."""
        name = f"test_{os.getpid()}_{next(_names)}"
        self.run(f"create database {name} owner {OWNER}")
        return replace(self, database=name)

    def new_ledger(self) -> "Server":
        """A database with the empty tables of a ledger, which the service may use; the same for one test after another.

        A server that has to recover looks at every file, and a database has hundreds.
        """
        from resources.ledger.postgres import PostgresBook

        made = replace(self, database="ledger_of_a_test")
        if not self.run(f"select 1 from pg_database where datname = '{made.database}'"):
            self.run(f"create database {made.database} owner {OWNER}")
        made.run(f"drop schema if exists density cascade; alter role {SERVICE} in database {made.database} reset all")
        PostgresBook(made.url(OWNER)).make_tables(SERVICE)
        return made

    def stop(self) -> None:
        """Stop it as a power cut would: connections end, and nothing is tidied up."""
        _control(self.folder, "stop", "-m", "immediate")

    def start(self) -> None:
        """Start it, again."""
        options = f"-c port={self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={self.folder}"
        log = str(self.folder / "log")
        _control(
            self.folder,
            "start",
            "-w",
            "-l",
            log,
            "-o",
            f"{options} -c max_connections=50 -c shared_buffers=16MB",
        )


@contextmanager
def served() -> Iterator[Server]:
    """A server that is stopped at the end."""
    folder = Path(tempfile.mkdtemp(prefix="density-postgres-"))
    if os.geteuid() == 0:
        shutil.chown(folder, USER, USER)
    _as_user(INSTALLED[-1], "-D", folder / "data", "-U", USER, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
    server = Server(folder, free_port())
    server.start()
    try:
        server.run(f"create role {OWNER} login createrole")
        server.run(f"create role {SERVICE} login")
        yield server
    finally:
        _control(folder, "stop", "-m", "immediate", check=False)  # nobody needs it again
        shutil.rmtree(folder, ignore_errors=True)


def _control(folder: Path, *words: object, check: bool = True) -> None:
    _as_user(INSTALLED[-1].with_name("pg_ctl"), "-D", folder / "data", *words, check=check)


def _as_user(program: Path, *words: object, check: bool = True) -> None:
    before = ["runuser", "-u", USER, "--"] if os.geteuid() == 0 else []
    command = [*before, str(program), *map(str, words)]
    # Not captured: a server that stays would keep the pipe open.
    subprocess.run(command, check=check, cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120)
