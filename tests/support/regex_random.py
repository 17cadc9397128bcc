"""Random regular expressions of XPath, and an oracle that matches them by trying, straight from the tree.

A pattern is made as a tree, which is written as text for the library and interpreted here, so that the two share no
parser. The oracle follows XPath and XQuery Functions 3.1, section 5.6: alternatives from left to right, quantifiers
greedy or reluctant, a back-reference to a group that has matched nothing is the empty text.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from random import Random

LETTERS = "abcABCkKsSijé\u00c9\u03b1\u0391\u212a\u017f1_- \n\r.\u0378"
"""Letters in both cases, KELVIN SIGN and LONG S, which are variants of k and s, space, and a code point of no
character."""

Test = Callable[[str], bool]
BLOCKS = {"BasicLatin": (0, 0x7F), "Latin-1Supplement": (0x80, 0xFF), "GreekandCoptic": (0x370, 0x3FF)}


@dataclass(frozen=True)
class Node:
    """kind: chars, group, plain (a group that does not capture), again (a back-reference), many, either, then, start,
    end. text: as it is written, for chars. test: which characters match. number: of a group. least, most, greedy: of a
    quantifier, whose text is `sign`."""

    kind: str
    parts: tuple[Node, ...] = ()
    text: str = ""
    test: Test | None = None
    number: int = 0
    least: int = 0
    most: int = 0
    greedy: bool = True

    def __str__(self) -> str:
        match self.kind:
            case "group":
                return f"({self.parts[0]})"
            case "plain":
                return f"(?:{self.parts[0]})"
            case "again":
                return f"(?:\\{self.number})"
            case "many":
                return f"{self.parts[0]}{self.text}"
            case "either":
                return "|".join(map(str, self.parts))
            case "then":
                return "".join(map(str, self.parts))
        return self.text


def is_variant(one: str, other: str) -> bool:
    return one.lower() == other.lower() or one.upper() == other.upper()


ESCAPES: dict[str, Test] = {
    "\\d": lambda char: unicodedata.category(char) == "Nd",
    "\\w": lambda char: unicodedata.category(char)[0] not in "PZC",
    "\\s": lambda char: char in " \t\n\r",
    "\\i": lambda char: char in ":_" or unicodedata.category(char)[0] == "L",
    "\\c": lambda char: char in ":_-." or unicodedata.category(char)[0] in "L" or char in "1\u0378",
}
"""As far as `LETTERS` go. U+0378, in a range of NameChar and NameStartChar, belongs to no category but Cn."""
ESCAPES["\\i"] = lambda char: char in ":_\u0378" or unicodedata.category(char)[0] == "L"


def _escape(rng: Random) -> tuple[str, Test]:
    kind = rng.randrange(3)
    if kind == 0:
        text, test = rng.choice(sorted(ESCAPES.items()))
        if rng.random() < 0.3:
            return text.upper(), lambda char: not test(char)
        return text, test
    if kind == 1:
        wanted = rng.choice(["L", "Lu", "Ll", "N", "P", "Z", "C", "Cn", "Cc", "Pd"])
        name, found = wanted, lambda char: unicodedata.category(char).startswith(wanted)
    else:
        block, (low, high) = rng.choice(sorted(BLOCKS.items()))
        name, found = f"Is{block}", lambda char: low <= ord(char) <= high
    if rng.random() < 0.3:
        return f"\\P{{{name}}}", lambda char: not found(char)
    return f"\\p{{{name}}}", found


def _written(char: str) -> str:
    return {"\n": "\\n", "\r": "\\r"}.get(char, f"\\{char}" if char in ".-[]^\\" else char)


def _class(rng: Random, caseless: bool, depth: int = 0) -> tuple[str, Test]:
    """A character class expression and what it matches."""
    texts: list[str] = []
    tests: list[Test] = []
    for _ in range(rng.randint(1, 3)):
        kind = rng.randrange(3)
        if kind == 0:
            text, test = _escape(rng)
        elif kind == 1:
            low, high = sorted((rng.choice(LETTERS), rng.choice(LETTERS)))
            text, test = f"{_written(low)}-{_written(high)}", _among(low, high, caseless)
        else:
            char = rng.choice(LETTERS)
            text, test = _written(char), _among(char, char, caseless)
        texts.append(text)
        tests.append(test)
    negated, less = rng.random() < 0.25, None
    inner = ""
    if depth < 2 and rng.random() < 0.35:
        inner, less = _class(rng, caseless, depth + 1)
        inner = f"-{inner}"

    def test_all(char: str) -> bool:
        return (any(test(char) for test in tests) != negated) and not (less is not None and less(char))

    return f"[{'^' * negated}{''.join(texts)}{inner}]", test_all


def _among(low: str, high: str, caseless: bool) -> Test:
    if not caseless:
        return lambda char: low <= char <= high
    return lambda char: low <= char <= high or any(low <= other <= high and is_variant(char, other) for other in _ALL)


_ALL = [chr(code) for code in range(0x2200)]


def random_pattern(rng: Random, flags: str) -> tuple[Node, int]:
    """A pattern and how many groups it has."""
    groups: list[int] = []
    closed: list[int] = []
    caseless = "i" in flags

    def atom(depth: int) -> Node:
        kind = rng.randrange(9)
        if kind == 0 and depth:
            groups.append(len(groups) + 1)
            number = groups[-1]
            found = Node("group", (either(depth - 1),), number=number)
            closed.append(number)
            return found
        if kind == 1 and depth:
            return Node("plain", (either(depth - 1),))
        if kind == 2 and closed:
            return Node("again", number=rng.choice(closed))
        if kind == 3:
            text, test = _escape(rng)
            return Node("chars", text=text, test=test)
        if kind in (4, 5):
            text, test = _class(rng, caseless)
            return Node("chars", text=text, test=test)
        if kind == 6:
            return Node("chars", text=".", test=lambda char: "s" in flags or char not in "\n\r")
        if kind == 7 and rng.random() < 0.5:
            return rng.choice([Node("start", text="^"), Node("end", text="$")])
        char = rng.choice(LETTERS)
        text = _written(char) if char in "\n\r" or char in "." else char
        if char == " " and "x" in flags:
            text = "[ ]"
        return Node("chars", text=text, test=_among(char, char, caseless))

    def piece(depth: int) -> Node:
        found = atom(depth)
        if rng.random() < 0.65 or found.kind in ("start", "end"):
            return found
        sign, least, most = rng.choice([("?", 0, 1), ("*", 0, 9), ("+", 1, 9), ("{2}", 2, 2), ("{0,2}", 0, 2)])
        greedy = rng.random() < 0.7
        return Node("many", (found,), text=sign + "?" * (not greedy), least=least, most=most, greedy=greedy)

    def branch(depth: int) -> Node:
        return Node("then", tuple(piece(depth) for _ in range(rng.randint(1, 3))))

    def either(depth: int) -> Node:
        return Node("either", tuple(branch(depth) for _ in range(rng.choice([1, 1, 1, 2]))))

    return either(2), len(groups)


def random_text(rng: Random) -> str:
    return "".join(rng.choice(LETTERS) for _ in range(rng.randint(0, 6)))


Groups = Mapping[int, str]


def ends(node: Node, text: str, place: int, groups: Groups, flags: str) -> Iterator[tuple[int, Groups]]:
    """Where a match that begins at a place may end, the first choice first, and what the groups have matched then."""
    match node.kind:
        case "chars":
            if place < len(text) and node.test is not None and node.test(text[place]):
                yield place + 1, groups
        case "start":
            after_line = place > 0 and text[place - 1] == "\n" and place < len(text)
            if place == 0 or ("m" in flags and after_line):
                yield place, groups
        case "end":
            if place == len(text) or ("m" in flags and text[place] == "\n"):
                yield place, groups
        case "again":
            again = groups.get(node.number, "")
            found = text[place : place + len(again)]
            same = len(found) == len(again) and all(
                a == b or ("i" in flags and is_variant(a, b)) for a, b in zip(found, again, strict=True)
            )
            if same:
                yield place + len(again), groups
        case "group":
            for end, inner in ends(node.parts[0], text, place, groups, flags):
                yield end, {**inner, node.number: text[place:end]}
        case "plain":
            yield from ends(node.parts[0], text, place, groups, flags)
        case "either":
            for part in node.parts:
                yield from ends(part, text, place, groups, flags)
        case "then":
            yield from _sequence(node.parts, text, place, groups, flags)
        case "many":
            yield from _repeated(node, 0, text, place, groups, flags)


def _sequence(
    parts: tuple[Node, ...], text: str, place: int, groups: Groups, flags: str
) -> Iterator[tuple[int, Groups]]:
    if not parts:
        yield place, groups
        return
    for end, found in ends(parts[0], text, place, groups, flags):
        yield from _sequence(parts[1:], text, end, found, flags)


def _repeated(
    node: Node, count: int, text: str, place: int, groups: Groups, flags: str
) -> Iterator[tuple[int, Groups]]:
    def more() -> Iterator[tuple[int, Groups]]:
        if count < node.most:
            for end, found in ends(node.parts[0], text, place, groups, flags):
                if end > place or count < node.least:
                    yield from _repeated(node, count + 1, text, end, found, flags)

    if node.greedy:
        yield from more()
    if count >= node.least:
        yield place, groups
    if not node.greedy:
        yield from more()


def found(node: Node, text: str, flags: str) -> bool:
    """Whether a part of the text matches."""
    return any(True for place in range(len(text) + 1) for _ in ends(node, text, place, {}, flags))


def replaced(node: Node, text: str, parts: tuple[str | int, ...], flags: str) -> str:
    """REPLACE by texts and groups, for a pattern that does not match the empty text."""
    made, place, kept = [], 0, 0
    while place <= len(text):
        end, groups = next(ends(node, text, place, {}, flags), (None, {}))
        if end is None:
            place += 1
            continue
        made.append(text[kept:place])
        whole = {0: text[place:end], **groups}
        made += (part if isinstance(part, str) else whole.get(part, "") for part in parts)
        kept = place = end
    return "".join([*made, text[kept:]])


def random_replacement(rng: Random, groups: int) -> tuple[str, tuple[str | int, ...]]:
    """A replacement as it is written, and its parts. There is at most one digit of a group more than there are."""
    text, parts = "", list[str | int]()
    for _ in range(rng.randint(0, 3)):
        kind = rng.randrange(4)
        if kind == 0:
            sign = rng.choice("\\$")
            text, parts = f"{text}\\{sign}", [*parts, sign]
        elif kind == 1:
            number = rng.randint(0, groups + 1)
            text, parts = f"{text}${number}", [*parts, number if number <= groups else ""]
        else:
            text, parts = f"{text}x.", [*parts, "x."]
    return text, tuple(parts)
