"""Proofs against an independent checker: each step is an instance of its rule, each leaf is asserted, and the depth is
the round in which a naive evaluation first has the fact."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support import custom_programs, literal_programs, oracle
from tests.support.closure import MODES, PHASES, materialised
from tests.support.datatypes import closure
from tests.support.proofs import check
from tests.support.random_programs import SAME, Triple, facts, programs, rules_for, rules_of
from tests.support.seeds import seeds
from tests.support.stores import as_terms
from triplake import rulesets
from triplestore import Store
from triplestore.compile.schema import Constants
from triplestore.dictionary import encoding
from triplestore.engine import Engine
from triplestore.maintain import Reasoning
from triplestore.materialise.same_as import is_clash
from triplestore.model.errors import InputError
from triplestore.model.rule import Rule, constants_of
from triplestore.proof.computed import Source
from triplestore.proof.explain import explain, explain_violation
from triplestore.proof.proof import ASSERTED
from triplestore.proof.source import source


def rounds_of(triples: Iterable[Triple], rules: tuple[Rule, ...], equality: str) -> dict[Triple, int]:
    """The round of the naive evaluation in which each triple of the closure first holds; equality costs none."""
    congruent = equality != "off"
    apart: set[tuple[str, str]] = set()
    known = oracle.congruent(set(triples), apart) if congruent else set(triples)
    first = dict.fromkeys(known, 0)
    number = 0
    while True:
        number += 1
        virtual = {(term, SAME, term) for triple in known for term in triple} if congruent else set()
        derived = set(known)
        for rule in rules:
            for heads, _ in oracle.World(known | virtual).matches(rule):
                derived |= {h for h in heads if not (congruent and h[1] == SAME and h[0] == h[2])}
        if congruent:
            derived = oracle.congruent(derived, apart)
        if derived == known:
            return first
        first.update((t, number) for t in derived - known)
        known = derived


def explained(engine: Engine, triples: list[Triple], rules: tuple[Rule, ...], equality: str, most: int = 60) -> None:
    closed, _ = materialised(engine, triples, rules, equality)
    depths = rounds_of(triples, rules, equality)
    tokens = {t for r in rules for a in (*r.heads, *r.body) for t in getattr(a, "terms", ()) if isinstance(t, str)}
    constants = Constants(encoding.lookup(engine, tokens), encoding.numbers_equal_to(engine, tokens))
    read = source(engine, Reasoning(rules, equality, constants), rulesets.named("equality").rules)
    for goal in sorted(oracle.rdf_only(closed))[:most]:
        proof = explain(read, goal)
        assert proof is not None, goal
        check(proof, goal, set(triples), rules, equality != "off")
        if goal not in triples and not (goal[1] == SAME and goal[0] == goal[2]):  # eq-ref needs nothing
            assert proof.depth == depths[goal], goal
    check_violations(read, triples, rules, most)
    for absent in [
        ("<http://e/a>", "<http://e/p0>", "<http://e/never>"),
        ("<http://e/a>", "<http://e/p0>", "<http://e/C0>"),
    ]:
        assert (explain(read, absent) is not None) == (absent in closed)


def check_violations(
    read: Source, triples: list[Triple], rules: tuple[Rule, ...], most: int, complete: oracle.World | None = None
) -> None:
    """Inconsistencies by rules: every step of their proofs is an instance of its rule."""
    for rule, row in read.engine.rows("SELECT rule, facts FROM violation ORDER BY rule, facts")[:most]:
        if not is_clash(rule, row):
            check(explain_violation(read, rule, row), None, set(triples), rules, read.same_as is not None, complete)


def explained_in_full(
    engine: Engine, triples: list[Triple], rules: tuple[Rule, ...], equality: str, most: int = 60
) -> None:
    """Rules with NOT, AGGREGATE and expressions: every step is an instance of its rule; no depth is claimed."""
    try:
        complete, _, _ = custom_programs.materialised(engine, triples, rules_for(rules, equality), equality)
    except InputError:  # no strata
        return
    tokens = {t for r in rules for t in constants_of(r)}
    constants = Constants(encoding.lookup(engine, tokens), encoding.numbers_equal_to(engine, tokens))
    read = source(engine, Reasoning(rules, equality, constants), rulesets.named("equality").rules)
    congruent = equality != "off"
    virtual = {(term, SAME, term) for triple in complete for term in triple} if congruent else set()
    world = oracle.World(complete | virtual, None, congruent)
    for goal in sorted(oracle.rdf_only(complete) - set(triples))[:most]:
        proof = explain(read, goal)
        assert proof is not None, goal
        check(proof, goal, set(triples), rules, congruent, world)
    check_violations(read, triples, rules, most, world)


@pytest.mark.parametrize("equality", MODES)
@settings(max_examples=2, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, phases=PHASES)
@given(triples=facts(odd=False), program=programs)
@pytest.mark.sampled(each=2)
def test_proofs(embedded: Engine, triples: list[Triple], program: tuple[str, ...], equality: str) -> None:
    explained(embedded, triples, rules_of(program), equality)


COMPUTED = """PREFIX : <http://e/>
@rule next [?x, :n, ?w] :- [?x, :p0, ?v], BIND(?v + 1 AS ?w) .
@rule none [?x, :p1, ?w] :- [?x, :p2, ?v], BIND(?v * 1.0 AS ?w) .
@rule text [?x, :p2, ?w] :- [?x, :p1, ?v], BIND(STR(?v) AS ?w) .
@rule sum  [?x, :n, ?w] :- AGGREGATE([?x, :q, ?v] ON ?x BIND SUM(?v) AS ?w) .
@rule one  [?x, :n, 1.0] :- [?x, :p0, 1] .
@rule many false :- AGGREGATE([?x, :p0, ?y] ON ?x BIND COUNT(?y) AS ?n), FILTER(?n > 1) .
"""


@pytest.mark.parametrize("equality", MODES)
@pytest.mark.parametrize("seed", seeds(range(12), 2))
def test_proofs_of_values_that_rules_compute(tmp_path: Path, seed: int, equality: str) -> None:
    """Literals stand for values: what a rule makes, the store may know in another form."""
    asserted = literal_programs.random_facts(Random(seed), literal_programs.VALUES)
    (tmp_path / "own.dlog").write_text(COMPUTED)
    with Store.create(tmp_path / "kg", ["owl2rl", str(tmp_path / "own.dlog")], equality, engine="duckdb") as store:
        store.update(add=as_terms(asserted))
        given = closure(store, "asserted")
        for goal in sorted(closure(store) - given):
            proof = store.explain(as_terms([goal])[0])
            assert proof is not None, goal
            assert proof.tokens == goal
            assert {step.tokens for step in proof.steps() if step.by == ASSERTED} <= given
        for violation in store.violated():
            assert store.explain_violation(violation).by == violation


@pytest.mark.parametrize(
    "name", ["not-other", "count-twice", "either", "two-texts", "no-next", "none", "too-many", "one"]
)
def test_proofs_by_a_rule_that_is_no_plain_join(embedded: Engine, name: str) -> None:
    explained_in_full(embedded, custom_programs.EXAMPLE, tuple(custom_programs.BY_NAME[name]), "rewrite", 12)


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(custom_programs.BY_NAME))
@pytest.mark.parametrize("equality", MODES)
def test_proofs_by_each_rule_that_is_no_plain_join(embedded: Engine, name: str, equality: str) -> None:
    explained_in_full(embedded, custom_programs.EXAMPLE, tuple(custom_programs.BY_NAME[name]), equality, 12)


@pytest.mark.long
@pytest.mark.parametrize("equality", MODES)
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck), phases=PHASES)
@given(**custom_programs.GIVEN)
def test_proofs_by_rules_that_are_no_plain_joins(
    embedded: Engine, triples: list[Triple], rules: tuple[Rule, ...], equality: str
) -> None:
    explained_in_full(embedded, triples, rules, equality)


@pytest.mark.long
@pytest.mark.parametrize("equality", MODES)
@settings(max_examples=13, deadline=None, suppress_health_check=list(HealthCheck), phases=PHASES)
@given(triples=facts(), program=programs)
def test_proofs_often(embedded: Engine, triples: list[Triple], program: tuple[str, ...], equality: str) -> None:
    explained(embedded, triples, rules_of(program), equality)


@pytest.mark.spark
@settings(max_examples=1, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, phases=PHASES)
@given(triples=facts(odd=False), program=programs, equality=st.sampled_from(MODES))
def test_proofs_on_spark(spark_engine: Engine, triples: list[Triple], program: tuple[str, ...], equality: str) -> None:
    explained(spark_engine, triples[:8], rules_of(program), equality, 12)
