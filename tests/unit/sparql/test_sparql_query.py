"""Queries end to end: kinds of query, order, equality modes, hidden triples, and errors that name what is wrong."""

from __future__ import annotations

import pytest
import rdflib

from tests.support.sparql import SAME, bag, expanded, make_graph, ox_store, reference
from triplake.sparql import Graph, query
from triplake.sparql.query import statement
from triplestore.engine import Engine
from triplestore.model.errors import UnsupportedError, UsageError
from triplestore.model.terms import OWL, RDF, XSD

PREFIX = f"PREFIX : <http://e/> PREFIX owl: <{OWL}> PREFIX xsd: <{XSD}> "


def e(name: str) -> str:
    return f"<http://e/{name}>"


def number(text: str, datatype: str = "integer") -> str:
    return f'"{text}"^^<{XSD}{datatype}>'


# a = a2, b = b2 = b3; c knows itself
FACTS = [
    (e("a"), e("knows"), e("b")),
    (e("a"), e("age"), number("1")),
    (e("b"), e("age"), number("2.5", "decimal")),
    (e("c"), e("knows"), e("c")),
    (e("c"), e("name"), '"C"@en'),
    (e("d"), e("name"), '"D"'),
]
CLASSES = [[e("a"), e("a2")], [e("b"), e("b2"), e("b3")]]


@pytest.fixture
def graph(engine: Engine) -> Graph:
    return make_graph(engine, FACTS, CLASSES, asserted=[(e("d"), SAME, e("d"))])


def rows(graph: Graph, text: str, same_as: str = "expand") -> list[tuple[str | None, ...]]:
    return list(query(graph, PREFIX + text, same_as).tokens())


@pytest.mark.long_on_spark
def test_every_supported_form_agrees_with_the_expanded_graph(graph: Graph) -> None:
    store = ox_store(expanded(FACTS, CLASSES, [(e("d"), SAME, e("d"))]))
    for text in [
        "SELECT * { ?x :knows ?y }",
        "SELECT ?x { ?x :knows ?y }",
        "SELECT DISTINCT ?p { ?s ?p ?o }",
        "SELECT * { ?s owl:sameAs ?o }",
        "SELECT * { :a owl:sameAs ?o }",
        "SELECT * { :d owl:sameAs ?o . ?o :name ?n }",
        "SELECT ?x ?z { ?x :age ?z FILTER(?z > 1) }",
        "SELECT ?x { ?x ?p ?z FILTER(?z IN (2.50, 'D', :b2)) }",
        "SELECT * { ?x :knows ?y OPTIONAL { ?x :age ?z FILTER(?z < 5 && ?y != :b2) } }",
        "SELECT * { { ?x :knows ?y } UNION { ?x :age ?z } }",
        "SELECT ?x ?w { ?x :age ?z BIND(?z * 2.5 + 1 AS ?w) }",
        "SELECT * { VALUES (?x ?w) { (:a UNDEF) (:none 1) (UNDEF 2) } ?x :age ?z }",
        "SELECT * { ?x :age ?z } VALUES ?x { :a2 :b }",
        "SELECT ?x (COUNT(?z) AS ?n) (SUM(?z) AS ?s) (MIN(?z) AS ?m) { ?x :age ?z } GROUP BY ?x",
        "SELECT (AVG(?z) AS ?a) (MAX(?z) AS ?m) (COUNT(DISTINCT ?x) AS ?c) (COUNT(*) AS ?n) { ?x :age ?z }",
        "SELECT (COUNT(*) AS ?n) (COUNT(DISTINCT *) AS ?d) { ?s ?p ?o }",
        "SELECT (COUNT(*) AS ?n) (SUM(?z) AS ?s) (MIN(?z) AS ?m) { ?x :none ?z }",
        "SELECT ?k (COUNT(*) AS ?n) { ?x ?p ?y } GROUP BY (isLiteral(?y) AS ?k) HAVING (COUNT(*) > 4) ORDER BY ?n",
        "SELECT (?z + 1 AS ?y) (?y * 2 AS ?w) { ?x :age ?z }",
        "SELECT ?x { ?x :knows ?y MINUS { ?x :age 1 } }",
        "SELECT ?x { ?x :knows ?y FILTER NOT EXISTS { ?x :age ?z FILTER(?z > 3) } }",
        "SELECT ?x { ?x :knows ?y FILTER EXISTS { ?y :age ?z } FILTER(?x != :a) }",
        "SELECT ?x (COUNT(*) AS ?n) { ?x :knows/:age ?z } GROUP BY ?x",
        "SELECT ?x ?y { ?x ^:knows ?y }",
        "SELECT (COUNT(*) AS ?n) { { SELECT ?x { ?x :knows ?y } LIMIT 3 } }",
        "SELECT (COUNT(?w) AS ?n) { ?x :knows [] . ?x :age ?w }",
        "SELECT REDUCED ?x { ?x :age ?y }",
        "SELECT ?x { ?x a ?y }",
        "SELECT * {}",
    ]:
        result = query(graph, PREFIX + text)
        assert bag(result.tokens()) == bag(reference(store, PREFIX + text, result.variables)), text


