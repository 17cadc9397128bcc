"""CONSTRUCT queries as rules: what they derive is what Oxigraph constructs; what rules cannot say is refused."""

from __future__ import annotations

import re
from pathlib import Path

import pyoxigraph
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rdflib import Graph

from tests.support.closure import PHASES
from tests.support.custom_programs import materialised, numbers
from tests.support.random_programs import THINGS, Triple, data
from triplake.sparql.to_rules import rules_of_query
from triplestore import Store
from triplestore.compile import check
from triplestore.engine import Engine
from triplestore.engine.duckdb import DuckDBEngine
from triplestore.model.errors import InputError
from triplestore.model.terms import RDF, to_ntriples

PREFIX = "PREFIX : <http://e/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> "
QUERIES = {
    "join": "CONSTRUCT { ?x :new ?z } WHERE { ?x :p0 ?y . ?y :p1 ?z }",
    "heads": "CONSTRUCT { ?x :new ?y . ?y :old ?x . ?x a :New } WHERE { ?x :p0|:p1/:p2 ?y FILTER(isIRI(?y)) }",
    "short": "CONSTRUCT WHERE { ?x :p0 ?y ; :p1 ?z }",
    "blank nodes": "CONSTRUCT { ?x :new :it } WHERE { ?x :p0 [ :p1 _:b ] . _:b :p2 ?x }",
    "inverse": "CONSTRUCT { ?x :new ?y } WHERE { ?x ^:p0/!(:p1|:p2|:new) ?y }",
    "filter": "CONSTRUCT { ?x :new ?v } WHERE { ?x :n ?v FILTER(?v > 1 && ?v != 3 || str(?x) = 'http://e/a') }",
    "unequal": "CONSTRUCT { ?x :new ?z } WHERE { ?x :p0 ?y . ?x :p0 ?z FILTER(?y != ?z) }",
    "bind": "CONSTRUCT { ?x :new ?w . ?x :u ?u . ?x :is ?v } WHERE { ?x :n ?v BIND(?v * 2 AS ?w) BIND(STR(?w) AS ?u) }",
    "error in bind": "CONSTRUCT { ?x :new ?w . ?x :old ?y } WHERE { ?x :p0 ?y BIND(IRI(CONCAT(?y, 'x')) AS ?w) }",
    "filter of bind": "CONSTRUCT { ?x :old ?y } WHERE { ?x :p0 ?y BIND(STRLEN(?y) AS ?w) FILTER(?w = 1 || isIRI(?y)) }",
    "coalesce": "CONSTRUCT { ?x :new ?w } WHERE { ?x :p0 ?y BIND(STRLEN(?y) AS ?l) BIND(COALESCE(?l, -1) AS ?w) }",
    "not": "CONSTRUCT { ?x :new ?y } WHERE { ?x :p0 ?y FILTER NOT EXISTS { ?y :p1 ?z . ?z :p2 ?x } }",
    "not and filter": "CONSTRUCT { ?x :new ?y } WHERE { ?x :p0 ?y FILTER NOT EXISTS { ?x :p0 ?z FILTER(?z != ?y) } }",
    "not of union": "CONSTRUCT { ?x a :N } WHERE { ?x a :C0 FILTER NOT EXISTS { { ?x :p0 ?z } UNION { ?z :p1 ?x } } }",
    "exists": "CONSTRUCT { ?x :new ?y } WHERE { ?x :p0 ?y FILTER(EXISTS { ?y :p1 ?z } && isIRI(?y)) ?z :p2 ?x }",
    "minus": "CONSTRUCT { ?x :new ?y } WHERE { ?x :p0 ?y MINUS { ?y :p1 ?z } ?x :p2 ?z }",
    "minus nothing": "CONSTRUCT { ?x :new ?y } WHERE { ?x :p0 ?y MINUS { ?u :p1 ?z } }",
    "union": "CONSTRUCT { ?x :new ?y . ?x :newer ?z } WHERE { { ?x :p0 ?y } UNION { ?x :p1 ?y . ?y :p2 ?z } }",
    "union and minus": """CONSTRUCT { ?x :new ?y } WHERE {
        { ?x :p0 ?y } UNION { ?x :p1 ?z } ?x :p2 ?y MINUS { ?z a :C0 } }""",
    "subselect": """CONSTRUCT { ?x :new ?z } WHERE {
        { SELECT DISTINCT ?x { ?x :p0 ?y } ORDER BY ?y } ?y :p1 ?z . ?z :p2 ?x }""",
    "count": "CONSTRUCT { ?x :new ?n } WHERE { SELECT ?x (COUNT(*) AS ?n) { ?x :p0 ?y . ?y :p1 ?z } GROUP BY ?x }",
    "count of all": """CONSTRUCT { ?x :new ?n } WHERE {
        SELECT ?x (COUNT(?z) AS ?n) { { SELECT DISTINCT ?x ?z { ?x :p0 ?z } } FILTER NOT EXISTS { ?z :p1 ?x } }
        GROUP BY ?x }""",
    "having": """CONSTRUCT { ?x :new ?n } WHERE { ?x a ?c
        { SELECT ?x (COUNT(DISTINCT ?y) AS ?n) { ?x :p0 ?y } GROUP BY ?x HAVING(COUNT(DISTINCT ?y) > 1) } }""",
    "statistics": """CONSTRUCT { ?x :s ?s ; :l ?l ; :m ?m ; :a ?a ; :t ?t } WHERE {
        SELECT ?x (SUM(?v) AS ?s) (MIN(?v) AS ?l) (MAX(?v) AS ?m) (AVG(?v) AS ?a) (SUM(?v * 2) + 1 AS ?t)
        { ?x :p0 ?y . ?y :n ?v } GROUP BY ?x }""",
    "constants": "CONSTRUCT { :a :new 'v'@en , 1.5 } WHERE { :a ?p \"v\" }",
}


