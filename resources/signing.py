"""Keys that releases of a home are signed with: files of the home, a file the settings name, or a key of an SSH agent.

The ledger names the key in force by its public half. A home keeps every key it ever made, each in a file named after
its fingerprint, so that one that was changed can still agree to its successor. An SSH agent signs without giving the
key away.
"""

import hashlib
import os
import re
import secrets
import socket
import stat
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from density_assets.errors import BadInput
from density_assets.publication.files import fingerprint
from density_assets.settings import Settings
from density_assets.settings.values import AGENT
from resources.tables.files import private_files

LIST, LISTED = 11, 12
SIGN, SIGNED = 13, 14
KIND = b"ssh-ed25519"
PATIENCE = 60  # seconds: an agent may ask a person first
LONGEST_MESSAGE = 256 * 1024  # bytes of a message; OpenSSH's agent takes no longer ones


def key_named(name: str) -> tuple[bytes, Callable[[bytes], bytes]]:
    """The public key that a fingerprint or a comment names, and what signs with it."""
    keys = list(_keys())
    wanted = re.sub(r"[\s:]", "", name).lower()
    by_print = [public for public, _ in keys if re.fullmatch("[0-9a-f]{32,64}", wanted) and _is(public, wanted)]
    named = by_print or [public for public, comment in keys if comment == name]
    if len(named) != 1:
        known = ", ".join(f"{hashlib.sha256(public).hexdigest()[:32]} ({comment})" for public, comment in keys)
        raise BadInput(
            f"a key of the ssh-agent must be named by its fingerprint (32 hexadecimal digits or more) or its comment, "
            f"{name!r} names {len(named)} of its Ed25519 keys: {known or 'it has none'}"
        )
    return named[0], partial(_sign, named[0])


def _is(public: bytes, wanted: str) -> bool:
    return hashlib.sha256(public).hexdigest().startswith(wanted)


def _keys() -> Iterator[tuple[bytes, str]]:
    """Ed25519 keys and their comments."""
    answer = _Reader(_asked(LIST, b"", LISTED))
    for _ in range(answer.number()):
        key, comment = _Reader(answer.string()), answer.string().decode("utf-8", "replace")
        if key.string() == KIND:
            yield key.string(), comment


def _sign(public: bytes, message: bytes) -> bytes:
    request = _string(_string(KIND) + _string(public)) + _string(message) + struct.pack(">I", 0)
    signature = _Reader(_Reader(_asked(SIGN, request, SIGNED)).string())
    if signature.string() != KIND:
        raise BadInput("the ssh-agent must sign with Ed25519, it used another kind of key")
    return signature.string()


def _asked(kind: int, content: bytes, expected: int) -> bytes:
    """What the agent answers."""
    address = os.environ.get("SSH_AUTH_SOCK")
    if not address:
        raise BadInput("an ssh-agent must run and SSH_AUTH_SOCK must say where: start one, or use a key file")
    if len(content) >= LONGEST_MESSAGE:
        raise BadInput(f"an ssh-agent signs at most {LONGEST_MESSAGE} bytes, got {len(content)}: use a key file")
    try:
        with socket.socket(socket.AF_UNIX) as agent:
            agent.settimeout(PATIENCE)
            agent.connect(address)
            agent.sendall(_string(bytes([kind]) + content))
            answer = _exactly(agent, min(struct.unpack(">I", _exactly(agent, 4))[0], LONGEST_MESSAGE))
    except OSError as problem:
        raise BadInput(f"the ssh-agent must answer: {problem.strerror or problem}") from None
    if answer[:1] != bytes([expected]):
        raise BadInput("the ssh-agent refused: it is locked, has no such key any more, or a person said no")
    return answer[1:]


def _exactly(agent: socket.socket, size: int) -> bytes:
    received = b""
    while len(received) < size:
        part = agent.recv(size - len(received))
        if not part:
            raise BadInput("the ssh-agent must answer, it hung up")
        received += part
    return received


