"""The ledger: what every release of a population has cost, and whether one more may be paid.

One ledger for everything under `$DENSITY_HOME`, apart from any table a user may delete, because budgets follow
people and not cities. It is opened once and has a random identity. Entries are only ever added; each holds the hash of
the one before. A charge is committed to disk before noise is drawn, and so is the note that its noise is about to be
drawn: whatever happens next, the same charge never pays for a second draw. The digest of every draw follows.

Before anything is added, the whole chain is read and checked, and so are its witnesses: whatever statements, published
chains, released tables and anchors name must stand in it.
"""

import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from density_assets.errors import BadInput
from density_assets.privacy.accounts import GENESIS, WEEK, Accounts, NotWhole, Record, read_accounts, row_hash
from density_assets.privacy.acts import Act, needed
from density_assets.privacy.charges import Budget, Row, budget_in_force, is_simulated, refuse_over_budget
from density_assets.privacy.events import Event, to_record
from density_assets.privacy.policy import (
    refuse_budget,
    refuse_charges,
    refuse_forged_policies,
    refuse_unacknowledged,
    under_policy,
)
from density_assets.privacy.release import FORMAT, Charge
from density_assets.settings import Settings
from resources.ledger.book import Book, LedgerError, Writer, medium_digest
from resources.ledger.sqlite import LEDGER, SqliteBook
from resources.ledger.witnesses import NOTHING, Witnesses
from resources.signing import signature_holds

CHARGED_UNIT = "one subscriber identifier, one week"


@dataclass(frozen=True)
class Order:
    """What a charge is made under, besides what is charged.

    act: who asks for it, and why; none is enough where nothing is due.
    settings: of the city; what they say a year may cost stands if none is recorded, or if it is less.
    release: everything that decides the draw. software: what draws.
    """

    act: Act | None
    settings: Settings
    release: Mapping[str, Any]
    software: Mapping[str, str]


