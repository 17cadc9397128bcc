"""SHACL Core over a store: each component with data that violates it and data that does not; equality and inference."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import rdflib
from rdflib.namespace import SH

from triplestore import Store
from triplestore.model.errors import InputError, LimitError, UnsupportedError

if TYPE_CHECKING:
    from tests.conftest import MakeStore
    from triplestore.shapes.report import ValidationReport

PREFIXES = """
@prefix : <http://e/> . @prefix sh: <http://www.w3.org/ns/shacl#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
"""

DATA = """
:a a :P ; :name "Ann", "Anna"@en, "An"@en ; :age 41 ; :knows :b ; :start 1 ; :end 2 ; :code "X1" ; :likes :b .
:b a :P ; :name "Bo" ; :age "x"^^xsd:integer ; :knows :c, _:u ; :start 3 ; :end 2 ; :code "1" ; :likes :x .
:c a :Q . :Q rdfs:subClassOf :P . _:u :name 5 .
"""

CASES = [
    ("[ sh:path :knows ; sh:class :P ]", [("b", None)], "Class"),
    ("[ sh:path :age ; sh:datatype xsd:integer ]", [("b", '"x"^^xsd:integer')], "Datatype"),
    ("[ sh:path :knows ; sh:nodeKind sh:IRI ]", [("b", None)], "NodeKind"),
    ("[ sh:path :name ; sh:minCount 1 ]", [("c", None)], "MinCount"),
    ("[ sh:path :name ; sh:minCount 2 ]", [("b", None), ("c", None)], "MinCount"),
    ("[ sh:path :name ; sh:maxCount 2 ]", [("a", None)], "MaxCount"),
    ("[ sh:path :name ; sh:maxCount 0 ]", [("a", None), ("b", None)], "MaxCount"),
    ("[ sh:path :start ; sh:minExclusive 1 ]", [("a", "1")], "MinExclusive"),
    ("[ sh:path :start ; sh:minInclusive 2 ]", [("a", "1")], "MinInclusive"),
    ("[ sh:path :start ; sh:maxExclusive 3 ]", [("b", "3")], "MaxExclusive"),
    ("[ sh:path :start ; sh:maxInclusive 2 ]", [("b", "3")], "MaxInclusive"),
    ("[ sh:path :code ; sh:minLength 2 ]", [("b", '"1"')], "MinLength"),
    ("[ sh:path :code ; sh:maxLength 1 ]", [("a", '"X1"')], "MaxLength"),
    ("[ sh:path :code ; sh:pattern '^x' ; sh:flags 'i' ]", [("b", '"1"')], "Pattern"),
    ("[ sh:path :name ; sh:languageIn ('en') ]", [("a", '"Ann"'), ("b", '"Bo"')], "LanguageIn"),
    ("[ sh:path :name ; sh:uniqueLang true ]", [("a", None)], "UniqueLang"),
    ("[ sh:path :likes ; sh:equals :knows ]", [("b", ":x"), ("b", ":c"), ("b", None)], "Equals"),
    ("[ sh:path :likes ; sh:disjoint :knows ]", [("a", ":b")], "Disjoint"),
    ("[ sh:path :start ; sh:lessThan :end ]", [("b", "3")], "LessThan"),
    ("[ sh:path :end ; sh:lessThanOrEquals :start ]", [("a", "2")], "LessThanOrEquals"),
    ("[ sh:path :likes ; sh:not [ sh:class :P ] ]", [("a", ":b")], "Not"),
    ("[ sh:path :likes ; sh:and ( [ sh:class :P ] [ sh:nodeKind sh:IRI ] ) ]", [("b", ":x")], "And"),
    ("[ sh:path :likes ; sh:or ( [ sh:class :P ] [ sh:in ( :y ) ] ) ]", [("b", ":x")], "Or"),
    ("[ sh:path :likes ; sh:xone ( [ sh:class :P ] [ sh:nodeKind sh:IRI ] ) ]", [("a", ":b")], "Xone"),
    ("[ sh:path :likes ; sh:node [ sh:property [ sh:path :age ; sh:minCount 1 ] ] ]", [("b", ":x")], "Node"),
    (
        "[ sh:path :knows ; sh:qualifiedValueShape [ sh:class :P ] ; sh:qualifiedMinCount 1 ]",
        [("c", None)],
        "QualifiedMinCount",
    ),
    (
        "[ sh:path :knows ; sh:qualifiedValueShape [ sh:class :P ] ; sh:qualifiedMaxCount 0 ]",
        [("a", None), ("b", None)],
        "QualifiedMaxCount",
    ),
    ("[ sh:path :code ; sh:hasValue 'X1' ]", [("b", None), ("c", None)], "HasValue"),
    ("[ sh:path :likes ; sh:in ( :b ) ]", [("b", ":x")], "In"),
    ("[ sh:path ( :knows :knows ) ; sh:minCount 1 ]", [("b", None), ("c", None)], "MinCount"),
    ("[ sh:path [ sh:inversePath :knows ] ; sh:minCount 1 ]", [("a", None)], "MinCount"),
    ("[ sh:path [ sh:zeroOrMorePath :knows ] ; sh:maxCount 3 ]", [("a", None)], "MaxCount"),
    ("[ sh:path [ sh:oneOrMorePath :knows ] ; sh:minCount 3 ]", [("b", None), ("c", None)], "MinCount"),
    ("[ sh:path [ sh:zeroOrOnePath :likes ] ; sh:class :P ]", [("b", ":x")], "Class"),
    ("[ sh:path [ sh:alternativePath ( :start :end ) ] ; sh:minCount 1 ]", [("c", None)], "MinCount"),
]


def shapes(text: str) -> rdflib.Graph:
    return rdflib.Graph().parse(data=PREFIXES + text, format="turtle")


def found(report: ValidationReport) -> list[tuple[str, str]]:
    """Component and focus node of each result, without what all have in common."""
    pairs = [(str(r.component).rpartition("#")[2], str(r.focus).rpartition("/")[2]) for r in report.results]
    return sorted((name.removesuffix("ConstraintComponent"), focus) for name, focus in pairs)


def written(term: str, graph: rdflib.Graph) -> rdflib.term.Node:
    """A term as Turtle writes it, with the prefixes of these tests."""
    return next(graph.parse(data=f"{PREFIXES} :s :p {term} .", format="turtle").objects())


@pytest.mark.long_on_spark
def test_each_component(make_store: MakeStore, tmp_path: Path) -> None:
    """All cases in one shapes graph, each a shape of its own: the very results."""
    file = tmp_path / "data.ttl"
    file.write_text(PREFIXES + DATA, encoding="utf-8")
    store = make_store(("none",))
    store.load(file)
    one = [
        f":s{number} a sh:NodeShape ; sh:targetClass :P ; sh:property {text} ."
        for number, (text, *_) in enumerate(CASES)
    ]
    report = store.validate(shapes("\n".join(one)))
    expected = sorted((component, focus) for _, results, component in CASES for focus, _ in results)
    assert found(report) == expected
    values = sorted(r.value.n3() for r in report.results if isinstance(r.value, rdflib.URIRef | rdflib.Literal))
    named = (value for _, results, _ in CASES for _, value in results if value is not None)
    assert values == sorted(written(value, rdflib.Graph()).n3() for value in named)


def test_closed_targets_severity_and_messages(make_store: MakeStore, tmp_path: Path) -> None:
    file = tmp_path / "data.ttl"
    file.write_text(f"{PREFIXES} :a :p 1 ; :q 2 . :b :p 3 .", encoding="utf-8")
    store = make_store(("none",))
    store.load(file)
    report = store.validate(
        shapes(
            ":s sh:targetSubjectsOf :p ; sh:targetNode :gone ; sh:closed true ; "
            "sh:property [ sh:path :p ; sh:minCount 1 ] ; sh:severity sh:Info ; sh:message 'no' . "
            ":t sh:targetObjectsOf :p ; sh:in ( 1 ) . "
            ":off sh:targetNode :a ; sh:deactivated true ; sh:nodeKind sh:Literal ."
        )
    )
    rows = {
        (r.focus.n3(), r.path, r.value and r.value.n3(), str(r.severity).rpartition("#")[2]) for r in report.results
    }
    integer = "^^<http://www.w3.org/2001/XMLSchema#integer>"
    assert rows == {
        ("<http://e/a>", "<http://e/q>", f'"2"{integer}', "Info"),
        ("<http://e/gone>", "<http://e/p>", None, "Violation"),
        (f'"3"{integer}', "", f'"3"{integer}', "Violation"),
    }
    assert not report.conforms
    assert report.counts() == {"Info": 1, "Violation": 2}
    assert [str(m) for r in report.results if r.severity.endswith("Info") for m in r.messages] == ["no"]
    assert store.validate(shapes(":s sh:targetNode :a ; sh:nodeKind sh:IRI .")).conforms


def test_inference_and_equality_are_seen(tmp_path: Path) -> None:
    """Instances that follow are targets; members of a class are focus nodes and values each, as queries answer."""
    file = tmp_path / "data.ttl"
    file.write_text(
        f"{PREFIXES} :worksFor rdfs:domain :Person . :a :worksFor :f . :f owl:sameAs :g .", encoding="utf-8"
    )
    text = ":s a sh:NodeShape ; sh:targetClass :Person ; sh:property [ sh:path :worksFor ; sh:maxCount 1 ] ."
    with Store.create(tmp_path / "kg", engine="duckdb") as store:
        store.load(file)
        assert found(store.validate(shapes(text))) == [("MaxCount", "a")]
    with Store.create(tmp_path / "none", "none", engine="duckdb") as store:
        store.load(file)
        assert store.validate(shapes(text)).conforms


def test_reports_share_no_blank_node(tmp_path: Path) -> None:
    """But those of the data."""
    text = ":s sh:targetClass :P ; sh:property [ sh:path [ sh:inversePath :p ] ; sh:minCount 1 ] ."
    file = tmp_path / "shapes.ttl"
    file.write_text(PREFIXES + text, encoding="utf-8")
    with Store.create(tmp_path / "kg", "none", engine="duckdb") as store:
        store.load(shapes(":a a :P . [] a :P ."))
        one, other = (store.validate(file).graph() for _ in range(2))
    nodes = [{node for node in graph.all_nodes() if isinstance(node, rdflib.BNode)} for graph in (one, other)]
    assert nodes[0] & nodes[1] == {node for node in one.objects(None, SH.focusNode) if isinstance(node, rdflib.BNode)}
    assert [len(set(graph.objects(None, SH.sourceShape))) for graph in (one, other, one + other)] == [1, 1, 2]


def test_classes_of_shapes_may_be_below_those_of_shacl(tmp_path: Path) -> None:
    text = ":K rdfs:subClassOf :L . :L rdfs:subClassOf sh:NodeShape, rdfs:Class . :P a :K ; sh:nodeKind sh:Literal ."
    with Store.create(tmp_path / "kg", "none", engine="duckdb") as store:
        store.load(shapes(":a a :P ."))
        assert found(store.validate(shapes(text))) == [("NodeKind", "a")]


COMPONENT = """:C a sh:ConstraintComponent ; sh:validator [ a sh:SPARQLAskValidator ; sh:ask "ASK {}" ] ;
    sh:parameter [ sh:path :must ; sh:datatype xsd:integer ], [ sh:path :may ; sh:nodeKind sh:IRI ; sh:optional true ] .
