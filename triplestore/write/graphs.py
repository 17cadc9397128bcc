"""Netting where there are named graphs: of quads, a change of `asserted`, which the rules see, and one of `quad`.

A triple is in a set of graphs before and after a change, and both tables follow from that set (`Membership`). In a
store whose default graph is the union, deleting a triple without the name of a graph deletes it from all of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from triplestore.closure.quads import named_sql, unnamed_sql
from triplestore.compile.schema import Fact
from triplestore.dictionary.encoding import lookup
from triplestore.engine.arrow import int64s
from triplestore.engine.sql import Scratch, common, count, minus
from triplestore.materialise.statements import triples_table
from triplestore.model.dataset import ASSERTED, DEFAULT, EVERYWHERE, INFERRED, TRIPLE, UNNAMED, DefaultGraph, Quad
from triplestore.model.errors import UsageError
from triplestore.model.tables import ASSERTED as ASSERTED_TABLE
from triplestore.model.tables import QUAD
from triplestore.read.workspace import Workspace
from triplestore.storage.manifest import Counters
from triplestore.storage.patches import TableRows
from triplestore.write.change import Change
from triplestore.write.table_changes import LoadedPatch, StoredPatch
from triplestore.write.transaction import Transaction

QuadIds = tuple[int, int, int, int]
"""Ids: graph, subject, predicate, object."""


def concerned(workspace: Workspace, *sides: Sequence[Quad]) -> bool:
    """Whether a change of quads has to do with named graphs: it names one, or the store has some."""
    return workspace.manifest.has_graphs or any(len(quad) > TRIPLE for side in sides for quad in side)


def names_of(quads: Iterable[Quad]) -> set[str]:
    """The tokens of quads that the dictionary has to have. Raises UsageError for names that are no graph's own."""
    return {token for quad in quads for token in (*quad[:TRIPLE], *(own_name(name) for name in quad[TRIPLE:])) if token}


def own_name(name: str) -> str:
    """The name of a graph, empty for the unnamed one."""
    if name == DEFAULT:
        return ""
    if name in (ASSERTED, INFERRED):
        raise UsageError(f"{name} is not a graph that can be changed: name a graph, or {DEFAULT}")
    return name


def with_ids(quads: Iterable[Quad], ids: Mapping[str, int], unnamed: int) -> set[QuadIds]:
    """Quads by ids, those with a term that has none left out. unnamed: what a triple without a graph's name is in."""
    found = set()
    for quad in quads:
        s, p, o = (ids.get(token) for token in quad[:TRIPLE])
        graph: int | None = unnamed
        if len(quad) > TRIPLE:
            name = own_name(quad[TRIPLE])
            graph = ids.get(name) if name else UNNAMED
        if s is not None and p is not None and o is not None and graph is not None:
            found.add((graph, s, p, o))
    return found


@dataclass(frozen=True, slots=True)
class Membership:
    """What the set of graphs of a triple makes of the tables. union: the default graph is the union."""

    union: bool

    @classmethod
    def of(cls, workspace: Workspace) -> Membership:
        """Of the version at hand."""
        return cls(workspace.manifest.default_graph == DefaultGraph.UNION)

    @property
    def unnamed(self) -> int:
        """Where a triple is deleted that no graph is named for."""
        return EVERYWHERE if self.union else UNNAMED

    def asserted(self, graphs: Collection[int]) -> bool:
        """Whether the rules see a triple of these graphs."""
        return bool(graphs) if self.union else UNNAMED in graphs

    def rows(self, graphs: Collection[int]) -> set[int]:
        """The graphs of the rows that `quad` has for a triple."""
        named = {graph for graph in graphs if graph != UNNAMED}
        return {*graphs} if named and self.union else named


