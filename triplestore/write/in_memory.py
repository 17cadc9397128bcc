"""A small change, maintained in memory: what it costs follows the change.

The closure of the version at hand is kept in memory from one change to the next (`triplestore.maintain.memory`) and
read once. A change that is not maintained here is `Refused`, with the reason.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from triplestore.closure.view import ClosureView
from triplestore.engine import WrittenFile
from triplestore.engine.arrow import as_numpy
from triplestore.engine.scratch import Scratch
from triplestore.maintain import Outcome, Reasoning, rematerialise
from triplestore.maintain.choose import Plan, Probe, Tried, given_up, learnt, plan, plan_rules
from triplestore.maintain.datatypes import TypeJudge, judge_types_in
from triplestore.maintain.foretell import CLASS, Foretelling
from triplestore.maintain.keys import NONE, Ids, Layout, LayoutFullError, minus, union
from triplestore.maintain.memory import Derivations, Memory, Rows
from triplestore.maintain.program import NotMaintainableError
from triplestore.maintain.run import EQUAL_LITERAL, Budget, TooDearError
from triplestore.maintain.violations import Judge, judge_in
from triplestore.model.equality import Equality
from triplestore.model.tables import ASSERTED, COUNT, FACT, SAME_AS, TERM, VIOLATION, Table
from triplestore.read.reasoning import all_rules, reasoning, touched
from triplestore.storage.manifest import Manifest
from triplestore.storage.patches import ArrowRows, TableRows
from triplestore.write.change import Change, ChangeSet, Facts, Reason, Refused, TableChange
from triplestore.write.netting import extend_terms
from triplestore.write.rows import columns_of, same_as_rows, table_of, violation_rows
from triplestore.write.statistics import memory_of, stats_after
from triplestore.write.table_changes import Extended, KeysPatch, LoadedPatch, Whole
from triplestore.write.transaction import Transaction

SMALL: Final = 50_000
"""Triples of a change up to which it is looked at here."""

LARGEST: Final = 50_000_000
"""Triples of a store, asserted and stored facts together, up to which its closure is kept in memory."""

ABORTED: Final = "tried"
"""The phase of maintaining the closure in memory that was aborted."""


def closure(tx: Transaction, size: int, algorithm: str) -> Memory | Refused:
    """The closure of the version at hand, read if need be, for a change of so many triples."""
    workspace, manifest = tx.workspace, tx.workspace.manifest
    if size > SMALL:
        return Refused(Reason.LARGE_CHANGE)
    if not manifest.materialised:
        return Refused(Reason.NOT_MATERIALISED)
    known = workspace.memory if workspace.memory is not None and workspace.memory[0] == _content(manifest) else None
    if algorithm == rematerialise.NAME and known is None:  # reading the closure would only be to net the change
        return Refused(Reason.FROM_SCRATCH, "asked for")
    with tx.phase("read"):
        workspace.views(TERM)
        return known[1] if known is not None else _read(tx)


def _read(tx: Transaction) -> Memory | Refused:
    """The closure of the version at hand, read; the workspace keeps it."""
    workspace, manifest = tx.workspace, tx.workspace.manifest
    workspace.memory = None
    if outdated := workspace.outdated():
        return Refused(Reason.OUTDATED, outdated)
    if ClosureView.of(manifest).literals_in_classes:
        return Refused(Reason.NOT_MAINTAINABLE, EQUAL_LITERAL)
    if sum(manifest.files_of(table.name).rows for table in (ASSERTED, FACT)) > LARGEST:
        return Refused(Reason.LARGE_STORE)
    workspace.sound(ASSERTED, FACT, SAME_AS, VIOLATION, COUNT)
    workspace.views(ASSERTED, FACT, SAME_AS, VIOLATION)
    derivations: Derivations = "none"
    if manifest.counting:
        workspace.views(COUNT)
        derivations = "read" if manifest.files_of(COUNT.name).files else "counted"
    try:
        memory = memory_of(workspace, derivations)
    except NotMaintainableError as error:
        return Refused(Reason.NOT_MAINTAINABLE, str(error))
    except LayoutFullError:
        return Refused(Reason.LAYOUT_FULL)
    for table in (ASSERTED, FACT):
        memory.dead[table.name] = _keys(tx, memory.working.layout, manifest.files_of(table.name).tombstones)
    workspace.memory = _content(manifest), memory
    return memory


def maintained(tx: Transaction, memory: Memory, change: Change, algorithm: str) -> ChangeSet | Refused:
    """The closure in memory after a netted change."""
    manifest = tx.workspace.manifest
    sizes = {**manifest.stats, "asserted": len(memory.said), "facts": len(memory.working.facts)}
    counting, rewriting = memory.counts is not None, manifest.equality == Equality.REWRITE
    try:
        probe = _probe(tx, memory)
        chosen = plan(algorithm, change.added, change.removed, sizes, probe, counting, rewriting)
    except NotMaintainableError as error:
        return Refused(Reason.NOT_MAINTAINABLE, str(error))
    return _carried_out(tx, memory, change, chosen, memory.reasoning)


def maintained_rules(
    tx: Transaction, memory: Memory, change: Change, before: Manifest, algorithm: str
) -> ChangeSet | Refused:
    """The closure in memory, which is that of `before`, under the rules of the manifest at hand."""
    manifest = tx.workspace.manifest
    sizes = {**manifest.stats, "asserted": len(memory.said), "facts": len(memory.working.facts)}
    fewer = {*all_rules(before)} - {*all_rules(manifest)}
    chosen = plan_rules(algorithm, bool(fewer), sizes, memory.counts is not None)
    return _carried_out(tx, memory, change, chosen, None)


def _carried_out(
    tx: Transaction, memory: Memory, change: Change, chosen: Plan, known: Reasoning | None
) -> ChangeSet | Refused:
    """Maintain the closure as was chosen, under the rules `known` (None: those of the manifest at hand)."""
    assert change.facts is not None
    if chosen.name is None:
        return Refused(Reason.FROM_SCRATCH, chosen.reason)
    started = time.perf_counter()
    try:
        rows = _updated(tx, memory, change, change.facts, chosen, known)
    except TooDearError:
        tx.phases.more({ABORTED: time.perf_counter() - started})
        manifest = tx.workspace.manifest
        told = given_up(chosen, change.removed)
        tx.workspace.manifest = replace(manifest, stats={**manifest.stats, **told})
        return Refused(Reason.OVER_BUDGET, f"{chosen.name} was dearer than computing the closure anew")
    except (NotMaintainableError, LayoutFullError) as error:
        tx.workspace.memory = None
        full = isinstance(error, LayoutFullError)
        reason = "the store has outgrown its layout in memory" if full else str(error)
        return Refused(
            Reason.LAYOUT_FULL if full else Reason.NOT_MAINTAINABLE,
            f"{reason}, which {chosen.name} does not maintain",
        )
    figures, added, removed = rows.figures, len(rows.added[0]), len(rows.removed[0])
    outcome = Outcome(rows.algorithm, chosen.reason, figures, False, added, removed, rows.merged, rows.split)
    tx.maintained(outcome)
    tables = _tables(tx, memory, change.facts, rows)
    tx.workspace.memory = None
    return InMemory(change, change.counters, outcome, tables, tx=tx, memory=memory, rows=rows, chosen=chosen)


def _updated(
    tx: Transaction, memory: Memory, change: Change, facts: Facts, chosen: Plan, known: Reasoning | None
) -> Rows:
    """Run the algorithm; the dictionary has the new terms then."""
    manifest, terms = replace(tx.workspace.manifest, counters=change.counters), facts.terms
    if terms.new:
        extend_terms(tx.workspace)
        if known is not None and touched(known, terms.new):
            known = None
    return memory.update(
        known or reasoning(tx.engine, manifest),
        facts.added,
        facts.removed,
        chosen.name or "",
        *_judges(tx),
        Budget(chosen.seconds, None if chosen.costs is None else Foretelling(chosen.costs)),
        tx.round_done,
        terms.values if ClosureView.of(manifest).equal_values else {},
        terms.ill_typed,
    )


def _judges(tx: Transaction) -> tuple[Judge, TypeJudge]:
    """What looks literals up in the engine."""
    return lambda pairs: judge_in(tx.engine, pairs), lambda facts, names: judge_types_in(tx.engine, facts, names)


def _probe(tx: Transaction, memory: Memory) -> Probe:
    """Deletes a few facts, spread over the asserted ones that are no axioms, and undoes it."""

    def probe(name: str, size: int, seconds: float) -> Tried | None:
        keys = memory.said.keys
        spread = keys[np.arange(1, size + 1) * len(keys) // (size + 1)]
        sample = memory.working.facts_of(minus(spread, memory.working.schema_of(spread)))
        started = time.thread_time()  # what else the machine does is no matter
        try:
            rows = memory.update(memory.reasoning, (), sample, name, *_judges(tx), Budget(seconds))
        except TooDearError:
            return None
        taken = time.thread_time() - started
        memory.revert()
        return Tried(taken, rows.figures.doubted + CLASS * rows.figures.dissolved)

    return probe


def _tables(tx: Transaction, memory: Memory, facts: Facts, rows: Rows) -> dict[Table, TableChange]:
    """How the stored tables change with the closure in memory."""
    layout, manifest = memory.working.layout, tx.workspace.manifest

    def patch(added: Sequence[Ids], removed: Sequence[Ids]) -> KeysPatch:
        plus, minus_ = (union(layout.keys(*(layout.encode(c) for c in columns))) for columns in (added, removed))
        return KeysPatch(memory, plus, minus_)

    tables: dict[Table, TableChange] = {
        ASSERTED: patch(columns_of(facts.added), columns_of(facts.removed)),
        FACT: patch(rows.added, rows.removed),
    }
    if facts.terms.new:
        tables[TERM] = Extended(TableRows(tx.engine, "new_term", len(facts.terms.new)))
    if rows.equal_added or rows.equal_removed:
        tables[SAME_AS] = _equal(tx, rows)
    if rows.violations_added or rows.violations_removed:
        tables[VIOLATION] = Whole(ArrowRows(violation_rows(memory.violations_now)))
    if memory.counts is not None:
        added, removed = rows.counts_added, rows.counts_removed
        if not manifest.files_of(COUNT.name).files:
            added, removed = memory.count_rows(), [NONE] * len(COUNT.names)
        tables[COUNT] = LoadedPatch(tx.workspace, table_of(COUNT, added), table_of(COUNT, removed))
    return tables


def _equal(tx: Transaction, rows: Rows) -> LoadedPatch:
    return LoadedPatch(tx.workspace, same_as_rows(rows.equal_added), same_as_rows(rows.equal_removed))


@dataclass(frozen=True, slots=True, kw_only=True)
class InMemory(ChangeSet):
    """A change set of the closure in memory, which is that after the change until `keep` or `undo`; the workspace does
    not have it meanwhile, so that whatever goes wrong leaves none that is half changed."""

    tx: Transaction
    memory: Memory
    rows: Rows
    chosen: Plan

    def statistics(self, before: Manifest) -> dict[str, int]:
        """See `ChangeSet`."""
        known = learnt(self.chosen, self.change.removed, self.rows.algorithm, self.rows.figures, before.stats)
        return stats_after(before.stats, self.rows, self.memory) | known

    def same_as(self, scratch: Scratch) -> str:
        """See `ChangeSet`."""
        assert self.change.facts is not None
        if not self.change.facts.terms.new:  # else `term` reads the new ones too
            self.tx.workspace.views(TERM)
        return _equal(self.tx, self.rows).applied(SAME_AS, scratch)[0]

    def keep(self, now: Manifest) -> None:
        """See `ChangeSet`."""
        workspace = self.tx.workspace
        self.memory.commit()
        workspace.memory = _content(now), self.memory
        if (prints := workspace.cache.last("fingerprints")) is not None and prints[1] is not None:
            assert self.change.facts is not None
            prints[1].add(self.change.facts.terms.new)
            workspace.cache.put("fingerprints", now.files_of(TERM.name), prints[1])

    def undo(self) -> None:
        """See `ChangeSet`."""
        self.memory.revert()
        self.tx.workspace.memory = _content(self.tx.workspace.manifest), self.memory


def _keys(tx: Transaction, layout: Layout, files: Sequence[WrittenFile]) -> Ids:
    """The keys of the triples in some files."""
    if not files:
        return union()
    scratch = Scratch(tx.engine)
    dead = scratch.name("dead_rows")
    tx.engine.attach(dead, [str(tx.versions.data / f.path) for f in files], FACT.columns)
    rows = tx.engine.query(f"SELECT s, p, o FROM {dead}")
    scratch.clear()
    s, p, o = (layout.encode(as_numpy(rows.column(i))) for i in range(3))
    return union(layout.keys(s, p, o))


def _content(manifest: Manifest) -> object:
    """What a closure in memory was read from: while it is the same, what was read holds, published or not."""
    return manifest.rulesets, tuple(manifest.files_of(table.name) for table in (ASSERTED, FACT, SAME_AS, VIOLATION))
