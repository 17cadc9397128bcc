"""Literals that are equal to other terms: members of classes like any term."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
import rdflib
from rdflib import RDF, Literal, URIRef
from rdflib import XSD as XSD_NAMES

from tests.conftest import MakeStore
from tests.support import oracle
from tests.support.asker import Asker, graph_of
from tests.support.closure import agree, expected, materialised
from tests.support.datatypes import PREFIXES, E, closure, each_mode, loaded, of_data, triples
from tests.support.literal_programs import ALONE, NUMBERS, OTHERS, random_facts, random_rules, typed
from tests.support.random_programs import PROPERTIES, SAME, THINGS, TYPE, Triple, ex
from tests.support.random_tangles import tangle
from tests.support.seeds import seeds
from tests.support.tangles import check
from triplake import rulesets
from triplake.sparql.query import query
from triplestore import Store
from triplestore.engine import Engine
from triplestore.materialise import rewriting
from triplestore.materialise.violations import Violations
from triplestore.model.rule import Rule
from triplestore.model.terms import OWL, XSD, from_rdflib, to_rdflib
from triplestore.write import beginning, in_tables


@pytest.mark.parametrize("equality", ["rewrite", "axioms", "off"])
@pytest.mark.parametrize("seed", seeds(range(8), 1))
def test_the_closure_is_the_oracles(embedded: Engine, seed: int, equality: str) -> None:
    rng = Random(seed)
    agree(embedded, random_facts(rng), random_rules(rng), equality, [0, 5_000][seed % 2])


@pytest.mark.long
@pytest.mark.parametrize("equality", ["rewrite", "axioms"])
@pytest.mark.parametrize("seed", range(1000, 1025))
def test_the_closure_is_the_oracles_often(embedded: Engine, seed: int, equality: str) -> None:
    rng = Random(seed)
    agree(embedded, random_facts(rng), random_rules(rng), equality, [0, 5_000][seed % 2])


@pytest.mark.parametrize("seed", seeds([3, 24, 26], 1))
def test_tangles_with_literals(embedded: Engine, seed: int) -> None:
    """Rules, updates and all algorithms: those in memory take what they can."""
    check(embedded, tangle(seed, literals=True))


@pytest.mark.long
@pytest.mark.parametrize("start", range(1000, 2000, 100))
def test_tangles_with_literals_often(embedded: Engine, start: int) -> None:
    for seed in range(start, start + 3):
        check(embedded, tangle(seed, literals=True))


def closed(engine: Engine, facts: list[Triple], rules: tuple[Rule, ...]) -> tuple[set[Triple], bool]:
    """The closure in the engine, which is the oracle's; and whether literals stand for values."""
    by_value = any(rule.name == "dt-type1" for rule in rules)
    got, _ = materialised(engine, facts, rules, "rewrite", datatypes=by_value)
    assert got == expected(facts, rules, "rewrite", by_value)[0]
    return got, by_value


def run(engine: Engine, seed: int, queries: int) -> None:
    """Random questions; each value in one form, since Oxigraph joins by forms."""
    rng = Random(seed)
    got, by_value = closed(engine, random_facts(rng, ALONE), tuple(r for r in random_rules(rng) if r.body))
    Asker(rng, graph_of(engine, by_value), got, f"seed {seed}").round(queries)


@pytest.mark.parametrize("seed", seeds(range(12), 2))
def test_answers_are_those_over_the_closure(embedded: Engine, seed: int) -> None:
    run(embedded, seed, 3)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1000, 1025))
def test_answers_are_those_over_the_closure_often(embedded: Engine, seed: int) -> None:
    run(embedded, seed, 10)


@pytest.mark.parametrize("seed", seeds(range(6), 2))
def test_patterns_show_the_forms_that_were_asserted(embedded: Engine, seed: int) -> None:
    rng = Random(seed)
    facts = random_facts(rng)
    got, by_value = closed(embedded, facts, tuple(r for r in random_rules(rng) if r.body))
    graph = graph_of(embedded, by_value)
    patterns = ["?s ?p ?o", f"?s {SAME} ?o"]
    patterns += [f"?s {p} ?o" for p in PROPERTIES[:3]] + [f"{s} ?p ?o" for s in THINGS[:4]]
    patterns += [f"?s ?p {o}" for o in (*THINGS[:2], *OTHERS)] if not by_value else []
    for pattern in patterns:
        s, p, o = pattern.split(" ", 2)
        wanted = sorted(
            tuple(term for term, asked in zip(t, (s, p, o), strict=True) if asked[0] == "?")
            for t in got
            if all(asked[0] == "?" or asked == term for term, asked in zip(t, (s, p, o), strict=True))
        )
        assert sorted(query(graph, f"SELECT * {{ {pattern} }}").tokens()) == wanted, pattern
    for literal in (*NUMBERS, *OTHERS):
        assert not query(graph, f"ASK {{ {literal} ?p ?o }}"), "RDF has no literals for subjects"


