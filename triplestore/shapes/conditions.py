"""Constraints on each value alone, as expressions of SPARQL; an error: the value does not conform."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Final

from triplestore.dictionary.datatypes import BOUNDS
from triplestore.expressions.functions import FUNCTIONS, KEEPING
from triplestore.model.expression import Call, Constant, Expression, Variable
from triplestore.model.terms import XSD, lexical_of, literal_token
from triplestore.shapes.model import Datatype, LanguageIn, Length, NodeKind, Pattern, Range

FALSE: Final = Constant(literal_token("false", XSD + "boolean"))

OnValues = Datatype | NodeKind | Range | Length | Pattern | LanguageIn


def condition(constraint: OnValues, name: str) -> Expression:
    """What holds of a value (a variable) that conforms."""
    value = Variable(name)
    match constraint:
        case Datatype(datatype):
            named = Call("=", (Call("DATATYPE", (value,)), Constant(datatype)))
            return _all([named, *_well_formed(datatype[1:-1], value)])
        case NodeKind(kinds):
            return _any([Call(f"IS{kind}", (value,)) for kind in kinds])
        case Range(_, operator, bound):
            return Call(operator, (value, Constant(bound)))
        case Length(minimum, number):
            bound = literal_token(str(number), XSD + "integer")
            return Call(">=" if minimum else "<=", (Call("STRLEN", (_text(value),)), Constant(bound)))
        case Pattern(pattern, flags):
            given = (pattern,) if flags is None else (pattern, flags)
            return Call("REGEX", (_text(value), *map(Constant, given)))
        case LanguageIn(ranges):
            tag = Call("LANG", (value,))
            return _any([Call("LANGMATCHES", (tag, Constant(wanted))) for wanted in ranges])


def fails(expression: Expression) -> Expression:
    """That an expression does not hold, or is an error."""
    return Call("!", (Call("COALESCE", (expression, FALSE)),))


def _text(value: Variable) -> Expression:
    """STR, which blank nodes do not have."""
    return Call("STR", (value,))


def _well_formed(datatype: str, value: Variable) -> list[Expression]:
    """What holds of the literals of a datatype that have a value, where SPARQL's casts tell it."""
    low, high = BOUNDS.get(datatype, (None, None))
    kind = XSD + "integer" if datatype in BOUNDS else datatype
    if kind == XSD + "string" or (kind not in FUNCTIONS and kind not in KEEPING):
        return []
    cast = Call(kind, (_text(value),))
    found: list[Expression] = [Call("ISLITERAL", (cast,))]
    for operator, bound in ((">=", low), ("<=", high)):
        if bound is not None:
            found.append(Call(operator, (cast, Constant(literal_token(str(bound), XSD + "integer")))))
    return found


def _all(parts: Sequence[Expression]) -> Expression:
    return reduce(lambda one, other: Call("&&", (one, other)), parts)


def _any(parts: Sequence[Expression]) -> Expression:
    return reduce(lambda one, other: Call("||", (one, other)), parts) if parts else FALSE


def what_is_wanted(constraint: OnValues) -> str:
    """The condition in words, for messages."""
    match constraint:
        case Datatype(datatype):
            return f"the datatype {datatype}"
        case NodeKind(kinds):
            names = {"IRI": "an IRI", "BLANK": "a blank node", "LITERAL": "a literal"}
            return " or ".join(names[kind] for kind in kinds)
        case Range(_, operator, bound):
            return f"{operator} {lexical_of(bound)}"
        case Length(minimum, number):
            return f"a text of {'at least' if minimum else 'at most'} {number} characters"
        case Pattern(pattern, _):
            return f"the pattern {lexical_of(pattern)}"
        case LanguageIn(ranges):
            return f"a language of {', '.join(map(lexical_of, ranges))}"
