"""Terms as Python values, for `triplestore.expressions.evaluation`: comparisons, arithmetic and canonical forms.

The semantics are those of `compare`, `arithmetic` and `temporal`, which make SQL; tests hold one against the other.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from triplestore.dictionary.term_rows import DECIMALS
from triplestore.expressions import calendar, exact, instants
from triplestore.expressions.durations import DURATION, DURATIONS
from triplestore.expressions.numerals import any_key, key, plain_text, unkeyed
from triplestore.expressions.values import double_of, rank_of
from triplestore.model.remembering import Remembered
from triplestore.model.terms import XSD, split_literal
from triplestore.model.triple_terms import split_triple

STRING: Final = XSD + "string"
BOOLEAN: Final = XSD + "boolean"
_FLOATING: Final = (XSD + "float", XSD + "double")
_NAMES: Final = ("integer", "decimal", "float", "double")


class TermError(Exception):
    """An error of the expression."""


@dataclass(frozen=True, slots=True)
class Term:
    """A term. lexical: of an IRI or blank node its token. rank: of a well-formed number 1 integer, 2 decimal, 3 float,
    4 double, else 0. exact: of ranks 1 and 2, as `exact.computed` takes it. double: of ranks 3 and 4. order: what
    compares a well-formed time or duration (the part `rest` of a `Value`)."""

    lexical: str
    datatype: str = ""
    lang: str = ""
    rank: int = 0
    exact: str = ""
    double: float = 0.0
    order: str = ""

    @property
    def token(self) -> str:
        if not self.datatype:
            return self.lexical
        if self.lang:
            return f'"{self.lexical}"@{self.lang}'
        return f'"{self.lexical}"' if self.datatype == STRING else f'"{self.lexical}"^^<{self.datatype}>'

    @property
    def near(self) -> float:
        """A number as the DOUBLE nearest to it."""
        return self.double if self.rank > 2 else float(unkeyed(self.exact)) + 0.0

    @property
    def operand(self) -> str:
        """A time, duration or number as `calendar.computed` takes it. Raises TermError for anything else."""
        if self.order:
            return f"{self.datatype.removeprefix(XSD)}|{self.lexical}"
        if self.rank:
            return self.exact if self.rank < 3 else repr(self.double)
        raise TermError

    @property
    def is_instant(self) -> bool:
        return bool(self.order) and self.datatype not in DURATIONS

    @property
    def is_known(self) -> bool:
        """Whether comparisons understand its type, and it is well-formed."""
        return bool(self.rank or self.order or self.lang or self.datatype == STRING or _truth(self) is not None)


def read(token: str) -> Term:
    """The term of a token."""
    return _READ[token]


def _made(token: str) -> Term:
    if token[0] != '"':
        return Term(token)
    lexical, datatype, lang = split_literal(token)
    if lang is not None:
        return Term(lexical, datatype, lang)
    bare = lexical.strip(" \t\r\n")
    rank = rank_of(bare, datatype)
    if rank in (1, 2):
        return Term(lexical, datatype, rank=rank, exact=key(bare) or bare)
    if rank is not None:
        return Term(lexical, datatype, rank=rank, double=float(double_of(bare, rank)))
    if datatype in calendar.TEMPORAL:
        return Term(lexical, datatype, order=calendar.rest(bare, datatype) or "")
    return Term(lexical, datatype)


_READ: Final = Remembered(_made)


def boolean(truth: bool) -> Term:
    """The xsd:boolean of a truth."""
    return TRUE if truth else FALSE


_ZERO: Final = re.compile("[+-]?[0.]*")
TRUE: Final = Term("true", BOOLEAN)
FALSE: Final = Term("false", BOOLEAN)


def _truth(term: Term) -> bool | None:
    """The truth of a well-formed xsd:boolean."""
    return {"true": True, "1": True, "false": False, "0": False}.get(term.lexical) if term.datatype == BOOLEAN else None


def effective(term: Term) -> bool:
    """The effective boolean value (SPARQL 17.2.2). Raises TermError."""
    if term.rank:
        if term.rank > 2:
            return term.near != 0 and not math.isnan(term.near)
        return term.exact[0] in "np" or not _ZERO.fullmatch(term.exact)  # of 0 there is no key
    if term.datatype == BOOLEAN:
        return bool(_truth(term))
    if term.datatype == STRING or term.lang:
        return term.lexical != ""
    if term.datatype in DECIMALS or term.datatype in _FLOATING:
        return False
    raise TermError


def same(a: Term, b: Term) -> bool:
    """sameTerm."""
    return (a.lexical, a.datatype, a.lang) == (b.lexical, b.datatype, b.lang)


def equal(a: Term, b: Term) -> bool:
    """``a = b``. Raises TermError."""
    if a.rank and b.rank:
        return _numbers(a, b, lambda x, y: x == y)
    if a.lexical[:1] == b.lexical[:1] == "(" and not (a.datatype or b.datatype):
        return triples_equal(a.lexical, b.lexical)
    if not (a.datatype and b.datatype) or same(a, b):
        return same(a, b)
    if a.is_instant and b.is_instant:
        return _family(a) == _family(b) and _instants(a, b, lambda x, y: x == y)
    if a.order and b.order and not (a.is_instant or b.is_instant):
        return a.order == b.order
    truths = _truth(a), _truth(b)
    if None not in truths:
        return truths[0] == truths[1]
    if a.lang or b.lang or (a.is_known and b.is_known):
        return False
    raise TermError


def triples_equal(a: str, b: str) -> bool:
    """``a = b`` of the tokens of two triple terms: their parts are equal. Raises TermError."""
    *node, one = split_triple(a)
    *other, another = split_triple(b)
    return node == other and equal(read(one), read(another))


def less(a: Term, b: Term, or_equal: bool = False) -> bool:
    """``a < b``, or ``a <= b``. Raises TermError."""
    if a.rank and b.rank:
        return _numbers(a, b, _AT_MOST if or_equal else _BELOW)
    if a.datatype == b.datatype == STRING:
        found = a.lexical < b.lexical
    elif a.is_instant and b.is_instant and _family(a) == _family(b):
        found = _instants(a, b, _BELOW)
    elif a.order and b.order and a.datatype == b.datatype != DURATION:
        found = a.order < b.order
    else:
        one, other = _truth(a), _truth(b)
        if one is None or other is None:
            raise TermError
        found = one < other
    return found or (or_equal and equal(a, b))


Test = Callable[[float | str | tuple[int, str], float | str | tuple[int, str]], bool]
_BELOW: Final[Test] = lambda x, y: x < y  # type: ignore[operator]  # noqa: E731  # two of one type
_AT_MOST: Final[Test] = lambda x, y: x <= y  # type: ignore[operator]  # noqa: E731


def _numbers(a: Term, b: Term, test: Callable[..., bool]) -> bool:
    rank = max(a.rank, b.rank)
    if rank == 4:
        return test(a.near, b.near)
    if rank == 3:
        return test(single(a.near), single(b.near))
    return test(_ORDERS[a.exact], _ORDERS[b.exact])


def _order(text: str) -> str:
    return any_key(text) if text[0] not in "np" else text


_ORDERS: Final = Remembered(_order)


def _family(term: Term) -> str:
    return term.datatype.replace("Stamp", "")


def _instants(a: Term, b: Term, test: Callable[..., bool]) -> bool:
    """Compare times; where one has a zone and one has none, only if no zone could change it."""
    near = [instants.unkeyed(term.order)[0] for term in (a, b)]
    zoned = [re.search("(Z|[+-][0-9]{2}:[0-9]{2})$", term.lexical.strip(" \t\r\n")) is not None for term in (a, b)]
    if zoned[0] != zoned[1] and abs(near[0] - near[1]) <= 14 * 3_600_000_000:
        raise TermError
    return test(a.order, b.order)


def computed(operator: str, a: Term, b: Term) -> Term:
    """``a`` + - * / ``b``. Raises TermError."""
    if a.rank and b.rank:
        rank = max(a.rank, b.rank)
        if rank > 2:
            return _floating(rank, _of_doubles(operator, a.near, b.near))
        return _exact(2 if operator == "/" else rank, exact.computed(operator, a.exact, b.exact))
    if not (a.order or b.order):
        raise TermError
    return _temporal(calendar.computed(operator, a.operand, b.operand))


def negated(a: Term) -> Term:
    """``- a``. Raises TermError."""
    if a.rank > 2:
        return _floating(a.rank, -a.double)
    if a.rank:
        return _exact(a.rank, exact.computed("negate", a.exact, ""))
    return _temporal(calendar.computed("negate", a.operand, ""))


def itself(a: Term) -> Term:
    """``+ a``. Raises TermError."""
    if not a.rank:
        raise TermError
    return _floating(a.rank, a.double) if a.rank > 2 else _exact(a.rank, a.exact)


def _exact(rank: int, text: str | None) -> Term:
    if text is None:
        raise TermError
    return Term(_canonical(text), XSD + _NAMES[rank - 1], rank=rank, exact=text)


def _canonical(text: str) -> str:
    """The canonical text of an exact number."""
    if text[0] in "np":
        return plain_text(text)
    sign, digits, exponent = Decimal(text).as_tuple()
    units, places = int("".join(map(str, digits)) or "0"), -int(exponent)
    return exact.written(-units if sign else units, max(places, 0))


def _floating(rank: int, number: float) -> Term:
    number = single(number) if rank == 3 else number
    return Term(_scientific(rank, number), XSD + _NAMES[rank - 1], rank=rank, double=number)


def single(number: float) -> float:
    """A number rounded to single precision."""
    try:
        return float(struct.unpack("f", struct.pack("f", number))[0])
    except OverflowError:
        return math.copysign(math.inf, number)


def _scientific(rank: int, number: float) -> str:
    """The canonical form of a float or double, by its shortest digits."""
    if not math.isfinite(number):
        return "NaN" if math.isnan(number) else "INF" if number > 0 else "-INF"
    text = repr(number)
    if rank == 3:  # nine digits tell any float
        text = next(t for t in (f"{number:.{n}e}" for n in range(9)) if single(float(t)) == number)
    sign, digits, exponent = Decimal(text).as_tuple()
    shown = "".join(map(str, digits)).rstrip("0") or "0"
    power = len(digits) - 1 + int(exponent) if number else 0
    return f"{'-' * sign}{shown[0]}.{shown[1:] or '0'}E{power}"


def _of_doubles(operator: str, a: float, b: float) -> float:
    if operator == "/":
        if b == 0:
            return math.nan if a == 0 or math.isnan(a) else math.copysign(math.inf, a) * math.copysign(1, b)
        return a / b
    return a + b if operator == "+" else a - b if operator == "-" else a * b


def _temporal(found: str | None) -> Term:
    if found is None:
        raise TermError
    name, lexical, order = found.split("|")
    if name == "decimal":
        return _exact(2, lexical)
    return Term(lexical, XSD + name, order=order)
