"""explain, as users see it."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from rdflib import OWL, RDF, Namespace, URIRef

from tests.conftest import MakeStore
from tests.support.cli import done, run
from tests.support.proofs import check
from tests.support.stores import as_terms, tokens
from triplake import rulesets
from triplestore import Store
from triplestore.proof import text
from triplestore.server.readers import Readers

EX = Namespace("http://example.org/")
PREFIX = "--prefix=ex=http://example.org/"
DATA = """
@prefix ex: <http://example.org/> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
ex:Student rdfs:subClassOf ex:Person . ex:Person rdfs:subClassOf ex:Agent ; owl:disjointWith ex:Robot .
ex:mbox a owl:InverseFunctionalProperty .
ex:ada a ex:Student ; ex:mbox <mailto:ada> . ex:countess ex:mbox <mailto:ada> ; ex:age 36 .
ex:hal a ex:Person, ex:Robot .
"""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store to read."""
    folder = tmp_path_factory.mktemp("explain")
    (folder / "data.ttl").write_text(DATA)
    done("load", folder / "kg", folder / "data.ttl")
    return folder / "kg"


def test_tree(store: Path) -> None:
    assert done("explain", store, "ex:countess", "a", "ex:Agent", PREFIX).splitlines() == [
        "ex:countess a ex:Agent   [eq-rep-s]",
        "├─ ex:ada owl:sameAs ex:countess   [prp-ifp]",
        "│  ├─ ex:mbox a owl:InverseFunctionalProperty   [asserted]",
        "│  ├─ ex:ada ex:mbox <mailto:ada>   [asserted]",
        "│  └─ ex:countess ex:mbox <mailto:ada>   [asserted]",
        "└─ ex:ada a ex:Agent   [cax-sco]",
        "   ├─ ex:Student rdfs:subClassOf ex:Agent   [scm-sco]",
        "   │  ├─ ex:Student rdfs:subClassOf ex:Person   [asserted]",
        "   │  └─ ex:Person rdfs:subClassOf ex:Agent   [asserted]",
        "   └─ ex:ada a ex:Student   [asserted]",
    ]


def test_json_lists_premises_first(store: Path) -> None:
    found = json.loads(done("explain", store, "ex:ada", "a", "ex:Person", PREFIX, "--format", "json"))
    assert found["depth"] == 1
    *leaves, goal = found["steps"]
    assert goal["by"] == "cax-sco"
    assert goal["premises"] == [0, 1]
    assert [leaf["by"] for leaf in leaves] == ["asserted", "asserted"]
    assert goal["triple"][2] == "<http://example.org/Person>"


def test_dot(store: Path) -> None:
    lines = done("explain", store, "ex:ada", "a", "ex:Person", PREFIX, "--format", "dot").splitlines()
    assert lines[0] == "digraph proof {"
    assert '  n2 [shape=ellipse, label="ex:ada a ex:Person\\ncax-sco"];' in lines
    assert lines[-3:] == ["  n0 -> n2;", "  n1 -> n2;", "}"]


def test_what_does_not_hold(store: Path) -> None:
    for triple in (("ex:ada", "a", "ex:Robot"), ("ex:nobody", "a", "ex:Robot"), ("ex:ada", "owl:sameAs", "ex:hal")):
        outcome = run("explain", store, *triple, PREFIX)
        assert (outcome.code, outcome.out) == (1, "")
        assert "does not hold" in outcome.err


def test_virtual_facts(store: Path) -> None:
    assert done("explain", store, "ex:new", "owl:sameAs", "ex:new", PREFIX) == "ex:new owl:sameAs ex:new   [eq-ref]\n"
    assert done("explain", store, "owl:Thing", "a", "owl:Class") == "owl:Thing a owl:Class   [cls-thing]\n"


