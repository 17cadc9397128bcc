"""Random stores of every kind that the generators make, and proofs of every fact of their closures.

`python -m tests.support.explained FROM TO [--kind KIND]` tries seeds and prints those that fail.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from tests.support import (
    compared_programs,
    custom_programs,
    datasets_random,
    equality_programs,
    listed_programs,
    literal_programs,
    oracle,
    random_tangles,
)
from tests.support.merged_lists import random_ontology
from tests.support.proofs import check
from tests.support.random_programs import SAME, Triple
from tests.support.stores import as_terms, tokens
from triplake import rulesets
from triplake.rulesets.render import render
from triplestore import Store
from triplestore.materialise.same_as import is_clash
from triplestore.model.errors import InputError, LimitError
from triplestore.model.rule import Rule
from triplestore.model.terms import from_rdflib, to_rdflib
from triplestore.proof.proof import ASSERTED

VIOLATIONS: Final = 100
"""About how many inconsistencies of one rule are explained: a rule can find a hundred thousand."""


class Example(NamedTuple):
    """A store to make. base: its built-in ruleset; rules: others; quads: triples of named graphs besides."""

    facts: list[Triple]
    rules: tuple[Rule, ...] = ()
    base: str = "owl2rl"
    equality: str = "rewrite"
    quads: tuple[tuple[str, ...], ...] = ()


def _tangle(one: random_tangles.Tangle, rng: Random) -> Example:
    """A tangle less the rules whose heads have a literal for a subject, which the text of a rule cannot say."""
    rules = tuple(rule for rule in one.rules if not any(str(head.s).startswith('"') for head in rule.heads))
    return Example(sorted(one.start), rules, "none", rng.choice(["rewrite", "rewrite", "axioms", "off"]))


def _equal(rng: Random) -> Example:
    rules = tuple(rng.sample(equality_programs.RULES, rng.randint(0, 2)))
    return Example(equality_programs.random_facts(rng), rules, "owl2rl", rng.choice(["rewrite", "rewrite", "axioms"]))


def _literals(rng: Random) -> Example:
    mode = rng.choice(["rewrite", "rewrite", "axioms", "off"])
    return Example(literal_programs.random_facts(rng), literal_programs.random_rules(rng), "owl2rl", mode)


def _custom(rng: Random) -> Example:
    names = rng.sample(sorted(custom_programs.BY_NAME), rng.randint(1, 3))
    rules = tuple(rule for name in names for rule in custom_programs.BY_NAME[name])
    facts = rng.sample(custom_programs.EXAMPLE, rng.randint(4, len(custom_programs.EXAMPLE)))
    return Example(facts, rules, rng.choice(["none", "none", "rdfs-plus", "owl2rl"]), rng.choice(["rewrite", "axioms"]))


def _graphs(rng: Random) -> Example:
    plain = _equal(rng)
    kept = rng.sample(plain.facts, len(plain.facts) // 2)
    quads = tuple((*triple, rng.choice(datasets_random.GRAPHS)) for triple in rng.sample(plain.facts, len(plain.facts)))
    return plain._replace(facts=kept, quads=quads)


KINDS: Final[dict[str, Callable[[int], Example]]] = {
    "tangle": lambda seed: _tangle(random_tangles.tangle(seed), Random(f"mode {seed}")),
    "literal-tangle": lambda seed: _tangle(random_tangles.tangle(seed, literals=True), Random(f"mode {seed}")),
    "listed": lambda seed: _tangle(listed_programs.listed(seed), Random(f"mode {seed}")),
    "compared": lambda seed: _tangle(compared_programs.compared(seed), Random(f"mode {seed}")),
    "equality": lambda seed: _equal(Random(f"equality {seed}")),
    "literals": lambda seed: _literals(Random(f"literals {seed}")),
    "ontology": lambda seed: Example(random_ontology(Random(f"ontology {seed}"))),
    "custom": lambda seed: _custom(Random(f"custom {seed}")),
    "graphs": lambda seed: _graphs(Random(f"graphs {seed}")),
}
"""Kind of store -> the store of a seed."""


def example(seed: int) -> tuple[str, Example]:
    """The store of a seed, the kinds in turn."""
    kind = list(KINDS)[seed % len(KINDS)]
    return kind, KINDS[kind](seed // len(KINDS))


def explain_all(one: Example, engine: str = "duckdb") -> int:
    """Make the store, explain every fact and some inconsistencies of each rule (`VIOLATIONS`), and check each proof;
    how many proofs, 0 for programs that are refused."""
    with TemporaryDirectory() as folder:
        file = Path(folder, "own.dlog")
        file.write_text("".join(f"@rule {rule.name}\n{render(rule)}\n" for rule in one.rules), encoding="utf-8")
        names = [one.base, *([str(file)] if one.rules else [])]
        try:
            with Store.create(Path(folder, "kg"), names, one.equality, engine=engine) as store:
                added = [*as_terms(one.facts), *(tuple(map(to_rdflib, quad)) for quad in one.quads)]
                store.update(add=added)
                return _explain_all(store, one)
        except (InputError, LimitError):
            return 0


def _explain_all(store: Store, one: Example) -> int:
    rules = (*rulesets.named(one.base).rules, *one.rules)
    asserted = tokens(store, "asserted")
    closed = tokens(store)
    congruent, by_value = store.equality != "off", one.base == "owl2rl"
    complete = None
    if not all(rule.monotone for rule in rules):
        everything = {*closed, *((from_rdflib(s), from_rdflib(p), from_rdflib(o)) for s, p, o in _generalised(store))}
        virtual = {(term, SAME, term) for triple in everything for term in triple} if congruent else set()
        complete = oracle.World(everything | virtual, None, congruent)
    graphs: dict[Triple, set[str]] = {}
    for s, p, o, name in one.quads:
        graphs.setdefault((s, p, o), set()).add(name)
    for goal in sorted(closed):
        proof = store.explain(as_terms([goal])[0])
        assert proof is not None, goal
        try:
            check(proof, goal, asserted, rules, congruent, complete, by_value)
            for step in proof.steps():
                if step.by == ASSERTED and step.tokens in graphs and graphs:
                    assert graphs[step.tokens] <= set(step.graphs), step
        except AssertionError as error:
            raise AssertionError(f"{goal}: {error}") from error
    explained, found = 0, store.check()
    for rule in {violation.rule for violation in found}:
        listed = [violation for violation in found if violation.rule == rule]
        for place in range(0, len(listed), max(1, len(listed) // VIOLATIONS)):
            proof = store.explain_violation(rule, place + 1)
            explained += 1
            if not is_clash(rule, [0, 0, 0][: 3 * len(listed[place].triples)]) and rule != "dt-not-type":
                check(proof, None, asserted, rules, congruent, complete, by_value)
    return len(closed) + explained


def _generalised(store: Store) -> Iterable[tuple[object, ...]]:
    return store.query("SELECT ?s ?p ?o { ?s ?p ?o }", generalised=True)


def failing(seeds: Iterable[int], kind: str | None = None) -> Iterator[tuple[int, str, Exception | int]]:
    """Each seed, its kind, and how it failed or how many facts were explained."""
    for seed in seeds:
        name, one = example(seed) if kind is None else (kind, KINDS[kind](seed))
        try:
            yield seed, name, explain_all(one)
        except Exception as error:
            yield seed, name, error


def main() -> int:
    """Try the seeds that the command line says; 1 if any fails."""
    parser = argparse.ArgumentParser(prog="python -m tests.support.explained", description="Explain every fact.")
    parser.add_argument("first", type=int, metavar="FROM")
    parser.add_argument("end", type=int, metavar="TO", help="the first that is not tried")
    parser.add_argument("--kind", choices=list(KINDS), help="only stores of this kind; by default all in turn")
    given = parser.parse_args()
    started, bad, facts, empty = time.perf_counter(), 0, 0, 0
    for seed, name, outcome in failing(range(given.first, given.end), given.kind):
        if isinstance(outcome, int):
            facts, empty = facts + outcome, empty + (outcome == 0)
            continue
        bad += 1
        print(f"seed {seed} ({name}): {''.join(traceback.format_exception(outcome)[-3:])}", flush=True)
    took = time.perf_counter() - started
    print(f"{bad} of {given.end - given.first} stores failed, {empty} were refused; {facts:,} proofs, {took:.0f} s")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
