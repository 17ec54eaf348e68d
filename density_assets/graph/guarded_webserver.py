"""Dagster's web server, which knows no users, behind a guard that knows browsers.

Whoever reaches the server can start runs, and a browser on the operator's machine reaches it on behalf of every page
that is open in it. A page of another site may not read our answers, but its requests would be carried out. Browsers
say where a request comes from, in headers that no page can forge; programs that are no browsers say nothing.
"""

from collections.abc import Iterator
from urllib.parse import urlsplit

from dagster._core.workspace.context import WorkspaceProcessContext, WorkspaceRequestContext
from dagster_webserver import app, cli
from dagster_webserver.webserver import DagsterWebserver
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocketClose

OURS = (None, "none", "same-origin")  # no browser, an address that was typed, our own pages
LOOPBACK = ("127.0.0.1", "localhost", "::1")
POLICY_VIOLATION = 1008  # RFC 6455, §7.4.1


class Guard:
    """Refuses requests and websockets that a page of another site has caused.

    writes: whether the server can start or change something. One that cannot stands behind a proxy, is reached by the
        proxy's name, and may be linked to.
    """

    def __init__(self, app: ASGIApp, *, writes: bool) -> None:
        self._app = app
        self._writes = writes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what may pass."""
        app = self._app
        if scope["type"] in ("http", "websocket"):
            reason = next(refusals(Headers(scope=scope), writes=self._writes), None)
            if reason and scope["type"] == "http":
                app = PlainTextResponse(f"{reason}\n", status_code=403)
            elif reason:
                app = WebSocketClose(POLICY_VIOLATION, reason)
        await app(scope, receive, send)


def refusals(headers: Headers, *, writes: bool) -> Iterator[str]:
    """Why a request with such headers is not served; nothing if it is."""
    host, origin = headers.get("host", ""), headers.get("origin")
    if origin is not None and _site(origin) != host:
        yield "a request must come from a page of this server: open its address in a new tab"
    if writes and headers.get("sec-fetch-site") not in OURS:
        yield "a request must come from a page of this server, not by a link or form elsewhere: type its address"
    if writes and _name(host) not in LOOPBACK:
        # Another site's name may be made to lead here; then its pages are "same origin".
        yield "this server must be called by a name of this machine: open http://127.0.0.1 with its port"


def _site(origin: str) -> str | None:
    """Name and port of an origin; none for an opaque one."""
    return urlsplit(origin).netloc or None


def _name(host: str) -> str | None:
    try:
        return urlsplit(f"//{host}").hostname
    except ValueError:
        return None


class GuardedWebserver(DagsterWebserver[WorkspaceProcessContext, WorkspaceRequestContext]):
    """Dagster's web server, reached through the guard only."""

    def build_middleware(self) -> list[Middleware]:
        """The guard comes first."""
        return [Middleware(Guard, writes=not self._process_context.read_only), *super().build_middleware()]


def main() -> None:
    """Dagster's own command, with our class of server."""
    vars(app)["DagsterWebserver"] = GuardedWebserver  # it offers no other way in
    cli.cli()


if __name__ == "__main__":
    main()
