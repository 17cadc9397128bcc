"""A small change of a store: maintained in memory, written as small files; what it costs follows the change.

The closure of the version at hand is kept in memory from one update to the next (`triplestore.maintain.memory`) and
read once. Where that cannot be, or another way is cheaper, the change goes through the engine's tables
(`Transaction.commit`).
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from triplestore.compile.schema import Fact
from triplestore.dictionary import encoding
from triplestore.dictionary.fingerprints import Fingerprints
from triplestore.engine import queries
from triplestore.engine.arrow import as_numpy
from triplestore.maintain import Outcome, Reasoning, rematerialise
from triplestore.maintain.choose import Plan, Probe, Tried, given_up, learnt, plan, plan_rules
from triplestore.maintain.datatypes import TypeJudge, judge_types_in
from triplestore.maintain.foretell import CLASS, Foretelling
from triplestore.maintain.keys import NONE, Ids, LayoutFullError, member, merged, minus, union
from triplestore.maintain.memory import Derivations, Memory, Rows
from triplestore.maintain.program import NotMaintainableError
from triplestore.maintain.regrouping import remember
from triplestore.maintain.run import EQUAL_LITERAL, Budget, TooDearError
from triplestore.maintain.violations import Judge, judge_in
from triplestore.model.tables import ASSERTED, COUNT, FACT, SAME_AS, TERM, VIOLATION, Table, token_sql
from triplestore.read.reasoning import all_rules, by_value, equal_literals, head_constants, reasoning, touched, twins
from triplestore.storage import patches, segments
from triplestore.storage.manifest import Counters, Manifest, RulesetText, TableFiles
from triplestore.write.derivations import memory_of, stats_after
from triplestore.write.figures import class_diff
from triplestore.write.rows import columns_of, same_as_rows, table_of, violation_rows
from triplestore.write.transaction import TRIED, Transaction

SMALL: Final = 50_000
"""Triples of a change up to which it is looked at here."""

LARGEST: Final = 50_000_000
"""Triples of a store, asserted and stored facts together, up to which its closure is kept in memory."""

TokenTriple = tuple[str, str, str]


@dataclass(slots=True)
class _Netted:
    """A change as ids: asserted facts that truly come and go; its terms, and the counters after it.

    unasserted: triples to delete that are not asserted.
    """

    plus: list[Fact]
    minus: list[Fact]
    terms: encoding.Numbered
    counters: Counters
    unasserted: int


class Incremental:
    """One small change on a workspace whose closure is up to date."""

    def __init__(self, transaction: Transaction) -> None:
        self.transaction, self.workspace = transaction, transaction.workspace
        self.engine, self.versions = transaction.engine, transaction.versions
        self.reason = ""
        """Why `apply` left it to others to maintain the closure, where it could say."""
        self._change: _Netted | None = None

    def apply(
        self,
        add: Sequence[TokenTriple],
        delete: Sequence[TokenTriple],
        algorithm: str,
        dry_run: bool,
        file: int,
        draft: bool = False,
    ) -> dict[str, Any] | None:
        """Apply a change (token triples; one in both is added) as one transaction, or as a draft of one (see
        `Transaction.commit`); its figures. file: the number of the last input file. None where the change is none for
        memory: nothing has been done then, see `reason`."""
        if len(add) + len(delete) > SMALL or not self.workspace.manifest.materialised:
            return None
        if algorithm == rematerialise.NAME and not self._known:  # reading the closure would only be to net the change
            self.reason = "asked for"
            return None
        with self.transaction.phase("read"):
            memory = self._memory()
        if memory is None:
            return None
        with self.transaction.phase("net"):
            change = self._change = self._netted(memory, add, delete, file)
        if not change.plus and not change.minus:
            if not draft:
                version = self.workspace.manifest.version
                self.transaction.verbose(f"nothing to change: the store stays at version {version}")
            figures = self.transaction.figures("update")
            return {**figures, "not_asserted": change.unasserted}
        try:
            probe = self._probe(memory)
            size, counting = (len(change.plus), len(change.minus)), memory.counts is not None
            rewriting = memory.working.equality == "rewrite"
            chosen = plan(algorithm, *size, self._sizes(memory), probe, counting, rewriting)
        except NotMaintainableError as error:
            self.reason = str(error)
            return None
        found = self._carried_out("update", memory, change, chosen, memory.reasoning, dry_run, draft)
        return None if found is None else {**found, "not_asserted": change.unasserted}

    def handed_over(self) -> tuple[int, int, int, Counters] | None:
        """What `Transaction.net` makes and returns, of a change that `apply` has netted and then left to others; None
        where it has not come so far."""
        if (change := self._change) is None:
            return None
        with self.transaction.phase("net"):
            self.transaction.netted(change.plus, change.minus, bool(change.terms.new))
        return len(change.plus), len(change.minus), change.unasserted, change.counters

    def change_rules(self, rulesets: tuple[RulesetText, ...], algorithm: str) -> dict[str, Any] | None:
        """Give the store other rulesets, and maintain the closure by what the programs differ in; the figures. None
        where that is nothing for memory: nothing has been done then, see `reason`."""
        before = self.workspace.manifest
        after = replace(before, rulesets=rulesets)
        if algorithm == rematerialise.NAME:
            self.reason = "asked for"
            return None
        if not before.materialised or by_value(before) != by_value(after):
            self.reason = (
                "literals are to be matched another way" if before.materialised else "the closure was not made"
            )
            return None
        with self.transaction.phase("read"):
            memory = self._memory()
        if memory is None:
            return None
        terms = encoding.numbered(self.engine, (), head_constants(after), before.counters, self._fingerprints())
        change = _Netted([], [], terms, terms.counters, 0)
        fewer = {*all_rules(before)} - {*all_rules(after)}
        chosen = plan_rules(algorithm, bool(fewer), self._sizes(memory), memory.counts is not None)
        self.workspace.manifest = after
        return self._carried_out("rules", memory, change, chosen, None, False, False)

    def _carried_out(
        self,
        operation: str,
        memory: Memory,
        change: _Netted,
        chosen: Plan,
        known: Reasoning | None,
        dry_run: bool,
        draft: bool,
    ) -> dict[str, Any] | None:
        """Maintain the closure as was chosen, under the rules `known` (None: those of the workspace's manifest), and
        publish; the figures. None: see `apply`."""
        if chosen.name is None:
            self.reason = chosen.reason
            return None
        started = time.perf_counter()
        try:
            rows = self._maintained(memory, change, chosen, known)
        except TooDearError:
            self.transaction.phases.more({TRIED: time.perf_counter() - started})
            self.reason = f"{chosen.name} was dearer than computing the closure anew"
            manifest = self.workspace.manifest
            told = given_up(chosen, len(change.minus))
            self.workspace.manifest = replace(manifest, stats={**manifest.stats, **told})
            return None
        except (NotMaintainableError, LayoutFullError) as error:
            reason = str(error) or "the store has outgrown its layout in memory"
            self.reason = f"{reason}, which {chosen.name} does not maintain"
            self.workspace.memory = None
            return None
        outcome = _outcome(rows, chosen)
        self.transaction.maintained(outcome)
        if dry_run:
            memory.revert()
            return {**self.transaction.figures(operation, outcome), **self._regrouped(change, rows)}
        try:
            return self._publish(operation, memory, change, rows, outcome, chosen, draft)
        except BaseException:
            self.workspace.memory = None
            raise

    def _maintained(self, memory: Memory, change: _Netted, chosen: Plan, known: Reasoning | None) -> Rows:
        """Run the algorithm; the dictionary has the new terms then."""
        manifest, terms = replace(self.workspace.manifest, counters=change.counters), change.terms
        if terms.new:
            self.transaction.extend_terms()
            if known is not None and touched(known, terms.new):
                known = None
        return memory.update(
            known or reasoning(self.engine, manifest),
            change.plus,
            change.minus,
            chosen.name or "",
            *self._judges,
            Budget(chosen.seconds, None if chosen.costs is None else Foretelling(chosen.costs)),
            self.transaction.report,
            terms.values if twins(manifest) else {},
            terms.ill_typed,
        )

    @property
    def _judges(self) -> tuple[Judge, TypeJudge]:
        """What looks literals up in the engine."""
        return (
            lambda pairs: judge_in(self.engine, pairs),
            lambda facts, names: judge_types_in(self.engine, facts, names),
        )

    def _probe(self, memory: Memory) -> Probe:
        """Deletes a few facts, spread over the asserted ones that are no axioms, and undoes it."""

        def probe(name: str, size: int, seconds: float) -> Tried | None:
            keys = memory.said.keys
            spread = keys[np.arange(1, size + 1) * len(keys) // (size + 1)]
            sample = memory.working.facts_of(minus(spread, memory.working.schema_of(spread)))
            started = time.thread_time()  # what else the machine does is no matter
            try:
                rows = memory.update(memory.reasoning, (), sample, name, *self._judges, Budget(seconds))
            except TooDearError:
                return None
            taken = time.thread_time() - started
            memory.revert()
            return Tried(taken, rows.figures.doubted + CLASS * rows.figures.dissolved)

        return probe

    # -- reading ---------------------------------------------------------------------------------------------------

    @property
    def _known(self) -> bool:
        """Whether the closure of the version at hand is in memory."""
        known = self.workspace.memory
        return known is not None and known[0] == _content(self.workspace.manifest)

    def _memory(self) -> Memory | None:
        """The closure of the version at hand, read if need be; None where it cannot be kept in memory."""
        workspace, manifest = self.workspace, self.workspace.manifest
        workspace.views(TERM)
        if self._known and workspace.memory is not None:
            return workspace.memory[1]
        workspace.memory = None
        if reason := workspace.outdated() or (EQUAL_LITERAL if equal_literals(manifest) else ""):
            self.reason = reason
            return None
        if sum(manifest.files_of(table.name).rows for table in (ASSERTED, FACT)) > LARGEST:
            self.reason = "the store is too large to be maintained in memory"
            return None
        workspace.sound(ASSERTED, FACT, SAME_AS, VIOLATION, COUNT)
        workspace.views(ASSERTED, FACT, SAME_AS, VIOLATION)
        derivations: Derivations = "none"
        if manifest.counting:
            workspace.views(COUNT)
            derivations = "read" if manifest.files_of(COUNT.name).files else "counted"
        try:
            memory = memory_of(workspace, derivations)
        except (NotMaintainableError, LayoutFullError) as error:
            self.reason = str(error) or "the store has too many terms to be maintained in memory"
            return None
        for table in (ASSERTED, FACT):
            memory.dead[table.name] = self._dead(memory, table)
        workspace.memory = _content(manifest), memory
        return memory

    def _dead(self, memory: Memory, table: Table) -> Ids:
        """The keys in a table's tombstone files."""
        stored = self.workspace.manifest.files_of(table.name)
        if not stored.tombstones:
            return union()
        self.engine.attach("dead_rows", [str(self.versions.data / f.path) for f in stored.tombstones], table.columns)
        rows = self.engine.query("SELECT s, p, o FROM dead_rows")
        self.engine.drop("dead_rows")
        s, p, o = (memory.working.layout.encode(as_numpy(rows.column(i))) for i in range(3))
        return union(memory.working.layout.keys(s, p, o))

    def _netted(self, memory: Memory, add: Sequence[TokenTriple], delete: Sequence[TokenTriple], file: int) -> _Netted:
        """The change as ids, netted against what is asserted."""
        counters = self.workspace.manifest.counters
        tokens = [{token for triple in triples for token in triple} for triples in (delete, add)]
        terms = encoding.numbered(self.engine, tokens[0], tokens[1], counters, self._fingerprints())
        ids = terms.ids
        plus = {(ids[s], ids[p], ids[o]) for s, p, o in add}
        going = {(ids[s], ids[p], ids[o]) for s, p, o in delete if s in ids and p in ids and o in ids} - plus
        fresh = set(terms.new.values())
        asserted = memory.asserted_among([f for f in (*plus, *going) if fresh.isdisjoint(f)])
        return _Netted(
            sorted(plus - asserted),
            sorted(going & asserted),
            terms,
            replace(terms.counters, files=max(counters.files, file)),
            len(set(delete) - set(add)) - len(going & asserted),
        )

    def _fingerprints(self) -> Fingerprints | None:
        """Of the terms of the version at hand; None the first time, as a process that makes one change has found its
        terms in the files before they would be ready."""
        workspace, files = self.workspace, self.workspace.manifest.files_of(TERM.name)
        known = None
        if workspace.fingerprints is not None:
            before, known = workspace.fingerprints
            if known is None or not {*before.files} <= {*files.files}:
                known = Fingerprints.read(self.engine)
            elif fresh := [f for f in files.files if f not in before.files]:
                self.engine.attach("fresh_term", [str(self.versions.data / f.path) for f in fresh], TERM.columns)
                known.add(dict(self.engine.rows(f"SELECT {token_sql('t')} AS token, t.id FROM fresh_term t")))
                self.engine.drop("fresh_term")
        workspace.fingerprints = files, known
        return known

    def _sizes(self, memory: Memory) -> Mapping[str, int]:
        sizes = dict(self.workspace.manifest.stats)
        return {**sizes, "asserted": len(memory.said), "facts": len(memory.working.facts)}

    def _regrouped(self, change: _Netted, rows: Rows) -> dict[str, Any]:
        """What a dry run says of classes of equal terms."""
        self.workspace.views(SAME_AS)
        if not change.terms.new:  # else `term` reads the new ones too: see `_maintained`
            self.workspace.views(TERM)
        remember(self.engine)
        self._load_equal(rows)
        self.engine.create(
            "same_as", f"SELECT {SAME_AS.select} FROM {self._now(SAME_AS, 'equal_added', 'equal_removed')}"
        )
        told = class_diff(self.engine)
        self.engine.drop("equal_added", "equal_removed", "same_as_now", "same_as_before")
        for table in (SAME_AS, TERM):
            self.workspace.unbind(table)
        return told

    # -- writing ---------------------------------------------------------------------------------------------------

    def _publish(
        self,
        operation: str,
        memory: Memory,
        change: _Netted,
        rows: Rows,
        outcome: Outcome,
        chosen: Plan,
        draft: bool,
    ) -> dict[str, Any]:
        before, transaction = self.workspace.manifest, self.transaction
        with transaction.phase("write"):
            files = self._written(memory, change, rows)
        stats = stats_after(before.stats, rows, memory)
        stats |= learnt(chosen, len(change.minus), rows.algorithm, rows.figures, before.stats)
        last = transaction.publish(operation, outcome, files, change.counters, (), draft=draft, stats=stats)
        memory.commit()
        self.workspace.memory = _content(self.workspace.manifest), memory
        if (prints := self.workspace.fingerprints) is not None and prints[1] is not None:
            prints[1].add(change.terms.new)
            self.workspace.fingerprints = self.workspace.manifest.files_of(TERM.name), prints[1]
        return last

    def _written(self, memory: Memory, change: _Netted, rows: Rows) -> dict[str, TableFiles]:
        """Write the change: the files of each table that it changes."""
        asserted = (columns_of(change.plus), columns_of(change.minus))
        files = {
            ASSERTED.name: self._patched(memory, ASSERTED, *asserted),
            FACT.name: self._patched(memory, FACT, rows.added, rows.removed),
        }
        if change.terms.new:
            files[TERM.name] = self.transaction.terms_written()
        if rows.equal_added or rows.equal_removed:
            files[SAME_AS.name] = self._same_as_patched(rows)
        if rows.violations_added or rows.violations_removed:
            self.engine.load("violation_now", violation_rows(memory.violations_now))
            files[VIOLATION.name] = segments.write_whole(self.engine, self.versions, VIOLATION, "violation_now")
            self.engine.drop("violation_now")
        if memory.counts is not None:
            files[COUNT.name] = self._counts_patched(memory, rows)
        return files

    def _patched(self, memory: Memory, table: Table, added: Sequence[Ids], removed: Sequence[Ids]) -> TableFiles:
        """The files of a table of triples after a change."""
        before = self.workspace.manifest.files_of(table.name)
        layout, dead = memory.working.layout, memory.dead[table.name]
        came, went = (union(layout.keys(*(layout.encode(c) for c in rows))) for rows in (added, removed))
        revived = member(came, dead)
        left = minus(dead, came)
        memory.dead_now[table.name] = union(left, went)
        rows = sum(f.rows for f in before.files) + len(came)
        if len(left) + len(went) > segments.DEAD_SHARE * rows:
            memory.dead_now[table.name] = union()
            now = memory.working.facts.keys if table is FACT else merged(minus(memory.said.keys, went), came)
            return TableFiles(patches.write_rows(self.versions, table.name, table_of(FACT, memory.working.ids_of(now))))
        ids_of = memory.working.ids_of
        return patches.patched(
            self.versions,
            table,
            before,
            added=table_of(FACT, ids_of(came[~revived])),
            removed=table_of(FACT, ids_of(went)),
            dead=table_of(FACT, ids_of(left)) if revived.any() else None,
        )

    def _same_as_patched(self, rows: Rows) -> TableFiles:
        self._load_equal(rows)
        files = self._changed(SAME_AS, "equal_added", "equal_removed")
        self.engine.drop("equal_added", "equal_removed")
        return files

    def _counts_patched(self, memory: Memory, rows: Rows) -> TableFiles:
        added, removed = rows.counts_added, rows.counts_removed
        if not self.workspace.manifest.files_of(COUNT.name).files:
            added, removed = memory.count_rows(), [NONE] * len(COUNT.names)
        for name, counts in (("count_added", added), ("count_removed", removed)):
            self.engine.load(name, table_of(COUNT, counts))
        files = self._changed(COUNT, "count_added", "count_removed")
        self.engine.drop("count_added", "count_removed")
        return files

    def _changed(self, table: Table, added: str, removed: str) -> TableFiles:
        """The files of a table after the change in two working tables."""
        stored, now = self.workspace.manifest.files_of(table.name), self._now(table, added, removed)
        files = segments.write_change(self.engine, self.versions, table, stored, added, removed, now)
        self.engine.drop(now)
        return files

    def _load_equal(self, rows: Rows) -> None:
        for name, pairs in (("equal_added", rows.equal_added), ("equal_removed", rows.equal_removed)):
            self.engine.load(name, same_as_rows(pairs))

    def _now(self, table: Table, added: str, removed: str) -> str:
        """A view of a table after the change, read only if it is better rewritten whole."""
        before, now = f"{table.name}_before", f"{table.name}_now"
        segments.attach(self.engine, self.versions, self.workspace.manifest, table, before)
        kept = queries.minus(before, removed, table.names)
        self.engine.view(now, f"{kept} UNION ALL SELECT {table.select} FROM {added}")
        return now


def _content(manifest: Manifest) -> object:
    """What a closure in memory was read from: while it is the same, what was read holds, published or not."""
    return manifest.rulesets, tuple(manifest.files_of(table.name) for table in (ASSERTED, FACT, SAME_AS, VIOLATION))


def _outcome(rows: Rows, chosen: Plan) -> Outcome:
    added, removed = len(rows.added[0]), len(rows.removed[0])
    return Outcome(rows.algorithm, chosen.reason, rows.figures, False, added, removed, rows.merged, rows.split)
