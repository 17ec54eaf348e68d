"""A home, and a git repository outside it."""

import shutil
from pathlib import Path

import pytest

from resources.anchors import AnchorRepository


@pytest.fixture
def unsigned_commits(monkeypatch, tmp_path) -> None:
    """Whatever git is told on this machine is not told to the tests."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "none"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.fixture
def home(tmp_path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


@pytest.fixture
def repository(tmp_path, home, unsigned_commits) -> AnchorRepository:
    """An empty git repository elsewhere."""
    from anchored import git

    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    (tmp_path / "kept").mkdir()
    git(tmp_path / "kept", "init", "--quiet")
    return AnchorRepository(tmp_path / "kept", home)
