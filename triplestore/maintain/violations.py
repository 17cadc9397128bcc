"""Violations follow the closure: one is removed with a premise, and added with the fact that completes it.

A violation of a rule names all the triples that its body matched, so it holds as long as they do, unless it mentions a
class that has changed (two members of a class are different terms) or a list (whose triples it does not name): those
are searched from scratch. One of a rule with NOT or AGGREGATE is searched again where these may have changed.
Equalities of two literals, which make no class, are all searched again where one is new or has lost a derivation. No
class has a literal here (`MaintenanceContext.sorted_heads`), so none has two values.

Equal literals are one term already (`given`). The types of literals (dt-type2), which rules need that name a datatype,
are not maintained here: such programs are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from triplestore.compile.plan import K, Pattern, Shape, V
from triplestore.compile.schema import Fact
from triplestore.compile.symmetry import half
from triplestore.dictionary.datatypes import DATATYPES
from triplestore.engine import Engine, Workbench
from triplestore.maintain.bindings import Which
from triplestore.maintain.context import MaintenanceContext
from triplestore.maintain.groups import links
from triplestore.maintain.join import Instances, all_matches, encoded, matches
from triplestore.maintain.keys import NONE, Ids, member, union
from triplestore.maintain.premises import Deltas, derived, fired_again, projected
from triplestore.maintain.program import NotMaintainableError
from triplestore.maintain.state import heads
from triplestore.materialise.datatypes import RULE, Datatypes, Names, asked, violations_sql
from triplestore.materialise.same_as import clashes_between, is_clash, once
from triplestore.materialise.stages import equalities
from triplestore.materialise.statements import triples_table
from triplestore.materialise.violations import searches
from triplestore.model.equality import Equality
from triplestore.model.terms import FIRST_LITERAL, SAME_AS, builtin
from triplestore.model.thresholds import SIZES

Violation = tuple[str, tuple[int, ...]]
"""Rule and triples at fault, flattened, as ids."""

LiteralClashChecker = Callable[[Iterable[tuple[int, int]]], Iterable[Violation]]
"""Returns the violations among equalities of two literals (ids)."""


def maintained(run: MaintenanceContext, violations: set[Violation], checker: LiteralClashChecker) -> set[Violation]:
    """The violations of the closure after a run, from those before it."""
    state, layout = run.state, run.layout
    dirty = np.array(sorted(run.dirty), dtype=np.int64)
    changed = set(layout.decode(dirty).tolist())
    renewed = _renewed(run, changed)
    removed = set(state.facts_of(state.removed)) if violations else set()
    if state.equality != Equality.OFF:  # `x sameAs x` holds whether it is a fact or not
        removed = {(s, p, o) for s, p, o in removed if p != SAME_AS or s != o}
    kept: set[Violation] = set()
    clashes: set[Violation] = set()
    for violation in violations:
        rule, facts = violation
        if is_clash(rule, facts):
            clashes.add(violation)
            continue
        triples = {facts[i : i + 3] for i in range(0, len(facts), 3)}
        if rule not in renewed and triples.isdisjoint(removed) and changed.isdisjoint(facts):
            kept.add(violation)
    kept |= set(checker(_apart(run))) if run.apart else clashes
    kept -= run.before.program.violations - run.program.program.violations
    kept |= run.program.program.violations
    fresh = union(state.added, state.mentioning(dirty) if len(dirty) else NONE)
    deltas = None
    if run.program.program.negative:
        deltas = Deltas(state, run.dirty)
        kept -= _undone(run, kept, deltas)
    kept.update(_found(run, fresh, deltas, renewed, changed))
    return set(once(kept))


def _renewed(run: MaintenanceContext, changed: set[int]) -> set[str]:
    """The constraints that have lost instances, or read lists that have changed or have members in `changed` classes
    (no fact may say that two members of a class are equal): their violations are searched from scratch."""
    now, listed = run.program.program.constraints, run.program.program.listed
    relisted = run.before.program.listed != listed or (bool(changed) and any(item in changed for _, _, item in listed))
    if run.program is run.before and not relisted:
        return set()
    return {
        rule
        for (rule, shape), rows in run.before.program.constraints.items()
        if (relisted and shape.uses_lists) or any(row not in now.get((rule, shape), {}) for row in rows)
    }


def _undone(run: MaintenanceContext, violations: set[Violation], deltas: Deltas) -> set[Violation]:
    """Of violations, whose triples are all there, those that a NOT or AGGREGATE does not let be any more."""
    rules: dict[str, list[Instances]] = {}
    for rule, shape in run.program.program.constraints:
        if shape.negative and not shape.uses_occurs:
            rules.setdefault(rule, []).append(run.program.constraint(rule, shape))
    undone: set[Violation] = set()
    for rule, every_shape in rules.items():
        doubtful: set[Violation] = set()
        for instances in every_shape:
            doubtful |= _rows(run, rule, projected(instances, deltas.lost(instances))) & violations
        if doubtful:
            facts = run.state.keys_of(found[:3] for _, found in doubtful if found)  # type: ignore[misc]
            for instances in every_shape:
                doubtful -= _rows(run, rule, _again(run, instances, facts))
            undone |= doubtful
    return undone


def _again(run: MaintenanceContext, instances: Instances, facts: Ids) -> Ids:
    """The output of the matches whose first triple is one of some facts; all, where they have none."""
    conditions = run.conditions
    assert conditions is not None
    if instances.shape.output:
        return fired_again(instances, facts, conditions)
    return all_matches(instances, run.state.facts, run.state.classes, which=Which.OUTPUT, conditions=conditions)


def _found(
    run: MaintenanceContext, fresh: Ids, deltas: Deltas | None, renewed: set[str], changed: set[int]
) -> set[Violation]:
    """The violations with a new fact, or by an instance that is new or mentions a `changed` class (two of whose terms
    may be parameters, and then no fact says that they are equal)."""
    before, now, conditions = run.before.program, run.program.program, run.conditions
    found: set[Violation] = set()
    for rule, shape, new, known in searches(before, now, lambda rule, _: rule in renewed, changed):
        if shape.uses_occurs or not (new or len(fresh) or shape.negative):
            continue
        listed = run.program.listed if shape.uses_lists else None
        _check_open(run, shape, len(run.state.facts) if new else len(fresh))
        if new:
            instances = Instances(shape, encoded(run.layout, list(new), shape))
            output = all_matches(
                *(instances, run.state.facts, run.state.classes),
                listed=listed,
                which=Which.OUTPUT,
                conditions=conditions,
            )
            found |= _rows(run, rule, output)
        if not known:
            continue
        instances = run.program.constraint(rule, shape)
        if new:
            instances = Instances(shape, encoded(run.layout, list(known), shape))
        if shape.negative:
            assert conditions is not None
            assert deltas is not None
            found |= _rows(run, rule, derived(instances, deltas.new(instances), conditions))
        elif len(fresh):
            others = [
                (run.state.facts if listed is None or isinstance(element, Pattern) else listed, NONE)
                for element in shape.body
            ]
            for focus in (i for i, element in enumerate(shape.body) if isinstance(element, Pattern)):
                _, output, _ = matches(
                    *(instances, focus, fresh, others, run.state.classes), which=Which.OUTPUT, conditions=conditions
                )
                found |= _rows(run, rule, output)
    return found


def _check_open(run: MaintenanceContext, shape: Shape, facts: int) -> None:
    """Raise NotMaintainableError where facts would each be compared with too many predicates."""
    variable = any(isinstance(element, Pattern) and isinstance(element.p, V) for element in shape.body)
    if shape.uses_lists and variable and facts * len(run.layout.predicates) > SIZES.in_memory:
        raise NotMaintainableError("a list of properties is compared with many facts")


def _rows(run: MaintenanceContext, rule: str, output: Ids) -> set[Violation]:
    if not len(output):
        return set()
    width = output.shape[1]
    if not width:
        return {(rule, ())}
    ids: list[int] = run.layout.decode(output.reshape(-1)).tolist()
    return {(rule, tuple(ids[i : i + width])) for i in range(0, len(ids), width)}


def _apart(run: MaintenanceContext) -> list[tuple[int, int]]:
    """All equalities of two literals; of a group those of its least member and each other one, as
    `compile.sql.select_links` has them."""
    state, layout = run.state, run.layout
    found = [layout.keys_of(f for f in run.program.unconditional if f[1] == SAME_AS)]
    for shape, rows in equalities(run.program.program.instances).items():
        if shape.uses_occurs:
            continue
        member_of = half(shape) if isinstance(shape.output[1], K) else None
        output = all_matches(
            Instances(member_of or shape, encoded(layout, list(rows), shape)), state.facts, state.classes
        )
        if len(output):
            found.append(links(layout, output, output[:0], state.same_as)[0] if member_of else heads(layout, output))
    every = union(*found)
    s, _, o = layout.unpack(every[state.is_equality(every)])
    literals = (np.minimum(s, o) >= layout.first_literal) & (s != o)
    ends = (layout.decode(end[literals]).tolist() for end in (s, o))
    return list(zip(*ends, strict=True))


def clashes_in(engine: Engine, pairs: Iterable[tuple[int, int]]) -> list[Violation]:
    """A `LiteralClashChecker` that looks the literals' values up in the table `term`."""
    with engine.scratch() as scratch:
        clashing = scratch.load("clashing", triples_table([(s, SAME_AS, o) for s, o in pairs]))
        rows = engine.query(clashes_between(engine, scratch, clashing)).to_pydict()
    return [(rule, tuple(facts)) for rule, facts in zip(rows["rule"], rows["facts"], strict=True)]


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


def check_datatypes(run: MaintenanceContext) -> None:
    """Raise NotMaintainableError if a rule reads the instances of a datatype."""
    if asked(run.program.program, representatives(run)):
        raise NotMaintainableError("a rule asks for the literals of a datatype")


def ill_typed_in(
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
