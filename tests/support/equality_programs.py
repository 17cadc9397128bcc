"""Random data full of equality: functional and inverse functional properties, keys, maximal cardinalities, links
between things, classes and properties, and literals where they clash."""

from __future__ import annotations

from random import Random

from tests.support.random_programs import CLASSES, PROPERTIES, SAME, THINGS, TYPE, Triple, lists, restriction
from triplake.rulesets import datalog
from triplestore.model.terms import OWL, RDFS, XSD

ONE = f'"1"^^<{XSD}nonNegativeInteger>'
LITERALS = ['"v"', '"w"@en', f'"1"^^<{XSD}integer>', '"0"^^<http://e/type>', '"1"^^<http://e/type>']
CHARACTERISTICS = [f"<{OWL}FunctionalProperty>", f"<{OWL}InverseFunctionalProperty>"]

RULES = datalog.parse(
    """
    PREFIX : <http://e/>
    @rule same-two   [?a, owl:sameAs, ?b] :- [?a, :p0, ?x], [?x, :p1, ?k], [?b, :p0, ?y], [?y, :p1, ?k] .
    @rule same-class [?a, owl:sameAs, ?b] :- [?a, a, :C1], [?b, a, :C1], [:a, :p0, :b] .
    @rule same-value [?x, owl:sameAs, ?y] :- [?a, :p2, ?x], [?a, :p2, ?y], FILTER(?x != ?y) .
    @rule any-key    [?a, owl:sameAs, ?b] :- [?a, ?p, ?x], [?b, ?p, ?x], [?p, :p3, :c] .
    @rule one-way    [?a, owl:sameAs, ?b] :- [?a, :p0, ?b], [?b, :p0, ?a] .
    @rule to-one     [?a, owl:sameAs, :f] :- [?a, :p1, :b] .
    """,
    "equality",
)


def random_facts(rng: Random) -> list[Triple]:
    """Up to 16 facts and a few axioms, such that most runs merge something, often in several rounds."""
    things, properties = rng.sample(THINGS, rng.randint(3, len(THINGS))), rng.sample(PROPERTIES, rng.randint(2, 4))
    found: set[Triple] = set()
    for _ in range(rng.randint(3, 13)):
        value = rng.choice(LITERALS) if rng.random() < 0.25 else rng.choice(things)
        found.add((rng.choice(things), rng.choice(properties), value))
    for _ in range(rng.randint(0, 3)):
        found.add((rng.choice(things), TYPE, rng.choice(CLASSES[:2])))
    for _ in range(rng.randint(1, 2)):
        found.add((rng.choice(properties), TYPE, rng.choice(CHARACTERISTICS)))
    for _ in range(rng.randint(0, 2)):
        found.add(rng.choice([_link(rng, things), _link(rng, things), _link(rng, CLASSES), _link(rng, properties)]))
    if rng.random() < 0.3:
        length = rng.randint(1, 2)
        for name in "klm"[: rng.choice([1, 1, 2, 3])]:  # several keys of one length are one shape
            keys = rng.sample(properties, length)
            found.update([(rng.choice(CLASSES[:2]), f"<{OWL}hasKey>", f"_:{name}0"), *lists(name, keys)])
    if rng.random() < 0.3:
        kind = rng.choice(["maxCardinality", "maxQualifiedCardinality"])
        node = rng.choice(CLASSES[:2])
        found.update(restriction(node, rng.choice(properties), kind, ONE))
        found.add((node, f"<{OWL}onClass>", rng.choice([CLASSES[1], f"<{OWL}Thing>"])))
    if rng.random() < 0.4:
        found.add((rng.choice(properties), f"<{RDFS}subPropertyOf>", rng.choice(properties)))
    if rng.random() < 0.3:
        found.add((rng.choice(properties), f"<{RDFS}range>", rng.choice(CLASSES[:2])))
    return sorted(found)


def _link(rng: Random, terms: list[str]) -> Triple:
    return rng.choice(terms), SAME, rng.choice(terms)
