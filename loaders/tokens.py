"""From pyoxigraph's terms to tokens (see `triplestore.model.terms`), blank nodes scoped to their file."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from io import BytesIO
from typing import Final

import pyoxigraph
from pyoxigraph import BlankNode, DefaultGraph, Literal, NamedNode, RdfFormat, parse

from triplake.loaders.bounds import check_terms, too_deep
from triplestore.model.dataset import Quad
from triplestore.model.errors import InputError
from triplestore.model.legal_terms import TERM_DEPTH
from triplestore.model.terms import XSD
from triplestore.model.triple_terms import triple_token

Triple = tuple[str, str, str]
"""Three tokens: subject, predicate, object."""

_STRING: Final = XSD + "string"
_GENERATED: Final = re.compile(r"[a-f][0-9a-f]{19,31}")
_PLACE: Final = re.compile(r"^Parser error (?:at|between) line .*?: ")


class Scope:
    """Turns the quads of one file into tokens.

    number: the file's; label L becomes `_:f<number>_L`. None keeps labels as they are.
    graph: the name (token) of the graph that what is in the unnamed one goes into; empty: into the unnamed one.
    anonymous: whether the parser names anonymous nodes, at random; those become `_:f<number>g1`, `g2` ... in order of
        first appearance, so that a file always gives the same labels. (The parser's names are random 128-bit numbers in
        hexadecimal that start with a letter; a label of the user's that looks like one is renumbered too: no harm.)
    """

    def __init__(self, number: int | None, anonymous: bool, graph: str = "") -> None:
        self._prefix = "_:" if number is None else f"_:f{number}_"
        self._generated = f"_:f{number}g"
        self._renumber = anonymous and number is not None
        self._numbers: dict[str, str] = {}
        self._graph = (graph,) if graph else ()

    def quads(self, parsed: Iterable[pyoxigraph.Quad]) -> Iterable[Quad]:
        """The quads of parsed ones, in order. Raises InputError where triple terms nest too deep."""
        token, default, own = self.token, DefaultGraph, self._graph
        for subject, predicate, obj, graph in parsed:
            name = own if type(graph) is default else (token(graph),)
            yield token(subject), f"<{predicate.value}>", token(obj), *name

    def token(self, term: object) -> str:
        """The token of one term. Raises InputError where triple terms nest too deep."""
        return token_of(term, self._blank)

    def _blank(self, label: str) -> str:
        if not self._renumber or _GENERATED.fullmatch(label) is None:
            return self._prefix + label
        token = self._numbers.get(label)
        if token is None:
            token = self._numbers[label] = f"{self._generated}{len(self._numbers) + 1}"
        return token


def token_of(term: object, blank: Callable[[str], str]) -> str:
    """The token of one term of pyoxigraph's. blank: gives the token of a blank node's label. Raises InputError where
    triple terms nest too deep."""
    if isinstance(term, NamedNode):
        return f"<{term.value}>"
    if isinstance(term, BlankNode):
        return blank(term.value)
    if isinstance(term, Literal):
        if term.language is not None:
            direction = "" if term.direction is None else f"--{term.direction.value}"
            return f'"{term.value}"@{term.language.lower()}{direction}'
        datatype = term.datatype.value
        return f'"{term.value}"' if datatype == _STRING else f'"{term.value}"^^<{datatype}>'
    assert isinstance(term, pyoxigraph.Triple)
    made = triple_token(*(token_of(part, blank) for part in (term.subject, term.predicate, term.object)))
    if made is None:
        raise InputError(too_deep("triple terms", TERM_DEPTH))
    return made


def term_token(text: str) -> str:
    """The token of one term as N-Triples writes it, a blank node's label as it is. Raises SyntaxError for text that is
    none, InputError."""
    if text.count("<<(") > TERM_DEPTH:
        check_terms(BytesIO(text.encode()), None)
    quads = list(parse(f"<urn:x> <urn:x> {text} .".encode(), format=RdfFormat.N_TRIPLES))
    if len(quads) != 1:
        raise SyntaxError("one term is expected")
    return Scope(None, False).token(quads[0].object)


def place_and_reason(error: SyntaxError) -> tuple[int | None, int | None, str]:
    """(line, column, what is wrong) of an error of pyoxigraph's, 1-based, None where it does not say."""
    reason = _PLACE.sub("", str(error.args[0]))
    if "LoadDocumentCallback" in reason:
        reason = "the document refers to a remote @context, which is not fetched: put the context into the document"
    if "UTF-8" in reason:
        reason = f"{reason}: save the file as UTF-8"
    return error.lineno, error.offset, reason
