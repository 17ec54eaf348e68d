"""Steps that may be handed out run in one worker per run, a process that cannot open confidential files.

The `Reader` refuses reads that go through it, but Python lets any code open any file its owner may. So the functions of
released assets run in a fresh process. Before it imports anything it puts every confidential folder, and the operator's
own records, out of its reach, and keeps the right to write below the release folder only (`resources/wall.py`). It
starts with the run, imports the code while confidential steps work, makes released steps one after another, and ends
with the run. Where the kernel cannot wall it off, each step says so and runs all the same.

Orders to it are pickles. What it answers is not: a pickle would be code that runs outside the wall. An answer is JSON,
a table is Arrow, a picture or file is its bytes, and an error is its name and words.
"""

import io
import json
import os
import pickle
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib import import_module
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import dagster as dg
import polars as pl

from density_assets.city import City
from density_assets.errors import BadInput, PublishedStays
from density_assets.graph.step import Made, Step
from density_assets.privacy.zones import ZoneLeak
from density_assets.records.files import of_any_week
from density_assets.settings import Settings
from density_assets.settings.environment import SETTINGS, SHARED_INSTANCE, shared_files
from density_assets.settings.values import AGENT, is_url
from resources.faults import in_clear_words
from resources.signing import KEYS
from resources.tables.weeks import folders_under
from resources.wall import tell_failure

STORAGE_VARIABLE = "DENSITY_DAGSTER_STORAGE"  # by which Dagster finds the database of its history
# Beginnings of variables that open a database or a store elsewhere: no step that is walled off has business with one.
WITHHELD_VARIABLES = (STORAGE_VARIABLE, "PG", "AWS_", "AZURE_", "GOOGLE_", "FSSPEC_", "HADOOP_")
PRELOADED = ("density_assets.graph.release", "density_assets.graph.register", "matplotlib.figure")
START = "from resources import wall; from multiprocessing.connection import Connection as C; "
START += "orders = C({}); walled_off = wall.enter(orders); from density_assets.graph.worker import work; "
START += "work(orders, walled_off=walled_off)"

WILDCARDS = "*?[{"
DEVICES = tuple(Path("/dev") / name for name in ("null", "zero", "full", "random", "urandom", "tty", "shm"))
CREDENTIALS = (
    *(".ssh", ".gnupg", ".docker", ".aws", ".azure", ".config/gcloud", ".config/fsspec"),
    *(".pgpass", ".pg_service.conf"),
)
CREDENTIAL_VARIABLES = ("PGPASSFILE", "PGSERVICEFILE", "GOOGLE_APPLICATION_CREDENTIALS", SETTINGS)
NAMES_A_FILE = ("_CREDENTIALS_FILE", "_TOKEN_FILE", "_CONFIG_FILE")

OUR_ERRORS = {error.__name__: error for error in (BadInput, ZoneLeak, PublishedStays)}
SHOWN_AS: dict[str, Callable[[Any], Any]] = {
    "md": dg.MetadataValue.md,
    "path": dg.MetadataValue.path,
    "plain": lambda value: value,
}


class RemoteError(Exception):
    """What went wrong in the worker, as it would have been printed there."""


@dataclass(frozen=True)
class Wall:
    """What a worker is kept from, and what it may write."""

    hidden: tuple[Path, ...]
    writable: tuple[Path, ...]

    @classmethod
    def of(cls, city: City) -> "Wall":
        """The wall around released steps of a city. Its folders are there once its tables are opened."""
        tables = city.store
        return cls(tuple(hidden_from_releases(city)), (tables.release, tables.locks, *DEVICES))

    def covers(self, other: "Wall") -> bool:
        """Whether whoever is behind this wall can do no more than behind the other."""
        hidden = set(self.hidden)
        covered = all(not hidden.isdisjoint((path, *path.parents)) for path in other.hidden)
        return covered and self.writable == other.writable


