"""What `make` hands on to the command: names and reasons as they were typed."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
ECHO = """#!/bin/sh
printf '%s\\n' "$DENSITY_BY" "$DENSITY_REASON" "$*"
"""


def made(tmp_path: Path, *words: str) -> list[str]:
    """Name, reason and words that the command gets; `python` of the environment is a script that prints them."""
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    python.write_text(ECHO)
    python.chmod(0o755)
    (tmp_path / "ready").touch()
    command = ["make", "--silent", f"VENV={tmp_path}", *words]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("DENSITY_", "MAKE"))}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    "reason",
    [
        "the town's first week",
        "'; touch broken; '",
        "$(touch broken)",
        "`touch broken`",
        "$(shell touch broken)",
        '5 $ "a"',
    ],
)
def test_a_reason_is_handed_on_as_it_is_and_runs_nothing(tmp_path, reason):
    by, why, words = made(tmp_path, "release", "BY=d'Artagnan & co", f"REASON={reason}")
    assert (by, why) == ("d'Artagnan & co", reason)
    assert words.split() == ["-m", "density_assets", "release"]
    assert not (ROOT / "broken").exists()


def test_without_a_name_nothing_is_said(tmp_path):
    assert made(tmp_path, "release")[:2] == ["", ""]


def test_verify_asks_for_both_signers(tmp_path):
    words = made(tmp_path, "verify", "RELEASE=manifest_2007-09-10.json", "KEY=ab cd", "SECOND=ef")[2]
    assert words == "-m density_assets verify manifest_2007-09-10.json --key ab cd --second ef"


def test_a_final_estimate_is_asked_for_by_its_week(tmp_path):
    words = made(tmp_path, "final", "WEEK=2007-09-10", "SETTINGS=my.toml")[2]
    assert words == "-m density_assets final --week 2007-09-10 --settings my.toml"
