"""Documents from the web, copied to scratch files before they are read."""

from __future__ import annotations

import http.client
import os
import string
import tempfile
from dataclasses import dataclass
from typing import Final
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlsplit, urlunsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from triplake.loaders.compression import compression, compression_of
from triplestore.engine import temporary
from triplestore.engine.disk import write_whole
from triplestore.model.errors import InputError
from triplestore.model.stopping import check
from triplestore.model.thresholds import SIZES

PATIENCE: Final = 30.0
"""Seconds for which a server may send nothing."""

_ACCEPT: Final = (
    "text/turtle, application/n-triples, application/n-quads, application/trig, application/ld+json;q=0.9, "
    "application/rdf+xml;q=0.9, */*;q=0.1"
)


@dataclass(frozen=True, slots=True)
class Fetched:
    """A document. path: of the scratch file, which is the caller's; iri: where it was in the end; media: what the
    server calls it, "" where it says nothing."""

    path: str
    iri: str
    media: str


class _OnTheWeb(HTTPRedirectHandler):
    """Follows redirects to http and https alone."""

    def redirect_request(self, req: Request, fp, code, msg, headers, newurl: str) -> Request | None:  # type: ignore[no-untyped-def]
        if urlsplit(newurl).scheme.lower() not in ("http", "https"):
            raise InputError(f"the server redirects to {newurl}, which is not on the web", req.full_url)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def fetch(url: str, most: int) -> Fetched:
    """Fetch a document of up to `most` bytes. Raises InputError, which names the URL; StoppedError."""
    uri = _as_uri(url)
    asked = Request(uri, headers={"Accept": _ACCEPT, "User-Agent": "triplake"})
    path: str | None = None
    try:
        with build_opener(_OnTheWeb).open(asked, timeout=PATIENCE) as answer:
            announced = answer.headers.get("Content-Length", "")
            if announced.isdigit() and int(announced) > most:
                raise _too_large(url, most)
            first = answer.read(SIZES.block)
            suffix = compression_of(first[:4]) or compression(urlsplit(answer.url).path) or ".txt"
            handle, path = tempfile.mkstemp(prefix=temporary.prefix("fetched"), suffix=suffix)
            size = 0
            try:
                while first:
                    check()
                    size += len(first)
                    if size > most:
                        raise _too_large(url, most)
                    write_whole(handle, first, path)
                    first = answer.read(SIZES.block)
            finally:
                os.close(handle)
            if announced.isdigit() and size < int(announced):
                raise InputError(f"the server sent {size:,} of {int(announced):,} bytes: try again", url)
            media = answer.headers.get("Content-Type", "").partition(";")[0].strip().lower()
            found, path = Fetched(path, url if answer.url == uri else answer.url, media), None
            return found
    except HTTPError as error:
        raise InputError(f"the server answered {error.code} {error.reason}", url) from error
    except (URLError, OSError, http.client.HTTPException, ValueError) as error:
        reason = getattr(error, "reason", None) or error
        raise InputError(f"it cannot be fetched: {getattr(reason, 'strerror', None) or reason}", url) from error
    finally:
        if path is not None:
            os.unlink(path)


def _too_large(url: str, most: int) -> InputError:
    return InputError(f"it is larger than {most / (1 << 20):,.0f} MiB: allow more, or download it first", url)


def _as_uri(iri: str) -> str:
    """An IRI as HTTP asks for it (RFC 3987, section 3.1). Raises InputError where its host is not a name."""
    try:
        parts = urlsplit(iri)
        if iri.isascii():
            return iri
        host = parts.netloc.encode("idna").decode()
    except ValueError as error:
        raise InputError(f"it cannot be fetched: {error}", iri) from error
    path, query = (quote(part, safe=string.punctuation + " ") for part in (parts.path, parts.query))
    return urlunsplit(parts._replace(netloc=host, path=path, query=query))
