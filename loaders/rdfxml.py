"""RDF/XML: read by expat, and handed on in the plainest form of XML there is.

pyoxigraph's reader of XML takes much for well-formed that is not, the end of a file at any depth among it, and leaves
line ends, white space in attributes and text in pieces as they are. So expat reads the document first, and what it
reports is written again: UTF-8, no declarations, entities expanded, no comments, CDATA as text, no tag without its end.
"""

from __future__ import annotations

import codecs
import re
from collections import Counter
from contextlib import suppress
from typing import IO, Final
from xml.parsers import expat

from triplake.loaders.bounds import Bounded, too_deep
from triplestore.model.errors import InputError
from triplestore.model.terms import is_absolute, resolve
from triplestore.model.thresholds import SIZES

XML_DEPTH: Final = 1_000
"""Most levels of elements in RDF/XML: its parser takes time in the square of them."""

ENTITY: Final = 1 << 16
"""Most bytes that one entity of XML may expand to."""

ENTITIES: Final = 1 << 20
"""Most bytes that all declared entities of a document may hold; and what their uses may add to a document of any
size."""

EXPANSION: Final = 32
"""How many times the bytes of a document its entities may expand to, beyond ENTITIES."""

_DECLARATION: Final = re.compile(rb"""<\?xml\s[^>]*?(\sencoding\s*=\s*["']([A-Za-z0-9._-]+)["'])""")
_HEAD: Final = 1 << 10
_EXPATS: Final = ("utf-8", "utf-16", "iso-8859-1", "us-ascii")
_USE: Final = re.compile(r"&([^&;\s#]+);")
_INVALID: Final = expat.errors.codes[expat.errors.XML_ERROR_INVALID_TOKEN]
_AMPLIFIED: Final = expat.errors.codes[expat.errors.XML_ERROR_AMPLIFICATION_LIMIT_BREACH]
_TOO_LARGE: Final = f"its entities expand the document more than {EXPANSION} times, the most that is read"
_PREDEFINED: Final = ("amp", "lt", "gt", "quot", "apos")


class _Decoded:
    """The bytes of a document, as UTF-8 where it declares an encoding that expat has not: by Python's codec, with
    blanks for what declared it.

    Raises InputError from `read` where there is no such codec, or the text is not in that encoding.
    """

    def __init__(self, file: IO[bytes], name: str) -> None:
        self._file, self._name = file, name
        self._encoding = ""
        self._decoder: codecs.IncrementalDecoder | None = None
        self._first = True
        self._line, self._column = 1, 1

    def read(self, size: int) -> bytes:
        block = self._file.read(size)
        if self._first:
            while len(block) < _HEAD and (more := self._file.read(size)):
                block += more
            block, self._first = self._begun(block), False
        while self._decoder is not None:
            text = self._decoded(self._decoder, block)
            if text or not block:
                return text
            block = self._file.read(size)
        return block

    def _begun(self, block: bytes) -> bytes:
        """The first block, once it has told the encoding."""
        declared = _DECLARATION.match(block)
        if declared is None or (encoding := declared[2].decode()).lower() in _EXPATS:
            return block
        try:
            known = b"<?xml".decode(encoding) == "<?xml"
        except (LookupError, UnicodeError):
            known = False
        if not known:
            raise InputError(f"{encoding} is not an encoding that is read: save the file as UTF-8", self._name, 1, 1)
        self._encoding = encoding
        self._decoder = codecs.getincrementaldecoder(encoding)("surrogateescape")
        return block[: declared.start(1)] + b" " * len(declared[1]) + block[declared.end(1) :]

    def _decoded(self, decoder: codecs.IncrementalDecoder, block: bytes) -> bytes:
        text = ""
        try:
            text = decoder.decode(block, not block)
            return text.encode()
        except UnicodeError as error:
            self._count(text[: error.start] if isinstance(error, UnicodeEncodeError) else "")
            raise InputError(_not_in(self._encoding), self._name, self._line, self._column) from None
        finally:
            self._count(text)

    def _count(self, text: str) -> None:
        """Count the lines of a text that was read."""
        lines = text.count("\n")
        self._line += lines
        self._column = len(text) - text.rfind("\n") if lines else self._column + len(text)


