"""Rules that read and make numbers, by value: equal values are one term, whatever makes them or equals them."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Hashable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support import literal_values
from tests.support.closure import PHASES
from tests.support.custom_programs import BY_NAME, REFUSED
from tests.support.random_programs import SAME, THINGS, Triple, ex
from tests.support.random_programs import data as plain
from tests.support.stores import as_terms, tokens
from triplake.rulesets import datalog
from triplestore import Store
from triplestore.model.errors import InputError
from triplestore.model.terms import XSD

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OWN = datalog.parse(
    """
    PREFIX : <http://e/>
    @rule sum      [?x, :sum, ?w] :- [?x, :n, ?v], BIND(?v + 1.0 AS ?w) .
    @rule through  [?x, :through, ?y] :- [?x, :sum, ?w], [?w, :p0, ?y] .
    @rule is       [?x, owl:sameAs, ?w] :- [?x, :p3, ?y], [?y, :n, ?v], BIND(?v + 1 AS ?w) .
    @rule counted  [?y, :counted, ?x] :- AGGREGATE([?x, :p0, ?z] ON ?x BIND COUNT(?z) AS ?n), [?y, :n, ?n] .
    @rule nobody   [?x, a, :Nobody] :- [?x, :n, ?v], BIND(?v * 2 AS ?w), NOT [?w, :p0, ?y] .
    """,
    "own",
)
_CHOSEN = """
    any-count count count-twice counting long made many next-is no-next not-any-sum not-branch not-class
    not-join not-merge not-sum number statistics successor sum-branches too-many wide
"""
BY_VALUE = [*OWN, *(rule for name in _CHOSEN.split() for rule in BY_NAME[name])]
"""None of them reads how a number is written."""

NUMBERS = [
    *(f'"{i}"^^<{XSD}integer>' for i in range(4)),
    *(f'"{i}"^^<{XSD}{kind}>' for i in ("01", "2") for kind in ("byte", "integer")),
    *(f'"{i}"^^<{XSD}decimal>' for i in ("1.0", "2", "2.5")),
]
numbered = st.tuples(st.sampled_from(THINGS), st.sampled_from([ex("n"), ex("n"), SAME]), st.sampled_from(NUMBERS))
triples = st.lists(st.one_of(plain, numbered, numbered), max_size=12)


def by_value(store: Store) -> set[tuple[Hashable, ...]]:
    """The closure, with values for literals."""
    return {
        tuple(literal_values.value(term) if term[0] == '"' else term for term in triple) for triple in tokens(store)
    }


@st.composite
def histories(draw: st.DrawFn) -> list[tuple[list[Triple], list[Triple]]]:
    """What comes and goes: first a data set, then little."""
    first = draw(triples)
    now, updates = {*first}, [(first, list[Triple]())]
    for _ in range(2):
        add = draw(st.lists(st.one_of(plain, numbered, numbered), max_size=2))
        going = draw(st.lists(st.sampled_from(sorted(now)), max_size=2)) if now else []
        updates.append((add, [t for t in going if t not in add]))
        now = (now - {*going}) | {*add}
    return updates


chosen = st.lists(st.sampled_from(sorted({rule.name for rule in BY_VALUE})), min_size=1, max_size=4, unique=True)


def made(path: Path, triples: set[Triple], rules: list[str], equality: str) -> set[tuple[Hashable, ...]] | None:
    """The closure of a new store; None if the rules have no strata."""
    with Store.create(path, rules, equality, engine="duckdb") as store:
        try:
            store.update(add=as_terms(sorted(triples)))
        except InputError as refusal:
            if not re.search(REFUSED, refusal.reason):
                raise
            return None
        return by_value(store)


def agree(updates: list[tuple[list[Triple], list[Triple]]], names: list[str], **kind: Any) -> None:
    """A store that is updated has, after each update, what one that is made of the data has, and what one has whose
    equality is that of the rules."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "own.dlog")
        file.write_text("\n".join(datalog.render(rule) for rule in BY_VALUE if rule.name in names), encoding="utf-8")
        rules, asserted = ["datatypes", str(file)], set[Triple]()
        with Store.create(Path(folder, "kg"), rules, "rewrite", **kind) as store:
            for number, (add, delete) in enumerate(updates):
                asserted = (asserted - {*delete}) | {*add}
                rewritten, plain = (
                    made(Path(folder, f"{equality}{number}"), asserted, rules, equality)
                    for equality in ("rewrite", "axioms")
                )
                assert rewritten == plain, "by rewriting as by the rules of equality"
                if rewritten is None:
                    return
                way = ("auto", "backward-forward", "dred")[number % 3]
                store.update(add=as_terms(add), delete=as_terms(delete), maintain=way)
                assert by_value(store) == rewritten, "an update as a load"


@pytest.mark.parametrize("examples", [pytest.param(6, id="few"), pytest.param(60, id="many", marks=pytest.mark.long)])
def test_equal_values_are_one_term(examples: int) -> None:
    @settings(
        max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, phases=PHASES
    )
    @given(updates=histories(), names=chosen)
    def run(updates: list[tuple[list[Triple], list[Triple]]], names: list[str]) -> None:
        agree(updates, names, engine="duckdb")

    run()


@pytest.mark.spark
@pytest.mark.long
@settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, phases=PHASES)
@given(updates=histories(), names=chosen)
def test_equal_values_are_one_term_on_spark(
    spark: SparkSession, updates: list[tuple[list[Triple], list[Triple]]], names: list[str]
) -> None:
    agree(updates, names, spark=spark)