@dataclass
class Worker:
    """A process behind a wall, as the one that started it sees it.

    run: whose released steps it makes.
    owner: the process that started it; one that was forked from that may not use it.
    """

    run: str
    wall: Wall
    owner: int
    pid: int
    orders: Connection
    busy: bool = False

    def end(self) -> None:
        """Let it do nothing more: it ends by itself where nobody can order anything, and now if it is at work."""
        self.orders.close()
        if self.busy and self.owner == os.getpid():
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)

    def perform(self, module: str, step: Step, arguments: dict[str, Any]) -> Made:
        """Return what the function of a released asset makes; its facts say whether there was a wall."""
        self.busy = True
        order = replace(step, settings=step.settings.without_databases(), say=_unheard, warn=_unheard)
        with suppress(ConnectionError):  # a worker that is gone may have said why
            self.orders.send_bytes(pickle.dumps((module, order, arguments)))
        made = self._answer(step)
        self.busy = False
        return made

    def _answer(self, step: Step) -> Made:
        """Pass on the lines that the step says until it has made something, or failed."""
        hear = {"say": step.say, "warn": step.warn}
        while True:
            try:
                message = _receive(self.orders)
            except (EOFError, ConnectionError):
                raise RuntimeError(f"the worker died during {step.name}; start the run again") from None
            kind = message["kind"]
            if kind in hear:
                hear[kind](str(message["line"]))
            elif kind == "failed":
                raise _error(message) from RemoteError(message["printed"])
            elif kind == "made":
                return _receive_made(self.orders, message)
            else:
                raise RuntimeError(f"unknown answer of the worker during {step.name}: {kind!r}")


_workers: list[Worker] = []  # at most one, of this process or of the one it was forked from


def start_worker(run: str, wall: Wall) -> Worker:
    """Return the worker of a run; a new one if there is none behind a wall as high as this one."""
    for worker in _workers:
        if (worker.owner, worker.run) == (os.getpid(), run) and worker.wall.covers(wall):
            return worker
        worker.end()
    here, there = socket.socketpair()
    with there:
        pid = start_process(there)
    orders = Connection(here.detach())
    _workers[:] = [Worker(run, wall, os.getpid(), pid, orders)]
    _send(orders, "confine", hidden=list(map(str, wall.hidden)), writable=list(map(str, wall.writable)))
    return _workers[0]


def end_worker() -> None:
    """End the worker of this process, if it has one."""
    while _workers:
        _workers.pop().end()


def perform(run: str, wall: Wall, module: str, step: Step, arguments: dict[str, Any]) -> Made:
    """Return what the function of a released asset makes, behind a wall. A worker that failed makes nothing more.

    module: where the asset is defined. arguments: what its function gets besides the step.
    """
    try:
        return start_worker(run, wall).perform(module, step, arguments)
    except BaseException:
        end_worker()
        raise