class Ledger:
    """The ledger of a home."""

    def __init__(self, home: Path, book: Book | None = None) -> None:
        self.file = home / LEDGER
        self.book: Book = book or SqliteBook(self.file)
        self._checked: tuple[str, Accounts] | None = None  # rows as they were read last, and what they say

    # --- looking --------------------------------------------------------------------------------------------

    def accounts(self, witnesses: Witnesses = NOTHING) -> Accounts:
        """Everything it says; raises `LedgerError` if it is not whole, or lacks what a witness names."""
        return self._believed(self.book.read(), witnesses)

    def rows(self) -> list[Row]:
        """Every charge, oldest first."""
        return list(self.accounts().rows)

    def written(self) -> tuple[int, ...]:
        """When it was last written: what was read of it holds until this changes. For looking, never for paying."""
        return self.book.written()

    def problem(self, witnesses: Witnesses) -> str | None:
        """Why the ledger cannot be trusted; none if it is whole."""
        try:
            self.accounts(witnesses)
        except LedgerError as found:
            return str(found)
        return None

    def refuse_unready(self, population: str, accounts: Accounts | None = None) -> None:
        """Raise if a population cannot be charged yet: for real people, somebody must have opened the ledger."""
        known = accounts or self.accounts()
        if is_simulated(population):
            return
        if not known.declared:
            raise LedgerError(
                "a ledger must be opened by a person before anything about real people is drawn, "
                f"{self.book.address} {'was not' if known.opened else 'does not exist'}: "
                f"`density ledger init --by NAME --reason WHY`, once, on the machine that keeps it; if you have "
                "a ledger elsewhere, set DENSITY_HOME"
            )
        if said := self.elsewhere(known):
            raise LedgerError(said)

    def elsewhere(self, accounts: Accounts) -> str:
        """Why a ledger of real people may not pay although it is whole: it lies where nobody opened it; or nothing."""
        if not accounts.declared or accounts.medium == medium_digest(accounts.identity, self.book):
            return ""
        return (
            f"a ledger must lie where it was opened, {self.book.address} is a copy or was moved to another disk or "
            "database: two copies would each pay for a draw of the same week. It may not pay until somebody says that "
            "the other one is gone for good: `density ledger moved --by NAME --reason WHY`"
        )

    def none_here(self) -> str:
        """What to say where there is no ledger."""
        return (
            f"there is no ledger at {self.book.address}: if you have one elsewhere, set DENSITY_HOME; else `density "
            "ledger init --by NAME --reason WHY` opens one, and for simulated people the first release does"
        )

    # --- paying ---------------------------------------------------------------------------------------------

    def reserve(self, charges: Sequence[Charge], order: Order, witnesses: Witnesses) -> list[Charge]:
        """Charge every door of a release that is not paid for yet, all or none; returns what was charged now.

        A charge whose noise may have been drawn already pays for nothing more: its door is charged again. Not if the
        draw was finished: then it can be restored, and another would be a revision that nobody declared.
        """
        population = charges[0].population
        with self.adding(witnesses) as adding:
            self.refuse_unready(population, adding.accounts)
            unused = {(row.charge.measurement, row.charge.events) for row in adding.accounts.rows if not row.drawn}
            due = [charge for charge in charges if (charge.measurement, charge.events) not in unused]
            refuse_drawn(adding.accounts, charges)
            if due:
                act, budget = may_charge(adding.accounts, due, order)
                if adding.accounts.budget(population) is None:
                    adding.append("budget", budget_body(population, budget, act))
                for charge in due:
                    adding.append("charge", charge_body(charge, order, act))
            return due

    def begin_draw(self, measurement: str, events: tuple[Event, ...]) -> str:
        """Note that the noise of a charge for these very events is about to be drawn; returns the charge's hash.

        Committed before the first random number: from here on the charge is used, drawn or not.
        """
        with self._adding_here() as adding:
            for row in adding.accounts.rows:
                if (row.charge.measurement, row.charge.events) == (measurement, events) and not row.drawn:
                    adding.append("begun", {"charge": row.hash})
                    return row.hash
        raise LedgerError(f"a draw must be paid for; measurement {measurement[:12]} has no unused charge: reserve it")

    def finish_draw(self, charge: str, measurement: str, digest: str, content: bytes | None = None) -> None:
        """Note what was drawn, before it is stored: what is stored can then be compared with it for ever.

        content: of the file it will be stored in; a book that several machines share keeps it with the note.

        Guarantees: of two runs that drew one door of a revision, because a lock was lost, the first is believed.
        """
        with self._adding_here() as adding:
            paid = adding.accounts.by_hash.get(charge)
            if paid and not paid.digest and was_drawn(adding.accounts, paid.charge):
                raise LedgerError(
                    f"a revision of a week is drawn once, but another run has drawn {paid.charge.door} of the week of "
                    f"{paid.charge.week} meanwhile: start again, which finds that draw. This one is not kept"
                )
            adding.append("drawn", {"charge": charge, "measurement": measurement, "digest": digest})
            if content is not None:
                adding.keep(charge, content)

    def publish(self, publication: Mapping[str, Any], act: Act) -> None:
        """Note that a release was signed, unless the newest note of this release and vintage says just that."""
        which = {name: publication[name] for name in WEEK}
        with self._adding_here() as adding:
            before = adding.accounts.publications(which, publication.get("upto"))
            if not (before and publication.items() <= before[-1].body.items()):
                adding.append("published", {**publication, **act.record()})

    # --- deciding -------------------------------------------------------------------------------------------

    def give_budget(self, population: str, budget: Budget, act: Act, witnesses: Witnesses) -> None:
        """Record what all weeks of a year of a population may cost together from now on."""
        with self.adding(witnesses) as adding:
            refuse_budget(adding.accounts, budget, act)
            adding.append("budget", budget_body(population, budget, act))

    def record(self, kind: str, body: Mapping[str, Any], act: Act, witnesses: Witnesses) -> None:
        """Record an approval, a policy or a key."""
        with self.adding(witnesses) as adding:
            adding.append(kind, {**body, **act.record()})

    # --- inside ---------------------------------------------------------------------------------------------

    @contextmanager
    def adding(self, witnesses: Witnesses = NOTHING) -> Iterator["Adding"]:
        """Add entries to a ledger that is whole."""
        with self.book.writing() as writer:
            yield Adding(writer, self._believed(writer.read(), witnesses))

    @contextmanager
    def _adding_here(self) -> Iterator["Adding"]:
        """Add entries to a ledger that was not copied elsewhere meanwhile: its copy would not know of them."""
        with self.adding() as adding:
            if said := self.elsewhere(adding.accounts):
                raise LedgerError(said)
            yield adding

    def _believed(self, records: Sequence[Record], witnesses: Witnesses) -> Accounts:
        try:
            accounts = self._accounts_of(records)
        except NotWhole as problem:
            raise LedgerError(
                f"{problem}: it was changed, removed or inserted. "
                "Nothing may be drawn; restore a backup and find out what happened"
            ) from None
        if missing := witnesses.missing_from(accounts):
            raise LedgerError(
                f"the ledger must hold everything that was ever published from it, {self.book.name} lacks "
                f"{len(missing)} things that are named elsewhere ({missing[0]}): it was cut, lost or replaced by an "
                "older copy. Nothing may be drawn; restore a newer backup, or the chain that was published last: "
                "`density ledger restore FILE`"
            )
        return accounts

    def _accounts_of(self, records: Sequence[Record]) -> Accounts:
        """What rows say. A run reads them some eighty times and adds a few: the very same rows are checked once."""
        try:
            text, checked = repr(records), self._checked  # text tells 1 from 1.0 and from True, which are equal
        except RecursionError:
            raise NotWhole("an entry of the ledger is nested deeper than any that was written") from None
        if checked is None or checked[0] != text:
            self._checked = checked = text, checked_accounts(records)
        return checked[1]


