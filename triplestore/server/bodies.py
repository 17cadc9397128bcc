"""Reading what a request sent: its parameters, its text, a file; never more than the limit."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl

from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import ClientDisconnect, Request

from triplestore.server.faults import HttpError

FORM: Final = "application/x-www-form-urlencoded"
MULTIPART: Final = "multipart/form-data"

Parameters = dict[str, list[str]]


def media_type(header: str | None) -> tuple[str, str]:
    """The media type and the charset of a Content-Type header, both in lower case, empty where there are none."""
    media, *parameters = (header or "").split(";")
    charset = ""
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset":
            charset = value.strip().strip("\"'").lower()
    return media.strip().lower(), charset


def check_charset(charset: str) -> None:
    """Raise HttpError (415) for a charset other than UTF-8."""
    if charset not in ("", "utf-8", "utf8", "us-ascii"):
        raise HttpError(415, f"the charset {charset} is not understood: send UTF-8")


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


async def chunks(request: Request, most: int) -> AsyncGenerator[bytes, None]:
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
    _, charset = media_type(request.headers.get("content-type"))
    check_charset(charset)
    body = b"".join([chunk async for chunk in chunks(request, most)])
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise HttpError(400, f"the body is not UTF-8: byte {error.start} is wrong") from error


async def form(request: Request, most: int) -> Parameters:
    """The body as a form."""
    return parameters((await text(request, most)).replace("\n", "").replace("\r", ""))


@asynccontextmanager
async def documents(request: Request, suffixes: Mapping[str, str], most: int) -> AsyncIterator[list[Path]]:
    """The body as a temporary file, or each file of a form (multipart/form-data) as one, there while this is entered.

    suffixes: by media type, what the file's name ends in. Raises HttpError: 413 past `most` bytes in all, 415 for
    another media type or charset, 400 for a form that is none.
    """
    header = request.headers.get("content-type")
    with tempfile.TemporaryDirectory(prefix="triplake-body-") as folder:
        if media_type(header)[0] != MULTIPART:
            path = Path(folder, f"body{_suffix(header, suffixes)}")
            with path.open("wb") as out:
                async for chunk in chunks(request, most):
                    out.write(chunk)
            yield [path]
            return
        try:
            form = await MultiPartParser(request.headers, chunks(request, most)).parse()
        except (MultiPartException, KeyError, ValueError) as error:
            raise HttpError(400, f"the form cannot be read: {error}") from error
        paths = []
        for number, (name, part) in enumerate(form.multi_items()):
            if not isinstance(part, UploadFile):
                raise HttpError(400, f"the part {name} of the form is no file: give it a filename and a content type")
            paths.append(Path(folder, f"body{number}{_suffix(part.content_type, suffixes)}"))
            with paths[-1].open("wb") as out:
                shutil.copyfileobj(part.file, out)
        await form.close()
        yield paths


def _suffix(header: str | None, suffixes: Mapping[str, str]) -> str:
    media, charset = media_type(header)
    if media not in suffixes:
        said = f"the content type {media} is not understood" if media else "the request says no content type"
        raise HttpError(415, f"{said}: send {', '.join(suffixes)}")
    check_charset(charset)
    return suffixes[media]
