"""`entails` of graphs with triple terms, against a search over all assignments of their blank nodes.

In the oracle a triple term is a tuple of its parts, and a term is the set of terms that equal it: what RDF 1.2 says of
triple terms (they denote triples of what their parts denote) holds there without any rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.literal_values import value
from tests.support.seeds import seeds
from tests.support.turtle import PREFIXES
from triplake.loaders import quads_of, sources
from triplestore import Store
from triplestore.model.rdflib_terms import TripleTerm
from triplestore.model.terms import OWL, XSD, to_ntriples, to_rdflib

if TYPE_CHECKING:
    from tests.conftest import MakeStore

E = "http://ex/"
IRIS = [f"<{E}{name}>" for name in "abcd"]
PREDICATES = [f"<{E}{name}>" for name in "pq"]
LITERALS = ['"1"', *(f'"{text}"^^<{XSD}integer>' for text in ("1", "01", "2")), f'"1.0"^^<{XSD}decimal>', '"x"@en']
BLANK = ["_:x", "_:y", "_:z"]
SAME = f"<{OWL}sameAs>"

PROGRAMS = {
    "none": (("none",), "off"),
    "values": (("rdfs", "datatypes"), "off"),
    "owl": (("owl2rl",), "rewrite"),
    "axioms": (("owl2rl",), "axioms"),
}

Term = Any  # a token, or a tuple of three
Fact = tuple[Term, Term, Term]


def token(term: Term) -> str:
    return term if isinstance(term, str) else f"({' '.join(to_ntriples(token(part)) for part in term)})"


def as_rdflib(facts: Iterable[Fact]) -> list[tuple[Any, ...]]:
    return [tuple(to_rdflib(token(term)) for term in fact) for fact in facts]


def some_term(rng: Random, blank: list[str], depth: int) -> Term:
    kind = rng.random()
    if depth and kind < 0.4:
        return rng.choice(IRIS), rng.choice(PREDICATES), some_term(rng, blank, depth - 1)
    if kind < 0.55:
        return rng.choice(LITERALS)
    return rng.choice(IRIS)


def store_of(rng: Random) -> list[Fact]:
    facts: list[Fact] = [
        (rng.choice(IRIS), rng.choice(PREDICATES), some_term(rng, [], 3)) for _ in range(rng.randint(3, 7))
    ]
    for _, p, o in rng.sample(facts, rng.randint(0, 2)):  # terms that may equal those of another fact
        facts.append((rng.choice(IRIS), p, varied(rng, o)))
    facts += [(rng.choice(IRIS), SAME, rng.choice(IRIS)) for _ in range(rng.randint(0, 2))]
    return facts


def varied(rng: Random, term: Term) -> Term:
    """A term with some of what it is made of changed."""
    if isinstance(term, tuple):
        s, p, o = term
        return varied(rng, s), p, varied(rng, o)
    return rng.choice(IRIS if term in IRIS else LITERALS) if rng.random() < 0.4 else term


def conclusion_of(rng: Random, facts: list[Fact]) -> list[Fact]:
    """Some facts with other terms in places: blank nodes, which may stand for one thing each, and terms at random."""
    chosen = rng.sample(facts, rng.randint(1, min(3, len(facts))))
    names: dict[str, str] = {}

    def changed(term: Term, subject: bool = False, predicate: bool = False) -> Term:
        if predicate:
            return term
        if isinstance(term, tuple) and rng.random() < 0.8:
            s, p, o = term
            return changed(s, subject=True), p, changed(o)
        kind = rng.random()
        if kind < 0.45:
            key = token(term) if rng.random() < 0.85 else str(rng.random())
            return names.setdefault(key, BLANK[len(names) % len(BLANK)])
        if kind < 0.6:
            return rng.choice(IRIS if subject or rng.random() < 0.5 else [*IRIS, *LITERALS])
        return term

    return [(changed(s, subject=True), p, changed(o)) for s, p, o in chosen]


def oracle(facts: list[Fact], conclusion: list[Fact], program: str) -> bool:
    """Whether some assignment of the blank nodes makes all triples of the conclusion facts."""
    equal = {iri: {iri} for iri in IRIS}
    if program in ("owl", "axioms"):
        for s, p, o in facts:
            if p == SAME:
                union = equal[s] | equal[o]
                equal.update(dict.fromkeys(union, union))

    def meaning(term: Term) -> Any:
        if isinstance(term, tuple):
            return tuple(meaning(part) for part in term)
        if term in equal:
            return frozenset(equal[term])
        return value(term) if term[0] == '"' and program != "none" else term

    def parts(term: Any, given: Term) -> Iterator[Any]:
        yield term
        if isinstance(given, tuple):
            for one, other in zip(term, given, strict=True):
                yield from parts(one, other)

    closed = {meaning(fact) for fact in facts}
    things = {part for fact in facts for term in fact for part in parts(meaning(term), term)}
    variables = sorted({name for name in BLANK if any(name in token(fact) for fact in conclusion)})

    def put(term: Term, chosen: dict[str, Any]) -> Any:
        if isinstance(term, tuple):
            return tuple(put(part, chosen) for part in term)
        return chosen[term] if term in chosen else meaning(term)

    return any(
        all(put(fact, chosen) in closed for fact in conclusion)
        for values in product(things, repeat=len(variables))
        for chosen in [dict(zip(variables, values, strict=True))]
    )


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("seed", seeds(range(50), 1))
def test_what_is_entailed_is_what_some_assignment_makes_true(tmp_path: Path, program: str, seed: int) -> None:
    rng = Random(seed)
    rules, equality = PROGRAMS[program]
    facts = store_of(rng)
    with Store.create(tmp_path / "kg", rules, equality=equality, engine="duckdb") as store:
        store.update(add=as_rdflib(facts))
        for _ in range(12):
            conclusion = conclusion_of(rng, facts)
            if any(p == SAME for _, p, _ in conclusion):
                continue
            wanted = oracle(facts, conclusion, program)
            got = store.entails(as_rdflib(conclusion)).holds
            assert got == wanted, f"{facts}\n{conclusion}"


def load(store: Store, folder: Path, turtle: str) -> None:
    (folder / "data.ttl").write_text(f"{PREFIXES}{turtle} .", encoding="utf-8")
    store.load(folder / "data.ttl")


def conclusion(folder: Path, turtle: str) -> list[tuple[Any, ...]]:
    (folder / "conclusion.ttl").write_text(f"{PREFIXES}{turtle} .", encoding="utf-8")
    (source,) = sources([folder / "conclusion.ttl"])
    return [tuple(map(to_rdflib, triple)) for triple in quads_of(source, 9)]


CASES = {
    # rules: (data, what follows, what does not)
    "none": (
        ":a1 :p1 <<( :a :b :c )>> . :a :label 'A' . :c :label 'C'",
        [":a1 :p1 <<( _:x :b :c )>> . _:x :label 'A'", ":a1 :p1 <<( :a :b _:x )>> . _:x :label 'C'"],
        [":a1 :p1 <<( _:x :b :c )>> . _:x :label 'C'", "_:x :p1 <<( _:x :b :c )>>", ":a1 :p1 <<( _:x :b _:x )>>"],
    ),
    "owl2rl": (
        ":a1 :p1 <<( :a :b <<( :c :d 1 )>> )>> . :a owl:sameAs :a2 . :c owl:sameAs :c2 . :c2 :n '01'^^xsd:integer . "
        ":a3 :p1 <<( :a2 :b <<( :c2 :d 1.0 )>> )>> . :C a owl:Class . :D a owl:Class . :s :t <<( :u :v :w )>>",
        [
            ":a1 :p1 <<( :a2 :b <<( :c2 :d 1.0 )>> )>>",
            ":a1 :p1 <<( _:x :b <<( _:y :d _:n )>> )>> . _:y :n _:n . _:x owl:sameAs :a2",
            ":a1 :p1 _:t . :a3 :p1 _:t",
            ":s :t <<( :u :v _:w )>> . _:c owl:unionOf (:C :D)",
        ],
        [
            ":a1 :p1 <<( :c :b <<( :c2 :d 1.0 )>> )>>",
            ":a1 :p1 <<( :a :b <<( :c :d 2 )>> )>>",
            ":a1 :p1 <<( _:x :b <<( _:x :d 1 )>> )>>",
            ":a1 :p1 _:t . :s :t _:t",
            ":s :t <<( :u :v _:c )>> . _:c owl:unionOf (:C :D)",
            "_:c owl:oneOf (<<( :u :v _:c )>>)",
            "_:n owl:sourceIndividual :s ; owl:assertionProperty :t ; owl:targetIndividual :u . "
            ":s :t <<( :u :v _:n )>>",
        ],
    ),
    "rdfs": (
        ":a1 :p1 <<( :a :b '1'^^xsd:integer )>> , :c",
        [":a1 :p1 _:t . _:t a rdfs:Proposition", "_:t a rdfs:Proposition"],
        [":a1 :p1 :c . :c a rdfs:Proposition", ":a1 :p1 <<( :a :b '01'^^xsd:integer )>>"],
    ),
}


@pytest.mark.parametrize("rules", CASES)
@pytest.mark.long_on_spark
def test_triple_terms(rules: str, make_store: MakeStore, tmp_path: Path) -> None:
    data, follows, not_ = CASES[rules]
    store = make_store((rules,))
    load(store, tmp_path, data)
    for turtle in follows:
        assert store.entails(conclusion(tmp_path, turtle)).holds, turtle
    for turtle in not_:
        answer = store.entails(conclusion(tmp_path, turtle))
        assert not answer.holds, turtle
        assert answer.missing


def test_an_ill_typed_literal_in_a_triple_term_is_a_contradiction(make_store: MakeStore, tmp_path: Path) -> None:
    """At any depth, by a load or an update; it goes with the triple that has it."""
    store = make_store(("rdfs", "datatypes"))
    load(store, tmp_path, ":a :p <<( :b :q <<( :c :r 'x'^^xsd:integer )>> )>> ; :p <<( :b :q 'x' )>>")
    (found,) = store.check()
    assert (found.rule, type(found.triples[0][2])) == ("dt-not-type", TripleTerm)
    store.update(delete=found.triples)
    assert store.check() == []
    ill = as_rdflib([(IRIS[0], PREDICATES[0], (IRIS[1], PREDICATES[0], f'"128"^^<{XSD}byte>'))])
    store.update(add=ill)
    assert [violation.rule for violation in store.check()] == ["dt-not-type"]
    store.update(delete=ill)
    assert store.check() == []
