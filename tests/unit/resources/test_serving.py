"""Programs that are served side by side end side by side."""

import os
import socket
import sys
import threading

import pytest
from object_store import free_port

from density_assets.city import City
from density_assets.errors import BadInput
from density_assets.graph import instance
from density_assets.graph.instance import together
from density_assets.settings import load_settings

STAYS = "import os, pathlib, time; pathlib.Path('stays').write_text(str(os.getpid())); time.sleep(600)"
LEAVES = "import pathlib, sys\nwhile not pathlib.Path('stays').exists(): pass\nsys.exit(3)"


@pytest.mark.parametrize("order", [1, -1])
def test_when_one_program_ends_so_does_the_other(tmp_path, monkeypatch, order):
    monkeypatch.chdir(tmp_path)
    assert together(*[[sys.executable, "-c", program] for program in (STAYS, LEAVES)][::order]) == 3
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "stays").read_text()), 0)


@pytest.mark.parametrize("read_only", [True, False])
def test_an_address_is_said_once_it_is_answered(town, tmp_path, monkeypatch, read_only):
    """Before that a browser finds nothing there."""
    monkeypatch.setenv("DAGSTER_HOME", "")  # put back afterwards
    port, said = free_port(), threading.Event()

    def server_and_daemon(*_: list[str]) -> int:
        assert not said.is_set()
        with socket.create_server(("127.0.0.1", port)):
            assert said.wait(60)
        return 0

    monkeypatch.setattr(instance, "together", server_and_daemon)
    monkeypatch.setattr(instance, "print", lambda *words, **_: "open http" in words[0] and said.set(), raising=False)
    assert instance.serve(City(load_settings(town.settings), tmp_path / "home"), port, read_only=read_only) == 0


def test_a_port_that_somebody_else_serves_is_refused_before_a_token_is_made(town, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as other, pytest.raises(BadInput, match="a port must be free"):
        instance.serve(City(load_settings(town.settings), tmp_path / "home"), other.getsockname()[1], read_only=False)
    assert not (tmp_path / "home").exists()
