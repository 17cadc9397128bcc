"""Files of triples, loaded: added to what is asserted, or in its place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, NamedTuple

from triplake.loaders import MOST, LoadReport, OnError, Progress, Source, discard, given_sources, read_into
from triplestore.engine.dialect import Dialect
from triplestore.engine.sql import Scratch, count
from triplestore.model.dataset import DEFAULT, PARTS
from triplestore.model.errors import InputError, UsageError
from triplestore.model.stopping import check
from triplestore.model.tables import ASSERTED, QUAD, TERM, token_sql
from triplestore.read.names import graph_token
from triplestore.read.session import Session
from triplestore.storage.manifest import Counters
from triplestore.write import in_tables
from triplestore.write.change import Change, ChangeSet
from triplestore.write.commit import commit, dry_run
from triplestore.write.graphs import content, id_of, own_name
from triplestore.write.netting import encoded, net_encoded
from triplestore.write.transaction import Transaction, writing
from triplestore.write.update import graphs_only, netted

_NAMED: Final = 10
"""Files that are not read of which each is named."""

_DIGITS: Final = 18
_SCOPED: Final = rf"f[0-9]{{1,{_DIGITS}}}[_g].*"
"""The labels of blank nodes that files gave (see `triplake.loaders.tokens.Scope`), without `_:`."""


@dataclass(frozen=True, slots=True)
class Into:
    """Where what files have in no named graph goes: into a graph (a token; empty or `DEFAULT`: the unnamed one), or
    (per_file) into one of each file, named by the file's `file:` IRI."""

    name: str = ""
    per_file: bool = False

    @classmethod
    def graph(cls, name: str, per_file: bool = False) -> Into:
        """By a name as users write it. Raises UsageError for what names no graph, or two."""
        if name and per_file:
            raise UsageError("give one graph, or a graph for each file, not both")
        return cls(graph_token(name) if name else "", per_file)

    def of(self, source: Source) -> str:
        """The name (a token) of a file's graph, empty for the unnamed one. Raises UsageError where it has none."""
        if self.per_file:
            if source.base == "":
                raise UsageError(f"{source.name} is not a file whose IRI could name a graph: give the graph's IRI")
            return f"<{source.base or source.place}>"
        return own_name(self.name) if self.name else ""


def load(
    session: Session,
    files: Sequence[object],
    format: str | None,
    materialise: bool,
    on_error: OnError,
    rejects: str | Path | None,
    algorithm: str,
    base: str | None,
    into: Into,
    data: str | bytes | None = None,
    most: int = MOST,
    dry: bool = False,
) -> LoadReport:
    """See `Store.load`. dry: a dry run."""
    with _given(session, files, format, on_error == "skip", data, most) as found, writing(session, "load", dry) as tx:
        report, new_terms, counters = _read(session, tx, found, on_error, rejects, base, into)
        return add_encoded(tx, session, report, new_terms, counters, algorithm if materialise else None, into, dry)


def add_encoded(
    tx: Transaction,
    session: Session,
    report: LoadReport,
    new_terms: int,
    counters: Counters,
    algorithm: str | None,
    into: Into,
    dry: bool = False,
) -> LoadReport:
    """Add the triples in working table `encoded`, which were read as the report says. algorithm: by which the closure
    is maintained; None: not now. dry: a dry run."""
    change = net_encoded(tx, counters, graphs_too=several(session, report, into.name))
    if into.name and own_name(into.name) and not report.triples:
        tx.graphs = tuple(dict.fromkeys((*tx.graphs, into.name)))
    session.notify(f"encoded {change.added:,} new triples, {new_terms:,} new terms {_rate(report.triples, tx.seconds)}")
    _told(session, tx, report)
    if dry:
        return _tried(tx, change, report, algorithm)
    if change or (algorithm is not None and not session.manifest.materialised):
        commit(tx, _maintained(tx, change, algorithm))
    elif change.quads is not None:
        commit(tx, graphs_only(tx, change))
    elif not tx.same:
        session.workspace.forget()
        commit(tx, ChangeSet(change, session.manifest.counters))
    else:
        session.versions.settle()
        session.notify(f"nothing new: the store stays at version {session.manifest.version}")
        session.workspace.forget()
    return report


def _maintained(tx: Transaction, change: Change, algorithm: str | None) -> ChangeSet:
    """The change set of a change that was netted in tables. algorithm: None leaves the closure as it is."""
    return in_tables.maintained(tx, change, None) if algorithm is None else netted(tx, change, algorithm)


