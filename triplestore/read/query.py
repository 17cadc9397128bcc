"""Answering: queries, and the triples of a store, over the closure with all equalities expanded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Final

from triplestore.closure import expand
from triplestore.dictionary import encoding
from triplestore.model.dataset import DefaultGraph
from triplestore.model.errors import UsageError
from triplestore.model.tables import ASSERTED, FACT, QUERIED, SAME_AS, STATISTIC, TERM
from triplestore.model.terms import from_rdflib, to_rdflib, to_rdflib_all
from triplestore.model.thresholds import SIZES
from triplestore.read.names import graph_token
from triplestore.read.session import Session
from triplestore.read.thresholds import THRESHOLDS
from triplestore.storage import statistics
from triplestore.storage.manifest import Manifest
from triplestore.storage.statistics import Statistics

if TYPE_CHECKING:
    from rdflib.term import Node

    from triplake.sparql import Graph, Result
    from triplake.sparql.algebra import Values
    from triplake.sparql.constants import Known
    from triplake.sparql.explain import QueryExplanation

KNOWN: Final = "known"
"""The key of what queries have looked up in a version, a `Known`, in the workspace's cache."""

TokenTriple = tuple[str, str, str]
Triple = tuple["Node", "Node", "Node"]


def query(
    session: Session,
    text: str,
    same_as: str,
    stream: bool,
    generalised: bool,
    prefer: Sequence[str],
    base: str | None,
    default_graphs: Sequence[str] = (),
    named_graphs: Sequence[str] = (),
    bindings: Mapping[str, object] | None = None,
) -> Result:
    """See `Store.query`."""
    from triplake.sparql import query as run_query  # when asked for: other commands start without it
    from triplake.sparql.dataset import dataset_of

    dataset = dataset_of([graph_token(name) for name in default_graphs], [graph_token(name) for name in named_graphs])
    given = None if bindings is None else _inline(bindings)
    return run_query(graph(session, generalised), text, same_as, stream, base, prefer, dataset, given)


def _inline(bindings: Mapping[str, object]) -> Values:
    """Bindings as inline data of one row. Raises UsageError for what is not a variable's name, or not its value."""
    from rdflib.term import Literal, Node

    from triplake.sparql.algebra import Values

    if not isinstance(bindings, Mapping) or not all(isinstance(name, str) for name in bindings):
        raise UsageError(f"bindings are a dict, variables -> rdflib terms or Python values: not {bindings!r}")
    names = [name.removeprefix("?").removeprefix("$") for name in bindings]
    for name in names:
        if not name.isidentifier():
            raise UsageError(f"bindings are by the names of variables, such as 'name': not {name!r}")
    terms = [value if isinstance(value, Node) else Literal(value) for value in bindings.values()]
    for name, term, value in zip(names, terms, bindings.values(), strict=True):
        if not isinstance(value, Node | str) and isinstance(term, Literal) and term.datatype is None:
            raise UsageError(f"the binding of {name} is not a value of a literal: give an rdflib term, not {value!r}")
    return Values(tuple(names), (tuple(from_rdflib(term) for term in terms),))


def explain_query(
    session: Session, text: str, same_as: str, prefer: Sequence[str], base: str | None
) -> QueryExplanation:
    """See `Store.explain_query`."""
    from triplake.sparql import explain as explain_query

    return explain_query(graph(session), text, same_as, prefer, base)


