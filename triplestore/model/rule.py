"""Datalog rules over triples: what `rulesets.datalog` parses and `triplestore.compile` turns into joins.

A term of a rule is a variable, a constant (its token, see `triplestore.model.terms`) or, in rules over rdf lists, a
span of variables ``?c1 .. ?cn`` as long as the list. `triplestore.compile.lists` replaces spans by as many variables as
the lists at hand have members, so that what follows knows plain rules only.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from triplestore.model.expression import Constant, Expression, walk


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


@dataclass(frozen=True, slots=True)
class Holds:
    """``FILTER(expression)``: the expression is true; an error is not."""

    expression: Expression


@dataclass(frozen=True, slots=True)
class Bind:
    """``BIND(expression AS ?x)``: an error drops the match; where atoms bind ?x too, both are the same value."""

    expression: Expression
    variable: Var


@dataclass(frozen=True, slots=True)
class Not:
    """``NOT [..]``, ``NOT ([..], FILTER(..))``: nothing matches `body`. Variables that occur in NOTs only are
    its own."""

    body: tuple[Atom | Filter | Holds, ...]


@dataclass(frozen=True, slots=True)
class Result:
    """``COUNT(DISTINCT argument) AS ?x``: one aggregate, COUNT, SUM, MIN, MAX or AVG; argument None is ``COUNT(*)``."""

    function: str
    argument: Expression | None
    distinct: bool
    variable: Var


@dataclass(frozen=True, slots=True)
class Aggregate:
    """``AGGREGATE([..], .. ON ?x .. BIND COUNT(?y) AS ?n ..)``: a row (keys and results) for each group of matches of
    `body` that agree on the keys. Its other variables are its own."""

    body: tuple[Atom | Filter | Holds | Bind | Not, ...]
    keys: tuple[Var, ...]
    results: tuple[Result, ...]


SchemaElement = Atom | ListOf | MemberOf | Filter
"""What the schema part of a rule is made of."""

BodyElement = SchemaElement | Holds | Bind | Not | Aggregate


@dataclass(frozen=True)
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

    @cached_property
    def negative(self) -> bool:
        """Whether it has a NOT or an AGGREGATE: what these read must be complete before the rule is run."""
        return any(isinstance(element, Not | Aggregate) for element in self.body)

    @cached_property
    def monotone(self) -> bool:
        """Whether it is a plain join: no NOT, no AGGREGATE, no expression."""
        return not any(isinstance(element, Not | Aggregate | Holds | Bind) for element in self.body)


def positions_of(body: Iterable[BodyElement]) -> set[Term]:
    """The variables of a body that are positions in lists."""
    return {e.position for e in body if isinstance(e, MemberOf) and e.position is not None}


def compares(element: BodyElement, positions: Collection[Term]) -> bool:
    """Whether an element of a body is a filter of positions in lists."""
    return isinstance(element, Filter) and (element.left in positions or element.right in positions)


def variables(element: BodyElement) -> list[str]:
    """The names of the variables in an atom or a list's atom, in order, spans apart; of other elements none."""
    terms: tuple[Term | None, ...]
    if isinstance(element, Atom):
        terms = element.terms
    elif isinstance(element, ListOf):
        terms = (element.list,)
    elif isinstance(element, MemberOf):
        terms = (element.list, element.item, element.position)
    else:
        terms = ()
    return [term.name for term in terms if isinstance(term, Var)]


def constants_of(rule: Rule) -> Iterator[str]:
    """The tokens of all constants of a rule, those in groups and expressions included."""
    for part in walk((rule.heads, rule.body)):
        if isinstance(part, Atom):
            yield from (term for term in part.terms if isinstance(term, str))
        elif isinstance(part, Constant):
            yield part.token
        elif isinstance(part, Filter):
            yield from (term for term in (part.left, part.right) if isinstance(term, str))
        elif isinstance(part, ListOf | MemberOf):
            yield from (term for term in (part.list, getattr(part, "item", None)) if isinstance(term, str))


@dataclass(frozen=True, slots=True)
class Ruleset:
    """Rules in the order of their text. `name` is a built-in name or the path of a user's file."""

    name: str
    rules: tuple[Rule, ...]
