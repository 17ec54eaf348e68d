"""Measurements: noisy answers that are drawn once.

Orchestrators recompute; a second draw of noise on the same data is a second release, and averaging draws removes the
noise. So a measurement is kept under a key made of everything a person decided (population, city, public geography,
mechanism, parameters, week, revision) and nothing that was computed from people. The same key returns the stored draw
at no cost, even
if records have changed meanwhile: to draw again because the content changed would tell that it changed. Only a changed
setting or a declared revision is a new key, and a new key is paid for.
"""

import io
import json
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from density_assets.errors import BadInput
from density_assets.privacy.charges import Budget, price
from density_assets.privacy.events import to_record
from density_assets.privacy.noise import Noise
from density_assets.privacy.release import Release
from resources.ledger.ledger import Ledger
from resources.tables.files import private_files, write_durably
from resources.tables.store import Store

Values = dict[str, NDArray[Any]]


class NotReleasable(RuntimeError):
    """The draw asked for may never leave as a release: nothing was charged and nothing drawn."""


@dataclass(frozen=True)
class Measurement:
    """A stored draw: values, the events that shaped them and the hash of the charge that paid for them."""

    values: Values
    events: tuple[dict[str, Any], ...]
    charge: str
    simulation: bool = False


class Measurements:
    """The measurements of one city, behind the ledger of its home."""

    def __init__(self, store: Store, ledger: Ledger, noise: Noise, budget: Budget) -> None:
        self._store = store
        self._ledger = ledger
        self._noise = noise
        self._budget = budget
        self._folder = store.release / "measurements"

    def measure(
        self,
        request: Release,
        door: str,
        fingerprint: Callable[[], str | None],
        prepare: Callable[[], Callable[[Noise], Values]],
        say: Callable[[str], None] = lambda _: None,
    ) -> Measurement:
        """The draw of one door: the stored one, or a new one that is paid for first.

        fingerprint: keyed fingerprint of the confidential tables the draw reads; none once they are purged.
        prepare: reads and checks those tables and returns the function that draws, before anything is charged.
        say: told what a new draw costs, before it is drawn.

        Guarantees: noise is drawn only after a charge for this very draw is committed, each charge pays for at most
        one draw, and a draw is stored under its key before it is returned.
        """
        key = request.key(door)
        self._folder.mkdir(parents=True, exist_ok=True)
        with self._store.locked(f"release-{request.key('')[:32]}"):  # one run at a time works on a release
            if self._file(key).exists():
                self._compare_inputs(request, door, fingerprint())
                return self._load(key)
            _refuse_unreleasable(request, self._noise)
            draw = prepare()
            self._remember_inputs(request, door, fingerprint())
            missing = [name for name in request.doors if not self._file(request.key(name)).exists()]
            due = self._ledger.reserve([request.charge(name) for name in missing], self._budget, self.witnesses())
            if due:
                say(price(self._ledger.rows(), due, self._budget))
            charge = self._ledger.begin_draw(key, request.doors[door])
            values = draw(self._noise)
            self._save(key, Measurement(values, tuple(map(to_record, request.doors[door])), charge))
            return self._load(key)

    def stored(self, request: Release, door: str) -> Measurement:
        """The draw of a door that was opened before."""
        if not self._file(request.key(door)).exists():
            raise BadInput(
                f"{door} of the week of {request.week} must have been drawn under today's settings, but no such draw "
                "is stored: materialise it, which is charged"
            )
        return self._load(request.key(door))

    def witnesses(self) -> frozenset[str]:
        """Charges that the ledger must know."""
        return witnesses(self._store.folder.parent)

    def _file(self, key: str) -> Path:
        return self._folder / f"{key[:32]}.npz"

    def _load(self, key: str) -> Measurement:
        about = _about(self._file(key))
        with np.load(self._file(key)) as archive:
            values = {name: archive[name] for name in archive.files if name != "about"}
        return Measurement(values, tuple(about["events"]), about["charge"], about["simulation"])

    def _save(self, key: str, measurement: Measurement) -> None:
        about = {
            "events": measurement.events,
            "charge": measurement.charge,
            "simulation": measurement.simulation,
            "key": key,
        }
        buffer = io.BytesIO()
        np.savez_compressed(buffer, about=np.array(json.dumps(about)), **measurement.values)  # type: ignore[arg-type]  # arrays by name
        write_durably(self._file(key), buffer.getvalue())

    # --- confidential: what the draw was made from -------------------------------------------------------

    def _remembered(self, request: Release, door: str) -> Path:
        """The week is in the name, so that erasing it finds the file."""
        return self._store.confidential / "measured" / f"{request.week}_{request.key(door)[:32]}.txt"

    def _remember_inputs(self, request: Release, door: str, inputs: str | None) -> None:
        file = self._remembered(request, door)
        with private_files():
            file.parent.mkdir(exist_ok=True)
            write_durably(file, (inputs or "").encode())

    def _compare_inputs(self, request: Release, door: str, inputs: str | None) -> None:
        """Leave an alert where only those who may read the records see it; the draw stays what it is."""
        remembered = self._remembered(request, door)
        if inputs is None or not remembered.exists() or remembered.read_text() == inputs:
            return
        alert = {
            "found": datetime.now(UTC).isoformat(timespec="seconds"),
            "what": f"the records of the week of {request.week} have changed since {door} was drawn",
            "done": "the stored draw was kept",
            "to do": "nothing, or declare a revision of this week in [revisions], which is charged",
        }
        folder = self._store.confidential / "alerts"
        with private_files():
            folder.mkdir(exist_ok=True)
            write_durably(folder / f"{request.week}_{door}.json", json.dumps(alert, indent=2).encode())


def witnesses(home: Path) -> frozenset[str]:
    """Hashes of the charges that stored measurements of any city of a home name."""
    return frozenset(_about(file)["charge"] for file in home.glob("*/release/measurements/*.npz"))


def _about(file: Path) -> dict[str, Any]:
    try:
        with np.load(file) as archive:
            about: dict[str, Any] = json.loads(str(archive["about"]))
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise BadInput(
            f"a stored draw must be whole, but {file} is damaged ({type(error).__name__}). Nothing may be drawn; "
            "restore it from a backup of the release folder: the same noise is never drawn again"
        ) from None
    return about


def _refuse_unreleasable(request: Release, noise: Noise) -> None:
    if request.calibration != "sound":
        raise NotReleasable(
            f"a release must have sound calibration, got scheme.calibration = {request.calibration!r}: published "
            "scales reproduce papers whose proofs do not all hold. Nothing was charged and nothing drawn; "
            "use a study to reproduce them"
        )
    if noise.simulation:
        raise NotReleasable(
            "a release must draw from OpenDP, got a seeded generator: whoever knows the seed can take the noise away. "
            "Nothing was charged and nothing drawn; use a study for simulations"
        )
