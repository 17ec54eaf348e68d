"""Steps that may be handed out run in a process of their own that cannot open confidential files.

The `Reader` refuses reads that go through it, but Python lets any code open any file its owner may. So the functions of
released assets run in a fresh process, which puts every confidential folder, and the operator's own records, out of its
reach before it starts (Landlock), whichever library it would use. It never held a record: it is forked from a server
that has imported the code and nothing more. Where the kernel cannot do this, the step says so and runs all the same.
"""

import multiprocessing
import pickle
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import import_module
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from density_assets.city import City
from density_assets.graph.step import Made, Step
from resources.landlock import hide

PRELOADED = ["density_assets.graph.release", "density_assets.graph.register"]
WILDCARDS = "*?[{"


class RemoteError(Exception):
    """What went wrong in the process, as it would have been printed there."""


def perform(module: str, step: Step, given: dict[str, Any], hidden: Sequence[Path]) -> Made:
    """What the function of a released asset makes, behind a wall.

    module: where the asset is defined.
    given: what its function gets besides the step.
    hidden: folders and files that it must not be able to open.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    here, there = context.Pipe()
    quiet = Step(step.settings, step.read)  # nobody listens yet
    process = context.Process(target=_work, args=(there, hidden, module, quiet, given), daemon=True)
    process.start()
    there.close()
    try:
        return _listen(here, step)
    finally:
        process.kill()
        process.join()


def warm_up() -> None:
    """Let the server import what it will fork, while others work."""
    from multiprocessing import forkserver

    multiprocessing.get_context("forkserver").set_forkserver_preload(PRELOADED)
    forkserver.ensure_running()


def hidden_from_releases(city: City) -> list[Path]:
    """Every confidential folder under the home, and the operator's own records."""
    folders = [folder for folder in sorted(city.home.glob("*/confidential")) if folder.is_dir()]
    pattern = city.settings.city.visits
    if pattern is None:
        return folders
    whole = city.settings.path(pattern).absolute()
    fixed = Path(*_until_wildcard(whole.parts)).resolve()
    needed = (city.home, Path(sys.prefix), Path(__file__))  # what the step itself must reach
    if fixed.is_dir() and not any(fixed in path.resolve().parents for path in needed):
        return [*folders, fixed]
    return [*folders, *Path("/").glob(str(whole.relative_to("/")).replace("{week}", "*"))]


def _until_wildcard(parts: Sequence[str]) -> Sequence[str]:
    """The part of a pattern that names one folder."""
    first = next((i for i, part in enumerate(parts) if any(sign in part for sign in WILDCARDS)), len(parts) - 1)
    return parts[:first]


def _listen(here: Connection, step: Step) -> Made:
    """Pass on what the process says until it has made something, or failed."""
    hear: dict[str, Callable[[str], None]] = {"say": step.say, "warn": step.warn}
    while True:
        try:
            kind, content = here.recv()
        except EOFError:
            raise RuntimeError(f"the process of {step.name} must end with a table, but it died: start again") from None
        if kind in hear:
            hear[kind](content)
        elif kind == "failed":
            error, printed = content
            raise error from RemoteError(printed)
        else:
            assert isinstance(content, Made)
            return content


def _work(there: Connection, hidden: Sequence[Path], module: str, step: Step, given: dict[str, Any]) -> None:
    """What the process does: hide, then make."""
    try:
        if not hide(hidden):
            there.send(("warn", f"{step.name} is not walled off from confidential files: this kernel has no Landlock"))
        talking = replace(
            step, say=lambda line: there.send(("say", line)), warn=lambda line: there.send(("warn", line))
        )
        made = getattr(import_module(module), step.name).function(talking, **given)
        there.send(("made", made))
    except BaseException as error:
        there.send(("failed", (_portable(error), traceback.format_exc())))


def _portable(error: BaseException) -> BaseException:
    """The error itself if it can travel, else its words."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error
