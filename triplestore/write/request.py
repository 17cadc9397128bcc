"""A SPARQL Update request as one transaction.

Operations are netted, triple by triple, for as long as none has to look at the graph. One that does sees the closure
after all before it: what is pending then becomes a draft of the next version, closure maintained and files written.
Publishing comes once, at the end; until then nothing of it can be seen.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from triplake.loaders import sources, triples_of
from triplake.sparql import Graph, changes
from triplake.sparql.update import Clear, Data, Load, Modify
from triplestore.model.errors import InputError, TriplakeError, UsageError
from triplestore.model.stopping import check
from triplestore.write.figures import class_diff, figures_of
from triplestore.write.incremental import Incremental
from triplestore.write.transaction import Transaction
from triplestore.write.update_files import Request

Tokens = tuple[str, str, str]

_ADDED_UP = ("rounds", "statements", "derived", "added", "deleted", "merged", "split", "doubted", "checked", "proved")
_CLASSES = ("classes_merged", "merges", "classes_split", "splits")


@dataclass(slots=True)
class _Pending:
    """The net effect of operations since the last draft: whether all that was there goes, then the last word on each
    triple, true for one to add."""

    clear: bool = False
    triples: dict[Tokens, bool] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return self.clear or bool(self.triples)

    @property
    def sides(self) -> tuple[list[Tokens], list[Tokens]]:
        """The triples to add, and those to delete."""
        add = [triple for triple, insert in self.triples.items() if insert]
        return add, [triple for triple, insert in self.triples.items() if not insert]

    def say(self, insert: bool, triples: Sequence[Tokens]) -> None:
        for triple in triples:
            self.triples.pop(triple, None)
            self.triples[triple] = insert

    def everything_goes(self) -> None:
        self.clear = True
        self.triples.clear()


@dataclass(slots=True)
class RequestRun:
    """Carries out requests, as one transaction. graph: what patterns are matched with, at the state of the transaction.
    load_folder: where documents may be loaded from; None: nowhere."""

    transaction: Transaction
    graph: Callable[[], Graph]
    load_folder: Path | None
    algorithm: str
    dry_run: bool
    pending: _Pending = field(default_factory=_Pending)
    done: list[Mapping[str, Any]] = field(default_factory=list)  # figures of the drafts
    left: Incremental | None = None  # the last change that was none for memory, with the reason

    def carry_out(self, *requests: Request) -> dict[str, Any]:
        """Carry out all operations of requests, in order, and publish, unless nothing changes; the figures."""
        workspace = self.transaction.workspace
        before, number = workspace.manifest, max(request.last for request in requests)
        for request in requests:
            loads = request.number
            for operation in request.operations:
                check()
                match operation:
                    case Data(insert, triples):
                        self.pending.say(insert, triples)
                    case Clear():
                        self.pending.everything_goes()
                    case Load():
                        loads += 1
                        self.pending.say(True, self._document(operation, loads))
                    case Modify():
                        self._draft(number)
                        deleted, inserted = changes(self.graph(), operation)
                        self.pending.say(False, deleted)
                        self.pending.say(True, inserted)
        tried = not self.done and bool(self.pending)
        if tried and (whole := self._in_memory(number, draft=False)) is not None:
            return whole
        self._draft(number, last=True, tried=tried)
        drafted = workspace.manifest is not before
        figures = self._figures()
        if self.dry_run:
            last = self.done[-1] if self.done else {}
            if "merges" in last:
                figures |= {name: last[name] for name in _CLASSES}
            elif drafted:
                figures |= class_diff(workspace.engine)
            workspace.forget(before)
        elif drafted:
            counters = workspace.manifest.counters
            self.transaction.finish(figures, replace(counters, files=max(counters.files, number)))
        else:
            self.transaction.verbose(f"nothing to change: the store stays at version {before.version}")
        return {**figures, "not_asserted": sum(figures["not_asserted"] for figures in self.done)}

    def _in_memory(self, number: int, draft: bool) -> dict[str, Any] | None:
        """Maintain the closure in memory by what is pending, as a draft or as the whole transaction; the figures. None
        where that cannot be, and nothing has been done."""
        self.left = None
        if self.pending.clear:
            return None
        small = Incremental(self.transaction)
        figures = small.apply(*self.pending.sides, self.algorithm, self.dry_run, number, draft)
        self.left = small if figures is None else None
        return figures

    def _draft(self, number: int, last: bool = False, tried: bool = False) -> None:
        """Make what is pending part of the draft. number: of the last file of the requests. tried: to do so in memory,
        in vain."""
        manifest = self.transaction.workspace.manifest
        if not self.pending and (manifest.materialised or not last):
            return
        figures = None if self.dry_run or tried else self._in_memory(number, draft=True)
        pending, self.pending = self.pending, _Pending()
        if figures is None:
            left, self.left = self.left, None
            netted = left and left.handed_over()
            new, gone, unasserted, counters = netted or self.transaction.net(
                *pending.sides, manifest.counters, pending.clear
            )
            figures = {"not_asserted": unasserted}
            if new or gone or not manifest.materialised:
                draft = not (self.dry_run and last)
                figures |= self.transaction.commit(
                    "update", new, gone, counters, self.algorithm, self.dry_run, draft, left.reason if left else ""
                )
        self.done.append(figures)

    def _figures(self) -> dict[str, Any]:
        """The figures of all drafts in one."""
        seconds = time.perf_counter() - self.transaction.started
        found = [figures for figures in self.done if figures.get("algorithm", "none") != "none"]
        algorithms = dict.fromkeys(figures["algorithm"] for figures in found)
        reasons = dict.fromkeys(figures["reason"] for figures in found)
        return {
            **figures_of("update", seconds),
            **({"algorithm": ", ".join(algorithms), "reason": "; ".join(reasons)} if found else {}),
            **{name: sum(figures.get(name, 0) for figures in self.done) for name in _ADDED_UP},
            "phases": dict(found[-1]["phases"]) if found else {},  # of the whole transaction
        }

    def _document(self, load: Load, number: int) -> list[Tokens]:
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
