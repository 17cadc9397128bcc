"""Answers over closures full of equality: random programs closed by us and by the oracle, random queries over both.

The expanded closure must be the oracle's, which treats equality by axioms, and the answers, as bags, must be those that
Oxigraph gives over the oracle's graph (where the two differ, RDFLib decides: `tests.unit.sparql.test_sparql_random`).
"""

from __future__ import annotations

import logging
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest
from rdflib import URIRef

from datasets.clique.generate import EX, clique, expanded
from tests.conftest import MakeStore
from tests.support.answers import check
from tests.support.asker import Asker, graph_of
from tests.support.closure import expected, materialised
from tests.support.equality_programs import RULES, random_facts
from tests.support.random_programs import PROPERTIES, SAME, TYPE, Triple, rules_of
from tests.support.seeds import seeds
from triplake.sparql import Graph
from triplestore.closure.view import ClosureView
from triplestore.engine import Engine
from triplestore.model.equality import Equality
from triplestore.model.errors import UsageError
from triplestore.model.rule import Rule
from triplestore.model.terms import OWL, RDFS, to_rdflib
from triplestore.store import Store

ODD = [(PROPERTIES[1], SAME, TYPE), (PROPERTIES[2], SAME, f"<{RDFS}subClassOf>"), (PROPERTIES[3], SAME, SAME)]
"""A user's property equal to one that rules speak of."""


def facts_of(rng: Random) -> tuple[list[Triple], tuple[Rule, ...], bool]:
    """(triples, rules without the facts of their own, whether literals are compared by value)."""
    own = tuple(rng.sample(RULES, rng.randint(0, 2)))
    rules = (*rules_of((rng.choice(["owl2rl", "rdfs-plus"]),)), *own)
    facts = random_facts(rng)
    if rng.random() < 0.15:
        facts = sorted({*facts, rng.choice(ODD)})
    return facts, tuple(rule for rule in rules if rule.body), rng.random() < 0.3


def closed(engine: Engine, rng: Random) -> tuple[Graph, set[Triple]]:
    """The closure of a random program in the engine, and the oracle's, which it must be equal to."""
    facts, rules, by_value = facts_of(rng)
    got, _ = materialised(engine, facts, rules, "rewrite", datatypes=by_value)
    wanted, _ = expected(facts, rules, "rewrite", by_value)
    assert got == wanted
    return graph_of(engine, by_value), wanted


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL, "rdflib.term")


def run(engine: Engine, seed: int, queries: int) -> None:
    rng = Random(seed)
    graph, triples = closed(engine, rng)
    Asker(rng, graph, triples, f"seed {seed}").round(queries)


@pytest.mark.parametrize("seed", seeds(range(60), 4))
def test_answers(embedded: Engine, seed: int) -> None:
    run(embedded, seed, 3)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1000, 1050))
def test_answers_often(embedded: Engine, seed: int) -> None:
    run(embedded, seed, 10)


@pytest.mark.long
@pytest.mark.spark
def test_answers_on_spark(spark_engine: Engine) -> None:
    run(spark_engine, 0, 2)


@pytest.mark.spark
@pytest.mark.long
@pytest.mark.parametrize("seed", range(2000, 2004))
def test_answers_on_spark_often(spark_engine: Engine, seed: int) -> None:
    run(spark_engine, seed, 5)


