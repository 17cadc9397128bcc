"""The one commit: a change set becomes files, and the files the next version.

Nothing is visible before `publish` creates the manifest, and that is the last thing done. A change set that is staged
and not published is a draft: the workspace holds it, so that the next operation of a request works from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from triplestore.dictionary.object_types import counted
from triplestore.engine.sql import Scratch
from triplestore.model.report import UpdateReport
from triplestore.model.stopping import finishing
from triplestore.model.tables import ASSERTED, FACT, OBJECT_TYPE, SAME_AS, STATISTIC, TERM, VIOLATION, Table
from triplestore.model.thresholds import SIZES
from triplestore.storage import segments, statistics
from triplestore.storage.manifest import Manifest, TableFiles
from triplestore.storage.patches import TableRows, whole
from triplestore.write import object_types
from triplestore.write.change import ChangeSet
from triplestore.write.class_diff import class_diff
from triplestore.write.transaction import Transaction
from triplestore.write.violation_diff import violation_diff, violations_of


def commit(tx: Transaction, found: ChangeSet) -> UpdateReport:
    """Make a change set the next version; without any change there is none. Raises ConflictError where another writer
    was first."""
    if not found and tx.same:
        tx.verbose(f"nothing to change: the store stays at version {tx.before.version}")
        return tx.report()
    report = stage(tx, found)
    publish(tx, report)
    return report


def dry_run(tx: Transaction, found: ChangeSet, drafted: bool = False) -> UpdateReport:
    """What a commit would report, with the classes of equal terms and the inconsistencies that the transaction changes;
    all is undone then. drafted: change sets have been staged before this one. Raises NonConformingError where the
    result does not conform to the shapes that guard the store."""
    report = tx.report(found.outcome)
    if drafted or found:
        made = found.violations()
        if not found or found.outcome is None:
            tx.workspace.views(SAME_AS, VIOLATION)
        tx.workspace.views(TERM)
        scratch = Scratch(tx.engine)
        before, violated = scratch.table("classes_before"), scratch.table("violated_before")
        segments.attach(tx.engine, tx.versions, tx.before, SAME_AS, before)
        segments.attach(tx.engine, tx.versions, tx.before, VIOLATION, violated)
        classes = before, found.same_as(scratch)
        after = violations_of(tx.engine, VIOLATION.name) if made is None else made
        diff = violation_diff(tx.engine, violations_of(tx.engine, violated), after, classes)
        report = replace(report, classes=class_diff(tx.engine, *classes), violations=diff)
        scratch.clear()
    if tx.guard is not None and (drafted or found):
        try:
            stage(tx, found)
            tx.guard()
        finally:
            _undrafted(tx)
        return report
    found.undo()
    if drafted:
        _undrafted(tx)
    return report


def _undrafted(tx: Transaction) -> None:
    """Let the workspace hold the version that it began with, and have no files of what was staged."""
    tx.workspace.forget(tx.before)
    tx.versions.discard_drafts()


def stage(tx: Transaction, found: ChangeSet) -> UpdateReport:
    """Write the files of a change set, and let the workspace hold the draft of the next version."""
    workspace, before = tx.workspace, tx.workspace.manifest
    with tx.phase("write"):
        files = {t.name: c.written(tx.versions, t, before.files_of(t.name)) for t, c in found.tables.items()}
    stats, loaded = found.statistics(before), list(found.loaded)
    stats["uncounted"] = _uncounted(before, found, files)
    files |= _described(tx, found, files, again=found.outcome is not None and stats["uncounted"] == 0)
    report = tx.report(found.outcome)
    draft = replace(
        before,
        engine=tx.engine.name,
        counters=found.counters,
        tables={**before.tables, **files},
        materialised=found.outcome is not None or (before.materialised and not found.change),
        stats=stats,
        last=report.as_dict(),
        prefixes=tx.prefixes,
        graphs=tx.graphs,
        default_graph=tx.default_graph,
    )
    workspace.moved(draft, loaded)
    found.keep(draft)
    return report


def publish(tx: Transaction, report: UpdateReport) -> None:
    """Make what is staged the next version. Raises ConflictError where another writer was first, NonConformingError
    where it does not conform to the shapes that guard the store."""
    if tx.guard is not None:
        tx.guard()
    draft = tx.workspace.manifest
    last = replace(report, not_asserted=None).as_dict()
    with finishing():
        published = tx.versions.publish(replace(draft, version=draft.version + 1, last=last, graphs=tx.graphs))
        tx.workspace.moved(published, ())


def _uncounted(before: Manifest, found: ChangeSet, files: Mapping[str, TableFiles]) -> int:
    """How many facts have been added or removed since the closure was counted; 0 where it is to be counted again."""
    outcome, since = found.outcome, before.stats.get("uncounted", 0)
    if outcome is None:
        return since
    since += outcome.added + outcome.deleted
    stored = files.get(FACT.name, before.files_of(FACT.name))
    return 0 if outcome.whole or since > SIZES.share * stored.rows else since


def _described(
    tx: Transaction, found: ChangeSet, files: Mapping[str, TableFiles], again: bool
) -> dict[str, TableFiles]:
    """The files of `statistic` (none for few facts) and `object_type`, where they change. files: of the tables that the
    change set changes. again: what they say is counted again."""
    engine, workspace = tx.engine, tx.workspace
    after = replace(workspace.manifest, tables={**workspace.manifest.tables, **files})
    few = after.files_of(FACT.name).rows <= SIZES.small
    whole_closure = found.outcome is not None and found.outcome.whole
    made = {STATISTIC.name: TableFiles()} if again and few else {}
    if whole_closure or (again and not few):
        facts, asserted = (_next(tx, found, after, table) for table in (FACT, ASSERTED))
        if TERM.name not in files:  # else `term` reads the new ones too
            workspace.views(TERM)
        types = object_types.written(workspace, counted(engine, facts, asserted), whole=True)
        if not few:
            engine.create(STATISTIC.name, statistics.counted_sql(facts))
            made[STATISTIC.name] = whole(tx.versions, STATISTIC, TableRows(engine, STATISTIC.name))
            workspace.unbind(STATISTIC)
        for name in {facts, asserted} - {FACT.name, ASSERTED.name}:
            engine.drop(name, f"{name}_added", f"{name}_dead")
    elif workspace.object_types is not None:
        types = object_types.written(workspace, found.object_types(), whole=False)
    else:
        types = None
    return made if types is None else {**made, OBJECT_TYPE.name: types}


def _next(tx: Transaction, found: ChangeSet, after: Manifest, table: Table) -> str:
    """The name of a table of the next version: the table itself, or a view of its files."""
    if table in found.loaded:
        return table.name
    name = f"counted_{table.name}"
    segments.attach(tx.engine, tx.versions, after, table, name)
    return name
