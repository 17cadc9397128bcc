"""Datalog rules over triples: what `rulesets.datalog` parses and `triplestore.compile` turns into joins.

A term of a rule is a variable, a constant (its token, see `triplestore.terms`) or, in rules over rdf lists, a span of
variables ``?c1 .. ?cn`` as long as the list. `triplestore.compile.lists` replaces spans by as many variables as the
lists at hand have members, so that what follows knows plain rules only.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Var:
    """A variable, by its name without the question mark."""

    name: str


@dataclass(frozen=True, slots=True)
class Span:
    """``?c1 .. ?cn`` (stem c, first 1) or ``?u0 .. ?un-1`` (stem u, first 0): n variables, n the list's length.

    An atom with spans stands for n atoms; in the i-th (from 0) each span is the variable stem + (first + i).
    """

    stem: str
    first: int


@dataclass(frozen=True, slots=True)
class SpanEnd:
    """``?un``: the variable of a span's stem numbered n, the length of the rule's list."""

    stem: str


Term = Var | Span | SpanEnd | str


@dataclass(frozen=True, slots=True)
class Atom:
    """A triple pattern [subject, predicate, object]."""

    s: Term
    p: Term
    o: Term

    @property
    def terms(self) -> tuple[Term, Term, Term]:
        return self.s, self.p, self.o


@dataclass(frozen=True, slots=True)
class ListOf:
    """``LIST[?l, ?c1 .. ?cn]``: ?l is a well-formed rdf list of n members, the span's variables, in order."""

    list: Term
    items: Span


@dataclass(frozen=True, slots=True)
class MemberOf:
    """``MEMBER[?l, ?c]`` or ``MEMBER[?l, ?c, ?i]``: ?c is a member of the rdf list ?l, at position ?i (from 0)."""

    list: Term
    item: Term
    position: Term | None = None


@dataclass(frozen=True, slots=True)
class Filter:
    """``FILTER(?x != ?y)``: compares two terms (operators = and !=), or two list positions (also < and >)."""

    operator: str
    left: Term
    right: Term


BodyElement = Atom | ListOf | MemberOf | Filter


@dataclass(frozen=True, slots=True)
class Rule:
    """``heads :- body``. No head means ``false``: a match of the body is an inconsistency, reported by name.

    `name` is the W3C rule id or the user's name; `source` and `line` say where the rule was written (two rules are
    equal wherever they were).
    """

    name: str
    heads: tuple[Atom, ...]
    body: tuple[BodyElement, ...]
    source: str = field(default="", compare=False)
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Ruleset:
    """Rules in the order of their text. `name` is a built-in name or the path of a user's file."""

    name: str
    rules: tuple[Rule, ...]
