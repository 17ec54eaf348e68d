"""The files of draws: what they hold, what makes one believed, and how machines that share a ledger exchange them.

A stored draw is believed if the ledger knows it: its key, the charge it names and the digest of its values must be
those that were recorded when it was made.
"""

import hashlib
import io
import json
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from density_assets.errors import BadInput
from density_assets.privacy.accounts import Accounts
from density_assets.privacy.estimates import DrawUsed
from density_assets.privacy.events import to_record
from density_assets.privacy.release import FORMAT
from density_assets.publication.files import draw_file
from density_assets.settings.city import CITY_NAME
from resources.ledger.ledger import Ledger
from resources.ledger.witnesses import Named, Witnesses, noted_heads, witnesses_of
from resources.tables.files import make_folder, write_durably

Values = dict[str, NDArray[Any]]

KEY = re.compile("[0-9a-f]{64}")  # of a measurement
UNREADABLE = (OSError, ValueError, LookupError, TypeError, AttributeError, EOFError, RuntimeError, MemoryError)


@dataclass(frozen=True)
class Measurement:
    """A stored draw: values, the events that shaped them and the hash of the charge that paid for them."""

    values: Values
    events: tuple[dict[str, Any], ...]
    charge: str


def draw_bytes(key: str, measurement: Measurement) -> bytes:
    """The content of the file of a draw."""
    about = {
        "events": measurement.events,
        "charge": measurement.charge,
        "format": FORMAT,
        "key": key,
    }
    buffer = io.BytesIO()
    np.savez_compressed(buffer, about=np.array(json.dumps(about)), **measurement.values)  # type: ignore[arg-type]  # arrays by name
    return buffer.getvalue()


def witnesses_under(home: Path) -> Witnesses:
    """Whatever under a home names what its ledger must hold."""
    drawn = (Named(str(_about(file)["charge"]), file.name) for file in draw_files(home))
    return Witnesses(drawn=tuple(drawn)) + witnesses_of(home) + noted_heads(home)


def fetch_draws(ledger: Ledger, home: Path, city: str | None = None) -> None:
    """Write the file of every draw that other machines made, of one city or of all, where the book keeps them."""
    if not ledger.book.shared:
        return
    accounts = ledger.accounts()
    for row in accounts.rows:
        key = row.charge.measurement
        named = CITY_NAME.fullmatch(row.charge.city) and KEY.fullmatch(key)  # what becomes a path is looked at first
        if row.digest is None or not named or city not in (None, row.charge.city):
            continue
        file = home / row.charge.city / "release" / draw_file(key)
        if not file.exists() and (content := ledger.book.draw(row.hash)) is not None:
            refuse_unknown(file, key, *read_draw(file, content), accounts)
            make_folder(file.parent)
            write_durably(file, content)


def share_draws(ledger: Ledger, home: Path) -> None:
    """Let the book keep every draw that is stored here, where several machines share it."""
    if ledger.book.shared:
        with ledger.adding() as adding:
            for charge, content in contents_of_draws(home, adding.accounts).items():
                adding.keep(charge, content)


def contents_of_draws(home: Path, accounts: Accounts) -> dict[str, bytes]:
    """The files of all stored draws by the charge that paid for each; raises if one is not what was drawn."""
    contents = {}
    for file in draw_files(home):
        content = file.read_bytes()
        about, values = read_draw(file, content)
        refuse_unknown(file, about["key"], about, values, accounts)
        contents[about["charge"]] = content
    return contents


def draw_files(home: Path) -> list[Path]:
    """The stored draws of all cities of a home."""
    return sorted(home.glob(f"*/release/{draw_file('*')}"))


def draw_digest(key: str, values: Mapping[str, NDArray[Any]]) -> str:
    """What a draw is known by: its key, and every value with its name, type and shape."""
    digest = hashlib.sha256(f"density draw {FORMAT}\n{key}\n".encode())
    for name in sorted(values):
        array = np.ascontiguousarray(values[name])
        digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def read_draw(file: Path, content: bytes | None = None) -> tuple[dict[str, Any], Values]:
    """What a stored draw says of itself, and its values.

    content: of the file, if it was read already or is not there yet.
    """
    with _clearly(file), np.load(file if content is None else io.BytesIO(content)) as archive:
        return _about(file, content), {name: archive[name] for name in archive.files if name != "about"}


def _about(file: Path, content: bytes | None = None) -> dict[str, Any]:
    with _clearly(file), np.load(file if content is None else io.BytesIO(content)) as archive:
        about: dict[str, Any] = json.loads(str(archive["about"]))
        return {name: about[name] for name in ("key", "charge", "events", "format")}


@contextmanager
def _clearly(file: Path) -> Iterator[None]:
    """Whatever is wrong with the file of a draw, say what to do."""
    try:
        yield
    except BadInput:
        raise
    except (*UNREADABLE, zipfile.BadZipFile, zlib.error) as error:
        raise _damaged(file, type(error).__name__) from None


def refuse_unknown(file: Path, key: str, about: Mapping[str, Any], values: Values, accounts: Accounts) -> None:
    """Raise if a stored draw is not the one that was recorded under its key."""
    if about["format"] != FORMAT:
        raise _damaged(file, f"its format must be {FORMAT}, got {about['format']!r}")
    row = accounts.by_hash.get(about["charge"])
    if about["key"] != key or row is None or not row.drawn or row.charge.measurement != key:
        raise _damaged(file, "it is another draw")
    if [to_record(event) for event in row.charge.events] != about["events"]:
        raise _damaged(file, "it names other events than were paid for")
    if row.digest != draw_digest(key, values):
        raise _damaged(file, "its values are not those that were drawn")


def used_draw(folder: Path, used: DrawUsed, door: str, accounts: Accounts) -> Values:
    """What a door drew in a week that an estimate uses.

    folder: where releases lie.

    Guarantees: it is the draw that `used` names, paid for and known to the ledger; anything else is refused by name.
    """
    return _used_draw(folder, used, door, accounts)[1]


def used_draw_content(folder: Path, used: DrawUsed, door: str, accounts: Accounts) -> bytes:
    """The file of such a draw, read once: what was found to be the draw is what is returned."""
    return _used_draw(folder, used, door, accounts)[0]


def _used_draw(folder: Path, used: DrawUsed, door: str, accounts: Accounts) -> tuple[bytes, Values]:
    draw = used.doors[door]
    file, row = folder / draw_file(draw.measurement), accounts.by_hash.get(draw.charge)
    what = f"{door} of the week of {used.week} (revision {used.revision})"
    if row is None or row.digest != draw.digest or (row.charge.week, row.charge.door) != (used.week, door):
        raise BadInput(
            f"an estimate must use draws that are paid for, but the ledger knows no such draw of {what}: restore the "
            "ledger, or the statement that names it"
        )
    if not file.exists():
        raise BadInput(
            f"an estimate uses {what}, so that draw must be stored, but {file} is lost: restore it from a backup of "
            "the release folder, or from a copy that was handed out"
        )
    content = file.read_bytes()
    try:
        about, values = read_draw(file, content)
        refuse_unknown(file, draw.measurement, about, values, accounts)
    except BadInput as damaged:
        raise BadInput(f"an estimate uses {what}: {damaged}") from None
    if about["charge"] != draw.charge:
        raise BadInput(f"an estimate uses {what}: {_damaged(file, 'it was paid for by another charge')}")
    return content, values


def _damaged(file: Path, why: str) -> BadInput:
    return BadInput(
        f"a stored draw must be the one that was made, but {file} is damaged ({why}). Nothing may be drawn; "
        "restore it from a backup of the release folder: the same noise is never drawn again"
    )
