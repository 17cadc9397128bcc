"""Reading SPARQL text word by word: the current place, the prologue in force, and terms.

The words are those of SPARQL 1.1, section 19.8, rules 139 to 173. IRIs, strings and comments are skipped whole, so that
a keyword or a semicolon inside them is not taken for one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NoReturn

import pyoxigraph

from triplestore.model.errors import InputError, LimitError, UnsupportedError, UsageError
from triplestore.model.expression import Constant, Variable
from triplestore.model.stopping import check
from triplestore.model.terms import RDF, XSD, is_absolute, literal_token, resolve, split_tag

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


Term = Variable | Constant

_ESCAPE: Final = re.compile(r"\\(u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)", re.DOTALL)
_CHARACTERS: Final = {"t": "\t", "n": "\n", "r": "\r", "b": "\b", "f": "\f", '"': '"', "'": "'", "\\": "\\"}
_IN_NAMES: Final = {character: character for character in "_~.-!$&'()*+,;=/?#@%"}
_END: Final = "the end of the text"
_SHOWN: Final = 60
MOST: Final = 10**18
"""Solutions that are passed over, or given, at most: nobody has as many, and both together have 64 bits."""


@dataclass(slots=True)
class Cursor:
    """A place in a text. what: "query" or "update", for messages. source: the file, where there is one; errors are
    InputErrors of it then, else UsageErrors. prefixes: those that the text declares. known: what others stand for.
    warnings: what is legal, but hardly meant.

    Raises LimitError for a text that is nested too deeply, before anything of it is parsed.
    """

    text: str
    what: str = "query"
    source: str | None = None
    base: str | None = None
    prefixes: dict[str, str] = field(default_factory=dict)
    known: Mapping[str, str] = field(default_factory=dict)
    at: int = 0
    warnings: list[str] = field(default_factory=list)
    _next: Word | None = None
    _fresh: int = 0
    _patterns: int = 0

    def __post_init__(self) -> None:
        try:
            self.text.encode()
        except UnicodeEncodeError as error:
            self.illegal("half of a surrogate pair is not a character", error.start)
        offset = too_deep(self.text)
        if offset is not None:
            self.limit(f"more than {NESTED} brackets are open here: nest less", offset)

    # -- words ------------------------------------------------------------------------------------------------------

    def peek(self) -> Word:
        """The next word; its kind is "end" behind the last one."""
        if self._next is None:
            check()
            self._next = next(words(self.text, self.at), Word("end", _END, len(self.text), len(self.text)))
        return self._next

    def next(self) -> Word:
        """The next word, and move behind it."""
        word = self.peek()
        self.jump(word.end)
        return word

    def jump(self, offset: int) -> None:
        """Go on at an offset."""
        self.at, self._next = offset, None

    def is_(self, *texts: str) -> bool:
        """Whether the next word is one of these marks or (in any case) keywords."""
        word = self.peek()
        if word.kind == "word":
            return word.text.upper() in texts
        return word.kind == "mark" and word.text in texts

    def accept(self, *texts: str) -> bool:
        """Move over the next word if it is one of these."""
        found = self.is_(*texts)
        if found:
            self.next()
        return found

    def expect(self, *texts: str) -> str:
        """Move over the next word, which must be one of these; which."""
        if not self.is_(*texts):
            self.fail(f"expected {' or '.join(repr(t) for t in texts)}")
        return self.next().text.upper()

    def fresh(self) -> Variable:
        """A variable that no query can name."""
        self._fresh += 1
        return Variable(f"_:.{self._fresh}")

    # -- errors -----------------------------------------------------------------------------------------------------

    def fail(self, reason: str, word: Word | None = None) -> NoReturn:
        """Refuse the text at a word, the next one by default."""
        word = word or self.peek()
        if self.text.startswith(("\\u", "\\U"), word.start):
            self.illegal("codepoint escapes are for strings and IRIs only: write the character itself", word.start)
        found = _END if word.kind == "end" else repr(word.text if len(word.text) <= _SHOWN else word.text[:_SHOWN])
        self.illegal(f"{reason}, found {found}", word.start)

    def illegal(self, reason: str, offset: int) -> NoReturn:
        """Refuse the text for what is at an offset."""
        line, column = place(self.text, offset)
        if self.source is not None:
            raise InputError(reason, self.source, line, column)
        raise UsageError(f"the {self.what} is not legal SPARQL: line {line}, column {column}: {reason}")

    def unsupported(self, reason: str, word: Word | None = None) -> NoReturn:
        """Refuse a construct by name."""
        raise UnsupportedError(f"{self.where((word or self.peek()).start)}: {reason}")

    def limit(self, reason: str, offset: int) -> NoReturn:
        """Refuse what is legal, but too much."""
        raise LimitError(f"the {self.what} goes beyond a limit: {self.where(offset)}: {reason}")

    def where(self, offset: int) -> str:
        """The place of an offset, for messages."""
        line, column = place(self.text, offset)
        return f"{self.source}:{line}:{column}" if self.source else f"line {line}, column {column}"

    def pattern(self, number: int = 1) -> None:
        """One more pattern, select expression or key (or several); raises LimitError where there are too many."""
        self._patterns += number
        if self._patterns > PATTERNS:
            reason = f"these are more than {PATTERNS} patterns, expressions of SELECT and keys: ask for less at a time"
            self.limit(reason, self.peek().start)

    def operation(self) -> None:
        """Another operation of an update begins, with patterns of its own."""
        self._patterns = 0

    # -- prologue and terms -----------------------------------------------------------------------------------------

    def prologue(self) -> None:
        """BASE, PREFIX and VERSION declarations; the text is read alike whatever the version."""
        while self.is_("BASE", "PREFIX", "VERSION"):
            word = self.next().text.upper()
            if word == "BASE":
                self.base = self.iri_reference()
                continue
            if word == "VERSION":
                if self.peek().kind != "string" or self.peek().text[:3] in ('"""', "'''"):
                    self.fail("expected a version, as in '1.2'")
                self.next()
                continue
            name = self.peek()
            if name.kind != "name" or name.text.find(":") != len(name.text) - 1 or name.text == "_:":
                self.fail("expected a prefix, as in 'ex:'")
            self.next()
            self.prefixes[name.text[:-1]] = self.iri_reference()

    def iri_reference(self) -> str:
        """An IRI in angle brackets, resolved."""
        word = self.peek()
        if word.kind != "iri":
            self.fail("expected an IRI in angle brackets")
        iri = self._unescaped(word.text[1:-1], word, {})
        if self.base is not None and not is_absolute(iri):
            iri = resolve(iri, self.base)
        if not is_absolute(iri):
            self.fail("expected an absolute IRI (there is no BASE)" if self.base is None else "expected an IRI")
        self._check_iri(iri, word)
        self.next()
        return iri

    def at_iri(self) -> bool:
        """Whether an IRI comes, in brackets or by prefix."""
        word = self.peek()
        return word.kind == "iri" or (word.kind == "name" and not word.text.startswith("_:"))

    def iri(self) -> str:
        """An IRI, in brackets or by prefix."""
        word = self.peek()
        if not self.at_iri():
            self.fail("expected an IRI")
        if word.kind == "iri":
            return self.iri_reference()
        prefix, local = word.text.split(":", 1)
        space = self.prefixes.get(prefix, self.known.get(prefix))
        if space is None:
            self.fail(f"the prefix '{prefix}:' is not declared")
        iri = space + self._unescaped(local, word, _IN_NAMES)
        self._check_iri(iri, word)
        self.next()
        return iri

    def _check_iri(self, iri: str, word: Word) -> None:
        try:
            pyoxigraph.NamedNode(iri)
        except ValueError as error:
            self.fail(f"<{iri[:_SHOWN]}> is not an IRI ({error})", word)

    def type_(self) -> Constant | None:
        """rdf:type, if `a` comes, which stands for it."""
        if not self.at_type():
            return None
        self.next()
        return TYPE

    def at_type(self) -> bool:
        """Whether `a` comes."""
        word = self.peek()
        return word.kind == "word" and word.text == "a"

    def variable(self) -> Variable | None:
        """A variable, if one comes."""
        if self.peek().kind != "variable":
            return None
        return Variable(self.next().text[1:])

    def named(self) -> Variable:
        """A variable, which must come."""
        return self.variable() or self.fail("expected a variable")

    def signed(self) -> Word | None:
        """The number behind a sign that is part of it, if one comes."""
        sign = self.peek()
        if sign.kind != "mark" or sign.text not in ("+", "-"):
            return None
        number = next(words(self.text, sign.end), sign)
        return number if number.kind == "number" and number.start == sign.end else None

    def literal(self) -> Constant | None:
        """A literal, if one comes."""
        word = self.peek()
        if word.kind == "string":
            self.next()
            quotes = 3 if word.text[:3] in ('"""', "'''") else 1
            text, tag = self._unescaped(word.text[quotes:-quotes], word, _CHARACTERS), self.peek()
            if tag.kind == "tag":
                language, direction = split_tag(tag.text[1:])
                if direction not in (None, "ltr", "rtl"):
                    self.fail("expected the base direction 'ltr' or 'rtl'")
                try:
                    pyoxigraph.Literal("", language=language)
                except ValueError as error:
                    self.fail(f"this is not a language tag ({error})")
                return Constant(literal_token(text, None, self.next().text[1:]))
            return Constant(literal_token(text, self.iri() if self.accept("^^") else None))
        if self.is_("TRUE", "FALSE"):
            return Constant(literal_token(self.next().text.lower(), XSD + "boolean"))
        sign = ""
        if (number := self.signed()) is not None:
            sign, word = word.text, number
        if word.kind != "number":
            return None
        self.jump(word.end)
        kind = "double" if "e" in word.text.lower() else "decimal" if "." in word.text else "integer"
        return Constant(literal_token(sign + word.text, XSD + kind))

    def term(self, blanks: bool = True) -> Term | None:
        """A variable, IRI, literal or (as a variable) labelled or anonymous blank node, if one comes."""
        word = self.peek()
        if word.kind == "name" and word.text.startswith("_:") and blanks:
            return Variable(self.next().text)
        if self.at_iri():
            return Constant(f"<{self.iri()}>")
        return self.variable() or self.literal()

    def _unescaped(self, text: str, word: Word, known: Mapping[str, str]) -> str:
        """The text without escapes: codepoints, and those that are `known`."""

        def character(found: re.Match[str]) -> str:
            escape = found[1]
            code = int(escape[1:], 16) if len(escape) > 1 else -1
            if 0xD800 <= code <= 0xDFFF or code > 0x10FFFF or (code < 0 and escape not in known):
                self.fail(f"there is no escape \\{escape} here", word)
            return known[escape] if code < 0 else chr(code)

        return _ESCAPE.sub(character, text) if "\\" in text else text


NIL: Final = Constant(f"<{RDF}nil>")
TYPE: Final = Constant(f"<{RDF}type>")


def solutions(digits: str) -> int:
    """How many solutions the digits of a number are, `MOST` if they are more."""
    digits = digits.lstrip("0") or "0"
    return int(digits) if len(digits) < len(str(MOST)) else MOST


def listed(names: Sequence[str]) -> str:
    """Names for a message."""
    return ", ".join(sorted(names))
