"""Prefixes for what is printed: a store's, and numbered ones for namespaces that a text uses often."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from triplestore.model.prefixes import STANDARD, Names
from triplestore.model.terms import RDF, from_rdflib

if TYPE_CHECKING:
    from rdflib.term import Node

Tokens = tuple[str, str, str]

_SPLIT: Final = re.compile(r"<(.*[/#:])[A-Za-z_][\w-]*>", re.DOTALL)


class Printed:
    """How some triples (tokens) are printed: by prefixes (name -> IRI), and `ns1:`, `ns2:` ... for each namespace
    without one that occurs twice. declarations: the lines that declare those that are used."""

    def __init__(self, triples: Iterable[Tokens], prefixes: Mapping[str, str]) -> None:
        terms = [term for triple in triples for term in triple]
        known, used = Names(prefixes), Counter[str]()
        for term in terms:
            if not any(known.spaces(term)) and (match := _SPLIT.fullmatch(term)):
                used[match[1]] += 1
        often = [space for space, times in used.items() if times > 1]
        free = (name for number in range(1, len(often) + len(prefixes) + 1) if (name := f"ns{number}") not in prefixes)
        self._names = Names({**prefixes, **dict(zip(free, often, strict=False))})
        spaces = dict.fromkeys(space for term in terms for space in self._names.spaces(term))
        standard = set(STANDARD.values())
        self.declarations = [self._names.declaration(space) for space in spaces if space not in standard]

    def triple(self, triple: Tokens) -> str:
        """A triple, with `a` for rdf:type and a full stop."""
        s, p, o = triple
        predicate = "a" if p == f"<{RDF}type>" else self._names.token(p)
        return f"{self._names.token(s)} {predicate} {self._names.token(o)} ."


def tokens_of(triple: Iterable[Node]) -> Tokens:
    """The tokens of a triple of rdflib's terms."""
    s, p, o = map(from_rdflib, triple)
    return s, p, o
