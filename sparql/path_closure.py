"""Repeated property paths, ``?``, ``+`` and ``*`` (SPARQL 1.1, sections 9.3 and 18.4), over (pi, I).

A path relates the terms of the expanded graph. It is kept as two parts: pairs of representatives, each standing for all
pairs of members of the two classes (a triple of the expanded graph is one of any members), and whether it also relates
every term to itself, and to itself only (the path of length zero).

The pairs are found by a semi-naive loop of statements while the query is compiled, and are a working table then. The
loop runs the path's automaton (`sparql.automaton`) from the terms where it may start: from a constant end, from the
`Seeds` that something joined with the path gives for one of its ends, and only without either from every term.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from triplake.sparql.algebra import PathPattern
from triplake.sparql.automaton import Automaton, Edge, State, automaton
from triplake.sparql.constants import Constants
from triplake.sparql.paths import Negated
from triplake.sparql.patterns import GRAPH, Matching, source, triples_of_rdf
from triplestore.engine import Engine
from triplestore.engine.sql import Scratch, Select, minus
from triplestore.model.expression import Constant, Variable
from triplestore.model.terms import FIRST_BLANK


@dataclass(frozen=True, slots=True)
class Seeds:
    """The terms from which the path starts at one end: the table of their ids (x, as pairs have them; before it the
    graph g, if `graphs`), distinct, and how many there are."""

    table: str
    rows: int
    graphs: bool = False

    def holding(self, column: str, alias: str) -> str:
        """The condition that a column of what is read as `alias` is among them."""
        if not self.graphs:
            return f"{alias}.{column} IN (SELECT x FROM {self.table})"
        return f"EXISTS (SELECT 1 FROM {self.table} k WHERE k.x = {alias}.{column} AND k.g = {alias}.g)"


@dataclass(frozen=True, slots=True)
class _Pairs:
    """A path: SQL of its pairs (a, b) of representatives, before them the graph g where it is matched with quads, and
    whether each term is related to itself besides. within: the only terms that matter, if they are known."""

    sql: str
    zero: bool
    within: Seeds | None = None


@dataclass(slots=True)
class PathTables:
    """Evaluates the repeated paths of one query. Leave `scratch`, its tables, when the answer has been read."""

    engine: Engine
    matching: Matching
    constants: Constants
    scratch: Scratch

    def solutions(
        self,
        node: PathPattern,
        columns: Mapping[str, str],
        ids: Mapping[str, int],
        seeds: tuple[str, Seeds] | None = None,
    ) -> str:
        """The SELECT of the pattern's solutions, a set: the (expanded) ids of its variables, by their columns, and the
        graph's by that of `GRAPH`, where it is matched with quads.

        seeds: a variable of the pattern, and the only terms that it may be."""
        s, o = node.subject, node.object
        graph = f"g AS {columns[GRAPH]}" if self.matching.graphs else ""
        start = self._end(s.token) if isinstance(s, Constant) else None
        end = self._end(o.token) if isinstance(o, Constant) else None
        pairs = self._reading(s, o)._pairs(node, start, end, seeds)
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

    def cost(self, node: PathPattern) -> float:
        """How many pairs the path may have at most, by estimate, if it starts anywhere."""
        if self.matching.base != "fact":  # of graphs nothing is counted
            return float("inf")
        found = automaton(node.path)
        known = self.matching.statistics
        steps = 0.0
        for edge, _ in (edge for state in found.states for edge in state.edges):
            number = self.constants.representative(edge.token) if isinstance(edge, Constant) else None
            steps += known.of(number).facts
        return steps * steps + found.empty * known.whole.facts

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
            return f"{found} WHERE r.a = r.b" + f" UNION ALL {self._nodes('a', pairs.within)}" * pairs.zero
        found = (
            f"SELECT {self._g}{self._member('m', 'a')} AS a, {self._member('k', 'b')} AS b FROM ({pairs.sql}) r "
            f"{self._members('m', 'r.a')} {self._members('k', 'r.b')}"
        )
        if pairs.zero:
            found += f" UNION ALL SELECT {self._g}x AS a, x AS b FROM ({self._nodes('x', pairs.within)}) z"
        return found

    def _nodes(self, name: str, within: Seeds | None) -> str:
        """Every subject and object of the expanded graph (among `within`), as a column of a name."""
        facts = triples_of_rdf(source(None, self.matching), self.matching)
        among = {end: "TRUE" if within is None else within.holding(end, "f") for end in "so"}
        ends = " UNION ".join(f"SELECT {self._g}{end} AS x FROM ({facts}) f WHERE {among[end]}" for end in "so")
        return f"SELECT {self._g}{self._member('m', 'x')} AS {name} FROM ({ends}) r {self._members('m', 'r.x')}"

    def _members(self, alias: str, representative: str) -> str:
        if not self.matching.expanding:
            return ""
        return f"LEFT JOIN {self.matching.members} {alias} ON {alias}.representative = {representative}"

    def _member(self, alias: str, column: str) -> str:
        return f"coalesce({alias}.term, r.{column})" if self.matching.expanding else f"r.{column}"

    # -- paths ------------------------------------------------------------------------------------------------------

    def _pairs(self, node: PathPattern, start: int | None, end: int | None, seeds: tuple[str, Seeds] | None) -> _Pairs:
        """The pairs of a path; where an end is known, only those with it."""
        within = seeds[1] if seeds is not None else None
        backwards = start is None and (end is not None or (seeds is not None and node.subject != Variable(seeds[0])))
        constant = end if backwards else start
        found = automaton(node.path, backwards)
        here = "TRUE"
        if constant is not None:
            here, within = f"e.a = {constant}", None
        elif within is not None:
            here = within.holding("a", "e")
        ends = "b AS a, a AS b" if backwards else "a, b"
        if not found.repeats:
            steps = " UNION ALL ".join(self._edges(state) for state in found.states)
            return _Pairs(f"SELECT {self._g}{ends} FROM ({steps}) e WHERE {here}", found.empty, within)
        name = self.scratch.table("path")
        with self.engine.scratch() as scratch:
            self._run(scratch, name, found, here)
        last = [number for number, state in enumerate(found.states) if state.last]
        only = "" if len(last) == len(found.states) else f" WHERE q IN ({', '.join(map(str, last))})"
        return _Pairs(f"SELECT {self._g}{ends} FROM {name}{only}", found.empty, within)

    def _run(self, scratch: Scratch, name: str, path: Automaton, here: str) -> None:
        """Make table `name`: (a, q, b), an automaton that starts at a term is in state q at another, by a step or more.
        There is no column q for a single state. here: the condition on a step `e` that it starts where it may."""
        engine, delta, fresh = self.engine, scratch.table("path_delta"), scratch.table("path_new")
        several = len(path.states) > 1
        columns = "g" * bool(self._g) + "a" + "q" * several + "b"
        edges = [
            scratch.create("path_edge", f"SELECT DISTINCT {self._g}a, b FROM ({self._edges(state)}) e")
            for state in path.states
        ]
        into = [f"CAST({number} AS BIGINT) AS q, " if several else "" for number in range(len(path.states))]
        firsts = [
            f"SELECT {self._g}a, {into[number]}b FROM {edges[number]} e WHERE {here}"
            for number, state in enumerate(path.states)
            if state.first
        ]
        rows = engine.create(name, " UNION ALL ".join(firsts))
        engine.create(delta, Select(name, columns))
        g = "d.g, " if self._g else ""
        every = frozenset(range(len(path.states)))
        while rows:
            steps = [
                f"SELECT {g}d.a, {into[number]}e.b FROM {delta} d JOIN {edges[number]} e "
                f"ON e.a = d.b{self._same_graph('e', 'd')}"
                + ("" if state.after == every else f" WHERE d.q IN ({', '.join(map(str, sorted(state.after)))})")
                for number, state in enumerate(path.states)
                if state.after
            ]
            step = f"SELECT DISTINCT {', '.join(columns)} FROM ({' UNION ALL '.join(steps)}) n"
            rows = engine.create(fresh, minus(f"({step})", name, columns))
            if rows:
                engine.append(name, [Select(fresh, columns)])
                delta, fresh = fresh, delta

    def _edges(self, state: State) -> str:
        """The steps (a, b) into a state, as SQL."""
        return " UNION ALL ".join(map(self._edge, state.edges))

    def _edge(self, edge: Edge) -> str:
        path, backwards = edge
        ends = "o AS a, s AS b" if backwards else "s AS a, o AS b"
        if isinstance(path, Negated):
            return f"SELECT {self._g}{ends} FROM ({self._others(path.forward or ())}) f"
        number = self.constants.representative(path.token)
        facts = triples_of_rdf(source(number, self.matching), self.matching, f"p = {number}")
        return f"SELECT {self._g}{ends} FROM ({facts}) f"

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