def test_select_star_projects_in_order_of_appearance(graph: Graph) -> None:
    assert query(graph, PREFIX + "SELECT * { ?z :knows ?b OPTIONAL { ?b :age ?a } BIND(1 AS ?c) }").variables == tuple(
        "zbac"
    )


@pytest.mark.long_on_spark(but=3)
@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("ASK { :a2 :knows :b3 }", True),
        ("ASK { :a :knows :a }", False),
        ("ASK { :nobody owl:sameAs :nobody }", True),
        ("ASK { :nobody owl:sameAs :noone }", False),
        ("ASK { :a owl:sameAs :a2 . :b3 owl:sameAs :b2 }", True),
        ("ASK { :a owl:sameAs :b }", False),
        ("ASK {}", True),
        ("ASK { ?x :age ?y FILTER(?y > 3) }", False),
    ],
)
def test_ask(graph: Graph, text: str, answer: bool) -> None:
    result = query(graph, PREFIX + text)
    assert (result.kind, result.boolean, len(result)) == ("ask", answer, 0)


def test_equality_of_constants_per_mode(engine: Engine) -> None:
    for equality, answer in [("rewrite", True), ("axioms", True), ("off", False)]:
        graph = make_graph(engine, FACTS, equality=equality)
        assert query(graph, PREFIX + "ASK { :nobody owl:sameAs :nobody }").boolean is answer
    stored = make_graph(engine, [*FACTS, (e("a"), SAME, e("d"))], equality="off")
    assert rows(stored, "SELECT * { ?x owl:sameAs ?y }") == [(e("a"), e("d"))]
    assert not query(stored, PREFIX + "ASK { :d owl:sameAs :a }").boolean


@pytest.mark.long_on_spark
def test_canonical_gives_one_row_per_class(graph: Graph) -> None:
    (row,) = rows(graph, "SELECT ?x ?y { ?x :knows ?y FILTER(?x != :c) }", "canonical")
    x, y = row
    assert x in CLASSES[0]
    assert y in CLASSES[1]
    assert rows(graph, "SELECT ?y { :a2 :knows ?y }", "canonical") == [(y,)]
    assert sorted(rows(graph, "SELECT ?s ?o { ?s owl:sameAs ?o }", "canonical")) == sorted(
        [(x, x), (y, y), (e("d"), e("d"))]
    )
    assert rows(graph, "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }", "canonical") == [(number("9"),)]
    # Constants in filters and inline data stand for their class, too.
    for name in ("b", "b2", "b3"):
        assert rows(graph, f"SELECT ?x {{ ?x :knows ?y FILTER(?y = :{name}) }}", "canonical") == [(x,)]
        assert rows(graph, f"SELECT ?x {{ VALUES ?y {{ :{name} }} ?x :knows ?y }}", "canonical") == [(x,)]
    several = "SELECT ?x (COUNT(*) AS ?n) { ?x :knows ?y FILTER(?y IN (:b, :b3, :d, :b)) } GROUP BY ?x"
    assert rows(graph, several, "canonical") == [(x, number("1"))]
    assert {*rows(graph, several)} == {(e("a"), number("2")), (e("a2"), number("2"))}
    with pytest.raises(UsageError, match="canonical"):
        query(graph, "ASK {}", "collapse")


def test_counting_everything_does_not_enumerate(graph: Graph) -> None:
    assert "unnest" not in statement(graph, "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }")
    assert "explode" not in statement(graph, "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }")
    total = len(expanded(FACTS, CLASSES, [(e("d"), SAME, e("d"))]))
    assert rows(graph, "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }") == [(number(str(total)),)]


