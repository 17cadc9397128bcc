"""A version's closure in memory from one update to the next, and an update of it by a named algorithm.

Reading it costs what the store holds, once; after that an update costs what it touches. A failure, or a dry run, leaves
it as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from triplestore.compile.schema import Constants, Fact
from triplestore.compile.specialise import Specialiser
from triplestore.engine import Engine
from triplestore.engine.arrow import as_numpy
from triplestore.maintain import Reasoning, datatypes
from triplestore.maintain import backward_forward as bf
from triplestore.maintain import backward_forward_counting as bfc
from triplestore.maintain import dred as dr
from triplestore.maintain import dred_counting as drc
from triplestore.maintain import dred_or_fixpoint_update as either
from triplestore.maintain import fixpoint_update as fp
from triplestore.maintain.classes import Classes
from triplestore.maintain.counts import NONRECURSIVE, Counts
from triplestore.maintain.datatypes import TypeJudge
from triplestore.maintain.extend import extend
from triplestore.maintain.keys import NONE, Ids, Layout, distinct, member, minus, union
from triplestore.maintain.literals import Literals
from triplestore.maintain.program import NotMaintainableError, Specialised, nothing
from triplestore.maintain.recount import counted, recount
from triplestore.maintain.relation import Relation
from triplestore.maintain.run import EQUAL_LITERAL, Budget, Run
from triplestore.maintain.violations import Judge, Violation, maintained
from triplestore.maintain.working import Working
from triplestore.materialise.datatypes import RULE as DATATYPE_RULE
from triplestore.materialise.figures import Figures, Report
from triplestore.model.equality import Equality

INSERTION: Final = "semi-naive"

Derivations = Literal["none", "read", "counted"]

Watch = Callable[[str, list[Fact]], None]
"""Is shown an algorithm's own sets as they come to be: name (docs/maintenance.md tells them), facts."""


def _dred(run: Run) -> str:
    dr.dred(run)
    return dr.NAME


def _fixpoint_update(run: Run) -> str:
    fp.fixpoint_update(run)
    return fp.NAME


def _insert(run: Run) -> str:
    with run.phase("insert"):
        if run.counts is not None:
            run.counts.add(run.working.plus, NONRECURSIVE, 1)
        extend(run, run.working.plus)
    return INSERTION


ALGORITHMS: Final[dict[str, Callable[[Run], str]]] = {
    INSERTION: _insert,
    dr.NAME: _dred,
    bf.NAME: bf.backward_forward,
    fp.NAME: _fixpoint_update,
    drc.NAME: drc.dred_counting,
    bfc.NAME: bfc.backward_forward_counting,
    either.NAME: either.dred_or_fixpoint_update,
}
"""Algorithms over the closure in memory; each returns what to call what it did."""

DELETING: Final = tuple(name for name in ALGORITHMS if name not in (INSERTION, either.NAME))
"""Those that can delete, and be asked for."""

COUNTING: Final = (drc.NAME, bfc.NAME)
"""Those that need derivation counts."""


@dataclass(frozen=True, slots=True)
class Rows:
    """What an update changed, as ids: facts (s, p, o), rows of `same_as`, violations; and the run's figures."""

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
        """Terms that lost their place as a representative."""
        return sum(t != r for t, r in self.equal_added) - self._moved

    @property
    def split(self) -> int:
        """Terms that became representatives."""
        return sum(t != r for t, r in self.equal_removed) - self._moved

    @property
    def _moved(self) -> int:
        """Terms that belonged to another representative before and after."""
        return len({t for t, r in self.equal_added if t != r} & {t for t, r in self.equal_removed if t != r})


