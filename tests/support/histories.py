"""Long histories of a store by every algorithm."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tests.support import equality_programs, random_programs
from tests.support.closure import expected, unreadable
from tests.support.counting import stored
from tests.support.equality_programs import random_facts
from tests.support.pages import small_pages
from tests.support.random_programs import CLASSES, PROPERTIES, TYPE, Triple
from tests.support.stores import as_terms, tokens
from triplake import rulesets
from triplestore import Store
from triplestore.maintain.policy import DELETING, OVERDELETION
from triplestore.model.errors import InputError
from triplestore.model.rule import Rule
from triplestore.model.terms import OWL, RDFS, XSD

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RULES: Final = {rule.name: rule for rule in (*random_programs._USER_RULES, *equality_programs.RULES)}


AXIOMS: Final = (f"<{RDFS}subClassOf>", f"<{RDFS}subPropertyOf>", f"<{OWL}inverseOf>", f"<{RDFS}domain>", TYPE)


PAGES: Final = (None, 1, 3, 8)
"""Rows of a page of the stores' files."""

MOST: Final = 30
"""Asserted triples from which on more go than come: the oracle is slow."""


@dataclass(frozen=True)
class Step:
    """What an update does. rules: names of those that come, where they are not there, or go."""

    add: list[Triple] = field(default_factory=list)
    delete: list[Triple] = field(default_factory=list)
    rules: list[str] = field(default_factory=list)


