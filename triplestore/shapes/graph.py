"""A shapes graph as tokens, in memory: they are small."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from triplestore.model.errors import InputError
from triplestore.model.terms import RDF, XSD, kind_of_token, lexical_of, split_literal, to_ntriples

Triple = tuple[str, str, str]

FIRST: Final = f"<{RDF}first>"
REST: Final = f"<{RDF}rest>"
NIL: Final = f"<{RDF}nil>"

_BOOLEANS: Final = {"true": True, "1": False, "false": False, "0": False}
"""What literals switch on: the very term true, as the test uniqueLang-002 of the W3C has it."""


class ShapesGraph:
    """The triples of a shapes graph, by subject and predicate, in order. name: what it is called in messages.

    Blank nodes are called otherwise than in any data: they stand for nothing in it."""

    def __init__(self, triples: Iterable[Triple], name: str) -> None:
        self.name = name
        self.by_subject: dict[str, dict[str, dict[str, None]]] = {}
        for triple in triples:
            s, p, o = map(_apart, triple)
            self.by_subject.setdefault(s, {}).setdefault(p, {})[o] = None

    def predicates(self, subject: str) -> dict[str, dict[str, None]]:
        """The objects of a subject by predicate."""
        return self.by_subject.get(subject, {})

    def objects(self, subject: str, predicate: str) -> list[str]:
        return list(self.predicates(subject).get(predicate, ()))

    def subjects(self, predicate: str) -> list[str]:
        """The subjects that have a predicate."""
        return [subject for subject, found in self.by_subject.items() if predicate in found]

    def value(self, subject: str, predicate: str) -> str | None:
        """The one object, None without. Raises InputError for several."""
        found = self.objects(subject, predicate)
        if len(found) > 1:
            raise self.fault(subject, f"has {len(found)} values of {show(predicate)}, and may have one")
        return found[0] if found else None

    def number(self, subject: str, predicate: str, token: str) -> int:
        """An object that is to be a whole number that is not negative."""
        if kind_of_token(token).name == "LITERAL":
            lexical, datatype, _ = split_literal(token)
            if datatype == f"{XSD}integer" and (digits := re.fullmatch(r"\+?0*([0-9]{1,18})", lexical)):
                return int(digits[1])
        raise self.fault(
            subject, f"{show(predicate)} is {show(token)}: it has to be an xsd:integer from 0 to 10^18 - 1"
        )

    def flag(self, subject: str, predicate: str, token: str | None) -> bool:
        """An object that is to be true or false; without, false."""
        if token is None:
            return False
        if kind_of_token(token).name == "LITERAL":
            lexical, datatype, _ = split_literal(token)
            if datatype == f"{XSD}boolean" and lexical in _BOOLEANS:
                return _BOOLEANS[lexical]
        raise self.fault(subject, f"{show(predicate)} is {show(token)}: it has to be true or false")

    def iri(self, subject: str, predicate: str, token: str) -> str:
        """An object that is to be an IRI."""
        if token[0] != "<":
            raise self.fault(subject, f"{show(predicate)} is {show(token)}: it has to be an IRI")
        return token

    def literal(self, subject: str, predicate: str, token: str) -> str:
        """An object that is to be a literal."""
        if token[0] != '"':
            raise self.fault(subject, f"{show(predicate)} is {show(token)}: it has to be a literal")
        return token

    def string(self, subject: str, predicate: str, token: str) -> str:
        """An object that is to be an xsd:string."""
        if token[0] != '"' or split_literal(token)[1] != f"{XSD}string":
            raise self.fault(subject, f"{show(predicate)} is {show(token)}: it has to be a string")
        return token

    def text(self, subject: str, predicate: str, token: str) -> str:
        """An object that is to be a text, in a language or none."""
        _, datatype, language = split_literal(token) if token[0] == '"' else ("", "", None)
        if datatype != f"{XSD}string" and language is None:
            raise self.fault(subject, f"{show(predicate)} is {show(token)}: it has to be a text")
        return token

    def members(self, subject: str, predicate: str, head: str) -> tuple[str, ...]:
        """The members of an RDF list. Raises InputError where it is none."""
        found: list[str] = []
        met = {NIL}
        while head not in met:
            met.add(head)
            first, rest = self.objects(head, FIRST), self.objects(head, REST)
            if len(first) != 1 or len(rest) != 1:
                raise self.fault(subject, f"the value of {show(predicate)} is not an RDF list: write it as ( .. )")
            found.append(first[0])
            head = rest[0]
        if head != NIL:
            raise self.fault(subject, f"the list that {show(predicate)} has leads back to itself")
        return tuple(found)

    def fault(self, subject: str, reason: str) -> InputError:
        """That the graph is no shapes graph, because of a shape."""
        return InputError(f"{self.shown(subject)}: {reason}", self.name)

    def shown(self, subject: str) -> str:
        """A shape in a message: its IRI; a blank node by its path, and by the shape that has it."""
        if subject[0] != "_":
            return show(subject)
        path = next(iter(self.objects(subject, "<http://www.w3.org/ns/shacl#path>")), None)
        named = "the shape" if path is None else f"the shape of the path {show(path)}"
        for owner, found in self.by_subject.items():
            if owner[0] == "<" and any(subject in objects for objects in found.values()):
                return f"{named} in {show(owner)}"
        return named


def show(token: str) -> str:
    """A term in a message: terms of SHACL and XML Schema by their prefixes."""
    for prefix, start in (("sh", "<http://www.w3.org/ns/shacl#"), ("xsd", f"<{XSD}"), ("rdf", f"<{RDF}")):
        if token.startswith(start):
            return f"{prefix}:{lexical_of(token)[len(start) - 1 :]}"
    return "a blank node" if token[0] == "_" else to_ntriples(token)


def _apart(token: str) -> str:
    return f"_:shape-{token[2:]}" if token[0] == "_" else token
