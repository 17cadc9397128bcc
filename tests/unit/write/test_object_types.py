"""A store knows the types of all objects after any update, and perhaps more."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest
from rdflib import OWL, RDF, RDFS, Literal, URIRef
from rdflib.term import Node

from tests.conftest import MakeStore
from tests.support.expression_random import random_term
from tests.support.seeds import seeds
from triplestore import Store
from triplestore.dictionary import object_types
from triplestore.dictionary.object_types import ObjectType
from triplestore.model.tables import ASSERTED, FACT, OBJECT_TYPE, SAME_AS, TERM
from triplestore.model.terms import SAME_AS as SAME_AS_ID
from triplestore.model.terms import XSD, to_rdflib
from triplestore.storage.manifest import signed

E = "http://e/"
P, Q, R = (URIRef(E + name) for name in "pqr")
A, B = (URIRef(E + name) for name in "ab")
NUMBERS = [f'"{text}"^^<{XSD}integer>' for text in ("1", "01", "1234567890", "9" * 25, "x")]
NUMBERS += [f'"1.0"^^<{XSD}decimal>', f'"1"^^<{XSD}int>', f'"1e0"^^<{XSD}double>', '"1"', '"1"@en']


def types_of(store: Store, predicate: Node) -> set[ObjectType]:
    """The types that the store has for a predicate."""
    known = store._session.workspace.object_types
    assert known is not None
    store._session.workspace.views(TERM)
    ids = dict(store._session.engine.rows("SELECT lexical, id FROM term"))
    return set(known.get(ids.get(str(predicate), -1), ()))


def check(store: Store) -> None:
    """The types that the store has are those that there are, and maybe more; one of any other object says nothing.
    Equal predicates have theirs under the representative, owl:sameAs has none."""
    session = store._session
    session.workspace.views(TERM, FACT, ASSERTED, SAME_AS)
    members = session.engine.rows("SELECT term FROM same_as WHERE term <> representative")
    equal = {SAME_AS_ID, *(term for (term,) in members)}
    known = session.workspace.object_types
    assert known is not None
    every = [*object_types.counted(session.engine), *object_types.of_triples(session.engine, ASSERTED.name)]
    for predicate, types in object_types.grouped(every).items():
        found = known.get(predicate, frozenset())
        assert predicate in equal or types <= found or ObjectType.OTHER in found, (predicate, types, found)


def random_triple(rng: Random) -> tuple[Node, Node, Node]:
    s = rng.choice((A, B, URIRef(E + "c")))
    kind = rng.randrange(12)
    if kind == 0:
        return rng.choice((A, B, P, Q)), OWL.sameAs, rng.choice((A, B, P, Q))
    if kind == 1:
        return rng.choice((P, Q)), RDFS.subPropertyOf, rng.choice((Q, R))
    if kind == 2:
        return Q, RDF.type, OWL.FunctionalProperty
    o: Node = rng.choice((A, B)) if kind == 3 else to_rdflib(rng.choice(NUMBERS))
    if kind == 4:
        o = to_rdflib(random_term(rng))
    return s, rng.choice((P, Q, R)), o


@pytest.mark.parametrize("seed", seeds(range(40), 8))
def test_types_follow_updates(tmp_path: Path, seed: int) -> None:
    """Small changes in memory and changes in tables, with equal literals, equal properties and derived triples."""
    rng = Random(seed)
    equality = rng.choice(["rewrite", "axioms", "off"])
    with Store.create(tmp_path / "kg", [rng.choice(["owl2rl", "none"])], equality) as store:
        there: set[tuple[Node, Node, Node]] = set()
        for _ in range(12):
            add = {random_triple(rng) for _ in range(rng.choice([1, 1, 2, 8]))}
            delete = set(rng.sample(sorted(there), min(len(there), rng.randrange(3)))) - add
            how = rng.choice(["auto", "auto", "rematerialise"])
            store.update(add=add, delete=delete, maintain=how)
            there = (there | add) - delete
            check(store)
            if rng.random() < 0.2:
                store.compact()
                check(store)


def test_types_follow_updates_on_both_engines(make_store: MakeStore) -> None:
    store = make_store(["none"], add=[(A, P, Literal(1)), (A, Q, Literal("a"))])
    assert types_of(store, P) == {ObjectType.INTEGER_9}
    store.update(add=[(A, P, Literal("1.5", datatype=URIRef(XSD + "decimal"))), (B, Q, Literal(7))])
    check(store)
    assert types_of(store, P) == {ObjectType.INTEGER_9, ObjectType.DECIMAL_9}
    assert types_of(store, Q) == {ObjectType.STRING, ObjectType.INTEGER_9}


def test_a_version_without_types_says_nothing(tmp_path: Path) -> None:
    """As programs made it before there were any, until the closure is computed from scratch."""
    path = tmp_path / "kg"
    with Store.create(path, ["none"]) as store:
        store.update(add=[(A, P, Literal(1))])
    newest = max((path / "_versions").glob("*.json"))
    manifest = json.loads(newest.read_text())
    del manifest["tables"][OBJECT_TYPE.name]
    newest.write_text(json.dumps(signed(manifest)))
    with Store.open(path) as store:
        store.update(add=[(A, P, Literal("a"))])
        assert store._session.workspace.object_types is None
        store.materialise()
        assert types_of(store, P) == {ObjectType.INTEGER_9, ObjectType.STRING}
