"""SPARQL 1.1 Update: the text of a request to its operations (SPARQL 1.1 Update, section 3; grammar in SPARQL 1.1
Query, section 19.8, rules 29 to 52).

A data block, which but for its last full stop and TRUE in capitals is Turtle, is parsed by Oxigraph: a grammar in
Python takes seconds for a few thousand triples, Oxigraph milliseconds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Final, Literal, NoReturn

import pyoxigraph

from triplake.loaders.tokens import token_of
from triplake.sparql.algebra import Bgp, Dataset, GraphPattern, GraphTemplate, Node, Query, Term, join
from triplake.sparql.cursor import IRI, STRING, Cursor, Word, place
from triplake.sparql.parser import QUERIES, UPDATES, Parser, not_too_deep
from triplake.sparql.triple_terms import is_blank
from triplestore.model.dataset import DEFAULT, Quad
from triplestore.model.errors import InputError, UsageError
from triplestore.model.expression import Constant
from triplestore.model.prefixes import Prefixes
from triplestore.model.terms import is_absolute

Template = tuple[GraphTemplate, ...]
_IN_BLOCK: Final = re.compile(
    rf"{STRING}|{IRI}|\\.\w*+|\#[^\n\r]*|\{{\||\|\}}|[{{}}]|(?<![\w:.@-])(?:GRAPH|BASE|PREFIX)\b(?![\w.-]*:)|(?<![\"'])@(?:base|prefix)\b",
    re.IGNORECASE | re.DOTALL,
)

_IN_TRIPLES: Final = re.compile(
    rf"{STRING}|{IRI}|\#[^\n\r]*|(?P<boolean>(?<![\w:.@%\\-])(?:true|false)(?![\w:%\\-]))", re.IGNORECASE | re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Data:
    """INSERT DATA or DELETE DATA: quads of tokens; blank nodes to insert have labels of the request's own."""

    insert: bool
    quads: tuple[Quad, ...]


@dataclass(frozen=True, slots=True)
class Modify:
    """DELETE and INSERT for every solution of a pattern. Blank nodes of `insert` (prefix: what their labels start with)
    are new in each solution."""

    delete: Template
    insert: Template
    where: Query
    prefix: str


@dataclass(frozen=True, slots=True)
class Clear:
    """CLEAR or DROP (drop) of a graph: by its name (a token), "DEFAULT", "NAMED" or "ALL". where: its place in the
    request, for messages."""

    graph: str
    drop: bool
    silent: bool
    where: str


@dataclass(frozen=True, slots=True)
class Create:
    """CREATE of a named graph."""

    graph: str
    silent: bool
    where: str


@dataclass(frozen=True, slots=True)
class Transfer:
    """ADD, COPY or MOVE of one graph to another, each by its name (a token), the unnamed one by `DEFAULT`."""

    form: Literal["ADD", "COPY", "MOVE"]
    source: str
    target: str
    silent: bool
    where: str


@dataclass(frozen=True, slots=True)
class Load:
    """LOAD of a document into a graph (a token; empty: what it has outside of named graphs into the unnamed one)."""

    iri: str
    silent: bool
    where: str
    graph: str = ""


