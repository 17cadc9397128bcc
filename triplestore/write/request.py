"""A SPARQL Update request as one transaction: a chain of change sets.

Operations on quads are netted (`pending`) for as long as none has to look at the graph. One that does sees the closure
after all before it: what is pending then is maintained and staged, as a draft of the next version. Publishing comes
once, at the end; until then nothing of it can be seen.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from triplake.loaders import quads_of, sources
from triplake.sparql import changes
from triplake.sparql.update import Clear, Create, Data, Load, Modify, Operation, Transfer
from triplestore.closure.quads import named_sql, unnamed_sql
from triplestore.dictionary.encoding import lookup
from triplestore.maintain.policy import check as check_algorithm
from triplestore.model.dataset import DEFAULT, UNNAMED, DefaultGraph, Quad
from triplestore.model.errors import InputError, TriplakeError, UsageError
from triplestore.model.prefixes import Prefix
from triplestore.model.report import UpdateReport
from triplestore.model.stopping import check
from triplestore.model.tables import ASSERTED, QUAD, TERM
from triplestore.read.query import graph
from triplestore.read.session import Session
from triplestore.write.change import Change, ChangeSet, Reason, Refused, Request
from triplestore.write.commit import dry_run, publish, stage
from triplestore.write.graphs import net_in_tables, own_name
from triplestore.write.netting import numbered
from triplestore.write.pending import Pending
from triplestore.write.transaction import Transaction, check_numbers, retried, writing
from triplestore.write.update import maintained, netted

_SUMMED: Final = (
    *("rounds", "statements", "derived", "added", "deleted", "merged", "split", "doubted", "checked", "proved"),
    "not_asserted",
)

NO_QUADS: Final = named_sql([])
"""No quads, as SQL."""


@retried
def carry_out(
    session: Session,
    requests: Sequence[Request],
    algorithm: str,
    dry: bool,
    load_folder: Path | None,
    began: int | None = None,
) -> UpdateReport:
    """Carry out all operations of requests, in order, as one transaction; without any change there is no new version.
    load_folder: where documents may be loaded from; None: nowhere. began: see `check_numbers`."""
    with writing(session, "update", dry) as tx:
        check_numbers(session, began)
        check_algorithm(algorithm, session.manifest.counting)
        chain = Chain(session, tx, algorithm, dry, max(request.last for request in requests), load_folder)
        for request in requests:
            loads, tx.prefixes = request.number, tx.prefixes.met(request.prefixes)
            for operation in request.operations:
                check()
                loads += isinstance(operation, Load)
                chain.add(operation, loads)
        return chain.end()


@dataclass(slots=True)
class Chain:
    """The operations of a transaction, each on what those before it have made.

    number: of the last input file. waiting: makes the change set of an operation on whole graphs that is not staged yet
    (nothing is pending then), in tables if that is asked for. reports: of the changes so far. drafted: whether the
    workspace holds a draft.
    """

    session: Session
    tx: Transaction
    algorithm: str
    dry: bool
    number: int
    load_folder: Path | None
    pending: Pending = field(init=False)
    waiting: Callable[[bool], ChangeSet] | None = None
    reports: list[UpdateReport] = field(default_factory=list)
    drafted: bool = False

    def __post_init__(self) -> None:
        self.pending = self._none()

    def _none(self) -> Pending:
        return Pending(self.tx.default_graph)

    def add(self, operation: Operation, document: int) -> None:
        """Carry out one more operation. document: the file number of the document, if it loads one."""
        if self.waiting is not None:
            self._look()
        match operation:
            case Data(insert, quads):
                self.pending.put(insert, quads)
            case Clear("ALL", drop):
                self.pending.remove_all()
                self.tx.graphs = () if drop else self.tx.graphs
            case Clear():
                self._clear(operation)
            case Create():
                self._create(operation)
            case Transfer():
                self._transfer(operation)
            case Load():
                self.pending.put(True, self._document(operation, document))
            case Modify():
                self._look()
                deleted, inserted = changes(replace(graph(self.session), made=self.tx.graphs), operation)
                self.pending.put(False, deleted)
                self.pending.put(True, inserted)

    def _look(self) -> None:
        """Stage what is pending or waiting, so that the workspace has what is there after it."""
        if self.pending or self.waiting is not None:
            self._stage(self._maintained(last=False))

    # -- whole graphs -----------------------------------------------------------------------------------------------

    def _create(self, create: Create) -> None:
        """Let there be a named graph, maybe an empty one."""
        if self._there(create.graph) and not create.silent:
            raise UsageError(
                f"{create.where}: there is a graph {create.graph} already (CREATE SILENT takes it as it is)"
            )
        if own_name(create.graph):
            self.tx.graphs = tuple(dict.fromkeys((*self.tx.graphs, create.graph)))

    def _clear(self, clear: Clear) -> None:
        """Remove what is in the unnamed graph, in all named ones, or in one of these."""
        self._look()
        graph = DEFAULT if clear.graph == "DEFAULT" else clear.graph
        if graph not in (DEFAULT, "NAMED") and not clear.silent:
            self._must_be_there(graph, clear.where, "DROP" if clear.drop else "CLEAR")
        if clear.drop:
            self.tx.graphs = tuple(g for g in self.tx.graphs if graph not in ("NAMED", g))
        unwanted = named_sql() if graph == "NAMED" else self._content(graph)
        self._quads(NO_QUADS, unwanted, [])

    def _transfer(self, transfer: Transfer) -> None:
        """ADD, COPY or MOVE a graph to another."""
        source, target = transfer.source, transfer.target
        for name in (source, target):
            own_name(name)  # or it is refused
        self._look()
        if source != DEFAULT and not transfer.silent:
            self._must_be_there(source, transfer.where, transfer.form)
        if source == target:
            return
        unwanted = [] if transfer.form == "ADD" else [self._content(target)]
        unwanted += [self._content(source)] if transfer.form == "MOVE" else []
        if transfer.form == "MOVE":
            self.tx.graphs = tuple(graph for graph in self.tx.graphs if graph != source)
        triples = f"SELECT s, p, o FROM ({self._content(source)}) c"
        self._quads(triples, " UNION ".join(unwanted) or NO_QUADS, [target])

    def _there(self, graph: str) -> bool:
        """Whether there is a named graph; the unnamed one always is. Raises UsageError for no graph's own name."""
        if not own_name(graph):
            return True
        self._look()
        workspace = self.tx.workspace
        if graph in self.tx.graphs or not workspace.manifest.has_graphs:
            return graph in self.tx.graphs
        return bool(self.tx.engine.rows(f"SELECT g FROM ({self._content(graph)}) c LIMIT 1"))

    def _must_be_there(self, graph: str, where: str, form: str) -> None:
        if not self._there(graph):
            raise UsageError(f"{where}: there is no graph {graph} ({form} SILENT passes over it)")

    def _content(self, graph: str) -> str:
        """The quads of a graph (`DEFAULT`: the unnamed one), as SQL."""
        workspace = self.tx.workspace
        workspace.views(TERM, ASSERTED, QUAD)
        if graph == DEFAULT:
            triples = unnamed_sql(self.tx.default_graph == DefaultGraph.UNION)
            return f"SELECT CAST({UNNAMED} AS BIGINT) AS g, s, p, o FROM ({triples}) u"
        return named_sql([*lookup(self.tx.engine, [graph]).values()])

    def _quads(self, triples: str, unwanted: str, into: Sequence[str]) -> None:
        """Delete quads, then add triples to a graph (both SELECTs)."""
        self.waiting = lambda in_tables: self._quads_changed(triples, unwanted, into, in_tables)

    def _quads_changed(self, triples: str, unwanted: str, into: Sequence[str], in_tables: bool) -> ChangeSet:
        """The change set of that."""
        tx, workspace = self.tx, self.tx.workspace
        named = [graph for graph in into if graph != DEFAULT]
        workspace.views(TERM, ASSERTED, QUAD)
        terms = numbered(workspace, (), named)
        if not terms.new:
            tx.engine.create("new_term", f"SELECT {TERM.select} FROM term WHERE FALSE")
        graph = terms.ids[named[0]] if named else UNNAMED
        with tx.engine.scratch() as scratch:
            wanted = scratch.create("wanted", f"SELECT CAST({graph} AS BIGINT) AS g, s, p, o FROM ({triples}) t")
            change = net_in_tables(tx, terms.counters, wanted, scratch.create("unwanted", unwanted))
        refused = Refused(Reason.DRAFT) if in_tables else None
        return netted(tx, replace(change, not_asserted=0), self.algorithm, terms, refused)

    def end(self) -> UpdateReport:
        """Publish, or undo a dry run; the report of the whole."""
        manifest = self.tx.workspace.manifest
        last = ChangeSet(Change(0, 0, manifest.counters), manifest.counters)
        if self.pending or self.waiting is not None or not manifest.materialised:
            last = self._maintained(last=True)
        if self.dry:
            self._reported(last, dry_run(self.tx, last, self.drafted))
            return self._report()
        self._stage(last)
        report = self._report()
        if self.drafted:
            publish(self.tx, report)
        elif self.tx.graphs != self.tx.before.graphs:
            stage(self.tx, last)
            publish(self.tx, report)
        else:
            self.tx.verbose(f"nothing to change: the store stays at version {self.tx.before.version}")
        return report

    def _maintained(self, last: bool) -> ChangeSet:
        """What the pending operations make of the draft. A dry run makes drafts in tables, since the closure in memory
        is that of the version before it, and stays."""
        in_tables = self.dry and (self.drafted or not last)
        if self.waiting is not None:
            made, self.waiting = self.waiting, None
            return made(in_tables)
        pending, self.pending = self.pending, self._none()
        refused = Refused(Reason.DRAFT) if in_tables else None
        return maintained(self.tx, pending, self.algorithm, self.number, refused)

    def _stage(self, found: ChangeSet) -> None:
        """Make a change set a draft."""
        self.drafted = self.drafted or bool(found)
        self._reported(found, stage(self.tx, found) if found else self.tx.report())

    def _reported(self, found: ChangeSet, report: UpdateReport) -> None:
        self.reports.append(replace(report, not_asserted=found.change.not_asserted))

    def _report(self) -> UpdateReport:
        """The reports of all change sets in one."""
        if len(self.reports) == 1:
            return self.reports[0]
        found = [report for report in self.reports if report.algorithm != "none"]
        return replace(
            self.tx.report(),
            algorithm=", ".join(dict.fromkeys(report.algorithm for report in found)) or "none",
            reason="; ".join(dict.fromkeys(report.reason for report in found)),
            classes=self.reports[-1].classes,
            violations=self.reports[-1].violations,
            **{name: sum(getattr(report, name) for report in self.reports) for name in _SUMMED},
        )

    def _document(self, load: Load, number: int) -> list[Quad]:
        """The quads of a document. Raises UsageError where it may not be loaded, InputError for a faulty one."""
        try:
            found = (replace(source, name=load.iri, graph=load.graph) for source in sources([self._file(load)]))
            prefixes: list[Prefix] = []
            quads = [quad for source in found for quad in quads_of(source, number, prefixes)]
            self.tx.prefixes = self.tx.prefixes.met(prefixes)
            return quads
        except TriplakeError:
            if load.silent:
                return []
            raise

    def _file(self, load: Load) -> str:
        """The path of a document, which is a file in the folder."""
        if self.load_folder is None:
            raise UsageError(
                f"{load.where}: LOAD is refused: no folder to load from was given at the start (--load-folder FOLDER)"
            )
        folder, parts = self.load_folder.resolve(), urlsplit(load.iri)
        if parts.scheme not in ("", "file") or parts.netloc not in ("", "localhost"):
            raise UsageError(f"{load.where}: LOAD <{load.iri}> is refused: only files in the load folder are read")
        name = unquote(parts.path)
        if "\0" in name:
            raise UsageError(f"{load.where}: LOAD <{load.iri}> is refused: no file's name holds a NUL")
        path = (folder / name).resolve()
        if not path.is_relative_to(folder):
            raise UsageError(f"{load.where}: LOAD <{load.iri}> is refused: it is not in the load folder")
        if not os.path.isfile(path):  # nor is a name that is too long
            raise InputError(f"LOAD at {load.where}: there is no such file in the load folder", load.iri)
        return str(path)
