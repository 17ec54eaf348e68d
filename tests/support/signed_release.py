"""A small signed release made by hand, as the formats say, so that it can be forged in every way.

Nothing here is shared with the software that publishes. A `Book` is a ledger; a `Release` is what is published of a
week. Both are plain values that a test may change before, between and after the steps of `seal`.
"""

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from resources.signing import Signer, public_pem

WEEK = "2007-09-10"
DAY = "2026-11-16"
NOBODY = "0" * 64
EVENTS = {
    "noisy_totals": {"kind": "gaussian", "query": "visits", "sigma": 52901.06, "sensitivity": 732.0},
    "noisy_series": {"kind": "gaussian", "query": "weighted visits", "sigma": 3724972.06, "sensitivity": 293085.90},
}
MADE_UP = (("density", "parquet"), ("density", "csv"), ("density", "geojson"), ("data_dictionary", "md"))
MADE_UP += (("privacy_statement", "md"), ("report", "html"), ("cells", "parquet"), ("density", "gpkg"), ("sdmx", "csv"))
MADE_UP += (("measurements", "parquet"), ("datapackage", "json"), ("dcat", "jsonld"), ("dp_deployment", "yaml"))
WHO = {"by": "operator", "reason": "weekly release", "how": "terminal"}


def key(name: str) -> Signer:
    """The key of somebody, always the same."""
    secret = Ed25519PrivateKey.from_private_bytes(hashlib.sha256(name.encode()).digest())
    return Signer(secret.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw), secret.sign)


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def row_hash(row: dict[str, Any]) -> str:
    content = {name: value for name, value in row.items() if name not in ("row", "hash")}
    return sha256(json.dumps(content, sort_keys=True).encode())


class Book:
    """A ledger."""

    def __init__(self, signer: Signer) -> None:
        self.entries: list[dict[str, Any]] = []
        self.identity = sha256(signer.public)[:32]
        self.add("opened", {"ledger": self.identity, "place": "here", "key": signer.public.hex(), **WHO})
        self.add("declared", {"place": "here", **WHO})

    @property
    def head(self) -> str:
        return self.entries[-1]["hash"]

    def add(self, kind: str, body: dict[str, Any], at: str = DAY) -> str:
        previous = self.head if self.entries else NOBODY
        row = {"format": 1, "kind": kind, "at": at, "body": canonical(body), "previous": previous}
        self.entries.append({"row": len(self.entries) + 1, **row, "hash": row_hash(row)})
        return self.head

    def rotate(self, old: Signer, new: Signer, *, signed: bool = True) -> None:
        signature = old.sign(b"density key 1\n" + new.public).hex() if signed else None
        self.add("key", {"public": new.public.hex(), "replaces": old.public.hex(), "signed": signature, **WHO})

    def pay(self, week: str, revision: int, door: str, **other: Any) -> str:
        charge = {
            "nonce": sha256(f"{week} {revision} {door} {len(self.entries)}".encode())[:32],
            "population": "subscribers",
            "unit": "one subscriber identifier, one week",
            "city": "town",
            "week": week,
            "revision": revision,
            "door": door,
            "measurement": sha256(f"{week} {revision} {door}".encode()),
            "epsilon": 0.3,
            "delta": 2e-6,
            "events": [EVENTS[door]],
            "release": {"name": "0123456789abcdef", "scheme": "lowrank"},
            "software": {"density-assets": "0.1.0"},
            **WHO,
            **other,
        }
        return self.add("charge", charge)

    def draw(self, charge: str) -> str:
        """The noise of a charge; returns its digest."""
        measurement = self.body(charge)["measurement"]
        self.add("begun", {"charge": charge})
        self.add("drawn", {"charge": charge, "measurement": measurement, "digest": sha256(charge.encode())})
        return sha256(charge.encode())

    def body(self, charge: str) -> dict[str, Any]:
        (entry,) = [entry for entry in self.entries if entry["hash"] == charge]
        return json.loads(entry["body"])

    def stated(self, charge: str) -> dict[str, Any]:
        """A charge as a statement says it."""
        body, names = self.body(charge), ("population", "city", "week", "revision", "door", "measurement", "epsilon")
        names += ("delta", "events", "nonce", "by", "reason", "how")
        said = {name: body[name] for name in names}
        return {**said, "at": DAY, "hash": charge, "draw": sha256(charge.encode())}

    def published(self) -> dict[str, Any]:
        return {"format": "density ledger 1", "entries": self.entries}

    def rechain(self) -> dict[str, str]:
        """Number and hash all entries anew, after some were changed; returns what each hash has become."""
        became: dict[str, str] = {}
        previous = NOBODY
        for number, entry in enumerate(self.entries, start=1):
            for old, new in became.items():
                if isinstance(entry.get("body"), str):
                    entry["body"] = entry["body"].replace(old, new)
            entry.update(row=number, previous=previous)
            previous = row_hash(entry)
            became[entry.get("hash", "")] = previous
            entry["hash"] = previous
        return {old: new for old, new in became.items() if old}


