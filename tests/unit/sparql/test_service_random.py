"""Random queries with SERVICE, against Oxigraph, which asks the same endpoint without sending it solutions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random

import pytest

from tests.support.endpoint import Endpoint, answering, endpoint
from tests.support.sparql import Triple, bag, make_graph, ox_store, reference
from triplake.sparql import query
from triplestore.engine import Engine

QUERIES = 30
"""Of each seed."""


def facts(random: Random) -> list[Triple]:
    names = [f"<http://e/{name}>" for name in "abcd"]
    predicates = [f"<http://e/{name}>" for name in "pqr"]
    return [(random.choice(names), random.choice(predicates), random.choice([*names, '"1"'])) for _ in range(8)]


class Patterns:
    """Random patterns; `@` is the endpoint."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def variable(self) -> str:
        return f"?{self.random.choice('xyzw')}"

    def term(self) -> str:
        return self.variable() if self.random.random() < 0.8 else f":{self.random.choice('abcd')}"

    def triples(self) -> str:
        predicates = [f":{self.random.choice('pqr')}"] * 3 + [self.variable()]
        number = self.random.choice([1, 1, 2])
        return " ".join(f"{self.term()} {self.random.choice(predicates)} {self.term()} ." for _ in range(number))

    def condition(self) -> str:
        one, other = self.variable(), self.variable()
        return self.random.choice([f"{one} = :a", f"!bound({one})", f"bound({one})", f"{one} != {other}"])

    def group(self, depth: int, inside: bool = False) -> str:
        """inside: of a SERVICE, which has no other in it."""
        parts = [self.part(depth, inside) for _ in range(self.random.choice([1, 2, 2, 3]))]
        parts += [f"FILTER({self.condition()})"] * (self.random.random() < 0.3)
        return f"{{ {' '.join(parts)} }}"

    def part(self, depth: int, inside: bool) -> str:
        if depth == 0:
            return self.triples()
        group = self.group(depth - 1, inside)
        there = "" if inside else f"SERVICE @ {self.group(depth - 1, True)}"
        exists = f"{self.random.choice(['', 'NOT '])}EXISTS {{ {self.triples()} {there} }}"
        return self.random.choice(
            [
                *[self.triples(), there, there, group],
                *[f"OPTIONAL {group}", f"{group} UNION {self.group(depth - 1, inside)}", f"MINUS {group}"],
                f"{{ SELECT ?{' ?'.join(self.random.sample('xyzw', 2))} {group} }}",
                f"{{ SELECT DISTINCT ?x {group} ORDER BY ?x LIMIT 2 }}",
                f"FILTER {exists}",
                "VALUES (?x ?y) { (:a UNDEF) (UNDEF :b) (:c :c) }",
            ]
        )


@pytest.fixture
def other(request: pytest.FixtureRequest) -> Iterator[Endpoint]:
    """An endpoint with facts of its own."""
    with endpoint(answering(ox_store(facts(Random(f"{request.param} there"))))) as made:
        yield made


@pytest.mark.parametrize(("other", "seed"), [(seed, seed) for seed in range(2)], indirect=["other"])
def test_answers_are_those_of_oxigraph(
    embedded: Engine, other: Endpoint, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    random = Random(seed)
    here = facts(random)
    graph = replace(make_graph(embedded, here, asserted=here, equality="off"), services=(other.address,))
    patterns, store, answered = Patterns(random), ox_store(here), 0
    while answered < QUERIES:
        text = f"PREFIX : <http://e/> SELECT * {patterns.group(2)}"
        if "@" not in text:
            continue
        monkeypatch.setattr("triplestore.model.thresholds.Sizes.inline", random.choice([1, 2, 100]))
        monkeypatch.setattr("triplestore.model.thresholds.Sizes.objects", random.choice([2, 1_000]))
        text = text.replace("@", f"<{other.address}>")
        found = query(graph, text)
        assert bag(found.tokens()) == bag(reference(store, text, found.variables)), text
        answered += 1
    assert any("VALUES (" in asked for asked in other.queries)
