"""Rules with NOT, AGGREGATE, FILTER and BIND: the closure is the stable one, in all modes, on both engines."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from rdflib import Literal
from rdflib.namespace import OWL, RDF, Namespace
from rdflib.namespace import XSD as XSD_

from tests.conftest import MakeStore
from tests.support.closure import MODES, PHASES
from tests.support.custom_programs import BY_NAME, EXAMPLE, GIVEN, MERGING, agree
from tests.support.random_programs import Triple
from triplestore import Store
from triplestore.engine import Engine
from triplestore.model.rule import Rule

E = Namespace("http://e/")


@pytest.mark.parametrize("equality", MODES)
@settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, phases=PHASES)
@given(**GIVEN)
def test_the_closure_is_stable(embedded: Engine, triples: list[Triple], rules: tuple[Rule, ...], equality: str) -> None:
    event(f"stratified: {agree(embedded, triples, rules, equality) is not None}")


@pytest.mark.long
@pytest.mark.parametrize("equality", MODES)
@settings(max_examples=45, deadline=None, suppress_health_check=list(HealthCheck), phases=PHASES)
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
@pytest.mark.sampled(each=3)
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


@pytest.mark.long
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


WIDE = "123456789012345678901234567890123456789"


@pytest.mark.long_on_spark
def test_constants_that_are_no_plain_numbers(make_store: MakeStore, tmp_path: Path) -> None:
    """A number in an atom matches every number of its value, however large; an ill-typed literal matches itself."""
    texts = {WIDE: f"00{WIDE}", f"0.{WIDE}": f"0.{WIDE}0", f"1{'0' * 400}": f"+1{'0' * 400}", "7": "07"}
    rules = "PREFIX : <http://e/>\n" + "\n".join(f"[?x, :is, :n{i}] :- [?x, :p, {t}] ." for i, t in enumerate(texts))
    ill = [Literal("abc", datatype=XSD_.integer), Literal("200", datatype=XSD_.byte)]
    rules += "".join(f"\n[?x, :is, :ill{i}] :- [?x, :p, {one.n3()}] ." for i, one in enumerate(ill))
    (tmp_path / "own.dlog").write_text(rules, encoding="utf-8")
    store = make_store(["none", str(tmp_path / "own.dlog")])
    numbers = (Literal(t, datatype=XSD_.decimal if "." in t else XSD_.integer) for t in texts.values())
    objects = [*numbers, *ill, Literal(WIDE), Literal("abcd", datatype=XSD_.integer), Literal(200)]
    store.update(add=[(E[f"x{i}"], E.p, o) for i, o in enumerate(objects)])
    found = {(str(s), str(o)) for s, o in store.query("SELECT ?s ?o { ?s <http://e/is> ?o }")}
    assert found == {(f"{E}x{i}", f"{E}{f'n{i}' if i < 4 else f'ill{i - 4}'}") for i in range(6)}


@pytest.mark.long_on_spark
@pytest.mark.parametrize("equality", ["off", "rewrite", "axioms"])
def test_a_head_writes_a_number_in_its_own_form(make_store: MakeStore, tmp_path: Path, equality: str) -> None:
    """A body matches a number in every form, so a rule with the same atom as its head is not without effect."""
    number = '"01"^^<http://www.w3.org/2001/XMLSchema#integer>'
    rule = f"[?x, <http://e/p>, {number}] :- [?x, <http://e/p>, {number}] ."
    (tmp_path / "own.dlog").write_text(rule, encoding="utf-8")
    store = make_store(["none", str(tmp_path / "own.dlog")], equality=equality)
    store.update(add=[(E.a, E.p, Literal("1", datatype=XSD_.integer))])
    assert {str(o) for _, _, o in store.triples()} == {"1", "01"}


@pytest.mark.long_on_spark
def test_what_a_rule_makes_may_equal_a_literal_of_a_class(make_store: MakeStore, tmp_path: Path) -> None:
    """1.0 and 1 are one value, and so is whatever equals one of them: in facts, in equalities, and in tables."""
    rules = """PREFIX : <http://e/>
        @rule made   [?x, :made, ?z] :- [?x, :p, ?y], BIND(?y - 1.0 AS ?z) .
        @rule linked [?x, owl:sameAs, ?z] :- [?x, a, :One], BIND(2.0 - 1 AS ?z) .
        @rule next   [?x, :next, ?w] :- [?x, :made, ?y], [?y, :q, ?w] .
        @rule count  [?x, :counted, ?w] :- AGGREGATE([?x, :p, ?y] ON ?x BIND COUNT(?y) AS ?n), [?n, :q, ?w] ."""
    (tmp_path / "own.dlog").write_text(rules, encoding="utf-8")
    store = make_store(["datatypes", str(tmp_path / "own.dlog")])
    one = [(E.one, OWL.sameAs, Literal(1)), (E.one, E.q, E.w)]
    store.update(add=[*one, (E.b, RDF.type, E.One), (E.a, E.p, Literal(2))])
    assert {*store.triples()} >= {
        *((E.a, E.made, term) for term in (E.one, E.b)),
        *((E.a, p, E.w) for p in (E.next, E.counted)),
        (E.b, OWL.sameAs, E.one),
    }
