"""Dagster's web server, which knows no users, behind a guard that knows browsers and the one who started it.

Whoever reaches the server can start runs, and a browser on the operator's machine reaches it on behalf of every page
that is open in it. A page of another site may not read our answers, but its requests would be carried out. Browsers
say where a request comes from, in headers that no page can forge; programs that are no browsers say nothing. So both
servers ask by which name they are called, and on whose behalf; and the one that can start something asks for a token,
which is made when it starts and lies where only its owner can read it. A browser hands it over once, in the address
that `density ui` prints, and gets a cookie for it; a program sends it as a bearer token.
"""

import secrets
from argparse import ArgumentParser
from collections.abc import Collection, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit

from dagster._core.workspace.context import WorkspaceProcessContext, WorkspaceRequestContext
from dagster_webserver import app, cli
from dagster_webserver.webserver import DagsterWebserver
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.requests import HTTPConnection, Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocketClose

OURS = (None, "none", "same-origin")  # no browser, an address that was typed, our own pages
LOOPBACK = ("127.0.0.1", "localhost", "::1")
POLICY_VIOLATION = 1008  # RFC 6455, §7.4.1
NO_TOKEN = (
    "this server must be opened with its token: open the address that `density ui` printed when it started; "
    "the token also lies in the city's folder, in dagster/ui_token"
)
NO_QUERY = "a query must be the JSON body of a POST request, which no link and no form can send"
NO_REPORTS = "what happened to an asset must be told by a run: nothing may be reported from outside"


class Guard:
    """Refuses requests and websockets that nobody here has caused.

    names: by which the server may be called, besides those of this machine.
    token: what a request must carry; none for a server that cannot start or change anything. That one may stand behind
        a proxy and may be linked to.
    """

    def __init__(self, app: ASGIApp, *, names: Collection[str], token: str | None) -> None:
        self._app = app
        self._names = {*LOOPBACK, *names}
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what may pass."""
        app = self._app
        if scope["type"] in ("http", "websocket"):
            app = self._answer(HTTPConnection(scope), is_page=scope["type"] == "http") or app
        await app(scope, receive, send)

    def _answer(self, request: HTTPConnection, *, is_page: bool) -> ASGIApp | None:
        """What is answered in place of the server; none if it may answer itself."""
        reason = next(refusals(request.headers, self._names, writes=self._token is not None), None)
        if not reason and self._token is not None:
            if is_page and _equal(request.query_params.get("token"), self._token):
                return _let_in(request, self._token)
            if not carries(request, self._token):
                reason = NO_TOKEN
        if not reason:
            return None
        return refused(reason) if is_page else WebSocketClose(POLICY_VIOLATION, reason)


def refusals(headers: Headers, names: Collection[str], *, writes: bool) -> Iterator[str]:
    """Why a request with such headers is not served, whatever it carries; nothing if it may be."""
    host, origin = headers.get("host", ""), headers.get("origin")
    if _split(host).hostname not in names:
        # Another site's name may be made to lead here; then its pages are "same origin".
        yield (
            "this server must be called by a name of this machine, or by one of [web] names in the settings: open "
            "http://127.0.0.1 with its port"
        )
    if origin is not None and _site(origin) != host:
        yield "a request must come from a page of this server: open its address in a new tab"
    if writes and headers.get("sec-fetch-site") not in OURS:
        yield "a request must come from a page of this server, not by a link or form elsewhere: type its address"


def carries(request: HTTPConnection, token: str) -> bool:
    """Whether a request shows the token: in its cookie, or as a bearer token."""
    scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
    shown = (request.cookies.get(_cookie(request)), bearer if scheme.lower() == "bearer" else None)
    return any(_equal(given, token) for given in shown)


def refused(reason: str) -> Response:
    """The page that says why."""
    return PlainTextResponse(f"{reason}\n", status_code=403)


def _let_in(request: HTTPConnection, token: str) -> Response:
    """To the first page, with the token in a cookie and no longer in the address, which browsers remember."""
    page = RedirectResponse("/", status_code=303, headers={"cache-control": "no-store"})
    page.set_cookie(_cookie(request), token, httponly=True, samesite="strict")
    return page


def _cookie(request: HTTPConnection) -> str:
    """A name for each port: browsers keep one set of cookies for all servers of a machine."""
    return f"density_{_split(request.headers.get('host', '')).port or 80}"


def _equal(given: str | None, token: str) -> bool:
    return given is not None and secrets.compare_digest(given.encode(), token.encode())


def _site(origin: str) -> str | None:
    """Name and port of an origin; none for an opaque one."""
    return urlsplit(origin).netloc or None


def _split(host: str) -> SplitResult:
    """Name and port of a host; neither where it is not one."""
    try:
        split = urlsplit(f"//{host}")
        _ = split.port  # it may be no number
    except ValueError:
        return urlsplit("")
    return split


class GuardedWebserver(DagsterWebserver[WorkspaceProcessContext, WorkspaceRequestContext]):
    """Dagster's web server, reached through the guard only.

    names, token: see `Guard`; a server that can start something must have a token.
    """

    def __init__(self, context: WorkspaceProcessContext, *more: Any, names: Collection[str], token: str | None) -> None:
        if not (token or context.read_only):
            raise ValueError("a server that can start runs must have a token, got none: start it by `density ui`")
        self._guard = Middleware(Guard, names=names, token=None if context.read_only else token)
        super().__init__(context, *more)

    def build_middleware(self) -> list[Middleware]:
        """The guard comes first."""
        return [self._guard, *super().build_middleware()]

    async def graphql_http_endpoint(self, request: Request) -> Response:
        """Dagster would also carry out what an address asks for, or a form."""
        kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
        if "query" in request.query_params or (request.method == "POST" and kind != "application/json"):
            return refused(NO_QUERY)
        answer: Response = await super().graphql_http_endpoint(request)
        return answer

    async def report_asset_materialization_endpoint(self, request: Request) -> Any:
        """Nothing of ours reports from outside, so nobody may."""
        return refused(NO_REPORTS)

    report_asset_check_endpoint = report_asset_materialization_endpoint
    report_asset_observation_endpoint = report_asset_materialization_endpoint


def main() -> None:
    """Dagster's own command, with our class of server and two options more."""
    ours = ArgumentParser(add_help=False, allow_abbrev=False)
    ours.add_argument("--allowed-name", action="append", default=[])
    ours.add_argument("--token-file", type=Path)
    chosen, dagsters = ours.parse_known_args()
    token = chosen.token_file.read_text() if chosen.token_file else None
    # Dagster offers no other way in.
    vars(app)["DagsterWebserver"] = partial(GuardedWebserver, names=chosen.allowed_name, token=token)
    cli.cli(args=dagsters)


if __name__ == "__main__":
    main()
