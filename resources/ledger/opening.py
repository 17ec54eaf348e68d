"""Opening a ledger, once; saying that it was moved; copying it to another book; putting a copy back.

For people who do not exist a ledger opens by itself. For real people somebody opens it, by name and with a reason,
because whoever opens a second one can draw every week a second time.
"""

import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from density_assets.errors import BadInput
from density_assets.privacy.accounts import Accounts, NotWhole, Records
from density_assets.privacy.acts import Act, of_nobody
from density_assets.privacy.chain import GENESIS
from density_assets.privacy.charges import is_simulated
from resources.ledger.book import Book, LedgerError, Writer
from resources.ledger.ledger import Adding, Ledger, checked_accounts
from resources.ledger.medium import medium_digest, nowhere_digest
from resources.ledger.sqlite import SqliteBook
from resources.ledger.witnesses import Witnesses


@dataclass(frozen=True)
class Stored:
    """A draw of version 1 as it was found: which charge paid for it, and its digest."""

    measurement: str
    charge: str
    digest: str


@dataclass(frozen=True)
class Found:
    """What lies under a home when its ledger is opened: draws that are stored, and whatever names the ledger."""

    stored: Sequence[Stored]
    witnesses: Witnesses


def open_by_itself(ledger: Ledger, population: str, key: Callable[[], str], found: Found) -> bool:
    """Open the ledger of people who do not exist, unless it is open; whether it was opened now.

    key: makes the public key that it will name; asked only when nothing speaks against opening it.
    A ledger of version 1 that was charged for such people only is taken over.
    """
    if not is_simulated(population):
        return False
    with ledger.adding(found.witnesses) as adding:
        if adding.accounts.opened:
            return False
        if not all(is_simulated(row.charge.population) for row in adding.accounts.rows):
            raise LedgerError(
                "a ledger that was charged for real people must be taken over by a person: `density ledger init "
                "--adopt --by NAME --reason WHY`"
            )
        _append_opened(ledger, adding, of_nobody("by itself"), key, found)
    return True


def open_for_people(ledger: Ledger, act: Act, key: Callable[[], str], found: Found, *, adopt: bool) -> None:
    """Open the ledger for records of real people."""
    with ledger.adding(found.witnesses) as adding:
        accounts = adding.accounts
        if accounts.declared:
            raise BadInput(
                f"a ledger is opened once, {ledger.book.name} was opened already (ledger "
                f"{accounts.identity[:16]}): use it"
            )
        if not accounts.opened:
            if accounts.rows and not adopt:
                raise BadInput(
                    f"a ledger of version 1 must be taken over as a whole, {ledger.book.name} holds "
                    f"{len(accounts.rows)} charges: say --adopt"
                )
            _append_opened(ledger, adding, act, key, found)
        medium = medium_digest(adding.accounts.identity, ledger.book)
        adding.append("declared", {"place": medium, **act.record()})


def say_moved(ledger: Ledger, act: Act, witnesses: Witnesses) -> None:
    """Record that the ledger lies elsewhere now, and that the one it was copied from is gone."""
    with ledger.adding(witnesses) as adding:
        medium = medium_digest(adding.accounts.identity, ledger.book)
        if medium == adding.accounts.medium:
            raise BadInput("a ledger that was not moved needs no word about it: it lies where it was opened")
        adding.append("moved", {"place": medium, **act.record()})


def copy_to(
    ledger: Ledger, book: Book, act: Act, witnesses: Witnesses, draws: Callable[[Accounts], Mapping[str, bytes]]
) -> None:
    """Copy a ledger to an empty book, every row as it is.

    draws: finds the files of its draws, by the hash of the charge that paid for each.

    Guarantees: of a ledger for real people neither book may pay afterwards, until somebody says at one of them that the
    other is gone (`say_moved`). The ledger says that it lies nowhere while nobody can add to it, and the copy knows of
    every draw that was begun or finished until then. It says so after every row and draw was put into the copy, before
    the copy is committed: one that cannot be written leaves the ledger open, and at no moment two may pay.
    """
    if not ledger.accounts(witnesses).opened:
        raise BadInput(
            f"a ledger must have an identity before it is copied, {ledger.book.address} has none: `density ledger "
            "init`, with --adopt if it is of version 1"
        )
    with book.writing() as writer:
        if any(vars(writer.read()).values()):
            raise BadInput(f"a ledger must be copied to an empty place, {book.address} holds one: give another")
        _put(writer, ledger.accounts(witnesses), draws)  # what takes long; others may go on charging
        with ledger.adding(witnesses) as adding:
            nowhere = nowhere_digest(adding.accounts.identity)
            if adding.accounts.declared and adding.accounts.medium != nowhere:
                adding.append("moved", {"place": nowhere, **act.record()})
            _put(writer, adding.accounts, draws)