class Adding:
    """A transaction of the ledger: what it says so far, and what is added."""

    def __init__(self, writer: Writer, accounts: Accounts) -> None:
        self._writer = writer
        self.accounts = accounts

    def append(self, kind: str, body: Mapping[str, Any]) -> None:
        """Add one entry and look at the ledger anew: nothing is added that would not be believed."""
        if not (self.accounts.opened or kind == "opened"):
            raise LedgerError("a ledger must be opened before anything is added to it: `density ledger init`")
        entries = self.accounts.entries
        record = {
            "format": FORMAT,
            "kind": kind,
            "at": today(),
            "body": json.dumps(body, sort_keys=True, separators=(",", ":"), allow_nan=False),
            "previous": entries[-1].hash if entries else GENESIS,
        }
        self._writer.append({"row": len(entries) + 1, **record, "hash": row_hash(record)})
        self.accounts = checked_accounts(self._writer.read())

    def keep(self, charge: str, content: bytes) -> None:
        """Keep the file of a draw beside the entry that says its digest."""
        drawn = self.accounts.newest("drawn", charge=charge)
        if drawn is None:
            raise LedgerError(f"a draw must be in the ledger before its file is kept, {charge[:12]} is not")
        self._writer.keep(drawn.row, charge, content)


def checked_accounts(records: Sequence[Record]) -> Accounts:
    """What rows say; raises `NotWhole` if they are not what was written, or a policy lacks its signature."""
    accounts = read_accounts(records)
    try:
        refuse_forged_policies(accounts, signature_holds)
    except (BadInput, ValueError, KeyError, TypeError, AttributeError) as problem:
        if isinstance(problem, NotWhole):
            raise
        raise NotWhole(f"a policy of the ledger cannot be read ({type(problem).__name__})") from None
    return accounts


def today() -> str:
    """The day, no more: the ledger is handed out, and how long a week took to count tells how many records it has."""
    return datetime.now(UTC).date().isoformat()


def may_charge(accounts: Accounts, due: Sequence[Charge], order: Order) -> tuple[Act, Budget]:
    """Who asks for charges of one population and the budget that permits them; raises if anything forbids them."""
    act, recorded = needed(order.act, "a release"), accounts.budget(due[0].population)
    refuse_charges(accounts, due, act)
    budget = budget_in_force(recorded, order.settings)
    if recorded is None:  # the first is that of the settings
        refuse_budget(accounts, budget, act)
    refuse_over_budget(list(accounts.rows), due, under_policy(accounts, budget))
    refuse_unacknowledged(accounts, due, order.settings)
    return act, budget


def refuse_drawn(accounts: Accounts, charges: Sequence[Charge]) -> None:
    """Raise if a door of this revision of the week was drawn before, under whatever settings."""
    for charge in charges:
        if was_drawn(accounts, charge):
            raise LedgerError(
                f"a revision of a week is drawn once, {charge.door} of revision {charge.revision} of the week of "
                f"{charge.week} was drawn already: restore its draw (release/measurements) from a backup, or declare "
                f"revision {charge.revision + 1} of this week in [revisions], which is charged. Nothing was charged "
                "and nothing drawn"
            )


def was_drawn(accounts: Accounts, charge: Charge) -> bool:
    """Whether a door of a revision of a week was drawn to the end, under whatever settings."""
    charged = accounts.charges_of(charge.population, charge.which)
    return any(row.digest and row.charge.door == charge.door for row in charged)


def charge_body(charge: Charge, order: Order, act: Act) -> dict[str, Any]:
    """What the entry of a charge says."""
    return {
        **charge.identity(),
        "unit": CHARGED_UNIT,
        "door": charge.door,
        "measurement": charge.measurement,
        "events": [to_record(event) for event in charge.events],
        "nonce": secrets.token_hex(16),
        "release": dict(order.release),
        "software": dict(order.software),
        **act.record(),
    }


def budget_body(population: str, budget: Budget, act: Act) -> dict[str, Any]:
    """What the entry of a budget says."""
    return {"population": population, "epsilon": budget.epsilon, "delta": budget.delta, **act.record()}
