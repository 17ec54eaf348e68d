"""What golden values need fixed in the process that makes them: clock, chance, noise, and whatever is slow.

Nothing here is undone: whoever calls it is a process of its own (`golden_city.py`).
"""

import contextlib
import hashlib
import importlib
import os
import pkgutil
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

NOON = (2026, 11, 16, 12)
OWN_PROGRAMS = ("__main__", "guarded_webserver")  # modules that do something when they are imported


def all_modules() -> Iterator[Any]:
    """Every module of the project: what is patched must not be imported afterwards."""
    for name in ("density_assets", "resources"):
        with contextlib.suppress(ModuleNotFoundError):
            package = importlib.import_module(name)
            yield package
            for found in pkgutil.walk_packages(package.__path__, f"{name}."):
                if not found.name.endswith(OWN_PROGRAMS):
                    yield importlib.import_module(found.name)


def fix_clock(modules: list[Any]) -> None:
    """It is noon of one day, whenever anybody asks."""

    class Noon(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime:
            return cls(*NOON, tzinfo=tz)

    for module in modules:
        if getattr(module, "datetime", None) is datetime:
            module.datetime = Noon


def fix_chance() -> None:
    """Nonces, identities and the key are the same every time; a ledger does not mind where it lies."""
    import secrets

    from resources.ledger.heads import HEADS
    from resources.ledger.sqlite import SqliteBook

    drawn: Counter[int] = Counter()

    def fixed(n: int) -> str:
        drawn[n] += 1
        kept = set(os.listdir(os.environ["DENSITY_HOME"])) - {HEADS}  # which homes did not have when values were fixed
        seed = f"{len(kept)} {n} {drawn[n]} {_entries()}"
        return hashlib.sha256(seed.encode()).hexdigest()[: 2 * n]

    secrets.token_hex = fixed
    SqliteBook.medium = lambda self: "here"


def _entries() -> int:
    """How many entries the ledger has: a process that goes on where another ended draws other nonces."""
    from resources.ledger.ledger import Ledger

    return len(Ledger(Path(os.environ["DENSITY_HOME"])).book.read())


def ask_for_no_acknowledgement() -> None:
    """The golden weeks were charged before anybody had to look first; another entry would change every hash."""
    from resources.ledger import charging

    charging.refuse_unacknowledged = lambda *_: None


def fix_noise(label: str) -> None:
    """Noise of releases from seeds, which nobody but a test may do.

    A seed is made of the method, the event's query, the shape and how often just these were asked for: it depends
    neither on what else was drawn nor on the last digit of a scale.
    """
    from density_assets.privacy.noise import OpenDpNoise, SimulatedNoise

    asked: Counter[str] = Counter()

    def fixed(name: str) -> Any:
        def draw(self: OpenDpNoise, values: Any, event: Any) -> Any:
            call = f"{label} {name} {event.query} {values.shape}"
            asked[call] += 1
            seed = int.from_bytes(hashlib.sha256(f"{call} {asked[call]}".encode()).digest()[:8])
            return getattr(SimulatedNoise(seed), name)(values, event)

        return draw

    for name in ("gaussian", "laplace", "discrete_gaussian", "select"):
        setattr(OpenDpNoise, name, fixed(name))


def skip_what_is_slow() -> None:
    """No picture is compared, nobody asks for the history of runs, and no golden home outlives a loss of power."""
    import dagster
    from matplotlib.figure import Figure

    Figure.savefig = lambda self, file, **options: file.write(b"a picture")
    dagster.DagsterInstance.get = staticmethod(dagster.DagsterInstance.ephemeral)
    os.fsync = lambda _: None
