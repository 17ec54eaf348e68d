"""Steps that may be handed out run in a process of their own that cannot open confidential files.

The `Reader` refuses reads that go through it, but Python lets any code open any file its owner may. So the functions of
released assets run in a fresh process (`zygote.py`), which puts every confidential folder, and the operator's own
records, out of its reach before it hears what to do, and keeps the right to write below the release folder only
(`resources/landlock.py`). What it makes comes back as bytes that cannot run anything (`messages.py`). Where the kernel
cannot do this, the step says so and runs all the same. Steps of a week that declare one process share it, behind the
same wall: what takes them most time is the same for all.
"""

import os
import pickle
import signal
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib import import_module
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from density_assets.city import City
from density_assets.graph.messages import RemoteError, error_of, receive, receive_made, send, send_made
from density_assets.graph.step import Made, Step
from density_assets.graph.zygote import Zygote
from density_assets.records.found_files import of_any_week
from density_assets.settings import Settings
from density_assets.settings.environment import SETTINGS, shared_files
from density_assets.settings.values import AGENT, is_url
from resources.faults import in_clear_words
from resources.keys import KEYS
from resources.landlock import confine
from resources.tables.roots import folders_under

WILDCARDS = "*?[{"
DEVICES = Path("/dev")
CREDENTIALS = (".aws", ".azure", ".config/gcloud", ".config/fsspec", ".pgpass", ".pg_service.conf")
CREDENTIAL_VARIABLES = ("PGPASSFILE", "PGSERVICEFILE", "GOOGLE_APPLICATION_CREDENTIALS", SETTINGS)
NAMES_A_FILE = ("_CREDENTIALS_FILE", "_TOKEN_FILE", "_CONFIG_FILE")

_zygotes: list[Zygote] = []  # at most one, of this process
_waiting: list["_Walled"] = []  # at most one, of this process or of the one it was forked from


@dataclass(frozen=True)
class _Walled:
    """A process behind a wall.

    owner: the process that started it. purpose: what the steps that share it have in common; none if it is not shared.
    """

    owner: int
    purpose: tuple[object, ...] | None
    pid: int
    orders: Connection

    def end(self) -> None:
        """Let it do nothing more."""
        self.orders.close()
        if self.owner == os.getpid():
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)


def perform(module: str, step: Step, given: dict[str, Any], hidden: Sequence[Path], shared: str | None = None) -> Made:
    """What the function of a released asset makes, behind a wall; its facts say whether there was one.

    module: where the asset is defined.
    given: what its function gets besides the step.
    hidden: folders and files that it must not be able to open.
    shared: the process it declares to share with other steps of its week; none for one of its own.
    """
    walled = _walled(step, hidden, shared)
    try:
        settings = step.settings.without_databases()
        heard = Step(settings, step.read, again=step.again, inputs_digest=step.inputs_digest)
        walled.orders.send_bytes(pickle.dumps((module, heard, given)))
        made = _listen(walled.orders, step)
    except BaseException:
        walled.end()
        raise
    if shared:
        _waiting.append(walled)
    else:
        walled.end()
    return made


def _walled(step: Step, hidden: Sequence[Path], shared: str | None) -> _Walled:
    """The process that steps share, if it still waits and its wall is as high as one put up now, else a new one."""
    wall = {"hidden": list(map(str, hidden)), "writable": list(map(str, _writable(step)))}
    if shared is None:
        return _started(wall, None)
    purpose = (os.getpid(), shared, step.week, wall)
    for walled in _waiting:
        if walled.purpose == purpose:
            _waiting.remove(walled)
            return walled
        walled.end()
    _waiting.clear()
    return _started(wall, purpose)


def _started(wall: dict[str, list[str]], purpose: tuple[object, ...] | None) -> _Walled:
    pid, orders = _zygote().fork()
    send(orders, "confine", **wall, shared=purpose is not None)
    return _Walled(os.getpid(), purpose, pid, orders)


