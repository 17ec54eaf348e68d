"""Opening a ledger, once; saying that it was moved; copying it to another book; putting a copy back.

For people who do not exist a ledger opens by itself. For real people somebody opens it, by name and with a reason,
because whoever opens a second one can draw every week a second time.
"""

import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from density_assets.errors import BadInput
from density_assets.privacy.accounts import LEDGER_FORMAT, Accounts, NotWhole, Record
from density_assets.privacy.acts import Act, of_nobody
from density_assets.privacy.charges import is_simulated
from resources.ledger.book import Book, LedgerError, Writer, medium_digest, nowhere_digest
from resources.ledger.ledger import Adding, Ledger, checked_accounts
from resources.ledger.sqlite import SqliteBook
from resources.ledger.witnesses import Witnesses


def open_by_itself(ledger: Ledger, population: str, key: Callable[[], str], witnesses: Witnesses) -> bool:
    """Open the ledger of people who do not exist, unless it is open; whether it was opened now.

    key: makes the public key that it will name; asked only when nothing speaks against opening it.
    """
    if not is_simulated(population):
        return False
    with ledger.adding(witnesses) as adding:
        if adding.accounts.opened:
            return False
        _append_opened(ledger, adding, of_nobody("by itself"), key)
    return True


def open_for_people(ledger: Ledger, act: Act, key: Callable[[], str], witnesses: Witnesses) -> None:
    """Open the ledger for records of real people."""
    with ledger.adding(witnesses) as adding:
        accounts = adding.accounts
        if accounts.declared:
            raise BadInput(
                f"a ledger is opened once, {ledger.book.name} was opened already (ledger "
                f"{accounts.identity[:16]}): use it"
            )
        if not accounts.opened:
            _append_opened(ledger, adding, act, key)
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
            f"a ledger must be opened before it is copied, {ledger.book.address} was not: `density ledger init`"
        )
    with book.writing() as writer:
        if writer.read():
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
    if not ledger.accounts().opened:
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
    saved = read_copy(copy, witnesses)
    with ledger.book.writing() as writer:
        present = writer.read()
        if lost := {row["hash"] for row in present} - saved.hashes:
            raise LedgerError(
                f"a restored ledger must hold everything the present one does, {copy} lacks {len(lost)} entries: "
                "keep the present one"
            )
        writer.replace(saved.records)
        if len(present) != len(saved.records):
            body = {"row": len(saved.entries), "head": saved.head, **act.record()}
            Adding(writer, saved).append("restored", body)
    if medium_digest(saved.identity, ledger.book) != saved.medium:
        say_moved(ledger, act, witnesses)


def read_copy(copy: Path, witnesses: Witnesses) -> Accounts:
    """Return what the rows of a backup or of a published chain say, after a look at whether they are whole."""
    if not copy.is_file():
        raise LedgerError(f"a copy of the ledger must be a file, {copy} is none")
    if copy.suffix != ".json":
        return _believed_copy(copy, SqliteBook(copy).read(), witnesses)
    try:
        said = json.loads(copy.read_bytes())
        if said["format"] != LEDGER_FORMAT:
            raise ValueError
        records = said["entries"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise LedgerError(
            f"a published chain must be of format {LEDGER_FORMAT!r}, {copy} is not, or it is damaged: use a backup"
        ) from None
    return _believed_copy(copy, records, witnesses)


def _believed_copy(copy: Path, records: Sequence[Record], witnesses: Witnesses) -> Accounts:
    try:
        accounts = checked_accounts(records)
    except NotWhole as problem:
        raise LedgerError(f"a copy of the ledger must be whole, {copy} is not: {problem}") from None
    if not accounts.opened:
        raise LedgerError(f"a copy of the ledger must hold something, {copy} is empty")
    if missing := witnesses.missing_from(accounts):
        raise LedgerError(
            f"a copy of the ledger must hold everything that is named elsewhere, {copy} lacks {len(missing)} of it "
            f"({missing[0]}): find a newer one"
        )
    return accounts


def _append_opened(ledger: Ledger, adding: Adding, act: Act, key: Callable[[], str]) -> None:
    identity = secrets.token_hex(16)
    adding.append(
        "opened",
        {"ledger": identity, "place": medium_digest(identity, ledger.book), "key": key(), **act.record()},
    )
