"""Measurements: noisy answers that are drawn once.

Orchestrators recompute; a second draw of noise on the same data is a second release, and averaging draws removes the
noise. So a measurement is kept under a key made of everything a person decided (population, city, public geography,
mechanism, parameters, week, revision) and nothing that was computed from people. The same key returns the stored draw
at no cost, even if records have changed meanwhile: to draw again because the content changed would tell that it
changed. A drawn week keeps its key whatever settings say later; only a declared revision is another, and paid for.

Draws are files of the release folder. Where several machines share a ledger its book keeps them too, and each machine
brings in what the others drew before it looks for its own.
"""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from density_assets.errors import BadInput, PublishedStays
from density_assets.privacy.charges import budget_in_force, price
from density_assets.privacy.events import to_record
from density_assets.privacy.noise import Noise
from density_assets.privacy.policy import under_policy
from density_assets.privacy.release import Release
from density_assets.publication.files import MEASUREMENTS, Naming, draw_file
from density_assets.publication.verification import stated_measurements
from resources.draws import (
    Measurement,
    Values,
    draw_bytes,
    draw_digest,
    fetch_draws,
    read_draw,
    refuse_unknown,
    witnesses_under,
)
from resources.ledger.book import LedgerError
from resources.ledger.ledger import Ledger, Order
from resources.ledger.witnesses import NOTHING, Witnesses, note_head
from resources.tables.files import make_folder, private_files, write_durably
from resources.tables.store import Store


class NotReleasable(RuntimeError):
    """The draw asked for may never leave as a release: nothing was charged and nothing drawn."""


