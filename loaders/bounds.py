r"""Bounds on documents, checked by scans of the text before a native parser sees it.

The parsers of JSON-LD and of triple terms recurse with the text's nesting and overflow their stack, which ends the
process. Turtle's and TriG's collections and blank nodes may nest as they like: their parser keeps its own stack.
RDF/XML is bounded where it is rewritten, in `loaders.rdfxml`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import IO, Final

import numpy as np

from triplestore.model.errors import InputError
from triplestore.model.legal_terms import TERM_DEPTH
from triplestore.model.thresholds import SIZES

JSON_DEPTH: Final = 250
"""Most levels of arrays and objects in JSON-LD: a stack of 1 MiB (threads on some platforms) holds twice as many."""

LONGEST: Final = 32 << 20
"""Bytes of a line, or of a term, of which more is not kept: more than a parser reads."""

TOO_LONG: Final = "a term or a line is longer than 16 MiB, the most that is read: shorten it"
"""Why a parser ran out of its buffer."""

Again = Callable[[], AbstractContextManager[IO[bytes]]]
"""Opens the same document again."""

BOM: Final = b"\xef\xbb\xbf"
"""A byte order mark."""


class Bounded:
    """A stream of bytes that scans each block before it hands any of it on; a byte order mark is left out.

    `name` is what messages call it. Raises InputError from `read` where the text goes beyond a bound.
    """

    def __init__(self, file: IO[bytes], name: str) -> None:
        self.name = name
        self._file = file
        self._block = b""
        self._at = 0
        self._first = True
        self.handed = 0  # bytes that the parser has read

    def read(self, size: int = -1) -> bytes:
        """Up to `size` bytes of the current block; none at the end."""
        if self._at == len(self._block):
            self._block, self._at = self._next(), 0
        end = len(self._block) if size < 0 else self._at + size
        part = self._block[self._at : end]
        self._at += len(part)
        self.handed += len(part)
        return part

    def _next(self) -> bytes:
        block = self._file.read(SIZES.block)
        if self._first:
            while len(block) < len(BOM) and (more := self._file.read(SIZES.block)):
                block += more
            block, self._first = block.removeprefix(BOM), False
        return self.scanned(block)

    def scanned(self, block: bytes) -> bytes:
        """The block (empty at the end of the file), scanned; or another part of the text, where blocks must end
        elsewhere."""
        return block


class Turtle(Bounded):
    """Turtle and TriG: triple terms. Their marks are counted; only where they are many is the text read as Turtle."""

    def __init__(self, file: IO[bytes], name: str, again: Again) -> None:
        super().__init__(file, name)
        self._again = again
        self._terms = 0
        self._end = b""

    def scanned(self, block: bytes) -> bytes:
        before = self._terms
        text = self._end + block
        self._terms += text.count(b"<<(")
        self._end = text[-2:]
        if before <= TERM_DEPTH < self._terms:
            with self._again() as file:
                check_terms(file, self.name)
        return block


TURTLE_TOKEN: Final = re.compile(
    rb'"""(?:[^"\\]|\\.|"{1,2}(?!"))*+(?:"""|\Z)'
    rb"|'''(?:[^'\\]|\\.|'{1,2}(?!'))*+(?:'''|\Z)"
    rb'|"(?:[^"\\\n\r]|\\.)*+"?'
    rb"|'(?:[^'\\\n\r]|\\.)*+'?"
    rb"|<[^<>\s]*+>"
    rb"|#[^\n\r]*+"
    rb"|\\."
    rb"|(?P<open><<\()|(?P<close>\)>>)",
    re.DOTALL,
)
"""What may hold marks of Turtle, or escapes one in a name, and those of triple terms."""


def check_terms(file: IO[bytes], name: str | None) -> None:
    """Raise InputError where triple terms nest too deep in Turtle, TriG or N-Triples, read by blocks."""
    depth, rest, line, before, block = 0, b"", 1, 0, b" "
    while block:
        block = file.read(max(SIZES.block, len(rest)))
        text = rest + block
        # Only strings and comments hold white space, so that no other mark is cut.
        at = end = max(text.rfind(b" "), text.rfind(b"\n")) + 1 if block else len(text)
        for match in TURTLE_TOKEN.finditer(text, 0, end):
            if match.end() == end and block:
                at = match.start()
                break
            if match["open"]:
                depth += 1
                if depth > TERM_DEPTH:
                    lines, column = place_in(text, match.start())
                    column += before if lines == 1 else 0
                    raise InputError(too_deep("triple terms", TERM_DEPTH), name, line + lines - 1, column)
            elif match["close"]:
                depth -= 1
        lines, column = place_in(text, at)
        line, before = line + lines - 1, column - 1 + (before if lines == 1 else 0)
        rest = b"#" + text[end:] if text[at:end].startswith(b"#") else text[at:]
        if len(rest) > LONGEST:
            raise InputError(TOO_LONG, name, line, before + 1)


def place_in(text: bytes, at: int) -> tuple[int, int]:
    """Line and column of a place in a text of UTF-8, 1-based; columns count characters."""
    begin = text.rfind(b"\n", 0, at) + 1
    return text.count(b"\n", 0, at) + 1, len(text[begin:at].decode(errors="replace")) + 1


def too_deep(what: str, most: int) -> str:
    """What a message says of a text that nests too deep."""
    return f"{what} nest deeper than {most:,} levels, the most that is read"


class Json(Bounded):
    """JSON-LD: arrays and objects. Invariant: `_depth` levels are open, and `_text` tells whether a string is, where
    the last block ended."""

    _STRUCTURE: Final = bytes(set(range(256)) - set(b'"[]{}'))
    _TOKEN: Final = re.compile(rb'"(?:[^"\\]|\\.)*+"?|([\[{])|([\]}])', re.DOTALL)

    def __init__(self, file: IO[bytes], name: str) -> None:
        super().__init__(file, name)
        self._depth = 0
        self._text = False
        self._escape = b""
        self._lines = 0
        self._column = 0

    def scanned(self, block: bytes) -> bytes:
        began = self._escape
        plain = (began + block).replace(b"\\\\", b"")
        self._escape = b"\\" if plain.endswith(b"\\") else b""
        if self._escape:
            plain = plain[:-1]
        pieces = plain.replace(b'\\"', b"").translate(None, self._STRUCTURE).split(b'"')
        brackets = b"".join(pieces[int(self._text) :: 2])
        opened = brackets.count(b"[") + brackets.count(b"{")
        if self._depth + opened > JSON_DEPTH:
            marks = np.frombuffer(brackets, np.uint8)
            depths = np.cumsum(np.where((marks == ord("[")) | (marks == ord("{")), 1, -1))
            if self._depth + int(depths.max()) > JSON_DEPTH:
                self._exactly(block, began)
        self._depth += 2 * opened - len(brackets)
        self._text ^= len(pieces) % 2 == 0
        self._lines += (lines := block.count(b"\n"))
        self._column = len(block) - block.rindex(b"\n") - 1 if lines else self._column + len(block)
        return block

    def _exactly(self, block: bytes, escape: bytes) -> None:
        """Follow the depth within a block (`escape`: what began before it). Raises InputError where it is too much."""
        depth = self._depth
        before = b'"' + escape if self._text else b""
        for match in self._TOKEN.finditer(before + block):
            if match[1]:
                depth += 1
                if depth > JSON_DEPTH:
                    at = match.start() - len(before)
                    lines = block.count(b"\n", 0, at)
                    column = at - block.rindex(b"\n", 0, at) if lines else self._column + at + 1
                    reason = too_deep("arrays and objects", JSON_DEPTH)
                    raise InputError(reason, self.name, self._lines + lines + 1, column)
            elif match[2]:
                depth -= 1
