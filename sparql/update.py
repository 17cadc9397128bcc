"""SPARQL 1.1 Update over one graph: the text of a request to its operations (SPARQL 1.1 Update, section 3; grammar in
SPARQL 1.1 Query, section 19.8, rules 29 to 52).

A data block, which but for its last full stop is Turtle, is parsed by Oxigraph: a grammar in Python takes seconds for a
few thousand triples, Oxigraph milliseconds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Final, NoReturn

import pyoxigraph

from triplake.sparql.algebra import Bgp, Query, Triple
from triplake.sparql.cursor import Cursor
from triplake.sparql.lexer import IRI, STRING, Word, place
from triplake.sparql.parser import QUERIES, UPDATES, Parser, not_too_deep
from triplestore.expressions.iris import is_absolute
from triplestore.model.errors import InputError
from triplestore.model.expression import Variable
from triplestore.model.prefixes import Prefixes
from triplestore.model.terms import literal_token

Tokens = tuple[str, str, str]

_ONE_GRAPH: Final = "named graphs are not supported: a store is one graph, the default graph"
_IN_BLOCK: Final = re.compile(
    rf"{STRING}|{IRI}|\\.|\#[^\n\r]*|[{{}}]|(?<![\w:.@-])(?:GRAPH|BASE|PREFIX)\b(?!:)|(?<![\"'])@(?:base|prefix)\b",
    re.IGNORECASE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Data:
    """INSERT DATA or DELETE DATA: triples as tokens; blank nodes to insert have labels of the request's own."""

    insert: bool
    triples: tuple[Tokens, ...]


@dataclass(frozen=True, slots=True)
class Modify:
    """DELETE and INSERT for every solution of a pattern. Blank nodes of `insert` (prefix: what their labels start with)
    are new in each solution."""

    delete: tuple[Triple, ...]
    insert: tuple[Triple, ...]
    where: Query
    prefix: str


@dataclass(frozen=True, slots=True)
class Clear:
    """CLEAR or DROP of the default graph."""


@dataclass(frozen=True, slots=True)
class Load:
    """LOAD of a document into the default graph; where: its place in the request, for messages."""

    iri: str
    silent: bool
    where: str


Operation = Data | Modify | Clear | Load


def parse_update(
    text: str,
    source: str | None = None,
    blank_prefix: str = "u",
    base: str | None = None,
    known: Prefixes | None = None,
    declared: dict[str, str] | None = None,
) -> tuple[Operation, ...]:
    """The operations of one request, in their order.

    known: prefixes that it need not declare. declared: takes those that it declares (name -> IRI).
    source: the file, for messages. blank_prefix: starts the labels of blank nodes. base: what relative IRIs are
    resolved against, unless the text has a BASE; those of LOAD then name files. Raises InputError with line and column
    for a syntax error, UnsupportedError with them for named graphs.
    """
    with not_too_deep("update"):
        at = Cursor(text, "update", source or "", base, known={} if known is None else known.known)
        found = _Request(at, source, blank_prefix, base).operations()
    if declared is not None:
        declared.update(at.prefixes)
    return found


