"""Values of rdf:JSON literals (RDF 1.2 Concepts, section 5.3), identified by a canonical JSON text.

Numbers are xsd:double values, so `1` and `1.0` are one and `-0` and `0` are two; members of an object have no order,
and of several with one name the last counts. The parser keeps its own stack: texts may nest to any depth.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from typing import Final

_TOKEN: Final = re.compile(
    r"[ \t\n\r]*+(?:(?P<mark>[][{},:])|(?P<word>true|false|null)"
    r'|(?P<string>"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+")'
    r"|(?P<number>-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?))[ \t\n\r]*+"
)
Pieces = str | list["Pieces"]
"""A text in pieces, to be joined once: joining at each level would take time by the square of the depth."""

_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def canonical_json(text: str) -> str | None:
    """The canonical text of a JSON value; None if the text is no JSON (RFC 8259)."""
    open_: list[list[Pieces] | dict[str, Pieces]] = []
    names: list[str | None] = []  # for each open container, the name of the member whose value comes next
    expected, place = "value", 0
    while place < len(text):
        token = _TOKEN.match(text, place)
        if token is None or expected == "end":
            return None
        place, kind, found = token.end(), token.lastgroup, token[token.lastgroup or 0]
        value: Pieces
        if kind != "mark":
            if expected in ("name", "name or }") and kind == "string":
                names[-1] = _string(found)
                expected = ":"
                continue
            if expected not in ("value", "value or ]"):
                return None
            value = {"string": _string, "number": _number}.get(str(kind), str)(found)
        elif found in "[{" and expected in ("value", "value or ]"):
            open_.append([] if found == "[" else {})
            names.append(None)
            expected = "value or ]" if found == "[" else "name or }"
            continue
        elif found == ":" and expected == ":":
            expected = "value"
            continue
        elif found == "," and expected == "next":
            expected = "value" if isinstance(open_[-1], list) else "name"
            continue
        elif open_ and found == "]" and isinstance(open_[-1], list) and expected in ("next", "value or ]"):
            value = _listed("[", open_.pop(), "]")
            names.pop()
        elif open_ and found == "}" and isinstance(open_[-1], dict) and expected in ("next", "name or }"):
            members = open_.pop()
            assert isinstance(members, dict)
            value = _listed("{", [[name, ":", members[name]] for name in sorted(members)], "}")
            names.pop()
        else:
            return None
        if not open_:
            result, expected = value, "end"
        else:
            expected, inside = "next", open_[-1]
            if isinstance(inside, list):
                inside.append(value)
            else:
                inside[str(names[-1])] = value
    return _joined(result) if expected == "end" else None


def _listed(start: str, values: Iterable[Pieces], end: str) -> Pieces:
    pieces: list[Pieces] = [start]
    for value in values:
        pieces += [",", value] if len(pieces) > 1 else [value]
    return [*pieces, end]


def _joined(pieces: Pieces) -> str:
    found: list[str] = []
    stack = [pieces]
    while stack:
        piece = stack.pop()
        if isinstance(piece, str):
            found.append(piece)
        else:
            stack += reversed(piece)
    return "".join(found)


def _number(text: str) -> str:
    number = float(text)
    if not math.isfinite(number):
        return f"{text[: text[0] == '-']}1e999"
    return repr(number).removesuffix(".0")


def _string(text: str) -> str:
    written = json.dumps(json.loads(text), ensure_ascii=False)
    return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", written)
