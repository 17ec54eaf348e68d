"""Lets an outsider check that the files, the statement and the ledger of a release belong together."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from density_assets.errors import BadInput
from density_assets.privacy.accounting import spent
from density_assets.privacy.chain import first_broken
from density_assets.privacy.events import from_record
from density_assets.publication.files import digests


def verify_release(path: Path) -> Iterator[tuple[bool, str]]:
    """What holds and what does not, one finding after the other.

    path: a privacy statement (JSON), or a folder with exactly one.
    """
    file = _statement_file(path)
    said = json.loads(file.read_text(encoding="utf-8"))
    yield from _files_match(file.parent, said)
    yield from _charges_are_genuine(file.parent, said)
    yield from _promise_holds(said)


def stated_measurements(statement: Path) -> frozenset[str]:
    """Keys of the draws a statement was made for; none if there is no statement that can be read."""
    try:
        charges = json.loads(statement.read_text(encoding="utf-8"))["charges"]
        return frozenset(charge["measurement"] for charge in charges)
    except (OSError, ValueError, KeyError, TypeError):
        return frozenset()


def _statement_file(path: Path) -> Path:
    if path.is_file():
        return path
    statements = sorted(path.glob("privacy_statement_*.json"))
    if len(statements) != 1:
        raise BadInput(f"name one privacy statement: {path} holds {len(statements)}")
    return statements[0]


def _files_match(folder: Path, said: dict[str, Any]) -> Iterator[tuple[bool, str]]:
    for name, digest in said["files"].items():
        file = folder / name
        if Path(name).name != name:
            yield False, f"{name!r} lies beside the statement"
        elif not file.exists():
            yield False, f"{name} is missing"
        else:
            yield digests([file])[name] == digest, f"{name} is the file the statement was made for"


def _charges_are_genuine(folder: Path, said: dict[str, Any]) -> Iterator[tuple[bool, str]]:
    """The chain must be one of the stated files, which `_files_match` has compared; every door must be paid for."""
    if said["ledger"]["file"] not in said["files"] or not (folder / said["ledger"]["file"]).is_file():
        yield False, "the ledger's chain is one of the files"
        return
    ledger = folder / said["ledger"]["file"]
    paid = sorted(charge["door"] for charge in said["charges"])
    yield bool(paid) and paid == sorted(said["doors"]), "every door is paid for once"
    rows = json.loads(ledger.read_text(encoding="utf-8"))
    yield first_broken(rows) is None, "the ledger's chain is whole"
    yield bool(rows) and rows[-1]["hash"] == said["ledger"]["head"], "it ends with the head the statement names"
    written = {row["hash"]: row for row in rows}
    for charge in said["charges"]:
        row = written.get(charge["hash"], {})
        yield (
            bool(row)
            and all(row[name] == charge[name] for name in ("door", "measurement"))
            and json.loads(row["events"]) == charge["events"],
            f"{charge['door']} was charged what is stated",
        )
        same = all(row.get(name) == said[name] for name in ("week", "city", "revision", "epsilon", "delta"))
        yield same, f"the charge of {charge['door']} is for this release"


def _promise_holds(said: dict[str, Any]) -> Iterator[tuple[bool, str]]:
    events = [from_record(event) for charge in said["charges"] for event in charge["events"]]
    cost = spent(events, said["delta"]).epsilon
    yield (
        cost <= said["epsilon"],
        f"the events cost epsilon {cost:.4f} at delta {said['delta']:g}, promised {said['epsilon']:g}",
    )
    yield said["calibration"] == "sound", "the calibration is sound"
