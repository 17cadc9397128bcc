"""Random streams over random stores, and what the windows' closures must be."""

from __future__ import annotations

import json
import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Final

from tests.support.closure import expected
from tests.support.histories import _axiom, _facts
from tests.support.random_programs import PROPERTIES, TYPE, Triple, rules_of
from tests.support.stores import as_terms
from triplestore import Store
from triplestore.model.terms import OWL, RDFS, XSD, spelling, to_ntriples
from triplestore.streams.answers import Answer
from triplestore.streams.run import StreamRun
from triplestore.streams.times import Window

EVERYTHING: Final = "SELECT ?s ?p ?o { ?s ?p ?o }"


def closure_of(
    rules: str, equality: str, background: Collection[Triple], content: Collection[Triple]
) -> frozenset[Triple]:
    """The closure of the background and the content of windows, as queries show it, computed from scratch. A value is
    shown in the forms in which it was asserted of the same subject and predicate, else in the form that it has in the
    background, else in the first by spelling of those in the windows."""
    met = [
        t for triples in (background, content) for t in sorted({o for _, _, o in triples if o[0] == '"'}, key=spelling)
    ]
    asserted = sorted({*background, *content})
    found, _ = expected(asserted, rules_of((rules,)), equality, rules == "owl2rl", met)
    return frozenset(t for t in found if t[0][0] != '"' and t[1][0] == "<")


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
        found = set(map(tuple, answer.rows))
        wanted = closure_of(self.rules, self.equality, self.background, self.content(answer.time))
        assert found - wanted == set(), f"too much at {answer.time}"
        assert wanted - found == set(), f"too little at {answer.time}"
        assert len(answer.rows) == len(found), f"rows twice at {answer.time}"
        return answer.time


def random_case(seed: int, length: int = 14) -> Case:
    """Streams of facts about individuals over an ontology in the store; a third of them change the ontology, too."""
    rng = random.Random(seed)
    rules, equality, background, pool, numbers = _random_store(rng)
    stream, time = [], rng.choice([0, 1, 1000, -7])
    for _ in range(length):
        time += rng.choice([0, 0, 1, 1, 1, 2, 9])
        stream.append((time, _random_triple(rng, pool, numbers)))
    window = Window(rng.choice([1, 2, 3, 5]), rng.choice([1, 1, 2, 3]))
    return Case(rules, equality, tuple(background), tuple(stream), window)


def _random_store(rng: random.Random) -> tuple[str, str, list[Triple], list[Triple], bool]:
    """Rules, an equality mode, a background, triples that a stream may bring, and whether numbers are among these, of
    which several forms are equal."""
    rules = rng.choice(["owl2rl", "owl2rl", "rdfs-plus", "rdfs"])
    equality = "off" if rules == "rdfs" else rng.choice(["rewrite"] * 6 + ["axioms", "off"])
    facts = [*_facts(rng), *_facts(rng)]
    facts = [tuple(f"<http://e/node-{t[2:]}>" if t[:2] == "_:" else t for t in fact) for fact in facts]  # else its own
    kind = rng.choice(["facts", "facts", "any"])
    pool = [t for t in facts if kind == "any" or not _of_ontology(t, facts)]
    pool += [_axiom(rng)] * (kind == "any")
    background = [t for t in facts if t not in pool or rng.random() < 0.3]
    pool = pool or facts
    numbers = rng.random() < 0.5
    if numbers:
        background += [(node, PROPERTIES[0], rng.choice(NUMBERS)) for node in ("<http://e/a>",) if rng.random() < 0.3]
        if rules == "owl2rl":  # rules that ask for the literals of a datatype
            node = "<http://e/numbers>"
            background += [(node, f"<{OWL}onProperty>", PROPERTIES[0]), (node, f"<{OWL}someValuesFrom>", INTEGER)]
        if rules != "rdfs" or rng.random() < 0.5:  # derived facts with the literals
            background.append((PROPERTIES[0], f"<{RDFS}subPropertyOf>", PROPERTIES[1]))
    return rules, equality, background, pool, numbers


def _random_triple(rng: random.Random, pool: Sequence[Triple], numbers: bool) -> Triple:
    s, p, o = rng.choice(pool)
    return (s, PROPERTIES[0], rng.choice(NUMBERS)) if numbers and rng.random() < 0.4 else (s, p, o)


@dataclass(frozen=True)
class Line:
    """A line of a stream. triple: None where it is malformed, whatever its time is."""

    text: bytes
    time: int = 0
    triple: Triple | None = None


