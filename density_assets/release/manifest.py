"""The manifest of a release: every file that is handed out, with its digest. It is what is signed.

Whoever has the fingerprint of the key from elsewhere can tell by it whether any byte of a release was changed, pages
and texts for people included (`verify.py`, which lies beside every release).
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from density_assets.privacy.accounts import Accounts
from density_assets.privacy.release import FORMAT
from density_assets.publication.files import Naming, fingerprint, key_file

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


def release_manifest(naming: Naming, identity: Mapping[str, Any], files: Mapping[str, bytes], seal: Seal) -> bytes:
    """Return the manifest of one week, or of a final estimate of it.

    identity: city, week and revision. files: everything that is published of it, by name, draws among them.
    """
    which = {"format": FINAL, **identity, "upto": naming.upto} if naming.upto else {"format": RELEASE, **identity}
    statement = naming.file("privacy_statement", "json").name
    return _manifest({**which, **seal.fields(), "statement": statement}, files)


def register_manifest(city: str, files: Mapping[str, bytes], seal: Seal) -> bytes:
    """Return the manifest of what belongs to no week alone: the audit page, and the tools to check by.

    Tables and database are signed by nobody: they are what the software works with, and lie where people can write.
    What readers need of them is in the files of each week.
    """
    return _manifest({"format": REGISTER, "city": city, **seal.fields()}, files)


def _manifest(head: Mapping[str, Any], files: Mapping[str, bytes]) -> bytes:
    listed = {
        name: {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)} for name, content in files.items()
    }
    return (json.dumps({**head, "files": listed}, indent=2) + "\n").encode()
