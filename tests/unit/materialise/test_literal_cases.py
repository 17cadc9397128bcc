"""Cases of equality with literals, by the tables of OWL 2 RL: keys, functional properties, differences, chains.

Of each the whole of what can be seen: closure, violations, answers, proofs, why-same and export. Expected are the
classes and facts that tables 4, 5 and 8 of OWL 2 Profiles give by hand, where an equality of literals alone is a
violation (eq-diff1) and no class.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from itertools import combinations, product
from pathlib import Path
from typing import Final

import pytest

from tests.conftest import MakeStore
from tests.support import oracle
from tests.support.datatypes import E, Triple, closure, loaded, of_data, triples
from tests.support.literal_values import value
from tests.support.random_programs import SAME
from triplake import rulesets
from triplestore import Store
from triplestore.model.terms import OWL, XSD, from_rdflib, to_rdflib


@dataclass(frozen=True)
class Case:
    """Turtle, and what it gives: classes of equal terms, facts of its own predicates that are derived, how often each
    rule is violated, the rules that make links of classes, and pairs of terms that stay two."""

    data: str
    classes: tuple[str, ...] = ()
    derived: str = ""
    violated: dict[str, int] = field(default_factory=dict)
    by: frozenset[str] = frozenset()
    apart: tuple[str, ...] = ()


KEY: Final = ":C owl:hasKey (:k) . :a a :C . :b a :C"
KEYS: Final = ":C owl:hasKey (:k :l) . :a a :C . :b a :C"
F: Final = ":f a owl:FunctionalProperty"
IF: Final = ":i a owl:InverseFunctionalProperty"
ALL: Final = "[] a owl:AllDifferent ; owl:members"
DISTINCT: Final = "[] a owl:AllDifferent ; owl:distinctMembers"
BY_KEY, BY_FP, BY_IFP, ASSERTED = (frozenset([name]) for name in ("prp-key", "prp-fp", "prp-ifp", "asserted"))
CLASH: Final = {"eq-diff1": 1}

CASES: Final = {
    # prp-key
    "key, one term": Case(f"{KEY} . :a :k 'x' ; :p :z . :b :k 'x'", (":a :b",), ":b :p :z", by=BY_KEY),
    "key, one value": Case(
        f"{KEY} . :a :k 1 . :b :k '01'^^xsd:integer", (":a :b",), ":a :k '01'^^xsd:integer . :b :k 1", by=BY_KEY
    ),
    "key, another language": Case(f"{KEY} . :a :k 'x' . :b :k 'x'@en", apart=(":a :b",)),
    "key, another value": Case(f"{KEY} . :a :k 1 . :b :k 2", apart=(":a :b",)),
    "key, another value space": Case(f"{KEY} . :a :k 1 . :b :k 1e0", apart=(":a :b",)),
    "keys, both": Case(f"{KEYS} . :a :k 1 ; :l 'x' . :b :k 1.0 ; :l 'x'", (":a :b",), ":a :k 1.0 . :b :k 1", by=BY_KEY),
    "keys, one of two": Case(f"{KEYS} . :a :k 1 ; :l 'x' . :b :k 1 ; :l 'y'", apart=(":a :b", "'x' 'y'")),
    "key, not of the class": Case(":C owl:hasKey (:k) . :a a :C ; :k 1 . :b :k 1", apart=(":a :b",)),
    "key, by an equal of the literal": Case(
        f"{KEY} . :a :k 1 . :b :k :one . :one owl:sameAs 1",
        (":a :b", ":one 1"),
        ":a :k :one . :b :k 1",
        by=BY_KEY | ASSERTED,
    ),
    "key, of what equals a literal": Case(
        f"{KEY} . :a :k 'x' ; owl:sameAs 42 . :b :k 'x' . :h :p 42",
        (":a :b 42",),
        ":h :p :a , :b",
        by=BY_KEY | ASSERTED,
    ),
    "key, then two values": Case(
        f"{KEY} . {F} . :a :k 'x' ; :f 1 . :b :k 'x' ; :f 2 . :h :p 1",
        (":a :b",),
        ":a :f 2 . :b :f 1",
        CLASH,
        BY_KEY,
        ("1 2",),
    ),
    # prp-fp
    "functional, one value": Case(f"{F} . :a :f 1 , 1.0 , '01'^^xsd:int"),
    "functional, two values": Case(f"{F} . :a :f 1 , 2 . :h :p 1", violated=CLASH, apart=("1 2",)),
    "functional, three values": Case(f"{F} . :a :f 1 , 2 , 3", violated={"eq-diff1": 2}, apart=("1 2", "1 3", "2 3")),
    "functional, two languages": Case(f"{F} . :a :f 'x' , 'x'@en", violated=CLASH, apart=("'x' 'x'@en",)),
    "functional, two value spaces": Case(
        f"{F} . :a :f 1 , '1'^^xsd:float", violated=CLASH, apart=("1 '1'^^xsd:float",)
    ),
    "functional, a derived type": Case(f"{F} . :a :f 'x' , 'x'^^xsd:token"),
    "functional, unknown values": Case(f"{F} . :a :f 'u'^^:own , 'v'^^:own", apart=("'u'^^:own 'v'^^:own",)),
    "functional, a literal and an IRI": Case(
        f"{F} . :a :f 'x' , :b . :b :q :c . :h :p 'x'", (":b 'x'",), ":h :p :b", by=BY_FP
    ),
    "functional, a literal and a blank node": Case(
        f"{F} . :a :f 'x' , _:n . :h :p 'x'", ("_:n 'x'",), ":h :p _:n", by=BY_FP
    ),
    "functional, two values and an IRI": Case(
        f"{F} . :a :f 1 , 2 , :n . :h :p 1", (":n 1 2",), ":h :p 2 , :n", CLASH, BY_FP
    ),
    "functional, by its inverse": Case(
        f"{F} . :g owl:inverseOf :f . :x :f 1 , :one . :y :g :x",
        (":one 1 :y",),
        ":one :g :x . :x :f :y",
        by=BY_FP,
    ),
    "functional, of a subproperty": Case(
        f"{F} . :s rdfs:subPropertyOf :f . :a :s 1 ; :f 2", derived=":a :f 1", violated=CLASH, apart=("1 2",)
    ),
    # prp-ifp
    "inverse functional, one term": Case(f"{IF} . :a :i 'x' ; :p :z . :b :i 'x'", (":a :b",), ":b :p :z", by=BY_IFP),
    "inverse functional, one value": Case(
        f"{IF} . :a :i 1 . :b :i '+1'^^xsd:integer", (":a :b",), ":a :i '+1'^^xsd:integer . :b :i 1", by=BY_IFP
    ),
    "inverse functional, another value": Case(f"{IF} . :a :i 'x' . :b :i 'x'@en , 'y'", apart=(":a :b", "'x' 'y'")),
    "inverse functional, by an equal": Case(
        f"{IF} . :a :i 7 . :b :i :seven . :seven owl:sameAs 7.0",
        (":a :b", ":seven 7.0"),
        ":a :i :seven . :b :i 7",
        by=BY_IFP | ASSERTED,
    ),
    "inverse functional, of what equals a literal": Case(
        f"{IF} . :v owl:sameAs 42 ; :i 'k' . :w :i 'k' . :h :p 42", (":v :w 42",), ":h :p :v , :w", by=BY_IFP | ASSERTED
    ),
    # eq-diff1, eq-diff2, eq-diff3
    "different, one literal": Case(
        ":x owl:differentFrom :y ; owl:sameAs 1 . :y owl:sameAs 1.0", (":x :y 1 1.0",), "", CLASH, ASSERTED
    ),
    "different, two literals": Case(
        ":x owl:differentFrom :y ; owl:sameAs 1 . :y owl:sameAs 2",
        (":x 1", ":y 2"),
        by=ASSERTED,
        apart=(":x :y", "1 2"),
    ),
    "different from its literal": Case(":x owl:differentFrom 1.0 ; owl:sameAs 1", (":x 1",), "", CLASH, ASSERTED),
    "different from another literal": Case(
        ":x owl:differentFrom 2 ; owl:sameAs 1", (":x 1",), by=ASSERTED, apart=(":x 2",)
    ),
    "different, merged by a literal": Case(
        f"{IF} . :x :i 1 ; owl:differentFrom :y . :y :i 1.0", (":x :y",), ":x :i 1.0 . :y :i 1", CLASH, BY_IFP
    ),
    "all different, merged by a literal": Case(
        f"{IF} . :x :i 'k' . :z :i 'k' . {ALL} (:x :y :z)", (":x :z",), "", {"eq-diff2": 1}, BY_IFP, (":x :y",)
    ),
    "all distinct, merged by a literal": Case(
        f"{IF} . :x :i 'k' . :z :i 'k' . {DISTINCT} (:x :y :z)", (":x :z",), "", {"eq-diff3": 1}, BY_IFP, (":y :z",)
    ),
    "all different, its literal": Case(f"{ALL} (:x 1) . :x owl:sameAs 1.0", (":x 1.0",), "", {"eq-diff2": 1}, ASSERTED),
    "all different, another literal": Case(f"{ALL} (:x 1) . :x owl:sameAs 2", (":x 2",), by=ASSERTED, apart=(":x 1",)),
    "all different, one value": Case(f"{ALL} (1 1.0)", violated={"eq-diff2": 1}),
    "all different, two values": Case(f"{ALL} (1 2 'x' 'x'@en)", apart=("1 2",)),
    # chains of owl:sameAs (eq-sym, eq-trans, dt-eq, dt-diff)
    "a chain to a literal": Case(
        ":a owl:sameAs :b . :b owl:sameAs :c . :c owl:sameAs 42 . :h :p 42",
        (":a :b :c 42",),
        ":h :p :a , :b , :c",
        by=ASSERTED,
    ),
    "a chain by way of a value": Case(
        ":a owl:sameAs 1 ; :p :z . :b owl:sameAs '01'^^xsd:integer",
        (":a :b 1 '01'^^xsd:integer",),
        ":b :p :z",
        by=ASSERTED,
    ),
    "a chain to two values": Case(
        ":a owl:sameAs 1 , :b . :b owl:sameAs 2 . :h :p 2", (":a :b 1 2",), ":h :p :a , :b , 1", CLASH, ASSERTED
    ),
    "a chain to an unknown value": Case(
        ":a owl:sameAs 'u'^^:own ; :p :z . :b owl:sameAs 'u'^^:own", (":a :b 'u'^^:own",), ":b :p :z", by=ASSERTED
    ),
    "a chain from a blank node": Case("_:n owl:sameAs 'x' . :h :p 'x'", ("_:n 'x'",), ":h :p _:n", by=ASSERTED),
    "a chain to both zeros": Case(
        ":a owl:sameAs 0e0 , '-0'^^xsd:double", (":a 0e0 '-0'^^xsd:double",), "", CLASH, ASSERTED
    ),
    "a chain to an ill-typed literal": Case(
        ":a owl:sameAs '300'^^xsd:byte", (":a '300'^^xsd:byte",), "", {"dt-not-type": 1}, ASSERTED
    ),
}


def terms(text: str) -> list[str]:
    """The tokens of terms in Turtle; the data's one blank node is that of the file."""
    found = [
        token for _, _, token in sorted(triples(f"{' . '.join(f':{n} :p {t}' for n, t in enumerate(text.split()))} ."))
    ]
    return ["_:f1_n" if token.startswith("_:") else token for token in found]


