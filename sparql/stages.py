"""Patterns that are evaluated one after another over one version, with solutions kept in working tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import TracebackType

from triplake.sparql.algebra import Distinct, Kept, Node, Project, Query
from triplake.sparql.parser import not_too_deep
from triplake.sparql.query import Graph, Run


class Stages:
    """Evaluates patterns of one graph, all equalities expanded, as a SELECT does. Its tables last as long as it does:
    use it with `with`.

    A term that the dictionary lacks has one id in all of them."""

    def __init__(self, graph: Graph) -> None:
        self._engine = graph.engine
        self._run = Run(graph, True, own={})
        self._scratch = graph.engine.scratch()

    def __enter__(self) -> Stages:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._scratch.__exit__(kind, error, trace)

    def keep(self, pattern: Node, variables: Sequence[str]) -> tuple[Kept, int]:
        """Different solutions of a pattern for some variables, all bound to terms of the data or of the query, as a
        pattern, and how many there are."""
        distinct = Distinct(Project(pattern, tuple(variables)))
        with not_too_deep("shape"):
            compiler = self._run.compiler(Query("select", distinct))
            with compiler.paths.scratch:
                name = self._scratch.table("kept")
                rows = self._engine.create(name, compiler.select(distinct, variables, decoded=False))
        return Kept(name, tuple(variables)), rows

    def rows(self, pattern: Node, variables: Sequence[str]) -> Iterator[tuple[str | None, ...]]:
        """Different solutions of a pattern for some variables, as tokens; None: unbound."""
        distinct = Distinct(Project(pattern, tuple(variables)))
        with not_too_deep("shape"):
            found = self._run.answer(Query("select", distinct, tuple(variables)))
        for batch in found.token_batches():
            yield from batch
