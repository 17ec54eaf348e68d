"""The embedded Ed25519 agrees with the library where keys are honest, and is stricter where they are not."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from signed_release import key

from density_assets.publication import verify
from density_assets.publication.verify import signature_holds
from resources import signing

# RFC 8032, section 7.1: public key, message, signature.
RFC = {
    "TEST 1": (
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24"
        "655141438e7a100b",
    ),
    "TEST 2": (
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aee"
        "b00d291612bb0c00",
    ),
    "TEST 3": (
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28d"
        "c027beceea1ec40a",
    ),
    "TEST SHA(abc)": (
        "ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf",
        hashlib.sha512(b"abc").hexdigest(),
        "dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b58909351fc9ac90b3ecfdfbc7c66431e0303dca179c138ac17a"
        "d9bef1177331a704",
    ),
}
SIGNER = key("operator")
IDENTITY = verify._encode(verify.IDENTITY)


def small_order_points() -> list[verify.Point]:
    """The eight points whose order divides eight: multiples by L of points outside the group of order L."""
    found: dict[bytes, verify.Point] = {}
    for number in range(200):
        point = verify._decode(hashlib.sha256(bytes([number])).digest())
        if point is not None:
            small = verify._times(verify.L, point)
            found[verify._encode(small)] = small
    return list(found.values())


SMALL = small_order_points()


def signed_by_hand(secret: int, public: bytes, message: bytes, R: verify.Point | None = None, r: int = 12345) -> bytes:
    """A signature with whatever key and whatever R one likes."""
    first = verify._encode(R if R is not None else verify._times(r, verify.BASE))
    k = int.from_bytes(hashlib.sha512(first + public + message).digest(), "little") % verify.L
    return first + ((r + k * secret) % verify.L).to_bytes(32, "little")


@pytest.mark.parametrize("name", RFC)
def test_the_vectors_of_the_rfc(name):
    public, message, signature = map(bytes.fromhex, RFC[name])
    assert signing.signature_holds(public, message, signature)
    assert signature_holds(public, message, signature)
    assert not signature_holds(public, message + b"x", signature)


@given(message=st.binary(max_size=300), name=st.text(max_size=5))
def test_what_the_library_signs_holds(message, name):
    signer = key(name)
    assert signature_holds(signer.public, message, signer.sign(message))


@given(st.data())
def test_the_library_and_we_agree_on_any_change(data):
    message = data.draw(st.binary(min_size=1, max_size=100))
    parts = [bytearray(part) for part in (SIGNER.public, message, SIGNER.sign(message))]
    for _ in range(data.draw(st.integers(0, 2))):
        part = data.draw(st.sampled_from(parts))
        part[data.draw(st.integers(0, len(part) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    public, message, signature = map(bytes, parts)
    assert signature_holds(public, message, signature) == signing.signature_holds(public, message, signature)


@given(st.binary(min_size=32, max_size=32), st.binary(max_size=20), st.binary(min_size=64, max_size=64))
def test_noise_is_no_signature(public, message, signature):
    assert not signature_holds(public, message, signature)


@given(st.binary(max_size=70), st.binary(max_size=70))
def test_other_lengths_are_refused(public, signature):
    if (len(public), len(signature)) != (32, 64):
        assert not signature_holds(public, b"", signature)


def test_a_signature_has_one_form_only():
    """S + L is the same number to whoever does not look, and R + P the same point."""
    signature = SIGNER.sign(b"manifest")
    s = int.from_bytes(signature[32:], "little")
    for more in (s + verify.L, s + 2 * verify.L, s | 1 << 255, s + 7 * verify.L):
        assert not signature_holds(SIGNER.public, b"manifest", signature[:32] + more.to_bytes(32, "little"))
    assert signature_holds(SIGNER.public, b"manifest", signature)
    for longer in (signature + b"\0", signature[:32] + b"\0" + signature[32:], signature[:-1]):
        assert not signature_holds(SIGNER.public, b"manifest", longer)
    long_key = verify._encode(verify._times(777, verify.BASE)) + b"\0"  # the same point to whoever reads on
    assert not signature_holds(long_key, b"", signed_by_hand(777, long_key, b""))


def test_there_are_eight_points_of_small_order_and_none_is_a_key():
    assert len(SMALL) == 8
    for point in SMALL:
        public = verify._encode(point)
        # With such a key, S = 0 and R = -k·A "sign" one message in eight for whoever asks, without any secret.
        for number in range(16):
            message = bytes([number])
            for R in SMALL:
                assert not signature_holds(public, message, verify._encode(R) + bytes(32))


def test_a_key_with_a_small_component_is_refused_even_where_the_equation_holds():
    """The library accepts it: no honest key is of this kind, and readers who multiply by eight would disagree."""
    secret = 777
    mixed = verify._encode(verify._add(verify._times(secret, verify.BASE), max(SMALL, key=verify._encode)))
    accepted = 0
    for number in range(64):
        message = bytes([number])
        signature = signed_by_hand(secret, mixed, message)
        accepted += signing.signature_holds(mixed, message, signature)
        assert not signature_holds(mixed, message, signature)
    assert accepted > 0
    honest = verify._encode(verify._times(secret, verify.BASE))
    assert signature_holds(honest, b"", signed_by_hand(secret, honest, b""))


def test_a_point_has_one_encoding_only():
    """Y and y + P, and zero with a sign: the others are refused, for keys and for R."""
    for point in SMALL:
        code = verify._encode(point)
        y, sign = int.from_bytes(code, "little") & (1 << 255) - 1, code[31] & 0x80
        if y + verify.P < 1 << 255:
            assert verify._decode((y + verify.P | sign << 248).to_bytes(32, "little")) is None
    for y in (1, verify.P - 1):  # x is zero, so that it has no sign
        assert verify._decode(y.to_bytes(32, "little")) is not None
        assert verify._decode((y | 1 << 255).to_bytes(32, "little")) is None
    for y in range(verify.P, 1 << 255):
        assert verify._decode(y.to_bytes(32, "little")) is None
    # R = identity with r = 0 holds; the same R as y = P + 1 must not.
    secret = 777
    honest = verify._encode(verify._times(secret, verify.BASE))
    assert signature_holds(honest, b"", signed_by_hand(secret, honest, b"", verify.IDENTITY, r=0))
    odd = (verify.P + 1).to_bytes(32, "little")
    k = int.from_bytes(hashlib.sha512(odd + honest).digest(), "little") % verify.L
    assert not signature_holds(honest, b"", odd + (k * secret % verify.L).to_bytes(32, "little"))


def test_r_with_a_small_component_is_refused():
    """Readers who multiply by eight would accept it; we and the library do not."""
    secret, r = 777, 12345
    honest = verify._encode(verify._times(secret, verify.BASE))
    for point in SMALL:
        R = verify._add(verify._times(r, verify.BASE), point)
        signature = signed_by_hand(secret, honest, b"", R, r)
        expected = verify._encode(point) == IDENTITY
        assert signature_holds(honest, b"", signature) == signing.signature_holds(honest, b"", signature) == expected


@given(st.integers(0, 2**256 - 1))
def test_multiplication_follows_the_group(number):
    one, two = verify._times(number, verify.BASE), verify._times(number % verify.L, verify.BASE)
    assert verify._encode(one) == verify._encode(two)
    assert verify._decode(verify._encode(one)) is not None
