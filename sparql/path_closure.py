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

from triplake.sparql.algebra import PathPattern
from triplake.sparql.constants import Constants
from triplake.sparql.paths import Alternative, Inverse, Negated, Path, Repeat, Sequence
from triplake.sparql.patterns import Matching, source, triples_of_rdf
from triplestore.engine import Engine
from triplestore.engine.queries import minus
from triplestore.engine.scratch import Scratch
from triplestore.engine.sql import Select
from triplestore.model.expression import Constant, Variable
from triplestore.model.terms import FIRST_BLANK


@dataclass(frozen=True, slots=True)
class _Pairs:
    """A path: SQL of its pairs (a, b) of representatives, and whether each term is related to itself besides."""

    sql: str
    zero: bool


@dataclass(slots=True)
class PathTables:
    """Evaluates the repeated paths of one query. `drop` its tables when the answer has been read."""

    engine: Engine
    matching: Matching
    constants: Constants
    scratch: Scratch

    def drop(self) -> None:
        """Drop the working tables."""
        self.scratch.clear()

    def solutions(self, node: PathPattern, columns: Mapping[str, str], ids: Mapping[str, int]) -> str:
        """The SELECT of the pattern's solutions, a set: the (expanded) ids of its variables, by their columns."""
        s, o = node.subject, node.object
        start = self._end(s.token) if isinstance(s, Constant) else None
        end = self._end(o.token) if isinstance(o, Constant) else None
        pairs = self._reading(s, o)._repeat(node.path, start, end)
        match s, o:
            case Constant(), Constant():
                found = f"SELECT 1 AS unit FROM ({pairs.sql}) c WHERE c.a = {start} AND c.b = {end}"
                if pairs.zero and ids[s.token] == ids[o.token]:
                    return "SELECT 1 AS unit"
                return f"SELECT DISTINCT unit FROM ({found}) u"
            case Constant(), Variable(name):
                reached = f"SELECT b AS x FROM ({pairs.sql}) c WHERE a = {start}"
                return self._from_constant(reached, pairs.zero, ids[s.token], columns[name])
            case Variable(name), Constant():
                reached = f"SELECT a AS x FROM ({pairs.sql}) c WHERE b = {end}"
                return self._from_constant(reached, pairs.zero, ids[o.token], columns[name])
            case Variable(one), Variable(other):
                return self._open(pairs, columns[one], columns[other])
        raise AssertionError(node)

    def _end(self, token: str) -> int:
        """The id that pairs have for a term."""
        spelled = self.matching.literals and token.startswith('"')
        return self.constants.value(token) if spelled else self.constants.matched(token)

    def _reading(self, *ends: Variable | Constant) -> PathTables:
        """The same, with literals by value if one of the ends is a literal."""
        literal = any(isinstance(end, Constant) and end.token.startswith('"') for end in ends)
        return replace(self, matching=replace(self.matching, facts=self.matching.values)) if literal else self

    # -- ends -------------------------------------------------------------------------------------------------------

    def _from_constant(self, reached: str, zero: bool, constant: int, column: str) -> str:
        found = f"SELECT {self._member('m', 'x')} AS {column} FROM ({reached}) r {self._members('m', 'r.x')}"
        if zero:
            found += f" UNION ALL SELECT CAST({constant} AS BIGINT) AS {column}"
        return f"SELECT DISTINCT {column} FROM ({found}) u"

    def _open(self, pairs: _Pairs, one: str, other: str) -> str:
        if one == other:
            found = f"SELECT {self._member('m', 'a')} AS {one} FROM ({pairs.sql}) r {self._members('m', 'r.a')}"
            found += " WHERE r.a = r.b"
            if pairs.zero:
                found += f" UNION ALL SELECT x AS {one} FROM ({self._nodes()}) z"
            return f"SELECT DISTINCT {one} FROM ({found}) u"
        found = (
            f"SELECT {self._member('m', 'a')} AS {one}, {self._member('k', 'b')} AS {other} FROM ({pairs.sql}) r "
            f"{self._members('m', 'r.a')} {self._members('k', 'r.b')}"
        )
        if pairs.zero:
            found += f" UNION ALL SELECT x AS {one}, x AS {other} FROM ({self._nodes()}) z"
        return f"SELECT DISTINCT {one}, {other} FROM ({found}) u"

    def _nodes(self) -> str:
        """Every subject and object of the expanded graph (x)."""
        facts = triples_of_rdf(source(None, self.matching), self.matching)
        ends = f"SELECT s AS x FROM ({facts}) f UNION SELECT o AS x FROM ({facts}) f"
        return f"SELECT {self._member('m', 'x')} AS x FROM ({ends}) r {self._members('m', 'r.x')}"

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
                return _Pairs(f"SELECT s AS a, o AS b FROM ({facts}) f", False)
            case Inverse(inner):
                found = self._pairs(inner)
                return _Pairs(f"SELECT b AS a, a AS b FROM ({found.sql}) i", found.zero)
            case Alternative(one, other):
                x, y = self._pairs(one), self._pairs(other)
                return _Pairs(f"{x.sql} UNION ALL {y.sql}", x.zero or y.zero)
            case Sequence(first, second):
                x, y = self._pairs(first), self._pairs(second)
                sql = f"SELECT l.a AS a, r.b AS b FROM ({x.sql}) l JOIN ({y.sql}) r ON r.a = l.b"
                sql += f" UNION ALL {y.sql}" * x.zero + f" UNION ALL {x.sql}" * y.zero
                return _Pairs(sql, x.zero and y.zero)
            case Negated(forward, backward):
                sides = []
                if forward is not None:
                    sides.append(f"SELECT s AS a, o AS b FROM ({self._others(forward)}) f")
                if backward is not None:
                    sides.append(f"SELECT o AS a, s AS b FROM ({self._others(backward)}) f")
                return _Pairs(" UNION ALL ".join(sides), False)
            case Repeat():
                return self._repeat(path)
        raise AssertionError(path)

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
        return f"SELECT s, p, o FROM ({facts}) f WHERE {test}"

    def _repeat(self, path: Repeat, start: int | None = None, end: int | None = None) -> _Pairs:
        """A repetition; where an end is known, only the pairs with it."""
        inner = self._pairs(path.path)
        zero = path.zero or inner.zero
        if not path.many:
            return _Pairs(inner.sql, zero)
        name = self.scratch.table("path")
        with self.engine.scratch() as scratch:
            self._close(scratch, name, inner.sql, start, end)
        return _Pairs(f"SELECT a, b FROM {name}", zero)

    def _close(self, scratch: Scratch, name: str, inner: str, start: int | None, end: int | None) -> None:
        """Make table `name`: the pairs that lead from one to the other by one step of `inner` or more."""
        engine, delta, fresh = self.engine, scratch.table("path_delta"), scratch.table("path_new")
        edges = scratch.create("path_edge", f"SELECT DISTINCT a, b FROM ({inner}) e")
        backwards = start is None and end is not None
        seed = f"a = {start}" if start is not None else f"b = {end}" if backwards else "TRUE"
        rows = engine.create(name, f"SELECT a, b FROM {edges} WHERE {seed}")
        engine.create(delta, Select(name, "ab"))
        step = (
            f"SELECT DISTINCT e.a, d.b FROM {delta} d JOIN {edges} e ON e.b = d.a"
            if backwards
            else f"SELECT DISTINCT d.a, e.b FROM {delta} d JOIN {edges} e ON e.a = d.b"
        )
        while rows:
            rows = engine.create(fresh, minus(f"({step})", name, "ab"))
            if rows:
                engine.append(name, [Select(fresh, "ab")])
                engine.create(delta, Select(fresh, "ab"))