def test_terms(store: Path) -> None:
    age = '"36"^^xsd:integer'
    assert "[asserted]" in done("explain", store, "http://example.org/countess", "<http://example.org/age>", age)
    assert "[eq-rep-s]" in done("explain", store, "http://example.org/ada", "ex:age", age, PREFIX)
    assert "[asserted]" in done("explain", store, "h:example.org/countess", "ex:age", age, PREFIX, "--prefix=h=http://")
    outcome = run("explain", store, "urn:isbn:1", "ex:age", age, PREFIX)
    assert (outcome.code, "does not hold" in outcome.err) == (1, True)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("ex:ada", "a"), "one triple"),
        (("ada", "a", "a"), "'ada' is not a term"),
        (("<ada", "a", "a"), "'<ada' is not a term"),
        (("a", "a", "a", "--prefix", "nonsense"), "NAME=IRI"),
        (("e:ada", "a", "e:A"), "the prefix 'e:' is not declared: give --prefix e=IRI; an IRI is <e:ada>"),
        ((":ada", "a", "owl:Thing"), "the prefix ':' is not declared"),
        (("e:ada/x", "a", "owl:Thing"), "the prefix 'e:' is not declared"),
        (("owl:Thing", "a", '"1"^^e:int'), "the prefix 'e:' is not declared: give --prefix e=IRI"),
        (("a", "a", "a", "--violation", "x:1"), "--violation RULE:N"),
        (("--violation", "cax-dw:2"), "there is no inconsistency 2 of the rule 'cax-dw': `triplake check` lists 1"),
    ],
)
def test_wrong_usage(store: Path, arguments: tuple[str, ...], said: str) -> None:
    outcome = run("explain", store, *arguments)
    assert outcome.code == 2
    assert said in outcome.err


def test_violation(store: Path) -> None:
    assert done("explain", store, "--violation", "cax-dw:1", PREFIX).splitlines() == [
        "inconsistent   [cax-dw]",
        "├─ ex:Person owl:disjointWith ex:Robot   [asserted]",
        "├─ ex:hal a ex:Person   [asserted]",
        "└─ ex:hal a ex:Robot   [asserted]",
    ]


def test_python(store: Path) -> None:
    with Store.open(store) as opened:
        proof = opened.explain((EX.ada, RDF.type, EX.Agent))
        assert proof is not None
        assert (proof.triple, proof.by, proof.depth) == ((EX.ada, RDF.type, EX.Agent), "cax-sco", 2)
        assert [p.by for p in proof.premises] == ["scm-sco", "asserted"]
        assert opened.explain((EX.ada, RDF.type, EX.Nobody)) is None


def test_readers_share_no_tables(tmp_path: Path) -> None:
    """Many at once, and one after the other on the same reader: what a proof makes is the reader's own."""
    (tmp_path / "data.ttl").write_text(DATA)
    done("load", tmp_path / "kg", tmp_path / "data.ttl", "--equality", "axioms")
    goals = {(EX.countess, RDF.type, EX.Agent): 2, (EX.ada, RDF.type, EX.Person): 1}
    readers = Readers(tmp_path / "kg", 2, engine="duckdb")

    def depth(goal: tuple[URIRef, URIRef, URIRef]) -> int:
        with readers.reading() as (store, _):
            proof = store.explain(goal)
            assert proof is not None
            return proof.depth

    with ThreadPoolExecutor(4) as pool:
        asked = list(goals) * 6
        assert list(pool.map(depth, asked)) == [goals[goal] for goal in asked]
    readers.close()


RULES = """
PREFIX ex: <http://example.org/>
@rule active  [?x, a, ex:Active] :- [?x, a, ex:Person], NOT [?x, a, ex:Robot], FILTER(STRLEN(STR(?x)) > 3) .
@rule howmany [?x, ex:mboxes, ?n] :- AGGREGATE([?x, ex:mbox, ?m] ON ?x BIND COUNT(?m) AS ?n) .
@rule next    [?x, ex:next, ?b] :- [?x, ex:age, ?a], BIND(?a + 1 AS ?b) .
@rule lonely  false :- [?x, a, ex:Robot], NOT [?x, ex:mbox, ?m] .
"""


