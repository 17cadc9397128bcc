"""Known types of objects make short SQL, and the same answers."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from rdflib import URIRef

from tests.support import expression_random as pools
from tests.support.expression_random import VARIABLES, random_expression, random_term, typed, unescaped
from tests.support.seeds import seeds
from tests.support.sparql import Triple, make_graph
from triplake.sparql import Graph, query, to_sql
from triplake.sparql.query import statement
from triplestore import Store
from triplestore.dictionary.object_types import ObjectType
from triplestore.engine import Engine
from triplestore.model.dataset import ASSERTED
from triplestore.model.terms import XSD, to_rdflib
from triplestore.read.query import graph as graph_of

E = "http://e/"
PREFIX = f"PREFIX : <{E}> PREFIX xsd: <{XSD}> "


def integers(engine: Engine) -> Graph:
    """:a1 .. :a9, of which :an has :n n, :d n.5, :f n.5e0, :l "n", :t a time, :b a truth, and for :m these in turn with
    IRIs, ill-typed and misspelt numbers."""
    terms = {
        "n": '"{}"^^<%sinteger>',
        "d": '"{}.5"^^<%sdecimal>',
        "f": '"{}.5e0"^^<%sdouble>',
        "l": '"{}"',
        "t": '"2020-01-0{}T00:00:00Z"^^<%sdateTime>',
        "b": '"true"^^<%sboolean>',
    }
    written = {name: form.replace("%s", XSD) for name, form in terms.items()}
    facts = [(f"<{E}a{n}>", f"<{E}{name}>", form.format(n)) for n in range(1, 10) for name, form in written.items()]
    mixed = [*(form.format(7) for form in list(written.values())[:2]), f"<{E}a1>", f'"x"^^<{XSD}integer>', '"7"']
    mixed += [f'"007"^^<{XSD}integer>', f'"7"^^<{XSD}int>', '"7"@en', '"7"^^<http://e/t>']
    facts += [(f"<{E}a{n}>", f"<{E}m>", term) for n, term in enumerate(mixed, 1)]
    return make_graph(engine, facts)


SHORT = {
    "?s :n ?x FILTER(?x * 2 + 1 > 15 && ?x != 9)": (1, 160),
    "?s :n ?x BIND(IF(?x > 5, ?x + 1, ?x - 1) AS ?z)": (9, 400),
    "?s :n ?x FILTER(?x + 1 > 2)": (8, 100),
    "?s :n ?x BIND(?x * 2 AS ?z)": (9, 200),
    "?s :n ?x ; :d ?y FILTER(?x < ?y)": (9, 100),
    "?s :d ?x FILTER(?x * 2 + 1 > 5000 && ?x != 7)": (0, 400),
    "?s :d ?x FILTER(?x + 1 > 5 && ?x IN (5.5, 6.5))": (2, 300),
    "?s :f ?x FILTER(?x < 3)": (2, 100),
    "?s :l ?x FILTER(?x < '3' && ?x != '1')": (1, 150),
    "?s :t ?x FILTER(?x < '2020-01-03T00:00:00Z'^^xsd:dateTime)": (2, 100),
    "?s :t ?x ; :t ?y FILTER(?x <= ?y)": (9, 200),
    "?s :b ?x FILTER(?x)": (9, 100),
    "{ ?s :n ?x } UNION { ?s :d ?x } FILTER(?x > 5)": (9, 100),
    "?s :n ?x OPTIONAL { ?s :d ?y } FILTER(?y > 5)": (5, 100),
    "?s :m ?x FILTER(?x + 1 > 7)": (4, 120),
    "?s :n ?x ; :m ?y FILTER(?s != ?y)": (9, 100),
    "VALUES ?x { 1 2 3 } ?s :n ?y FILTER(?x = ?y)": (3, 100),
    "{ SELECT ?s (MAX(?x) AS ?y) { ?s :n ?x } GROUP BY ?s } FILTER(?y + 1 > 3)": (7, 250),
}
"""Patterns, how many solutions they have, and how long the SQL of their expressions is at most."""


@pytest.mark.parametrize("pattern", SHORT)
def test_known_types_make_short_expressions(engine: Engine, monkeypatch: pytest.MonkeyPatch, pattern: str) -> None:
    graph, lengths = integers(engine), list[int]()
    rows, most = SHORT[pattern]
    if engine.name == "duckdb":  # Spark's dialect is marked where it differs
        before = to_sql.Staging.length

        def length(staging: to_sql.Staging, *sql: str) -> int:
            lengths.append(before(staging, *sql))
            return lengths[-1]

        monkeypatch.setattr(to_sql.Staging, "length", length)
        sql = statement(graph, f"{PREFIX} SELECT * {{ {pattern} }}")
        assert max(lengths) <= most, sql
        assert "regexp" not in sql, sql
        assert "tl_" not in sql, sql
    assert len(query(graph, f"{PREFIX} SELECT * {{ {pattern} }}")) == rows


# -- the same answers --------------------------------------------------------------------------------------------------

LISTS = {
    "number": [
        *(typed("integer", ["0", "1", "-1", "7", "999999999"]), typed("integer", ["5", "1234567890", "-" + "9" * 18])),
        *(typed("integer", pools.INTEGERS), typed("integer", pools.INTEGERS + pools.LONG_INTEGERS)),
        [f'"{text}"^^<{XSD}{name}>' for name, text in pools.DERIVED],
        *(typed("decimal", pools.DECIMALS), typed("decimal", ["0.5", "999999999.999999999", "-3.25"])),
        *(typed("decimal", pools.DECIMALS + pools.LONG_DECIMALS), typed("decimal", ["1.0000000001", "7.5"])),
        *(typed("double", pools.DOUBLES), typed("float", pools.FLOATS)),
    ],
    "text": [[f'"{text}"' for text in pools.STRINGS], pools.TAGGED],
    "truth": [typed("boolean", pools.BOOLEANS), typed("boolean", ["true", "yes"])],
    "time": [
        *(typed("dateTime", pools.DATE_TIMES), typed("date", pools.DATES), typed("time", pools.TIMES)),
        typed("dateTime", ["2020-01-01T00:00:00Z", "2020-01-01T01:00:00+01:00", "1999-12-31T23:59:59.999-05:00"]),
        typed("dateTime", ["2020-01-01T00:00:00", "2020-02-29T12:30:45.5", "2019-12-31T24:00:00"]),
        *(typed("date", ["2020-01-01", "2020-02-29"]), typed("date", ["2020-01-01Z", "2021-01-01+02:00"])),
    ],
    "duration": [typed("dayTimeDuration", pools.DAY_TIME), typed("yearMonthDuration", pools.YEAR_MONTH)],
    "iri": [pools.IRIS],
}
"""Objects of one predicate, mostly of one type."""


def random_objects(rng: Random, kind: str) -> list[str]:
    """The objects that a predicate has: of one type, of two, or of all but one."""
    found = list(rng.choice(LISTS[kind]))
    if rng.random() < 0.25:
        found += rng.choice(LISTS[kind])
    if rng.random() < 0.15:
        found += [random_term(rng)]
    if rng.random() < 0.1:
        found += pools.IRIS
    return found


def random_facts(rng: Random) -> list[Triple]:
    """Some subjects with an object for each variable of `VARIABLES`: ?n has the object of :n, or of :n2."""
    kinds = [(name, kind) for kind, names in VARIABLES.items() for name in names]
    kinds += [(name, rng.choice(list(LISTS))) for name in "xy"]
    facts: list[Triple] = []
    for name, kind in kinds:
        for predicate in (name, f"{name}2"):
            objects = random_objects(rng, kind)
            subjects = [n for n in range(6) if rng.random() < 0.9]
            facts += [(f"<{E}a{n}>", f"<{E}{predicate}>", unescaped(rng.choice(objects))) for n in subjects]
    return facts


def bound(rng: Random, name: str) -> str:
    """A pattern that binds a variable for the subject ?a, in one of many ways."""
    plain, aggregate = f"?a :{name} ?{name} .", rng.choice(["MIN", "MAX", "SAMPLE", "SUM", "AVG"])
    return rng.choice(
        [
            *[plain] * 4,
            f"OPTIONAL {{ {plain} }}",
            f"{{ {plain} }} UNION {{ ?a :{name}2 ?{name} }}",
            f"{plain} ?c :{name}|:{name}2 ?{name} .",
            f"{{ SELECT ?a ?{name} {{ {plain} }} }}",
            f"{{ SELECT ?a ({aggregate}(?o) AS ?{name}) {{ ?a :{name} ?o }} GROUP BY ?a }}",
            f"?a :{name} ?{name}1 . BIND(?{name}1 AS ?{name})",
            f"?a :{name} ?{name}1 . BIND(COALESCE(?{name}1, 1) AS ?{name})",
            f"OPTIONAL {{ ?a :{name} ?{name}1 }} OPTIONAL {{ ?a :{name}2 ?{name}2 }} "
            f"BIND(IF(BOUND(?{name}1), ?{name}1, ?{name}2) AS ?{name})",
            f"?a :{name}/^:{name}/:{name}2 ?{name} .",
            f"?a :{name} ?{name} MINUS {{ ?a :{name}2 ?{name} }}",
            f"?a :{name} ?{name} FILTER NOT EXISTS {{ ?a :{name}2 ?o FILTER(?o < ?{name}) }}",
            f"OPTIONAL {{ ?a :{name}2 ?o{name} }} OPTIONAL {{ {plain} FILTER(?{name} > ?o{name}) }}",
            f"VALUES ?{name} {{ {random_term(rng)} {random_term(rng)} UNDEF }} OPTIONAL {{ {plain} }}",
        ]
    )


def random_query(rng: Random) -> str:
    """A query that computes with some variables."""
    expressions = [str(random_expression(rng, rng.choice([1, 1, 2, 3]))) for _ in range(5)]
    condition = str(random_expression(rng, rng.choice([1, 2]), "truth"))
    names = sorted(set(re.findall(r"\?([a-z])\b", " ".join([*expressions, condition]))) - {"u"})
    body = f"?a :n ?start . {' '.join(bound(rng, name) for name in names)}"
    if rng.random() < 0.4:
        body += f" FILTER({condition})"
    shape = rng.randrange(4)
    if shape == 0 and names:
        one = rng.choice(names)
        aggregates = " ".join(
            f"({function}({rng.choice(['', 'DISTINCT '])}{rng.choice([f'?{one}', expressions[0]])}) AS ?r{place})"
            for place, function in enumerate(("SUM", "AVG", "MIN", "MAX", "COUNT"))
        )
        return f"{PREFIX} SELECT {aggregates} {{ {body} }} {rng.choice(['', 'GROUP BY ?start'])}"
    shown = " ".join(f"({expression} AS ?r{place})" for place, expression in enumerate(expressions))
    if shape == 1:
        one = expressions[0]
        order = f"{rng.choice(['ASC', 'DESC'])}({one}) (STR({one})) (STR(DATATYPE({one}))) (LANG({one}))"
        return f"{PREFIX} SELECT ({expressions[0]} AS ?key) {{ {body} }} ORDER BY {order}"
    if shape == 2:
        other = random_expression(rng, 2)
        again = str(other).replace("?u", "?z")
        return f"{PREFIX} SELECT ?z (({again}) AS ?r) {{ {body} BIND({expressions[0]} AS ?z) }}"
    return f"{PREFIX} SELECT ?a {shown} {{ {body} }}"


def check(graph: Graph, text: str, monkeypatch: pytest.MonkeyPatch, context: str) -> None:
    """The answer is the same with nothing known of any type."""
    found = list(query(graph, text).tokens())
    with monkeypatch.context() as patch:
        patch.setattr(to_sql, "known_of", lambda _: None)
        patch.setattr("triplake.sparql.object_types.of_terms", lambda _: None)
        patch.setattr("triplake.sparql.aggregates.known_result", lambda *_: None)
        patch.setattr("triplestore.expressions.arithmetic._bounded_result", lambda *_: None)
        expected = list(query(replace(graph, types=lambda: None), text).tokens())
    in_order = "ORDER BY" in text
    assert (found if in_order else Counter(found)) == (expected if in_order else Counter(expected)), (
        f"{context}: {text}"
    )


@pytest.mark.parametrize("seed", seeds(range(300), 6))
def test_no_answer_depends_on_the_types_of_objects(fresh: Engine, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    rng = Random(seed)
    graph = make_graph(fresh, random_facts(rng))
    for number in range(4):
        check(graph, random_query(rng), monkeypatch, f"seed {seed}, query {number}")


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long_on_spark) for seed in (1, 2, 3))])
def test_both_engines(engine: Engine, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    rng = Random(seed)
    graph = make_graph(engine, random_facts(rng))
    for number in range(2):
        check(graph, random_query(rng), monkeypatch, f"seed {seed}, query {number}")


@pytest.mark.parametrize("seed", seeds(range(40), 2))
def test_types_change_with_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Updates add and remove the only literal of another type; some properties, and some literals, are equal."""
    rng = Random(seed)
    rules = rng.choice([["owl2rl"], ["none"]])
    same = f"<{E}n> <http://www.w3.org/2002/07/owl#sameAs> <{E}m> ."
    with Store.create(tmp_path / "kg", rules, rng.choice(["rewrite", "axioms"])) as store:
        store.update(add=[tuple(map(to_rdflib, triple)) for triple in random_facts(rng)])
        for number in range(5):
            s, p = URIRef(f"{E}a{rng.randrange(6)}"), URIRef(E + rng.choice("nmstdeb"))
            odd = (s, p, to_rdflib(unescaped(random_term(rng))))
            for step in ({"add": [odd]}, {"delete": [odd]}):
                store.update(**step)
                graph = graph_of(store._session)
                check(graph, random_query(rng), monkeypatch, f"seed {seed}, step {number}")
                text = random_query(rng).replace(" { ?a :n", f" FROM {ASSERTED} {{ ?a :n", 1)
                check(graph, text, monkeypatch, f"seed {seed}, step {number}")
            if number == 2:
                store.load(data=same, format="nt")


