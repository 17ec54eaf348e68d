"""Erasing a week: what is confidential goes once the release exists, and the release stays as good as it was.

Erasing is unlinking files, wherever weeks are kept; versions of them that a bucket keeps are named, and then it is not
done. Measurements, released files and the ledger hold no records, so the doors of an erased week still answer with what
they drew. What an operator put in is the operator's, and is left alone.
"""

import json
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, date, datetime
from pathlib import Path

from density_assets.errors import BadInput
from density_assets.publication.files import Naming, draw_file
from density_assets.publication.verification import stated_charges, verify_release
from resources.tables.files import private_files, sweep, write_durably
from resources.tables.stamps import RELEVANT
from resources.tables.store import Store
from resources.tables.weeks import leftovers, roots_of

SHARED = ("spill",)  # folders of the confidential zone that belong to no week


def purge(store: Store, week: date, revision: int, *, force: bool = False) -> list[str]:
    """Erase the confidential zone of a week; returns what was erased.

    revision: the release that must be complete before.
    force: erase even if it is not; the week can then never be released from what is kept here.
    """
    with ExitStack() as alone:
        tables = {folder.parent.name for folder in store.confidential.glob(f"weeks/*/{week}")}
        for table in sorted({*tables, *RELEVANT}):
            alone.enter_context(store.locked(f"{table}-{week}"))  # whoever is writing ends first
        lacking = "; ".join(lacks(store, week, revision))
        if lacking and not force:
            raise BadInput(
                f"the week of {week} must be released before its records are erased, but {lacking}: release it first, "
                "or force the purge (make purge … FORCE=1) and give the release up"
            )
        here, elsewhere = traces(store, week), store.erase_elsewhere(week)
        for file in here:
            file.unlink(missing_ok=True)
        for folder in store.confidential.glob(f"weeks/*/{week}"):
            shutil.rmtree(folder)
    shutil.rmtree(store.confidential / "staging" / str(week), ignore_errors=True)
    sweep(store.confidential)
    store.refresh_views()
    kept = [words for root in roots_of(store.confidential) if (words := leftovers(root, week))]
    _note(store, week, forced=bool(lacking), kept=kept)
    if kept:
        raise BadInput(
            f"nothing must be left of the files of an erased week, but of those of {week} {'; '.join(kept)}: they are "
            "removed and can be had back. Let the store expire versions that are not current and uploads that were "
            "never finished (or remove them by hand), keep none from now on, and purge again: it succeeds once they "
            "are gone"
        )
    return [*elsewhere, *map(str, here)]


def lacks(store: Store, week: date, revision: int) -> Iterator[str]:
    """Why the release of a week is not complete; nothing if it is."""
    statement = Naming(store.release, str(week), revision).file("privacy_statement", "json")
    if not statement.exists():
        yield f"revision {revision} has no privacy statement"
        return
    yield from (f"not so: {finding}" for holds, finding in verify_release(statement) if not holds)
    for charge in stated_charges(statement):
        if not (store.release / draw_file(charge["measurement"])).exists():
            yield f"the draw of {charge['door']} is not stored"


def traces(store: Store, week: date) -> list[Path]:
    """Every confidential file of a week in the home: its name, or that of a folder it lies in, says so."""
    files = (file for file in store.confidential.rglob("*") if file.is_file() or file.is_symlink())
    inside = ((file, file.relative_to(store.confidential)) for file in files)
    return sorted(file for file, path in inside if str(week) in str(path) and path.parts[0] not in SHARED)


def _note(store: Store, week: date, *, forced: bool, kept: list[str]) -> None:
    note = {"erased": datetime.now(UTC).isoformat(timespec="seconds"), "forced": forced, "kept": kept}
    with private_files():
        store.purge_note(week).parent.mkdir(exist_ok=True)
        write_durably(store.purge_note(week), json.dumps(note).encode())
