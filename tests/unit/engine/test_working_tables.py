"""Statements that are made before any of them runs read tables of their own, however many there are."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from rdflib import Literal
from rdflib.namespace import OWL, RDF, RDFS, Namespace

from tests.conftest import MakeStore
from tests.support.custom_programs import GIVEN, agree
from tests.support.random_programs import Triple
from tests.unit.materialise.test_closure import MODES, PHASES
from triplestore.engine import Engine
from triplestore.engine.arrow import int64s
from triplestore.engine.scratch import Scratch, unique
from triplestore.materialise import statements
from triplestore.model.rule import Rule

E = Namespace("http://e/")

COUNTING = """PREFIX : <http://e/>
@rule viasub
[?x, a, ?d] :- [?c, rdfs:subClassOf, ?d], [?x, a, ?c], AGGREGATE([?x, :p, ?y] ON ?x BIND COUNT(?y) AS ?n), FILTER(?n > 1) .
@rule viaeq
[?x, a, ?d] :- [?c, owl:equivalentClass, ?d], [?x, a, ?c], AGGREGATE([?x, :q, ?y] ON ?x BIND COUNT(?y) AS ?n), FILTER(?n > 1) .
"""  # noqa: E501


@pytest.mark.parametrize("axioms", [99, 100, 101, pytest.param(200, marks=pytest.mark.long_on_spark)])
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
@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, phases=PHASES)
@given(**GIVEN)
def test_every_instance_in_a_table(
    embedded: Engine, triples: list[Triple], rules: tuple[Rule, ...], equality: str
) -> None:
    """Random programs with the bound at nought, so that each statement reads a table."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(statements, "INLINE", 0)
        agree(embedded, triples, rules, equality)


def test_no_two_names_are_alike(embedded: Engine) -> None:
    import pyarrow as pa

    a, b = Scratch(embedded), Scratch(embedded)
    table = pa.table({"n": int64s([1])})
    names = [scratch.load("some", table) for scratch in (a, b, a)] + [unique("some"), a.table("some")]
    assert len(set(names)) == len(names)
    a.clear()
    assert embedded.rows(f"SELECT n FROM {names[1]}") == [(1,)]
    b.clear()
    for name in names:
        assert embedded.rows(f"SELECT count(*) FROM information_schema.tables WHERE table_name = '{name}'") == [(0,)]
