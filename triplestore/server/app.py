"""The application: addresses and what answers them, as ASGI."""

from __future__ import annotations

import html
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from os.path import abspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from starlette.applications import Starlette
from starlette.convertors import PathConvertor, register_url_convertor
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from triplestore.model.errors import TriplakeError
from triplestore.objects import is_remote
from triplestore.server import admin, facts, hierarchy, history, links, proofs, streams
from triplestore.server.accounts import Account, Accounts
from triplestore.server.faults import HttpError, answer, http_error, shown
from triplestore.server.graph_store import graph_store
from triplestore.server.guard import Guard
from triplestore.server.metrics import MEDIA, Metrics
from triplestore.server.negotiation import Packing
from triplestore.server.openapi import document
from triplestore.server.protocol import plan, sparql
from triplestore.server.served import Served
from triplestore.server.settings import Settings, name_of

if TYPE_CHECKING:
    from triplestore.server.traces import Traces

log = logging.getLogger("triplake.server")

WEB: Final = Path(__file__).parent / "web"
"""The page: HTML, styles, scripts."""

_PAGE_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

_FRESH: Final = {"Cache-Control": "no-cache"}
"""For what an upgrade changes: a browser asks whether it has, so that no page is made of old and new parts."""

_SAFE: Final = {"Content-Security-Policy": _PAGE_POLICY, "Referrer-Policy": "no-referrer", **_FRESH}

Reload = Callable[[], dict[str, Any]]


class _Static(StaticFiles):
    """The parts of the page."""

    def file_response(self, *given: Any, **more: Any) -> Response:
        """A part, or that it is what the browser has."""
        found = super().file_response(*given, **more)
        found.headers.update(_FRESH)
        return found


class _Whole(PathConvertor):
    """The rest of a path, line ends (%0A) included, which may be in the name of a graph."""

    regex = r"[\s\S]*"


register_url_convertor("path", _Whole())


def make_app(stores: Mapping[str, Served], reload: Reload | None = None) -> Guard:
    """The application over stores that have the same settings, by their names, each at /NAME/; one that is named "" is
    alone, at the root. They are entered when it starts. reload: what is done to read settings again, besides the
    accounts.

    Raises what `Accounts` raises.
    """
    settings = next(iter(stores.values())).service.settings
    access = settings.access
    accounts = Accounts(access.tokens, access.users, access.accounts)
    metrics = Metrics(stores)

    def again() -> dict[str, Any]:
        done: dict[str, Any] = {"accounts": accounts.reload()}
        return done | (reload() if reload is not None else {})

    async def figures(request: Request) -> Response:
        return Response(metrics.text(), media_type=MEDIA)

    common: list[BaseRoute] = [
        Route("/metrics", figures, methods=_READING),
        Route("/admin/reload", admin.reload, methods=["POST"]),
    ]
    if set(stores) == {""}:
        app = _one(stores[""], common)
    else:
        app = _several(stores, common)
    app.state.reload = again
    alone = _name_of(stores[""]) if set(stores) == {""} else ""
    return Guard(app, settings, accounts, metrics, again, filter(None, stores), _traces(settings), alone)


def _name_of(alone: Served) -> str:
    """What accounts call a store that is alone."""
    path = str(alone.service.path)
    return name_of(path if is_remote(path) else abspath(path))


def _traces(settings: Settings) -> Traces | None:
    if not settings.traces:
        return None
    from triplestore.server.traces import Traces  # an extra

    return Traces()


_READING: Final = ["GET", "HEAD"]


