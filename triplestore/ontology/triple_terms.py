"""Triple terms in conclusions: their parts, and matching them where other terms or values are equal.

A triple term denotes the triple of what its parts denote (RDF 1.2 Semantics, section 5), so triple terms with equal
parts are equal. The closure does not say so: rules treat a triple term as a whole. `maps` compares the parts itself: it
reads the matches of each triple of the conclusion, replaces every term within a triple term by one name for all terms
that equal it, and joins the matches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any, NamedTuple, Protocol

from rdflib import OWL, RDF, RDFS, BNode, Literal, URIRef
from rdflib.term import Node

from triplestore.dictionary.datatypes import value_of
from triplestore.model.rdflib_terms import TripleTerm
from triplestore.model.terms import from_rdflib, node_to_ntriples, to_rdflib
from triplestore.model.triple_terms import split_triple
from triplestore.ontology.axioms import Triple

PROPOSITION = URIRef(f"{RDFS}Proposition")
"""The class of all that triple terms denote (RDF 1.2 Semantics, section 9; rdflib does not know it)."""


class Asked(Protocol):
    """The method of `triplestore.Store` that is used here."""

    def query(self, text: str, *, generalised: bool = False) -> Any: ...


class Semantics(NamedTuple):
    """What a store's rules say of terms. congruent: `owl:sameAs` makes terms equal. by_value: literals of equal value
    are equal. propositions: triple terms are of the class rdfs:Proposition."""

    congruent: bool = False
    by_value: bool = False
    propositions: bool = False


def parts(term: TripleTerm) -> Triple:
    """The subject, predicate and object of a triple term."""
    s, p, o = (to_rdflib(token) for token in split_triple(str(term)))
    return s, p, o


def atoms(*terms: Node) -> Iterator[Node]:
    """Some terms, with the parts of triple terms, however deep, in their place."""
    for term in terms:
        while isinstance(term, TripleTerm):
            s, p, term = parts(term)
            yield from (s, p)
        yield term


def blank_nodes(*terms: Node) -> list[BNode]:
    """The blank nodes among some terms and within their triple terms; each once, in order."""
    return list(dict.fromkeys(atom for atom in atoms(*terms) if isinstance(atom, BNode)))


def is_about_triple_terms(store: Asked, triples: Sequence[Triple], semantics: Semantics) -> bool:
    """Whether one of the triples has a triple term, or a blank node that several have as their objects may be one."""
    if any(isinstance(o, TripleTerm) for _, _, o in triples):
        return True
    objects: dict[Node, list[Triple]] = {}
    for triple in triples:
        objects.setdefault(triple[2], []).append(triple)

    def may_be_one(triple: Triple) -> bool:
        numbers: dict[Node, str] = {node: f"?b{number}" for number, node in enumerate(blank_nodes(*triple))}
        text = pattern(triple, semantics, lambda term: numbers[term] if isinstance(term, BNode) else term.n3())
        condition = f"FILTER(isTRIPLE({numbers[triple[2]]}))"
        return bool(store.query(f"ASK {{ {text} {condition} }}", generalised=True).boolean)

    return any(isinstance(o, BNode) and len(alike) > 1 and all(map(may_be_one, alike)) for o, alike in objects.items())


def renamed(term: Node, names: Mapping[BNode, Node]) -> Node:
    """A term with other terms for some blank nodes, those within triple terms included."""
    if isinstance(term, BNode):
        return names.get(term, term)
    if not isinstance(term, TripleTerm):
        return term
    return TripleTerm(f"({' '.join(node_to_ntriples(renamed(part, names)) for part in parts(term))})")


def written(term: Node, atom: Callable[[Node], str]) -> str:
    """A term as a pattern of SPARQL has it. atom: writes what is not a triple term."""
    if isinstance(term, TripleTerm):
        return f"<<( {' '.join(written(part, atom) for part in parts(term))} )>>"
    return atom(term)


def pattern(triple: Triple, semantics: Semantics, write: Callable[[Node], str]) -> str:
    """A triple as a pattern of SPARQL, each of its terms as `write` has it."""
    s, p, o = map(write, triple)
    if semantics.propositions and isinstance(triple[0], BNode) and triple[1:] == (RDF.type, PROPOSITION):
        return f"{{ {s} {p} {o} }} UNION {{ {s}s {s}p {s} FILTER(isTRIPLE({s})) }}"
    return f"{s} {p} {o} ."


def maps(store: Asked, triples: Sequence[Triple], semantics: Semantics) -> bool:
    """Whether triples, their blank nodes as variables, map into the closure, triple terms with equal parts as one.

    Memory grows with the matches of the triples that have triple terms, and with those of others that they join."""
    names = _Names(store, semantics)
    matches: list[tuple[tuple[BNode, ...], list[tuple[str, ...]]]] = []
    values: dict[BNode, set[str]] = {}
    for triple in sorted(triples, key=lambda triple: not isinstance(triple[2], TripleTerm)):
        found = names.matches(triple, values)
        if not found:
            return False
        variables = tuple(blank_nodes(*triple))
        for place, variable in enumerate(variables):
            values[variable] = {row[place] for row in found}
        matches.append((variables, found))
    return _joined(matches)


class _Names:
    """One name for all terms that are equal: the token of one of them."""

    def __init__(self, store: Asked, semantics: Semantics) -> None:
        self._store, self._semantics = store, semantics
        self._of: dict[str, str] = {}  # token -> the name of its class, of the members of classes met

    def matches(self, triple: Triple, values: Mapping[BNode, set[str]]) -> list[tuple[str, ...]]:
        """The distinct values (names) that the blank nodes of a triple have in its matches. values: for some blank
        nodes, those that are of interest."""
        numbers = count()
        outer: dict[str, BNode] = {}
        inner: dict[str, Node] = {}

        def write(term: Node) -> str:
            if isinstance(term, TripleTerm):
                return written(term, within)
            return variable(term, outer) if isinstance(term, BNode) else term.n3()

        def within(term: Node) -> str:
            equals = self._semantics.by_value if isinstance(term, Literal) else self._semantics.congruent
            return variable(term, inner) if equals or isinstance(term, BNode) else term.n3()

        def variable(term: Node, among: dict[str, Any]) -> str:
            name = f"?v{next(numbers)}"
            among[name] = term
            return name

        text = pattern(triple, self._semantics, write)
        for name, term in inner.items() if self._semantics.congruent else ():
            self._meet(name, text)
            if not isinstance(term, BNode):
                self._meet(name, f"VALUES {name} {{ {term.n3()} }}")
        last = list(outer)[-1:] if self._semantics.congruent and isinstance(triple[2], BNode) else []
        for name in last:
            self._meet_parts(name, text)
        return self._rows(text, outer, inner, blank_nodes(*triple), values)

    def _rows(
        self,
        text: str,
        outer: Mapping[str, BNode],
        inner: Mapping[str, Node],
        variables: Sequence[BNode],
        values: Mapping[BNode, set[str]],
    ) -> list[tuple[str, ...]]:
        terms = [*outer.values(), *inner.values()]
        wanted = [None if isinstance(term, BNode) else self._name(from_rdflib(term)) for term in terms]
        found: dict[tuple[str, ...], None] = {}
        shown = " ".join((*outer, *inner)) or "(1 AS ?one)"
        for row in self._store.query(f"SELECT {shown} {{ {text} }}", generalised=True).tokens():
            bound: dict[BNode, str] = {}
            for place, (term, want) in enumerate(zip(terms, wanted, strict=True)):
                name = self._name(row[place])
                if want is None and isinstance(term, BNode):
                    want = bound.setdefault(term, name)
                    if term in values and name not in values[term]:
                        break
                if name != want:
                    break
            else:
                found[tuple(bound[variable] for variable in variables)] = None
        return list(found)

    def _meet(self, name: str, text: str) -> None:
        """Find the classes of the terms that a variable has in the solutions of a pattern."""
        query = f"SELECT DISTINCT {name} ?equal {{ {text} {name} {OWL.sameAs.n3()} ?equal }}"
        for term, equal in self._store.query(query, generalised=True).tokens():
            token = self._value(term)
            self._of[token] = min(self._of.get(token, token), equal, key=_order)

    def _meet_parts(self, name: str, text: str) -> None:
        """The same of the parts of the triple terms that a variable has."""
        while True:
            text = f"{text} FILTER(isTRIPLE({name}))"
            if not self._store.query(f"ASK {{ {text} }}", generalised=True).boolean:
                return
            for function in ("SUBJECT", "PREDICATE", "OBJECT"):
                self._meet("?part", f"{text} BIND({function}({name}) AS ?part)")
            name = f"OBJECT({name})"

    def _name(self, token: str) -> str:
        if token[0] == "(":
            return f"({' '.join(self._name(part) for part in split_triple(token))})"
        token = self._value(token)
        return self._of.get(token, token)

    def _value(self, token: str) -> str:
        """A literal with its canonical spelling where literals stand for their values."""
        value = value_of(token) if token[0] == '"' and self._semantics.by_value else None
        return token if value is None else value.canonical


def _order(token: str) -> tuple[bool, str]:
    """IRIs and blank nodes first: they are what a class with a literal is listed by as a subject."""
    return token[0] not in "<_", token


def _joined(matches: Sequence[tuple[tuple[BNode, ...], list[tuple[str, ...]]]]) -> bool:
    """Whether the matches of several triples agree in some choice of one of each: the first is looked for."""
    waiting = sorted(matches, key=lambda match: len(match[1]))
    order: list[tuple[tuple[BNode, ...], dict[tuple[str, ...], list[tuple[str, ...]]], tuple[int, ...]]] = []
    known: set[BNode] = set()
    while waiting:
        chosen = next((match for match in waiting if known & {*match[0]}), waiting[0])
        waiting.remove(chosen)
        variables, rows = chosen
        shared = tuple(place for place, variable in enumerate(variables) if variable in known)
        index: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
        for row in rows:
            index.setdefault(tuple(row[place] for place in shared), []).append(row)
        order.append((variables, index, shared))
        known |= {*variables}
    stack: list[tuple[int, dict[BNode, str]]] = [(0, {})]
    while stack:
        depth, bound = stack.pop()
        if depth == len(order):
            return True
        variables, index, shared = order[depth]
        for row in index.get(tuple(bound[variables[place]] for place in shared), ()):
            stack.append((depth + 1, {**bound, **dict(zip(variables, row, strict=True))}))
    return False
