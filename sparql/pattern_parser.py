"""The grammar of graph patterns (SPARQL 1.1, section 19.8, rules 53 to 105), straight into algebra (section 18.2.2)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from sparql import paths
from sparql.algebra import (
    UNIT,
    Bgp,
    Extend,
    Filter,
    Join,
    LeftJoin,
    Minus,
    Node,
    PathPattern,
    Term,
    Triple,
    Union,
    Values,
)
from sparql.cursor import NIL, Cursor
from sparql.expression_parser import ExpressionParser
from sparql.paths import Path
from triplestore.expression import Call, Constant, Expression, Variable
from triplestore.terms import RDF

TYPE: Final = Constant(f"<{RDF}type>")
_FIRST, _REST = Constant(f"<{RDF}first>"), Constant(f"<{RDF}rest>")
_ONE_GRAPH: Final = "named graphs are not supported: a store is one graph, the default graph"


@dataclass(slots=True)
class PatternParser:
    """Parses patterns at a cursor. subselect: parses a sub-SELECT."""

    at: Cursor
    subselect: Callable[[], Node]
    expressions: ExpressionParser = field(init=False)

    def __post_init__(self) -> None:
        self.expressions = ExpressionParser(self.at, self.group)

    # -- groups -----------------------------------------------------------------------------------------------------

    def group(self) -> Node:
        """``{ ... }``."""
        return _filtered(*self._parts())

    def _parts(self) -> tuple[Node, Expression | None]:
        """A group as (pattern, the conjunction of its own filters)."""
        self.at.expect("{")
        if self.at.is_("SELECT"):
            inner = self.subselect()
            self.at.expect("}")
            return inner, None
        found: Node = UNIT
        filters: list[Expression] = []
        while not self.at.accept("}"):
            word = self.at.peek()
            if self.at.accept("FILTER"):
                filters.append(self.expressions.constraint())
            elif self.at.accept("OPTIONAL"):
                found = LeftJoin(found, *self._parts())
            elif self.at.accept("MINUS"):
                found = Minus(found, self.group())
            elif self.at.accept("BIND"):
                self.at.expect("(")
                expression = self.expressions.expression()
                self.at.expect("AS")
                found = Extend(found, self.at.named().name, expression)
                self.at.expect(")")
            elif self.at.accept("VALUES"):
                found = join(found, self.values())
            elif self.at.is_("GRAPH"):
                self.at.unsupported(f"GRAPH: {_ONE_GRAPH}")
            elif self.at.is_("SERVICE"):
                self.at.unsupported("SERVICE is refused: a query reads this store and nothing else")
            elif self.at.is_("{"):
                found = join(found, self._union())
            else:
                found = join(found, self.triples(paths_too=True))
                if not self.at.is_("}", ".") and self.at.peek() is word:
                    self.at.fail("expected a graph pattern")
            self.at.accept(".")
        condition = None if not filters else filters[0] if len(filters) == 1 else Call("&&", tuple(filters))
        return found, condition

    def _union(self) -> Node:
        found = self.group()
        while self.at.accept("UNION"):
            found = Union(found, self.group())
        return found

    def values(self) -> Values:
        """Inline data, behind VALUES."""
        names: list[str] = []
        single = not self.at.accept("(")
        while not (single and names) and (variable := self.at.variable()) is not None:
            names.append(variable.name)
        if single and not names:
            self.at.fail("expected a variable or '('")
        if not single:
            self.at.expect(")")
        self.at.expect("{")
        rows: list[tuple[str | None, ...]] = []
        while not self.at.accept("}"):
            if single:
                rows.append((self._datum(),))
                continue
            word = self.at.peek()
            self.at.expect("(")
            row: list[str | None] = []
            while not self.at.accept(")"):
                row.append(self._datum())
            if len(row) != len(names):
                self.at.fail(f"expected {len(names)} values, not {len(row)}", word)
            rows.append(tuple(row))
        return Values(tuple(names), tuple(rows))

    def _datum(self) -> str | None:
        if self.at.accept("UNDEF"):
            return None
        term = self.at.term(blanks=False)
        if not isinstance(term, Constant):
            self.at.fail("expected an IRI, a literal or UNDEF")
        return term.token

    # -- triples ----------------------------------------------------------------------------------------------------

    def template(self) -> tuple[Triple, ...]:
        """``{ triples }``, without paths: of CONSTRUCT, INSERT and DELETE."""
        self.at.expect("{")
        if self.at.is_("GRAPH"):
            self.at.unsupported(f"GRAPH: {_ONE_GRAPH}")
        found = self.triples(paths_too=False)
        if self.at.is_("GRAPH"):
            self.at.unsupported(f"GRAPH: {_ONE_GRAPH}")
        self.at.expect("}")
        assert isinstance(found, Bgp)
        return found.triples

    def triples(self, paths_too: bool) -> Node:
        """Triples up to what is none: a basic graph pattern, joined with what its paths mean."""
        found: list[tuple[Term, Path, Term]] = []
        while True:
            bracket = self.at.is_("[", "(")
            subject = self._node(found, paths_too)
            if subject is None:
                break
            if not (bracket and self.at.is_(".", "}")):
                self._properties(subject, found, paths_too)
            if not self.at.accept("."):
                break
        plain = tuple((s, p, o) for s, p, o in found if isinstance(p, Variable | Constant))
        node: Node = Bgp(plain)
        for s, path, o in found:
            if not isinstance(path, Variable | Constant):
                node = join(node, translated(self.at, s, path, o))
        return node

    def _properties(self, subject: Term, found: list[tuple[Term, Path, Term]], paths_too: bool) -> None:
        """A property list: rule 77 (or 83)."""
        path = self._verb(paths_too)
        if path is None:
            self.at.fail("expected a predicate")
        while path is not None:
            while True:
                place = len(found)
                item = self._node(found, paths_too)
                if item is None:
                    self.at.fail("expected an object")
                found.insert(place, (subject, path, item))
                if not self.at.accept(","):
                    break
            path = None
            while path is None and self.at.accept(";"):
                path = self._verb(paths_too)

    def _verb(self, paths_too: bool) -> Path | None:
        variable = self.at.variable()
        if variable is not None:
            return variable
        if self._is_a():
            if not paths_too:
                self.at.next()
                return TYPE
        elif not self.at.at_iri() and not (paths_too and self.at.is_("^", "!", "(")):
            return None
        return self._alternative() if paths_too else Constant(f"<{self.at.iri()}>")

    def _is_a(self) -> bool:
        word = self.at.peek()
        return word.kind == "word" and word.text == "a"

    def _node(self, found: list[tuple[Term, Path, Term]], paths_too: bool) -> Term | None:
        """A subject or object, the triples of blank nodes and collections in it added."""
        if self.at.accept("["):
            node: Term = self.at.fresh()
            if not self.at.accept("]"):
                self._properties(node, found, paths_too)
                self.at.expect("]")
            return node
        if not self.at.accept("("):
            return self.at.term()
        items: list[Term] = []
        while not self.at.accept(")"):
            item = self._node(found, paths_too)
            if item is None:
                self.at.fail("expected a member of the collection or ')'")
            items.append(item)
        cells: list[Term] = [*(self.at.fresh() for _ in items), NIL]
        for cell, rest, item in zip(cells, cells[1:], items, strict=False):
            found += [(cell, _FIRST, item), (cell, _REST, rest)]
        return cells[0]

    # -- property paths ---------------------------------------------------------------------------------------------

    def _alternative(self) -> Path:
        found = self._sequence()
        while self.at.accept("|"):
            found = paths.Alternative(found, self._sequence())
        return found

    def _sequence(self) -> Path:
        found = self._step()
        while self.at.accept("/"):
            found = paths.Sequence(found, self._step())
        return found

    def _step(self) -> Path:
        inverse = self.at.accept("^")
        found = self._element()
        if self.at.is_("*", "+", "?"):
            mark = self.at.next().text
            found = paths.Repeat(found, zero=mark != "+", many=mark != "?")
        return paths.Inverse(found) if inverse else found

    def _element(self) -> Path:
        if self.at.accept("("):
            found = self._alternative()
            self.at.expect(")")
            return found
        if self.at.accept("!"):
            return self._negated()
        if self._is_a():
            self.at.next()
            return TYPE
        return Constant(f"<{self.at.iri()}>")

    def _negated(self) -> Path:
        """``!`` and the predicates it excludes, those after ``^`` backwards."""
        sides: dict[bool, list[Constant]] = {False: [], True: []}
        several = self.at.accept("(")
        while not (several and self.at.accept(")")):
            if sides[False] or sides[True]:
                self.at.expect("|")
            backward = self.at.accept("^")
            iri = self._element() if self._is_a() else Constant(f"<{self.at.iri()}>")
            assert isinstance(iri, Constant)
            sides[backward].append(iri)
            if not several:
                break
        forward = tuple(sides[False]) if sides[False] or not sides[True] else None
        return paths.Negated(forward, tuple(sides[True]) or None)


def join(left: Node, right: Node) -> Node:
    """Join, with the pattern that binds nothing left out and basic graph patterns made one."""
    if left == UNIT:
        return right
    if isinstance(left, Bgp) and isinstance(right, Bgp):
        return Bgp(left.triples + right.triples)
    return left if right == UNIT else Join(left, right)


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


def _filtered(node: Node, condition: Expression | None) -> Node:
    return node if condition is None else Filter(node, condition)
