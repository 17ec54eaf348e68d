"""A file system that nobody may write to: every command says so in a line, or does without."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from density_assets.errors import BadInput
from resources.faults import in_clear_words

ROOT = Path(__file__).parents[2]
MAY_MOUNT = shutil.which("unshare") and subprocess.run(["unshare", "-rm", "true"], check=False).returncode == 0
WORDS = "must be able to read and write what it keeps under"


@pytest.mark.skipif(not MAY_MOUNT, reason="needs a mount namespace (unshare -rm), which this machine does not permit")
def test_no_command_ends_in_a_traceback(town, tmp_path):
    place = tmp_path / "disk"
    place.mkdir()
    script = ROOT / "tests/support/read_only.py"
    command = ["unshare", "-rm", sys.executable, str(script), str(town.settings), str(place)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    endings = json.loads(done.stdout)
    for home, commands in endings.items():
        for name, (status, said) in commands.items():
            assert status in (0, 1, 2), f"{name} in the {home} home: {said}"
            assert "Traceback" not in said
        assert WORDS in commands["purge"][1]
        assert commands["purge"][0] == 2
        assert commands["release"][0] == 2  # there is no ledger, which is found out without writing
        assert commands["check"][0] == 0  # it reads the operator's own files only


def test_a_folder_one_may_not_write_to_is_named(tmp_path):
    with pytest.raises(BadInput, match=WORDS), in_clear_words(tmp_path):
        raise PermissionError(13, "Permission denied", str(tmp_path / "town"))


def test_a_file_elsewhere_that_one_may_not_read_is_another_matter(tmp_path):
    with pytest.raises(PermissionError), in_clear_words(tmp_path / "home"):
        raise PermissionError(13, "Permission denied", str(tmp_path / "elsewhere"))
