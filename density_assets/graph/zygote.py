"""A process that has imported the code of released steps and waits to be forked: a step then starts in no time.

It is reached through one socket that has no address and that no fork keeps, so a step that is walled off cannot ask it
for a process that is not. It reads no table, so there is nothing of anybody in what is forked.
"""

import importlib
import os
import signal
import socket
import subprocess
import sys
from multiprocessing.connection import Connection
from pathlib import Path

ADDRESS = "DENSITY_DAGSTER_STORAGE"
# What opens a database or a store elsewhere: no step that is walled off has business with one.
CREDENTIALS = (ADDRESS, "PG", "AWS_", "AZURE_", "GOOGLE_", "FSSPEC_", "HADOOP_")
PRELOADED = ("density_assets.graph.release", "density_assets.graph.register", "matplotlib.figure")


class Zygote:
    """The process, as the one that started it sees it."""

    def __init__(self) -> None:
        self._pid = os.getpid()
        self._socket, theirs = socket.socketpair()
        code = f"from density_assets.graph.zygote import serve; serve({theirs.fileno()})"
        known = {name: value for name, value in os.environ.items() if not name.startswith(CREDENTIALS)}
        environment = {**known, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-c", code], pass_fds=[theirs.fileno()], env=environment, cwd=Path.cwd()
            )

    @property
    def usable(self) -> bool:
        """Whether it lives and is ours; a process that was forked from ours needs one of its own."""
        return self._pid == os.getpid() and self._process.poll() is None

    def fork(self) -> tuple[int, Connection]:
        """A fresh process that waits for orders: its number, and the way to talk to it."""
        here, there = socket.socketpair()
        with there:
            socket.send_fds(self._socket, [b"fork"], [there.fileno()])
        pid = int.from_bytes(self._socket.recv(8))
        if not pid:
            raise RuntimeError("the process that steps are forked from must live, but it has ended: start again")
        return pid, Connection(here.detach())


def serve(descriptor: int) -> None:
    """Import, then fork a process for every one that is asked for, until whoever asks is gone."""
    for module in PRELOADED:
        importlib.import_module(module)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started us decides
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for what is forked
    asking = socket.socket(fileno=descriptor)
    while True:
        message, descriptors, *_ = socket.recv_fds(asking, 16, 1)
        if not message:
            return
        if pid := os.fork():
            os.close(descriptors[0])
            asking.send(pid.to_bytes(8))
            continue
        asking.close()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        _obey(Connection(descriptors[0]))


def _obey(orders: Connection) -> None:
    """Do what is ordered and end, whatever happens."""
    try:
        importlib.import_module("density_assets.graph.sealed").work(orders)
    finally:
        os._exit(0)