def scoped(text: str) -> set[Triple]:
    """The triples of Turtle whose blank node is that of the file."""
    return {(s, p, "_:f1_n" if o.startswith("_:") else o) for s, p, o in triples(f"{text} .")} if text else set()


@pytest.mark.long_on_spark(each=28)
@pytest.mark.parametrize("equality", ["rewrite", pytest.param("axioms", marks=pytest.mark.long)])
@pytest.mark.parametrize("name", CASES)
@pytest.mark.sampled(each=8)
def test_case(make_store: MakeStore, tmp_path: Path, name: str, equality: str) -> None:
    case = CASES[name]
    store = loaded(make_store, tmp_path, f"{case.data} .", equality)
    classes = [terms(line) for line in case.classes]
    same = {(s, SAME, o) for members in classes for s, o in product(members, members) if not oracle.is_literal(s)}
    own = of_data(closure(store, "asserted")) | scoped(case.derived)
    of_the_closure(store, case, same, own, equality)
    of_violations(store, case, equality)
    of_answers(store, same, own)
    of_proofs(store, case, same | own)
    of_links(store, case, classes)
    of_exports(store, classes, own)


def of_the_closure(store: Store, case: Case, same: set[Triple], own: set[Triple], equality: str) -> None:
    found = closure(store)
    assert of_data(found) == own
    assert {t for t in found if t[1] == SAME} == same
    rules = rulesets.named("owl2rl").rules
    wanted = oracle.closure_by_value(closure(store, "asserted"), rules, equality)
    assert found == oracle.rdf_only(wanted.triples)
    assert set(case.violated) == wanted.violated
    assert store.stats().expanded == len(found)


