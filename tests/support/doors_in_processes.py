"""Doors opened in processes of their own, which may be killed at a step: `python doors_in_processes.py`.

Everything is imported once and forked, so that a process costs what it does. An order is a line of JSON, and so is the
answer: to start a process and say its number, or to wait for one and say how it ended.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np


class Started:
    """A process that opens a door."""

    def __init__(self, talk: "Doors", order: dict[str, str]) -> None:
        self._talk = talk
        self._out = Path(order["out"])
        self._pid = talk.ask(order)

    def status(self) -> int:
        """How it ended."""
        return self._talk.ask({"wait": self._pid})

    def values(self) -> np.ndarray:
        """What it measured."""
        assert self.status() == 0
        return np.frombuffer(self._out.read_bytes())


class Doors:
    """The process that others are forked from."""

    def __init__(self, process: subprocess.Popen[str], folder: Path) -> None:
        self._process = process
        self._folder = folder
        self._started = 0

    def ask(self, order: dict[str, object]) -> int:
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def open(self, home: Path, url: str, door: str, step: str, moment: str) -> Started:
        """Open a door in a process that dies right before or after a step."""
        self._started += 1
        out = str(self._folder / f"values {self._started}")
        return Started(self, {"home": str(home), "url": url, "door": door, "step": step, "moment": moment, "out": out})


@contextmanager
def doors(folder: Path) -> Iterator[Doors]:
    command = [sys.executable, __file__]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Doors(process, folder)
        process.stdin.close()  # which ends it


def _serve() -> None:
    from door import REQUEST, Door

    from resources.ledger.ledger import Ledger
    from resources.measurements import Measurements

    with suppress(ImportError):  # tests of files need none
        import resources.ledger.postgres  # noqa: F401  # loaded before the fork
    steps = {
        "reserve": (Ledger, "reserve"),
        "begin_draw": (Ledger, "begin_draw"),
        "finish_draw": (Ledger, "finish_draw"),
        "set_aside": (Measurements, "_set_aside"),
        "save": (Measurements, "_put_in_place"),
        "remember": (Measurements, "_remember_inputs"),
    }
    for line in sys.stdin:
        order = json.loads(line)
        if "wait" in order:
            answer = os.waitstatus_to_exitcode(os.waitpid(order["wait"], 0)[1])
        elif not (answer := os.fork()):
            status = 1
            try:
                if order["step"] in steps:
                    _dying(*steps[order["step"]], order["moment"])
                measured = Door(Path(order["home"]), url=order["url"])(REQUEST, order["door"])
                Path(order["out"]).write_bytes(measured.values["weighted"].tobytes())
                status = 0
            finally:
                os._exit(status)
        print(answer, flush=True)


def _dying(owner: type, name: str, moment: str) -> None:
    whole = getattr(owner, name)

    def killed(*arguments, **options):
        if moment == "after":
            whole(*arguments, **options)
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(owner, name, killed)


if __name__ == "__main__":
    _serve()