# -- in stores

DATA = """
:v owl:sameAs 42 , "042"^^xsd:integer ; :p :x . :w owl:sameAs 42.0 . :h :q "+42"^^xsd:integer , :x .
:f a owl:FunctionalProperty . :a :f "one" , :b . :b :q :c . _:n owl:sameAs "long text" .
"""


def turtle(text: str) -> rdflib.Graph:
    found = rdflib.Graph()
    for s, p, o in triples(f"{text} ."):
        found.add((to_rdflib(s), to_rdflib(p), to_rdflib(o)))
    return found


def rows(store: Store, query: str, **how: str) -> list[tuple[str, ...]]:
    prefixes = f"PREFIX : <{E}> PREFIX owl: <{OWL}> PREFIX xsd: <{XSD}> "
    return sorted(tuple(map(from_rdflib, row)) for row in store.query(prefixes + query, **how))


@pytest.mark.long_on_spark(each=2)
@each_mode
@pytest.mark.sampled(each=2)
def test_a_store_reasons_with_literals(make_store: MakeStore, tmp_path: Path, equality: str) -> None:
    store = loaded(make_store, tmp_path, DATA, equality)
    found = closure(store)
    wanted = oracle.closure_by_value(triples(DATA), rulesets.named("owl2rl").rules, equality).triples
    assert of_data(found) == of_data(oracle.rdf_only(wanted))
    assert store.check() == []
    assert store.stats()["expanded"] == len(found)
    assert closure(store, "inferred") == found - closure(store, "asserted")
    if equality == "off":
        return
    v, w, x, b, forty_two = ex("v"), ex("w"), ex("x"), ex("b"), typed("42", "integer")
    assert {(v, SAME, w), (w, SAME, v), (v, SAME, forty_two), (w, TYPE, f"<{XSD}byte>"), (w, ex("p"), x)} <= found
    assert rows(store, "SELECT ?s { ?s owl:sameAs 42 }") == [(v,), (w,)]
    assert rows(store, "SELECT ?t { :w a ?t FILTER(?t = xsd:integer) }") == [(f"<{XSD}integer>",)]
    assert rows(store, "SELECT ?o { :h :q ?o }") == sorted([(typed("+42", "integer"),), (v,), (w,), (x,)])
    assert rows(store, "SELECT ?o { :h :q ?o . ?o :p ?y }") == [(v,), (w,)], "a literal is not a subject"
    assert rows(store, "SELECT ?o { :a :f ?o }") == [('"one"',), (b,)]
    assert rows(store, "SELECT ?o { :h :q/:p ?o }") == rows(store, "SELECT ?o { :v :p ?o . ?v :p ?o }")
    assert rows(store, "SELECT ?y { 42 :p ?y }") == rows(store, "SELECT ?y { 42 (:p|:q)+ ?y }") == []
    assert rows(store, "SELECT (COUNT(*) AS ?n) { ?s owl:sameAs ?o FILTER(isLiteral(?o)) }") == [
        (typed("8", "integer"),)
    ]
    shown = {s for s, p, _ in (map(from_rdflib, t) for t in store.triples("all", "canonical")) if p == ex("p")}
    assert shown <= {v, w}
    if equality == "rewrite":
        assert shown == {v}
        assert rows(store, "SELECT ?o { :h :q ?o }", same_as="canonical") == [(v,), (x,)]
        assert rows(store, "SELECT ?s { ?s :q :c }", same_as="canonical") == [(b,)]


@pytest.mark.long_on_spark(each=2)
@each_mode
@pytest.mark.sampled(each=2)
def test_two_values_of_one_term_are_a_contradiction(make_store: MakeStore, tmp_path: Path, equality: str) -> None:
    text = ':v owl:sameAs 42 , 43 , "043"^^xsd:integer . :f a owl:FunctionalProperty . :a :f 1 , 2 , 3 , "u"^^:own .'
    store = loaded(make_store, tmp_path, text, equality)
    if equality == "off":
        return
    assert store.violated() == {"eq-diff1": 3}
    found = {tuple(from_rdflib(t) for t in v.triples[0]): v.by for v in store.check(by=True)}
    integer = [typed(str(n), "integer") for n in (1, 2, 3, 42)]
    assert found == {
        (integer[0], SAME, integer[1]): ("prp-fp",),
        (integer[0], SAME, integer[2]): ("prp-fp",),
        (typed("043", "integer"), SAME, integer[3]): ("asserted",),
    }
    for number in (1, 2, 3):
        assert {step.by for step in store.explain_violation("eq-diff1", number).steps()} & {"prp-fp", "asserted"}
    v = URIRef(E + "v")
    store.update(delete=[(v, URIRef(OWL + "sameAs"), Literal(43))])
    assert store.violated() == {"eq-diff1": 3}, "another form of the value is still asserted"


