"""Casts by Python (XPath and XQuery Functions 3.1, section 19): to the datatypes derived from xsd:string, xsd:gYear and
its like, xsd:anyURI, xsd:hexBinary and xsd:base64Binary."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from typing import Final

from triplestore.dictionary.datatypes import NO_CHARACTERS, TEXTS, is_text
from triplestore.dictionary.term_rows import INSTANTS, ZONE
from triplestore.expressions import calendar
from triplestore.model.terms import XSD

_YEAR: Final = "-?([1-9][0-9]{3,}|0[0-9]{3})"
_MONTH: Final = "(0[1-9]|1[0-2])"
_DAY: Final = "(0[1-9]|[12][0-9]|3[01])"
_MONTH_DAY: Final = f"({_MONTH}-(0[1-9]|1[0-9]|2[0-9])|(0[13-9]|1[0-2])-30|(0[13578]|1[02])-31)"

_PARTS: Final = {
    "gYear": (_YEAR, "{0}"),
    "gYearMonth": (f"{_YEAR}-{_MONTH}", "{0}-{1}"),
    "gMonth": (f"--{_MONTH}", "--{1}"),
    "gMonthDay": (f"--{_MONTH_DAY}", "--{1}-{2}"),
    "gDay": (f"---{_DAY}", "---{2}"),
}
"""Of parts of dates: the lexical form without a zone, and how it is made of year, month and day."""

_BYTES: Final[dict[str, tuple[Callable[[str], bytes], Callable[[bytes], str]]]] = {
    XSD + "hexBinary": (bytes.fromhex, lambda found: found.hex().upper()),
    XSD + "base64Binary": (
        lambda text: base64.b64decode(text.replace(" ", ""), validate=True),
        lambda found: base64.b64encode(found).decode(),
    ),
}

CASTS: Final = (*TEXTS, *(XSD + name for name in _PARTS), XSD + "anyURI", *_BYTES)
"""The datatypes that `cast` knows."""


def cast(datatype: str, text: str, source: str) -> str | None:
    """The lexical form of a term as a literal of a datatype, None where it has none there.

    text: the term by xsd:string. source: its datatype, empty for an IRI. Raises ValueError or LookupError as well.
    """
    written = source == XSD + "string" or source in TEXTS
    collapsed = " ".join(text.strip(" \t\r\n").split())
    if datatype in TEXTS:
        plain = re.sub("[\t\n\r]", " ", text) if datatype == XSD + "normalizedString" else collapsed
        return plain if is_text(plain, datatype) and not re.search(f"[{NO_CHARACTERS}]", plain) else None
    if datatype in _BYTES:
        if not written and source not in _BYTES:
            return None
        read, write = _BYTES[source if source in _BYTES else datatype][0], _BYTES[datatype][1]
        return write(read(collapsed))
    if datatype == XSD + "anyURI":
        return collapsed if written or source in ("", datatype) else None
    form, made = _PARTS[datatype.removeprefix(XSD)]
    if source in INSTANTS:
        return _part(made, collapsed, source)
    return collapsed if (written or source == datatype) and re.fullmatch(form + ZONE, collapsed) else None


def _part(made: str, text: str, source: str) -> str | None:
    """A part of a time. 24:00:00 is the next day."""
    moment = calendar.computed("+", f"{source.removeprefix(XSD)}|{text}", "dayTimeDuration|PT0S")
    lexical = (moment or "").split("|")[1]  # of no time, LookupError
    found = re.fullmatch("(-?[0-9]+)-([0-9]{2})-([0-9]{2})(?:T[0-9:.]+)?(Z|[+-][0-9:]{5})?", lexical)
    return made.format(*found.groups()) + (found[4] or "") if found else None