def net_in_memory(
    workspace: Workspace,
    asserted: Collection[Fact],
    touched: Collection[Fact],
    wanted: Collection[QuadIds],
    unwanted: Collection[QuadIds],
) -> tuple[list[Fact], list[Fact], LoadedPatch | None, int]:
    """The net change of a few quads, of triples `touched`, of which `asserted` are asserted: triples that are asserted
    from now on, and no more; how `quad` changes; how many of the unwanted quads are neither there nor wanted."""
    kind, before = Membership.of(workspace), dict[Fact, set[int]]()
    for graph, s, p, o in _rows_of(workspace, touched):
        before.setdefault((s, p, o), set()).add(graph)
    for fact in asserted:
        if fact not in before or not kind.union:
            before.setdefault(fact, set()).add(UNNAMED)
    after = {fact: set(before.get(fact, ())) for fact in touched}
    for graph, s, p, o in unwanted:
        after[s, p, o] -= after[s, p, o] if graph == EVERYWHERE else {graph}
    for graph, s, p, o in wanted:
        after[s, p, o].add(graph)
    missing = 0
    for graph, s, p, o in unwanted:
        there = before.get((s, p, o), set()) | after[s, p, o]
        missing += not there if graph == EVERYWHERE else graph not in there
    added, removed = list[Fact](), list[Fact]()
    quads: tuple[list[QuadIds], list[QuadIds]] = [], []
    for fact in sorted(touched):
        graphs, now = before.get(fact, set()), after[fact]
        if kind.asserted(graphs) != kind.asserted(now):
            (added if kind.asserted(now) else removed).append(fact)
        rows, rows_now = kind.rows(graphs), kind.rows(now)
        quads[0].extend((graph, *fact) for graph in sorted(rows_now - rows))
        quads[1].extend((graph, *fact) for graph in sorted(rows - rows_now))
    patch = LoadedPatch(workspace, _quad_table(quads[0]), _quad_table(quads[1])) if quads[0] or quads[1] else None
    return added, removed, patch, missing


def _rows_of(workspace: Workspace, touched: Collection[Fact]) -> list[QuadIds]:
    """The rows of `quad` of some triples."""
    if not touched or not workspace.manifest.has_graphs:
        return []
    workspace.views(QUAD)
    with workspace.engine.scratch() as scratch:
        wanted = scratch.load("touched", triples_table(sorted(touched)))
        rows = workspace.engine.query(
            f"SELECT q.g, q.s, q.p, q.o FROM quad q JOIN {wanted} t ON t.s = q.s AND t.p = q.p AND t.o = q.o"
        )
    return list(zip(*(column.to_pylist() for column in rows.columns), strict=True))


def _quad_table(quads: Sequence[QuadIds]) -> pa.Table:
    columns = zip(*quads, strict=True) if quads else ((), (), (), ())
    return pa.table({name: int64s(column) for name, column in zip(QUAD.names, columns, strict=True)})


def load_quads(scratch: Scratch, label: str, quads: Collection[QuadIds]) -> str:
    """A working table of quads."""
    return scratch.load(label, _quad_table(sorted(quads)))


def net_in_tables(tx: Transaction, counters: Counters, wanted: str, unwanted: str | None) -> Change:
    """The net change of quads in working tables (g, s, p, o; distinct): of those in `unwanted`, then those in `wanted`.
    Makes the working tables `plus`, `minus`, `quad_plus` and `quad_minus`. not_asserted of the change: how many of the
    unwanted are neither there nor wanted."""
    engine, kind = tx.engine, Membership.of(tx.workspace)
    tx.workspace.views(ASSERTED_TABLE, QUAD)
    with engine.scratch() as scratch:
        both = f"SELECT s, p, o FROM {wanted}" + (f" UNION SELECT s, p, o FROM {unwanted}" if unwanted else "")
        touched = scratch.create("touched", f"SELECT DISTINCT s, p, o FROM ({both}) t")
        kept = scratch.create("quad_rows", _quads_among("quad", touched))
        alone = common("asserted", touched, "spo")
        if kind.union:
            alone = minus(f"({alone})", kept, "spo")
        unnamed = f"SELECT CAST({UNNAMED} AS BIGINT) AS g, s, p, o FROM ({alone}) a"
        before = scratch.create("before", f"SELECT g, s, p, o FROM {kept} UNION ALL {unnamed}")
        after, missing = scratch.table("after"), 0
        if unwanted is None:
            engine.create(after, f"SELECT g, s, p, o FROM {before} UNION SELECT g, s, p, o FROM {wanted}")
        else:
            hit = f"u.s = b.s AND u.p = b.p AND u.o = b.o AND (u.g = b.g OR u.g = {EVERYWHERE})"
            left = f"SELECT g, s, p, o FROM {before} b WHERE NOT EXISTS (SELECT 1 FROM {unwanted} u WHERE {hit})"
            either = f"SELECT g, s, p, o FROM {before} UNION ALL SELECT g, s, p, o FROM {wanted}"
            missing = count(engine, f"{unwanted} u WHERE NOT EXISTS (SELECT 1 FROM ({either}) b WHERE {hit})")
            engine.create(after, f"{left} UNION SELECT g, s, p, o FROM {wanted}")
        seen = [_seen(name, kind) for name in (before, after)]
        added = engine.create("plus", minus(f"({seen[1]})", f"({seen[0]})", "spo"))
        removed = engine.create("minus", minus(f"({seen[0]})", f"({seen[1]})", "spo"))
        stored = [scratch.create("stored", _stored(name, kind)) for name in (before, after)]
        plus = engine.create("quad_plus", minus(stored[1], stored[0], QUAD.names))
        less = engine.create("quad_minus", minus(stored[0], stored[1], QUAD.names))
    patch = None
    if plus or less:
        patch = StoredPatch(tx.workspace, TableRows(engine, "quad_plus", plus), TableRows(engine, "quad_minus", less))
    return Change(added, removed, counters, missing, quads=patch)