def of_violations(store: Store, case: Case, equality: str) -> None:
    """With "axioms" a rule is violated once for each way to name the terms."""
    counts = store.violated()
    assert counts.keys() == case.violated.keys()
    assert equality == "axioms" or counts == case.violated
    found = store.check()
    assert {rule: sum(v.rule == rule for v in found) for rule in counts} == counts
    for rule, count in counts.items():
        for number in range(1, count + 1):
            proof = store.explain_violation(rule, number)
            assert (proof.by, proof.tokens) == (rule, None)
            assert set(proof.asserted()) <= closure(store, "asserted")


def rows(store: Store, query: str) -> set[tuple[str, ...]]:
    prefixes = f"PREFIX : <{E}> PREFIX owl: <{OWL}> PREFIX xsd: <{XSD}> "
    return {tuple(map(from_rdflib, row)) for row in store.query(prefixes + query)}


def of_answers(store: Store, same: set[Triple], own: set[Triple]) -> None:
    assert rows(store, f"SELECT * {{ ?s ?p ?o FILTER(STRSTARTS(STR(?p), '{E}')) }}") == own
    assert rows(store, "SELECT ?s ?o { ?s owl:sameAs ?o }") == {(s, o) for s, _, o in same}
    for s, p, o in own:
        assert s.startswith("_:") or (o,) in rows(store, f"SELECT ?o {{ {s} {p} ?o }}")
        assert o.startswith("_:") or (s,) in rows(store, f"SELECT ?s {{ ?s {p} {o} }}")


