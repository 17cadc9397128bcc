"""The schema of a run: what of it rules are specialised by, in memory, and what is so large that it stays data.

A node of schema atoms (`triplestore.compile.dependency`) with more than `many` facts, counted as they are added or
derived, moves to the engine, for good: rules that read it then join it there (`triplestore.compile.specialise`). That
only changes which statements run from then on; what was derived stays.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from triplestore.compile.dependency import ALL, Node
from triplestore.compile.program import Program
from triplestore.compile.schema import Constants, Fact, SchemaFacts
from triplestore.compile.specialise import SchemaGrowth, Specialiser, normal_node
from triplestore.engine import Queries
from triplestore.model.equality import Equality
from triplestore.model.rule import Rule
from triplestore.model.terms import TYPE


class Ontology:
    """The schema facts of a closure in memory (`facts`), closed under the schema rules, and the rules read by them."""

    def __init__(self, engine: Queries, rules: Sequence[Rule], equality: Equality, many: int) -> None:
        self.engine, self.rules, self.many = engine, tuple(rules), many
        self.specialiser = Specialiser(self.rules, equality)
        self.facts = SchemaFacts()
        self._sizes: Counter[Node] = Counter()

    def note(self, sizes: Mapping[Node, int], constants: Constants) -> bool:
        """Count facts that are added, by node; whether that made a node large, so that all must be `read` again."""
        for node in {normal_node(node, constants) for node in self.specialiser.splittable}:
            self._sizes[node] += sizes.get(node, 0)
        return self._enlarge({node for node, size in self._sizes.items() if size > self.many}, constants)

    def note_stored(self, constants: Constants) -> None:
        """Count the facts of the closure in `fact`."""
        found = self.engine.query(
            f"SELECT p, CASE WHEN p = {TYPE} THEN o ELSE {ALL} END AS o, count(*) AS n FROM fact "
            f"WHERE {constants.vocabulary.condition} GROUP BY 1, 2"
        ).to_pydict()
        self.note(dict(zip(zip(found["p"], found["o"], strict=True), found["n"], strict=True)), constants)

    def _enlarge(self, nodes: set[Node], constants: Constants) -> bool:
        before = self.specialiser
        large = {node for node in before.splittable if normal_node(node, constants) in nodes} | before.large
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
        """Add facts and close; see `Specialiser.close`. tables: where to read all from again if a node grows large."""
        while True:
            try:
                return self.specialiser.close(self.facts, fresh, constants, self.many)
            except SchemaGrowth as growth:
                self._enlarge({growth.node}, constants)
                self.facts = SchemaFacts()
                fresh = [fact for table in tables for fact in self.read(table, constants)]

    def others(self, constants: Constants) -> list[Fact]:
        """What the schema rules derive of the facts in memory that is not for memory itself."""
        return self.specialiser.close(SchemaFacts(), self.facts.facts, constants)[1]

    def program(self, constants: Constants) -> Program:
        """The rules specialised by the facts in memory."""
        return self.specialiser.program(self.facts, constants)
