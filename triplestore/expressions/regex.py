"""Regular expressions of XPath (as REGEX and REPLACE take them) in the dialect that RE2 and Java read alike.

Character classes are Unicode's, `.` stops at line ends and `$` matches at the very end only, as XPath and XQuery
Functions 3.1, section 5.6.1 have it. What RE2 has not (back-references) or XPath has not (look-around) is refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import count
from typing import Final

import pyarrow as pa

from triplestore.model.errors import UnsupportedError, UsageError

_OUTSIDE: Final = {
    "d": r"\p{Nd}",
    "D": r"\P{Nd}",
    "w": r"[\p{L}\p{M}\p{N}\p{S}]",
    "W": r"[^\p{L}\p{M}\p{N}\p{S}]",
    "s": r"[ \t\n\r]",
    "S": r"[^ \t\n\r]",
}
_INSIDE: Final = {
    "d": r"\p{Nd}",
    "D": r"\P{Nd}",
    "w": r"\p{L}\p{M}\p{N}\p{S}",
    "W": r"\p{P}\p{Z}\p{C}",
    "s": r" \t\n\r",
}
_PLAIN: Final = set("nrt\\|.?*+(){}[]^$-")
_GROUP: Final = re.compile(r"\\.|\[(?:\\.|[^\]\\])*\]|(\((?!\?))", re.DOTALL)
"""In a translated pattern: an escape, a character class, or (the first group) what opens a group that captures."""
_CATEGORY: Final = re.compile(r"[pP]\{(L[ultmo]?|M[nce]?|N[dlo]?|P[cdseifo]?|Z[slp]?|S[mcko]?|C[cfon]?)\}")
_NAMED: Final = re.compile(r"\\[pP]\{\w+\}(-?)")
"""A category, which Python's expressions do not have, and a hyphen behind it, which is no range."""
_QUANTIFIER: Final = re.compile(r"(?:[?*+]|\{[0-9]+(?:,[0-9]*)?\})\??(?![?*+{])")
_SPACE: Final = re.compile(r"(\\[^ \t\n\r]|\[(?:\\.|[^\]\\])*+\]?)|[ \t\n\r]", re.DOTALL)
"""White space of XML, which flag x removes from a pattern; or, in the first group, an escape or a class that stays, be
it closed or not."""
_PART: Final = re.compile(r"\$([0-9]{1,9})|\\([\\$])|([^\\$]+)")
_SHOWN: Final = 60
LONGEST: Final = 80_000
"""Characters of a pattern: no limit of time is heeded while it is read, in Python and in the engine."""
_MOST_GROUPS: Final = 9
"""Groups that a replacement may name: RE2 has \\1 to \\9."""


def translate(pattern: str, flags: str, java: bool) -> str:
    """The pattern for the engine. Raises UsageError for a bad pattern or flag, UnsupportedError for a foreign one."""
    if len(pattern) > LONGEST:
        raise _beyond(pattern, f"it is longer than {LONGEST:,} characters")
    if unknown := set(flags) - set("ismxq"):
        raise UsageError(f"REGEX has no flag {sorted(unknown)[0]!r}: its flags are i, s, m, x and q")
    if "q" in flags:
        flags, text = "i" * ("i" in flags), re.escape(pattern)
    else:
        text = _translated(_SPACE.sub(r"\1", pattern) if "x" in flags else pattern, flags)
    try:
        re.compile(_NAMED.sub(lambda found: r"\d" + r"\-" * len(found[1]), text.replace(r"\z", r"\Z")))
    except re.error as error:
        raise UsageError(f"the REGEX pattern {pattern!r} is not a regular expression: {error}") from error
    except (RecursionError, OverflowError) as error:
        raise _beyond(pattern, error) from error
    letters = "".join(letter for letter in "ism" if letter in flags)
    letters += ("u" if "i" in flags else "") + ("d" if "m" in flags else "") if java else ""
    text = f"(?{letters})" * bool(letters) + text
    if not java:
        try:
            _matches_nothing(text)
        except pa.ArrowInvalid as error:
            raise _beyond(pattern, error) from error
    return text


def _translated(pattern: str, flags: str) -> str:
    """The pattern, not yet verified, without its flags."""
    out: list[str] = []
    place, inside = 0, False
    while place < len(pattern):
        char = pattern[place]
        place += 1
        if char == "\\":
            out.append(_escape(pattern, place, inside))
            place += 1 if pattern[place] not in "pP" else pattern.index("}", place) - place + 1
        elif inside:
            if char == "[":
                raise UnsupportedError("character class subtraction in a REGEX pattern is not supported")
            inside = char != "]"
            out.append("\\&" if char == "&" else char)
        elif char == "[":
            inside = True
            out.append("[^" if pattern[place : place + 1] == "^" else "[")
            place += pattern[place : place + 1] == "^"
        elif char == "(" and pattern[place : place + 1] == "?":
            if pattern[place : place + 2] != "?:":
                raise UnsupportedError(f"(?{pattern[place + 1 : place + 2]} in a REGEX pattern is not supported")
            out.append("(?:")
            place += 2
        elif char in "?*+{":
            found = _QUANTIFIER.match(pattern, place - 1)
            if found is None:
                raise UsageError(f"the REGEX pattern {pattern!r} has no quantifier at character {place}")
            out.append(found[0])
            place = found.end()
        elif char == "." and "s" not in flags:
            out.append(r"[^\n\r]")
        elif char in "^$" and "m" not in flags:
            out.append(r"\A" if char == "^" else r"\z")
        else:
            out.append(char)
    return "".join(out)