class Xml(Bounded):
    """A document as plain XML. `prefixes` are those that its root element declares, once that is read. base: the base
    IRI of the document, against which a relative `xml:base` is resolved; None where there is none.

    Raises InputError from `read` where the text stops being well-formed or goes beyond a bound, after what is before.
    """

    def __init__(self, file: IO[bytes], name: str, base: str | None = None) -> None:
        super().__init__(file, name)
        self._decoded = _Decoded(file, name)
        self._bases: list[tuple[int, str | None]] = [(0, base)]  # depths of open elements, and the bases in them
        self.prefixes: dict[str, str] = {}
        self._parser = parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler, parser.EndElementHandler = self._root, self._end
        parser.CharacterDataHandler = self._text
        parser.StartDoctypeDeclHandler, parser.EntityDeclHandler = self._doctype, self._entity
        parser.SkippedEntityHandler, parser.ExternalEntityRefHandler = self._skipped, self._external
        self._out: list[str] = []
        self._fault: InputError | None = None
        self._begin = 0  # how many bytes are before the block
        self._depth = 0
        self._languages: list[int] = []  # the depths of the open elements that have a language
        self._sizes = dict.fromkeys(_PREDEFINED, 1)  # of entities, in characters
        self._declared = 0
        self._room = ENTITIES  # how much more may be written
        self._elsewhere = False  # whether entities may be declared outside of the document
        self._use = b""  # the begin of what may be the use of an entity, where the last block ended

    def _next(self) -> bytes:
        block = b" "
        while block and not self._out and self._fault is None:
            try:
                block = self._decoded.read(SIZES.block)
                self._room += EXPANSION * len(block)
                self._parser.Parse(block, not block)
                if self._elsewhere:
                    self._check_uses(block)
            except expat.ExpatError as error:
                at = self._parser.ErrorByteIndex - self._begin
                self._fault = InputError(_reason(error, block[at : at + 4]), self.name, error.lineno, error.offset + 1)
            except InputError as error:
                self._fault = error
            self._begin += len(block)
        if not self._out and self._fault is not None:
            raise self._fault
        text = "".join(self._out).encode()
        self._out.clear()
        return text

    def _error(self, reason: str) -> InputError:
        return InputError(reason, self.name, self._parser.CurrentLineNumber, self._parser.CurrentColumnNumber + 1)

    # Elements and text

    def _root(self, name: str, attributes: dict[str, str]) -> None:
        for key, value in attributes.items():
            if key == "xmlns" or key.startswith("xmlns:"):
                self.prefixes[key[6:]] = value
        self._parser.StartElementHandler = self._start
        self._start(name, attributes)

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > XML_DEPTH:
            raise self._error(too_deep("elements", XML_DEPTH))
        if "xml:lang" in attributes:
            self._language(attributes)
        if "xml:base" in attributes:
            self._base(attributes)
        tag = "<" + name
        for key, value in attributes.items():
            if "&" in value or '"' in value or "<" in value or "\n" in value or "\t" in value or "\r" in value:
                tag += f' {key}="{_escaped(value)}"'
            else:
                tag += f' {key}="{value}"'
        self._room -= len(tag)
        if self._room < 0:
            raise self._error(_TOO_LARGE)
        self._out.append(tag + ">")

    def _end(self, name: str) -> None:
        if self._languages and self._languages[-1] == self._depth:
            self._languages.pop()
        if self._bases[-1][0] == self._depth:
            self._bases.pop()
        self._depth -= 1
        self._out.append(f"</{name}>")

    def _text(self, text: str) -> None:
        if "&" in text or "<" in text or ">" in text or "\r" in text:
            text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\r", "&#13;")
        self._room -= len(text)
        if self._room < 0:
            raise self._error(_TOO_LARGE)
        self._out.append(text)

    def _language(self, attributes: dict[str, str]) -> None:
        """Note an element's language; one that is empty, which pyoxigraph refuses, is left out where there is none for
        it to end."""
        if attributes["xml:lang"]:
            self._languages.append(self._depth)
        elif not self._languages:
            del attributes["xml:lang"]

    def _base(self, attributes: dict[str, str]) -> None:
        """Resolve an element's base against the one in scope, as XML Base has it and pyoxigraph does not. One that is
        empty is the one in scope, and is left out where there is none."""
        given, outer = attributes["xml:base"], self._bases[-1][1]
        if is_absolute(given):
            base: str | None = given
        elif outer is not None:
            base = attributes["xml:base"] = resolve(given, outer)
        elif not given:
            base = attributes.pop("xml:base") or None
        else:
            raise self._error(
                f"the base '{given}' is relative, and there is none to resolve it against: make it absolute, or give "
                "a base to load with"
            )
        self._bases.append((self._depth, base))

    # Entities

    def _doctype(self, name: str, system: str | None, public: str | None, inside: bool) -> None:
        self._elsewhere = system is not None

    def _entity(self, name: str, is_parameter: bool, value: str | None, *_: str | None) -> None:
        """Bound the size that an entity has when those that it uses are expanded. (expat reports the first declaration
        of a name alone, and leaves a parameter entity alone.)"""
        if is_parameter:
            self._elsewhere = True
            return
        if value is None:
            return
        size = len(value)
        for use, times in Counter(_USE.findall(value)).items():
            if use not in self._sizes:
                raise self._error(f"the entity {name} uses {use}, which is not declared before it: declare that first")
            size += times * (self._sizes[use] - len(use) - 2)
        self._declared += size
        self._sizes[name] = size
        if size > ENTITY or self._declared > ENTITIES:
            what, most = (f"the entity {name}", ENTITY) if size > ENTITY else ("its entities", ENTITIES)
            raise self._error(f"{what} would expand to more than {most >> 10:,} KiB, the most that is read")

    def _skipped(self, name: str, is_parameter: bool) -> None:
        if not is_parameter:
            raise self._undeclared(name)

    def _external(self, name: str, *_: str | None) -> int:
        raise self._undeclared(name)

    def _check_uses(self, text: bytes) -> None:
        """Raise InputError for the use of an entity that is not declared: where declarations may be elsewhere, expat
        passes over such in attributes, and says nothing."""
        text = self._use + text
        for use in _USE.findall(text.decode(errors="replace")):
            if use not in self._sizes:
                raise self._undeclared(use)
        self._use = text[at:] if (at := text.rfind(b"&")) > text.rfind(b";") else b""

    def _undeclared(self, name: str) -> InputError:
        return self._error(
            f"the entity {name} is not declared in the document (no other is read): put its declaration there"
        )


