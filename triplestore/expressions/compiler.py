"""Expressions of SPARQL (1.1, section 17) to SQL: an expression tree becomes a `Value`, or a condition for WHERE."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from triplestore.engine.dialect import Dialect
from triplestore.errors import UnsupportedError, UsageError
from triplestore.expression import Call, Constant, Exists, Expression, Variable
from triplestore.expressions.compare import equals, less, same_term
from triplestore.expressions.decimals import NULL
from triplestore.expressions.functions import FUNCTIONS
from triplestore.expressions.regex import replacement, translate
from triplestore.expressions.values import ERROR, Value, boolean, constant, string, string_literal, truth
from triplestore.terms import split_literal

_PARTS: Final = ("kind", "lexical", "datatype", "lang", "rank", "decimal", "double", "micros")


@dataclass(frozen=True, slots=True)
class Expressions:
    """Compiles the expressions of one place in a query.

    variable: the value of a variable there. ids: the constants' ids.
    """

    dialect: Dialect
    ids: dict[str, int]
    variable: Callable[[str], Value]

    def value(self, expression: Expression) -> Value:
        """The value of an expression. Raises UnsupportedError naming a function that is not supported."""
        match expression:
            case Variable(name):
                return self.variable(name)
            case Constant(token):
                return constant(self.dialect, token, self.ids[token])
            case Exists():
                raise UnsupportedError("EXISTS inside another expression is not supported: give it a FILTER of its own")
            case Call(name, arguments):
                return self._call(name, arguments)

    def truth(self, expression: Expression) -> str:
        """The effective boolean value of an expression, as an SQL condition; NULL for an error."""
        return truth(self.value(expression))

    def condition(self, expression: Expression) -> str:
        """A condition for WHERE or ON, where an error counts as false."""
        match expression:
            case Call("&&" | "||" as operator, parts):
                joined = {"&&": " AND ", "||": " OR "}[operator]
                return f"({joined.join(self.condition(part) for part in parts)})"
            case Call("=", (Variable() as variable, Constant() as term)) | Call(
                "=", (Constant() as term, Variable() as variable)
            ):
                return self._is_constant(variable, term)
            case Call("IN", (Variable() as variable, *terms)) if terms:
                tests = (
                    self._is_constant(variable, t)
                    if isinstance(t, Constant)
                    else equals(self.value(variable), self.value(t))
                    for t in terms
                )
                return f"({' OR '.join(tests)})"
            case _:
                return f"({self.truth(expression)})"

    def _is_constant(self, variable: Variable, term: Constant) -> str:
        """Where errors count as false, a string equals itself and no other term: the ids decide."""
        left, right = self.value(variable), self.value(term)
        if left.id is not None and right.static in ("string", "text"):
            return f"{left.id} = {right.id}"
        return f"({equals(left, right)})"

    def _call(self, name: str, arguments: tuple[Expression, ...]) -> Value:
        match name:
            case "&&" | "||":
                operator = " AND " if name == "&&" else " OR "
                return boolean(operator.join(f"({self.truth(part)})" for part in arguments))
            case "!":
                return boolean(f"NOT ({self.truth(arguments[0])})")
            case "BOUND":
                return boolean(self.value(arguments[0]).bound)
            case "IF":
                return self._choose(self.truth(arguments[0]), self.value(arguments[1]), self.value(arguments[2]))
            case "COALESCE":
                *first, found = (self.value(part) for part in arguments)
                for value in reversed(first):
                    found = self._choose(value.bound, value, found)
                return found
            case "IN" | "NOT IN":
                left, *others = (self.value(part) for part in arguments)
                found_sql = " OR ".join(f"({equals(left, other)})" for other in others) or "FALSE"
                return boolean(found_sql if name == "IN" else f"NOT ({found_sql})")
            case "REGEX" | "REPLACE":
                return self._regex(name, arguments)
        values = [self.value(part) for part in arguments]
        match name:
            case "=":
                return boolean(equals(*values))
            case "!=":
                return boolean(f"NOT ({equals(*values)})")
            case "<" | ">":
                return boolean(less(values[0], name, values[1]))
            case "<=" | ">=":
                strict = less(values[0], name[0], values[1])
                return boolean(f"({strict}) OR (({strict}) IS NOT NULL AND ({equals(*values)}))")
            case "SAMETERM":
                return boolean(same_term(*values))
        function = FUNCTIONS.get(name)
        if function is None:
            raise UnsupportedError(f"the function {name if name.isupper() else f'<{name}>'} is not supported")
        try:
            return function(self.dialect, *values)
        except TypeError as error:
            raise UsageError(f"{name} does not take {len(values)} arguments") from error

    def _choose(self, condition: str, yes: Value, no: Value) -> Value:
        """IF: an error in the condition is an error."""

        def pick(one: str, other: str) -> str:
            if one == other:
                return one
            return f"CASE WHEN ({condition}) THEN {one} WHEN NOT ({condition}) THEN {other} END"

        parts = {part: pick(getattr(yes, part), getattr(no, part)) for part in _PARTS}
        parts["kind"] = f"CASE WHEN ({condition}) THEN {yes.kind} WHEN NOT ({condition}) THEN {no.kind} END"
        static = yes.static if yes.static == no.static else "any"
        both = yes.truth is not None and no.truth is not None
        chosen = pick(yes.truth or NULL, no.truth or NULL) if both else None
        if static == "boolean" and chosen is not None:
            chosen = f"CASE WHEN ({condition}) THEN {yes.truth} WHEN NOT ({condition}) THEN {no.truth} END"
        return Value(**parts, static=static, truth=chosen if static == "boolean" else None)

    def _regex(self, name: str, arguments: tuple[Expression, ...]) -> Value:
        """REGEX and REPLACE: pattern, replacement and flags must be constants."""
        plain: list[str] = []
        for part in arguments[1:]:
            if not isinstance(part, Constant) or part.token[0] != '"':
                raise UnsupportedError(
                    f"{name} with a pattern, replacement or flags that are no plain string is not supported"
                )
            plain.append(split_literal(part.token)[0])
        java = self.dialect.java_regex
        subject = self.value(arguments[0])
        text = string_literal(subject)
        if name == "REGEX":
            pattern = translate(plain[0], plain[1] if len(plain) > 1 else "", java)
            return boolean(self.dialect.contains_match(text, pattern))
        pattern = translate(plain[0], plain[2] if len(plain) > 2 else "", java)
        return string(self.dialect.replace_matches(text, pattern, replacement(plain[1], java)), subject.lang)


__all__ = ["ERROR", "Expressions"]
