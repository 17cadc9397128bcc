"""Sets of characters, as the character classes of regular expressions need them: XML Schema Datatypes 1.1, part 2,
appendix G.

A set is a tuple of ranges of code points, both ends included, in order and with a gap between any two. Unicode's
categories and blocks are those of the `regex` library.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from functools import cache
from typing import Final

Ranges = tuple[tuple[int, int], ...]

_LAST: Final = 0x10FFFF
EVERYTHING: Final[Ranges] = ((0, _LAST),)
SPACE: Final[Ranges] = ((9, 10), (13, 13), (32, 32))
NAME_START: Final[Ranges] = (
    *((0x3A, 0x3A), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A), (0xC0, 0xD6), (0xD8, 0xF6), (0xF8, 0x2FF)),
    *((0x370, 0x37D), (0x37F, 0x1FFF), (0x200C, 0x200D), (0x2070, 0x218F), (0x2C00, 0x2FEF), (0x3001, 0xD7FF)),
    *((0xF900, 0xFDCF), (0xFDF0, 0xFFFD), (0x10000, 0xEFFFF)),
)
"""NameStartChar of XML 1.0 (fifth edition), which `\\i` matches."""
_SURROGATES: Final[Ranges] = ((0xD800, 0xDFFF),)
_SPECIAL: Final = re.compile(r"[\\\[\]^&~|-]")


def union(*sets: Ranges) -> Ranges:
    found: list[tuple[int, int]] = []
    for low, high in sorted(part for ranges in sets for part in ranges):
        if found and low <= found[-1][1] + 1:
            found[-1] = found[-1][0], max(found[-1][1], high)
        else:
            found.append((low, high))
    return tuple(found)


NAME: Final[Ranges] = union(NAME_START, ((0x2D, 0x2E), (0x30, 0x39), (0xB7, 0xB7), (0x300, 0x36F), (0x203F, 0x2040)))
"""NameChar of XML 1.0, which `\\c` matches."""


def complement(ranges: Ranges) -> Ranges:
    lows = [0, *(high + 1 for _, high in ranges)]
    highs = [*(low - 1 for low, _ in ranges), _LAST]
    return tuple((low, high) for low, high in zip(lows, highs, strict=True) if low <= high)


def difference(left: Ranges, right: Ranges) -> Ranges:
    return complement(union(complement(left), right))


@cache
def _characters() -> str:
    return "".join(map(chr, range(_LAST + 1)))


@cache
def with_property(name: str) -> Ranges:
    """The characters of a general category (`Lu`) or block (`Block=Gothic`). Raises KeyError if there is none."""
    import regex  # slow to import, for those who have no pattern

    try:
        found = regex.compile(rf"\p{{{name}}}+")
    except regex.error as error:
        raise KeyError(name) from error
    return tuple((match.start(), match.end() - 1) for match in found.finditer(_characters()))


@cache
def _variants() -> tuple[dict[int, Ranges], list[int]]:
    """The case variants of each character that has one besides itself, and these characters in order. Two characters
    are variants of each other if their lower-case or their upper-case forms are equal: XPath and XQuery Functions 3.1,
    section 5.6.2."""
    import regex

    alike: dict[str, list[int]] = {}
    for match in regex.finditer(r"[\p{Changes_When_Casemapped}]", _characters()):
        char = match.group()
        for key in {f"l{char.lower()}", f"u{char.upper()}"}:
            alike.setdefault(key, []).append(ord(char))
    found: dict[int, Ranges] = {}
    for codes in alike.values():
        if len(codes) > 1:
            own = tuple((code, code) for code in codes)
            found |= {code: union(found.get(code, ()), own) for code in codes}
    return found, sorted(found)


def with_variants(ranges: Ranges) -> Ranges:
    """A set with the case variants of its characters."""
    variants, ordered = _variants()
    inside = (ordered[bisect_left(ordered, low) : bisect_right(ordered, high)] for low, high in ranges)
    return union(ranges, *(variants[code] for codes in inside for code in codes))


def single(code: int) -> str:
    """A character as it is written between the brackets of a class, for RE2 and `regex` alike."""
    char = chr(code)
    if code < 0x20 or code == 0x7F:
        return f"\\x{code:02x}"
    return f"\\{char}" if _SPECIAL.match(char) else char


def written(ranges: Ranges) -> str:
    """A set as it is written between the brackets of a class. Surrogates are left out: no text has any."""
    kept = difference(ranges, _SURROGATES) if any(high >= 0xD800 and low <= 0xDFFF for low, high in ranges) else ranges
    return "".join(single(low) if low == high else f"{single(low)}-{single(high)}" for low, high in kept)
