"""Reading what a request sent: its parameters, its text, a file; never more than the limit."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl

from starlette.requests import ClientDisconnect, Request

from triplestore.server.faults import HttpError

FORM: Final = "application/x-www-form-urlencoded"

Parameters = dict[str, list[str]]


def media_type(request: Request) -> tuple[str, str]:
    """The media type of the body and its charset, both in lower case, empty where there are none."""
    media, *parameters = request.headers.get("content-type", "").split(";")
    charset = ""
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset":
            charset = value.strip().strip("\"'").lower()
    return media.strip().lower(), charset


def parameters(encoded: str | bytes) -> Parameters:
    """The parameters of a query string or a form, each with its values. Raises HttpError (400) for bad encoding."""
    try:
        text = encoded.decode("ascii") if isinstance(encoded, bytes) else encoded
        pairs = parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=1_000)
    except (UnicodeDecodeError, ValueError) as error:
        raise HttpError(400, "the parameters are not percent-encoded UTF-8") from error
    found: Parameters = {}
    for name, value in pairs:
        found.setdefault(name, []).append(value)
    return found


async def chunks(request: Request, most: int) -> AsyncIterator[bytes]:
    """The body as it arrives. Raises HttpError (413) past `most` bytes."""
    too_large = HttpError(413, f"the body is larger than {most:,} bytes, the limit here (--max-body)")
    length = request.headers.get("content-length", "0")
    if length.isdigit() and int(length) > most:
        raise too_large
    size = 0
    try:
        async for chunk in request.stream():
            size += len(chunk)
            if size > most:
                raise too_large
            yield chunk
    except ClientDisconnect as error:
        raise HttpError(400, "the body ended before its length") from error


async def text(request: Request, most: int) -> str:
    """The body as text. Raises HttpError: 413 past `most` bytes, 415 for another charset, 400 if it is not UTF-8."""
    _, charset = media_type(request)
    if charset not in ("", "utf-8", "utf8", "us-ascii"):
        raise HttpError(415, f"the charset {charset} is not understood: send UTF-8")
    body = b"".join([chunk async for chunk in chunks(request, most)])
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise HttpError(400, f"the body is not UTF-8: byte {error.start} is wrong") from error


async def form(request: Request, most: int) -> Parameters:
    """The body as a form."""
    return parameters((await text(request, most)).replace("\n", "").replace("\r", ""))


@asynccontextmanager
async def file(request: Request, suffix: str, most: int) -> AsyncIterator[Path]:
    """The body as a temporary file, there while this is entered."""
    with tempfile.TemporaryDirectory(prefix="triplake-body-") as folder:
        path = Path(folder, f"body{suffix}")
        with path.open("wb") as out:
            async for chunk in chunks(request, most):
                out.write(chunk)
        yield path
