"""What a ledger says, read as a whole and believed only if all of it holds.

A ledger is a chain of entries, each of one kind:

    opened     the ledger was made, with a random identity and a key; what it took over from version 1
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

Ledgers of version 1 held charges and draws only, in two chains without identity, nonce or digests. Their rows are
verified as they were written, for ever; `opened` says where they ended.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from density_assets.privacy.chain import GENESIS, first_broken
from density_assets.privacy.charges import Budget, Row, is_simulated
from density_assets.privacy.events import from_record
from density_assets.privacy.periods import monday_of
from density_assets.privacy.release import Charge

VERSION = 2
KINDS = frozenset(
    {
        *("opened", "declared", "moved", "restored", "key", "policy", "budget", "approval"),
        *("charge", "begun", "drawn", "published"),
    }
)
COLUMNS = frozenset(("row", "version", "kind", "at", "body", "previous", "hash"))

Record = Mapping[str, Any]  # a row as it is stored
Body = Mapping[str, Any]


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
class Records:
    """The rows of a ledger as they are stored: two chains of version 1, one of today."""

    charges: Sequence[Record] = ()
    draws: Sequence[Record] = ()
    entries: Sequence[Record] = ()

    def published(self, upto: int) -> dict[str, Any]:
        """As they are handed out with a release, up to an entry."""
        return {
            "format": "density ledger 2",
            "version_1": {"charges": list(self.charges), "draws": list(self.draws)},
            "entries": [entry for entry in self.entries if entry["row"] <= upto],
        }


@dataclass(frozen=True)
class Accounts:
    """Everything a ledger says.

    Guarantees: made by `read_accounts` only, after every chain and every rule of order was checked.
    """

    records: Records
    entries: tuple[Entry, ...]
    rows: tuple[Row, ...]

    @property
    def exists(self) -> bool:
        """Whether there is a ledger at all."""
        return bool(self.entries or self.rows)

    @property
    def opened(self) -> bool:
        """Whether it has an identity; one of version 1 has none."""
        return bool(self.entries)

    @property
    def identity(self) -> str:
        """Its random name."""
        return str(self.entries[0].body["ledger"]) if self.entries else ""

    @property
    def head(self) -> str:
        """Hash of the newest entry."""
        if self.entries:
            return self.entries[-1].hash
        return self.rows[-1].hash if self.rows else GENESIS

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
        """Of everything it holds."""
        old = (record["hash"] for record in (*self.records.charges, *self.records.draws))
        return frozenset((*(entry.hash for entry in self.entries), *old))

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
        adopted = self.entries[0].body.get("adopted") if self.entries else None
        taken_over = adopted["releases"] if adopted else ()
        drawn = (row for row in self.rows if row.release and row.drawn and row.charge.door == door)
        return frozenset((*taken_over, *(row.release["name"] for row in drawn if row.release)))

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


def read_accounts(records: Records) -> Accounts:
    """What the rows of a ledger say; raises `NotWhole` if they are not what was written."""
    try:
        for name, rows in (("charges", records.charges), ("draws", records.draws), ("entries", records.entries)):
            if number := first_broken(rows):
                raise NotWhole(f"row {number} of the ledger's {name} is not what was written")
        entries = tuple(_entry(record) for record in records.entries)
        _refuse_disorder(records, entries)
        return Accounts(records, entries, tuple(_rows(records, entries, *_draws(records, entries))))
    except NotWhole:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as lacking:
        raise NotWhole(f"an entry of the ledger cannot be read ({type(lacking).__name__})") from None


def _entry(record: Record) -> Entry:
    row = record["row"]
    if record["version"] != VERSION or record["kind"] not in KINDS:
        raise NotWhole(
            f"entry {row} of the ledger is of a kind this software does not know ({record['kind']!r}, version "
            f"{record['version']}): it was written by a newer one, which must be used"
        )
    body = json.loads(record["body"])
    if record.keys() != COLUMNS or not isinstance(body, dict):
        raise NotWhole(f"entry {row} of the ledger has columns or a body that no entry has")
    return Entry(row, record["kind"], record["at"], body, record["hash"])


def _refuse_disorder(records: Records, entries: Sequence[Entry]) -> None:
    """The rules that hold between entries, beyond each being what was written."""
    if not entries:
        return
    if [entry.row for entry in entries if entry.kind == "opened"] != [1]:
        raise NotWhole("a ledger is opened once, by its first entry")
    adopted = entries[0].body["adopted"] or {"charges": 0, "charges_head": GENESIS, "draws": 0, "draws_head": GENESIS}
    for name, old in (("charges", records.charges), ("draws", records.draws)):
        head = old[-1]["hash"] if old else GENESIS
        if (len(old), head) != (adopted[name], adopted[f"{name}_head"]):
            raise NotWhole(f"the {name} of version 1 are not those that the ledger took over")
    nonces = [entry.body["nonce"] for entry in entries if entry.kind == "charge"]
    if len(nonces) != len(set(nonces)):
        raise NotWhole("two charges have the same nonce")
    for entry in entries:
        if entry.kind == "budget" and not _is_budget(entry.body):
            raise NotWhole(f"entry {entry.row} is a budget that is none, or that nobody gave")
        if entry.kind == "approval" and not _says(entry.body, "what", "by", "reason"):
            raise NotWhole(f"entry {entry.row} is an approval of nothing, or by nobody")


def _is_budget(body: Body) -> bool:
    numbers = all(type(body[name]) in (int, float) and body[name] > 0 for name in ("epsilon", "delta"))
    return numbers and _says(body, "population", "by", "reason")


def _says(body: Body, *names: str) -> bool:
    return all(isinstance(body[name], str) for name in names)


def _draws(records: Records, entries: Sequence[Entry]) -> tuple[set[str], dict[str, str]]:
    """Charges whose noise may have been drawn, and digests of the draws, each at most once and in order."""
    charges = {record["hash"]: record["measurement"] for record in records.charges}
    begun: set[str] = set()
    digests: dict[str, str] = {}

    def begin(charge: str, where: str) -> None:
        if charge not in charges or charge in begun:
            raise NotWhole(f"{where} begins a draw that is not paid for, or was begun before")
        begun.add(charge)

    def finish(draw: Body, where: str) -> None:
        charge = draw["charge"]
        if charge not in begun or charge in digests or draw["measurement"] != charges[charge]:
            raise NotWhole(f"{where} is a draw that was not begun, or was made before")
        digests[charge] = str(draw["digest"])

    for record in records.draws:
        begin(record["charge"], f"row {record['row']} of the draws of version 1")
    adopted = (entries[0].body["adopted"] if entries else None) or {"stored": ()}
    for draw in adopted["stored"]:
        finish(draw, "what the ledger took over")
    for entry in entries:
        where = f"entry {entry.row}"
        if entry.kind == "charge":
            charges[entry.hash] = entry.body["measurement"]
        elif entry.kind == "begun":
            begin(entry.body["charge"], where)
        elif entry.kind == "drawn":
            finish(entry.body, where)
    return begun, digests


def _rows(records: Records, entries: Sequence[Entry], begun: set[str], digests: Mapping[str, str]) -> Iterable[Row]:
    """Every charge, those of version 1 first."""
    for record in records.charges:
        charge, hashed = _charge({**record, "events": json.loads(record["events"])}), record["hash"]
        yield Row(record["row"], record["at"], charge, hashed, hashed in begun, digests.get(hashed))
    paid = (entry for entry in entries if entry.kind == "charge")
    for number, entry in enumerate(paid, start=len(records.charges) + 1):
        yield Row(
            number,
            entry.at,
            _charge(entry.body),
            entry.hash,
            entry.hash in begun,
            digests.get(entry.hash),
            entry.row,
            **{name: entry.body[name] for name in ("nonce", "by", "reason", "how", "release", "software")},
        )


def _charge(body: Body) -> Charge:
    plain = {name: body[name] for name in Charge.__dataclass_fields__ if name != "events"}
    charge = Charge(**plain, events=tuple(from_record(event) for event in body["events"]))
    monday_of(charge.week)  # raises for what is no week: budgets are added up by it
    return charge
