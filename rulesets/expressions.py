"""Expressions of FILTER and BIND: SPARQL's (1.1, section 19.8, rules 110 on), over the tokens of the rule language."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from triplake.rulesets.tokens import Reader, Token
from triplestore.model.expression import Call, Constant, Expression, Variable
from triplestore.model.rule import Var

Check = Callable[[Call], str]
"""Why a call (of variables) has no meaning, or nothing."""

NESTED: Final = 50
"""Most levels of parentheses, functions and signs in an expression, and of groups."""

CHAIN: Final = 100
"""Most operators of a sum or a product, which nest to the left."""

_P = TypeVar("_P")

_COMPARISONS: Final = ("=", "!=", "<", ">", "<=", ">=")
_ALIASES: Final = {"URI": "IRI", "ISURI": "ISIRI"}


class ExpressionReader(Reader):
    """Adds `expression`. check: names what the functions of `triplestore.expressions` do not know."""

    def __init__(self, text: str, source: str, check: Check | None = None) -> None:
        super().__init__(text, source)
        self.check = check
        self._level = 0

    def expression(self) -> Expression:
        """A whole expression."""
        return self._joined("||", lambda: self._joined("&&", self._comparison))

    def within(self, part: Callable[[], _P]) -> _P:
        """A part, one level deeper. Raises InputError where that is too deep."""
        if self._level == NESTED:
            self.fail(f"expressions and groups nest deeper than {NESTED} levels, the most that is read")
        self._level += 1
        found = part()
        self._level -= 1
        return found

    def _chained(self, length: int, start: Token) -> int:
        """One more operator of a chain of so many. Raises InputError where that is too many."""
        if length == CHAIN:
            self.fail(f"a chain of more than {CHAIN} operators: divide it among several BINDs", start)
        return length + 1

    def _joined(self, operator: str, part: Callable[[], Expression]) -> Expression:
        parts = [part()]
        while self.at(operator):
            self.next()
            parts.append(part())
        return parts[0] if len(parts) == 1 else Call(operator, tuple(parts))

    def _comparison(self) -> Expression:
        left = self._sum()
        start = self.token
        if self.at(*_COMPARISONS):
            return self._call(self.next().text, (left, self._sum()), start)
        negated = self.keyword() == "NOT"
        if negated:
            self.next()
        if self.keyword() == "IN":
            self.next()
            return self._call("NOT IN" if negated else "IN", (left, *self._arguments("IN")), start)
        if negated:
            self.expected("IN after NOT")
        return left

    def _sum(self) -> Expression:
        left = self._product()
        length = 0
        while True:
            start = self.token
            if self.at("+", "-"):
                length = self._chained(length, start)
                self.next()
                left = self._call(start.text, (left, self._product()), start)
            elif start.kind == "number" and start.text[0] in "+-":  # ?x -1 is a difference
                length = self._chained(length, start)
                self.token = Token("number", start.text[1:], start.line, start.column + 1)
                left = self._call(start.text[0], (left, self._product()), start)
            else:
                return left

    def _product(self) -> Expression:
        left = self._unary()
        length = 0
        while self.at("*", "/"):
            length = self._chained(length, self.token)
            start = self.next()
            left = self._call(start.text, (left, self._unary()), start)
        return left

    def _unary(self) -> Expression:
        if not self.at("!", "-", "+"):
            return self._primary()
        start = self.next()
        return self._call({"-": "negate", "+": "plus"}.get(start.text, "!"), (self.within(self._unary),), start)

    def _primary(self) -> Expression:
        start = self.token
        if self.at("("):
            self.next()
            found = self.within(self.expression)
            self.take(")", "')'")
            return found
        if start.kind == "word" and start.text not in ("true", "false"):
            self.next()
            name = start.text.upper()
            if name in ("NOT", "EXISTS"):
                self.fail(f"{name} is not an expression: write NOT [..] or NOT ([..], ..) beside the atoms", start)
            if not self.at("("):
                self.fail(
                    f"expected a term, or a function and its arguments in parentheses, found '{start.text}'", start
                )
            return self._call(_ALIASES.get(name, name), self._arguments(name), start)
        term = self.term("a term or a function")
        if self.at("(") and isinstance(term, str) and term[0] == "<":
            return self._call(term[1:-1], self._arguments(start.text), start)
        if isinstance(term, Var):
            return Variable(term.name)
        if not isinstance(term, str):
            self.fail("expected one term, not a span", start)
        return Constant(term)

    def _arguments(self, name: str) -> tuple[Expression, ...]:
        self.take("(", f"'(' after {name}")
        found: list[Expression] = []
        while not self.at(")"):
            if found:
                self.take(",", "',' or ')'")
            found.append(self.within(self.expression))
        self.next()
        return tuple(found)

    def _call(self, name: str, arguments: tuple[Expression, ...], start: Token) -> Call:
        call = Call(name, arguments)
        if self.check and (reason := self.check(call)):
            self.fail(reason, start)
        return call