def test_no_class_no_expansion(engine: Engine) -> None:
    plain = make_graph(engine, FACTS)
    assert "same_as" not in statement(plain, PREFIX + "SELECT * { ?x :knows ?y OPTIONAL { ?y :age ?z } }")


def test_an_equal_predicate_is_expanded_but_never_to_a_blank_node(engine: Engine) -> None:
    classes = [[e("p"), e("q"), "_:n"]]
    graph = make_graph(engine, [(e("a"), e("p"), e("b"))], classes)
    assert sorted(rows(graph, "SELECT ?p { :a ?p :b }")) == [(e("p"),), (e("q"),)]
    assert rows(graph, "SELECT (COUNT(*) AS ?n) { :a ?p ?o }") == [(number("2"),)]
    assert rows(graph, "SELECT ?o { :a :q ?o }") == [(e("b"),)]


@pytest.mark.parametrize("before", ["FILTER NOT EXISTS { ?s ?x ?v }", "MINUS { ?s ?x ?v }"])
def test_an_equal_blank_node_is_no_predicate_but_a_subject(engine: Engine, before: str) -> None:
    """One pattern meets the classes that have IRIs, the next one any."""
    facts = [("_:a", e("p"), '"1"'), ("_:a", e("q"), '"2"'), (e("c"), e("p"), '"3"')]
    graph = make_graph(engine, facts, [["_:a", "_:b"], [e("c"), e("d")]])
    blank = f"?x :p ?o FILTER(isBLANK(?x)) {before}"
    after = ("FILTER EXISTS { ?x :q ?z }", "FILTER NOT EXISTS { ?x :p '3' }", "?x :q ?z", "OPTIONAL { ?x :p ?z }")
    for more in after:
        assert sorted(rows(graph, f"SELECT ?x {{ {{ {blank} }} {more} }}")) == [("_:a",), ("_:b",)], more
        assert sorted(rows(graph, f"SELECT ?x {{ {blank} {more} }}")) == [("_:a",), ("_:b",)], more
    assert rows(graph, f"SELECT ?x {{ {blank} MINUS {{ ?x :q ?z }} }}") == []


def test_triples_that_are_no_rdf_are_hidden(engine: Engine) -> None:
    facts = [(e("a"), e("p"), '"x"'), ('"x"', e("q"), e("a")), (e("a"), "_:p", e("b"))]
    graph = make_graph(engine, facts, generalised=True)
    assert rows(graph, "SELECT * { ?s ?p ?o }") == [facts[0]]
    assert rows(graph, "SELECT ?s { ?s :q ?o }") == []
    assert rows(graph, "SELECT ?x { :a :p ?x . ?x :q :a }") == []


@pytest.mark.long_on_spark
def test_order_across_kinds(engine: Engine) -> None:
    ordered = [
        None,
        "_:blank",
        e("a"),
        e("b"),
        number("NaN", "double").replace("NaN", "-1e1"),
        number("01"),
        number("1.5", "decimal"),
        number("2e0", "double"),
        number("10"),
        number("2020-01-01T00:00:00+01:00", "dateTime"),
        number("2020-01-01T00:00:00Z", "dateTime"),
        number("2019-01-01", "date"),
        number("false", "boolean"),
        number("true", "boolean"),
        '"10"',
        '"9"',
        '"a"',
        '"\U0001f600"',
        '"a"@en',
        '"a"@fr',
        '"a"^^<http://e/type>',
    ]
    facts = [(e(f"s{place}"), e("value"), token) for place, token in enumerate(ordered) if token is not None]
    facts += [(e(f"s{place}"), e("thing"), e("x")) for place in range(len(ordered))]
    graph = make_graph(engine, facts)
    body = "{ ?s :thing ?t OPTIONAL { ?s :value ?v } }"
    assert [row[0] for row in rows(graph, f"SELECT ?v {body} ORDER BY ?v")] == ordered
    assert [row[0] for row in rows(graph, f"SELECT ?v {body} ORDER BY DESC(?v)")] == ordered[::-1]
    assert [row[0] for row in rows(graph, f"SELECT ?v {body} ORDER BY ?v LIMIT 3 OFFSET 2")] == ordered[2:5]
    assert [row[0] for row in rows(graph, f"SELECT DISTINCT ?v {body} ORDER BY ?v ?s")] == ordered
    assert [row[0] for row in rows(graph, f"SELECT (STR(?v) AS ?w) {body} ORDER BY ?v LIMIT 4")][3] == '"http://e/b"'
    low, high = rows(graph, f"SELECT (MIN(?v) AS ?a) (MAX(?v) AS ?b) {body[:-1]} FILTER(BOUND(?v)) }}")[0]
    assert (low, high) == (ordered[1], ordered[-1])


