"""Random streams over random stores, and what the windows' closures must be."""

from __future__ import annotations

import random
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.support.closure import expected
from tests.support.histories import _axiom, _facts
from tests.support.random_programs import PROPERTIES, TYPE, Triple, rules_of
from tests.support.stores import as_terms
from triplestore import Store
from triplestore.model.terms import OWL, XSD, to_ntriples
from triplestore.streams.answers import Answer
from triplestore.streams.run import StreamRun
from triplestore.streams.times import Window

EVERYTHING: Final = "SELECT ?s ?p ?o { ?s ?p ?o }"


@dataclass(frozen=True)
class Case:
    """A store's rules and triples, and a stream. kind: of what comes in it."""

    rules: str
    equality: str
    background: tuple[Triple, ...]
    stream: tuple[tuple[int, Triple], ...]
    window: Window

    def content(self, now: int) -> set[Triple]:
        """The triples of the window of a time."""
        return {triple for time, triple in self.stream if now - self.window.width < time <= now}

    @property
    def text(self) -> bytes:
        """The stream as lines."""
        lines = (f"{time} {' '.join(map(to_ntriples, triple))} .\n" for time, triple in self.stream)
        return "".join(lines).encode()

    def follow(self, store: Store, algorithm: str, source: Any = None, **options: Any) -> StreamRun:
        """Run over it, and look at every answer; the run, at its end."""
        width, step = str(self.window.width), str(self.window.step)
        import io

        run = store.stream(source or io.BytesIO(self.text), EVERYTHING, width, step, algorithm=algorithm, **options)
        with run:
            times = [self.look_at(answer) for answer in run]
        assert times == sorted(set(times)), "each window once"
        entered = {self.window.enters(time) for time, _ in self.stream if self.content(self.window.enters(time))}
        assert entered <= set(times), "no window is left out"
        return run

    def look_at(self, answer: Answer) -> int:
        """The answer at a time is that of a store with the window's triples and the background's."""
        asserted = {*self.background, *self.content(answer.time)}
        found = set(map(tuple, answer.rows))
        wanted, _ = expected(sorted(asserted), rules_of((self.rules,)), self.equality, self.rules == "owl2rl")
        wanted = {t for t in wanted if t[0][0] != '"' and t[1][0] == "<"}
        assert found - wanted == set(), f"too much at {answer.time}"
        assert wanted - found == set(), f"too little at {answer.time}"
        assert len(answer.rows) == len(found), f"rows twice at {answer.time}"
        return answer.time


def random_case(seed: int, length: int = 14) -> Case:
    """Streams of facts about individuals over an ontology in the store; a third of them change the ontology, too."""
    rng = random.Random(seed)
    rules = rng.choice(["owl2rl", "owl2rl", "rdfs-plus", "rdfs"])
    equality = "off" if rules == "rdfs" else rng.choice(["rewrite"] * 6 + ["axioms", "off"])
    facts = [*_facts(rng), *_facts(rng)]
    facts = [tuple(f"<http://e/node-{t[2:]}>" if t[:2] == "_:" else t for t in fact) for fact in facts]  # else its own
    kind = rng.choice(["facts", "facts", "any"])
    pool = [t for t in facts if kind == "any" or not _of_ontology(t, facts)]
    pool += [_axiom(rng)] * (kind == "any")
    background = [t for t in facts if t not in pool or rng.random() < 0.3]
    pool = pool or facts
    stream, time = [], rng.choice([0, 1, 1000, -7])
    for _ in range(length):
        time += rng.choice([0, 0, 1, 1, 1, 2, 9])
        stream.append((time, rng.choice(pool)))
    window = Window(rng.choice([1, 2, 3, 5]), rng.choice([1, 1, 2, 3]))
    if rules == "owl2rl" and rng.random() < 0.6:  # rules ask for the literals of a datatype
        # None has the value of another literal: which of them is shown would depend on what came first.
        numbers, number = "<http://e/numbers>", f"<{XSD}integer>"
        background += [(numbers, f"<{OWL}onProperty>", PROPERTIES[0]), (numbers, f"<{OWL}someValuesFrom>", number)]
        stream = [
            (time, (s, PROPERTIES[0], f'"{rng.randrange(2, 5)}"^^{number}') if rng.random() < 0.4 else (s, p, o))
            for time, (s, p, o) in stream
        ]
    return Case(rules, equality, tuple(background), tuple(stream), window)


def _of_ontology(triple: Triple, facts: Collection[Triple]) -> bool:
    """Whether a triple says something of classes or properties, not only by them."""
    s, p, o = triple
    classes = {o for _, p, o in facts if p == TYPE}
    named = {*PROPERTIES, *classes}
    return s in named or (o in named and p != TYPE) or (p not in PROPERTIES and p != TYPE and "sameAs" not in p)


def store_of(case: Case, folder: Path, **kind: Any) -> Store:
    """A store with the case's background."""
    store = Store.create(folder, [case.rules], case.equality, **kind)
    store.update(add=as_terms(list(case.background)))
    return store
