"""The grammar of expressions (SPARQL 1.1, section 19.8, rules 106 to 128), by recursive descent.

Aggregates are taken out as they are met: each becomes a variable of its own, and an `Aggregate` in `aggregates`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from sparql.algebra import Aggregate, Node
from sparql.cursor import Cursor
from triplestore.expression import Call, Constant, Exists, Expression
from triplestore.terms import split_literal

_MANY: Final = 1_000
_ARITY: Final[dict[str, tuple[int, int]]] = {
    **dict.fromkeys(("STR", "LANG", "DATATYPE", "IRI", "URI", "ABS", "CEIL", "FLOOR", "ROUND", "STRLEN"), (1, 1)),
    **dict.fromkeys(("UCASE", "LCASE", "ENCODE_FOR_URI", "YEAR", "MONTH", "DAY", "HOURS", "MINUTES"), (1, 1)),
    **dict.fromkeys(("SECONDS", "TIMEZONE", "TZ", "MD5", "SHA1", "SHA256", "SHA384", "SHA512"), (1, 1)),
    **dict.fromkeys(("ISIRI", "ISURI", "ISBLANK", "ISLITERAL", "ISNUMERIC", "BOUND"), (1, 1)),
    **dict.fromkeys(("LANGMATCHES", "CONTAINS", "STRSTARTS", "STRENDS", "STRBEFORE", "STRAFTER"), (2, 2)),
    **dict.fromkeys(("STRLANG", "STRDT", "SAMETERM"), (2, 2)),
    **dict.fromkeys(("RAND", "NOW", "UUID", "STRUUID"), (0, 0)),
    **dict.fromkeys(("CONCAT", "COALESCE"), (0, _MANY)),
    **{"IF": (3, 3), "BNODE": (0, 1), "SUBSTR": (2, 3), "REGEX": (2, 3), "REPLACE": (3, 4)},
}
_AGGREGATES: Final = ("COUNT", "SUM", "MIN", "MAX", "AVG", "SAMPLE", "GROUP_CONCAT")
_COMPARISONS: Final = ("=", "!=", "<", ">", "<=", ">=")
_SYNONYMS: Final = {"URI": "IRI", "ISURI": "ISIRI"}


@dataclass(slots=True)
class ExpressionParser:
    """Parses expressions at a cursor. pattern: parses a group graph pattern, for EXISTS."""

    at: Cursor
    pattern: Callable[[], Node]
    aggregates: list[Aggregate] = field(default_factory=list)

    def expression(self) -> Expression:
        """Rule 110."""
        return self._chain("||", lambda: self._chain("&&", self._relational))

    def _chain(self, operator: str, operand: Callable[[], Expression]) -> Expression:
        found = [operand()]
        while self.at.accept(operator):
            found.append(operand())
        return found[0] if len(found) == 1 else Call(operator, tuple(found))

    def _relational(self) -> Expression:
        left = self._additive()
        if self.at.is_(*_COMPARISONS):
            return Call(self.at.next().text, (left, self._additive()))
        if self.at.accept("IN"):
            return Call("IN", (left, *self.arguments()))
        if self.at.accept("NOT"):
            self.at.expect("IN")
            return Call("NOT IN", (left, *self.arguments()))
        return left

    def _additive(self) -> Expression:
        found = self._multiplicative()
        while self.at.is_("+", "-"):
            found = Call(self.at.next().text, (found, self._multiplicative()))
        return found

    def _multiplicative(self) -> Expression:
        found = self._unary()
        while self.at.is_("*", "/"):
            found = Call(self.at.next().text, (found, self._unary()))
        return found

    def _unary(self) -> Expression:
        number = self.at.literal()
        if number is not None:
            return number
        for mark, name in (("!", "!"), ("-", "negate"), ("+", "plus")):
            if self.at.accept(mark):
                return Call(name, (self._unary(),))
        return self._primary()

    def _primary(self) -> Expression:
        if self.at.is_("("):
            return self.bracketed()
        if (variable := self.at.variable()) is not None:
            return variable
        if self.at.at_iri():
            iri = self.at.iri()
            if not self.at.is_("("):
                return Constant(f"<{iri}>")
            return Call(iri, self.arguments(distinct=True))
        if self.at.peek().kind == "word":
            return self.built_in()
        self.at.fail("expected an expression")

    def bracketed(self) -> Expression:
        """``( expression )``."""
        self.at.expect("(")
        found = self.expression()
        self.at.expect(")")
        return found

    def constraint(self) -> Expression:
        """What can stand after FILTER, HAVING and ORDER BY without more: rule 69."""
        if self.at.is_("("):
            return self.bracketed()
        if self.at.at_iri():
            return Call(self.at.iri(), self.arguments(distinct=True))
        return self.built_in()

    def arguments(self, distinct: bool = False) -> tuple[Expression, ...]:
        """``( a, b ... )``."""
        self.at.expect("(")
        found: list[Expression] = []
        if distinct and self.at.is_("DISTINCT"):
            self.at.unsupported("DISTINCT in a call of an extension function is not supported: there are none")
        while not self.at.accept(")"):
            if found:
                self.at.expect(",")
            found.append(self.expression())
        return tuple(found)

    def built_in(self) -> Expression:
        """A built-in function, EXISTS or an aggregate."""
        word = self.at.peek()
        name = word.text.upper()
        if name in ("EXISTS", "NOT"):
            if self.at.accept("NOT"):
                self.at.expect("EXISTS")
            else:
                self.at.next()
            return Exists(self.pattern(), name == "NOT")
        if name in _AGGREGATES:
            return self._aggregate()
        if name not in _ARITY:
            self.at.fail("expected a function")
        self.at.next()
        found = self.arguments()
        least, most = _ARITY[name]
        if not least <= len(found) <= most:
            wanted = f"{least}" if least == most else f"{least} to {most}"
            self.at.fail(f"{name} takes {wanted} argument{'s' * (most != 1)}, not {len(found)}", word)
        return Call(_SYNONYMS.get(name, name), found)

    def _aggregate(self) -> Expression:
        function = self.at.next().text.upper()
        self.at.expect("(")
        distinct = self.at.accept("DISTINCT")
        argument = None
        if function != "COUNT" or not self.at.accept("*"):
            argument = self.expression()
        separator = " "
        if function == "GROUP_CONCAT" and self.at.accept(";"):
            self.at.expect("SEPARATOR")
            self.at.expect("=")
            text = self.at.literal() or self.at.fail("expected a string")
            separator = split_literal(text.token)[0]
        self.at.expect(")")
        for known in self.aggregates:
            if (known.function, known.argument, known.distinct, known.separator) == (
                *(function, argument, distinct, separator),
            ):
                return known.result
        self.aggregates.append(Aggregate(f".agg{len(self.aggregates)}", function, argument, distinct, separator))
        return self.aggregates[-1].result
