"""Serving the UI: who is let in, what may be changed, and how servers start and end together."""

import os
import socket
import sys
import threading
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.workspace.context import WorkspaceProcessContext
from dagster._core.workspace.load_target import EmptyWorkspaceTarget
from object_store import free_port
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from density_assets.city import City
from density_assets.errors import BadInput
from density_assets.graph import instance
from density_assets.graph.guarded_webserver import GuardedWebserver
from density_assets.graph.instance import together
from density_assets.settings import load_settings

HERE, PROXIED, OTHER = "127.0.0.1:3000", "density.example.org", "localhost:3000"
EVIL = "https://evil.example"
TOKEN = "nobody-guesses-this"
BEARER = {"authorization": f"Bearer {TOKEN}"}
CHANGE = {"query": 'mutation { setConcurrencyLimit(concurrencyKey: "changed", limit: 1) }'}

SERVED = [False, False, True, False]  # a script alone may change something
REFUSED = [False] * 4


class Server:
    """A server in this process, of an instance of its own."""

    def __init__(self, folder: Path, *, read_only: bool) -> None:
        self.instance = dg.DagsterInstance.local_temp(str(folder))
        context = WorkspaceProcessContext(self.instance, EmptyWorkspaceTarget(), version="", read_only=read_only)
        app = GuardedWebserver(context, names=[PROXIED], token=None if read_only else TOKEN).create_asgi_app()
        self.routes = app.routes
        self.client = TestClient(app, follow_redirects=False)

    def changes(self, headers: dict[str, str]) -> list[bool]:
        """Whether something is changed by a link, a form, a script, and a form that calls its text JSON."""
        form = {**headers, "content-type": "text/plain"}
        disguised = {**headers, "content-type": "text/plain; charset=application/json"}
        return [
            self._changed("GET", params=CHANGE, headers=headers),
            self._changed("POST", params=CHANGE, headers=form),
            self._changed("POST", json=CHANGE, headers=headers),
            self._changed("POST", json=CHANGE, headers=disguised),
        ]

    def _changed(self, method: str, **request) -> bool:
        storage = self.instance.event_log_storage
        storage.delete_concurrency_limit("changed")
        self.client.cookies.clear()
        self.client.request(method, "/graphql", **request)
        return "changed" in storage.get_concurrency_keys()

    def status(self, headers: dict[str, str], address: str = "/") -> int:
        self.client.cookies.clear()
        return self.client.get(address, headers=headers).status_code

    def listens(self, headers: dict[str, str]) -> bool:
        """Whether a websocket is opened."""
        self.client.cookies.clear()
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


def page_of(host: str) -> dict[str, str]:
    """What a browser sends from a page of a server."""
    return {"host": host, "origin": f"http://{host}", "sec-fetch-site": "same-origin"}


def cookie(port: int, token: str = TOKEN) -> dict[str, str]:
    return {"cookie": f"density_{port}={token}"}


# --- on behalf of whom -----------------------------------------------------------------------------------------


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
        {"host": "127.0.0.1:port"},
        {"host": "[::1"},
        {"host": ""},
    ],
    ids=str,
)
def test_pages_of_other_sites_change_nothing_and_hear_nothing(server, headers):
    """Not even with the token, which a browser might add for them."""
    assert server.changes({**headers, **BEARER}) == REFUSED
    assert not server.listens({**headers, **BEARER})
    assert server.status({**headers, **BEARER}) == 403


@pytest.mark.parametrize("host", [HERE, OTHER, "[::1]:3000", PROXIED])
def test_our_own_pages_and_programs_are_served(server, host):
    assert server.changes({**page_of(host), **BEARER}) == SERVED
    assert server.changes({"host": host, **BEARER}) == SERVED
    assert server.listens({**page_of(host), **BEARER})
    assert server.status({"host": host, "sec-fetch-site": "none", **BEARER}) == 200


def test_a_refusal_says_what_to_do(server):
    refused = server.client.get("/", headers={"host": HERE, "sec-fetch-site": "cross-site"})
    assert refused.status_code == 403
    assert refused.text.endswith("type its address\n")


