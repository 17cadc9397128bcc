"""Prefixes for people's eyes: the well-known ones, and numbered ones for namespaces that a text uses often."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Final

from rdflib.term import Literal, Node, URIRef

from triplestore.model.terms import OWL, RDF, RDFS, XSD

KNOWN: Final = {RDF: "rdf", RDFS: "rdfs", OWL: "owl", XSD: "xsd"}
"""Namespaces that need no declaration."""

_SPLIT: Final = re.compile(r"(.*[/#:])([A-Za-z_][\w-]*)\Z", re.DOTALL)


class Prefixes:
    """The prefixes with which some triples are written: `ns1:`, `ns2:` ... for each namespace that occurs twice."""

    def __init__(self, triples: Iterable[tuple[Node, ...]]) -> None:
        found = (_SPLIT.match(str(term)) for triple in triples for term in triple if isinstance(term, URIRef))
        counted = Counter(match.group(1) for match in found if match)
        often = [space for space, times in counted.items() if times > 1 and space not in KNOWN]
        self._names = {**KNOWN, **{space: f"ns{number}" for number, space in enumerate(often, 1)}}

    @property
    def declarations(self) -> list[str]:
        """The first lines of an output: one line for each namespace that is not well known."""
        return [f"@prefix {name}: <{space}> ." for space, name in self._names.items() if space not in KNOWN]

    def term(self, term: Node) -> str:
        """A term as Turtle writes it."""
        if isinstance(term, Literal) and term.datatype is not None:
            return f"{Literal(str(term)).n3()}^^{self.term(term.datatype)}"
        if isinstance(term, URIRef):
            match = _SPLIT.match(str(term))
            if match and match.group(1) in self._names:
                return f"{self._names[match.group(1)]}:{match.group(2)}"
        return term.n3()

    def triple(self, triple: Iterable[Node]) -> str:
        """A triple, with `a` for rdf:type and a full stop."""
        s, p, o = (self.term(term) for term in triple)
        return f"{s} {'a' if p == 'rdf:type' else p} {o} ."