@dataclass
class Release:
    """What is published of a week: made by `make_release`, changed by tests, written by `seal`."""

    folder: Path
    signer: Signer
    book: Book
    week: str = WEEK
    revision: int = 1
    statement: dict[str, Any] = field(default_factory=dict)
    contents: dict[str, bytes] = field(default_factory=dict)
    manifest: dict[str, Any] = field(default_factory=dict)

    @property
    def suffix(self) -> str:
        return f"{self.week}_r{self.revision}" if self.revision > 1 else self.week

    def file(self, stem: str, kind: str = "json") -> Path:
        return self.folder / f"{stem}_{self.suffix}.{kind}"

    @property
    def key_file(self) -> str:
        return f"key_{self.signer.fingerprint[:16]}.pem"

    def state(self, charges: list[dict[str, Any]]) -> None:
        """Say what is promised and what was paid."""
        self.statement = {
            "format": "density statement 1",
            "city": "town",
            "week": self.week,
            "timezone": "Europe/Paris",
            "revision": self.revision,
            "population": "subscribers",
            "unit": "one subscriber identifier's whole week",
            "epsilon": 0.3,
            "delta": 2e-6,
            "accounted": {"epsilon": 0.2990992792728205, "delta": 2e-6, "accountant": "analytic Gaussian"},
            "scheme": "lowrank",
            "calibration": "sound",
            "parameters": {"visits_per_user": 30, "improved": True, "split": None},
            "doors": sorted(EVENTS),
            "charges": charges,
            "ledger": {
                "file": self.file("ledger").name,
                "identity": self.book.identity,
                "head": self.book.head,
                "row": len(self.book.entries),
            },
            "cumulative": {"year": self.week[:4], "epsilon": 0.28, "budget_epsilon": 3.0, "delta": 1e-5},
            "budget": [{"row": 3, "epsilon": 3.0, "delta": 1e-5, "by": "operator", "reason": "as decided"}],
            "warnings": [],
            "software": {"python": "3.11.7", "commit": "a7b8376"},
        }

    def made_up(self, stem: str, kind: str) -> bytes:
        """Content that no other file of any week has."""
        return f"{stem} {kind} {sha256(self.suffix.encode())}".encode()

    def write_contents(self) -> None:
        """Everything that the manifest lists."""
        self.contents |= {
            self.file("ledger").name: json.dumps(self.book.published()).encode(),
            self.file("privacy_statement").name: json.dumps(self.statement, indent=2).encode(),
        }
        for name in MADE_UP:
            self.contents.setdefault(self.file(*name).name, self.made_up(*name))
        self.contents.setdefault(f"measurements/{sha256(self.suffix.encode())[:32]}.npz", b"a draw")
        self.contents[self.key_file] = public_pem(self.signer.public)
        for name, content in self.contents.items():
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).write_bytes(content)

    def list_contents(self) -> None:
        """What is signed."""
        self.manifest = {
            "format": "density release 1",
            "city": "town",
            "week": self.week,
            "revision": self.revision,
            "ledger": {"identity": self.book.identity, "head": self.book.head, "row": len(self.book.entries)},
            "key": {"public": self.signer.public.hex(), "fingerprint": self.signer.fingerprint},
            "statement": self.file("privacy_statement").name,
            "files": {
                name: {"sha256": sha256(content), "bytes": len(content)} for name, content in self.contents.items()
            },
        }

    def sign(self) -> None:
        """Sign the manifest as it is."""
        content = json.dumps(self.manifest, indent=2).encode() + b"\n"
        self.file("manifest").write_bytes(content)
        self.file("manifest", "sig").write_bytes(self.signer.sign(content))

    def seal(self) -> "Release":
        """Write, list and sign whatever the values are by now."""
        self.write_contents()
        self.list_contents()
        self.sign()
        return self

    def reseal(self) -> "Release":
        """As whoever has the key would after changing the ledger: hashes, heads and references are made anew."""
        became = self.book.rechain()
        text = json.dumps(self.statement)
        for old, new in became.items():
            text = text.replace(old, new)
        self.statement = json.loads(text)
        if isinstance(self.statement.get("ledger"), dict):
            self.statement["ledger"].update(head=self.book.head, row=len(self.book.entries))
        return self.seal()

    def countersign(self, second: Signer) -> None:
        """The signature of a second person."""
        short = second.fingerprint[:16]
        (self.folder / f"key_{short}.pem").write_bytes(public_pem(second.public))
        self.file("manifest", f"{short}.sig").write_bytes(second.sign(self.file("manifest").read_bytes()))


def open_book(signer: Signer) -> Book:
    """A ledger with a policy and a budget."""
    book = Book(signer)
    book.add("budget", {"population": "subscribers", "epsilon": 3.0, "delta": 1e-5, **WHO})
    policy = "epsilon = 0.5\n"
    said = {"sha256": sha256(policy.encode()), "text": policy, "officer": None, "replaces": None, "signature": None}
    book.add("policy", {**said, **WHO})
    return book


def make_release(
    folder: Path, signer: Signer, book: Book | None = None, week: str = WEEK, revision: int = 1
) -> Release:
    """A release that holds in every respect, and the ledger behind it."""
    folder.mkdir(parents=True, exist_ok=True)
    book = book or open_book(signer)
    release = Release(folder, signer, book, week, revision)
    charges = [book.pay(week, revision, door) for door in EVENTS]
    for charge in charges:
        book.draw(charge)
    release.state([book.stated(charge) for charge in charges])
    return release.seal()


def note_published(release: Release) -> None:
    """What the ledger says of a release after it was signed."""
    content = release.file("manifest").read_bytes()
    release.book.add(
        "published",
        {
            "city": "town",
            "week": release.week,
            "revision": release.revision,
            "charges": [charge["hash"] for charge in release.statement["charges"]],
            "row": release.manifest["ledger"]["row"],
            "manifest": sha256(content),
            "key": release.signer.fingerprint,
            "signature": release.signer.sign(content).hex(),
            **WHO,
        },
    )
