"""Reading the rows of a ledger: they are believed as a whole, and only if all of it holds.

Each row must be what was written, and rows must come in an order that the software could have written them in. Ledgers
of version 1 held charges and draws only, in two chains without identity, nonce or digests. Their rows are verified as
they were written, for ever; `opened` says where they ended.
"""

import json
from collections.abc import Iterable, Mapping, Sequence

from density_assets.privacy.accounts import Accounts, Body, Entry, NotWhole, Record, Records
from density_assets.privacy.chain import GENESIS, first_broken
from density_assets.privacy.charges import Row
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
