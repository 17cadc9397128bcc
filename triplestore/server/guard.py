"""Before a request is looked at: is it addressed to us, from where, by whom, may they; and after it, a line in the log.

Two attacks on servers that listen on this machine only come from pages in its user's browser: a form posted to us (the
Origin tells), and a name that is made to mean 127.0.0.1 (the Host tells).
"""

from __future__ import annotations

import json
import logging
import re
import time
from collections.abc import Callable, Iterable, MutableMapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from triplestore.server.accounts import Account, Accounts, Role
from triplestore.server.faults import HttpError, answer, shown
from triplestore.server.held import ROOM, Held, Room
from triplestore.server.metrics import Metrics, address_of
from triplestore.server.settings import MAX_HEAD, MAX_URL, Access, Settings

if TYPE_CHECKING:
    from triplestore.server.traces import Traces

access_log = logging.getLogger("triplake.access")

_OPEN: Final = ("/", "/health", "/openapi.json")
_SHOWN: Final = 2_000
"""Characters of a query, a path or a message in the log."""


class Guard:
    """The outermost layer of the application (ASGI). stores: the names of several stores, the first part of their
    paths; empty: there is one, at the root, and accounts call it `alone`. traces: where a span of each request goes."""

    def __init__(
        self,
        app: ASGIApp,
        settings: Settings,
        accounts: Accounts,
        metrics: Metrics,
        reload: Callable[[], dict[str, Any]],
        stores: Iterable[str] = (),
        traces: Traces | None = None,
        alone: str = "",
    ) -> None:
        self._app, self._settings, self._access = app, settings, settings.access
        self._accounts, self._metrics, self._stores, self.traces = accounts, metrics, frozenset(stores), traces
        self._alone = alone
        self._room = Room(max(ROOM, settings.limits.body))
        self.reload = reload
        """Read accounts and what else may change again: what was read. Raises TriplakeError; then those before stay."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        _of_origin(scope)
        notes: dict[str, Any] = {}
        scope["triplake.log"] = notes
        scope["triplake.body"] = held = Held(self._room, client_of(scope))
        started = time.perf_counter()
        sent = {"status": 0, "bytes": 0}
        headers = Headers(scope=scope)
        origin = headers.get("origin")
        store, path = self._parts(scope["path"])

        async def counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                sent["status"] = message["status"]
                answered = MutableHeaders(scope=message)
                answered.setdefault("X-Content-Type-Options", "nosniff")
                self._share(answered, origin)
            else:
                sent["bytes"] += len(message.get("body", b""))
            await send(message)

        try:
            try:
                await self._admit(scope, headers, origin, store, path)
            except HttpError as error:
                notes["error"] = error.message
                await answer(Request(scope), error)(scope, receive, counted)
                return
            if scope["method"] == "OPTIONS" and origin in self._access.origins:
                await _preflight(scope, receive, counted)
                return
            await self._app(scope, receive, counted)
        except BaseException:
            notes.setdefault("fault", "cut off")
            raise
        finally:
            held.free()
            seconds = time.perf_counter() - started
            self._metrics.count(store, path, scope["method"], sent["status"], seconds)
            line = self._note(scope, notes, sent, seconds)
            if self.traces is not None:
                self.traces.record(address_of(path), line, headers, seconds, time.time_ns())

    def _parts(self, path: str) -> tuple[str, str]:
        """The name of the store that a path is of, "" where it is of none of several, and the rest of the path."""
        first, _, rest = path[1:].partition("/")
        return (first, f"/{rest}") if first in self._stores else ("", path)

    async def _admit(self, scope: Scope, headers: Headers, origin: str | None, store: str, path: str) -> None:
        """Raise HttpError for a request that has no business here."""
        if len(scope.get("raw_path", b"")) + len(scope["query_string"]) > MAX_URL:
            raise HttpError(414, f"the address is longer than {MAX_URL:,} bytes: send a query by POST")
        if sum(len(name) + len(value) for name, value in headers.raw) > MAX_HEAD:
            raise HttpError(431, f"the headers are longer than {MAX_HEAD:,} bytes")
        _check_framing(scope, headers)
        host = headers.get("host", "")
        if self._access.hosts and _without_port(host) not in self._access.hosts:
            message = f"this server is not called {shown(host)!r}"
            raise HttpError(400, f"{message}: start it with --allow-host to give it that name")
        if scope["method"] not in ("GET", "HEAD", "OPTIONS") and origin not in self._access.origins:
            if origin is not None and _origin(origin) != _origin(f"{scope['scheme']}://{host}"):
                site = shown(origin)
                raise HttpError(403, f"pages of {site} may not use this server; --cors {site} would let them")
            if headers.get("sec-fetch-site", "").strip().lower() in ("cross-site", "same-site"):
                raise HttpError(403, "pages of other sites may not use this server; --cors SITE would let one")
        for_all = path in _OPEN and (store or not self._stores or path != "/")
        if scope["method"] == "OPTIONS" or for_all or path.startswith("/static/"):
            return
        managing = path.startswith("/admin/")
        if not self._access.authenticates:
            if managing and not self._access.hosts:
                raise HttpError(403, "this needs an account with the role admin, and the server has none: --accounts")
            return
        credentials = headers.get("authorization")
        account = await self._accounts.identified(credentials, client_of(scope))
        if account is not None:
            scope["triplake.log"]["user"] = account.name
            of = store or self._alone
            if of and not account.of(of):
                raise HttpError(403, f"{account.name} has no account for {of}")
            if managing and account.role < Role.ADMIN:
                raise HttpError(403, f"{account.name} has the role {account.role.name.lower()}: this needs admin")
        elif credentials is not None:
            raise _unknown("the credentials are wrong")
        elif managing or self._access.protect_reads or scope["method"] in ("PUT", "DELETE", "PATCH"):
            raise _unknown("this needs credentials")
        scope["triplake.account"] = account

    def _share(self, headers: MutableHeaders, origin: str | None) -> None:
        """Let pages of the origins that may (CORS) read the answer."""
        if origin is not None and origin in self._access.origins:
            headers["Access-Control-Allow-Origin"] = origin
            headers["Access-Control-Expose-Headers"] = "Triplake-Version, Triplake-Warning, Location, Retry-After"
            headers.add_vary_header("Origin")

    def _note(
        self, scope: Scope, notes: MutableMapping[str, Any], sent: dict[str, int], seconds: float
    ) -> dict[str, Any]:
        """Write a line of the log, and return it."""
        line: dict[str, Any] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime()) + "Z",
            "client": client_of(scope),
            "method": scope["method"],
            "path": scope["path"],
            "status": sent["status"],
            "bytes": sent["bytes"],
            "ms": round(seconds * 1000, 1),
        }
        for name, value in notes.items():
            if name not in ("query", "update") or self._settings.log_queries:
                line[name] = value
        line = {name: value[:_SHOWN] if isinstance(value, str) else value for name, value in line.items()}
        access_log.info("%s", json.dumps(line, ensure_ascii=False))
        return line


_ABSOLUTE: Final = re.compile(rb"https?://([^/?#]*)(.*)", re.IGNORECASE | re.DOTALL)


def _of_origin(scope: Scope) -> None:
    """Let a request whose target is a whole address (RFC 9112, section 3.2.2) be one for its path, at its host."""
    if scope["path"].startswith("/") or (whole := _ABSOLUTE.fullmatch(scope["raw_path"])) is None:
        return
    host, path = whole[1], whole[2] or b"/"
    scope["raw_path"], scope["path"] = path, unquote(path.decode("ascii"))
    scope["headers"] = [(b"host", host), *(header for header in scope["headers"] if header[0] != b"host")]


def client_of(scope: Scope) -> str:
    """The address of who asks; of who asks a proxy on this machine, the one that it names (X-Forwarded-For)."""
    return str((scope.get("client") or ("-",))[0])


def asked_by(scope: Scope) -> str:
    """The address of who asks, with the account: those who share the places of the server."""
    account: Account | None = scope.get("triplake.account")
    return client_of(scope) if account is None else f"{client_of(scope)} {account.name}"


def require_writer(request: Request) -> None:
    """Raise HttpError where the request would change the store and may not: 403 read-only, 401 unidentified."""
    refused = _refused(request)
    if refused is not None:
        raise refused


def may_write(request: Request) -> bool:
    """Whether the request may change the store."""
    return _refused(request) is None


def _refused(request: Request) -> HttpError | None:
    """Why the request may not change the store."""
    access: Access = request.app.state.served.service.settings.access
    if access.read_only:
        return HttpError(403, "this server is read-only")
    if access.authenticates:
        account: Account | None = request.scope.get("triplake.account")
        if account is None:
            return _unknown("updates need credentials")
        if account.role < Role.WRITE:
            return HttpError(403, f"{account.name} has the role {account.role.name.lower()}: updates need write")
    return None


def _unknown(message: str) -> HttpError:
    how = "(Authorization: Bearer TOKEN), or a user's name and password (basic authentication)"
    asking = {"WWW-Authenticate": 'Bearer realm="triplake", Basic realm="triplake"'}
    return HttpError(401, f"{message}: send a token that the server was started with {how}", asking)


def _check_framing(scope: Scope, headers: Headers) -> None:
    """Raise HttpError for a request whose end a proxy in front of the server may see elsewhere than the server does
    (RFC 9112, section 6.1), and for another major version of HTTP. The connection is closed then."""
    closing = {"Connection": "close"}
    if not scope["http_version"].startswith("1."):
        raise HttpError(505, f"this server speaks HTTP/1.1, not HTTP/{scope['http_version']}", closing)
    if "transfer-encoding" in headers:
        if "content-length" in headers:
            raise HttpError(400, "the request has both Content-Length and Transfer-Encoding: send one", closing)
        if scope["http_version"] == "1.0":
            raise HttpError(400, "HTTP/1.0 has no Transfer-Encoding: send a Content-Length, or HTTP/1.1", closing)


_PORTS: Final = {"http": 80, "https": 443}


def _origin(text: str) -> tuple[str, str, int | None] | None:
    """The scheme, host and port of an origin; None for what is none, such as `null`."""
    try:
        found = urlsplit(text)
        port = found.port or _PORTS.get(found.scheme)
    except ValueError:
        return None
    return (found.scheme, found.hostname, port) if found.scheme and found.hostname else None


def _without_port(host: str) -> str:
    name, colon, port = host.rpartition(":")
    return (name if colon and port.isdigit() else host).lower()


_HEEDED: Final = b"authorization, content-type, content-encoding, accept, if-match, if-none-match, last-event-id"
"""Headers of requests that pages may send which have to ask before."""


async def _preflight(scope: Scope, receive: Receive, send: Send) -> None:
    """The answer to a browser that asks whether it may ask."""
    headers = [
        (b"access-control-allow-methods", b"GET, HEAD, POST, PUT, DELETE"),
        (b"access-control-allow-headers", _HEEDED),
        (b"access-control-max-age", b"600"),
    ]
    await send({"type": "http.response.start", "status": 204, "headers": headers})
    await send({"type": "http.response.body", "body": b""})
