"""Time stamps by RFC 3161: an authority signs that it saw a digest at a time. It learns the digest and nothing else.

The request is a dozen fields of DER, so it is written here; of the answer the status, the digest and the nonce are
read, which tell that it is an answer to this very request. Whether the authority's signature holds is for whoever
relies on the time: `openssl ts -verify` with the authority's certificate (docs/verify.md).
"""

import hashlib
import secrets
import urllib.request
from urllib.parse import urlsplit

from density_assets.errors import BadInput

PATIENCE = 30  # seconds
LARGEST = 1 << 20  # bytes of an answer
BOOLEAN, INTEGER, OCTETS, NULL, OID, SEQUENCE, SET = 0x01, 0x02, 0x04, 0x05, 0x06, 0x30, 0x31
EXPLICIT_0 = 0xA0
SHA256 = bytes.fromhex("608648016503040201")  # 2.16.840.1.101.3.4.2.1
SIGNED_DATA = bytes.fromhex("2a864886f70d010702")  # 1.2.840.113549.1.7.2
TIME_STAMP = bytes.fromhex("2a864886f70d0109100104")  # 1.2.840.113549.1.9.16.1.4
GRANTED = (0, 1)  # as asked, or with changes


def time_stamp(content: bytes, url: str) -> bytes:
    """The authority's answer for the digest of a content, in DER."""
    digest, nonce = hashlib.sha256(content).digest(), secrets.randbits(63) | 1 << 62
    answer = _posted(stamp_request(digest, nonce), url)
    try:
        check_answer(answer, digest, nonce)
    except ValueError as problem:
        raise BadInput(
            f"a time stamp must answer the request, that of {urlsplit(url).hostname} does not: {problem}"
        ) from None
    return answer


def stamp_request(digest: bytes, nonce: int) -> bytes:
    """A TimeStampReq that asks for the authority's certificate as well."""
    algorithm = _der(SEQUENCE, _der(OID, SHA256), _der(NULL))
    imprint = _der(SEQUENCE, algorithm, _der(OCTETS, digest))
    number = nonce.to_bytes(nonce.bit_length() // 8 + 1, "big")
    return _der(SEQUENCE, _der(INTEGER, b"\x01"), imprint, _der(INTEGER, number), _der(BOOLEAN, b"\xff"))


def check_answer(answer: bytes, digest: bytes, nonce: int) -> None:
    """Raise unless a TimeStampResp is granted and is for this digest and nonce."""
    response = _parts(_one(answer, SEQUENCE))
    status = _number(_first(_parts(_expected(response, 0, SEQUENCE)), INTEGER))
    if status not in GRANTED:
        raise ValueError(f"it was refused with status {status}")
    content = _parts(_expected(response, 1, SEQUENCE))
    if _expected(content, 0, OID) != SIGNED_DATA:
        raise ValueError("it must hold signed data")
    signed = _parts(_one(_expected(content, 1, EXPLICIT_0), SEQUENCE))
    inner = _parts(_expected(signed, 2, SEQUENCE))
    if _expected(inner, 0, OID) != TIME_STAMP:
        raise ValueError("it must hold a time stamp")
    info = _parts(_one(_one(_expected(inner, 1, EXPLICIT_0), OCTETS), SEQUENCE))
    imprint = _parts(_expected(info, 2, SEQUENCE))
    if _expected(_parts(_expected(imprint, 0, SEQUENCE)), 0, OID) != SHA256 or _expected(imprint, 1, OCTETS) != digest:
        raise ValueError("it is for another digest")
    # After version, policy, imprint and serial number the only integer is the nonce.
    if [_number(value) for tag, value in info[4:] if tag == INTEGER] != [nonce]:
        raise ValueError("it lacks the nonce of the request, so that it may be an old one")


def _posted(request: bytes, url: str) -> bytes:
    """The address may hold a token, so problems name the host only."""
    headers = {"Content-Type": "application/timestamp-query", "Accept": "application/timestamp-reply"}
    try:
        asked = urllib.request.Request(url, request, headers, method="POST")
        with urllib.request.urlopen(asked, timeout=PATIENCE) as answer:
            content: bytes = answer.read(LARGEST)
            return content
    except (OSError, ValueError) as problem:
        raise BadInput(
            f"the authority of anchor.timestamp must answer, {urlsplit(url).hostname} did not: {type(problem).__name__}"
        ) from None


# --- DER ------------------------------------------------------------------------------------------------------------


def _der(tag: int, *parts: bytes) -> bytes:
    content = b"".join(parts)
    if len(content) >= 128:
        raise ValueError(f"a request must be short, got a part of {len(content)} bytes")
    return bytes([tag, len(content)]) + content


def _parts(content: bytes) -> list[tuple[int, bytes]]:
    """Tags and values, one after the other."""
    parts = []
    while content:
        size, start = content[1] if len(content) > 1 else 0x80, 2
        if size >= 0x80:
            start = 2 + (size & 0x7F)
            size = int.from_bytes(content[2:start], "big")
            if start == 2 or start > 6:  # no length, which DER does not allow, or one beyond any answer
                raise ValueError("it is cut, or not in DER")
        if len(content) < start + size:
            raise ValueError("it is cut, or not in DER")
        parts.append((content[0], content[start : start + size]))
        content = content[start + size :]
    return parts


def _expected(parts: list[tuple[int, bytes]], place: int, tag: int) -> bytes:
    if len(parts) <= place or parts[place][0] != tag:
        raise ValueError("it does not have the fields of a time stamp")
    return parts[place][1]


def _first(parts: list[tuple[int, bytes]], tag: int) -> bytes:
    return _expected(parts, 0, tag)


def _one(content: bytes, tag: int) -> bytes:
    parts = _parts(content)
    if len(parts) != 1:
        raise ValueError("it does not have the fields of a time stamp")
    return _expected(parts, 0, tag)


def _number(content: bytes) -> int:
    return int.from_bytes(content, "big", signed=True)
