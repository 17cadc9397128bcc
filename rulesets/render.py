"""Rule -> text in the rule language: what `rulesets.datalog.parse` reads back as the same rule."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

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
    Result,
    Rule,
    Span,
    SpanEnd,
    Term,
    Var,
)
from triplestore.model.terms import OWL, RDF, RDFS, XSD, to_ntriples

BUILTIN_PREFIXES: Final = {"rdf": RDF, "rdfs": RDFS, "owl": OWL, "xsd": XSD}
"""Prefixes that every rule text knows without declaring them."""


def render(rule: Rule) -> str:
    """The text of a rule: ``parse(render(rule), ..) == (rule,)``."""
    heads = ", ".join(element_text(atom) for atom in rule.heads) or "false"
    body = ", ".join(element_text(element) for element in rule.body)
    return f"@rule {rule.name}\n{heads} :- {body} ." if body else f"@rule {rule.name}\n{heads} ."


def element_text(element: BodyElement) -> str:
    """An element of a body as the rule language writes it."""
    terms = [text_of(term) for term in terms_of(element)]
    match element:
        case Atom():
            return f"[{terms[0]}, {'a' if terms[1] == 'rdf:type' else terms[1]}, {terms[2]}]"
        case ListOf():
            return f"LIST[{', '.join(terms)}]"
        case MemberOf():
            return f"MEMBER[{', '.join(terms)}]"
        case Filter(operator):
            return f"FILTER({f' {operator} '.join(terms)})"
        case Holds(expression):
            return f"FILTER({expression_text(expression)})"
        case Bind(expression, variable):
            return f"BIND({expression_text(expression)} AS ?{variable.name})"
        case Not(body):
            return f"NOT ({', '.join(map(element_text, body))})"
        case Aggregate(body, keys, results):
            on = "".join(f" ?{key.name}" for key in keys)
            return f"AGGREGATE({', '.join(map(element_text, body))} ON{on}{''.join(map(_result, results))})"


def _result(result: Result) -> str:
    argument = "*" if result.argument is None else expression_text(result.argument)
    distinct = "DISTINCT " if result.distinct else ""
    return f" BIND {result.function}({distinct}{argument}) AS ?{result.variable.name}"


INFIX: Final = ("||", "&&", "=", "!=", "<", ">", "<=", ">=", "+", "-", "*", "/")
"""Operators that are written between their operands."""

_CHAINED: Final = {"+": "+-", "-": "+-", "*": "*/", "/": "*/"}
"""Operators, and those that a chain has beside them, without parentheses: it is read from the left."""

PREFIX: Final = {"!": "!", "negate": "-", "plus": "+"}
"""Operators that are written before their operand."""


def expression_text(expression: Expression) -> str:
    """An expression as the rule language writes it, with all parentheses."""
    match expression:
        case Variable(name):
            return f"?{name}"
        case Constant(token):
            return text_of(token)
        case Call(name, (_, _)) if name in _CHAINED:
            return f"({_chain(expression, _CHAINED[name])})"
        case Call(name, arguments) if name in INFIX:
            return f"({f' {name} '.join(map(expression_text, arguments))})"
        case Call(name, (argument,)) if name in PREFIX:
            return f"{PREFIX[name]} ({expression_text(argument)})"
        case Call("IN" | "NOT IN" as name, (first, *others)):
            return f"({expression_text(first)} {name} ({', '.join(map(expression_text, others))}))"
        case Call(name, arguments):
            function = text_of(f"<{name}>") if ":" in name else name
            return f"{function}({', '.join(map(expression_text, arguments))})"
    raise ValueError(f"{expression!r} is not of the rule language")


def _chain(expression: Expression, operators: str) -> str:
    parts: list[str] = []
    while isinstance(expression, Call) and expression.name in operators and len(expression.arguments) == 2:
        name, (expression, right) = expression.name, expression.arguments
        parts.append(f"{name} {expression_text(right)}")
    return " ".join((expression_text(expression), *reversed(parts)))


def text_of(term: Term) -> str:
    """A term as the rule language writes it."""
    match term:
        case Var(name):
            return f"?{name}"
        case Span(stem, first):
            return f"?{stem}1 .. ?{stem}n" if first else f"?{stem}0 .. ?{stem}n-1"
        case SpanEnd(stem):
            return f"?{stem}n"
        case str() if term[0] == '"':
            close = term.rindex('"') + 1
            datatype = term[close + 2 :] if term[close:].startswith("^^") else ""
            return to_ntriples(term[:close]) + (f"^^{text_of(datatype)}" if datatype else term[close:])
        case str():
            for prefix, space in BUILTIN_PREFIXES.items():
                if term.startswith("<" + space) and re.fullmatch(r"[A-Za-z]\w*", term[len(space) + 1 : -1]):
                    return f"{prefix}:{term[len(space) + 1 : -1]}"
            return term
    return ""


def terms_of(element: BodyElement) -> Sequence[Term]:
    """The terms of an atom, list or comparison, in the order of its text."""
    match element:
        case Atom():
            return element.terms
        case ListOf(head, items):
            return head, items
        case MemberOf(head, item, position):
            return (head, item) if position is None else (head, item, position)
        case Filter(_, left, right):
            return left, right
    return ()
