"""What this software asks of published releases; `verify.py`, which outsiders run too, gives the answers."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from density_assets.errors import BadInput
from density_assets.publication import verify
from density_assets.publication.strict_json import NotStrictJson, read_record


def verify_release(path: Path) -> Iterator[tuple[bool, str]]:
    """What holds and what does not, one finding after the other; who signed is not asked.

    path: a privacy statement (JSON) or a manifest, or a folder with one release.
    """
    yield from outcome(path).findings


def outcome(
    path: Path, key: str | None = None, second: str | None = None, anchor: Path | None = None, *, around: bool = False
) -> verify.Result:
    """Findings and verdict, for what a reader knows from elsewhere: fingerprints, and heads of the ledger.

    around: whether to note which files of the folder are not covered.
    """
    try:
        return verify.verify(path, key, second, anchor, around=around)
    except verify.Misuse as problem:
        raise BadInput(str(problem)) from None


def statement_in(content: bytes) -> dict[str, Any]:
    """The statement that a file holds, as data; empty if it cannot be read."""
    try:
        return read_record(content)
    except NotStrictJson:
        return {}


def digests_in(content: bytes) -> dict[str, str]:
    """Digests of the files that the content of a manifest lists, by name; none if it cannot be read."""
    try:
        files = read_record(content, files=dict)["files"]
        return {name: str(listed["sha256"]) for name, listed in files.items()}
    except (NotStrictJson, TypeError, KeyError):
        return {}


def content_of(file: Path) -> bytes:
    """What a small file holds; nothing if it cannot be read."""
    try:
        return file.read_bytes() if file.is_file() else b""  # a pipe of its name would wait for ever
    except OSError:
        return b""


def stated_charges(statement: Path) -> list[dict[str, Any]]:
    """The charges a statement names, each with door and measurement; none if there is no statement that can be read."""
    try:
        charges = read_record(content_of(statement), charges=list)["charges"]
        return [charge for charge in charges if {"door", "measurement"} <= charge.keys()]
    except (NotStrictJson, AttributeError):
        return []


def stated_measurements(statement: Path) -> frozenset[str]:
    """Keys of the draws a statement was made for; none if there is no statement that can be read."""
    return frozenset(charge["measurement"] for charge in stated_charges(statement))
