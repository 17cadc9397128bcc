"""Maintaining the closure when asserted facts change: one file per algorithm, one interface for all.

An algorithm finds these working tables: `given` (E', after the change: the asserted facts, with one literal for each
value where the rules ask for it), `plus` and `minus` (given facts that were added and removed; disjoint, net changes),
and the closure of E as it was: `fact`, `same_as`, `violation`. It leaves the closure of E' in the latter three, and the
net change of `fact` in `added` and `removed`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from triplestore.compile.schema import Constants
from triplestore.dictionary.datatypes import value_of
from triplestore.engine import Engine
from triplestore.materialise.datatypes import Datatypes
from triplestore.materialise.figures import Figures, Report
from triplestore.materialise.mint import Mint
from triplestore.materialise.tables import Tables
from triplestore.model.equality import Equality
from triplestore.model.rule import Rule, constants_of


@dataclass(frozen=True)
class Reasoning:
    """What a closure is the closure under: rules (with those of the equality mode), mode, and constants as ids.

    datatypes: the datatype rules of OWL 2 RL are among the rules (else None); literals then stand for values.
    """

    rules: tuple[Rule, ...]
    equality: Equality
    constants: Constants
    datatypes: Datatypes | None = None

    @cached_property
    def monotone(self) -> bool:
        """Whether all rules are plain joins: no NOT, no AGGREGATE, no expression."""
        return all(rule.monotone for rule in self.rules)

    @cached_property
    def tokens(self) -> frozenset[str]:
        """The constants of the rules."""
        return frozenset(token for rule in self.rules for token in constants_of(rule))

    @cached_property
    def values(self) -> frozenset[str]:
        """The values of the literals among them, by their canonical forms."""
        values = (value_of(token) for token in self.tokens if token[0] == '"')
        return frozenset(value.canonical for value in values if value is not None)

    @cached_property
    def negative(self) -> bool:
        """Whether a rule has a NOT or an AGGREGATE."""
        return any(rule.negative for rule in self.rules)

    def evaluation(self, engine: Engine, report: Report | None, mint: Mint | None, track: bool = False) -> Tables:
        """The semi-naive evaluation of the rules over the working tables of `engine`."""
        from triplestore.maintain import late_rounds  # which needs what this module defines

        return Tables(
            engine,
            self.rules,
            self.equality,
            self.constants,
            track=track,
            report=report,
            mint=mint,
            datatypes=self.datatypes,
            late=late_rounds.derive,
        )


@dataclass(frozen=True, slots=True)
class Change:
    """Sizes of an update: given facts to add (`plus`) and to remove (`minus`), and facts in the closure before."""

    plus: int
    minus: int
    facts: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a run: the algorithm, why it was chosen, its figures, and the net effect on the closure.

    whole: `fact` is to be written whole; the tables `added` and `removed` were not made. added, deleted: stored facts.
    merged: terms that are no longer representatives; split: terms that became representatives.
    """

    algorithm: str
    reason: str
    figures: Figures
    whole: bool
    added: int
    deleted: int
    merged: int
    split: int


@dataclass(frozen=True, slots=True)
class Task:
    """One run of an algorithm. `mint` is for `Tables`, where rules make terms."""

    engine: Engine
    reasoning: Reasoning
    change: Change
    report: Report | None = None
    mint: Mint | None = None

    def evaluation(self, track: bool = False) -> Tables:
        """The semi-naive evaluation of the task's rules. track: keep the net change in `added` and `removed`."""
        return self.reasoning.evaluation(self.engine, self.report, self.mint, track)
