"""Maintenance equals materialisation: random programs and data with equality, sequences of mixed updates, every
algorithm and mode, compared table by table after each step."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import rulesets
from tests.random_programs import Triple, facts, programs, rules_for, rules_of
from tests.test_closure import MODES, PHASES
from triplestore import dictionary, literals
from triplestore.compile.schema import Constants, Fact
from triplestore.engine import Engine
from triplestore.maintain import Reasoning
from triplestore.maintain.datatypes import judge_types_in
from triplestore.maintain.memory import ALGORITHMS, Memory, Rows
from triplestore.maintain.program import NotMaintainableError
from triplestore.maintain.violations import Violation, judge_in
from triplestore.materialise.datatypes import Datatypes
from triplestore.materialise.seminaive import SemiNaive
from triplestore.materialise.statements import triples_table
from triplestore.rule import Rule
from triplestore.storage.manifest import Counters
from triplestore.terms import BUILTIN_IDS

Update = tuple[list[Triple], list[Triple]]
State = tuple[set[Fact], set[tuple[int, int]], set[Violation]]


@st.composite
def histories(draw: st.DrawFn, odd: bool = False) -> tuple[list[Triple], list[Update]]:
    """A data set and a few updates, small and large: new facts and axioms come, some of what is there goes."""
    start = draw(facts(odd=odd))
    now, updates = set(start), []
    for _ in range(4):
        add = draw(facts(odd=odd)) if draw(st.integers(0, 2)) == 0 else []
        most = draw(st.sampled_from([1, 3, 30]))
        going = draw(st.lists(st.sampled_from(sorted(now)), max_size=most)) if now else []
        delete = sorted({t for t in going if t not in add})
        add = [t for t in add if t not in now]
        updates.append((add, delete))
        now = (now - set(delete)) | set(add)
    return start, updates


class Bench:
    """An engine with a dictionary of every term of a history, to materialise sets of asserted facts in."""

    def __init__(
        self, engine: Engine, triples: Iterable[Triple], rules: tuple[Rule, ...], equality: str, by_value: bool
    ) -> None:
        self.engine, self.equality, self.rules = engine, equality, rules_for(rules, equality)
        dictionary.builtin_terms(engine, "term")
        every = sorted(set(triples))
        engine.load("raw", pa.table({c: pa.array([t[i] for t in every], pa.string()) for i, c in enumerate("spo")}))
        tokens = {
            t for r in self.rules for a in (*r.heads, *r.body) for t in getattr(a, "terms", ()) if isinstance(t, str)
        }
        self.by_value = bool(by_value)
        _, self.counters = dictionary.encode(engine, "raw", Counters(), tokens - BUILTIN_IDS.keys())
        engine.append("term", ["SELECT * FROM new_term"])
        self.ids = dictionary.lookup(engine, {t for triple in every for t in triple})
        if by_value:
            same = literals.equal_to(engine, [token for token in tokens if token.startswith('"')])
            constants = Constants({**dictionary.lookup(engine, tokens), **same})
        else:
            constants = Constants(dictionary.lookup(engine, tokens), dictionary.numbers_equal_to(engine, tokens))
        self.datatypes = Datatypes(self.counters.ill_typed > 0) if by_value else None
        self.reasoning = Reasoning(self.rules, equality, constants, self.datatypes)

    def facts(self, triples: Iterable[Triple]) -> list[Fact]:
        return [(self.ids[s], self.ids[p], self.ids[o]) for s, p, o in triples]

    def materialise(self, asserted: Iterable[Fact]) -> State:
        self.engine.load("asserted", triples_table(sorted(asserted)))
        self.engine.view("stated", literals.by_value("asserted") if self.by_value else "SELECT s, p, o FROM asserted")
        constants = self.reasoning.constants
        SemiNaive(self.engine, self.rules, self.equality, constants, datatypes=self.datatypes).materialise()
        return self.state()

    def state(self) -> State:
        rows = self.engine.query("SELECT s, p, o FROM fact").to_pydict()
        pairs = self.engine.query("SELECT term, representative FROM same_as").to_pydict()
        found = self.engine.query("SELECT rule, facts FROM violation").to_pydict()
        return (
            set(zip(rows["s"], rows["p"], rows["o"], strict=True)),
            set(zip(pairs["term"], pairs["representative"], strict=True)),
            {(r, tuple(f)) for r, f in zip(found["rule"], found["facts"], strict=True)},
        )

    def read(self) -> Memory:
        counts = (len(BUILTIN_IDS), self.counters.iri, self.counters.blank, self.counters.literal)
        return Memory.read(self.engine, self.reasoning, counts, self.by_value, self.counters.ill_typed > 0)

    def update(self, memory: Memory, plus: list[Fact], minus: list[Fact], algorithm: str) -> Rows:
        return memory.update(
            self.reasoning,
            plus,
            minus,
            algorithm,
            lambda pairs: judge_in(self.engine, pairs),
            lambda facts, names: judge_types_in(self.engine, facts, names),
        )


def state_of(memory: Memory) -> State:
    """The closure that a memory holds."""
    working = memory.working
    over = working.classes
    terms = working.layout.decode(over._terms).tolist() + [working.layout.id(t) for t in over.over.representative]
    pairs = set()
    for term in set(terms):
        members = over.of(working.layout.code(term))
        if len(members) > 1:
            pairs.add((term, working.layout.id(min(members))))
    return set(working.facts_of(working.facts.keys)), pairs, memory.violations


def follow(
    engine: Engine, history: tuple[list[Triple], list[Update]], program: tuple[str, ...], equality: str, algorithm: str
) -> int:
    """Apply a history; after each step compare the closure in memory with one made anew, and the reported change with
    the difference. The number of steps that could be maintained."""
    start, updates = history
    every = {*start, *(t for add, _ in updates for t in add)}
    bench = Bench(engine, every, rules_of(program), equality, program[0] in rulesets.WITH_DATATYPES)
    asserted = set(bench.facts(start))
    before = bench.materialise(asserted)
    try:
        memory = bench.read()
    except NotMaintainableError:
        return 0
    assert state_of(memory) == before
    done = 0
    for add, delete in updates:
        plus, minus = bench.facts(add), bench.facts(delete)
        asserted = (asserted - set(minus)) | set(plus)
        after = bench.materialise(asserted)
        try:
            rows = bench.update(memory, plus, minus, algorithm)
        except NotMaintainableError:
            assert state_of(memory) == before, "a refused update leaves no trace"
            try:
                memory = bench.read()
            except NotMaintainableError:
                return done
        else:
            memory.commit()
            got = state_of(memory)
            assert got[1] == after[1], "same_as"
            assert got[0] - after[0] == set(), "derived too much"
            assert after[0] - got[0] == set(), "derived too little"
            assert got[2] == after[2], "violations"
            assert set(zip(*(c.tolist() for c in rows.added), strict=True)) == after[0] - before[0]
            assert set(zip(*(c.tolist() for c in rows.removed), strict=True)) == before[0] - after[0]
            assert set(rows.equal_added) == after[1] - before[1]
            assert set(rows.equal_removed) == before[1] - after[1]
            done += 1
        before = after
    return done


DELETING = [name for name in ALGORITHMS if name != "semi-naive"]


@pytest.mark.parametrize("algorithm", DELETING)
@pytest.mark.parametrize("equality", MODES)
@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, phases=PHASES)
@given(history=histories(), program=programs)
def test_maintenance_equals_materialisation(
    embedded: Engine,
    history: tuple[list[Triple], list[Update]],
    program: tuple[str, ...],
    equality: str,
    algorithm: str,
) -> None:
    follow(embedded, history, program, equality, algorithm)


@pytest.mark.long
@pytest.mark.parametrize("algorithm", DELETING)
@pytest.mark.parametrize("equality", MODES)
@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(history=histories(odd=True), program=programs)
def test_maintenance_equals_materialisation_often(
    embedded: Engine,
    history: tuple[list[Triple], list[Update]],
    program: tuple[str, ...],
    equality: str,
    algorithm: str,
) -> None:
    assume(follow(embedded, history, program, equality, algorithm) > 0)
