"""The books: what the entries of a ledger say, believed as a whole and only if all of it holds.

A ledger is a chain of entries: each holds the hash of the one before, so that none can be changed, removed or inserted
unnoticed. Each is of one kind, and `BODIES` declares what an entry of that kind must say, for whoever writes one and
for whoever reads it:

    opened     the ledger was made, with a random identity and a key
    declared   a person opened it for records of real people
    moved      a person says that its file was moved or restored, not copied
    restored   a copy was put back: what was charged after its last row is not known
    key        releases are signed with another key from here on
    policy     what a data-protection officer permits
    budget     what all weeks of a year of a population may cost together
    approval   a second person agrees to a revision, or somebody to what a city's files are understood as
    charge     one door of one release is paid for
    begun      the noise of a charge is about to be drawn: it pays for nothing else
    drawn      the noise was drawn, and this is its digest
    published  a release or a final estimate was signed, and this is the digest of its manifest

Outsiders read the same chain by `verify.py`, which keeps shapes and rules of its own on purpose.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from density_assets.privacy.charges import Budget, Row, is_simulated
from density_assets.privacy.events import from_record
from density_assets.privacy.periods import monday_of
from density_assets.privacy.release import FORMAT, Charge

Record = Mapping[str, Any]  # a row as it is stored
Body = Mapping[str, Any]

LEDGER_FORMAT = f"density ledger {FORMAT}"  # of a published chain
GENESIS = "0" * 64
COLUMNS = frozenset(("row", "format", "kind", "at", "body", "previous", "hash"))
OUTSIDE = ("row", "hash")  # not part of what is hashed

ACT: Mapping[str, type] = {"by": str, "reason": str, "how": str}
WEEK: Mapping[str, type] = {"city": str, "week": str, "revision": int}
BODIES: Mapping[str, Mapping[str, type]] = {
    "opened": {"ledger": str, "place": str, "key": str, **ACT},
    "declared": {"place": str, **ACT},
    "moved": {"place": str, **ACT},
    "restored": {"row": int, "head": str, **ACT},
    "key": {"public": str, "replaces": str, **ACT},
    "policy": {"sha256": str, "text": str, **ACT},
    "budget": {"population": str, "epsilon": float, "delta": float, **ACT},
    "approval": {"what": str, **ACT},
    "charge": {
        **WEEK,
        "population": str,
        "unit": str,
        "epsilon": float,
        "delta": float,
        "door": str,
        "measurement": str,
        "events": list,
        "nonce": str,
        "release": dict,
        "software": dict,
        **ACT,
    },
    "begun": {"charge": str},
    "drawn": {"charge": str, "measurement": str, "digest": str},
    "published": {**WEEK, "row": int, "charges": list, "manifest": str, "key": str, "signature": str, **ACT},
}


class NotWhole(ValueError):
    """A ledger that is not what was written."""


@dataclass(frozen=True)
class Entry:
    """One entry of the chain."""

    row: int
    kind: str
    at: str
    body: Body
    hash: str


@dataclass(frozen=True)
class Accounts:
    """Everything a ledger says.

    records: its rows as they are stored.

    Guarantees: made by `read_accounts` only, after the chain and every rule of order was checked.
    """

    records: Sequence[Record] = ()
    entries: tuple[Entry, ...] = ()
    rows: tuple[Row, ...] = ()

    def published(self, upto: int) -> dict[str, Any]:
        """Return the chain as it is handed out with a release, up to an entry."""
        return {"format": LEDGER_FORMAT, "entries": [entry for entry in self.records if entry["row"] <= upto]}

    @property
    def opened(self) -> bool:
        """Whether there is a ledger at all."""
        return bool(self.entries)

    @property
    def identity(self) -> str:
        """Its random name."""
        return str(self.entries[0].body["ledger"]) if self.entries else ""

    @property
    def head(self) -> str:
        """Hash of the newest entry."""
        return self.entries[-1].hash if self.entries else GENESIS

    @property
    def declared(self) -> bool:
        """Whether a person opened it for records of real people."""
        return any(True for _ in self.of("declared"))

    @property
    def of_people(self) -> bool:
        """Whether it is about people who exist: a person opened it for them, or they were charged."""
        return self.declared or not all(is_simulated(row.charge.population) for row in self.rows)

    @property
    def medium(self) -> str:
        """Where it was last said to be."""
        return str([entry.body["place"] for entry in self.of("opened", "declared", "moved")][-1])

    @property
    def key(self) -> str:
        """The public key that releases are signed with."""
        return self.key_at(len(self.entries))

    def key_at(self, row: int) -> str:
        """The public key that was in force after an entry."""
        keys = [entry for entry in self.of("opened", "key") if entry.row <= row]
        return str(keys[-1].body["key" if keys[-1].kind == "opened" else "public"])

    def end_of(self, charges: Iterable[str], **which: Any) -> int:
        """The entry that a published chain ends with: the last draw of a release, or where it ended when it was signed.

        A chain that ends the same way each time is made of the same bytes each time.

        which: city, week and revision, where charges do not tell: final estimates of two weeks may use the same.
        """
        paid = frozenset(charges)
        signed = [entry for entry in self.all_of("published", **which) if paid == frozenset(entry.body["charges"])]
        if signed:
            return int(signed[-1].body["row"])
        drawn = [entry.row for entry in self.of("drawn") if entry.body["charge"] in paid]
        keys = [entry.row for entry in self.of("opened", "key")]
        return max(*drawn, *keys) if drawn else keys[-1]

    @cached_property
    def hashes(self) -> frozenset[str]:
        """Of all its entries."""
        return frozenset(entry.hash for entry in self.entries)

    @cached_property
    def by_hash(self) -> Mapping[str, Row]:
        """Its charges, by their hash."""
        return {row.hash: row for row in self.rows}

    @cached_property
    def releases(self) -> frozenset[str]:
        """Names of the releases whose series were drawn, as the tables that are made of these carry them.

        Charged is not enough: a ledger that was cut before the draw was begun would pay for it once more.
        """
        return self.releases_of("noisy_series")

    def releases_of(self, door: str) -> frozenset[str]:
        """Names of the releases of which a door was drawn, or may have been."""
        drawn = (row for row in self.rows if row.drawn and row.charge.door == door)
        return frozenset(row.release["name"] for row in drawn)

    def of(self, *kinds: str) -> Iterable[Entry]:
        """The entries of some kinds, oldest first."""
        return (entry for entry in self.entries if entry.kind in kinds)

    def all_of(self, kind: str, upto: int | None = None, **which: Any) -> list[Entry]:
        """The entries of a kind whose body says `which`, up to an entry, oldest first."""
        last = len(self.entries) if upto is None else upto
        return [entry for entry in self.of(kind) if entry.row <= last and which.items() <= entry.body.items()]

    def newest(self, kind: str, upto: int | None = None, **which: Any) -> Entry | None:
        """The last of them, which is the one in force; none if there is none."""
        return next(reversed(self.all_of(kind, upto, **which)), None)

    def budget(self, population: str, upto: int | None = None) -> Budget | None:
        """The budget that is recorded, or was at an entry; none if none was."""
        given = self.newest("budget", upto, population=population)
        return Budget(given.body["epsilon"], given.body["delta"]) if given else None

    def charges_of(self, population: str, which: Mapping[str, Any]) -> list[Row]:
        """What a population was charged for one revision of a week.

        which: city, week and revision, as `Identity.which` says them.
        """
        return [row for row in self.rows if row.charge.population == population and row.charge.which == which]

    def publications(self, which: Mapping[str, Any], upto: str | None = None) -> list[Entry]:
        """Every time one revision of a week was published, oldest first.

        upto: the last week of a final estimate, to be told of that instead.
        """
        return [entry for entry in self.all_of("published", **which) if entry.body.get("upto") == upto]


def row_hash(row: Record) -> str:
    """Return the hash of a row, from its content and the hash before it."""
    content = {name: value for name, value in row.items() if name not in OUTSIDE}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def first_broken(rows: Iterable[Record]) -> int | None:
    """Return the number of the first row, counted from 1, that is not what was written; none if the chain is whole."""
    previous = GENESIS
    for number, row in enumerate(rows, start=1):
        if row["row"] != number or row["previous"] != previous or row["hash"] != row_hash(row):
            return number
        previous = row["hash"]
    return None


def read_accounts(records: Sequence[Record]) -> Accounts:
    """Return what the rows of a ledger say; raises `NotWhole` if they are not what was written."""
    try:
        if number := first_broken(records):
            raise NotWhole(f"row {number} of the ledger is not what was written")
        entries = tuple(_read_entry(record) for record in records)
        _refuse_disorder(entries)
        return Accounts(records, entries, tuple(_rows_of(entries, *_draws_of(entries))))
    except NotWhole:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as lacking:
        raise NotWhole(f"an entry of the ledger cannot be read ({type(lacking).__name__})") from None


def _read_entry(record: Record) -> Entry:
    row = record["row"]
    if record.keys() != COLUMNS:
        raise NotWhole(f"entry {row} of the ledger has columns that no entry has")
    if not _has_type(record["format"], int) or record["format"] != FORMAT:
        raise NotWhole(f"entry {row} of the ledger must be of format {FORMAT}, got {record['format']!r}")
    if record["kind"] not in BODIES:
        raise NotWhole(
            f"entry {row} of the ledger is of a kind this software does not know ({record['kind']!r}): it was written "
            "by a newer one, which must be used"
        )
    body = json.loads(record["body"])
    if not isinstance(body, dict):
        raise NotWhole(f"entry {row} of the ledger has a body that no entry has")
    for name, kind in BODIES[record["kind"]].items():
        if not _has_type(body[name], kind):
            raise NotWhole(f"{name!r} of entry {row} of the ledger is none ({record['kind']})")
    return Entry(row, record["kind"], record["at"], body, record["hash"])


def _has_type(value: Any, kind: type) -> bool:
    """Whether a value of JSON is of a type; a whole number is a number, and true is none."""
    return type(value) is kind or (kind is float and type(value) is int)


def _refuse_disorder(entries: Sequence[Entry]) -> None:
    """Raise unless the rules hold that are between entries, beyond each being what was written."""
    if entries and [entry.row for entry in entries if entry.kind == "opened"] != [1]:
        raise NotWhole("a ledger is opened once, by its first entry")
    nonces = [entry.body["nonce"] for entry in entries if entry.kind == "charge"]
    if len(nonces) != len(set(nonces)):
        raise NotWhole("two charges have the same nonce")
    for entry in entries:
        if entry.kind == "budget" and not (entry.body["epsilon"] > 0 and entry.body["delta"] > 0):
            raise NotWhole(f"entry {entry.row} is a budget that is none")


def _draws_of(entries: Sequence[Entry]) -> tuple[set[str], dict[str, str]]:
    """Return charges whose noise may have been drawn, and digests of the draws, each at most once and in order."""
    charges: dict[str, str] = {}
    begun: set[str] = set()
    digests: dict[str, str] = {}
    for entry in entries:
        charge = entry.body.get("charge", "")
        if entry.kind == "charge":
            charges[entry.hash] = entry.body["measurement"]
        elif entry.kind == "begun":
            if charge not in charges or charge in begun:
                raise NotWhole(f"entry {entry.row} begins a draw that is not paid for, or was begun before")
            begun.add(charge)
        elif entry.kind == "drawn":
            if charge not in begun or charge in digests or entry.body["measurement"] != charges[charge]:
                raise NotWhole(f"entry {entry.row} is a draw that was not begun, or was made before")
            digests[charge] = entry.body["digest"]
    return begun, digests


def _rows_of(entries: Sequence[Entry], begun: set[str], digests: Mapping[str, str]) -> Iterable[Row]:
    """Return every charge, oldest first."""
    paid = (entry for entry in entries if entry.kind == "charge")
    for number, entry in enumerate(paid, start=1):
        yield Row(
            number,
            entry.at,
            _charge_of(entry.body),
            entry.hash,
            entry.hash in begun,
            digests.get(entry.hash),
            entry.row,
            **{name: entry.body[name] for name in ("nonce", "by", "reason", "how", "release", "software")},
        )


def _charge_of(body: Body) -> Charge:
    plain = {name: body[name] for name in Charge.__dataclass_fields__ if name != "events"}
    charge = Charge(**plain, events=tuple(from_record(event) for event in body["events"]))
    monday_of(charge.week)  # raises for what is no week: budgets are added up by it
    return charge
