"""The graphs of a store: which there are, their sizes, and their quads."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from triplestore.closure.expand import tokens_sql
from triplestore.closure.quads import named_sql, quads_sql, unnamed_sql
from triplestore.dictionary.encoding import decode, lookup
from triplestore.engine.sql import count
from triplestore.materialise.statements import triples_table
from triplestore.model.dataset import DEFAULT, UNNAMED, DefaultGraph, Quad
from triplestore.model.tables import ASSERTED, QUAD, SAME_AS, TERM, token_sql
from triplestore.read.names import graph_token
from triplestore.read.session import Session

Triple = tuple[str, str, str]
"""Three tokens."""


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


def number(session: Session) -> int:
    """How many named graphs there are."""
    if not session.manifest.has_graphs:
        return len(session.manifest.graphs)
    return len(graphs(session)) - 1 if session.manifest.graphs else _numbered(session)


def _numbered(session: Session) -> int:
    session.workspace.views(QUAD)
    return count(session.engine, f"(SELECT DISTINCT g FROM ({named_sql()}) q) n")


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


def graphs_of(session: Session, triples: Collection[Triple]) -> dict[Triple, tuple[str, ...]]:
    """The graphs (tokens) that assert each of some triples (tokens), as far as the rules see them; nothing in a store
    without named graphs, or whose default graph is the unnamed one."""
    if not _several(session):
        return {}
    ids = lookup(session.engine, {token for triple in triples for token in triple})
    facts = {tuple(ids[t] for t in triple): triple for triple in triples if all(t in ids for t in triple)}
    found = _names(session, facts, quads_sql(union(session)))
    return {facts[fact]: graphs for fact, graphs in found.items()}


def graphs_of_facts(session: Session, facts: Collection[tuple[int, ...]]) -> dict[tuple[int, ...], tuple[str, ...]]:
    """The graphs (tokens) that assert triples which stand for some facts (ids); see `graphs_of`."""
    if not _several(session):
        return {}
    columns = ", ".join(f"coalesce({c}m.representative, q.{c}) AS {c}" for c in "spo")
    joins = " ".join(f"LEFT JOIN same_as {c}m ON {c}m.term = q.{c}" for c in "spo")
    return _names(session, facts, f"SELECT DISTINCT q.g, {columns} FROM ({quads_sql(union(session))}) q {joins}")


def _several(session: Session) -> bool:
    """Whether what the rules see comes from several graphs; if so, their tables can be read."""
    session.workspace.views(TERM, ASSERTED, QUAD, SAME_AS)
    return union(session) and session.manifest.has_graphs


def _names(session: Session, facts: Collection[tuple[int, ...]], quads: str) -> dict[tuple[int, ...], tuple[str, ...]]:
    """The names of the graphs of some triples (ids) among quads, a SELECT (g, s, p, o)."""
    engine, found = session.engine, dict[tuple[int, ...], list[int]]()
    with engine.scratch() as scratch:
        wanted = scratch.load("wanted", triples_table(sorted(facts)))  # type: ignore[arg-type]
        same = "w.s = q.s AND w.p = q.p AND w.o = q.o"
        for s, p, o, graph in engine.rows(
            f"SELECT q.s, q.p, q.o, q.g FROM ({quads}) q JOIN {wanted} w ON {same} ORDER BY q.g"
        ):
            found.setdefault((s, p, o), []).append(graph)
    names = decode(engine, {graph for graphs in found.values() for graph in graphs if graph != UNNAMED})
    names[UNNAMED] = DEFAULT
    return {fact: tuple(names[graph] for graph in graphs) for fact, graphs in found.items()}


def matching(session: Session, pattern: Sequence[str | None], graph: str | None) -> Iterator[list[Quad]]:
    """The asserted quads (tokens) that have the terms of a pattern (None is any), in batches. graph: only those in this
    graph (`DEFAULT`: the unnamed one)."""
    session.workspace.views(TERM, ASSERTED, QUAD)
    engine, tokens = session.engine, [token for token in (*pattern, graph) if token not in (None, DEFAULT)]
    ids = lookup(engine, [str(token) for token in tokens])
    if len(ids) < len(set(tokens)):
        return
    bound = [f"{c} = {ids[token]}" for c, token in zip("spo", pattern, strict=True) if token is not None]
    if graph is not None:
        bound.append(f"g = {UNNAMED if graph == DEFAULT else ids[graph]}")
    where = f" WHERE {' AND '.join(bound)}" if bound else ""
    yield from _tokens(session, f"SELECT g, s, p, o FROM ({quads_sql(union(session))}) a{where}")


def asserted_in(session: Session, triples: Sequence[Triple]) -> list[list[str]]:
    """The graphs of each of some asserted triples of the default graph, by name; the unnamed one (`DEFAULT`) first."""
    if not session.manifest.has_graphs:
        return [[DEFAULT] for _ in triples]
    session.workspace.views(TERM, ASSERTED, QUAD)
    ids = lookup(session.engine, {token for triple in triples for token in triple})
    keys = [(ids[s], ids[p], ids[o]) for s, p, o in triples]
    found = _names(session, set(keys), quads_sql(union(session)))
    return [sorted(found[key], key=lambda name: (name != DEFAULT, name)) for key in keys]


def content_sql(session: Session, graph: str) -> str:
    """The triples (s, p, o: ids) of a graph (`DEFAULT`: the unnamed one), as SQL."""
    session.workspace.views(TERM, ASSERTED, QUAD)
    if graph == DEFAULT:
        return unnamed_sql(union(session))
    return f"SELECT s, p, o FROM ({named_sql([*lookup(session.engine, [graph]).values()])}) q"


def token_batches(session: Session, graph: str, grouped: bool) -> Iterator[list[tuple[str, str, str]]]:
    """The triples of a graph (an IRI, or a token) as tokens, in batches. grouped: those of a subject come together."""
    for batch in session.engine.batches(tokens_sql(content_sql(session, graph_token(graph)), grouped)):
        yield list(zip(*(column.to_pylist() for column in batch.columns), strict=True))


def quad_batches(session: Session, ordered: bool) -> Iterator[list[Quad]]:
    """All quads as tokens, in batches, those of the unnamed graph as triples. ordered: those of a graph come together,
    of these those of a subject."""
    session.workspace.views(TERM, ASSERTED, QUAD)
    yield from _tokens(session, quads_sql(union(session)), " ORDER BY q.g, q.s, q.p, q.o" if ordered else "")


def _tokens(session: Session, quads: str, order: str = "") -> Iterator[list[Quad]]:
    """The quads of a SELECT (g, s, p, o) as tokens, in batches."""
    columns = ", ".join(f"{token_sql(f'{c}_term')} AS {c}" for c in "spo")
    joins = " ".join(f"JOIN term {c}_term ON {c}_term.id = q.{c}" for c in "spo")
    graph = f"CASE WHEN q.g = {UNNAMED} THEN '' ELSE {token_sql('g_term')} END AS g"
    joins += " LEFT JOIN term g_term ON g_term.id = q.g"
    sql = f"SELECT {columns}, {graph} FROM ({quads}) q {joins}{order}"
    for batch in session.engine.batches(sql):
        rows: Sequence[tuple[str, str, str, str]] = list(
            zip(*(column.to_pylist() for column in batch.columns), strict=True)
        )
        yield [row if row[3] else row[:3] for row in rows]
