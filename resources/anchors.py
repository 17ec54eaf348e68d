"""Heads of the ledger, kept outside the home, so that whoever rewrites the ledger must rewrite them as well.

A head says which hash a row of a ledger had on a day, signed with the ledger's key. It is kept as a line of a file, as
a commit of a git repository, or as a time stamp that a stranger has signed (RFC 3161). Files and repositories are read
back as witnesses: what they hold must stand in the ledger. None of it helps if it lies where the ledger lies.
"""

import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from density_assets.errors import BadInput
from density_assets.publication.verify import Damaged, Record, canonical, read_head
from density_assets.settings import Settings
from resources.signing import Signer, signature_holds
from resources.tables.files import write_durably
from resources.timestamps import time_stamp

FORMAT = "density head 2"
NAMES = re.compile(r"[0-9a-f]{32}\.jsonl")
WHOSE = {"name": "density ledger", "email": "ledger@localhost"}  # commits are made by the software, not by a person


class Anchored(NamedTuple):
    """What an anchor bears witness of: a row of a ledger had this hash."""

    ledger: str
    row: int
    head: str


@dataclass(frozen=True)
class AnchorFile:
    """A file elsewhere that gets one line for each head."""

    file: Path
    home: Path

    @property
    def name(self) -> str:
        """For people."""
        return str(self.file)


@dataclass(frozen=True)
class AnchorRepository:
    """A git repository elsewhere that gets one commit for each head; to push it is up to its owner, or a hook of it."""

    folder: Path
    home: Path

    @property
    def name(self) -> str:
        """For people."""
        return str(self.folder)


@dataclass(frozen=True)
class TimeStamps:
    """An authority that says when it saw the digest of a head; its answers are kept in the home."""

    url: str
    home: Path

    @property
    def name(self) -> str:
        """For people; without the address, which may hold a token."""
        return "of time stamps"


Keeper = AnchorFile | AnchorRepository | TimeStamps


def keepers(settings: Settings, home: Path) -> list[Keeper]:
    """Who keeps heads, as the settings say."""
    chosen = settings.anchor
    found: list[Keeper] = []
    if chosen.file is not None:
        found.append(AnchorFile(settings.path(chosen.file), home))
    if chosen.git is not None:
        found.append(AnchorRepository(settings.path(chosen.git), home))
    if chosen.timestamp is not None:
        found.append(TimeStamps(chosen.timestamp, home))
    return found


def signed_head(signer: Signer, ledger: str, row: int, head: str, at: str) -> Record:
    """A head as it is kept.

    ledger: the identity. row, head: number and hash of its newest entry. at: the day.
    """
    said = {"format": FORMAT, "ledger": ledger, "row": row, "head": head, "at": at, "key": signer.public.hex()}
    return {**said, "signature": signer.sign(canonical(said)).hex()}


def anchor(head: Record, keeper: Keeper, *, create: bool = False) -> None:
    """Keep a head; one that is kept already is left alone, and one that contradicts what is kept is refused.

    create: whether a file that is not there is made. Its folder must be there: it may be a disk that is not mounted.
    """
    if isinstance(keeper, TimeStamps):
        _keep_time_stamp(head, keeper)
        return
    _refuse_inside(Path(keeper.name), keeper.home)
    if create and isinstance(keeper, AnchorFile) and not keeper.file.exists():
        _append(keeper.file, b"")
    if not _known(head, keeper):
        line = canonical(head) + b"\n"
        if isinstance(keeper, AnchorFile):
            _append(keeper.file, line)
        else:
            _commit(keeper.folder, head, line)


def heads(keeper: Keeper) -> list[Anchored]:
    """Every head that was kept in a file or repository, oldest first for each ledger; time stamps are not read back."""
    if isinstance(keeper, AnchorFile):
        return list(_read(_content(keeper.file), str(keeper.file)))
    if isinstance(keeper, AnchorRepository):
        _refuse_no_repository(keeper.folder)
        return [
            head
            for name in _committed_names(keeper.folder)
            for head in _read(_committed(keeper.folder, name), str(keeper.folder / name))
        ]
    return []


# --- lines ----------------------------------------------------------------------------------------------------------


def _read(content: bytes, name: str) -> Iterator[Anchored]:
    for number, line in enumerate(content.splitlines(keepends=True), start=1):
        try:
            if not line.endswith(b"\n"):
                raise Damaged("it is cut")
            head, signed = read_head(line[:-1])
            if not signature_holds(bytes.fromhex(head["key"]), signed, bytes.fromhex(head["signature"])):
                raise Damaged("its signature does not hold")
        except Damaged as problem:
            raise BadInput(
                f"an anchor must hold what was written, line {number} of {name} does not: {problem}. "
                "Find out who changed it, and restore it"
            ) from None
        yield Anchored(head["ledger"], head["row"], head["head"])


