"""A real server of a town on a free port of this machine, and how to talk to it."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from ledgers import open_before
from object_store import free_port

ROOT = Path(__file__).parents[2]
HOMES: dict[str, Path] = {}  # by address, of the servers that were started


@contextmanager
def serving(
    settings: Path,
    home: Path,
    *options: str,
    command: Sequence[str | Path] = (sys.executable, "-m", "density_assets"),
    folder: Path = ROOT,
) -> Iterator[str]:
    """`make ui` in a process group of its own, which ends with the block.

    command, folder: what `density` is, and where it is started.
    """
    words = [*command, "ui", "--settings", str(settings), *options]
    open_before(home, "ui", "--settings", str(settings))
    with started(words, {**os.environ, "DENSITY_HOME": str(home)}, folder) as address:
        yield address


@contextmanager
def started(words: Sequence[str | Path], environment: Mapping[str, str], folder: Path) -> Iterator[str]:
    """The address of a server that a command starts, on a free port; what it says is kept beside its home."""
    port = free_port()
    address, home = f"http://127.0.0.1:{port}", Path(environment["DENSITY_HOME"])
    words = [*words, "--port", str(port)]
    HOMES[address] = home
    with (home.parent / f"server{port}.log").open("wb") as log:
        process = subprocess.Popen(words, cwd=folder, env=environment, stdout=log, stderr=log, start_new_session=True)
    try:
        yield address
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def token(url: str) -> str:
    """What the server at an address asks for, as whoever started it finds it; nothing if there is none."""
    return "".join(file.read_text() for file in HOMES[url].glob("**/ui_token"))


def asked(url: str, query: str, headers: dict[str, str] | None = None, **variables: object) -> dict:
    """The answer to a query of a program that has read the token."""
    body = json.dumps({"query": query, "variables": variables}).encode()
    sent = {"Content-Type": "application/json", "Authorization": f"Bearer {token(url)}", **(headers or {})}
    request = urllib.request.Request(f"{url}/graphql", body, sent)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)["data"]


def answer_when(url: str, query: str, ready: Callable[[dict], bool], seconds: float = 600) -> dict:
    """The first answer that is as wanted; after so many seconds the last one, whatever it is."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            answer = asked(url, query)
            if ready(answer) or time.monotonic() > deadline:
                return answer
        except (
            urllib.error.URLError,
            ConnectionError,
            TimeoutError,
            KeyError,
            TypeError,
        ):  # not yet there, or whole
            if time.monotonic() > deadline:
                raise
        time.sleep(0.5)
