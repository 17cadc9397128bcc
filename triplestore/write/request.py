"""A SPARQL Update request as one transaction: a chain of change sets.

Operations are netted, triple by triple, for as long as none has to look at the graph. One that does sees the closure
after all before it: what is pending then is maintained and staged, as a draft of the next version. Publishing comes
once, at the end; until then nothing of it can be seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from triplake.loaders import sources, triples_of
from triplake.sparql import changes
from triplake.sparql.update import Clear, Data, Load, Modify, Operation
from triplestore.maintain.policy import check as check_algorithm
from triplestore.model.errors import InputError, TriplakeError, UsageError
from triplestore.model.report import UpdateReport
from triplestore.model.stopping import check
from triplestore.read.query import graph
from triplestore.read.session import Session
from triplestore.write.change import Change, ChangeSet, Reason, Refused, Request, TokenTriple
from triplestore.write.commit import dry_run, publish, stage
from triplestore.write.transaction import Transaction, writing
from triplestore.write.update import maintained

_SUMMED: Final = (
    *("rounds", "statements", "derived", "added", "deleted", "merged", "split", "doubted", "checked", "proved"),
    "not_asserted",
)


def carry_out(
    session: Session, requests: Sequence[Request], algorithm: str, dry: bool, load_folder: Path | None
) -> UpdateReport:
    """Carry out all operations of requests, in order, as one transaction; without any change there is no new version.
    load_folder: where documents may be loaded from; None: nowhere."""
    with writing(session, "update") as tx:
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
class Pending:
    """The net effect of operations since the last draft: whether all that was there is removed, then the last word on
    each triple, true for one to add."""

    clear: bool = False
    triples: dict[TokenTriple, bool] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return self.clear or bool(self.triples)

    @property
    def sides(self) -> tuple[list[TokenTriple], list[TokenTriple]]:
        """The triples to add, and those to delete."""
        add = [triple for triple, insert in self.triples.items() if insert]
        return add, [triple for triple, insert in self.triples.items() if not insert]

    def put(self, insert: bool, triples: Sequence[TokenTriple]) -> None:
        """Add, or delete, triples."""
        for triple in triples:
            self.triples.pop(triple, None)
            self.triples[triple] = insert

    def remove_all(self) -> None:
        """Delete all that there is."""
        self.clear = True
        self.triples.clear()


@dataclass(slots=True)
class Chain:
    """The operations of a transaction, each on what those before it have made.

    number: of the last input file. reports: of the changes so far. drafted: whether the workspace holds a draft.
    """

    session: Session
    tx: Transaction
    algorithm: str
    dry: bool
    number: int
    load_folder: Path | None
    pending: Pending = field(default_factory=Pending)
    reports: list[UpdateReport] = field(default_factory=list)
    drafted: bool = False

    def add(self, operation: Operation, document: int) -> None:
        """Carry out one more operation. document: the file number of the document, if it loads one."""
        match operation:
            case Data(insert, triples):
                self.pending.put(insert, triples)
            case Clear():
                self.pending.remove_all()
            case Load():
                self.pending.put(True, self._document(operation, document))
            case Modify():
                if self.pending:
                    self._stage(self._maintained(last=False))
                deleted, inserted = changes(graph(self.session), operation)
                self.pending.put(False, deleted)
                self.pending.put(True, inserted)

    def end(self) -> UpdateReport:
        """Publish, or undo a dry run; the report of the whole."""
        manifest = self.tx.workspace.manifest
        last = ChangeSet(Change(0, 0, manifest.counters), manifest.counters)
        if self.pending or not manifest.materialised:
            last = self._maintained(last=True)
        if self.dry:
            self._reported(last, dry_run(self.tx, last, self.drafted))
            return self._report()
        self._stage(last)
        report = self._report()
        if self.drafted:
            publish(self.tx, report)
        else:
            self.tx.verbose(f"nothing to change: the store stays at version {self.tx.before.version}")
        return report

    def _maintained(self, last: bool) -> ChangeSet:
        """What the pending operations make of the draft. A dry run makes drafts in tables, since the closure in memory
        is that of the version before it, and stays."""
        (add, delete), clear = self.pending.sides, self.pending.clear
        self.pending = Pending()
        refused = Refused(Reason.DRAFT) if self.dry and (self.drafted or not last) else None
        return maintained(self.tx, add, delete, self.algorithm, self.number, clear, refused)

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
            **{name: sum(getattr(report, name) for report in self.reports) for name in _SUMMED},
        )

    def _document(self, load: Load, number: int) -> list[TokenTriple]:
        """The triples of a document. Raises UsageError where it may not be loaded, InputError for a faulty one."""
        try:
            found = (replace(source, name=load.iri) for source in sources([self._file(load)]))
            return [triple for source in found for triple in triples_of(source, number)]
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
        if not path.is_file():
            raise InputError(f"LOAD at {load.where}: there is no such file in the load folder", load.iri)
        return str(path)
