"""Before a request is looked at: is it addressed to us, from where, by whom, may they; and after it, a line in the log.

Two attacks on servers that listen on this machine only come from pages in its user's browser: a form posted to us (the
Origin tells), and a name that is made to mean 127.0.0.1 (the Host tells).
"""

from __future__ import annotations

import base64
import binascii
import hmac
import json
import logging
import time
from collections.abc import MutableMapping
from typing import Any, Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from triplestore.server.faults import HttpError, answer
from triplestore.server.settings import MAX_HEAD, MAX_URL, Access, Settings

access_log = logging.getLogger("triplake.access")

_OPEN: Final = ("/", "/health", "/openapi.json")
_SHOWN: Final = 2_000
"""Characters of a query in the log."""


class Guard:
    """The outermost layer of the application (ASGI)."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app, self._settings, self._access = app, settings, settings.access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        notes: dict[str, Any] = {}
        scope["triplake.log"] = notes
        started = time.perf_counter()
        sent = {"status": 0, "bytes": 0}
        headers = Headers(scope=scope)
        origin = headers.get("origin")

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
                self._admit(scope, headers, origin, notes)
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
            self._note(scope, notes, sent, time.perf_counter() - started)

    def _admit(self, scope: Scope, headers: Headers, origin: str | None, notes: dict[str, Any]) -> None:
        """Raise HttpError for a request that has no business here."""
        if len(scope.get("raw_path", b"")) + len(scope["query_string"]) > MAX_URL:
            raise HttpError(414, f"the address is longer than {MAX_URL:,} bytes: send a query by POST")
        if sum(len(name) + len(value) for name, value in headers.raw) > MAX_HEAD:
            raise HttpError(431, f"the headers are longer than {MAX_HEAD:,} bytes")
        host = headers.get("host", "")
        if self._access.hosts and _without_port(host) not in self._access.hosts:
            raise HttpError(400, f"this server is not called {host!r}: start it with --allow-host to give it that name")
        foreign = origin is not None and origin not in self._access.origins and urlsplit(origin).netloc != host
        if foreign and scope["method"] not in ("GET", "HEAD", "OPTIONS"):
            raise HttpError(403, f"pages of {origin} may not use this server; --cors {origin} would let them")
        if scope["method"] == "OPTIONS" or scope["path"] in _OPEN or scope["path"].startswith("/static/"):
            return
        if not self._access.authenticates:
            return
        credentials = headers.get("authorization")
        user = identified(self._access, credentials)
        if user is not None:
            notes["user"] = user
        elif credentials is not None:
            raise _unknown("the credentials are wrong")
        elif self._access.protect_reads or scope["method"] in ("PUT", "DELETE", "PATCH"):
            raise _unknown("this needs credentials")
        scope["triplake.identified"] = user is not None

    def _share(self, headers: MutableHeaders, origin: str | None) -> None:
        """Let pages of the origins that may (CORS) read the answer."""
        if origin is not None and origin in self._access.origins:
            headers["Access-Control-Allow-Origin"] = origin
            headers["Access-Control-Expose-Headers"] = "Triplake-Version, Triplake-Warning"
            headers.add_vary_header("Origin")

    def _note(self, scope: Scope, notes: MutableMapping[str, Any], sent: dict[str, int], seconds: float) -> None:
        line: dict[str, Any] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime()) + "Z",
            "client": (scope.get("client") or ("-",))[0],
            "method": scope["method"],
            "path": scope["path"],
            "status": sent["status"],
            "bytes": sent["bytes"],
            "ms": round(seconds * 1000, 1),
        }
        for name, value in notes.items():
            if name not in ("query", "update") or self._settings.log_queries:
                line[name] = value[:_SHOWN] if isinstance(value, str) else value
        access_log.info("%s", json.dumps(line, ensure_ascii=False))


def identified(access: Access, header: str | None) -> str | None:
    """Who an Authorization header proves to be: a user's name, "token", or None."""
    scheme, _, value = (header or "").partition(" ")
    if scheme.lower() == "bearer":
        return "token" if sum(_same(value.strip(), token) for token in access.tokens) else None
    if scheme.lower() == "basic":
        try:
            name, _, password = base64.b64decode(value.strip(), validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            return None
        right = [_same(name, known) & _same(password, secret) for known, secret in access.users]
        return name if any(right) else None
    return None


def require_writer(request: Request) -> None:
    """Raise HttpError where the request would change the store and may not: 403 read-only, 401 unidentified."""
    access: Access = request.app.state.service.settings.access
    if access.read_only:
        raise HttpError(403, "this server is read-only")
    if access.authenticates and not request.scope.get("triplake.identified"):
        raise _unknown("updates need credentials")


def _same(given: str, secret: str) -> bool:
    """Equality in a time that tells nothing of where they differ."""
    return hmac.compare_digest(given.encode(), secret.encode())


def _unknown(message: str) -> HttpError:
    how = "(Authorization: Bearer TOKEN), or a user's name and password (basic authentication)"
    asking = {"WWW-Authenticate": 'Bearer realm="triplake", Basic realm="triplake"'}
    return HttpError(401, f"{message}: send a token that the server was started with {how}", asking)


def _without_port(host: str) -> str:
    name, colon, port = host.rpartition(":")
    return (name if colon and port.isdigit() else host).lower()


async def _preflight(scope: Scope, receive: Receive, send: Send) -> None:
    """The answer to a browser that asks whether it may ask."""
    headers = [
        (b"access-control-allow-methods", b"GET, HEAD, POST, PUT, DELETE"),
        (b"access-control-allow-headers", b"authorization, content-type, content-encoding, accept"),
        (b"access-control-max-age", b"600"),
    ]
    await send({"type": "http.response.start", "status": 204, "headers": headers})
    await send({"type": "http.response.body", "body": b""})