@dataclass(frozen=True)
class Scenario:
    """A store, and streams with malformed and late lines, which several windows see. windows: (the name of a named
    window, or "", the stream, the window). plain: nothing is asked outside of the only window, a named one."""

    rules: str
    equality: str
    background: tuple[Triple, ...]
    streams: dict[str, tuple[Line, ...]]
    windows: tuple[tuple[str, str, Window], ...]
    lateness: int
    plain: bool

    @cached_property
    def arrived(self) -> dict[str, list[tuple[int, int, Triple]]]:
        """What is not malformed of each stream: the least time of a window that was open when it came, its time, the
        triple."""
        found: dict[str, list[tuple[int, int, Triple]]] = {}
        for name, lines in self.streams.items():
            newest = -(2**62)
            for line in lines:
                if line.triple is not None:
                    found.setdefault(name, []).append((newest - self.lateness, line.time, line.triple))
                    newest = max(newest, line.time)
        return found

    def content(self, name: str, now: int) -> frozenset[Triple]:
        """The triples that a part of a query sees at a time."""
        found = set[Triple]()
        for part, stream, window in self.windows:
            last = now // window.step * window.step
            if part == name:
                arrived = self.arrived.get(stream, ())
                found |= {t for least, time, t in arrived if last - window.width < time <= last and least <= last}
        return frozenset(found)

    @property
    def late(self) -> int:
        """How many triples are too late for one of their windows."""
        return sum(
            any(
                now - window.width < time <= now < least and now % window.step == 0
                for _, stream, window in self.windows
                if stream == name
                for now in range(time, time + window.width)
            )
            for name, arrived in self.arrived.items()
            for least, time, _ in arrived
        )

    @property
    def malformed(self) -> int:
        """How many lines are malformed."""
        return sum(line.triple is None for lines in self.streams.values() for line in lines)

    @property
    def text(self) -> str:
        """The query: it names its windows in different ways, and says which part of it each row is of."""
        clauses = [
            f"FROM STREAM {stream} [RANGE {window.width} STEP {window.step}]"
            if not part
            else f"FROM NAMED WINDOW w:{part} ON {stream} [RANGE {window.width} STEP {window.step}]"
            for part, stream, window in self.windows
        ]
        named = [part for part, _, _ in self.windows if part]
        patterns = [f'{{ WINDOW <http://w/{part}> {{ ?s ?p ?o }} BIND("{part}" AS ?part) }}' for part in named]
        if not self.plain:
            patterns.append('{ ?s ?p ?o BIND("" AS ?part) }')
        head = "PREFIX w: <http://w/> SELECT ?part ?s ?p ?o"
        return f"{head} {' '.join(clauses)} WHERE {{ {' UNION '.join(patterns)} }}"

    def look_at(self, answer: Answer) -> int:
        """Each part of the answer is the closure of the background and what that part sees."""
        assert len(answer.rows) == len(set(answer.rows)), f"rows twice at {answer.time}"
        parts = dict.fromkeys(part for part, _, _ in self.windows)
        for part in parts if self.plain else ("", *parts):
            found = {row[1:] for row in answer.rows if row[0] == f'"{part}"'}
            wanted = self.wanted(self.content(part, answer.time))
            assert found - wanted == set(), f"too much at {answer.time} in {part}"
            assert wanted - found == set(), f"too little at {answer.time} in {part}"
        return answer.time

    def wanted(self, content: frozenset[Triple]) -> frozenset[Triple]:
        """The closure of the background and the content of windows."""
        return _closure_of(self.rules, self.equality, self.background, content)

    def sources(self) -> dict[str, Any]:
        """The streams as open files."""
        import io

        return {name: io.BytesIO(b"".join(line.text for line in lines)) for name, lines in self.streams.items()}

    def follow(self, store: Store, algorithm: str, **options: Any) -> StreamRun:
        """Run over it, and look at every answer; the run, at its end."""
        options.setdefault("lateness", str(self.lateness) if self.lateness else None)
        with store.stream(self.sources(), self.text, algorithm=algorithm, **options) as run:
            times = [self.look_at(answer) for answer in run]
        self.look_at_end(run, times)
        return run

    def look_at_end(self, run: StreamRun, times: Sequence[int]) -> None:
        """Each window that a triple enters is answered once, in order, and what was left out is counted."""
        assert list(times) == sorted(set(times)), "each window once"
        for _, stream, window in self.windows:
            for least, time, _ in self.arrived.get(stream, ()):
                first = max(window.enters(time), window.enters(least))
                assert first in times or first >= window.leaves(time), "no window is left out"
        assert (run.stats.late, run.stats.malformed) == (self.late, self.malformed)


