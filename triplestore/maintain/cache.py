"""A version's closure in memory from one update to the next, and an update of it by a named algorithm.

The store is read once; after that the cost of an update follows the facts that it changes. A failure, or a dry run,
leaves the closure unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from triplestore.compile.plan import Pattern, Shape
from triplestore.compile.schema import Constants, Fact
from triplestore.compile.specialise import Specialiser
from triplestore.engine import Engine
from triplestore.engine.arrow import as_numpy
from triplestore.maintain import Reasoning
from triplestore.maintain.budget import Budget, metered
from triplestore.maintain.classes import Classes, ExpiringClasses, mapped
from triplestore.maintain.context import EQUAL_LITERAL, MaintenanceContext
from triplestore.maintain.counts import Counts
from triplestore.maintain.extend import INSERTION
from triplestore.maintain.join import Instances, all_matches, encoded
from triplestore.maintain.keys import NONE, Ids, Layout, member, minus, union
from triplestore.maintain.policy import COUNTING, algorithm_of
from triplestore.maintain.program import NotMaintainableError, Specialised, nothing
from triplestore.maintain.recount import counted, recount
from triplestore.maintain.relation import Relation, StoredTables
from triplestore.maintain.remembered import Remembered
from triplestore.maintain.state import ClosureState
from triplestore.maintain.violations import (
    LiteralClashChecker,
    LiteralTypeChecker,
    Violation,
    check_datatypes,
    ill_typed_in,
    maintained,
)
from triplestore.materialise.datatypes import RULE as DATATYPE_RULE
from triplestore.materialise.figures import Figures, Report
from triplestore.model.equality import Equality
from triplestore.model.tables import ASSERTED, EQUAL_VALUED, FACT

if TYPE_CHECKING:
    from triplestore.maintain.evaluation import Evaluator


@dataclass(frozen=True, slots=True)
class Literals:
    """Codes. equal_valued: literals, sorted; firsts: for each, the first literal of its value; ill_typed: sorted."""

    equal_valued: Ids
    firsts: Ids
    ill_typed: Ids

    @classmethod
    def none(cls) -> Literals:
        """No such literals."""
        return cls(NONE, NONE, NONE)

    def extended(self, equal_valued: Ids, firsts: Ids, ill_typed: Ids) -> Literals:
        """These and more literals; some may be among these already."""
        fresh = ~member(equal_valued, self.equal_valued)
        if not fresh.any() and not len(ill_typed):
            return self
        every = np.concatenate((self.equal_valued, equal_valued[fresh]))
        order = np.argsort(every)
        return Literals(
            every[order], np.concatenate((self.firsts, firsts[fresh]))[order], union(self.ill_typed, ill_typed)
        )

    def with_new(self, layout: Layout, values: Mapping[int, int], ill_typed: Iterable[int]) -> Literals:
        """These and new literals, by their ids: those of equal values with the first ones, and the ill-typed ones."""
        equal_valued, firsts, ill = (
            np.array([*ids], dtype=np.int64) for ids in (values.keys(), values.values(), ill_typed)
        )
        return self.extended(layout.encode(equal_valued), layout.encode(firsts), layout.encode(ill))

    def by_value(self, codes: Ids) -> Ids:
        """Terms, with each literal replaced by the first one of its value."""
        return mapped(codes, self.equal_valued, self.firsts)

    def given(self, layout: Layout, keys: Ids) -> Ids:
        """Asserted facts, normalised by value, sorted."""
        if not len(self.equal_valued):
            return keys
        mask = (1 << layout.bits) - 1
        return union((keys & ~mask) | self.by_value(keys & mask))


_SAMPLE: Final = 512
"""Facts that `ClosureCache.sampled_derivations` looks at."""

Derivations = Literal["none", "read", "counted"]

Watch = Callable[[str, list[Fact]], None]
"""Receives the sets of an algorithm as they are made: name (see docs/maintenance.md), facts."""


@dataclass(frozen=True, slots=True)
class Rows:
    """The changes of an update, as ids: facts (s, p, o), rows of `same_as`, violations; and the run's figures."""

    algorithm: str
    figures: Figures
    added: tuple[Ids, Ids, Ids]
    removed: tuple[Ids, Ids, Ids]
    equal_added: Sequence[tuple[int, int]]
    equal_removed: Sequence[tuple[int, int]]
    violations_added: frozenset[Violation]
    violations_removed: frozenset[Violation]
    counts_added: Sequence[Ids] = ()
    counts_removed: Sequence[Ids] = ()
    """Rows of derivation counts, where they are kept: s, p, o, nonrecursive, recursive."""

    @property
    def merged(self) -> int:
        """Terms that are no longer representatives."""
        return sum(t != r for t, r in self.equal_added) - self._moved

    @property
    def split(self) -> int:
        """Terms that became representatives."""
        return sum(t != r for t, r in self.equal_removed) - self._moved

    @property
    def _moved(self) -> int:
        """Terms that belonged to another representative before and after."""
        return len({t for t, r in self.equal_added if t != r} & {t for t, r in self.equal_removed if t != r})


