"""Random tangles (`tests.support.random_tangles`), and all ways to their closures.

After each update of a tangle the closure by the oracle, by every way to compute it, and by every algorithm that
maintains it are compared; now and then also a store that the updates are made to.

`python -m tests.support.tangles FROM TO [--literals] [--spark]` tries seeds and prints those that fail.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tests.support import custom_programs
from tests.support.closure import expanded, expected
from tests.support.custom_updates import follow
from tests.support.maintain import Bench, State, counts_of, state_of
from tests.support.random_programs import SAME, Triple
from tests.support.random_tangles import Tangle, tangle
from tests.support.stores import as_terms, tokens
from triplake.rulesets.render import render
from triplestore import Store
from triplestore.compile.schema import Fact
from triplestore.engine import Engine
from triplestore.engine.duckdb import DuckDBEngine
from triplestore.maintain.budget import Budget, BudgetExceededError
from triplestore.maintain.cache import ClosureCache
from triplestore.maintain.dred import NAME as DRED
from triplestore.maintain.extend import INSERTION
from triplestore.maintain.late_rounds import derive
from triplestore.maintain.policy import ALGORITHMS, COUNTING
from triplestore.maintain.program import NotMaintainableError
from triplestore.materialise.statements import triples_table
from triplestore.materialise.tables import Tables
from triplestore.model.terms import BUILTIN_IDS, SAME_AS
from triplestore.write.table_changes import same_as_rows, violation_rows


class Different(AssertionError):
    """Two ways to a closure that differ; says which, and in what."""


def check(engine: Engine, one: Tangle, algorithms: Sequence[str] | None = None) -> int:
    """Compare all ways to the closures of a tangle; how many updates the algorithms have maintained. Raises Different.

    The engine's tables are made anew. algorithms: those that maintain closures in memory, by themselves all; on Spark
    one, since they are the same there.
    """
    if algorithms is None:
        algorithms = tuple(ALGORITHMS) if isinstance(engine, DuckDBEngine) else (INSERTION, DRED)
    states = [set(one.start)]
    for add, delete in one.updates:
        states.append((states[-1] - delete) | add)
    if one.negative:
        return _check_negative(engine, one, states)
    wanted = [expected(sorted(state), one.rules, "rewrite") for state in states]
    return sum(_Mode(engine, one, equality, states, wanted).check(algorithms) for equality in ("rewrite", "axioms"))


def _check_negative(engine: Engine, one: Tangle, states: Sequence[set[Triple]]) -> int:
    """Compare what is materialised with the oracle; 0. Programs without strata are refused in any mode."""
    for equality in ("rewrite", "axioms"):
        for number, state in enumerate(states):
            try:
                custom_programs.agree(engine, sorted(state), one.rules, equality)
            except AssertionError as error:
                raise Different(f"{equality}, state {number}, {error}") from error
    return 0


def check_store(engine: Engine, one: Tangle, equality: str) -> None:
    """Make the updates to a store on DuckDB, by the algorithms that it chooses itself, and compare it after each with
    the oracle. Raises AssertionError."""
    if any(str(head.s).startswith('"') for rule in one.rules for head in rule.heads):
        return  # the text of a rule cannot say so
    if one.negative:
        history = [(sorted(add), sorted(delete)) for add, delete in ((one.start, ()), *one.updates)]
        follow(history, one.rules, equality, engine, lambda algorithm: None, engine="duckdb")
        return
    asserted = set(one.start)
    with TemporaryDirectory() as folder:
        file = Path(folder, "tangle.dlog")
        file.write_text("\n".join(map(render, one.rules)), encoding="utf-8")
        with Store.create(Path(folder, "kg"), ["none", str(file)], equality, engine="duckdb") as store:
            store.update(add=as_terms(sorted(asserted)))
            for number, (add, delete) in enumerate(one.updates, 1):
                done = store.update(add=as_terms(sorted(add)), delete=as_terms(sorted(delete)))
                asserted = (asserted - delete) | add
                got, wanted = tokens(store), expected(sorted(asserted), one.rules, "rewrite")[0]
                if got != wanted:
                    raise Different(
                        f"{equality}, store, {done.get('algorithm')}, update {number}: too much "
                        f"{sorted(got - wanted)[:4]}, too little {sorted(wanted - got)[:4]}"
                    )


class _Mode:
    """A tangle in one mode. asserted, wanted: the asserted facts, and what is to follow, before and after each update.
    memory: the closure in memory of the state that is looked at; None where the rules are none for memory."""

    def __init__(
        self,
        engine: Engine,
        one: Tangle,
        equality: str,
        states: Sequence[set[Triple]],
        wanted: Sequence[tuple[set[Triple], set[str]]],
    ) -> None:
        every = {*one.start, *(t for add, _ in one.updates for t in add)}
        self.bench = Bench(engine, every, one.rules, equality, False)
        self.equality, self.derivations = equality, "counted" if equality == "axioms" else "none"
        self.asserted = [set(self.bench.facts(state)) for state in states]
        self.tokens, self.violated = zip(*wanted, strict=True)
        self.ids = {**BUILTIN_IDS, **self.bench.reasoning.constants, **self.bench.ids}
        self._states: dict[int, State] = {}
        self._counts: dict[int, dict[Fact, tuple[int, int]]] = {}

    def check(self, algorithms: Sequence[str]) -> int:
        """Compare; how many updates the algorithms have maintained."""
        maintained, memory = 0, None
        self._materialised(0)
        for number, (before, after) in enumerate(pairwise(self.asserted), 1):
            plus, minus = sorted(after - before), sorted(before - after)
            if not minus:
                self._inserted(number, plus)
            memory = memory or self._read(number - 1)
            if memory is None:
                continue
            able = [a for a in algorithms if self.equality == "axioms" or a not in COUNTING]
            able = able[number % len(able) :] + able[: number % len(able)]  # each is the last one now and then
            kept = False
            for algorithm in able:
                if algorithm == INSERTION and minus:
                    continue
                if kept:
                    memory.revert()
                try:
                    self._aborted(memory, plus, minus, algorithm, number)
                    self.bench.update(memory, plus, minus, algorithm)
                except NotMaintainableError:
                    kept = False
                    continue
                kept, maintained = True, maintained + 1
                got = *state_of(memory)[:2], memory.violations_now
                self._compare(f"{algorithm}, update {number}", got, number)
                if self.equality == "axioms":
                    self._count(f"{algorithm}, update {number}", memory, number)
            if kept:
                memory.commit()
            else:
                memory = None
        return maintained

    def _aborted(self, cache: ClosureCache, plus: list[Fact], minus: list[Fact], algorithm: str, number: int) -> None:
        """An attempt with a budget for a part of the work: it leaves no trace, whether it exceeds that or not."""
        budget = Budget(limit=number * len(self.asserted[number]) // 4, fact=1, sample=2, rules=number % 2, facts=30)
        try:
            self.bench.update(cache, plus, minus, algorithm, budget=budget)
        except BudgetExceededError:
            pass
        else:
            cache.revert()
        self._compare(f"{algorithm} within a budget, update {number}", state_of(cache), number - 1)

    def _materialised(self, number: int) -> None:
        """By the engine's tables, from nothing."""
        self._states[number] = self.bench.materialise(self.asserted[number])
        self._expanded(f"materialised, state {number}", number)

    def _inserted(self, number: int, plus: list[Fact]) -> None:
        """By the engine's tables, where nothing goes."""
        bench = self.bench
        self._put(number - 1)
        bench.engine.load("plus", triples_table(plus))
        bench.engine.load("asserted", triples_table(sorted(self.asserted[number])))
        Tables(bench.engine, bench.rules, bench.equality, bench.reasoning.constants, late=derive).insert("plus")
        self._expanded(f"inserted by tables, update {number}", number)

    def _expanded(self, what: str, number: int) -> None:
        """Compare the closure in the engine's tables with the oracle's."""
        got, violated = expanded(self.bench.engine, self.equality)
        self._same(what, got, self.tokens[number])
        self._same(f"{what}, violated", violated, self.violated[number])

    def _read(self, number: int) -> ClosureCache | None:
        self._put(number)
        try:
            return self.bench.read(self.derivations)
        except NotMaintainableError:
            return None

    def _count(self, what: str, memory: ClosureCache, number: int) -> None:
        """Compare the derivation counts with those of the closure that was made anew."""
        if number not in self._counts:
            fresh = self._read(number)
            assert fresh is not None
            self._counts[number] = counts_of(fresh)
        self._same(f"{what}, counts", {*counts_of(memory).items()}, {*self._counts[number].items()})

    def _put(self, number: int) -> None:
        """Have the closure of a state in the engine's tables."""
        facts, pairs, violations = self._state(number)
        engine = self.bench.engine
        engine.load("asserted", triples_table(sorted(self.asserted[number])))
        engine.load("fact", triples_table(sorted(facts)))
        engine.load("same_as", same_as_rows(sorted(pairs)))
        engine.load("violation", violation_rows(violations))

    def _state(self, number: int) -> State:
        """The closure of a state, with representatives, as the oracle has it; where owl:sameAs equals another term, or
        with literals, which may be subjects, or violations, as it is computed anew, which is compared with the
        oracle's."""
        if number not in self._states:
            tokens, ids = self.tokens[number], self.ids
            if self.violated[number] or any((s == p == SAME != o) or o[0] == '"' for s, p, o in tokens):
                self._materialised(number)
            else:
                facts = {(ids[s], ids[p], ids[o]) for s, p, o in tokens}
                self._states[number] = (facts, set(), set()) if self.equality == "axioms" else _represented(facts)
        return self._states[number]

    def _compare(self, what: str, got: State, number: int) -> None:
        for name, one, other in zip(("facts", "same_as", "violations"), got, self._state(number), strict=True):
            self._same(f"{what}, {name}", set(one), set(other))

    def _same(self, what: str, got: Collection[object], wanted: Collection[object]) -> None:
        if got != wanted:
            more, less = (sorted(map(str, {*a} - {*b}))[:4] for a, b in ((got, wanted), (wanted, got)))
            raise Different(f"{self.equality}, {what}: too much {more}, too little {less}")


