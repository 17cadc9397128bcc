"""What a closure holds that cannot be: the table `violation` is filled at the fixpoint.

Rules whose head is false (constraints), equal literals of different values, and literals that are not of their
datatype.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence, Set
from functools import partial

import pyarrow as pa

from triplestore.compile.plan import Listed, Occurs, Pattern, Row, Shape
from triplestore.compile.program import Program
from triplestore.compile.sql import Terms, select_array
from triplestore.engine.arrow import id_lists, strings
from triplestore.engine.sql import Scratch, Select, Spelled, Statement, count
from triplestore.materialise.aggregates import Aggregates
from triplestore.materialise.datatypes import Datatypes, representatives, violations_sql
from triplestore.materialise.mint import Mint
from triplestore.materialise.same_as import clashes_between, clashes_in_classes, is_clash, normalise_violations
from triplestore.materialise.specialisation import Specialisation
from triplestore.materialise.stages import Instances, equalities
from triplestore.materialise.statements import instances, possible, triples_table
from triplestore.model.equality import Equality
from triplestore.model.terms import FIRST_LITERAL, SAME_AS


def searches(
    before: Program, now: Program, again: Callable[[str, Shape], bool], changed: Set[int] = frozenset()
) -> Iterator[tuple[str, Shape, Collection[Row], Collection[Row]]]:
    """Plan the search for violations since the program was `before`. Yields the rule and shape of each constraint, its
    instances to match with all facts, and those to match only with new facts. The former are new, mention a term whose
    class has `changed`, or belong to a constraint that is to be searched `again`."""
    for (rule, shape), rows in now.constraints.items():
        known = {} if again(rule, shape) else before.constraints.get((rule, shape), {})
        if known is rows and not changed:
            yield rule, shape, (), rows
            continue
        fresh = [row for row in rows if row not in known or not changed.isdisjoint(row)]
        yield rule, shape, fresh, rows if not fresh else [r for r in rows if r in known and changed.isdisjoint(r)]


class Violations:
    """Finds the violations of a closure. terms, aggregates: for rules with expressions and AGGREGATE.

    before: the program of the closure that is extended.
    """

    def __init__(self, specialisation: Specialisation, aggregates: Aggregates, terms: Terms, mint: Mint) -> None:
        self.engine, self.facts, self.specialisation = specialisation.engine, specialisation.facts, specialisation
        self.aggregates, self.terms, self.mint = aggregates, terms, mint
        self.before = Program()

    def empty(self) -> None:
        """Make a table that holds none."""
        self.engine.load("violation", pa.table({"rule": strings(), "facts": id_lists()}))

    def find(self, given: str, since: str | None, apart: bool, derive: Callable[[Instances], None]) -> None:
        """Fill `violation`. given: the given facts that are new. since: a working table of the facts of the closure
        that are new, where it has been extended. apart: whether literals have been derived to equal each other. derive:
        add to `derived` all that instances derive of the closure."""
        if self.facts.equality != Equality.OFF:
            self._settle_clashes(apart, derive)
        self.aggregates.forget_all()
        self._find_constraints(since)
        if self.specialisation.datatypes is not None:
            self._find_ill_typed(self.specialisation.datatypes, given, since or "fact")
        if count(self.engine, "violation"):
            normalise_violations(self.engine, self.facts.equality)

    def _settle_clashes(self, apart: bool, derive: Callable[[Instances], None]) -> None:
        """Have in `violation` the values of the closure that are equal and differ."""
        settled = self._forget(is_clash)
        axioms = self.facts.equality == Equality.AXIOMS
        equal = (
            f"fact WHERE p = {SAME_AS} AND o >= {FIRST_LITERAL}" if axioms else f"same_as WHERE term >= {FIRST_LITERAL}"
        )
        if count(self.engine, equal):
            self.engine.append("violation", [clashes_in_classes(self.engine, self.facts.equality)])
        if apart or settled:
            program = self.specialisation.program
            self.facts.empty("derived")
            with self.engine.scratch() as scratch:
                direct = triples_table([fact for fact in program.facts if fact[1] == SAME_AS])
                self.engine.append("derived", [Select(scratch.load("direct", direct), "spo")])
            derive(equalities(program.instances))
            alone = "derived"
            if axioms:
                members = f"(SELECT o FROM fact WHERE p = {SAME_AS} AND s < {FIRST_LITERAL})"
                alone = f"(SELECT s, p, o FROM derived WHERE s NOT IN {members} AND o NOT IN {members}) d"
            with self.engine.scratch() as scratch:
                self.engine.append("violation", [clashes_between(self.engine, scratch, alone)])

    def _forget(self, which: Callable[[str, list[int]], bool]) -> bool:
        """Take violations (rule, facts) out of `violation`; whether there were some."""
        found = self.engine.query("SELECT rule, facts FROM violation").to_pydict()
        rows = list(zip(found["rule"], found["facts"], strict=True))
        kept = [(rule, facts) for rule, facts in rows if not which(rule, facts)]
        if len(kept) == len(rows):
            return False
        others = {"rule": strings(rule for rule, _ in kept), "facts": id_lists([facts for _, facts in kept])}
        self.engine.load("violation", pa.table(others))
        return True

    def _find_constraints(self, since: str | None) -> None:
        """What constraints find in `fact`; with `since`, only matches that involve one of its facts, or a new instance,
        are looked for."""
        selects: list[Statement] = []
        scratch = Scratch(self.engine)

        def find(rule: str, shape: Shape, rows: Sequence[Row], focus: int | None) -> None:
            for tables, some in self.aggregates.by_tables(shape, rows):
                scans = [
                    tables.get(i) or (str(since) if i == focus else sources[type(element)])
                    for i, element in enumerate(shape.body)
                ]
                source = instances(scratch, some)
                selected = partial(select_array, shape, scans, source, rule, terms=self.terms)
                selects.append(Spelled(self.engine.dialect, selected))

        before, program = self.before, self.specialisation.program
        sources: dict[type, str] = {Pattern: "fact", Occurs: "occurs"}
        if program.listed:
            sources[Listed] = scratch.load("listed", triples_table(sorted(program.listed)))
        relisted = program.listed != before.listed
        constraints = (*before.constraints, *program.constraints)
        if negative := {rule for rule, shape in constraints if shape.negative}:  # new facts may undo their violations
            self._forget(lambda rule, _: rule in negative)

        def again(rule: str, shape: Shape) -> bool:
            partly = since is not None and shape.monotone and not (shape.uses_occurs or shape.sees_parameters)
            return not partly or (relisted and shape.uses_lists) or rule in negative

        for rule, shape, *parts in searches(before, program, again):
            fresh, known = ([row for row in rows if possible(shape, row, self.facts.predicates)] for rows in parts)
            find(rule, shape, fresh, None)
            for focus, element in enumerate(shape.body) if known else ():
                if not isinstance(element, Listed):
                    find(rule, shape, known, focus)
        direct = sorted(program.violations)
        if direct:
            rules, facts = zip(*direct, strict=True)
            at_fault = scratch.load("at_fault", pa.table({"rule": strings(rules), "facts": id_lists(facts)}))
            selects.append(Select(at_fault, ("rule", "facts")))
        if selects:
            self.engine.append("violation", selects)
        scratch.clear()

    def _find_ill_typed(self, datatypes: Datatypes, given: str, since: str) -> None:
        names = representatives(self.engine, self.facts.equality)
        kinds = {c for c in names if c in self.facts.classes}
        has = Datatypes(datatypes.ill_typed or bool(self.mint.counters and self.mint.counters.ill_typed))
        found = violations_sql(self.engine, has, given, since, kinds, names)
        if found:
            self.engine.append("violation", found)
