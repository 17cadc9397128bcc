"""What literals mean, by Python's own types: to compare the library's answers with. Shares no code with it."""

from __future__ import annotations

import base64
import json
import re
import struct
from collections.abc import Hashable
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from xml.dom import minidom
from xml.parsers.expat import ExpatError

import numpy as np

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
XSD = "http://www.w3.org/2001/XMLSchema#"

_SIGNED = {"long": 64, "int": 32, "short": 16, "byte": 8}
RANGES: dict[str, range] = {
    **{XSD + name: range(-(2 ** (bits - 1)), 2 ** (bits - 1)) for name, bits in _SIGNED.items()},
    **{f"{XSD}unsigned{name.capitalize()}": range(2**bits) for name, bits in _SIGNED.items()},
    XSD + "nonNegativeInteger": range(10**99),
    XSD + "positiveInteger": range(1, 10**99),
    XSD + "nonPositiveInteger": range(-(10**99), 1),
    XSD + "negativeInteger": range(-(10**99), 0),
    XSD + "integer": range(-(10**99), 10**99),
}
TEXTS = [XSD + name for name in ("string", "normalizedString", "token", "language", "Name", "NCName", "NMTOKEN")]
KNOWN = [
    *RANGES,
    *TEXTS,
    *(XSD + n for n in ("decimal", "float", "double", "boolean", "dateTime", "dateTimeStamp")),
    *(XSD + n for n in ("hexBinary", "base64Binary", "anyURI", "date")),
    RDF + "PlainLiteral",
    RDF + "XMLLiteral",
    RDF + "JSON",
]
DATATYPES = [*(name for name in KNOWN if name != RDF + "JSON"), RDF + "langString", RDFS + "Literal"]

ILL = None


def parts(token: str) -> tuple[str, str, str]:
    """(lexical form, datatype, language tag) of a literal's token."""
    match = re.fullmatch(r'"(.*)"(?:\^\^<([^<>"]*)>|@([^"]*))?', token, re.DOTALL)
    assert match, token
    return match[1], match[2] or (RDF + "langString" if match[3] else XSD + "string"), match[3] or ""


def value(token: str) -> Hashable:
    """Equal for literals of one value; `ILL` for an ill-typed literal, (None, token) for an unknown datatype."""
    lexical, datatype, language = parts(token)
    if language:
        return ILL if _odd(lexical) else ("tagged", lexical, language.lower())
    try:
        return _value(lexical, datatype)
    except (ValueError, LookupError, ArithmeticError, ExpatError):
        return ILL


def within(found: Hashable, datatype: str) -> bool:
    """Whether the value (of a known datatype) belongs to a datatype."""
    assert isinstance(found, tuple)
    space, *content = found
    if datatype == RDFS + "Literal":
        return True
    if datatype == RDF + "PlainLiteral":
        return space in ("string", "tagged")
    if datatype == RDF + "langString":
        return bool(space == "tagged")
    if datatype in RANGES or datatype == XSD + "decimal":
        if space != "number" or datatype == XSD + "decimal":
            return bool(space == "number")
        return content[0].denominator == 1 and int(content[0]) in RANGES[datatype]
    if datatype in TEXTS:
        return space == "string" and _text(content[0], datatype)
    if datatype == XSD + "dateTimeStamp":
        return space == "dateTime" and content[1] is not None
    return bool(XSD + space == datatype or RDF + space == datatype)


def _value(lexical: str, datatype: str) -> Hashable:
    name = datatype.removeprefix(XSD).removeprefix(RDF)
    if datatype in RANGES or name == "decimal":
        if not lexical.isascii() or set(lexical) - set("+-0123456789.") or (name != "decimal" and "." in lexical):
            return ILL
        number = Fraction(Decimal(lexical))
        return ("number", number) if name == "decimal" or int(number) in RANGES[datatype] else ILL
    if name in ("double", "float"):
        special = {"INF": "inf", "+INF": "inf", "-INF": "-inf", "NaN": "nan"}.get(lexical)
        if special is None and set(lexical) - set("+-0123456789.eE"):
            return ILL
        number = float(special or lexical)
        if name == "double":
            return (name, struct.pack(">d", number))
        return (name, struct.pack(">f", number if special else _nearest(number, lexical)))
    if datatype in TEXTS:
        return ("string", lexical) if not _odd(lexical) and _text(lexical, datatype) else ILL
    if name == "PlainLiteral":
        text, at, tag = lexical.rpartition("@")
        if not at or _odd(text) or (tag and not _text(tag, XSD + "language")):
            return ILL
        return ("tagged", text, tag.lower()) if tag else ("string", text)
    if name == "boolean":
        return (name, {"true": True, "1": True, "false": False, "0": False}[lexical])
    if name in ("dateTime", "dateTimeStamp", "date"):
        return _instant(lexical, name)
    if name == "hexBinary":
        return (name, bytes.fromhex(lexical)) if not any(c.isspace() for c in lexical) else ILL
    if name == "base64Binary":
        if lexical != lexical.strip(" ") or "  " in lexical:
            return ILL
        data = base64.b64decode(lexical.replace(" ", ""), validate=True)
        return (name, data) if base64.b64encode(data).decode() == lexical.replace(" ", "") else ILL
    if name == "anyURI":
        return ILL if _odd(lexical) else (name, lexical)
    if name == "XMLLiteral":
        return (name, _tree(minidom.parseString(f"<r>{lexical}</r>").documentElement))
    if name == "JSON":
        return (name, _frozen(json.loads(lexical, parse_int=float, parse_constant=_no_constant)))
    return (None, lexical, datatype)


