"""Dagster's own commands, typed in the repository as any user of Dagster would: they load, and leave nothing behind."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OURS = {"DENSITY_HOME", "DENSITY_SETTINGS", "DENSITY_CITIES", "DAGSTER_HOME"}


@pytest.mark.parametrize(
    ("command", "home", "said"),
    [
        (("dg", "check", "defs"), False, "All definitions loaded successfully."),
        (("dagster", "definitions", "validate"), True, "All code locations passed validation."),
    ],
    ids=["dg", "dagster"],
)
def test_definitions_load(tmp_path, command, home, said):
    """Whether or not a home is named; loading makes no folder of a city."""
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    known = {name: value for name, value in os.environ.items() if name not in OURS}
    known |= {"PATH": programs, "HOME": str(tmp_path)} | ({"DENSITY_HOME": str(tmp_path / "home")} if home else {})
    data = (ROOT / "data").exists()
    done = subprocess.run(command, cwd=ROOT, env=known, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    assert said in " ".join(f"{done.stdout} {done.stderr}".split())
    assert not (tmp_path / "home").exists()
    assert (ROOT / "data").exists() == data
