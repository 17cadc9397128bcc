"""What makes a rule meaningful: its spans have a list, its positions are numbers, its variables are bound (safety)."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TypeVar

from rulesets.render import terms_of, text_of
from triplestore.rule import BodyElement, Filter, ListOf, MemberOf, Rule, Span, SpanEnd, Term, Var

_E = TypeVar("_E", bound=BodyElement)


def with_span_ends(rule: Rule) -> Rule:
    """The rule with ``?un`` read as the end of the span u, where the rule has such a span."""
    stems = {term.stem for element in (*rule.heads, *rule.body) for term in terms_of(element) if isinstance(term, Span)}
    ends = {Var(stem + "n"): SpanEnd(stem) for stem in stems}

    def replaced(element: _E) -> _E:
        values = {part.name: getattr(element, part.name) for part in fields(element)}
        return replace(element, **{name: ends.get(value, value) for name, value in values.items()})

    heads, body = tuple(map(replaced, rule.heads)), tuple(map(replaced, rule.body))
    return replace(rule, heads=heads, body=body) if ends else rule


def fault(rule: Rule) -> str:
    """Why the rule has no meaning, or nothing: lists and spans, list positions, safety."""
    if not rule.heads and not rule.body:
        return "false needs a body: false :- [..], .. ."
    lists = [element for element in rule.body if isinstance(element, ListOf)]
    binding = [element for element in rule.body if not isinstance(element, Filter)]
    bound = {term for element in binding for term in terms_of(element)}
    spans = {term for element in (*rule.heads, *rule.body) for term in terms_of(element) if isinstance(term, Span)}
    if len(lists) > 1:
        return "one LIST at most, as its length is the length of the rule's spans"
    if spans and not lists:
        return f"{text_of(min(spans, key=repr))} has no length: the body must have LIST[?l, ?x1 .. ?xn]"

    positions = {e.position for e in rule.body if isinstance(e, MemberOf) and e.position is not None}
    others = [term for e in (*rule.heads, *binding) for term in terms_of(e)[: 2 if isinstance(e, MemberOf) else 3]]
    for term in others:
        if term in positions:
            return f"{text_of(term)} is a position in a list, a number, and cannot be a term too"
    filters = [element for element in rule.body if isinstance(element, Filter)]
    for element in filters:
        sides = {element.left, element.right}
        if element.operator in ("<", ">") and not sides <= positions:
            return f"FILTER with {element.operator} compares positions of MEMBER only, in rules yet"
        if sides & positions and not sides <= positions:
            return "FILTER compares a position in a list with a term"

    needing: tuple[BodyElement, ...] = (*rule.heads, *filters)
    for needs in needing:
        for term in terms_of(needs):
            if not isinstance(term, str) and not _is_bound(term, bound):
                return f"{text_of(term)} occurs in no atom of the body"
            if isinstance(needs, Filter) and isinstance(term, Span):
                return "FILTER compares single terms, not spans"
    return ""


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
