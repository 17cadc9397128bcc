"""Content negotiation (RFC 9110, section 12): which of the offered media types suits an Accept header best."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from starlette.datastructures import Headers
from starlette.middleware.gzip import GZipMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

ROWS: Final = {
    "application/sparql-results+json": "json",
    "application/sparql-results+xml": "xml",
    "text/csv": "csv",
    "text/tab-separated-values": "tsv",
    "application/json": "json",
    "application/xml": "xml",
    "text/xml": "xml",
}
"""Media types of SELECT and ASK results, the preferred first, and their formats (`sparql.formats`)."""

GRAPHS: Final = {
    "text/turtle": "ttl",
    "application/n-triples": "nt",
    "application/rdf+xml": "rdf",
    "application/xml": "rdf",
    "text/xml": "rdf",
    "text/plain": "nt",
    "application/ld+json": "jsonld",
    "application/json": "jsonld",
    "application/trig": "trig",
    "application/n-quads": "nq",
}
"""Media types of triples, the preferred first, and their formats."""

FAULTS: Final = ("text/plain", "application/problem+json", "application/json")
"""Media types of error messages."""

ROW_NAMES: Final = {
    "json": "application/sparql-results+json",
    "xml": "application/sparql-results+xml",
    "csv": "text/csv",
    "tsv": "text/tab-separated-values",
}
"""Values of the request parameters `format` and `output`, and the media types of SELECT and ASK results they mean."""

GRAPH_NAMES: Final = {
    "turtle": "text/turtle",
    "ttl": "text/turtle",
    "n3": "text/turtle",
    "nt": "application/n-triples",
    "ntriples": "application/n-triples",
    "n-triples": "application/n-triples",
    "xml": "application/rdf+xml",
    "rdf": "application/rdf+xml",
    "rdf+xml": "application/rdf+xml",
    "rdfxml": "application/rdf+xml",
    "json": "application/ld+json",
    "jsonld": "application/ld+json",
    "json-ld": "application/ld+json",
    "trig": "application/trig",
    "nq": "application/n-quads",
    "nquads": "application/n-quads",
    "n-quads": "application/n-quads",
}
"""The same for the results of CONSTRUCT and DESCRIBE."""


@dataclass(frozen=True, slots=True)
class _Range:
    """One media range of an Accept header."""

    kind: str
    subtype: str
    quality: float

    def fits(self, media: str) -> bool:
        kind, _, subtype = media.partition("/")
        return self.kind in ("*", kind) and self.subtype in ("*", subtype)

    @property
    def precise(self) -> int:
        return (self.kind != "*") + (self.subtype != "*")


def accepted(header: str) -> list[_Range]:
    """The media ranges of an Accept header; parts that are none are left out."""
    found = []
    for part in header.split(","):
        media, *parameters = (piece.strip() for piece in part.split(";"))
        kind, slash, subtype = media.lower().partition("/")
        if not (kind and slash and subtype):
            continue
        quality = 1.0
        for parameter in parameters:
            name, _, value = parameter.partition("=")
            if name.strip().lower() == "q":
                try:
                    quality = min(max(float(value), 0.0), 1.0)
                except ValueError:
                    quality = 0.0
        found.append(_Range(kind, subtype, quality))
    return found


class Packing:
    """Packs answers of a kilobyte or more by gzip, as they are sent, for who takes it (ASGI)."""

    def __init__(self, app: ASGIApp) -> None:
        self._app, self._packed = app, GZipMiddleware(app, minimum_size=1024, compresslevel=4)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        taken = scope["type"] == "http" and takes_gzip(Headers(scope=scope).get("accept-encoding", ""))
        await (self._packed if taken else self._app)(scope, receive, send)


def takes_gzip(header: str) -> bool:
    """Whether an Accept-Encoding header names gzip, and not to refuse it."""
    for part in header.lower().split(","):
        coding, *parameters = (piece.strip() for piece in part.split(";"))
        if coding in ("gzip", "x-gzip"):
            return not any(re.fullmatch(r"q\s*=\s*0(\.0*)?", parameter) for parameter in parameters)
    return False


def choose(header: str | None, offers: Sequence[str]) -> str | None:
    """The offer that an Accept header likes best, the first of equals (and without a header); None: it accepts none."""
    if not header or not header.strip():
        return offers[0]
    ranges = accepted(header)

    def quality(media: str) -> float:
        fitting = [r for r in ranges if r.fits(media)]
        return max(fitting, key=lambda r: r.precise).quality if fitting else 0.0

    best = max(offers, key=quality)
    return best if quality(best) > 0 else None