def warm_up() -> None:
    """Let the process that steps are forked from import the code, while others work."""
    _zygote()


def work(orders: Connection) -> None:
    """What the process does: put up the wall, hear what to make, make it; where it is shared, until nobody asks."""
    try:
        wall, order = receive(orders), orders.recv_bytes()  # both, so that whoever sends them never waits for a wall
        walled_off = confine(map(Path, wall["hidden"]), map(Path, wall["writable"]))
        _obey(orders, order, walled_off=walled_off)
        while wall["shared"]:
            _obey(orders, orders.recv_bytes(), walled_off=walled_off)
    except EOFError:
        return
    except BaseException as error:
        send(orders, "failed", name=type(error).__name__, words=str(error), printed=traceback.format_exc())


def _obey(orders: Connection, order: bytes, *, walled_off: bool) -> None:
    """Make what is ordered."""
    module, step, given = pickle.loads(order)
    if not walled_off:
        send(orders, "warn", line=f"{step.name} is not walled off from confidential files: no Landlock here")
    heard = replace(
        step,
        say=lambda line: send(orders, "say", line=line),
        warn=lambda line: send(orders, "warn", line=line),
    )
    with in_clear_words(step.folder):
        made = getattr(import_module(module), step.name).function(heard, **given)
    send_made(orders, replace(made, facts={**made.facts, "walled_off": walled_off}))


def hidden_from_releases(city: City) -> list[Path]:
    """Every confidential folder under the home, all keys, and the operator's records, with what links lead to."""
    kept = (*sorted(city.home.glob("*/confidential")), *folders_under(city.home), city.home / KEYS)
    secrets = [path for path in (*kept, *_credentials()) if path.exists()]
    every = (city.settings, *city.others)
    elsewhere = [path for settings in every for path in (*_key_elsewhere(settings), *_records(settings, city))]
    hidden = [*secrets, *elsewhere]
    links = [path for folder in hidden for path in (folder, *folder.rglob("*")) if path.is_symlink()]
    return [*hidden, *(link.resolve() for link in links)]


def _credentials() -> list[Path]:
    """What opens stores and databases: where libraries look for it, where variables say it is, and our settings."""
    named = [value for name, value in os.environ.items() if name in CREDENTIAL_VARIABLES or name.endswith(NAMES_A_FILE)]
    files = (*map(Path, filter(None, named)), *shared_files())
    return [*(Path.home() / name for name in CREDENTIALS), *(file.absolute() for file in files)]


def _key_elsewhere(settings: Settings) -> list[Path]:
    """The key file that the settings name, wherever it lies; a key in an agent is not in a file."""
    given = settings.signing.key
    if given is None or given.startswith(AGENT):
        return []
    file = settings.path(given).absolute()
    return [file] if file.exists() else []


def _records(settings: Settings, city: City) -> list[Path]:
    """The folder of the operator's records, or where it holds what a step of a city needs, the files themselves."""
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
    """The part of a pattern that names one folder."""
    first = next((i for i, part in enumerate(parts) if any(sign in part for sign in WILDCARDS)), len(parts) - 1)
    return parts[:first]


def _listen(orders: Connection, step: Step) -> Made:
    """Pass on what the process says until it has made something, or failed."""
    hear = {"say": step.say, "warn": step.warn}
    while True:
        try:
            message = receive(orders)
        except (EOFError, ConnectionError):
            raise RuntimeError(f"the process of {step.name} must end with a table, but it died: start again") from None
        if message["kind"] in hear:
            hear[message["kind"]](str(message["line"]))
        elif message["kind"] == "failed":
            raise error_of(message) from RemoteError(message["printed"])
        else:
            return receive_made(orders, message)


def _writable(step: Step) -> list[Path]:
    return [step.folder, step.read.tables.locks, DEVICES]


def _zygote() -> Zygote:
    if not (_zygotes and _zygotes[0].usable):
        _zygotes[:] = [Zygote()]
    return _zygotes[0]