BLANK = THINGS[-1]
named = st.one_of(data, data, numbers).filter(lambda triple: BLANK not in triple)  # Oxigraph renames blank nodes


def constructed(query: str, triples: list[Triple]) -> set[str]:
    store = pyoxigraph.Store()
    text = "".join(" ".join(map(to_ntriples, t)) + " .\n" for t in triples)
    store.load(text.encode(), pyoxigraph.RdfFormat.N_TRIPLES)
    made = store.query(query)
    assert isinstance(made, pyoxigraph.QueryTriples)
    return {normal(str(t)) for t in made if isinstance(t.subject, pyoxigraph.NamedNode | pyoxigraph.BlankNode)}


def normal(triple: str) -> str:
    """The text of a triple, numbers written in one way."""
    return re.sub(r'"(-?\d+)\.0*"\^\^(?=<[^>]*decimal)', r'"\1"^^', triple)


@pytest.mark.parametrize("name", sorted(QUERIES))
@settings(max_examples=2, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, phases=PHASES)
@given(triples=st.lists(named, min_size=4, max_size=25, unique=True))
@pytest.mark.sampled(each=3)
def test_a_rule_derives_what_its_query_constructs(embedded: Engine, name: str, triples: list[Triple]) -> None:
    compare(embedded, name, triples)


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(QUERIES))
@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck), phases=PHASES)
@given(triples=st.lists(named, min_size=4, max_size=25, unique=True))
def test_a_rule_derives_what_its_query_constructs_often(embedded: Engine, name: str, triples: list[Triple]) -> None:
    compare(embedded, name, triples)


def compare(embedded: Engine, name: str, triples: list[Triple]) -> None:
    query = PREFIX + QUERIES[name]
    rules = rules_of_query(query, "q.rq", check.fault)
    _, got, _ = materialised(embedded, triples, rules, "off")
    derived = {normal(" ".join(map(to_ntriples, t))) for t in got - set(triples)}
    there = {normal(" ".join(map(to_ntriples, t))) for t in triples}
    assert derived == constructed(query, triples) - there


