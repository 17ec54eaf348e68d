"""Processes that start in no time: each is forked from one that has imported the code and has done nothing else.

What runs in one is not noticed by the test nor by another. A test of how a process starts must start one itself.
"""

import atexit
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from density_assets.graph import worker
from resources.wall import enter

HANGS = 900  # seconds: far more than a command takes on a busy machine
# All that a week needs, so that nothing of it is imported once more in every process.
IMPORTED = (
    *("density_assets.definitions", "density_assets.cli.app", "density_assets.cli.runs", "resources.ledger.opening"),
    *("matplotlib.pyplot", "pyarrow.pandas_compat", "pyogrio", "pandas", "sklearn.cluster"),
)
FORKED = get_context("forkserver")
FORKED.set_forkserver_preload(list(IMPORTED))


def density(*words: str, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """A command as a person types it."""
    return run(_command, *words, environment=environment)


def run(does: Callable[..., int], *given: Any, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """What a function returns, as the status of a process of its own, and what it said.

    does: a function of a module, which is told what is `given`.
    """
    with TemporaryDirectory() as folder:
        said = [Path(folder, name) for name in ("stdout", "stderr")]
        process = FORKED.Process(target=_become, args=(does, given, dict(environment), Path.cwd(), said))
        process.start()
        process.join(HANGS)
        if process.is_alive():
            process.kill()
            raise subprocess.TimeoutExpired(
                [does.__name__, *map(str, given)], HANGS, *(file.read_text() for file in said)
            )
        return subprocess.CompletedProcess(given, process.exitcode, *(file.read_text() for file in said))


def _become(
    does: Callable[..., int], given: tuple[Any, ...], environment: Mapping[str, str], folder: Path, said: list[Path]
) -> None:
    """Do it as a process that was started for it would."""
    for descriptor, file in zip((1, 2), said, strict=True):
        os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND), descriptor)
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    os.chdir(folder)
    worker.start_process = fork_worker
    try:
        sys.exit(does(*given))
    finally:
        atexit._run_exitfuncs()


def _command(*words: str) -> int:
    from density_assets.cli.app import main

    sys.argv = ["density", *words]
    return main()


def fork_worker(orders: socket.socket) -> int:
    """Start a worker in no time; a test of how one starts must start a fresh one itself."""
    process = FORKED.Process(target=_work, args=(orders, _folder_and_variables()), daemon=True)  # ends with the tests
    process.start()
    assert process.pid
    return process.pid


def _folder_and_variables() -> tuple[Path, dict[str, str]]:
    known = {name: value for name, value in os.environ.items() if not name.startswith(worker.WITHHELD_VARIABLES)}
    return Path.cwd(), known


def _work(orders: socket.socket, place: tuple[Path, dict[str, str]]) -> None:
    os.chdir(place[0])
    os.environ.clear()
    os.environ.update(place[1])
    time.tzset()
    connection = Connection(orders.detach())
    worker.work(connection, walled_off=enter(connection))
