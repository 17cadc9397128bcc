"""Regular expressions of XPath and XQuery Functions 3.1, section 5.6, which REGEX, REPLACE and sh:pattern take.

A pattern is read by the grammar of XML Schema 1.1 (part 2, appendix G) with the additions of XPath, and written for one
of two libraries. RE2 takes linear time. What it lacks (back-references, more than nine groups in a replacement) the
`regex` library matches by trying, within limits of text and time. What no grammar allows is a UsageError, which an
expression turns into an error of its own; what is legal but too much is a LimitError.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from triplestore.engine.dialect import BEYOND
from triplestore.expressions import charsets
from triplestore.expressions.charsets import Ranges, complement, difference, union
from triplestore.expressions.limits import MOST_BYTES, within
from triplestore.expressions.thresholds import THRESHOLDS
from triplestore.model.errors import LimitError, UsageError
from triplestore.model.remembering import Remembered
from triplestore.model.stopping import check_for
from triplestore.model.thresholds import SIZES

if TYPE_CHECKING:
    import regex

LONGEST: Final = 80_000
"""Characters of a pattern, also as it is written for a library: it is compiled without a look at the clock."""
LONGEST_TEXT: Final = 1 << 20
"""Characters of a text that is matched with back-references."""
SECONDS: Final = 2.0
"""Seconds of processor time, of all threads of the process, for which a text is matched with back-references."""
_SHOWN: Final = 60
_MOST_GROUPS: Final = 9
"""Groups that RE2 names in a replacement, \\1 to \\9."""

_SINGLE: Final = {**{char: char for char in "\\|.?*+(){}-[]^$"}, "n": "\n", "r": "\r", "t": "\t"}
_SETS: Final = {
    "s": charsets.SPACE,
    "S": complement(charsets.SPACE),
    "i": charsets.NAME_START,
    "I": complement(charsets.NAME_START),
    "c": charsets.NAME,
    "C": complement(charsets.NAME),
}
_NATIVE: Final = {"d": r"\p{Nd}", "D": r"\P{Nd}", "w": r"\p{L}\p{M}\p{N}\p{S}"}
"""What both libraries read between the brackets of a class."""
_PROPERTY: Final = re.compile(r"[pP]\{(?:Is([A-Za-z0-9-]+)|([LMNPZSC][a-z]?))\}")
_CATEGORIES: Final = {
    *("L", "Lu", "Ll", "Lt", "Lm", "Lo", "M", "Mn", "Mc", "Me", "N", "Nd", "Nl", "No", "Z", "Zs", "Zl", "Zp"),
    *("P", "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "S", "Sm", "Sc", "Sk", "So", "C", "Cc", "Cf", "Co", "Cn"),
}
_OF_RE2: Final = _CATEGORIES - {"C", "Cn"}
"""The categories that RE2 has, too."""
_QUANTIFIER: Final = re.compile(r"([?*+]|\{([0-9]++)(?:(,)([0-9]*+))?\})(\??)")
_PART: Final = re.compile(r"\$([0-9]{1,9})|\\([\\$])|([^\\$]+)")
_META: Final = re.compile(r"[\\|.?*+(){}\[\]^$]")


@dataclass(frozen=True, slots=True)
class _Group:
    """The beginning of a group that captures."""

    number: int


@dataclass(frozen=True, slots=True)
class _Reference:
    """A back-reference: the text of a group, the empty text if the group has matched nothing."""

    number: int


@dataclass(frozen=True, slots=True)
class _Line:
    """^ with the flag m. The end of a text that ends with a line feed begins no line."""


@dataclass(frozen=True, slots=True)
class _End:
    """The end of the text."""


@dataclass(frozen=True, slots=True)
class _Folded:
    """Characters and their case variants, negated or not, with the flag i. text: as RE2 reads them with it. The `regex`
    library gets all of them named: it errs on alternatives of which only some have the flag."""

    text: str
    ranges: Ranges
    negated: bool = False

    def __str__(self) -> str:
        return f"[{'^' * self.negated}{charsets.written(charsets.with_variants(self.ranges))}]"


_Token = str | _Group | _Reference | _Line | _End | _Folded


@dataclass(slots=True)
class Pattern:
    """A regular expression. shown: for messages. tokens: for either library. groups: how many capture. prefix: flags.

    linear: for RE2, without groups that capture; None if it has back-references. lines: whether RE2 errs on texts that
    end with a line feed. empty: whether it matches the empty text.
    """

    shown: str
    tokens: list[_Token]
    groups: int
    prefix: str
    linear: str | None = None
    lines: bool = False
    empty: bool = False
    _bounded: Any = field(default=None, init=False)

    @property
    def native(self) -> str | None:
        """The pattern for RE2, where it does for every text."""
        return None if self.lines else self.linear

    def for_re2(self, kept: Sequence[int] = ()) -> str:
        """The pattern for RE2. kept: the groups that capture. Back-references are left out."""
        parts = [self.prefix]
        for token in self.tokens:
            match token:
                case str():
                    parts.append(token)
                case _Folded(text):
                    parts.append(text)
                case _Group(number):
                    parts.append("(" if number in kept else "(?:")
                case _Reference():
                    parts.append("(?:)")
                case _Line():
                    parts.append("(?m:^)")
                case _End():
                    parts.append(r"\z")
        return "".join(parts)

    @property
    def bounded(self) -> regex.Pattern[str]:
        """The pattern for the `regex` library. Raises LimitError."""
        if self._bounded is None:
            import regex  # slow to import, and most patterns need only RE2

            parts = []
            again = "(?i:" if self.prefix else "(?:"
            for token in self.tokens:
                match token:
                    case str() | _Folded():
                        parts.append(str(token))
                    case _Group():
                        parts.append("(")
                    case _Reference(number):
                        parts.append(rf"(?({number}){again}\{number})|)")
                    case _Line():
                        parts.append(r"(?:\A|(?<=\n)(?!\Z))")
                    case _End():
                        parts.append(r"\Z")
            try:
                self._bounded = regex.compile("".join(parts), regex.V0)
            except (RecursionError, MemoryError, OverflowError) as error:
                raise _too_much(self.shown, f"{type(error).__name__}: {error}") from error
        found: regex.Pattern[str] = self._bounded
        return found

    def matches(self, texts: pa.Array) -> pa.Array:
        """Which texts have a part that matches; NULL for NULL. Raises LimitError, StoppedError."""
        import pyarrow.compute as pc  # slow to import, for those who have no pattern

        if self.native is not None:
            return pc.match_substring_regex(texts, self.native)
        began = time.monotonic()
        found = [None] * len(texts) if self.linear is None else pc.match_substring_regex(texts, self.linear).to_pylist()
        for place, text in enumerate(texts.to_pylist()):
            if text is not None and (self.linear is None or text.endswith("\n")):
                check_for(began)
                found[place] = next(iter(self.found(text)), None) is not None
        return pa.array(found, pa.bool_())

    def found(self, text: str) -> Iterator[regex.Match[str]]:
        """The matches in a text, by the `regex` library. Raises LimitError."""
        if len(text) > LONGEST_TEXT:
            raise LimitError(
                f"{BEYOND}the regular expression {self.shown} has back-references (or needs as much work), and a text "
                f"of {len(text):,} characters is matched with it; {LONGEST_TEXT:,} is the limit: cut the text with "
                "SUBSTR, or write a pattern without \\1"
            )
        try:
            yield from self.bounded.finditer(text, timeout=SECONDS)
        except (TimeoutError, MemoryError) as error:
            raise LimitError(
                f"{BEYOND}the regular expression {self.shown} has back-references (or needs as much work), and takes "
                f"more than {SECONDS:g} s for a text of {len(text):,} characters: write a pattern that can match in "
                "fewer ways, or one without \\1"
            ) from error


def read(pattern: str, flags: str = "") -> Pattern:
    """The pattern with flags of `ismxq`. Raises UsageError for a wrong one, LimitError for one that is too large."""
    return _PATTERNS[f"{flags}/{pattern}"]


def _read(key: str) -> Pattern:
    flags, _, pattern = key.partition("/")
    shown = repr(pattern if len(pattern) <= _SHOWN else f"{pattern[:_SHOWN]}..")
    if unknown := set(flags) - set("ismxq"):
        raise UsageError(f"REGEX has no flag {sorted(unknown)[0]!r}: its flags are i, s, m, x and q")
    if len(pattern) > LONGEST:
        raise _too_much(shown, f"it has {len(pattern):,} characters, {LONGEST:,} is the limit")
    reader = _Reader(pattern, flags, shown)
    if "q" in flags:
        for char in pattern:
            reader.literal(char)
    else:
        reader.read()
    found = Pattern(shown, reader.tokens, reader.opened, "(?i)" * ("i" in flags))
    text = found.for_re2()
    if len(text) > LONGEST * 2:
        raise _too_much(shown, f"its classes have {len(text):,} characters, {LONGEST * 2:,} is the limit")
    try:
        found.empty = _matches_nothing(text)
    except pa.ArrowInvalid as error:
        raise _too_much(shown, str(error).removeprefix("Invalid regular expression: ")) from error
    found.lines = _Line() in found.tokens
    if any(isinstance(token, _Reference) for token in found.tokens):
        found.empty = next(iter(found.found("")), None) is not None
    else:
        found.linear = text
    return found


_PATTERNS: Final = Remembered(_read, THRESHOLDS.patterns)


def _too_much(shown: str, reason: str) -> LimitError:
    return LimitError(
        f"{BEYOND}the regular expression {shown} is too large ({reason}): write a shorter one, or match in steps"
    )


def _matches_nothing(pattern: str) -> bool:
    """Whether an RE2 pattern matches the empty text. Raises ArrowInvalid if RE2 does not take it."""
    import pyarrow.compute as pc

    return bool(pc.match_substring_regex(pa.array([""]), pattern)[0].as_py())


@dataclass(slots=True)
class _Class:
    """A character class expression while it is read."""

    negated: bool
    own: list[tuple[int, int]] = field(default_factory=list)
    """Characters and ranges as they are written, to which case makes a difference."""
    sets: list[Ranges] = field(default_factory=list)
    native: list[str] = field(default_factory=list)
    """Escapes by which both libraries mean the same: `\\p{Lu}`."""
    less: _Class | None = None
    """What is subtracted."""

    @property
    def is_empty(self) -> bool:
        return not (self.own or self.sets or self.native)

    def characters(self, caseless: bool) -> Ranges:
        """All of its characters."""
        own = union(tuple(self.own))
        own = charsets.with_variants(own) if caseless else own
        found = union(own, *self.sets, *(of_escape(part) for native in self.native for part in _ESCAPE.findall(native)))
        return complement(found) if self.negated else found

    def written(self, caseless: bool) -> _Token:
        """The class for both libraries."""
        if self.less is not None:
            chain = [self]
            while (less := chain[-1].less) is not None:
                chain.append(less)
            found = chain.pop().characters(caseless)
            for part in reversed(chain):
                found = difference(part.characters(caseless), found)
            return _in_brackets(charsets.written(found), False, caseless)
        own = union(tuple(self.own))
        if caseless and not (self.sets or self.native):
            return _Folded(_in_brackets(charsets.written(own), self.negated, False), own, self.negated)
        own = charsets.with_variants(own) if caseless else own
        inside = charsets.written(union(own, *self.sets)) + "".join(self.native)
        return _in_brackets(inside, self.negated, caseless)


def _in_brackets(inside: str, negated: bool, scoped: bool) -> str:
    """A class. scoped: whether the flag i, which makes no difference any more, is on."""
    if not inside:
        inside, negated = charsets.written(charsets.EVERYTHING), not negated
    text = f"[{'^' * negated}{inside}]"
    return f"(?-i:{text})" if scoped else text


_ESCAPE: Final = re.compile(r"\\([pP])\{(\w+)\}")


def of_escape(escape: tuple[str, str]) -> Ranges:
    """The characters of a category (`p` or `P`, and its name)."""
    found = charsets.with_property(escape[1])
    return complement(found) if escape[0] == "P" else found


class _Reader:
    """Reads a pattern."""

    def __init__(self, pattern: str, flags: str, shown: str) -> None:
        self.text = _without_space(pattern) if "x" in flags else pattern
        self.flags, self.shown = flags, shown
        self.caseless = "i" in flags
        self.tokens: list[_Token] = []
        self.opened = 0
        self.closed: set[int] = set()
        self.open: list[int] = []
        """The groups that are open, 0 for one that does not capture."""
        self.place = 0

    def wrong(self, reason: str) -> UsageError:
        return UsageError(f"the regular expression {self.shown} is wrong: {reason}")

    def read(self) -> None:
        """Raises UsageError, LimitError."""
        atom = False
        size = 0
        while self.place < len(self.text):
            char = self.text[self.place]
            self.place += 1
            many = len(self.tokens)
            match char:
                case "(":
                    self._group()
                case ")":
                    if not self.open:
                        raise self.wrong(f"character {self.place} closes a group that is not open")
                    self.closed.add(self.open.pop())
                    self.tokens.append(")")
                case "|":
                    self.tokens.append("|")
                case "?" | "*" | "+" | "{":
                    self._quantifier(atom)
                case "[":
                    self.tokens.append(self._class().written(self.caseless))
                case "\\":
                    self._escape()
                case "." if "s" in self.flags:
                    self.tokens.append("(?s:.)")
                case ".":
                    self.tokens.append(r"[^\n\r]")
                case "^":
                    self.tokens.append(_Line() if "m" in self.flags else r"\A")
                case "$":
                    self.tokens.append("(?m:$)" if "m" in self.flags else _End())
                case "]" | "}":
                    raise self.wrong(f"character {self.place} is a {char} without a beginning: write \\{char}")
                case _:
                    self.literal(char)
            atom = char not in "(|?*+{"
            size += sum(len(token) for token in self.tokens[many:] if isinstance(token, str))
            if size > LONGEST * 2:
                raise _too_much(self.shown, f"its classes have more than {LONGEST * 2:,} characters")
        if self.open:
            raise self.wrong("a group is not closed")

    def literal(self, char: str) -> None:
        text = f"\\{char}" if _META.match(char) else char
        cased = self.caseless and not char == char.lower() == char.upper()
        self.tokens.append(_Folded(text, ((ord(char), ord(char)),)) if cased else text)

    def _group(self) -> None:
        if self.text.startswith("?", self.place):
            if not self.text.startswith("?:", self.place):
                raise self.wrong(f"character {self.place}: XPath has no (?{self.text[self.place + 1 : self.place + 2]}")
            self.place += 2
            self.open.append(0)
            self.tokens.append("(?:")
        else:
            self.opened += 1
            self.open.append(self.opened)
            self.tokens.append(_Group(self.opened))

    def _quantifier(self, atom: bool) -> None:
        found = _QUANTIFIER.match(self.text, self.place - 1)
        if found is None or not atom:
            raise self.wrong(f"character {self.place} is not a quantifier there")
        sign = found[1]
        if sign[0] == "{":
            low, high = (text.lstrip("0") or "0" * bool(text) for text in (found[2], found[4] or ""))
            if high and (len(low), low) > (len(high), high):
                raise self.wrong(f"the quantifier at character {self.place} begins with the greater number")
            sign = f"{{{low}{found[3] or ''}{high}}}"  # without leading zeros, which RE2 does not read
        self.tokens.append(sign + found[5])
        self.place = found.end()

    def _escape(self) -> None:
        """An escape outside of a class."""
        digit = self.text[self.place : self.place + 1]
        if digit in tuple("123456789"):
            self.place += 1
            while (more := self.text[self.place : self.place + 1]) and more in "0123456789":
                if int(digit + more) > self.opened:
                    break
                digit, self.place = digit + more, self.place + 1
            if int(digit) not in self.closed:
                raise self.wrong(f"\\{digit} refers to no group that is closed before it")
            self.tokens.append(_Reference(int(digit)))
            return
        found = self._character()
        if isinstance(found, str):
            self.literal(found)
            return
        letter, name = found
        cls = _Class(letter in "WSIC")
        self._add(cls, (letter.lower() if cls.negated else letter, name))
        self.tokens.append(cls.written(self.caseless))

    def _character(self) -> str | tuple[str, str]:
        """What follows a backslash: a character, or an escape for many, as its letter and what is in its braces."""
        char = self.text[self.place : self.place + 1]
        if not char:
            raise self.wrong("it ends with a backslash")
        self.place += 1
        if char in _SINGLE:
            return _SINGLE[char]
        if char in "pP":
            found = _PROPERTY.match(self.text, self.place - 1)
            if found is None or (found[2] and found[2] not in _CATEGORIES):
                raise self.wrong(f"\\{char} at character {self.place} names no category or block of characters")
            self.place = found.end()
            return char, f"Block={found[1]}" if found[1] else found[2]
        if char in _SETS or char in "dDwW":
            return char, ""
        raise self.wrong(f"XPath has no escape \\{char}")

    def _add(self, cls: _Class, escape: tuple[str, str]) -> None:
        """Add an escape for many characters to a class."""
        letter, name = escape
        if letter in _NATIVE:
            cls.native.append(_NATIVE[letter])
        elif letter == "W":
            cls.sets.append(complement(union(*map(charsets.with_property, "LMNS"))))
        elif letter in _SETS:
            cls.sets.append(_SETS[letter])
        elif name in _OF_RE2:
            cls.native.append(f"\\{letter}{{{name}}}")
        else:
            try:
                cls.sets.append(of_escape((letter, name)))
            except KeyError:
                raise self.wrong(f"Unicode has no block {name.removeprefix('Block=')!r}") from None

    def _class(self) -> _Class:
        """A character class expression, behind its first bracket."""
        outer: list[_Class] = []
        cls = self._begun()
        while True:
            char = self.text[self.place : self.place + 1]
            if not char:
                raise self.wrong("a character class is not closed")
            if char == "]":
                if cls.is_empty:
                    raise self.wrong("a character class is empty")
                self.place += 1
                while outer and self.text.startswith("]", self.place):
                    outer[-1].less = cls
                    cls = outer.pop()
                    self.place += 1
                if not outer:
                    return cls
                raise self.wrong("behind what is subtracted from a character class it must end")
            if self.text.startswith("-[", self.place) and not cls.is_empty:
                self.place += 2
                outer.append(cls)
                cls = self._begun()
                continue
            if char == "[":
                raise self.wrong(f"character {self.place + 1} is a [ in a character class: write \\[")
            first = self._member()
            if isinstance(first, tuple):
                self._add(cls, first)
                continue
            after = self.text[self.place + 1 : self.place + 2]
            last = first
            if self.text.startswith("-", self.place) and after not in ("]", "[", ""):
                if first == "-" and char == "-" and not cls.is_empty:
                    raise self.wrong(f"character {self.place} is a hyphen where none can be: write \\-")
                self.place += 1
                end = self._member()
                if isinstance(end, tuple) or end < first:
                    raise self.wrong(f"character {self.place} ends no range")
                last = end
            cls.own.append((ord(first), ord(last)))

    def _begun(self) -> _Class:
        negated = self.text.startswith("^", self.place)
        self.place += negated
        return _Class(negated)

    def _member(self) -> str | tuple[str, str]:
        char = self.text[self.place]
        self.place += 1
        return self._character() if char == "\\" else char


def _without_space(pattern: str) -> str:
    """The pattern without white space, but for that in character classes: flag x."""
    kept: list[str] = []
    depth, escaped = 0, False
    for char in pattern:
        if char in " \t\n\r" and not depth:
            continue
        kept.append(char)
        if escaped:
            escaped = False
        elif char == "\\":
            escaped = True
        elif char == "[":
            depth += 1
        elif char == "]" and depth:
            depth -= 1
    return "".join(kept)


@dataclass(frozen=True, slots=True)
class Replacement:
    """What REPLACE does. pattern: the regular expression. parts: the texts and groups in place of a match.

    linear, by: the pattern and the replacement as RE2 takes them, None where it does not. growth: a text of n bytes
    becomes one of n times so many at most.
    """

    pattern: Pattern
    parts: tuple[str | int, ...]
    linear: str | None
    by: str
    growth: int

    @property
    def native(self) -> str | None:
        """`linear`, where it does for every text."""
        return None if self.pattern.lines else self.linear

    def of(self, texts: pa.Array) -> pa.Array:
        """The texts with what matches replaced; NULL for NULL. Raises LimitError, StoppedError."""
        import pyarrow.compute as pc

        began = time.monotonic()
        found: list[str | None] = []
        for text in texts.to_pylist():
            check_for(began)
            if text is None:
                found.append(None)
                continue
            size = len(text.encode())
            if self.native is not None and size * self.growth <= SIZES.batch:
                made = str(pc.replace_substring_regex(pa.array([text]), self.native, self.by)[0].as_py())
            else:
                made = self._tried(text, size)
            found.append(within(made, "REPLACE", size))
        return pa.array(found, pa.string())

    def _tried(self, text: str, size: int) -> str:
        made: list[str] = []
        place = characters = 0
        for match in self.pattern.found(text):
            put = "".join([part if isinstance(part, str) else match[part] or "" for part in self.parts])
            made += (text[place : match.start()], put)
            place = match.end()
            characters += len(put)
            if characters > max(MOST_BYTES, size):
                break
        made.append(text[place:])
        return "".join(made)


def replacement(pattern: str, new: str, flags: str = "") -> Replacement:
    """REPLACE of a pattern by a text with `$1` for a group, `\\$` and `\\\\` for these signs.

    Raises as `read` does, and UsageError for a wrong text or a pattern that matches the empty text (err:FORX0003).
    """
    found = read(pattern, flags)
    if found.empty:
        raise UsageError(f"the pattern {found.shown} of REPLACE matches the empty text: write one that does not")
    parts = (new,) if "q" in flags else _parts(new, found.groups)
    used = sorted({part for part in parts if isinstance(part, int)} - {0})
    linear = found.for_re2(used) if found.linear is not None and len(used) <= _MOST_GROUPS else None
    places = {group: place for place, group in enumerate([0, *used])}
    by = "".join(part.replace("\\", r"\\") if isinstance(part, str) else f"\\{places[part]}" for part in parts)
    made = sum(len(part.encode()) if isinstance(part, str) else 1 for part in parts)  # what matches has a byte at least
    return Replacement(found, parts, linear, by, max(made, 1))


def _parts(text: str, captured: int) -> tuple[str | int, ...]:
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
    return tuple(parts)
