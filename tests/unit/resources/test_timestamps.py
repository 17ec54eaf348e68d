"""Time stamps: a real authority (openssl) behind a server on this machine, and what is no answer to our request."""

import hashlib
import json
import shutil
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from signed_release import DAY, key

from density_assets.errors import BadInput
from density_assets.publication.verify import canonical
from resources.anchors import TimeStamps, anchor, heads, signed_head
from resources.timestamps import check_answer, stamp_request, time_stamp

HEAD = signed_head(key("operator"), "a" * 32, 7, "b" * 64, DAY)
CONFIG = """
[tsa]
default_tsa = one
[one]
serial = {folder}/serial
crypto_device = builtin
signer_cert = {folder}/tsa.pem
certs = {folder}/ca.pem
signer_key = {folder}/tsa.key
signer_digest = sha256
default_policy = 1.2.3.4.1
digests = sha256
accuracy = secs:1
ordering = yes
tsa_name = yes
[stamping]
extendedKeyUsage = critical,timeStamping
"""


class Authority:
    """A time stamp authority with a throw-away certificate; `twist` changes its answers."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.requests: list[bytes] = []
        self.twist = lambda answer: answer
        (folder / "tsa.cnf").write_text(CONFIG.format(folder=folder))
        (folder / "serial").write_text("01")
        new = "openssl req -x509 -newkey ed25519 -nodes -days 2 -subj /CN=ca -keyout ca.key -out ca.pem"
        asked = "openssl req -newkey rsa:2048 -nodes -subj /CN=tsa -keyout tsa.key -out tsa.csr"
        signed = "openssl x509 -req -in tsa.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -out tsa.pem"
        for command in (new, asked, f"{signed} -extfile tsa.cnf -extensions stamping"):
            self.run(command)

    def run(self, command: str) -> bytes:
        done = subprocess.run(command.split(), cwd=self.folder, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout

    def answer(self, request: bytes) -> bytes:
        self.requests.append(request)
        (self.folder / "asked.tsq").write_bytes(request)
        self.run("openssl ts -reply -config tsa.cnf -queryfile asked.tsq -out answer.tsr")
        return self.twist((self.folder / "answer.tsr").read_bytes())


@pytest.fixture(scope="module")
def authority(tmp_path_factory) -> Authority:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def url(authority) -> Iterator[str]:
    """Where the authority answers on this machine."""
    authority.twist = lambda answer: answer

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            assert self.headers["Content-Type"] == "application/timestamp-query"
            content = authority.answer(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200 if content else 500)
            self.send_header("Content-Type", "application/timestamp-reply")
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/stamp?token=secret"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_stamp_is_kept_beside_its_head_and_openssl_verifies_it(authority, url, tmp_path):
    anchor(HEAD, TimeStamps(url, tmp_path))
    folder = tmp_path / "anchors" / HEAD["ledger"]
    assert sorted(file.name for file in folder.iterdir()) == ["7.json", "7.tsr"]
    assert (folder / "7.json").read_bytes() == canonical(HEAD)
    assert json.loads((folder / "7.json").read_bytes()) == HEAD
    said = authority.run(
        f"openssl ts -verify -data {folder}/7.json -in {folder}/7.tsr -CAfile ca.pem -untrusted tsa.pem"
    )
    assert said == b"Verification: OK\n"
    assert heads(TimeStamps(url, tmp_path)) == []


def test_a_head_is_stamped_once(authority, url, tmp_path):
    before = len(authority.requests)
    for _ in range(2):
        anchor(HEAD, TimeStamps(url, tmp_path))
    assert len(authority.requests) == before + 1


def test_two_requests_differ_by_their_nonce(authority, url):
    first, second = (time_stamp(b"content", url) for _ in range(2))
    assert first != second
    assert authority.requests[-1] != authority.requests[-2]
    assert hashlib.sha256(b"content").digest() in authority.requests[-1]


def test_openssl_reads_our_request(authority):
    digest = hashlib.sha256(b"content").digest()
    for nonce in (1, 127, 128, 2**62, 2**63 - 1):
        (authority.folder / "ours.tsq").write_bytes(stamp_request(digest, nonce))
        said = authority.run("openssl ts -query -in ours.tsq -text").decode()
        assert "Hash Algorithm: sha256" in said
        assert f"Nonce: 0x{nonce:X}" in said.replace("0x0", "0x")
        assert "Certificate required: yes" in said


def test_an_answer_to_another_request_is_refused(authority, url, tmp_path):
    old = time_stamp(b"content", url)
    for content in (b"content", b"other"):
        authority.twist = lambda _: old
        with pytest.raises(BadInput, match=r"does not: it (lacks the nonce|is for another digest)"):
            time_stamp(content, url)
    with pytest.raises(BadInput, match="must answer the request"):
        anchor(HEAD, TimeStamps(url, tmp_path))
    assert not (tmp_path / "anchors").exists()


def test_a_refusal_is_refused(authority, url):
    refused = bytes.fromhex("3009300702010203020005")  # rejection, no token
    authority.twist = lambda _: refused
    with pytest.raises(BadInput, match="refused with status 2"):
        time_stamp(b"content", url)
    authority.twist = lambda _: b""
    with pytest.raises(BadInput, match=r"127\.0\.0\.1 did not: HTTPError") as problem:
        time_stamp(b"content", url)
    assert "secret" not in str(problem.value)


def test_granted_without_a_stamp_is_refused():
    with pytest.raises(ValueError, match="fields of a time stamp"):
        check_answer(bytes.fromhex("30053003020100"), b"", 1)


def test_an_authority_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(BadInput, match=r"must answer, 127\.0\.0\.1 did not: URLError"):
        anchor(HEAD, TimeStamps("http://127.0.0.1:1/", tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_no_damage_of_an_answer_ends_in_a_traceback(authority):
    """Whatever an authority sends, it is an answer to this request or a ValueError; flips outside the fields pass."""
    digest, nonce = hashlib.sha256(b"content").digest(), 2**62 + 5
    authority.twist = lambda answer: answer
    whole = authority.answer(stamp_request(digest, nonce))
    check_answer(whole, digest, nonce)
    refused = 0
    damaged = [whole[:length] for length in range(0, len(whole), 7)]
    damaged += [whole[:at] + bytes([whole[at] ^ bit]) + whole[at + 1 :] for at in range(len(whole)) for bit in (1, 128)]
    for content in damaged:
        try:
            check_answer(content, digest, nonce)
        except ValueError:
            refused += 1
    assert refused > len(whole) // 7
    for other in ((hashlib.sha256(b"x").digest(), nonce), (digest, nonce + 1), (digest, -nonce)):
        with pytest.raises(ValueError, match=r"it (lacks|is for)"):
            check_answer(whole, *other)
