"""Continuous queries over HTTP: which there are, their answers as server-sent events, and triples posted to streams."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from triplestore.server.bodies import asked, whole
from triplestore.server.broadcast import Broadcast
from triplestore.server.faults import HttpError, shown
from triplestore.server.guard import require_writer
from triplestore.server.negotiation import choose
from triplestore.server.settings import MAX_QUERY
from triplestore.streams.times import time_of

EVENTS: Final = "text/event-stream"

_NO_CACHE: Final = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}


async def queries(request: Request) -> Response:
    """The queries and the figures of their streams; by POST, more of a stream."""
    if request.method == "POST":
        return await _post(request)
    broadcast: Broadcast | None = request.app.state.served.broadcast
    if broadcast is None:
        return JSONResponse({"queries": []})
    listed = [
        {
            "name": name,
            "query": channel.query.text,
            "operator": channel.query.operator,
            "windows": [
                {"stream": stream, "range": window.width, "step": window.step}
                for stream, window in channel.query.windows
            ],
            "answers": channel.answers,
            "time": channel.after(None),
            "rows": channel.rows,
        }
        for name, channel in broadcast.channels.items()
    ]
    return JSONResponse({"queries": listed, "posted": list(broadcast.posted), "figures": broadcast.figures()})


async def follow(request: Request) -> Response:
    """The answers of a query as server-sent events, from the newest on, or those after a time (Last-Event-ID)."""
    broadcast, name = _broadcast(request), request.path_params["name"]
    channel = broadcast.channels.get(name)
    if channel is None:
        raise HttpError(404, f"no query is called {shown(name)}: there are {', '.join(broadcast.channels)}")
    if choose(request.headers.get("accept"), (EVENTS,)) is None:
        raise HttpError(406, f"the answers of a continuous query are sent as {EVENTS}")
    since = _time(request)
    if request.method == "HEAD":
        return Response(headers=_NO_CACHE, media_type=EVENTS)
    return StreamingResponse(_until_gone(request, broadcast, since), headers=_NO_CACHE, media_type=EVENTS)


async def _until_gone(request: Request, broadcast: Broadcast, since: int | None) -> AsyncIterator[bytes]:
    """The events, as long as the client is there."""
    async for piece in broadcast.events(broadcast.channels[request.path_params["name"]], since):
        if await request.is_disconnected():
            return
        yield piece


async def _post(request: Request) -> Response:
    require_writer(request)
    broadcast, sent = _broadcast(request), asked(request)
    names = sent.get("stream", list(broadcast.posted))
    posted = broadcast.posted_to(names[0]) if len(names) == 1 else None
    if posted is None:
        known = ", ".join(name or "one without a name" for name in broadcast.posted)
        raise HttpError(
            400,
            f"say to which stream: ?stream=NAME (clients post {known})"
            if broadcast.posted
            else "the streams of this server come from files: nothing can be posted to them",
        )
    if broadcast.ended:
        raise HttpError(503, f"the streams have ended{': ' if broadcast.fault else ''}{broadcast.fault}")
    most = min(request.app.state.served.service.settings.limits.body, MAX_QUERY)
    body = await whole(request, most)
    taken = await asyncio.to_thread(posted.put, bytes(body), "the body")
    if taken is None:
        raise HttpError(503, "the streams are read more slowly than they are posted", {"Retry-After": "1"})
    return JSONResponse({"triples": taken}, 202)


def _broadcast(request: Request) -> Broadcast:
    found: Broadcast | None = request.app.state.served.broadcast
    if found is None:
        raise HttpError(404, "this server asks no continuous queries: start it with --stream FILE")
    return found


def _time(request: Request) -> int | None:
    given: Any = request.headers.get("last-event-id") or asked(request).get("after", [None])[0]
    try:
        return None if given is None else time_of(given)
    except ValueError:
        raise HttpError(400, f"'{shown(given)}' is not a time: give an integer, or as 2024-05-01T12:00:00Z") from None
