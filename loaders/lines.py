"""N-Triples and N-Quads in Python: the slow, strict path, and the one that knows line numbers.

The SQL of `loaders.ntriples` reads the lines that are plainly clean; what it leaves, and whole files that an engine
cannot cut into lines, are parsed here by pyoxigraph.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from typing import IO, Final

from pyoxigraph import RdfFormat, parse

from triplake.loaders.bounds import BOM, LONGEST, TOO_LONG, check_terms
from triplake.loaders.compression import Watch, opened
from triplake.loaders.sources import Source, Syntax
from triplake.loaders.tokens import Scope, place_and_reason
from triplestore.model.dataset import Quad
from triplestore.model.errors import InputError
from triplestore.model.legal_terms import TERM_DEPTH
from triplestore.model.thresholds import SIZES

_VERSION: Final = re.compile(
    rb"""^[ \t]*VERSION[ \t]*"(?:[^"\\\n\r]|\\(?:[tbnrf"'\\]|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}))*"[ \t]*(?:#.*)?$""",
    re.MULTILINE,
)
"""The directive of RDF 1.2, which pyoxigraph takes in Turtle alone. Whatever version it names is read alike."""

_FORMATS: Final = {Syntax.NTRIPLES: RdfFormat.N_TRIPLES, Syntax.NQUADS: RdfFormat.N_QUADS}


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that cannot be read: its index among the lines parsed, 0-based, the column, what is wrong."""

    index: int
    column: int | None
    reason: str


@dataclass(slots=True)
class Parsed:
    """The result of some lines: the quads, and the lines that are wrong, in order."""

    quads: list[Quad] = field(default_factory=list)
    bad: list[BadLine] = field(default_factory=list)


def parse_lines(lines: Sequence[bytes], syntax: Syntax, scope: Scope) -> Parsed:
    """Parse lines (without their ends), strictly. A byte order mark before a line is passed over.

    All at once first; a parser that met an error is not reliable afterwards, so lines with one among them are halved
    until the wrong ones stand alone.
    """
    parsed = Parsed()
    _parse(lines, 0, len(lines), syntax, scope, parsed)
    return parsed


def _parse(lines: Sequence[bytes], start: int, end: int, syntax: Syntax, scope: Scope, parsed: Parsed) -> None:
    if start == end:
        return
    text = b"\n".join(line.removeprefix(BOM) for line in lines[start:end])
    if b"VERSION" in text:
        text = _VERSION.sub(b"", text)
    try:
        if text.count(b"<<(") > TERM_DEPTH:
            check_terms(BytesIO(text), None)
        parsed.quads += list(scope.quads(parse(text, _FORMATS[syntax])))
        return
    except SyntaxError as error:
        _, column, reason = place_and_reason(error)
    except InputError as error:
        column, reason = error.column, error.reason
    except MemoryError:
        column, reason = None, TOO_LONG
    if end - start == 1:
        parsed.bad.append(BadLine(start, column, reason))
        return
    middle = (start + end) // 2
    _parse(lines, start, middle, syntax, scope, parsed)
    _parse(lines, middle, end, syntax, scope, parsed)


def _ended(file: IO[bytes]) -> Iterator[bytes]:
    """Lines without their ends: LF, CR LF or a lone CR, each once; of those beyond LONGEST the begin."""
    begun, after_cr = b"", False
    while piece := file.readline(LONGEST):
        if after_cr and piece == b"\n":
            after_cr = False
            continue
        *lines, last = (begun + piece.removesuffix(b"\n").removesuffix(b"\r")).split(b"\r")
        yield from lines
        begun, after_cr = last[:LONGEST], piece.endswith(b"\r")
        if after_cr or piece.endswith(b"\n"):
            yield begun
            begun = b""
    if begun:
        yield begun


def batches_of_lines(source: Source, watch: Watch | None = None) -> Iterator[tuple[int, list[bytes]]]:
    """The lines of a file in batches: (number of the first, 1-based; the lines). Raises InputError if unreadable, after
    the lines before that."""
    first, batch, size = 1, list[bytes](), 0
    try:
        with opened(source.path, source.name, watch) as file:
            for line in _ended(file):
                batch.append(line)
                size += len(line)
                if len(batch) == SIZES.rows or size > SIZES.batch:
                    yield first, batch
                    first, batch, size = first + len(batch), [], 0
    except InputError:
        if batch:
            yield first, batch
        raise
    if batch:
        yield first, batch
