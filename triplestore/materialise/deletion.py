"""DRed by joins of the engine's tables: what a change of any size takes out of a closure, set at a time.

Source: Gupta, Mumick and Subrahmanian 1993. A round overdeletes what has a derivation with a fact of the frontier: the
frontier is the delta of a semi-naive round, and what is left of `fact` are the old facts
(`triplestore.compile.plan.Read`). Then those of the overdeleted facts come back that are given, hold by the schema
alone, or are heads of a rule instance whose body is left: the rule is joined with the overdeleted facts first. The
insertion of these, and of what is new, finds the rest.

Where the schema changes, a class of equal terms may be split, or rules are no plain joins, the closure is to be
computed from scratch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from triplestore.compile.plan import K, Pattern, Row, Shape, V
from triplestore.compile.program import Program
from triplestore.compile.sql import Terms, select
from triplestore.engine.queries import common, count
from triplestore.engine.sql import Select
from triplestore.materialise.facts import Facts
from triplestore.materialise.figures import Figures, RoundFigures
from triplestore.materialise.firing import Statement
from triplestore.materialise.same_as import normalised
from triplestore.materialise.specialisation import Specialisation
from triplestore.materialise.statements import instances, possible, reads, triples_table
from triplestore.model.equality import Equality
from triplestore.model.stopping import check
from triplestore.model.terms import FIRST_LITERAL, SAME_AS

MOST: Final = 0.5
"""Share of the facts that are overdeleted, beyond which computing the closure from scratch is less work."""

Execute = Callable[[Sequence[Statement], RoundFigures], None]
"""Runs statements into `derived`."""


class NotDeletableError(Exception):
    """A deletion that is not maintained by joins, and why; `fact` is as it was."""


class Deletion:
    """The deletions of one run, on the closure in `fact`, which `facts` has resumed."""

    def __init__(self, facts: Facts, specialisation: Specialisation, terms: Terms, execute: Execute) -> None:
        self.engine, self.facts, self.specialisation = facts.engine, facts, specialisation
        self._terms, self._execute = terms, execute
        self._over = facts.scratch.table("overdeleted")

    @property
    def _program(self) -> Program:
        return self.specialisation.program

    def obstacle(self) -> str | None:
        """Why the rules are not maintained, or nothing."""
        program = self._program
        if not program.monotone:
            return "rules with NOT, AGGREGATE or expressions"
        if program.uses_occurs or any(shape.uses_lists for shape in program.instances):
            return "a rule reads every term that occurs, or lists"
        literals = f"same_as WHERE term >= {FIRST_LITERAL}"
        if self.facts.equality == Equality.AXIOMS:
            literals = f"fact WHERE p = {SAME_AS} AND o >= {FIRST_LITERAL} AND s < {FIRST_LITERAL}"
        if self.facts.equality != Equality.OFF and count(self.engine, literals):
            return "a literal equals an IRI or a blank node"
        if self.specialisation.typed:
            return "a rule reads the literals of a datatype"
        return None

    def overdelete(self, gone: str, figures: Figures) -> None:
        """Take out of `fact` whatever has a derivation by the facts of table `gone` (ids not under pi), which are given
        no longer. Raises NotDeletableError."""
        if obstacle := self.obstacle():
            raise NotDeletableError(obstacle)
        most = MOST * self.facts.old
        self.facts.empty(self._over, "derived")
        try:
            lost = f"({normalised(gone, 'same_as')})"
            self._check_equalities(f"{lost} g")
            while self._next(lost):
                check()
                figures.doubted += self.facts.new
                if figures.doubted > most:
                    raise NotDeletableError(f"more than {MOST:.0%} of the facts depend on what is deleted")
                round_ = RoundFigures(self.facts.new)
                figures.rounds.append(round_)
                self.facts.empty("derived")
                self._execute(self._forwards(), round_)
                lost = "derived"
                self._check_equalities(lost)
        except NotDeletableError:
            self.engine.append("fact", [Select(self._over, "spo")])
            raise

    def _next(self, lost: str) -> int:
        """Move the facts of a table (or SELECT in parentheses) from `fact`, as far as they are there, to the delta and
        to what is overdeleted; how many they are."""
        self.facts.begin(f"SELECT DISTINCT s, p, o FROM ({common(lost, 'fact', 'spo')}) t")
        if self.facts.new:
            self.facts.summarise()
            self.engine.append(self._over, [Select("delta", "spo")])
            self.facts.leave_out("delta")
            vocabulary = self.specialisation.constants.vocabulary
            if any(vocabulary.has(p, c) for p, c in self.facts.sizes):
                raise NotDeletableError("an axiom is deleted, or depends on what is")
        return self.facts.new

    def _check_equalities(self, source: str) -> None:
        """Raise NotDeletableError where an equality, or a class of equal terms, has lost a derivation."""
        if self.facts.equality == Equality.OFF:
            return
        lost = f"{source} WHERE p = {SAME_AS} AND (s <> o OR s IN (SELECT representative FROM same_as))"
        if self.facts.equality == Equality.AXIOMS:
            lost = f"{source} WHERE p = {SAME_AS}"
        if count(self.engine, lost):
            raise NotDeletableError("equal terms may not be equal any more")

    def _forwards(self) -> list[Statement]:
        """Every rule instance with a fact of the delta in its body, and the others in it or in `fact`."""
        found: list[Statement] = []
        for shape, rows in self._program.instances.items():
            for focus, element in enumerate(shape.body):
                usable = [row for row in self._possible(shape, rows) if self.facts.touched(element, row)]
                if usable:
                    scans = [self.facts.scan(e, reads(i, focus)) for i, e in enumerate(shape.body)]
                    source = instances(self.facts.scratch, usable)
                    found.append((shape, f"atom {focus}", select(shape, scans, source, terms=self._terms)))
        return found

    def _possible(self, shape: Shape, rows: Mapping[Row, str]) -> list[Row]:
        return [row for row in rows if possible(shape, row, self.facts.predicates)]

    def rederive(self, figures: Figures) -> None:
        """Leave in `derived` the overdeleted facts that are given, that hold by the schema, or that have a derivation
        by what is left in `fact`."""
        self.facts.begin(f"SELECT s, p, o FROM {self._over} WHERE FALSE")
        self.facts.summarise()
        self.facts.empty("derived")
        if not figures.doubted:
            return
        normal = "given" if self.facts.equality != Equality.REWRITE else f"({normalised('given', 'same_as')})"
        held = self.facts.scratch.load("held", triples_table(sorted(self.specialisation.held())))
        self.engine.append("derived", [common(self._over, source, "spo") for source in (normal, held)])
        round_ = RoundFigures(figures.doubted)
        figures.rounds.append(round_)
        self._execute(self._backwards(), round_)
        figures.checked = figures.doubted
        figures.proved = count(self.engine, "(SELECT DISTINCT s, p, o FROM derived) d")

    def _backwards(self) -> list[Statement]:
        """Every rule instance whose head is overdeleted, and whose body is in `fact`."""
        predicates = set(self.facts.column(f"SELECT DISTINCT p FROM {self._over}"))
        found: list[Statement] = []
        for shape, rows in self._program.instances.items():
            s, p, o = (slot for slot in shape.output if isinstance(slot, V | K))
            usable = [row for row in self._possible(shape, rows) if not isinstance(p, K) or row[p.number] in predicates]
            if usable:
                backward = Shape((Pattern(s, p, o), *shape.body), shape.conditions, shape.output)
                scans = [self._over, *("fact" for _ in shape.body)]
                source = instances(self.facts.scratch, usable)
                found.append((shape, "backwards", select(backward, scans, source, terms=self._terms)))
        return found
