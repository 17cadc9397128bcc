"""A small change, maintained in memory: what it costs follows the change.

The closure of the version at hand is kept in memory from one change to the next (`triplestore.maintain.cache`) and
read once. A change that is not maintained here is `Refused`, with the reason.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from triplestore.closure.view import ClosureView
from triplestore.compile.schema import Fact
from triplestore.dictionary.fingerprints import Fingerprints
from triplestore.engine.sql import Scratch
from triplestore.maintain import Outcome, Reasoning, rematerialise
from triplestore.maintain.budget import BudgetExceededError
from triplestore.maintain.cache import ClosureCache, Derivations, Rows
from triplestore.maintain.context import EQUAL_LITERAL
from triplestore.maintain.keys import NONE, LayoutFullError
from triplestore.maintain.policy import Plan, Sizes, is_large, plan, plan_rules
from triplestore.maintain.program import NotMaintainableError
from triplestore.maintain.relation import StoredTables
from triplestore.maintain.thresholds import THRESHOLDS
from triplestore.maintain.violations import (
    LiteralClashChecker,
    LiteralTypeChecker,
    Violation,
    clashes_in,
    wrong_types_in,
)
from triplestore.materialise.datatypes import Names
from triplestore.materialise.mint import Mint
from triplestore.model.equality import Equality
from triplestore.model.errors import MemoryLimitError
from triplestore.model.tables import ASSERTED, COUNT, FACT, QUAD, SAME_AS, TERM, VIOLATION, Table
from triplestore.model.terms import FIRST_BLANK, FIRST_IRI, FIRST_LITERAL, FIRST_TRIPLE
from triplestore.model.thresholds import SIZES
from triplestore.read.reasoning import all_rules, reasoning, touched
from triplestore.storage.manifest import Manifest
from triplestore.storage.patches import ArrowRows
from triplestore.write.change import Change, ChangeSet, Facts, Reason, Refused, TableChange
from triplestore.write.object_types import of_facts
from triplestore.write.statistics import SAMPLED, memory_of, stats_after
from triplestore.write.table_changes import (
    Extended,
    KeysPatch,
    LoadedPatch,
    NewTerms,
    Whole,
    columns_of,
    same_as_rows,
    table_of,
    violation_rows,
)
from triplestore.write.transaction import Transaction

if TYPE_CHECKING:
    from triplestore.maintain.evaluation import Evaluator

ABORTED: Final = "tried"
"""The phase of maintaining the closure in memory that was aborted."""


def closure(tx: Transaction, plus: int, minus: int, algorithm: str) -> ClosureCache | Refused:
    """The closure of the version at hand, read if need be, for a change that adds and deletes so many triples at
    most."""
    workspace, manifest = tx.workspace, tx.workspace.manifest
    facts = manifest.files_of(FACT.name).rows
    derived = manifest.stats.get("materialise_derived", facts)
    if algorithm == "auto" and (is_large(plus + minus, derived) or (not minus and plus > THRESHOLDS.bulk)):
        return Refused(Reason.LARGE_CHANGE)
    if not manifest.materialised:
        return Refused(Reason.NOT_MATERIALISED)
    known = workspace.memory if workspace.memory is not None and workspace.memory[0] == _content(manifest) else None
    if algorithm == rematerialise.NAME and known is None:  # reading the closure would only be to net the change
        return Refused(Reason.FROM_SCRATCH, "asked for")
    with tx.phase("read"):
        return known[1] if known is not None else _read(tx)


def _read(tx: Transaction) -> ClosureCache | Refused:
    """The closure of the version at hand, read; the workspace keeps it."""
    workspace, manifest = tx.workspace, tx.workspace.manifest
    workspace.memory = None
    if outdated := workspace.outdated():
        return Refused(Reason.OUTDATED, outdated)
    if ClosureView.of(manifest).literals_in_classes:
        return Refused(Reason.NOT_MAINTAINABLE, EQUAL_LITERAL)
    workspace.views(TERM, SAME_AS, VIOLATION)
    if ClosureView.of(manifest).equal_values:
        workspace.views(ASSERTED)
    derivations: Derivations = "none"
    if manifest.counting:
        if sum(manifest.files_of(table.name).rows for table in (ASSERTED, FACT)) > SIZES.resident:
            return Refused(Reason.LARGE_STORE)
        workspace.views(COUNT)
        derivations = "read" if manifest.files_of(COUNT.name).files else "counted"
    try:
        memory = memory_of(
            workspace,
            derivations,
            stored=lambda layout: StoredTables(tx.versions, manifest.files_of, layout, SIZES.small),
        )
    except NotMaintainableError as error:
        return Refused(Reason.NOT_MAINTAINABLE, str(error))
    except LayoutFullError:
        return Refused(Reason.LAYOUT_FULL)
    workspace.memory = _content(manifest), memory
    return memory


def maintained(tx: Transaction, memory: ClosureCache, change: Change, algorithm: str) -> ChangeSet | Refused:
    """The closure in memory after a netted change."""
    try:
        chosen = plan(algorithm, change.added, change.removed, _sizes(memory, tx.workspace.manifest))
    except NotMaintainableError as error:
        return Refused(Reason.NOT_MAINTAINABLE, str(error))
    return _carried_out(tx, memory, change, chosen, memory.reasoning)


def maintained_rules(
    tx: Transaction, memory: ClosureCache, change: Change, before: Manifest, algorithm: str
) -> ChangeSet | Refused:
    """The closure in memory, which is that of `before`, under the rules of the manifest at hand."""
    manifest = tx.workspace.manifest
    fewer = {*all_rules(before)} - {*all_rules(manifest)}
    chosen = plan_rules(algorithm, bool(fewer), _sizes(memory, manifest))
    return _carried_out(tx, memory, change, chosen, None)


def _sizes(memory: ClosureCache, manifest: Manifest) -> Sizes:
    """What the choice of an algorithm depends on."""
    stats, facts = manifest.stats, len(memory.state.facts)
    sampled = stats.get(SAMPLED) or memory.sampled_derivations
    derived = stats.get("materialise_derived", facts)
    schema, axioms = len(memory.specialised.schema), memory.state.equality == Equality.AXIOMS
    program, counting = memory.specialised.program, memory.counts is not None
    kinds = (axioms, counting, program.negative, not program.monotone)
    return Sizes(len(memory.asserted_forms), facts, schema, derived, sampled / 1000, *kinds)


def _carried_out(
    tx: Transaction, memory: ClosureCache, change: Change, chosen: Plan, known: Reasoning | None
) -> ChangeSet | Refused:
    """Maintain the closure as was chosen, under the rules `known` (None: those of the manifest at hand)."""
    assert change.facts is not None
    if chosen.name is None:
        return Refused(Reason.FROM_SCRATCH, chosen.reason)
    started = time.perf_counter()
    by_value = ClosureView.of(tx.workspace.manifest).by_value
    mint = Mint(tx.engine, change.counters, by_value, tx.workspace.limits)
    try:
        rows = _updated(tx, memory, change, change.facts, chosen, known, mint)
    except BudgetExceededError:
        _forget_made(tx, change, mint)
        tx.phases.more({ABORTED: time.perf_counter() - started})
        return Refused(
            Reason.OVER_BUDGET, f"{chosen.name} would take more work than computing the closure from scratch"
        )
    except (MemoryLimitError, MemoryError):
        if chosen.budget.limit is None:
            raise  # the algorithm was asked for by name
        _forget_made(tx, change, mint)
        tx.phases.more({ABORTED: time.perf_counter() - started})
        return Refused(Reason.OVER_BUDGET, f"{chosen.name} would take more memory than there is")
    except (NotMaintainableError, LayoutFullError) as error:
        _forget_made(tx, change, mint)
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
    terms = len(change.facts.terms.new) + mint.made
    tables = _tables(tx, memory, terms, rows, change.quads)
    tx.workspace.memory = None
    counters = mint.counters or change.counters
    return InMemory(change, counters, outcome, tables, tx=tx, memory=memory, rows=rows, terms=terms)


def _updated(
    tx: Transaction,
    memory: ClosureCache,
    change: Change,
    facts: Facts,
    chosen: Plan,
    known: Reasoning | None,
    mint: Mint,
) -> Rows:
    """Run the algorithm; the dictionary has the new terms then. mint: numbers those that rules make."""
    manifest, terms = replace(tx.workspace.manifest, counters=change.counters), facts.terms
    if known is None or touched(known, terms.new):
        tx.workspace.views(TERM)
        known = reasoning(tx.engine, manifest)
    return memory.update(
        known,
        facts.added,
        facts.removed,
        chosen.name or "",
        *_checkers(tx),
        chosen.budget,
        tx.round_done,
        terms.values if ClosureView.of(manifest).equal_values else {},
        terms.ill_typed,
        evaluator=_evaluator(tx, memory, known, facts, mint),
        memory=tx.engine.memory(),
    )


def _evaluator(tx: Transaction, memory: ClosureCache, known: Reasoning, facts: Facts, mint: Mint) -> Evaluator | None:
    """What evaluates the expressions and aggregates of rules, where there are any now or were before."""
    before = memory.reasoning
    if before.monotone and known.monotone:
        return None
    from triplestore.maintain.evaluation import Evaluator  # slow to import, and few rules need it

    def prepare() -> None:
        tx.workspace.views(TERM)
        if not facts.terms.new:
            tx.engine.create("new_term", f"SELECT {TERM.select} FROM term WHERE FALSE")
            tx.workspace.extend_terms()

    constants = {**before.constants, **known.constants}
    return Evaluator(tx.engine, constants, mint, memory.remembered, prepare)


def _forget_made(tx: Transaction, change: Change, mint: Mint) -> None:
    """Leave in `new_term` the terms of the change alone."""
    if mint.made:
        now = change.counters
        firsts = (
            (FIRST_IRI, now.iri),
            (FIRST_BLANK, now.blank),
            (FIRST_LITERAL, now.literal),
            (FIRST_TRIPLE, now.triple),
        )
        kept = " OR ".join(f"(id >= {first} AND id < {first + count})" for first, count in firsts)
        tx.engine.create("new_term", f"SELECT {TERM.select} FROM new_term WHERE {kept}")
        tx.workspace.extend_terms()


def _checkers(tx: Transaction) -> tuple[LiteralClashChecker, LiteralTypeChecker]:
    """What looks literals up in the engine."""

    def clashes(pairs: Iterable[tuple[int, int]]) -> list[Violation]:
        tx.workspace.views(TERM)
        return clashes_in(tx.engine, pairs)

    def wrong_types(facts: Iterable[Fact], names: Names) -> list[Violation]:
        tx.workspace.views(TERM)
        return wrong_types_in(tx.engine, facts, names)

    return clashes, wrong_types


def _tables(
    tx: Transaction, memory: ClosureCache, terms: int, rows: Rows, quads: TableChange | None
) -> dict[Table, TableChange]:
    """How the stored tables change with the closure in memory. terms: how many are new. quads: how `quad` does."""
    manifest, state = tx.workspace.manifest, memory.state
    tables: dict[Table, TableChange] = {
        ASSERTED: KeysPatch(tx.workspace, memory, *memory.asserted_change),
        FACT: KeysPatch(tx.workspace, memory, state.added, state.removed),
    }
    if terms:
        tables[TERM] = Extended(NewTerms(tx.workspace, terms))
    if quads is not None:
        tables[QUAD] = quads
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
    not have it meanwhile, so that whatever goes wrong leaves none that is half changed.

    terms: how many are new.
    """

    tx: Transaction
    memory: ClosureCache
    rows: Rows
    terms: int

    def statistics(self, before: Manifest) -> dict[str, int]:
        """See `ChangeSet`."""
        stats = stats_after(before.stats, self.rows, self.memory)
        return stats if SAMPLED in stats else {**stats, SAMPLED: self.memory.sampled_derivations}

    def object_types(self) -> Collection[tuple[int, int]]:
        """See `ChangeSet`."""
        assert self.change.facts is not None
        added, terms = self.change.facts.added, self.change.facts.terms
        return of_facts(self.tx.workspace, (columns_of(added), self.rows.added), terms.ids)

    def same_as(self, scratch: Scratch) -> str:
        """See `ChangeSet`."""
        self.tx.workspace.views(TERM)
        return _equal(self.tx, self.rows).applied(SAME_AS, scratch)

    def violations(self) -> Iterable[tuple[str, tuple[int, ...]]]:
        """See `ChangeSet`."""
        return self.memory.violations_now

    def keep(self, now: Manifest) -> None:
        """See `ChangeSet`."""
        workspace = self.tx.workspace
        memory, kept = self.memory, {f.path for table in (ASSERTED, FACT) for f in now.files_of(table.name).named}
        memory.commit()
        reread = memory.outgrown or (memory.stored is not None and not memory.stored.large <= kept)
        workspace.memory = None if reread else (_content(now), memory)
        if (prints := workspace.cache.last("fingerprints")) is not None and isinstance(prints[1], Fingerprints):
            assert self.change.facts is not None
            new = self.change.facts.terms.new
            if new and self.terms == len(new):  # else they are read from the files, others' before them too
                prints[1].add(new)
                workspace.cache.put("fingerprints", now.files_of(TERM.name), prints[1])

    def undo(self) -> None:
        """See `ChangeSet`."""
        self.memory.revert()
        self.tx.workspace.without_terms()
        self.tx.workspace.memory = _content(self.tx.workspace.manifest), self.memory


def keep_beside(tx: Transaction, before: Manifest, now: Manifest, new: Mapping[str, int] | None) -> None:
    """Keep the closure in memory, if that of `before` is there, for a version with the same facts and more terms.
    new: their tokens, and ids; None where they are not known. It is not kept where it depends on them: on what rules
    speak of, and on literals, whose values it compares, also within triple terms; nor where it has no room for them."""
    workspace = tx.workspace
    if workspace.memory is None or workspace.memory[0] != _content(before):
        return
    memory = workspace.memory[1]
    workspace.memory = None
    if new is None or any(t[0] not in "<_" for t in new) or touched(memory.reasoning, [*new]):
        return
    with suppress(LayoutFullError):
        memory.state.layout.encode(np.fromiter(new.values(), np.int64, len(new)))
        workspace.memory = _content(now), memory


def _content(manifest: Manifest) -> object:
    """What a closure in memory was read from: while it is the same, what was read holds, published or not."""
    tables = (ASSERTED, FACT, SAME_AS, VIOLATION, TERM)
    return manifest.rulesets, tuple(manifest.files_of(table.name) for table in tables)
