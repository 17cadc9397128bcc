"""Parts of a body that only an equation of expressions ties to each other are joined by what these compute: the matches
are those of the equation itself, whatever the values."""

from __future__ import annotations

from pathlib import Path

import pytest
from rdflib import Literal, Namespace
from rdflib.namespace import RDF, XSD
from rdflib.term import Node

from tests.conftest import MakeStore
from triplestore import Store

E = Namespace("http://e/")
VALUES: list[Node] = [
    *(Literal(text, datatype=XSD.integer) for text in ("1", "01", "0", "-0", "2", "16777217", "9007199254740993")),
    *(Literal(text, datatype=XSD.decimal) for text in ("1.0", "0.1", "-0.0", "9007199254740993.0", "16777216")),
    *(
        Literal(text, datatype=XSD.double)
        for text in ("1", "1e0", "0.1", "-0", "NaN", "INF", "9007199254740992", "1e400")
    ),
    *(Literal(text, datatype=XSD.float) for text in ("1", "0.1", "NaN", "INF", "16777216")),
    Literal("9" * 40, datatype=XSD.integer),
    Literal("9" * 40 + ".0", datatype=XSD.decimal),
    *map(Literal, ("a", "A", "1", "")),
    *(Literal("a", lang=tag) for tag in ("en", "de")),
    *(Literal(text, datatype=XSD.boolean) for text in ("true", "1", "false", "maybe")),
    *(Literal(text, datatype=XSD.date) for text in ("2024-01-02", "2024-01-02Z", "2024-01-02+00:00")),
    *(Literal(text, datatype=XSD.dateTime) for text in ("2024-01-02T00:00:00Z", "2024-01-02T01:00:00+01:00")),
    *(Literal(text, datatype=XSD.dayTimeDuration) for text in ("PT60S", "PT1M")),
    *(Literal("a", datatype=E[kind]) for kind in ("own", "other")),
    E.a,
    E.A,
]
EQUATIONS = [
    "COALESCE(?v) = COALESCE(?w)",
    "?v = COALESCE(?w)",
    "SAMETERM(COALESCE(?v), ?w)",
    "?v + 0 = ?w + 0",
    "?v * 1e0 = ?w && ISNUMERIC(?w)",
    "LCASE(STR(?v)) = LCASE(STR(?w))",
    "STRLEN(STR(?v)) = ?w",
    "SAMETERM(?v, ?w)",
]
"""Of a value of each of two parts."""


def related(store: Store) -> set[tuple[Node, ...]]:
    return {(s, o) for s, p, o in store.triples() if p == E.related}


def asked(store: Store, equation: str) -> set[tuple[Node, ...]]:
    """What a query says, which joins all with all."""
    text = f"SELECT ?x ?y {{ ?x <http://e/l> ?v . ?y <http://e/r> ?w FILTER({equation}) }}"
    return {(row[0], row[1]) for row in store.query(text)}


@pytest.mark.long_on_spark(each=8, but=1)
@pytest.mark.parametrize("equation", EQUATIONS)
def test_the_matches_are_those_of_the_equation(make_store: MakeStore, tmp_path: Path, equation: str) -> None:
    """When facts are loaded, and when they go and come back."""
    file = tmp_path / "own.dlog"
    file.write_text(
        "PREFIX : <http://e/>\n"
        f"@rule related [?x, :related, ?y] :- [?x, :l, ?v], [?y, :r, ?w], FILTER({equation}) .\n"
        f"@rule alone [?x, a, :Alone] :- [?x, :l, ?v], NOT ([?y, :r, ?w], FILTER({equation})) .\n",
        encoding="utf-8",
    )
    store = make_store(["none", str(file)])
    facts = [(E[f"{side}{n}"], E[side], value) for n, value in enumerate(VALUES) for side in "lr"]
    store.update(add=facts[::2])
    store.materialise()
    store.update(add=facts[1::2])
    wanted = asked(store, equation)
    assert wanted
    assert related(store) == wanted
    alone = {E[f"l{n}"] for n, _ in enumerate(VALUES)} - {x for x, _ in wanted}
    assert {s for s, p, o in store.triples() if (p, o) == (RDF.type, E.Alone)} == alone
    store.materialise()
    assert related(store) == wanted
    assert {s for s, p, o in store.triples() if (p, o) == (RDF.type, E.Alone)} == alone
    store.update(delete=facts[::3], maintain="dred")
    assert related(store) == asked(store, equation)
    store.update(add=facts[::3])
    assert related(store) == wanted
    assert {s for s, p, o in store.triples() if (p, o) == (RDF.type, E.Alone)} == alone


def test_a_class_is_compared_by_each_of_its_terms(make_store: MakeStore, tmp_path: Path) -> None:
    """Once for each pair, and again when a class grows or is split."""
    file = tmp_path / "own.dlog"
    file.write_text(
        "PREFIX : <http://e/>\n"
        "@rule pair [?x, :pair, ?y] :- [?x, :l, ?v], [?y, :r, ?w], FILTER(LCASE(STR(?v)) = LCASE(STR(?w))) .\n"
        "@rule count [?x, :times, ?n] :- AGGREGATE([?x, :l, ?v], [?y, :r, ?w], "
        "FILTER(LCASE(STR(?v)) = LCASE(STR(?w))) ON ?x BIND COUNT(?y) AS ?n) .\n",
        encoding="utf-8",
    )
    store = make_store(["none", str(file)], "rewrite")
    same = "<http://www.w3.org/2002/07/owl#sameAs>"
    store.update(add=[(E.x, E.l, E.a), (E.y, E.r, E.B)])
    assert not list(store.query("SELECT * { ?x <http://e/pair> ?y }"))
    equal = f"{{ <http://e/a> {same} <http://e/b>, <http://e/A> . <http://e/B> {same} <http://e/A2> }}"
    store.sparql_update(f"INSERT DATA {equal}")
    assert len(list(store.query("SELECT * { ?x <http://e/pair> ?y }"))) == 1
    assert [row[0].toPython() for row in store.query("SELECT ?n { <http://e/x> <http://e/times> ?n }")] == [1]
    store.materialise()
    assert [row[0].toPython() for row in store.query("SELECT ?n { <http://e/x> <http://e/times> ?n }")] == [1]
    store.sparql_update(f"DELETE DATA {equal}")
    assert not list(store.query("SELECT * { ?x <http://e/pair> ?y }"))
