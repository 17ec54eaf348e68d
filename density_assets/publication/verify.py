#!/usr/bin/env python3
"""Checks a published release: for anybody, with this one file and Python 3.9 or newer, nothing else.

    python3 -I verify.py FOLDER_OR_STATEMENT_OR_MANIFEST [--key FINGERPRINT] [--second FINGERPRINT] [--anchor FILE]

What is checked, in this order: the signature on the manifest (Ed25519, RFC 8032); the digest and size of every file it
lists, and that no file of a release is missing; the ledger's chain, entry by entry, and the rules between entries; the
statement against the chain; that every draw of another week which the estimate names is one that was paid for; and
that the noise which was paid for costs no more than what is promised, by a computation
that shares no code with the one that chose the noise. Exit status:

    0  verified: everything holds, and the signer is the one whose fingerprint was given
    3  everything holds, but no fingerprint was given, so that anybody may have signed it
    1  something does not hold
    2  misuse: nothing was checked

Whoever can forge a release can forge this file beside it, and a fingerprint with both: get script and fingerprint from
elsewhere. That is also why it imports nothing of the software it checks, and is longer than any other file there.
"""

from __future__ import annotations

import sys

if __name__ == "__main__" and not (sys.flags.isolated or getattr(sys.flags, "safe_path", False)):
    del sys.path[0]  # the folder of this script: a json.py planted beside it must not be run

import argparse
import base64
import functools
import hashlib
import json
import math
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

Finding = tuple[bool, str]
Record = dict[str, Any]

GENESIS = "0" * 64
FORMAT = 1  # of all that is read here; another one needs another verifier
LONGEST_TEXT = 300  # characters of a finding: what it quotes may be hostile
LARGEST_JSON = 1 << 28  # bytes
MOST_NAMED = 6  # files in a note

# --- what is found --------------------------------------------------------------------------------------------------


class Misuse(ValueError):
    """What was asked cannot be done: nothing was checked."""


class Damaged(ValueError):
    """Something published cannot be read as what it should be."""


class Result(NamedTuple):
    """What holds, what a reader should know besides, and what follows: verdict and exit status."""

    findings: list[Finding]
    notes: list[str]
    verdict: str
    status: int