AGES = ":age a owl:FunctionalProperty . :p :age 5 , 6 . :q :age 5 . :r :age 7"


@pytest.mark.long_on_spark(each=2)
@each_mode
@pytest.mark.sampled(each=2)
def test_values_of_a_functional_property_stay_apart(make_store: MakeStore, tmp_path: Path, equality: str) -> None:
    store = loaded(make_store, tmp_path, f"{AGES} .", equality)
    five, six = typed("5", "integer"), typed("6", "integer")
    assert rows(store, "SELECT ?o { :q :age ?o }") == [(five,)], "one wrong triple changes no other subject"
    assert rows(store, "SELECT ?o { :p :age ?o }") == [(five,), (six,)]
    assert store.stats()["expanded"] == len(closure(store))
    if equality == "off":
        assert store.violated() == {}
        return
    assert store.violated() == {"eq-diff1": 1}
    (violation,) = store.check(by=True)
    assert (*map(from_rdflib, violation.triples[0]), violation.by) == (five, SAME, six, ("prp-fp",))
    assert {step.by for step in store.explain_violation("eq-diff1").steps()} == {"eq-diff1", "prp-fp", "asserted"}
    assert store.why_same(Literal(5), Literal(6)) is None
    store.update(add=turtle(":x owl:sameAs 5"))
    x = ex("x")
    assert rows(store, "SELECT ?o { :q :age ?o }") == [(five,), (six,), (x,)], "all three are one now"
    assert {(x, SAME, six), (ex("q"), ex("age"), x)} <= closure(store)
    assert store.violated() == {"eq-diff1": 1}
    store.update(delete=turtle(":p :age 6"))
    assert rows(store, "SELECT ?o { :q :age ?o }") == [(five,), (x,)]
    assert store.violated() == {}


@pytest.mark.parametrize("equality", ["rewrite", "axioms"])
@pytest.mark.sampled(each=2)
def test_values_that_stay_apart_are_maintained_in_memory(tmp_path: Path, equality: str) -> None:
    with Store.create(tmp_path / "kg", equality=equality, engine="duckdb") as store:
        store.update(add=turtle(AGES))
        for algorithm in ("dred", "backward-forward", "fixpoint-update"):
            for add, delete, wanted in (
                (":q :age 8 . :r :age 5 , 9", None, 4),
                (f":p :name '{algorithm}'", None, 4),
                (None, ":p :age 6 . :r :age 5", 2),
                (":p :age 6", ":q :age 8 . :r :age 9", 1),
            ):
                come, go = (turtle(text) if text else () for text in (add, delete))
                figures = store.update(add=come, delete=go, maintain=algorithm)
                assert figures["algorithm"] == (algorithm if delete else "semi-naive")
                assert "violations" in figures["phases"], "in memory"
                assert store.violated() == {"eq-diff1": wanted}
                found = {tuple(v.triples) for v in store.check()}
                store.materialise()
                assert {tuple(v.triples) for v in store.check()} == found


@pytest.mark.parametrize("equality", ["rewrite", "axioms"])
def test_unknown_values_hide_no_clash(tmp_path: Path, equality: str) -> None:
    """What equals an unknown value, or several that are equal, is equal; the proof leads by way of them."""
    text = ':age a owl:FunctionalProperty . :p :age 5 , "u"^^:own . :q :age "u"^^:own , "a"^^:own . :r :age "a"^^:own '
    with Store.create(tmp_path / "kg", equality=equality, engine="duckdb") as store:
        store.update(add=turtle(text))
        assert store.violated() == {}
        store.update(add=turtle(":r :age 6"))
        assert store.violated() == {"eq-diff1": 1}
        assert store.check(by=True)[0].by == ("prp-fp",)
        proof = store.explain_violation("eq-diff1")
        assert len(proof.premises) == 3
        assert {premise.by for premise in proof.premises} == {"prp-fp"}


@pytest.mark.long_on_spark(each=2)
@each_mode
@pytest.mark.sampled(each=2)
def test_a_type_that_a_value_is_not_of(make_store: MakeStore, tmp_path: Path, equality: str) -> None:
    store = loaded(make_store, tmp_path, ':v owl:sameAs 42 ; a xsd:string . :w owl:sameAs "300"^^xsd:byte .', equality)
    wrong = [v for v in store.check() if v.rule == "dt-not-type"]
    assert len(wrong) == (1 if equality == "off" else 2)
    for number in range(1, len(wrong) + 1):
        assert store.explain_violation("dt-not-type", number).by == "dt-not-type"


