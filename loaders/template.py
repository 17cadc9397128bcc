r"""Templates: what triples each row of a table gives, in the manner of Turtle, with `{column}` for values.

    PREFIX : <http://example.org/>
    <http://example.org/person/{id}> a :Person ; :name {name} ; :label "{name} ({id})"@en .

`{column}` alone is a literal of the column's type, in a string its text, in an IRI its text with all but unreserved
characters percent-encoded (R2RML, section 7.3); `<{column}>` is an IRI that the column has. A blank node is another one
in each row, unless its label has a column. A quoted subject is an IRI.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Final, NoReturn

import pyoxigraph

from triplestore.model.errors import InputError, UsageError
from triplestore.model.terms import RDF, XSD


@dataclass(frozen=True, slots=True)
class Column:
    """A column's value. at: where in the template it is named."""

    name: str
    at: int = field(compare=False, default=0)


class Kind(Enum):
    """What a term of a template makes of its parts."""

    IRI = "an IRI: constants, and values that are encoded"
    WHOLE = "an IRI that a column has"
    NODE = "a blank node for each value of its label"
    OWN = "a blank node for each row"
    TEXT = "a literal with a datatype, or of a language"
    VALUE = "a literal of a column's type"


@dataclass(frozen=True, slots=True)
class Shape:
    """A term: its kind, its parts, and (TEXT) its end: empty, `@language` or `^^<datatype>`."""

    kind: Kind
    parts: tuple[str | Column, ...]
    end: str = ""

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns among its parts."""
        return tuple(part for part in self.parts if isinstance(part, Column))


@dataclass(frozen=True, slots=True)
class Template:
    """Triples of a row. prefixes: those that its text declares (name -> IRI). source: its file, or None."""

    triples: tuple[tuple[Shape, Shape, Shape], ...]
    prefixes: Mapping[str, str]
    text: str
    source: str | None = None

    @property
    def columns(self) -> dict[str, Column]:
        """The columns that are named, each where it is named first."""
        found: dict[str, Column] = {}
        for triple in self.triples:
            for shape in triple:
                for column in shape.columns:
                    found.setdefault(column.name, column)
        return found

    def fault(self, reason: str, at: int) -> NoReturn:
        """Raise an error for what is at a place: an InputError of a file, a UsageError of a text."""
        line, column = self.text.count("\n", 0, at) + 1, at - self.text.rfind("\n", 0, at)
        if self.source is not None:
            raise InputError(reason, self.source, line, column)
        raise UsageError(f"the template, line {line}, column {column}: {reason}")


def read_template(given: str | Path, known: Mapping[str, str]) -> Template:
    """A template from its text, or from the file at a Path. known: prefixes that need no declaration. Raises InputError
    (a file) or UsageError (a text) with line and column where it is wrong."""
    if not isinstance(given, Path):
        return _Parser(given, None, known).template()
    try:
        text = given.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"cannot read the template: {error.strerror or error}", str(given)) from error
    except UnicodeDecodeError as error:
        raise InputError("the template is not UTF-8: is it the table?", str(given)) from error
    return _Parser(text, str(given), known).template()


_COLUMN: Final = r"\{(?:\\.|[^{}\\\n])+\}"
_WORDS: Final = re.compile(
    rf"""(?P<space>\s+|\#[^\n]*)
    |(?P<iri><(?:{_COLUMN}|\\u[0-9A-Fa-f]{{4}}|\\U[0-9A-Fa-f]{{8}}|[^<>"{{}}|^`\\\x00-\x20])*>)
    |(?P<string>\"\"\"(?:(?:\"|\"\")?(?:[^"\\]|\\.))*\"\"\"|'''(?:(?:'|'')?(?:[^'\\]|\\.))*'''
        |"(?:[^"\\\n\r]|\\.)*"|'(?:[^'\\\n\r]|\\.)*')
    |(?P<column>{_COLUMN})
    |(?P<tag>@[A-Za-z]+(?:-[A-Za-z0-9]+)*)
    |(?P<number>[+-]?(?:[0-9]+\.[0-9]*[eE][+-]?[0-9]+|\.?[0-9]+[eE][+-]?[0-9]+|[0-9]*\.[0-9]+|[0-9]+))
    |(?P<blank>_:(?:{_COLUMN}|[\w-]|\.(?=[\w{{-]))+)
    |(?P<name>(?:[^\W\d_][\w.-]*)?:(?:{_COLUMN}|[\w:/%-]|\\[_~.!$&'()*+,;=/?\#@%-]|\.(?=[\w{{:/%-]))*)
    |(?P<word>[A-Za-z]+)
    |(?P<mark>\^\^|[.;,\[\]])""",
    re.VERBOSE | re.DOTALL,
)
_PART: Final = re.compile(
    rf"(?P<column>{_COLUMN})|\\u(?P<four>[0-9A-Fa-f]{{4}})|\\U(?P<eight>[0-9A-Fa-f]{{8}})|\\(?P<escape>.)|(?P<brace>[{{}}])",
    re.DOTALL,
)
_CHARACTERS: Final = {"t": "\t", "n": "\n", "r": "\r", "b": "\b", "f": "\f"}
_LEGAL: Final = "tnrbf\"'\\{}"
_BRACE: Final = "'{column}' is a value of the row; a brace of the text itself is written \\{ or \\}"
_SHOWN: Final = 40


@dataclass(frozen=True, slots=True)
class _Word:
    kind: str
    text: str
    at: int


class _Parser:
    """Recursive descent over the words of a template."""

    def __init__(self, text: str, source: str | None, known: Mapping[str, str]) -> None:
        self._blank = Template((), {}, text, source)
        self._known, self._declared = known, dict[str, str]()
        self._triples: list[tuple[Shape, Shape, Shape]] = []
        self._nodes = 0
        self._words = self._split(text)
        self._next = 0

    def template(self) -> Template:
        """The whole template."""
        while self._peek().kind != "end":
            if not self._declares():
                self._statement()
        if not self._triples:
            self._fail("the template has no triples: write one, as in <http://example.org/{id}> a :Thing")
        return Template(tuple(self._triples), self._declared, self._blank.text, self._blank.source)

    # Words

    def _split(self, text: str) -> list[_Word]:
        found, at = [], 0
        while at < len(text):
            match = _WORDS.match(text, at)
            if match is None:
                begun = text[at]
                if begun in "{}":
                    self._blank.fault(f"this is no {{column}}: {_BRACE}", at)
                self._blank.fault(f"cannot read {text[at : at + _SHOWN].splitlines()[0]!r}", at)
            if match.lastgroup != "space":
                found.append(_Word(str(match.lastgroup), match.group(), at))
            at = match.end()
        return [*found, _Word("end", "the end of the template", len(text))]

    def _peek(self) -> _Word:
        return self._words[self._next]

    def _take(self) -> _Word:
        word = self._peek()
        self._next += 1
        return word

    def _accept(self, text: str) -> bool:
        if self._peek().text != text or self._peek().kind not in ("mark", "word"):
            return False
        self._next += 1
        return True

    def _fail(self, reason: str, word: _Word | None = None) -> NoReturn:
        self._blank.fault(reason, (word or self._peek()).at)

    def _expected(self, what: str) -> NoReturn:
        word = self._peek()
        found = word.text if word.kind == "end" else repr(word.text[:_SHOWN])
        self._fail(f"expected {what}, found {found}")

    # Statements

    def _declares(self) -> bool:
        """Read a declaration of a prefix, if one comes."""
        word = self._peek()
        if word.text == "@prefix" or (word.kind == "word" and word.text.upper() == "PREFIX"):
            self._take()
            name = self._take()
            if name.kind != "name" or not name.text.endswith(":") or name.text.count(":") > 1:
                self._fail("expected a prefix, as in 'ex:'", name)
            iri = self._peek()
            if iri.kind != "iri":
                self._expected("an IRI in angle brackets")
            self._take()
            if "{" in iri.text:
                self._fail("a prefix stands for one IRI, whatever the row: no {column} here", iri)
            self._declared[name.text[:-1]] = self._constant(self._iri(self._parts(iri.text[1:-1], iri, 1), iri))
            if not self._accept(".") and word.text == "@prefix":
                self._expected("'.'")
            return True
        if word.text == "@base" or (word.kind == "word" and word.text.upper() == "BASE"):
            self._fail("templates have no base: write absolute IRIs, or use a prefix")
        return False

    def _statement(self) -> None:
        if self._accept("["):
            subject = self._properties()
            if not (self._peek().text == "." or self._peek().kind == "end"):
                self._verbs(subject)
        else:
            subject = self._subject()
            self._verbs(subject)
        if not self._accept(".") and self._peek().kind != "end":
            self._expected("';', ',' or '.'")

    def _properties(self) -> Shape:
        """The rest of `[ ... ]`, a blank node of the row."""
        self._nodes += 1
        node = Shape(Kind.OWN, (f"g{self._nodes}",))
        if self._accept("]"):
            return node
        self._verbs(node)
        if not self._accept("]"):
            self._expected("';', ',' or ']'")
        return node

    def _verbs(self, subject: Shape) -> None:
        while True:
            predicate = self._predicate()
            while True:
                self._object(subject, predicate)
                if not self._accept(","):
                    break
            if not self._accept(";"):
                return
            while self._accept(";"):
                pass
            if self._peek().kind == "end" or self._peek().text in (".", "]"):
                return

    # Terms

    def _subject(self) -> Shape:
        found = self._resource()
        if found is not None:
            return found
        word = self._peek()
        if word.kind == "string":
            self._take()
            quotes = 3 if word.text[:3] in ('"""', "'''") else 1
            return self._iri(self._parts(word.text[quotes:-quotes], word, quotes), word)
        self._no_resource("a subject")

    def _predicate(self) -> Shape:
        if self._accept("a"):
            return Shape(Kind.IRI, (f"{RDF}type",))
        found = None if self._peek().kind == "blank" else self._resource()
        return found or self._no_resource("a predicate")

    def _no_resource(self, what: str) -> NoReturn:
        word = self._peek()
        if word.kind == "column":
            self._fail(
                f"{word.text} is a literal, which {what} cannot be: write <{word.text}> where the column has IRIs, "
                f"else <http://example.org/{word.text}>"
            )
        self._expected(f"{what}: an IRI or a prefixed name")

    def _object(self, subject: Shape, predicate: Shape) -> None:
        place = len(self._triples)
        if self._accept("["):
            made = self._properties()
        else:
            made = self._resource() or self._literal()
        self._triples.insert(place, (subject, predicate, made))

    def _resource(self) -> Shape | None:
        """An IRI or a blank node, if one comes."""
        word = self._peek()
        if word.kind == "iri":
            self._take()
            return self._iri(self._parts(word.text[1:-1], word, 1), word)
        if word.kind == "name":
            self._take()
            return self._name(word)
        if word.kind == "blank":
            self._take()
            parts = self._parts(word.text[2:], word, 2)
            return Shape(Kind.NODE if any(isinstance(p, Column) for p in parts) else Kind.OWN, ("b", *parts))
        return None

    def _name(self, word: _Word) -> Shape:
        prefix, local = word.text.split(":", 1)
        space = self._declared.get(prefix, self._known.get(prefix))
        if space is None:
            self._fail(f"the prefix '{prefix}:' is not declared: begin with PREFIX {prefix}: <http://...>", word)
        plain = re.sub(r"\\([_~.!$&'()*+,;=/?#@%-])", r"\1", local)
        return self._iri((space, *self._parts(plain, word, len(prefix) + 1)), word)

    def _iri(self, parts: tuple[str | Column, ...], word: _Word) -> Shape:
        if len(parts) == 1 and isinstance(parts[0], Column):
            return Shape(Kind.WHOLE, parts)
        shown = "".join(part if isinstance(part, str) else "1" for part in parts)
        if not parts or not isinstance(parts[0], str) or not re.match("[A-Za-z][A-Za-z0-9+.-]*:", parts[0]):
            self._fail(f"{word.text[:_SHOWN]} is not an absolute IRI: begin it with its scheme, as in http://", word)
        try:
            pyoxigraph.NamedNode(shown)
        except ValueError as error:
            self._fail(f"{word.text[:_SHOWN]} gives no IRI ({error})", word)
        return Shape(Kind.IRI, _joined(parts))

    @staticmethod
    def _constant(shape: Shape) -> str:
        return "".join(part for part in shape.parts if isinstance(part, str))

    def _literal(self) -> Shape:
        word = self._peek()
        if word.kind == "column":
            self._take()
            parts = self._parts(word.text, word, 0)
            end = self._end()
            return Shape(Kind.VALUE, parts) if end is None else Shape(Kind.TEXT, parts, end)
        if word.kind == "string":
            self._take()
            quotes = 3 if word.text[:3] in ('"""', "'''") else 1
            return Shape(Kind.TEXT, self._parts(word.text[quotes:-quotes], word, quotes), self._end() or "")
        if word.kind == "number":
            self._take()
            kind = "double" if "e" in word.text.lower() else "decimal" if "." in word.text else "integer"
            return Shape(Kind.TEXT, (word.text,), f"^^<{XSD}{kind}>")
        if word.text in ("true", "false"):
            return Shape(Kind.TEXT, (self._take().text,), f"^^<{XSD}boolean>")
        self._expected('an object: an IRI, a {column}, a "text", a number, true or false')

    def _end(self) -> str | None:
        """What stands behind a literal: a language or a datatype, "" for xsd:string, None for nothing."""
        word = self._peek()
        if word.kind == "tag":
            self._take()
            try:
                pyoxigraph.Literal("", language=word.text[1:])
            except ValueError as error:
                self._fail(f"this is not a language tag ({error})", word)
            return word.text.lower()
        if not self._accept("^^"):
            return None
        name = self._peek()
        shape = None if name.kind == "blank" else self._resource()
        if shape is None:
            self._expected("the IRI of a datatype")
        if shape.columns:
            self._fail("a datatype is one IRI, whatever the row: no {column} here", name)
        datatype = self._constant(shape)
        if datatype in (f"{RDF}langString", f"{RDF}dirLangString"):
            self._fail("a literal of this datatype has a language: write @en, or another, in its place", name)
        return "" if datatype == f"{XSD}string" else f"^^<{datatype}>"

    def _parts(self, text: str, word: _Word, offset: int) -> tuple[str | Column, ...]:
        """What a text is put together from: texts without escapes, and columns."""
        found: list[str | Column] = []
        last = 0
        for match in _PART.finditer(text):
            found.append(text[last : match.start()])
            last, at = match.end(), word.at + offset + match.start()
            if match["column"]:
                found.append(Column(re.sub(r"\\(.)", r"\1", match["column"][1:-1]), at))
            elif match["brace"]:
                self._blank.fault(f"this is no {{column}}: {_BRACE}", at)
            elif code := match["four"] or match["eight"]:
                number = int(code, 16)
                if 0xD800 <= number <= 0xDFFF or number > 0x10FFFF:
                    self._blank.fault(f"there is no character {match.group()}", at)
                found.append(chr(number))
            else:
                if match["escape"] not in _LEGAL:
                    self._blank.fault(f"there is no escape {match.group()} here", at)
                found.append(_CHARACTERS.get(match["escape"], match["escape"]))
        found.append(text[last:])
        return _joined(found)


def _joined(parts: list[str | Column] | tuple[str | Column, ...]) -> tuple[str | Column, ...]:
    """The same parts, neighbouring texts as one."""
    found: list[str | Column] = []
    for part in parts:
        if isinstance(part, str) and found and isinstance(found[-1], str):
            found[-1] += part
        elif part != "":
            found.append(part)
    return tuple(found)