def test_rules_that_are_no_plain_joins(tmp_path: Path) -> None:
    """What NOT does not find, what an aggregate counts, what expressions say."""
    (tmp_path / "data.ttl").write_text(DATA)
    (tmp_path / "own.dlog").write_text(RULES)
    done("load", tmp_path / "kg", tmp_path / "data.ttl", "--rules", "owl2rl", "--rules", tmp_path / "own.dlog")

    def explained(*triple: str) -> list[str]:
        return done("explain", tmp_path / "kg", *triple, PREFIX).splitlines()

    assert explained("ex:ada", "a", "ex:Active")[:6] == [
        "ex:ada a ex:Active   [active]",
        "├─ no such fact: [ex:ada, a, ex:Robot]",
        '├─ FILTER((STRLEN(STR(ex:ada)) > "3"^^xsd:integer))',
        "└─ ex:ada a ex:Person   [cax-sco]",
        "   ├─ ex:Student rdfs:subClassOf ex:Person   [asserted]",
        "   └─ ex:ada a ex:Student   [asserted]",
    ]
    assert explained("ex:ada", "ex:mboxes", '"1"^^xsd:integer') == [
        'ex:ada ex:mboxes "1"^^xsd:integer   [howmany]',
        '├─ "1"^^xsd:integer = COUNT(?m) of [ex:ada, ex:mbox, ?m]',
        "└─ ex:ada ex:mbox <mailto:ada>   [asserted]",
    ]
    assert explained("ex:countess", "ex:next", '"37"^^xsd:integer')[1:] == [
        '├─ "37"^^xsd:integer = ("36"^^xsd:integer + "1"^^xsd:integer)',
        '└─ ex:countess ex:age "36"^^xsd:integer   [asserted]',
    ]
    assert done("explain", tmp_path / "kg", "--violation", "lonely", PREFIX).splitlines() == [
        "inconsistent   [lonely]",
        "├─ no such fact: [ex:hal, ex:mbox, ?m]",
        "└─ ex:hal a ex:Robot   [asserted]",
    ]


def test_more_instances_than_are_looked_at_first(tmp_path: Path) -> None:
    """Of a hub's edges the last one alone leads on: the others lead back, and prove nothing."""
    (tmp_path / "own.dlog").write_text(
        """PREFIX ex: <http://example.org/>
        @rule reach [?x, ex:reach, ?z] :- [?x, ex:edge, ?y], [?y, ex:reach, ?z], FILTER(ISIRI(?y)) .
        """
    )
    edges = [f"ex:hub ex:edge ex:n{n} . ex:n{n} ex:edge ex:hub ." for n in range(10, 80)]
    (tmp_path / "data.ttl").write_text(
        f"@prefix ex: <http://example.org/> . {' '.join(edges)} ex:n79 ex:edge ex:out . ex:out ex:reach ex:end ."
    )
    done("load", tmp_path / "kg", tmp_path / "data.ttl", "--rules", tmp_path / "own.dlog")
    found = done("explain", tmp_path / "kg", "ex:hub", "ex:reach", "ex:end", PREFIX).splitlines()
    assert [line[line.index("ex:") :] for line in found if "FILTER" not in line] == [
        "ex:hub ex:reach ex:end   [reach]",
        "ex:hub ex:edge ex:n79   [asserted]",
        "ex:n79 ex:reach ex:end   [reach]",
        "ex:n79 ex:edge ex:out   [asserted]",
        "ex:out ex:reach ex:end   [asserted]",
    ]


def test_what_no_asserted_triple_mentions_equals_itself_by_one_that_is_derived(tmp_path: Path) -> None:
    """More triples mention the term than are fetched at first; most of them hold later than the proof needs."""
    late = "".join(f"@rule late [:a{i}, :late, :new] :- [:new, :like, :new] .\n" for i in range(100))
    (tmp_path / "rules.dlog").write_text(
        f"""PREFIX : <http://example.org/>
        {late}
        @rule first [:zz, :some, :new] .
        @rule self [?x, :like, ?x] :- [?x, owl:sameAs, ?x], [:z, :some, :thing] .
        """
    )
    (tmp_path / "data.nt").write_text("<http://example.org/z> <http://example.org/some> <http://example.org/thing> .\n")
    done("load", tmp_path / "kg", tmp_path / "data.nt", "--rules", tmp_path / "rules.dlog")
    assert done("explain", tmp_path / "kg", "ex:new", "ex:like", "ex:new", PREFIX).splitlines() == [
        "ex:new ex:like ex:new   [self]",
        "├─ ex:new owl:sameAs ex:new   [eq-ref]",
        "│  └─ ex:zz ex:some ex:new   [first]",
        "└─ ex:z ex:some ex:thing   [asserted]",
    ]
    of_asserted = done("explain", tmp_path / "kg", "ex:thing", "ex:like", "ex:thing", PREFIX).splitlines()
    assert of_asserted[1] == "├─ ex:thing owl:sameAs ex:thing   [eq-ref]"
    assert "└─ ex:z" in of_asserted[2]


