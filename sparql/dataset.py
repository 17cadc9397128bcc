"""What the patterns of a query read: the closure, or what was asserted in some graphs (SPARQL 1.1, section 13).

A graph's triples are matched in the asserter's own terms: no equality is expanded, and literals are the forms that were
asserted; in canonical answers, by class. The graphs that FROM chooses are the union of their asserted triples: no
closure of them is computed, but what follows from the store's default graph has a name (`triplestore.model.dataset`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from triplake.sparql.algebra import Dataset
from triplake.sparql.constants import Constants
from triplake.sparql.path_closure import PathTables
from triplake.sparql.patterns import Matching
from triplestore.closure.expand import triples_sql
from triplestore.closure.quads import named_sql, unnamed_sql
from triplestore.closure.view import ClosureView
from triplestore.dictionary.object_types import Types
from triplestore.model.dataset import ASSERTED, DEFAULT, INFERRED, PARTS


@dataclass(frozen=True, slots=True)
class Reading:
    """How the leaves of a pattern read the tables, and the ids that the constants have there."""

    matching: Matching
    constants: Constants
    paths: PathTables


@dataclass(frozen=True, slots=True)
class Graphs:
    """The graphs of a query's dataset. closure: how the closure is read. union: the store's default graph is the union
    of all graphs. chosen: the graphs that the query itself chooses. made: those that are there even without triples.
    types: those that the objects of predicates may have in the closure and in what is asserted, if they are known."""

    closure: Reading
    view: ClosureView
    union: bool
    chosen: Dataset | None
    made: tuple[str, ...]
    types: Callable[[], Types | None] = lambda: None

    def default(self) -> Reading:
        """Of patterns that are in no GRAPH."""
        if self.chosen is None or {*self.chosen.default} == {ASSERTED, INFERRED}:
            return self.closure
        return self._reading(f"SELECT s, p, o FROM ({self._quads(self.chosen.default)}) q")

    def named(self, graph: str | None) -> Reading:
        """Of patterns in a GRAPH: of this name (a token), or of a variable (None). A graph that the query chooses is
        there even without triples."""
        chosen, ids = None if self.chosen is None else self.chosen.named, self.closure.constants.ids
        names = chosen if graph is None else (graph,) if chosen is None or graph in chosen else ()
        quads = self._quads(names)
        there = names or () if chosen is not None else [name for name in self.made if graph in (None, name)]
        listed = ", ".join(f"({ids[name]})" for name in there)
        sql = (
            f"SELECT CAST(g AS BIGINT) AS g FROM (VALUES {listed}) n(g)" if listed else "SELECT g FROM quad WHERE FALSE"
        )
        return self._reading(quads, f"({sql})" if chosen is not None else f"({sql} UNION SELECT g FROM ({quads}) n)")

    def _quads(self, graphs: Iterable[str] | None) -> str:
        """The quads (g, s, p, o) of some named graphs, or all, as SQL."""
        ids = self.closure.constants.ids
        if graphs is None:
            return named_sql(None)
        own = [ids[name] for name in graphs if name not in PARTS]
        parts = [
            f"SELECT CAST({ids[name]} AS BIGINT) AS g, s, p, o FROM ({self._part(name)}) p"
            for name in graphs
            if name in PARTS
        ]
        return " UNION ALL ".join([named_sql(own), *parts])

    def _part(self, name: str) -> str:
        """The triples of a part of the store that has a name of its own, as SQL."""
        if name == DEFAULT:
            return unnamed_sql(self.union)
        return triples_sql(self.view, "asserted" if name == ASSERTED else "inferred", "expand")

    def _reading(self, sql: str, graphs: str = "") -> Reading:
        """Of triples, or of quads in these graphs (what stands after FROM)."""
        closure, columns = self.closure, "gspo" if graphs else "spo"
        exact = replace(closure.constants, representatives={}, values={})
        if closure.matching.choosing:
            exact = replace(closure.constants, values={})
            own = ["x.g"] * bool(graphs) + [f"coalesce({c}m.representative, x.{c}) AS {c}" for c in "spo"]
            joins = " ".join(f"LEFT JOIN same_as {c}m ON {c}m.term = x.{c}" for c in "spo")
            sql = f"SELECT DISTINCT {', '.join(own)} FROM ({sql}) x {joins}"
        elif not graphs:
            sql = f"SELECT DISTINCT {', '.join(columns)} FROM ({sql}) x"
        base = f"({sql})"
        matching = Matching(
            rewriting=False,
            expanding=False,
            reflexive=False,
            generalised=False,
            base=base,
            facts=base,
            values=base,
            choosing=closure.matching.choosing,
            linked=False,
            graphs=graphs,
            statistics=closure.matching.statistics,
        )
        return Reading(matching, exact, replace(closure.paths, matching=matching, constants=exact))


def dataset_of(default: Sequence[str], named: Sequence[str]) -> Dataset | None:
    """The dataset of graphs that are chosen by name (tokens) from outside of a text; None without any."""
    return Dataset(tuple(dict.fromkeys(default)), tuple(dict.fromkeys(named))) if default or named else None
