"""Random data and rules in which literals are equal to other terms: several forms of a number, of several datatypes,
ill-typed ones, and such of a datatype that nobody knows; small enough for the oracle."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from tests.support.random_programs import CLASSES, PROPERTIES, SAME, THINGS, TYPE, Triple, lists, restriction
from triplake import rulesets
from triplake.rulesets import datalog
from triplestore.model.rule import Rule
from triplestore.model.terms import OWL, RDFS, XSD


def typed(lexical: str, datatype: str) -> str:
    return f'"{lexical}"^^<{XSD}{datatype}>'


NUMBERS = [typed("1", "integer"), typed("01", "integer"), typed("1", "byte"), typed("1.0", "decimal")]
OTHERS = [typed("2", "integer"), typed("1", "double"), '"x"', typed("x", "token"), '"x"@en', '"u"^^<http://e/own>']
ILL_TYPED = [typed("200", "byte"), typed("x", "integer")]
VALUES = [*NUMBERS, *NUMBERS, *OTHERS]
ALONE = [NUMBERS[0], *OTHERS[:3], *OTHERS[4:]]
"""No two of one value."""

DATATYPES = [f"<{XSD}{name}>" for name in ("integer", "byte", "decimal", "string", "double")] + [f"<{RDFS}Literal>"]

_RULES = datalog.parse(
    """
    PREFIX : <http://e/>
    @rule equal-too   [?x, :p2, ?y] :- [?x, owl:sameAs, ?y], [?x, a, :C0] .
    @rule is-one      [?x, a, :C1] :- [?x, :p1, 1] .
    @rule made-one    [?x, owl:sameAs, 1] :- [?x, :p0, :a] .
    @rule linked      [?x, owl:sameAs, ?y] :- [?x, :p2, ?y], [?x, a, :C0] .
    @rule integers    [?x, a, :C0] :- [?x, a, xsd:integer] .
    @rule classes     [?x, :p1, ?c] :- [?x, a, ?c], [?x, :p0, ?y] .
    @rule of-one      [?y, :p0, ?z] :- [1, :p1, ?y], [?y, :p0, ?z] .
    @rule unequal     [?y, :p2, ?z] :- [?x, :p1, ?y], [?x, :p1, ?z], FILTER(?y != ?z) .
    @rule other       [?x, :p1, ?y] :- [?x, ?q, ?y], [?q, :p2, ?z] .
    @rule apart       false :- [?x, :p0, ?y], [?y, a, :C1] .
    """,
    "literals",
)
BY_NAME = {rule.name: rule for rule in _RULES}


def random_facts(rng: Random, values: Sequence[str] = (*VALUES, *ILL_TYPED)) -> list[Triple]:
    """Data, equalities with and without literals, and axioms. values: the literals."""
    things, properties = THINGS[:4], PROPERTIES[:3]

    def value() -> str:
        return rng.choice(values)

    def pair() -> Triple:
        return rng.choice(things), rng.choice(properties), rng.choice(things) if rng.random() < 0.5 else value()

    found = {pair() for _ in range(rng.randint(2, 6))}
    found |= {(rng.choice(things), SAME, value()) for _ in range(rng.choice([0, 1, 1, 2, 3]))}
    found |= {(rng.choice(things), SAME, rng.choice(things)) for _ in range(rng.choice([0, 0, 1]))}
    found |= {(rng.choice(things), TYPE, rng.choice([*CLASSES[:2], *DATATYPES])) for _ in range(rng.choice([0, 1, 2]))}
    if rng.random() < 0.1:
        found.add((rng.choice([*properties, CLASSES[0], TYPE, DATATYPES[0]]), SAME, value()))
    for _ in range(rng.randint(0, 3)):
        prop, kind = rng.choice(properties), rng.choice(CLASSES[:2])
        found.update(
            rng.choice(
                [
                    [(prop, TYPE, f"<{OWL}FunctionalProperty>")],
                    [(prop, TYPE, f"<{OWL}InverseFunctionalProperty>")],
                    [(prop, TYPE, f"<{OWL}SymmetricProperty>")],
                    [(prop, f"<{RDFS}range>", rng.choice([kind, *DATATYPES]))],
                    [(prop, f"<{RDFS}domain>", rng.choice([kind, *DATATYPES]))],
                    [(kind, f"<{RDFS}subClassOf>", rng.choice([*CLASSES[:3], *DATATYPES]))],
                    [(rng.choice(DATATYPES), f"<{RDFS}subClassOf>", kind)],
                    [(kind, f"<{OWL}disjointWith>", rng.choice(DATATYPES))],
                    [(prop, SAME, rng.choice(properties))],
                    [(prop, f"<{RDFS}subPropertyOf>", rng.choice([*properties, SAME]))],
                    restriction(kind, prop, "hasValue", value()),
                    [(kind, f"<{OWL}oneOf>", "_:l0"), *lists("l", [value(), rng.choice(things)])],
                    [(kind, f"<{OWL}hasKey>", "_:k0"), *lists("k", [prop])],
                    [(rng.choice(things), f"<{OWL}differentFrom>", rng.choice(things))],
                ]
            )
        )
    return sorted(found)


def random_rules(rng: Random) -> tuple[Rule, ...]:
    """A built-in ruleset and some of the rules above."""
    own = rng.sample(sorted(BY_NAME), rng.randint(0, 2))
    base = rng.choice(["owl2rl", "owl2rl", "datatypes", "rdfs-plus", "none"])
    return (*rulesets.named(base).rules, *(BY_NAME[name] for name in own))