@dataclass(slots=True)
class _Request:
    """Parses one request at a cursor."""

    at: Cursor
    source: str | None
    blank_prefix: str
    given: str | None  # the base that is not the text's own
    parser: Parser = field(init=False)
    numbers: Iterator[int] = field(default_factory=count)
    labels: set[str] = field(default_factory=set)  # of blank nodes in the INSERT DATA operations so far

    def __post_init__(self) -> None:
        self.parser = Parser(self.at)

    def operations(self) -> tuple[Operation, ...]:
        """Rule 29: the whole request."""
        found: list[Operation] = []
        self.at.prologue()
        while self.at.peek().kind != "end":
            self.at.operation()
            found += self._operation(len(found))
            if not self.at.accept(";"):
                break
            self.at.prologue()
        if self.at.peek().kind != "end":
            self.at.fail("expected ';' between two operations")
        return tuple(found)

    def _operation(self, number: int) -> list[Operation]:
        word = self.at.peek()
        if self.at.is_(*QUERIES):
            self.at.fail("this is a query, not an update")
        match self.at.expect(*UPDATES):
            case "LOAD":
                return [self._load(word)]
            case "CLEAR" | "DROP":
                return self._clear()
            case "CREATE":
                self.at.unsupported(f"CREATE: {_ONE_GRAPH}", word)
            case "ADD" | "MOVE" | "COPY":
                return self._copied()
            case "WITH":
                self.at.unsupported(f"WITH: {_ONE_GRAPH}", word)
            case form:
                if self.at.accept("DATA"):
                    return [self._data(form == "INSERT")]
                return [self._modify(form, number)]

    # -- changes by pattern -----------------------------------------------------------------------------------------

    def _modify(self, form: str, number: int) -> Modify:
        """Rules 40 to 44, behind the first word."""
        prefix = f"{self.blank_prefix}t{number}_"
        if form == "DELETE" and self.at.accept("WHERE"):
            template = self._template(deleting=True, matched=True)
            return Modify(template, (), Query("select", Bgp(template), base=self.at.base), prefix)
        delete = self._template(deleting=True) if form == "DELETE" else ()
        insert: tuple[Triple, ...] = ()
        if form == "INSERT" or self.at.accept("INSERT"):
            insert = self._template(deleting=False)
        if self.at.is_("USING"):
            self.at.unsupported(f"USING: {_ONE_GRAPH}")
        self.at.expect("WHERE")
        pattern = self.parser.patterns.group()
        return Modify(delete, insert, Query("select", pattern, base=self.at.base), prefix)

    def _template(self, deleting: bool, matched: bool = False) -> tuple[Triple, ...]:
        start = self.at.peek()
        found = self.parser.patterns.template(matched)
        if deleting and any(isinstance(t, Variable) and t.name.startswith("_:") for triple in found for t in triple):
            self._error(start.start, "what is deleted cannot name blank nodes: use a variable")
        return found

    # -- whole graphs -----------------------------------------------------------------------------------------------

    def _load(self, word: Word) -> Load:
        silent = self.at.accept("SILENT")
        name = self.at.peek()
        iri = name.text[1:-1]
        if name.kind == "iri" and self.at.base == self.given and not is_absolute(iri):
            self.at.next()  # a file's name in the folder that files may be loaded from
        else:
            iri = self.at.iri()
        if self.at.is_("INTO"):
            self.at.unsupported(f"INTO GRAPH: {_ONE_GRAPH}")
        return Load(iri, silent, self.at.where(word.start))

    def _clear(self) -> list[Operation]:
        self.at.accept("SILENT")
        if self.at.is_("GRAPH"):
            self.at.unsupported(f"GRAPH: {_ONE_GRAPH}")
        named = self.at.expect("DEFAULT", "ALL", "NAMED") == "NAMED"
        return [] if named else [Clear()]

    def _copied(self) -> list[Operation]:
        """ADD, MOVE and COPY: of the default graph to itself, which does nothing, or of named graphs."""
        self.at.accept("SILENT")
        for end in (False, True):
            if end:
                self.at.expect("TO")
            if self.at.is_("GRAPH") or self.at.at_iri():
                self.at.unsupported(f"GRAPH: {_ONE_GRAPH}")
            self.at.expect("DEFAULT")
        return []

    # -- data -------------------------------------------------------------------------------------------------------

    def _data(self, insert: bool) -> Data:
        """Rules 38 and 39: the triples of a block, in order. DELETE DATA may not name blank nodes."""
        brace = self.at.peek()
        self.at.expect("{")
        end, stopped = self._block_end(brace)
        triples = tuple(self._triples(insert, brace.end, end, stopped))
        self.at.jump(end + 1)
        return Data(insert, triples)

    def _block_end(self, brace: Word) -> tuple[int, bool]:
        """(offset of the brace that closes a data block, whether a full stop is the last before it).

        Names what a block of triples cannot hold.
        """
        text = self.at.text
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
                self.at.unsupported(f"GRAPH: {_ONE_GRAPH}", Word("word", piece, found.start(), found.end()))
            if piece == "{" or piece.upper() in ("BASE", "PREFIX", "@BASE", "@PREFIX"):
                self._error(found.start(), f"{piece!r} has no place among triples")
        self._error(brace.start, "this '{' is never closed")

    def _triples(self, insert: bool, start: int, end: int, stopped: bool) -> Iterator[Tokens]:
        document = f"{self._prologue(self.at.text[start:end])}\n{self.at.text[start:end]}\n{'' if stopped else '.'}"
        line, column = place(self.at.text, start)
        labels: dict[str, str] = {}

        def token(term: object) -> str:
            if isinstance(term, pyoxigraph.NamedNode):
                return f"<{term.value}>"
            if isinstance(term, pyoxigraph.BlankNode):
                if term.value not in labels:
                    labels[term.value] = f"_:{self.blank_prefix}{next(self.numbers)}"
                return labels[term.value]
            if isinstance(term, pyoxigraph.Literal):
                return literal_token(term.value, term.datatype.value, term.language)
            raise InputError("triple terms (<<( ... )>>) are not supported", self.source, line, column)

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
            raise InputError(reason, self.source, line + down, across) from error
        except MemoryError:  # what Oxigraph says of its buffer of 16 MiB
            self._error(start, "a term among these triples is longer than 16 MiB, the most that is read: shorten it")
        if labels and not insert:
            self._error(start, "DELETE DATA cannot name blank nodes: use DELETE WHERE, --delete or an RDF Patch")
        if again := sorted(labels.keys() & self.labels):
            self._error(start, f"the blank node _:{again[0]} is in an earlier INSERT DATA already")
        self.labels |= labels.keys()

    def _prologue(self, block: str) -> str:
        """The declarations in force, on one line, of the prefixes that a block may use."""
        base = [f"BASE <{self.at.base}>"] if self.at.base is not None else []
        known = {**self.at.known, **self.at.prefixes}
        return " ".join([*base, *(f"PREFIX {name}: <{iri}>" for name, iri in known.items() if f"{name}:" in block)])

    # -- errors -----------------------------------------------------------------------------------------------------

    def _error(self, offset: int, reason: str) -> NoReturn:
        raise InputError(reason, self.source, *place(self.at.text, offset))
