"""Turtle, TriG, RDF/XML and JSON-LD: documents that are parsed as a whole, streaming, by pyoxigraph."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final
from xml.parsers import expat

from pyoxigraph import RdfFormat, parse

from loaders.compression import opened
from loaders.sources import Source, Syntax
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
            yield from scope.triples(parse(file, _FORMATS[source.syntax], base_iri=source.base_iri))
        except SyntaxError as error:
            line, column, reason = place_and_reason(error)
            if line is None and source.syntax is Syntax.RDFXML:
                line, column = _place_in_xml(source)
            raise InputError(reason, source.name, line, column) from error
        except UnsupportedTermError as error:
            raise InputError(str(error), source.name) from error
        except MemoryError as error:
            raise InputError(TOO_LONG, source.name) from error


def _place_in_xml(source: Source) -> tuple[int | None, int | None]:
    """Where an XML document stops being well-formed; (None, None) if it is: then the fault is in what it says."""
    parser = expat.ParserCreate()
    with opened(source.path, source.name) as file:
        try:
            parser.ParseFile(file)
        except expat.ExpatError as error:
            return error.lineno, error.offset + 1
    return None, None
