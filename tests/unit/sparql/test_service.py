"""SERVICE: what endpoints are asked, and what becomes of their answers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.endpoint import Endpoint, Reply, answering, endpoint
from tests.support.sparql import SAME, bag, make_graph, ox_store, reference
from triplake.sparql import Graph, explain, federation, query
from triplake.sparql.to_rules import rules_of_query
from triplestore import Store
from triplestore.engine import Engine
from triplestore.model.endpoints import normalised, normalised_all
from triplestore.model.errors import EndpointError, InputError, LimitError, UsageError

PREFIX = "PREFIX : <http://e/> "


def e(name: str) -> str:
    return f"<http://e/{name}>"


HERE = [
    (e("a"), e("p"), e("b")),
    (e("b"), e("p"), e("c")),
    (e("c"), e("p"), '"1"'),
    (e("a"), e("q"), '"x"'),
    ("_:n", e("p"), e("a")),
    (e("d"), e("r"), e("a")),
]
THERE = [
    (e("a"), e("p"), e("z")),
    (e("a"), e("label"), '"A"@en'),
    (e("b"), e("label"), '"B"'),
    (e("b"), e("label"), '"it\'s \\ "'),
    (e("y"), e("label"), '"Y"'),
    (e("c"), e("q"), '"x"'),
    ("_:m", e("label"), '"M"'),
]


@pytest.fixture
def other() -> Iterator[Endpoint]:
    """An endpoint with the triples of THERE."""
    with endpoint(answering(ox_store(THERE))) as made:
        yield made


def graph_of(engine: Engine, *services: str, facts: Sequence[tuple[str, str, str]] = HERE) -> Graph:
    return replace(make_graph(engine, facts, asserted=facts, equality="off"), services=normalised_all(services))


def rows(graph: Graph, text: str, **options: object) -> list[tuple[str | None, ...]]:
    return sorted(query(graph, PREFIX + text, **options).tokens(), key=str)  # type: ignore[arg-type]


def json_of(names: Sequence[str], *solutions: Sequence[str]) -> bytes:
    """JSON results whose terms are IRIs."""
    bindings = [{n: {"type": "uri", "value": v} for n, v in zip(names, row, strict=True)} for row in solutions]
    return json.dumps({"head": {"vars": list(names)}, "results": {"bindings": bindings}}).encode()


def test_solutions_are_joined(engine: Engine, other: Endpoint) -> None:
    found = rows(
        graph_of(engine, other.address), f"SELECT * {{ ?s :p ?o SERVICE <{other.address}> {{ ?s :label ?l }} }}"
    )
    assert found == [
        (e("a"), e("b"), '"A"@en'),
        (e("b"), e("c"), '"B"'),
        (e("b"), e("c"), '"it\'s \\ "'),
    ]


SHAPES = [
    "SELECT * { ?s :p ?o SERVICE @ { ?s :label ?l } }",
    "SELECT * { SERVICE @ { ?s :label ?l } ?s :p ?o }",
    "SELECT * { SERVICE @ { ?s ?p ?o } }",
    "SELECT * { ?s :p ?o SERVICE @ { ?s :p ?o } }",
    "SELECT * { ?s :p ?o OPTIONAL { SERVICE @ { ?s :label ?l } } }",
    "SELECT * { SERVICE @ { ?s :label ?l } OPTIONAL { ?s :p ?o } }",
    "SELECT * { ?s :p ?o . ?o :p ?x SERVICE @ { ?s :label ?l OPTIONAL { ?o :label ?m } } }",
    "SELECT * { ?s :p ?o SERVICE @ { ?s :label ?l } FILTER(?o != :c) }",
    "SELECT * { VALUES (?s ?x) { (:a :a) (:b UNDEF) (UNDEF :c) } SERVICE @ { ?s :label ?l } }",
    "SELECT * { VALUES (?s ?x) { (:a :a) (:b UNDEF) } SERVICE @ { ?x ?p ?y } }",
    "SELECT * { { ?s :p ?o } UNION { ?s :q ?q } SERVICE @ { ?s :label ?l } }",
    "SELECT * { ?s :p ?o { SERVICE @ { ?s :label ?l } } UNION { SERVICE @ { ?o :label ?l } } }",
    "SELECT * { ?s :p ?o MINUS { SERVICE @ { ?s :label ?l } } }",
    "SELECT * { ?s :p ?o FILTER EXISTS { SERVICE @ { ?s :label ?l } } }",
    "SELECT * { ?s :p ?o FILTER NOT EXISTS { SERVICE @ { ?o :label ?l } } }",
    "SELECT ?s (COUNT(*) AS ?n) { ?s :p ?o SERVICE @ { ?s :label ?l } } GROUP BY ?s",
    "SELECT * { ?s :p ?o { SELECT ?s { SERVICE @ { ?s :label ?o } } } }",
    "SELECT * { ?s :p ?o { SELECT ?s (MAX(?l) AS ?m) { SERVICE @ { ?s :label ?l } } GROUP BY ?s } }",
    "SELECT * { ?s :p ?o SERVICE @ { SELECT ?s (COUNT(*) AS ?n) { ?s :label ?l } GROUP BY ?s } }",
    "SELECT * { ?s :p ?o OPTIONAL { ?s :q ?x SERVICE @ { ?y :q ?x } } }",
    "SELECT * { VALUES ?q { 'no' } ?s :p ?o OPTIONAL { SERVICE @ { ?s :label ?l . ?t :q ?q } } }",
    "SELECT * { ?s :p ?o { SERVICE @ { ?s :label ?l } FILTER(!bound(?o)) } }",
    "SELECT * { { ?s :p ?o OPTIONAL { ?s :q ?x } } SERVICE @ { ?y :q ?x } FILTER(bound(?x)) }",
    "SELECT * { ?s :p ?o SERVICE @ { { ?s :label ?l } UNION { ?t :q ?u } } }",
    "SELECT * { ?s :p ?o BIND(:a AS ?a) SERVICE @ { ?a :p ?z } }",
    "SELECT ?s { ?s :p ?o SERVICE @ { :a :p :z } }",
    "SELECT ?s { ?s :p ?o SERVICE @ { { :a :p :z } UNION { :c :q 'x' } } }",
    "SELECT * { SERVICE @ { ?s :label ?l } SERVICE @ { ?s :p ?o } }",
    "SELECT * { SERVICE @ { ?s :p ?z SERVICE @ { ?s :label ?l } } }",
    "SELECT * { { SELECT ?s { ?s :p ?o } ORDER BY ?s LIMIT 2 OFFSET 1 } SERVICE @ { ?s :label ?l } }",
    "SELECT * { { SELECT ?s { ?s :p ?o } ORDER BY ?s LIMIT 2 OFFSET 1 } OPTIONAL { SERVICE @ { ?s :label ?l } } }",
]


@pytest.mark.parametrize("batch", [1, 100])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.sampled(each=3)
def test_answers_are_those_of_oxigraph(
    embedded: Engine, other: Endpoint, monkeypatch: pytest.MonkeyPatch, shape: str, batch: int
) -> None:
    monkeypatch.setattr("triplestore.model.thresholds.Sizes.inline", batch)
    text = PREFIX + shape.replace("@", f"<{other.address}>")
    plain = [t for t in HERE if t[0][0] != "_"]
    found = query(graph_of(embedded, other.address, facts=plain), text)
    wanted = bag(reference(ox_store(plain), text, found.variables))
    assert bag(_without_labels(found.tokens())) == bag(_without_labels(wanted.elements()))


def _without_labels(found: object) -> list[list[str | None]]:
    """Rows with blank nodes made one: their labels differ."""
    return [["_:" if t and t[0] == "_" else t for t in row] for row in found]  # type: ignore[attr-defined]


def test_the_same_by_working_tables(embedded: Engine, other: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"SELECT * {{ ?s :p ?o OPTIONAL {{ SERVICE <{other.address}> {{ ?s :label ?l }} }} BIND('new' AS ?n) }}"
    graph = graph_of(embedded, other.address)
    found = rows(graph, text)
    monkeypatch.setattr("triplestore.model.thresholds.Sizes.inline", 1)
    assert rows(graph, text) == found


def test_the_same_without_sending_solutions(embedded: Engine, other: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"SELECT * {{ ?s :p ?o SERVICE <{other.address}> {{ ?s :label ?l }} }}"
    graph = graph_of(embedded, other.address)
    found = rows(graph, text)
    monkeypatch.setattr("triplestore.model.thresholds.Sizes.objects", 2)
    assert rows(graph, text) == found
    assert ["VALUES" in asked for asked in other.queries] == [True, False]


class TestWhatIsSent:
    def test_prefixes_and_base_that_it_uses(self, embedded: Engine, other: Endpoint) -> None:
        text = (
            f"BASE <http://e/> PREFIX x: <http://x/> PREFIX y: <y#> SELECT * {{ SERVICE <{other.address}> "
            "{ # x:no\n ?s <label> ?l . ?s y:k\\-l 'x:n' } ?s x:p <rest> }"
        )
        query(graph_of(embedded, other.address), text)
        assert other.queries == []  # nothing beside it has a solution
        query(graph_of(embedded, other.address), text.replace("?s x:p <rest>", ""))
        assert other.queries == [
            "BASE <http://e/> PREFIX y: <http://e/y#> SELECT ?s ?l WHERE { # x:no\n ?s <label> ?l . ?s y:k\\-l 'x:n' }"
        ]
        assert other.headers["Content-Type"] == "application/sparql-query"
        assert other.headers["Accept"] == "application/sparql-results+json"

    def test_batches(self, embedded: Engine, other: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("triplestore.model.thresholds.Sizes.inline", 2)
        rows(
            graph_of(embedded, other.address),
            f"SELECT * {{ ?s :p|:r ?o SERVICE <{other.address}> {{ ?o :label ?l }} }}",
        )
        sent = [asked.partition("VALUES")[2] for asked in other.queries]
        assert sorted(" ".join(sent).replace("(?o)", "").split()) == sorted(
            f'{{ ({e("a")}) ({e("b")}) }} {{ ({e("c")}) ("1") }}'.split()
        )

    def test_blank_nodes_of_ours_are_not(self, embedded: Engine, other: Endpoint) -> None:
        found = rows(
            graph_of(embedded, other.address), f"SELECT * {{ ?s :p ?o SERVICE <{other.address}> {{ ?s :label ?l }} }}"
        )
        assert len(found) == 3
        assert len(other.queries[0].partition("VALUES")[2].split()) == 6

    def test_what_fails_a_filter_is_not(self, embedded: Engine, other: Endpoint) -> None:
        found = f"SELECT * {{ ?s :p ?o FILTER(?o = :c) SERVICE <{other.address}> {{ ?s :label ?l }} }}"
        assert len(rows(graph_of(embedded, other.address), found)) == 2
        assert other.queries[0].endswith(f"VALUES (?s) {{ ({e('b')}) }}")

    def test_what_a_graph_has(self, embedded: Engine, other: Endpoint) -> None:
        graph = make_graph(embedded, [], quads=[(e("a"), e("p"), e("b"), e("g")), (e("b"), e("p"), e("b"), e("h"))])
        graph = replace(graph, services=(other.address,))
        text = f"SELECT * {{ GRAPH ?g {{ ?s :p ?o SERVICE <{other.address}> {{ ?s :label ?l }} }} FILTER(?g = :g) }}"
        assert rows(graph, text) == [(e("a"), e("b"), '"A"@en', e("g"))]
        assert f"VALUES (?s) {{ ({e('a')}) }}" in other.queries[0]


class TestEndpointsInVariables:
    def test_each_is_asked_with_its_own_solutions(self, embedded: Engine, other: Endpoint) -> None:
        with endpoint(answering(ox_store([(e("a"), e("label"), '"second"')]))) as second:
            graph = graph_of(embedded, other.address, second.address)
            values = f"VALUES (?at ?s) {{ (<{other.address}> :b) (<{second.address}> :a) (<{second.address}> :b) }}"
            found = rows(graph, f"SELECT ?s ?l {{ {values} SERVICE ?at {{ ?s :label ?l }} }}")
            assert found == [(e("a"), '"second"'), (e("b"), '"B"'), (e("b"), '"it\'s \\ "')]
            assert e("a") not in other.queries[0]
            assert len(second.queries) == 1

    def test_none_is_asked_where_one_is_not_allowed(self, embedded: Engine, other: Endpoint) -> None:
        values = f"VALUES ?at {{ <{other.address}> <http://elsewhere/> }}"
        with pytest.raises(UsageError, match="<http://elsewhere/> is refused"):
            rows(graph_of(embedded, other.address), f"SELECT * {{ {values} SERVICE ?at {{ ?s ?p ?o }} }}")
        assert other.queries == []

    @pytest.mark.parametrize("text", ["SERVICE ?at { ?s ?p ?o }", "{ SERVICE ?at { ?s ?p ?o } } ?x :p ?y"])
    def test_without_a_value(self, embedded: Engine, text: str) -> None:
        with pytest.raises(UsageError, match=r"column .*: \?at, the endpoint of a SERVICE, has no value"):
            rows(graph_of(embedded), f"SELECT * {{ {text} }}")

    @pytest.mark.parametrize("value", ["UNDEF", "'text'", "<urn:x>"])
    def test_with_no_address(self, embedded: Engine, value: str) -> None:
        with pytest.raises(UsageError, match="is refused"):
            rows(graph_of(embedded), f"SELECT * {{ VALUES ?at {{ {value} }} SERVICE ?at {{ ?s ?p ?o }} }}")


class TestWhoMayBeAsked:
    @pytest.mark.parametrize("silent", ["", "SILENT"])
    def test_nobody_without_leave(self, embedded: Engine, other: Endpoint, silent: str) -> None:
        text = f"SELECT * {{\n SERVICE {silent} <{other.address}> {{ ?s ?p ?o }} }}"
        with pytest.raises(UsageError, match=r"line 2, column 2: SERVICE <.*> is refused: .*--allow-service"):
            rows(graph_of(embedded, f"{other.address}/"), text)
        assert other.queries == []

    def test_all_are_looked_at_before_one_is_asked(self, embedded: Engine, other: Endpoint) -> None:
        both = f"SERVICE <{other.address}> {{ ?s ?p ?o }} FILTER EXISTS {{ SERVICE <http://no/> {{ ?s ?p ?o }} }}"
        with pytest.raises(UsageError, match="<http://no/> is refused"):
            rows(graph_of(embedded, other.address), f"SELECT * {{ {both} }}")
        assert other.queries == []

    def test_spellings_of_one_address(self, embedded: Engine, other: Endpoint) -> None:
        spelled = other.address.replace("http", "HTTP")
        assert len(rows(graph_of(embedded, other.address), f"SELECT * {{ SERVICE <{spelled}> {{ ?s ?p ?o }} }}")) == 7

    @pytest.mark.parametrize(
        ("given", "wanted"),
        [
            ("HTTP://Example.ORG:80", "http://example.org/"),
            ("https://example.org:443/a?b=C", "https://example.org/a?b=C"),
            ("http://example.org:443/A", "http://example.org:443/A"),
            ("http://[::1]:3030/sparql", "http://[::1]:3030/sparql"),
        ],
    )
    def test_normalised(self, given: str, wanted: str) -> None:
        assert normalised(given) == wanted

    @pytest.mark.parametrize(
        "given",
        ["", "file:///etc", "ftp://x/", "http:///x", "/x", "http://x:y/", "http://a b/", "http://x\n/", "http://["],
    )
    def test_no_address(self, given: str) -> None:
        with pytest.raises(UsageError, match="not an address of an endpoint"):
            normalised(given)

    @pytest.mark.parametrize("given", ["http://user@x/", "http://u:p@x/", "http://x/#f"])
    def test_no_user_and_no_fragment(self, given: str) -> None:
        with pytest.raises(UsageError, match="a user or a fragment"):
            normalised(given)


class TestAnswers:
    def test_blank_nodes_are_new(self, embedded: Engine, other: Endpoint) -> None:
        text = f"SELECT * {{ SERVICE <{other.address}> {{ ?s :label 'M' }} }}"
        graph = graph_of(embedded, other.address)
        ((one,),), ((two,),) = rows(graph, text), rows(graph, text)
        assert one is not None
        assert one.startswith("_:s")
        assert one != two

    def test_variables_that_it_leaves_out(self, embedded: Engine) -> None:
        with endpoint(lambda _: Reply(json_of(["s", "other"], ["http://e/a", "http://e/b"]))) as one:
            assert rows(graph_of(embedded, one.address), f"SELECT * {{ SERVICE <{one.address}> {{ ?s :p ?o }} }}") == [
                (e("a"), None)
            ]

    @pytest.mark.long_on_spark(each=1)
    @pytest.mark.parametrize("stream", [False, True])
    def test_many(self, engine: Engine, stream: bool) -> None:
        many = json_of("so", *([f"http://e/{number}", f"http://new/{number}"] for number in range(2_000)))
        facts = [(e(str(number)), e("p"), '"1"') for number in range(1_990, 2_010)]
        with endpoint(lambda _: Reply(many)) as one:
            graph = graph_of(engine, one.address, facts=facts)
            whole = rows(graph, f"SELECT * {{ SERVICE <{one.address}> {{ ?s :q ?o }} }}", stream=stream)
            assert len(set(whole)) == 2_000
            text = f"SELECT ?o {{ SERVICE <{one.address}> {{ ?s :q ?o }} ?s :p ?x FILTER(STRENDS(STR(?o), '8')) }}"
            assert rows(graph, text, stream=stream) == [("<http://new/1998>",)]

    def test_classes_of_equals(self, embedded: Engine) -> None:
        with endpoint(answering(ox_store([(e("b"), e("label"), '"B"'), (e("x"), e("same"), e("b"))]))) as one:
            graph = make_graph(embedded, [(e("a"), e("p"), e("c"))], [[e("a"), e("b")]])
            graph = replace(graph, services=(one.address,))
            text = f"SELECT * {{ ?s :p ?o SERVICE <{one.address}> {{ ?s :label ?l }} }}"
            assert rows(graph, text) == [(e("b"), e("c"), '"B"')]
            assert len(rows(graph, text, same_as="canonical")) == 1
            assert rows(graph, f"ASK {{ SERVICE <{one.address}> {{ ?s :same ?o }} ?o {SAME} :a }}") == []

    def test_beside_what_has_no_variables(self, embedded: Engine, other: Endpoint) -> None:
        inner = "MINUS { { SELECT ?x { ?x :p ?y } LIMIT 2 } }"
        found = rows(
            graph_of(embedded, other.address), f"SELECT * {{ {inner} SERVICE <{other.address}> {{ ?s :p ?o }} }}"
        )
        assert found == [(e("a"), e("z"))]

    def test_other_kinds_of_query(self, embedded: Engine, other: Endpoint) -> None:
        graph = graph_of(embedded, other.address)
        pattern = f"{{ ?s :p ?o SERVICE <{other.address}> {{ ?s :label ?l }} }}"
        assert query(graph, f"{PREFIX} ASK {pattern}").boolean is True
        assert len(query(graph, f"{PREFIX} CONSTRUCT {{ ?s :is ?l }} {pattern}")) == 3
        assert len(query(graph, f"{PREFIX} DESCRIBE ?s {pattern}")) == 3
        assert len(other.queries) == 3

    def test_explained(self, embedded: Engine, other: Endpoint) -> None:
        found = explain(
            graph_of(embedded, other.address), f"{PREFIX} SELECT * {{ SERVICE <{other.address}> {{ ?s :p ?o }} }}"
        )
        assert f"Service  name: <{other.address}>" in found.text()
        assert "VALUES" in found.sql


class TestBounds:
    def test_requests(self, embedded: Engine, other: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(federation, "MOST_REQUESTS", 2)
        monkeypatch.setattr("triplestore.model.thresholds.Sizes.inline", 1)
        text = f"SELECT * {{ ?o ^:p ?s SERVICE SILENT <{other.address}> {{ ?o :label ?l }} }}"
        with pytest.raises(LimitError, match="more than 2 requests"):
            rows(graph_of(embedded, other.address), text)
        assert len(other.queries) == 2

    def test_solutions(self, embedded: Engine, other: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(federation, "MOST_ROWS", 3)
        with pytest.raises(EndpointError, match="more than 3 solutions"):
            rows(graph_of(embedded, other.address), f"SELECT * {{ SERVICE <{other.address}> {{ ?s ?p ?o }} }}")


class TestUpdates:
    def test_the_same_list_applies(self, tmp_path: Path, other: Endpoint) -> None:
        text = f"PREFIX : <http://e/> INSERT {{ ?s :l ?l }} WHERE {{ SERVICE <{other.address}> {{ ?s :label ?l }} }}"
        with Store.create(tmp_path / "kg", ["none"]) as store:
            with pytest.raises(UsageError, match="is refused"):
                store.sparql_update(text)
            assert store.version == 1
            store.services = (other.address,)
            store.sparql_update(text)
            store.sparql_update(text)
            assert store.services == (other.address,)
            assert store.count() == 6  # a blank node is another one each time
            with pytest.raises(UsageError, match="not an address"):
                store.services = ("elsewhere",)

    def test_nothing_is_changed_where_it_fails(self, tmp_path: Path) -> None:
        with endpoint(lambda _: Reply(b"no", 500)) as one, Store.create(tmp_path / "kg", ["none"]) as store:
            store.services = (one.address,)
            service = f"SERVICE <{one.address}> {{ ?s ?p ?o }}"
            with pytest.raises(EndpointError, match="500"):
                store.sparql_update(f"INSERT DATA {{ <x:a> <x:b> 1 }}; INSERT {{ ?s ?p ?o }} WHERE {{ {service} }}")
            assert store.count() == 0


def test_rules_refuse_it() -> None:
    with pytest.raises(InputError, match=r"r.rq:2:2: SERVICE has no place in a rule"):
        rules_of_query("CONSTRUCT { ?s a ?o } {\n SERVICE <http://x/> { ?s ?p ?o } }", "r.rq")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("SERVICE { ?s ?p ?o }", "column 20: expected an IRI"),
        ("SERVICE <http://x/>", "expected '{'"),
        ("SERVICE <http://x/> { ?s ?p }", "column 40: expected an object"),
        ("?x ?y ?z SERVICE <http://x/> { ?s ?p ?o } BIND(1 AS ?s)", "\\?s has a value already"),
    ],
)
def test_what_is_not_legal(embedded: Engine, text: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        query(graph_of(embedded), f"SELECT * {{ {text} }}")