# --- by which name ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["evil.example", "evil.example:3001", "density.example.org.evil.example", "", "[::1"])
def test_auditors_too_call_the_server_by_a_name_that_was_allowed(auditors, host):
    """A name that leads here by rebinding makes another site's page one of the same origin, which may read answers."""
    headers = {"host": host, "origin": f"http://{host}", "sec-fetch-site": "same-origin"}
    assert auditors.status(headers) == 403
    assert not auditors.listens(headers)
    assert auditors.client.post("/graphql", json={"query": "{ version }"}, headers=headers).status_code == 403


def test_auditors_come_by_links_and_by_the_name_of_a_proxy_without_a_token(auditors):
    assert auditors.status({"host": PROXIED, "sec-fetch-site": "cross-site"}) == 200
    assert auditors.status({"host": "127.0.0.1:3001"}) == 200
    assert auditors.listens({"host": PROXIED, "origin": f"https://{PROXIED}"})


def test_pages_of_other_sites_do_not_see_what_auditors_see(auditors):
    headers = {"host": PROXIED, "origin": EVIL}
    assert not auditors.listens(headers)
    assert auditors.client.post("/graphql", json={"query": "{ version }"}, headers=headers).status_code == 403


# --- with the token --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "shown",
    [
        {},
        {"authorization": "Bearer wrong"},
        {"authorization": TOKEN},
        {"authorization": "Bearer "},
        {"authorization": "Bearer \u00e9"},
        cookie(3000, "wrong"),
        cookie(3001),  # that of another server of this machine
    ],
    ids=str,
)
def test_programs_without_the_token_read_and_change_nothing(server, shown):
    headers = {"host": HERE, **{name: value.encode() for name, value in shown.items()}}
    assert server.changes(headers) == REFUSED
    assert not server.listens({"host": HERE, **{name: value for name, value in shown.items() if value.isascii()}})
    assert server.status(headers) == 403
    assert server.status(headers, "/server_info") == 403
    assert server.status(headers, "/?token=wrong") == 403


def test_a_browser_gets_in_by_the_address_that_was_printed_and_stays_in(server):
    typed = {"host": HERE, "sec-fetch-site": "none"}
    server.client.cookies.clear()
    entered = server.client.get("/", params={"token": TOKEN}, headers=typed)
    assert (entered.status_code, entered.headers["location"]) == (303, "/")  # the address bar forgets the token
    kept = entered.headers["set-cookie"]
    assert "HttpOnly" in kept
    assert "SameSite=strict" in kept
    shown = {"cookie": kept.split(";")[0]}
    assert server.status({**typed, **shown}) == 200
    assert server.changes({**page_of(HERE), **shown}) == SERVED
    assert server.listens({**page_of(HERE), **shown})
    assert server.changes({**page_of("127.0.0.1:3001"), **shown}) == REFUSED
    assert server.changes({"host": HERE, "origin": EVIL, **shown}) == REFUSED


def test_a_server_that_can_start_something_does_not_start_without_a_token(tmp_path):
    context = WorkspaceProcessContext(
        dg.DagsterInstance.local_temp(str(tmp_path)), EmptyWorkspaceTarget(), version="", read_only=False
    )
    with pytest.raises(ValueError, match="must have a token"):
        GuardedWebserver(context, names=[], token=None)


# --- what nobody may do ----------------------------------------------------------------------------------------


def test_what_happened_to_an_asset_cannot_be_reported_from_outside(server):
    """Neither a check that passed nor a week that was made: not even with the token."""
    posts = [route.path for route in server.routes if "POST" in (getattr(route, "methods", None) or ())]
    reports = sorted(path.partition("{")[0] for path in posts if path != "/graphql")
    assert reports == ["/report_asset_check/", "/report_asset_materialization/", "/report_asset_observation/"]
    forged = {"asset_key": ["ledger"], "check_name": "ledger_is_whole", "passed": True, "data_version": "1"}
    for path in reports:
        answer = server.client.post(f"{path}ledger", json=forged, headers={"host": HERE, **BEARER})
        assert answer.status_code == 403
        assert "must be told by a run" in answer.text
    key = dg.AssetKey("ledger")
    check = dg.AssetCheckKey(key, "ledger_is_whole")
    assert server.instance.event_log_storage.get_asset_check_execution_history(check, limit=1) == []
    assert server.instance.fetch_materializations(key, limit=1).records == []
    assert server.instance.fetch_observations(key, limit=1).records == []


# --- test serving ----------------------------------------------------------------------------------------------------

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
