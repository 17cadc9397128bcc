"""Expressions of SPARQL (1.1, section 17) to SQL: an expression tree becomes a `Value`, or a condition for WHERE."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from triplestore.engine.dialect import Dialect
from triplestore.expressions.columns import is_repeatable
from triplestore.expressions.compare import equality_key, equals, less, same_term
from triplestore.expressions.constants import compare_exact, compare_instant, is_exact, is_instant, is_ordered
from triplestore.expressions.constructors import bnode, to_iri
from triplestore.expressions.decimals import NULL
from triplestore.expressions.evaluation import Program, is_arithmetic, is_operator, weight
from triplestore.expressions.functions import FUNCTIONS, KEEPING
from triplestore.expressions.membership import among, listed
from triplestore.expressions.regex import read, replacement
from triplestore.expressions.strings import replaced
from triplestore.expressions.terms import TRUE
from triplestore.expressions.thresholds import THRESHOLDS
from triplestore.expressions.values import (
    ERROR,
    STRING,
    Value,
    boolean,
    bounded,
    constant,
    iri,
    number,
    only_where,
    parsed,
    string,
    string_literal,
    token,
    truth,
)
from triplestore.model.errors import LimitError, UnsupportedError, UsageError
from triplestore.model.expression import Call, Constant, Exists, Expression, Variable, walk
from triplestore.model.terms import XSD, literal_token, split_literal

PARTS: Final = ("kind", "text", "datatype", "lang", "rank", "decimal", "inexact", "micros", "rest")
"""The parts of a value."""


Stage = Callable[[Value], Value]
"""Makes columns of a value's parts, so that what is built on it names them instead of repeating them."""

_TURNED: Final = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
_OPERATORS: Final = ("=", "!=", "<", "<=", ">", ">=", "SAMETERM")


_MAKING: Final = ("CONCAT", "REPLACE", "ENCODE_FOR_URI", "TRIPLE")
"""Functions whose results have a limit of length or depth."""


def _may_fail(expression: Expression) -> bool:
    """Whether an expression may go beyond a limit."""
    return any(
        isinstance(part, Call) and (part.name in _MAKING or (part.name == "REGEX" and not _is_linear(part)))
        for part in walk(expression)
    )


def _is_double(value: Value) -> bool:
    return value.static == "number" and value.rank == "4"


def _is_linear(call: Call) -> bool:
    """Whether a REGEX has a constant pattern that RE2 takes."""
    plain = _texts(call.arguments[1:])
    try:
        return plain is not None and read(*plain).native is not None
    except UsageError:
        return False


def _texts(arguments: Sequence[Expression]) -> list[str] | None:
    """The texts of strings, None if some expression is not a constant one."""
    found = []
    for part in arguments:
        if not isinstance(part, Constant) or part.token[0] != '"' or split_literal(part.token)[1] != XSD + "string":
            return None
        found.append(split_literal(part.token)[0])
    return found


