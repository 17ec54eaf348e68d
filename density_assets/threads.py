"""Work on parts that are handed on in their order, on several cores.

What takes time here happens in numpy, Arrow and OpenDP, which let go of the interpreter meanwhile; threads are enough.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Part = TypeVar("Part")
Result = TypeVar("Result")


def in_turn(work: Callable[[Part], Result], parts: Iterable[Part], threads: int | None) -> Iterator[Result]:
    """The results of parts in the order of the parts, few ahead of whoever takes them, because each takes memory.

    threads: how many work at once.
    """
    threads = threads or 1
    with ThreadPoolExecutor(threads) as pool:
        ahead: deque[Future[Result]] = deque()
        for part in parts:
            ahead.append(pool.submit(work, part))
            if len(ahead) > threads:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()
