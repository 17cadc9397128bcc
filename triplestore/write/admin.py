"""Looking after a store's files: made, copied, rewritten as few, freed of what no version needs."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from triplestore.engine.select import make_engine
from triplestore.model.errors import UsageError
from triplestore.model.tables import COUNT, STORED, Table
from triplestore.read.reasoning import check_countable, mentions_same_as, rules_of, ruleset_text
from triplestore.read.session import Session
from triplestore.read.workspace import Workspace
from triplestore.storage import segments
from triplestore.storage.manifest import Manifest, TableFiles, Versions
from triplestore.storage.vacuum import vacuum as remove_unneeded
from triplestore.storage.verify import examine
from triplestore.write.begin import writing
from triplestore.write.figures import figures_of
from triplestore.write.transaction import Transaction

EQUALITY_MODES: Final = ("rewrite", "axioms", "off")


def create(path: str | Path, rules: Sequence[str], equality: str | None, counting: bool, hold: bool) -> Versions:
    """See `Store.create`."""
    texts = tuple(ruleset_text(name) for name in rules)
    mentioned = any(mentions_same_as(r) for text in texts for r in rules_of(text))
    equality = equality or ("rewrite" if mentioned else "off")
    if equality not in EQUALITY_MODES:
        raise UsageError(f"no equality mode '{equality}'; give one of {', '.join(EQUALITY_MODES)}")
    if counting:
        check_countable(texts, equality)
    versions = Versions(path)
    versions.create(hold)
    with withdrawing(versions):
        small = make_engine("duckdb")
        try:
            workspace = Workspace(small, versions, Manifest(0, texts, equality, small.name, counting=counting))
            Transaction(workspace, lambda line: None).initialise()
        finally:
            small.close()
    return versions


@contextmanager
def withdrawing(versions: Versions) -> Iterator[None]:
    """Making a store: if it fails before anything is published, what was made is taken away."""
    try:
        yield
    except BaseException:
        versions.withdraw()
        raise


def copy(session: Session, path: str | Path) -> None:
    """See `Store.copy`."""
    target = Versions(path)
    target.create()
    with withdrawing(target):
        examine(session.versions, session.manifest, sums=True)
        copied = Workspace(session.engine, session.versions, session.manifest)
        tables = _tables(session.manifest)
        copied.views(*tables)
        files = {t.name: segments.write_whole(session.engine, target, t, t.name) for t in tables}
        session.workspace.forget()
        target.publish(replace(session.manifest, version=1, tables=files, engine=session.engine.name))


def compact(session: Session) -> None:
    """See `Store.compact`."""
    with writing(session) as transaction:
        examine(session.versions, session.manifest, sums=True)  # else what is damaged would get a new checksum
        changed = [t for t in _tables(session.manifest) if _fragmented(session.manifest.files_of(t.name))]
        session.workspace.forget()
        session.workspace.views(*changed)
        files = {t.name: transaction.write_whole(t) for t in changed}
        if files:
            transaction.publish("compact", None, files, session.manifest.counters, ())


def restore(path: str | Path, version: int) -> int:
    """See `Store.restore`."""
    versions, started = Versions(path), time.perf_counter()
    versions.check()
    with versions.working():
        if versions.version == version:
            raise UsageError(f"version {version} is the newest of {path}: there is nothing to go back from")
        manifest = versions.read(version)
        examine(versions, manifest, sums=True)
        last = {**figures_of("restore", time.perf_counter() - started), "reason": f"version {version}"}
        return versions.publish(replace(manifest, version=versions.version + 1, last=last)).version


def vacuum(session: Session, keep: int | None) -> tuple[int, int, int]:
    """See `Store.vacuum`."""
    if keep is not None and keep < 1:
        raise UsageError("vacuum keeps at least one version; give --keep 1 or more")
    return remove_unneeded(session.versions, keep)


def _tables(manifest: Manifest) -> list[Table]:
    """The tables that a version holds."""
    return [*STORED, *([COUNT] if manifest.files_of(COUNT.name).files else [])]


def _fragmented(files: TableFiles) -> bool:
    return len(files.files) > 1 or bool(files.tombstones)
