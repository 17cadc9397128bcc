"""What no algorithm over the closure in memory maintains."""

from __future__ import annotations

import numpy as np

from triplestore.compile.plan import Pattern, Shape
from triplestore.maintain import Reasoning, datatypes
from triplestore.maintain.context import EQUAL_LITERAL, MaintenanceContext
from triplestore.maintain.join import Instances, all_matches, encoded
from triplestore.maintain.program import NotMaintainableError
from triplestore.maintain.state import ClosureState
from triplestore.model.equality import Equality


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
        datatypes.check(run)