def _frozen(found: object) -> Hashable:
    """A JSON value to compare: by kind, numbers by their bits, objects without an order."""
    if isinstance(found, list):
        return ("array", *map(_frozen, found))
    if isinstance(found, dict):
        return ("object", frozenset((name, _frozen(value)) for name, value in found.items()))
    return (type(found).__name__, struct.pack(">d", found) if isinstance(found, float) else found)


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is no JSON")


def _odd(text: str) -> bool:
    """Whether a text holds a character that no XML document can."""
    return any(c in "\x00\ufffe\uffff" for c in text)


def _nearest(number: float, lexical: str) -> float:
    """The single-precision number nearest to the text, even on a tie."""
    if not np.isfinite(number) or number == 0:
        return number
    with np.errstate(all="ignore"):
        middle = np.float32(number)
        around = [np.nextafter(middle, np.float32(-np.inf)), middle, np.nextafter(middle, np.float32(np.inf))]
    exact, beyond = Fraction(Decimal(lexical)), Fraction(2) ** 128

    def rank(candidate: np.float32) -> tuple[Fraction, int]:
        as_fraction = Fraction(float(candidate)) if np.isfinite(candidate) else beyond * int(np.sign(candidate))
        return abs(exact - as_fraction), int(candidate.view(np.uint32)) & 1

    best = min(around, key=rank)
    return float(np.copysign(best, np.float32(-1 if lexical.startswith("-") else 1)))


def _text(text: str, datatype: str) -> bool:
    name = datatype.removeprefix(XSD)
    if name == "normalizedString":
        return not set(text) & set("\t\n\r")
    if name == "token":
        return not set(text) & set("\t\n\r") and text == " ".join(part for part in text.split(" ") if part)
    if name == "language":
        first, *more = text.split("-")
        return all(1 <= len(p) <= 8 and p.isascii() and p.isalnum() for p in (first, *more)) and first.isalpha()
    if name in ("Name", "NCName", "NMTOKEN"):
        return _is_name(f"a{text}" if name == "NMTOKEN" and text else text) and not (name == "NCName" and ":" in text)
    return True


def _is_name(text: str) -> bool:
    """Whether XML takes the text for the name of an element."""
    if not text or set(text) & set("<>/ \t\r\n=&\"'"):
        return False
    try:
        return minidom.parseString(f"<{text}/>").documentElement.tagName == text
    except (ExpatError, ValueError):
        return ":" in text and _is_name(text.replace(":", "_"))


def _instant(lexical: str, name: str) -> Hashable:
    """(fields, time zone in minutes or None)."""
    pattern = r"(\d{4}-\d\d-\d\d)" + (r"(?:T(\d\d:\d\d:\d\d)(\.\d+)?)" if name != "date" else "()()")
    match = re.fullmatch(pattern + r"(Z|[+-]\d\d:\d\d)?", lexical, re.ASCII)
    if not match:
        return ILL
    day, clock, fraction, zone = match.groups()
    minutes = None
    if zone:
        hours, rest = (0, 0) if zone == "Z" else (int(zone[1:3]), int(zone[4:]))
        if rest > 59 or hours * 60 + rest > 14 * 60:
            return ILL
        minutes = (hours * 60 + rest) * (-1 if zone[0] == "-" else 1)
    elif name == "dateTimeStamp":
        return ILL
    digits = (fraction or "").strip(".").rstrip("0")
    if clock and clock.startswith("24"):
        if clock != "24:00:00" or digits:
            return ILL
        return ("dateTime", (datetime.fromisoformat(day) + timedelta(days=1), ""), minutes)
    moment = datetime.fromisoformat(f"{day}T{clock or '00:00:00'}")
    return ("date" if name == "date" else "dateTime", (moment, digits), minutes)


def _tree(node: minidom.Node) -> Hashable:
    """A node's names, attributes, text and children."""
    node.normalize()
    if node.nodeType in (node.TEXT_NODE, node.CDATA_SECTION_NODE):
        return node.data
    if node.nodeType == node.COMMENT_NODE:
        return ("comment", node.data)
    attributes = frozenset((a.namespaceURI, a.localName, a.value) for a in (node.attributes or {}).values())
    return (node.namespaceURI, node.nodeName, attributes, tuple(map(_tree, node.childNodes)))
