"""Rules with NOT, AGGREGATE, FILTER and BIND: the closure is the stable one, in all modes, on both engines."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from rdflib import Literal
from rdflib.namespace import XSD as XSD_
from rdflib.namespace import Namespace

from tests.custom_programs import BY_NAME, EXAMPLE, GIVEN, MERGING, agree
from tests.random_programs import Triple
from tests.test_closure import MODES, PHASES
from triplestore import Store
from triplestore.engine import Engine
from triplestore.model.rule import Rule

E = Namespace("http://e/")


@pytest.mark.parametrize("equality", MODES)
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, phases=PHASES)
@given(**GIVEN)
def test_the_closure_is_stable(embedded: Engine, triples: list[Triple], rules: tuple[Rule, ...], equality: str) -> None:
    event(f"stratified: {agree(embedded, triples, rules, equality) is not None}")


@pytest.mark.long
@pytest.mark.parametrize("equality", MODES)
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck), phases=PHASES)
@given(**GIVEN)
def test_the_closure_is_stable_often(
    embedded: Engine, triples: list[Triple], rules: tuple[Rule, ...], equality: str
) -> None:
    event(f"stratified: {agree(embedded, triples, rules, equality) is not None}")


@pytest.mark.spark
@pytest.mark.long
@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(equality=st.sampled_from(MODES), **GIVEN)
def test_the_closure_is_stable_on_spark(
    spark_engine: Engine, triples: list[Triple], rules: tuple[Rule, ...], equality: str
) -> None:
    agree(spark_engine, triples, rules, equality)


@pytest.mark.parametrize("name", sorted(BY_NAME))
def test_each_rule_on_its_own(embedded: Engine, name: str) -> None:
    """A data set on which every rule finds something, and equality matters."""
    # :C0 and :C1 are one, and not-back has its own conclusion in a NOT; the others merge what they have read.
    refused = name in ("not-back", "not-merge", "not-merged")
    assert (agree(embedded, EXAMPLE, tuple(BY_NAME[name]), "rewrite") is None) is refused


@pytest.mark.parametrize("equality", ["axioms", "off"])
def test_all_rules_together(embedded: Engine, equality: str) -> None:
    """But for those that cannot be."""
    names = sorted(BY_NAME.keys() - {"not-back", *MERGING})
    rules = tuple(rule for name in names for rule in BY_NAME[name])
    assert agree(embedded, EXAMPLE, rules, equality) is not None


SOME = ["not-join", "not-other", "statistics", "count", "made", "no-next", "either", "must", "count-merge"]


@pytest.mark.spark
def test_some_rules_together_on_spark(spark_engine: Engine) -> None:
    """One run with all that has a way of its own: NOT, AGGREGATE, expressions, and an equality to be verified."""
    rules = tuple(rule for name in SOME for rule in BY_NAME[name])
    assert agree(spark_engine, EXAMPLE, rules, "rewrite") is not None


def test_negation_sees_the_datatypes_of_literals(tmp_path: Path) -> None:
    """Types of literals are made for the datatypes that rules ask for, in a NOT or an AGGREGATE too."""
    file = tmp_path / "types.dlog"
    file.write_text(
        """PREFIX : <http://e/>
        @rule odd   [?x, a, :Odd] :- [?x, :size, ?v], NOT [?v, a, xsd:integer] .
        @rule count [?x, :integers, ?n] :- AGGREGATE([?x, :size, ?v], [?v, a, xsd:byte] ON ?x BIND COUNT(?v) AS ?n) .
        """
    )
    with Store.create(tmp_path / "kg", ["owl2rl", str(file)], engine="duckdb") as store:
        sizes = [Literal(3), Literal("03", datatype=XSD_.decimal), Literal(1000)]
        store.update(add=[*((E.a, E.size, size) for size in sizes), (E.b, E.size, Literal("big"))])
        assert {s for s, _, o in store.triples() if o == E.Odd} == {E.b}
        assert [(s, int(o)) for s, p, o in store.triples() if p == E.integers] == [(E.a, 1)]
