"""Keys are made once, kept private, and sign what others can check with openssl."""

import base64
import os
import shutil
import socket
import stat
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_public_key,
)

from density_assets.errors import BadInput
from density_assets.publication import verify
from resources import signing
from resources.signing import Signer, make_key, open_key, public_pem, signature_holds


def private_file(file: Path, content: bytes) -> Path:
    file.write_bytes(content)
    file.chmod(0o600)
    return file


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077, 0o777])
def test_a_key_is_readable_by_its_owner_alone_whatever_the_umask(tmp_path, umask):
    before = os.umask(umask)
    try:
        made = make_key(tmp_path / "key.pem")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "key.pem").stat().st_mode) == 0o600
    opened = open_key(tmp_path / "key.pem")
    assert (opened.public, opened.fingerprint) == (made.public, made.fingerprint)
    assert len(made.public) == 32


def test_a_key_is_never_overwritten(tmp_path):
    file = tmp_path / "key.pem"
    make_key(file)
    before = file.read_bytes()
    with pytest.raises(BadInput, match="never overwritten"):
        make_key(file)
    (tmp_path / "link.pem").symlink_to(tmp_path / "elsewhere.pem")
    with pytest.raises(BadInput, match="never overwritten"):
        make_key(tmp_path / "link.pem")
    assert file.read_bytes() == before
    assert not (tmp_path / "elsewhere.pem").exists()


def test_half_a_key_is_not_left_behind(tmp_path, monkeypatch):
    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space"):
            make_key(tmp_path / "key.pem")
    assert list(tmp_path.iterdir()) == []
    make_key(tmp_path / "key.pem")


def test_two_keys_differ(tmp_path):
    assert make_key(tmp_path / "a.pem").public != make_key(tmp_path / "b.pem").public


@pytest.mark.parametrize("mode", [0o604, 0o620, 0o640, 0o644, 0o660, 0o666, 0o610])
def test_a_key_that_others_can_read_is_refused(tmp_path, mode):
    make_key(tmp_path / "key.pem")
    (tmp_path / "key.pem").chmod(mode)
    with pytest.raises(BadInput, match=f"by its owner alone, .* has mode {mode:03o}"):
        open_key(tmp_path / "key.pem")


def test_a_key_of_somebody_else_is_refused(tmp_path, monkeypatch):
    make_key(tmp_path / "key.pem")
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(BadInput, match="somebody else's"):
        open_key(tmp_path / "key.pem")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "none or is damaged"),
        (b"not a key", "none or is damaged"),
        (b"-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQ\n-----END PRIVATE KEY-----\n", "none or is damaged"),
        (
            rsa.generate_private_key(65537, 2048).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
            "must be Ed25519",
        ),
        (
            Ed25519PrivateKey.generate().private_bytes(
                Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"word")
            ),
            "must not be encrypted",
        ),
    ],
    ids=["empty", "text", "cut", "rsa", "encrypted"],
)
def test_a_file_that_is_no_usable_key_is_refused(tmp_path, content, words):
    with pytest.raises(BadInput, match=words):
        open_key(private_file(tmp_path / "key.pem", content))


def test_whatever_happened_to_a_key_file_it_is_refused_in_our_words_or_is_a_key(tmp_path):
    make_key(tmp_path / "key.pem")
    whole = (tmp_path / "key.pem").read_bytes()
    damaged = [whole[:length] for length in range(len(whole))]
    damaged += [whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :] for at in range(len(whole))]
    refused = 0
    for content in damaged:
        try:
            assert len(open_key(private_file(tmp_path / "damaged.pem", content)).public) == 32  # of a flipped secret
        except BadInput:
            refused += 1
    assert refused > len(whole)  # every cut one but that of the last newline, and many more


def test_what_is_no_file_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe", 0o600)
    for where in (tmp_path / "pipe", tmp_path, tmp_path / "missing.pem"):
        with pytest.raises(BadInput, match="the signing key must be"):
            open_key(where)


def test_signatures_hold_for_the_library_for_us_and_for_openssl(tmp_path):
    signer = make_key(tmp_path / "key.pem")
    signature = signer.sign(b"manifest")
    assert len(signature) == 64
    for holds in (signature_holds, verify.signature_holds):
        assert holds(signer.public, b"manifest", signature)
        assert not holds(signer.public, b"manifesto", signature)
    (tmp_path / "manifest.json").write_bytes(b"manifest")
    (tmp_path / "manifest.sig").write_bytes(signature)
    (tmp_path / "public.pem").write_bytes(public_pem(signer.public))
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    command = "openssl pkeyutl -verify -pubin -inkey public.pem -rawin -in manifest.json -sigfile manifest.sig"
    done = subprocess.run(command.split(), cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "Signature Verified Successfully\n")


