"""The application: addresses and what answers them, as ASGI."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from triplestore.model.errors import TriplakeError
from triplestore.server import facts, proofs, streams
from triplestore.server.broadcast import Broadcast
from triplestore.server.faults import HttpError, answer, http_error
from triplestore.server.graph_store import graph_store
from triplestore.server.guard import Guard
from triplestore.server.negotiation import Packing
from triplestore.server.openapi import document
from triplestore.server.protocol import sparql
from triplestore.server.work import Service

log = logging.getLogger("triplake.server")

WEB: Final = Path(__file__).parent / "web"
"""The page: HTML, styles, scripts."""

_PAGE_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def make_app(service: Service, broadcast: Broadcast | None = None) -> Starlette:
    """The application over a service and continuous queries, which begin when it starts and end when it ends."""

    @asynccontextmanager
    async def life(app: Starlette) -> AsyncIterator[None]:
        async with service:
            if broadcast is not None:
                broadcast.start()
            try:
                yield
            finally:
                if broadcast is not None:
                    await asyncio.to_thread(broadcast.close)

    reading, writing = ["GET", "HEAD"], ["GET", "HEAD", "PUT", "POST", "DELETE"]
    routes = [
        Route("/", _page, methods=reading),
        *(Route(path, sparql, methods=["GET", "HEAD", "POST"]) for path in ("/sparql", "/sparql/")),
        *(Route(path, graph_store, methods=writing) for path in ("/data", "/data/{name:path}")),
        Route("/health", facts.health, methods=reading),
        Route("/stats", facts.stats, methods=reading),
        Route("/api/overview", facts.overview, methods=reading),
        Route("/api/graphs", facts.graphs, methods=reading),
        Route("/api/vocabulary", facts.vocabulary, methods=reading),
        Route("/api/resource", facts.resource, methods=reading),
        Route("/api/explain", proofs.explain, methods=reading),
        Route("/streams", streams.queries, methods=[*reading, "POST"]),
        Route("/streams/{name:path}", streams.follow, methods=reading),
        Route("/openapi.json", _openapi, methods=reading),
        Mount("/static", StaticFiles(directory=WEB / "static")),
    ]
    handlers: dict[type[Exception], Callable[[Request, Exception], Awaitable[Response]]] = {
        HttpError: _failed,
        TriplakeError: _failed,
        HTTPException: _unknown,
        Exception: _failed,
    }
    app = Starlette(
        routes=routes,
        lifespan=life,
        exception_handlers=handlers,
        middleware=[Middleware(Guard, settings=service.settings), Middleware(Packing)],
    )
    app.router.redirect_slashes = False
    app.state.service, app.state.broadcast = service, broadcast
    return app


async def _page(request: Request) -> Response:
    return FileResponse(
        WEB / "index.html", headers={"Content-Security-Policy": _PAGE_POLICY, "Referrer-Policy": "no-referrer"}
    )


async def _openapi(request: Request) -> Response:
    return JSONResponse(document(request.app.state.service.settings))


async def _failed(request: Request, error: Exception) -> Response:
    found = http_error(error)
    if found.status >= 500 and found.status != 503:
        log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    request.scope["triplake.log"]["error"] = found.message
    return answer(request, found)


async def _unknown(request: Request, error: Exception) -> Response:
    """What the router refuses: unknown addresses and methods."""
    assert isinstance(error, HTTPException)
    messages = {
        404: f"there is nothing at {request.url.path}: queries are at /sparql, the graph at /data?default, a page at /",
        405: f"{request.method} is not for {request.url.path}",
    }
    message = messages.get(error.status_code, str(error.detail))
    return answer(request, HttpError(error.status_code, message, error.headers))