def _represented(facts: set[Fact]) -> State:
    """An expanded closure as facts of representatives, and the representatives."""
    named = {}
    for s, p, o in facts:
        if p == SAME_AS and s != o:
            named[s] = min(s, o, named.get(s, s))
    normal = {(named.get(s, s), p, named.get(o, o)) for s, p, o in ((s, named.get(p, p), o) for s, p, o in facts)}
    return {fact for fact in normal if fact[1] != SAME_AS}, set(named.items()), set()


STORES: Final = 20
"""Of so many seeds one makes a store."""


def failing(engine: Engine, seeds: Iterable[int], literals: bool = False) -> Iterator[tuple[int, Exception]]:
    """The seeds whose tangles fail, and how."""
    for seed in seeds:
        one = tangle(seed, literals)
        try:
            check(engine, one)
            if seed % STORES == 0:
                check_store(engine, one, ("rewrite", "axioms")[seed // STORES % 2])
        except Exception as error:
            yield seed, error


def main() -> int:
    """Try the seeds that the command line says; 1 if any fails."""
    parser = argparse.ArgumentParser(prog="python -m tests.support.tangles", description="Try random tangles of rules.")
    parser.add_argument("first", type=int, metavar="FROM")
    parser.add_argument("end", type=int, metavar="TO", help="the first that is not tried")
    parser.add_argument("--literals", action="store_true", help="have literals for objects now and then")
    parser.add_argument("--spark", action="store_true", help="materialise on Spark, not on DuckDB")
    parser.add_argument("--show", action="store_true", help="print the tangles that fail")
    given = parser.parse_args()
    started, bad = time.perf_counter(), 0
    engine = _engine(given.spark)
    for seed, error in failing(engine, range(given.first, given.end), given.literals):
        bad += 1
        told = str(error) if isinstance(error, Different) else "".join(traceback.format_exception(error))
        print(f"seed {seed}: {told}", flush=True)
        if given.show:
            print(tangle(seed, given.literals))
    engine.close()
    print(f"{bad} of {given.end - given.first} seeds failed, {time.perf_counter() - started:.0f} s")
    return 1 if bad else 0


def _engine(spark: bool) -> Engine:
    if spark:
        from triplestore.engine.spark import SparkEngine
        from triplestore.engine.spark.session import start_session

        return SparkEngine(start_session("local[2]", "3GB"))
    from triplestore.engine.duckdb import DuckDBEngine

    return DuckDBEngine(threads=1)


if __name__ == "__main__":
    sys.exit(main())
