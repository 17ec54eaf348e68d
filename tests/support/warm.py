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
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from density_assets.graph import sealed, zygote

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
    _fork_steps_from_here()
    try:
        sys.exit(does(*given))
    finally:
        atexit._run_exitfuncs()


def _command(*words: str) -> int:
    from density_assets.cli.app import main

    sys.argv = ["density", *words]
    return main()


def _fork_steps_from_here() -> None:
    """Let released steps be forked from this process as it is now, before it has read anything."""
    here, there = socket.socketpair()
    if os.fork():
        there.close()
        sealed._zygotes[:] = [_Forked(here)]
        return
    with suppress(BaseException):
        here.close()
        for name in [name for name in os.environ if name.startswith(zygote.CREDENTIALS)]:
            del os.environ[name]
        zygote.serve(there.detach())
    os._exit(0)


class _Forked(zygote.Zygote):
    """The process that steps are forked from, which has imported the code already."""

    def __init__(self, asking: socket.socket) -> None:
        self._pid = os.getpid()
        self._socket = asking

    @property
    def usable(self) -> bool:
        return self._pid == os.getpid()
