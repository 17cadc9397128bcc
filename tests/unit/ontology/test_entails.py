"""`entails`: what follows by the rules and the reductions, and what does not. The W3C suites are in tests/w3c."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.cli import contents, done, run
from tests.support.turtle import PREFIXES, graph
from triplestore import Store

PREMISE = """
:Dog a owl:Class ; rdfs:subClassOf :Animal ; owl:disjointWith :Cat .
:Cat a owl:Class . :Animal a owl:Class .
:Pup owl:intersectionOf (:Dog :Young) . :Young a owl:Class .
:p owl:propertyChainAxiom (:p :p) . :q owl:propertyChainAxiom (:p :r) .
:r rdfs:domain :Dog ; rdfs:range xsd:byte .
:s rdfs:domain :Cat ; rdfs:range :Dog ; owl:inverseOf :sOf .
:f a owl:FunctionalProperty . :sym a owl:SymmetricProperty ; rdfs:subPropertyOf :f .
:irr a owl:IrreflexiveProperty . :irr2 rdfs:subPropertyOf :irr .
:refl a owl:ReflexiveProperty .
:rex a :Dog . :tom a :Cat . :rex :f :x1 . :tom :f :x2 . :x1 owl:differentFrom :x2 . :rex :p :tom
. :One owl:oneOf (:rex)"""

FOLLOWS = {
    "an assertion": ":rex a :Animal",
    "a blank node": "[] a :Cat",
    "subclass": ":Pup rdfs:subClassOf :Animal",
    "disjoint with": ":Pup owl:disjointWith :Cat",
    "transitive": ":p a owl:TransitiveProperty",
    "chain": ":q owl:propertyChainAxiom (:p :p :r)",
    "domain": ":sOf rdfs:domain :Dog",
    "range": ":sOf rdfs:range :Cat",
    "inverse functional": ":sym a owl:InverseFunctionalProperty",
    "irreflexive": ":irr2 a owl:IrreflexiveProperty",
    "disjoint properties": ":r owl:propertyDisjointWith :s",
    "inverse": ":sOf owl:inverseOf :s",
    "different": ":rex owl:differentFrom :tom",
    "all different": "[] a owl:AllDifferent ; owl:members (:rex :tom)",
    "complement": ":rex a [ a owl:Class ; owl:complementOf :Cat ]",
    "negative assertion": "[] owl:sourceIndividual :rex ; owl:assertionProperty :s ; owl:targetIndividual :tom",
    "reflexive": ":tom :refl :tom",
    "a range of numbers": ":r rdfs:range xsd:short",
    "a union": "[] a owl:Class ; owl:unionOf (:Dog :Cat)",
    "membership of a union": ":rex a [ a owl:Class ; owl:unionOf (:Cat :Dog) ]",
    "a restriction": ":rex a [ a owl:Restriction ; owl:onProperty :p ; owl:someValuesFrom :Cat ]",
    "a cardinality": "[] a owl:Restriction ; owl:onProperty :p ; owl:maxCardinality 1",
    "two unions of one list": "_:u owl:unionOf _:l . _:v owl:unionOf _:l . _:l rdf:first :Dog ; rdf:rest ()",
    "a class of a class": "[] owl:oneOf ([ owl:unionOf (:Dog :Cat) ] _:other)",
}
NOT = {
    "an assertion": ":rex a :Cat",
    "a blank node": "[] a :Young",
    "subclass": ":Animal rdfs:subClassOf :Dog",
    "a class that is none": ":rex rdfs:subClassOf :Dog",
    "disjoint with": ":Pup owl:disjointWith :Dog",
    "transitive": ":q a owl:TransitiveProperty",
    "chain": ":q owl:propertyChainAxiom (:r :p)",
    "range": ":s rdfs:range :Cat",
    "functional": ":p a owl:FunctionalProperty",
    "disjoint properties": ":p owl:propertyDisjointWith :f",
    "different": ":rex owl:differentFrom :x1",
    "all different": "[] a owl:AllDifferent ; owl:members (:rex :tom :x1)",
    "complement": ":rex a [ a owl:Class ; owl:complementOf :Young ]",
    "negative assertion": "[] owl:sourceIndividual :rex ; owl:assertionProperty :p ; owl:targetIndividual :tom",
    "reflexive": ":tom :p :tom",
    "a range of numbers": ":r rdfs:range xsd:unsignedByte",
    "a union of what is no class": "[] a owl:Class ; owl:unionOf (:Dog :rex)",
    "membership of a union": ":rex a [ a owl:Class ; owl:unionOf (:Cat :Young) ]",
    "one part of two": ":rex a :Dog , :Cat",
    "a property that occurs nowhere": ":new rdfs:subPropertyOf :new",
    "a chain of what is no property": ":new owl:propertyChainAxiom (:new)",
    "a domain of what is no property": ":new rdfs:domain owl:Thing",
    "a range that is no class": ":p rdfs:range :new",
    "a kind of what is no property": ":new a owl:IrreflexiveProperty",
    "two expressions at once": "[] owl:unionOf (:Dog :Cat) ; owl:complementOf :Young",
    "two lists": "[] owl:oneOf (:rex), (:tom)",
    "two properties": "[] owl:onProperty :p , :q ; owl:hasValue :rex",
    "two values": "[] owl:onProperty :p ; owl:hasValue :rex , :tom",
    "two restrictions": "[] owl:onProperty :p ; owl:maxCardinality 0 ; owl:minCardinality 1",
    "an expression and a restriction": "[] owl:onProperty :p ; owl:unionOf (:Dog)",
    "a contradiction of expressions": ":p rdfs:subPropertyOf :q . [] owl:unionOf (:Dog) ; owl:complementOf :Dog",
    "a restriction that is none": "[] a owl:Restriction ; owl:unionOf (:Dog :Cat)",
    "a fact about a class": "[] owl:unionOf (:Dog :Cat) ; :p owl:Class",
    "a number that is a text": "[] owl:onProperty :p ; owl:maxCardinality '1'",
    "a class of itself": "_:c owl:oneOf (_:c)",
    "a value of itself": "_:c owl:onProperty :p ; owl:hasValue _:c",
    "a list of itself": "[] owl:oneOf _:l . _:l rdf:first _:l ; rdf:rest ()",
    "lists of each other": "[] owl:oneOf _:l . _:l rdf:first _:m ; rdf:rest () . [] owl:oneOf _:m . "
    "_:m rdf:first _:l ; rdf:rest ()",
    "a list that has a name": "[] owl:unionOf :l . :l rdf:first :Dog ; rdf:rest ()",
    "a list of two axioms": "[] a owl:AllDifferent ; owl:members _:l . :One owl:oneOf _:l . "
    "_:l rdf:first :rex ; rdf:rest (:tom)",
    "a list of two chains": ":p owl:propertyChainAxiom _:l . :q owl:propertyChainAxiom _:l . "
    "_:l rdf:first :p ; rdf:rest (:p)",
    "what is said of an axiom": ":rex :p [ a owl:AllDifferent ; owl:members (:rex :tom) ]",
    "what is said of a negative assertion": ":rex :p [ owl:sourceIndividual :rex ; owl:assertionProperty :s ; "
    "owl:targetIndividual :tom ]",
    "a union of no list": "[] a owl:Class ; owl:unionOf 3",
    "a union whose list leads back": "[] a owl:Class ; owl:unionOf _:l . _:l rdf:first :Dog ; rdf:rest _:l",
    "a chain whose list leads back": ":p owl:propertyChainAxiom _:l . _:l rdf:first :p ; rdf:rest _:l",
    "a list that leads back": "[] a owl:AllDifferent ; owl:members _:l . _:l rdf:first :rex ; rdf:rest _:l",
    "a list that does not end": "[] a owl:AllDifferent ; owl:members _:l . _:l rdf:first :rex",
    "a list of two": "[] a owl:AllDifferent ; owl:members [ rdf:first :rex , :tom ; rdf:rest () ]",
    "more of a list": "[] a owl:AllDifferent ; owl:members [ rdf:first :rex ; rdf:rest (:tom) ; :p :x1 ]",
    "more of what lists": "[] a owl:AllDifferent ; owl:members (:rex :tom) ; :p :tom",
    "two kinds at once": "[] a owl:AllDisjointClasses , owl:AllDifferent ; owl:members (:Dog :Cat)",
    "more of a negative assertion": "[] owl:sourceIndividual :rex ; owl:assertionProperty :s ; "
    "owl:targetIndividual :tom ; :p :x1",
    "a negative assertion of two": "[] owl:sourceIndividual :rex , :tom ; owl:assertionProperty :s ; "
    "owl:targetIndividual :tom",
    "a negative assertion of a node": "[] owl:sourceIndividual :rex ; owl:assertionProperty [] ; "
    "owl:targetIndividual :tom",
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with Store.create(tmp_path_factory.mktemp("entails") / "kg", engine="duckdb") as made:
        made.update(add=graph(PREMISE))
        yield made


@pytest.mark.parametrize("name", FOLLOWS)
@pytest.mark.sampled(each=3)
def test_follows(store: Store, name: str) -> None:
    before = contents(store.path)
    answer = store.entails(graph(FOLLOWS[name]))
    assert (answer.holds, answer.missing) == (True, ())
    assert answer.by
    assert contents(store.path) == before


@pytest.mark.parametrize("name", NOT)
@pytest.mark.sampled(each=3)
def test_does_not_follow(store: Store, name: str) -> None:
    answer = store.entails(graph(NOT[name]))
    assert not answer.holds
    assert answer.missing


def test_graphs_of_any_size(store: Store) -> None:
    """A query has a bound; a conclusion has none, but for what its blank nodes connect."""
    added = graph(" . ".join(f":c{i} a :C" for i in range(300)))
    store.update(add=added)
    try:
        assert store.entails([*added, *graph("[] a :Cat . _:a a :Cat . _:b :p _:a . _:b a :Animal")]).holds
    finally:
        store.update(delete=added)


@pytest.mark.timeout(20)
def test_expressions_that_share_their_parts(store: Store) -> None:
    """Each is read once, not once for each way to it; what is a part of itself is none."""
    nested = "".join(f" _:n{i} owl:unionOf (_:n{i + 1} _:n{i + 1}) ." for i in range(16))
    assert store.entails(graph(f"{nested} _:n16 owl:unionOf (:Dog :Dog) . :rex a _:n0")).holds
    assert not store.entails(graph(f"{nested} _:n16 owl:unionOf (:Dog _:n0) . :rex a _:n0")).holds


def test_an_inconsistent_store_entails_everything(tmp_path: Path) -> None:
    with Store.create(tmp_path / "kg", engine="duckdb") as made:
        made.update(add=graph(f"{PREMISE} . :rex a :Cat"))
        assert made.entails(graph(":x :y :z")).by == ("the store is inconsistent (cax-dw): everything follows",)


def test_a_literal_that_equals_a_resource_is_no_contradiction(tmp_path: Path) -> None:
    with Store.create(tmp_path / "kg", engine="duckdb") as made:
        made.update(add=graph(":f a owl:FunctionalProperty . :a :f 'text' , :b"))
        assert made.check() == []
        assert not made.entails(graph(":x :y :z")).holds
        assert made.entails(graph(":b a xsd:string")).holds
        assert made.entails(graph(":b owl:sameAs 'text'")).holds
        assert not made.entails(graph(":b owl:sameAs 'other'")).holds


def test_an_ill_typed_literal_is_a_contradiction_wherever_it_is(tmp_path: Path) -> None:
    with Store.create(tmp_path / "kg", engine="duckdb") as made:
        made.update(add=graph(":x owl:sameAs '128'^^xsd:byte"))
        assert "dt-not-type" in {violation.rule for violation in made.check()}
        assert made.entails(graph(":x :y :z")).holds


def test_terms_that_only_the_conclusion_has(tmp_path: Path) -> None:
    """What holds of every property does not hold of a term that nothing says is one."""
    with Store.create(tmp_path / "kg", ["owl2rl", "rdfs", "rdfs-axiomatic"], engine="duckdb") as made:
        made.update(add=graph(":a :b :c"))
        for conclusion in (
            ":new rdfs:subPropertyOf :new",
            ":new owl:propertyChainAxiom (:new)",
            ":new rdfs:domain rdfs:Resource",
        ):
            assert not made.entails(graph(conclusion)).holds, conclusion
        assert made.entails(graph(":b rdfs:subPropertyOf :b . :b rdfs:domain rdfs:Resource")).holds


@pytest.mark.parametrize("rules", [("rdfs",), ("owl2rl", "rdfs"), ("owl2rl", "rdfs", "rdfs-axiomatic")], ids="+".join)
@pytest.mark.sampled(each=3)
def test_everything_is_a_resource(tmp_path: Path, rules: tuple[str, ...]) -> None:
    """Also what only the conclusion mentions, with what follows of resources."""
    with Store.create(tmp_path / "kg", rules, engine="duckdb") as made:
        for conclusion in (":new a rdfs:Resource", "[] a rdfs:Resource"):
            assert made.entails(graph(conclusion)).holds, conclusion
        made.update(add=graph("rdfs:Resource rdfs:subClassOf :Known . :a :b :c"))
        assert made.entails(graph(":new a rdfs:Resource , :Known . :a :b [ a :Known ]")).holds
        answer = made.entails(graph(":new a rdfs:Resource , :Other"))
        assert answer.missing == tuple(graph(":new a :Other"))
        assert not made.entails(graph(":new a rdfs:Class")).holds
        assert not made.entails(graph(":a :new :c")).holds
    with Store.create(tmp_path / "owl", ["owl2rl"], engine="duckdb") as made:
        made.update(add=graph(":a :b :c"))
        assert not made.entails(graph(":new a rdfs:Resource")).holds
        assert made.entails(graph(":new owl:sameAs :new")).holds


def test_literals_are_of_recognised_datatypes(tmp_path: Path) -> None:
    """rdfD1 and rdfs1: `rdfs` alone recognises no datatype."""
    with Store.create(tmp_path / "with", ["rdfs", "datatypes"], engine="duckdb") as made:
        made.update(add=graph(":a :p 1 , 'x'@en"))
        for datatype in ("xsd:integer", "xsd:byte", "xsd:decimal", "rdfs:Literal", "rdf:PlainLiteral"):
            assert made.entails(graph(f":a :p [ a {datatype} ] . {datatype} a rdfs:Datatype")).holds, datatype
        for datatype in ("xsd:string", "xsd:boolean", "rdf:langString"):
            assert not made.entails(graph(f":a :p [ a {datatype} ]")).holds, datatype
    with Store.create(tmp_path / "without", ["rdfs"], engine="duckdb") as made:
        made.update(add=graph(":a :p 1"))
        assert not made.entails(graph(":a :p [ a xsd:integer ]")).holds
        assert not made.entails(graph("xsd:integer a rdfs:Datatype")).holds


@pytest.mark.parametrize("rules", [("rdfs",), ("owl2rl", "rdfs")], ids="+".join)
@pytest.mark.sampled(each=2)
def test_members_of_containers_that_only_the_conclusion_has(tmp_path: Path, rules: tuple[str, ...]) -> None:
    """Of rdf:_1, rdf:_2 .. the axiomatic triples hold, which are too many to be stored."""
    conclusion = "rdf:_42 a rdf:Property ; rdfs:subPropertyOf rdfs:member"
    with Store.create(tmp_path / "with", [*rules, "rdfs-axiomatic"], engine="duckdb") as made:
        made.update(add=graph(":a :b :c"))
        assert made.entails(graph(conclusion)).holds
        assert not made.entails(graph("rdf:_42 a owl:Class")).holds
        assert not made.entails(graph("rdf:_0 a rdf:Property")).holds
    with Store.create(tmp_path / "without", rules, engine="duckdb") as made:
        made.update(add=graph(":a :b :c"))
        assert not made.entails(graph(conclusion)).holds


def test_axioms_are_implications_to_rdfs(tmp_path: Path) -> None:
    """RDF 1.1 Semantics, section 9: every instance of A being one of B does not make A a subclass of B."""
    with Store.create(tmp_path / "kg", ["rdfs"], engine="duckdb") as made:
        made.update(add=graph(":A a rdfs:Class . :p rdfs:domain :B , :C"))
        assert made.entails(graph(":A rdfs:subClassOf rdfs:Resource")).holds
        assert not made.entails(graph("rdf:type rdfs:domain :A")).holds


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("premise.ttl").write_text(f"{PREFIXES}{PREMISE} .", encoding="utf-8")
    Path("yes.ttl").write_text(f"{PREFIXES}:p a owl:TransitiveProperty .", encoding="utf-8")
    Path("no.ttl").write_text(f"{PREFIXES}:rex a :Cat , :Dog .", encoding="utf-8")
    done("load", "kg", "premise.ttl", "-q")
    first, *steps = done("entails", "kg", "yes.ttl").splitlines()
    assert first == "entailed"
    assert steps[0].endswith("(section 5.13)")
    outcome = run("entails", "kg", "no.ttl")
    assert outcome.code == 1
    assert outcome.out.splitlines() == [
        "not entailed",
        "not found to follow:",
        "    <http://ex/rex> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://ex/Cat> .",
    ]
    found = json.loads(run("entails", "kg", "no.ttl", "--json").out)
    assert (found["entailed"], len(found["missing"])) == (False, 1)
    assert run("entails", "kg", "none.ttl").code == 3
