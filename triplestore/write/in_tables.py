"""A change of any size, maintained in the engine's working tables; and closures computed from scratch."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Final

from triplestore.closure.view import ClosureView
from triplestore.dictionary import encoding, literals
from triplestore.dictionary.object_types import of_triples
from triplestore.engine.sql import Select
from triplestore.maintain import Change as Sizes
from triplestore.maintain import Outcome, Task, rematerialise
from triplestore.maintain.in_tables import maintain
from triplestore.materialise.figures import Figures
from triplestore.materialise.mint import Mint
from triplestore.materialise.statements import absent, triples_table
from triplestore.model.tables import (
    ASSERTED,
    COUNT,
    EQUAL_VALUED,
    FACT,
    GIVEN,
    OBJECT_TYPE,
    QUAD,
    SAME_AS,
    STATISTIC,
    STORED,
    TERM,
    VIOLATION,
    Table,
)
from triplestore.read.reasoning import reasoning, rule_constants
from triplestore.storage.manifest import Counters, Manifest
from triplestore.storage.patches import TableRows
from triplestore.write.change import Change, ChangeSet, Facts, Refused, TableChange
from triplestore.write.netting import no_facts, token_table
from triplestore.write.statistics import SAMPLED, stats_of
from triplestore.write.table_changes import Extended, Recounted, Whole, WorkingPatch
from triplestore.write.transaction import Transaction

CLOSURE: Final = (FACT, SAME_AS, VIOLATION)
"""The tables of a closure."""

_MADE: Final = tuple(table for table in STORED if table not in (STATISTIC, OBJECT_TYPE, QUAD))
"""The tables of a new store."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InTables(ChangeSet):
    """A change set whose working tables hold the next version. dropped: working tables that are of no use after it."""

    tx: Transaction
    dropped: tuple[str, ...] = ()

    def statistics(self, before: Manifest) -> dict[str, int]:
        """See `ChangeSet`."""
        stats = dict(before.stats)
        if self.outcome is not None:
            stats |= stats_of(self.tx.workspace)
            if self.outcome.algorithm == rematerialise.NAME:
                stats["materialise_derived"] = self.outcome.figures.derived
                stats.pop(SAMPLED, None)
        return stats

    def object_types(self) -> Collection[tuple[int, int]]:
        """See `ChangeSet`."""
        patches = [patch for patch in self.tables.values() if isinstance(patch, WorkingPatch)]
        return of_triples(self.tx.engine, *(patch.added.name for patch in patches)) if patches else ()

    def keep(self, now: Manifest) -> None:
        """See `ChangeSet`."""
        self.tx.engine.drop(*self.dropped)

    def undo(self) -> None:
        """See `ChangeSet`."""
        self.tx.workspace.forget(self.tx.before)


def maintained(tx: Transaction, change: Change, algorithm: str | None, refused: Refused | None = None) -> ChangeSet:
    """The closure in tables after a change. algorithm: None leaves the closure as it is, out of date. refused: why the
    change is not maintained in memory."""
    before = tx.workspace.manifest
    if change.facts is not None:
        _load(tx, change.facts)
    elif not change.removed:
        tx.engine.load("minus", no_facts())
    tx.workspace.tables(ASSERTED)
    tx.workspace.extend_terms()
    names, sizes = _assert(tx, change)
    plus, minus = TableRows(tx.engine, names[0], change.added), TableRows(tx.engine, names[1], change.removed)
    tables: dict[Table, TableChange] = {
        TERM: Extended(TableRows(tx.engine, "new_term")),
        ASSERTED: WorkingPatch(plus, minus, ASSERTED.name),
    }
    if change.quads is not None:
        tables[QUAD] = change.quads
    dropped = ("plus", "minus", "quad_plus", "quad_minus", "added", "removed", *names)
    if algorithm is None:
        return InTables(change, change.counters, None, tables, (ASSERTED,), tx=tx, dropped=dropped)
    reason, outdated = "" if refused is None else str(refused), tx.workspace.outdated()
    if outdated:
        algorithm, reason = rematerialise.NAME, outdated
    elif not before.materialised:
        algorithm = rematerialise.NAME
        tx.verbose("the closure was not up to date: it is computed from scratch with this change")
    tx.workspace.tables(*CLOSURE)
    mint = Mint(tx.engine, change.counters, ClosureView.of(before).by_value, tx.workspace.limits)
    known = reasoning(tx.engine, replace(before, counters=change.counters))
    outcome = maintain(Task(tx.engine, known, sizes, tx.round_done, mint), algorithm, reason)
    tx.maintained(outcome)
    counters = mint.counters or change.counters
    tables |= _closure(tx, outcome, counters)
    return InTables(change, counters, outcome, tables, (ASSERTED, *CLOSURE), tx=tx, dropped=dropped)


def rematerialised(tx: Transaction, counting: bool) -> ChangeSet:
    """The closure, computed from scratch; from now on derivations are counted, or not."""
    manifest = tx.workspace.manifest = replace(tx.workspace.manifest, counting=counting)
    tx.workspace.tables(ASSERTED, FACT, SAME_AS)
    tx.workspace.views(TERM)
    tx.workspace.given(ClosureView.of(manifest).equal_values)
    before = manifest.files_of(FACT.name).rows
    tx.engine.create("new_term", f"SELECT {TERM.select} FROM term WHERE FALSE")
    tx.workspace.extend_terms()
    figures, counters = _materialised(tx, manifest.counters)
    now = tx.workspace.count("fact")
    added, deleted = max(now - before, 0), max(before - now, 0)
    outcome = Outcome(rematerialise.NAME, "asked for", figures, True, added, deleted, figures.merged, 0)
    tx.maintained(outcome)
    tables = {TERM: Extended(TableRows(tx.engine, "new_term")), **_closure(tx, outcome, counters)}
    return InTables(Change(0, 0, counters), counters, outcome, tables, CLOSURE, tx=tx)


