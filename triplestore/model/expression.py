"""Expressions as frozen data, for SPARQL (1.1, section 17) and for FILTER and BIND of rules.

A variable is its name without the question mark. What an expression is of SQL is made of it by
`triplestore.expressions`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from functools import cache

from triplestore.model.stopping import check


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable, in a pattern or an expression."""

    name: str


@dataclass(frozen=True, slots=True)
class Constant:
    """An RDF term, by its token."""

    token: str


@dataclass(frozen=True, slots=True)
class Call:
    """An operator or function applied: `name` is "=", "&&", "STRLEN", "IN" ... or the IRI of a cast."""

    name: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Exists:
    """``EXISTS { pattern }`` or its negation; the pattern is of whatever algebra the expression is part of."""

    pattern: object
    negated: bool


Expression = Variable | Constant | Call | Exists


def walk(item: object) -> Iterator[object]:
    """`item` and everything inside it: nodes, expressions, terms, tokens of inline data. However deep it is."""
    left = [item]
    while left:
        found = left.pop()
        yield found
        kind: type = type(found)
        if isinstance(found, tuple):
            check()
            left.extend(reversed(found))
        else:
            left.extend([getattr(found, name) for name in _fields(kind)])


@cache
def _fields(kind: type) -> tuple[str, ...]:
    """The names of the fields of a dataclass, from the last to the first; of another type none."""
    return tuple(field.name for field in reversed(fields(kind))) if is_dataclass(kind) else ()


def variables_of(expression: Expression | None) -> frozenset[str]:
    """The variables that an expression reads (those inside EXISTS included)."""
    return frozenset(part.name for part in walk(expression) if isinstance(part, Variable))