class ClosureCache:
    """The closure of one version: `read` it, then `update` it; `commit` or `revert` each update."""

    def __init__(self, state: ClosureState, specialised: Specialised, reasoning: Reasoning, violations: set[Violation]):
        self.state, self.specialised, self.reasoning, self.violations = state, specialised, reasoning, violations
        self.counts: Counts | None = None  # of derivations, in stores that keep them
        self.asserted_forms = Relation(state.layout)  # the asserted facts in the forms of their literals that were met
        self.literals = Literals.none()
        self.specialiser = Specialiser(reasoning.rules, reasoning.equality)
        self.remembered = Remembered()  # of expressions
        self.stored: StoredTables | None = None  # what its relations are read from, by the page
        self._after: _After | None = None
        self._sampled_derivations: int | None = None

    @classmethod
    def read(
        cls,
        engine: Engine,
        reasoning: Reasoning,
        counts: Sequence[int],
        equal_valued: bool = False,
        ill_typed: bool = False,
        derivations: Derivations = "none",
        stored: Callable[[Layout], StoredTables] | None = None,
        expiring: bool = False,
    ) -> ClosureCache:
        """The closure in `asserted`, `fact`, `same_as` and `violation`; counts: terms of each kind, built-in first.
        equal_valued: some literals have equal values (see `triplestore.model.tables.GIVEN`). ill_typed: some are
        ill-typed. derivations: are not counted, or their counts are "read" from `count`, or "counted" now.
        stored: makes what `asserted` and `fact` are read from by the page (None: the tables are read whole).
        expiring: facts are to expire (`triplestore.maintain.imars`): the types of literals are among what is given, and
        there are no violations.

        Raises NotMaintainableError for rules that cannot be run here, LayoutFullError for more terms than keys have
        room for.
        """
        layout = Layout(counts)
        tables = None if stored is None else stored(layout)
        asserted_forms, facts = (
            Relation(layout, _keys(engine, layout, table.name)) if tables is None else tables.relation(table)
            for table in (ASSERTED, FACT)
        )
        literals = Literals.none()
        if equal_valued:
            rows = engine.query("SELECT id, value FROM term WHERE value IS NOT NULL")
            literals = literals.extended(
                layout.encode(as_numpy(rows.column(0))), layout.encode(as_numpy(rows.column(1))), NONE
            )
        if ill_typed and reasoning.datatypes:
            ids = as_numpy(engine.query("SELECT id FROM term WHERE ill_typed").column(0))
            literals = literals.extended(NONE, NONE, layout.encode(ids))
        given = asserted_forms.copy()
        if len(literals.equal_valued):
            of = _keys(engine, layout, f"asserted a JOIN {EQUAL_VALUED} v ON v.id = a.o")
            given.remove(of)
            given.add(literals.given(layout, of))
        equal = engine.query("SELECT term, representative FROM same_as")
        kind = ExpiringClasses if expiring else Classes
        classes = kind(*(layout.encode(as_numpy(equal.column(i))) for i in range(2)))
        state = ClosureState(layout, given, facts, classes, reasoning.equality)
        violations = set[Violation]()
        if not expiring:
            wrong = engine.query("SELECT rule, facts FROM violation").to_pydict()
            violations.update((r, tuple(f)) for r, f in zip(wrong["rule"], wrong["facts"], strict=True))
        specialiser = Specialiser(reasoning.rules, reasoning.equality)
        run = MaintenanceContext(
            state, nothing(layout), specialiser, reasoning.constants, counting=derivations != "none"
        )
        run.program = specialised = run.specialised(state.facts_of(state.schema_facts()))
        check(run, replace(reasoning, datatypes=None) if expiring else reasoning)
        check_literals(state)
        cache = cls(state, specialised, reasoning, violations)
        cache.asserted_forms, cache.literals, cache.stored = asserted_forms, literals, tables
        if derivations == "counted":
            cache.counts = counted(run)
        elif derivations == "read":
            cache.counts = Counts.read(engine, layout)
        return cache

    def update(
        self,
        reasoning: Reasoning,
        plus: Iterable[Fact],
        minus: Iterable[Fact],
        algorithm: str,
        checker: LiteralClashChecker,
        type_checker: LiteralTypeChecker,
        budget: Budget | None = None,
        report: Report | None = None,
        values: Mapping[int, int] | None = None,
        ill_typed: Iterable[int] = (),
        watch: Watch | None = None,
        evaluator: Evaluator | None = None,
        memory: int | None = None,
    ) -> Rows:
        """Change the closure to that of the asserted facts without `minus` and with `plus` (true changes), under
        `reasoning`. values, ill_typed: of new literals, see `triplestore.dictionary.encoding.Numbered`. watch: receives
        the algorithm's sets. evaluator: of what `reasoning` has of expressions and aggregates, over `remembered`.
        memory: bytes that the process may take.

        Raises NotMaintainableError, BudgetExceededError, LayoutFullError, EndlessError, MemoryLimitError; the closure
        is then unchanged.
        """
        state = self.state
        state.begin()
        specialiser = self.specialiser
        changed = reasoning.rules != self.reasoning.rules
        if changed:
            specialiser = Specialiser(reasoning.rules, reasoning.equality)
        seen = None if watch is None else lambda name, keys: watch(name, state.facts_of(keys))
        counts = self.counts
        if counts is None and algorithm in COUNTING:
            raise NotMaintainableError("derivations are not counted")
        own = counts if algorithm in (INSERTION, *COUNTING) else None
        specialised, constants = self.specialised, reasoning.constants
        run = MaintenanceContext(
            *(state, specialised, specialiser, constants, budget, report, seen, counts is not None, own, evaluator),
            memory=memory,
        )
        run.rules_changed = changed
        run.constants_changed = not _same(reasoning.constants, self.reasoning.constants)
        try:
            with metered(run.meter):
                added, removed = state.keys_of(plus), state.keys_of(minus)
                literals = self.literals.with_new(state.layout, values or {}, ill_typed)
                state.change_asserted(*self._given(literals, added, removed))
                name = algorithm_of(algorithm, self.reasoning, reasoning)(run)
                if not len(state.asserted):  # the facts that are left may support each other by occurring
                    raise NotMaintainableError("nothing is asserted any more")
                check(run, reasoning)
                if evaluator is not None and evaluator.mint.made:
                    literals = literals.with_new(state.layout, *evaluator.special())
                if counts is not None and own is None:
                    with run.phase("count"):
                        recount(run, counts)
                with run.phase("violations"):
                    others = {v for v in self.violations if v[0] != DATATYPE_RULE}
                    violations = maintained(run, others, checker)
                    if reasoning.datatypes:
                        violations |= ill_typed_in(run, self.violations - others, literals.ill_typed, type_checker)
        except BaseException:
            self._revert()
            raise
        self._after = _After(run.program, reasoning, specialiser, violations, literals, added, removed)
        run.figures.seconds = sum(run.figures.phases.values())
        merged, parted = state.classes.change()
        return Rows(
            name,
            run.figures,
            state.ids_of(state.added),
            state.ids_of(state.removed),
            self._ids(merged),
            self._ids(parted),
            frozenset(violations - self.violations),
            frozenset(self.violations - violations),
            *self._counts_changed(),
        )

    def commit(self) -> None:
        """Keep the last update."""
        assert self._after is not None
        after = self._after
        self.specialised, self.reasoning, self.specialiser = after.program, after.reasoning, after.specialiser
        self.violations, self.literals = after.violations, after.literals
        self.asserted_forms.remove_old(after.removed)
        self.asserted_forms.add_new(after.added)
        if self.stored is not None:
            self.stored.commit()
        self._after = None
        self.state.begin()
        if self.counts is not None:
            self.counts.begin()

    @property
    def outgrown(self) -> bool:
        """Whether what has changed since it was read from files is so much that it is better read again."""
        return self.stored is not None and (self.state.facts.outgrown or self.asserted_forms.outgrown)

    @property
    def sampled_derivations(self) -> int:
        """How many rule instances derive a thousand facts of the closure: the mean over some, spread over it evenly."""
        if self._sampled_derivations is None:
            state, some = self.state, self.state.facts.sample(_SAMPLE)
            run = MaintenanceContext(state, self.specialised, self.specialiser, self.reasoning.constants)
            found = run.derivations_of(self.specialised.rules, some, state.facts)
            self._sampled_derivations = 1000 * found // max(1, len(some))
        return self._sampled_derivations

    def count_rows(self) -> Sequence[Ids]:
        """All derivation counts, where they are kept: s, p, o, nonrecursive, recursive."""
        assert self.counts is not None
        keys, counts = self.counts.rows()
        return *self.state.ids_of(keys), *counts

    def _counts_changed(self) -> tuple[Sequence[Ids], Sequence[Ids]]:
        """Rows of counts that were added, and that were removed."""
        if self.counts is None:
            return (), ()
        gone, before, come, now = self.counts.change()
        return (*self.state.ids_of(come), *now), (*self.state.ids_of(gone), *before)

    @property
    def violations_now(self) -> set[Violation]:
        """The violations after the last update, which is neither committed nor reverted."""
        assert self._after is not None
        return self._after.violations

    @property
    def asserted_change(self) -> tuple[Ids, Ids]:
        """The asserted triples (keys, sorted) that the last update added, and that it removed; see `violations_now`."""
        assert self._after is not None
        return self._after.added, self._after.removed

    def asserted_among(self, facts: Sequence[Fact]) -> set[Fact]:
        """Which of the triples (ids) are asserted."""
        keys = self.state.keys_of(facts)
        return set(self.state.facts_of(keys[self.asserted_forms.contains(keys)]))

    def _given(self, literals: Literals, added: Ids, removed: Ids) -> tuple[Ids, Ids]:
        """The given facts that are added and removed with these asserted ones."""
        if not len(literals.equal_valued):
            return added, removed
        layout, given = self.state.layout, self.state.asserted
        plus, gone = literals.given(layout, added), literals.given(layout, removed)
        s, p, o = layout.unpack(gone)
        rows, keys, _ = self.asserted_forms.match(layout.numbers(p), s, None)
        same = literals.by_value(layout.unpack(keys)[2]) == o[rows]
        rows, keys = rows[same], keys[same]
        left = np.bincount(rows[~member(keys, union(removed))], minlength=len(gone)) > 0
        return plus[~given.contains(plus)], minus(gone[~left], plus)

    def exchange(self, before: Iterable[Fact], after: Iterable[Fact]) -> None:
        """Let asserted facts have other forms of their literals, of the same values: those of `before` become those of
        `after`."""
        self.asserted_forms.remove(self.state.keys_of(before))
        self.asserted_forms.add(self.state.keys_of(after))

    def revert(self) -> None:
        """Undo the last update."""
        if self.stored is not None:
            self.stored.revert()
        self._after = None
        self._revert()

    def _revert(self) -> None:
        self.remembered.clear()  # terms that were made have their ids no longer
        self.state.revert()
        if self.counts is not None:
            self.counts.revert()

    def _ids(self, pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
        codes = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        return list(zip(*(self.state.layout.decode(column).tolist() for column in codes.T), strict=True))


@dataclass(frozen=True, slots=True)
class _After:
    """The state after an update that is neither committed nor reverted; added, removed: asserted facts."""

    program: Specialised
    reasoning: Reasoning
    specialiser: Specialiser
    violations: set[Violation]
    literals: Literals
    added: Ids
    removed: Ids


def _keys(engine: Engine, layout: Layout, source: str) -> Ids:
    rows = engine.query(f"SELECT s, p, o FROM {source}")
    return layout.sorted_keys(*(as_numpy(rows.column(i)) for i in range(3)))


def _same(left: Constants, right: Constants) -> bool:
    return dict(left) == dict(right) and left.equal == right.equal


def check_occurring(run: MaintenanceContext) -> None:
    """Raise NotMaintainableError if a rule that reads the terms that occur has matches of its other atoms, or if
    nothing occurs: owl:sameAs occurs as soon as any fact holds, and rules may read that."""
    program = run.program.program
    if not len(run.state.facts):
        raise NotMaintainableError("no fact holds")
    for shape, rows in (*program.instances.items(), *((s, r) for (_, s), r in program.constraints.items())):
        if not shape.uses_occurs:
            continue
        patterns = tuple(element for element in shape.body if isinstance(element, Pattern))
        asked = Shape(patterns, (), tuple(slot for element in patterns for slot in element.slots))
        instances = Instances(asked, encoded(run.layout, list(rows), asked))
        if not patterns or len(all_matches(instances, run.state.facts, run.state.classes)):
            raise NotMaintainableError("a rule asks for every term that occurs")


def check_literals(state: ClosureState) -> None:
    """Raise NotMaintainableError if a literal equals an IRI or a blank node."""
    first, equal = state.layout.first_literal, state.classes.terms
    if state.equality == Equality.AXIOMS:
        same = state.layout.numbers(np.array([state.same_as], dtype=np.int64))
        s, _, o = state.layout.unpack(state.facts.match(same, None, None)[1])
        equal = np.maximum(s, o)[s != o]
    if len(equal) and int(equal.max()) >= first:
        raise NotMaintainableError(EQUAL_LITERAL)


def check_lists(run: MaintenanceContext) -> None:
    """Raise NotMaintainableError if an equality closes a list that rules read: see
    `triplestore.materialise.specialisation`."""
    if run.state.equality == Equality.REWRITE and run.program.closed:
        nodes = run.layout.encode(np.array(sorted(run.program.closed), dtype=np.int64))
        if run.state.classes.large(nodes).any():
            raise NotMaintainableError("an equality closes a list")


def check(run: MaintenanceContext, reasoning: Reasoning) -> None:
    """Raise NotMaintainableError if the rules, as they are now, cannot be run over the facts as they are."""
    check_occurring(run)
    check_lists(run)
    if reasoning.datatypes and (run.program is not run.before or run.dirty):
        check_datatypes(run)
