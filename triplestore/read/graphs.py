"""The graphs of a store: which there are, their sizes, and their quads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from triplestore.closure.expand import tokens_sql
from triplestore.closure.quads import named_sql, quads_sql, unnamed_sql
from triplestore.dictionary.encoding import decode, lookup
from triplestore.engine.queries import count
from triplestore.materialise.statements import triples_table
from triplestore.model.dataset import DEFAULT, UNNAMED, DefaultGraph, Quad
from triplestore.model.tables import ASSERTED, QUAD, TERM, token_sql
from triplestore.read.session import Session

TokenTriple = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class GraphSize:
    """A graph: its name (a token; `DEFAULT` for the unnamed one), and how many triples it has."""

    name: str
    triples: int


def graphs(session: Session) -> list[GraphSize]:
    """The unnamed graph, then the named ones by their names, with their sizes."""
    session.workspace.views(TERM, ASSERTED, QUAD)
    engine, manifest = session.engine, session.manifest
    if not manifest.has_graphs:
        named: dict[str, int] = {}
        unnamed = manifest.files_of(ASSERTED.name).rows
    else:
        sizes = dict(engine.rows(f"SELECT g, count(*) AS n FROM ({named_sql()}) q GROUP BY g"))
        named = {token: sizes[number] for number, token in decode(engine, sizes).items()}
        unnamed = count(engine, f"({unnamed_sql(union(session))}) u")
    found = dict.fromkeys(manifest.graphs, 0) | named
    return [GraphSize(DEFAULT, unnamed), *(GraphSize(name, found[name]) for name in sorted(found))]


def union(session: Session) -> bool:
    """Whether the default graph is the union of all graphs."""
    return session.manifest.default_graph == DefaultGraph.UNION


def exists(session: Session, graph: str) -> bool:
    """Whether there is a named graph."""
    if graph in session.manifest.graphs:
        return True
    session.workspace.views(TERM, QUAD)
    ids = lookup(session.engine, [graph])
    return graph in ids and bool(session.engine.rows(f"SELECT g FROM quad WHERE g = {ids[graph]} LIMIT 1"))


def asserted_in(session: Session, triples: Sequence[TokenTriple]) -> list[list[str]]:
    """The graphs of each of some asserted triples of the default graph, by name; the unnamed one (`DEFAULT`) first."""
    engine, manifest = session.engine, session.manifest
    if not manifest.has_graphs:
        return [[DEFAULT] for _ in triples]
    session.workspace.views(TERM, QUAD)
    ids = lookup(engine, {token for triple in triples for token in triple})
    keys = [(ids[s], ids[p], ids[o]) for s, p, o in triples]
    with engine.scratch() as scratch:
        wanted = scratch.load("wanted", triples_table(sorted(set(keys))))
        same = "w.s = q.s AND w.p = q.p AND w.o = q.o"
        rows = engine.rows(f"SELECT q.g, q.s, q.p, q.o FROM quad q JOIN {wanted} w ON {same}")
    named: dict[tuple[int, int, int], set[int]] = {}
    for graph, s, p, o in rows:
        named.setdefault((s, p, o), set()).add(graph)
    names = decode(engine, {row[0] for row in rows} - {UNNAMED})
    found = []
    for key in keys:
        graphs = named.get(key, set())
        unnamed = not graphs or UNNAMED in graphs or not union(session)
        found.append([DEFAULT] * unnamed + sorted(names[graph] for graph in graphs - {UNNAMED}))
    return found


def content_sql(session: Session, graph: str) -> str:
    """The triples (s, p, o: ids) of a graph (`DEFAULT`: the unnamed one), as SQL."""
    session.workspace.views(TERM, ASSERTED, QUAD)
    if graph == DEFAULT:
        return unnamed_sql(union(session))
    return f"SELECT s, p, o FROM ({named_sql([*lookup(session.engine, [graph]).values()])}) q"


def token_batches(session: Session, graph: str, grouped: bool) -> Iterator[list[tuple[str, str, str]]]:
    """The triples of a graph as tokens, in batches. grouped: those of a subject come together."""
    for batch in session.engine.batches(tokens_sql(content_sql(session, graph), grouped)):
        yield list(zip(*(column.to_pylist() for column in batch.columns), strict=True))


def quad_batches(session: Session, ordered: bool) -> Iterator[list[Quad]]:
    """All quads as tokens, in batches, those of the unnamed graph as triples. ordered: those of a graph come together,
    of these those of a subject."""
    session.workspace.views(TERM, ASSERTED, QUAD)
    columns = ", ".join(f"{token_sql(f'{c}_term')} AS {c}" for c in "spo")
    joins = " ".join(f"JOIN term {c}_term ON {c}_term.id = q.{c}" for c in "spo")
    graph = f"CASE WHEN q.g = {UNNAMED} THEN '' ELSE {token_sql('g_term')} END AS g"
    joins += " LEFT JOIN term g_term ON g_term.id = q.g"
    order = " ORDER BY q.g, q.s, q.p, q.o" if ordered else ""
    sql = f"SELECT {columns}, {graph} FROM ({quads_sql(union(session))}) q {joins}{order}"
    for batch in session.engine.batches(sql):
        rows: Sequence[tuple[str, str, str, str]] = list(
            zip(*(column.to_pylist() for column in batch.columns), strict=True)
        )
        yield [row if row[3] else row[:3] for row in rows]
