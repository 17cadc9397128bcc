"""Asking a SPARQL endpoint over HTTP (SPARQL 1.1 Protocol, query by direct POST), and reading what it answers.

The exchange runs in a thread of its own, so that who waits for it can be stopped at any time.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Collection
from contextvars import ContextVar
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from socket import SHUT_RDWR, socket
from typing import Final
from urllib.parse import quote, urljoin, urlsplit

import pyoxigraph

from triplake.loaders.tokens import token_of
from triplestore.model.endpoints import DEPTH, normalised
from triplestore.model.errors import EndpointError, UsageError
from triplestore.model.stopping import check
from triplestore.model.thresholds import SIZES

Row = tuple[str | None, ...]
"""A solution: a token, or None, for each variable."""

CONNECT: Final = 10.0
"""Seconds in which a connection is made."""

WHOLE: Final = 60.0
"""Seconds in which the whole answer is there, if the query has no shorter limit of its own."""

MOST_BYTES: Final = 64 << 20
"""Bytes of an answer."""

MOST_REDIRECTS: Final = 5
"""Redirects that are followed for one answer."""

LOOK: Final = 0.05
"""Seconds between two looks whether the query is to be stopped."""

depth: ContextVar[int] = ContextVar("depth", default=0)
"""In how many queries of endpoints the query is nested that this thread answers."""

_SHOWN: Final = 200
_JSON: Final = "application/sparql-results+json"
_QUERY: Final = "application/sparql-query"
_HEADERS: Final = {"Content-Type": _QUERY, "Accept": _JSON, "Accept-Encoding": "identity", "User-Agent": "triplake"}
_REDIRECTS: Final = (301, 302, 307, 308)
_OK: Final = 200


def ask(address: str, query: str, allowed: Collection[str]) -> bytes:
    """The JSON results of a query, by POST. address, and those that it redirects to, must be among the `allowed`, all
    `normalised`. Raises EndpointError, StoppedError."""
    ends = time.monotonic() + WHOLE
    found = _exchange(address, query, ends)
    for _ in range(MOST_REDIRECTS):
        if found.status not in _REDIRECTS:
            break
        target = _target(address, found.location)
        if target not in allowed:
            raise EndpointError(
                f"the endpoint {address} redirects to {target}, which is not allowed: ask that one, or allow it, too"
            )
        address = target
        found = _exchange(address, query, ends)
    if found.status != _OK:
        raise EndpointError(f"the endpoint {address} answered with status {found.status}{_quoted(found.body)}")
    if found.media != _JSON:
        media = f"with {found.media}" if found.media else "without a content type"
        raise EndpointError(f"the endpoint {address} answered {media}, not with {_JSON}{_quoted(found.body)}")
    return found.body


def solutions(address: str, answer: bytes, variables: Collection[str], most: int) -> list[Row]:
    """The solutions in JSON results, as tokens of these variables; blank nodes are new. Raises EndpointError where they
    are more than `most`, or what was answered is nothing of the kind."""
    prefix = f"_:s{secrets.token_hex(8)}_"
    rows: list[Row] = []
    found = row = None

    def own(term: object) -> str:
        return token_of(term, lambda label: f"{prefix}{label}")

    try:
        found = pyoxigraph.parse_query_results(answer, pyoxigraph.QueryResultsFormat.JSON)
        if not isinstance(found, pyoxigraph.QuerySolutions):
            raise ValueError("it is the answer to an ASK")
        given = {variable.value for variable in found.variables}
        for row in found:
            if len(rows) % SIZES.objects == 0:
                check()
            if len(rows) == most:
                raise EndpointError(
                    f"the endpoint {address} gives more than {most:,} solutions, all that is left here: ask for fewer"
                )
            terms = (row[name] if name in given else None for name in variables)
            rows.append(tuple(None if term is None else own(term) for term in terms))
    except (SyntaxError, ValueError) as error:
        raise EndpointError(f"the endpoint {address} answered with something other than results: {error}") from error
    finally:
        found = row = None  # an error must not keep them: they can be freed by this thread only
    return rows


def _target(address: str, location: str) -> str:
    """Where a redirect leads to."""
    try:
        return normalised(urljoin(address, location))
    except (UsageError, ValueError) as error:
        raise EndpointError(
            f"the endpoint {address} redirects to {location[:_SHOWN]!r}, no endpoint's address"
        ) from error


def _quoted(body: bytes) -> str:
    """The start of an answer, for messages."""
    text = " ".join(body[: 4 * _SHOWN].decode(errors="replace").split())
    return f": {text[:_SHOWN]}" if text else ""


@dataclass(frozen=True, slots=True)
class _Answer:
    """An HTTP response: the media type is without parameters."""

    status: int
    media: str
    location: str
    body: bytes


@dataclass(slots=True)
class _Exchange:
    """One request and its answer: `run` in a thread, the rest by who waits for it."""

    address: str
    query: bytes
    depth: int
    over: threading.Event = field(default_factory=threading.Event)
    answer: _Answer | None = None
    error: Exception | None = None
    _socket: socket | None = None
    _stopped: bool = False

    def run(self) -> None:
        """Ask, and read the answer."""
        try:
            self.answer = self._asked()
        except Exception as error:  # raised by who waits
            self.error = error
        finally:
            self.over.set()

    def stop(self) -> None:
        """Nobody waits any more."""
        self._stopped = True
        if self._socket is not None:
            try:
                self._socket.shutdown(SHUT_RDWR)
            except OSError:
                return  # it is closed already

    def _asked(self) -> _Answer:
        parts = urlsplit(self.address)
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        connection = kind(parts.hostname or "", parts.port, timeout=CONNECT)
        try:
            connection.connect()
            self._socket = connection.sock
            if self._stopped:
                raise EndpointError("nobody waits")
            self._socket.settimeout(CONNECT + WHOLE)  # who waits stops it before
            target = f"{parts.path}?{parts.query}" if parts.query else parts.path
            headers = {**_HEADERS, DEPTH: str(self.depth)}
            connection.request("POST", quote(target, safe="/?%!$&'()*+,;=:@~"), self.query, headers)
            with connection.getresponse() as response:
                return self._read(response)
        finally:
            connection.close()

    def _read(self, response: HTTPResponse) -> _Answer:
        found = bytearray()
        while len(found) <= MOST_BYTES and (piece := response.read(SIZES.piece)):
            found += piece
        if len(found) > MOST_BYTES:
            size = f"more than {MOST_BYTES:,} bytes"
            raise EndpointError(f"the endpoint {self.address} answers with {size}: ask for less")
        media = response.headers.get_content_type() if "Content-Type" in response.headers else ""
        return _Answer(response.status, media, response.headers.get("Location", ""), bytes(found))


def _exchange(address: str, query: str, ends: float) -> _Answer:
    """Ask an endpoint, and wait for what it answers until `ends`, by the monotonic clock."""
    exchange = _Exchange(address, query.encode(), depth.get() + 1)
    check()
    threading.Thread(target=exchange.run, name="triplake-service", daemon=True).start()
    try:
        while not exchange.over.wait(LOOK):
            check()
            if time.monotonic() >= ends:
                raise EndpointError(f"the endpoint {address} has not answered in {WHOLE:g} s")
    finally:
        exchange.stop()
    if exchange.answer is not None:
        return exchange.answer
    if isinstance(exchange.error, EndpointError):
        raise exchange.error
    if isinstance(exchange.error, OSError | HTTPException | ValueError):
        raise EndpointError(f"the endpoint {address} cannot be asked: {_told(exchange.error)}") from exchange.error
    assert exchange.error is not None
    raise exchange.error


def _told(error: Exception) -> str:
    """The reason of a failure."""
    reason = error.strerror if isinstance(error, OSError) else None
    return reason or " ".join(str(error).split())[:_SHOWN] or type(error).__name__
