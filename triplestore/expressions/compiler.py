"""Expressions of SPARQL (1.1, section 17) to SQL: an expression tree becomes a `Value`, or a condition for WHERE."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from triplestore.engine.dialect import Dialect
from triplestore.expressions.columns import is_repeatable
from triplestore.expressions.compare import equality_key, equals, less, same_term
from triplestore.expressions.constants import compare_exact, compare_instant, is_exact, is_instant, is_ordered
from triplestore.expressions.constructors import bnode, to_iri
from triplestore.expressions.decimals import NULL
from triplestore.expressions.evaluation import MANY, Program, weight
from triplestore.expressions.functions import FUNCTIONS, KEEPING
from triplestore.expressions.membership import among, listed
from triplestore.expressions.regex import replacement, translate
from triplestore.expressions.strings import replaced
from triplestore.expressions.terms import TRUE
from triplestore.expressions.values import (
    ERROR,
    STRING,
    Value,
    boolean,
    constant,
    iri,
    number,
    parsed,
    string,
    string_literal,
    token,
    truth,
)
from triplestore.model.errors import UnsupportedError, UsageError
from triplestore.model.expression import Call, Constant, Exists, Expression, Variable
from triplestore.model.terms import XSD, literal_token, split_literal

PARTS: Final = ("kind", "text", "datatype", "lang", "rank", "decimal", "inexact", "micros", "rest")
"""The parts of a value."""


Stage = Callable[[Value], Value]
"""Makes columns of a value's parts, so that what is built on it names them instead of repeating them."""

_LONG: Final = 400
"""Characters of SQL from which a value becomes columns."""

_TURNED: Final = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
_OPERATORS: Final = ("=", "!=", "<", "<=", ">", ">=", "SAMETERM")


def _no_exists(test: Exists) -> str:
    raise UnsupportedError("EXISTS is not supported here")