"""


def test_components_that_no_shape_uses_may_stay(tmp_path: Path) -> None:
    with Store.create(tmp_path / "kg", "none", engine="duckdb") as store:
        text = f"{COMPONENT} :s sh:targetNode :a ; :may 5 ; sh:nodeKind sh:Literal ."
        assert found(store.validate(shapes(text))) == [("NodeKind", "a")]


@pytest.mark.parametrize(
    ("rules", "regime", "taken"),
    [("none", "Simple", True), ("rdfs", "RDFS", True), ("none", "RDFS", False), ("owl2rl", "RIF", False)],
)
def test_entailment_is_what_the_rules_give(rules: str, regime: str, taken: bool, tmp_path: Path) -> None:
    text = f"<urn:o> sh:entailment <http://www.w3.org/ns/entailment/{regime}> ."
    with Store.create(tmp_path / "kg", rules, engine="duckdb") as store:
        if taken:
            assert store.validate(shapes(text)).conforms
        else:
            with pytest.raises(UnsupportedError, match=f"sh:entailment asks for .*{regime}"):
                store.validate(shapes(text))


@pytest.mark.parametrize(
    ("text", "error", "what"),
    [
        (f"{COMPONENT} :s sh:targetNode :a ; :must 5 .", UnsupportedError, "component <http://e/C> is not part"),
        (f"{COMPONENT} :s sh:targetNode :a ; sh:not [ :must 5 ] .", UnsupportedError, "shape in <http://e/s>: the con"),
        ("<urn:o> sh:entailment 'x' .", InputError, "it has to be an IRI"),
        (":s sh:targetNode :a ; sh:message 5 .", InputError, "sh:message is .*: it has to be a text"),
        (":s sh:targetNode :a ; sh:message :m .", InputError, "sh:message is .*: it has to be a text"),
        (":s sh:ignoredProperties 5 .", InputError, "sh:ignoredProperties is not an RDF list"),
        (":s sh:ignoredProperties ( 5 ) .", InputError, "it has to be an IRI"),
        (":s sh:flags 5 .", InputError, "sh:flags is .*: it has to be a string"),
        (":s sh:path :p ; sh:qualifiedMinCount 'x' .", InputError, "it has to be an xsd:integer"),
        (
            ":s sh:path :p ; sh:qualifiedValueShape [] ; sh:qualifiedMinCount 1 ; sh:qualifiedValueShapesDisjoint 5 .",
            InputError,
            "sh:qualifiedValueShapesDisjoint is .*: it has to be true or false",
        ),
        *(
            (f":s sh:targetNode :a ; sh:{name} {value} .", InputError, "<http://e/s>: it refers to .* as a shape")
            for name, value in (("property", "'x'"), ("node", "5"), ("not", "'x'"), ("or", "( [] 'x' )"))
        ),
        (
            ":s sh:path [ sh:zeroOrMorePath :p, :q ] ; sh:minCount 1 .",
            InputError,
            "<http://e/s>: the path has 2 values of sh:zeroOrMorePath",
        ),
        ("[] a sh:NodeShape, rdfs:Class ; sh:nodeKind sh:IRI .", InputError, "name it by an IRI"),
        (":s a :K ; sh:nodeKind sh:IRI . :K rdfs:subClassOf sh:PropertyShape .", InputError, "without sh:path"),
        (":s a :K ; sh:path :p . :K rdfs:subClassOf sh:NodeShape .", InputError, "make it an sh:PropertyShape"),
        (":s sh:targetNode :a ; sh:property [ sh:minCount 1 ] .", InputError, "has no sh:path"),
        (":s sh:targetNode :a ; sh:node :t . :t sh:not :s .", InputError, "refers to itself"),
        (":s sh:targetNode :a ; sh:minCount 1 .", InputError, "is for property shapes"),
        (":s sh:targetNode :a ; sh:in :b .", InputError, "is not an RDF list"),
        (":s sh:path :p ; sh:minCount -1 .", InputError, "has to be an xsd:integer"),
        (":s sh:path :p ; sh:path :q ; sh:minCount 1 .", InputError, "has 2 values of sh:path"),
        (":s sh:path [ ] ; sh:minCount 1 .", InputError, "is not a path of SHACL's"),
        (":s sh:targetNode :a ; sh:nodeKind :x .", InputError, "use one of sh:IRI"),
        (":s sh:targetNode :a ; sh:sparql [ sh:select 'x' ] .", UnsupportedError, "sh:sparql is not part of SHACL"),
        (":s sh:path :p ; sh:pattern '[' .", InputError, "sh:pattern cannot be matched"),
        (":s sh:path :p ; sh:pattern 'a' ; sh:flags 'z' .", InputError, "REGEX has no flag"),
        (":s sh:path :p ; sh:qualifiedValueShape [ sh:class :A ] .", InputError, "needs sh:qualifiedMinCount"),
        (
            ":s sh:targetNode :a ; sh:node :Adress .",
            InputError,
            "<http://e/Adress>: the shapes graph says nothing of it",
        ),
    ],
)
def test_what_is_no_shapes_graph_is_refused(text: str, error: type[Exception], what: str, tmp_path: Path) -> None:
    with Store.create(tmp_path / "kg", "none", engine="duckdb") as store, pytest.raises(error, match=what):
        store.validate(shapes(text))


ONCE = {
    **dict.fromkeys(("datatype", "nodeKind"), ("sh:IRI", "sh:Literal")),
    **dict.fromkeys(("minCount", "maxCount", "minLength", "maxLength"), ("1", "2")),
    **dict.fromkeys(("minInclusive", "minExclusive", "maxInclusive", "maxExclusive"), ("1", "2")),
    **dict.fromkeys(("languageIn", "in"), ("('a')", "('b')")),
    **dict.fromkeys(("uniqueLang", "closed", "qualifiedValueShapesDisjoint"), ("true", "false")),
    **dict.fromkeys(("qualifiedMinCount", "qualifiedMaxCount"), ("1", "2")),
    "qualifiedValueShape": ("[]", "[]"),
    **dict.fromkeys(("pattern", "flags"), ("'i'", "'s'")),
    "ignoredProperties": ("()", "(:p)"),
    **dict.fromkeys(("severity", "path"), (":a", ":b")),
    "deactivated": ("true", "false"),
}


@pytest.mark.parametrize("predicate", ONCE)
def test_what_a_shape_has_once_is_not_had_twice(predicate: str, tmp_path: Path) -> None:
    path = "" if predicate == "path" else "sh:path :p ;"
    text = f":s sh:targetNode :a ; {path} sh:{predicate} {', '.join(ONCE[predicate])} ."
    told = f"<http://e/s>: has 2 values of sh:{predicate}, and may have one"
    with Store.create(tmp_path / "kg", "none", engine="duckdb") as store, pytest.raises(InputError, match=told):
        store.validate(shapes(text))


CHAIN = "".join(f":s{n} sh:node :s{n + 1} . " for n in range(300))
LARGE = [
    (f"{CHAIN} :s0 sh:targetNode :a . :s300 sh:nodeKind sh:IRI .", LimitError, "the shape is nested too deeply"),
    (f":s sh:path :p ; sh:minCount {'1' * 5_000} .", InputError, "has to be an xsd:integer"),
]


@pytest.mark.parametrize(("text", "error", "what"), LARGE, ids=["nested", "number"])
def test_shapes_that_are_too_large_are_refused(text: str, error: type[Exception], what: str, tmp_path: Path) -> None:
    file = tmp_path / "shapes.ttl"
    file.write_text(f"{PREFIXES} {text}", encoding="utf-8")
    with Store.create(tmp_path / "kg", "none", engine="duckdb") as store, pytest.raises(error, match=what):
        store.validate(file)
