"""`entails` of random conclusions against the oracle: facts are looked up in its closure, axioms by what they mean."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Final

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.support import random_programs
from tests.support.oracle import closure_by_value
from tests.support.random_programs import CLASSES, SAME, TYPE, Triple, ex
from tests.support.stores import as_terms
from triplake import rulesets
from triplestore import Store
from triplestore.model.terms import OWL, RDFS

RULES: Final = rulesets.named("owl2rl").rules
PROPERTIES: Final = tuple(ex(f"p{i}") for i in range(4))
THINGS: Final = tuple(ex(name) for name in "abcd")
X, Y, Z = (ex(f"fresh-{name}") for name in "xyz")

Meaning = tuple[tuple[Triple, ...], Triple | None]
"""What is supposed of fresh individuals, and what is to follow (None: a contradiction)."""


def meanings(triple: Triple) -> list[Meaning]:
    """What an axiom means ("OWL 2 RDF-Based Semantics", section 5): all of these; none for a fact."""
    s, p, o = triple
    by_predicate: dict[str, list[Meaning]] = {
        f"<{RDFS}subClassOf>": [(((X, TYPE, s),), (X, TYPE, o))],
        f"<{OWL}equivalentClass>": [(((X, TYPE, s),), (X, TYPE, o)), (((X, TYPE, o),), (X, TYPE, s))],
        f"<{OWL}disjointWith>": [(((X, TYPE, s), (X, TYPE, o)), None)],
        f"<{RDFS}subPropertyOf>": [(((X, s, Y),), (X, o, Y))],
        f"<{OWL}propertyDisjointWith>": [(((X, s, Y), (X, o, Y)), None)],
        f"<{OWL}inverseOf>": [(((X, s, Y),), (Y, o, X)), (((X, o, Y),), (Y, s, X))],
        f"<{RDFS}domain>": [(((X, s, Y),), (X, TYPE, o))],
        f"<{RDFS}range>": [(((X, s, Y),), (Y, TYPE, o))],
        f"<{OWL}differentFrom>": [(((s, SAME, o),), None)],
    }
    by_class: dict[str, list[Meaning]] = {
        f"<{OWL}FunctionalProperty>": [(((X, s, Y), (X, s, Z)), (Y, SAME, Z))],
        f"<{OWL}SymmetricProperty>": [(((X, s, Y),), (Y, s, X))],
        f"<{OWL}AsymmetricProperty>": [(((X, s, Y), (Y, s, X)), None)],
        f"<{OWL}TransitiveProperty>": [(((X, s, Y), (Y, s, Z)), (X, s, Z))],
        f"<{OWL}IrreflexiveProperty>": [(((X, s, X),), None)],
    }
    return by_class.get(o, []) if p == TYPE else by_predicate.get(p, [])


def conclusion(rng: Random) -> Triple:
    """A fact, or an axiom."""
    kind = rng.randrange(6)
    if kind == 0:
        return rng.choice(THINGS), rng.choice([*PROPERTIES, SAME]), rng.choice(THINGS)
    if kind == 1:
        return rng.choice(THINGS), TYPE, rng.choice(CLASSES)
    if kind == 2:
        axioms = f"<{RDFS}subClassOf>", f"<{OWL}equivalentClass>", f"<{OWL}disjointWith>"
        return rng.choice(CLASSES), rng.choice(axioms), rng.choice(CLASSES)
    if kind == 3:
        axioms = f"<{RDFS}subPropertyOf>", f"<{OWL}propertyDisjointWith>", f"<{OWL}inverseOf>"
        return rng.choice(PROPERTIES), rng.choice(axioms), rng.choice(PROPERTIES)
    if kind == 4:
        return rng.choice(PROPERTIES), rng.choice((f"<{RDFS}domain>", f"<{RDFS}range>")), rng.choice(CLASSES)
    names = ("Functional", "Symmetric", "Asymmetric", "Transitive", "Irreflexive")
    return rng.choice(PROPERTIES), TYPE, f"<{OWL}{rng.choice(names)}Property>"


def follows(facts: list[Triple], wanted: Triple) -> bool:
    """Whether a triple follows, by the oracle's closures."""

    def holds(given: tuple[Triple, ...], then: Triple | None) -> bool:
        closed = closure_by_value([*facts, *given], RULES)
        itself = then is not None and then[1] == SAME and then[0] == then[2]
        return bool(closed.violations) or itself or then in closed.triples

    meant = meanings(wanted)
    return holds((), wanted) or (bool(meant) and all(holds(*one) for one in meant))


def known(facts: list[Triple], wanted: Triple) -> bool:
    """Whether the facts say of the ends of an axiom that they are a class, or a property, in the plainest way."""
    s, p, o = wanted
    used = {t[1] for t in facts} | {t[2] for t in facts if t[1] == TYPE}
    ends = {s} if p == TYPE else {s, o}
    return not meanings(wanted) or ends <= used


@pytest.mark.parametrize("examples", [3, pytest.param(75, marks=pytest.mark.long)], ids=["some", "many"])
def test_what_is_entailed_is_what_follows(tmp_path_factory: pytest.TempPathFactory, examples: int) -> None:
    @settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
    @given(random_programs.facts(odd=False), st.integers(0, 1 << 30))
    def compare(facts: list[Triple], seed: int) -> None:
        rng = Random(seed)
        folder: Path = tmp_path_factory.mktemp("entails")
        with Store.create(folder / "kg", engine="duckdb") as store:
            store.update(add=as_terms(facts))
            for _ in range(3):
                wanted = conclusion(rng)
                right = follows(facts, wanted)
                got = store.entails(as_terms([wanted])).holds
                assert got <= right, f"unsound: {wanted}"
                assert got or not right or not known(facts, wanted), f"not found: {wanted}"

    compare()