def history(rng: random.Random, steps: int) -> Iterator[Step]:
    """A load, and then updates."""
    now = set(_facts(rng))
    yield Step(sorted(now))
    for _ in range(steps):
        kind = rng.choice(["few", "few", "few", "axiom", "axiom", "rules", "many", "half"])
        if kind == "rules":
            yield Step(rules=rng.sample(sorted(RULES), rng.randint(1, 2)))
            continue
        share = {"few": rng.randint(1, 3), "axiom": 1, "many": 2, "half": len(now) // 2}[kind]
        delete = set(rng.sample(sorted(now), min(len(now), share)))
        add: set[Triple] = set()
        if kind == "axiom":
            delete &= {t for t in now if t[1] != TYPE and "/e/p" not in t[1]}
            add = {_axiom(rng)}
        elif kind == "few":
            add = set(rng.sample(_facts(rng), rng.randint(0, 2)))
        elif kind == "many" and len(now) < MOST:
            add = set(_facts(rng))
        yield Step(sorted(add - now), sorted(delete - add))
        now = (now - delete) | add


def _facts(rng: random.Random) -> list[Triple]:
    """Random data, in which no two literals have one value: which is shown would depend on the history."""
    one = f'"1"^^<{XSD}integer>'
    return [(s, p, '"v"' if o == one else o) for s, p, o in random_facts(rng)]


def _axiom(rng: random.Random) -> Triple:
    predicate = rng.choice(AXIOMS)
    if predicate == TYPE:
        kind = rng.choice(["Functional", "InverseFunctional", "Symmetric", "Transitive"])
        return rng.choice(PROPERTIES), TYPE, f"<{OWL}{kind}Property>"
    ends = (CLASSES, CLASSES) if "Class" in predicate else (PROPERTIES, PROPERTIES)
    if "domain" in predicate:
        ends = (PROPERTIES, CLASSES)
    return rng.choice(ends[0]), predicate, rng.choice(ends[1])


class Run:
    """A store, and what it must hold."""

    def __init__(self, store: Store, ruleset: str, equality: str, algorithm: str, folder: Path) -> None:
        self.store, self.ruleset, self.equality, self.algorithm, self.folder = (
            store,
            ruleset,
            equality,
            algorithm,
            folder,
        )
        self.asserted: set[Triple] = set()
        self.names: set[str] = set()

    @property
    def rules(self) -> tuple[Rule, ...]:
        return (*rulesets.named(self.ruleset).rules, *(RULES[name] for name in sorted(self.names)))

    def take(self, step: Step) -> str:
        """Take a step; what maintained the closure. Nothing, where it is refused: then all is as it was."""
        asserted, names = set(self.asserted), set(self.names)
        try:
            return self._taken(step)
        except InputError as error:  # pi leaves no lists to rules that read some
            if not unreadable(error):
                raise
            self.asserted, self.names = asserted, names
            return "refused"

    def _taken(self, step: Step) -> str:
        if step.rules:
            files = {name: self._file(name) for name in step.rules}
            add = [file for name, file in files.items() if name not in self.names]
            remove = [Path(file).name for name, file in files.items() if name in self.names]
            self.names ^= set(step.rules)
            return str(self.store.change_rules(add, remove, maintain=self.algorithm)["algorithm"])
        self.asserted = (self.asserted - set(step.delete)) | set(step.add)
        add_, delete = as_terms(step.add), as_terms(step.delete)
        return str(self.store.update(add=add_, delete=delete, maintain=self.algorithm)["algorithm"])

    def _file(self, name: str) -> str:
        path = self.folder / f"{name}.dlog"
        path.write_text(f"@rule {name}\n{rulesets.datalog.render(RULES[name])}\n", encoding="utf-8")
        return str(path)

    def check_oracle(self) -> None:
        datatypes = any(rule.name == "dt-type1" for rule in self.rules)
        wanted, violated = expected(sorted(self.asserted), self.rules, self.equality, datatypes)
        got = tokens(self.store)
        assert got - wanted == set(), "derived too much"
        assert wanted - got == set(), "derived too little"
        assert bool(self.store.check()) == bool(violated)
        assert tokens(self.store, "asserted") == self.asserted

    def check_anew(self) -> None:
        copy = self.folder / "copy"
        with Store.open(self.store.path, engine="duckdb") as reopened:
            assert tokens(reopened) == tokens(self.store), "what is on disk"
            reopened.copy(copy)
        with Store.open(copy, engine="duckdb") as fresh:
            fresh.materialise()
        for table in ("fact", "same_as", "count"):
            assert sorted(stored(self.store.path, table)) == sorted(stored(copy, table)), table
        shutil.rmtree(copy)


def follow(run: Run, seed: str, steps: int, engine: str | None = None) -> int:
    """Follow a history; how many of its steps were maintained by the algorithm, or by any if `auto` chooses. engine: by
    which the store is opened again now and then, so that the closure is read from its files."""
    maintained, names = 0, DELETING if run.algorithm == "auto" else (run.algorithm,)
    rng = random.Random(f"{seed} opened")
    for number, step in enumerate(history(random.Random(seed), steps)):
        if engine is not None and rng.random() < 0.4:
            run.store.close()
            run.store = Store.open(run.store.path, engine)
        maintained += run.take(step).startswith(names)
        run.check_oracle()
        if number % 5 == 0 or number == steps:
            run.check_anew()
    return maintained


def in_a_store(
    folder: Path, seed: str, way: tuple[str, str, bool], steps: int, spark: SparkSession | None = None
) -> int:
    """Make a store for a way, and follow a history in it."""
    equality, algorithm, counting = way
    algorithm = "auto" if algorithm == OVERDELETION else algorithm
    ruleset = random.Random(f"{seed} rules").choice(["owl2rl", "owl2rl", "rdfs-plus", "none"])
    engine = "auto" if spark else "duckdb"
    kg = folder / f"kg {seed}"
    with small_pages(random.Random(f"{seed} {way}").choice(PAGES)):
        store = Store.create(kg, [ruleset], equality, engine, spark, counting=counting)
        run = Run(store, ruleset, equality, algorithm, folder)
        try:
            return follow(run, seed, steps, None if spark else "duckdb")
        finally:
            run.store.close()


def between_engines(folder: Path, seed: str, way: tuple[str, str, bool], steps: int, spark: SparkSession) -> set[str]:
    """Follow a history whose steps are each taken by one engine or the other, opened for that; the engines."""
    equality, algorithm, counting = way
    rng = random.Random(f"{seed} engines")
    ruleset = rng.choice(["owl2rl", "owl2rl", "rdfs-plus", "none"])
    kg, met = folder / f"kg {seed}", set[str]()
    with small_pages(random.Random(f"{seed} {way}").choice(PAGES)):
        first = Store.create(kg, [ruleset], equality, "duckdb", counting=counting)
        first.close()
        run = Run(first, ruleset, equality, "auto" if algorithm == OVERDELETION else algorithm, folder)
        for step in history(random.Random(seed), steps):
            engine = rng.choice(("duckdb", "spark"))
            with Store.open(kg, engine, spark if engine == "spark" else None) as run.store:
                run.take(step)
                run.check_oracle()
            with Store.open(kg, "duckdb") as run.store:
                run.check_anew()
            met.add(engine)
    return met
