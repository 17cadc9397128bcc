"""Files of triples, loaded: added to what is asserted, or in its place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from triplake.loaders import LoadReport, OnError, Progress, read_into, sources
from triplestore.model.stopping import check
from triplestore.read.session import Session
from triplestore.storage.manifest import Counters
from triplestore.write import in_tables
from triplestore.write.commit import commit
from triplestore.write.netting import encoded, net_encoded
from triplestore.write.transaction import Transaction, writing

_NAMED: Final = 10
"""Files that are not read of which each is named."""


def load(
    session: Session,
    files: Sequence[str | Path],
    format: str | None,
    materialise: bool,
    on_error: OnError,
    rejects: str | Path | None,
    algorithm: str,
    base: str | None,
) -> LoadReport:
    """See `Store.load`."""
    with writing(session, "load") as tx:
        report, new_terms, counters = _read(session, tx, files, format, on_error, rejects, base)
        change = net_encoded(tx, counters)
        session.notify(
            f"encoded {change.added:,} new triples, {new_terms:,} new terms {_rate(report.triples, tx.seconds)}"
        )
        if change or (materialise and not session.manifest.materialised):
            commit(tx, in_tables.maintained(tx, change, algorithm if materialise else None))
        else:
            session.versions.settle()
            session.notify(f"nothing new: the store stays at version {session.manifest.version}")
            session.workspace.forget()
        return report


def replace_all(session: Session, files: Sequence[str | Path], format: str | None, base: str | None) -> LoadReport:
    """See `Store.replace`."""
    with writing(session, "replace") as tx:
        report, _, counters = _read(session, tx, files, format, "stop", None, base)
        change = net_encoded(tx, counters, replacing=True)
        if change or not session.manifest.materialised:
            commit(tx, in_tables.maintained(tx, change, "auto"))
        return report


def _read(
    session: Session,
    tx: Transaction,
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
    for file, why in passed_over[:_NAMED]:
        session.notify(f"not read: {file} ({why})")
    if len(passed_over) > _NAMED:
        session.notify(f"not read: {len(passed_over) - _NAMED:,} more files")
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
    session.notify(f"read {report.triples:,} triples from {report.files} file(s) {_rate(report.triples, tx.seconds)}")
    new_terms, counters = encoded(tx, "raw", replace(counters, files=counters.files + len(found)))
    session.engine.drop("raw")
    return report, new_terms, counters


def _rate(rows: int, seconds: float) -> str:
    return f"in {seconds:.2f} s ({rows / max(seconds, 1e-6):,.0f}/s)"
