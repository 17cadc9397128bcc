"""The order of joins: the counts it reads, the order it chooses, and what is shown of it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import rdflib
from rdflib.namespace import RDF

from tests.conftest import MakeStore
from triplake.sparql.patterns import planned
from triplestore import Store
from triplestore.model.errors import StoppedError
from triplestore.model.expression import Constant, Variable
from triplestore.model.stopping import Stop, heeding
from triplestore.model.terms import TYPE
from triplestore.storage.statistics import Counts, Statistics

EX = rdflib.Namespace("http://e/")
X, Y, Z = (Variable(name) for name in "xyz")
A, MEMBER, NAME, DEPARTMENT, STUDENT = (Constant(f"<http://e/{name}>") for name in ("a", "m", "n", "Dep", "Stu"))
KIND = Constant("<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>")
IDS = {MEMBER.token: 101, NAME.token: 102, DEPARTMENT.token: 201, STUDENT.token: 202, A.token: 301, KIND.token: TYPE}
KNOWN = Statistics(
    {TYPE: Counts(9_000, 5_000, 20), 101: Counts(4_000, 4_000, 100), 102: Counts(5_000, 5_000, 4_000)},
    {201: 100, 202: 4_000},
)


def test_few_matches_come_first() -> None:
    student, department = (X, KIND, STUDENT), (Y, KIND, DEPARTMENT)
    order = planned([student, (X, MEMBER, Y), department], IDS, KNOWN)
    assert [step.triple for step in order] == [department, (X, MEMBER, Y), student]
    assert [step.matches for step in order] == [100, 4_000, 4_000]
    assert [step.rows for step in order] == [100, 4_000, 4_000]


def test_what_is_joined_is_connected() -> None:
    """Two small patterns that share nothing are not multiplied before what connects them."""
    first, last, between = (X, NAME, A), (Y, KIND, DEPARTMENT), (X, MEMBER, Y)
    order = planned([first, last, between], IDS, KNOWN)
    assert [step.triple for step in order] == [first, between, last]
    assert order[0].matches == pytest.approx(1.25)


def test_many_patterns_are_ordered_in_time() -> None:
    """Or until a limit: all orders of 490 patterns took minutes."""
    path = [(Variable(f"v{n}"), MEMBER, Variable(f"v{n + 1}")) for n in range(490)]
    began = time.monotonic()
    order = planned(path, IDS, KNOWN)
    assert time.monotonic() - began < 10
    assert sorted(map(str, path)) == sorted(str(step.triple) for step in order)
    with heeding(Stop(0.0)), pytest.raises(StoppedError):
        planned(path, IDS, KNOWN)


def test_one_subject_is_less_than_a_class() -> None:
    order = planned([(X, KIND, STUDENT), (A, MEMBER, X)], IDS, KNOWN)
    assert order[0].triple == (A, MEMBER, X)
    assert order[-1].rows <= 1


def test_without_counts_what_is_most_bound_comes_first() -> None:
    patterns = [(X, Y, Z), (X, MEMBER, Y), (X, NAME, A)]
    assert [step.triple for step in planned(patterns, IDS, Statistics())] == patterns[::-1]


def facts(first: int, last: int) -> list[tuple[rdflib.URIRef, rdflib.URIRef, rdflib.URIRef]]:
    return [(EX[f"x{n}"], EX.p, EX[f"y{n % 5}"]) for n in range(first, last)]


def matches(store: Store) -> dict[str, int]:
    """The estimates that a query of two patterns is planned with."""
    found = store.explain_query("PREFIX : <http://e/> SELECT * { ?x a :C . ?x :p ?y }")
    (steps,) = found.order.values()
    return {step.pattern: step.matches for step in steps}


P, C = "?x <http://e/p> ?y", "?x <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://e/C>"


@pytest.mark.long_on_spark
def test_counts_follow_the_closure_roughly(make_store: MakeStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("triplestore.model.thresholds.Sizes.small", 0)
    store = make_store(["none"])
    store.update(add=[*facts(0, 50), *((EX[f"x{n}"], RDF.type, EX.C) for n in range(10))])
    assert matches(store) == {C: 10, P: 50}
    store.update(add=facts(50, 53))
    assert matches(store) == {C: 10, P: 50}, "a few facts more leave the counts as they are"
    store.update(add=facts(53, 100), delete=[(EX.x0, RDF.type, EX.C)])
    assert matches(store) == {C: 9, P: 100}, "many do not"
    store.update(add=facts(100, 103))
    store.materialise()
    assert matches(store) == {C: 9, P: 103}


def test_the_order_is_shown_with_its_estimates(tmp_path: Path) -> None:
    with Store.create(tmp_path / "kg", ["none"]) as store:
        store.update(add=[*facts(0, 50), (EX.x1, RDF.type, EX.C), (EX.x2, RDF.type, EX.C)])
        found = store.explain_query("PREFIX : <http://e/> SELECT * { ?x :p ?y . ?x a :C }")
    assert (
        f"-- order of joins, with estimates\npattern_0\n  {C}  (2 matches)\n  {P}  (50 matches, 2 rows so far)"
        in found.text()
    )
    assert found.as_json()["order"] == {
        "pattern_0": [{"pattern": C, "matches": 2, "rows": 2}, {"pattern": P, "matches": 50, "rows": 2}]
    }


def test_few_facts_are_counted_when_it_matters(tmp_path: Path) -> None:
    with Store.create(tmp_path / "kg", ["none"], engine="duckdb") as store:
        store.update(add=facts(0, 100))
        store.update(add=[*facts(100, 101), (EX.x1, RDF.type, EX.C)])
        assert matches(store) == {C: 1, P: 101}


def test_a_copy_has_the_counts_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("triplestore.model.thresholds.Sizes.small", 0)
    with Store.create(tmp_path / "kg", ["none"]) as store:
        store.update(add=facts(0, 20))
        store.copy(tmp_path / "copy")
    with Store.open(tmp_path / "copy") as store:
        assert matches(store)[P] == 20
