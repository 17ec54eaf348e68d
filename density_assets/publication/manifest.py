"""The manifest of a release: every file that is handed out, with its digest. It is what is signed.

Whoever has the fingerprint of the key from elsewhere can tell by it whether any byte of a release was changed, pages
and texts for people included (`verify.py`, which lies beside every release).
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from density_assets.privacy.accounts import Accounts
from density_assets.privacy.release import FORMAT
from density_assets.publication.files import AUDIT_PAGE, Naming, key_file

RELEASE, FINAL, REGISTER = (f"density {kind} {FORMAT}" for kind in ("release", "final", "register"))
VERIFIER = "verify.py"
REGISTER_FILE = "manifest_register.json"
WEEKLY = (  # beside the counts
    ("ledger", "json"),
    ("privacy_statement", "json"),
    ("privacy_statement", "md"),
    ("report", "html"),
)


@dataclass(frozen=True)
class Seal:
    """What a manifest says of the ledger behind it, and of the key it is signed with."""

    identity: str
    head: str
    row: int
    key: str

    @classmethod
    def at(cls, accounts: Accounts, row: int) -> "Seal":
        """Of a ledger as it was after an entry."""
        return cls(accounts.identity, accounts.entries[row - 1].hash, row, accounts.key_at(row))

    @property
    def fingerprint(self) -> str:
        """What people compare: a digest of the public key."""
        return fingerprint(self.key)

    @property
    def key_file(self) -> str:
        """The public key as a file, for tools that want one; its name stays with the key."""
        return key_file(self.fingerprint)

    def fields(self) -> dict[str, Any]:
        """As manifests hold it."""
        return {
            "ledger": {"identity": self.identity, "head": self.head, "row": self.row},
            "key": {"public": self.key, "fingerprint": self.fingerprint},
        }


def fingerprint(public: str) -> str:
    """What people compare: SHA-256 of a public key."""
    return hashlib.sha256(bytes.fromhex(public)).hexdigest()


def release_manifest(
    naming: Naming,
    identity: Mapping[str, Any],
    counts: Iterable[Path],
    draws: Iterable[str],
    seal: Seal,
) -> bytes:
    """The manifest of one week, or of a final estimate of it.

    identity: city, week and revision. counts: files of the counts and what belongs to them. draws: files of the stored
    draws, which are published too.
    """
    folder = naming.folder
    files = [*counts, *(naming.file(*name) for name in WEEKLY)] + [folder / name for name in sorted(draws)]
    statement = naming.file("privacy_statement", "json").name
    which = {"format": FINAL, **identity, "upto": naming.upto} if naming.upto else {"format": RELEASE, **identity}
    said = {**which, **seal.fields(), "statement": statement}
    return _written(said, folder, [*files, folder / seal.key_file])


def register_manifest(folder: Path, city: str, seal: Seal) -> bytes:
    """The manifest of whatever belongs to no week alone: the audit page, and the tools to check by.

    Nobody vouches for tables and database: they are what the software works with, and lie where people can write. What
    readers need of them is in the files of each week, which were compared with their draws.
    """
    files = [folder / name for name in (AUDIT_PAGE, seal.key_file, VERIFIER)]
    return _written({"format": REGISTER, "city": city, **seal.fields()}, folder, files)


def _digests(folder: Path, files: Iterable[Path]) -> dict[str, dict[str, Any]]:
    """Digest and size of files, by their name as seen from a folder."""
    described = {}
    for file in files:
        with file.open("rb") as handle:
            digest = hashlib.file_digest(handle, "sha256").hexdigest()
        described[file.relative_to(folder).as_posix()] = {"sha256": digest, "bytes": file.stat().st_size}
    return described


def _written(said: Mapping[str, Any], folder: Path, files: Iterable[Path]) -> bytes:
    return (json.dumps({**said, "files": _digests(folder, files)}, indent=2) + "\n").encode()