def _put(writer: Writer, accounts: Accounts, draws: Callable[[Accounts], Mapping[str, bytes]]) -> None:
    """Let a copy hold every row, and the draws that are stored."""
    writer.replace(accounts.records)
    copied = Adding(writer, checked_accounts(writer.read()))
    for charge, content in draws(copied.accounts).items():
        copied.keep(charge, content)


def backup(ledger: Ledger, copy: Path) -> None:
    """Write a consistent copy, also while others write."""
    if not ledger.accounts().exists:
        raise LedgerError(ledger.none_here())
    if copy.exists():
        raise BadInput(f"a backup must be a new file, {copy} exists already: give another name")
    ledger.book.backup(copy)


def restore(ledger: Ledger, copy: Path, act: Act, witnesses: Witnesses) -> None:
    """Put a copy back: a backup, or the chain that was published with a release.

    Refused if it is damaged, knows less than its witnesses, or less than the ledger. Nobody charges meanwhile: the
    comparison and the exchange happen under the ledger's own lock. That it was put back is an entry, which every later
    statement repeats: a copy may have forgotten draws that no witness is left of.
    """
    records, saved = read_copy(copy, witnesses)
    with ledger.book.writing() as writer:
        present = writer.read()
        for name in ("charges", "draws", "entries"):
            lost = _hashes(getattr(present, name)) - _hashes(getattr(records, name))
            if lost:
                raise LedgerError(
                    f"a restored ledger must hold everything the present one does, {copy} lacks {len(lost)} {name}: "
                    "keep the present one"
                )
        writer.replace(records)
        if saved.opened and list(present.entries) != list(records.entries):
            body = {"row": len(saved.entries), "head": saved.head, **act.record()}
            Adding(writer, saved).append("restored", body)
    if saved.opened and medium_digest(saved.identity, ledger.book) != saved.medium:
        say_moved(ledger, act, witnesses)


def read_copy(copy: Path, witnesses: Witnesses) -> tuple[Records, Accounts]:
    """The rows of a backup or of a published chain, and what they say, after a look at whether they are whole."""
    if not copy.is_file():
        raise LedgerError(f"a copy of the ledger must be a file, {copy} is none")
    if copy.suffix != ".json":
        return _believed_copy(copy, SqliteBook(copy).read(), witnesses)
    try:
        said = json.loads(copy.read_bytes())
        records = Records(said["version_1"]["charges"], said["version_1"]["draws"], said["entries"])
    except (ValueError, KeyError, TypeError, RecursionError):
        raise LedgerError(
            f"a published chain must be of version 2 to restore the ledger from it, {copy} is not, or it is damaged: "
            "version 1 did not say what was drawn; use a backup"
        ) from None
    return _believed_copy(copy, records, witnesses)


def _believed_copy(copy: Path, records: Records, witnesses: Witnesses) -> tuple[Records, Accounts]:
    try:
        accounts = checked_accounts(records)
    except NotWhole as problem:
        raise LedgerError(f"a copy of the ledger must be whole, {copy} is not: {problem}") from None
    if not accounts.exists:
        raise LedgerError(f"a copy of the ledger must hold something, {copy} is empty")
    if missing := witnesses.missing_from(accounts):
        raise LedgerError(
            f"a copy of the ledger must hold everything that is named elsewhere, {copy} lacks {len(missing)} of it "
            f"({missing[0]}): find a newer one"
        )
    return records, accounts


def _append_opened(ledger: Ledger, adding: Adding, act: Act, key: Callable[[], str], found: Found) -> None:
    identity = secrets.token_hex(16)
    body = {
        "ledger": identity,
        "place": medium_digest(identity, ledger.book),
        "key": key(),
        "adopted": _adopted(adding.accounts, found) if adding.accounts.rows else None,
        **act.record(),
    }
    adding.append("opened", body)


def _adopted(accounts: Accounts, found: Found) -> dict[str, Any]:
    """What a ledger of version 1 held, and the draws that were made under it."""
    old = accounts.records
    drawn = {row.hash: row.charge.measurement for row in accounts.rows if row.drawn}
    for stored in found.stored:
        if drawn.get(stored.charge) != stored.measurement:
            raise LedgerError(
                f"a stored draw must be paid for by the charge it names, {stored.measurement[:12]} is not: it was put "
                "there by somebody. Nothing was taken over; restore the release folder from a backup"
            )
    return {
        "charges": len(old.charges),
        "charges_head": old.charges[-1]["hash"] if old.charges else GENESIS,
        "draws": len(old.draws),
        "draws_head": old.draws[-1]["hash"] if old.draws else GENESIS,
        "stored": [vars(stored) for stored in found.stored],
        "releases": sorted({named.what for named in (*found.witnesses.releases, *found.witnesses.totals)}),
    }


def _hashes(rows: Sequence[Any]) -> set[str]:
    return {str(row["hash"]) for row in rows}
