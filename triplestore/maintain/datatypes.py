"""The datatype rules under maintenance: the violations of dt-not-type follow the closure.

Equal literals are one term already (`given`). The types of literals (dt-type2), which rules need that name a datatype,
are not maintained here: such programs are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from triplestore.compile.schema import Fact
from triplestore.dictionary.datatypes import DATATYPES
from triplestore.engine import Workbench
from triplestore.maintain.context import MaintenanceContext
from triplestore.maintain.keys import NONE, Ids, member, union
from triplestore.maintain.program import NotMaintainableError
from triplestore.materialise.datatypes import RULE, Datatypes, Names, asked, violations_sql
from triplestore.materialise.statements import triples_table
from triplestore.model.terms import FIRST_LITERAL, builtin

Violation = tuple[str, tuple[int, ...]]

LiteralTypeChecker = Callable[[Iterable[Fact], Names], Iterable[Violation]]
"""Which of some facts (literal, rdf:type, datatype) are wrong, as violations."""


def representatives(run: MaintenanceContext) -> Names:
    """The datatypes by the ids that I has for them."""
    ids = np.array([builtin(name) for name in DATATYPES], dtype=np.int64)
    now = run.layout.decode(run.state.classes.normalise(run.layout.encode(ids))).tolist()
    found: dict[int, list[str]] = {}
    for number, name in zip(now, DATATYPES, strict=True):
        found.setdefault(number, []).append(name)
    return found


def check(run: MaintenanceContext) -> None:
    """Raise NotMaintainableError if a rule reads the instances of a datatype."""
    if asked(run.program.program, representatives(run)):
        raise NotMaintainableError("a rule asks for the literals of a datatype")


def faults(
    run: MaintenanceContext, before: Iterable[Violation], ill_typed: Ids, checker: LiteralTypeChecker
) -> set[Violation]:
    """The violations of dt-not-type after a run, from those before it. ill_typed: codes of literals, sorted."""
    state, layout = run.state, run.layout
    s, p, _ = layout.unpack(state.added)
    fresh = state.added[(p == state.type) & (s >= layout.first_literal)]
    if run.dirty or len(fresh):
        names = representatives(run)
        kinds = np.array(sorted(names), dtype=np.int64)
        if member(kinds, np.array(sorted(run.dirty), dtype=np.int64)).any():
            raise NotMaintainableError("a class of equal terms with a datatype has changed")
        fresh = fresh[member(layout.unpack(fresh)[2], kinds)]
    typed = {v for v in before if v[1][2] < FIRST_LITERAL}
    objects = {v for v in before if v not in typed}
    there = state.keys_of(v[1][:3] for v in typed)  # type: ignore[misc]
    kept: set[Violation] = {(RULE, fact) for fact in state.facts_of(there[state.facts.contains(there)])}
    if len(fresh):
        kept.update(checker(state.facts_of(fresh), names))
    return kept | (_objects(run, ill_typed) if _touched(run, ill_typed) else objects)


def _touched(run: MaintenanceContext, ill_typed: Ids) -> bool:
    """Whether the run may have changed what mentions an ill-typed literal."""
    state = run.state
    changed = (state.added, state.removed, state.plus, state.minus)
    return bool(len(ill_typed)) and any(member(run.layout.unpack(keys)[2], ill_typed).any() for keys in changed)


def _objects(run: MaintenanceContext, ill_typed: Ids) -> set[Violation]:
    """The given facts with an ill-typed literal, under pi; and the facts with one that no given fact has."""
    state = run.state
    numbers = np.tile(np.arange(len(run.layout.predicates), dtype=np.int64), len(ill_typed))
    literals = np.repeat(ill_typed, len(run.layout.predicates))
    given = state.asserted.match(numbers, None, literals)[1]
    spoken = union(run.layout.unpack(given)[2])
    facts = state.facts.match(numbers, None, literals)[1]
    alone = facts[~member(run.layout.unpack(facts)[2], spoken)] if len(facts) else NONE
    return {(RULE, fact) for fact in state.facts_of(union(state.normalised(given), alone))}


def wrong_types_in(engine: Workbench, facts: Iterable[Fact], names: Names) -> list[Violation]:
    """A `LiteralTypeChecker` that looks the literals up in the table `term`."""
    found: list[Violation] = []
    rows = list(facts)
    with engine.scratch() as scratch:
        typed = scratch.load("typed", triples_table(rows))
        for sql in violations_sql(engine, Datatypes(False), typed, typed, {f[2] for f in rows}, names):
            wrong = engine.query(sql).to_pydict()
            found += [(r, tuple(f)) for r, f in zip(wrong["rule"], wrong["facts"], strict=True)]
    return found