def test_each_query_constructs_something() -> None:
    """Of the data of all examples together; otherwise the comparison would say nothing."""
    triples = [
        (f"<http://e/{s}>", f"<http://e/p{p}>", f"<http://e/{o}>") for s in "abc" for p in range(3) for o in "abd"
    ]
    triples += [("<http://e/a>", "<http://e/p0>", '"v"'), ("<http://e/e>", "<http://e/p0>", "<http://e/d>")]
    kind = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
    triples += [("<http://e/a>", kind, "<http://e/C0>"), ("<http://e/h>", kind, "<http://e/C0>")]
    triples += [("<http://e/k>", kind, "<http://e/C0>")]
    triples += [("<http://e/h>", "<http://e/p2>", "<http://e/h>"), ("<http://e/h>", "<http://e/p0>", "<http://e/h>")]
    number = "<http://www.w3.org/2001/XMLSchema#integer>"
    triples += [(f"<http://e/{s}>", "<http://e/n>", f'"{n}"^^{number}') for n, s in enumerate("abd")]
    assert {name for name, text in QUERIES.items() if not constructed(PREFIX + text, triples)} == set()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT * { ?x :p ?y }", "q.rq:2:1: a rule is a CONSTRUCT query: this is SELECT"),
        ("CONSTRUCT { ?x :p ?y } WHERE { ?x :p ?y OPTIONAL { ?x :q ?z } }", "q.rq:2:41: OPTIONAL has no counterpart"),
        ("CONSTRUCT { ?x :p ?y } WHERE { ?x :p ?y VALUES ?y { 1 } }", "q.rq:2:41: VALUES has no counterpart"),
        ("CONSTRUCT { ?x :p ?y } WHERE { ?x :p ?y } LIMIT 3", "q.rq:2:43: a rule holds for all solutions"),
        ("CONSTRUCT { ?x :p ?y } WHERE { ?x :p+ ?y }", "q.rq:2:37: a repeated path has no counterpart"),
        ("CONSTRUCT { ?x :p [] } WHERE { ?x :p ?y }", "q.rq:2:19: a rule makes no blank nodes"),
        ("CONSTRUCT { ?x :p _:b } WHERE { ?x :p ?y }", "q.rq:2:19: a rule makes no blank nodes"),
        ("CONSTRUCT { ?x :p ?z } WHERE { ?x :p ?y }", "q.rq:2:19: ?z of the template is bound by nothing"),
        ("CONSTRUCT { ?x :p ?z } WHERE { ?x :p ?y BIND(NOW() AS ?z) }", "q.rq:2:46: NOW gives another answer"),
        ("CONSTRUCT { ?x :p ?y } WHERE { ?x :p ?y FILTER(?x = 1 || EXISTS { ?y :q ?z }) }", "q.rq:2:58: EXISTS stands"),
        (
            "CONSTRUCT { ?x :p ?y } WHERE { ?x :p ?y FILTER NOT EXISTS { ?y :q ?z FILTER NOT EXISTS { ?z :q ?x } } }",
            "q.rq:2:52: EXISTS holds triple patterns and FILTERs",
        ),
        (
            "CONSTRUCT { ?x :p ?n } WHERE { ?x :p 1 { SELECT (COUNT(*) AS ?n) { ?y :p ?z } } }",
            "q.rq:2:50: without GROUP BY",
        ),
        (
            "CONSTRUCT { ?x :p ?n } WHERE { SELECT ?x (SAMPLE(?y) AS ?n) { ?x :p ?y } GROUP BY ?x }",
            "q.rq:2:43: SAMPLE is none of the aggregates",
        ),
        (
            "CONSTRUCT { ?x :p ?n } { SELECT ?x (COUNT(?y) AS ?n) { ?x :p ?y FILTER EXISTS { ?y :q 1 } } GROUP BY ?x }",
            "q.rq:2:72: EXISTS in an aggregate takes two rules",
        ),
        (
            "CONSTRUCT { ?x :p ?n } { SELECT ?x (COUNT(*) AS ?n) { SELECT DISTINCT ?x { ?x :p/:q ?y } } GROUP BY ?x }",
            "q.rq:2:62: DISTINCT in an aggregate takes two rules",
        ),
        (
            "CONSTRUCT { ?x :p ?y } WHERE { { ?x :p ?z } UNION { ?x :q ?y } FILTER(?z = 1) }",
            "q.rq:2:40: ?z may have no",
        ),
        ("CONSTRUCT { ?x :p ?y } WHERE { ?x :p ?y", "q.rq:2:40: expected '.', '}' or another part"),
        ("CONSTRUCT { ?x ?y } WHERE { ?x :p ?y }", "q.rq:2:19: expected an object, found '}'"),
        (
            "CONSTRUCT { ?x :p ?y } WHERE { GRAPH :g { ?x :p ?y } }",
            "q.rq:2:32: GRAPH has no place in a rule, which sees the default graph",
        ),
        ("CONSTRUCT { ?x :p ?y } WHERE { ?x :p ?y BIND(1 AS ?y) }", "q.rq:2:51: ?y has a value already"),
    ],
)
def test_what_is_no_rule_is_refused_with_its_place(text: str, message: str) -> None:
    with pytest.raises(InputError) as refused:
        rules_of_query(f"PREFIX : <http://e/>\n{text}", "q.rq", check.fault)
    assert message in str(refused.value)


