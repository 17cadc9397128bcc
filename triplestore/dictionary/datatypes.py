"""The datatypes of OWL 2 RL: lexical forms, value spaces, and when two literals are one value.

Sources: OWL 2 Profiles, section 4.2 (the list); OWL 2 Structural Specification, section 4 (value spaces); XSD 1.1 part
2. Equality is *identity* of values, which is not always XSD's "equal":

* xsd:decimal, xsd:float and xsd:double have disjoint value spaces; integers are decimals. NaN is identical to itself,
  +0 and -0 of xsd:float and xsd:double are two values, what is too large is an infinity.
* xsd:dateTime: a value is the seven properties, the time zone one of them. The same instant in two zones is equal but
  not identical (OWL 2, section 4.7), so it is two values; without a zone is different from any zone. 24:00:00 is
  midnight of the next day, -00:00 is Z.
* xsd:string and what is derived from it share values, as does rdf:PlainLiteral ("x@" is "x", "x@en" is "x"@en).
* xsd:hexBinary, xsd:base64Binary, xsd:anyURI, xsd:boolean, rdf:XMLLiteral (by canonical XML) and rdf:JSON (by canonical
  JSON) share none with others.
* White space is not stripped: " 1 " is no xsd:integer (RDF 1.1 Semantics, test xmlsch-02).
* xsd:date and rdf:JSON (RDF 1.2 Concepts, section 5.3) are known too, though not of the profile. Literals of any other
  datatype are values of their own.

A literal's value is identified by its *canonical token* (see `triplestore.model.terms`): equal values have equal ones.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
import struct
from collections.abc import Callable
from dataclasses import dataclass
from decimal import MAX_EMAX, Context, Decimal
from enum import StrEnum
from typing import Final

from triplestore.model.terms import RDF, RDFS, XSD, literal_token, split_literal
from triplestore.model.triple_terms import split_triple


class Space(StrEnum):
    """Pairwise disjoint sets of values."""

    NUMBER = "number"
    DOUBLE = "double"
    FLOAT = "float"
    STRING = "string"
    TAGGED = "tagged"
    BOOLEAN = "boolean"
    DATE_TIME = "dateTime"
    DATE = "date"
    HEX = "hexBinary"
    BASE64 = "base64Binary"
    URI = "anyURI"
    XML = "XMLLiteral"
    JSON = "JSON"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Value:
    """A literal's value: where it belongs, and its canonical token. number: of the first three spaces."""

    space: Space
    canonical: str
    number: Decimal | float | None = None

    @property
    def is_plain_number(self) -> bool:
        """Whether the dictionary tells the value by a column of numbers, not by its canonical token: a decimal of at
        most 20 digits before the point and 18 after it, a finite double or float that is not zero."""
        if isinstance(self.number, Decimal):
            whole, _, fraction = f"{self.number.copy_abs():f}".partition(".")
            return len(whole) <= 20 and len(fraction) <= 18
        return self.number is not None and math.isfinite(self.number) and self.number != 0


BOUNDS: Final[dict[str, tuple[int | None, int | None]]] = {
    XSD + "integer": (None, None),
    XSD + "nonNegativeInteger": (0, None),
    XSD + "nonPositiveInteger": (None, 0),
    XSD + "positiveInteger": (1, None),
    XSD + "negativeInteger": (None, -1),
    XSD + "long": (-(2**63), 2**63 - 1),
    XSD + "int": (-(2**31), 2**31 - 1),
    XSD + "short": (-(2**15), 2**15 - 1),
    XSD + "byte": (-(2**7), 2**7 - 1),
    XSD + "unsignedLong": (0, 2**64 - 1),
    XSD + "unsignedInt": (0, 2**32 - 1),
    XSD + "unsignedShort": (0, 2**16 - 1),
    XSD + "unsignedByte": (0, 2**8 - 1),
}
"""Smallest and largest value of xsd:integer and the types derived from it."""

