"""Equality by the oracle's congruence and by the six rules of OWL 2 RL: the two agree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support import oracle
from tests.support.rule_cases import Triple
from triplake import rulesets
from triplake.rulesets import datalog
from triplestore.model.rule import Rule

if TYPE_CHECKING:
    pass

RULES: dict[str, tuple[Rule, ...]] = {
    name: rulesets.named(name).rules
    for name in ("owl2rl", "rdfs", "rdfs-axiomatic", "rdf", "rdf-axiomatic", "rdfs-plus", "datatypes", "equality")
}


REFLEXIVITY = "[?s, owl:sameAs, ?s], [?p, owl:sameAs, ?p], [?o, owl:sameAs, ?o] :- [?s, ?p, ?o] ."


AXIOMS = RULES["equality"] + datalog.parse(REFLEXIVITY, "eq-ref")


def assert_both_routes_agree(facts: frozenset[Triple]) -> None:
    """Two routes to one closure: the oracle's congruence, and eq-ref ... eq-rep-o as rules over plain sets."""
    by_congruence = oracle.closure(facts, RULES["owl2rl"], "rewrite")
    by_rules = oracle.closure(facts, RULES["owl2rl"] + AXIOMS, "off")

    def plain(triples: frozenset[Triple]) -> set[Triple]:
        return {(s, p, o) for s, p, o in triples if p != oracle.SAME_AS or s != o}

    assert plain(by_congruence.triples) == plain(by_rules.triples)
    assert by_congruence.violated == by_rules.violated
