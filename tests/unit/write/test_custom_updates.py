"""Updates of stores with rules that have NOT, AGGREGATE, FILTER or BIND: after each the closure is the stable one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rdflib import Literal
from rdflib.namespace import RDF, Namespace

from tests.support import random_programs
from tests.support.closure import MODES, PHASES
from tests.support.custom_programs import data, numbers, programs, programs_over
from tests.support.custom_updates import follow
from tests.support.random_programs import Triple
from triplestore import Store
from triplestore.engine import Engine
from triplestore.model.rule import Rule

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

E = Namespace("http://e/")


@st.composite
def histories(draw: st.DrawFn) -> list[tuple[list[Triple], list[Triple]]]:
    """What comes and goes in some updates: first a data set, then mostly little."""
    first = draw(data)
    now, updates = set(first), [(first, list[Triple]())]
    for _ in range(2):
        little = st.lists(st.one_of(random_programs.data, random_programs.equalities, numbers), min_size=1, max_size=2)
        add = draw(st.one_of(little, little, data))
        going = draw(st.lists(st.sampled_from(sorted(now)), max_size=2)) if draw(st.integers(0, 3)) == 0 else []
        delete = [t for t in going if t not in add]
        updates.append((add, delete))
        now = (now - set(delete)) | set(add)
    return updates


@pytest.mark.parametrize("equality", MODES)
@settings(max_examples=1, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, phases=PHASES)
@given(updates=histories(), rules=programs_over("rdfs-plus", "none"))
def test_updates_keep_the_closure_stable(
    embedded: Engine, updates: list[tuple[list[Triple], list[Triple]]], rules: tuple[Rule, ...], equality: str
) -> None:
    follow(updates, rules, equality, embedded, engine="duckdb")


@pytest.mark.long
@pytest.mark.parametrize("equality", MODES)
@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck), phases=PHASES)
@given(updates=histories(), rules=programs)
def test_updates_keep_the_closure_stable_often(
    embedded: Engine, updates: list[tuple[list[Triple], list[Triple]]], rules: tuple[Rule, ...], equality: str
) -> None:
    follow(updates, rules, equality, embedded, engine="duckdb")


@pytest.mark.spark
@pytest.mark.long
@settings(max_examples=2, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, phases=PHASES)
@given(updates=histories(), rules=programs, equality=st.sampled_from(MODES))
def test_updates_keep_the_closure_stable_on_spark(
    spark: SparkSession,
    embedded: Engine,
    updates: list[tuple[list[Triple], list[Triple]]],
    rules: tuple[Rule, ...],
    equality: str,
) -> None:
    follow(updates, rules, equality, embedded, spark=spark)


def test_an_addition_extends_the_closure_unless_a_not_or_aggregate_may_see_it(tmp_path: Path) -> None:
    file = tmp_path / "people.dlog"
    file.write_text(
        """PREFIX : <http://e/>
        @rule lonely  [?x, a, :Lonely] :- [?x, a, :Person], NOT [?x, :knows, ?y] .
        @rule friends [?x, :friends, ?n] :- AGGREGATE([?x, :knows, ?y] ON ?x BIND COUNT(?y) AS ?n) .
        """
    )
    with Store.create(tmp_path / "kg", [str(file)], engine="duckdb") as store:
        store.update(add=[(E.a, RDF.type, E.Person), (E.b, RDF.type, E.Person), (E.a, E.knows, E.b)])
        added = store.update(add=[(E.c, RDF.type, E.Person)])
        assert (added["algorithm"], added["reason"]) == ("semi-naive", "nothing is deleted")
        assert {(E.b, RDF.type, E.Lonely), (E.c, RDF.type, E.Lonely)} <= set(store.triples())
        added = store.update(add=[(E.c, E.knows, E.b)])
        assert added["algorithm"] == "rematerialise"
        assert added["reason"] == "the change can reach <http://e/knows>, which a NOT or AGGREGATE reads"
        assert (E.c, RDF.type, E.Lonely) not in set(store.triples())
        assert (E.c, E.friends, Literal(1)) in set(store.triples())