_NAME_START = (
    ":A-Z_a-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c-\u200d\u2070-\u218f\u2c00-\u2fef"
    "\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
_NAME_CHAR = _NAME_START + r"\-.0-9" + "\u00b7\u0300-\u036f\u203f-\u2040"

TEXTS: Final[dict[str, str]] = {
    XSD + "normalizedString": "[^\t\n\r]*",
    XSD + "token": "([^\t\n\r ]+( [^\t\n\r ]+)*)?",
    XSD + "language": "[a-zA-Z]{1,8}(-[a-zA-Z0-9]{1,8})*",
    XSD + "Name": f"[{_NAME_START}][{_NAME_CHAR}]*",
    XSD + "NCName": f"[{_NAME_START[1:]}][{_NAME_CHAR[1:]}]*",
    XSD + "NMTOKEN": f"[{_NAME_CHAR}]+",
}
"""The types derived from xsd:string, and regular expressions (for Python, RE2 and Java alike) of what they hold."""

_TEXTS: Final = {datatype: re.compile(form.replace(")*", ")*+")) for datatype, form in TEXTS.items()}


def is_text(lexical: str, datatype: str) -> bool:
    """Whether a datatype of `TEXTS` holds a text."""
    return _TEXTS[datatype].fullmatch(lexical) is not None


NO_CHARACTERS: Final = "\x00\ufffe\uffff"
"""What no string holds: the characters that XML 1.1 has no place for."""

_NOT_XML = re.compile(f"[{NO_CHARACTERS}]")
_INTEGER = re.compile(r"[+-]?[0-9]+")
_DECIMAL = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)")
_DOUBLE = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?INF|NaN")
_HEX = re.compile(r"([0-9a-fA-F]{2})*+")  # possessive: else each repetition takes 150 bytes until the last
_BASE64 = re.compile(r"([A-Za-z0-9+/=]( ?[A-Za-z0-9+/=])*+)?")
_ZONE = r"(?P<zone>Z|[+-](?:(?:0[0-9]|1[0-3]):[0-5][0-9]|14:00))?"
_DAY = r"(?P<year>-?(?:[1-9][0-9]{3,}|0[0-9]{3}))-(?P<month>0[1-9]|1[0-2])-(?P<day>0[1-9]|[12][0-9]|3[01])"
_TIME = r"T(?P<hour>[01][0-9]|2[0-3]|24):(?P<minute>[0-5][0-9]):(?P<second>[0-5][0-9])(?:\.(?P<fraction>[0-9]+))?"
_DATE_TIME = re.compile(_DAY + _TIME + _ZONE)
_DATE = re.compile(_DAY + _ZONE)


def value_of(token: str) -> Value | None:
    """The value of a literal's token; None: the literal is ill-typed."""
    lexical, datatype, language = split_literal(token)
    if language is not None:
        return None if _NOT_XML.search(lexical) else Value(Space.TAGGED, token)
    mapped = _MAPPINGS.get(datatype)
    return mapped(lexical, datatype) if mapped else Value(Space.OTHER, token)


def is_ill_typed(token: str) -> bool:
    """Whether a literal's token has no value, or a triple term's token holds such a literal, at any depth."""
    while token[0] == "(":
        token = split_triple(token)[2]  # subjects and predicates are no literals
    return token[0] == '"' and value_of(token) is None


def in_space(value: Value, datatype: str) -> bool:
    """Whether a value (of a known datatype) is in the value space of a datatype of `DATATYPES`."""
    if datatype == RDFS + "Literal":
        return True
    if datatype in BOUNDS or datatype == XSD + "decimal":
        return isinstance(value.number, Decimal) and _bounded(value.number, datatype)
    if value.space is Space.STRING:
        return datatype in (XSD + "string", RDF + "PlainLiteral") or (
            datatype in TEXTS and is_text(split_literal(value.canonical)[0], datatype)
        )
    if value.space is Space.TAGGED:
        directed = split_literal(value.canonical)[1] == RDF + "dirLangString"
        return not directed and datatype in (RDF + "PlainLiteral", RDF + "langString")
    if datatype == XSD + "dateTimeStamp":
        zoned = re.search(r"T.*(Z|[+-].*)$", split_literal(value.canonical)[0])
        return value.space is Space.DATE_TIME and zoned is not None
    return _SPACES.get(datatype) is value.space


