"""What a rule asks besides the triples of its atoms: the NOTs, aggregates and expressions of one instance, as text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from triplake.rulesets.render import element_text, expression_text, text_of
from triplestore.compile.inline import substituted
from triplestore.model.expression import Constant
from triplestore.model.rule import Aggregate, Atom, Bind, BodyElement, Filter, Holds, Not, Rule, Term, Var

Element = TypeVar("Element", bound=BodyElement)


def conditions(rule: Rule, values: Mapping[str, str]) -> tuple[str, ...]:
    """A line for each NOT, FILTER, BIND and AGGREGATE of a rule, with the terms (tokens) of its variables put in."""
    return tuple(line for element in rule.body for line in _lines(element, values))


def grounded(element: Element, values: Mapping[str, str]) -> Element:
    """A body element with terms put in for variables; results of aggregates keep their names."""
    made = {name: Constant(token) for name, token in values.items()}

    def term(found: Term) -> Term:
        return values.get(found.name, found) if isinstance(found, Var) else found

    match element:
        case Atom():
            return Atom(*map(term, element.terms))  # type: ignore[return-value]
        case Filter(operator, left, right):
            return Filter(operator, term(left), term(right))  # type: ignore[return-value]
        case Holds(expression):
            return Holds(substituted(expression, made))  # type: ignore[return-value]
        case Bind(expression, variable):
            return Bind(substituted(expression, made), variable)  # type: ignore[return-value]
        case Not(body):
            return Not(tuple(grounded(part, values) for part in body))  # type: ignore[return-value]
        case Aggregate(body, _, results):
            parts = tuple(grounded(part, values) for part in body)
            inner = tuple(replace(r, argument=r.argument and substituted(r.argument, made)) for r in results)
            return replace(element, body=parts, results=inner)
    return element


def _lines(element: BodyElement, values: Mapping[str, str]) -> list[str]:
    match element:
        case Not():
            body = grounded(element, values).body
            plural = "s" if sum(isinstance(part, Atom) for part in body) > 1 else ""
            return [f"no such fact{plural}: {', '.join(map(element_text, body))}"]
        case Holds():
            return [element_text(grounded(element, values))]
        case Bind(_, variable) if variable.name in values:
            return [f"{text_of(values[variable.name])} = {expression_text(grounded(element, values).expression)}"]
        case Aggregate(_, keys, results):
            inside = grounded(element, {key.name: values[key.name] for key in keys if key.name in values})
            over = ", ".join(map(element_text, inside.body))
            return [
                f"{text_of(values[r.variable.name])} = {r.function}({'DISTINCT ' if r.distinct else ''}"
                f"{'*' if r.argument is None else expression_text(r.argument)}) of {over}"
                for r in results
                if r.variable.name in values
            ]
    return []