def graph(session: Session, generalised: bool = False) -> Graph:
    """What queries read; see `Store.query`."""
    from triplake.sparql import Graph

    session.readable()
    manifest, workspace, engine = session.manifest, session.workspace, session.engine
    workspace.views(*QUERIED)
    view = session.view
    if not workspace.cache.has(KNOWN, manifest):
        session.asked = 0
    session.asked += 1
    if session.asked > THRESHOLDS.often and engine.resident and not workspace.in_place:
        workspace.tables(*QUERIED)
    if session.asked == max(THRESHOLDS.very_often, manifest.files_of(FACT.name).rows // SIZES.rows):
        workspace.indexed()
    known = workspace.cache.get(KNOWN, manifest, lambda: known_of(manifest, workspace.cache.last(KNOWN)))
    if known.linked is None:  # a job of its own is too much to ask on Spark
        known.linked = view.classes > 0 or not engine.resident or bool(engine.rows(expand.REFLEXIVE))
    union = manifest.default_graph == DefaultGraph.UNION
    return Graph(
        engine,
        view,
        generalised,
        known,
        _counts(session),
        manifest.prefixes,
        union,
        session.services,
        made=manifest.graphs,
        types=lambda: workspace.object_types,
    )


def known_of(manifest: Manifest, before: tuple[Manifest, Known] | None) -> Known:
    """What queries of a version may take for known, as far as it was looked up in the version before."""
    from triplake.sparql.constants import Known

    if before is None:
        return Known()
    then, known = before
    if not manifest.files_of(TERM.name).extend(then.files_of(TERM.name)):
        return Known()
    return known.later(then.files_of(SAME_AS.name) == manifest.files_of(SAME_AS.name))


def _counts(session: Session) -> Statistics:
    """What is known of the closure for the order of joins."""
    stored, facts = (session.manifest.files_of(table.name) for table in (STATISTIC, FACT))

    def made() -> Statistics:
        if stored.files:
            session.workspace.views(STATISTIC)
            return statistics.read(session.engine)
        if facts.rows <= SIZES.small and session.engine.resident:
            return statistics.counted(session.engine)
        return Statistics()

    return session.workspace.cache.get("statistics", stored if stored.files else facts, made)


def token_batches(
    session: Session, what: str, same_as: str, virtual: bool, prefer: Sequence[str] = (), grouped: bool = False
) -> Iterator[list[TokenTriple]]:
    """See `Store.token_batches`."""
    triples = _shown_sql(session, what, same_as, virtual, prefer)
    for batch in session.engine.batches(expand.tokens_sql(triples, grouped)):
        yield list(zip(*(column.to_pylist() for column in batch.columns), strict=True))


def triples(session: Session, what: str, same_as: str, virtual: bool) -> Iterator[list[Triple]]:
    """See `Store.triples`; some at a time."""
    for rows in token_batches(session, what, same_as, virtual):
        for start in range(0, len(rows), SIZES.objects):
            yield [(to_rdflib(s), to_rdflib(p), to_rdflib(o)) for s, p, o in rows[start : start + SIZES.objects]]


def lines(
    session: Session, what: str, same_as: str, ordered: bool, virtual: bool, prefer: Sequence[str]
) -> Iterator[list[str]]:
    """See `Store.lines`."""
    engine, triples = session.engine, _shown_sql(session, what, same_as, virtual, prefer)
    sql = expand.ntriples_sql(triples, engine.dialect)
    for batch in engine.batches(f"SELECT line FROM ({sql}) l" + (" ORDER BY line" if ordered else "")):
        yield batch.column(0).to_pylist()


def matching(session: Session, pattern: Sequence[str | None], what: str) -> Iterator[list[Triple]]:
    """The triples, of a part of the closure, that have the terms of a pattern (tokens; None is any), some at a time."""
    if what not in expand.WHAT:
        raise UsageError(f"no part '{what}' of a store; give one of {', '.join(expand.WHAT)}")
    if what != "asserted":
        session.readable()
    if session.lookups is not None and what != "inferred":
        index = session.lookups.index(session.workspace, what, pattern)
        if index is not None:
            yield from index.find(pattern)
            return
    found = _tokens_matching(session, pattern, what)
    size = 1
    while rows := list(islice(found, size)):
        terms = iter(to_rdflib_all(chain.from_iterable(rows)))
        yield list(zip(terms, terms, terms, strict=True))
        size = SIZES.objects


def _tokens_matching(session: Session, pattern: Sequence[str | None], what: str) -> Iterator[TokenTriple]:
    """As `matching`, by statements."""
    if what == "asserted" or all(token is None for token in pattern):
        yield from _among(session, pattern, what)
        return
    from triplake.sparql import match

    given = _among_sql(session, pattern, "asserted") if what == "inferred" else None
    without = None if given is None else f"SELECT s AS c0, p AS c1, o AS c2 FROM ({given}) g"
    yield from match(graph(session), pattern, without).tokens()  # type: ignore[misc]


def _among(session: Session, pattern: Sequence[str | None], what: str) -> Iterator[TokenTriple]:
    """As `matching`, by going through all that there is."""
    sql = _among_sql(session, pattern, what)
    for batch in session.engine.batches(sql) if sql is not None else ():
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def _among_sql(session: Session, pattern: Sequence[str | None], what: str) -> str | None:
    """The SELECT of these triples (s, p, o: tokens); None where a term of the pattern is nowhere."""
    session.workspace.views(TERM)
    ids = encoding.lookup(session.engine, (token for token in pattern if token is not None))
    if any(token is not None and token not in ids for token in pattern):
        return None
    bound = [f"{c} = {ids[token]}" for c, token in zip("spo", pattern, strict=True) if token is not None]
    where = f" WHERE {' AND '.join(bound)}" if bound else ""
    return expand.tokens_sql(f"SELECT s, p, o FROM ({_triples_sql(session, what, 'expand')}) t{where}")


def _shown_sql(session: Session, what: str, same_as: str, virtual: bool, prefer: Sequence[str] = ()) -> str:
    """The triples of `_triples_sql`, canonical ones with the members that stand for their classes."""
    triples = _triples_sql(session, what, same_as, virtual)
    canonical = same_as == "canonical" and what != "asserted"
    if prefer and not canonical:
        raise UsageError("a preferred prefix chooses one member of each class: ask for canonical triples too")
    if not canonical or not session.manifest.stats.get("classes", 0):
        return triples
    return expand.shown_sql(triples, expand.preferred_sql(prefer, session.engine.dialect))


def _triples_sql(session: Session, what: str, same_as: str, virtual: bool = False) -> str:
    if what != "asserted":
        session.readable()
    session.workspace.views(ASSERTED, FACT, SAME_AS, TERM)
    return expand.triples_sql(session.view, what, same_as, virtual)
