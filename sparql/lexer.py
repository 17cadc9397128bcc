"""Words of SPARQL text (SPARQL 1.1, section 19.8, rules 139 to 173), and how long and deep a text may be.

IRIs, strings and comments are skipped whole, so that a keyword or a semicolon inside them is not taken for one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

NESTED: Final = 100
"""Brackets of a query or update that may be open at a time, and operators before one operand."""

PATTERNS: Final = 500
"""Triple patterns, steps of paths, parts of groups, expressions of SELECT and keys in a query or in one operation of an
update."""

RUN_ON: Final = 200
"""Characters of a word that is taken for keywords with nothing between them."""

# Possessive: what is not closed ends at once, and a long string or name costs no place on a stack for each character.
IRI = r"""<[^\x00-\x20<>"{}|^`\\]*+(?:\\[uU][0-9A-Fa-f]++[^\x00-\x20<>"{}|^`\\]*+)*+>"""
_OPEN: Final = r""""(?:[^"\\\n\r]++|\\.)*+""", r"""'(?:[^'\\\n\r]++|\\.)*+"""
"""Strings of one line, without what closes them."""
STRING = (
    rf'''"""(?:"{{0,2}}(?:[^"\\]++|\\.))*+"""|{_OPEN[0]}"'''
    rf"""|'''(?:'{{0,2}}(?:[^'\\]++|\\.))*+'''|{_OPEN[1]}'"""
)
_BASE: Final = (  # PN_CHARS_BASE
    r"A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c\u200d\u2070-\u218f"
    r"\u2c00-\u2fef\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
_MORE: Final = r"\u00b7\u0300-\u036f\u203f\u2040"
_CHARS: Final = rf"{_BASE}_0-9{_MORE}\-"
_PLX: Final = r"%[0-9A-Fa-f]{2}|\\[_~.!$&'()*+,;=/?\#@%-]"
_TOKEN = re.compile(
    rf"""
    (?P<space>[\x20\t\r\n]+ | \#[^\n\r]*)
  | (?P<iri>{IRI.replace("#", "[#]")})
  | (?P<string>{STRING})
  | (?P<unclosed>{_OPEN[0]}|{_OPEN[1]})
  | (?P<tag>@[A-Za-z]+(?:-[A-Za-z0-9]+)*(?:--[A-Za-z]+)?)
  | (?P<variable>[?$][{_BASE}_0-9][{_BASE}_0-9{_MORE}]*)
  | (?P<name>
        _:[{_BASE}_0-9][{_CHARS}]*+(?:\.+[{_CHARS}]++)*+
      | (?:[{_BASE}][{_CHARS}]*+(?:\.+[{_CHARS}]++)*+)?:
        (?:(?:[{_BASE}_0-9:]|{_PLX})(?:[{_CHARS}:]++|{_PLX})*+(?:\.+(?:[{_CHARS}:]++|{_PLX})++)*+)?
    )
  | (?P<word>[^\W\d]\w*)
  | (?P<number>(?:\d+\.\d*|\.?\d+)[eE][+-]?\d+ | \d*\.\d+ | \d+)
  | (?P<mark>\^\^ | <<\( | \)>> | << | >> | \{{\| | \|\}} | && | \|\| | != | <= | >= | .)
    """,
    re.VERBOSE | re.DOTALL | re.ASCII,
)

_LISTED: Final = """
    BASE PREFIX SELECT CONSTRUCT DESCRIBE ASK DISTINCT REDUCED AS FROM NAMED WHERE GROUP BY HAVING ORDER ASC DESC LIMIT
    OFFSET VALUES OPTIONAL GRAPH SERVICE SILENT BIND UNDEF MINUS UNION FILTER IN NOT EXISTS TRUE FALSE SEPARATOR A
    LOAD INTO CLEAR DROP CREATE ADD MOVE COPY TO INSERT DELETE DATA WITH USING DEFAULT ALL
    STR LANG LANGMATCHES DATATYPE BOUND IRI URI BNODE RAND ABS CEIL FLOOR ROUND CONCAT STRLEN UCASE LCASE ENCODE_FOR_URI
    CONTAINS STRSTARTS STRENDS STRBEFORE STRAFTER YEAR MONTH DAY HOURS MINUTES SECONDS TIMEZONE TZ NOW UUID STRUUID MD5
    SHA1 SHA256 SHA384 SHA512 COALESCE IF STRLANG STRDT SAMETERM ISIRI ISURI ISBLANK ISLITERAL ISNUMERIC REGEX SUBSTR
    LANGDIR HASLANG HASLANGDIR STRLANGDIR ISTRIPLE TRIPLE SUBJECT PREDICATE OBJECT
    REPLACE COUNT SUM MIN MAX AVG SAMPLE GROUP_CONCAT
"""
KEYWORDS: Final = frozenset(_LISTED.split())
_SPLIT: Final = re.compile("|".join([*sorted(KEYWORDS, key=len, reverse=True), r"\d+"]), re.IGNORECASE)
_BRACKETS: Final = re.compile(rf"{STRING}|{IRI}|\\.|\#[^\n\r]*|[(){{}}\[\]]", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Word:
    """A piece of the text: its kind (iri, string, tag, variable, name, word, number, mark), text and place."""

    kind: str
    text: str
    start: int
    end: int


def words(text: str, start: int = 0) -> Iterator[Word]:
    """The words of a SPARQL text from an offset on, without white space and comments.

    Keywords need nothing between them: FILTERsameTerm is FILTER, then sameTerm.
    """
    for found in _TOKEN.finditer(text, start):
        kind = found.lastgroup or "mark"
        if kind == "word" and found.group().upper() not in KEYWORDS and (parts := _run_on(found.group())):
            for part in parts:
                number = part.group().isdigit()
                first, last = found.start() + part.start(), found.start() + part.end()
                yield Word("number" if number else kind, part.group(), first, last)
        elif kind == "unclosed":
            yield Word("mark", found.group()[0], found.start(), found.start() + 1)
        elif kind != "space":
            yield Word(kind, found.group(), found.start(), found.end())


def _run_on(word: str) -> list[re.Match[str]]:
    """The keywords and numbers that a word consists of, the longest first; none where anything else is in it, or the
    word is longer than anybody writes."""
    parts: list[re.Match[str]] = []
    if len(word) > RUN_ON:
        return parts
    end = 0
    while end < len(word):
        found = _SPLIT.match(word, end)
        if found is None:
            return []
        parts.append(found)
        end = found.end()
    return parts


def place(text: str, offset: int) -> tuple[int, int]:
    """The (line, column) of an offset, both from 1."""
    before = text[:offset]
    return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1


def too_deep(text: str) -> int | None:
    """The offset of the first bracket that is in more than `NESTED` others, by a scan; nothing where none is."""
    if sum(text.count(bracket) for bracket in "({[") <= NESTED:
        return None
    open_ = 0
    for found in _BRACKETS.finditer(text):
        piece = found.group()
        if piece in ("(", "{", "["):
            open_ += 1
            if open_ > NESTED:
                return found.start()
        elif piece in (")", "}", "]"):
            open_ = max(open_ - 1, 0)
    return None
