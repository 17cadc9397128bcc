"""Words of SPARQL text, told apart just well enough to find keywords, operations and statement ends.

IRIs, strings and comments are skipped whole, so that a keyword or a semicolon inside them is not taken for one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

IRI = r"""<[^\x00-\x20<>"{}|^`\\]*(?:\\[uU][0-9A-Fa-f]+[^\x00-\x20<>"{}|^`\\]*)*>"""
STRING = (
    r'''"""(?:"{0,2}(?:[^"\\]|\\.))*"""|"(?:[^"\\\n\r]|\\.)*"'''
    r"""|'''(?:'{0,2}(?:[^'\\]|\\.))*'''|'(?:[^'\\\n\r]|\\.)*'"""
)
_TOKEN = re.compile(
    rf"""
    (?P<space>\s+ | \#[^\n\r]*)
  | (?P<iri>{IRI.replace("#", "[#]")})
  | (?P<string>{STRING})
  | (?P<tag>@[A-Za-z]+(?:-[A-Za-z0-9]+)*)
  | (?P<variable>[?$][\w\u00b7\u0300-\u036f\u203f\u2040]+)
  | (?P<name>
        (?:_:|[^\W\d_](?:[\w.\u0300-\u036f-]*[\w\u0300-\u036f-])?:|:)
        (?:(?:[\w:%\u00b7\u0300-\u036f\u203f\u2040-]|\\.|\.(?=[\w:%.\\-]))*)
    )
  | (?P<word>[^\W\d]\w*)
  | (?P<number>(?:\d+\.\d*|\.?\d+)[eE][+-]?\d+ | \d*\.\d+ | \d+)
  | (?P<mark>\^\^ | && | \|\| | != | <= | >= | .)
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Word:
    """A piece of the text: its kind (iri, string, tag, variable, name, word, number, mark), text and place."""

    kind: str
    text: str
    start: int
    end: int


def words(text: str, start: int = 0) -> Iterator[Word]:
    """The words of a SPARQL text from an offset on, without white space and comments."""
    for found in _TOKEN.finditer(text, start):
        kind = found.lastgroup or "mark"
        if kind != "space":
            yield Word(kind, found.group(), found.start(), found.end())


def place(text: str, offset: int) -> tuple[int, int]:
    """The (line, column) of an offset, both from 1."""
    before = text[:offset]
    return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1