class Measurements:
    """The measurements of one city, behind the ledger of its home.

    anchored: looks for witnesses outside the home. anchor: notes the ledger's head there.
    """

    def __init__(
        self,
        store: Store,
        ledger: Ledger,
        noise: Noise,
        anchored: Callable[[], Witnesses] = lambda: NOTHING,
        anchor: Callable[[], object] = lambda: None,
    ) -> None:
        self._store = store
        self._ledger = ledger
        self._noise = noise
        self._anchored = anchored
        self._anchor = anchor
        self._folder = store.release / MEASUREMENTS

    def measure(
        self,
        request: Release,
        door: str,
        order: Order,
        fingerprint: Callable[[], str | None],
        prepare: Callable[[], Callable[[Noise], Values]],
        say: Callable[[str], None] = lambda _: None,
    ) -> Measurement:
        """The draw of one door: the stored one, or a new one that is paid for first.

        order: who asks, and under which terms.
        fingerprint: keyed fingerprint of the confidential tables the draw reads; none once they are purged.
        prepare: reads and checks those tables and returns the function that draws, before anything is charged.
        say: told what a new draw costs, before it is drawn.

        Guarantees: noise is drawn only after a charge for this very draw is committed and noted outside the ledger,
        each charge pays for at most one draw, a draw's digest is on the ledger before the draw is stored, and it is
        stored under its key before it is returned. A door of one revision of a week is drawn once: a lost draw is not
        made again.
        """
        key = request.key(door)
        make_folder(self._folder)
        # One run at a time works on a revision of a week, whatever settings it was started with.
        name = f"release-{request.week}-{request.revision}"
        with self._store.locked(name), self._ledger.book.alone(f"{request.population} {request.city} {name}"):
            self._fetch()
            if self._file(key).exists():
                self._aside(key).unlink(missing_ok=True)  # of a run that was overtaken: a draw nobody may have
            if self._file(key).exists() or self._finished_aside(key):
                self._compare_inputs(request, door, fingerprint())
                return self._load(key)
            _refuse_unreleasable(request, self._noise)
            self._refuse_lost(request)
            draw = prepare()
            self._remember_inputs(request, door, fingerprint())
            missing = [name for name in request.doors if not self._file(request.key(name)).exists()]
            due = self._ledger.reserve([request.charge(name) for name in missing], order, self.witnesses())
            self._note_head()  # an anchor that cannot be written refuses here, where the charge is still unused
            if due:
                accounts = self._ledger.accounts()
                budget = budget_in_force(accounts.budget(request.population), order.settings)
                say(price(list(accounts.rows), due, under_policy(accounts, budget)))
            charge = self._ledger.begin_draw(key, request.doors[door])
            self._note_head()  # before the noise: whoever cuts the ledger back to an unused charge is found
            values = draw(self._noise)
            content = self._set_aside(key, Measurement(values, tuple(map(to_record, request.doors[door])), charge))
            try:
                self._ledger.finish_draw(charge, key, draw_digest(key, values), content)
            except LedgerError:  # it is not noted, so it is no draw
                self._aside(key).unlink(missing_ok=True)
                raise
            self._put_in_place(key)
            self._note_head()  # after the draw is stored: whatever fails now, it is not lost
            return self._load(key)

    def stored(self, request: Release, door: str) -> Measurement:
        """The draw of a door that was opened before."""
        self._fetch()
        if not self._file(request.key(door)).exists():
            self._refuse_lost(request)
            raise BadInput(
                f"{door} of the week of {request.week} must have been drawn, but no such draw is stored: "
                "materialise it, which is charged"
            )
        return self._load(request.key(door))

    def witnesses(self) -> Witnesses:
        """What the ledger must know."""
        return witnesses_under(self._store.folder.parent) + self._anchored()

    def _refuse_lost(self, request: Release) -> None:
        """Raise if a draw of this release is lost and the release is out: another would not be the one people have."""
        lost = [door for door in request.doors if not self._file(request.key(door)).exists()]
        if lost and self._is_out(request):
            files = ", ".join(self._file(request.key(door)).name for door in lost)
            raise PublishedStays(
                f"revision {request.revision} of the week of {request.week} is published, so its draws must be stored, "
                f"but {' and '.join(lost)} is lost: restore {files} from a backup of the release folder, or from a "
                "copy that was handed out. Nothing was charged, nothing drawn, and the published files are as they were"
            )

    def _is_out(self, request: Release) -> bool:
        """Whether the release was published: the ledger says so, or a statement does."""
        accounts, keys = self._ledger.accounts(), {request.key(door) for door in request.doors}
        statement = Naming(self._store.release, request.week, request.revision).file("privacy_statement", "json")
        return bool(accounts.publications(request.which)) or bool(stated_measurements(statement) & keys)

    def _file(self, key: str) -> Path:
        return self._store.release / draw_file(key)

    def _aside(self, key: str) -> Path:
        """Where a draw lies until the ledger knows its digest: a run that is killed in between loses nothing."""
        return self._file(key).with_suffix(".drawing")

    def _finished_aside(self, key: str) -> bool:
        """Whether a killed run left a draw that the ledger knows; it is put in place."""
        aside = self._aside(key)
        if not aside.exists():
            return False
        try:
            about, values = read_draw(aside)
            refuse_unknown(aside, key, about, values, self._ledger.accounts())
        except BadInput:  # never finished, so it is no draw
            aside.unlink()
            return False
        self._put_in_place(key)
        return True

    def _put_in_place(self, key: str) -> None:
        write_durably(self._file(key), self._aside(key).read_bytes())
        self._aside(key).unlink()

    def _note_head(self) -> None:
        """Note the ledger's newest entry beside it and wherever the settings say."""
        note_head(self._store.folder.parent, self._ledger.accounts())
        self._anchor()

    def _load(self, key: str) -> Measurement:
        file = self._file(key)
        about, values = read_draw(file)
        refuse_unknown(file, key, about, values, self._ledger.accounts())
        return Measurement(values, tuple(about["events"]), about["charge"])

    def _set_aside(self, key: str, measurement: Measurement) -> bytes:
        """Write a draw aside; returns the content of its file."""
        content = draw_bytes(key, measurement)
        write_durably(self._aside(key), content)
        return content

    def _fetch(self) -> None:
        """Bring in what other machines drew."""
        fetch_draws(self._ledger, self._store.folder.parent, self._store.folder.name)

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
