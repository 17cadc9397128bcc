"""After every update of a random sequence the store equals the oracle, whatever algorithm and engine."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rulesets
from tests.random_programs import _USER_RULES, Triple, facts, programs, rules_of
from tests.test_closure import MODES, PHASES, expected
from triplestore import Store
from triplestore.terms import from_rdflib, to_rdflib

Update = tuple[list[Triple], list[Triple]]


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[Triple], list[Update]]:
    """A data set and three updates: new facts and axioms come, some of what is there goes."""
    start = draw(facts())
    now, updates = set(start), []
    for _ in range(3):
        add = draw(facts()) if draw(st.booleans()) else []
        going = draw(st.lists(st.sampled_from(sorted(now)), max_size=3)) if now and draw(st.booleans()) else []
        delete = [t for t in going if t not in add]
        updates.append((add, delete))
        now = (now - set(delete)) | set(add)
    return start, updates


def tokens(store: Store, what: str = "all") -> set[Triple]:
    return {(from_rdflib(s), from_rdflib(p), from_rdflib(o)) for s, p, o in store.triples(what)}


def as_terms(triples: list[Triple]) -> list[tuple[object, object, object]]:
    return [(to_rdflib(s), to_rdflib(p), to_rdflib(o)) for s, p, o in triples]


def follow(store: Store, history: tuple[list[Triple], list[Update]], program: tuple[str, ...], equality: str) -> None:
    """Apply a history to an empty store; after each step compare it with the oracle, and with itself made anew."""
    rules = rules_of(program)
    start, updates = history
    asserted: set[Triple] = set()
    for add, delete in [(start, []), *updates]:
        asserted = (asserted - set(delete)) | set(add)
        store.update(add=as_terms(add), delete=as_terms(delete))
        got, stats = tokens(store), store.stats()
        wanted, violated = expected(sorted(asserted), rules, equality)
        assert got - wanted == set(), "derived too much"
        assert wanted - got == set(), "derived too little"
        assert tokens(store, "asserted") == asserted
        assert tokens(store, "inferred") == wanted - asserted
        assert stats["asserted"] == len(asserted)
        assert stats["expanded"] == len(got)
        assert bool(store.check()) == bool(violated)
        with Store.open(store.path, engine="duckdb") as reopened:
            assert tokens(reopened) == got
            fresh = reopened.stats()
            assert {k: fresh[k] for k in fresh} == {k: stats[k] for k in fresh}
            reopened.materialise()
            assert tokens(reopened) == got, "an update equals materialisation"
            assert reopened.stats()["facts"] == stats["facts"]
            assert reopened.stats()["violations"] == stats["violations"]


def rule_names(program: tuple[str, ...], folder: str) -> list[str]:
    """The program as `Store.create` takes it: a ruleset's name, and a file of the user's rules."""
    own = [rule for rule in _USER_RULES if rule.name in program[1:]]
    if not own:
        return [program[0]]
    file = Path(folder, "own.dlog")
    file.write_text("".join(f"@rule {r.name}\n{rulesets.datalog.render(r)}\n" for r in own), encoding="utf-8")
    return [program[0], str(file)]


@pytest.mark.parametrize("equality", MODES)
@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck), phases=PHASES)
@given(history=histories(), program=programs)
def test_updates_equal_the_oracle(
    history: tuple[list[Triple], list[Update]], program: tuple[str, ...], equality: str
) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        Store.create(Path(folder, "kg"), rule_names(program, folder), equality, engine="duckdb") as store,
    ):
        follow(store, history, program, equality)


@pytest.mark.long
@pytest.mark.parametrize("equality", MODES)
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck), phases=PHASES)
@given(history=histories(), program=programs)
def test_updates_equal_the_oracle_often(
    history: tuple[list[Triple], list[Update]], program: tuple[str, ...], equality: str
) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        Store.create(Path(folder, "kg"), rule_names(program, folder), equality, engine="duckdb") as store,
    ):
        follow(store, history, program, equality)