def _one(served: Served, more: list[BaseRoute]) -> Starlette:
    """The application of one store."""
    writing = ["GET", "HEAD", "PUT", "POST", "DELETE"]
    routes: list[BaseRoute] = [
        Route("/", _page, methods=_READING),
        *(Route(path, sparql, methods=["GET", "HEAD", "POST"]) for path in ("/sparql", "/sparql/")),
        *(Route(path, graph_store, methods=writing) for path in ("/data", "/data/{name:path}")),
        Route("/health", facts.health, methods=_READING),
        Route("/stats", facts.stats, methods=_READING),
        Route("/api/overview", facts.overview, methods=_READING),
        Route("/api/graphs", facts.graphs, methods=_READING),
        Route("/api/changes", history.changes, methods=_READING),
        Route("/api/hierarchy", hierarchy.classes, methods=_READING),
        Route("/api/vocabulary", facts.vocabulary, methods=_READING),
        Route("/api/resource", facts.resource, methods=_READING),
        Route("/api/suspects", links.suspects, methods=_READING),
        Route("/api/class", links.equals, methods=_READING),
        Route("/api/search", facts.search, methods=_READING),
        Route("/api/plan", plan, methods=["POST"]),
        Route("/api/explain", proofs.explain, methods=_READING),
        Route("/streams", streams.queries, methods=[*_READING, "POST"]),
        Route("/streams/{name:path}", streams.follow, methods=_READING),
        Route("/openapi.json", _openapi, methods=_READING),
        Route("/admin/requests", admin.requests, methods=_READING),
        Route("/admin/requests/{number}", admin.stop, methods=["DELETE"]),
        Route("/admin/backup", admin.backup, methods=["POST"]),
        *more,
        Mount("/static", _Static(directory=WEB / "static")),
    ]

    @asynccontextmanager
    async def life(app: Starlette) -> AsyncIterator[None]:
        async with served:
            yield

    app = _application(routes, life)
    app.state.served = served
    return app


def _several(stores: Mapping[str, Served], more: list[BaseRoute]) -> Starlette:
    """The applications of several stores, each at /NAME/, and a page that lists them."""
    apps = {name: _one(served, []) for name, served in stores.items()}

    @asynccontextmanager
    async def life(app: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as entered:
            for part in apps.values():
                await entered.enter_async_context(part.router.lifespan_context(part))
            yield

    async def listed(request: Request) -> Response:
        account: Account | None = request.scope.get("triplake.account")
        names = [name for name in stores if account is None or account.of(name)]
        links = "".join(f'<li><a href="{html.escape(name)}/">{html.escape(name)}</a></li>' for name in names)
        return HTMLResponse(_LIST.format(links=links), headers=_SAFE)

    async def health(request: Request) -> Response:
        return JSONResponse({"status": "ok", "stores": len(stores)})

    async def entered(request: Request) -> Response:
        return RedirectResponse(f"{request.url.path}/", 308)

    routes: list[BaseRoute] = [
        Route("/", listed, methods=_READING),
        Route("/health", health, methods=_READING),
        *more,
        Mount("/static", _Static(directory=WEB / "static")),
        *(Route(f"/{name}", entered, methods=_READING) for name in apps),
        *(Mount(f"/{name}", app) for name, app in apps.items()),
    ]
    return _application(routes, life)


_LIST: Final = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Triplake</title><link rel="icon" href="static/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="static/app.css"></head>
<body><main><h1>Stores</h1><ul>{links}</ul></main></body></html>
"""


def _application(routes: list[BaseRoute], life: Callable[[Starlette], AbstractAsyncContextManager[None]]) -> Starlette:
    handlers: dict[type[Exception], Callable[[Request, Exception], Awaitable[Response]]] = {
        HttpError: _failed,
        TriplakeError: _failed,
        HTTPException: _unknown,
        Exception: _failed,
    }
    app = Starlette(routes=routes, lifespan=life, exception_handlers=handlers, middleware=[Middleware(Packing)])
    app.router.redirect_slashes = False
    return app


async def _page(request: Request) -> Response:
    return FileResponse(WEB / "index.html", headers=_SAFE)


async def _openapi(request: Request) -> Response:
    return JSONResponse(document(request.app.state.served.service.settings, request.scope.get("root_path", "")))


async def _failed(request: Request, error: Exception) -> Response:
    found = http_error(error)
    if found.status >= 500 and found.status != 503:
        log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    request.scope["triplake.log"]["error"] = found.message
    return answer(request, found)


async def _unknown(request: Request, error: Exception) -> Response:
    """What the router refuses: unknown addresses and methods."""
    assert isinstance(error, HTTPException)
    path = shown(request.url.path)
    messages = {
        404: f"there is nothing at {path}: queries are at /sparql, the graph at /data?default, a page at /",
        405: f"{shown(request.method)} is not for {path}",
    }
    message = messages.get(error.status_code, str(error.detail))
    return answer(request, HttpError(error.status_code, message, error.headers))
