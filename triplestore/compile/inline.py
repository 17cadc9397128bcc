"""BIND put in place: rules whose expressions read nothing but what atoms, lists and aggregates bind.

* A variable that only BIND binds is replaced by its expression wherever expressions read it; the match must not be one
  where the expression is an error. In a head it stands for the term that the expression makes.
* A variable that atoms bind as well, of the rule or of a NOT, makes its BIND a condition: both are the same value.
* Filters that compare two terms become expressions where other expressions may see the same variables, so that all of
  them speak of the same member of a class of equal terms.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from triplestore.model.errors import InputError
from triplestore.model.expression import Call, Constant, Expression, Variable
from triplestore.model.rule import (
    Aggregate,
    Atom,
    Bind,
    BodyElement,
    Filter,
    Holds,
    ListOf,
    MemberOf,
    Not,
    Rule,
    Span,
    SpanEnd,
    Term,
    Var,
    compares,
    positions_of,
)

Made = dict[str, Expression]
"""Variable that an expression makes -> the expression."""

PARTS: Final = 10_000
"""Parts of an expression with the BINDs that it reads in place: each of these stands there as often as it is read."""

_LENIENT: Final = frozenset(("BOUND", "IF", "COALESCE", "&&", "||", "IN", "NOT IN"))
"""Functions that may have a value where an argument has none."""


@dataclass(frozen=True, slots=True)
class Inlined:
    """A rule without Bind, and the expressions of the head variables that nothing else binds."""

    rule: Rule
    made: Made


def inline(rule: Rule) -> Inlined:
    """Put the BINDs of a rule (without spans in them) and of its groups in place. Raises InputError where that makes an
    expression of more than `PARTS`."""
    body, made = _inlined(rule.body, rule)
    return Inlined(replace(rule, body=tuple(body)), made)


def substituted(expression: Expression, made: Mapping[str, Expression]) -> Expression:
    """The expression with variables replaced by what `made` has for them."""
    match expression:
        case Variable(name):
            return made.get(name, expression)
        case Call(name, arguments):
            return Call(name, tuple(substituted(a, made) for a in arguments))
        case _:
            return expression


def numbered(expression: Expression) -> tuple[Expression, tuple[str, ...]]:
    """The expression with its variables renamed "0", "1" ... by first occurrence, and the names they had."""
    names: dict[str, Expression] = {}

    def visit(part: Expression) -> None:
        if isinstance(part, Variable):
            names.setdefault(part.name, Variable(str(len(names))))
        elif isinstance(part, Call):
            for argument in part.arguments:
                visit(argument)

    visit(expression)
    return substituted(expression, names), tuple(names)


def bound_by(element: BodyElement) -> Iterable[Term]:
    """The terms of a body element that it gives values to."""
    match element:
        case Atom():
            return element.terms
        case ListOf(head, items):
            return head, items
        case MemberOf(head, item, position):
            return head, item, *(() if position is None else (position,))
        case Aggregate(_, keys, results):
            return *keys, *(result.variable for result in results)
    return ()


def _inlined(body: Iterable[BodyElement], rule: Rule) -> tuple[list[BodyElement], Made]:
    elements = list(body)
    bound = {t.name for e in elements for t in bound_by(e) if isinstance(t, Var)}
    bound |= {f"{t.stem}{i}" for e in elements for t in bound_by(e) if isinstance(t, Span) for i in (0, 1)}
    made: Made = {}
    found: list[BodyElement | None] = []
    sizes: dict[str, int] = {}
    checked: dict[str, int] = {}  # a variable that is made -> the place of the condition that it is
    for element in elements:
        if isinstance(element, Bind):
            name = element.variable.name
            sizes[name] = _size(element.expression, sizes)
            if sizes[name] > PARTS:
                raise InputError(
                    f"rule {rule.name}: the BIND of ?{name} has {sizes[name]:,} parts once the BINDs that it reads are "
                    f"put in place, and {PARTS:,} are the most: read a value that is made less often",
                    rule.source,
                    rule.line,
                )
            for implied in checked.keys() & set(_needed(element.expression)):
                found[checked.pop(implied)] = None
            expression = substituted(element.expression, made)
            if name in bound:
                found.append(_same_value(expression, name))
            else:
                made[name] = expression
                checked[name] = len(found)
                found.append(Holds(Call("BOUND", (expression,))))
        else:
            found.append(element)
    expressive = bool(made) or any(isinstance(e, Holds) for e in found)
    positions = positions_of(elements)
    return [
        element if compares(element, positions) else _placed(element, made, expressive, rule)
        for element in found
        if element is not None
    ], made


def _size(expression: Expression, sizes: Mapping[str, int]) -> int:
    """The parts of an expression, with variables of so many."""
    match expression:
        case Variable(name):
            return sizes.get(name, 1)
        case Call(_, arguments):
            return 1 + sum(_size(argument, sizes) for argument in arguments)
    return 1


def _needed(expression: Expression) -> Iterable[str]:
    """The variables without a value of which an expression is an error."""
    match expression:
        case Variable(name):
            yield name
        case Call(name, arguments) if name not in _LENIENT:
            for argument in arguments:
                yield from _needed(argument)


def _placed(element: BodyElement, made: Made, expressive: bool, rule: Rule) -> BodyElement:
    match element:
        case Holds(expression):
            return Holds(substituted(expression, made))
        case Filter("=" | "!=" as operator, left, right) if expressive:
            return Holds(_same_term(operator, left, right, made))
        case Not(body):
            return Not(tuple(_without(body, made, expressive)))
        case Aggregate(body, keys, results):
            inner, own = _inlined(body, rule)
            return Aggregate(
                tuple(inner),  # type: ignore[arg-type]
                keys,
                tuple(replace(r, argument=r.argument and substituted(r.argument, own)) for r in results),
            )
    return element


def _without(body: Iterable[Atom | Filter | Holds], made: Made, expressive: bool) -> Iterable[Atom | Filter | Holds]:
    """A NOT's body; a made variable in an atom of it becomes one of its own that has the same value. expressive: there
    are expressions around it."""
    expressive |= any(isinstance(e, Holds) or (isinstance(e, Filter) and e.operator == "!=") for e in body)
    for element in body:
        match element:
            case Atom():
                names = {t.name for t in element.terms if isinstance(t, Var) and t.name in made}
                terms = (Var(f"{t.name} made") if isinstance(t, Var) and t.name in made else t for t in element.terms)
                yield Atom(*terms)
                for name in sorted(names):
                    yield _same_value(made[name], f"{name} made")
            case Holds(expression):
                yield Holds(substituted(expression, made))
            case Filter(operator, left, right) if expressive:
                yield Holds(_same_term(operator, left, right, made))
            case _:
                yield element


def _same_value(expression: Expression, name: str) -> Holds:
    same = expression, Variable(name)
    return Holds(Call("||", (Call("SAMETERM", same), Call("=", same))))


def _same_term(operator: str, left: Term, right: Term, made: Made) -> Expression:
    same = Call("SAMETERM", (_of(left, made), _of(right, made)))
    return same if operator == "=" else Call("!", (same,))


def _of(term: Term, made: Made) -> Expression:
    assert not isinstance(term, Span | SpanEnd), term
    return Constant(term) if isinstance(term, str) else substituted(Variable(term.name), made)
