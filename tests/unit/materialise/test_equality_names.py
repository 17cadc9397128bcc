"""owl:sameAs as a term: equal to other properties, below and above them, with axioms of its own; and terms of the
vocabulary that equal each other. What holds of it by the rules is what the oracle says, by materialisation and by
updates, in every mode; answers and proofs follow."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from tests.support import custom_programs, oracle
from tests.support.asker import Asker, graph_of
from tests.support.both_routes import assert_both_routes_agree
from tests.support.closure import MODES, agree, expected, materialised
from tests.support.random_programs import (
    CLASSES,
    PROPERTIES,
    SAME,
    THINGS,
    TYPE,
    Triple,
    ex,
    lists,
    restriction,
    rules_for,
    rules_of,
)
from tests.support.seeds import seeds
from tests.support.stores import as_terms, follow, tokens
from triplake.rulesets import datalog
from triplestore.engine import Engine
from triplestore.model.errors import InputError
from triplestore.model.rule import Rule
from triplestore.model.terms import OWL, RDF, RDFS
from triplestore.store import Store

A, B, C, D = THINGS[:4]
P, Q = PROPERTIES[:2]
SUB_CLASS, SUB_PROPERTY = f"<{RDFS}subClassOf>", f"<{RDFS}subPropertyOf>"
INVERSE, EQUIVALENT = f"<{OWL}inverseOf>", f"<{OWL}equivalentProperty>"
DATA = [(A, P, B), (B, Q, C), (C, TYPE, CLASSES[0]), (D, Q, '"v"')]


def axiom(name: str) -> list[Triple]:
    """Axioms that speak of owl:sameAs."""
    own = f"<{OWL}"
    found: dict[str, list[Triple]] = {
        "equal": [(P, SAME, SAME)],
        "equal and below itself": [(SAME, SAME, P), (P, SUB_PROPERTY, P)],
        "equivalent": [(SAME, EQUIVALENT, P)],
        "above": [(SAME, SUB_PROPERTY, P)],
        "below": [(P, SUB_PROPERTY, SAME)],
        "above and equal": [(SAME, SUB_PROPERTY, P), (P, SAME, SAME)],
        "between": [(P, SUB_PROPERTY, SAME), (SAME, SUB_PROPERTY, Q)],
        "symmetric": [(SAME, TYPE, f"{own}SymmetricProperty>")],
        "transitive": [(SAME, TYPE, f"{own}TransitiveProperty>"), (A, SAME, B)],
        "functional": [(SAME, TYPE, f"{own}FunctionalProperty>"), (A, SAME, B)],
        "inverse functional": [(SAME, TYPE, f"{own}InverseFunctionalProperty>")],
        "irreflexive": [(SAME, TYPE, f"{own}IrreflexiveProperty>")],
        "domain": [(SAME, f"<{RDFS}domain>", CLASSES[1]), (CLASSES[1], SUB_CLASS, CLASSES[2])],
        "range": [(SAME, f"<{RDFS}range>", CLASSES[1]), (P, SAME, SAME)],
        "inverse": [(P, INVERSE, SAME)],
        "inverse of itself": [(SAME, INVERSE, SAME)],
        "chain": [(SAME, f"{own}propertyChainAxiom>", "_:l0"), *lists("l", [P, Q])],
        "in a chain": [(Q, f"{own}propertyChainAxiom>", "_:l0"), *lists("l", [P, SAME])],
        "some": restriction(CLASSES[1], SAME, "someValuesFrom", CLASSES[0]),
        "all": [*restriction(CLASSES[0], SAME, "allValuesFrom", CLASSES[1]), (P, SAME, SAME)],
        "value": [*restriction(CLASSES[1], SAME, "hasValue", A), (B, TYPE, CLASSES[1])],
        "type": [(TYPE, SAME, SAME)],
        "subclass": [(SUB_CLASS, SAME, SAME), (CLASSES[0], SUB_CLASS, CLASSES[1])],
        "subclass by another name": [(SUB_CLASS, SAME, P), (P, SAME, SAME), (CLASSES[0], P, CLASSES[1])],
        "subproperty": [(SUB_PROPERTY, SAME, SAME), (P, SUB_PROPERTY, Q)],
        "said of itself": [(A, SAME, A), (P, SAME, SAME), (C, P, C)],
        "subclass and type": [(TYPE, SAME, SUB_CLASS), (CLASSES[0], TYPE, CLASSES[1])],
        "domain and type": [(TYPE, SAME, f"<{RDFS}domain>"), (P, f"<{RDFS}domain>", CLASSES[1]), (B, Q, C)],
        "inverse and label": [(INVERSE, SAME, f"<{RDFS}label>"), (P, INVERSE, Q), (Q, f"<{RDFS}label>", PROPERTIES[2])],
        "class and characteristic": [(f"{own}Thing>", SAME, f"{own}SymmetricProperty>"), (P, TYPE, f"{own}Thing>")],
        "type and another": [(TYPE, SAME, f"{own}differentFrom>"), (Q, TYPE, f"{own}SymmetricProperty>")],
        "a literal": [(P, SAME, SAME), (A, P, '"v"')],
    }
    return found[name]


NAMES = (
    *("equal", "equal and below itself", "equivalent", "above", "below", "above and equal", "between", "symmetric"),
    *("transitive", "functional", "inverse functional", "irreflexive", "domain", "range", "inverse"),
    *("inverse of itself", "chain", "in a chain", "some", "all", "value", "type", "subclass"),
    *("subclass by another name", "subproperty", "said of itself"),
    *("subclass and type", "domain and type", "inverse and label", "class and characteristic", "type and another"),
)
QUICK = (
    *("equal", "equal and below itself", "above and equal", "subclass", "said of itself"),
    *("subclass and type", "inverse and label"),
)
OWN = ("equal-too", "self", "everything", "any", "other", "unequal")
cases = [name if name in QUICK else pytest.param(name, marks=pytest.mark.long) for name in NAMES]


def random_facts(rng: Random, literals: bool = True) -> list[Triple]:
    values = [*THINGS[:4], '"v"'] if literals else THINGS[:4]
    found = {(rng.choice(THINGS[:4]), rng.choice(PROPERTIES[:3]), rng.choice(values)) for _ in range(4)}
    for name in rng.sample(NAMES, rng.choice([1, 1, 2])):
        found.update(axiom(name))
    return sorted(found)


def random_rules(rng: Random) -> tuple[Rule, ...]:
    return rules_of((rng.choice(["owl2rl", "rdfs-plus", "none"]), *rng.sample(OWN, rng.randint(0, 2))))


@pytest.mark.parametrize("equality", MODES)
@pytest.mark.parametrize("name", cases)
@pytest.mark.sampled(each=3)
def test_the_closure_is_the_oracles(embedded: Engine, name: str, equality: str) -> None:
    agree(embedded, [*DATA, *axiom(name)], rules_of(("owl2rl",)), equality)


@pytest.mark.parametrize("name", ["domain and type", "type and another"])
def test_a_schema_that_is_joined_under_another_name(embedded: Engine, name: str) -> None:
    agree(embedded, [*DATA, *axiom(name)], rules_of(("owl2rl",)), "rewrite", 0)


@pytest.mark.long
@pytest.mark.parametrize("many", [0, 5_000])
@pytest.mark.parametrize("equality", MODES)
@pytest.mark.parametrize("seed", range(15))
def test_the_closure_is_the_oracles_often(embedded: Engine, seed: int, equality: str, many: int) -> None:
    rng = Random(seed)
    agree(embedded, random_facts(rng, equality != "axioms"), random_rules(rng), equality, many)


@pytest.mark.parametrize("equality", MODES)
def test_a_literal_is_an_equal_by_another_name(embedded: Engine, equality: str) -> None:
    agree(embedded, [*DATA, *axiom("a literal")], rules_of(("owl2rl",)), equality)


@pytest.mark.parametrize("equality", MODES)
@pytest.mark.parametrize("name", seeds(["equal", "below", "equivalent", "between", "above and equal"], 1))
@pytest.mark.sampled(each=3)
def test_two_literals_are_a_pair_by_another_name(embedded: Engine, name: str, equality: str) -> None:
    """A rule may relate two literals, by which name ever: they stay two, with a violation, until one of the two equals
    an IRI. A literal cannot be written as the subject of a head."""
    pair = datalog.parse(f"[?y, {P}, ?z] :- [?x, <http://e/k>, ?y], [?x, <http://e/l>, ?z] .", "pair.dlog")
    rules = (*rules_of(("owl2rl",)), *pair)
    facts = [*axiom(name), (A, ex("k"), '"v"'), (A, ex("l"), '"w"'), (B, Q, '"v"')]
    for more in ([], [(C, SAME, '"w"')]):
        agree(embedded, [*facts, *more], rules, equality)
        wanted = oracle.closure_by_value([*facts, *more], rules, equality)
        assert ((B, Q, '"w"') in wanted.triples) is bool(more and equality != "off")
        assert wanted.violated == ({"eq-diff1"} if equality != "off" else set())
    with pytest.raises(InputError, match="a literal cannot be the subject of a head"):
        datalog.parse(f'["v", {P}, "w"] .', "pair.dlog")


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_the_oracles_equality_is_that_of_the_six_rules(name: str) -> None:
    assert_both_routes_agree(frozenset([*DATA[:3], *axiom(name)]))


@pytest.mark.long
@pytest.mark.spark
def test_the_closure_is_the_oracles_on_spark(spark_engine: Engine) -> None:
    agree(spark_engine, [*DATA, *axiom("equal")], (), "rewrite")


def answers(engine: Engine, seed: int, queries: int) -> None:
    rng = Random(seed)
    facts, rules = random_facts(rng), random_rules(rng)
    got, _ = materialised(engine, facts, rules, "rewrite")
    Asker(rng, graph_of(engine), got, f"seed {seed}").round(queries)


@pytest.mark.parametrize("seed", range(3))
def test_answers_are_those_over_the_closure(embedded: Engine, seed: int) -> None:
    answers(embedded, seed, 3)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1000, 1030))
def test_answers_are_those_over_the_closure_often(embedded: Engine, seed: int) -> None:
    answers(embedded, seed, 8)


def test_the_axiom_comes_and_goes(tmp_path: Path) -> None:
    """What every read says while a property equals owl:sameAs, and after."""
    start = [(A, P, B), (C, Q, D), (C, P, C)]
    with Store.create(tmp_path / "kg", ["rdfs-plus"], engine="duckdb") as store:
        store.update(add=as_terms(start))
        before, figures = tokens(store), store.stats()
        store.update(add=as_terms([(P, SAME, SAME)]))
        now = tokens(store)
        assert now == expected([*start, (P, SAME, SAME)], rules_of(("rdfs-plus",)), "rewrite")[0]
        assert {(x, p, x) for x in (A, C, D, Q, TYPE) for p in (P, SAME)} <= now
        assert (A, P, '"v"') not in now
        assert store.stats()["expanded"] == len(now)
        assert tokens(store, "inferred") == now - {*start, (P, SAME, SAME)}
        assert store.query(f"ASK {{ {D} {P} {D} }}")
        assert {row[0] for row in store.query(f"SELECT ?x {{ ?x {P} ?x }}").tokens()} == {
            s for s, p, o in now if s == o
        }
        for term in (A, D):
            proof = store.explain(as_terms([(term, P, term)])[0])
            assert proof is not None
            assert [step.by for step in proof.steps()][-1] == "eq-rep-p"
        store.update(delete=as_terms([(P, SAME, SAME)]))
        assert tokens(store) == before
        assert {k: store.stats()[k] for k in ("facts", "expanded", "classes")} == {
            k: figures[k] for k in ("facts", "expanded", "classes")
        }


def updates(seed: int, equality: str, folder: Path) -> None:
    """Random updates in which axioms about owl:sameAs come and go."""
    rng = Random(seed)
    start = random_facts(rng, equality != "axioms")
    now, steps = set(start), []
    for _ in range(3):
        add = set(axiom(rng.choice(NAMES)) if rng.random() < 0.6 else random_facts(rng, equality != "axioms")[:4])
        delete = set(rng.sample(sorted(now), min(len(now), rng.randint(0, 3)))) - add
        steps.append((sorted(add), sorted(delete)))
        now = (now - delete) | add
    program = (rng.choice(["owl2rl", "rdfs-plus", "none"]),)
    with Store.create(folder / "kg", list(program), equality, engine="duckdb") as store:
        follow(store, (start, steps), program, equality)


@pytest.mark.long
@pytest.mark.parametrize("equality", MODES)
@pytest.mark.parametrize("seed", range(4))
def test_updates_equal_the_oracle(seed: int, equality: str, tmp_path: Path) -> None:
    updates(seed, equality, tmp_path)


def test_not_sees_equalities_by_every_name(embedded: Engine) -> None:
    """`NOT [?x, :p0, ?y]` where :p0 equals owl:sameAs: that they are not one."""
    rules = datalog.parse("PREFIX : <http://e/> [?x, :p3, ?y] :- [?x, :p1, ?y], NOT [?x, :p0, ?y] .", "own")
    facts = [(P, SAME, SAME), (A, P, B), (A, Q, B), (A, Q, C), (D, Q, D)]
    for equality in ("rewrite", "axioms"):
        got, _, _ = custom_programs.materialised(embedded, facts, rules_for(tuple(rules), equality), equality)
        assert {t for t in got if t[1] == PROPERTIES[3]} == {(A, PROPERTIES[3], C), (B, PROPERTIES[3], C)}


def test_what_makes_no_sense_is_refused(embedded: Engine) -> None:
    count = datalog.parse(
        "PREFIX : <http://e/> @rule many [?x, :n, ?n] :- AGGREGATE([?x, :p0, ?y] ON ?x BIND COUNT(?y) AS ?n) .", "own"
    )
    with pytest.raises(InputError, match=r"rule many aggregates over a property that equals owl:sameAs"):
        custom_programs.materialised(embedded, [(P, SAME, SAME), (A, P, B)], tuple(count), "rewrite")
    first = f"<{RDF}first>"
    with pytest.raises(InputError, match=r"first> equals another term of the vocabulary"):
        materialised(embedded, [(first, SAME, TYPE), (A, P, B)], rules_of(("owl2rl",)), "rewrite")
    got, _ = materialised(embedded, [(first, SAME, ex("head"))], rules_of(("owl2rl",)), "rewrite")
    assert got >= oracle.congruent({(first, SAME, ex("head"))}, set())
