"""Joins with transitive relations by their components, several of which meet, against the oracle."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

from tests.support.closure import MODES, agree, materialised
from tests.support.random_programs import SAME, TYPE, Triple, ex, rules_of
from tests.support.seeds import seeds
from triplake.rulesets import datalog
from triplestore.compile.schema import Constants
from triplestore.dictionary import encoding
from triplestore.engine import Engine
from triplestore.materialise.tables import Tables
from triplestore.model.rule import Rule
from triplestore.model.terms import OWL, RDFS

TRANSITIVE = "@rule {0}-{0}  [?x, :{0}, ?z] :- [?x, :{0}, ?y], [?y, :{0}, ?z] .\n"
JOINED = "@rule {0}-{1}  [?x, :{0}, ?z] :- [?x, :{0}, ?y], [?y, :{1}, ?z] .\n"
OTHERS = (
    "@rule below   [?x, :{0}, ?y] :- [?x, :{1}, ?y] .\n",
    "@rule back    [?y, :{0}, ?x] :- [?x, :{1}, ?y], [?y, :{0}, :a] .\n",
    "@rule merged  [?x, owl:sameAs, ?y] :- [?x, :{0}, ?y], [?y, :{1}, ?x] .\n",
)


def program(rng: Random) -> tuple[Rule, ...]:
    """One to three transitive relations, relations joined with them, and rules that feed these."""
    names = [*"pqr"]
    transitive = rng.sample(names, rng.randint(1, 3))
    lines = [TRANSITIVE.format(name) for name in transitive]
    pairs = [pair for pair in product([*names, "t"], transitive) if pair[0] != pair[1]]
    lines += [JOINED.format(*pair) for pair in rng.sample(pairs, rng.randint(1, 3))]
    lines += [rule.format(*rng.sample([*names, "t"], 2)) for rule in rng.sample(OTHERS, rng.randint(0, 2))]
    return datalog.parse("PREFIX : <http://e/>\n" + "".join(lines), "random")


def data(rng: Random) -> list[Triple]:
    things = [ex(letter) for letter in "abcdefgh"]
    found = [(rng.choice(things), ex(rng.choice("pqrt")), rng.choice(things)) for _ in range(rng.randint(4, 16))]
    found += [(rng.choice(things), SAME, rng.choice(things)) for _ in range(rng.choice([0, 0, 1]))]
    return sorted(set(found))


@pytest.mark.parametrize("equality", MODES)
@pytest.mark.parametrize("seed", seeds(range(12), 2))
def test_relations_that_meet(embedded: Engine, seed: int, equality: str) -> None:
    rng = Random(seed)
    agree(embedded, data(rng), program(rng), equality, many=1)


@pytest.mark.parametrize("seed", seeds(range(100, 108), 2))
def test_what_proves_too_large_is_joined(embedded: Engine, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Some relations are known by their components for a while, and then are not."""
    rng = Random(seed)
    monkeypatch.setattr("triplestore.model.thresholds.Sizes.in_memory", rng.randint(0, 8))
    agree(embedded, data(rng), program(rng), "rewrite", many=1)


def test_what_proves_too_large_at_once_is_joined(embedded: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """When nothing else has anything left to do."""
    monkeypatch.setattr("triplestore.model.thresholds.Sizes.in_memory", 0)
    rules = datalog.parse(f"PREFIX : <http://e/>\n{TRANSITIVE.format('p')}", "chain")
    triples = [(ex("a"), ex("p"), ex("b")), (ex("b"), ex("p"), ex("c"))]
    assert (ex("a"), ex("p"), ex("c")) in materialised(embedded, triples, rules, "off", many=1)[0]


def test_what_joins_the_delta_is_schema_too(embedded: Engine) -> None:
    """Domains that follow from subclasses, and a class that is one of the language's own."""
    names = [f"<http://e/C{number}>" for number in range(6)]
    sub, transitive = f"<{RDFS}subClassOf>", f"<{OWL}TransitiveProperty>"
    triples = [(low, sub, high) for low, high in zip(names, [*names[1:], transitive], strict=True)]
    triples += [(ex("p"), f"<{RDFS}domain>", names[0]), (ex("a"), ex("p"), ex("b")), (ex("q"), TYPE, names[0])]
    triples += [(ex("b"), ex("q"), ex("c")), (ex("c"), ex("q"), ex("d")), (ex("q"), f"<{RDFS}range>", names[2])]
    agree(embedded, triples, rules_of(("owl2rl",)), "rewrite", many=3)


def test_only_facts_are_derived(embedded: Engine) -> None:
    """A chain of 40 and a thing at its lower end: every fact is found once, where joins find it once for each of the
    nodes on the way; and that takes three rounds."""
    rules = datalog.parse(f"PREFIX : <http://e/>\n{TRANSITIVE.format('p')}{JOINED.format('t', 'p')}", "chain")
    triples = [(ex(f"n{number}"), ex("p"), ex(f"n{number + 1}")) for number in range(40)]
    triples.append((ex("x"), ex("t"), ex("n0")))
    assert len(materialised(embedded, triples, rules, "off", many=1)[0]) == 41 * 40 // 2 + 41
    derived = {}
    for many in (1, 1000):
        constants = Constants(encoding.lookup(embedded, {ex("p"), ex("t")}))
        figures = Tables(embedded, rules, "off", constants, many=many).materialise()
        derived[many] = figures.derived
        rounds = len(figures.rounds)
        assert rounds == 2 if many == 1 else rounds > 5
    assert derived[1] == 41 * 40 // 2 + 41 - 41
    assert derived[1000] > 5 * derived[1]