class Memory:
    """The closure of one version: `read` it, then `update` it; `commit` or `revert` each update."""

    def __init__(self, working: Working, specialised: Specialised, reasoning: Reasoning, violations: set[Violation]):
        self.working, self.specialised, self.reasoning, self.violations = working, specialised, reasoning, violations
        self.counts: Counts | None = None  # of derivations, in stores that keep them
        self.said = Relation(working.layout)  # the asserted facts in the forms of their literals that were met
        self.literals = Literals.none()
        self._specialiser = Specialiser(reasoning.rules, reasoning.equality)
        self.dead: dict[str, Ids] = {}  # table -> keys of its tombstones, for whoever writes the changes down
        self.dead_now: dict[str, Ids] = {}
        self._after: _After | None = None

    @classmethod
    def read(
        cls,
        engine: Engine,
        reasoning: Reasoning,
        counts: Sequence[int],
        twins: bool = False,
        ill_typed: bool = False,
        derivations: Derivations = "none",
    ) -> Memory:
        """The closure in `asserted`, `fact`, `same_as` and `violation`; counts: terms of each kind, built-in first.
        twins: literals stand for others (see `triplestore.model.tables.STATED`). ill_typed: there are ill-typed ones.
        derivations: are not counted, or their counts are "read" from `count`, or "counted" now.

        Raises NotMaintainableError for rules that cannot be run here, LayoutFullError for more terms than keys have
        room for.
        """
        layout = Layout(counts)
        said, facts = (_keys(engine, layout, table) for table in ("asserted", "fact"))
        literals = Literals.none()
        if twins:
            rows = engine.query("SELECT id, value FROM term WHERE value IS NOT NULL")
            literals = literals.extended(
                layout.encode(as_numpy(rows.column(0))), layout.encode(as_numpy(rows.column(1))), NONE
            )
        if ill_typed and reasoning.datatypes:
            ids = as_numpy(engine.query("SELECT id FROM term WHERE ill_typed").column(0))
            literals = literals.extended(NONE, NONE, layout.encode(ids))
        stated = literals.stated(layout, said)
        equal = engine.query("SELECT term, representative FROM same_as")
        classes = Classes(*(layout.encode(as_numpy(equal.column(i))) for i in range(2)))
        working = Working(layout, Relation(layout, stated), Relation(layout, facts), classes, reasoning.equality)
        wrong = engine.query("SELECT rule, facts FROM violation").to_pydict()
        violations = {(r, tuple(f)) for r, f in zip(wrong["rule"], wrong["facts"], strict=True)}
        specialiser = Specialiser(reasoning.rules, reasoning.equality)
        run = Run(working, nothing(layout), specialiser, reasoning.constants, counting=derivations != "none")
        run.program = specialised = run.specialised(working.facts_of(working.schema_facts()))
        _check(run, reasoning)
        _check_literals(working)
        memory = cls(working, specialised, reasoning, violations)
        memory.said, memory.literals = Relation(layout, said), literals
        if derivations == "counted":
            memory.counts = counted(run)
        elif derivations == "read":
            memory.counts = _counts(engine, layout)
        return memory

    def update(
        self,
        reasoning: Reasoning,
        plus: Iterable[Fact],
        minus: Iterable[Fact],
        algorithm: str,
        judge: Judge,
        type_judge: TypeJudge,
        budget: Budget | None = None,
        report: Report | None = None,
        values: Mapping[int, int] | None = None,
        ill_typed: Iterable[int] = (),
        watch: Watch | None = None,
    ) -> Rows:
        """Change the closure to that of the asserted facts without `minus` and with `plus` (true changes), under
        `reasoning`. values, ill_typed: of new literals, see `triplestore.dictionary.encoding.Numbered`. watch: is shown
        the algorithm's sets.

        Raises NotMaintainableError, TooDearError (see `Run`), LayoutFullError; the closure is then as it was.
        """
        working = self.working
        working.begin()
        specialiser = self._specialiser
        changed = reasoning.rules != self.reasoning.rules
        if changed:
            specialiser = Specialiser(reasoning.rules, reasoning.equality)
        seen = None if watch is None else lambda name, keys: watch(name, working.facts_of(keys))
        counts = self.counts
        if counts is None and algorithm in COUNTING:
            raise NotMaintainableError("derivations are not counted")
        own = counts if algorithm in (INSERTION, *COUNTING) else None
        specialised, constants = self.specialised, reasoning.constants
        run = Run(working, specialised, specialiser, constants, budget, report, seen, counts is not None, own)
        run.rules_changed = changed
        run.constants_changed = not _same(reasoning.constants, self.reasoning.constants)
        try:
            came, went = working.keys_of(plus), working.keys_of(minus)
            literals = self.literals.extended(*_codes(working.layout, values or {}, ill_typed))
            working.change_asserted(*self._stated(literals, came, went))
            name = ALGORITHMS[algorithm](run)
            _check(run, reasoning)
            if counts is not None and own is None:
                with run.phase("count"):
                    recount(run, counts)
            with run.phase("violations"):
                others = {v for v in self.violations if v[0] != DATATYPE_RULE}
                violations = maintained(run, others, judge)
                if reasoning.datatypes:
                    violations |= datatypes.faults(run, self.violations - others, literals.ill_typed, type_judge)
        except BaseException:
            self._revert()
            raise
        self._after = _After(run.program, reasoning, specialiser, violations, literals, came, went)
        run.figures.seconds = sum(run.figures.phases.values())
        merged, parted = working.classes.change()
        return Rows(
            name,
            run.figures,
            working.ids_of(working.came),
            working.ids_of(working.went),
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
        self.specialised, self.reasoning, self._specialiser = after.program, after.reasoning, after.specialiser
        self.violations, self.literals = after.violations, after.literals
        self.said.remove(after.went)
        self.said.add(after.came)
        self.dead, self.dead_now = {**self.dead, **self.dead_now}, {}
        self._after = None
        self.working.begin()
        if self.counts is not None:
            self.counts.begin()

    def count_rows(self) -> Sequence[Ids]:
        """All derivation counts, where they are kept: s, p, o, nonrecursive, recursive."""
        assert self.counts is not None
        keys, counts = self.counts.rows()
        return *self.working.ids_of(keys), *counts

    def _counts_changed(self) -> tuple[Sequence[Ids], Sequence[Ids]]:
        """Rows of counts that came, and that went."""
        if self.counts is None:
            return (), ()
        gone, before, come, now = self.counts.change()
        return (*self.working.ids_of(come), *now), (*self.working.ids_of(gone), *before)

    @property
    def violations_now(self) -> set[Violation]:
        """The violations after the last update, which is neither committed nor reverted."""
        assert self._after is not None
        return self._after.violations

    def asserted_among(self, facts: Sequence[Fact]) -> set[Fact]:
        """Which of the triples (ids) are asserted."""
        keys = self.working.keys_of(facts)
        return set(self.working.facts_of(keys[self.said.contains(keys)]))

    def _stated(self, literals: Literals, came: Ids, went: Ids) -> tuple[Ids, Ids]:
        """The stated facts that come and go when these asserted ones do."""
        if not len(literals.twins):
            return came, went
        layout, stated = self.working.layout, self.working.asserted
        plus, gone = literals.stated(layout, came), literals.stated(layout, went)
        s, p, o = layout.unpack(gone)
        rows, keys, _ = self.said.match(layout.numbers(p), s, None)
        same = literals.homes_of(layout.unpack(keys)[2]) == o[rows]
        rows, keys = rows[same], keys[same]
        left = np.bincount(rows[~member(keys, union(went))], minlength=len(gone)) > 0
        return plus[~stated.contains(plus)], minus(gone[~left], plus)

    def revert(self) -> None:
        """Undo the last update."""
        self.dead_now = {}
        self._after = None
        self._revert()

    def _revert(self) -> None:
        self.working.revert()
        if self.counts is not None:
            self.counts.revert()

    def _ids(self, pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
        codes = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        return list(zip(*(self.working.layout.decode(column).tolist() for column in codes.T), strict=True))


@dataclass(frozen=True, slots=True)
class _After:
    """The state after an update that is neither committed nor reverted; came, went: asserted facts."""

    program: Specialised
    reasoning: Reasoning
    specialiser: Specialiser
    violations: set[Violation]
    literals: Literals
    came: Ids
    went: Ids


def _codes(layout: Layout, values: Mapping[int, int], ill_typed: Iterable[int]) -> tuple[Ids, Ids, Ids]:
    """What is known of literals, as codes for `Literals.extended`."""
    twins, homes, ill = (np.array([*ids], dtype=np.int64) for ids in (values.keys(), values.values(), ill_typed))
    return layout.encode(twins), layout.encode(homes), layout.encode(ill)


def _check_literals(working: Working) -> None:
    """Raise NotMaintainableError if a literal equals an IRI or a blank node."""
    first, equal = working.layout.first_literal, working.classes.terms
    if working.equality == Equality.AXIOMS:
        same = working.layout.numbers(np.array([working.same_as], dtype=np.int64))
        s, _, o = working.layout.unpack(working.facts.match(same, None, None)[1])
        equal = np.maximum(s, o)[s != o]
    if len(equal) and int(equal.max()) >= first:
        raise NotMaintainableError(EQUAL_LITERAL)


def _check(run: Run, reasoning: Reasoning) -> None:
    run.check_occurring()
    if reasoning.datatypes:
        datatypes.check(run)


def _keys(engine: Engine, layout: Layout, table: str) -> Ids:
    rows = engine.query(f"SELECT s, p, o FROM {table}")
    s, p, o = (layout.encode(as_numpy(rows.column(i))) for i in range(3))
    layout.register(distinct(p).tolist())
    keys = layout.keys(s, p, o)
    keys.sort()
    return keys


def _counts(engine: Engine, layout: Layout) -> Counts:
    rows = engine.query("SELECT s, p, o, nonrecursive, recursive FROM count")
    s, p, o = (layout.encode(as_numpy(rows.column(i))) for i in range(3))
    keys = layout.keys(s, p, o)
    order = np.argsort(keys)
    return Counts(keys[order], np.stack([as_numpy(rows.column(i))[order] for i in (3, 4)]))


def _same(left: Constants, right: Constants) -> bool:
    return dict(left) == dict(right) and left.equal == right.equal