def test_a_store_takes_a_query_for_a_ruleset(tmp_path: Path) -> None:
    file = tmp_path / "uncle.rq"
    file.write_text(PREFIX + "CONSTRUCT { ?x :uncle ?z } WHERE { ?x :parent ?y . ?y :brother ?z }")
    with Store.create(tmp_path / "kg", [str(file)], engine="duckdb") as store:
        facts = Graph().parse(data="@prefix : <http://e/> . :a :parent :b . :b :brother :c .", format="turtle")
        store.update(add=facts)
        assert [str(o) for _, _, o in store.triples("inferred")] == ["http://e/c"]
    with Store.open(tmp_path / "kg", engine="duckdb") as store:
        assert store.rulesets[0].name == str(file)


def test_names_of_other_scopes_are_kept_apart() -> None:
    """?y of the sub-SELECT is another than ?y outside of it."""
    text = PREFIX + "CONSTRUCT { ?x :new ?y } WHERE { { SELECT ?x { ?x :p0 ?y } } ?x :p1 ?y }"
    (rule,) = rules_of_query(text, "q.rq")
    triples = [("<http://e/a>", "<http://e/p0>", "<http://e/b>"), ("<http://e/a>", "<http://e/p1>", "<http://e/c>")]
    engine = DuckDBEngine(threads=1)
    got = materialised(engine, triples, (rule,), "off")[1]
    engine.close()
    assert got - set(triples) == {("<http://e/a>", "<http://e/new>", "<http://e/c>")}


@pytest.mark.parametrize(
    "pattern",
    [
        "?x :p ?a {| :since ?y |} . ?x :p ?b {| :said ?z |} . FILTER(?a != ?b)",
        "?r rdf:reifies <<( ?x :p ?a )>> . ?s rdf:reifies <<( ?x :p ?b )>> ; :said ?y FILTER(?a != ?b)",
        "?x :n ?y { ?z :m ?w BIND(?w AS ?y) }",
    ],
    ids=["annotations", "reifiers", "one value"],
)
def test_what_two_parts_of_a_pattern_bind(tmp_path: Path, pattern: str) -> None:
    prefixes = f"{PREFIX}PREFIX rdf: <{RDF}> "
    (tmp_path / "q.rq").write_text(f"{prefixes}CONSTRUCT {{ ?x :new ?y }} WHERE {{ {pattern} }}")
    with Store.create(tmp_path / "kg", [str(tmp_path / "q.rq")], engine="duckdb") as store:
        store.sparql_update(
            prefixes + "INSERT DATA { :a :p :b {| :since 5 |} , :c {| :said 6 |} . :d :p :b {| :since 7 |} ; :n 1, 2 . "
            ":e :n 1 ; :m 1 }"
        )
        found = set(store.query(f"{prefixes}SELECT ?x ?y {{ {pattern} }}").tokens())
        assert found == set(store.query(f"{prefixes}SELECT ?x ?y {{ ?x :new ?y }}").tokens())
        assert found