@pytest.mark.parametrize(("early", "late"), [("m1", "m2"), ("m2", "m1")])
def test_a_list_with_two_ways_to_its_end(tmp_path: Path, early: str, late: str) -> None:
    """The one that is asserted makes a shorter proof than the one that is derived, whichever has the first id."""
    file = tmp_path / "x.ttl"
    file.write_text(
        f"""@prefix : <http://e/> . @prefix rdf: <{RDF}> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
        @prefix owl: <http://www.w3.org/2002/07/owl#> .
        :m1 rdf:first :b ; rdf:rest () . :m2 rdf:first :b ; rdf:rest () .
        :l rdf:first :a ; rdf:rest :{early} ; :q :{late} . :q rdfs:subPropertyOf rdf:rest .
        :C owl:unionOf :l . :x a :b . :D owl:intersectionOf :l . :y a :a , :b ."""
    )
    with Store.create(tmp_path / "kg", equality="off", engine="duckdb") as store:
        store.load(file)
        for name, of in (("x", "C"), ("y", "D")):
            proof = store.explain((URIRef(f"http://e/{name}"), RDF.type, URIRef(f"http://e/{of}")))
            assert proof is not None
            assert (proof.by, proof.depth) == ("cls-uni" if of == "C" else "cls-int1", 1)


MERGED = """
ex:C owl:oneOf (ex:a ex:b ex:c) ; owl:onProperty ex:p ; owl:hasValue ex:v . ex:p a owl:InverseFunctionalProperty .
"""


@pytest.mark.long_on_spark
def test_members_of_a_list_that_the_list_makes_one(make_store: MakeStore, tmp_path: Path) -> None:
    """Each is read from its own place, before it equals the others."""
    (tmp_path / "data.ttl").write_text(DATA[: DATA.index("ex:Student")] + MERGED)
    store = make_store(("owl2rl",))
    store.load(tmp_path / "data.ttl")
    asserted, rules = tokens(store, "asserted"), rulesets.named("owl2rl").rules
    goals = tokens(store) - asserted
    assert ("<http://example.org/a>", f"<{OWL.sameAs}>", "<http://example.org/c>") in goals
    for goal in sorted(goals):
        proof = store.explain(as_terms([goal])[0])
        assert proof is not None, goal
        check(proof, goal, asserted, rules, True, by_value=True)


def test_a_term_that_only_an_equality_of_a_rule_mentions_occurs(tmp_path: Path) -> None:
    """What a rule makes equal occurs by that, so that rules over `?x owl:sameAs ?z` match it."""
    (tmp_path / "own.dlog").write_text(
        "PREFIX ex: <http://example.org/>\n"
        "@rule made [ex:new, owl:sameAs, ex:old] :- [?z, ex:p, ?x] .\n"
        "@rule seen [?x, ex:q, ?z] :- [ex:new, owl:sameAs, ?z], [?x, owl:sameAs, ?z] .\n"
    )
    with Store.create(tmp_path / "kg", ["none", tmp_path / "own.dlog"], engine="duckdb") as store:
        store.update(add=[(EX.s, EX.p, EX.o)])
        proof = store.explain((EX.new, EX.q, EX.old))
        assert proof is not None
        assert {step.by for step in proof.steps()} >= {"made", "seen", "asserted"}


def test_a_derived_term_equals_itself_by_another_name_of_same_as(tmp_path: Path) -> None:
    """The proof has a triple by which the term occurs, since no asserted one mentions it."""
    (tmp_path / "own.dlog").write_text(
        "PREFIX ex: <http://example.org/>\n@rule typed [?x, a, ex:C] :- [?x, ex:q, ?y] .\n"
    )
    rules = (tmp_path / "own.dlog",)
    with Store.create(tmp_path / "kg", ["none", *rules], "rewrite", engine="duckdb") as store:
        store.update(add=[(EX.s, EX.q, EX.o), (EX.p, OWL.sameAs, OWL.sameAs)])
        proof = store.explain((RDF.type, EX.p, RDF.type))
        assert proof is not None
        asserted = tokens(store, "asserted")
        check(proof, proof.tokens, asserted, rulesets.named(rules[0]).rules, True)
        assert "typed" in {step.by for step in proof.steps()}


def test_conditions_are_written_by_prefixes() -> None:
    """IRIs are; what a string holds is not."""
    write = text.writer({"ex": "http://example.org/"})
    condition = r'FILTER(?x != <http://example.org/sas> && ?y = "<http://example.org/b> \" <http://example.org/c>")'
    assert text.shortened(condition, write) == condition.replace("<http://example.org/sas>", "ex:sas")
