"""Time and peak memory of a function, each call in a process of its own."""

import multiprocessing
import resource
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Cost:
    """Seconds of wall clock and of processor time, and the largest resident size of the process, in MB."""

    seconds: float
    processor: float
    peak_mb: float


def run(function: Callable[..., Any], *arguments: Any) -> Any:
    """What a module-level function returns, in a fresh process."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def cost(function: Callable[..., object], *arguments: Any) -> Cost:
    """Run a module-level function in a fresh process and measure it; imports are not counted as time."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_measured, args=(sender, function, arguments))
    process.start()
    sender.close()
    try:
        return receiver.recv()
    except EOFError:
        raise RuntimeError(f"{function.__name__} failed, see above") from None
    finally:
        process.join()


def _measured(sender: Any, function: Callable[..., object], arguments: tuple[Any, ...]) -> None:
    start, busy = time.perf_counter(), time.process_time()
    function(*arguments)
    seconds, processor = time.perf_counter() - start, time.process_time() - busy
    sender.send(Cost(seconds, processor, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024))
