"""The command `density`, and a home to use it on."""

import re
import sys
from pathlib import Path

import pytest
from commands import WHO, Density, Said

from density_assets.__main__ import main


@pytest.fixture
def density(monkeypatch, capsys, tmp_path) -> Density:
    """The command in this process; the environment it sets is put back."""
    monkeypatch.setenv("DENSITY_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("DENSITY_SETTINGS", "")

    def run(*words: str) -> Said:
        monkeypatch.setattr(sys, "argv", ["density", *words])
        status = main()
        out, err = (re.sub(r"\x1b\[[0-9;]*m", "", text) for text in capsys.readouterr())
        return Said(status, out, err)

    return run


@pytest.fixture
def town_home(density, town, tmp_path) -> Path:
    """A home whose ledger was opened for real people."""
    assert density("ledger", "init", "--settings", str(town.settings), *WHO).status == 0
    return tmp_path / "home"
