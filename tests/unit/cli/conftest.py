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


@pytest.fixture
def init(monkeypatch, capsys, town, tmp_path):
    """`density init` on the files of the town, from its folder; returns status, the file and what was said."""
    monkeypatch.chdir(town.folder)
    out = town.folder / "first.toml"

    def run(
        *words: str,
        visits: str | None = "visits/{week}/*.csv",
        towers: str = "towers.csv",
        cells: str | None = "cells.geojson",
    ) -> tuple[int, Path, str]:
        options = {"--cells": cells, "--towers": towers, "--visits": visits}
        files = [word for option, value in options.items() if value for word in (option, value)]
        monkeypatch.setattr(sys, "argv", ["density", "init", str(out), *files, *words])
        status = main()
        said = capsys.readouterr()
        return status, out, said.out + said.err

    return run
