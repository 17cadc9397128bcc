"""Errors as answers: a status, a sentence that tells what to do, and where in the request the fault is."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from triplestore.engine.disk import DISK, told
from triplestore.model.errors import (
    ConflictError,
    EndlessError,
    EndpointError,
    FormatError,
    InputError,
    MemoryLimitError,
    NonConformingError,
    StoppedError,
    StorageError,
    TriplakeError,
    UnsupportedError,
    UsageError,
)
from triplestore.server.negotiation import FAULTS, choose

MESSAGE: Final = 4_000
"""Characters of an error's message that are sent."""

ECHOED: Final = 100
"""Characters of what a request has sent that a message repeats."""


def shown(text: str) -> str:
    """What a request has sent, as a message repeats it: the beginning of what is long."""
    return _cut(text, ECHOED)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}…"


class HttpError(Exception):
    """A request that is answered with an error. headers: more of them, such as Allow."""

    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        self.status, self.message, self.headers = status, _cut(message, MESSAGE), dict(headers or {})
        super().__init__(self.message)


_PLACE: Final = re.compile(r"\bline (\d{1,9}), column (\d{1,9})\b|^(\d{1,9}):(\d{1,9}): ")


def http_error(error: Exception) -> HttpError:
    """What a failure of the store means for who asked."""
    if isinstance(error, HttpError):
        return error
    if isinstance(error, StoppedError):
        return HttpError(503, str(error), {"Retry-After": "60"})
    if isinstance(error, MemoryLimitError):
        return HttpError(503, str(error), {"Retry-After": "60"})
    if isinstance(error, MemoryError):
        return HttpError(503, "out of memory: ask for less (LIMIT, a closer pattern)", {"Retry-After": "60"})
    if isinstance(error, StorageError):
        return HttpError(507, str(error))
    if isinstance(error, EndpointError):
        return HttpError(502, str(error))
    if isinstance(error, EndlessError | NonConformingError):
        return HttpError(422, str(error))
    if isinstance(error, ConflictError):
        return HttpError(503, f"{error}", {"Retry-After": "1"})
    if isinstance(error, FormatError):
        return HttpError(406, str(error))
    if isinstance(error, InputError | UnsupportedError | UsageError):
        return HttpError(400, str(error))
    if isinstance(error, OSError) and error.errno in DISK:
        return HttpError(507, told(error.strerror, error.filename))
    if isinstance(error, TriplakeError):
        return HttpError(500, str(error).splitlines()[0])  # what follows is the statement that failed
    return HttpError(500, f"a fault of Triplake's ({type(error).__name__}); the server's log has more")


def answer(request: Request, error: HttpError) -> Response:
    """The response: plain text, or problem details (RFC 9457) for who prefers JSON."""
    media = choose(request.headers.get("accept"), FAULTS) or FAULTS[0]
    if media == "text/plain":
        return Response(f"{error.message}\n", error.status, error.headers, "text/plain; charset=utf-8")
    problem: dict[str, object] = {
        "title": HTTPStatus(error.status).phrase,
        "status": error.status,
        "detail": error.message,
    }
    if place := _PLACE.search(error.message):
        line, column = (int(number) for number in place.groups() if number is not None)
        problem |= {"line": line, "column": column}
    return Response(json.dumps(problem), error.status, error.headers, "application/problem+json")
