"""Reading what a request sent: its parameters, its text, a file; never more than the limit."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import zlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, TypeVar
from urllib.parse import unquote_to_bytes

from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import ClientDisconnect, Request

from triplestore.engine import temporary
from triplestore.engine.disk import naming
from triplestore.model.thresholds import SIZES
from triplestore.server.faults import HttpError, shown
from triplestore.server.guard import may_write
from triplestore.server.held import Held
from triplestore.server.settings import MAX_QUERY

FORM: Final = "application/x-www-form-urlencoded"
MULTIPART: Final = "multipart/form-data"

LEAST: Final = 1024
"""Bytes of a body that must come within the time that clients have for some progress."""

Parameters = dict[str, list[str]]

T = TypeVar("T")


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
        raise HttpError(415, f"the charset {shown(charset)} is not understood: send UTF-8")


MOST_PARAMETERS: Final = 1_000
"""Parameters of a request."""


def parameters(encoded: str) -> Parameters:
    """The parameters of a query string or a form, each with its values. Raises HttpError (400) for bad encoding, and
    for more than `MOST_PARAMETERS`."""
    if encoded.count("&") >= MOST_PARAMETERS:
        raise HttpError(400, f"these are more than {MOST_PARAMETERS:,} parameters: send fewer")
    found: Parameters = {}
    try:
        for pair in filter(None, encoded.split("&")):
            name, _, value = pair.partition("=")
            found.setdefault(_decoded(name), []).append(_decoded(value))
    except ValueError as error:
        raise HttpError(400, "the parameters are not percent-encoded UTF-8") from error
    return found


def asked(request: Request) -> Parameters:
    """The parameters of a request's address, to its end: `Request.url` has none behind a `#`. Raises what `parameters`
    raises."""
    return parameters(request.scope["query_string"].decode("latin-1"))


def _decoded(text: str) -> str:
    """Percent-encoded UTF-8, decoded by the piece: each escape takes 40 bytes until the next are joined. Raises
    UnicodeDecodeError."""
    text = text.replace("+", " ")
    if "%" not in text:
        return text
    found, start = bytearray(), 0
    while start < len(text):
        end = start + SIZES.piece
        within = text.rfind("%", end - 2, end)
        end = end if within < 0 else within  # no escape is cut
        found += unquote_to_bytes(text[start:end])
        start = end
    return found.decode()


async def chunks(request: Request, most: int) -> AsyncGenerator[bytes, None]:
    """The body as it arrives, unpacked. Raises HttpError: 413 past `most` bytes, packed or not; 400 where its length is
    another than it says; 411 where there is neither; 408 where it comes too slowly; 415 for another coding."""
    if "content-length" not in request.headers and "transfer-encoding" not in request.headers:
        raise HttpError(
            411, "the request has no body, nor a Content-Length that says so: send one, of 0 for no triples"
        )
    coding = request.headers.get("content-encoding", "").strip().lower()
    if coding not in ("", "identity", "gzip", "x-gzip"):
        raise HttpError(415, f"the content coding {shown(coding)} is not understood: send gzip, or none", ACCEPTED)
    sent = _sent(request, most)
    if coding in ("", "identity"):
        async for chunk in sent:
            yield chunk
        return
    async for chunk in _unpacked(sent, most):
        yield chunk


ACCEPTED: Final = {"Accept-Encoding": "gzip"}
_PIECE: Final = 1 << 18
"""Bytes that are unpacked at a time."""
_GZIP: Final = 16 + zlib.MAX_WBITS


def _too_large(most: int) -> HttpError:
    option = "" if most == MAX_QUERY else " (--max-body)"
    return HttpError(413, f"the body is larger than {most:,} bytes, the limit here{option}")


async def _sent(request: Request, most: int) -> AsyncGenerator[bytes, None]:
    """The body as it arrives."""
    header = request.headers.get("content-length", "")
    length = int(header) if header.isdecimal() and header.isascii() else None
    if length is not None and length > most:
        raise _too_large(most)
    size = 0
    try:
        async for chunk in _in_time(request):
            size += len(chunk)
            if size > most:
                raise _too_large(most)
            yield chunk
    except ClientDisconnect as error:
        raise HttpError(400, "the body ended before its length") from error
    if length is not None and size != length:
        raise HttpError(400, f"the body has {size:,} bytes where Content-Length says {length:,}: nothing was done")


async def _in_time(request: Request) -> AsyncGenerator[bytes, None]:
    """The body's chunks; of the time, only what is spent waiting for them counts."""
    seconds = request.app.state.served.service.settings.clients.body_seconds
    loop, stream = asyncio.get_running_loop(), request.stream()
    left, received = seconds, 0
    while True:
        started = loop.time()
        try:
            async with asyncio.timeout(left):
                chunk = await anext(stream, None)
        except TimeoutError:
            message = f"less than {LEAST:,} bytes of the body arrived within {seconds:g} s: send it faster"
            raise HttpError(408, message, {"Connection": "close"}) from None
        if chunk is None:
            return
        left, received = left - loop.time() + started, received + len(chunk)
        if received >= LEAST:
            left, received = seconds, 0
        yield chunk


