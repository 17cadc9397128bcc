"""SPARQL Update, INSERT DATA and DELETE DATA: one request to the net changes it makes.

The text is cut into operations at words (so that IRIs, strings and comments cannot mislead), and each data block, which
but for its last full stop is Turtle, is parsed by Oxigraph: RDFLib takes seconds for a few thousand triples, Oxigraph
milliseconds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Final

import pyoxigraph

from sparql.lexer import IRI, STRING, Word, place, words
from triplestore.errors import InputError, UnsupportedError
from triplestore.terms import literal_token

Triple = tuple[str, str, str]

_OTHERS: Final = frozenset(["LOAD", "CLEAR", "DROP", "CREATE", "ADD", "MOVE", "COPY", "WITH"])
_USE: Final = "use INSERT DATA and DELETE DATA"
_IN_BLOCK: Final = re.compile(
    rf"{STRING}|{IRI}|\\.|\#[^\n\r]*|[{{}}]|(?<![\w:.@-])(?:GRAPH|BASE|PREFIX)\b(?!:)|(?<![\"'])@(?:base|prefix)\b",
    re.IGNORECASE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class _Operation:
    """INSERT DATA or DELETE DATA: the offsets of what is between its braces, whether that ends with a full
    stop, and the prologue in force."""

    insert: bool
    start: int
    end: int
    stopped: bool
    prologue: str


def parse_update(text: str, source: str | None = None, blank_prefix: str = "u") -> tuple[list[Triple], list[Triple]]:
    """The net additions and deletions of one request, as token triples; operations count in their order.

    source: the file, for messages. blank_prefix: starts the labels of blank nodes, which are new in each operation and
    numbered as they appear. Raises InputError with line and column for a syntax error, UnsupportedError naming any
    other operation.
    """
    changes: dict[Triple, bool] = {}
    numbers = count()
    for operation in _operations(text, source):
        for triple in _data(operation, text, source, blank_prefix, numbers):
            changes.pop(triple, None)  # the last operation on a triple decides, and its place in the order too
            changes[triple] = operation.insert
    added = [triple for triple, insert in changes.items() if insert]
    return added, [triple for triple, insert in changes.items() if not insert]


def _operations(text: str, source: str | None) -> Iterator[_Operation]:
    """Cut a request into its operations."""
    prologue: list[str] = []
    at, separated = 0, True

    def following(what: str) -> Word:
        word = next(words(text, at), None)
        if word is None:
            raise InputError(f"the update ends where {what} is expected", source, *place(text, len(text)))
        return word

    while (word := next(words(text, at), None)) is not None:
        name = word.text.upper() if word.kind == "word" else word.text
        at = word.end
        if name in ("PREFIX", "BASE"):
            prologue.append(name)
            for _ in range(2 if name == "PREFIX" else 1):
                part = following("an IRI")
                prologue.append(part.text)
                at = part.end
        elif name == ";" and not separated:
            separated = True
        elif name in ("INSERT", "DELETE") and separated:
            second = following("DATA")
            if second.text.upper() != "DATA":
                form = f"{name} WHERE" if second.text.upper() == "WHERE" else f"{name} {{ ... }} WHERE"
                raise UnsupportedError(f"{_where(text, source, word)}: {form} is not supported: {_USE}")
            at = second.end
            brace = following("'{'")
            if brace.text != "{":
                raise _error(text, source, brace.start, "expected '{' after DATA")
            end, stopped = _block_end(text, source, brace)
            yield _Operation(name == "INSERT", brace.end, end, stopped, " ".join(prologue))
            at, separated = end + 1, False
        elif name in _OTHERS and separated:
            raise UnsupportedError(f"{_where(text, source, word)}: {name} is not supported: {_USE}")
        else:
            wanted = "INSERT DATA or DELETE DATA" if separated else "';' between two operations"
            raise _error(text, source, word.start, f"expected {wanted}, found {word.text!r}")


def _block_end(text: str, source: str | None, brace: Word) -> tuple[int, bool]:
    """(offset of the brace that closes a data block, whether a full stop is the last before it).

    Names what a block of triples cannot hold.
    """
    at, stopped = brace.end, True  # an empty block needs no full stop
    for found in _IN_BLOCK.finditer(text, brace.end):
        piece = found.group()
        if between := text[at : found.start()].rstrip():
            stopped = between.endswith(".")
        at = found.end()
        if piece == "}":
            return found.start(), stopped
        if piece[0] != "#":
            stopped = False
        if piece.upper() == "GRAPH":
            line, column = place(text, found.start())
            where = f"{source}:{line}:{column}" if source else f"line {line}, column {column}"
            raise UnsupportedError(f"{where}: GRAPH is not supported: a store is one graph, write the triples alone")
        if piece == "{" or piece.upper() in ("BASE", "PREFIX", "@BASE", "@PREFIX"):
            raise _error(text, source, found.start(), f"{piece!r} has no place among triples")
    raise _error(text, source, brace.start, "this '{' is never closed")


def _data(
    operation: _Operation, text: str, source: str | None, blank_prefix: str, numbers: Iterator[int]
) -> Iterator[Triple]:
    """The triples of a data block, in order. DELETE DATA may not name blank nodes."""
    block = text[operation.start : operation.end]
    document = f"{operation.prologue}\n{block}\n{'' if operation.stopped else '.'}"
    line, column = place(text, operation.start)
    labels: dict[str, str] = {}

    def token(term: object) -> str:
        if isinstance(term, pyoxigraph.NamedNode):
            return f"<{term.value}>"
        if isinstance(term, pyoxigraph.BlankNode):
            if term.value not in labels:
                labels[term.value] = f"_:{blank_prefix}{next(numbers)}"
            return labels[term.value]
        if isinstance(term, pyoxigraph.Literal):
            return literal_token(term.value, term.datatype.value, term.language)
        raise InputError("triple terms (<<( ... )>>) are not supported", source, line, column)

    try:
        yield from (
            (token(triple.subject), token(triple.predicate), token(triple.object))
            for triple in pyoxigraph.parse(document, pyoxigraph.RdfFormat.TURTLE)
        )
    except SyntaxError as error:
        # The prologue is the first line of what Oxigraph read, the block starts on the second.
        down = max((error.lineno or 2) - 2, 0)
        across = (error.offset or 1) + (column - 1 if down == 0 else 0)
        reason = re.sub(r"^Parser error at line \d+(,? column \d+| between .*?)?: ", "", error.msg or str(error))
        raise InputError(reason, source, line + down, across) from error
    if labels and not operation.insert:
        raise InputError("DELETE DATA cannot name blank nodes: use --delete or an RDF Patch", source, line, column)


def _where(text: str, source: str | None, word: Word) -> str:
    line, column = place(text, word.start)
    return f"{source}:{line}:{column}" if source else f"line {line}, column {column}"


def _error(text: str, source: str | None, offset: int, reason: str) -> InputError:
    return InputError(reason, source, *place(text, offset))