def test_equal_keys_leave_the_choice_to_the_next(engine: Engine) -> None:
    values = [("a", number("1")), ("b", number("1.0", "decimal")), ("c", number("1e0", "double")), ("d", number("0"))]
    graph = make_graph(engine, [(e(name), e("v"), token) for name, token in values])
    assert rows(graph, "SELECT ?x { ?x :v ?v } ORDER BY ?v DESC(?x)") == [(e("d"),), (e("c"),), (e("b"),), (e("a"),)]


def test_order_holds_behind_repeated_rows(graph: Graph) -> None:
    found = rows(graph, "SELECT ?z { ?x :age ?z } ORDER BY DESC(?z)")
    assert [row[0] for row in found] == [number("2.5", "decimal")] * 3 + [number("1")] * 2
    assert rows(graph, "SELECT ?z { ?x :age ?z } ORDER BY ?z OFFSET 1 LIMIT 2") == [
        (number("1"),),
        (number("2.5", "decimal"),),
    ]


def test_values_keep_terms_that_the_store_lacks(graph: Graph) -> None:
    found = rows(graph, 'SELECT * { VALUES (?x ?y) { (:new "new"@de) (_UNDEF_ 01) } }'.replace("_UNDEF_", "UNDEF"))
    assert bag(found) == bag([(e("new"), '"new"@de'), (None, number("01"))])
    assert rows(graph, 'SELECT (STRLEN(?x) AS ?n) { VALUES ?x { "four" } }') == [(number("4"),)]


def test_computed_values_join_with_stored_terms(graph: Graph) -> None:
    assert rows(graph, 'SELECT ?x { BIND(CONCAT("", "D") AS ?n) ?x :name ?n }') == [(e("d"),)]
    assert rows(graph, 'SELECT ?x { ?x :name ?m BIND(STRLANG("C", "en") AS ?n) FILTER(sameTerm(?m, ?n)) }') == [
        (e("c"),)
    ]


def test_literals_are_matched_as_written(engine: Engine) -> None:
    graph = make_graph(engine, [(e("a"), e("v"), number("01")), (e("b"), e("v"), number("1"))])
    assert rows(graph, 'SELECT ?x { ?x :v "01"^^xsd:integer }') == [(e("a"),)]
    assert rows(graph, "SELECT ?x { ?x :v 1 }") == [(e("b"),)]
    assert rows(graph, "SELECT ?x { ?x :v -01 }") == []
    assert len(rows(graph, "SELECT ?x { ?x :v ?v FILTER(?v = 1) }")) == 2


def test_construct(graph: Graph) -> None:
    result = query(
        graph, PREFIX + "CONSTRUCT { ?y :by ?x . ?n :no ?x . _:z :of ?x } { ?x :knows ?y OPTIONAL { ?y :name ?n } }"
    )
    triples = list(result.tokens())
    by = {(s, o) for s, p, o in triples if p == e("by")}
    assert by == {(y, x) for x in CLASSES[0] for y in CLASSES[1]} | {(e("c"), e("c"))}
    assert not any(p == e("no") for _, p, _ in triples)  # a literal is not a subject
    made = {s for s, p, _ in triples if p == e("of")}
    assert len(made) == len(by)
    again = query(graph, PREFIX + "CONSTRUCT { _:z :of ?x } { ?x :knows ?y }")
    assert made.isdisjoint(s for s, _, _ in again.tokens()), "other answers have other blank nodes"
    assert result.variables == ("subject", "predicate", "object")
    typed = query(graph, PREFIX + "CONSTRUCT { ?x a ?y } { ?x :knows ?y }")  # a constant that is a small number
    assert {p for _, p, _ in typed.tokens()} == {f"<{RDF}type>"}
    short = query(graph, PREFIX + "CONSTRUCT WHERE { ?x :name ?y }")
    assert sorted(short.tokens()) == sorted(fact for fact in FACTS if fact[1] == e("name"))


