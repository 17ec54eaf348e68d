"""The real web server on loopback: what the lineage page is drawn from."""

from collections.abc import Iterator

import pytest
from serving import answer_when, serving

QUERY = "{ assetNodes { assetKey { path } groupName tags { key value } dependencyKeys { path } isPartitioned } }"


@pytest.fixture
def server(town, tmp_path) -> Iterator[str]:
    with serving(town.settings, tmp_path / "home") as address:
        yield address


def test_the_server_shows_the_zones_and_the_edges(server):
    nodes = answer_when(server, QUERY, lambda answer: bool(answer["assetNodes"]))["assetNodes"]
    by_name = {node["assetKey"]["path"][-1]: node for node in nodes}
    assert by_name["cover_graph"]["groupName"] == "1_public"
    assert by_name["truncated_visits"]["groupName"] == "2_confidential"
    assert {"key": "zone", "value": "confidential"} in by_name["visits"]["tags"]
    assert {dep["path"][-1] for dep in by_name["truncated_visits"]["dependencyKeys"]} == {"visits", "towers"}
    assert by_name["visits"]["isPartitioned"]
    assert not by_name["cells"]["isPartitioned"]
