"""Dagster's own commands, typed in the repository as any user of Dagster would: they load, and leave nothing behind."""

import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest
from serving import ROOT, answer_when, started

OURS = {"DENSITY_HOME", "DENSITY_SETTINGS", "DENSITY_CITIES", "DAGSTER_HOME"}
QUIET = "telemetry:\n  enabled: false\nnux:\n  enabled: false\n"


def environment(home: Path, **names: str) -> dict[str, str]:
    """That of a user who has the programs on the path and nothing of ours, but for what is named."""
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    known = {name: value for name, value in os.environ.items() if name not in OURS}
    return known | {"PATH": programs, "HOME": str(home)} | names


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
    known = environment(tmp_path, **({"DENSITY_HOME": str(tmp_path / "home")} if home else {}))
    data = (ROOT / "data").exists()
    done = subprocess.run(command, cwd=ROOT, env=known, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    assert said in " ".join(f"{done.stdout} {done.stderr}".split())
    assert not (tmp_path / "home").exists()
    assert (ROOT / "data").exists() == data


def test_servers_show_the_graph(tmp_path):
    """`dg dev` and `dagster dev`, side by side: each takes a while to start."""
    with ExitStack() as running:
        addresses = {}
        for command in ("dg", "dagster"):
            home = tmp_path / command
            (home / "dagster").mkdir(parents=True)
            (home / "dagster/dagster.yaml").write_text(QUIET)
            known = environment(home, DENSITY_HOME=str(home / "density"), DAGSTER_HOME=str(home / "dagster"))
            words = [command, "dev", "--host", "127.0.0.1"]
            addresses[command] = running.enter_context(started(words, known, ROOT))
        for command, url in addresses.items():
            answer = answer_when(url, "{ assetNodes { assetKey { path } } }", lambda said: bool(said["assetNodes"]))
            assert ["density"] in [node["assetKey"]["path"] for node in answer["assetNodes"]], command
    assert not any((tmp_path / command / "density").exists() for command in addresses)
