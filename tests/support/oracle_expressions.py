"""The oracle's expressions: a few operators and functions of SPARQL (1.1, section 17), over tokens, in plain Python."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import ROUND_DOWN, Context, Decimal
from functools import reduce

from triplestore.model.expression import Call, Constant, Expression, Variable
from triplestore.model.terms import XSD

Binding = Mapping[str, str | int]
TRUE, FALSE = (f'"{word}"^^<{XSD}boolean>' for word in ("true", "false"))


EXACTLY = Context(prec=1000)


class ExpressionError(Exception):
    """An error of SPARQL's."""


def evaluate(expression: Expression, binding: Binding) -> str:
    """The value of an expression, a token. Raises ExpressionError."""
    match expression:
        case Constant(token):
            return token
        case Variable(name):
            if name not in binding:
                raise ExpressionError(name)
            return str(binding[name])
        case Call("IF", (condition, yes, no)):
            return evaluate(yes if boolean(evaluate(condition, binding)) else no, binding)
        case Call("COALESCE", arguments):
            for argument in arguments:
                try:
                    return evaluate(argument, binding)
                except ExpressionError:
                    continue
            raise ExpressionError("COALESCE")
        case Call("||" | "&&" as name, arguments):
            found: list[bool | None] = []
            for argument in arguments:
                try:
                    found.append(boolean(evaluate(argument, binding)))
                except ExpressionError:
                    found.append(None)
            decisive = name == "||"
            if decisive in found:
                return truth(decisive)
            if None in found:
                raise ExpressionError(name)
            return truth(not decisive)
        case Call(name, arguments):
            return call(name, [evaluate(argument, binding) for argument in arguments])
    raise NotImplementedError(expression)


def is_true(expression: Expression, binding: Binding) -> bool:
    """Whether a FILTER lets a match pass."""
    try:
        return boolean(evaluate(expression, binding))
    except ExpressionError:
        return False


def same_value(left: str, right: str) -> bool:
    """``left = right``, errors being false."""
    return is_true(Call("=", (Constant(left), Constant(right))), {})


def aggregate(function: str, argument: Expression | None, distinct: bool, members: Sequence[Binding]) -> str:
    """An aggregate of a group of matches. Raises ExpressionError."""
    if argument is None:
        return integer(len(members))
    values = []
    for member in members:
        try:
            values.append(evaluate(argument, member))
        except ExpressionError:
            if function != "COUNT":
                raise
    if distinct:
        values = list(set(values))
    if function == "COUNT":
        return integer(len(values))
    if function in ("MIN", "MAX"):
        if all(value.startswith("<") for value in values) or len({*values}) == 1:
            return (min if function == "MIN" else max)(values)
        return (min if function == "MIN" else max)(values, key=number)
    total = reduce(EXACTLY.add, map(number, values), Decimal(0))
    return integer(int(total)) if function == "SUM" else decimal(EXACTLY.divide(total, Decimal(len(values))))


def call(name: str, values: list[str]) -> str:
    """A function or operator of values."""
    match name, values:
        case ("BOUND", [_]):
            return TRUE
        case ("SAMETERM", [left, right]):
            return truth(left == right)
        case ("STR", [term]):
            return plain(text_of(term))
        case ("ISIRI", [term]):
            return truth(term.startswith("<"))
        case ("ISLITERAL", [term]):
            return truth(term.startswith('"'))
        case ("CONCAT", terms):
            return plain("".join(string(term) for term in terms))
        case ("LCASE", [term]):
            return plain(string(term).lower())
        case ("STRLEN", [term]):
            return integer(len(text_of(term) if re.search(r'"@[\w-]+$', term) else string(term)))
        case ("STRSTARTS", [term, start]):
            return truth(string(term).startswith(string(start)))
        case ("REGEX", [term, pattern]):
            return truth(re.search(string(pattern), string(term)) is not None)
        case ("IRI", [term]):
            if not term.startswith("<") and not re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", string(term)):
                raise ExpressionError("IRI")  # relative, and rules have no base
            return term if term.startswith("<") else f"<{string(term)}>"
        case ("!", [term]):
            return truth(not boolean(term))
        case ("+" | "-" | "*", [left, right]):
            compute = {"+": EXACTLY.add, "-": EXACTLY.subtract, "*": EXACTLY.multiply}[name]
            return integer(int(compute(number(left), number(right))))
        case ("=", [left, right]):
            return truth(left == right or compare(left, right, equal=True) == 0)
        case ("!=", [left, right]):
            return truth(left != right and compare(left, right, equal=True) != 0)
        case ("<" | ">" | "<=" | ">=", [left, right]):
            order = compare(left, right)
            return truth({"<": order < 0, ">": order > 0, "<=": order <= 0, ">=": order >= 0}[name])
    raise NotImplementedError(name)


def compare(left: str, right: str, equal: bool = False) -> int:
    """-1, 0 or 1. equal: it is only asked whether they are equal, which terms of all kinds can be."""
    for read in (number, string):
        try:
            a, b = read(left), read(right)
        except ExpressionError:
            continue
        return (a > b) - (a < b)  # type: ignore[operator]
    if not equal:
        raise ExpressionError(f"{left} < {right}")
    return 0 if left == right else 1


def truth(value: bool) -> str:
    return TRUE if value else FALSE


def boolean(term: str) -> bool:
    if term in (TRUE, FALSE):
        return term == TRUE
    raise ExpressionError(term)


EXACT = ("decimal", "integer", "nonNegativeInteger", "positiveInteger", "nonPositiveInteger", "negativeInteger", "long")
"""The datatypes of the numbers that programs have."""


def number(term: str) -> Decimal:
    for kind in EXACT:
        if term.endswith(f'"^^<{XSD}{kind}>'):
            return Decimal(term[1 : term.rindex('"')])
    raise ExpressionError(term)


def string(term: str) -> str:
    if term.startswith('"') and term.endswith('"'):
        return term[1:-1]
    raise ExpressionError(term)


def text_of(term: str) -> str:
    if term.startswith("_"):
        raise ExpressionError(term)
    return term[1:-1] if term.startswith("<") else term[1 : term.rindex('"')]


def plain(text: str) -> str:
    return f'"{text}"'


def integer(value: int) -> str:
    return f'"{value}"^^<{XSD}integer>'


def decimal(value: Decimal) -> str:
    cut = value.quantize(Decimal(1).scaleb(-18), ROUND_DOWN, EXACTLY)
    text = f"{cut:f}".rstrip("0").rstrip(".")
    return f'"{text}"^^<{XSD}decimal>'
