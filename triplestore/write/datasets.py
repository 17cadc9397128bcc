"""A store as a dataset: what its default graph is, and what each of its graphs supports."""

from __future__ import annotations

from dataclasses import dataclass

from triplestore.closure.quads import named_sql, quads_sql, unnamed_sql
from triplestore.dictionary.encoding import Numbered, lookup
from triplestore.engine.sql import common, count, minus
from triplestore.model.dataset import UNNAMED, DefaultGraph
from triplestore.model.errors import UsageError
from triplestore.model.report import ClassDiff, UpdateReport
from triplestore.model.tables import ASSERTED, QUAD, TERM
from triplestore.read.graphs import content_sql, exists, union
from triplestore.read.session import Session
from triplestore.storage.manifest import FORMAT
from triplestore.storage.patches import TableRows
from triplestore.write.admin import default_graph_of
from triplestore.write.change import Change, ChangeSet
from triplestore.write.commit import commit, publish, stage
from triplestore.write.table_changes import StoredPatch
from triplestore.write.transaction import Transaction, retried, writing
from triplestore.write.update import netted
from triplestore.write.update_files import apply_files


@dataclass(frozen=True, slots=True)
class GraphSupport:
    """What a graph alone supports, that would go without it.

    triples: in the graph. alone: of these, in no other one. facts: stored facts that would go, asserted and inferred.
    classes: of equal terms, those that would split.
    """

    triples: int
    alone: int
    facts: int
    classes: ClassDiff


def support(session: Session, graph: str) -> GraphSupport:
    """See `Store.graph_support`."""
    session.newest()
    if not exists(session, graph):
        raise UsageError(f"there is no graph {graph} in {session.path}: `triplake graphs {session.path}` lists them")
    engine, content = session.engine, content_sql(session, graph)
    own = ", ".join(str(number) for number in lookup(engine, [graph]).values()) or "NULL"
    others = f"(SELECT s, p, o FROM ({quads_sql(union(session))}) q WHERE g NOT IN ({own}))"
    triples = count(engine, f"({content}) c")
    alone = count(engine, f"({minus(f'({content})', others, 'spo')}) c")
    dropped = (), (), (), None, (graph,)
    (report,) = apply_files(session, *dropped, 1, "auto", True, None, lambda found: None)
    return GraphSupport(triples, alone, report.deleted, report.classes or ClassDiff(0, (), 0, ()))


@retried
def change_default_graph(session: Session, name: str, algorithm: str) -> UpdateReport:
    """See `Store.change_default_graph`."""
    wanted = default_graph_of(name)
    with writing(session, "graphs") as tx:
        if wanted == session.manifest.default_graph:
            return tx.report()
        tx.default_graph = wanted
        change = _seen_otherwise(tx, wanted)
        return commit(tx, netted(tx, change, algorithm, Numbered({}, {}, {}, (), change.counters), None))


def _seen_otherwise(tx: Transaction, wanted: DefaultGraph) -> Change:
    """The change of `asserted` and `quad` where the rules are to see all graphs, or the unnamed one."""
    engine, counters = tx.engine, tx.workspace.manifest.counters
    tx.workspace.views(ASSERTED, QUAD, TERM)
    nothing = f"SELECT {QUAD.select} FROM quad WHERE FALSE"
    if wanted == DefaultGraph.UNION:
        named = f"(SELECT DISTINCT s, p, o FROM ({named_sql()}) q)"
        added = engine.create("plus", minus(named, "asserted", "spo"))
        removed = engine.create("minus", "SELECT s, p, o FROM asserted WHERE FALSE")
        both = f"SELECT CAST({UNNAMED} AS BIGINT) AS g, s, p, o FROM ({common('asserted', named, 'spo')}) b"
        plus, less = engine.create("quad_plus", both), engine.create("quad_minus", nothing)
    else:
        added = engine.create("plus", "SELECT s, p, o FROM asserted WHERE FALSE")
        removed = engine.create("minus", minus("asserted", f"({unnamed_sql(union=True)})", "spo"))
        unnamed = f"SELECT {QUAD.select} FROM quad WHERE g = {UNNAMED}"
        plus, less = engine.create("quad_plus", nothing), engine.create("quad_minus", unnamed)
    engine.create("new_term", f"SELECT {TERM.select} FROM term WHERE FALSE")
    patch = StoredPatch(tx.workspace, TableRows(engine, "quad_plus", plus), TableRows(engine, "quad_minus", less))
    return Change(added, removed, counters, quads=patch if plus or less else None)


@retried
def upgrade(session: Session) -> bool:
    """See `Store.upgrade`."""
    with writing(session, "upgrade") as tx:
        if session.versions.format == FORMAT:
            return False
        counters = session.manifest.counters
        stage(tx, ChangeSet(Change(0, 0, counters), counters))
        publish(tx, tx.report())
        return True
