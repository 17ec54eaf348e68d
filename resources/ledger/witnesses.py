"""What the ledger must know, because something that was published or stored names it.

A ledger can be lost, cut, or replaced by an older copy, and would then pay for a second draw of a week that is out. It
cannot be so as long as one thing that names what it held is left: a stored draw, a statement, a published chain, a
manifest, a released table, an anchor outside. Each is a witness; nothing is drawn while one of them is contradicted.

Witnesses that are made from a draw protect what is older than themselves: between a draw and its first published file
nothing would miss the newest rows. So every row that a draw stands on is noted beside the ledger, in a file of its own,
before the first random number. Whoever cuts the ledger must cut this file too, which an anchor outside does not let
them.
"""

import json
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from density_assets.privacy.accounts import Accounts
from density_assets.publication.strict_json import NotStrictJson, canonical, read_record
from resources.ledger.book import LedgerError

TOTALS = "noisy_totals"
CLUSTERS = "clusters"  # made of draws only where places share a cluster; else of the public list
# What is there only after a release was charged, though it may name nothing of the ledger.
LEFT_BY_RELEASES = (
    "*_[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]*",  # whatever is of a week
    *("manifest_register.*", "key_*.pem"),
    *("audit.html", "release.duckdb", "measurements/*", "tables/*/*.parquet"),
    *("tables/ledger.parquet", "tables/audit_page.parquet", "tables/signed_register.parquet"),
)
HEADS = "ledger.heads"  # of a home; one JSON line for each head, oldest first
TAIL = 8192  # bytes: the last row of a published chain is shorter
HASH = re.compile(rb'"hash": ?"([0-9a-f]{64})"')


@dataclass(frozen=True)
class Named:
    """One thing that a witness names, and where."""

    what: str
    where: str


@dataclass(frozen=True)
class Witnesses:
    """What must stand in the ledger.

    drawn: hashes of charges whose noise was drawn. hashes: of anything it holds.
    releases: names of releases that tables made of their series carry. totals: the same of tables made of totals.
    ledgers: identities of the ledger itself.
    left: files that releases leave behind, whatever they name: there must be a ledger.
    """

    drawn: tuple[Named, ...] = ()
    hashes: tuple[Named, ...] = ()
    releases: tuple[Named, ...] = ()
    ledgers: tuple[Named, ...] = ()
    totals: tuple[Named, ...] = ()
    left: tuple[Named, ...] = ()

    def __add__(self, other: "Witnesses") -> "Witnesses":
        return Witnesses(
            self.drawn + other.drawn,
            self.hashes + other.hashes,
            self.releases + other.releases,
            self.ledgers + other.ledgers,
            self.totals + other.totals,
            self.left + other.left,
        )

    def missing_from(self, accounts: Accounts) -> list[str]:
        """What the ledger lacks, in words."""
        return [
            *_lacking("charge", self.drawn, {row.hash for row in accounts.rows if row.drawn}),
            *_lacking("entry", self.hashes, accounts.hashes),
            *_lacking("release", self.releases, accounts.releases),
            *_lacking("release", self.totals, accounts.releases_of(TOTALS)),
            *_lacking("ledger", self.ledgers, {accounts.identity}),
            *(() if accounts.opened else _lacking("release", self.left, ())),
        ]


NOTHING = Witnesses()


def witnesses_of(home: Path) -> Witnesses:
    """Everything under a home that names what its ledger must hold, stored draws apart."""
    found = NOTHING
    for release in sorted(home.glob("*/release")):
        for file in sorted(release.glob("privacy_statement_*.json")):
            found += _statement(file)
        for file in sorted(release.glob("manifest_*.json")):
            found += _manifest(file)
        chains = sorted(release.glob("ledger_*.json"))
        found += Witnesses(hashes=tuple(Named(head, _where(file)) for file in chains for head in _last_hash(file)))
        found += _tables(release / "tables")
        found += Witnesses(hashes=tuple(_ledger_table(release / "tables" / "ledger.parquet")))
        found += Witnesses(left=tuple(_left(release)))
    return found


def _statement(file: Path) -> Witnesses:
    said = _read(file)
    where = _where(file)
    charges = said.get("charges")
    paid = [charge.get("hash") for charge in charges if isinstance(charge, dict)] if isinstance(charges, list) else []
    return Witnesses(
        drawn=tuple(Named(charge, where) for charge in paid if isinstance(charge, str)),
    ) + _of_ledger(said.get("ledger"), where)


def _manifest(file: Path) -> Witnesses:
    return _of_ledger(_read(file).get("ledger"), _where(file))