def _exec(orders: socket.socket) -> int:
    """Start a fresh process that takes orders from a socket; return its number."""
    known = {name: value for name, value in os.environ.items() if not name.startswith(WITHHELD_VARIABLES)}
    shared_memory = Path("/dev/shm")  # the one place for passing files that a walled-off process may write
    passing = {"TMPDIR": str(shared_memory)} if shared_memory.is_dir() else {}
    environment = {**known, **passing, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-P", "-c", START.format(orders.fileno())]  # no module is found in the current folder
    return subprocess.Popen(command, pass_fds=[orders.fileno()], env=environment).pid


start_process: Callable[[socket.socket], int] = _exec  # tests fork one that has imported the code


# --- the worker's own side ----------------------------------------------------------------------------------


def work(orders: Connection, *, walled_off: bool) -> None:
    """Import the code of released steps, then make what is ordered until nobody can order anything or a step fails."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started us decides
    try:
        for module in PRELOADED:
            import_module(module)
        while True:
            _make(orders, orders.recv_bytes(), walled_off=walled_off)
    except EOFError:
        return
    except BaseException as error:
        tell_failure(orders, error)


def _make(orders: Connection, order: bytes, *, walled_off: bool) -> None:
    """Make what is ordered."""
    module, step, arguments = pickle.loads(order)
    if not walled_off:
        _send(orders, "warn", line=f"{step.name} is not walled off from confidential files: no Landlock here")
    heard = replace(
        step,
        say=lambda line: _send(orders, "say", line=line),
        warn=lambda line: _send(orders, "warn", line=line),
    )
    with in_clear_words(step.folder):
        made = getattr(import_module(module), step.name).function(heard, **arguments)
    _send_made(orders, replace(made, facts={**made.facts, "walled_off": walled_off}))


# --- messages -----------------------------------------------------------------------------------------------


def _send(orders: Connection, kind: str, **content: Any) -> None:
    orders.send_bytes(json.dumps({"kind": kind, **content}).encode())


def _receive(orders: Connection) -> dict[str, Any]:
    message: dict[str, Any] = json.loads(orders.recv_bytes())
    return message


def _send_made(orders: Connection, made: Made) -> None:
    """Send what a step made; all of it is bytes before the first is sent, so that no failure is taken for content."""
    facts = {name: _fact(value) for name, value in made.facts.items()}
    contents = [memoryview(content) for content in (*made.pictures.values(), *made.files.values())]
    if made.table is not None:
        buffer = io.BytesIO()
        made.table.write_ipc(buffer)
        contents = [buffer.getbuffer(), *contents]
    names = {"pictures": list(made.pictures), "files": list(made.files)}
    _send(orders, "made", facts=facts, table=made.table is not None, **names)
    for content in contents:
        orders.send_bytes(content)


def _receive_made(orders: Connection, message: dict[str, Any]) -> Made:
    """Receive what a step made: the message that announces it, and what follows."""
    table = pl.read_ipc(io.BytesIO(orders.recv_bytes())) if message["table"] else None
    pictures, files = ({str(name): orders.recv_bytes() for name in message[kind]} for kind in ("pictures", "files"))
    facts = {str(name): SHOWN_AS[kind](value) for name, (kind, value) in message["facts"].items()}
    return Made(table, pictures, facts, files)


def _fact(value: Any) -> tuple[str, Any]:
    if isinstance(value, dg.MarkdownMetadataValue):
        return "md", value.value
    if isinstance(value, dg.PathMetadataValue):
        return "path", value.value
    return "plain", value


def _error(message: dict[str, Any]) -> Exception:
    """Return the error that a message tells of: ours as it was, any other in words."""
    name, words = str(message["name"]), str(message["words"])
    return OUR_ERRORS[name](words) if name in OUR_ERRORS else RuntimeError(f"{name}: {words}")


def _unheard(_: str) -> None:
    """Take lines of a step on its way to the worker, where it gets ways to say them."""


# --- what is hidden -----------------------------------------------------------------------------------------


def hidden_from_releases(city: City) -> list[Path]:
    """Return every confidential folder under the home, all keys, the operator's records, and what links there lead to.

    What a run is about to make is hidden before it is there.
    """
    every = (city.settings, *city.others)
    cities = {city.home / settings.city.name for settings in every}
    cities |= {folder.parent for folder in city.home.glob("*/confidential")}
    ours = [folder / name for folder in sorted(cities) for name in ("confidential", "dagster")]
    ours += [city.home / KEYS, city.home / SHARED_INSTANCE, *folders_under(city.home)]
    if (root := city.weeks_root) and not is_url(root):
        ours.append(Path(root))
    elsewhere = [path for settings in every for path in (*_key_elsewhere(settings), *_records(settings, city))]
    hidden = list(dict.fromkeys((*ours, *(path for path in _credentials() if path.exists()), *elsewhere)))
    links = [path for folder in hidden for path in (folder, *folder.rglob("*")) if path.is_symlink()]
    return [*hidden, *(link.resolve() for link in links)]


def _credentials() -> list[Path]:
    """List what opens stores, databases and other machines: where programs look for it, where variables say it is."""
    named = [value for name, value in os.environ.items() if name in CREDENTIAL_VARIABLES or name.endswith(NAMES_A_FILE)]
    files = (*map(Path, filter(None, named)), *shared_files())
    return [*(Path.home() / name for name in CREDENTIALS), *(file.absolute() for file in files)]


def _key_elsewhere(settings: Settings) -> list[Path]:
    """List the key file that the settings name, wherever it lies; a key in an agent is not in a file."""
    key = settings.signing.key
    if key is None or key.startswith(AGENT):
        return []
    file = settings.path(key).absolute()
    return [file] if file.exists() else []


def _records(settings: Settings, city: City) -> list[Path]:
    """List the folder of the operator's records, or the files themselves where it holds what a step of a city needs."""
    pattern = settings.city.visits
    if pattern is None or is_url(pattern):  # of what is elsewhere the process has no keys
        return []
    whole = settings.path(pattern).absolute()
    fixed = Path(*_until_wildcard(whole.parts)).resolve()
    needed = (city.store.release, Path(sys.prefix), Path(sys.base_prefix), Path(__file__))  # what a step must reach
    if fixed.is_dir() and not any(path.resolve().is_relative_to(fixed) for path in needed):
        return [fixed]
    return list(Path("/").glob(of_any_week(str(whole.relative_to("/")))))


def _until_wildcard(parts: Sequence[str]) -> Sequence[str]:
    """Return the part of a pattern that names one folder."""
    first = next((i for i, part in enumerate(parts) if any(sign in part for sign in WILDCARDS)), len(parts) - 1)
    return parts[:first]
