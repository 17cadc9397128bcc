"""What an operator needs of the compiler that it is part of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from triplake.sparql.algebra import Node, Triple
from triplake.sparql.dataset import Graphs, Reading
from triplake.sparql.path_closure import Seeds
from triplake.sparql.relation import Relation, Steps
from triplestore.expressions.compiler import Expressions
from triplestore.expressions.staging import Staging
from triplestore.expressions.values import Value
from triplestore.model.expression import Exists, Expression

Needed = frozenset[str]
"""The variables that something above an operator reads."""


@dataclass(slots=True)
class Given:
    """Solutions that those of a pattern will be joined with (`triplake.sparql.path_starts`). relation: a step that
    reads the working table `table`. names: the variables that every solution binds. rows: how many solutions there are.
    seeds: their terms as paths start from them, by variable and reading."""

    relation: Relation
    table: str
    names: frozenset[str]
    rows: int
    seeds: dict[tuple[str, str], Seeds | None] = field(default_factory=dict)


Givens = tuple[tuple[Given, frozenset[str]], ...]
"""What is given, each with the variables by which it may restrict what is compiled."""


class Context(Protocol):
    """The query that is being compiled. reading: what patterns read here; graphs: and in others. graph: inside a GRAPH,
    the hidden variable of the graph that they are matched in, which every solution has. outer: inside an EXISTS, the
    solutions that are substituted into its pattern (`triplake.sparql.exists`). ids: the ids of constants where they are
    values. rows: of all leaves joined, at most, by estimate. givens: solutions that those of the pattern will be joined
    with (`triplake.sparql.path_starts`)."""

    steps: Steps
    ids: dict[str, int]
    reading: Reading
    graphs: Graphs
    graph: str | None
    outer: Relation | None
    rows: float
    givens: Givens

    def node(self, node: Node, needed: Needed) -> Relation:
        """The solutions of a pattern, with (at least) the columns of those needed variables that it binds."""

    def beside(self, left: Relation, right: Node, needed: Needed) -> tuple[Relation, Relation]:
        """The left side of an OPTIONAL or MINUS, and the solutions of its right side: at least those that are
        compatible with one of the left side."""

    def factors(self, triples: Sequence[Triple]) -> list[Relation]:
        """The matches of each triple of a basic graph pattern by itself."""

    def filtered(self, relation: Relation, condition: Expression) -> Relation:
        """The solutions for which a condition holds."""

    def flat(self, relation: Relation) -> Relation:
        """The relation with a row for each solution."""

    def expressions(
        self, variable: Callable[[str], Value], staging: Staging, flags: dict[Exists, str] | None = None
    ) -> Expressions:
        """A compiler of expressions over these variables. flags: the columns of the EXISTS in them."""