def of_proofs(store: Store, case: Case, holding: set[Triple]) -> None:
    given = closure(store, "asserted")
    for triple in holding:
        proof = store.explain(tuple(map(to_rdflib, triple)))
        assert proof is not None, triple
        assert proof.tokens == triple
        assert set(proof.asserted()) <= given
    for left, right in map(terms, case.apart):
        if not oracle.is_literal(left):
            assert store.explain((to_rdflib(left), to_rdflib(SAME), to_rdflib(right))) is None


def of_links(store: Store, case: Case, classes: list[list[str]]) -> None:
    by = set[str]()
    for members in classes:
        for left, right in combinations(members, 2):
            chain = store.why_same(to_rdflib(left), to_rdflib(right))
            assert chain is not None, (left, right)
            by |= {link.by for link in chain.links}
    assert by == case.by
    for left, right in map(terms, case.apart):
        assert store.why_same(to_rdflib(left), to_rdflib(right)) is None


def of_exports(store: Store, classes: list[list[str]], own: set[Triple]) -> None:
    def exported(*options: str) -> set[Triple]:
        lines = [line.removesuffix(" .") for batch in store.lines(*options) for line in batch]
        assert len(lines) == len(set(lines))
        return {(s, p, o) for s, p, o in (line.split(" ", 2) for line in lines)}

    everything = exported()
    assert everything == closure(store)
    assert exported("inferred") == everything - exported("asserted")
    canonical = of_data(exported("all", "canonical"))
    equals = {term: members for members in classes for term in members}
    assert canonical <= own
    spread = {(a, p, b) for s, p, o in canonical for a in equals.get(s, [s]) for b in equals.get(o, [o])}
    assert by_value({t for t in spread if not oracle.is_literal(t[0])}) == by_value(own)


def by_value(found: set[Triple]) -> set[tuple[str, str, Hashable]]:
    """Triples with values for literals: which form a class has is no matter."""
    return {(s, p, value(o) if oracle.is_literal(o) else o) for s, p, o in found}
