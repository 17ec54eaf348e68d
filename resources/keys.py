"""The keys that releases of a home are signed with: one that the settings name, or those that the home keeps.

The ledger names the key in force by its public half. A home keeps every key it ever made, each in a file named after
its fingerprint, so that one that was changed can still agree to its successor.
"""

import secrets
from dataclasses import dataclass
from pathlib import Path

from density_assets.errors import BadInput
from density_assets.publication.manifest import fingerprint
from density_assets.settings import Settings
from density_assets.settings.values import AGENT
from resources.signing import Signer, make_key, open_key
from resources.tables.files import private_files

KEYS = "keys"  # folder of a home: readable by its owner only, and out of reach of steps that may be handed out


@dataclass(frozen=True)
class Keys:
    """Those that the settings of a city and its home give."""

    settings: Settings
    home: Path

    def signer(self, public: str) -> Signer:
        """Who signs with a key: that of the settings, or one that is kept in the home."""
        given = self._given()
        signer = open_key(self._file(public) if given is None else given)
        if signer.public.hex() != public:
            raise BadInput(
                f"releases must be signed with the key that the ledger names ({fingerprint(public)[:16]}…), but "
                f"signing.key is another ({signer.fingerprint[:16]}…): give that one, or change the key: "
                "`density ledger key`"
            )
        return signer

    def old_signer(self, public: str) -> Signer | None:
        """Who signs with a key of the home; none if it is not kept there."""
        return open_key(self._file(public)) if self._file(public).exists() else None

    def new(self) -> str:
        """The public half of a key to sign with from now on: that of the settings, or a new one of the home."""
        if (given := self._given()) is not None:
            return open_key(given).public.hex()
        folder = self.home / KEYS
        with private_files():
            folder.mkdir(parents=True, exist_ok=True)
        made = folder / f"new-{secrets.token_hex(8)}.pem"
        public = make_key(made).public.hex()
        made.rename(self._file(public))
        return public

    def _given(self) -> Path | str | None:
        """The key of the settings: a file, or what an agent knows it by; none if they name none."""
        given = self.settings.signing.key
        return given if given is None or given.startswith(AGENT) else self.settings.path(given)

    def _file(self, public: str) -> Path:
        return self.home / KEYS / f"{fingerprint(public)[:16]}.pem"
