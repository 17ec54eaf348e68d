"""Programs that are served side by side end side by side."""

import os
import sys

import pytest

from density_assets.graph.instance import together

STAYS = "import os, pathlib, time; pathlib.Path('stays').write_text(str(os.getpid())); time.sleep(600)"
LEAVES = "import pathlib, sys\nwhile not pathlib.Path('stays').exists(): pass\nsys.exit(3)"


@pytest.mark.parametrize("order", [1, -1])
def test_when_one_program_ends_so_does_the_other(tmp_path, monkeypatch, order):
    monkeypatch.chdir(tmp_path)
    assert together(*[[sys.executable, "-c", program] for program in (STAYS, LEAVES)][::order]) == 3
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "stays").read_text()), 0)
