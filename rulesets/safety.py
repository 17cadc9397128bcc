"""What makes a rule meaningful: its spans have a list, its positions are numbers, its variables are bound (safety)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields, replace
from typing import TypeVar

from triplake.rulesets.render import terms_of, text_of
from triplestore.model.expression import Call, Constant, Expression, Variable, variables_of
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
from triplestore.model.terms import OWL

_E = TypeVar("_E", bound=BodyElement)


def normal(rule: Rule) -> Rule:
    """The rule with ``?un`` read as the end of the span u, where the rule has such a span, and with comparisons by <
    and > that are not of list positions read as SPARQL's. So are others where several speak of one variable, which is
    one term for all of them, and a plain join looks for a term of its class for each."""
    everything = (*rule.heads, *_all(rule.body))
    stems = {term.stem for element in everything for term in terms_of(element) if isinstance(term, Span)}
    ends: dict[object, SpanEnd] = {Var(stem + "n"): SpanEnd(stem) for stem in stems}
    positions = positions_of(rule.body)

    def replaced(element: _E) -> _E:
        if isinstance(element, Not):
            return replace(element, body=tuple(read(part, False) for part in element.body))  # type: ignore[misc]
        if isinstance(element, Aggregate):
            return replace(element, body=all_read(element.body))  # type: ignore[arg-type]
        values = {part.name: getattr(element, part.name) for part in fields(element)}
        return replace(element, **{name: ends.get(value, value) for name, value in values.items()})

    def read(element: BodyElement, tied: bool) -> BodyElement:
        pair = (element.left, element.right) if isinstance(element, Filter) else ()
        if not isinstance(element, Filter) or positions.intersection(pair):
            return replaced(element)
        sides = tuple(Variable(s.name) if isinstance(s, Var) else Constant(str(s)) for s in pair)
        if element.operator in ("<", ">"):
            return Holds(Call(element.operator, sides))
        same = Call("SAMETERM", sides)
        if tied and ends.keys().isdisjoint(pair):
            return Holds(same if element.operator == "=" else Call("!", (same,)))
        return replaced(element)

    def all_read(body: Sequence[BodyElement]) -> tuple[BodyElement, ...]:
        tied = _tied([e for e in body if not compares(e, positions)])
        return tuple(read(element, tied) for element in body)

    return replace(rule, heads=tuple(map(replaced, rule.heads)), body=all_read(rule.body))


def _tied(body: Sequence[BodyElement]) -> bool:
    """Whether two conditions of a body, one of them `!=`, speak of one variable."""
    compared = [element for element in body if isinstance(element, Filter) and element.operator in ("=", "!=")]
    named = [term for element in compared for term in (element.left, element.right) if isinstance(term, Var)]
    for element in body:
        if isinstance(element, Not):
            named += [Var(name) for part in element.body if not isinstance(part, Atom) for name in _names(part)]
    return len(named) > len({*named}) and any(element.operator == "!=" for element in compared)


def fault(rule: Rule) -> str:
    """Why the rule has no meaning, or nothing: lists and spans, list positions, safety."""
    if not rule.heads and not rule.body:
        return "false needs a body: false :- [..], .. ."
    return _lists_fault(rule) or _positions_fault(rule) or _binding_fault(rule)


def own_fault(rule: Rule, group: Not, own: Sequence[Var]) -> str:
    """Why the variables of a NOT EXISTS (one of the rule's, that very object) are not its own, or nothing."""
    groups = (e.body for e in rule.body if isinstance(e, Aggregate) and any(part is group for part in e.body))
    body = next(groups, rule.body)
    outside = _bound(e for e in body if e is not group) | {e.variable for e in body if isinstance(e, Bind)}
    inside = {Var(name) for name in _names(group)}
    for variable in own:
        if variable not in inside:
            return f"{text_of(variable)} of NOT EXISTS does not occur in its group"
        if variable in outside:
            return f"{text_of(variable)} of NOT EXISTS occurs outside of it, too: choose another name"
    for variable in sorted(inside - set(own), key=text_of):
        if not _is_bound(variable, outside):
            return f"{text_of(variable)} occurs in a NOT EXISTS only: list it after EXISTS"
    return ""


def _lists_fault(rule: Rule) -> str:
    lists = [element for element in rule.body if isinstance(element, ListOf)]
    everything = [*rule.heads, *_all(rule.body)]
    spans = {term for element in everything for term in terms_of(element) if isinstance(term, Span)}
    if len(lists) > 1:
        return "one LIST at most, as its length is the length of the rule's spans"
    if spans and not lists:
        return f"{text_of(min(spans, key=repr))} has no length: the body must have LIST[?l, ?x1 .. ?xn]"
    for element in rule.body:
        if isinstance(element, Filter) and any(isinstance(term, Span) for term in terms_of(element)):
            return "FILTER compares single terms, not spans"
    return ""


def _positions_fault(rule: Rule) -> str:
    positions = positions_of(rule.body)
    others = [t for e in (*rule.heads, *_all(rule.body)) if not isinstance(e, Filter) for t in terms_of(e)[:3]]
    members = [t for e in rule.body if isinstance(e, MemberOf) for t in terms_of(e)[:2]]
    atoms = [t for e in (*rule.heads, *_all(rule.body)) if isinstance(e, Atom | ListOf) for t in terms_of(e)]
    read = [Var(name) for e in _all(rule.body) for x in _expressions(e) for name in variables_of(x)]
    made = [e.variable for e in _all(rule.body) if isinstance(e, Bind)]
    made += [r.variable for e in rule.body if isinstance(e, Aggregate) for r in e.results]
    for term in [t for t in others if t in atoms or t in members] + read + made:
        if term in positions:
            return f"{text_of(term)} is a position in a list, a number, and cannot be a term too"
    for element in rule.body:
        if isinstance(element, Filter):
            sides = {element.left, element.right}
            if sides & positions and not sides <= positions:
                return "FILTER compares a position in a list with a term"
        elif any(compares(e, positions) for e in _all([element])):
            return "positions in a list are compared beside the atoms, not in a NOT or an AGGREGATE"
    return ""


def _binding_fault(rule: Rule) -> str:
    bound = _bound(rule.body)
    if reason := _made_fault(rule.body, bound):
        return reason
    known = bound | {e.variable for e in rule.body if isinstance(e, Bind)}
    for head in rule.heads:
        for term in head.terms:
            if not isinstance(term, str) and not _is_bound(term, known):
                return f"{text_of(term)} occurs in no atom of the body"
    return _conditions_fault(rule.body, known)


def _conditions_fault(body: Sequence[BodyElement], known: set[Term]) -> str:
    """Variables of conditions and groups that nothing binds."""
    for element in body:
        match element:
            case Filter():
                for term in terms_of(element):
                    if not isinstance(term, str) and not _is_bound(term, known):
                        return f"{text_of(term)} occurs in no atom of the body"
            case Holds(expression):
                if name := _free(expression, known):
                    return f"?{name} occurs in no atom of the body"
            case Not(group):
                if not any(isinstance(e, Atom) for e in group):
                    return "a NOT needs an atom: write FILTER(!(..)) to negate a condition"
                if reason := _conditions_fault(group, known | _bound(group)):
                    return reason.replace("no atom of the body", "no atom of the body nor of its NOT")
            case Aggregate():
                others = [e for e in body if e is not element]
                if reason := _aggregate_fault(element, known, others):
                    return reason
    return ""


def _aggregate_fault(aggregate: Aggregate, known: set[Term], others: Sequence[BodyElement]) -> str:
    inner = _bound(aggregate.body)
    results = {result.variable for result in aggregate.results}
    if not inner:
        return "an AGGREGATE needs an atom"
    for element in _all(aggregate.body):
        if isinstance(element, Atom) and element.p == f"<{OWL}sameAs>":
            return "owl:sameAs has no place in an AGGREGATE: equal terms count once"
    for key in aggregate.keys:
        if key not in inner:
            return f"{text_of(key)} of AGGREGATE .. ON occurs in no atom of its group"
    if len(results) < len(aggregate.results) or results & inner:
        return "each result of an AGGREGATE has a variable of its own"
    outside = {Var(name) for e in others for name in _names(e)}
    for variable in sorted(inner - set(aggregate.keys), key=repr):
        if variable in outside:
            return f"{text_of(variable)} is AGGREGATE's own: list it after ON, or choose another name outside"
    if reason := _made_fault(aggregate.body, inner):
        return reason
    inner |= {e.variable for e in aggregate.body if isinstance(e, Bind)}
    for result in aggregate.results:
        if result.argument and (name := _free(result.argument, inner)):
            return f"?{name} of {result.function} occurs in no atom of its group"
    return _conditions_fault(aggregate.body, inner)


def _made_fault(body: Iterable[BodyElement], bound: set[Term]) -> str:
    """BINDs that read what nothing before them binds, or that bind a variable twice."""
    known, made = set(bound), set[Var]()
    for element in body:
        if isinstance(element, Bind):
            if name := _free(element.expression, known):
                return f"?{name} is read by BIND, but bound by no atom of the body and no BIND before it"
            if element.variable in made:
                return f"{text_of(element.variable)} is bound by two BINDs"
            made.add(element.variable)
            known.add(element.variable)
    return ""


def _free(expression: Expression, known: set[Term]) -> str:
    """A variable of the expression that is not known, or nothing."""
    return next((n for n in sorted(variables_of(expression)) if not _is_bound(Var(n), known)), "")


def _all(body: Iterable[BodyElement]) -> list[BodyElement]:
    """The elements of a body and of the groups in it."""
    found: list[BodyElement] = []
    for element in body:
        found.append(element)
        if isinstance(element, Not | Aggregate):
            found += _all(element.body)
    return found


def _bound(body: Iterable[BodyElement]) -> set[Term]:
    """What the elements (not the groups in them) give values to."""
    found: set[Term] = set()
    for element in body:
        if isinstance(element, Atom | ListOf | MemberOf):
            found.update(t for t in terms_of(element) if not isinstance(t, str))
        elif isinstance(element, Aggregate):
            found.update((*element.keys, *(result.variable for result in element.results)))
    return found


def _expressions(element: BodyElement) -> list[Expression]:
    match element:
        case Holds(expression) | Bind(expression):
            return [expression]
        case Aggregate(_, _, results):
            return [r.argument for r in results if r.argument is not None]
    return []


def _names(element: BodyElement) -> set[str]:
    """The names of all variables in an element, its groups included; an AGGREGATE shows its keys and results only."""
    if isinstance(element, Aggregate):
        return {v.name for v in (*element.keys, *(r.variable for r in element.results))}
    parts = _all([element])
    names = {t.name for e in parts for t in terms_of(e) if isinstance(t, Var)}
    names |= {e.variable.name for e in parts if isinstance(e, Bind)}
    return names | {name for e in parts for x in _expressions(e) for name in variables_of(x)}


def _is_bound(term: Term, bound: set[Term]) -> bool:
    match term:
        case Var(name) if name[-1] in "01":
            return term in bound or Span(name[:-1], int(name[-1])) in bound
        case SpanEnd(stem):
            return term in bound or Span(stem, 1) in bound
        case Span(stem, first):
            parts = {Span(stem, 0), SpanEnd(stem)} if first else {Var(stem + "0"), Span(stem, 1)}
            return term in bound or parts <= bound
        case _:
            return term in bound
