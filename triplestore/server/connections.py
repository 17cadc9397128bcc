"""HTTP on one connection: uvicorn's h11, and what a client that is slow, or means harm, may hold of it.

h11 rather than httptools: at a request that offers an upgrade (`Upgrade: h2c`, which Java's clients send with every
first request) the latter hands no body on, so that a PUT would empty the store.
"""

from __future__ import annotations

import asyncio
import functools
import sys
from collections import Counter
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from triplestore.server.settings import MAX_HEAD, MAX_URL, Clients


class Connection(H11Protocol):
    """One connection; `counts` holds how many each address has open."""

    def __init__(self, bounds: Clients, counts: Counter[str], **more: Any) -> None:
        super().__init__(**more)
        self._bounds, self._counts = bounds, counts
        self._address = ""
        self._head: asyncio.TimerHandle | None = None
        self._rest: asyncio.TimerHandle | None = None
        self._stall: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._address = self.client[0] if self.client else ""
        self._counts[self._address] += 1
        if 0 < self._bounds.per_address < self._counts[self._address]:
            self._refuse(503, "too many connections from this address (--max-connections)")
        else:
            self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._counts[self._address] -= 1
        if not self._counts[self._address]:
            del self._counts[self._address]
        for timer in (self._head, self._rest, self._stall):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        super().data_received(data)
        self._await_head()
        answered = self.conn.their_state is h11.SEND_BODY and self.cycle.response_complete
        if self._rest is not None and not answered:
            self._rest.cancel()
            self._rest = None

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.conn.their_state is h11.SEND_BODY:
            self._rest = self.loop.call_later(self._bounds.linger_seconds, self.transport.close)
        elif self.conn.trailing_data[0]:
            self._await_head()

    def _should_upgrade(self) -> bool:
        """HTTP/1.1 is all there is: who offers more is answered with it, and not a word in the log."""
        return False

    def send_400_response(self, msg: str) -> None:
        """What h11 refuses: told with a status of its own where nothing was answered yet."""
        error = sys.exception()
        status = error.error_status_hint if isinstance(error, h11.RemoteProtocolError) else 400
        if status == 431:
            if b"\n" not in self.conn.trailing_data[0]:
                status, msg = 414, f"the address is longer than {MAX_URL:,} bytes: send a query by POST"
            else:
                msg = f"the headers are longer than {MAX_HEAD:,} bytes"
        elif isinstance(error, h11.RemoteProtocolError):
            msg = f"this is not HTTP: {error}"
        self._refuse(status, msg)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch_reader(self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._stall is not None:
            self._stall.cancel()
            self._stall = None

    def _await_head(self) -> None:
        """Bound the time that a request's head takes, from its first byte (of the first one, from the connection)."""
        waiting = self.conn.their_state is h11.IDLE and not self.transport.is_closing()
        if waiting and self._head is None:
            tick = 0.001  # uvloop counts whole milliseconds, and so is up to one early
            self._head = self.loop.call_later(self._bounds.head_seconds + tick, self._head_is_late)
        elif not waiting and self._head is not None:
            self._head.cancel()
            self._head = None

    def _head_is_late(self) -> None:
        if self.cycle is not None and not self.conn.trailing_data[0]:
            self.transport.close()  # between two requests
        else:
            self._refuse(408, f"no request arrived within {self._bounds.head_seconds:g} s")

    def _watch_reader(self, size: int) -> None:
        """Cut off a client that reads nothing of its answer for a while, with `size` bytes to be sent."""

        def look() -> None:
            left = self.transport.get_write_buffer_size()
            if left < size:
                self._watch_reader(left)
            else:
                self.transport.abort()

        self._stall = self.loop.call_later(self._bounds.body_seconds, look)

    def _refuse(self, status: int, message: str) -> None:
        """Answer, where there is no answer yet, and close."""
        if self.transport.is_closing():
            return
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            body = f"{message}\n".encode("ascii", "replace")
            self.transport.write(
                f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\nContent-Type: text/plain; charset=utf-8\r\n"
                f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode()
                + body
            )
            if self.cycle is not None and not self.cycle.response_complete:
                self.cycle.disconnected = True
                self.cycle.message_event.set()
        self.transport.close()


def configured(app: Callable[..., Any], bounds: Clients, **more: Any) -> uvicorn.Config:
    """How uvicorn serves an application to clients within these bounds."""
    protocol: Any = functools.partial(Connection, bounds, Counter())
    return uvicorn.Config(
        app,
        http=protocol,
        ws="none",
        h11_max_incomplete_event_size=MAX_URL + MAX_HEAD,
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="on",
        **more,
    )
