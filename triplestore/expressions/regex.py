"""Regular expressions of XPath (as REGEX and REPLACE take them) in the dialect that RE2 and Java read alike.

Character classes are Unicode's, `.` stops at line ends and `$` matches at the very end only, as XPath and XQuery
Functions 3.1, section 5.6.1 have it. What RE2 has not (back-references) or XPath has not (look-around) is refused.
"""

from __future__ import annotations

import re
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


def translate(pattern: str, flags: str, java: bool) -> str:
    """The pattern for the engine. Raises UsageError for a bad pattern or flag, UnsupportedError for a foreign one."""
    if unknown := set(flags) - set("ismxq"):
        raise UsageError(f"REGEX has no flag {sorted(unknown)[0]!r}: its flags are i, s, m, x and q")
    if "q" in flags:
        return ("(?iu)" if java else "(?i)") * ("i" in flags) + re.escape(pattern)
    if "x" in flags:
        pattern = re.sub(r"\s+", "", pattern)
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
        elif char == "(" and pattern[place : place + 1] == "?" and pattern[place : place + 2] != "?:":
            raise UnsupportedError(f"(?{pattern[place + 1 : place + 2]} in a REGEX pattern is not supported")
        elif char == "." and "s" not in flags:
            out.append(r"[^\n\r]")
        elif char in "^$" and "m" not in flags:
            out.append(r"\A" if char == "^" else r"\z")
        else:
            out.append(char)
    text = "".join(out)
    try:
        re.compile(re.sub(r"\\[pP]\{\w+\}", "a", text.replace(r"\z", r"\Z")))
        if not java:
            _matches_nothing(text)  # RE2 bounds what a pattern may come to
    except (re.error, pa.ArrowInvalid, RecursionError, OverflowError) as error:
        raise UsageError(f"the REGEX pattern {pattern!r} is not a regular expression: {error}") from error
    letters = "".join(letter for letter in "ism" if letter in flags)
    letters += ("u" if "i" in flags else "") + ("d" if "m" in flags else "") if java else ""
    return f"(?{letters})" * bool(letters) + text


def _escape(pattern: str, place: int, inside: bool) -> str:
    if place >= len(pattern):
        raise UsageError(f"the REGEX pattern {pattern!r} ends with a backslash")
    char = pattern[place]
    if char in "pP":
        found = re.match(r"[pP]\{[A-Z][a-z]?\}", pattern[place:])
        if not found:
            raise UnsupportedError(f"\\{char} blocks in the REGEX pattern {pattern!r} are not supported")
        return "\\" + found.group()
    replacement = (_INSIDE if inside else _OUTSIDE).get(char)
    if replacement is not None:
        return replacement
    if char in _PLAIN:
        return "\\" + char
    raise UnsupportedError(f"\\{char} in the REGEX pattern {pattern!r} is not supported")


def replacement(text: str, java: bool) -> str:
    """The replacement string of REPLACE ($1 a group, \\$ and \\\\ themselves) for the engine."""
    out: list[str] = []
    place = 0
    while place < len(text):
        pair = text[place : place + 2]
        if pair in (r"\$", r"\\"):
            out.append(pair if java else {r"\$": "$", r"\\": r"\\"}[pair])
            place += 2
        elif re.fullmatch(r"\$[0-9]", pair):
            out.append(pair if java else f"\\{pair[1]}")
            place += 2
        elif text[place] in "\\$":
            raise UsageError(f"the replacement {text!r} of REPLACE is wrong: write \\\\ and \\$ for these signs")
        else:
            out.append(text[place])
            place += 1
    return "".join(out)


def growth(pattern: str, new: str) -> tuple[int, int]:
    """How many groups a replacement of REPLACE repeats, and the bytes by which it makes the text longer besides, at
    most, for each match. pattern: as translated for RE2."""
    parts = re.findall(r"\\.|\$[0-9]|.", new, re.DOTALL)
    groups = sum(part[0] == "$" for part in parts)
    made = sum(len(part[-1].encode()) for part in parts) - groups
    if made and not _matches_nothing(pattern):
        made -= 1  # what is replaced has a byte at least
    return groups, made


def _matches_nothing(pattern: str) -> bool:
    """Whether an RE2 pattern matches the empty text. Raises ArrowInvalid for none."""
    import pyarrow.compute as pc  # slow to import, for those who have no pattern

    return bool(pc.match_substring_regex(pa.array([""]), pattern)[0].as_py())
