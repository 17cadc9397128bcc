"""Random ontologies in which class expressions share lists and nodes, and their members become equal.

Functional and inverse functional properties with `owl:hasValue` merge individuals, classes and literals alike, so that
several members of one list become one term, by what the list itself says of them.
"""

from __future__ import annotations

from random import Random

from tests.support.random_programs import SAME, TYPE, Triple, ex
from triplestore.model.terms import OWL, RDF, RDFS, XSD

CLASSES = [ex(f"C{i}") for i in range(3)]
PROPERTIES = [ex(f"p{i}") for i in range(4)]
THINGS = [ex(f"i{i}") for i in range(5)]
LITERALS = [f'"1.50"^^<{XSD}decimal>', f'"1.5"^^<{XSD}decimal>', f'"2020-01-01T00:00:00Z"^^<{XSD}dateTime>', '"x"']
FIRST, REST, NIL = (f"<{RDF}{name}>" for name in ("first", "rest", "nil"))


def owl(name: str) -> str:
    return f"<{OWL}{name}>"


def random_ontology(rng: Random) -> list[Triple]:
    """A few facts, restrictions whose parts cross, and lists of terms of any kind."""
    anything = [*THINGS, *CLASSES, owl("Thing")]
    found: set[Triple] = set()
    for _ in range(rng.randint(2, 6)):
        value = rng.choice(LITERALS) if rng.random() < 0.4 else rng.choice(anything)
        found.add((rng.choice(THINGS), rng.choice(PROPERTIES), value))
    for _ in range(rng.randint(1, 3)):
        found.add((rng.choice(THINGS), TYPE, rng.choice(CLASSES)))
    for _ in range(rng.randint(1, 3)):
        node = rng.choice(CLASSES)
        for _ in range(rng.randint(1, 2)):
            found.add((node, owl("onProperty"), rng.choice(PROPERTIES)))
        for kind in rng.sample(["hasValue", "allValuesFrom", "someValuesFrom"], rng.randint(1, 2)):
            filler = rng.choice([*anything, *LITERALS[:1]]) if kind == "hasValue" else rng.choice(CLASSES)
            found.add((node, owl(kind), filler))
    for number in range(rng.randint(1, 2)):
        nodes = [f"_:l{number}{i}" if rng.random() < 0.6 else ex(f"n{number}{i}") for i in range(rng.randint(2, 4))]
        found |= {(node, FIRST, rng.choice(anything)) for node in nodes}
        found |= {(node, REST, after) for node, after in zip(nodes, [*nodes[1:], NIL], strict=True)}
        for _ in range(rng.randint(1, 2)):
            kind = rng.choice(["oneOf", "oneOf", "unionOf", "intersectionOf", "hasKey"])
            found.add((rng.choice(CLASSES), owl(kind), rng.choice(nodes[:2])))
        if rng.random() < 0.3:
            found.add((rng.choice(PROPERTIES), owl("propertyChainAxiom"), nodes[0]))
    for _ in range(rng.randint(1, 3)):
        p, q = rng.choice(PROPERTIES), rng.choice(PROPERTIES)
        found.add(
            rng.choice(
                [
                    (p, owl("inverseOf"), q),
                    (p, TYPE, owl("FunctionalProperty")),
                    (p, TYPE, owl("InverseFunctionalProperty")),
                    (p, TYPE, owl("SymmetricProperty")),
                    (p, f"<{RDFS}subPropertyOf>", q),
                    (p, f"<{RDFS}range>", rng.choice(CLASSES)),
                    (p, owl("equivalentProperty"), q),
                    (rng.choice(anything), SAME, rng.choice(anything)),
                    (rng.choice(THINGS), owl("differentFrom"), rng.choice(THINGS)),
                ]
            )
        )
    return sorted(found)