async def _unpacked(packed: AsyncIterator[bytes], most: int) -> AsyncGenerator[bytes, None]:
    """The bytes that gzip (one member or several) holds. Raises HttpError: 413 past `most` bytes, 400 for no gzip."""
    size, unpack = 0, zlib.decompressobj(_GZIP)
    try:
        async for chunk in packed:
            rest, found = chunk, b""
            while rest or (len(found) == _PIECE and not unpack.eof):
                if unpack.eof:
                    unpack = zlib.decompressobj(_GZIP)
                found = unpack.decompress(rest, _PIECE)
                rest = unpack.unused_data if unpack.eof else unpack.unconsumed_tail
                size += len(found)
                if size > most:
                    raise _too_large(most)
                if found:
                    yield found
                    await asyncio.sleep(0)  # a small chunk may hold much: others have a turn
    except zlib.error as error:
        raise HttpError(400, f"the body is not gzip, though Content-Encoding says so ({error})") from error
    if not unpack.eof:
        raise HttpError(400, "the gzip of the body ends before its end")


async def whole(request: Request, most: int) -> bytearray:
    """The body, in memory until the request has ended. Raises HttpError: 413 past `most` bytes, 503 where other bodies
    leave no room for it."""
    held: Held = request.scope["triplake.body"]
    share, found = not may_write(request), bytearray()
    async for chunk in chunks(request, most):
        held.add(len(chunk), share)
        found += chunk
    return found


async def text(request: Request, most: int) -> str:
    """The body as text. Raises HttpError: 413 past `most` bytes, 415 for another charset, 400 if it is not UTF-8; 503
    where other bodies leave no room for it."""
    return await _made(request, most, lambda text: text)


async def form(request: Request, most: int) -> Parameters:
    """The body as a form. Raises what `text` and `parameters` raise."""
    return await _made(request, most, lambda text: parameters(text.replace("\n", "").replace("\r", "")))


async def _made(request: Request, most: int, make: Callable[[str], T]) -> T:
    """What is made of the body's text: in a thread where it is long, so that others have their turn meanwhile."""
    _, charset = media_type(request.headers.get("content-type"))
    check_charset(charset)
    body = await whole(request, most)

    def work() -> T:
        try:
            return make(body.decode("utf-8-sig"))  # some editors begin each file with a mark
        except UnicodeDecodeError as error:
            raise HttpError(400, f"the body is not UTF-8: byte {error.start} is wrong") from error

    return work() if len(body) <= SIZES.piece else await asyncio.to_thread(work)


@asynccontextmanager
async def documents(request: Request, suffixes: Mapping[str, str], most: int) -> AsyncIterator[list[Path]]:
    """The body as a temporary file, or each file of a form (multipart/form-data) as one, there while this is entered.

    suffixes: by media type, what the file's name ends in. Raises HttpError: 413 past `most` bytes in all, 415 for
    another media type or charset, 400 for a form that is none.
    """
    header = request.headers.get("content-type")
    with temporary.folder("body") as folder:
        if media_type(header)[0] != MULTIPART:
            path = Path(folder, f"body{_suffix(header, suffixes)}")
            with naming(path), path.open("wb") as out:
                async for chunk in chunks(request, most):
                    out.write(chunk)
            yield [path]
            return
        try:
            with naming(tempfile.gettempdir()):
                form = await MultiPartParser(request.headers, chunks(request, most)).parse()
        except (MultiPartException, KeyError, ValueError) as error:
            raise HttpError(400, f"the form cannot be read: {error}") from error
        paths = []
        for number, (name, part) in enumerate(form.multi_items()):
            if not isinstance(part, UploadFile):
                message = f"the part {shown(name)} of the form is not a file"
                raise HttpError(400, f"{message}: give it a filename and a content type")
            paths.append(Path(folder, f"body{number}{_suffix(part.content_type, suffixes)}"))
            with naming(paths[-1]), paths[-1].open("wb") as out:
                shutil.copyfileobj(part.file, out)
        await form.close()
        yield paths


def _suffix(header: str | None, suffixes: Mapping[str, str]) -> str:
    media, charset = media_type(header)
    if media not in suffixes:
        message = f"the content type {shown(media)} is not understood" if media else "the request says no content type"
        raise HttpError(415, f"{message}: send {', '.join(suffixes)}")
    check_charset(charset)
    return suffixes[media]
