"""From syntax to algebra (SPARQL 1.1, section 18.2.2), where that is more than giving a construct its name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from triplake.sparql import paths
from triplake.sparql.algebra import UNIT, Bgp, Filter, Join, Node, PathPattern, Term, Union
from triplake.sparql.cursor import Cursor
from triplake.sparql.paths import Path
from triplestore.model.expression import Call, Constant, Variable

T = TypeVar("T")


def join(left: Node, right: Node) -> Node:
    """Join, with the pattern that binds nothing left out and basic graph patterns made one."""
    if left == UNIT:
        return right
    if isinstance(left, Bgp) and isinstance(right, Bgp):
        return Bgp(left.triples + right.triples)
    return left if right == UNIT else Join(left, right)


def balanced(made: Callable[[T, T], T], parts: Sequence[T]) -> T:
    """Parts as one by an operator that is associative, in a tree that is not deep."""
    if len(parts) == 1:
        return parts[0]
    middle = (len(parts) + 1) // 2
    return made(balanced(made, parts[:middle]), balanced(made, parts[middle:]))


def translated(at: Cursor, s: Term, path: Path, o: Term) -> Node:
    """A path between two terms (18.2.2.4): sequences and alternatives are joins and unions, outside of repetitions."""
    match path:
        case Variable() | Constant():
            return Bgp(((s, path, o),))
        case paths.Inverse(inner):
            return translated(at, o, inner, s)
        case paths.Sequence(first, second):
            stop = at.fresh()
            return join(translated(at, s, first, stop), translated(at, stop, second, o))
        case paths.Alternative(one, other):
            return Union(translated(at, s, one, o), translated(at, s, other, o))
        case paths.Negated(forward, backward):
            sides = [_other(at, s, forward, o)] if forward is not None else []
            sides += [_other(at, o, backward, s)] if backward is not None else []
            return sides[0] if len(sides) == 1 else Union(sides[0], sides[1])
        case paths.Repeat():
            return PathPattern(s, path, o)


def _other(at: Cursor, s: Term, excluded: tuple[Constant, ...], o: Term) -> Node:
    """A triple of any predicate but these."""
    predicate = at.fresh()
    pattern = Bgp(((s, predicate, o),))
    if not excluded:
        return pattern
    return Filter(pattern, Call("NOT IN", (predicate, *excluded)))
