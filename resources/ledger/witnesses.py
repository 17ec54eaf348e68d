"""What the ledger must know, because something that was published or stored names it.

A ledger can be lost, cut, or replaced by an older copy, and would then pay for a second draw of a week that is out. It
cannot be so as long as one thing that names what it held is left: a stored draw, a statement, a published chain, a
manifest, a released table, an anchor outside. Each is a witness; nothing is drawn while one of them is contradicted.
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from density_assets.privacy.accounts import Accounts

# Tables that are made of draws only: whoever finds one knows that its release was charged.
DRAWN_TABLES = ("noisy_series", "smoothed_series", "density", "published_counts", "privacy_statement", "density_report")
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
    releases: names of releases that tables carry. ledgers: identities of the ledger itself.
    """

    drawn: tuple[Named, ...] = ()
    hashes: tuple[Named, ...] = ()
    releases: tuple[Named, ...] = ()
    ledgers: tuple[Named, ...] = ()

    def __add__(self, other: "Witnesses") -> "Witnesses":
        return Witnesses(
            self.drawn + other.drawn,
            self.hashes + other.hashes,
            self.releases + other.releases,
            self.ledgers + other.ledgers,
        )

    def missing_from(self, accounts: Accounts) -> list[str]:
        """What the ledger lacks, in words."""
        return [
            *_lacking("charge", self.drawn, {row.hash for row in accounts.rows if row.drawn}),
            *_lacking("entry", self.hashes, accounts.hashes),
            # A ledger of version 1 does not know the names of releases.
            *(_lacking("release", self.releases, accounts.releases) if accounts.opened or not accounts.rows else ()),
            *_lacking("ledger", self.ledgers, {accounts.identity}),
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
        found += Witnesses(releases=tuple(_tables(release / "tables")))
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


def _tables(tables: Path) -> Iterator[Named]:
    for table in DRAWN_TABLES:
        for file in sorted((tables / table).glob("*.parquet")):
            yield from (Named(name, _where(file)) for name in _release_of(file))


def _release_of(file: Path) -> Iterable[str]:
    """Which release a table belongs to; nothing if it cannot be read, which its readers will say."""
    try:
        return {str(name) for name in pq.read_table(file, columns=["release"])["release"].unique().to_pylist()}
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
