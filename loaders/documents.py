"""Turtle, TriG, RDF/XML and JSON-LD: documents that are parsed as a whole, streaming, by pyoxigraph."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import nullcontext, suppress
from io import BytesIO
from typing import IO, Final, cast

from pyoxigraph import RdfFormat, parse

from triplake.loaders.bounds import TOO_LONG, Again, Bounded, Json, Turtle, check_terms
from triplake.loaders.compression import Watch, opened
from triplake.loaders.rdfxml import Xml, place_of_tag
from triplake.loaders.seeming import head, seeming
from triplake.loaders.sources import Source, Syntax, syntax_of_path
from triplake.loaders.tokens import Scope, place_and_reason
from triplestore.model.dataset import Quad
from triplestore.model.errors import InputError
from triplestore.model.legal_terms import TERM_DEPTH

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
        text = bounded(file, source.syntax, source.name, lambda: opened(source.path, source.name), base=source.base_iri)
        try:
            parser = parse(cast("IO[bytes]", text), _FORMATS[source.syntax], base_iri=source.base_iri)
            yield from scope.quads(parser)
            if declared is not None:
                declared.update(text.prefixes if isinstance(text, Xml) else _spaces(parser.prefixes))
        except (SyntaxError, InputError) as error:
            raise _fault(source, error, text.handed) from error
        except MemoryError as error:
            raise InputError(TOO_LONG, source.name) from error


def _fault(source: Source, error: SyntaxError | InputError, read: int) -> InputError:
    """What is wrong with a document, by the error that its reading ended with after so many bytes."""
    if instead := seeming(head(source.path, source.name), source.syntax.value):
        return InputError(instead, source.name, 1, 1)
    if isinstance(error, InputError):  # of the bounds and expat, with its place, or of triple terms, without
        return error if error.file else InputError(error.reason, source.name)
    line, column, reason = place_and_reason(error)
    if source.syntax is Syntax.RDFXML:
        line, column = _place_in_xml(source, read)
    return InputError(reason, source.name, line, column)


def _spaces(prefixes: Mapping[str, str]) -> dict[str, str]:
    """Of what a parser calls prefixes the namespaces: a context of JSON-LD has names of single terms, too."""
    return {name: iri for name, iri in prefixes.items() if iri[-1:] in ("#", "/", ":", "?", "=", "_", "-")}


def bounded(file: IO[bytes], syntax: Syntax, name: str, again: Again, base: str | None = None) -> Bounded:
    """A document's text for its parser, scanned for what the parser cannot bear; `again` opens it once more. base: the
    base IRI of the document."""
    match syntax:
        case Syntax.RDFXML:
            return Xml(file, name, base)
        case Syntax.JSONLD:
            return Json(file, name)
        case _:
            return Turtle(file, name, again)


def bounded_text(text: str, path: str, base: str) -> str:
    """A text, of the syntax that its path tells, as its parser takes it: RDF/XML is rewritten (`rdfxml.Xml`). Raises
    InputError where it is more than the parser can bear. base: the base IRI."""
    syntax = syntax_of_path(path)
    data = text.encode()
    if syntax is not None and not syntax.by_line:
        stream = bounded(BytesIO(data), syntax, path, lambda: nullcontext(BytesIO(data)), base)
        return b"".join(iter(stream.read, b"")).decode()
    if data.count(b"<<(") > TERM_DEPTH:
        check_terms(BytesIO(data), path)
    return text


class _Slowly:
    """A stream that from a place on gives one byte at a time, so that it tells how far a parser has come: how many
    tags have begun."""

    def __init__(self, file: Bounded, place: int) -> None:
        self._file, self._left = file, place
        self.tags = 0

    def read(self, size: int = -1) -> bytes:
        part = self._file.read(min(size, self._left) if self._left > 0 else 1)
        self._left -= len(part)
        self.tags += part.count(b"<")
        return part


_NEAR: Final = 1 << 14
"""Bytes before the end of what a parser has read in which it found a fault, at most: more than its buffer holds."""


def _place_in_xml(source: Source, read: int) -> tuple[int | None, int | None]:
    """Where the tag begins that the parser of RDF/XML refuses, after having read so many bytes."""
    with opened(source.path, source.name) as file:
        slowly = _Slowly(Xml(file, source.name, source.base_iri), read - _NEAR)
        with suppress(SyntaxError):
            deque(parse(cast("IO[bytes]", slowly), RdfFormat.RDF_XML, base_iri=source.base_iri), maxlen=0)
    with opened(source.path, source.name) as file:
        return place_of_tag(file, slowly.tags)