def _string(content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + content


class _Reader:
    """Numbers and strings, one after the other."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def number(self) -> int:
        return int(struct.unpack(">I", self._take(4))[0])

    def string(self) -> bytes:
        return self._take(self.number())

    def _take(self, size: int) -> bytes:
        taken, self._content = self._content[:size], self._content[size:]
        if len(taken) != size:
            raise BadInput("the ssh-agent must answer in its protocol, its answer is cut")
        return taken


# --- signing ---------------------------------------------------------------------------------------------------------

LONGEST_KEY_FILE = 16_384  # bytes of a key file; an Ed25519 key has about 120


@dataclass(frozen=True)
class Signer:
    """Something that signs with one key.

    public: the 32 bytes of the public key.
    """

    public: bytes
    _signature: Callable[[bytes], bytes]

    @property
    def fingerprint(self) -> str:
        """What people compare."""
        return hashlib.sha256(self.public).hexdigest()

    def sign(self, message: bytes) -> bytes:
        """The signature of a message, 64 bytes.

        Guarantees: it holds for `public`; whatever keeps the key is not believed.
        """
        signature = self._signature(message)
        if not signature_holds(self.public, message, signature):
            raise BadInput(
                f"a signature must hold for the key {self.fingerprint[:16]}, what was made does not: use another key"
            )
        return signature


def signature_holds(public: bytes, message: bytes, signature: bytes) -> bool:
    """Whether a signature is valid, by the library; `verify.signature_holds` is stricter with keys nobody makes."""
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def public_pem(public: bytes) -> bytes:
    """A public key as it is published: SubjectPublicKeyInfo in PEM."""
    return Ed25519PublicKey.from_public_bytes(public).public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def make_key(file: Path) -> Signer:
    """Make a key and keep it in a file that its owner alone can read; an existing file is never overwritten."""
    key = Ed25519PrivateKey.generate()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise BadInput(
            f"a key is made once and never overwritten, {file} is there already: use it, or name another file"
        ) from None
    except OSError as problem:
        raise BadInput(f"a key file must be writable: {file}: {problem.strerror}") from None
    try:
        with os.fdopen(handle, "wb") as opened:
            os.fchmod(handle, 0o600)  # whatever the umask took away
            opened.write(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
            opened.flush()
            os.fsync(handle)
    except BaseException:
        file.unlink()  # half a key would stand in the way of a whole one
        raise
    _sync_folder(file.parent)
    return _of(key)


def open_key(where: Path | str) -> Signer:
    """The key in a file, or the one that `agent:` and a fingerprint or comment name in the ssh-agent."""
    if str(where).startswith(AGENT):
        public, sign = key_named(str(where).removeprefix(AGENT))
        return Signer(public, sign)
    return _of(_private_key(_private_bytes(Path(where)), Path(where)))


def _of(key: Ed25519PrivateKey) -> Signer:
    return Signer(key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw), key.sign)


def _private_bytes(file: Path) -> bytes:
    """The content of a key file; what is checked is what was opened, whatever the name means a moment later."""
    try:
        handle = os.open(file, os.O_RDONLY | os.O_NONBLOCK)  # a pipe must not keep us waiting
    except OSError as problem:
        raise BadInput(f"the signing key must be readable: {file}: {problem.strerror}") from None
    try:
        _refuse_unless_private(os.fstat(handle), file)
        return os.read(handle, LONGEST_KEY_FILE)
    finally:
        os.close(handle)


def _refuse_unless_private(about: os.stat_result, file: Path) -> None:
    if not stat.S_ISREG(about.st_mode):
        raise BadInput(f"the signing key must be a file, {file} is none")
    if about.st_uid != os.geteuid():
        raise BadInput(f"the signing key must belong to who uses it, {file} is somebody else's: use a key of your own")
    if about.st_mode & 0o077:
        raise BadInput(
            f"the signing key must be readable by its owner alone, {file} has mode {stat.S_IMODE(about.st_mode):03o}: "
            f"whoever could read it can sign in your name. If nobody did, chmod 600 {file.name}; else make another"
        )


def _private_key(pem: bytes, file: Path) -> Ed25519PrivateKey:
    try:
        key = load_pem_private_key(pem, password=None)
    except TypeError:
        raise BadInput(f"the signing key must not be encrypted, {file} is: keep it in an ssh-agent instead") from None
    except Exception as problem:  # the library says in many ways that a file is no key
        raise BadInput(
            f"the signing key must be a private key in PEM (PKCS #8), {file} is none or is damaged "
            f"({type(problem).__name__})"
        ) from None
    if not isinstance(key, Ed25519PrivateKey):
        raise BadInput(f"the signing key must be Ed25519, {file} holds another kind: make one")
    return key


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


# --- keys ------------------------------------------------------------------------------------------------------------

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