@dataclass(frozen=True, slots=True)
class Expressions:
    """Compiles the expressions of one place in a query or rule.

    variable: the value of a variable there. ids: the constants' ids. stage: makes columns of a step before of long
    values, and of what must be evaluated once (RAND, UUID ...), as `triplestore.expressions.staging` does. exists: the
    SQL condition of an EXISTS. base: what IRI() resolves against. now: the xsd:dateTime of NOW(). refusing: whether
    functions that there are none of are refused; else they are errors of the expression. triples: terms may be triple
    terms. least: the weight from which
    `triplestore.expressions.evaluation` evaluates an expression row by row.
    """

    dialect: Dialect
    ids: Mapping[str, int]
    variable: Callable[[str], Value]
    stage: Stage
    exists: Callable[[Exists], str] = _no_exists
    base: str | None = None
    now: str | None = None
    refusing: bool = True
    triples: bool = True
    least: int = MANY
    rows: dict[str, Value] = field(default_factory=dict)
    """What is unique to a solution, once there is such a thing."""
    kept: dict[str, str] = field(default_factory=dict)
    """The columns that `keep` has made, by their SQL."""

    def value(self, expression: Expression) -> Value:
        """The value of an expression. Raises UnsupportedError naming a function that is not supported."""
        match expression:
            case Variable(name):
                return self.variable(name)
            case Constant(token):
                return constant(self.dialect, token, self.ids[token])
            case Exists():
                return boolean(self.exists(expression))
            case Call() if self._is_long(expression):
                return self.stage(parsed(self.dialect, self.keep, self._evaluated(expression)))
            case Call(name, arguments):
                found = self._call(name, arguments)
                if sum(len(getattr(found, part)) for part in PARTS) > _LONG:
                    return self.stage(found)
                return found

    def truth(self, expression: Expression) -> str:
        """The effective boolean value of an expression, as an SQL condition; NULL for an error."""
        return truth(self.value(expression))

    def condition(self, expression: Expression) -> str:
        """A condition for WHERE or ON, where an error counts as false."""
        match expression:
            case Call() if self._is_long(expression):
                return f"{self._evaluated(expression, truth=True)} = {self.dialect.string(TRUE.token)}"
            case Call("&&" | "||" as operator, parts):
                joined = {"&&": " AND ", "||": " OR "}[operator]
                return f"({joined.join(self.condition(part) for part in parts)})"
            case Call("=", (Variable() as variable, Constant() as term)) | Call(
                "=", (Constant() as term, Variable() as variable)
            ):
                return self._is_constant(variable, term)
            case Call("IN", (Variable() as variable, *terms)) if terms:
                return self._among(self.value(variable), terms, errors=False)
            case _:
                return f"({self.truth(expression)})"

    def key(self, expression: Expression) -> str:
        """See `triplestore.expressions.compare.equality_key`."""
        return self.keep(equality_key(self.value(expression)))

    def _is_long(self, expression: Expression) -> bool:
        return weight(expression) >= max(1, self.least)

    def _evaluated(self, expression: Expression, truth: bool = False) -> str:
        """The token of an expression's value, or of its effective boolean value, row by row."""
        program = Program()
        last = program.add(expression)
        if truth:
            program.step("truth", last)
        tokens = [self.keep(token(self.value(operand))) for operand in program.operands]
        packed = [f"coalesce(CAST(length({one}) AS STRING) || ':' || {one}, ':')" for one in tokens]
        return self.keep(f"tl_evaluate({self.dialect.string(program.text)}, {' || '.join(packed) or repr('')})")

    def _is_constant(self, variable: Variable, term: Constant) -> str:
        """Where errors count as false, a string equals itself and no other term: the ids decide."""
        left, right = self.value(variable), self.value(term)
        if left.id is not None and right.static in ("string", "text"):
            return f"{left.id} = {right.id}"
        return f"({self._equal(left, right)})"

    def _equal(self, left: Value, right: Value) -> str:
        """The condition left = right."""
        if listed(left) and not listed(right):
            left, right = right, left
        if listed(right) and not listed(left):
            return among(self.dialect, self.keep, left, [right], errors=True)
        return equals(self.dialect, left, right, self.triples)

    def _ordered(self, left: Value, operator: str, right: Value) -> str:
        """The condition left < right, or of <=, >, >=."""
        if is_ordered(left) and not is_ordered(right):
            left, operator, right = right, _TURNED[operator], left
        if is_exact(right):
            return compare_exact(left, operator, right)
        if is_instant(right):
            return compare_instant(left, operator, right, self.keep)
        strict = less(self.dialect, left, operator[0], right)
        if len(operator) == 1:
            return strict
        return f"({strict}) OR (({strict}) IS NOT NULL AND ({self._equal(left, right)}))"

    def _among(self, left: Value, terms: Sequence[Expression], errors: bool) -> str:
        """The condition that a value equals one of some expressions. errors: whether it is NULL if none does, and there
        is one that it cannot be compared with."""
        values = [self.value(term) for term in terms]
        plain, others = ([v for v in values if listed(v) == wanted] for wanted in (True, False))
        tests = [among(self.dialect, self.keep, left, plain, errors)] if plain else []
        tests += [f"({self._equal(left, other)})" for other in others]
        return f"({' OR '.join(tests) or 'FALSE'})"

    def keep(self, sql: str) -> str:
        """SQL for the value of some SQL: a column, the same for the same SQL, unless it is short."""
        if is_repeatable(sql):
            return sql
        if sql not in self.kept:
            self.kept[sql] = self.stage(Value(NULL, sql, NULL)).text
        return self.kept[sql]

    def _call(self, name: str, arguments: tuple[Expression, ...]) -> Value:
        match name:
            case "&&" | "||":
                operator = " AND " if name == "&&" else " OR "
                return boolean(operator.join(f"({self.truth(part)})" for part in arguments))
            case "!":
                negated = self.value(arguments[0])
                return ERROR if negated.failed else boolean(f"NOT ({truth(negated)})")
            case "BOUND":
                return boolean(self.value(arguments[0]).bound)
            case "IF":
                tested = self.value(arguments[0])
                if tested.failed:
                    return ERROR
                condition = self.keep(truth(tested))
                return self._choose(condition, self.value(arguments[1]), self.value(arguments[2]))
            case "COALESCE":
                if not arguments:
                    return ERROR
                *first, found = (self.value(part) for part in arguments)
                for value in reversed(first):
                    found = self._choose(self.keep(value.bound), value, found)
                    found = self.stage(found)
                return found
            case "IN" | "NOT IN":
                found_sql = self._among(self.value(arguments[0]), arguments[1:], errors=True)
                return boolean(found_sql if name == "IN" else f"NOT ({found_sql})")
            case "REGEX" | "REPLACE":
                return self._regex(name, arguments)
            case "RAND" | "UUID" | "STRUUID" | "BNODE":
                return self._new(name, arguments)
            case "NOW":
                if self.now is None:
                    raise UnsupportedError("NOW is not supported here")
                return constant(self.dialect, literal_token(self.now, XSD + "dateTime"), 0).computed
            case "IRI":
                return to_iri(self.dialect, self.value(arguments[0]), self.base)
        values = [self.value(part) for part in arguments]
        if any(value.failed for value in values) and (name in _OPERATORS or name in KEEPING or name in FUNCTIONS):
            return ERROR
        match name:
            case "=":
                return boolean(self._equal(*values))
            case "!=":
                return boolean(f"NOT ({self._equal(*values)})")
            case "<" | ">" | "<=" | ">=":
                return boolean(self._ordered(values[0], name, values[1]))
            case "SAMETERM":
                return boolean(same_term(*values))
        try:
            if name in KEEPING:
                return KEEPING[name](self.dialect, self.keep, *values)
            function = FUNCTIONS.get(name)
            if function is None:
                return self._unknown(name)
            return function(self.dialect, *values)
        except TypeError as error:
            raise UsageError(f"{name} does not take {len(values)} arguments") from error

    def _choose(self, condition: str, yes: Value, no: Value) -> Value:
        """IF: an error in the condition is an error."""

        def pick(one: str, other: str) -> str:
            if one == other:
                return one
            return f"CASE WHEN ({condition}) THEN {one} WHEN NOT ({condition}) THEN {other} END"

        static = yes.static if yes.static == no.static else "any"
        if static != "number":
            yes, no = yes.explicit, no.explicit
        parts = {part: pick(getattr(yes, part), getattr(no, part)) for part in PARTS}
        parts["kind"] = f"CASE WHEN ({condition}) THEN {yes.kind} WHEN NOT ({condition}) THEN {no.kind} END"
        truth_ = None
        if static == "boolean":
            truth_ = f"CASE WHEN ({condition}) THEN {yes.truth} WHEN NOT ({condition}) THEN {no.truth} END"
        return Value(**parts, static=static, truth=truth_, writer=yes.writer or no.writer)

    def _unknown(self, name: str) -> Value:
        """A function that is none of ours: where it is evaluated it gives an error (SPARQL 1.1, section 17.6)."""
        if self.refusing:
            raise UnsupportedError(f"the function {name if name.isupper() else f'<{name}>'} is not supported")
        return ERROR.computed

    def _new(self, name: str, arguments: tuple[Expression, ...]) -> Value:
        """Functions that give something new each time; staged, so that a row has one."""
        if name == "RAND":
            return self.stage(number(self.dialect, "4", NULL, self.dialect.random))
        if name == "BNODE" and arguments:  # the same for the same label, all over the solution
            if "" not in self.rows:
                self.rows[""] = self.stage(string(self.dialect.uuid))
            return bnode(self.dialect, self.rows[""].lexical, self.value(arguments[0]))
        row = self.stage(string(self.dialect.uuid))
        if name == "BNODE":
            return bnode(self.dialect, row.lexical)
        return iri(f"concat('urn:uuid:', {row.lexical})") if name == "UUID" else row

    def _regex(self, name: str, arguments: tuple[Expression, ...]) -> Value:
        """REGEX and REPLACE: by the engine where pattern, replacement and flags are constants, else by a function."""
        subject, *others = (self.value(part) for part in arguments)
        if subject.failed or any(other.failed for other in others):
            return ERROR
        text = string_literal(subject)
        if len(others) < (2 if name == "REGEX" else 3):
            others.append(string("''"))
        plain = [
            split_literal(part.token)[0]
            for part in arguments[1:]
            if isinstance(part, Constant) and part.token[0] == '"' and split_literal(part.token)[1] == XSD + "string"
        ]
        if len(plain) < len(arguments) - 1:
            called = ", ".join([text, *(f"CASE WHEN {v.datatype} = {STRING} THEN {v.lexical} END" for v in others)])
            if name == "REGEX":
                found = string(f"tl_regex({called})")
                found = self.stage(found)
                return boolean(f"{found.lexical} = 'true'")
            return string(f"tl_replace({called})", subject.lang)
        java = self.dialect.java_regex
        flags = plain[len(others) - 1] if len(plain) == len(others) else ""
        try:
            if name == "REGEX":
                return boolean(self.dialect.contains_match(text, translate(plain[0], flags, java)))
            how = replacement(plain[0], plain[1], flags, java)
        except UnsupportedError:
            raise
        except UsageError:  # an error of the expression, as the standard has it
            return ERROR
        return string(replaced(self.dialect, self.keep, text, how), subject.lang)


__all__ = ["ERROR", "Expressions"]
