"""The profile check: which axioms the rules do not use, or use in part."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import MakeStore
from tests.support.cli import done, run
from tests.support.turtle import PREFIXES, graph
from triplestore import Store

_EXISTS = "[ a owl:Restriction ; owl:onProperty :p ; owl:someValuesFrom :B ]"
_ALL = "[ a owl:Restriction ; owl:onProperty :p ; owl:allValuesFrom :B ]"


def _cardinality(name: str, number: int) -> str:
    return f'[ a owl:Restriction ; owl:onProperty :p ; owl:{name} "{number}"^^xsd:nonNegativeInteger ]'


OUTSIDE = {
    f":A rdfs:subClassOf {_EXISTS}": ("owl:someValuesFrom on the right", "no"),
    ":A rdfs:subClassOf [ owl:unionOf (:B :C) ]": ("owl:unionOf on the right", "no"),
    ":A rdfs:subClassOf [ owl:oneOf (:b :c) ]": ("owl:oneOf on the right", "no"),
    f"{_ALL} rdfs:subClassOf :A": ("owl:allValuesFrom on the left", "no"),
    "[ owl:complementOf :B ] rdfs:subClassOf :A": ("owl:complementOf on the left", "no"),
    f":A rdfs:subClassOf {_cardinality('maxCardinality', 2)}": ("owl:maxCardinality other than 0 and 1", "no"),
    **{
        f":A rdfs:subClassOf [ owl:onProperty :p ; owl:maxCardinality {number} ]": (
            "owl:maxCardinality other than 0 and 1",
            "no",
        )
        for number in ('"1"^^xsd:double', '"1"', '"+ 1"^^xsd:integer', ":one")
    },
    f"{_cardinality('maxCardinality', 1)} rdfs:subClassOf :A": ("owl:maxCardinality on the left", "no"),
    f":A rdfs:subClassOf {_cardinality('minCardinality', 1)}": ("owl:minCardinality", "no"),
    f":A rdfs:subClassOf {_cardinality('cardinality', 1)}": ("owl:cardinality", "no"),
    ":A rdfs:subClassOf [ a owl:Restriction ; owl:onProperty :p ; owl:hasSelf true ]": ("owl:hasSelf", "no"),
    f":A owl:equivalentClass {_EXISTS}": ("owl:someValuesFrom in an equivalence", "partial"),
    f":A owl:equivalentClass {_ALL}": ("owl:allValuesFrom in an equivalence", "partial"),
    ":A owl:equivalentClass [ owl:unionOf (:B :C) ]": ("owl:unionOf in an equivalence", "partial"),
    ":A owl:unionOf (:B :C)": ("owl:unionOf in an equivalence", "partial"),
    f":A rdfs:subClassOf [ owl:intersectionOf (:B {_EXISTS}) ]": ("owl:someValuesFrom on the right", "partial"),
    f"[ owl:intersectionOf (:B {_ALL}) ] rdfs:subClassOf :A": ("owl:allValuesFrom on the left", "no"),
    f":p rdfs:domain {_EXISTS}": ("owl:someValuesFrom on the right", "no"),
    f":x a {_EXISTS}": ("owl:someValuesFrom on the right", "no"),
    "owl:Thing rdfs:subClassOf :A": ("owl:Thing on the left", "partial"),
    ":p rdfs:range [ a rdfs:Datatype ; owl:oneOf (1 2) ]": ("a data range (owl:oneOf)", "no"),
    ":p rdfs:range owl:real": ("the datatype owl:real", "no"),
    ":A owl:disjointUnionOf (:B :C)": ("owl:disjointUnionOf", "no"),
    ":p a owl:ReflexiveProperty": ("owl:ReflexiveProperty", "no"),
    ":p rdfs:subPropertyOf owl:topObjectProperty": ("owl:topObjectProperty", "no"),
}
WITHIN = [
    f"{_EXISTS} rdfs:subClassOf :A",
    "[ owl:unionOf (:B [ owl:oneOf (:b) ]) ] rdfs:subClassOf :A",
    f":A rdfs:subClassOf {_ALL}",
    ":A rdfs:subClassOf [ owl:complementOf :B ]",
    f":A rdfs:subClassOf {_cardinality('maxCardinality', 1)} , {_cardinality('maxCardinality', 0)}",
    *(
        f":A rdfs:subClassOf [ owl:onProperty :p ; owl:maxCardinality {number} ]"
        for number in ('"01"^^xsd:nonNegativeInteger', '"1.0"^^xsd:decimal', '"00"^^xsd:byte', '"+1"^^xsd:integer')
    ),
    ":A owl:equivalentClass [ owl:intersectionOf (:B [ a owl:Restriction ; owl:onProperty :p ; owl:hasValue :b ]) ]",
    ":A owl:intersectionOf (:B :C)",
    ":A rdfs:subClassOf owl:Thing . :p rdfs:range xsd:byte ; a owl:ObjectProperty , owl:TransitiveProperty",
    "[] a owl:AllDisjointClasses ; owl:members (:A :B) . :A owl:hasKey (:p) . :q owl:propertyChainAxiom (:p :p)",
    "[] owl:sourceIndividual :a ; owl:assertionProperty :p ; owl:targetIndividual :b . :a owl:differentFrom :b",
    ":A a owl:Class ; rdfs:label 'A' . :o a owl:Ontology ; owl:imports :other ; owl:versionInfo '1'",
]


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Store]:
    with Store.create(tmp_path / "kg", engine="duckdb") as store:
        yield store


@pytest.mark.parametrize("axiom", OUTSIDE)
@pytest.mark.sampled(each=6)
def test_what_is_outside_is_found(empty: Store, axiom: str) -> None:
    empty.update(add=graph(axiom))
    (found,) = empty.outside_profile()
    assert (found.what, found.effect, found.count) == (*OUTSIDE[axiom], 1)
    assert set(found.example) & {"<http://ex/A>", "<http://ex/p>", "<http://ex/x>"}


@pytest.mark.parametrize("axiom", WITHIN)
@pytest.mark.sampled(each=3)
def test_what_is_within_is_not(empty: Store, axiom: str) -> None:
    empty.update(add=graph(axiom))
    assert empty.outside_profile() == []


@pytest.mark.long_on_spark
def test_axioms_of_a_kind_are_counted_together(make_store: MakeStore) -> None:
    store = make_store()
    store.update(add=graph(f":A rdfs:subClassOf {_EXISTS} . :B rdfs:subClassOf {_EXISTS} . :p a owl:ReflexiveProperty"))
    assert [(f.what, f.count) for f in store.outside_profile()] == [
        ("owl:someValuesFrom on the right", 2),
        ("owl:ReflexiveProperty", 1),
    ]


@pytest.mark.long_on_spark
def test_other_rules_say_what_they_have_no_rule_for(make_store: MakeStore) -> None:
    store = make_store(["rdfs"])
    store.update(add=graph(":p owl:inverseOf :q ; a owl:TransitiveProperty ; rdfs:domain :A . :A owl:unionOf (:B :C)"))
    found = [(f.what, f.effect, f.count) for f in store.outside_profile()]
    assert found == [("owl:TransitiveProperty", "no", 1), ("owl:inverseOf", "no", 1), ("owl:unionOf", "no", 1)]


def test_an_axiom_that_is_gone_is_not_listed(empty: Store) -> None:
    axiom = graph(":p a owl:ReflexiveProperty")
    empty.update(add=axiom)
    empty.update(delete=axiom)
    assert empty.outside_profile() == []


def test_the_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("o.ttl").write_text(f"{PREFIXES}:A rdfs:subClassOf {_EXISTS} , [ owl:unionOf (:B :C) ] .", encoding="utf-8")
    loaded = run("load", "kg", "o.ttl")
    assert "2 axioms with no or partial effect under these rules; `triplake stats kg` lists them\n" in loaded.err
    assert "no or partial effect" not in run("load", "quiet", "o.ttl", "-q").err
    verbose = run("load", "verbose", "o.ttl", "-v").err
    assert "1  no      effect  owl:unionOf on the right, as in <http://ex/A>" in verbose
    text = done("stats", "kg")
    assert "outside profile 2\n" in text
    assert "owl:someValuesFrom on the right, as in <http://ex/A>" in text
    found = json.loads(done("stats", "kg", "--json"))["outside_profile"]
    assert [(f["what"], f["effect"], f["count"]) for f in found] == [
        ("owl:someValuesFrom on the right", "no", 1),
        ("owl:unionOf on the right", "no", 1),
    ]