def _waits(expression: Expression, asked: bool = True) -> bool:
    """Whether an expression has an operand for a program that may go beyond a limit and is not asked for in every row:
    operands of programs are evaluated in each. asked: whether the expression itself is."""
    if not is_operator(expression):
        return not asked and _may_fail(expression)
    assert isinstance(expression, Call)
    lazy = expression.name in ("IF", "COALESCE", "&&", "||") and len(expression.arguments) <= THRESHOLDS.operands
    return any(_waits(part, asked and not (lazy and place)) for place, part in enumerate(expression.arguments))


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
    least: int = THRESHOLDS.heavy
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
                return self._shortened(self._call(name, arguments))

    def _shortened(self, value: Value) -> Value:
        """The value, in columns of its own if its SQL is long."""
        long = sum(len(getattr(value, part)) for part in PARTS) > THRESHOLDS.long
        return self.stage(value) if long else value

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
                tested = (one.condition(part) for one, part in self._in_turn(operator, parts))
                return f"({joined.join(tested)})"
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
        return weight(expression) >= max(1, self.least) and not _waits(expression)

    def _where(self, condition: str, expression: Expression) -> Expressions:
        """What compiles an expression that is asked for only where an SQL condition holds. If it may go beyond a limit,
        it sees no values in other rows: engines evaluate columns in every row, and it would fail there for nothing."""
        if not _may_fail(expression):
            return self
        known: dict[str, Value] = {}

        def variable(name: str) -> Value:
            if name not in known:
                known[name] = self.stage(only_where(condition, self.variable(name)))
            return known[name]

        return replace(self, variable=variable)

    def _in_turn(self, name: str, parts: Sequence[Expression]) -> Iterator[tuple[Expressions, Expression]]:
        """The operands of &&, || or COALESCE, each with what compiles it: those before it may have decided."""
        undecided: list[str] = []
        failing = (
            [place for place, part in enumerate(parts) if _may_fail(part)] if len(parts) <= THRESHOLDS.operands else []
        )
        for place, part in enumerate(parts):
            one = self._where(" AND ".join(undecided), part) if undecided else self
            yield one, part
            if failing and place < failing[-1]:
                value = one.value(part)
                match name:
                    case "&&":
                        undecided.append(self.keep(f"coalesce({truth(value)}, TRUE)"))
                    case "||":
                        undecided.append(self.keep(f"NOT coalesce({truth(value)}, FALSE)"))
                    case _:
                        undecided.append(self.keep(f"NOT ({value.bound})"))

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
        if listed(right) and left.static == "number" and left.is_exact and is_exact(right):
            return compare_exact(left, "=", right)
        if listed(right) and left.static == right.static and (left.static in ("string", "boolean") or _is_double(left)):
            return equals(self.dialect, left, right, self.triples)
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
                tested = (one.truth(part) for one, part in self._in_turn(name, arguments))
                return boolean(operator.join(f"({test})" for test in tested))
            case "!":
                negated = self.value(arguments[0])
                return ERROR if negated.failed else boolean(f"NOT ({truth(negated)})")
            case "BOUND":
                return boolean(self.value(arguments[0]).bound)
            case "IF":
                decisive = self.value(arguments[0])
                if decisive.failed:
                    return ERROR
                condition = self.keep(truth(decisive))
                yes = self._where(f"({condition})", arguments[1]).value(arguments[1])
                no = self._where(f"NOT ({condition})", arguments[2]).value(arguments[2])
                return self._choose(condition, yes, no)
            case "COALESCE":
                if not arguments:
                    return ERROR
                *first, found = (one.value(part) for one, part in self._in_turn(name, arguments))
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
        if is_arithmetic(name) and len(name) > 1:
            found = values[0]
            for operator, value in zip(name, values[1:], strict=True):
                found = self._shortened(KEEPING[operator](self.dialect, self.keep, found, value))
            return found
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

        def pick(one: str, other: str, always: bool = True) -> str:
            if one == other and (one == NULL or not always):
                return one
            return f"CASE WHEN ({condition}) THEN {one} WHEN NOT ({condition}) THEN {other} END"

        static = yes.static if yes.static == no.static else "any"
        most = None
        if yes.most is not None and no.most is not None and yes.datatype == no.datatype:
            most = max(yes.most, no.most)
            if yes.datatype == f"'{XSD}integer'" and yes.canonical and no.canonical:
                return bounded(self.dialect, "1", pick(yes.narrow, no.narrow), most)
        if static != "number":
            yes, no = yes.explicit, no.explicit
        parts: dict[str, Any] = {
            part: pick(getattr(yes, part), getattr(no, part), always=part not in ("datatype", "lang", "rank"))
            for part in PARTS
        }
        truth_ = pick(str(yes.truth), str(no.truth)) if static == "boolean" else None
        found = Value(**parts, static=static, truth=truth_, writer=yes.writer or no.writer)
        scale = 0 if most is None else max(yes.scale, no.scale)
        return replace(found, most=most, scale=scale, exact=yes.is_exact and no.is_exact)

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
        """REGEX and REPLACE: by the engine if RE2 takes the constants that follow the text, else by a function."""
        subject, *others = (self.value(part) for part in arguments)
        if subject.failed or any(other.failed for other in others):
            return ERROR
        text = string_literal(subject)
        if len(others) < (2 if name == "REGEX" else 3):
            others.append(string("''"))
        plain = _texts(arguments[1:])
        asked = ", ".join([text, *(f"CASE WHEN {v.datatype} = {STRING} THEN {v.lexical} END" for v in others)])
        called = f"tl_{name.lower()}({asked})"
        try:
            if name == "REGEX":
                native = read(*plain).native if plain is not None else None
                if native is not None and self.dialect.linear_regex:
                    return boolean(self.dialect.contains_match(text, native))
                found = self.stage(string(called))
                return boolean(f"{found.lexical} = 'true'")
            if plain is not None:
                called = replaced(self.dialect, self.keep, text, replacement(*plain), called)
        except LimitError:
            raise
        except UsageError:  # an error of the expression, as the standard has it
            return ERROR
        return string(called, subject.lang)
