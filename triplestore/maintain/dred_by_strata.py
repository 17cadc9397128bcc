"""DRed where rules have NOT, AGGREGATE or expressions: stratum by stratum (Gupta, Mumick and Subrahmanian 1993).

First the rules without NOT and AGGREGATE are maintained, as if the others derived what they derived before. Then follow
the strata of these, from below: what a stratum reads through NOT or AGGREGATE has not changed any more when it is
reached, so its instances are plain rules with a condition. The matches that have gone (a triple of the body was
removed, one that a NOT excludes was added, a group changed) are overdeleted, by all rules; what follows all the same is
derived again; then those that are new are added, with all that they lead to.

Departures: a match that has gone is not told from one that never was, so overdeletion does not ask conditions: it takes
facts that the match could have derived and that are there. What a rule of a stratum above derives is left out
meanwhile, and comes back with its stratum. Classes are settled below all strata (`triplestore.compile.strata`).
"""

from __future__ import annotations

from typing import Final

from triplestore.compile import strata
from triplestore.compile.plan import Made, Row, Shape
from triplestore.maintain import dred
from triplestore.maintain.context import MaintenanceContext
from triplestore.maintain.extend import INSERTION, extend
from triplestore.maintain.join import Instances, encoded
from triplestore.maintain.keys import union
from triplestore.maintain.premises import Deltas, derived, every, headed, premises
from triplestore.maintain.program import NotMaintainableError, instances_lost
from triplestore.maintain.state import ClosureState, heads
from triplestore.materialise.figures import RoundFigures
from triplestore.model.equality import Equality

EQUATED: Final = "an equality may depend on a NOT or an aggregate"


def dred_by_strata(run: MaintenanceContext, deleting: bool) -> str:
    """Bring the closure up to date with the given facts that were removed and added, or the rules; the algorithm's
    name. deleting: facts or rules were removed."""
    if deleting:
        dred.dred(run)
    else:
        with run.phase("insert"):
            extend(run, run.state.plus)
    program = run.program
    vanished = [
        Instances(shape, encoded(run.layout, list(rows), shape))
        for shape, rows in instances_lost(run.before, program).items()
        if shape.negative and not shape.uses_occurs
    ]
    if run.state.equality == Equality.REWRITE and any(_may_equate(run.state, some) for some in vanished):
        raise NotMaintainableError(EQUATED)  # equalities are not among the facts that are overdeleted
    levels = [*_levels(run).values()] if program.rules.negative else []
    for number, instances in enumerate(levels or [[]] if vanished else levels):
        _stratum(run, instances, [] if number else vanished)
        if run.program is not program:
            raise NotMaintainableError("a rule with a NOT or an aggregate adds to the schema")
    return dred.NAME if deleting or run.figures.doubted else INSERTION


def _may_equate(state: ClosureState, instances: Instances) -> bool:
    """Whether a rule's instances may derive equalities."""
    shape, rows = instances.shape, instances.rows
    predicate, slots = shape.output[1], premises(shape).slots(instances)
    if isinstance(predicate, Made) or predicate not in slots[: rows.shape[1]]:
        return True
    return bool((state.classes.normalise(rows[:, slots.index(predicate)]) == state.same_as).any())


def _levels(run: MaintenanceContext) -> dict[int, list[tuple[Shape, Row]]]:
    """The instances with NOT or AGGREGATE of each stratum, from below."""
    program, axioms = run.program, run.state.equality == Equality.AXIOMS
    if program.strata is None or axioms:
        rules = run.specialiser.under(program.constants).schema_rules
        equal = _least(run) if axioms else {}
        try:
            found = strata.stratify(program.program, rules, program.constants, run.state.equality, equal)
        except strata.UnstratifiableError:
            raise NotMaintainableError("the rules have no strata") from None
        if found.unsettled:
            raise NotMaintainableError(EQUATED)
        levels: dict[int, list[tuple[Shape, Row]]] = {}
        for instance, level in found.levels.items():
            levels.setdefault(level, []).append(instance)
        program.strata = dict(sorted(levels.items()))
    return program.strata


def _least(run: MaintenanceContext) -> dict[int, int]:
    """Of the terms of schema and rules, the least of each one's class, where equality is axiomatised."""
    assert run.conditions is not None
    terms = run.program.terms
    least = run.layout.decode(run.conditions.least(run.layout.encode(terms)))
    return dict(zip(terms.tolist(), least.tolist(), strict=True))


def _stratum(run: MaintenanceContext, instances: list[tuple[Shape, Row]], vanished: list[Instances]) -> None:
    """Maintain what the instances of one stratum derive. vanished: those that the program had before the run."""
    state, conditions = run.state, run.conditions
    assert conditions is not None
    kept, fresh = _instances(run, instances)
    deltas = Deltas(state, run.dirty)
    lost = [headed(state, some, every(state, some, deltas.either)) for some in vanished]
    lost += [headed(state, some, deltas.lost(some)) for some in kept]
    with run.phase("overdelete"):
        overdeleted, dissolved = dred.spread(run, run.program.rules, union(*lost), ungrounded=True)
    if len(dissolved) or len(state.schema_of(overdeleted)):
        raise NotMaintainableError("the schema, or an equality, rests on a NOT or an aggregate")
    run.running += [*kept, *fresh]
    with run.phase("rederive"):
        back = dred.rederive(run, overdeleted, dissolved)
    with run.phase("insert"):
        figures = RoundFigures(0)
        found = [derived(some, deltas.new(some), conditions) for some in kept]
        found += [derived(some, every(state, some, state.facts), conditions) for some in fresh]
        run.made_derivations(sum(map(len, found)), figures)
        new = (heads(run.layout, output) for output in found if len(output))
        extend(run, union(back, *new), closed_by=run.program)


def _instances(run: MaintenanceContext, instances: list[tuple[Shape, Row]]) -> tuple[list[Instances], list[Instances]]:
    """Instances of a stratum by shape: those that the program before the run had too, and those that are new, or may
    have matches without a triple that is."""
    before, seeing = run.before.program.instances, run.program.seeing(run.dirty)
    kept: dict[Shape, list[Row]] = {}
    fresh: dict[Shape, list[Row]] = {}
    for shape, row in instances:
        if shape.uses_occurs:  # it has no match: see `triplestore.maintain.cache`
            continue
        known = row in before.get(shape, {})
        if known:
            kept.setdefault(shape, []).append(row)
        if not known or row in seeing.get(shape, {}):
            fresh.setdefault(shape, []).append(row)
    return tuple(
        [Instances(shape, encoded(run.layout, rows, shape)) for shape, rows in some.items()] for some in (kept, fresh)
    )  # type: ignore[return-value]