def test_objects_with_one_form_are_read_as_they_are(tmp_path: Path) -> None:
    """Where some literals have equal values, the forms that were asserted are looked up for predicates with such."""
    facts = [("n", f'"2"^^<{XSD}integer>'), ("k", f"<{E}b>"), ("l", '"1"'), ("o", f'"1"^^<{XSD}int>')]
    triples = [(f"<{E}a>", f"<{E}{name}>", term) for name, term in [*facts, ("o", f'"01"^^<{XSD}integer>')]]
    with Store.create(tmp_path / "kg", ["owl2rl"]) as store:
        store.update(add=[tuple(map(to_rdflib, triple)) for triple in triples])
        graph = graph_of(store._session)
        for name in "nklo":
            text = f"{PREFIX} SELECT ?x {{ :a :{name} ?x }}"
            looked_up = "asserted" in statement(graph, text)
            assert looked_up == (name == "o")
            assert sorted(query(graph, text).tokens()) == sorted((t,) for _, p, t in triples if p == f"<{E}{name}>")
        store.update(add=[tuple(map(to_rdflib, (f"<{E}a>", f"<{E}n>", f'"02"^^<{XSD}int>')))])
        assert len(query(graph_of(store._session), f"{PREFIX} SELECT ?x {{ :a :n ?x }}")) == 2


def test_an_unknown_predicate_has_no_type(embedded: Engine) -> None:
    graph = make_graph(embedded, [(f"<{E}a>", f"<{E}n>", '"1"')])
    assert graph.types() == {predicate: frozenset({ObjectType.STRING}) for predicate in graph.types() or ()}
    assert len(query(graph, f"{PREFIX} SELECT * {{ ?s :none ?x FILTER(?x + 1 > 2) }}")) == 0
