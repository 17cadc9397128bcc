"""A statement reads the very tables that it was made with, however many are made before it runs, or beside it."""

from __future__ import annotations

import ast
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import count
from pathlib import Path
from random import Random
from typing import Any, Final

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from rdflib import Literal
from rdflib.namespace import OWL, RDF, RDFS, Namespace

from tests.conftest import MakeStore
from tests.support.closure import MODES, PHASES
from tests.support.custom_programs import GIVEN, agree
from tests.support.random_programs import Triple
from tests.support.seeds import seeds
from tests.support.sparql import bag, make_graph
from tests.support.sparql_random import everywhere, random_graph, random_path_query
from tests.support.thresholds import modules
from triplake.sparql import Graph, query
from triplake.sparql.constants import Known
from triplestore.dictionary import literals
from triplestore.dictionary.term_rows import term_sql
from triplestore.engine import Engine
from triplestore.engine.arrow import int64s
from triplestore.engine.sql import Scratch, unique
from triplestore.materialise.same_as import clashes_between
from triplestore.materialise.statements import triples_table
from triplestore.model.rule import Rule
from triplestore.model.terms import FIRST_LITERAL, SAME_AS

pytestmark = pytest.mark.spark_alone

E = Namespace("http://e/")

COUNTING = """PREFIX : <http://e/>
@rule viasub
[?x, a, ?d] :- [?c, rdfs:subClassOf, ?d], [?x, a, ?c], AGGREGATE([?x, :p, ?y] ON ?x BIND COUNT(?y) AS ?n), FILTER(?n > 1) .
@rule viaeq
[?x, a, ?d] :- [?c, owl:equivalentClass, ?d], [?x, a, ?c], AGGREGATE([?x, :q, ?y] ON ?x BIND COUNT(?y) AS ?n), FILTER(?n > 1) .
"""  # noqa: E501


@pytest.mark.long_on_spark(each=3)
@pytest.mark.parametrize("axioms", [99, 100, 101, 200])
def test_aggregates_over_many_rule_instances(make_store: MakeStore, tmp_path: Path, axioms: int) -> None:
    """Two rules with one shape and different aggregates: neither loses its instances to the other."""
    file = tmp_path / "counting.dlog"
    file.write_text(COUNTING, encoding="utf-8")
    store = make_store([str(file)])
    triples = [(E[f"A{i}"], RDFS.subClassOf, E[f"B{i}"]) for i in range(axioms)]
    triples += [(E[f"C{i}"], OWL.equivalentClass, E[f"D{i}"]) for i in range(axioms)]
    for i in range(5):
        for kind, prop in (("A", E.p), ("C", E.q)):
            one = E[f"{kind.lower()}{i}"]
            triples += [(one, RDF.type, E[f"{kind}{i}"]), *((one, prop, Literal(value)) for value in (1, 2))]
    store.update(add=triples)
    found = {(s, o) for s, p, o in store.triples("inferred") if p == RDF.type}
    assert found == {(E[f"{low}{i}"], E[f"{up}{i}"]) for i in range(5) for low, up in (("a", "B"), ("c", "D"))}