def _tried(tx: Transaction, change: Change, report: LoadReport, algorithm: str | None) -> LoadReport:
    """The report, with what the change would do."""
    if change or (algorithm is not None and not tx.before.materialised):
        found = _maintained(tx, change, algorithm)
    else:
        found = graphs_only(tx, change)
    effect = dry_run(tx, found)
    tx.workspace.forget(tx.before)
    return replace(report, effect=effect)


def replace_all(
    session: Session,
    files: Sequence[str | Path],
    format: str | None,
    base: str | None,
    graph: str,
    dry: bool = False,
) -> LoadReport:
    """See `Store.replace`. dry: a dry run."""
    name = graph_token(graph) if graph else ""
    with _given(session, files, format) as found, writing(session, "replace", dry) as tx:
        report, _, counters = _read(session, tx, found, "stop", None, base, Into(name), replacing=True)
        change = net_encoded(tx, counters, replacing=True, graphs_too=several(session, report, name), graph=name)
        if not name:
            tx.graphs = ()
        elif own_name(name) and not report.triples:
            tx.graphs = tuple(dict.fromkeys((*tx.graphs, name)))
        _told(session, tx, report)
        if dry:
            return _tried(tx, change, report, "auto")
        if change or not session.manifest.materialised:
            commit(tx, _maintained(tx, change, "auto"))
        elif change.quads is not None or tx.graphs != session.manifest.graphs:
            commit(tx, graphs_only(tx, change))
        return report


def several(session: Session, report: LoadReport, graph: str) -> bool:
    """Whether there are named graphs: in what was read, in the store, or the one that it goes into."""
    return report.named > 0 or session.manifest.has_graphs or graph not in ("", DEFAULT)


def _told(session: Session, tx: Transaction, report: LoadReport) -> None:
    """Let the next version have the prefixes of what was read, and tell which of them have another meaning there."""
    before, tx.prefixes = tx.prefixes, tx.prefixes.met(report.prefixes.declarations)
    for found in tx.prefixes.conflicts:
        if found not in before.declarations:
            session.notify(
                f"the prefix {found.name}: stays <{tx.prefixes.declared[found.name]}>; {found.source} has <{found.iri}>"
            )


class _Given(NamedTuple):
    """What is to be read, and why other files are not (where these may be skipped)."""

    sources: list[Source]
    refused: list[InputError]


@contextmanager
def _given(
    session: Session,
    files: Sequence[object],
    format: str | None,
    skip: bool = False,
    data: str | bytes | None = None,
    most: int = MOST,
) -> Iterator[_Given]:
    """What is to be read, on this machine until the end: streams are copied and documents fetched before the
    transaction begins, since a writer that waits for them would keep all others waiting too."""
    session.writable()
    passed_over: list[tuple[str, str]] = []
    refused: list[InputError] = []
    named = given_sources(
        files, format, most, lambda file, why: passed_over.append((file, why)), refused if skip else None, data
    )
    for file, why in passed_over[:_NAMED]:
        session.notify(f"not read: {file} ({why})")
    if len(passed_over) > _NAMED:
        session.notify(f"not read: {len(passed_over) - _NAMED:,} more files")
    try:
        yield _Given(named, refused)
    finally:
        discard(named)


def _read(
    session: Session,
    tx: Transaction,
    given: _Given,
    on_error: OnError,
    rejects: str | Path | None,
    base: str | None,
    into: Into,
    replacing: bool = False,
) -> tuple[LoadReport, int, Counters]:
    """Make the working table `encoded` of the triples of files; the report, new terms, and the counters.

    replacing: nothing else stays asserted (in the graph, where one is named), so a single file may use the store's own
    blank node labels.
    """

    def reading(at: Progress) -> None:
        check()
        if at.stage != "parsed":
            done = f", {at.done_triples:,} triples so far" if at.done_triples else ""
            session.notify(f"{at.stage} {at.file}{done}, {at.seconds:.1f} s")

    found = [replace(s, base=base or s.base, graph=into.of(s)) for s in given.sources]
    counters = session.manifest.counters
    report = read_into(
        session.engine,
        "raw",
        found,
        first_file=counters.files + 1,
        on_error=on_error,
        rejects=Path(rejects) if rejects else None,
        refused=given.refused,
        progress=reading,
        live=session.live,
    )
    session.notify(f"read {report.triples:,} triples from {report.files} file(s) {_rate(report.triples, tx.seconds)}")
    number, counters = counters.files + 1, replace(counters, files=counters.files + len(found))
    quads, has_names = several(session, report, into.name), any(s.syntax.of_datasets or s.graph for s in found)
    if has_names:
        _own_names(session)
    with session.engine.scratch() as scratch:
        if replacing and into.name and has_names:
            _only(session, own_name(into.name))
        own, column = replacing and len(found) == 1, ("g" if has_names else "''") if quads else None
        if own and into.name:
            table = scratch.create("raw", _with_labels_of(session, scratch, number, column, into.name))
        else:
            table = scratch.create("raw", _with_own_labels(session.engine.dialect, number, column)) if own else "raw"
        if quads and not has_names and not own:
            table = scratch.table("raw")
            session.engine.view(table, "SELECT s, p, o, '' AS g FROM raw")
        new_terms, counters = encoded(tx, table, counters, quads)
    session.engine.drop("raw")
    return report, new_terms, counters


