"""Running a query: parse, compile to one statement, run it, wrap the answer.

What a description (DESCRIBE, SPARQL 1.1, section 16.4) is the standard leaves open. Here it is the concise bounded
description: the triples of a resource, and those of the blank nodes that they lead to, each once, as patterns for the
engine to join.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from itertools import chain
from types import TracebackType
from typing import Self

import pyarrow as pa

from triplake.sparql.algebra import (
    Bgp,
    Dataset,
    Distinct,
    Extend,
    Filter,
    Join,
    Node,
    PathPattern,
    Project,
    Query,
    Service,
    Union,
    Values,
)
from triplake.sparql.constants import Constants, Known, look_up
from triplake.sparql.construct import PLACES
from triplake.sparql.dataset import Graphs, Reading
from triplake.sparql.endpoint import Row
from triplake.sparql.explain import QueryExplanation, order, tree
from triplake.sparql.federation import Federation
from triplake.sparql.object_types import with_one_form
from triplake.sparql.parser import not_too_deep, parse_query
from triplake.sparql.path_closure import PathTables
from triplake.sparql.patterns import Matching
from triplake.sparql.relation import Steps
from triplake.sparql.results import Nodes, Result
from triplake.sparql.templates import filled, is_blank, names_of_quads
from triplake.sparql.thresholds import THRESHOLDS
from triplake.sparql.to_sql import Compiler
from triplake.sparql.update import Modify
from triplestore.closure.expand import closure_sql, preferred_sql, spelled_sql
from triplestore.closure.view import ClosureView
from triplestore.dictionary.object_types import Types
from triplestore.engine import Engine
from triplestore.engine.arrow import int64s, strings
from triplestore.engine.dialect import Dialect
from triplestore.engine.sql import Spelled, Statement, minus
from triplestore.expressions.vectorised import register
from triplestore.model.dataset import Quad
from triplestore.model.errors import UsageError
from triplestore.model.expression import Call, Constant, Variable
from triplestore.model.prefixes import Names, Prefixes
from triplestore.model.thresholds import SIZES
from triplestore.storage.statistics import Statistics

TRIPLE = ("subject", "predicate", "object")
"""The columns of an answer that is a graph."""


@dataclass(frozen=True)
class Graph:
    """What queries read: the working tables `fact`, `asserted`, `quad`, `same_as` and `term` of an engine.

    view: how they are to be read. generalised: answers show triples that RDF has no place for, too. known: constants
    that were looked up in these very tables before. statistics: counts, for the order of joins. prefixes: those that a
    query need not declare. union: the default graph is the union of all graphs; made: those that are there even without
    triples. services: the endpoints that SERVICE may ask (`triplestore.model.endpoints.normalised`). beside: other
    graphs of this process that it may ask, by name. types: those that the objects of each predicate may have, if they
    are known.
    """

    engine: Engine
    view: ClosureView
    generalised: bool = False
    known: Known = field(default_factory=Known, compare=False)
    statistics: Statistics = field(default_factory=Statistics, compare=False)
    prefixes: Prefixes = field(default_factory=Prefixes, compare=False)
    union: bool = True
    services: tuple[str, ...] = ()
    beside: Mapping[str, Graph] = field(default_factory=dict, compare=False)
    made: tuple[str, ...] = ()
    types: Callable[[], Types | None] = field(default=lambda: None, compare=False)


def query(
    graph: Graph,
    text: str,
    same_as: str = "expand",
    stream: bool = False,
    base: str | None = None,
    prefer: Sequence[str] = (),
    dataset: Dataset | None = None,
    bindings: Values | None = None,
) -> Result:
    """Answer a SPARQL query.

    same_as: "expand" answers over the closure with all equalities expanded, with SPARQL's multiplicities; "canonical"
    answers over representatives, one row per class (constants stand for their class, too).
    prefer: starts of IRIs; in canonical answers a class appears as its member with the first of them, or as the one
    that comes first anyhow (`triplestore.closure.expand.preferred_sql`).
    stream: the rows of a SELECT come as they are found, to be read once. base: what relative IRIs are resolved against.
    dataset: the graphs to read in place of those that the text chooses. bindings: inline data that its WHERE begins
    with.
    Raises UsageError (with line and column) for text that is not SPARQL, and for a SERVICE that may not be asked;
    EndpointError for one that fails.
    """
    parsed, run = parse_query(text, base, graph.prefixes, bindings), _run(graph, same_as, stream, prefer)
    if dataset is not None:
        parsed = replace(parsed, dataset=dataset)
    with not_too_deep("query"):
        found = run.answer(run.resolved(parsed))
    found.warnings = parsed.warnings
    own = dict(parsed.prefixes)
    found.names = Names(own | {name: iri for name, iri in graph.prefixes.declared.items() if name not in own})
    return found


def explain(
    graph: Graph, text: str, same_as: str = "expand", prefer: Sequence[str] = (), base: str | None = None
) -> QueryExplanation:
    """Run a query for its algebra, SQL and plan; same_as, prefer, base and errors as for `query`."""
    parsed, run = parse_query(text, base, graph.prefixes), _run(graph, same_as, prefer=prefer)
    shown = described(parsed) if parsed.kind == "describe" else parsed.pattern
    with not_too_deep("query"):
        parsed = run.resolved(parsed)
    pattern, variables = parsed.pattern, list(parsed.variables)
    if parsed.kind == "describe":
        pattern, variables = described(parsed), list(PLACES)
    if pattern is None or shown is None:
        return QueryExplanation(parsed.kind, None, "", None)
    compiler = run.compiler(replace(parsed, pattern=pattern))
    with compiler.paths.scratch:
        if parsed.kind == "construct":
            sql = compiler.construct(pattern, parsed.template)
        else:
            sql = compiler.ask(pattern) if parsed.kind == "ask" else compiler.select(pattern, variables)
        orders = {name: order(steps) for name, steps in compiler.orders.items() if steps}
        return QueryExplanation(parsed.kind, tree(shown), sql, graph.engine.plan(sql), orders)


def _run(graph: Graph, same_as: str, stream: bool = False, prefer: Sequence[str] = ()) -> Run:
    if same_as not in ("expand", "canonical"):
        raise UsageError(f"same_as is {same_as!r}: use 'expand' or 'canonical'")
    if prefer and same_as == "expand":
        raise UsageError("a preferred prefix chooses one member of each class: ask for canonical answers too")
    return Run(graph, same_as == "expand", stream, tuple(prefer))


def match(graph: Graph, pattern: Sequence[str | None], without: str | None = None) -> Result:
    """The triples with these terms (tokens; None is any), all equalities expanded: a query without a text, streamed.
    without: a SELECT (c0, c1, c2: tokens) of those that are left out."""
    terms = tuple(Variable(c) if token is None else Constant(token) for c, token in zip("spo", pattern, strict=True))
    found: Node = Bgp(((terms[0], terms[1], terms[2]),))
    for name, term in zip("spo", terms, strict=True):
        if isinstance(term, Constant):
            found = Extend(found, name, term)

    def written(compiler: Compiler) -> str:
        sql = compiler.select(found, ("s", "p", "o"))
        return sql if without is None else minus(f"({sql})", f"({without})", ("c0", "c1", "c2"))

    run = Run(graph, True)
    return Result("construct", TRIPLE, run.streamed(run.asked(Query("select", found), written)))


def changes(graph: Graph, modify: Modify) -> tuple[list[Quad], list[Quad]]:
    """The quads (tokens, distinct) that an update's DELETE and INSERT come to. Raises LimitError."""
    names = [name for name in names_of_quads((*modify.delete, *modify.insert)) if not is_blank(name)]
    pattern = modify.where.pattern
    assert pattern is not None
    if not any(map(is_blank, names_of_quads(modify.insert))):
        pattern = Distinct(Project(pattern, tuple(names)))
    run = Run(graph, True)
    with not_too_deep("update"):
        rows = run.solutions(run.resolved(replace(modify.where, pattern=pattern)), names)
    deleted = dict.fromkeys(filled(modify.delete, names, rows, modify.prefix))
    return list(deleted), list(dict.fromkeys(filled(modify.insert, names, rows, modify.prefix)))


