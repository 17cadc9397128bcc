"""Tangles of rules, equality and constants (`tests.tangles`): the oracle, materialisation in both modes and every
maintenance algorithm agree. Cases that once went wrong, and random ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from rdflib.namespace import OWL, Namespace

from rulesets import datalog
from tests.conftest import MakeStore
from tests.random_programs import SAME, TYPE, Triple, ex
from tests.tangles import EQUIVALENT, Tangle, check, tangle
from tests.test_closure import MODES, agree
from triplestore.engine import Engine

E = Namespace("http://e/")
C = [ex(f"c{i}") for i in range(6)]
P0, P1, P2 = ex("p0"), ex("p1"), ex("p2")

SUPPORTING_EACH_OTHER = """
[:c1, owl:sameAs, :c4] :- [?z, :p0, :c0], [?z, :p0, ?z] .
[?y, :p1, ?x] :- [:c5, :p0, ?x], [?z, :p1, ?z], [?z, :p0, ?y] .
[?z, :p0, ?x] :- [?x, :p1, :c4], [?z, :p1, ?z] .
[?y, :p1, ?z] :- [?y, owl:sameAs, ?z], [?x, :p0, ?y], [?x, :p1, ?z] .
"""

CASES = [
    pytest.param(
        SUPPORTING_EACH_OTHER,
        [(C[3], P0, C[0]), (C[3], P1, C[3]), (C[4], P1, C[4]), (C[4], P1, C[5]), (C[5], P1, C[4])],
        [(C[5], P1, C[4])],
        id="facts-that-support-each-other",
    ),
    pytest.param(
        "[:c0, owl:sameAs, :c1] :- [?x, :p0, :c1] .",
        [(C[2], P0, C[1]), (C[3], P0, C[0])],
        [(C[2], P0, C[1])],
        id="the-equality-makes-its-own-body",
    ),
    pytest.param(
        "[:c0, owl:sameAs, :c1] :- [?x, :p0, :c2] .",
        [(C[3], P0, C[2]), (C[1], P1, C[4])],
        [(C[3], P0, C[2])],
        id="an-equality-of-constants",
    ),
    pytest.param(
        "[?c, owl:sameAs, ?d] :- [?c, owl:equivalentClass, ?d], [?x, a, ?c] .",
        [(C[0], EQUIVALENT, C[1]), (C[2], TYPE, C[0]), (C[3], TYPE, C[4])],
        [(C[2], TYPE, C[0])],
        id="an-equality-of-classes-with-members",
    ),
    pytest.param(
        "[?c, owl:sameAs, ?d] :- [?c, owl:equivalentClass, ?d] .",
        [(C[0], EQUIVALENT, C[1]), (C[0], EQUIVALENT, C[0]), (C[2], TYPE, C[0])],
        [(C[0], EQUIVALENT, C[1])],
        id="an-axiom-that-stands-for-two",
    ),
    pytest.param(
        "[:c0, owl:sameAs, :c1] :- [?x, :p0, :c2] . [:c1, owl:sameAs, :c4] :- [:c3, :p1, ?x] .",
        [(C[3], P0, C[2]), (C[3], P1, C[2]), (C[4], P1, C[5])],
        [(C[3], P1, C[2])],
        id="one-of-two-equalities",
    ),
]


@pytest.mark.long_on_spark
@pytest.mark.parametrize(("rules", "start", "gone"), CASES)
def test_equalities_of_constants_go(engine: Engine, rules: str, start: list[Triple], gone: list[Triple]) -> None:
    """And come back, and go with half of the rest."""
    parsed = datalog.parse(f"PREFIX : <http://e/>\n{rules}", "tangle")
    back = (frozenset[Triple](), frozenset(gone)), (frozenset(gone), frozenset[Triple]())
    one = Tangle(tuple(parsed), frozenset(start), (*back, (frozenset[Triple](), frozenset([*gone, *start[::2]]))))
    assert check(engine, one) > 0


REFLEXIVE = [
    "[?y, :q, ?z] :- [?y, owl:sameAs, ?z] .",
    "[?x, :q, :k] :- [owl:sameAs, owl:sameAs, ?x] .",
    "[?x, :q, ?y] :- [?z, ?x, ?y] .",
    "[?x, :q, :k] :- [?y, ?x, ?y], [:c0, :p0, :c1] .",
    "[?x, :q, ?y] :- [?y, owl:sameAs, :c0], [?z, ?y, ?x] .",
    "false :- [owl:sameAs, owl:sameAs, owl:sameAs] .",
]
"""Bodies that match what eq-ref says of owl:sameAs itself, or seem to."""


@pytest.mark.long_on_spark
def test_owl_same_as_occurs_where_anything_does(engine: Engine) -> None:
    """Every triple has `x owl:sameAs x` follow, which has owl:sameAs for its predicate."""
    start, same = (C[0], P0, C[1]), (C[0], SAME, C[1])
    for number, text in enumerate(REFLEXIVE):
        rules = tuple(datalog.parse(f"PREFIX : <http://e/>\n{text}", "reflexive"))
        for data in ([start], [start, same], [(C[0], P0, C[0]), (C[0], SAME, C[0])])[: 1 if number else 3]:
            for equality in MODES:
                agree(engine, data, rules, equality)


@pytest.mark.long_on_spark
def test_a_proof_that_owl_same_as_equals_itself(make_store: MakeStore, tmp_path: Path) -> None:
    file = tmp_path / "reflexive.dlog"
    file.write_text(f"PREFIX : <http://e/>\n@rule like {REFLEXIVE[0]}\n", encoding="utf-8")
    store = make_store(["none", str(file)], "rewrite")
    store.update(add=[(E.a, E.p, E.b)])
    assert (OWL.sameAs, E.q, OWL.sameAs) in set(store.triples())
    proof = store.explain((OWL.sameAs, E.q, OWL.sameAs))
    assert proof is not None
    assert [premise.by for premise in proof.premises] == ["eq-ref"]
    store.update(delete=[(E.a, E.p, E.b)])
    assert list(store.triples()) == []


FEW = 60


@pytest.mark.parametrize("part", range(6))
def test_tangles(embedded: Engine, part: int) -> None:
    assert sum(check(embedded, tangle(seed)) for seed in range(part, FEW, 6)) > 50


@pytest.mark.long
@pytest.mark.parametrize("part", range(50))
def test_many_tangles(embedded: Engine, part: int) -> None:
    assert sum(check(embedded, tangle(seed)) for seed in range(part, 5_000, 50)) > 1_000


@pytest.mark.spark
def test_tangles_on_spark(spark_engine: Engine) -> None:
    check(spark_engine, tangle(15))


@pytest.mark.spark
@pytest.mark.long
@pytest.mark.parametrize("part", range(10))
def test_many_tangles_on_spark(spark_engine: Engine, part: int) -> None:
    for seed in range(part, 100, 10):
        check(spark_engine, tangle(seed))