def _own_names(session: Session) -> None:
    """Let what is in the unnamed graph by its name be there without one in `raw`. Raises UsageError for other names
    that are no graph's own."""
    engine = session.engine
    listed = ", ".join(map(engine.dialect.string, PARTS))
    found = engine.rows(f"SELECT DISTINCT g FROM raw WHERE g IN ({listed})")
    try:
        for (name,) in found:
            own_name(name)
    except UsageError:
        engine.drop("raw")
        raise
    if found:
        engine.create("raw", f"SELECT s, p, o, CASE WHEN g IN ({listed}) THEN '' ELSE g END AS g FROM raw")


def _only(session: Session, graph: str) -> None:
    """Raise UsageError where `raw` has triples of other graphs than the one that is replaced."""
    if count(session.engine, f"raw WHERE g <> {session.engine.dialect.string(graph)}"):
        session.engine.drop("raw")
        raise UsageError(
            f"what is to replace {graph or 'the unnamed graph'} has triples in other named graphs: "
            "add it (load, POST), or take its named graphs out"
        )


def _with_labels_of(session: Session, scratch: Scratch, number: int, column: str | None, graph: str) -> str:
    """As `_with_own_labels`, for the labels of the blank nodes in a graph alone: other nodes may be in other graphs."""
    session.workspace.views(TERM, ASSERTED, QUAD)
    triples = content(session.workspace, id_of(session.workspace, graph))
    nodes = f"SELECT s AS id FROM ({triples}) a UNION SELECT o FROM ({triples}) b"
    tokens = f"SELECT {token_sql('t')} AS token FROM term t JOIN ({nodes}) n ON n.id = t.id"
    label = f"'_:f{number}_' || substr(token, 3) AS label"
    own = scratch.create("own_label", f"SELECT {label}, token FROM ({tokens}) t WHERE substr(token, 1, 2) = '_:'")
    named = "" if column is None else f", {column} AS g"
    return (
        f"SELECT coalesce(a.token, r.s) AS s, r.p AS p, coalesce(b.token, r.o) AS o{named} FROM raw r "
        f"LEFT JOIN {own} a ON a.label = r.s LEFT JOIN {own} b ON b.label = r.o"
    )


def _with_own_labels(dialect: Dialect, number: int, graph: str | None) -> str:
    """A SELECT of (s, p, o) from `raw`, and of g where `graph` says what that is, where labels of file `number` that
    earlier files gave are as those files gave them: `_:f2_f1_x` of file 2 is `_:f1_x`. No label of a file from `number`
    on is one of these, so two labels stay two nodes."""
    scope = f"_:f{number}_"

    def label(token: str) -> str:
        rest = f"substr({token}, {len(scope) + 1})"
        of = f"split_part(replace(substr({rest}, 2), 'g', '_'), '_', 1)"
        earlier = f"lpad({of}, {_DIGITS}, '0') < '{number:0{_DIGITS}}'"
        scoped = f"substr({token}, 1, {len(scope)}) = '{scope}' AND {dialect.matches(rest, _SCOPED)}"
        return f"CASE WHEN {scoped} AND {earlier} THEN '_:' || {rest} ELSE {token} END"

    named = "" if graph is None else f", {label(graph)} AS g"
    return f"SELECT {label('s')} AS s, p, {label('o')} AS o{named} FROM raw"


def _rate(rows: int, seconds: float) -> str:
    return f"in {seconds:.2f} s ({rows / max(seconds, 1e-6):,.0f}/s)"
