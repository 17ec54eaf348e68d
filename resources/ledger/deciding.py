"""What people decide, recorded: a policy, another key, a second signature."""

from pathlib import Path

from density_assets.errors import BadInput
from density_assets.privacy.accounts import Accounts
from density_assets.privacy.acts import Act
from density_assets.privacy.policy import parse_policy, policy_body, policy_digest, policy_in_force, policy_to_sign
from density_assets.publication.files import fingerprint, key_file
from resources.ledger.ledger import Ledger
from resources.ledger.witnesses import Witnesses
from resources.signing import Signer, open_key, public_pem, signature_holds
from resources.tables.files import write_durably

SIGNATURE = 64  # bytes, of Ed25519
KEY_CHANGE = b"density key 2\n"  # before the new key, in what the old key signs


def set_policy(ledger: Ledger, file: Path, act: Act, signature: Path | None, witnesses: Witnesses) -> None:
    """Record a policy; where the one in force names the officer's key, it must be signed with that."""
    text, accounts = read_policy(file), ledger.accounts()
    if known := accounts.newest("policy", sha256=policy_digest(text)):
        raise BadInput(
            f"a policy is recorded once, this one was on {known.at} (entry {known.row}): what is in force again is a "
            "new decision, so write it into the file, in a comment with the day"
        )
    signed = _read_signature(signature) if signature else None
    before = policy_in_force(accounts)
    if before and before.officer:
        officer = bytes.fromhex(before.officer)
        if signed is None or not signature_holds(officer, policy_to_sign(accounts, text), signed):
            raise BadInput(
                f"the policy in force can be replaced by one that is signed with the officer's key only "
                f"({fingerprint(before.officer)[:16]}…), got no such signature: `density policy FILE --to-sign OUT` "
                "writes what the officer signs (`openssl pkeyutl -sign -rawin -inkey KEY -in OUT`); give that by "
                "--signature"
            )
    ledger.record("policy", policy_body(accounts, text, signed), act, witnesses)


def read_policy(file: Path) -> str:
    """The text of a policy that can be followed."""
    try:
        text = file.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise BadInput(f"a policy must be a readable text file: {file}: {type(problem).__name__}") from None
    parse_policy(text)
    return text


def _read_signature(file: Path) -> bytes:
    try:
        content = file.read_bytes()
    except OSError as problem:
        raise BadInput(f"a signature must be a readable file: {file}: {problem.strerror}") from None
    if len(content) != SIGNATURE:
        raise BadInput(f"a signature must have {SIGNATURE} bytes, {file} has {len(content)}: sign with an Ed25519 key")
    return content


def change_key(
    ledger: Ledger, accounts: Accounts, public: str, old: Signer | None, act: Act, witnesses: Witnesses
) -> None:
    """Let releases be signed with another key from now on; the old key says so, if it is still there."""
    if public == accounts.key:
        raise BadInput("a new key must differ from the one in force: give another signing.key")
    signed = old.sign(KEY_CHANGE + bytes.fromhex(public)).hex() if old else None
    ledger.record("key", {"public": public, "replaces": accounts.key, "signed": signed}, act, witnesses)


def sign_as_second(manifest: Path, key: str) -> list[Path]:
    """Sign the manifest of a release with a key of one's own; returns the signature and the public key beside it."""
    if not manifest.is_file() or not manifest.name.startswith("manifest_") or manifest.suffix != ".json":
        raise BadInput(f"what is signed is the manifest_….json of a release, got {manifest}")
    signer = open_key(key)
    short = signer.fingerprint[:16]
    files = [manifest.with_suffix(f".{short}.sig"), manifest.with_name(key_file(signer.fingerprint))]
    write_durably(files[0], signer.sign(manifest.read_bytes()))
    write_durably(files[1], public_pem(signer.public))
    return files
