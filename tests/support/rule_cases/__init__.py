"""For each rule of the built-in rulesets: a premise from which it derives something, and one from which it must not.

A case is Turtle with the prefixes rdf, rdfs, owl, xsd and `:`, the case's own namespace, so that cases do not touch
each other when they are loaded together. Blank nodes (lists) become IRIs of that namespace, so that closures can be
compared as sets.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

import rdflib

from triplestore.model.terms import from_rdflib, to_ntriples

Triple = tuple[str, str, str]

_SPACES = {"rdf": rdflib.RDF, "rdfs": rdflib.RDFS, "owl": rdflib.OWL, "xsd": rdflib.XSD}
_PREFIXES = "".join(f"@prefix {name}: <{space}> .\n" for name, space in _SPACES.items())


@dataclass(frozen=True)
class Case:
    """`must`: a premise from which `rule` derives the triple `conclusion`; without conclusion: which violates it.

    `must_not`: a premise from which the triple `absent` does not follow, under all rules together; without
    conclusion: which violates nothing.
    """

    rule: str
    must: str
    conclusion: str
    must_not: str
    absent: str
    number: int = 0

    def __str__(self) -> str:
        return f"{self.rule}/{self.number}" if self.number else self.rule

    @property
    def space(self) -> str:
        """The start of the IRIs of this case only."""
        return f"http://example.org/{self.rule}/{self.number}/"

    def triples(self, part: str) -> frozenset[Triple]:
        """The triples of a part ("must", "conclusion", "must_not", "absent"), as tokens."""
        side = "must" if part in ("must", "conclusion") else "must-not"
        return _parse(getattr(self, part), f"{self.space}{side}#")


def derives(rule: str, must: str, conclusion: str, but: str, absent: str | None = None) -> Case:
    """A rule that derives: from `must` the conclusion, from `but` not (or not `absent`)."""
    return Case(rule, must, conclusion, but, conclusion if absent is None else absent)


def violates(rule: str, must: str, but: str) -> Case:
    """A rule that finds inconsistencies: in `must`, and not in `but`."""
    return Case(rule, must, "", but, "")


def numbered(cases: Iterable[Case]) -> tuple[Case, ...]:
    """The cases with those of one rule told apart."""
    seen: dict[str, int] = {}
    result = []
    for case in cases:
        number = seen.get(case.rule, 0)
        seen[case.rule] = number + 1
        result.append(Case(case.rule, case.must, case.conclusion, case.must_not, case.absent, number))
    return tuple(result)


@cache
def _parse(turtle: str, namespace: str) -> frozenset[Triple]:
    graph = rdflib.Graph()
    graph.parse(data=f"{_PREFIXES}@prefix : <{namespace}> .\n{turtle} {'.' if turtle else ''}", format="turtle")
    names: dict[rdflib.BNode, rdflib.URIRef] = {}

    def named(term: rdflib.term.Node) -> rdflib.term.Node:
        if isinstance(term, rdflib.BNode):
            return names.setdefault(term, rdflib.URIRef(f"{namespace}list{len(names)}"))
        return term

    return frozenset(tuple(from_rdflib(named(term)) for term in triple) for triple in graph)


def ntriples(triples: Iterable[Triple]) -> str:
    """Triples as the text of an N-Triples file."""
    return "".join(sorted(f"{' '.join(map(to_ntriples, triple))} .\n" for triple in triples))