def _of_ledger(ledger: Any, where: str) -> Witnesses:
    """What a published file says of the ledger it was made from."""
    if not isinstance(ledger, dict):
        return NOTHING
    head, identity = ledger.get("head"), ledger.get("identity")
    return Witnesses(
        hashes=(Named(head, where),) if isinstance(head, str) else (),
        ledgers=(Named(identity, where),) if isinstance(identity, str) else (),
    )


def _last_hash(file: Path) -> Iterator[str]:
    """The head of a published chain: who knows it knows all before it."""
    try:
        with file.open("rb") as handle:
            handle.seek(max(0, file.stat().st_size - TAIL))
            yield from (found.decode() for found in HASH.findall(handle.read())[-1:])
    except OSError:
        return


def _tables(tables: Path) -> Witnesses:
    """The releases that tables belong to; those of totals are there before the series are drawn."""
    named: dict[bool, list[Named]] = {True: [], False: []}
    for file in sorted(tables.glob("*/*.parquet")):
        if _is_drawn(file):
            of_totals = file.parent.name in (TOTALS, CLUSTERS)
            named[of_totals] += [Named(name, _where(file)) for name in _values(file, "release")]
    return Witnesses(releases=tuple(named[False]), totals=tuple(named[True]))


def _is_drawn(file: Path) -> bool:
    """Whether the week of a table is made of draws: all are but empty ones, and clusters that hold one place each."""
    if file.parent.name == CLUSTERS and len(_values(file, "cluster")) == len(_values(file, "id")):
        return False
    return bool(_values(file, "release"))


def _ledger_table(file: Path) -> Iterator[Named]:
    """The charges that the released copy of the ledger lists."""
    return (Named(charge, _where(file)) for charge in _values(file, "hash"))


def _left(release: Path) -> Iterator[Named]:
    """What only a release leaves behind; one thing is enough to know that there was a ledger."""
    files = (file for pattern in LEFT_BY_RELEASES for file in sorted(release.glob(pattern)))
    found = (file for file in files if file.parent.parent.name != "tables" or _is_drawn(file))
    return (Named(file.name, _where(file)) for file in islice(found, 1))


def _values(file: Path, column: str) -> tuple[str, ...]:
    """Different values of a column of a released table; none if it cannot be read, which its readers will say."""
    try:
        written = file.stat()
    except OSError:
        return ()
    return _values_written(file, column, (written.st_ino, written.st_mtime_ns, written.st_size))


@cache  # asked for all weeks at every door: a table that is as it was is read once
def _values_written(file: Path, column: str, written: tuple[int, ...]) -> tuple[str, ...]:
    try:
        return tuple(str(value) for value in pq.read_table(file, columns=[column])[column].unique().to_pylist())
    except (OSError, pa.ArrowException, KeyError):
        return ()


def _read(file: Path) -> dict[str, Any]:
    """A published file; one that cannot be read names nothing, and the audit says that it is damaged."""
    try:
        said = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return said if isinstance(said, dict) else {}


def _where(file: Path) -> str:
    return f"{file.parent.name}/{file.name}"


def _lacking(kind: str, named: Iterable[Named], known: Iterable[str]) -> Iterator[str]:
    held = frozenset(known)
    lacking = {it.what: it.where for it in named if it.what not in held}
    return (f"{kind} {what[:12]}, named by {where}" for what, where in lacking.items())


def note_head(home: Path, accounts: Accounts) -> None:
    """Note the newest entry, on disk when this returns; nothing if it was the last that was noted."""
    line = canonical({"ledger": accounts.identity, "row": len(accounts.entries), "head": accounts.head}) + b"\n"
    file = home / HEADS
    if file.exists() and file.read_bytes().endswith(line):
        return
    handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        if os.write(handle, line) != len(line):
            raise OSError(28, "the disk is full", str(file))
        os.fsync(handle)
    finally:
        os.close(handle)


def noted_heads(home: Path) -> Witnesses:
    """What was noted under a home; the end of a line that was cut off by a crash says nothing."""
    file = home / HEADS
    if not file.exists():
        return NOTHING
    hashes, ledgers = [], []
    for number, line in enumerate(file.read_bytes().splitlines(keepends=True), start=1):
        if not line.endswith(b"\n"):
            continue
        try:
            said = read_record(line, ledger=str, row=int, head=str)
        except NotStrictJson:
            raise LedgerError(
                f"line {number} of {file} must be as it was written, but it is damaged: restore {HEADS} with the "
                "ledger, from the same backup"
            ) from None
        hashes.append(Named(said["head"], HEADS))
        ledgers.append(Named(said["ledger"], HEADS))
    return Witnesses(hashes=tuple(hashes), ledgers=tuple(ledgers))
