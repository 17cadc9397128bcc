"""Repeated property paths, ``?``, ``+`` and ``*`` (SPARQL 1.1, sections 9.3 and 18.4), over (pi, I).

A path relates the terms of the expanded graph. It is kept as two parts: pairs of representatives, each standing for all
pairs of members of the two classes (a triple of the expanded graph is one of any members), and whether it also relates
every term to itself, and to itself only (the path of length zero). Sequences, alternatives and repetitions of such
relations are of this form again. A repetition is evaluated by a semi-naive loop of statements, from the constant end if
there is one, while the query is compiled; its pairs are a working table then.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from triplake.sparql.algebra import PathPattern
from triplake.sparql.constants import Constants
from triplake.sparql.paths import Alternative, Inverse, Negated, Path, Repeat, Sequence
from triplake.sparql.patterns import GRAPH, Matching, source, triples_of_rdf
from triplestore.engine import Engine
from triplestore.engine.queries import minus
from triplestore.engine.scratch import Scratch
from triplestore.engine.sql import Select
from triplestore.model.expression import Constant, Variable
from triplestore.model.terms import FIRST_BLANK

_LONG: Final = 2_000
"""Characters of SQL from which pairs that are read twice become a table."""


@dataclass(frozen=True, slots=True)
class _Pairs:
    """A path: SQL of its pairs (a, b) of representatives, before them the graph g where it is matched with quads, and
    whether each term is related to itself besides."""

    sql: str
    zero: bool


@dataclass(slots=True)
class PathTables:
    """Evaluates the repeated paths of one query. Leave `scratch`, its tables, when the answer has been read."""

    engine: Engine
    matching: Matching
    constants: Constants
    scratch: Scratch

    def solutions(self, node: PathPattern, columns: Mapping[str, str], ids: Mapping[str, int]) -> str:
        """The SELECT of the pattern's solutions, a set: the (expanded) ids of its variables, by their columns, and the
        graph's by that of `GRAPH`, where it is matched with quads."""
        s, o = node.subject, node.object
        graph = f"g AS {columns[GRAPH]}" if self.matching.graphs else ""
        start = self._end(s.token) if isinstance(s, Constant) else None
        end = self._end(o.token) if isinstance(o, Constant) else None
        pairs = self._reading(s, o)._repeat(node.path, start, end)
        match s, o:
            case Constant(), Constant():
                if pairs.zero and ids[s.token] == ids[o.token]:
                    return f"SELECT {graph} FROM ({self._graphs()}) z" if graph else "SELECT 1 AS unit"
                return (
                    f"SELECT DISTINCT {graph or '1 AS unit'} FROM ({pairs.sql}) c WHERE c.a = {start} AND c.b = {end}"
                )
            case Constant(), Variable(name):
                reached = f"SELECT {self._g}b AS x FROM ({pairs.sql}) c WHERE a = {start}"
                found = self._from_constant(reached, pairs.zero, ids[s.token])
                listed = f"x AS {columns[name]}"
            case Variable(name), Constant():
                reached = f"SELECT {self._g}a AS x FROM ({pairs.sql}) c WHERE b = {end}"
                found = self._from_constant(reached, pairs.zero, ids[o.token])
                listed = f"x AS {columns[name]}"
            case Variable(one), Variable(other):
                found = self._open(pairs, one == other)
                listed = f"a AS {columns[one]}" + (f", b AS {columns[other]}" if one != other else "")
            case _:
                raise AssertionError(node)
        return f"SELECT DISTINCT {', '.join(filter(None, (graph, listed)))} FROM ({found}) u"

    @property
    def _g(self) -> str:
        """The graph, in the lists of what is selected, where it is matched with quads."""
        return "g, " if self.matching.graphs else ""

    def _same_graph(self, one: str, other: str) -> str:
        """The condition of a join that both are in one graph."""
        return f" AND {one}.g = {other}.g" if self.matching.graphs else ""

    def _graphs(self) -> str:
        """The graphs, as SQL."""
        return f"SELECT g FROM {self.matching.graphs} q"

    def _end(self, token: str) -> int:
        """The id that pairs have for a term."""
        spelled = self.matching.literals and token.startswith('"')
        return self.constants.value(token) if spelled else self.constants.matched(token)

    def _reading(self, *ends: Variable | Constant) -> PathTables:
        """The same, with literals by value if one of the ends is a literal."""
        literal = any(isinstance(end, Constant) and end.token.startswith('"') for end in ends)
        return replace(self, matching=replace(self.matching, facts=self.matching.values)) if literal else self

    # -- ends -------------------------------------------------------------------------------------------------------

    def _from_constant(self, reached: str, zero: bool, constant: int) -> str:
        """The terms (x) reached."""
        found = f"SELECT {self._g}{self._member('m', 'x')} AS x FROM ({reached}) r {self._members('m', 'r.x')}"
        if zero:
            where = f" FROM ({self._graphs()}) z" if self._g else ""
            found += f" UNION ALL SELECT {self._g}CAST({constant} AS BIGINT) AS x{where}"
        return found

    def _open(self, pairs: _Pairs, loops: bool) -> str:
        """The pairs of terms (a, b). loops: the terms (a) that the path leads back to."""
        if loops:
            found = f"SELECT {self._g}{self._member('m', 'a')} AS a FROM ({pairs.sql}) r {self._members('m', 'r.a')}"
            return f"{found} WHERE r.a = r.b" + f" UNION ALL {self._nodes('a')}" * pairs.zero
        found = (
            f"SELECT {self._g}{self._member('m', 'a')} AS a, {self._member('k', 'b')} AS b FROM ({pairs.sql}) r "
            f"{self._members('m', 'r.a')} {self._members('k', 'r.b')}"
        )
        if pairs.zero:
            found += f" UNION ALL SELECT {self._g}x AS a, x AS b FROM ({self._nodes()}) z"
        return found

    def _nodes(self, name: str = "x") -> str:
        """Every subject and object of the expanded graph, as a column of a name."""
        facts = triples_of_rdf(source(None, self.matching), self.matching)
        ends = f"SELECT {self._g}s AS x FROM ({facts}) f UNION SELECT {self._g}o AS x FROM ({facts}) f"
        return f"SELECT {self._g}{self._member('m', 'x')} AS {name} FROM ({ends}) r {self._members('m', 'r.x')}"

    def _members(self, alias: str, representative: str) -> str:
        if not self.matching.expanding:
            return ""
        return f"LEFT JOIN {self.matching.members} {alias} ON {alias}.representative = {representative}"

    def _member(self, alias: str, column: str) -> str:
        return f"coalesce({alias}.term, r.{column})" if self.matching.expanding else f"r.{column}"

    # -- paths ------------------------------------------------------------------------------------------------------

    def _pairs(self, path: Path) -> _Pairs:
        match path:
            case Constant(token):
                number = self.constants.representative(token)
                facts = triples_of_rdf(source(number, self.matching), self.matching, f"p = {number}")
                return _Pairs(f"SELECT {self._g}s AS a, o AS b FROM ({facts}) f", False)
            case Inverse(inner):
                found = self._pairs(inner)
                return _Pairs(f"SELECT {self._g}b AS a, a AS b FROM ({found.sql}) i", found.zero)
            case Alternative(one, other):
                x, y = self._pairs(one), self._pairs(other)
                return _Pairs(f"{x.sql} UNION ALL {y.sql}", x.zero or y.zero)
            case Sequence(first, second):
                x, y = self._pairs(first), self._pairs(second)
                x, y = self._named(x) if y.zero else x, self._named(y) if x.zero else y
                both = f"({x.sql}) l JOIN ({y.sql}) r ON r.a = l.b{self._same_graph('r', 'l')}"
                sql = f"SELECT {'l.g, ' if self._g else ''}l.a AS a, r.b AS b FROM {both}"
                sql += f" UNION ALL {y.sql}" * x.zero + f" UNION ALL {x.sql}" * y.zero
                return _Pairs(sql, x.zero and y.zero)
            case Negated(forward, backward):
                sides = []
                if forward is not None:
                    sides.append(f"SELECT {self._g}s AS a, o AS b FROM ({self._others(forward)}) f")
                if backward is not None:
                    sides.append(f"SELECT {self._g}o AS a, s AS b FROM ({self._others(backward)}) f")
                return _Pairs(" UNION ALL ".join(sides), False)
            case Repeat():
                return self._repeat(path)
        raise AssertionError(path)

    def _named(self, pairs: _Pairs) -> _Pairs:
        """Pairs that a statement reads twice: as a table where their SQL is long, lest it doubles with each level."""
        if len(pairs.sql) <= _LONG:
            return pairs
        name = self.scratch.create("path", f"SELECT DISTINCT {self._g}a, b FROM ({pairs.sql}) k")
        return replace(pairs, sql=f"SELECT {self._g}a, b FROM {name}")

    def _others(self, excluded: tuple[Constant, ...]) -> str:
        """The triples over representatives that stand for one, at least, of another predicate."""
        facts = triples_of_rdf(source(None, self.matching), self.matching)
        if not excluded:
            return facts
        ids = ", ".join(str(self.constants.ids[c.token]) for c in excluded)
        leaders = ", ".join(str(self.constants.representative(c.token)) for c in excluded)
        test = f"f.p NOT IN ({leaders})"
        if self.matching.expanding:
            test += (
                f" OR f.p IN (SELECT representative FROM same_as WHERE term < {FIRST_BLANK} AND term NOT IN ({ids}))"
            )
        return f"SELECT {self._g}s, p, o FROM ({facts}) f WHERE {test}"

    def _repeat(self, path: Repeat, start: int | None = None, end: int | None = None) -> _Pairs:
        """A repetition; where an end is known, only the pairs with it."""
        inner = self._pairs(path.path)
        zero = path.zero or inner.zero
        if not path.many:
            return _Pairs(inner.sql, zero)
        name = self.scratch.table("path")
        with self.engine.scratch() as scratch:
            self._close(scratch, name, inner.sql, start, end)
        return _Pairs(f"SELECT {self._g}a, b FROM {name}", zero)

    def _close(self, scratch: Scratch, name: str, inner: str, start: int | None, end: int | None) -> None:
        """Make table `name`: the pairs that lead from one to the other by one step of `inner` or more."""
        engine, delta, fresh = self.engine, scratch.table("path_delta"), scratch.table("path_new")
        columns, g = ("gab", "d.g, ") if self._g else ("ab", "")
        edges = scratch.create("path_edge", f"SELECT DISTINCT {self._g}a, b FROM ({inner}) e")
        backwards = start is None and end is not None
        seed = f"a = {start}" if start is not None else f"b = {end}" if backwards else "TRUE"
        rows = engine.create(name, f"SELECT {self._g}a, b FROM {edges} WHERE {seed}")
        engine.create(delta, Select(name, columns))
        ends, met = ("e.a, d.b", "e.b = d.a") if backwards else ("d.a, e.b", "e.a = d.b")
        while rows:
            step = f"SELECT DISTINCT {g}{ends} FROM {delta} d JOIN {edges} e ON {met}{self._same_graph('e', 'd')}"
            rows = engine.create(fresh, minus(f"({step})", name, columns))
            if rows:
                engine.append(name, [Select(fresh, columns)])
                delta, fresh = fresh, delta