def _known(head: Record, keeper: Keeper) -> bool:
    """Whether the head is kept already; raises if what is kept contradicts it."""
    new = Anchored(head["ledger"], head["row"], head["head"])
    known = [old for old in heads(keeper) if old.ledger == new.ledger]
    for old in known:
        if old.row > new.row or (old.row == new.row and old.head != new.head):
            raise BadInput(
                f"the ledger must hold everything an anchor knows, which knows row {old.row} ({old.head[:12]}…) while "
                f"the ledger ends with row {new.row} ({new.head[:12]}…): it was cut, rewritten or replaced by an older "
                "copy. Restore a newer backup"
            )
    return new in known


# --- a file ---------------------------------------------------------------------------------------------------------


def _refuse_inside(path: Path, home: Path) -> None:
    if path.resolve().is_relative_to(home.resolve()):
        raise BadInput(f"an anchor must lie outside the home, {path} is in {home}: whoever loses one would lose both")


def _content(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except FileNotFoundError:
        raise BadInput(
            f"the anchor must be there, {file} is not: mount or restore what it lies on. If no head was ever kept "
            f"there, make it: `density ledger anchor`, or an empty file before there is a ledger (`touch {file}`)"
        ) from None
    except OSError as problem:
        raise BadInput(f"the anchor must be readable: {file}: {problem.strerror}") from None


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


# --- a git repository -----------------------------------------------------------------------------------------------


def _commit(folder: Path, head: Record, line: bytes) -> None:
    """What is committed is what was committed before and one line, whatever lies in the working tree."""
    name = f"{head['ledger']}.jsonl"
    before = _committed(folder, name) if name in _committed_names(folder) else b""
    write_durably(folder / name, before + line)
    _git(folder, "add", "--force", "--", name)
    message = f"Row {head['row']} of ledger {head['ledger'][:8]}"
    _git(folder, "commit", "--quiet", "--only", "--message", message, "--", name)


def _committed_names(folder: Path) -> list[str]:
    """Files of heads; lines that were ever removed from one are an error, because git remembers."""
    if not _git(folder, "rev-list", "--max-count=1", "--all"):
        return []
    for counted in _git(
        folder, "log", "--numstat", "--format=", "--text", "--no-renames", "--", "*.jsonl"
    ).splitlines():
        _, removed, name = counted.decode("utf-8", "replace").split("\t", 2)
        if NAMES.fullmatch(name) and removed != "0":
            raise BadInput(
                f"lines must never be removed from an anchor, {name} in {folder} has lost some: see its git log"
            )
    names = _git(folder, "ls-tree", "--name-only", "HEAD").decode("utf-8", "replace").splitlines()
    return [name for name in names if NAMES.fullmatch(name)]


def _committed(folder: Path, name: str) -> bytes:
    return _git(folder, "cat-file", "blob", f"HEAD:{name}")


def _refuse_no_repository(folder: Path) -> None:
    """The folder itself must be the repository: git would also take one that the folder lies in."""
    if (
        not folder.is_dir()
        or Path(os.fsdecode(_git(folder, "rev-parse", "--show-toplevel")).strip()) != folder.resolve()
    ):
        raise BadInput(f"anchor.git must be the folder of a git repository, {folder} is none: git init it")


def _git(folder: Path, *words: str) -> bytes:
    """What git answers; of the environment it sees nothing that would lead it elsewhere."""
    around = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    who = {f"GIT_{role}_{part.upper()}": value for role in ("AUTHOR", "COMMITTER") for part, value in WHOSE.items()}
    command = ["git", "-C", str(folder), "-c", "core.autocrlf=false", *words]
    try:
        done = subprocess.run(command, env={**around, **who, "LC_ALL": "C"}, capture_output=True, check=False)
    except FileNotFoundError:
        raise BadInput("anchor.git needs the program git: install it, or use anchor.file") from None
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise BadInput(
            f"git must keep the anchor in {folder}, but {words[0]} failed: {said[-1] if said else 'no reason'}"
        )
    return done.stdout


# --- time stamps ----------------------------------------------------------------------------------------------------


def _keep_time_stamp(head: Record, authority: TimeStamps) -> None:
    """Keep the head and the answer side by side, so that openssl can compare them: docs/verify.md."""
    folder = authority.home / "anchors" / head["ledger"]
    answer = folder / f"{head['row']}.tsr"
    if answer.exists():
        return
    content = canonical(head)
    stamped = time_stamp(content, authority.url)
    folder.mkdir(parents=True, exist_ok=True)
    write_durably(folder / f"{head['row']}.json", content)
    write_durably(answer, stamped)