def initial(tx: Transaction) -> ChangeSet:
    """The built-in vocabulary, and the closure of nothing: version 1 of a store."""
    engine = tx.engine
    encoding.builtin_terms(engine, "term")
    engine.load("raw", token_table([]))
    _, counters = encoding.encode(engine, "raw", Counters(), rule_constants(tx.workspace.manifest))
    engine.append("term", [Select("new_term", TERM.names)])
    engine.create("stored_term", Select("term", TERM.names))
    engine.create("new_term", f"SELECT {TERM.select} FROM term WHERE FALSE")
    encoding.terms_view(engine)
    engine.load("asserted", no_facts())
    tx.workspace.given(equal_valued=False)
    figures, counters = _materialised(tx, counters)
    outcome = Outcome(rematerialise.NAME, "new store", figures, True, tx.workspace.count("fact"), 0, 0, 0)
    tx.maintained(outcome)
    tables = {t: Whole(TableRows(engine, t.name)) for t in _MADE}
    return InTables(Change(0, 0, counters), counters, outcome, tables, _MADE, tx=tx)


def _load(tx: Transaction, facts: Facts) -> None:
    """Make the working tables `plus`, `minus` and `new_term` of a change that was netted in memory."""
    tx.engine.load("plus", triples_table(facts.added))
    tx.engine.load("minus", triples_table(facts.removed))
    if not facts.terms.new:  # else `new_term` is there
        tx.workspace.views(TERM)
        tx.engine.create("new_term", f"SELECT {TERM.select} FROM term WHERE FALSE")


def _assert(tx: Transaction, change: Change) -> tuple[tuple[str, str], Sizes]:
    """Bring `asserted` and `given` up to date with `plus` and `minus`, which become the net change of `given`. The
    names of the tables of the net change of `asserted`, and the sizes for the algorithms."""
    engine, before = tx.engine, tx.workspace.manifest
    several, facts = (
        ClosureView.of(replace(before, counters=change.counters)).equal_values,
        before.files_of(FACT.name).rows,
    )
    if several:
        tx.workspace.given(several)
    if change.added:
        engine.append("asserted", [Select("plus", "spo")])
    if change.removed:
        engine.remove("asserted", "SELECT s, p, o FROM minus")
    if not several:
        tx.workspace.given(several)
        return ("plus", "minus"), Sizes(change.added, change.removed, facts)
    names = ("asserted_plus", "asserted_minus")
    return names, Sizes(*_state(tx, *names), facts)


def _state(tx: Transaction, plus: str, minus: str) -> tuple[int, int]:
    """Bring `given` up to date with `asserted` after the change in `plus` and `minus`, which move to the names given;
    `plus` and `minus` become the net change of `given`. Their numbers of rows."""
    engine = tx.engine
    for name, kept in (("plus", plus), ("minus", minus)):
        engine.create(kept, Select(name, "spo"))
    added = engine.create("plus", f"SELECT s, p, o FROM ({literals.by_value(plus)}) n WHERE {absent('n', GIVEN)}")
    left = (
        f"SELECT 1 FROM asserted a LEFT JOIN {EQUAL_VALUED} v ON v.id = a.o "
        "WHERE a.s = n.s AND a.p = n.p AND coalesce(v.value, a.o) = n.o"
    )
    removed = engine.create("minus", f"SELECT s, p, o FROM ({literals.by_value(minus)}) n WHERE NOT EXISTS ({left})")
    if added:
        engine.append(GIVEN, [Select("plus", "spo")])
    if removed:
        engine.remove(GIVEN, "SELECT s, p, o FROM minus")
    return added, removed


def _closure(tx: Transaction, outcome: Outcome, counters: Counters) -> Mapping[Table, TableChange]:
    """How the tables of the closure change with their working tables."""
    tables: dict[Table, TableChange] = {table: Whole(TableRows(tx.engine, table.name)) for table in CLOSURE}
    if not outcome.whole:
        added, removed = TableRows(tx.engine, "added", outcome.added), TableRows(tx.engine, "removed", outcome.deleted)
        tables[FACT] = WorkingPatch(added, removed, FACT.name)
    if tx.workspace.manifest.counting or tx.workspace.manifest.files_of(COUNT.name).files:
        tables[COUNT] = Recounted(tx.workspace, counters, tx.verbose)
    return tables


def _materialised(tx: Transaction, counters: Counters) -> tuple[Figures, Counters]:
    """Materialise; the figures, and the dictionary's counters after it."""
    workspace, manifest = tx.workspace, tx.workspace.manifest
    key = (manifest.rulesets, manifest.equality, manifest.files_of(TERM.name))
    known = workspace.cache.get("reasoning", key, lambda: reasoning(tx.engine, manifest))
    mint = Mint(tx.engine, counters, ClosureView.of(manifest).by_value, workspace.limits)
    run = known.evaluation(tx.engine, tx.round_done, mint)
    return run.materialise(), mint.counters or counters