def _bounded(number: Decimal, datatype: str) -> bool:
    if datatype not in BOUNDS:
        return True
    low, high = BOUNDS[datatype]
    whole = number == number.to_integral_value()
    return whole and (low is None or number >= low) and (high is None or number <= high)


# -- lexical form to value, one function for each space


def _number(lexical: str, datatype: str) -> Value | None:
    if not (_INTEGER if datatype in BOUNDS else _DECIMAL).fullmatch(lexical):
        return None
    sign = "-" if lexical[0] == "-" else ""
    whole, _, fraction = lexical.lstrip("+-").partition(".")
    whole, fraction = whole.lstrip("0") or "0", fraction.rstrip("0")
    if whole == "0" and not fraction:
        sign = ""
    text = f"{sign}{whole}.{fraction}" if fraction else f"{sign}{whole}"
    number = Decimal(text)
    if not _bounded(number, datatype):
        return None
    return Value(Space.NUMBER, literal_token(text, XSD + ("decimal" if fraction else "integer")), number)


def _floating(lexical: str, datatype: str) -> Value | None:
    if not _DOUBLE.fullmatch(lexical):
        return None
    number = float(lexical.replace("INF", "inf"))
    space = Space.DOUBLE
    if datatype == XSD + "float":
        number, space = _single(number, lexical), Space.FLOAT
    text = "NaN" if math.isnan(number) else repr(number).replace("inf", "INF")
    return Value(space, literal_token(text, datatype), number)


def _single(number: float, lexical: str) -> float:
    """The single-precision number nearest to the text, given the double nearest to it.

    Rounding twice may hit a midpoint, so a double that is not exact is first rounded to odd (Boldo and Melquiond 2005).
    """
    if not math.isfinite(number) or number == 0:  # of any exponent, which a Decimal may have no room for
        return number
    exact, near = Decimal(lexical), Decimal(number)
    if exact != near and struct.pack("<d", number)[0] % 2 == 0:
        number = math.nextafter(number, math.inf if exact > near else -math.inf)
    try:
        return float(struct.unpack("f", struct.pack("f", number))[0])
    except OverflowError:
        return math.copysign(math.inf, number)


def _string(lexical: str, datatype: str) -> Value | None:
    if _NOT_XML.search(lexical) or (datatype in TEXTS and not is_text(lexical, datatype)):
        return None
    return Value(Space.STRING, literal_token(lexical))


def _plain(lexical: str, datatype: str) -> Value | None:
    text, at, tag = lexical.rpartition("@")
    if not at or _NOT_XML.search(text) or (tag and not is_text(tag, XSD + "language")):
        return None
    return Value(Space.TAGGED if tag else Space.STRING, literal_token(text, None, tag or None))


def _boolean(lexical: str, datatype: str) -> Value | None:
    text = {"true": "true", "1": "true", "false": "false", "0": "false"}.get(lexical)
    return None if text is None else Value(Space.BOOLEAN, literal_token(text, datatype))


def _date_time(lexical: str, datatype: str) -> Value | None:
    match = _DATE_TIME.fullmatch(lexical)
    if match is None or (datatype == XSD + "dateTimeStamp" and not match["zone"]):
        return None
    date = match["year"], int(match["month"]), int(match["day"])
    hour, minute, second = match["hour"], match["minute"], match["second"]
    fraction = (match["fraction"] or "").rstrip("0")
    if date[2] > _days(date[0], date[1]):
        return None
    if hour == "24":
        if minute + second + fraction != "0000":
            return None
        date, hour = _next_day(*date), "00"
    text = f"{_day_text(*date)}T{hour}:{minute}:{second}{'.' if fraction else ''}{fraction}{_zone(match)}"
    return Value(Space.DATE_TIME, literal_token(text, XSD + "dateTime"))


def _date(lexical: str, datatype: str) -> Value | None:
    match = _DATE.fullmatch(lexical)
    if match is None:
        return None
    date = match["year"], int(match["month"]), int(match["day"])
    if date[2] > _days(date[0], date[1]):
        return None
    return Value(Space.DATE, literal_token(_day_text(*date) + _zone(match), datatype))


