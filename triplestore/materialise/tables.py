"""Semi-naive evaluation in the working tables of an engine, set at a time.

A round of `triplestore.materialise.seminaive`:

1. close the delta under joins with large transitive relations (`triplestore.materialise.transitive`), close the schema
   if the delta or a merge touched it, and specialise the rules again
   (`triplestore.materialise.specialisation`);
2. every shape, with every atom in turn as focus on the delta (`triplestore.compile.plan.Read`), yields `derived`
   (`triplestore.materialise.firing`), and the delta joins `fact` (`triplestore.materialise.facts`);
3. equalities in `derived` merge classes; facts that mention a lost representative are taken out and rewritten; what is
   new is the next delta (`triplestore.materialise.rewriting`).

Rules with NOT or AGGREGATE run in stages (`triplestore.materialise.stages`). Terms that rules make get their ids in
step 2 (`triplestore.materialise.mint`). What cannot be is looked for at the end (`triplestore.materialise.violations`).

Working tables: given (made by the caller: the asserted facts, literals by value), fact, same_as, violation (results);
delta, derived, merged, occurs.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

import pyarrow as pa

from triplestore.compile.plan import Shape
from triplestore.compile.program import Program
from triplestore.compile.schema import Constants
from triplestore.compile.sql import Terms
from triplestore.engine import Engine
from triplestore.engine.arrow import int64s
from triplestore.engine.sets import Ids
from triplestore.engine.sql import Select, count
from triplestore.materialise.aggregates import Aggregates
from triplestore.materialise.datatypes import Datatypes
from triplestore.materialise.facts import Facts
from triplestore.materialise.figures import Figures, Report, RoundFigures, ShapeFigures
from triplestore.materialise.firing import Firing, Statement
from triplestore.materialise.late import Late, LeavingTables
from triplestore.materialise.mint import Mint
from triplestore.materialise.rewriting import Rewriting
from triplestore.materialise.same_as import normalised
from triplestore.materialise.seminaive import semi_naive
from triplestore.materialise.specialisation import Specialisation
from triplestore.materialise.stages import Instances, ReorderError, Stages, equalities
from triplestore.materialise.statements import triples_table
from triplestore.materialise.transitive import CHAIN, Transitive
from triplestore.materialise.violations import Violations
from triplestore.materialise.well_founded import WellFoundedCheck
from triplestore.model.equality import Equality
from triplestore.model.expression import Call, walk
from triplestore.model.rule import Aggregate, Bind, Rule
from triplestore.model.terms import BUILTIN_IDS, FIRST_LITERAL, SAME_AS
from triplestore.model.thresholds import SIZES


class Tables:
    """One run over the working tables of an engine, a backend of `semi_naive`.

    constants: token -> id of the rules' constants (those that the dictionary has), and the literals that equal them.
    datatypes: carry out the datatype rules dt-type2 and dt-not-type too (`triplestore.materialise.datatypes`).
    many: schema facts of a kind from which they are joined by the engine (None: `SIZES.small`); with NOT
    or AGGREGATE none are, as strata depend on the schema.
    track: keep the net change of `fact` in working tables `added` and `removed`. mint: for rules that make terms.
    late: carries on a run whose rounds have become small, in memory.
    """

    def __init__(
        self,
        engine: Engine,
        rules: Iterable[Rule],
        equality: Equality,
        constants: Constants,
        track: bool = False,
        report: Report | None = None,
        many: int | None = None,
        mint: Mint | None = None,
        datatypes: Datatypes | None = None,
        late: Late | None = None,
    ) -> None:
        self.engine, self.equality, self.track, self.report = engine, equality, track, report
        self.rules = tuple(rules)
        self.figures = Figures()
        self.mint = mint or Mint(engine)
        if any(isinstance(part, Call | Aggregate | Bind) for part in walk(self.rules)):
            from triplestore.expressions.vectorised import register  # slow to import, and few rules call

            register(engine)  # what expressions may call
        self.stages = Stages(engine, self.rules, equality)
        self._terms = Terms(engine.dialect, {**BUILTIN_IDS, **constants})
        self._constants, self._datatypes, self._many = constants, datatypes, SIZES.small if many is None else many
        self._late, self._leaving = late, LeavingTables()
        self._making = 0  # rounds in which rules have made terms
        self._scratch = engine.scratch()
        self._begin()

    def _begin(self) -> None:
        """Forget whatever a run has found."""
        self.stages.restart()
        self._facts = Facts(self.engine, self._scratch, self.equality, self.track)
        self._aggregates = Aggregates(self.engine, self._scratch, self.equality, self._terms, self.mint)
        self._well_founded = WellFoundedCheck(self.engine, self._scratch, self.rules, self.equality, self._terms)
        self._specialisation = Specialisation(
            *(self.rules, self._constants, self._facts, self.stages, self._aggregates),
            *(self._datatypes, self._many),
        )
        self._transitive = Transitive(self._facts, self._many)
        self._firing = Firing(
            *(self._facts, self.stages, self._aggregates, self._well_founded, self._terms, self._transitive)
        )
        self._rewriting = Rewriting(self._facts, self._specialisation)
        self._violations = Violations(self._specialisation, self._aggregates, self._terms, self.mint)

    @property
    def program(self) -> Program:
        """The rules specialised by the schema of the closure."""
        return self._specialisation.program

    # -- entry points ----------------------------------------------------------------------------------------------

    def materialise(self, given: str = "given") -> Figures:
        """Compute `fact`, `same_as` and `violation` from working table (or view) `given`."""
        with self._scratch:
            return self._materialise(given)

    def _materialise(self, given: str) -> Figures:
        started = time.perf_counter()
        while True:
            self._facts.empty("fact", "delta", "derived")
            self._facts.begin_identities()
            self.engine.load("same_as", pa.table({"term": int64s(), "representative": int64s()}))
            self._violations.empty()
            self._absorb_given(given)
            try:
                self._run()
                break
            except ReorderError:
                self._begin()
        if self.stages.unsettled:
            self._well_founded.verify(self.stages.running(self.program.instances), self._aggregates)
        self._rewriting.complete_reflexive()
        self._violations.find(given, None, self._rewriting.apart, self._derive)
        self.figures.phases["materialise"] = self.figures.seconds = time.perf_counter() - started
        return self.figures

    def insert(self, new: str) -> Figures:
        """Add the given facts of working table `new` (ids not under pi) to the closure in `fact`, `same_as`,
        `violation`: semi-naive from the new facts only."""
        with self._scratch:
            return self._insert(new)

    def _insert(self, new: str) -> Figures:
        started = time.perf_counter()
        self._facts.resume()
        self._restore()
        self._facts.empty("derived")
        self._specialisation.find_identities()
        self.engine.append("derived", [normalised(new, "same_as")])
        if self._specialisation.typed:
            self.engine.append("derived", [self._specialisation.types_of("new_term")])
        if self.equality == Equality.AXIOMS:
            self._derive(equalities(self.program.instances, FIRST_LITERAL))
        self._rewriting.absorb(self.figures.absorbed)
        self._run()
        self._rewriting.complete_reflexive()
        self._violations.find(new, "added" if self.track else None, self._rewriting.apart, self._derive)
        if self.track:
            self._facts.net()
        self.figures.phases["insert"] = self.figures.seconds = time.perf_counter() - started
        return self.figures

    def obstacle(self, new: str) -> str | None:
        """Why `insert` cannot extend the closure by the facts of working table `new`, or nothing: they may lead to what
        a NOT or AGGREGATE reads, or to other schema, which may."""
        self._restore()
        if not self.program.negative:
            return None
        found = self.engine.query(f"SELECT DISTINCT p, o FROM ({normalised(new, 'same_as')}) n").to_pydict()
        constants = self._specialisation.constants
        return self.stages.obstacle(self.program, constants, zip(found["p"], found["o"], strict=True))

    def _restore(self) -> None:
        """Take up the closure that is in `fact`."""
        self._facts.begin_identities()
        self._specialisation.restore()
        self._violations.before = self.program

    def _absorb_given(self, given: str) -> None:
        """The first delta: the given facts, normalised."""
        if self.equality != Equality.OFF and count(self.engine, f"{given} WHERE p = {SAME_AS}"):
            self.engine.append("derived", [Select(given, "spo")])
            self._rewriting.absorb(self.figures.absorbed)
        else:
            self._facts.begin(Select(given, "spo"))

    # -- rounds ----------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        semi_naive(self, self.figures, self.report)
        self._specialisation.check_lists()

    def absorb(self, figures: RoundFigures) -> None:
        """See `Backend`."""
        self._rewriting.absorb(figures)

    def specialise(self) -> int | None:
        """See `Backend`. Rounds that have become small go on in memory first."""
        facts, specialisation = self._facts, self._specialisation
        if self._late is not None and self._leaving.due(facts.new, facts.old) and not specialisation.unsettled:
            self._finish_in_memory()
        facts.summarise()
        self._closed = self._transitive.extend(self.program.instances.get(CHAIN, {}))
        self._fresh = specialisation.refresh()
        facts.occurring(self.program.uses_occurs)
        more = self._fresh or facts.new_terms or specialisation.later or self._transitive.returned
        return facts.new if facts.new or more else None

    def begin_stratum(self) -> bool:
        """See `Backend`."""
        return self._specialisation.begin_stage()

    def derive(self, figures: RoundFigures) -> None:
        """See `Backend`."""
        facts, specialisation = self._facts, self._specialisation
        figures.shapes += self._closed
        figures.derivations += sum(closed.rows for closed in self._closed)
        statements = self._firing.statements(self.program.instances, self._fresh)
        facts.empty("derived")
        if specialisation.later:
            with self.engine.scratch() as scratch:
                later = scratch.load("later", triples_table(specialisation.later))
                self.engine.append("derived", [Select(later, "spo")])
        made, literals = self.mint.made, self.mint.literals
        self._execute(statements, figures)
        figures.made = self.mint.made - made
        self._making += figures.made > 0
        if specialisation.typed and self.mint.literals > literals:
            self.engine.append("derived", [specialisation.types_made(literals)])
        facts.promote()

    def _finish_in_memory(self) -> None:
        """Have the rounds that are left done in memory, and take over what they changed. The next round in tables finds
        an empty delta, or what is not for memory: the types of literals that new schema facts ask for."""
        assert self._late is not None
        facts, found = self._facts, self._late(self.engine, self._specialisation, self.report)
        self._leaving.stay()
        if found is None:
            return
        with self.engine.scratch() as scratch:

            def loaded(label: str, names: Sequence[str], columns: Sequence[Ids]) -> str:
                return scratch.load(label, pa.table({n: int64s(c) for n, c in zip(names, columns, strict=True)}))

            if len(found.removed[0]):
                facts.take_out(f"SELECT s, p, o FROM {loaded('late_removed', 'spo', found.removed)}")
                facts.empty("derived")
            facts.begin(Select(loaded("late_added", "spo", found.added), "spo"))
            facts.summarise()
            facts.new_terms = 0
            facts.promote()
            facts.empty("delta")
            facts.new = 0
            facts.moved()
            if len(found.merged[0]):
                columns = "term", "representative"
                if len(found.outdated[0]):
                    outdated = loaded("late_outdated", columns, found.outdated)
                    self.engine.remove("same_as", f"SELECT term, representative FROM {outdated}")
                merged = loaded("late_merged", columns, found.merged)
                self.engine.append("same_as", [Select(merged, columns)])
                self._specialisation.merged(merged)
        self._rewriting.apart = self._rewriting.apart or found.apart
        self.figures.rounds += found.figures.rounds
        self.figures.joins += found.figures.joins

    def _execute(self, statements: Sequence[Statement], figures: RoundFigures) -> None:
        """Run statements into `derived`; what they did."""
        making = [statement for statement in statements if statement[0].makes_terms]
        for shape, focus, sql in making:
            started = time.perf_counter()
            made = self.mint.made
            with self.engine.scratch() as scratch:
                rows, facts = self.mint.facts(scratch, shape, sql)
                self.engine.append("derived", [facts])
            if self.mint.made > made:
                self._check_limits(shape)
            figures.shapes.append(self._did(shape, focus, rows, time.perf_counter() - started))
            figures.derivations += rows
        statements = [statement for statement in statements if not statement[0].makes_terms]
        together = [statements] if self.engine.joint else [[statement] for statement in statements]
        for group in together if statements else ():
            started = time.perf_counter()
            counts = self.engine.append("derived", [sql for _, _, sql in group])
            seconds = (time.perf_counter() - started) / len(group)
            for (shape, focus, _), rows in zip(group, counts, strict=True):
                figures.shapes.append(self._did(shape, focus, rows, seconds))
                figures.derivations += rows

    def _did(self, shape: Shape, focus: str, rows: int, seconds: float) -> ShapeFigures:
        return ShapeFigures(str(shape), focus, rows, seconds, self.program.instances.get(shape, {}).values())

    def _check_limits(self, shape: Shape) -> None:
        """After the rules of a shape have made terms: whether they may."""
        names = set(self.program.instances.get(shape, {}).values())
        rules = [rule for rule in self.rules if rule.name in names]
        self.mint.limits.check(self.mint.made, self._making + 1, rules)

    def _derive(self, instances: Instances) -> None:
        """Add to `derived` all that instances derive of the closure."""
        self._execute(self._firing.statements(self.program.instances, instances), RoundFigures(0))
