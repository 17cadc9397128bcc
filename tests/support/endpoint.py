"""SPARQL endpoints on sockets of their own, in threads: what SERVICE asks."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pyoxigraph

JSON = "application/sparql-results+json"


@dataclass(frozen=True)
class Reply:
    """What an endpoint answers. headers: more of them."""

    body: bytes = b""
    status: int = 200
    media: str | None = JSON
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Endpoint:
    """An endpoint: its address, the queries that it was sent, and the headers of the last."""

    address: str
    queries: list[str] = field(default_factory=list)
    headers: Mapping[str, str] = field(default_factory=dict)


Answer = Callable[[str], Reply | Iterator[bytes]]
"""Answers a query. Pieces: sent as they are made, headers and all."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that has gone is none."""


@contextmanager
def endpoint(answer: Answer) -> Iterator[Endpoint]:
    """An endpoint that answers while this is entered."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            query = self.rfile.read(int(self.headers["Content-Length"])).decode()
            made.queries.append(query)
            made.headers = dict(self.headers)
            reply = answer(query)
            if not isinstance(reply, Reply):
                with contextlib.suppress(OSError):
                    for piece in reply:
                        self.wfile.write(piece)
                return
            self.send_response(reply.status)
            for name, value in {"Content-Type": reply.media, "Content-Length": str(len(reply.body))}.items():
                if value is not None:
                    self.send_header(name, value)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(reply.body)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing is logged."""

    server = _Server(("127.0.0.1", 0), Handler)
    made = Endpoint(f"http://127.0.0.1:{server.server_address[1]}/sparql")
    Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        yield made
    finally:
        server.shutdown()
        server.server_close()


def answering(store: pyoxigraph.Store) -> Answer:
    """Answers from a store of Oxigraph's."""

    def answer(query: str) -> Reply:
        try:
            found = store.query(query)
        except SyntaxError as error:
            return Reply(str(error).encode(), 400, "text/plain")
        body = found.serialize(format=pyoxigraph.QueryResultsFormat.JSON)  # type: ignore[union-attr]
        assert body is not None
        return Reply(body)

    return answer


def dead_address() -> str:
    """An address where nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return f"http://127.0.0.1:{taken.getsockname()[1]}/sparql"
