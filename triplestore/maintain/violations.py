"""Violations follow the closure: those go that a lost premise held up, those come that a new fact completes.

A violation of a rule names all the triples that its body matched, so it holds as long as they do, unless it spoke of a
class that has changed (two members of a class are different terms) or of a list (whose triples it does not name): those
are looked for anew. No class has a literal here (`Run.sorted_heads`), so none has two values.
"""

from __future__ import annotations

import numpy as np

from triplestore.maintain.join import Instances, all_matches, encoded, matches
from triplestore.maintain.keys import NONE, Ids, union
from triplestore.maintain.run import Run
from triplestore.materialise.same_as import once
from triplestore.terms import SAME_AS

Violation = tuple[str, tuple[int, ...]]
"""Rule and triples at fault, flattened, as ids."""


def maintained(run: Run, violations: set[Violation]) -> set[Violation]:
    """The violations of the closure after a run, from those before it."""
    working, layout = run.working, run.layout
    dirty = layout.decode(np.array(sorted(run.dirty), dtype=np.int64)).tolist()
    changed = set(dirty)
    renewed = _renewed(run)
    gone = set(working.facts_of(working.went)) if violations else set()
    if working.equality != "off":  # `x sameAs x` holds whether it is a fact or not
        gone = {(s, p, o) for s, p, o in gone if p != SAME_AS or s != o}
    kept: set[Violation] = set()
    for violation in violations:
        rule, facts = violation
        triples = {facts[i : i + 3] for i in range(0, len(facts), 3)}
        if rule not in renewed and triples.isdisjoint(gone) and changed.isdisjoint(facts):
            kept.add(violation)
    kept -= run.before.program.violations - run.program.program.violations
    kept |= run.program.program.violations
    mentioned = working.mentioning(np.array(sorted(run.dirty), dtype=np.int64)) if run.dirty else NONE
    fresh = union(working.came, mentioned)
    kept.update(_found(run, fresh, renewed))
    return set(once(kept))


def _renewed(run: Run) -> set[str]:
    """The constraints that have lost instances: what they found is looked for anew."""
    now = run.program.program.constraints
    return {
        rule
        for (rule, shape), rows in run.before.program.constraints.items()
        if any(row not in now.get((rule, shape), {}) for row in rows)
    }


def _found(run: Run, fresh: Ids, renewed: set[str]) -> set[Violation]:
    """What the constraints find with a fresh fact, or with an instance that is new."""
    before = run.before.program.constraints
    found: set[Violation] = set()
    for (rule, shape), rows in run.program.program.constraints.items():
        if shape.uses_occurs:
            continue
        known = {} if rule in renewed else before.get((rule, shape), {})
        new, old = [r for r in rows if r not in known], [r for r in rows if r in known]
        if new:
            instances = Instances(shape, encoded(run.layout, new, shape))
            found |= _rows(run, rule, all_matches(instances, run.working.facts, run.working.classes))
        if old and len(fresh):
            instances = Instances(shape, encoded(run.layout, old, shape))
            others = [(run.working.facts, NONE)] * len(shape.body)
            for focus in range(len(shape.body)):
                _, output, _ = matches(instances, focus, fresh, others, run.working.classes)
                found |= _rows(run, rule, output)
    return found


def _rows(run: Run, rule: str, output: Ids) -> set[Violation]:
    if not len(output):
        return set()
    width = output.shape[1]
    ids: list[int] = run.layout.decode(output.reshape(-1)).tolist()
    return {(rule, tuple(ids[i : i + width])) for i in range(0, len(ids), width)}