@pytest.mark.long_on_spark
def test_describe_follows_blank_nodes(engine: Engine) -> None:
    facts = [(e("a"), e("p"), "_:x"), ("_:x", e("q"), "_:y"), ("_:y", e("r"), '"end"'), (e("b"), e("p"), e("a"))]
    graph = make_graph(engine, facts, [[e("a"), e("a2")]])
    expected = {(e("a"), e("p"), "_:x"), *facts[1:3], (e("a"), SAME, e("a")), (e("a"), SAME, e("a2"))}
    assert set(query(graph, PREFIX + "DESCRIBE :a").tokens()) == expected
    assert set(query(graph, PREFIX + "DESCRIBE ?y { ?x :p ?y FILTER(?y = :a) }").tokens()) == expected
    assert list(query(graph, PREFIX + "DESCRIBE :nobody").tokens()) == []


@pytest.mark.long_on_spark(but=1)
@pytest.mark.parametrize("stream", [False, True])
def test_describe_each_once(engine: Engine, stream: bool) -> None:
    """Whatever names it: several variables and IRIs, a computed IRI, nothing."""
    a, b, loop = (e("a"), e("p"), e("b")), (e("b"), e("p"), "_:x"), ("_:x", e("q"), "_:x")
    facts = [a, (e("a"), e("p"), '"text"'), b, loop, (e("c"), e("p"), e("d"))]
    graph = make_graph(engine, facts)

    def described(text: str) -> list[tuple[str | None, ...]]:
        return sorted(query(graph, PREFIX + text, stream=stream).tokens())  # type: ignore[type-var]

    for text in (
        "DESCRIBE ?x ?y ?z :a { ?x :p ?y FILTER(?x != :c) OPTIONAL { ?y :none ?z } }",
        "DESCRIBE :b :a :b",
        "DESCRIBE * { :a :p ?y . ?x :p ?y }",
    ):
        assert described(text) == sorted(set(facts[:4])), text
    assert described('DESCRIBE ?x { BIND(IRI(CONCAT(STR(:), "b")) AS ?x) }') == sorted([b, loop])
    assert described("DESCRIBE ?x { ?y :q ?x } LIMIT 1") == [loop]
    assert described("DESCRIBE ?none { ?x :p ?y }") == described("DESCRIBE * {}") == []


def test_results_as_rdflib_terms_and_tables(graph: Graph) -> None:
    result = query(graph, PREFIX + "SELECT ?x ?n ?z { ?x :name ?n FILTER(LANG(?n) = 'en') }")
    assert list(result) == [(rdflib.URIRef("http://e/c"), rdflib.Literal("C", lang="en"), None)]
    table = result.to_arrow(typed=False)
    assert table.to_pydict() == {"x": ["<http://e/c>"], "n": ['"C"@en'], "z": [None]}
    assert list(result.to_pandas().columns) == ["x", "n", "z"]


@pytest.mark.spark
def test_results_as_a_spark_data_frame(engine: Engine, request: pytest.FixtureRequest) -> None:
    spark = request.getfixturevalue("spark")
    graph = make_graph(engine, FACTS)
    frame = query(graph, PREFIX + "SELECT ?x ?n { ?x :name ?n }").to_spark(spark, typed=False)
    assert sorted(tuple(row) for row in frame.collect()) == [(e("c"), '"C"@en'), (e("d"), '"D"')]


@pytest.mark.parametrize(("pattern", "found"), [("?y :none ?z", []), ("?y :name ?z", [(None,)])])
def test_distinct_and_ordered_by_what_has_no_value(graph: Graph, pattern: str, found: list[object]) -> None:
    assert rows(graph, f"SELECT DISTINCT ?x {{ {pattern} }} ORDER BY ?x") == found


