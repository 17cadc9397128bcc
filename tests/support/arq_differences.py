"""Where ARQ's values differ from ours on purpose, each with the clause that decides, and what counts as alike."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from fractions import Fraction

from tests.support.arq import FAILURE
from tests.support.literal_values import parts, value
from triplestore.model.terms import XSD

DURATION = re.compile(r"(-)?P(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d*)?)S)?)?")
TEMPORAL = ("dateTime", "date", "time", "duration", "dayTimeDuration", "yearMonthDuration")
ROUNDING = Fraction(1, 10**17)
"""Quotients have at least so many digits (XPath and XQuery Functions 3.1, section 4.2.4, leaves it open)."""


@dataclass(frozen=True)
class Case:
    """An expression of which the operands agree, and the values do not. The operands are ours."""

    form: str
    operands: tuple[str | None, ...]
    ours: str | None
    theirs: str | None

    def of(self, *names: str) -> bool:
        """Whether it is a call of one of these functions, or one of these operators."""
        calls = tuple(start for name in names for start in (f"{name}(", f"<{XSD}{name}>("))
        return self.form.startswith(calls) or any(f"}} {name} " in self.form for name in names)

    def has(self, *datatypes: str) -> bool:
        """Whether an operand is of one of the datatypes of XML Schema."""
        return bool({datatype_of(operand) for operand in self.operands} & set(datatypes))

    def __str__(self) -> str:
        return f"{self.form} of {self.operands}: {self.ours} (ours), {self.theirs} (ARQ)"


def datatype_of(token: str | None) -> str:
    """The name of a datatype of XML Schema; "" for other terms."""
    return parts(token)[1].removeprefix(XSD) if token is not None and token[0] == '"' else ""


def meaning(token: str | None) -> Hashable:
    """Equal for terms of one datatype and value."""
    if token is None or token[0] != '"':
        return token
    lexical, datatype, language = parts(token)
    name = datatype.removeprefix(XSD)
    if name.endswith("uration") and (match := DURATION.fullmatch(lexical)):
        sign, years, months, *rest = match.groups()
        days, hours, minutes, seconds = (Fraction(part or 0) for part in rest)
        one = -1 if sign else 1
        total = ((days * 24 + hours) * 60 + minutes) * 60 + seconds
        return name, one * (int(years or 0) * 12 + int(months or 0)), one * total
    if name in TEMPORAL:
        return name, re.sub(r"(\.\d*?)0*(?=$|Z|[+-]\d\d:)", r"\1", lexical).replace(".Z", "Z").removesuffix(".")
    if name in ("float", "double"):
        number = float(lexical.replace("INF", "inf"))
        return name, "NaN" if number != number else value(token)
    found = value(token)
    return (datatype, found) if found is not None else (lexical, datatype, language.lower())


def alike(ours: str | None, theirs: str | None) -> bool:
    """Whether two values agree: of one datatype and value, whatever their lexical forms."""
    one, two = meaning(ours), meaning(theirs)
    if one != two and datatype_of(ours) == datatype_of(theirs) == "decimal":
        a, b = (Fraction(parts(str(token))[0]) for token in (ours, theirs))
        return abs(a - b) <= ROUNDING * max(1, abs(a))
    return one == two


def zoned(token: str | None) -> bool:
    """Whether a time has a zone."""
    return token is not None and re.search(r"(Z|[+-]\d\d:\d\d)\"", token) is not None


PARTS = ("YEAR", "MONTH", "DAY", "HOURS", "MINUTES", "SECONDS", "TZ", "TIMEZONE")
WHOLE = ("integer", "decimal", "long", "byte", "unsignedShort", "nonNegativeInteger", "positiveInteger")
DERIVED = (*WHOLE[2:], "int", "unsignedInt", "unsignedLong", "negativeInteger")

DIFFERENCES: dict[str, Callable[[Case], bool]] = {
    "ARQ fails": lambda c: (c.theirs or "").startswith(FAILURE),
    "SPARQL 17.3.1: operators for times and durations are an extension, which ARQ's strict mode lacks": lambda c: (
        c.theirs is None and c.has(*TEMPORAL) and ("} " in c.form or c.form[0] in "+-")
    ),
    "SPARQL 17.4.1.7: literals of two datatypes that are known, or of another language, are told apart, not errors": (
        lambda c: c.of("=", "!=", "IN", "NOT IN") and c.theirs is None
    ),
    "SPARQL 17.4.5: takes an xsd:dateTime (ours also takes xsd:date, where it has the part)": lambda c: (
        c.of(*PARTS) and c.ours is None and not c.has("dateTime")
    ),
    "XSD 1.1, 3.3.7.2: 24:00:00 is the first moment of the next day": lambda c: any(
        "24:00:00" in (operand or "") for operand in c.operands
    ),
    "XSD 1.1, D.2.1: a year has four digits at least": lambda c: (
        c.of("date", "dateTime") and re.match(r'"-\d{3}-', c.theirs or "") is not None
    ),
    "XPath F&O 3.1, 19.1.2: a float is a binary number, and so are its casts": lambda c: (
        c.of("double", *WHOLE, "string") and c.has("float", "double") and not alike(c.ours, c.theirs)
    ),
    "XPath F&O 3.1, 19.2: white space around a text is not part of what is cast": lambda c: (
        "(" in c.form and any(re.match('" .* "$', operand or "") is not None for operand in c.operands)
    ),
    "XPath F&O 3.1, 4.4.4: ROUND has no bound, and ARQ's is that of a Java int or long": lambda c: (
        c.of("ROUND") and c.has("float", "double") and re.match(r'"-?(2\.147|9\.223)', c.theirs or "") is not None
    ),
    "XPath F&O 3.1, 4.4: of a derived type the result is of the type that it is derived from": lambda c: (
        c.of("+", "ABS", "CEIL", "FLOOR", "ROUND") and c.has(*DERIVED)
    ),
    "XSD 1.1, 3.4: 0 is no xsd:positiveInteger": lambda c: c.of("positiveInteger") and c.ours is None,
    "SPARQL 17.4.3.15: langMatches takes two simple literals": lambda c: c.of("langMatches") and c.ours is None,
    "SPARQL 19.8, rule 139: a % in an IRI stands for itself": lambda c: c.of("IRI", "URI") and "%" in (c.ours or ""),
    "XPath F&O 3.1, 5.4.3: SUBSTR begins at position 1 if it should begin before": lambda c: (
        c.of("SUBSTR") and len(c.operands) == 2
    ),
    "SPARQL 17.4.3.3: SUBSTR takes integers, and those that ARQ's int does not hold too": lambda c: (
        c.of("SUBSTR") and (c.has("decimal", "float", "double") or any(len(o or "") > 54 for o in c.operands[1:]))
    ),
    "XSD 1.1, 3.4.13: an integer has no negative zero": lambda c: (
        c.of("float", "double") and bool({"integer", *DERIVED} & {*map(datatype_of, c.operands)}) and "-0" in str(c)
    ),
    "XSD 1.1, 3.3.7.3: a time without a zone is neither before nor after one with a zone that is near": lambda c: (
        c.of("<", ">", "<=", ">=", "=", "!=", "IN", "NOT IN") and c.ours is None and len({*map(zoned, c.operands)}) == 2
    ),
    "XPath F&O 3.1, 4.3: nothing is less than NaN, nor NaN than anything": lambda c: (
        c.of("<", ">", "<=", ">=") and any((operand or "").startswith('"NaN"') for operand in c.operands)
    ),
    "XPath F&O 3.1, 4.4.4: the ROUND of NaN is NaN": lambda c: c.of("ROUND") and (c.ours or "").startswith('"NaN"'),
    "XPath F&O 3.1, 4.4.4: the ROUND of negative zero is negative zero": lambda c: (
        c.of("ROUND") and (c.ours or "").startswith('"-0.0E0"')
    ),
    "SPARQL 17.5: the boolean of NaN is false": lambda c: c.of("boolean") and (c.operands[0] or "").startswith('"NaN"'),
    "SPARQL 17.3: no operator orders texts with a language": lambda c: (
        c.of("<", ">", "<=", ">=") and c.ours is None and any("@" in (operand or "") for operand in c.operands)
    ),
    "XSD 1.1, G.4.2.5: \\w is of Unicode, with symbols and without the underscore": lambda c: (
        c.of("REGEX", "REPLACE")
        and "\\w" in c.form
        and bool(re.search(r"[^\0-\x7f]|[_$+<=>^`|~]", c.operands[0] or ""))
    ),
    "XPath F&O 3.1, 5.6.1: a back-reference to a group that has matched nothing is the empty text": lambda c: (
        c.of("REGEX") and "(a)|b" in c.form and "b" in (c.operands[0] or "")
    ),
    "SPARQL 17.2.2: the truth of an ill-typed number is false": lambda c: (
        c.theirs is None and (c.of("IF", "&&", "||") or c.form.startswith("(!"))
    ),
    "SPARQL 17.4.2.8: IRI takes a text or an IRI, and an IRI may have [ and ] (rule 139)": lambda c: (
        c.of("IRI", "URI") and ((c.operands[0] or "").startswith("_:") or "[" in (c.ours or ""))
    ),
    "XPath F&O 3.1, 8.2: op:less-than is of one of the two derived durations": lambda c: (
        c.of("<", ">", "<=", ">=") and c.has("duration") and c.ours is None
    ),
    "XSD 1.1, 3.3.6.2: durations are equal if their months and seconds are": lambda c: (
        c.of("=", "!=", "IN", "NOT IN") and c.has("duration", "dayTimeDuration", "yearMonthDuration")
    ),
    "XPath F&O 3.1, 19.1.1: the string of an integer is canonical": lambda c: (
        c.of("string") and bool({"integer", *DERIVED} & {*map(datatype_of, c.operands)})
    ),
}
"""Clause -> whether the case is one of it."""
