"""Looking after a store's files: made, copied, rewritten as few, freed of what no version needs."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from triplestore.model.dataset import DefaultGraph
from triplestore.model.equality import Equality
from triplestore.model.errors import UsageError
from triplestore.model.report import UpdateReport
from triplestore.model.tables import COUNT, STORED, Table
from triplestore.read.reasoning import check_countable, mentions_same_as, rules_of, ruleset_text
from triplestore.read.session import Session
from triplestore.read.workspace import Workspace
from triplestore.storage.manifest import Manifest, TableFiles
from triplestore.storage.patches import TableRows, whole
from triplestore.storage.place import within
from triplestore.storage.retention import KEEP_ALL, Retention
from triplestore.storage.vacuum import VacuumReport
from triplestore.storage.vacuum import vacuum as remove_unneeded
from triplestore.storage.verify import examine
from triplestore.storage.versions import Versions
from triplestore.write.beginning import begin
from triplestore.write.change import Change, ChangeSet
from triplestore.write.commit import commit
from triplestore.write.in_tables import rematerialised
from triplestore.write.table_changes import Whole
from triplestore.write.transaction import retried, writing


def create(
    path: str | Path,
    rules: Sequence[str | Path],
    equality: str | None,
    counting: bool,
    hold: bool,
    default_graph: str,
) -> Versions:
    """See `Store.create`."""
    default = default_graph_of(default_graph)
    texts = tuple(ruleset_text(str(name)) for name in rules)
    mentioned = any(mentions_same_as(r) for text in texts for r in rules_of(text))
    mode = _mode(equality) if equality else Equality.REWRITE if mentioned else Equality.OFF
    if counting:
        check_countable(texts, mode)
    versions = Versions(path)
    versions.create(hold)
    with withdrawing(versions):
        begin(
            versions,
            Manifest(0, texts, mode, "duckdb", counting=counting, current_numbers=True, default_graph=default),
        )
    return versions


def _mode(name: str) -> Equality:
    try:
        return Equality(name)
    except ValueError as error:
        raise UsageError(f"no equality mode '{name}'; give one of {', '.join(Equality)}") from error


def default_graph_of(name: str) -> DefaultGraph:
    """What a default graph is, by its name. Raises UsageError for another name."""
    try:
        return DefaultGraph(name)
    except ValueError as error:
        raise UsageError(f"no default graph '{name}'; give one of {', '.join(DefaultGraph)}") from error


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
    if within(target.path, session.versions.path):
        raise UsageError(f"{path} overlaps with {session.path}: give another folder for the copy")
    target.create()
    with withdrawing(target):
        copied = Workspace(session.engine, session.versions, session.manifest)
        tables = _tables(session.manifest)
        copied.views(*tables)
        files = {t.name: whole(target, t, TableRows(session.engine, t.name)) for t in tables}
        session.workspace.forget()
        target.publish(replace(session.manifest, version=1, tables=files, engine=session.engine.name))


@retried
def materialise(session: Session, counting: bool | None) -> None:
    """See `Store.materialise`."""
    with writing(session, "materialise") as tx:
        manifest = session.manifest
        if counting:
            check_countable(manifest.rulesets, manifest.equality)
        commit(tx, rematerialised(tx, manifest.counting if counting is None else counting))


@retried
def change_prefixes(session: Session, add: Mapping[str, str], remove: Sequence[str]) -> None:
    """See `Store.change_prefixes`."""
    with writing(session, "prefixes") as tx:
        for name in remove:
            tx.prefixes = tx.prefixes.removed(name)
        for name, iri in reversed([*add.items()]):
            tx.prefixes = tx.prefixes.added(name, iri)
        counters = session.manifest.counters
        commit(tx, ChangeSet(Change(0, 0, counters), counters))


@retried
def compact(session: Session) -> None:
    """See `Store.compact`."""
    with writing(session, "compact") as tx:
        manifest = session.manifest
        fragmented = [t for t in _tables(manifest) if _fragmented(manifest.files_of(t.name))]
        session.workspace.forget()
        session.workspace.views(*fragmented)
        tables = {t: Whole(TableRows(session.engine, t.name)) for t in fragmented}
        commit(tx, ChangeSet(Change(0, 0, manifest.counters), manifest.counters, tables=tables))


def restore(path: str | Path, version: int) -> int:
    """See `Store.restore`."""
    versions, started = Versions(path), time.perf_counter()
    if versions.numbers() and versions.mark_fault():
        versions.read(version)
        versions.change_retention(KEEP_ALL)
        if versions.version == version:
            return version
    versions.check()
    with versions.working(version):
        if versions.version == version:
            raise UsageError(f"version {version} is the newest of {path}: there is nothing to go back from")
        manifest = versions.read(version)
        examine(versions, manifest, sums=True)
        report = UpdateReport("restore", seconds=round(time.perf_counter() - started, 4), reason=f"version {version}")
        return versions.publish(replace(manifest, version=versions.version + 1, last=report.as_dict())).version


def vacuum(session: Session, keep: int | None, keep_days: float, dry_run: bool) -> VacuumReport:
    """See `Store.vacuum`."""
    rule = session.versions.retention if keep is None and not keep_days else Retention(keep or 1, keep_days)
    return remove_unneeded(session.versions, rule, dry=dry_run)


def _tables(manifest: Manifest) -> list[Table]:
    """The tables that a version holds."""
    return [*STORED, *([COUNT] if manifest.files_of(COUNT.name).files else [])]


def _fragmented(files: TableFiles) -> bool:
    return len(files.files) > 1 or bool(files.tombstones)
