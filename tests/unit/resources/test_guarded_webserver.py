"""What a browser may have done to the server, on behalf of which page."""

from pathlib import Path

import dagster as dg
import pytest
from dagster._core.workspace.context import WorkspaceProcessContext
from dagster._core.workspace.load_target import EmptyWorkspaceTarget
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from density_assets.graph.guarded_webserver import GuardedWebserver

HERE, PROXIED = "127.0.0.1:3000", "density.example.org"
EVIL = "https://evil.example"
CHANGE = {"query": 'mutation { setConcurrencyLimit(concurrencyKey: "changed", limit: 1) }'}


class Server:
    """A server in this process, of an instance of its own."""

    def __init__(self, folder: Path, *, read_only: bool) -> None:
        self.instance = dg.DagsterInstance.local_temp(str(folder))
        context = WorkspaceProcessContext(self.instance, EmptyWorkspaceTarget(), version="", read_only=read_only)
        self.client = TestClient(GuardedWebserver(context).create_asgi_app())

    def changes(self, headers: dict[str, str]) -> list[bool]:
        """Whether something is changed by a link, by a form, and by a script that send such headers."""
        return [
            self._changed("GET", params=CHANGE, headers=headers),
            self._changed("POST", params=CHANGE, headers={**headers, "content-type": "text/plain"}),
            self._changed("POST", json=CHANGE, headers=headers),
        ]

    def _changed(self, method: str, **request) -> bool:
        storage = self.instance.event_log_storage
        storage.delete_concurrency_limit("changed")
        self.client.request(method, "/graphql", **request)
        return "changed" in storage.get_concurrency_keys()

    def listens(self, headers: dict[str, str]) -> bool:
        """Whether a websocket is opened."""
        try:
            with self.client.websocket_connect("/graphql", subprotocols=["graphql-ws"], headers=headers) as socket:
                socket.send_json({"type": "connection_init"})
                return socket.receive_json()["type"] == "connection_ack"
        except WebSocketDisconnect:
            return False


@pytest.fixture(scope="module")
def server(tmp_path_factory) -> Server:
    return Server(tmp_path_factory.mktemp("instance"), read_only=False)


@pytest.fixture(scope="module")
def auditors(tmp_path_factory) -> Server:
    return Server(tmp_path_factory.mktemp("instance"), read_only=True)


@pytest.mark.parametrize(
    "headers",
    [
        {"host": HERE, "origin": EVIL},
        {"host": HERE, "origin": "null"},
        {"host": HERE, "origin": "http://127.0.0.1:8888"},  # another server of this machine
        {"host": HERE, "sec-fetch-site": "cross-site"},
        {"host": "localhost:3000", "sec-fetch-site": "same-site"},
        {"host": "evil.example", "origin": "http://evil.example", "sec-fetch-site": "same-origin"},  # a name led here
        {"host": "127.0.0.1.evil.example:3000"},
        {"host": "[::1"},
    ],
    ids=str,
)
def test_pages_of_other_sites_change_nothing_and_hear_nothing(server, headers):
    assert server.changes(headers) == [False, False, False]
    assert not server.listens(headers)


@pytest.mark.parametrize("host", [HERE, "localhost:3000", "[::1]:3000"])
def test_our_own_pages_and_programs_are_served(server, host):
    assert server.changes({"host": host, "origin": f"http://{host}", "sec-fetch-site": "same-origin"}) == [True] * 3
    assert server.changes({"host": host}) == [True] * 3
    assert server.listens({"host": host, "origin": f"http://{host}", "sec-fetch-site": "same-origin"})
    assert server.client.get("/", headers={"host": host, "sec-fetch-site": "none"}).status_code == 200


def test_a_refusal_says_what_to_do(server):
    refused = server.client.get("/", headers={"host": HERE, "sec-fetch-site": "cross-site"})
    assert refused.status_code == 403
    assert refused.text.endswith("type its address\n")


def test_auditors_come_by_links_and_by_the_name_of_a_proxy(auditors):
    assert auditors.client.get("/", headers={"host": PROXIED, "sec-fetch-site": "cross-site"}).status_code == 200
    assert auditors.listens({"host": PROXIED, "origin": f"https://{PROXIED}"})


def test_pages_of_other_sites_do_not_see_what_auditors_see(auditors):
    headers = {"host": PROXIED, "origin": EVIL}
    assert not auditors.listens(headers)
    assert auditors.client.post("/graphql", json={"query": "{ version }"}, headers=headers).status_code == 403
