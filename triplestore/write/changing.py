"""Writing: files, triples, update requests and rules become the next version, each as one transaction."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from triplake.loaders import LoadReport, OnError, Progress, read_into, sources
from triplake.loaders.patch import Change
from triplake.loaders.read import of_relative
from triplestore.engine.queries import minus
from triplestore.maintain.choose import check as check_algorithm
from triplestore.model.errors import UsageError
from triplestore.model.stopping import check
from triplestore.model.tables import ASSERTED
from triplestore.model.terms import from_rdflib_triples
from triplestore.read.query import graph
from triplestore.read.reasoning import check_countable, ruleset_text
from triplestore.read.session import Session
from triplestore.storage.manifest import Counters, RulesetText
from triplestore.write.begin import writing
from triplestore.write.figures import figures_of
from triplestore.write.incremental import Incremental
from triplestore.write.transaction import Transaction, no_facts, token_table
from triplestore.write.update_files import Request, grouped, plain_change, read_changes, sparql_request, update_files

TokenTriple = tuple[str, str, str]


_TOLD = 10
"""Files that are not read of which each is named."""


def load(
    session: Session,
    files: Sequence[str | Path],
    format: str | None,
    materialise: bool,
    on_error: OnError,
    rejects: str | Path | None,
    maintain: str,
    base: str | None,
) -> LoadReport:
    """See `Store.load`."""
    with writing(session) as transaction:
        report, new_terms, counters = _read(session, transaction, files, format, on_error, rejects, base)
        started = transaction.started
        plus = session.engine.create("plus", minus("encoded", "asserted", "spo"))
        session.engine.drop("encoded")
        seconds = time.perf_counter() - started
        session.notify(f"encoded {plus:,} new triples, {new_terms:,} new terms {_rate(report.triples, seconds)}")
        if plus or (materialise and not session.manifest.materialised):
            transaction.commit("load", plus, 0, counters, maintain if materialise else None)
        else:
            session.versions.settle()
            session.notify(f"nothing new: the store stays at version {session.manifest.version}")
            session.workspace.forget()
        return report


def replace_all(session: Session, files: Sequence[str | Path], format: str | None, base: str | None) -> LoadReport:
    """See `Store.replace`."""
    with writing(session) as transaction:
        report, _, counters = _read(session, transaction, files, format, "stop", None, base)
        plus = session.engine.create("plus", minus("encoded", "asserted", "spo"))
        gone = session.engine.create("minus", minus("asserted", "encoded", "spo"))
        session.engine.drop("encoded")
        if plus or gone or not session.manifest.materialised:
            transaction.commit("replace", plus, gone, counters, "auto")
        return report


def update(session: Session, add: Iterable[Any], delete: Iterable[Any], maintain: str, dry_run: bool) -> dict[str, Any]:
    """See `Store.update`."""
    added = dict.fromkeys(from_rdflib_triples(add))
    deleted = {triple: None for triple in from_rdflib_triples(delete) if triple not in added}
    return _apply(session, Change(list(added), list(deleted)), maintain, dry_run)


def read_updates(
    session: Session,
    files: Sequence[str | Path],
    add: Sequence[str | Path],
    delete: Sequence[str | Path],
    base: str | None,
) -> tuple[list[Change | Request], int]:
    """The transactions of update files, with the one of plain triples, and the number of the last file; see
    `Store.update_files`."""
    session.newest()
    number = session.manifest.counters.files + 1
    changes: list[Change | Request] = []
    for file in update_files([str(file) for file in files]):
        found = read_changes(file, number, base)
        number = max((change.last + 1 for change in found if isinstance(change, Request)), default=number)
        changes += found
    if add or delete:
        change, relative = plain_change([str(f) for f in add], [str(f) for f in delete], number, base)
        changes.append(change)
        if relative:
            session.notify(f"warning: {of_relative(relative)}")
        number += len(add)
    return changes, number - 1


def apply_all(
    session: Session,
    changes: Sequence[Change | Request],
    size: int,
    number: int,
    maintain: str,
    dry_run: bool,
    load_folder: str | Path | None,
    each: Callable[[Mapping[str, Any]], None],
) -> list[dict[str, Any]]:
    """Apply transactions, so many (`size`) at a time, and tell `each` the figures. number: of the last file."""
    done, first, told = 0, session.manifest.version, []
    for change, several in grouped(changes, size):
        try:
            if isinstance(change, Change):
                figures = _apply(session, change, maintain, dry_run, number)
            else:
                figures = _carry_out(session, change, maintain, dry_run, load_folder)
        except BaseException as error:
            if session.manifest.version > first:
                committed = f"{done:,} of {len(changes):,} transactions were committed before this"
                error.add_note(f"{committed}: the store is at version {session.manifest.version}")
            raise
        done += several
        told.append({**figures, "transactions": several})
        each(told[-1])
    return told


def sparql_update(
    session: Session, text: str, maintain: str, dry_run: bool, load_folder: str | Path | None, base: str | None
) -> dict[str, Any]:
    """See `Store.sparql_update`."""
    session.newest()
    request = sparql_request(text, session.manifest.counters.files + 1, base=base)
    return _carry_out(session, (request,), maintain, dry_run, load_folder)


def change_rules(session: Session, add: Sequence[str], remove: Sequence[str], maintain: str) -> dict[str, Any]:
    """See `Store.change_rules`."""
    with writing(session) as transaction:
        check_algorithm(maintain, session.manifest.counting)
        kept = list(session.manifest.rulesets)
        for name in remove:
            found = [r for r in kept if r.name == name or (r.text is not None and Path(r.name).name == Path(name).name)]
            if not found:
                raise UsageError(f"the store has no ruleset '{name}'; it has {_names(kept)}")
            kept.remove(found[0])
        for name in add:
            text = ruleset_text(name)
            if any(r.name == text.name for r in kept):
                raise UsageError(f"the store has ruleset '{text.name}' already; remove it first to replace it")
            kept.append(text)
        if session.manifest.counting:
            check_countable(kept, session.manifest.equality)
        small = Incremental(transaction)
        if (figures := small.change_rules(tuple(kept), maintain)) is not None:
            return figures
        session.workspace.manifest = replace(session.manifest, rulesets=tuple(kept))
        session.workspace.tables(ASSERTED)
        session.engine.load("raw", token_table([]))
        _, counters = transaction.encode("raw", session.manifest.counters)
        session.engine.load("plus", no_facts())
        return transaction.commit("rules", 0, 0, counters, "rematerialise", reason=small.reason)


def _read(
    session: Session,
    transaction: Transaction,
    files: Sequence[str | Path],
    format: str | None,
    on_error: OnError,
    rejects: str | Path | None,
    base: str | None,
) -> tuple[LoadReport, int, Counters]:
    """Make the working table `encoded` of the triples of files; the report, new terms, and the counters."""

    def reading(at: Progress) -> None:
        check()
        if at.stage != "parsed":
            done = f", {at.done_triples:,} triples so far" if at.done_triples else ""
            session.notify(f"{at.stage} {at.file}{done}, {at.seconds:.1f} s")

    passed_over: list[tuple[str, str]] = []
    named = sources(files, format, lambda file, why: passed_over.append((file, why)))
    for file, why in passed_over[:_TOLD]:
        session.notify(f"not read: {file} ({why})")
    if len(passed_over) > _TOLD:
        session.notify(f"not read: {len(passed_over) - _TOLD:,} more files")
    found = [replace(s, base=base) if base else s for s in named]
    counters = session.manifest.counters
    report = read_into(
        session.engine,
        "raw",
        found,
        first_file=counters.files + 1,
        on_error=on_error,
        rejects=Path(rejects) if rejects else None,
        progress=reading,
    )
    seconds = time.perf_counter() - transaction.started
    session.notify(f"read {report.triples:,} triples from {report.files} file(s) {_rate(report.triples, seconds)}")
    new_terms, counters = transaction.encode("raw", replace(counters, files=counters.files + len(found)))
    session.engine.drop("raw")
    return report, new_terms, counters


def _carry_out(
    session: Session, requests: Sequence[Request], algorithm: str, dry_run: bool, load_folder: str | Path | None
) -> dict[str, Any]:
    from triplestore.write.request import RequestRun

    with writing(session) as transaction:
        check_algorithm(algorithm, session.manifest.counting)
        folder = None if load_folder is None else Path(load_folder)
        return RequestRun(transaction, lambda: graph(session), folder, algorithm, dry_run).carry_out(*requests)


def _apply(session: Session, change: Change, algorithm: str, dry_run: bool, file: int = 0) -> dict[str, Any]:
    with writing(session) as transaction:
        check_algorithm(algorithm, session.manifest.counting)
        small = Incremental(transaction)
        if (figures := small.apply(change.add, change.delete, algorithm, dry_run, file)) is not None:
            return figures
        if not session.manifest.materialised and not dry_run:
            session.verbose("the closure was not up to date: it is computed from scratch with this update")
        counters = session.manifest.counters
        new, gone, unasserted, counters = small.handed_over() or transaction.net(
            change.add, change.delete, replace(counters, files=max(counters.files, file))
        )
        if not new and not gone and session.manifest.materialised:
            session.verbose(f"nothing to change: the store stays at version {session.manifest.version}")
            figures = figures_of("update", time.perf_counter() - transaction.started)
        else:
            figures = transaction.commit("update", new, gone, counters, algorithm, dry_run, reason=small.reason)
        return {**figures, "not_asserted": unasserted}


def _names(rulesets_: Iterable[RulesetText]) -> str:
    return ", ".join(r.name for r in rulesets_) or "none"


def _rate(rows: int, seconds: float) -> str:
    return f"in {seconds:.2f} s ({rows / max(seconds, 1e-6):,.0f}/s)"
