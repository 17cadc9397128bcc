"""Turtle, TriG, RDF/XML and JSON-LD: documents that are parsed as a whole, streaming, by pyoxigraph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import nullcontext, suppress
from io import BytesIO
from typing import IO, Final, cast
from xml.parsers import expat

from pyoxigraph import RdfFormat, parse

from triplake.loaders.bounds import Again, Bounded, Json, Turtle, Xml, check_terms, place_in
from triplake.loaders.compression import Watch, opened
from triplake.loaders.seeming import head, seeming
from triplake.loaders.sources import Source, Syntax, syntax_of_path
from triplake.loaders.tokens import TOO_LONG, Scope, place_and_reason
from triplestore.model.dataset import Quad
from triplestore.model.errors import InputError
from triplestore.model.triple_terms import TERM_DEPTH

_FORMATS: Final = {
    Syntax.TURTLE: RdfFormat.TURTLE,
    Syntax.TRIG: RdfFormat.TRIG,
    Syntax.RDFXML: RdfFormat.RDF_XML,
    Syntax.JSONLD: RdfFormat.JSON_LD,
}


def document(
    source: Source, scope: Scope, declared: dict[str, str] | None = None, watch: Watch | None = None
) -> Iterator[Quad]:
    """The quads of a document, in order. Raises InputError where it is wrong, after the triples before that.
    declared: takes the prefixes that it declares (name -> IRI), at its end."""
    with opened(source.path, source.name, watch) as file:
        text = bounded(file, source.syntax, source.name, lambda: opened(source.path, source.name))
        try:
            parser = parse(cast("IO[bytes]", text), _FORMATS[source.syntax], base_iri=source.base_iri)
            yield from scope.quads(parser)
            if declared is not None:
                declared.update(_namespaces(source) if source.syntax is Syntax.RDFXML else _spaces(parser.prefixes))
        except SyntaxError as error:
            if instead := seeming(head(source.path, source.name), source.syntax.value):
                raise InputError(instead, source.name, 1, 1) from error
            line, column, reason = place_and_reason(error)
            if line is None and source.syntax is Syntax.RDFXML:
                line, column = _place_in_xml(source, text.handed)
            raise InputError(reason, source.name, line, column) from error
        except InputError as error:  # of the bounds, which name the file, or of triple terms, whose place is not known
            raise error if error.file else InputError(error.reason, source.name) from error
        except MemoryError as error:
            raise InputError(TOO_LONG, source.name) from error


_HEAD: Final = 1 << 16
"""Bytes of an RDF/XML document that its root element is looked for in."""


def _spaces(prefixes: Mapping[str, str]) -> dict[str, str]:
    """Of what a parser calls prefixes the namespaces: a context of JSON-LD has names of single terms, too."""
    return {name: iri for name, iri in prefixes.items() if iri[-1:] in ("#", "/", ":", "?", "=", "_", "-")}


def _namespaces(source: Source) -> dict[str, str]:
    """The prefixes that the root element of an RDF/XML document declares."""
    found: dict[str, str] = {}

    def declares(name: str | None, iri: str) -> None:
        found[name or ""] = iri

    def begins(name: str, attributes: Mapping[str, str]) -> None:
        parser.StartNamespaceDeclHandler = parser.StartElementHandler = None

    parser = expat.ParserCreate(namespace_separator=" ")
    parser.StartNamespaceDeclHandler, parser.StartElementHandler = declares, begins
    with opened(source.path, source.name) as file, suppress(expat.ExpatError):
        parser.Parse(file.read(_HEAD), False)
    return found


def bounded(file: IO[bytes], syntax: Syntax, name: str, again: Again) -> Bounded:
    """A document's text for its parser, scanned for what the parser cannot bear; `again` opens it once more."""
    match syntax:
        case Syntax.RDFXML:
            return Xml(file, name, again)
        case Syntax.JSONLD:
            return Json(file, name)
        case _:
            return Turtle(file, name, again)


def check_bounds(text: str, path: str) -> None:
    """Raise InputError where a text, of the syntax that its path tells, is more than its parser can bear."""
    syntax = syntax_of_path(path)
    data = text.encode()
    if syntax is not None and not syntax.by_line:
        stream = bounded(BytesIO(data), syntax, path, lambda: nullcontext(BytesIO(data)))
        while stream.read():
            pass
    elif data.count(b"<<(") > TERM_DEPTH:
        check_terms(data, path)


class _Slowly:
    """A stream that from a place on gives one byte at a time, so that it tells how far a parser has come."""

    def __init__(self, file: IO[bytes], place: int) -> None:
        self._file, self._place = file, place
        self.text = bytearray()

    def read(self, size: int = -1) -> bytes:
        left = self._place - len(self.text)
        part = self._file.read(min(size, left) if left > 0 else 1)
        self.text += part
        return part


_NEAR: Final = 1 << 14
"""Bytes before the end of what a parser has read in which it found a fault, at most: more than its buffer holds."""


def _place_in_xml(source: Source, read: int) -> tuple[int | None, int | None]:
    """Where an XML document stops being well-formed, or else where the tag begins that its parser refuses, after having
    read so many bytes."""
    parser = expat.ParserCreate()
    with opened(source.path, source.name) as file:
        try:
            parser.ParseFile(file)
        except expat.ExpatError as error:
            return error.lineno, error.offset + 1
    with opened(source.path, source.name) as file:
        slowly = _Slowly(file, read - _NEAR)
        try:
            for _ in parse(cast("IO[bytes]", slowly), RdfFormat.RDF_XML, base_iri=source.base_iri):
                pass
        except SyntaxError:
            text = bytes(slowly.text)
            return place_in(text, max(text.rfind(b"<"), 0))
    return None, None