Operation = Data | Modify | Clear | Create | Transfer | Load


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
    for a syntax error.
    """
    with not_too_deep("update"):
        at = Cursor(text, "update", source or "", base, known={} if known is None else known.known)
        found = _Request(at, source, blank_prefix, base).operations()
    if declared is not None:
        declared.update(at.prefixes)
    return found


def reading(operations: Sequence[Operation], dataset: Dataset | None) -> tuple[Operation, ...]:
    """The operations with a dataset that their patterns read, chosen from outside of the text (None: none is). Raises
    UsageError where the text chooses one too (SPARQL 1.1 Protocol, section 2.2.3)."""
    if dataset is None:
        return tuple(operations)
    if any(isinstance(operation, Modify) and operation.where.dataset is not None for operation in operations):
        raise UsageError(
            "the update chooses graphs by USING or WITH, and others were chosen for it: leave either choice out"
        )
    return tuple(
        replace(operation, where=replace(operation.where, dataset=dataset))
        if isinstance(operation, Modify)
        else operation
        for operation in operations
    )


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
            case "CLEAR" | "DROP" as form:
                return [self._clear(form == "DROP", word)]
            case "CREATE":
                silent = self.at.accept("SILENT")
                self.at.expect("GRAPH")
                return [Create(f"<{self.at.iri()}>", silent, self.at.where(word.start))]
            case "ADD" | "MOVE" | "COPY" as form:
                return [self._transfer(form, word)]
            case "WITH":
                graph = Constant(f"<{self.at.iri()}>")
                return [self._modify(self.at.expect("DELETE", "INSERT"), number, graph)]
            case form:
                if self.at.accept("DATA"):
                    return [self._data(form == "INSERT")]
                return [self._modify(form, number, None)]

    # -- changes by pattern -----------------------------------------------------------------------------------------

    def _modify(self, form: str, number: int, graph: Constant | None) -> Modify:
        """Rules 40 to 44, behind the first word. graph: of a WITH before it."""
        prefix = f"{self.blank_prefix}t{number}_"
        if form == "DELETE" and graph is None and self.at.accept("WHERE"):
            template = self._template(True, None, matched=True)
            pattern: Node = Bgp(())
            for name, triples in template:
                pattern = join(pattern, Bgp(triples) if name is None else GraphPattern(name, Bgp(triples)))
            pattern = self.parser.patterns.terms.matched(pattern)
            return Modify(template, (), Query("select", pattern, base=self.at.base), prefix)
        delete = self._template(True, graph) if form == "DELETE" else ()
        insert: Template = ()
        if form == "INSERT" or self.at.accept("INSERT"):
            insert = self._template(False, graph)
        dataset = self.parser.dataset_clause("USING")
        if dataset is None and graph is not None:
            dataset = Dataset((graph.token,), None)
        self.at.expect("WHERE")
        patterns = self.parser.patterns
        insert = tuple((name, patterns.terms.renamed(triples)) for name, triples in insert)
        where = Query("select", patterns.terms.filled(patterns.group()), base=self.at.base, dataset=dataset)
        return Modify(delete, insert, where, prefix)

    def _template(self, deleting: bool, graph: Term | None, matched: bool = False) -> Template:
        """A template of quads. graph: what the triples are in that are in no GRAPH."""
        start = self.at.peek()
        found = self.parser.patterns.quads(matched)
        terms = [term for _, triples in found for triple in triples for term in triple]
        terms += [term for _, parts in self.parser.patterns.terms.kept for term in parts]
        if deleting and any(map(is_blank, terms)):
            self._error(start.start, "what is deleted cannot name blank nodes: use a variable")
        return tuple((graph if name is None else name, triples) for name, triples in found)

    # -- whole graphs -----------------------------------------------------------------------------------------------

    def _load(self, word: Word) -> Load:
        silent = self.at.accept("SILENT")
        name = self.at.peek()
        iri = name.text[1:-1]
        if name.kind == "iri" and self.at.base == self.given and not is_absolute(iri):
            self.at.next()  # a file's name in the folder that files may be loaded from
        else:
            iri = self.at.iri()
        graph = ""
        if self.at.accept("INTO"):
            self.at.expect("GRAPH")
            graph = f"<{self.at.iri()}>"
        return Load(iri, silent, self.at.where(word.start), graph)

    def _clear(self, drop: bool, word: Word) -> Clear:
        silent = self.at.accept("SILENT")
        if self.at.accept("GRAPH"):
            graph = f"<{self.at.iri()}>"
        else:
            graph = self.at.expect("DEFAULT", "ALL", "NAMED")
        return Clear(graph, drop, silent, self.at.where(word.start))

    def _transfer(self, form: Literal["ADD", "COPY", "MOVE"], word: Word) -> Transfer:
        silent = self.at.accept("SILENT")
        source = self._graph_or_default()
        self.at.expect("TO")
        return Transfer(form, source, self._graph_or_default(), silent, self.at.where(word.start))

    def _graph_or_default(self) -> str:
        """Rule 45."""
        if self.at.accept("DEFAULT"):
            return DEFAULT
        self.at.accept("GRAPH")
        return f"<{self.at.iri()}>"

    # -- data -------------------------------------------------------------------------------------------------------

    def _data(self, insert: bool) -> Data:
        """Rules 38, 39 and 50: the quads of a block, in order. DELETE DATA may not name blank nodes."""
        brace = self.at.peek()
        self.at.expect("{")
        quads: list[Quad] = []
        labels: dict[str, str] = {}
        start = brace.end
        while True:
            end, stopped, piece = self._part_end(start, brace)
            quads += self._triples(start, end, stopped, (), labels)
            self.at.jump(end)
            if piece == "}":
                self.at.expect("}")
                break
            self.at.expect("GRAPH")
            graph, inner = f"<{self.at.iri()}>", self.at.peek()
            self.at.expect("{")
            end, stopped, piece = self._part_end(inner.end, inner)
            if piece != "}":
                self._error(end, f"{piece!r} has no place in a graph")
            quads += self._triples(inner.end, end, stopped, (graph,), labels)
            self.at.jump(end + 1)
            self.at.accept(".")
            start = self.at.at
        if labels and not insert:
            self._error(brace.end, "DELETE DATA cannot name blank nodes: use DELETE WHERE, --delete or an RDF Patch")
        if again := sorted(labels.keys() & self.labels):
            self._error(brace.end, f"the blank node _:{again[0]} is in an earlier INSERT DATA already")
        self.labels |= labels.keys()
        return Data(insert, tuple(quads))

    def _part_end(self, start: int, brace: Word) -> tuple[int, bool, str]:
        """Of the triples from an offset on: (the offset of what ends them, whether a full stop is the last before it,
        what ends them: a brace that closes them, or GRAPH). brace: the one that opens them.

        Names what a block of triples cannot hold.
        """
        text = self.at.text
        at, stopped = start, True  # an empty block needs no full stop
        for found in _IN_BLOCK.finditer(text, start):
            piece = found.group()
            if between := text[at : found.start()].rstrip():
                stopped = between.endswith(".")
            at = found.end()
            if piece == "}" or piece.upper() == "GRAPH":
                return found.start(), stopped, piece
            if piece[0] != "#":
                stopped = False
            if piece == "{" or piece.upper() in ("BASE", "PREFIX", "@BASE", "@PREFIX"):
                self._error(found.start(), f"{piece!r} has no place among triples")
        self._error(brace.start, "this '{' is never closed")

    def _triples(self, start: int, end: int, stopped: bool, graph: Quad, labels: dict[str, str]) -> list[Quad]:
        """The quads of the triples of a part of a block, in a graph."""
        text = self.at.text[start:end]

        def blank(label: str) -> str:
            if label not in labels:
                labels[label] = f"_:{self.blank_prefix}{next(self.numbers)}"
            return labels[label]

        def parsed(block: str) -> list[Quad]:
            document = f"{self._prologue(block)}\n{block}\n{'' if stopped else '.'}"
            return [
                (*(token_of(term, blank) for term in (triple.subject, triple.predicate, triple.object)), *graph)
                for triple in pyoxigraph.parse(document, pyoxigraph.RdfFormat.TURTLE)
            ]

        try:
            try:
                return parsed(text)
            except SyntaxError:
                turtle = _IN_TRIPLES.sub(lambda found: found[0].lower() if found["boolean"] else found[0], text)
                if turtle == text:
                    raise
                return parsed(turtle)
        except SyntaxError as error:
            # The prologue is the first line of what Oxigraph read, the block starts on the second.
            line, column = place(self.at.text, start)
            down = max((error.lineno or 2) - 2, 0)
            across = (error.offset or 1) + (column - 1 if down == 0 else 0)
            reason = re.sub(r"^Parser error at line \d+(,? column \d+| between .*?)?: ", "", error.msg or str(error))
            if reason == ". is not a valid predicate":
                reason = "expected a predicate, found '.': in data, a collection or `[]` cannot stand alone"
            at = min(
                (line + down, across), place(self.at.text, end)
            )  # what was added behind the block is not the text's
            raise InputError(reason, self.source, *at) from error
        except MemoryError:  # what Oxigraph says of its buffer of 16 MiB
            self._error(start, "a term among these triples is longer than 16 MiB, the most that is read: shorten it")

    def _prologue(self, block: str) -> str:
        """The declarations in force, on one line, of the prefixes that a block may use."""
        base = [f"BASE <{self.at.base}>"] if self.at.base is not None else []
        known = {**self.at.known, **self.at.prefixes}
        return " ".join([*base, *(f"PREFIX {name}: <{iri}>" for name, iri in known.items() if f"{name}:" in block)])

    # -- errors -----------------------------------------------------------------------------------------------------

    def _error(self, offset: int, reason: str) -> NoReturn:
        raise InputError(reason, self.source, *place(self.at.text, offset))