@pytest.mark.long
def test_a_large_class_is_counted_and_cut_short_without_being_enumerated(tmp_path: Path) -> None:
    """10,000 equal resources with five facts each: 6 * 10^8 triples, 10^16 solutions of joins: too many to list."""
    (tmp_path / "clique.nt").write_text("".join(clique(10_000, 5)))
    with Store.create(tmp_path / "kg") as store:
        store.load(tmp_path / "clique.nt")
        stats, all_ = store.stats(), expanded(10_000, 5)
        assert stats["facts"] < 60_000
        own = stats["expanded"] - all_  # what the rules say without any data
        assert own < 100
        counts = {
            "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }": all_ + own,
            "SELECT (COUNT(?s) AS ?n) { ?s ?p ?o }": all_ + own,
            f"SELECT (COUNT(*) AS ?n) {{ <{EX}r7> ?p ?o }}": 60_000,
            f"SELECT (COUNT(*) AS ?n) {{ ?s <{EX}p1> ?o }}": 10**8,
            f"SELECT (COUNT(DISTINCT ?s) AS ?n) {{ ?s <{EX}p1> ?o }}": 10**4,
            f"SELECT (COUNT(*) AS ?n) {{ {{ SELECT DISTINCT ?s ?p {{ ?s ?p ?o . ?s <{EX}p1> ?v }} }} }}": 6 * 10**4,
            f"SELECT (COUNT(*) AS ?n) {{ ?s <{EX}p0> ?x . ?s <{EX}p1> ?y . ?s <{EX}p2> ?z }}": 10**16,
            f"SELECT (COUNT(*) AS ?n) {{ ?s <{EX}p0> ?x . ?t <{EX}p1> ?y }}": 10**16,
            f"SELECT (COUNT(?o) AS ?n) {{ ?s <{EX}p1> ?o FILTER(?s IN (<{EX}r1>, <{EX}r2>, <{EX}q>)) }}": 2 * 10**4,
            f"SELECT (COUNT(*) AS ?n) {{ VALUES ?s {{ <{EX}r1> <{EX}r2> <{EX}q> }} ?s <{EX}p1> ?o }}": 2 * 10**4,
        }
        for text, count in counts.items():
            ((found,),) = store.query(text)
            assert found.toPython() == count, text
        some = (
            f"SELECT ?p ?o {{ <{EX}r7> ?p ?o }} LIMIT 10",
            "SELECT * { ?s ?p ?o } LIMIT 10",
            f"SELECT * {{ ?s <{EX}p0> ?x . ?s <{EX}p1> ?y }} LIMIT 10",
            f"SELECT * {{ ?s <{EX}p1> ?o FILTER(?s = <{EX}r7>) }} ORDER BY ?o LIMIT 10 OFFSET 5",
            f"SELECT ?o {{ ?s <{EX}p1> ?o }} ORDER BY ?o LIMIT 10",
        )
        for text in some:
            assert len(store.query(text)) == 10, text
        assert len(store.query(f"SELECT ?s {{ ?s <{EX}p1> ?o }} GROUP BY ?s HAVING (COUNT(*) = 10000)")) == 10_000


def test_what_is_new_in_each_solution_is_so_within_a_class(tmp_path: Path) -> None:
    """RAND() was one number for all members of a class, wherever nothing else was read of them."""
    same = " ".join(f"<u:a{n}> owl:sameAs <u:a{n + 1}> . <u:b{n}> owl:sameAs <u:b{n + 1}> ." for n in range(40))
    with Store.create(tmp_path / "kg", engine="duckdb") as store:
        store.sparql_update(f"INSERT DATA {{ {same} <u:a0> <u:p> 1 . <u:b0> <u:p> 2 }}")
        some = len(store.query("SELECT ?x { ?x <u:p> 1 FILTER(RAND() < 0.5) }"))
        assert 0 < some < 41
        order = "".join(str(x)[2] for (x,) in store.query("SELECT ?x { ?x <u:p> ?n } ORDER BY RAND()"))
        assert sorted(order) == ["a"] * 41 + ["b"] * 41
        assert order.count("ab") + order.count("ba") > 1


def test_a_preferred_member_stands_for_its_class(tmp_path: Path) -> None:
    names = ["http://one/long-name", "http://two/a", "http://two/b", "http://three/abc"]
    links = "".join(f"<{a}> <{OWL}sameAs> <{b}> .\n" for a, b in pairwise(names))
    (tmp_path / "facts.nt").write_text(
        f'{links}<{names[2]}> <http://e/p> "v" .\n<{names[0]}> <http://e/q> <http://e/x> .\n'
    )
    with Store.create(tmp_path / "kg", rules=["rdfs-plus"], equality="rewrite") as store:
        store.load(tmp_path / "facts.nt")

        def shown(*prefer: str, text: str = "SELECT ?s { ?s <http://e/p> ?o }") -> list[str]:
            return [str(row[0]) for row in store.query(text, "canonical", prefer=prefer)]

        assert shown("http://three/", "http://two/") == ["http://three/abc"]
        assert shown("http://four/", "http://two/") == ["http://two/a"]
        assert shown("http://four/") == shown() == ["http://two/a"]  # the shortest
        assert shown("http://two/b") == ["http://two/b"]
        asked = "SELECT ?s { ?s <http://e/p> ?o FILTER(?s = <http://one/long-name> && STR(?s) = 'http://two/a') }"
        assert shown("http://two/", text=asked) == ["http://two/a"]
        walked = "SELECT ?s { <http://e/x> ^<http://e/q>* ?s . VALUES ?s { <http://two/b> <http://one/x> } }"
        assert shown("http://two/", text=walked) == ["http://two/a"]
        assert shown("http://two/", text="SELECT (COUNT(*) AS ?n) { ?s <http://e/p> ?o . ?s ?q ?x }") == [
            "3"
        ]  # and that it equals itself
        lines = [line for batch in store.lines("all", "canonical", prefer=["http://three/"]) for line in batch]
        assert '<http://three/abc> <http://e/p> "v" .' in lines
        with pytest.raises(UsageError, match="canonical"):
            store.query("ASK { ?s ?p ?o }", prefer=["http://two/"])
        with pytest.raises(UsageError, match="canonical"):
            next(store.lines("all", prefer=["http://two/"]))


