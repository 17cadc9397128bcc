"""The late rounds of a materialisation, over sorted keys in memory.

A run in tables starts in bulk, but often ends with many rounds of a few facts each: a chain of merges, a path that
grows by one step a round. A round in tables costs some 40 ms however little it derives; here it costs microseconds for
each fact. What a run has is the same in both places: facts that are closed under the program, and a delta that has not
been read yet. So the rounds go on here (`extend`), and the tables get what changed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from triplestore.compile.program import Program
from triplestore.engine import Engine
from triplestore.engine.arrow import as_numpy
from triplestore.maintain.budget import metered
from triplestore.maintain.classes import Classes
from triplestore.maintain.context import MaintenanceContext
from triplestore.maintain.extend import extend
from triplestore.maintain.join import Rules
from triplestore.maintain.keys import Ids, Layout, LayoutFullError
from triplestore.maintain.program import NotMaintainableError, Specialised, without_occurring
from triplestore.maintain.relation import Relation
from triplestore.maintain.state import ClosureState
from triplestore.materialise.figures import Report
from triplestore.materialise.late import LateRounds
from triplestore.materialise.specialisation import Specialisation
from triplestore.model.equality import Equality
from triplestore.model.errors import MemoryLimitError
from triplestore.model.terms import BUILTIN_IDS, KIND_BITS, Kind


def derive(engine: Engine, specialisation: Specialisation, report: Report | None) -> LateRounds | None:
    """Carry a run that is in the working tables `fact`, `delta` and `same_as` on to its fixpoint.

    Returns the net change of the tables; None if the rules, or the facts, must be left to the tables.
    """
    if specialisation.equality == Equality.AXIOMS:  # asks which of the facts are asserted
        return None
    program = without_occurring(specialisation.program)
    if not program.monotone or program.uses_occurs or specialisation.ontology.specialiser.large:
        return None
    facts, delta, same_as = (
        [as_numpy(column) for column in engine.query(f"SELECT {columns} FROM {table}").columns]
        for table, columns in (("fact", "s, p, o"), ("delta", "s, p, o"), ("same_as", "term, representative"))
    )
    layout = Layout(_counts([*facts, *delta, *same_as, _ids_of(specialisation, program)]))
    try:
        return _derived(engine, specialisation, program, report, layout, facts, delta, same_as)
    except (NotMaintainableError, LayoutFullError, MemoryLimitError):  # tables spill to disk
        return None


def _derived(
    engine: Engine,
    specialisation: Specialisation,
    program: Program,
    report: Report | None,
    layout: Layout,
    facts: list[Ids],
    delta: list[Ids],
    same_as: list[Ids],
) -> LateRounds:
    terms, representatives = (layout.encode(column) for column in same_as)
    state = ClosureState(
        layout,
        Relation(layout),
        Relation(layout, layout.sorted_keys(*facts)),
        Classes(terms, representatives),
        specialisation.equality,
    )
    held = frozenset(specialisation.held())
    rules = Rules(layout, program.instances)
    schema = specialisation.ontology.facts
    before = Specialised(
        frozenset(schema.facts), held, program, specialisation.constants, rules, closed=frozenset(schema.closed)
    )
    run = MaintenanceContext(
        *(state, before, specialisation.ontology.specialiser, specialisation.constants),
        report=report,
        memory=engine.memory(),
    )
    with metered(run.meter):
        extend(run, layout.sorted_keys(*delta), closed_by=before)
    merged, split = state.classes.change()
    return LateRounds(
        added=state.ids_of(state.added),
        removed=state.ids_of(state.removed),
        merged=_pairs(layout, merged),
        outdated=_pairs(layout, split),
        apart=run.apart,
        figures=run.figures,
    )


def _ids_of(specialisation: Specialisation, program: Program) -> Ids:
    """The ids that the program and its schema mention."""
    found = set(BUILTIN_IDS.values()) | set(specialisation.constants.values())
    found.update(i for ids in specialisation.constants.equal.values() for i in ids)
    for rows in program.instances.values():
        for row in rows:
            found.update(row)
    for fact in (*specialisation.ontology.facts.facts, *specialisation.held()):
        found.update(fact)
    return np.array(sorted(found), dtype=np.int64)


def _counts(columns: list[Ids]) -> list[int]:
    """How many terms of each kind a layout must have room for, so that it has all the ids in some columns."""
    counts = [0] * (max(Kind) + 1)
    for column in columns:
        if len(column):
            kinds = column >> KIND_BITS
            for kind in range(len(counts)):
                own = column[kinds == kind]
                if len(own):
                    counts[kind] = max(counts[kind], int(own.max()) - (kind << KIND_BITS) + 1)
    return counts


def _pairs(layout: Layout, pairs: Sequence[tuple[int, int]]) -> tuple[Ids, Ids]:
    codes = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    first, second = (layout.decode(column) for column in codes.T)
    return first, second
