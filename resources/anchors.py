"""Heads of the ledger, kept outside the home, so that whoever rewrites the ledger must rewrite them as well.

A head says which hash a row of a ledger had on a day, signed with the ledger's key. `[anchor] file` gets a line for
each, and is read back as a witness: what it holds must stand in the ledger. `[anchor] command` gets the head on its
input and does with it what its operator likes: `deploy/anchor-git` commits it, `deploy/anchor-timestamp` has a stranger
sign it (RFC 3161). None of it helps if it lies where the ledger lies.
"""

import os
import shlex
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from filelock import FileLock

from density_assets.errors import BadInput
from density_assets.privacy.release import FORMAT
from density_assets.publication.strict_json import NotStrictJson, canonical, read_record
from density_assets.settings import Settings
from resources.ledger.ledger import Ledger, today
from resources.ledger.witnesses import Named, Witnesses
from resources.signing import Keys, Signer, signature_holds

HEAD_FORMAT = f"density head {FORMAT}"
PATIENCE_SECONDS = 60


Head = dict[str, Any]
FIELDS = {"format": str, "ledger": str, "row": int, "head": str, "at": str, "key": str, "signature": str}


class Anchored(NamedTuple):
    """What an anchor bears witness of: a row of a ledger had this hash."""

    ledger: str
    row: int
    head: str


@dataclass(frozen=True)
class Anchors:
    """Where heads of a home's ledger are kept.

    file: gets one line for each head, and is read back. command: gets each head on its input.
    folder: where the command runs, that of the settings file.
    """

    home: Path
    file: Path | None = None
    command: str | None = None
    folder: Path = Path()

    @classmethod
    def of(cls, settings: Settings, home: Path) -> "Anchors":
        """Return those that the settings name."""
        file = settings.anchor.file
        return cls(home, file and settings.path(file), settings.anchor.command, settings.folder)

    def witnesses(self) -> Witnesses:
        """Return what the file says of a ledger."""
        heads, name = (read_heads(self.file), f"the anchor {self.file}") if self.file else ([], "")
        return Witnesses(
            hashes=tuple(Named(head.head, name) for head in heads),
            ledgers=tuple(Named(head.ledger, name) for head in heads),
        )

    def keep_newest(self, ledger: Ledger, keys: Keys, *, create: bool = False, drawing: bool = False) -> None:
        """Keep the ledger's newest entry, once the ledger is opened.

        create: whether a file that is not there is made; else it is refused, as if it had been taken away.
        drawing: whether noise is about to be drawn, of which only what is read back is a witness.
        """
        if not ((self.file or (self.command and not drawing)) and ledger.accounts().opened):
            return
        # Heads are kept in the order of the ledger, whichever machine notes them.
        with FileLock(keys.home / "anchor.lock", mode=0o600), ledger.book.alone("anchor"):
            accounts = ledger.accounts()  # read once: an entry that arrives meanwhile belongs to the next head
            number = len(accounts.entries)
            head = signed_head(keys.signer(accounts.key), accounts.identity, number, accounts.head, today())
            if self.file:
                keep_head(head, self.file, self.home, create=create)
            if self.command and not drawing:
                hand_over(head, self.command, self.folder)


def signed_head(signer: Signer, ledger: str, row: int, head: str, at: str) -> Head:
    """Return a head as it is kept.

    ledger: the identity. row, head: number and hash of its newest entry. at: the day.
    """
    content = {"format": HEAD_FORMAT, "ledger": ledger, "row": row, "head": head, "at": at, "key": signer.public.hex()}
    return {**content, "signature": signer.sign(canonical(content)).hex()}


def keep_head(head: Head, file: Path, home: Path, *, create: bool = False) -> None:
    """Add a head to a file; one that is there already is left alone, and one that contradicts the others is refused.

    create: whether a file that is not there is made. Its folder must be there: it may be a disk that is not mounted.
    """
    if file.resolve().is_relative_to(home.resolve()):
        raise BadInput(f"an anchor must lie outside the home, {file} is in {home}: whoever loses one would lose both")
    if create and not file.exists():
        _append(file, b"")
    if not _is_kept(head, file):
        _append(file, canonical(head) + b"\n")


def hand_over(head: Head, command: str, folder: Path) -> None:
    """Give a head to a program, which must have kept it when it ends."""
    words = shlex.split(command)
    try:
        done = subprocess.run(
            words, input=canonical(head) + b"\n", cwd=folder, capture_output=True, timeout=PATIENCE_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise BadInput(f"anchor.command must run, {words[0]} gave {type(problem).__name__}") from None
    if done.returncode:
        reason = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:] or [f"status {done.returncode}"]
        raise BadInput(f"anchor.command must keep the head, {words[0]} failed: {reason[0][:160]}")


def read_heads(file: Path) -> list[Anchored]:
    """Return every head that a file keeps, oldest first for each ledger."""
    try:
        content = file.read_bytes()
    except FileNotFoundError:
        raise BadInput(
            f"the anchor must be there, {file} is not: mount or restore what it lies on. If no head was ever kept "
            f"there, make it: `density ledger anchor`, or an empty file before there is a ledger (`touch {file}`)"
        ) from None
    except OSError as problem:
        raise BadInput(f"the anchor must be readable: {file}: {problem.strerror}") from None
    return list(_read_lines(content, file))


def _read_lines(content: bytes, file: Path) -> Iterator[Anchored]:
    for number, line in enumerate(content.splitlines(keepends=True), start=1):
        try:
            if not line.endswith(b"\n"):
                raise NotStrictJson("it is cut")
            head = _read_head(line)
        except NotStrictJson as problem:
            raise BadInput(
                f"an anchor must hold what was written, line {number} of {file} does not: {problem}. "
                "Find out who changed it, and restore it"
            ) from None
        yield Anchored(head["ledger"], head["row"], head["head"])


def _read_head(line: bytes) -> Head:
    head = read_record(line, **FIELDS)
    if head["format"] != HEAD_FORMAT or head.keys() != FIELDS.keys():
        raise NotStrictJson(f"it must be a head of format {HEAD_FORMAT!r} and nothing else")
    signed = canonical({name: value for name, value in head.items() if name != "signature"})
    try:
        holds = signature_holds(bytes.fromhex(head["key"]), signed, bytes.fromhex(head["signature"]))
    except ValueError:
        holds = False
    if not holds:
        raise NotStrictJson("its signature does not hold")
    return head


def _is_kept(head: Head, file: Path) -> bool:
    """Whether the head is kept already; raises if what is kept contradicts it."""
    new = Anchored(head["ledger"], head["row"], head["head"])
    earlier = [old for old in read_heads(file) if old.ledger == new.ledger]
    for old in earlier:
        if old.row > new.row or (old.row == new.row and old.head != new.head):
            raise BadInput(
                f"the ledger must hold everything an anchor knows, which knows row {old.row} ({old.head[:12]}…) while "
                f"the ledger ends with row {new.row} ({new.head[:12]}…): it was cut, rewritten or replaced by an older "
                "copy. Restore a newer backup"
            )
    return new in earlier


def _append(file: Path, line: bytes) -> None:
    """Add one line, whole even while others add theirs, on disk when this returns."""
    try:
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            if os.write(handle, line) != len(line):
                raise OSError(None, "the disk is full")
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as problem:
        raise BadInput(f"the anchor must be writable: {file}: {problem.strerror}") from None