@pytest.mark.parametrize("equality", MODES)
@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, phases=PHASES)
@given(**GIVEN)
def test_instances_in_tables(embedded: Engine, triples: list[Triple], rules: tuple[Rule, ...], equality: str) -> None:
    """Random programs with the bound at 1, so that each statement of two or more instances reads a table."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("triplestore.model.thresholds.Sizes.inline", 1)
        agree(embedded, triples, rules, equality)


def test_no_two_names_are_alike(embedded: Engine) -> None:
    a, b = Scratch(embedded), Scratch(embedded)
    table = pa.table({"n": int64s([1])})
    names = [scratch.load("some", table) for scratch in (a, b, a)] + [unique("some"), a.table("some")]
    assert len(set(names)) == len(names)
    a.clear()
    assert embedded.rows(f"SELECT n FROM {names[1]}") == [(1,)]
    b.clear()
    for name in names:
        assert embedded.rows(f"SELECT count(*) FROM information_schema.tables WHERE table_name = '{name}'") == [(0,)]


class Alternating:
    """An engine for one of two threads, which take turns: each call of one is followed by one of the other. What is
    called within a call, as where a statement is compiled when it is run, is of the same turn."""

    def __init__(self, engine: Any, turns: list[threading.Semaphore], place: int, ended: set[int]) -> None:
        self._engine, self._turns, self._place, self._ended = engine, turns, place, ended
        self.calls, self._within = 0, False

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._engine, name)
        if name == "scratch":
            return lambda: Scratch(self)
        if not callable(found) or name == "dialect":
            return found

        def call(*arguments: Any) -> Any:
            if self._within:
                return found(*arguments)
            self._turns[self._place].acquire()
            self._within = True
            try:
                self.calls += 1
                return found(*arguments)
            finally:
                self._within = False
                self.pass_on()

        return call

    def pass_on(self) -> None:
        other = 1 - self._place
        self._turns[self._place if other in self._ended else other].release()


def beside(engine: Engine, one: Callable[[Any], object], other: Callable[[Any], object]) -> tuple[list[Any], int]:
    """What two computations over one engine find, statement by statement in turns; how many of the fewer there were."""
    turns = [threading.Semaphore(1), threading.Semaphore(0)]
    ended: set[int] = set()
    engines = [Alternating(engine, turns, place, ended) for place in range(2)]

    def run(place: int) -> object:
        try:
            return (one, other)[place](engines[place])
        finally:
            ended.add(place)
            turns[1 - place].release()

    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(run, range(2)))
    return found, min(e.calls for e in engines)


def asks(graph: Graph, seed: int, ask: Callable[[Random], str]) -> Callable[[Any], list[Any]]:
    """Random queries over a graph, on the engine that is given."""

    def answers(engine: Any) -> list[Any]:
        rng = Random(seed)
        return [bag(query(replace(graph, engine=engine, known=Known()), ask(rng)).tokens()) for _ in range(4)]

    return answers


def test_a_subquery_hides_no_working_table(embedded: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """A statement names its subqueries itself; whatever the number of the next working table, they have other names."""
    text = "SELECT ?w { ?y <http://e/p>? ?x . ?y <http://e/q>? ?z . ?x (<http://e/p>/<http://e/q>)+ ?w }"
    graph = make_graph(embedded, [(f"<http://e/{a}>", f"<http://e/{p}>", "<http://e/a>") for a in "ab" for p in "pq"])
    found = []
    for first in range(12):
        monkeypatch.setattr("triplestore.engine.sql._NUMBERS", count(first))
        found.append(bag(query(graph, text).tokens()))
    assert found == found[:1] * 12
    assert found[0]


@pytest.mark.parametrize("seed", seeds(range(4), 1))
def test_two_computations_do_not_disturb_each_other(embedded: Engine, seed: int) -> None:
    """Repeated paths, which are closed in working tables, and look-ups of what an answer holds."""
    facts, classes, asserted = random_graph(Random(seed))
    graph = make_graph(embedded, [*facts, *everywhere()], classes, asserted)
    one, other = asks(graph, seed, random_path_query), asks(graph, seed + 100, random_path_query)
    alone = [one(embedded), other(embedded)]
    found, calls = beside(embedded, one, other)
    assert found == alone
    assert calls > 4


def test_a_statement_keeps_its_tables_until_it_runs(embedded: Engine) -> None:
    """Two statements that find clashing values are made before either runs."""
    texts = ['"1"', '"2"', '"3"', '"4"']
    rows = pa.table({"id": int64s(range(FIRST_LITERAL, FIRST_LITERAL + 4)), "token": texts})
    with embedded.scratch() as scratch:
        embedded.create("term", term_sql(embedded.dialect, scratch.load("token", rows)))
        literals.settle(embedded, "term", "term", few=True)
        made = []
        for a, b in ((0, 1), (2, 3)):
            pair = triples_table([(FIRST_LITERAL + a, SAME_AS, FIRST_LITERAL + b)])
            made.append(clashes_between(embedded, scratch, scratch.load("pair", pair)))
        found = [embedded.rows(sql) for sql in made]
    assert [facts for ((_, facts),) in found] == [
        [FIRST_LITERAL, SAME_AS, FIRST_LITERAL + 1],
        [FIRST_LITERAL + 2, SAME_AS, FIRST_LITERAL + 3],
    ]


MAKING: Final = ("load", "create", "number", "view", "attach", "lines", "append")

FIXED: Final = {
    **dict.fromkeys(("term", "asserted", "given", "fact", "same_as", "violation"), "a table of the store"),
    **dict.fromkeys(("stored_term", "new_term"), "the two parts of `term`"),
    **dict.fromkeys(("delta", "derived", "identity", "occurs", "occurs_delta"), "a run's, beside `fact`"),
    **dict.fromkeys(("added", "removed"), "what a run changed of `fact`"),
    **dict.fromkeys(("before_fact", "before_same_as"), "what `fact` and `same_as` were before a run from scratch"),
    **dict.fromkeys(("raw", "encoded", "plus", "minus", "quad_plus", "quad_minus"), "the change under way"),
    **dict.fromkeys(("background", "background_asserted", "background_same_as"), "a stream's, in an engine of its own"),
    **dict.fromkeys(("streamed", "closure", "equal", "arrived", "fresh_term", "stream_token"), "likewise"),
}
"""Working tables whose names are fixed: one computation at a time changes them in place."""


def fixed_names() -> Iterator[tuple[str, str]]:
    """The tables that the library makes by names written into it, and where."""
    for module, file in modules().items():
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in MAKING:
                of_an_engine = ast.unparse(node.func.value).endswith(("engine", "bench"))
                if of_an_engine and node.args and isinstance(node.args[0], ast.Constant):
                    yield str(node.args[0].value), f"{module}:{node.lineno}"


def test_working_tables_have_names_of_their_own() -> None:
    """All others are made by a `Scratch`."""
    assert [(name, place) for name, place in fixed_names() if name not in FIXED] == []