class Report:
    """Findings as they come."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.notes: list[str] = []

    def found(self, holds: object, text: str) -> bool:
        """Add a finding; returns whether it holds."""
        self.findings.append((bool(holds), plain(text)))
        return bool(holds)

    def must(self, holds: object, text: str) -> bool:
        """Add a finding only if it does not hold."""
        return bool(holds) or self.found(False, text)

    def note(self, text: str) -> None:
        """Add what is neither right nor wrong."""
        self.notes.append(plain(text))

    @contextmanager
    def reading(self, what: str) -> Iterator[None]:
        """Whatever goes wrong while something is read is a finding: a forger must not choose how this ends."""
        try:
            yield
        except Damaged as problem:
            self.found(False, f"{what} can be read: {problem}")
        except Exception as problem:
            self.found(False, f"{what} can be read: it is damaged ({type(problem).__name__})")


def plain(text: str) -> str:
    """Text that moves no cursor, starts no line and fills no screen, whatever it quotes."""
    shown = "".join(letter if letter.isprintable() else f"\\x{ord(letter):02x}" for letter in text[:LONGEST_TEXT])
    return shown + ("…" if len(text) > LONGEST_TEXT else "")


# --- Ed25519 (RFC 8032, section 5.1), verification only, without the cofactor ---------------------------------------

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
ROOT = pow(2, (P - 1) // 4, P)  # of minus one

Point = tuple[int, int, int, int]  # X, Y, Z, T with x = X/Z, y = Y/Z, x·y = T/Z
IDENTITY: Point = (0, 1, 1, 0)


def signature_holds(public: bytes, message: bytes, signature: bytes) -> bool:
    """Whether a signature is valid, in the strictest sense: one encoding of each point and number, no odd keys.

    Stricter than RFC 8032 and OpenSSL in one respect: a key with a component of small order, which no honest key has,
    is refused.
    """
    if len(public) != 32 or len(signature) != 64:
        return False
    key, s = _key_point(public), int.from_bytes(signature[32:], "little")
    if key is None or s >= L:
        return False
    k = int.from_bytes(hashlib.sha512(signature[:32] + public + message).digest(), "little") % L
    # s·B - k·A, encoded, must be R to the byte: that leaves no room for a second encoding of R.
    return _encode(_add(_times(s, BASE), _times(L - k, key))) == signature[:32]


@functools.lru_cache(maxsize=256)
def _key_point(public: bytes) -> Point | None:
    """The point of a public key; none unless it is encoded in the one right way and generates the group of order L."""
    point = _decode(public)
    if point is None or _encode(point) == _encode(IDENTITY) or _encode(_times(L, point)) != _encode(IDENTITY):
        return None
    return point


def _decode(code: bytes) -> Point | None:
    number = int.from_bytes(code, "little")
    sign, y = number >> 255, number & ((1 << 255) - 1)
    if y >= P:
        return None
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P  # D is no square, so D·y² + 1 is never zero
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * ROOT % P
    if (x * x - square) % P or (x == 0 and sign):
        return None
    if x % 2 != sign:
        x = P - x
    return (x, y, 1, x * y % P)


def _encode(point: Point) -> bytes:
    inverse = pow(point[2], -1, P)
    x, y = point[0] * inverse % P, point[1] * inverse % P
    return (y | (x & 1) << 255).to_bytes(32, "little")


def _add(a: Point, b: Point) -> Point:
    """The sum, by a formula that is complete on this curve: it needs no special cases."""
    e = (a[1] - a[0]) * (b[1] - b[0]) % P
    f = (a[1] + a[0]) * (b[1] + b[0]) % P
    c, d = 2 * a[3] * b[3] * D % P, 2 * a[2] * b[2] % P
    e, f, g, h = f - e, d - c, d + c, f + e
    return (e * f % P, g * h % P, f * g % P, e * h % P)


def _times(number: int, point: Point) -> Point:
    total = IDENTITY
    while number:
        if number & 1:
            total = _add(total, point)
        point = _add(point, point)
        number >>= 1
    return total


_base = _decode((4 * pow(5, -1, P) % P).to_bytes(32, "little"))
assert _base is not None
BASE: Point = _base

# --- keys -----------------------------------------------------------------------------------------------------------

SPKI = bytes.fromhex("302a300506032b6570032100")  # SubjectPublicKeyInfo of an Ed25519 key, before its 32 bytes
PEM = "-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n"


def fingerprint(public: bytes) -> str:
    """What people compare: SHA-256 of the 32 bytes of a public key."""
    return hashlib.sha256(public).hexdigest()


def given_fingerprint(text: str) -> str:
    """A fingerprint as a person wrote it: case, spaces and colons do not matter, half of it is enough."""
    digits = re.sub(r"[\s:]", "", text).lower()
    if not re.fullmatch(r"[0-9a-f]{32,64}", digits):
        raise Misuse(f"a fingerprint must be 32 to 64 hexadecimal digits, got {plain(text)!r}")
    return digits


def public_pem(public: bytes) -> bytes:
    """A public key as OpenSSL reads it."""
    return PEM.format(base64.b64encode(SPKI + public).decode()).encode()


def public_of(pem: bytes) -> bytes:
    """The key in a PEM file, which must be written as `public_pem` writes it."""
    public = base64.b64decode(b"".join(pem.split(b"\n")[1:2]))[-32:]
    if pem.replace(b"\r\n", b"\n") != public_pem(public):
        raise Damaged("it must be an Ed25519 public key in PEM")
    return public


# --- JSON from strangers --------------------------------------------------------------------------------------------


def read_json(content: bytes) -> Any:
    """The value, if there is one way only to read it."""
    try:
        return json.loads(
            content.decode("utf-8"),
            object_pairs_hook=_unique,
            parse_int=_short_integer,
            parse_float=_finite,
            parse_constant=_no_constant,
        )
    except RecursionError:
        raise Damaged("it is nested too deeply") from None
    except UnicodeDecodeError:
        raise Damaged("it must be UTF-8") from None
    except json.JSONDecodeError as problem:
        raise Damaged(f"it must be JSON ({problem.msg}, character {problem.pos})") from None


def canonical(value: Any) -> bytes:
    """The one way a value is written where its bytes are signed or hashed."""
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def _unique(pairs: list[tuple[str, Any]]) -> Record:
    record = dict(pairs)
    if len(record) != len(pairs):
        raise Damaged("a name occurs twice in one record, so that two readers may read two things")
    return record


def _short_integer(digits: str) -> int:
    if len(digits) > 20:
        raise Damaged(f"it holds a number of {len(digits)} digits")
    return int(digits)


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise Damaged("it holds a number that is not finite")
    return number


def _no_constant(name: str) -> Any:
    raise Damaged(f"it holds {name}, which is no JSON")


def _matches(pattern: str) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, str) and re.fullmatch(pattern, value) is not None


def _is_day(value: Any) -> bool:
    try:
        return isinstance(value, str) and date.fromisoformat(value).isoformat() == value
    except ValueError:
        return False


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


SHAPES: dict[str, Callable[[Any], bool]] = {
    "text": lambda value: isinstance(value, str),
    "a list": lambda value: isinstance(value, list),
    "a list of records": lambda value: isinstance(value, list) and all(isinstance(one, dict) for one in value),
    "a list of texts": lambda value: isinstance(value, list) and all(isinstance(one, str) for one in value),
    "a record": lambda value: isinstance(value, dict),
    "a day": _is_day,
    "a whole number": _is_count,
    "a whole number from 1": lambda value: _is_count(value) and value > 0,
    "a number": lambda value: type(value) in (int, float),
    "a positive number": lambda value: type(value) in (int, float) and value > 0,
    "a share": lambda value: type(value) in (int, float) and 0 < value < 1,
    "64 hexadecimal digits": _matches("[0-9a-f]{64}"),
    "32 hexadecimal digits": _matches("[0-9a-f]{32}"),
    "a signature": _matches("[0-9a-f]{128}"),
    "a nonce of 16 letters or more": _matches(".{16,}"),
}


# What is published, field by field. The software that writes it has shapes of its own, on purpose.
DIGEST, COUNT, POSITIVE = "64 hexadecimal digits", "a whole number from 1", "a positive number"
WHO = {"by": "text", "reason": "text"}
WHICH = {"city": "text", "week": "a day", "revision": COUNT}
COST = {"epsilon": POSITIVE, "delta": "a share"}
COLUMNS = {"row", "format", "kind", "at", "body", "previous", "hash"}
BODIES: dict[str, dict[str, str]] = {
    "opened": {"ledger": "32 hexadecimal digits", "place": "text", "key": DIGEST, **WHO},
    "declared": WHO,
    "moved": {"place": "text", **WHO},
    "restored": {"row": COUNT, **WHO},
    "key": {"public": DIGEST, "replaces": DIGEST, "signed": "a signature or null", **WHO},
    "policy": {"sha256": DIGEST, "text": "text", "officer": f"{DIGEST} or null", "replaces": f"{DIGEST} or null", **WHO}
    | {"signature": "a signature or null"},
    "budget": {"population": "text", **COST, **WHO},
    "approval": {"what": "text", **WHO},
    "charge": {**WHICH, **COST, "nonce": "a nonce of 16 letters or more", "population": "text", "unit": "text", **WHO}
    | {"door": "text", "measurement": "text", "events": "a list of records", "release": "a record"}
    | {"software": "a record", "how": "text"},
    "begun": {"charge": DIGEST},
    "drawn": {"charge": DIGEST, "measurement": "text", "digest": DIGEST},
    "published": {**WHICH, "row": COUNT, "charges": "a list of texts", "manifest": DIGEST, "key": DIGEST, **WHO}
    | {"signature": "a signature"},
}
EVENTS: dict[str, dict[str, str]] = {
    "gaussian": {"sigma": POSITIVE, "sensitivity": POSITIVE},
    "laplace": {"scale": POSITIVE, "sensitivity": POSITIVE},
    "laplace_vector": {"scale": POSITIVE, "sensitivity": POSITIVE},
    "selection": {"epsilon": POSITIVE, "sensitivity": POSITIVE},
    "window_selection": {"epsilon": POSITIVE, "sensitivity": POSITIVE, "weight": "a number"},
    "sparse_vector": {"epsilon": POSITIVE, "scale": POSITIVE, "sensitivity": POSITIVE, "releases": COUNT},
}
OPTIONAL = {"sparse_vector": {"distance": 1.0, "streams": 1, "change": 0.0, "pure": False}}
OF_A_RELEASE = ("week", "city", "revision", "epsilon", "delta")
OF_A_CHARGE = {*OF_A_RELEASE, "population", "door", "measurement", "events", "at", "hash", "nonce", "by", "reason"}
PROMISE = {**WHICH, **COST, "calibration": "text", "doors": "a list of texts", "charges": "a list of records"} | {
    "ledger": "a record"
}
OF_AN_ESTIMATE = {"key": DIGEST, "vintage": "text", "weeks": "a list of records"} | {
    "left_out": "a list of records",
    "own": "a record",
    "together": "a record",
}
OF_A_LEDGER = {"identity": "32 hexadecimal digits", "head": DIGEST, "row": COUNT}
LISTED = {"sha256": DIGEST, "bytes": "a whole number"}
HEAD = {"format": "text", "ledger": "32 hexadecimal digits", "row": COUNT, "head": DIGEST, "at": "a day"} | {
    "key": DIGEST,
    "signature": "a signature",
}


def shaped(record: Any, where: str, **shapes: str) -> Record:
    """The record, if it has the fields that are named, each of its shape."""
    if not isinstance(record, dict):
        raise Damaged(f"{where} must be a record")
    for name, shape in shapes.items():
        if name not in record:
            raise Damaged(f"{where} must have a field {name!r}")
        optional = shape.endswith(" or null") and record[name] is None
        if not (optional or SHAPES[shape.removesuffix(" or null")](record[name])):
            raise Damaged(f"{name!r} of {where} must be {shape}, got {_brief(record[name])}")
    return record


def formatted(record: Any, where: str, *kinds: str) -> str:
    """Which of some kinds of file a record is, if it is of the one format that is read here."""
    known = {f"density {kind} {FORMAT}": kind for kind in kinds}
    name = shaped(record, where, format="text")["format"]
    if name not in known:
        raise Damaged(f"the format of {where} must be {' or '.join(map(repr, known))}, got {_brief(name)}")
    return known[name]


def _brief(value: Any) -> str:
    return plain(repr(value)[:60]) if isinstance(value, (str, int, float, type(None))) else f"a {type(value).__name__}"


def same(one: Any, other: Any) -> bool:
    """Whether two values are written alike: 1, 1.0 and true are three values."""
    return canonical(one) == canonical(other)


# --- files ----------------------------------------------------------------------------------------------------------


def digest_of(file: Path) -> tuple[int, str]:
    """Size and SHA-256 of a regular file."""
    hashed, size = hashlib.sha256(), 0
    with _opened(file) as handle:
        while block := handle.read(1 << 20):
            hashed.update(block)
            size += len(block)
    return size, hashed.hexdigest()


def read_file(file: Path) -> bytes:
    """All of a small regular file."""
    with _opened(file) as handle:
        content = handle.read(LARGEST_JSON + 1)
    if len(content) > LARGEST_JSON:
        raise Damaged(f"it is larger than {LARGEST_JSON} bytes")
    return content


def _opened(file: Path) -> BinaryIO:
    try:
        # A pipe or a device under the name of a file would keep a reader waiting for ever.
        handle = os.open(file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except FileNotFoundError:
        raise Damaged("it is missing") from None
    except OSError as problem:
        raise Damaged(f"it cannot be opened ({problem.strerror})") from None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise Damaged("it is no regular file")
    return os.fdopen(handle, "rb")


def inside(name: str) -> bool:
    """Whether a name can only mean a file in the folder or in a folder of it."""
    return re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]*(/[A-Za-z0-9_][A-Za-z0-9._-]*){0,2}", name) is not None


def suffix_of(week: str, revision: int, upto: str | None = None) -> str:
    """What the names of all files of a release end with, before the dot; upto: the last week of a final estimate."""
    name = f"{week}_r{revision}" if revision > 1 else week
    return name if upto is None else f"final_{name}_to_{upto}"


def required_files(suffix: str) -> list[str]:
    """What a release of a week must list."""
    dated = [("density", "parquet"), ("density", "csv"), ("density", "geojson"), ("data_dictionary", "md")]
    dated += [("ledger", "json"), ("privacy_statement", "json"), ("privacy_statement", "md"), ("report", "html")]
    dated += [("cells", "parquet"), ("density", "gpkg"), ("sdmx", "csv"), ("measurements", "parquet")]
    dated += [("datapackage", "json"), ("dcat", "jsonld"), ("dp_deployment", "yaml")]
    return [f"{stem}_{suffix}.{kind}" for stem, kind in dated]


# --- the ledger's chain ---------------------------------------------------------------------------------------------


def first_broken(rows: Iterable[Any]) -> int | None:
    """Number of the first row of a chain that is not what was written; none if it is whole."""
    previous = GENESIS
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, dict) or row.keys() != COLUMNS:
            return number
        content = {name: value for name, value in row.items() if name not in ("row", "hash")}
        written = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
        numbered = type(row.get("row")) is int and row["row"] == number
        if not (numbered and row.get("previous") == previous and row.get("hash") == written):
            return number
        previous = written
    return None


class Handover(NamedTuple):
    """From which row on a key signs, and whether the key before it agreed."""

    row: int
    public: bytes
    agreed: bool


class Chain:
    """A ledger, replayed: what each entry means, and what does not follow from those before it."""

    def __init__(self, said: Any) -> None:
        """Raises `Damaged` where the chain itself is broken; what its entries say wrongly is in `wrong`."""
        formatted(said, "the chain", "ledger")
        shaped(said, "the chain", entries="a list of records")
        if (broken := first_broken(said["entries"])) is not None:
            raise Damaged(f"row {broken} is not what was written")
        if not said["entries"]:
            raise Damaged("it must have an entry")
        self.wrong: list[str] = []
        self.notes: list[str] = []
        self.identity = ""
        self.keys: list[Handover] = []
        self.days: list[str] = []
        self.hashes: list[str] = [entry["hash"] for entry in said["entries"]]
        self.charges: dict[str, Record] = {}  # what is comparable with a statement, by hash
        self.begun: set[str] = set()
        self.draws: dict[str, str] = {}  # digest of the draw, by charge
        self.policy: Record = {}  # the body of the newest
        self._nonces: set[str] = set()
        self._replay(said["entries"])

    def _replay(self, entries: list[Record]) -> None:
        for entry in entries:
            where = f"row {entry['row']}"
            shaped(entry, where, format="a whole number", kind="text", at="a day", body="text")
            if entry["format"] != FORMAT:
                raise Damaged(f"{where} must be of format {FORMAT}, got {entry['format']}: get its verifier")
            body = shaped(read_json(entry["body"].encode("utf-8", "surrogatepass")), where)
            if canonical(body) != entry["body"].encode("utf-8", "surrogatepass"):
                raise Damaged(f"the body of {where} must be written in the canonical way")
            self.days.append(entry["at"])
            if (entry["row"] == 1) != (entry["kind"] == "opened"):
                raise Damaged("a ledger is opened once, by its first entry")
            if entry["kind"] not in BODIES:
                self.notes.append(f"{where} is of a kind that is unknown here: {entry['kind']}")
                continue
            shaped(body, f"{where} ({entry['kind']})", **BODIES[entry["kind"]])
            getattr(self, f"_{entry['kind']}", self._no_rule)(entry, body, where)

    def _no_rule(self, entry: Record, body: Record, where: str) -> None:
        """Entries that only have to be there, as written."""

    def _opened(self, entry: Record, body: Record, where: str) -> None:
        self.identity = body["ledger"]
        self.keys.append(Handover(1, bytes.fromhex(body["key"]), True))

    def _restored(self, entry: Record, body: Record, where: str) -> None:
        self.notes.append(
            f"{where}: the ledger was put back from a copy that ended with row {body['row']}; "
            "what was charged between is not known"
        )

    def _key(self, entry: Record, body: Record, where: str) -> None:
        before, public = self.keys[-1].public, bytes.fromhex(body["public"])
        if body["replaces"] != before.hex():
            self.wrong.append(f"{where} replaces a key that was not the newest")
        agreed = body["signed"] is not None
        if not agreed:
            self.notes.append(f"{where} replaced the key without a signature of the one before")
        elif not signature_holds(before, f"density key {FORMAT}\n".encode() + public, bytes.fromhex(body["signed"])):
            self.wrong.append(f"{where} replaces the key, but the signature of the one before does not hold")
            agreed = False
        self.keys.append(Handover(entry["row"], public, agreed))

    def _policy(self, entry: Record, body: Record, where: str) -> None:
        if hashlib.sha256(body["text"].encode("utf-8", "surrogatepass")).hexdigest() != body["sha256"]:
            self.wrong.append(f"the policy of {where} is not the one it names by its digest")
        before, self.policy = self.policy, body
        if body["replaces"] != before.get("sha256"):
            self.wrong.append(f"the policy of {where} replaces another than the one before it")
        officer = before.get("officer")
        if officer is None:
            return
        said = f"density policy {FORMAT}\nledger {self.identity}\nreplaces {body['replaces']}\n{body['text']}"
        signed = body["signature"]
        message = said.encode("utf-8", "surrogatepass")
        if signed is None or not signature_holds(bytes.fromhex(officer), message, bytes.fromhex(signed)):
            self.wrong.append(f"the policy of {where} is not signed by the officer whom the one before it names")

    def _charge(self, entry: Record, body: Record, where: str) -> None:
        if body["nonce"] in self._nonces:
            self.wrong.append(f"{where} has the nonce of another charge")
        self._nonces.add(body["nonce"])
        self.charges[entry["hash"]] = {**body, "at": entry["at"], "hash": entry["hash"]}

    def _begun(self, entry: Record, body: Record, where: str) -> None:
        if body["charge"] not in self.charges or body["charge"] in self.begun:
            self.wrong.append(f"{where} begins a draw that was not paid for, or was begun before")
        else:
            self.begun.add(body["charge"])

    def _drawn(self, entry: Record, body: Record, where: str) -> None:
        charge = body["charge"]
        if charge not in self.begun:
            self.wrong.append(f"{where} was drawn before it was begun, or never paid for")
        elif charge in self.draws:
            self.wrong.append(f"{where} was drawn twice for one charge")
        elif not same(self.charges[charge]["measurement"], body["measurement"]):
            self.wrong.append(f"{where} is the draw of another measurement than was paid for")
        else:
            self.draws[charge] = body["digest"]

    def _published(self, entry: Record, body: Record, where: str) -> None:
        row = body["row"]  # the last one of the chain that was published
        if not (0 < row <= entry["row"] and body["key"] == fingerprint(self.key_at(row))):
            self.wrong.append(f"{where} published under a key that was not the newest of its chain")
        if not body["charges"] or any(charge not in self.draws for charge in body["charges"]):
            self.wrong.append(f"{where} published what was not drawn")
        if "replaces" in body:
            shaped(body, where, replaces="64 hexadecimal digits")
            self.notes.append(f"{where} published the week of {body['week']} anew, of the same draws: {body['reason']}")

    def key_at(self, row: int) -> bytes:
        """The key that was the newest at a row."""
        return [key for key in self.keys if key.row <= row][-1].public


# --- what events cost: a second opinion -----------------------------------------------------------------------------
# Written from the papers, not from the software that chose the noise.

ORDERS = [1 + 10 ** (step / 200) for step in range(-500, 1200)]  # of Rényi divergence
DOTS = 500  # of the grid for privacy losses, on each side of zero
MOST_LAPLACE, MOST_LOSS = 20, 30.0  # events and their epsilon; beyond, other bounds must do


class Spend(NamedTuple):
    """What events come down to: squared ratios of Gaussians, ratios of Laplace noise, zCDP of everything else."""

    gaussian: float
    laplace: list[float]
    zcdp: float


def spend_of(events: Iterable[Any]) -> Spend:
    """Add events up; one of unknown kind is refused, never guessed."""
    gaussian, zcdp, laplace = 0.0, 0.0, []
    for event in events:
        kind = shaped(event, "an event", kind="text", query="text")["kind"]
        if kind not in EVENTS:
            raise Damaged(f"an event must be one of {', '.join(EVENTS)}, got {_brief(kind)}")
        shaped(event, f"an event ({kind})", **EVENTS[kind])
        unknown = event.keys() - {"kind", "query"} - EVENTS[kind].keys() - OPTIONAL.get(kind, {}).keys()
        if unknown:
            raise Damaged(f"an event ({kind}) has a field that is unknown here: {_brief(min(unknown))}")
        if kind == "gaussian":
            gaussian += (event["sensitivity"] / event["sigma"]) ** 2
        elif kind == "laplace":
            laplace.append(event["sensitivity"] / event["scale"])
        elif kind == "laplace_vector":  # (Bun & Steinke 2016, prop. 1.4)
            zcdp += (event["sensitivity"] / event["scale"]) ** 2 / 2
        elif kind == "sparse_vector":
            zcdp += _sparse_vector(event)
        else:  # bounded range (Cesar & Rogers 2021)
            zcdp += event["epsilon"] ** 2 / 8
    return Spend(gaussian, laplace, zcdp)


def _sparse_vector(event: Record) -> float:
    """Each step is a comparison of `epsilon` and a histogram of sensitivity/scale (Dwork & Roth 2014, Thm 3.23)."""
    full = shaped(
        {**OPTIONAL["sparse_vector"], **event},
        "an event (sparse_vector)",
        streams="a whole number from 1",
        distance="a positive number",
        change="a number",
    )
    steps, ratio = full["streams"] * full["releases"], full["sensitivity"] / full["scale"]
    if type(full["pure"]) is not bool:
        raise Damaged("'pure' of an event (sparse_vector) must be true or false")
    if full["pure"]:
        return float((steps * (full["epsilon"] + ratio)) ** 2 / 2)
    return float(steps * (full["epsilon"] ** 2 + ratio**2) / 2)


def epsilon_of(events: Iterable[Any], delta: float) -> float:
    """The smallest epsilon that a sound argument gives; infinite if the numbers are beyond computing."""
    try:
        spend = spend_of(events)
    except (OverflowError, ZeroDivisionError):
        return math.inf
    if not (spend.zcdp or spend.laplace):
        bounds = [_by_gaussian_curve]  # exact, so that no other can be smaller
    elif spend.zcdp or len(spend.laplace) > MOST_LAPLACE:
        bounds = [_renyi]
    else:
        bounds = [_renyi, _by_losses] if spend.gaussian else [_by_losses, _pure]
    return min(_computed(bound, spend, delta) for bound in bounds)


def _computed(bound: Callable[[Spend, float], float], spend: Spend, delta: float) -> float:
    try:
        return bound(spend, delta)
    except (OverflowError, ZeroDivisionError):
        return math.inf


def _pure(spend: Spend, delta: float) -> float:
    return math.fsum(spend.laplace)


def _by_gaussian_curve(spend: Spend, delta: float) -> float:
    mu = math.sqrt(spend.gaussian)
    return _smallest(lambda epsilon: gaussian_delta(epsilon, mu), delta)


def _by_losses(spend: Spend, delta: float) -> float:
    mu, losses = math.sqrt(spend.gaussian), _laplace_losses(spend.laplace)
    return _smallest(lambda epsilon: _mixed_delta(epsilon, mu, losses), delta)


def gaussian_delta(epsilon: float, mu: float) -> float:
    """What Gaussian noise with sensitivity/sigma = mu costs: Φ(mu/2 - epsilon/mu) - e^epsilon·Φ(-mu/2 - epsilon/mu).

    (Balle & Wang 2018, Thm 8.) With w and z below, z² - w² = epsilon: both terms have the factor exp(-w²), which is
    taken out, so that nothing overflows and the difference is one of numbers of moderate size.
    """
    if mu == 0:
        return max(0.0, -math.expm1(epsilon))
    w, z = ((epsilon / mu + side * mu / 2) / math.sqrt(2) for side in (-1, 1))
    if z < 0 or w < 0:
        second = math.exp(epsilon) * math.erfc(z) if z < 0 else _scaled_erfc(z) * math.exp(-w * w)
        return max(0.0, (math.erfc(w) - second) / 2)
    return max(0.0, (_scaled_erfc(w) - _scaled_erfc(z)) * math.exp(-w * w) / 2)


def _scaled_erfc(x: float) -> float:
    """exp(x²)·erfc(x) for x >= 0; beyond 25 by its asymptotic series, whose error is below 1e-13 there."""
    if x < 25:
        return math.exp(x * x) * math.erfc(x)
    square = 1 / (2 * x * x)
    return (1 - square * (1 - 3 * square * (1 - 5 * square * (1 - 7 * square)))) / (x * math.sqrt(math.pi))


def _laplace_losses(ratios: Sequence[float]) -> tuple[float, list[float]]:
    """Privacy losses of several Laplace noises together, on a grid: its step, and the mass at each multiple of it."""
    if sum(ratios) > MOST_LOSS:
        raise OverflowError("e to such losses is beyond the precision of numbers here")
    step, mass = sum(ratios) / DOTS, [1.0]
    for ratio in ratios:
        dots, sums = _connected_dots(ratio, step), [0.0] * (len(mass) + 2 * math.ceil(ratio / step))
        for place, weight in enumerate(mass):
            for offset, dot in enumerate(dots):
                sums[place + offset] += weight * dot
        mass = sums
    return step, mass


def _connected_dots(ratio: float, step: float) -> list[float]:
    """A discrete privacy loss whose delta, as a function of e^epsilon, connects dots on the curve of Laplace noise.

    The curve is convex, so lines between its dots lie above it: a bound (Doroshenko et al. 2022). The mass under the
    second distribution is the change of slope at each dot.
    """
    count = math.ceil(ratio / step)
    places = [index * step for index in range(-count, count + 1)]
    heights = [_laplace_delta(place, ratio) for place in places]
    slopes = [
        (heights[index + 1] - heights[index]) / (math.exp(place) * math.expm1(step))
        for index, place in enumerate(places[:-1])
    ]
    around = [-1.0, *slopes, 0.0]
    return [(around[index + 1] - around[index]) * math.exp(place) for index, place in enumerate(places)]


def _laplace_delta(epsilon: float, ratio: float) -> float:
    if epsilon >= ratio:
        return 0.0
    return -math.expm1(epsilon if epsilon <= -ratio else (epsilon - ratio) / 2)


def _mixed_delta(epsilon: float, mu: float, losses: tuple[float, list[float]]) -> float:
    step, mass = losses
    middle = len(mass) // 2
    return math.fsum(
        weight * gaussian_delta(epsilon - (index - middle) * step, mu) for index, weight in enumerate(mass)
    )


def _smallest(delta_at: Callable[[float], float], delta: float) -> float:
    """The smallest epsilon, from above, whose delta is small enough."""
    high = 1e-3
    while delta_at(high) > delta:
        high *= 2
    low = 0.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if delta_at(middle) <= delta else (middle, high)
    return high


def _renyi(spend: Spend, delta: float) -> float:
    """By Rényi divergence, at the best of many orders (Canonne, Kamath & Steinke 2020, prop. 12)."""
    return min(
        max(0.0, _divergence(spend, order) + math.log1p(-1 / order) - math.log(delta * order) / (order - 1))
        for order in ORDERS
    )


def _divergence(spend: Spend, order: float) -> float:
    """Of two outputs of neighbours: order·rho for zCDP, Mironov 2017 (table II) for Laplace noise."""
    total = order * (spend.gaussian / 2 + spend.zcdp)
    for ratio in spend.laplace:
        share = order / (2 * order - 1)
        rest = math.log(share + (1 - share) * math.exp(-(2 * order - 1) * ratio)) / (order - 1)
        total += min(ratio + rest, order * ratio**2 / 2)
    return total


# --- the statement --------------------------------------------------------------------------------------------------


def check_charges(report: Report, said: Record, chain: Chain) -> None:
    """Every door is paid for once, every charge is stated as it was made, and every draw is in the chain."""
    stated = [shaped(charge, "a charge", door="text", hash="text") for charge in said["charges"]]
    paid = sorted(charge["door"] for charge in stated)
    report.found(paid and paid == sorted(said["doors"]), "every door is paid for once")
    report.must(len({charge["hash"] for charge in stated}) == len(stated), "every charge is stated once")
    whose = [record["population"] for record in (said, *stated) if "population" in record]
    report.must(all(same(one, whose[0]) for one in whose), "all of it is charged to one population")
    for charge in stated:
        door, written = charge["door"], chain.charges.get(charge["hash"], {})
        # A statement may say more of a charge than it must, but nothing that the chain does not say.
        alike = all(name in written and same(charge[name], written[name]) for name in charge.keys() - {"draw"})
        report.found(alike and charge.keys() >= OF_A_CHARGE, f"{door} was charged what is stated")
        for_this = all(same(written.get(name), said[name]) for name in OF_A_RELEASE)
        report.found(for_this, f"the charge of {door} is for this release")
        drawn = chain.draws.get(charge["hash"])
        report.found(drawn is not None and same(charge.get("draw"), drawn), f"the draw of {door} is the one paid for")
    _note_other_charges(report, said, chain)


def _note_other_charges(report: Report, said: Record, chain: Chain) -> None:
    stated = {charge["hash"] for charge in said["charges"]}
    others = [
        charge
        for charge in chain.charges.values()
        if charge["hash"] in chain.begun and charge["hash"] not in stated
        and all(same(charge.get(name), said[name]) for name in ("city", "week", "revision"))
    ]  # fmt: skip
    if others:
        report.note(f"{len(others)} more charges for this week and revision were begun: they count against the budget")


def check_promise(report: Report, said: Record) -> None:
    """What was paid for costs no more than what is promised."""
    charges = [shaped(charge, "a charge", events="a list of records") for charge in said["charges"]]
    cost = epsilon_of((event for charge in charges for event in charge["events"]), said["delta"])
    report.found(
        cost <= said["epsilon"],
        f"the events cost epsilon {cost:.4f} at delta {said['delta']:g}, promised {said['epsilon']:g}",
    )
    report.found(said["calibration"] == "sound", "the calibration is sound")


ROUNDING = 1e-9  # of a stated epsilon, which is not rounded up
SHAPING = ("weight_l", "tower_l")  # parameters that an estimate depends on


def check_estimate(report: Report, said: Record, chain: Chain, upto: str | None = None) -> None:
    """Every draw that an estimate names is in the chain, its key is made of them, and they cost what is stated.

    upto: the last week that a final estimate uses; a provisional one uses earlier weeks only.
    """
    estimate = shaped(said.get("estimate"), "the estimate", **OF_AN_ESTIMATE)
    vintage = "provisional" if upto is None else "final"
    report.must(estimate["vintage"] == vintage, f"the estimate is {vintage}, as its manifest says")
    shaped(said, "the statement", scheme="text", geography="text", parameters="a record")
    for week in estimate["left_out"]:
        shaped(week, "a week that is left out", week="a day", revision="a whole number from 1", reason="text")
    used = _check_used_draws(report, said, chain)
    if upto is not None:
        last = max((week["week"] for week in estimate["weeks"]), default="")
        report.found(said["week"] < last == upto, f"the estimate uses weeks after its own, up to {upto}")
        _check_spent(report, said, chain)
    own = sorted(said["charges"], key=lambda charge: charge["door"])
    draws = [digest for digest, _ in used] + [charge.get("draw") for charge in own]
    parameters = {name: said["parameters"][name] for name in SHAPING if name in said["parameters"]}
    decided = {"scheme": said["scheme"], "geography": said["geography"], "parameters": parameters, "format": FORMAT}
    key = hashlib.sha256(canonical({**decided, "draws": draws})).hexdigest()
    report.found(key == estimate["key"], "the key of the estimate is that of its draws")
    charges = [shaped(charge, "a charge", events="a list of records") for charge in (*(paid for _, paid in used), *own)]
    stated = shaped(estimate["together"], "the estimate's cost", epsilon="a positive number", delta="a share")
    cost = epsilon_of((event for charge in charges for event in charge["events"]), stated["delta"])
    report.found(
        cost <= stated["epsilon"] * (1 + ROUNDING) and same(stated["delta"], said["delta"]),
        f"all draws of the estimate, of {len(estimate['weeks']) + 1} week{'s' if estimate['weeks'] else ''}, cost "
        f"epsilon {cost:.4f} together at delta {stated['delta']:g}, stated {stated['epsilon']:.4f}",
    )


def _check_spent(report: Report, said: Record, chain: Chain) -> None:
    """What a final estimate says that its year has cost is no less than what the whole chain charges for it.

    Only where all noise is Gaussian: bounds of other noise are not exact here, and could be above a right one.
    """
    stated = shaped(said.get("cumulative"), "what was spent", year="text", epsilon="a number", delta="a share")
    events = []
    for charge in chain.charges.values():
        shaped(charge, "a charge", week="a day", events="a list of records")
        day = date.fromisoformat(charge["week"])
        year = date.fromordinal(day.toordinal() - day.weekday()).year  # that of the Monday
        if same(charge.get("population"), said.get("population")) and str(year) == stated["year"]:
            events += charge["events"]
    spend = spend_of(events)
    if spend.laplace or spend.zcdp:
        return
    cost = epsilon_of(events, stated["delta"])
    report.found(
        cost <= stated["epsilon"] * (1 + ROUNDING),
        f"all charges of {stated['year']} in the chain cost epsilon {cost:.4f} together at delta {stated['delta']:g}, "
        f"stated {stated['epsilon']:.4f}",
    )


def _check_used_draws(report: Report, said: Record, chain: Chain) -> list[tuple[str, Record]]:
    """Digests of the draws of other weeks that an estimate names, each with the charge in the chain."""
    used, before, final = [], "", said["estimate"]["vintage"] == "final"
    for week in said["estimate"]["weeks"]:
        shaped(week, "a week of the estimate", week="a day", revision="a whole number from 1", draws="a record")
        which = {"city": said["city"], "population": said.get("population")}
        which |= {name: week[name] for name in ("week", "revision")}
        fits = week["week"] != said["week"] if final else week["week"] < said["week"]
        weeks = "other" if final else "earlier"
        report.must(before < week["week"] and fits, f"the estimate uses {weeks} weeks, each once: {week['week']}")
        before = week["week"]
        for door in sorted(week["draws"]):
            draw = shaped(week["draws"][door], "a draw", charge="text", measurement="text", draw="text")
            paid = chain.charges.get(draw["charge"], {})
            named = {**which, "door": door, "measurement": draw["measurement"]}
            holds = all(same(paid.get(name), value) for name, value in named.items())
            report.found(
                holds and same(chain.draws.get(draw["charge"]), draw["draw"]),
                f"{door} of the week of {week['week']}, which the estimate uses, was paid for and drawn",
            )
            used.append((draw["draw"], {"events": [], **paid}))
    return used


# --- a signed release -----------------------------------------------------------------------------------------------


class Manifest(NamedTuple):
    """A signed list of files, and the bytes that were signed."""

    folder: Path
    name: str
    content: bytes
    kind: str  # release, final or register
    said: Record
    public: bytes
    read: dict[str, bytes]  # what it lists and is looked into: read once, so that what was compared is what is read

    @property
    def weekly(self) -> bool:
        """Whether it is the manifest of a week or of a final estimate of one, not that of the register."""
        return self.kind != "register"

    @property
    def upto(self) -> str | None:
        """The last week that a final estimate uses; none of what a week is first published with."""
        return self.said["upto"] if self.kind == "final" else None

    @property
    def key_files(self) -> tuple[str, str]:
        """Names of a file with its key; the first stays with the key when another one follows."""
        return f"key_{fingerprint(self.public)[:16]}.pem", "density_key.pem"

    @property
    def suffix(self) -> str:
        """What the names of its files end with."""
        return suffix_of(self.said["week"], self.said["revision"], self.upto) if self.weekly else "register"

    def json(self, name: str) -> Any:
        """The content of a JSON file that it lists."""
        if name not in self.read:
            raise Damaged(f"{name} is missing")
        return read_json(self.read[name])


def read_manifest(folder: Path, name: str) -> Manifest:
    """A manifest whose every field has its shape."""
    content = read_file(folder / name)
    said = read_json(content)
    kind = formatted(said, "it", "release", "final", "register")
    shaped(said, "it", city="text", ledger="a record", key="a record", files="a record")
    shaped(said["ledger"], "its ledger", **OF_A_LEDGER)
    shaped(said["key"], "its key", public="64 hexadecimal digits", fingerprint="64 hexadecimal digits")
    for file, listed in said["files"].items():
        shaped(listed, f"its file {_brief(file)}", **LISTED)
    if kind != "register":
        shaped(said, "it", week="a day", revision="a whole number from 1", statement="text")
    if kind == "final":
        shaped(said, "it", upto="a day")
    return Manifest(folder, name, content, kind, said, bytes.fromhex(said["key"]["public"]), {})


def check_signed(report: Report, folder: Path, name: str, wanted: Wanted) -> Manifest | None:
    """Everything there is to check of a manifest and what it lists; returns the manifest, if it can be read."""
    manifest = None
    with report.reading(name):
        manifest = read_manifest(folder, name)
    if manifest is None:
        return None
    report.must(name == f"manifest_{manifest.suffix}.json", f"{name} is named after its week and revision")
    chain = said = None
    with report.reading("the signature"):
        _check_signature(report, manifest)
    with report.reading("the list of files"):
        _check_listed(report, manifest)
    if manifest.weekly:
        with report.reading("the ledger's chain"):
            chain = _check_chain(report, manifest)
        with report.reading("the statement"):
            said = _check_statement(report, manifest)
        if chain is not None and said is not None:
            with report.reading("the statement"):
                check_charges(report, said, chain)
            if "estimate" in said or manifest.upto is not None:
                with report.reading("the estimate"):
                    check_estimate(report, said, chain, manifest.upto)
        if said is not None:
            with report.reading("the promise"):
                check_promise(report, said)
    else:
        report.note("the register holds no chain: that its key is the ledger's is checked with the manifest of a week")
    with report.reading("the signer"):
        _check_signer(report, manifest, chain, wanted)
    if wanted.anchor is not None:
        with report.reading("the anchor"):
            _check_anchor(report, wanted.anchor, chain)
    if wanted.around:
        with report.reading("the folder"):
            _note_unlisted(report, manifest)
    return manifest


def _check_signature(report: Report, manifest: Manifest) -> None:
    named = manifest.said["key"]["fingerprint"]
    report.must(fingerprint(manifest.public) == named, "the manifest's key has the fingerprint it names")
    sig = manifest.name[: -len(".json")] + ".sig"
    try:
        signature = read_file(manifest.folder / sig)
    except Damaged as problem:
        report.found(False, f"the manifest is signed: {sig}: {problem}")
        return
    holds = signature_holds(manifest.public, manifest.content, signature)
    report.found(holds, f"the manifest is signed by the key it names, {named[:16]}…")


def _check_listed(report: Report, manifest: Manifest) -> None:
    """Every listed file is there, byte by byte, and everything that must be listed is."""
    files = manifest.said["files"]
    needed = required_files(manifest.suffix) if manifest.weekly else ["audit.html"]
    for name in needed:
        report.must(name in files, f"{name} is one of the files")
    report.must(any(name in files for name in manifest.key_files), f"{manifest.key_files[0]} is one of the files")
    for name, listed in files.items():
        if not report.must(inside(name), f"{name!r} lies beside the manifest"):
            continue
        try:
            size, digest = _compared(manifest, name)
        except Damaged as problem:
            report.found(False, f"{name} is the file that was signed: {problem}")
            continue
        report.found((size, digest) == (listed["bytes"], listed["sha256"]), f"{name} is the file that was signed")
    for name in sorted(manifest.read.keys() & set(manifest.key_files)):
        report.found(manifest.read[name] == public_pem(manifest.public), f"{name} is the key of the manifest")


def _compared(manifest: Manifest, name: str) -> tuple[int, str]:
    """Size and digest of a listed file; files that are looked into are kept."""
    looked_into = (f"ledger_{manifest.suffix}.json", f"privacy_statement_{manifest.suffix}.json", *manifest.key_files)
    if name not in looked_into:
        return digest_of(manifest.folder / name)
    content = manifest.read[name] = read_file(manifest.folder / name)
    return len(content), hashlib.sha256(content).hexdigest()


def _check_chain(report: Report, manifest: Manifest) -> Chain:
    chain = Chain(manifest.json(f"ledger_{manifest.suffix}.json"))
    report.found(True, "the ledger's chain is whole")
    for wrong in chain.wrong:
        report.found(False, f"the chain's entries follow from each other: {wrong}")
    report.found(not chain.wrong, "every draw was begun once and paid for before, and no nonce was used twice")
    for note in chain.notes:
        report.note(f"the ledger's chain: {note}")
    ledger = manifest.said["ledger"]
    named = (ledger["identity"], ledger["row"], ledger["head"])
    report.found(
        (chain.identity, len(chain.hashes), chain.hashes[-1]) == named, "it ends with the head the manifest names"
    )
    report.found(chain.keys[-1].public == manifest.public, "the manifest's key is the ledger's newest")
    return chain


def _check_statement(report: Report, manifest: Manifest) -> Record:
    name, signed = f"privacy_statement_{manifest.suffix}.json", manifest.said
    report.must(signed["statement"] == name, "the manifest names the statement of its week and revision")
    said: Record = manifest.json(name)
    formatted(said, "the statement", "statement")
    shaped(said, "the statement", **PROMISE)
    alike = all(same(said[name], signed[name]) for name in ("city", "week", "revision"))
    report.found(alike, "statement and manifest are those of one release")
    shaped(said["ledger"], "its ledger", file="text", **OF_A_LEDGER)
    pointed = {field: value for field, value in said["ledger"].items() if field in OF_A_LEDGER}
    pointing = said["ledger"]["file"] == f"ledger_{manifest.suffix}.json"
    report.found(
        pointing and all(same(pointed[name], signed["ledger"][name]) for name in OF_A_LEDGER),
        "statement and manifest name one chain",
    )
    stated = shaped({"files": {}, **said}, "the statement", files="a record")["files"]
    for file, digest in stated.items():
        report.must(same(digest, signed["files"].get(file, {}).get("sha256")), f"{file} is stated as it was signed")
    return said


def _check_signer(report: Report, manifest: Manifest, chain: Chain | None, wanted: Wanted) -> None:
    """Whether the signers are those whose fingerprints were given."""
    if wanted.key is not None:
        signer, rows = fingerprint(manifest.public), _handed_over(chain, wanted.key)
        if signer.startswith(wanted.key):
            report.found(True, "the key is the one whose fingerprint was given")
        elif rows is not None:
            report.found(True, f"the key whose fingerprint was given agreed to be replaced by this one (rows {rows})")
        else:
            report.found(False, f"the key is the one whose fingerprint was given: it is {signer}")
    beside = sorted(manifest.folder.glob(f"manifest_{manifest.suffix}.*.sig"))
    if wanted.second is not None:
        _check_second(report, manifest, chain, wanted.second)
    elif beside:
        report.note(f"{len(beside)} more signatures lie beside the manifest: check them with --second FINGERPRINT")


def _handed_over(chain: Chain | None, wanted: str) -> str | None:
    """Rows in which each key since the wanted one agreed to be replaced; none if one did not, or it was never used."""
    keys = chain.keys if chain is not None else []
    known = [place for place, key in enumerate(keys) if fingerprint(key.public).startswith(wanted)]
    since = keys[known[-1] + 1 :] if known else []
    return ", ".join(str(key.row) for key in since) if since and all(key.agreed for key in since) else None


def _check_second(report: Report, manifest: Manifest, chain: Chain | None, wanted: str) -> None:
    short = wanted[:16]
    with report.reading("the second signature"):
        public = public_of(read_file(manifest.folder / f"key_{short}.pem"))
        signature = read_file(manifest.folder / f"manifest_{manifest.suffix}.{short}.sig")
        right = fingerprint(public).startswith(wanted)
        report.found(right, "the second key is the one whose fingerprint was given")
        own = {manifest.public, *(key.public for key in chain.keys)} if chain else {manifest.public}
        report.found(public not in own, "the second key is not one of the ledger's own")
        report.found(
            signature_holds(public, manifest.content, signature), f"the manifest is signed by the second key, {short}…"
        )


WORKED_WITH = re.compile(r"release\.duckdb|tables/.*", re.DOTALL)  # what the software keeps beside what it publishes


def _note_unlisted(report: Report, manifest: Manifest) -> None:
    """Name what lies in the folder and is vouched for by nobody; files of other weeks have manifests of their own."""
    signed = re.compile(r"manifest_[\w-]+(\.[0-9a-f]{16})?\.(json|sig)|key_[0-9a-f]{16}\.pem")
    dated = re.compile(r"_((final_)?\d{4}-\d\d-\d\d(_r\d+)?(_to_\d{4}-\d\d-\d\d)?)\.")
    manifests = manifest.folder.glob("manifest_*.json")
    listed = {name for file in manifests for name in _listed_by(manifest.folder, file.name)}
    found = [Path(place, file) for place, _, files in os.walk(manifest.folder) for file in files]
    names = {file.relative_to(manifest.folder).as_posix() for file in found} - manifest.said["files"].keys()
    names = {name for name in names if not signed.fullmatch(name)}
    weeks = {name: week.group(1) for name in names if (week := dated.search(name))}
    stray = {name for name in names - listed if weeks.get(name, manifest.suffix) == manifest.suffix}
    stray |= {name for name in names if weeks.get(name) == manifest.suffix}
    if others := names & listed - stray:
        report.note(f"{len(others)} files are listed by other manifests of the folder only: verify those as well")
    if unsigned := {name for name in stray if WORKED_WITH.fullmatch(name)}:
        stray -= unsigned
        report.note(
            f"{len(unsigned)} files are signed by nobody: release.duckdb and tables/ are what the software works with; "
            "to trust a number, take it from the files that the manifest of its week lists"
        )
    if stray:
        first = sorted(stray, key=lambda name: (manifest.suffix not in name, name))[:MOST_NAMED]
        more = f" and {len(stray) - MOST_NAMED} more" if len(stray) > MOST_NAMED else ""
        report.note(f"not covered by any manifest: {', '.join(map(plain, first))}{more}")


def _listed_by(folder: Path, name: str) -> set[str]:
    """What another manifest lists; nothing if it cannot be read, which it will say when it is verified itself."""
    try:
        return set(read_manifest(folder, name).said["files"])
    except Damaged:
        return set()


# --- anchors --------------------------------------------------------------------------------------------------------


def read_head(line: bytes) -> tuple[Record, bytes]:
    """A line of an anchor, and the bytes that its signature is for."""
    head = shaped(read_json(line), "it", **HEAD)
    formatted(head, "it", "head")
    if head.keys() != HEAD.keys():
        raise Damaged("it must be a head and nothing else")
    return head, canonical({name: value for name, value in head.items() if name != "signature"})


def _check_anchor(report: Report, anchor: Path, chain: Chain | None) -> None:
    """Heads that were kept elsewhere must be in the chain.

    A head of a row that the chain has must be the hash of that row: else one of the two was rewritten. A later head
    says nothing about the rows before it. But if the ledger had more rows on some day than this chain has at all, the
    chain must not have entries of later days: they would have come after the rows it lacks.
    """
    if chain is None:
        report.found(False, "the anchor can be compared with the chain of a release")
        return
    compared, newer = 0, 0
    for number, line in enumerate(read_file(anchor).split(b"\n"), start=1):
        if not line:
            continue
        where = f"line {number} of the anchor"
        with report.reading(where):
            head, signed = read_head(line)
            public = bytes.fromhex(head["key"])
            if not report.must(
                signature_holds(public, signed, bytes.fromhex(head["signature"])), f"{where} is signed by its key"
            ):
                continue
            if head["ledger"] != chain.identity:
                continue
            if head["row"] > len(chain.hashes):
                newer += 1
                report.must(
                    max(chain.days) <= head["at"],
                    f"{where}: the ledger had row {head['row']} on {head['at']}, so that a chain with entries of "
                    f"{max(chain.days)} must have it too",
                )
                continue
            compared += 1
            alike = chain.hashes[head["row"] - 1] == head["head"] and chain.key_at(head["row"]) == public
            report.must(alike, f"{where} names row {head['row']} as it stands in the chain, and its key")
    later = f"; {newer} are newer than this release and say nothing about it" if newer else ""
    report.found(compared, f"heads of this ledger that were kept elsewhere are in its chain: {compared}{later}")


# --- the whole ------------------------------------------------------------------------------------------------------


class Wanted(NamedTuple):
    """What a reader knows from elsewhere."""

    key: str | None = None
    second: str | None = None
    anchor: Path | None = None
    around: bool = False


def verify(
    path: Path, key: str | None = None, second: str | None = None, anchor: Path | None = None, *, around: bool = False
) -> Result:
    """Check a release.

    path: its statement or manifest, or a folder with one release.
    key, second: fingerprints of the keys that must have signed it, from elsewhere.
    anchor: a file with heads of its ledger that were kept elsewhere.
    around: whether to note which files of the folder are not covered.

    Raises `Misuse` if there is nothing to check; whatever is wrong with a release is a finding.
    """
    key, second = (None if text is None else given_fingerprint(text) for text in (key, second))
    wanted = Wanted(key, second, anchor, around)
    try:
        if anchor is not None and not anchor.is_file():
            raise Misuse(f"the anchor must be a file, {plain(str(anchor))} is none")
        folder, name = _chosen(path)
    except OSError as problem:
        raise Misuse(f"{plain(str(path))} must be readable: {problem.strerror}") from None
    report, manifest = Report(), None
    with report.reading("the release"):
        manifest = check_signed(report, folder, name, wanted)
    return _verdict(report, manifest, wanted)


def _chosen(path: Path) -> tuple[Path, str]:
    """Folder and name of the manifest."""
    if path.is_dir():
        names = [file.name for file in path.iterdir()]
        weeks = {found.group(2) for name in names if (found := _named(name)) and found.group(2) != "register"}
        if len(weeks) != 1 and (weeks or "manifest_register.json" not in names):
            raise Misuse(f"name one privacy statement or manifest: {plain(str(path))} holds {len(weeks)}")
        suffix = weeks.pop() if weeks else "register"
    elif (found := _named(path.name)) and path.exists():
        path, suffix = path.parent, found.group(2)
    else:
        raise Misuse(f"name a privacy_statement_….json, a manifest_….json or their folder, got {plain(str(path))}")
    return path, f"manifest_{suffix}.json"


def _named(name: str) -> re.Match[str] | None:
    return re.fullmatch(r"(privacy_statement|manifest)_([A-Za-z0-9_-]+)\.json", name)


def _verdict(report: Report, manifest: Manifest | None, wanted: Wanted) -> Result:
    broken = sum(not holds for holds, _ in report.findings)
    if broken or not report.findings or manifest is None:
        text, status = f"NOT verified: {broken} of {len(report.findings)} findings do not hold", 1
    elif wanted.key is None:
        text = "consistent, signer unknown: get the key's fingerprint from elsewhere and give it with --key; "
        text, status = f"{text}this release says {fingerprint(manifest.public)}, as a forged one would of its own", 3
    else:
        what = f"{manifest.said['city']}, {manifest.suffix}"
        signers = " and ".join([fingerprint(manifest.public), *([wanted.second] if wanted.second else [])])
        text, status = f"verified: signed by {signers} ({plain(what)})", 0
    return Result(report.findings, report.notes, text, status)


def show(result: Result) -> None:
    """Print what was found, and what follows."""
    for holds, text in result.findings:
        print(f"{'ok ' if holds else 'NOT'}  {text}")
    for text in result.notes:
        print(f"note {text}")
    print(result.verdict)


def main(words: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(description="Check a published release.", epilog="0 verified, 3 not vouched for, "
                                     "1 something does not hold, 2 misuse.")  # fmt: skip
    parser.add_argument("release", type=Path, help="its privacy statement (JSON) or manifest, or their folder")
    parser.add_argument("--key", metavar="FINGERPRINT", help="of the key that must have signed it, from elsewhere")
    parser.add_argument("--second", metavar="FINGERPRINT", help="of the key of a second person who must have signed it")
    parser.add_argument("--anchor", type=Path, metavar="FILE", help="heads of its ledger that were kept elsewhere")
    given = parser.parse_args(words)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # names in a release need not be letters of this terminal
            stream.reconfigure(errors="backslashreplace")
    try:
        result = verify(given.release, given.key, given.second, given.anchor, around=True)
    except Misuse as problem:
        print(f"error: {problem}", file=sys.stderr)
        return 2
    show(result)
    return result.status


if __name__ == "__main__":
    sys.exit(main())