def test_the_public_key_is_written_in_one_way(tmp_path):
    public = make_key(tmp_path / "key.pem").public
    assert public_pem(public) == verify.public_pem(public)
    assert load_pem_public_key(public_pem(public)).public_bytes_raw() == public
    assert verify.public_of(public_pem(public)) == public


def test_a_signer_that_signs_wrongly_is_noticed(tmp_path):
    other = make_key(tmp_path / "other.pem")
    signer = Signer(make_key(tmp_path / "key.pem").public, other.sign)
    with pytest.raises(BadInput, match="a signature must hold"):
        signer.sign(b"manifest")
    assert not signing.signature_holds(b"short", b"manifest", b"short")


# --- ssh-agent --------------------------------------------------------------------------------------------------------


@pytest.fixture
def agent(tmp_path, monkeypatch) -> Iterator[Path]:
    """An agent of our own with two Ed25519 keys and one of another kind; returns the folder of the keys."""
    for program in ("ssh-agent", "ssh-add", "ssh-keygen"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    address = tmp_path / "agent.sock"
    with subprocess.Popen(["ssh-agent", "-D", "-a", str(address)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()  # it listens before it says where
        monkeypatch.setenv("SSH_AUTH_SOCK", str(address))
        for name, kind in (("officer", "ed25519"), ("operator", "ed25519"), ("old", "ecdsa")):
            for command in (
                ["ssh-keygen", "-q", "-t", kind, "-N", "", "-C", f"{name}@density", "-f", str(tmp_path / name)],
                ["ssh-add", "-q", str(tmp_path / name)],
            ):
                subprocess.run(command, check=True, capture_output=True)
        yield tmp_path
        process.terminate()


def test_an_agent_signs_with_the_key_that_is_named(agent):
    by_comment = open_key("agent:officer@density")
    assert verify.signature_holds(by_comment.public, b"manifest", by_comment.sign(b"manifest"))
    shown = by_comment.fingerprint
    for name in (shown, shown[:32], shown.upper(), ":".join(shown[at : at + 2] for at in range(0, 64, 2))):
        assert open_key(f"agent:{name}").public == by_comment.public
    assert open_key("agent:operator@density").public != by_comment.public
    listed = (agent / "officer.pub").read_text().split()[1]
    assert by_comment.public == base64.b64decode(listed)[-32:]


def test_a_long_message_is_signed_and_a_longer_one_refused(agent):
    signer = open_key("agent:operator@density")
    message = b"x" * 200_000
    assert signature_holds(signer.public, message, signer.sign(message))
    with pytest.raises(BadInput, match="at most 262144 bytes"):
        signer.sign(b"x" * 300_000)


@pytest.mark.parametrize("name", ["nobody@density", "old@density", "", "0" * 64, "0" * 31])
def test_a_key_the_agent_does_not_have_is_refused_and_others_are_named(agent, name):
    with pytest.raises(BadInput, match=r"names 0 of its Ed25519 keys: [0-9a-f]{32} \(officer@density\)"):
        open_key(f"agent:{name}")


def test_a_name_of_two_keys_is_refused(agent):
    again = agent / "again"
    for command in (
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "officer@density", "-f", str(again)],
        ["ssh-add", "-q", str(again)],
    ):
        subprocess.run(command, check=True, capture_output=True)
    with pytest.raises(BadInput, match="names 2 of its"):
        open_key("agent:officer@density")


def test_an_agent_that_has_lost_the_key_says_so(agent):
    signer = open_key("agent:officer@density")
    subprocess.run(["ssh-add", "-D"], check=True, capture_output=True)
    with pytest.raises(BadInput, match="the ssh-agent refused"):
        signer.sign(b"manifest")
    with pytest.raises(BadInput, match="it has none"):
        open_key("agent:officer@density")


def test_without_an_agent_the_error_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    with pytest.raises(BadInput, match="SSH_AUTH_SOCK must say where"):
        open_key("agent:officer@density")
    monkeypatch.setenv("SSH_AUTH_SOCK", str(tmp_path / "nobody.sock"))
    with pytest.raises(BadInput, match="the ssh-agent must answer"):
        open_key("agent:officer@density")


NONSENSE = [b"", b"\0\0", b"\0\0\0\1\5", b"\0\0\0\5\x0c\0\0\0\2", b"\xff\xff\xff\xff\x0c", b"\0\0\0\0"]


@pytest.mark.parametrize("answer", NONSENSE)
def test_an_agent_that_answers_nonsense_is_an_error(tmp_path, monkeypatch, answer):
    address = str(tmp_path / "agent.sock")
    monkeypatch.setenv("SSH_AUTH_SOCK", address)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address)
        listening.listen()

        def answer_once() -> None:
            asked, _ = listening.accept()
            with asked:
                asked.recv(5)
                asked.sendall(answer)

        thread = threading.Thread(target=answer_once)
        thread.start()
        with pytest.raises(BadInput, match="the ssh-agent"):
            open_key("agent:officer@density")
        thread.join()