def _reason(error: expat.ExpatError, rest: bytes) -> str:
    """What is wrong where expat stops before these bytes."""
    if error.code == _AMPLIFIED:
        return _TOO_LARGE
    if error.code == _INVALID and rest.decode(errors="replace").startswith("\ufffd"):
        return _not_in("UTF-8")
    return f"not well-formed XML: {expat.ErrorString(error.code)}"


def _not_in(encoding: str) -> str:
    return f"the text is not {encoding}: save the file as UTF-8, or name its encoding in the XML declaration"


def _escaped(value: str) -> str:
    """The value of an attribute as XML writes it, with the white space that would be read as spaces."""
    value = value.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
    return value.replace("\n", "&#10;").replace("\t", "&#9;").replace("\r", "&#13;")


def place_of_tag(file: IO[bytes], number: int) -> tuple[int | None, int | None]:
    """Line and column, 1-based, of the tag of that number (1-based; `<a/>` is two); None where the document ends
    before it."""
    parser, decoded = expat.ParserCreate(), _Decoded(file, "")
    tags = 0
    place: tuple[int, int] | None = None

    def tag(*_: object) -> None:
        nonlocal tags, place
        tags += 1
        if tags == number:
            place = parser.CurrentLineNumber, parser.CurrentColumnNumber + 1

    parser.StartElementHandler = parser.EndElementHandler = tag
    with suppress(expat.ExpatError, InputError):
        while place is None and (block := decoded.read(SIZES.block)):
            parser.Parse(block, False)
    return place or (None, None)