def test_keywords_in_names_strings_and_comments_are_no_constructs(graph: Graph) -> None:
    text = "SELECT ?service { ?service :name 'GRAPH' # FROM SERVICE\n OPTIONAL { :SERVICE :GRAPH <http://e/FROM> } }"
    assert rows(graph, text) == []


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("SELECT ?x {\n  ?x ?y }", "line 2, column 9"),
        ("SELECT ?x { ?x ?y ?z BIND(1 AS ?x) }", "line 1, column"),
        ("SELECT ?x (COUNT(*) AS ?n) { ?x ?y ?z }", "line 1, column"),
        ("SELECT ?x { ?x :y ?z }", "line 1, column"),
    ],
)
def test_illegal_queries_are_refused_with_their_place(engine: Engine, text: str, place: str) -> None:
    with pytest.raises(UsageError, match=place) as caught:
        query(make_graph(engine, []), text)
    assert not isinstance(caught.value, UnsupportedError)


def test_the_type_predicate_is_rdf_type(engine: Engine) -> None:
    graph = make_graph(engine, [(e("a"), f"<{RDF}type>", e("Thing"))])
    assert rows(graph, "SELECT ?x { ?x a :Thing }") == [(e("a"),)]


@pytest.mark.long_on_spark
@pytest.mark.parametrize(
    ("text", "answer"),
    [
        # A path of length zero leads from a constant to itself, wherever the constant is (SPARQL 1.1, 18.4).
        ("ASK { :nowhere :knows? :nowhere }", True),
        ("ASK { :nowhere :knows+ :nowhere }", False),
        ("ASK { 'nothing' (:knows|:age)* ?x FILTER(?x = 'nothing') }", True),
        # A variable that EXISTS substitutes is a constant in its pattern (18.6), a term of the graph or not.
        ("ASK { VALUES ?x { :nowhere } ?x :knows? ?y }", False),
        ("ASK { VALUES ?x { :nowhere } FILTER EXISTS { ?x :knows? ?y } }", True),
        ("ASK { VALUES ?x { :nowhere } FILTER EXISTS { ?y (:knows/^:knows)+ ?x } }", False),
        ("ASK { VALUES ?x { :nowhere } FILTER EXISTS { ?y (:knows?/^:knows?)+ ?x } }", True),
        ("ASK { VALUES (?x ?y) { (:nowhere :noone) } FILTER EXISTS { ?x :knows* ?y } }", False),
        ("ASK { VALUES (?x ?y) { (:nowhere :nowhere) } FILTER EXISTS { ?x :knows* ?y } }", True),
        ("ASK { VALUES (?x ?y) { (:nowhere UNDEF) } FILTER EXISTS { ?x :knows* ?y FILTER(?y != ?x) } }", False),
        (
            "ASK { VALUES (?x ?z) { (UNDEF 1) (:nowhere 2) } "
            "FILTER(?z = 1 && EXISTS { ?x :knows* ?y FILTER(?y = :nowhere) }) }",
            False,
        ),
        ("ASK { BIND(STR(1) AS ?x) FILTER EXISTS { ?x :knows* ?y FILTER(?y = '1') } }", True),
        ("ASK { BIND(STR(1) AS ?x) BIND(STR(2) AS ?y) FILTER EXISTS { ?x :knows* ?y } }", False),
        ("ASK { VALUES ?x { :nowhere } FILTER NOT EXISTS { ?x :knows* ?x } }", False),
        # So it is shared with no one: MINUS takes nothing away on its account.
        ("ASK { :a :knows ?y FILTER EXISTS { ?y :age ?z MINUS { ?y :age 1 } } }", True),
        ("ASK { :a :knows ?y FILTER NOT EXISTS { ?y ?p ?z MINUS { ?y ?p ?w } } }", True),
        ("ASK { :a :knows ?y FILTER NOT EXISTS { ?y ?p ?z MINUS { ?y :age ?w } } }", False),
    ],
)
def test_what_exists_substitutes_is_a_constant(graph: Graph, text: str, answer: bool) -> None:
    assert query(graph, PREFIX + text).boolean is answer


def test_a_group_may_have_a_variable_by_another_name(graph: Graph) -> None:
    for key in ("(?x AS ?k)", "((?x) AS ?k)"):
        counted = rows(graph, f"SELECT ?k (COUNT(*) AS ?n) {{ ?x :age ?z }} GROUP BY {key}")
        assert bag(counted) == bag(rows(graph, "SELECT ?x (COUNT(*) AS ?n) { ?x :age ?z } GROUP BY ?x"))
    with pytest.raises(UsageError, match="line 1, column"):
        rows(graph, "SELECT ?z (COUNT(*) AS ?n) { ?x :age ?z } GROUP BY (?x AS ?k)")
