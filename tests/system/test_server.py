"""The real web server on loopback: what the lineage page is drawn from."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
QUERY = "{ assetNodes { assetKey { path } groupName tags { key value } dependencyKeys { path } isPartitioned } }"


@pytest.fixture
def server(town, tmp_path) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {**os.environ, "DENSITY_HOME": str(tmp_path / "home")}
    command = [sys.executable, "-m", "density_assets", "ui", "--settings", str(town.settings), "--port", str(port)]
    with (tmp_path / "server.log").open("wb") as log:
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log, start_new_session=True)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def asked(url: str, query: str) -> dict:
    body = json.dumps({"query": query}).encode()
    request = urllib.request.Request(f"{url}/graphql", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.load(answer)["data"]


def answer_when_ready(url: str, query: str, seconds: float = 120) -> dict:
    deadline = time.monotonic() + seconds
    while True:
        try:
            answer = asked(url, query)
            if answer["assetNodes"] or time.monotonic() > deadline:
                return answer
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            if time.monotonic() > deadline:
                raise
        time.sleep(0.5)


def test_the_server_shows_the_zones_and_the_edges(server):
    nodes = answer_when_ready(server, QUERY)["assetNodes"]
    by_name = {node["assetKey"]["path"][-1]: node for node in nodes}
    assert by_name["cover_graph"]["groupName"] == "1_public"
    assert by_name["truncated_visits"]["groupName"] == "2_confidential"
    assert {"key": "zone", "value": "confidential"} in by_name["visits"]["tags"]
    assert {dep["path"][-1] for dep in by_name["truncated_visits"]["dependencyKeys"]} == {"visits", "towers"}
    assert by_name["visits"]["isPartitioned"]
    assert not by_name["cells"]["isPartitioned"]