_closure_of = lru_cache(maxsize=1_000)(closure_of)

NUMBERS: Final = tuple(
    f'"{text}"^^<{XSD}{kind}>'
    for text, kind in (
        *(("1", "integer"), ("01", "integer"), ("+1", "integer"), ("1.0", "decimal"), ("1", "byte")),
        *(
            ("2", "integer"),
            ("02", "integer"),
            ("1.50", "decimal"),
            ("1.5", "decimal"),
            ("1", "double"),
            ("x", "integer"),
        ),
    )
)
"""Literals of which several have one value; one has none."""

INTEGER: Final = f"<{XSD}integer>"

MALFORMED: Final = (
    "{} <http://e/a> <http://e/p0> .",
    '{} <http://e/a> <http://e/p0> "open .',
    "{}",
    "{}x <http://e/a> <http://e/p0> <http://e/b> .",
    "{} <http://e/a> <http://e/p0> <http://e/b> . <http://e/a> <http://e/p0> <http://e/c> .",
    '{} "1" <http://e/p0> <http://e/b> .',
    '{{"time": {}, "triple": "<http://e/a> <http://e/p0>"}}',
    "{} # nothing",
)
"""Lines with a time that no triple has."""


def random_scenario(seed: int, length: int = 14) -> Scenario:
    """Streams that bring facts again, out of order and among malformed lines, in windows that slide, hop or tumble."""
    rng = random.Random(seed)
    rules, equality, background, pool, numbers = _random_store(rng)
    lateness = rng.choice([0, 0, 1, 3])
    streams = {}
    for name in [f"<http://s/{number}>" for number in range(rng.choice([1, 1, 2]))]:
        lines, time, before = list[Line](), rng.choice([0, 1, 100, -7]), list[Triple]()
        for _ in range(length):
            time += rng.choice([0, 0, 1, 1, 1, 2, 9])
            if rng.random() < 0.15:  # at a time that would make all that follows late
                ahead = time + rng.choice([0, 50, 10**6])
                lines.append(Line(f"{rng.choice(MALFORMED).format(ahead)}\n".encode()))
                continue
            moved = time - (rng.choice([1, 2, 3, 5, 9, 20]) if rng.random() < 0.25 else 0)
            again = before and rng.random() < 0.3
            triple = rng.choice(before) if again else _random_triple(rng, pool, numbers)
            before.append(triple)
            lines.append(Line(_written(rng, moved, triple), moved, triple))
        streams[name] = tuple(lines)
    windows = []
    for number in range(rng.choice([1, 1, 2, 3])):
        width = rng.choice([1, 2, 3, 5, 8])
        window = Window(width, rng.choice([1, 2, 3, width, width]))
        windows.append((rng.choice(["", f"n{number}"]), rng.choice(list(streams)), window))
    windows += [("", name, Window(3, 1)) for name in streams if all(stream != name for _, stream, _ in windows)]
    plain = len(windows) == 1 and windows[0][0] != "" and rng.random() < 0.5
    return Scenario(rules, equality, tuple(background), streams, tuple(windows), lateness, plain)


def _written(rng: random.Random, time: int, triple: Triple) -> bytes:
    """A line, in one of the forms that are read alike."""
    parts = list(map(to_ntriples, triple))
    date = datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=time)
    written = f"{date:%Y-%m-%dT%H:%M:%S}.{date.microsecond:06}Z"
    return rng.choice(
        (
            *[f"{time} {' '.join(parts)} .\n"] * 3,
            "\t".join((str(time), *parts, ".\r\n")),
            f" {Decimal(time) - Decimal('0.75')}  {' '.join(parts)} .\n",
            f"{written} {' '.join(parts)} . # a comment\n",
            json.dumps({"time": time, "triple": " ".join(parts)}) + "\n",
            "\n# a comment\n" + json.dumps({"time": written, **dict(zip("spo", parts, strict=True))}) + "\r\n",
        )
    ).encode()


def _of_ontology(triple: Triple, facts: Collection[Triple]) -> bool:
    """Whether a triple says something of classes or properties, not only by them."""
    s, p, o = triple
    classes = {o for _, p, o in facts if p == TYPE}
    named = {*PROPERTIES, *classes}
    return s in named or (o in named and p != TYPE) or (p not in PROPERTIES and p != TYPE and "sameAs" not in p)


def store_of(case: Case | Scenario, folder: Path, **kind: Any) -> Store:
    """A store with the case's background."""
    store = Store.create(folder, [case.rules], case.equality, **kind)
    store.update(add=as_terms(list(case.background)))
    return store
