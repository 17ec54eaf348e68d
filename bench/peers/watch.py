"""What a command costs with everything it starts: a JVM and its workers are not in the accounts of their parent."""

import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

EVERY = 0.05  # seconds between looks
SAID = 2_000  # last characters of what a failed command said


@dataclass(frozen=True)
class Watched:
    """Seconds from start to end, seconds of processor time, and the largest resident size of all its processes, in MB.

    Pages that processes share are counted for each of them; what a process did after the last look at it is not.
    """

    seconds: float
    processor: float
    peak_mb: float


class Failed(RuntimeError):
    """A command ended with an error; says what it said last."""


def watch(command: Sequence[str], environment: Mapping[str, str], folder: Path) -> Watched:
    """Run a command in a folder to its end."""
    peak, processor = 0, dict[int, float]()
    with tempfile.TemporaryFile("w+", errors="replace") as said:
        begun = time.perf_counter()
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=said, stderr=subprocess.STDOUT)
        while process.poll() is None:
            looks = {pid: (memory, busy) for pid, memory, busy in _family(process.pid)}
            peak = max(peak, sum(memory for memory, _ in looks.values()))
            processor |= {pid: busy for pid, (_, busy) in looks.items()}
            time.sleep(EVERY)
        seconds = time.perf_counter() - begun
        if process.returncode:
            said.seek(0)
            raise Failed(said.read()[-SAID:])
    return Watched(seconds, sum(processor.values()), peak / 1e6)


def _family(pid: int) -> Iterator[tuple[int, int, float]]:
    """Number, resident bytes and processor seconds of a process and of all below it that still run."""
    try:
        parent = psutil.Process(pid)
        family = [parent, *parent.children(recursive=True)]
    except psutil.NoSuchProcess:
        return
    for member in family:
        try:
            busy = member.cpu_times()
            yield member.pid, member.memory_info().rss, busy.user + busy.system
        except psutil.NoSuchProcess:  # it has ended since
            continue
