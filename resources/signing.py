"""Keys that sign releases: a file that its owner alone can read, or an ssh-agent that keeps the key to itself.

Signatures are Ed25519 (RFC 8032). What is published of a key is its 32 bytes as PEM; what people compare is its
fingerprint, the SHA-256 of these bytes. Who has the private key can sign anything in the operator's name, so a key
that others can read is refused, and a key file is made once and never overwritten.
"""

import hashlib
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
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
from density_assets.settings.values import AGENT
from resources import ssh_agent

LONGEST = 16_384  # bytes of a key file; an Ed25519 key has about 120


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
        public, sign = ssh_agent.key_named(str(where).removeprefix(AGENT))
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
        return os.read(handle, LONGEST)
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
