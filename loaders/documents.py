"""Turtle, TriG, RDF/XML and JSON-LD: documents that are parsed as a whole, streaming, by pyoxigraph."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import nullcontext
from io import BytesIO
from typing import IO, Final, cast
from xml.parsers import expat

from pyoxigraph import RdfFormat, parse

from loaders.bounds import TERM_DEPTH, TURTLE_TOKEN, Again, Bounded, Json, Turtle, Xml, check_terms, place_in
from loaders.compression import opened
from loaders.seeming import head, seeming
from loaders.sources import Source, Syntax, syntax_of_path
from loaders.tokens import TOO_LONG, Scope, Triple, UnsupportedTermError, place_and_reason
from triplestore.errors import InputError

_FORMATS: Final = {
    Syntax.TURTLE: RdfFormat.TURTLE,
    Syntax.TRIG: RdfFormat.TRIG,
    Syntax.RDFXML: RdfFormat.RDF_XML,
    Syntax.JSONLD: RdfFormat.JSON_LD,
}


def document(source: Source, scope: Scope) -> Iterator[Triple]:
    """The token triples of a document, in order. Raises InputError where it is wrong, after the triples before that."""
    with opened(source.path, source.name) as file:
        try:
            text = bounded(file, source.syntax, source.name, lambda: opened(source.path, source.name))
            yield from scope.triples(parse(text, _FORMATS[source.syntax], base_iri=source.base_iri))
        except SyntaxError as error:
            if instead := seeming(head(source.path, source.name), source.syntax.value):
                raise InputError(instead, source.name, 1, 1) from error
            line, column, reason = place_and_reason(error)
            if line is None and source.syntax is Syntax.RDFXML:
                line, column = _place_in_xml(source)
            raise InputError(reason, source.name, line, column) from error
        except UnsupportedTermError as error:
            raise InputError(str(error), source.name, *_place_of_unsupported(source)) from error
        except MemoryError as error:
            raise InputError(TOO_LONG, source.name) from error


_UNSUPPORTED: Final = {
    Syntax.RDFXML: re.compile(rb"""parseType\s*=\s*["']Triple|\b[\w.-]+:dir\s*=|\b[\w.-]+:annotation(?:NodeID)?\s*="""),
    Syntax.JSONLD: re.compile(rb'"@direction"|"@annotation"'),
}


def _place_of_unsupported(source: Source) -> tuple[int | None, int | None]:
    """Where a document has the first mark of what RDF 1.2 adds."""
    with opened(source.path, source.name) as file:
        text = file.read()
    if source.syntax in _UNSUPPORTED:
        found = _UNSUPPORTED[source.syntax].search(text)
    else:
        found = next((mark for mark in TURTLE_TOKEN.finditer(text) if mark.lastgroup), None)
    return (None, None) if found is None else place_in(text, found.start())


def bounded(file: IO[bytes], syntax: Syntax, name: str, again: Again) -> IO[bytes]:
    """A document's text for its parser, scanned for what the parser cannot bear; `again` opens it anew."""
    match syntax:
        case Syntax.RDFXML:
            scanned: Bounded = Xml(file, name, again)
        case Syntax.JSONLD:
            scanned = Json(file, name)
        case _:
            scanned = Turtle(file, name, again)
    return cast("IO[bytes]", scanned)  # `read` is all that the parser calls


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


def _place_in_xml(source: Source) -> tuple[int | None, int | None]:
    """Where an XML document stops being well-formed; (None, None) if it is: then the fault is in what it says."""
    parser = expat.ParserCreate()
    with opened(source.path, source.name) as file:
        try:
            parser.ParseFile(file)
        except expat.ExpatError as error:
            return error.lineno, error.offset + 1
    return None, None