def _beyond(pattern: str, error: object) -> UnsupportedError:
    """The error for what is a pattern of XPath, but not for the engine."""
    shown = pattern if len(pattern) <= _SHOWN else f"{pattern[:_SHOWN]}.."
    return UnsupportedError(f"the REGEX pattern {shown!r} is not supported ({error}): ask for less in one pattern")


def _escape(pattern: str, place: int, inside: bool) -> str:
    if place >= len(pattern):
        raise UsageError(f"the REGEX pattern {pattern!r} ends with a backslash")
    char = pattern[place]
    if char in "pP":
        found = _CATEGORY.match(pattern, place)
        if not found and pattern[place + 1 : place + 4] != "{Is":
            raise UsageError(f"\\{char} in the REGEX pattern {pattern!r} names no category of characters")
        if not found:
            raise UnsupportedError(f"\\{char} blocks in the REGEX pattern {pattern!r} are not supported")
        return "\\" + found.group()
    replacement = (_INSIDE if inside else _OUTSIDE).get(char)
    if replacement is not None:
        return replacement
    if char in _PLAIN:
        return "\\" + char
    raise UnsupportedError(f"\\{char} in the REGEX pattern {pattern!r} is not supported")


@dataclass(frozen=True, slots=True)
class Replacement:
    """What REPLACE does. pattern, by: the regular expression and the text in place of its matches, for the engine.
    groups, made: how many groups that text repeats, and the bytes by which it is longer besides, at most."""

    pattern: str
    by: str
    groups: int
    made: int


def replacement(pattern: str, new: str, flags: str, java: bool) -> Replacement:
    """REPLACE of a pattern by a text with `$1` for a group, `\\$` and `\\\\` for these signs, as the engine takes them.

    Groups that the text does not name become non-capturing: RE2 knows nine of them. Raises as `translate` does,
    UsageError for a bad text or a pattern that matches the empty text (err:FORX0003), UnsupportedError where the text
    names more than nine groups.
    """
    found = translate(pattern, flags, java)
    if _matches_nothing(translate(pattern, flags, java=False) if java else found):
        raise UsageError(f"the pattern {pattern!r} of REPLACE matches the empty text: write one that does not")
    captured = sum(bool(part[1]) for part in _GROUP.finditer(found))
    parts = [new] if "q" in flags else _parts(new, captured)
    used = sorted({part for part in parts if isinstance(part, int)} - {0})
    if len(used) > _MOST_GROUPS:
        raise UnsupportedError(
            f"the replacement {new!r} of REPLACE names {len(used)} groups: more than {_MOST_GROUPS} are not supported"
        )
    number, places = count(1), {group: place for place, group in enumerate([0, *used])}
    found = _GROUP.sub(lambda part: "(?:" if part[1] and next(number) not in places else part[0], found)
    made = sum(len(part.encode()) for part in parts if isinstance(part, str))
    made = max(made - 1, 0)  # what is replaced has a byte at least
    escaped, sign = (r"([\\$0-9])", "$") if java else (r"(\\)", "\\")
    by = [re.sub(escaped, r"\\\1", part) if isinstance(part, str) else f"{sign}{places[part]}" for part in parts]
    return Replacement(found, "".join(by), sum(isinstance(part, int) for part in parts), made)


def _parts(text: str, captured: int) -> list[str | int]:
    """The texts and the groups of a replacement, by XPath and XQuery Functions 3.1, section 5.6.4: as many digits are
    read as there are groups for, and a group that the pattern does not have is the empty text."""
    parts: list[str | int] = []
    place = 0
    while place < len(text):
        part = _PART.match(text, place)
        if part is None:
            raise UsageError(f"the replacement {text!r} of REPLACE is wrong: write \\\\ and \\$ for these signs")
        place = part.end()
        if part[1] is None:
            parts.append(part[2] or part[3])
            continue
        digits = part[1]
        while len(digits) > 1 and int(digits) > captured:
            digits, place = digits[:-1], place - 1
        parts.append(int(digits) if int(digits) <= captured else "")
    return parts


def _matches_nothing(pattern: str) -> bool:
    """Whether an RE2 pattern matches the empty text. Raises ArrowInvalid for none."""
    import pyarrow.compute as pc  # slow to import, for those who have no pattern

    return bool(pc.match_substring_regex(pa.array([""]), pattern)[0].as_py())
