"""Rules that others make superfluous: whatever they derive from facts, the others do too.

Source: Sagiv 1988, "Optimizing Datalog Programs" (uniform containment): the variables of a rule are frozen, its body
taken for facts; if the other rules derive its head from these, they do from any facts. cax-eqc1 and cax-eqc2, say,
follow from scm-eqc1 and cax-sco. The closure is the same; only what follows in one step, or two, is not.

A rule is examined, or relied on, only if it is a plain join whose predicates are constants: so what is kept may have
superfluous rules among it, never the other way round.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from triplestore.compile.schema import Constants, Fact, SchemaFacts, filled, matches
from triplestore.model.rule import Atom, Rule, constants_of, variables


def without_redundant(rules: Sequence[Rule], candidate: Callable[[Rule], bool]) -> list[Rule]:
    """The rules without those, among the candidates, that the others make superfluous."""
    kept = list(rules)
    for rule in rules:
        if candidate(rule) and _plain(rule):
            others = [other for other in kept if other is not rule]
            if _derive(others, rule):
                kept = others
    return kept


def _plain(rule: Rule) -> bool:
    atoms = (*rule.body, *rule.heads)
    return bool(rule.heads and rule.body) and all(isinstance(a, Atom) and isinstance(a.p, str) for a in atoms)


def _derive(rules: Sequence[Rule], rule: Rule) -> bool:
    """Whether rules derive the heads of another from its body."""
    plain = [other for other in rules if _plain(other)]
    tokens = {token for each in (*plain, rule) for token in constants_of(each)}
    constants = Constants({token: number for number, token in enumerate(sorted(tokens))})
    names = {name for element in rule.body for name in variables(element)}
    frozen = {name: len(constants) + number for number, name in enumerate(sorted(names))}

    def fact(atom: Atom) -> Fact:
        s, p, o = (filled(term, constants, frozen) for term in atom.terms)
        return s, p, o

    goals = {fact(head) for head in rule.heads}
    facts = SchemaFacts(fact(atom) for atom in rule.body if isinstance(atom, Atom))
    while not goals <= facts.facts:
        found = {
            (filled(head.s, constants, binding), filled(head.p, constants, binding), filled(head.o, constants, binding))
            for other in plain
            for binding in list(matches([e for e in other.body if isinstance(e, Atom)], facts, constants, {}))
            for head in other.heads
        }
        if not [new for new in found if facts.add(new)]:
            return False
    return True
