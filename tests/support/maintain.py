"""Closures in memory for tests of maintenance: from triples to `ClosureCache`, and back to what it holds."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

import pyarrow as pa

from tests.support.pages import PagedTables
from tests.support.random_programs import Triple, rules_for
from triplestore.compile.schema import Constants, Fact
from triplestore.dictionary import encoding, literals
from triplestore.engine import Engine
from triplestore.maintain import Reasoning
from triplestore.maintain.budget import Budget
from triplestore.maintain.cache import ClosureCache, Derivations, Rows, Watch
from triplestore.maintain.late_rounds import derive
from triplestore.maintain.violations import Violation, clashes_in, wrong_types_in
from triplestore.materialise.datatypes import Datatypes
from triplestore.materialise.statements import triples_table
from triplestore.materialise.tables import Tables
from triplestore.model.rule import Rule, constants_of
from triplestore.model.terms import BUILTIN_IDS
from triplestore.storage.manifest import Counters

State = tuple[set[Fact], set[tuple[int, int]], set[Violation]]
"""Facts, rows of `same_as`, violations."""


class Bench:
    """An engine with a dictionary of every term of a history, to materialise sets of asserted facts in. pages: writes
    the closure for memories that read it by the page, as those of every other history do."""

    def __init__(
        self, engine: Engine, triples: Iterable[Triple], rules: tuple[Rule, ...], equality: str, by_value: bool
    ) -> None:
        self.engine, self.equality, self.rules = engine, equality, rules_for(rules, equality)
        encoding.builtin_terms(engine, "term")
        every = sorted(set(triples))
        engine.load("raw", pa.table({c: pa.array([t[i] for t in every], pa.string()) for i, c in enumerate("spo")}))
        tokens = {token for rule in self.rules for token in constants_of(rule)}
        self.by_value = bool(by_value)
        _, self.counters = encoding.encode(engine, "raw", Counters(), tokens - BUILTIN_IDS.keys())
        engine.append("term", ["SELECT * FROM new_term"])
        self.ids = encoding.lookup(engine, {t for triple in every for t in triple})
        if by_value:
            same = literals.equal_to(engine, [token for token in tokens if token.startswith('"')])
            constants = Constants({**encoding.lookup(engine, tokens), **same})
        else:
            constants = Constants(encoding.lookup(engine, tokens), encoding.numbers_equal_to(engine, tokens))
        self.datatypes = Datatypes(self.counters.ill_typed > 0) if by_value else None
        self.reasoning = Reasoning(self.rules, equality, constants, self.datatypes)
        random = Random(len(every))
        self.pages = PagedTables(random) if random.random() < 0.5 else None

    def facts(self, triples: Iterable[Triple]) -> list[Fact]:
        return [(self.ids[s], self.ids[p], self.ids[o]) for s, p, o in triples]

    def materialise(self, asserted: Iterable[Fact]) -> State:
        self._assert(asserted)
        constants = self.reasoning.constants
        Tables(self.engine, self.rules, self.equality, constants, datatypes=self.datatypes, late=derive).materialise()
        return self.state()

    def _assert(self, asserted: Iterable[Fact]) -> None:
        self.engine.load("asserted", triples_table(sorted(asserted)))
        self.engine.view("given", literals.by_value("asserted") if self.by_value else "SELECT s, p, o FROM asserted")

    def state(self) -> State:
        rows = self.engine.query("SELECT s, p, o FROM fact").to_pydict()
        pairs = self.engine.query("SELECT term, representative FROM same_as").to_pydict()
        found = self.engine.query("SELECT rule, facts FROM violation").to_pydict()
        return (
            set(zip(rows["s"], rows["p"], rows["o"], strict=True)),
            set(zip(pairs["term"], pairs["representative"], strict=True)),
            {(r, tuple(f)) for r, f in zip(found["rule"], found["facts"], strict=True)},
        )

    def read(self, derivations: Derivations = "none", expiring: bool = False) -> ClosureCache:
        counts = (len(BUILTIN_IDS), self.counters.iri, self.counters.blank, self.counters.literal, self.counters.triple)
        ill_typed = self.counters.ill_typed > 0
        relation = None if self.pages is None else self.pages.reader(self.engine)
        facts = self.by_value, ill_typed, derivations, relation, expiring
        return ClosureCache.read(self.engine, self.reasoning, counts, *facts)

    def update(
        self,
        memory: ClosureCache,
        plus: list[Fact],
        minus: list[Fact],
        algorithm: str,
        watch: Watch | None = None,
        budget: Budget | None = None,
    ) -> Rows:
        return memory.update(
            self.reasoning,
            plus,
            minus,
            algorithm,
            lambda pairs: clashes_in(self.engine, pairs),
            lambda facts, names: wrong_types_in(self.engine, facts, names),
            budget,
            watch=watch,
        )


def state_of(memory: ClosureCache) -> State:
    """The closure that a memory holds."""
    state = memory.state
    over = state.classes
    terms = state.layout.decode(over._terms).tolist() + [state.layout.id(t) for t in over.over.representative]
    pairs = set()
    for term in set(terms):
        members = over.of(state.layout.code(term))
        if len(members) > 1:
            pairs.add((term, state.layout.id(min(members))))
    return set(state.facts_of(state.facts.keys)), pairs, memory.violations


def counts_of(memory: ClosureCache) -> dict[Fact, tuple[int, int]]:
    """The derivation counts that a memory holds: fact -> (nonrecursive, recursive)."""
    s, p, o, nonrecursive, recursive = (column.tolist() for column in memory.count_rows())
    facts = zip(s, p, o, strict=True)
    return dict(zip(facts, zip(nonrecursive, recursive, strict=True), strict=True))
