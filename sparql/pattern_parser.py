"""The grammar of graph patterns (SPARQL 1.1, section 19.8, rules 53 to 105), straight into algebra (section 18.2.2)."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Final, TypeVar

from triplake.sparql import paths
from triplake.sparql.algebra import (
    UNIT,
    Bgp,
    Extend,
    Filter,
    GraphPattern,
    GraphTemplate,
    LeftJoin,
    Minus,
    Node,
    PathPattern,
    Service,
    Term,
    Triple,
    Union,
    Values,
    balanced,
    certain,
    in_scope,
    join,
    mentioned,
    visible,
)
from triplake.sparql.cursor import NIL, Cursor, Word, words
from triplake.sparql.expression_parser import ExpressionParser
from triplake.sparql.paths import Path
from triplake.sparql.text_search import QUERY, searches
from triplake.sparql.triple_terms import TripleTerms, is_blank
from triplestore.model.expression import Call, Constant, Expression, Variable
from triplestore.model.terms import RDF, is_absolute

T = TypeVar("T")

_FIRST, _REST = Constant(f"<{RDF}first>"), Constant(f"<{RDF}rest>")
_PARTS: Final = ("FILTER", "OPTIONAL", "MINUS", "BIND", "VALUES", "GRAPH", "SERVICE", "{")


@dataclass(slots=True)
class PatternParser:
    """Parses patterns at a cursor. subselect: parses a sub-SELECT."""

    at: Cursor
    subselect: Callable[[], Node]
    expressions: ExpressionParser = field(init=False)
    terms: TripleTerms = field(init=False)
    blocks: int = 0  # basic graph patterns so far
    labels: dict[str, int] = field(default_factory=dict)  # of blank nodes -> the one that each is in
    given: Values | None = None  # what the first group begins with

    def __post_init__(self) -> None:
        self.expressions = ExpressionParser(self.at, self._tested)
        self.terms = TripleTerms(self.at)

    # -- groups -----------------------------------------------------------------------------------------------------

    def group(self) -> Node:
        """``{ ... }``."""
        outer, self.expressions.aggregates = self.expressions.aggregates, None
        found = _filtered(*self._parts())
        self.expressions.aggregates = outer
        return found

    def _tested(self) -> Node:
        """The group of an EXISTS: it may come before the first, and does not begin with what is given."""
        given, self.given = self.given, None
        found = self.group()
        self.given = given
        return found

    def taken(self) -> Node:
        """What was given to begin the first group with, for this one."""
        found, self.given = self.given, None
        return UNIT if found is None else found

    def _parts(self) -> tuple[Node, Expression | None]:
        """A group as (pattern, the conjunction of its own filters).

        Triples with nothing but filters between them are one basic graph pattern: the scope of labels of blank nodes.
        """
        self.at.expect("{")
        found = self.taken()
        if self.at.is_("SELECT"):
            inner = self.subselect()
            self.at.expect("}")
            return join(found, inner), None
        scope = set(in_scope(found))
        chains = Chains(self.at)
        filters: list[Expression] = []
        block = self._block()
        while not self.at.accept("}"):
            part: Node | None = None
            if self._at_triples():
                part = self.triples(True, block)
                found = join(found, part)
                if self._at_triples() or not self.at.is_("}", *_PARTS):
                    self.at.fail("expected '.', '}' or another part of the group")
                scope.update(in_scope(part))
                continue
            self.at.pattern()
            if self.at.accept("FILTER"):
                filters.append(self.expressions.constraint())
                self.at.accept(".")
                continue
            block = self._block()
            if self.at.accept("OPTIONAL"):
                part, condition = self._parts()
                found = LeftJoin(found, part, condition)
            elif self.at.accept("MINUS"):
                found = Minus(found, self.group())
            elif self.at.is_("BIND"):
                bind = self.at.next()
                self.at.expect("(")
                expression = self.expressions.expression()
                self.at.expect("AS")
                found = Extend(found, self.new(scope, "BIND"), expression)
                chains.add(found.variable, expression, bind.start)
                scope.add(found.variable)
                self.at.expect(")")
            elif self.at.accept("VALUES"):
                part = self.values()
                found = join(found, part)
            elif self.at.accept("GRAPH"):
                part = GraphPattern(self.graph_name(), self.group())
                found = join(found, part)
            elif self.at.is_("SERVICE"):
                part = service(self.at, self.graph_name, self.group)
                found = join(found, part)
            elif self.at.is_("{"):
                part = self._union()
                found = join(found, part)
            else:
                self.at.fail("expected a graph pattern")
            scope.update(in_scope(part) if part is not None else ())
            self.at.accept(".")
        condition = None if not filters else filters[0] if len(filters) == 1 else Call("&&", tuple(filters))
        return found, condition

    def graph_name(self) -> Term:
        """The name of a graph, behind GRAPH: a variable or an IRI."""
        name = self.at.variable()
        return name if name is not None else Constant(f"<{self.at.iri()}>")

    def _block(self) -> int:
        """The number of another basic graph pattern."""
        self.blocks += 1
        return self.blocks

    def _at_triples(self) -> bool:
        starts = self.at.peek().kind in ("variable", "iri", "name", "string", "number")
        return starts or self.at.is_("[", "(", "<<", "<<(", "+", "-", "TRUE", "FALSE")

    def new(self, scope: Collection[str], by: str) -> str:
        """The variable that comes, which nothing before it may have bound."""
        word = self.at.peek()
        name = self.at.named().name
        if name in scope:
            self.at.illegal(f"?{name} has a value already where {by} would give it one: take another name", word.start)
        return name

    def _union(self) -> Node:
        found = [self.group()]
        while self.at.accept("UNION"):
            self.at.pattern()
            found.append(self.group())
        return balanced(Union, found)

    def values(self) -> Values:
        """Inline data, behind VALUES."""
        names: list[str] = []
        start = self.at.peek()
        single = not self.at.accept("(")
        while not (single and names) and (variable := self.at.variable()) is not None:
            names.append(variable.name)
        if single and not names:
            self.at.fail("expected a variable or '('")
        if len(set(names)) < len(names):
            self.at.illegal("VALUES names a variable twice", start.start)
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
        if self.at.accept("<<("):
            return self.terms.datum().token
        term = self.at.term(blanks=False)
        if not isinstance(term, Constant):
            self.at.fail("expected an IRI, a literal or UNDEF")
        return term.token

    # -- triples ----------------------------------------------------------------------------------------------------

    def template(self, matched: bool = False) -> tuple[Triple, ...]:
        """``{ triples }``, without paths: of CONSTRUCT. matched: it is a pattern, too."""
        self.at.expect("{")
        found = self._template_triples(matched)
        self.at.expect("}")
        return found

    def quads(self, matched: bool = False) -> tuple[GraphTemplate, ...]:
        """``{ triples GRAPH name { triples } ... }``, without paths: of INSERT and DELETE. matched: it is a pattern,
        too."""
        self.at.expect("{")
        found: list[GraphTemplate] = []
        while not self.at.accept("}"):
            if self.at.accept("GRAPH"):
                found.append((self.graph_name(), self.template(matched)))
                self.at.accept(".")
                continue
            part = self._template_triples(matched)
            if not part or not self.at.is_("}", "GRAPH"):
                self.at.fail("expected triples, GRAPH or '}'")
            found.append((None, part))
        return tuple(found)

    def _template_triples(self, matched: bool) -> tuple[Triple, ...]:
        """Triples of a template. Its triple terms with variables are kept in `terms`; those of a pattern stay."""
        start, before = self.at.peek(), len(self.terms.made)
        found = self.triples(False, self._block() if matched else None)
        assert isinstance(found, Bgp)
        if not matched:
            self.terms.keep()
        elif any(is_blank(part) for _, parts in self.terms.made[before:] for part in parts):
            self.at.unsupported("a blank node within a triple term of a template that is the pattern, too", start)
        return found.triples

    def triples(self, paths_too: bool, block: int | None) -> Node:
        """Triples up to what is none: a basic graph pattern, joined with what its paths mean. block: its number, None
        where the triples are a template."""
        start = self.at.peek()
        found: list[tuple[Term, Path, Term]] = []
        while True:
            before, bracket = len(found), self.at.is_("[", "(", "<<")
            subject = self._node(found, paths_too)
            if subject is None:
                break
            # `[ :p :o ]` and `( :a )` may stand alone, `[]` and `()` may not
            if not (bracket and len(found) > before and not self._at_verb(paths_too)):
                self._properties(subject, found, paths_too)
            if block is not None:
                self.at.pattern(len(found) - before)
            if not self.at.accept("."):
                break
        inner = [parts for _, parts in self.terms.made]
        for label in {t.name for triple in (*found, *inner) for t in triple if isinstance(t, Variable)}:
            if block is not None and label.startswith("_:") and self.labels.setdefault(label, block) != block:
                reason = f"the blank node {label} is in another basic graph pattern already: use a variable"
                self.at.illegal(reason, start.start)
        asked = paths_too and any(predicate == QUERY for _, predicate, _ in found)
        search = searches(self.at, found, start.start) if asked else None
        plain = tuple((s, p, o) for s, p, o in found if isinstance(p, Variable | Constant))
        node: Node = Bgp(plain) if search is None else join(Bgp(plain), search)
        made: set[Term] = {variable for variable, _ in self.terms.made}
        paths = [triple for triple in found if not isinstance(triple[1], Variable | Constant)]
        for s, path, o in sorted(paths, key=lambda one: made.isdisjoint((one[0], one[2]))):
            if made.isdisjoint((s, o)):  # those between triple terms are before
                node = self.terms.matched(node)
            node = join(node, translated(self.at, s, path, o))
        return self.terms.matched(node) if paths_too and made else node

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
                if self.at.is_("~", "{|"):
                    self.terms.annotated(found[place], found, lambda s: self._properties(s, found, paths_too))
                if not self.at.accept(","):
                    break
            path = None
            while path is None and self.at.accept(";"):
                path = self._verb(paths_too)

    def _at_verb(self, paths_too: bool) -> bool:
        word = self.at.peek()
        starts = word.kind == "variable" or self.at.at_type() or self.at.at_iri()
        return starts or (paths_too and self.at.is_("^", "!", "("))

    def _verb(self, paths_too: bool) -> Path | None:
        variable = self.at.variable()
        if variable is not None:
            return variable
        if self.at.at_type():
            if not paths_too:
                return self.at.type_()
        elif not self.at.at_iri() and not (paths_too and self.at.is_("^", "!", "(")):
            return None
        return self._alternative() if paths_too else Constant(f"<{self.at.iri()}>")

    def _node(self, found: list[tuple[Term, Path, Term]], paths_too: bool) -> Term | None:
        """A subject or object, the triples of blank nodes and collections in it added."""
        if self.at.accept("["):
            node: Term = self.at.fresh()
            if not self.at.accept("]"):
                self._properties(node, found, paths_too)
                self.at.expect("]")
            return node
        if self.at.accept("<<("):
            return self.terms.term()
        if self.at.accept("<<"):
            return self.terms.reified(found)
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
        found = [self._sequence()]
        while self.at.accept("|"):
            found.append(self._sequence())
        return balanced(paths.Alternative, found)

    def _sequence(self) -> Path:
        found = [self._step()]
        while self.at.accept("/"):
            found.append(self._step())
        return balanced(paths.Sequence, found)

    def _step(self) -> Path:
        self.at.pattern()
        inverse = self.at.accept("^")
        found = self._element()
        if self.at.is_("*", "+", "?") and self.at.signed() is None:  # `:p +5` is of the number
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
        return self.at.type_() or Constant(f"<{self.at.iri()}>")

    def _negated(self) -> Path:
        """``!`` and the predicates it excludes, those after ``^`` backwards."""
        sides: dict[bool, list[Constant]] = {False: [], True: []}
        several = self.at.accept("(")
        while not (several and self.at.accept(")")):
            if sides[False] or sides[True]:
                self.at.expect("|")
            backward = self.at.accept("^")
            sides[backward].append(self.at.type_() or Constant(f"<{self.at.iri()}>"))
            if not several:
                break
        forward = tuple(sides[False]) if sides[False] or not sides[True] else None
        return paths.Negated(forward, tuple(sides[True]) or None)


def _filtered(node: Node, condition: Expression | None) -> Node:
    return node if condition is None else Filter(node, condition)


LONGEST: Final = 100
"""Expressions in a chain. An engine plans a term's decoding for each, under all those before it: time grows with the
square."""


class Chains:
    """How many expressions of one group each of its assigned variables follows from, itself included."""

    def __init__(self, at: Cursor) -> None:
        self._at = at
        self._lengths: dict[str, int] = {}

    def add(self, name: str, expression: Expression, offset: int) -> None:
        """Another assignment, at an offset; raises LimitError where its chain is too long."""
        read = mentioned(expression)
        self._lengths[name] = length = 1 + max((self._lengths.get(variable, 0) for variable in read), default=0)
        if length > LONGEST:
            reason = f"?{name} ends a chain of more than {LONGEST} expressions, each of which reads the one before it"
            self._at.limit(f"{reason}: put several into one", offset)


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


def service(at: Cursor, name: Callable[[], Term], group: Callable[[], Node]) -> Service:
    """``SERVICE SILENT name { pattern }`` at a cursor. name, group: parse these parts."""
    where = at.where(at.peek().start)
    at.expect("SERVICE")
    silent = at.accept("SILENT")
    endpoint = name()
    start = at.peek().start
    pattern = group()
    bound, variables = certain(pattern), visible(pattern)
    return Service(
        *(endpoint, silent, _prologue(at, start, at.at), at.text[start : at.at], variables),
        bound=tuple(variable for variable in variables if variable in bound),
        where=where,
    )


def _prologue(at: Cursor, start: int, end: int) -> str:
    """The declarations in force that a part of the text uses, on one line."""
    used: dict[str, None] = {}
    for word in words(at.text[:end], start):
        if word.kind == "name" and not word.text.startswith("_:"):
            prefix = word.text.partition(":")[0]
            used[f"PREFIX {prefix}: <{at.prefixes.get(prefix, at.known.get(prefix))}>"] = None
        elif _is_relative(word):
            used[f"BASE <{at.base}>"] = None
    return " ".join(used)


def _is_relative(word: Word) -> bool:
    return word.kind == "iri" and not is_absolute(word.text[1:-1])