def statement(graph: Graph, text: str, same_as: str = "expand") -> str:
    """The SQL statement that a SELECT runs as: for people who want to see it."""
    parsed = parse_query(text, None, graph.prefixes)
    run = Run(graph, same_as == "expand")
    parsed = run.resolved(parsed)
    if parsed.kind != "select" or parsed.pattern is None:
        raise UsageError("only SELECT queries have one SQL statement to show")
    return run.compiler(parsed).select(parsed.pattern, parsed.variables)


@dataclass(frozen=True, slots=True)
class Run:
    """How queries of a graph are run. own: the ids of terms that the dictionary lacks, where several queries
    are to have the same; new ones are added."""

    graph: Graph
    expand: bool
    stream: bool = False
    prefer: tuple[str, ...] = ()
    own: dict[str, int] | None = None

    def resolved(self, parsed: Query) -> Query:
        """The query with what endpoints answer in place of each SERVICE."""
        if Service not in parsed.parts.kinds:
            return parsed

        def solve(pattern: Node, names: Sequence[str]) -> list[Row]:
            asked = Query("select", pattern, base=parsed.base, dataset=parsed.dataset)
            rows = Run(self.graph, True).solutions(asked, names)
            columns = [column.to_pylist() for column in rows.columns[: len(names)]]
            return list(zip(*columns, strict=True)) if names else [()] * rows.num_rows

        def rows_of(graph: Graph, text: str) -> list[Row]:
            return [row for batch in query(graph, text).token_batches(SIZES.small) for row in batch]

        beside = {name: partial(rows_of, graph) for name, graph in self.graph.beside.items()}
        return Federation(self.graph.services, solve, self.expand, beside).resolved(parsed)

    def asked(self, parsed: Query, text: Callable[[Compiler], str]) -> Asked:
        """A statement, compiled when it is run, and it is known in which dialect."""
        compilers: list[Compiler] = []

        def spelled(dialect: Dialect) -> str:
            if PathPattern in parsed.parts.kinds:
                dialect = self.graph.engine.dialect  # which the engine runs what it is made of in, while it is compiled
            compilers.append(self.compiler(parsed, dialect))
            return text(compilers[-1])

        return Asked(Spelled(self.graph.engine.dialect, spelled), compilers)

    def compiler(self, parsed: Query, dialect: Dialect | None = None) -> Compiler:
        graph, view = self.graph, self.graph.view
        if not graph.engine.functions.ready:
            register(graph.engine)
        classes = view.classes if view.rewriting else 0
        constants = look_up(graph.engine, parsed, classes, view.by_value, graph.known, self.own, graph.made)
        ids = constants.ids if self.expand else {token: constants.representative(token) for token in constants.ids}
        if "TRIPLE" in parsed.parts.calls or any(token.startswith("(") for token in ids):
            view = replace(view, triple_terms=True)
        choosing = classes > 0 and not self.expand
        if choosing and ids:
            ids = _preferred(graph.engine, ids, self.prefer)
        barred = view.literals_in_classes and not graph.generalised
        literals = barred and view.rewriting and self.expand
        values = f"({spelled_sql('fact', False)})" if literals else "fact"
        matching = Matching(
            rewriting=view.rewriting,
            expanding=self.expand and classes > 0,
            reflexive=view.congruent,
            generalised=view.generalised and not graph.generalised,
            choosing=choosing,
            facts=_in_forms(view, literals) if view.equal_values else values,
            values=values,
            literals=literals,
            barred=barred,
            linked=graph.known.linked is not False,
            resources=("all" if graph.generalised else "terms") if view.resources else "",
            named=view.same_as_in_class,
            single=with_one_form(constants, view, graph.types()) if view.equal_values else frozenset(),
            statistics=graph.statistics,
        )
        paths = PathTables(graph.engine, matching, constants, graph.engine.scratch())
        graphs = Graphs(Reading(matching, constants, paths), view, graph.union, parsed.dataset, graph.made, graph.types)
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        own = None
        if sum(map(len, constants.own)) > SIZES.small:
            numbers, tokens = int64s(constants.own.values()), strings(constants.own)
            own = paths.scratch.load("own_term", pa.table({"id": numbers, "token": tokens}))
        steps = Steps(dialect or graph.engine.dialect, constants, self.prefer, own)
        return Compiler(steps, graphs, ids, parsed.base, now, repeats=PathPattern in parsed.parts.kinds)

    def answer(self, parsed: Query) -> Result:
        if parsed.kind == "describe":
            found = Result("describe", TRIPLE, self._described(parsed))
            if not self.stream:
                len(found)  # collects it
            return found
        if parsed.kind == "ask":
            return Result("ask", (), pa.table({}), truth=self._holds(parsed))
        variables = TRIPLE if parsed.kind == "construct" else parsed.variables
        engine = self.graph.engine
        decoded = not engine.resident
        asked = self.asked(parsed, lambda compiler: _statement(compiler, parsed, decoded))
        if self.stream:
            if decoded:
                found = Result(parsed.kind, variables, self.streamed(asked))
                if framed := getattr(engine, "frame", None):
                    found.frame = lambda: framed(str(asked.sql))  # what was made for it lasts as long as the engine
                return found
            ids = self.streamed(asked)
            first, ended = _first(ids)
            if not ended:
                return Result(parsed.kind, variables, self._in_tokens(first, ids, asked.constants))
            none = {f"c{place}": pa.array([], pa.string()) for place in range(len(variables))}
            whole = pa.Table.from_batches(first) if first else pa.table(none)
            return Result(parsed.kind, variables, whole, nodes=self._nodes(engine, whole, asked.constants))
        with asked:
            rows = engine.query(asked.sql)
        nodes = None if decoded else self._nodes(engine, rows, asked.constants)
        return Result(parsed.kind, variables, rows, nodes=nodes)

    def _nodes(self, engine: Engine, rows: pa.Table | pa.RecordBatch, constants: Constants) -> Nodes:
        """What the ids in an answer stand for: read once for all answers, unless they are too many to keep."""
        known, nodes = self.graph.known, self.graph.known.nodes
        columns = [column for column in rows.columns if pa.types.is_int64(column.type)]
        ids = {number for column in columns for number in column.drop_null().unique().to_numpy().tolist()}
        own = {number: token for token, number in constants.own.items() if number in ids}
        ids -= own.keys()
        fresh = nodes.lacking(ids)
        if len(fresh) + len(nodes) > THRESHOLDS.nodes:
            fresh, nodes = list(ids), Nodes()
            if len(ids) <= THRESHOLDS.nodes:
                known.nodes = nodes
        nodes.learn(engine, fresh)
        if nodes is known.nodes and nodes.characters > SIZES.batch:
            known.nodes = Nodes()
        if own:
            nodes = nodes.some(ids)
            nodes.add(own)
        return nodes

    def streamed(self, asked: Asked) -> Iterator[pa.RecordBatch]:
        """The rows of a statement as they are found."""
        with asked:
            yield from self.graph.engine.batches(asked.sql)

    def _in_tokens(
        self, first: Sequence[pa.RecordBatch], more: Iterator[pa.RecordBatch], constants: Constants
    ) -> Iterator[pa.RecordBatch]:
        """Batches of ids as batches of tokens, looked up beside the statement that goes on giving them."""
        beside = self.graph.engine.reader()
        try:
            beside.begin()
            at_once = least = max(SIZES.small, 1)  # rows whose tokens are in memory together
            for batch in chain(first, more):
                start = 0
                while start < batch.num_rows:
                    rows = batch.slice(start, at_once)
                    start += at_once
                    nodes = self._nodes(beside, rows, constants)
                    fitting = max(SIZES.batch // nodes.width(rows), 1)
                    for part in (rows.slice(place, fitting) for place in range(0, rows.num_rows, fitting)):
                        columns = [nodes.column(c) if pa.types.is_int64(c.type) else c for c in part.columns]
                        yield pa.record_batch(columns, names=batch.schema.names)
                    at_once = 2 * at_once if 2 * at_once <= fitting else least
        finally:
            more.close()  # type: ignore[attr-defined]
            beside.end()
            beside.close()

    def solutions(self, parsed: Query, variables: Sequence[str]) -> pa.Table:
        """The tokens of variables, one column each (c0, c1 ...), NULL unbound."""
        pattern = parsed.pattern
        assert pattern is not None
        with self.asked(parsed, lambda compiler: compiler.select(pattern, variables)) as asked:
            return self.graph.engine.query(asked.sql)

    def _holds(self, parsed: Query) -> bool:
        """Whether the pattern has a solution."""
        pattern = parsed.pattern
        assert pattern is not None
        with self.asked(parsed, lambda compiler: compiler.ask(pattern)) as asked:
            return bool(self.graph.engine.rows(asked.sql))

    def _described(self, parsed: Query) -> Iterator[pa.RecordBatch]:
        """Concise bounded descriptions (tokens): the triples of each resource, then of the blank nodes that they lead
        to, and so on. What is remembered meanwhile is which blank nodes have had their turn."""
        seen: set[str] = set()
        todo = described(parsed)
        while todo is not None:
            met: set[str] = set()
            asked = Query("select", todo, PLACES, base=parsed.base, dataset=parsed.dataset)
            for rows in self.answer(asked).token_batches():
                subjects, predicates, objects = zip(*rows, strict=True)
                columns = [pa.array(column, pa.string()) for column in (subjects, predicates, objects)]
                yield pa.record_batch(columns, names=["c0", "c1", "c2"])
                seen.update(token for token in subjects if token.startswith("_:"))
                met.update(token for token in objects if token.startswith("_:"))
            fresh = tuple(sorted(met - seen))
            seen.update(fresh)
            todo = about(fresh)


def _first(batches: Iterator[pa.RecordBatch]) -> tuple[list[pa.RecordBatch], bool]:
    """The first batches of a stream, `SIZES.small` rows or `SIZES.batch` unless it ends before, and whether it did."""
    found: list[pa.RecordBatch] = []
    while sum(batch.num_rows for batch in found) < max(SIZES.small, 1) and sum(b.nbytes for b in found) < SIZES.batch:
        batch = next(batches, None)
        if batch is None:
            return found, True
        found.append(batch)
    return found, False


def _statement(compiler: Compiler, parsed: Query, decoded: bool = True) -> str:
    """The statement of a SELECT or CONSTRUCT."""
    assert parsed.pattern is not None
    if parsed.kind == "construct":
        return compiler.construct(parsed.pattern, parsed.template, decoded)
    return compiler.select(parsed.pattern, parsed.variables, decoded)


def _in_forms(view: ClosureView, literals: bool) -> str:
    """What a pattern reads where several literals have one value: each in the forms that were met, as SQL. literals:
    those in classes are listed as objects only."""
    return f"({spelled_sql('fact', True) if literals else closure_sql(view.equality)})"


def _preferred(engine: Engine, ids: Mapping[str, int], prefer: Sequence[str]) -> dict[str, int]:
    """The ids of constants with preferred members in place of representatives."""
    listed = ", ".join(str(number) for number in sorted(set(ids.values())))
    preferred = preferred_sql(prefer, engine.dialect, listed)
    found = engine.query(f"SELECT representative, term FROM ({preferred}) p")
    members = dict(zip(found.column(0).to_pylist(), found.column(1).to_pylist(), strict=True))
    return {token: members.get(number, number) for token, number in ids.items()}


@dataclass(frozen=True, slots=True)
class Asked:
    """A statement, and the compilers that have written it; what these made beside it is dropped at the end."""

    sql: Statement
    compilers: list[Compiler]

    @property
    def constants(self) -> Constants:
        return self.compilers[-1].steps.constants

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for compiler in self.compilers:
            compiler.paths.scratch.__exit__(kind, error, trace)


_SUBJECT, _PREDICATE, _OBJECT = PLACES


def described(query: Query) -> Node | None:
    """The pattern of the triples (`PLACES`) of what a DESCRIBE asks for, distinct; None: it asks for nothing."""
    names = tuple(dict.fromkeys(target.token for target in query.targets if isinstance(target, Constant)))
    found: Node | None = None
    if query.pattern is not None:
        for target in query.targets:
            if isinstance(target, Variable):
                one = Project(Extend(query.pattern, _SUBJECT, target), (_SUBJECT,))
                found = one if found is None else Union(found, one)
    if found is None:
        return about(names)
    bound = Filter(found, Call("BOUND", (Variable(_SUBJECT),)))
    return _joined(Distinct(Union(bound, _inline(names)) if names else bound))


def about(subjects: tuple[str, ...]) -> Node | None:
    """The pattern of the triples (`PLACES`) with one of these subjects (tokens, distinct); None without any."""
    if len(subjects) != 1:
        return _joined(_inline(subjects)) if subjects else None
    subject = Constant(subjects[0])
    return Extend(Bgp(((subject, Variable(_PREDICATE), Variable(_OBJECT)),)), _SUBJECT, subject)


def _inline(subjects: tuple[str, ...]) -> Values:
    return Values((_SUBJECT,), tuple((token,) for token in subjects))


def _joined(subjects: Node) -> Node:
    return Join(subjects, Bgp(((Variable(_SUBJECT), Variable(_PREDICATE), Variable(_OBJECT)),)))
