"""Insertion: semi-naive from the new facts, with rewriting (Motik et al. 2015), over the closure in memory.

Per round: equalities merge classes, and facts that mention a lost representative are taken out and rewritten; what is
new is the delta; if it touches the schema, the rules are specialised anew, and the instances that are new fire over all
facts; every rule instance with a fact of the delta fires once. The fixpoint is an empty delta.
"""

from __future__ import annotations

import numpy as np

from triplestore.maintain.keys import NONE, Ids, union
from triplestore.maintain.program import Specialised, as_keys, instances_lost, shared
from triplestore.maintain.run import Run
from triplestore.materialise.figures import RoundFigures
from triplestore.model.equality import Equality


def extend(run: Run, new: Ids) -> None:
    """Add facts (keys, in any terms) and their consequences to the closure; `run.program` follows."""
    working = run.working
    derived, figures = working.normalised(new), RoundFigures(0)
    issued = run.program.unconditional
    before = shared(run.layout, run.before, run.program)  # what the facts are closed under
    while True:
        delta = _absorbed(run, derived, figures)
        delta = delta[~working.facts.contains(delta)]
        if len(working.schema_of(delta)) or _stale(run):
            run.program = _respecialised(run, delta)
            closed = as_keys(run.layout, run.program.schema)
            delta = union(delta, closed[~working.facts.contains(closed)])
        later = run.program.unconditional - issued
        issued |= later
        fresh = instances_lost(run.program, before)
        if not (len(delta) or later or fresh):
            break
        with run.round(len(delta)) as figures:
            run.count_anew(before, run.program)
            working.add(delta)
            run.afford()
            kept = shared(run.layout, before, run.program)
            found = [as_keys(run.layout, later), run.forward(kept.rules, delta, working.facts, NONE, figures, times=1)]
            found.append(run.heads_of(run.rules(fresh), working.facts, figures, times=1))
            derived, before = np.concatenate(found), run.program
    complete_reflexive(run)


def _absorbed(run: Run, derived: Ids, figures: RoundFigures) -> Ids:
    """The derived facts, distinct and normalised, once what they say is equal has been merged."""
    working = run.working
    while True:
        facts, equalities = run.sorted_heads(derived)
        if not len(equalities):
            if working.equality != Equality.AXIOMS:
                return facts
            return union(facts, _asserted_reflexive(run, derived))
        s, _, o = run.layout.unpack(equalities)
        lost = working.classes.merge(zip(s.tolist(), o.tolist(), strict=True))
        named = working.classes.normalise(np.array(sorted(lost), dtype=np.int64))
        run.dirty |= lost | set(named.tolist())
        figures.merged += len(lost)
        terms = np.array(sorted(lost), dtype=np.int64)
        if run.program.program.uses_inequality:  # `?x != ?y` may begin to hold for the class that grew
            terms = union(terms, named)
        outdated = working.remove(working.mentioning(terms))
        figures.rewritten += len(outdated)
        derived = working.normalised(union(facts, outdated))


def _asserted_reflexive(run: Run, derived: Ids) -> Ids:
    """Mode `axioms`: of the derived `x sameAs x`, those that are asserted."""
    derived = union(derived)
    s, p, o = run.layout.unpack(derived)
    same: Ids = derived[(p == run.working.same_as) & (s == o)]
    return same[run.working.asserted.contains(same)]


def _stale(run: Run) -> bool:
    """Whether a term of the schema or a constant of the rules has lost its place."""
    if run.renewed and not run.specialised_anew:
        run.specialised_anew = True
        return True
    if not run.dirty:
        return False
    terms = run.layout.encode(run.program.terms)
    return bool((run.working.classes.normalise(terms) != terms).any())


def _respecialised(run: Run, delta: Ids) -> Specialised:
    known = run.working.schema_facts()
    return run.specialised(run.working.facts_of(union(known, run.working.schema_of(delta))))


def complete_reflexive(run: Run) -> None:
    """Mode `axioms`: `x sameAs x` is a fact where x equals something else, or where it was asserted."""
    working = run.working
    if working.equality != Equality.AXIOMS:
        return
    changed = union(working.came, working.went, working.plus, working.minus)
    changed = changed[working.is_equality(changed)]
    if not len(changed):
        return
    s, _, o = run.layout.unpack(changed)
    terms = union(s, o)
    same = np.full(len(terms), working.same_as, dtype=np.int64)
    reflexive = run.layout.keys(terms, same, terms)
    rows, keys, _ = working.facts.match(run.layout.numbers(same), terms, None)
    equal = np.zeros(len(terms), dtype=np.bool_)
    equal[rows[run.layout.unpack(keys)[2] != terms[rows]]] = True
    wanted = equal | working.asserted.contains(reflexive)
    fresh = working.add(reflexive[wanted])
    gone = reflexive[~wanted]
    gone = gone[working.facts.contains(gone)]
    for changed, times in ((fresh, 1), (gone, -1)):
        if run.counts is not None and len(changed):
            run.forward(run.program.rules, changed, working.facts, NONE, RoundFigures(len(changed)), times=times)
    working.remove(gone)