def _days(year: str, month: int) -> int:
    """Days of a month, in the proleptic Gregorian calendar with a year 0. year: of any number of digits, of which the
    last four tell."""
    last = int(year[-4:])
    leap = last % 4 == 0 and (last % 100 != 0 or last % 400 == 0)
    return (31, 29 if leap else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)[month - 1]


def _next_day(year: str, month: int, day: int) -> tuple[str, int, int]:
    if day < _days(year, month):
        return year, month, day + 1
    if month < 12:
        return year, month + 1, 1
    after = Context(prec=len(year) + 1, Emax=MAX_EMAX).add(Decimal(year), 1)
    return f"{'-' if after < 0 else ''}{after.copy_abs():f}", 1, 1


def _day_text(year: str, month: int, day: int) -> str:
    digits = year.lstrip("-").rjust(4, "0")
    return f"{'-' if year[0] == '-' and digits != '0000' else ''}{digits}-{month:02d}-{day:02d}"


def _zone(match: re.Match[str]) -> str:
    zone = match["zone"] or ""
    return "Z" if zone in ("+00:00", "-00:00") else zone


def _hex(lexical: str, datatype: str) -> Value | None:
    return Value(Space.HEX, literal_token(lexical.upper(), datatype)) if _HEX.fullmatch(lexical) else None


def _base64(lexical: str, datatype: str) -> Value | None:
    if not _BASE64.fullmatch(lexical):
        return None
    text = lexical.replace(" ", "")
    try:
        data = base64.b64decode(text, validate=True)
    except binascii.Error:
        return None
    canonical = base64.b64encode(data).decode()
    return Value(Space.BASE64, literal_token(canonical, datatype)) if canonical == text else None


def _uri(lexical: str, datatype: str) -> Value | None:
    return None if _NOT_XML.search(lexical) else Value(Space.URI, literal_token(lexical, datatype))


def _xml(lexical: str, datatype: str) -> Value | None:
    from triplestore.dictionary.xml_literals import canonical_xml  # when asked for: few data have XML in them

    text = canonical_xml(lexical)
    return None if text is None else Value(Space.XML, literal_token(text, datatype))


def _json(lexical: str, datatype: str) -> Value | None:
    from triplestore.dictionary.json_literals import canonical_json  # when asked for, as for XML

    text = canonical_json(lexical)
    return None if text is None else Value(Space.JSON, literal_token(text, datatype))


_MAPPINGS: Final[dict[str, Callable[[str, str], Value | None]]] = {
    XSD + "decimal": _number,
    **dict.fromkeys(BOUNDS, _number),
    XSD + "float": _floating,
    XSD + "double": _floating,
    XSD + "string": _string,
    **dict.fromkeys(TEXTS, _string),
    RDF + "PlainLiteral": _plain,
    XSD + "boolean": _boolean,
    XSD + "dateTime": _date_time,
    XSD + "dateTimeStamp": _date_time,
    XSD + "date": _date,
    XSD + "hexBinary": _hex,
    XSD + "base64Binary": _base64,
    XSD + "anyURI": _uri,
    RDF + "XMLLiteral": _xml,
    RDF + "JSON": _json,
}

_SPACES: Final[dict[str, Space]] = {
    XSD + "double": Space.DOUBLE,
    XSD + "float": Space.FLOAT,
    XSD + "boolean": Space.BOOLEAN,
    XSD + "dateTime": Space.DATE_TIME,
    XSD + "date": Space.DATE,
    XSD + "hexBinary": Space.HEX,
    XSD + "base64Binary": Space.BASE64,
    XSD + "anyURI": Space.URI,
    RDF + "XMLLiteral": Space.XML,
}

KNOWN: Final = tuple(_MAPPINGS)
"""Datatypes whose literals are read: valid or not, equal or not."""

DATATYPES: Final = (*(name for name in KNOWN if name != RDF + "JSON"), RDF + "langString", RDFS + "Literal")
"""Datatypes that literals are derived to be of (dt-type2): those of OWL 2 RL, xsd:date and rdf:langString. They are
terms of the built-in vocabulary, which rdf:JSON is not."""
