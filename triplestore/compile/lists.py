"""rdf lists in rules: finding the lists that are there, and unrolling spans to their lengths."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from triplestore.model.errors import LimitError
from triplestore.model.rule import Aggregate, Atom, BodyElement, Filter, Not, Rule, Span, SpanEnd, Term, Var
from triplestore.model.terms import RDF, builtin

FIRST, REST, NIL = (builtin(RDF + name) for name in ("first", "rest", "nil"))

WAYS: Final = 100_000
"""Nodes visited to find the lists that begin at one node, where nodes have several rdf:rest: there may be as many lists
as ways through a graph."""

Cell = tuple[int, int]
"""The member of a cell of a list, and the node after it."""

Placed = tuple[int, int]
"""A position in a list, from 0, and the member there."""

Objects = Callable[[int, int], Sequence[int]]
"""The objects of the facts (s, p, ?), by s and p."""


def lists_at(head: int, objects: Objects, closed: set[int] | None = None) -> Iterator[tuple[Cell, ...]]:
    """The cells of the rdf lists that start at `head`. closed: gets the nodes at which a way ends, and might go on.

    Well-formed data has one list; where equal or broken nodes give several rdf:first or rdf:rest, each way to rdf:nil
    is a list of its own. A way never visits a node twice. rdf:nil itself begins a list where it is, or equals, a cell.
    Raises LimitError for more than `WAYS`.
    """
    closed = set() if closed is None else closed
    ways: list[tuple[int, tuple[Cell, ...], frozenset[int]]] = []
    node, seen = head, {head}
    cells: list[Cell] = []
    while True:  # the common case, one way only, without copying
        firsts, rests = objects(node, FIRST), objects(node, REST)
        if len(firsts) != 1 or len(rests) != 1:
            ways.append((node, tuple(cells), frozenset(seen)))
            break
        cells.append((firsts[0], rests[0]))
        node = rests[0]
        if node == NIL:
            _note_end(head, objects, closed)
            yield tuple(cells)
            return
        if node in seen:
            closed.add(node)
            return
        seen.add(node)
    steps = 0
    while ways:
        node, so_far, visited = ways.pop()
        steps += 1
        if steps > WAYS:
            raise LimitError(
                f"rules read the lists of the data, and from one node more than {WAYS:,} ways lead along rdf:rest: "
                "give each node of a list one rdf:rest, or leave out the rules over lists"
            )
        if node == NIL and so_far:
            _note_end(head, objects, closed)
            yield so_far
            continue
        for first in objects(node, FIRST):
            for rest in objects(node, REST):
                if rest not in visited or rest == NIL:
                    ways.append((rest, (*so_far, (first, rest)), visited | {rest}))
                else:
                    closed.add(rest)


def _note_end(head: int, objects: Objects, closed: set[int]) -> None:
    """Note a way that ends at rdf:nil, where that is, or equals, a cell of another list."""
    if objects(NIL, FIRST) and (head != NIL or set(objects(NIL, REST)) != {NIL}):
        closed.add(NIL)


def members_at(head: int, objects: Objects, closed: set[int] | None = None) -> list[list[Placed]]:
    """The members of the lists that start at `head`, with their positions, by the ways to rdf:nil; see `lists_at`.

    Of a node with several rdf:first (equal terms, with equality `axioms`) each is a member, and the lists of one way,
    of which there may be as many as the product of these numbers, are returned as one.
    """
    closed = set() if closed is None else closed

    def one(node: int, predicate: int) -> Sequence[int]:
        return objects(node, predicate)[: 1 if predicate == FIRST else None]

    found: list[Placed] = []
    node, seen, place = head, {head}, 0
    while node != NIL or not found:
        firsts, rests = objects(node, FIRST), objects(node, REST)
        if len(rests) > 1:
            ways = ((head, *(after for _, after in cells[:-1])) for cells in lists_at(head, one, closed))
            lists = (tuple((i, x) for i, cell in enumerate(way) for x in objects(cell, FIRST)) for way in ways)
            return [list(members) for members in dict.fromkeys(lists)]
        if not firsts or not rests:
            return []
        if rests[0] != NIL and rests[0] in seen:
            closed.add(rests[0])
            return []
        found += [(place, first) for first in firsts]
        node, place = rests[0], place + 1
        seen.add(node)
    _note_end(head, objects, closed)
    return [found]


def unroll(rule: Rule, length: int) -> Rule:
    """The rule with every span replaced by `length` variables (an atom with spans by `length` atoms)."""
    heads = tuple(a for atom in rule.heads for a in unroll_atom(atom, length))
    return Rule(rule.name, heads, unroll_body(rule.body, length), rule.source, rule.line)


def unroll_body(body: Sequence[BodyElement], length: int) -> tuple[BodyElement, ...]:
    """The same of body elements."""
    found: list[BodyElement] = []
    for element in body:
        match element:
            case Atom():
                found.extend(unroll_atom(element, length))
            case Filter(operator, left, right):
                found.append(Filter(operator, _end(left, length), _end(right, length)))
            case Not(group):
                found.append(Not(unroll_body(group, length)))  # type: ignore[arg-type]
            case Aggregate(group, keys, results):
                found.append(Aggregate(unroll_body(group, length), keys, results))  # type: ignore[arg-type]
            case _:
                found.append(element)
    return tuple(found)


def unroll_atom(atom: Atom, length: int) -> list[Atom]:
    """The atoms that an atom with spans stands for; any other atom is itself."""
    if not any(isinstance(term, Span) for term in atom.terms):
        return [Atom(*(_end(term, length) for term in atom.terms))]
    return [Atom(*(_at(term, i, length) for term in atom.terms)) for i in range(length)]


def _at(term: Term, index: int, length: int) -> Term:
    return Var(f"{term.stem}{term.first + index}") if isinstance(term, Span) else _end(term, length)


def _end(term: Term, length: int) -> Term:
    return Var(f"{term.stem}{length}") if isinstance(term, SpanEnd) else term
