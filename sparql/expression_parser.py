"""The grammar of expressions (SPARQL 1.1, section 19.8, rules 106 to 128), by recursive descent.

Aggregates are taken out as they are met: each becomes a variable of its own, and an `Aggregate` in `aggregates`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from triplake.sparql.algebra import Aggregate, Node
from triplake.sparql.cursor import NESTED, Cursor
from triplake.sparql.triple_terms import constant_of
from triplestore.expressions.thresholds import THRESHOLDS
from triplestore.expressions.values import rank_of
from triplestore.model.expression import Call, Constant, Exists, Expression, Variable
from triplestore.model.terms import XSD, literal_token, split_literal

_MANY: Final = 100_000
_DIGITS: Final = 1_000
_ARITY: Final[dict[str, tuple[int, int]]] = {
    **dict.fromkeys(("STR", "LANG", "DATATYPE", "IRI", "URI", "ABS", "CEIL", "FLOOR", "ROUND", "STRLEN"), (1, 1)),
    **dict.fromkeys(("UCASE", "LCASE", "ENCODE_FOR_URI", "YEAR", "MONTH", "DAY", "HOURS", "MINUTES"), (1, 1)),
    **dict.fromkeys(("SECONDS", "TIMEZONE", "TZ", "MD5", "SHA1", "SHA256", "SHA384", "SHA512"), (1, 1)),
    **dict.fromkeys(("ISIRI", "ISURI", "ISBLANK", "ISLITERAL", "ISNUMERIC", "BOUND"), (1, 1)),
    **dict.fromkeys(("LANGMATCHES", "CONTAINS", "STRSTARTS", "STRENDS", "STRBEFORE", "STRAFTER"), (2, 2)),
    **dict.fromkeys(("STRLANG", "STRDT", "SAMETERM"), (2, 2)),
    **dict.fromkeys(("LANGDIR", "HASLANG", "HASLANGDIR", "ISTRIPLE", "SUBJECT", "PREDICATE", "OBJECT"), (1, 1)),
    **dict.fromkeys(("RAND", "NOW", "UUID", "STRUUID"), (0, 0)),
    **dict.fromkeys(("CONCAT", "COALESCE"), (0, _MANY)),
    **{
        "IF": (3, 3),
        "BNODE": (0, 1),
        "SUBSTR": (2, 3),
        "REGEX": (2, 3),
        "REPLACE": (3, 4),
        "STRLANGDIR": (3, 3),
        "TRIPLE": (3, 3),
    },
}
_AGGREGATES: Final = ("COUNT", "SUM", "MIN", "MAX", "AVG", "SAMPLE", "GROUP_CONCAT")
_COMPARISONS: Final = ("=", "!=", "<", ">", "<=", ">=")
_PREFIXES: Final = {"!": "!", "-": "negate", "+": "plus"}
_SYNONYMS: Final = {"URI": "IRI", "ISURI": "ISIRI"}


@dataclass(slots=True)
class ExpressionParser:
    """Parses expressions at a cursor. pattern: parses a group graph pattern, for EXISTS. aggregates: those met so far;
    None where there can be none."""

    at: Cursor
    pattern: Callable[[], Node]
    aggregates: list[Aggregate] | None = None

    def expression(self) -> Expression:
        """Rule 110. Operators are taken in loops: only brackets make it call itself."""
        some: list[Expression] = []
        while True:
            every = [self._relational()]
            while self.at.accept("&&"):
                every.append(self._relational())
            some.append(_all_or_any("&&", every))
            if not self.at.accept("||"):
                return _all_or_any("||", some)

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
        terms: list[tuple[str, Expression]] = []
        sign = "+"
        while True:
            factors = [("*", self._unary())]
            while self.at.is_("*", "/"):
                factors.append((self.at.next().text, self._unary()))
            terms.append((sign, chained(factors)))
            if not self.at.is_("+", "-"):
                return chained(terms)
            sign = self.at.next().text

    def _unary(self) -> Expression:
        """An operand, with the operators before it."""
        marks: list[str] = []
        while (number := self.at.literal()) is None and self.at.is_(*_PREFIXES):
            marks.append(_PREFIXES[self.at.next().text])
            if len(marks) > NESTED:
                self.at.limit(f"more than {NESTED} operators stand before one operand", self.at.peek().start)
        found = number or self._primary()
        for name in reversed(marks):
            found = Call(name, (found,))
        return found

    def _primary(self) -> Expression:
        word = self.at.peek()
        if self.at.accept("("):
            found = self.expression()
            self.at.expect(")")
            return found
        if self.at.accept("<<("):
            return self._triple_term()
        if word.kind == "variable":
            return self.at.named()
        if self.at.at_iri():
            iri = self.at.iri()
            if not self.at.is_("("):
                return Constant(f"<{iri}>")
            return Call(iri, self.arguments(distinct=True))
        if word.kind == "word":
            return self.built_in()
        self.at.fail("expected an expression")

    def _triple_term(self) -> Expression:
        """``<<( s p o )>>``, behind its first mark."""
        word = self.at.peek()
        parts: list[Expression] = []
        while not self.at.accept(")>>"):
            if self.at.accept("<<("):
                parts.append(self._triple_term())
                continue
            term = (self.at.type_() if len(parts) == 1 else None) or self.at.term(blanks=False)
            parts.append(term or self.at.fail("expected an IRI, a literal or a variable"))
        if len(parts) != 3:
            self.at.fail("a triple term has a subject, a predicate and an object", word)
        if isinstance(parts[0], Call) or (isinstance(parts[0], Constant) and parts[0].token[0] not in "<_"):
            self.at.fail("the subject of a triple term is an IRI or a variable", word)
        return constant_of(tuple(parts)) or Call("TRIPLE", tuple(parts))

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
            outer, self.aggregates = self.aggregates, None
            inside = self.pattern()
            self.aggregates = outer
            return Exists(inside, name == "NOT")
        if name in _AGGREGATES:
            return self._aggregate()
        if name not in _ARITY:
            called = self.at.text[word.end :].lstrip().startswith("(")
            self.at.fail("expected a function that SPARQL has" if called else "expected an expression")
        self.at.next()
        found = self.arguments()
        least, most = _ARITY[name]
        if name == "BOUND" and not all(isinstance(argument, Variable) for argument in found):
            self.at.fail("BOUND takes a variable", word)
        if not least <= len(found) <= most:
            wanted = f"{least}" if least == most else f"{least} to {most}"
            self.at.fail(f"{name} takes {wanted} argument{'s' * (most != 1)}, not {len(found)}", word)
        return Call(_SYNONYMS.get(name, name), found)

    def _aggregate(self) -> Expression:
        word = self.at.next()
        function, known = word.text.upper(), self.aggregates
        if known is None:
            where = "SELECT, HAVING and ORDER BY, not inside each other"
            self.at.illegal(f"{function} has no place here: aggregates are for {where}", word.start)
        self.at.pattern()
        self.aggregates = None  # none inside of another
        self.at.expect("(")
        distinct = self.at.accept("DISTINCT")
        argument = None
        if function != "COUNT" or not self.at.accept("*"):
            argument = self.expression()
        separator = " "
        if function == "GROUP_CONCAT" and self.at.accept(";"):
            self.at.expect("SEPARATOR")
            self.at.expect("=")
            text = self.at.literal() if self.at.peek().kind == "string" else None
            separator = split_literal((text or self.at.fail("expected a string")).token)[0]
        self.at.expect(")")
        self.aggregates = known
        for one in known:
            if (one.function, one.argument, one.distinct, one.separator) == (function, argument, distinct, separator):
                return one.result
        known.append(Aggregate(f".agg{len(known)}", function, argument, distinct, separator))
        return known[-1].result


def _all_or_any(operator: str, parts: Sequence[Expression]) -> Expression:
    """Parts joined by && or ||. A long chain of equalities of one variable is IN, which is defined by it (17.4.1.9)."""
    if len(parts) == 1:
        return parts[0]
    test, name = ("=", "IN") if operator == "||" else ("!=", "NOT IN")
    if len(parts) > THRESHOLDS.operands:
        members: list[Expression] = []
        tested: set[Expression] = set()
        for part in parts:
            match part:
                case Call(found, (Variable() as variable, Constant() as member)) if found == test:
                    tested.add(variable)
                    members.append(member)
        if len(members) == len(parts) and len(tested) == 1:
            return Call(name, (tested.pop(), *members))
    return Call(operator, tuple(parts))


def _folded(operands: Sequence[tuple[str, Expression]]) -> Expression | None:
    """The value of a chain of integers, where it has fewer digits than Python reads."""
    total = 0
    for operator, operand in operands:
        token = operand.token if isinstance(operand, Constant) else ""
        text, datatype, _ = split_literal(token) if token[:1] == '"' else ("", None, None)
        if datatype != XSD + "integer" or operator == "/" or len(text) > _DIGITS or rank_of(text, datatype) is None:
            return None
        number = int(text)
        total = total * number if operator == "*" and operand is not operands[0][1] else total + number
        if operator == "-":
            total -= 2 * number
        if abs(total) > 10**_DIGITS:
            return None
    return Constant(literal_token(str(total), XSD + "integer"))


def chained(operands: Sequence[tuple[str, Expression]]) -> Expression:
    """Operands, each with the operator before it, from left to right. A long chain is one call: one that is nested as
    deeply as it is long would be too deep for Python's stack."""
    if len(operands) > THRESHOLDS.operands:
        operators, values = zip(*operands, strict=True)
        return _folded(operands) or Call("".join(operators[1:]), values)
    found = operands[0][1]
    for operator, operand in operands[1:]:
        found = Call(operator, (found, operand))
    return found
