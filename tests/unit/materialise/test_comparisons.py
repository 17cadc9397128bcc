"""Rules that compare terms, of which a class of equal terms has several: the oracle, materialisation in both modes and
every maintenance algorithm agree."""

from __future__ import annotations

import pytest

from tests.support import custom_programs
from tests.support.compared_programs import compared
from tests.support.custom_updates import follow
from tests.support.random_programs import SAME, Triple, ex
from tests.support.random_tangles import Tangle
from tests.support.seeds import seeds
from tests.support.tangles import check, check_store
from triplake.rulesets import datalog
from triplestore.engine import Engine
from triplestore.model.rule import Rule
from triplestore.model.terms import RDFS

C = [ex(f"c{i}") for i in range(4)]
P0, P1, Q, SUB = ex("p0"), ex("p1"), ex("q"), f"<{RDFS}subClassOf>"


def rules(text: str) -> tuple[Rule, ...]:
    return datalog.parse(f"PREFIX : <http://e/>\n{text}", "compared")


def history(text: str, start: list[Triple], *changes: Triple) -> Tangle:
    """What is there of the changes goes, what is not comes, one after the other."""
    now, updates = set(start), []
    for triple in changes:
        come, go = ({triple}, set[Triple]()) if triple not in now else (set[Triple](), {triple})
        updates.append((frozenset(come), frozenset(go)))
        now = (now | come) - go
    return Tangle(rules(text), frozenset(start), tuple(updates))


OF_AXIOMS = "[?c, :q, ?d] :- [?c, rdfs:subClassOf, ?d], FILTER(?c != ?d) .\n"
EQUAL = "[?u, owl:sameAs, ?v] :- [?u, :p1, ?v] .\n"


@pytest.mark.long_on_spark
def test_what_axioms_alone_say_under_a_condition_stays(engine: Engine) -> None:
    """It was asserted too, or derived by data."""
    check(engine, history(OF_AXIOMS, [(C[0], SUB, C[1]), (C[0], Q, C[1])], (C[0], Q, C[1])))
    by_data = f"{OF_AXIOMS}[?y, :q, ?x] :- [?x, :p0, ?y] ."
    check(engine, history(by_data, [(C[0], SUB, C[1]), (C[1], P0, C[0])], (C[1], P0, C[0])))


@pytest.mark.long_on_spark
def test_what_axioms_alone_say_is_asked_its_condition(engine: Engine) -> None:
    check(engine, history(OF_AXIOMS + EQUAL, [(C[0], SUB, C[0]), (C[0], P1, C[1])], (C[0], P1, C[1])))


GROWING = [
    "[?x, :q, ?c] :- [?c, rdfs:subClassOf, ?d], [?x, :p0, ?y], FILTER(?c != ?d) .",
    "[?x, :q, ?c] :- [?c, rdfs:subClassOf, ?d], [?x, :p0, ?y], FILTER(?c != :c0) .",
    "false :- [?c, rdfs:subClassOf, ?d], [?x, :p0, ?y], FILTER(?c != ?d) .",
    OF_AXIOMS,
]
"""Rules of classes, which find more when one of them equals another term, though no fact of theirs is new."""


@pytest.mark.long_on_spark
@pytest.mark.parametrize("text", GROWING)
@pytest.mark.sampled(each=2)
def test_a_class_that_rules_compare_grows(engine: Engine, text: str) -> None:
    start = [(C[0], SUB, C[0]), (C[2], P0, C[3])]
    check(engine, history(text + EQUAL, start, (C[0], P1, C[1]), (C[0], P1, C[1])))
    check(engine, history(text + EQUAL, [*start, (C[0], P1, C[1])], (C[0], P1, C[1])))


@pytest.mark.long_on_spark(each=3)
@pytest.mark.parametrize("conditions", ["?z != ?x", "?z != ?x), FILTER(?x != :c2", "STR(?z) != STR(?x)"])
def test_a_class_of_terms_that_occurred_before_grows(engine: Engine, conditions: str) -> None:
    """Each equals itself before, which is no fact that a merge rewrites."""
    text = f"[?x, :p3, ?z] :- [?x, owl:sameAs, ?z], FILTER({conditions}) ."
    start = [(C[0], P0, C[3]), (C[1], P0, C[3])]
    check(engine, history(text + EQUAL, start, (C[0], P1, C[1]), (C[0], P1, C[1])))
    check(engine, history(text + EQUAL, [*start, (C[0], P1, C[1])], (C[0], P1, C[1])))


EXPRESSIONS = """
[?c, :b1, ?z] :- [?c, rdfs:subClassOf, ?d], [?x, :p0, ?y], BIND(STR(?c) AS ?z) .
[?c, :b2, ?z] :- [?c, rdfs:subClassOf, ?d], BIND(STR(?c) AS ?z) .
[?x, :b3, ?c] :- [?c, rdfs:subClassOf, ?d], [?x, :p0, ?y], FILTER(STR(?c) = "http://e/c1"), NOT [?x, :p3, ?y] .
"""


def test_a_class_that_expressions_read_grows(embedded: Engine) -> None:
    start = [(C[0], SUB, C[2]), (C[2], P0, C[3])]
    updates = [(start, []), ([(C[0], SAME, C[1])], []), ([], [(C[0], SAME, C[1])])]
    follow(updates, rules(EXPRESSIONS), "rewrite", embedded, lambda algorithm: None, engine="duckdb")


TOGETHER = [
    ("[?x, :q, :c3] :- [?x, :p0, ?y], FILTER(?x != :c1), FILTER(?x != :c2) .", [(C[1], P0, C[0])]),
    ("false :- [?x, :p0, ?y], FILTER(?x != :c1), FILTER(?x != :c2) .", [(C[1], P0, C[0])]),
    (
        "[?x, :q, :c3] :- [?x, :p0, ?u], [?x, :p0, ?v], [?x, :p0, ?w], FILTER(?u != ?v), FILTER(?v != ?w), "
        "FILTER(?w != ?u) .",
        [(C[0], P0, C[1])],
    ),
    ("[?x, :q, :c3] :- [?x, :p0, ?y], FILTER(?y != :c1), NOT ([?x, :p0, ?z], FILTER(?y = :c2)) .", [(C[0], P0, C[1])]),
    ("[?x, :q, :c3] :- [?x, :p0, ?x], FILTER(?x != ?x) .", [(C[1], P0, C[2])]),
]


@pytest.mark.long_on_spark
@pytest.mark.parametrize(("text", "start"), TOGETHER)
def test_comparisons_of_one_variable_speak_of_one_term(engine: Engine, text: str, start: list[Triple]) -> None:
    """Of a class with two terms none is another than both; of one with three, one is."""
    found = rules(text)
    for equality in ("rewrite", "axioms"):
        for more in ([], [(C[2], SAME, C[3])]):
            assert custom_programs.agree(engine, [*start, (C[1], SAME, C[2]), *more], found, equality) is not None


FEW = 48


@pytest.mark.parametrize("part", seeds(range(1, 9), 1))
def test_comparisons_in_tangles(embedded: Engine, part: int) -> None:
    for seed in range(part, FEW, 16):
        check(embedded, compared(seed))


@pytest.mark.long
@pytest.mark.parametrize("start", range(FEW, FEW + 50, 10))
def test_comparisons_in_many_tangles(embedded: Engine, start: int) -> None:
    for seed in range(start, start + 10):
        check(embedded, compared(seed))
        if not seed % 5:
            check_store(embedded, compared(seed), ("rewrite", "axioms")[seed % 2])
