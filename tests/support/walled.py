"""Released assets for tests of the process they run in; looked up there by name, so they stand in a module."""

import os

import polars as pl

from density_assets.graph.assets import asset
from density_assets.graph.columns import SETTINGS, column
from density_assets.graph.step import Made, Step
from density_assets.privacy.zones import Zone

COLUMNS = {"process": column("the process that made it", SETTINGS)}


class Unportable(Exception):
    """An error that cannot be made again from its arguments, as those of some libraries."""

    def __init__(self, what: str, why: str) -> None:
        super().__init__(f"{what}: {why}")


@asset(Zone.RELEASE, COLUMNS)
def talking(step: Step, line: str) -> Made:
    """Says what it is told to, warns, and names its process."""
    step.say(line)
    step.warn(f"mind: {line}")
    return Made(pl.DataFrame({"process": [os.getpid()]}), facts={"line": line})


@asset(Zone.RELEASE, COLUMNS)
def refusing(step: Step) -> Made:
    """Fails with an error that can travel."""
    raise FileNotFoundError(2, "no such thing", "a file")


@asset(Zone.RELEASE, COLUMNS)
def failing(step: Step) -> Made:
    """Fails with an error that cannot travel."""
    raise Unportable("the table", "it is empty")


@asset(Zone.RELEASE, COLUMNS)
def dying(step: Step) -> Made:
    """Ends without a word, as a process does that the kernel kills for want of memory."""
    os._exit(9)
