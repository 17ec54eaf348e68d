"""Homes of today mean what the recorded ones mean: tables, events, statements, files, ledger and verification.

The files beside this one are recorded by `python tests/support/reference_homes.py write`. They were first recorded
before ledger, statement, manifest and layout got one format, so they show that only formats changed. A home is
recorded anew only after each of its differences was explained, in the body of the commit.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from fnmatch import fnmatch
from typing import Any

import pytest
import walk
from reference_homes import HOMES, RECORDED, made_anew

# Differences from the recorded homes that are meant: a pattern of the place (`part / entry / field`), and why.
MEANT: dict[str, str] = {
    "charges / * / release / geography": "hashes the coordinate system and which ring is a hole of which part as well",
    "documents / dp_deployment_* / *": "uses the words of the registry's own schema, and says whom to ask",
    "database / published_counts / columns": "says of each file why it cannot be handed out",
    "database / published_counts / digest": "says of each file why it cannot be handed out",
    "documents / datapackage_* / resources": "lists the same files in another order",
    "documents / dcat_* / dcat:distribution": "lists the same files in another order",
}


@pytest.mark.parametrize("name", HOMES)
def test_home_means_what_was_recorded(name: str) -> None:
    if name == "spark" and not shutil.which("java"):
        pytest.skip("Java is not installed and could not be")
    recorded = json.loads((RECORDED / f"{name}.json").read_text(encoding="utf-8"))
    found = [f"{place}: {why}" for place, why in differences(recorded, made_anew(name)) if not is_meant(place)]
    assert not found, "\n".join(found)


def test_walk_is_that_of_a_traced_release() -> None:
    """The page is generated: `make walk` writes it anew."""
    traced = subprocess.run([sys.executable, walk.__file__, "--print"], capture_output=True, text=True, check=False)
    assert traced.returncode == 0, traced.stderr[-3000:]
    assert walk.HEAD in traced.stdout
    assert traced.stdout[traced.stdout.index(walk.HEAD) :].rstrip() == walk.PAGE.read_text(encoding="utf-8").rstrip()


def is_meant(place: str) -> bool:
    return any(fnmatch(place, pattern) for pattern in MEANT)


def differences(recorded: Any, made: Any, place: str = "") -> Iterator[tuple[str, str]]:
    """Yield each place where two values differ, and how."""
    if isinstance(recorded, dict) and isinstance(made, dict):
        for name in recorded | made:
            where = f"{place} / {name}".removeprefix(" / ")
            if name not in made:
                yield where, f"is missing, was {shortened(recorded[name])}"
            elif name not in recorded:
                yield where, f"is new: {shortened(made[name])}"
            else:
                yield from differences(recorded[name], made[name], where)
    elif isinstance(recorded, list) and isinstance(made, list) and len(recorded) == len(made):
        for number, (one, other) in enumerate(zip(recorded, made, strict=True)):
            yield from differences(one, other, f"{place} / {number}")
    elif recorded != made:
        yield place, f"was {shortened(recorded)}, is {shortened(made)}"


def shortened(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) < 300 else f"{text[:300]}…"


def test_difference_names_its_place() -> None:
    recorded = {"tables": {"density": {"rows": 2, "sums": {"count": 3.0}}}, "charges": [{"sigma": 1.0}], "files": 1}
    made = {"tables": {"density": {"rows": 2, "sums": {"count": 4.0}}}, "charges": [{"sigma": 2.0}], "new": 1}
    assert dict(differences(recorded, made)) == {
        "tables / density / sums / count": "was 3.0, is 4.0",
        "charges / 0 / sigma": "was 1.0, is 2.0",
        "files": "is missing, was 1",
        "new": "is new: 1",
    }
