"""A small client of the ssh-agent: it lists Ed25519 keys and has one of them sign. The private key stays where it is.

The protocol is that of draft-miller-ssh-agent: a length, a byte that says what the message is, then numbers of four
bytes and strings with their length before them.
"""

import hashlib
import os
import re
import socket
import struct
from collections.abc import Callable, Iterator
from functools import partial

from density_assets.errors import BadInput

LIST, LISTED = 11, 12
SIGN, SIGNED = 13, 14
KIND = b"ssh-ed25519"
PATIENCE = 60  # seconds: an agent may ask a person first
LONGEST = 256 * 1024  # bytes of a message; OpenSSH's agent takes no longer ones


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
    if len(content) >= LONGEST:
        raise BadInput(f"an ssh-agent signs at most {LONGEST} bytes, got {len(content)}: use a key file")
    try:
        with socket.socket(socket.AF_UNIX) as agent:
            agent.settimeout(PATIENCE)
            agent.connect(address)
            agent.sendall(_string(bytes([kind]) + content))
            answer = _exactly(agent, min(struct.unpack(">I", _exactly(agent, 4))[0], LONGEST))
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
