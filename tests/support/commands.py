"""How a command is called in this process, and how it ended."""

from collections.abc import Callable
from typing import NamedTuple

WHO = ("--by", "ann", "--reason", "a study")


class Said(NamedTuple):
    """How a command ended."""

    status: int
    out: str
    err: str


Density = Callable[..., Said]