@pytest.mark.parametrize("equality", ["rewrite", "axioms"])
@pytest.mark.sampled(each=2)
def test_why(tmp_path: Path, equality: str) -> None:
    with Store.create(tmp_path / "kg", equality=equality, engine="duckdb") as store:
        (tmp_path / "data.ttl").write_text(PREFIXES + DATA, encoding="utf-8")
        store.load(tmp_path / "data.ttl")
        v, w = (URIRef(E + name) for name in "vw")
        chain = store.why_same(v, w)
        assert chain is not None
        assert [link.by for link in chain.links] == ["asserted", "asserted"]
        assert store.why_same(v, Literal("42.0", datatype=XSD_NAMES.decimal)) is not None
        assert store.why_same(Literal(42), Literal("042", datatype=XSD_NAMES.integer)) is not None
        assert store.why_same(v, Literal(43)) is None
        found = store.equality_class(Literal(42))
        assert found is not None
        assert len(found.tokens) == 3
        for fact in store.triples():
            if any(str(term).startswith(E) for term in fact):
                proof = store.explain(fact)
                assert proof is not None, fact
                assert proof.tokens == tuple(map(from_rdflib, fact))
        proof = store.explain((w, RDF.type, XSD_NAMES.short))
        assert proof is not None
        assert "dt-type2" in {step.by for step in proof.steps()}
        assert store.equality_stats()["causes"]


WAYS = [
    (mode, name) for mode in ("rewrite", "axioms") for name in ("auto", "dred", "backward-forward", "fixpoint-update")
]
OFTEN = [("rewrite", "auto"), ("rewrite", "backward-forward"), ("axioms", "dred")]


@pytest.mark.parametrize(
    ("equality", "algorithm"), [way if way in OFTEN else pytest.param(*way, marks=pytest.mark.long) for way in WAYS]
)
@pytest.mark.sampled(each=3)
def test_updates_make_and_unmake_equals_of_literals(tmp_path: Path, equality: str, algorithm: str) -> None:
    with Store.create(tmp_path / "kg", equality=equality, engine="duckdb") as store:
        store.update(add=turtle(":f a owl:FunctionalProperty . :a :f 1 . :b :p 1 . :c :q :d . :d :p 2"))
        plain = closure(store)
        for text in (":a :f :d", ":c owl:sameAs 1 , 7", ":b :f 1 , 2"):
            store.update(add=turtle(text), maintain=algorithm)
            made = closure(store)
            violated = store.violated()
            store.materialise()
            assert (closure(store), store.violated()) == (made, violated)
            store.update(delete=turtle(text), maintain=algorithm)
            assert closure(store) == plain
            assert store.violated() == {}
            assert store.stats()["expanded"] == len(plain)


def test_a_closure_of_before_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Closures used to hold no equality with a literal, but a violation."""
    refused = "SELECT 'eq-literal' AS rule, [1::BIGINT, 0, 2] AS facts"
    stats = in_tables.stats_of
    with monkeypatch.context() as patch:
        patch.setattr(beginning, "_kept", {})
        patch.setattr(rewriting, "mergeable", lambda source: f"SELECT s AS a, o AS b FROM {source} WHERE FALSE")
        patch.setattr(Violations, "_settle_clashes", lambda self, *_: self.engine.append("violation", [refused]))
        patch.setattr(in_tables, "stats_of", lambda w: {k: v for k, v in stats(w).items() if k != "literals"})
        with Store.create(tmp_path / "kg", engine="duckdb") as store:
            store.update(add=turtle(":v owl:sameAs 42 . :v :p :x"), maintain="rematerialise")
            assert set(store.violated()) == {"eq-literal"}
    with Store.open(tmp_path / "kg", engine="duckdb") as store:
        store.update(add=turtle(":v :p :y"))
        assert store.violated() == {}
        v = f"<{E}v>"
        assert {(v, SAME, typed("42", "integer")), (v, TYPE, f"<{XSD}byte>")} <= closure(store)


@pytest.mark.parametrize("equality", ["rewrite", "axioms"])
def test_a_property_that_equals_same_as_makes_literals_equal(tmp_path: Path, equality: str) -> None:
    with Store.create(tmp_path / "kg", equality=equality, engine="duckdb") as store:
        store.update(add=turtle(':is owl:sameAs owl:sameAs . :h :is "2" , :g . :g :p :x'))
        g, h, two = ex("g"), ex("h"), '"2"'
        assert rows(store, "SELECT ?o { :h :is ?o }") == sorted([(two,), (g,), (h,)])
        assert {(g, ex("is"), two), (g, SAME, two), (h, ex("p"), ex("x"))} <= closure(store)
        assert store.stats()["expanded"] == len(closure(store))
        assert store.check() == []
