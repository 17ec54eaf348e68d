"""Weeks run in processes that die: `python dying.py <settings> <home> <what>`, one JSON line per process.

Everything is imported once and forked, so a process costs what it does. Nothing that starts threads runs before.
"""

import contextlib
import hashlib
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import dagster as dg
import matplotlib.pyplot  # noqa: F401  # loaded before the fork, as are the two below
import numpy as np
import pyarrow.pandas_compat  # noqa: F401
import pyogrio  # noqa: F401
from ledgers import open_ledger
from matplotlib.figure import Figure

from density_assets.city import City
from density_assets.definitions import build
from density_assets.graph.assets import Blueprint
from density_assets.settings import load_settings
from resources.measurements import Measurements

WEEK = "2007-09-10"
DOORS = ("noisy_totals", "noisy_series")
WHOLE: list[str] = []
# one file of each kind: all others are written by the same lines
ASIDE = {
    "cells": ("tables", "cells.parquet"),
    **{step: (step, WEEK, "CURRENT") for step in ("visits", "tower_series", "iris_series")},
    **{step: (step, f"{WEEK}.parquet") for step in (*DOORS, "density")},
    "release_database": ("release", "release.duckdb"),
}


class Town:
    """The graph of a town, ready to run."""

    def __init__(self, settings: Path, home: Path) -> None:
        Figure.savefig = lambda self, file, **options: file.write(b"a picture")  # slow, and none of it can be lost
        # Not sealed: released steps would run in a worker that has imported the code afresh, which a death planted here
        # does not reach.
        city = City(load_settings(settings), home, sealed=False)
        open_ledger(city)
        self.definitions = build(city)
        self.job = self.definitions.resolve_job_def("weekly_release")
        graph = self.definitions.resolve_asset_graph()
        with dg.DagsterInstance.ephemeral():
            pass  # loads what instances need
        wanted = self.job.asset_layer.selected_asset_keys
        self.steps = [key.to_user_string() for key in graph.toposorted_asset_keys if key in wanted]

    def start(self, steps: list[str], prepare: Callable[[], None] = lambda: None) -> int:
        """Run some steps (none named: all) in a process of their own; returns its pid."""
        if pid := os.fork():
            return pid
        status = 1
        with contextlib.suppress(BaseException):
            prepare()
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            chosen = [dg.AssetKey(step) for step in steps] or None
            with dg.DagsterInstance.ephemeral() as instance:
                result = self.job.execute_in_process(
                    instance=instance, partition_key=WEEK, asset_selection=chosen, raise_on_error=False
                )
            status = 0 if result.success else 2
        os._exit(status)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def dying_aside(step: str) -> Callable[[], None]:
    """Die when the step's file is written aside and not yet in place."""

    def prepare() -> None:
        replace = os.replace

        def replaced(source, target, **options):
            if Path(target).parts[-len(ASIDE[step]) :] == ASIDE[step]:
                die()
            return replace(source, target, **options)

        os.replace = replaced

    return prepare


def dying_stored(step: str) -> Callable[[], None]:
    """Die when the step has stored its table and nobody has been told."""

    def prepare() -> None:
        stored = Blueprint._stored

        def told(self, city, read, table):
            done = stored(self, city, read, table)
            if self.name == step:
                die()
            return done

        Blueprint._stored = told

    return prepare


def dying_drawn(_: str) -> Callable[[], None]:
    """Die when noise has been drawn and not yet stored."""

    def prepare() -> None:
        Measurements._set_aside = lambda self, key, measurement: die()

    return prepare


MOMENTS = {"aside": dying_aside, "stored": dying_stored, "drawn": dying_drawn}


def killed_at_every_step(town: Town) -> None:
    """Each process starts where the one before was killed, and is killed one moment later; the last is left alone."""
    for number, step in enumerate(town.steps):
        for moment in (*(("drawn",) if step in DOORS else ()), *(("aside",) if step in ASIDE else ()), "stored"):
            pid = town.start(town.steps[number:], MOMENTS[moment](step))
            say(step=step, moment=moment, status=os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    pid = town.start(WHOLE)
    say(step="", moment="left alone", status=os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


def at_once(town: Town) -> None:
    """Two whole runs of one week at the same time."""
    for pid in [town.start(WHOLE), town.start(WHOLE)]:
        say(step="", moment="at once", status=os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


def say(**facts: object) -> None:
    """One line per process: how it ended, and which draws are stored now."""
    folder = Path(sys.argv[2]) / "town/release/measurements"
    print(
        json.dumps({**facts, "draws": {file.name: digest(file) for file in sorted(folder.glob("*.npz"))}}), flush=True
    )


def digest(file: Path) -> str:
    with np.load(file) as archive:
        return hashlib.sha256(b"".join(archive[name].tobytes() for name in archive.files)).hexdigest()


if __name__ == "__main__":
    {"killed": killed_at_every_step, "at_once": at_once}[sys.argv[3]](Town(Path(sys.argv[1]), Path(sys.argv[2])))
