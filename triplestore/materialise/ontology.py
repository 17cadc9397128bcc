"""The schema of a run: what of it rules are specialised by, in memory, and what is so large that it stays data.

A key of schema atoms (`triplestore.compile.schema.Key`) with more than `many` facts, counted as they come or are
derived, goes to the engine, for good: rules that read it then join it there (`triplestore.compile.specialise`). A key
that goes over only changes which statements run from then on; what was derived stays.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from triplestore.compile.program import Program
from triplestore.compile.schema import SCHEMA_CONDITION, Constants, Fact, Key, SchemaFacts
from triplestore.compile.specialise import SchemaGrowth, Specialiser, normal_key
from triplestore.engine import Engine
from triplestore.model.equality import Equality
from triplestore.model.rule import Rule
from triplestore.model.terms import TYPE

MANY: Final = 5_000
"""Facts of one key up to which rules are specialised by them: a statement against joining in Python."""


class Ontology:
    """The schema facts of a closure in memory (`facts`), closed under the schema rules, and the rules read by them."""

    def __init__(self, engine: Engine, rules: Sequence[Rule], equality: Equality, many: int = MANY) -> None:
        self.engine, self.rules, self.many = engine, tuple(rules), many
        self.specialiser = Specialiser(self.rules, equality)
        self.facts = SchemaFacts()
        self._sizes: Counter[Key] = Counter()

    def note(self, sizes: Mapping[Key, int], constants: Constants) -> bool:
        """Take note of facts that come, by key; whether that made a key large, so that all must be `read` anew."""
        for key in {normal_key(key, constants) for key in self.specialiser.splittable}:
            self._sizes[key] += sizes.get(key, 0)
        return self._enlarge({key for key, size in self._sizes.items() if size > self.many}, constants)

    def note_stored(self, constants: Constants) -> None:
        """Take note of the facts of a closure that is there."""
        found = self.engine.query(
            f"SELECT p, CASE WHEN p = {TYPE} THEN o ELSE -1 END AS o, count(*) AS n FROM fact "
            f"WHERE {SCHEMA_CONDITION} GROUP BY 1, 2"
        ).to_pydict()
        self.note(dict(zip(zip(found["p"], found["o"], strict=True), found["n"], strict=True)), constants)

    def _enlarge(self, keys: set[Key], constants: Constants) -> bool:
        before = self.specialiser
        large = {key for key in before.splittable if normal_key(key, constants) in keys} | before.large
        if large == before.large:
            return False
        self.specialiser = Specialiser(self.rules, before.equality, large)
        return True

    def read(self, table: str, constants: Constants) -> list[Fact]:
        """The facts of a table that belong in memory."""
        rows = self.engine.query(f"SELECT s, p, o FROM {table} WHERE {self.specialiser.condition(constants)}")
        return list(zip(*(rows.column(i).to_pylist() for i in range(3)), strict=True))

    def close(
        self, fresh: Sequence[Fact], tables: Sequence[str], constants: Constants
    ) -> tuple[list[Fact], list[Fact]]:
        """Add facts and close; see `Specialiser.close`. tables: where to read all from anew if a key grows large."""
        while True:
            try:
                return self.specialiser.close(self.facts, fresh, constants, self.many)
            except SchemaGrowth as growth:
                self._enlarge({growth.key}, constants)
                self.facts = SchemaFacts()
                fresh = [fact for table in tables for fact in self.read(table, constants)]

    def program(self, constants: Constants) -> Program:
        """The rules specialised by the facts in memory."""
        return self.specialiser.program(self.facts, constants)