def _seen(quads: str, kind: Membership) -> str:
    """What is asserted of the triples of a table (g, s, p, o), as SQL."""
    return f"SELECT DISTINCT s, p, o FROM {quads}" if kind.union else f"SELECT s, p, o FROM {quads} WHERE g = {UNNAMED}"


def _stored(quads: str, kind: Membership) -> str:
    """The rows of `quad` of the triples of a table (g, s, p, o), as SQL."""
    named = f"{quads} WHERE g <> {UNNAMED}"
    if not kind.union:
        return f"SELECT g, s, p, o FROM {named}"
    return _quads_among(quads, f"(SELECT DISTINCT s, p, o FROM {named})")


def _quads_among(quads: str, triples: str) -> str:
    """The rows of a table (g, s, p, o) whose triples are among others, as SQL."""
    same = "t.s = q.s AND t.p = q.p AND t.o = q.o"
    return f"SELECT q.g, q.s, q.p, q.o FROM {quads} q WHERE EXISTS (SELECT 1 FROM {triples} t WHERE {same})"


def id_of(workspace: Workspace, graph: str) -> int | None:
    """The id of a graph's name (a token; `DEFAULT`: of the unnamed one); None where the dictionary has no such name."""
    return UNNAMED if graph == DEFAULT else lookup(workspace.engine, [graph]).get(graph)


def content(workspace: Workspace, graph: int | None) -> str:
    """The triples of a graph, by the id of its name (UNNAMED for the unnamed one; None: there is no such graph), as SQL
    over `asserted` and `quad`."""
    if graph == UNNAMED:
        return unnamed_sql(Membership.of(workspace).union)
    return f"SELECT s, p, o FROM ({named_sql([] if graph is None else [graph])}) q"


def all_of(workspace: Workspace, scratch: Scratch, graph: str) -> str:
    """A working table of all triples of a graph, or (without a name) of all graphs, to be deleted there."""
    place, triples = EVERYWHERE, "SELECT s, p, o FROM asserted UNION SELECT s, p, o FROM quad"
    if graph:
        found = id_of(workspace, graph)
        place, triples = UNNAMED if found is None else found, content(workspace, found)
    return scratch.create("unwanted", f"SELECT CAST({place} AS BIGINT) AS g, s, p, o FROM ({triples}) t")


def facts_of(tx: Transaction, change: Change) -> tuple[list[Fact], list[Fact]]:
    """The triples of the working tables `plus` and `minus`; a table is read only if the change has rows for it."""
    found: list[list[Fact]] = []
    for name, size in (("plus", change.added), ("minus", change.removed)):
        if not size:
            found.append([])
            continue
        rows = tx.engine.query(f"SELECT s, p, o FROM {name}")
        found.append(sorted(zip(*(column.to_pylist() for column in rows.columns), strict=True)))
    return found[0], found[1]