@pytest.mark.long_on_spark
def test_what_came_first_does_not_choose_who_stands_for_a_class(make_store: MakeStore) -> None:
    names = ["http://e/the-longest", "http://e/b", "http://e/a", "_:b", f"{RDFS}label"]
    terms = [to_rdflib(name if name[0] == "_" else f"<{name}>") for name in names]
    own, same, value = (URIRef(iri) for iri in ("http://e/own", f"{OWL}sameAs", "http://e/v"))
    shown, representatives = [], set()
    for chosen in (terms[:4], terms[3::-1]):
        store = make_store(rules=["rdfs-plus"])
        for one, other in pairwise(chosen):
            store.update(add=[(one, same, other), (one, own, value)])
        shown.append({t for t in store.triples("all", "canonical") if t[1] == own})
        assert shown[-1] == set(store.query("CONSTRUCT WHERE { ?s <http://e/own> ?o }", "canonical"))
        assert [str(row[0]) for row in store.query("SELECT ?s { ?s <http://e/own> ?o }", "canonical")] == [names[2]]
        representatives.add(store.equality_classes()[0][1][0])
        store.update(add=[(terms[4], same, terms[0])])  # a word of the vocabulary
        assert [row[0] for row in store.query("SELECT ?s { ?s <http://e/own> ?o }", "canonical")] == [terms[4]]
    assert shown[0] == shown[1] == {(terms[2], own, value)}
    assert len(representatives) == 2


@pytest.mark.long_on_spark
def test_the_constants_of_rules_and_schema_are_rewritten(engine: Engine) -> None:
    """Equal classes, equal properties, and a user's property equal to rdf:type: what rules say of one holds of both."""
    e = "<http://e/"
    facts = [
        (f"{e}is>", SAME, TYPE),
        (f"{e}C>", SAME, f"{e}D>"),
        (f"{e}p>", SAME, f"{e}q>"),
        (f"{e}p>", f"<{RDFS}domain>", f"{e}C>"),
        (f"{e}D>", f"<{RDFS}subClassOf>", f"{e}E>"),
        (f"{e}a>", f"{e}q>", f"{e}b>"),
        (f"{e}c>", f"{e}is>", f"{e}D>"),
    ]
    rules = tuple(rule for rule in rules_of(("rdfs-plus",)) if rule.body)
    got, _ = materialised(engine, facts, rules, "rewrite")
    assert got == expected(facts, rules, "rewrite")[0]
    assert {(f"{e}{x}>", p, f"{e}E>") for x in "ac" for p in (TYPE, f"{e}is>")} <= got
    classes = engine.query("SELECT count(DISTINCT representative) AS n FROM same_as").column(0)[0].as_py()
    asker = Asker(Random(0), Graph(engine, ClosureView(Equality.REWRITE, classes)), got, "constants")
    for text in (
        f"SELECT ?x ?y {{ ?x {e}is> ?y . ?x {e}p> ?z }}",
        f"SELECT (COUNT(*) AS ?n) {{ ?x a ?y . ?x {e}p> ?z }}",
        f"SELECT ?p (COUNT(*) AS ?n) {{ ?x ?p {e}E> }} GROUP BY ?p",
    ):
        check(asker.graph, got, text, asker.note)


def test_what_joins_by_value_is_counted_so_too(tmp_path: Path) -> None:
    """A value in two forms: the forms shown are those of the pattern that is written first."""
    integer = "<http://www.w3.org/2001/XMLSchema#integer>"
    (tmp_path / "facts.nt").write_text(
        f'<http://e/a> <http://e/p> "1"^^{integer} .\n<http://e/b> <http://e/q> "01"^^{integer} .\n'
        f'<http://e/c> <http://e/q> "2"^^{integer} .\n'
    )
    with Store.create(tmp_path / "kg") as store:
        store.load(tmp_path / "facts.nt")
        patterns = ("?x <http://e/p> ?v", "?y <http://e/q> ?v")
        for one, other in (patterns, patterns[::-1]):
            body = f"{{ {one} . {other} }}"
            ((form,),) = store.query(f"SELECT ?v {body}").tokens()
            assert form == (f'"1"^^{integer}' if one == patterns[0] else f'"01"^^{integer}')
            ((count,),) = store.query(f"SELECT (COUNT(*) AS ?n) {body}")
            assert count.toPython() == 1
            ((value, count),) = store.query(f"SELECT ?v (COUNT(?x) AS ?n) {body} GROUP BY ?v")
            assert (value.toPython(), count.toPython()) == (1, 1)
