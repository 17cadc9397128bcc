"""Validation: each constraint is a pattern over a version's closure, whose solutions are the results.

Sets of nodes are kept in working tables (`triplake.sparql.stages`): the focus nodes of a shape, its value nodes, those
of them that do not conform to a shape that a constraint names. Nothing but results is read back.

Source: SHACL, section 4, with the definitions there as joins: that a value conforms to a shape is that it is not among
those that fail, a difference of sets.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import count, pairwise
from typing import Final

from triplake.sparql import algebra
from triplake.sparql.algebra import (
    Aggregate,
    Bgp,
    Distinct,
    Extend,
    Filter,
    Group,
    Join,
    Kept,
    Minus,
    Node,
    PathPattern,
    Project,
    Values,
    balanced,
)
from triplake.sparql.paths import Alternative, Inverse, Path, Repeat, has_zero_length
from triplake.sparql.paths import Sequence as Steps
from triplake.sparql.stages import Stages
from triplestore.model.expression import Call, Constant, Expression, Variable
from triplestore.model.stopping import check
from triplestore.model.terms import XSD, literal_token
from triplestore.shapes import model
from triplestore.shapes.conditions import OnValues, condition, fails
from triplestore.shapes.model import SUBCLASS, TYPE, Constraint, Shape, Targets
from triplestore.shapes.paths import inverse

THIS: Final = "this"
VALUE: Final = "value"


@dataclass(frozen=True, slots=True)
class Found:
    """A result: the focus node fails a constraint of a shape, by a value or without one; path: the predicate that is
    not allowed, of sh:closed.  Terms are tokens."""

    focus: str
    shape: Shape
    constraint: Constraint
    value: str | None
    path: str | None


@dataclass(frozen=True, slots=True)
class _Values:
    """The value nodes of a shape, as solutions (this, value), and the table that has them without their focus
    nodes: its last column."""

    pattern: Node
    table: Kept

    @property
    def pairs(self) -> tuple[Kept, ...]:
        """The table of (this, value), if values are others than their focus nodes."""
        return (self.table,) if len(self.table.variables) > 1 else ()


class Validation:
    """Validates over what `stages` reads. inherits: the closure has each instance of a class in the classes above."""

    def __init__(self, stages: Stages, inherits: bool) -> None:
        self._stages, self._inherits = stages, inherits
        self._names = count()
        self._below: dict[str, tuple[str, ...]] = {}
        self._failing: dict[tuple[str, str], Kept] = {}
        self._different: dict[str, Kept] = {}
        self._empty: set[str] = set()  # tables

    def results(self, shapes: Sequence[Shape]) -> Iterator[Found]:
        """The results of all shapes, shape by shape."""
        for shape in shapes:
            if not shape.deactivated:
                yield from self._of_shape(shape, self._keep(self._targets(shape.targets), THIS), ())

    def _of_shape(self, shape: Shape, focus: Kept, ways: tuple[Kept, ...]) -> Iterator[Found]:
        """What focus nodes fail of a shape. ways: the tables of pairs by which sh:property leads to the focus nodes: a
        result counts once for each."""
        if shape.deactivated or focus.name in self._empty:
            return
        led, leading = _leading(ways)
        values = self._values(shape, focus)
        for constraint in shape.constraints:
            check()
            if isinstance(constraint, model.Property):
                yield from self._of_shape(constraint.shape, _renamed(self._nodes(values), THIS), (*ways, *values.pairs))
                continue
            names = _columns(shape, constraint)
            for row in self._stages.rows(_joined(self._violations(constraint, focus, values), led), (*names, *leading)):
                found = dict(zip(names, row, strict=False))
                this = found[THIS]
                assert this is not None
                value = found.get("object" if isinstance(constraint, model.Closed) else VALUE)
                yield Found(this, shape, constraint, value, found.get("predicate"))

    def _fail(self, shape: Shape, among: Kept) -> Kept:
        """Those nodes of a table of one column that do not conform to a shape, as values."""
        key = shape.name, among.name
        if key not in self._failing:
            self._failing[key] = self._find_failing(shape, _renamed(among, THIS))
        return _renamed(self._failing[key], VALUE)

    def _find_failing(self, shape: Shape, focus: Kept) -> Kept:
        if focus.name in self._empty:
            return focus
        constraints = () if shape.deactivated else shape.constraints
        values = self._values(shape, focus)
        parts: list[Node] = [_only(self._violations(constraint, focus, values), THIS) for constraint in constraints]
        return self._keep(_union(parts, THIS), THIS)

    def _values(self, shape: Shape, focus: Kept) -> _Values:
        if shape.path is None:
            return _Values(Extend(focus, VALUE, Variable(THIS)), focus)
        table = self._keep(self._along(focus, THIS, shape.path, VALUE), THIS, VALUE)
        return _Values(table, table)

    def _nodes(self, values: _Values) -> Kept:
        """The different value nodes."""
        table = values.table
        if len(table.variables) == 1:
            return _renamed(table, VALUE)
        if table.name not in self._different:
            self._different[table.name] = self._keep(table, VALUE)
        return self._different[table.name]

    def _keep(self, pattern: Node, *variables: str) -> Kept:
        """Different solutions in a table."""
        table, rows = self._stages.keep(pattern, variables)
        if not rows:
            self._empty.add(table.name)
        return table

    def _fresh(self) -> str:
        return f".s{next(self._names)}"

    # -- where values are ---------------------------------------------------------------------------------------------

    def _targets(self, targets: Targets) -> Node:
        """The focus nodes (this) of targets."""
        parts: list[Node] = []
        if targets.nodes:
            parts.append(Values((THIS,), tuple((node,) for node in targets.nodes)))
        parts += [_only(self._instances(THIS, cls), THIS) for cls in targets.classes]
        this, other = Variable(THIS), Variable(self._fresh())
        parts += [_only(Bgp(((this, Constant(p), other),)), THIS) for p in targets.subjects_of]
        parts += [_only(Bgp(((other, Constant(p), this),)), THIS) for p in targets.objects_of]
        return _union(parts, THIS)

    def _instances(self, name: str, cls: str) -> Node:
        """SHACL instances of a class: those of a class below it, too."""
        below = self._classes_below(cls)
        if not below:
            return Bgp(((Variable(name), Constant(TYPE), Constant(cls)),))
        kind = self._fresh()
        typed = Bgp(((Variable(name), Constant(TYPE), Variable(kind)),))
        return Join(typed, Values((kind,), tuple((c,) for c in (cls, *below))))

    def _classes_below(self, cls: str) -> tuple[str, ...]:
        if self._inherits:
            return ()
        if cls not in self._below:
            above = PathPattern(Variable("below"), Repeat(Constant(SUBCLASS), False, True), Constant(cls))
            found = [token for (token,) in self._stages.rows(above, ("below",)) if token is not None]
            self._below[cls] = tuple(sorted(set(found) - {cls}))
        return self._below[cls]

    def _along(self, start: Node, s: str, path: Path, o: str) -> Node:
        """Where a path leads from the nodes (s) of `start`: SPARQL's paths, but that one of length zero leads from any
        node to itself, in the graph or not."""
        match path:
            case Constant():
                return Join(start, Bgp(((Variable(s), path, Variable(o)),)))
            case Inverse(Constant() as predicate):
                return Join(start, Bgp(((Variable(o), predicate, Variable(s)),)))
            case Inverse(inner):
                return self._along(start, s, inverse(inner), o)
            case Steps(first, second):
                middle = self._fresh()
                return self._along(self._along(start, s, first, middle), middle, second, o)
            case Alternative(one, other):
                return algebra.Union(self._along(start, s, one, o), self._along(start, s, other, o))
            case Repeat(inner, zero, many):
                parts: list[Node] = []
                if zero or has_zero_length(inner):
                    parts.append(Extend(start, o, Variable(s)))
                if many:
                    parts.append(Join(start, PathPattern(Variable(s), Repeat(inner, False, True), Variable(o))))
                else:
                    parts.append(self._along(start, s, inner, o))
                return balanced(algebra.Union, parts)
        raise AssertionError(path)

    # -- constraints --------------------------------------------------------------------------------------------------

    def _violations(self, constraint: Constraint, focus: Kept, found: _Values) -> Node:
        """The solutions that violate a constraint, for the variables of `_columns`."""
        values = found.pattern
        match constraint:
            case model.Class(cls):
                return Minus(values, _only(self._instances(VALUE, cls), VALUE))
            case (
                model.Datatype()
                | model.NodeKind()
                | model.Range()
                | model.Length()
                | model.Pattern()
                | model.LanguageIn()
            ):
                return _failing_condition(values, constraint)
            case model.Count(minimum, number):
                return self._counted(focus, values, minimum, number)
            case model.UniqueLang():
                return _repeated_languages(values)
            case model.Equals(predicate):
                others = self._of(focus, predicate, VALUE)
                return algebra.Union(Minus(values, others), Minus(others, values))
            case model.Disjoint(predicate):
                return Join(values, self._of(focus, predicate, VALUE))
            case model.LessThan(predicate, or_equals):
                less = Call("<=" if or_equals else "<", (Variable(VALUE), Variable("other")))
                return Filter(Join(values, self._of(focus, predicate, "other")), fails(less))
            case model.Not(shape):
                return Minus(values, self._fail(shape, self._nodes(found)))
            case model.And(shapes):
                parts: list[Node] = [self._fail(shape, self._nodes(found)) for shape in shapes]
                return Join(values, _only(_union(parts, VALUE), VALUE))
            case model.Or(shapes):
                return Join(values, reduce(lambda left, shape: self._fail(shape, left), shapes, self._nodes(found)))
            case model.Xone(shapes):
                return self._not_one(found, shapes)
            case model.Node(shape):
                return Join(values, self._fail(shape, self._nodes(found)))
            case model.Property(shape):
                return Join(values, self._fail(shape, self._nodes(found)))
            case model.Qualified(minimum, number, shape, siblings):
                fit: Node = Minus(values, self._fail(shape, self._nodes(found)))
                fit = reduce(lambda left, other: Join(left, self._fail(other, self._nodes(found))), siblings, fit)
                return self._counted(focus, _only(fit, THIS, VALUE), minimum, number)
            case model.Closed(predicates):
                named = Bgp(((Variable(VALUE), Variable("predicate"), Variable("object")),))
                allowed = Values(("predicate",), tuple((p,) for p in predicates))
                return Minus(Join(values, named), allowed) if predicates else Join(values, named)
            case model.HasValue(value):
                return Minus(focus, _only(Join(values, Values((VALUE,), ((value,),))), THIS))
            case model.In(listed):
                return Minus(values, Values((VALUE,), tuple((v,) for v in listed))) if listed else values

    def _of(self, focus: Kept, predicate: str, name: str) -> Node:
        """The objects that focus nodes have by a predicate."""
        return _only(Join(focus, Bgp(((Variable(THIS), Constant(predicate), Variable(name)),))), THIS, name)

    def _counted(self, focus: Kept, values: Node, minimum: bool, number: int) -> Node:
        """The focus nodes that have too few values, or too many."""
        if minimum and number == 0:
            return Values((THIS,), ())
        if number <= minimum:
            some = _only(values, THIS)
            return Minus(focus, some) if minimum else some
        enough = _only(_having(values, THIS, ">=" if minimum else ">", number), THIS)
        return Minus(focus, enough) if minimum else enough

    def _not_one(self, found: _Values, shapes: Sequence[Shape]) -> Node:
        """The values that do not conform to exactly one of some shapes: a shape listed twice counts twice."""
        if not shapes:
            return found.pattern
        failing: list[Node] = [self._fail(shape, self._nodes(found)) for shape in shapes]
        if len(shapes) == 1:
            return Join(found.pattern, failing[0])
        all_but_one = _having(balanced(algebra.Union, failing), VALUE, "=", len(shapes) - 1)
        return Minus(found.pattern, _only(all_but_one, VALUE))


def _columns(shape: Shape, constraint: Constraint) -> tuple[str, ...]:
    """The variables whose solutions are the results of a constraint."""
    match constraint:
        case model.Count() | model.Qualified() | model.HasValue():
            return (THIS,)
        case model.UniqueLang():
            return THIS, "language"
        case model.LessThan():
            return THIS, VALUE, "other"
        case model.Closed():
            return THIS, VALUE, "predicate", "object"
        case _:
            return THIS, VALUE


def _failing_condition(values: Node, constraint: OnValues) -> Node:
    return Filter(values, fails(condition(constraint, VALUE)))


def _repeated_languages(values: Node) -> Node:
    """The languages that more than one value of a focus node has."""
    tag = Call("LCASE", (Call("LANG", (Variable(VALUE),)),))
    tagged = Filter(values, Call("!=", (Call("LANG", (Variable(VALUE),)), Constant('""'))))
    return _having(Extend(tagged, "language", tag), (THIS, "language"), ">", 1)


def _having(pattern: Node, keys: str | tuple[str, ...], operator: str, number: int) -> Node:
    """The groups that have so many solutions."""
    given = (keys,) if isinstance(keys, str) else keys
    many = Aggregate("many", "COUNT", None, False)
    test: Expression = Call(operator, (many.result, Constant(literal_token(str(number), XSD + "integer"))))
    return Filter(Group(pattern, given, (many,)), test)


def _leading(ways: Sequence[Kept]) -> tuple[Node | None, tuple[str, ...]]:
    """The ways that lead to focus nodes, as solutions of a variable for each node before the last, and of `this`."""
    names = tuple(f"way{place}" for place in range(len(ways)))
    parts: list[Node] = [Kept(table.name, pair) for table, pair in zip(ways, pairwise((*names, THIS)), strict=True)]
    return (reduce(Join, parts) if parts else None), names


def _joined(pattern: Node, other: Node | None) -> Node:
    return pattern if other is None else Join(pattern, other)


def _renamed(table: Kept, name: str) -> Kept:
    """A table of one column under another name."""
    return Kept(table.name, (name,))


def _only(pattern: Node, *variables: str) -> Node:
    """Different solutions for some variables."""
    return Distinct(Project(pattern, variables))


def _union(parts: Sequence[Node], name: str) -> Node:
    return balanced(algebra.Union, parts) if parts else Values((name,), ())
