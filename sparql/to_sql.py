"""SPARQL algebra to one SQL statement over ids, as named steps (WITH), the same text for every engine.

Each pattern becomes a step with a column per variable that something above still needs: an id as long as the term
comes from the data, a token where it was computed. Terms are decoded (joined with `term`) where an expression reads
them and at the very end. Solutions are bags: a count column `n` stands for repeated rows (`sparql.patterns`).

Inside an EXISTS, `outer` holds the solutions that are substituted into its pattern (`sparql.exists`): every leaf is
joined with them, and their variables are carried through every step.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Final

from triplake.sparql import exists, graph_patterns, inline, joins, object_types, path_starts
from triplake.sparql.algebra import (
    Bgp,
    Distinct,
    Extend,
    Filter,
    GraphPattern,
    Group,
    Join,
    Kept,
    LeftJoin,
    Minus,
    Node,
    OrderBy,
    PathPattern,
    Project,
    Service,
    Slice,
    Triple,
    Union,
    Values,
    chosen_of,
    conjuncts,
    exists_of,
    in_scope,
    mentioned,
)
from triplake.sparql.classes import CHOSEN, IRI_MEMBERS, copied, expanded, first, folded, only, repeated
from triplake.sparql.construct import PLACES, constructed
from triplake.sparql.context import Given, Givens, Needed
from triplake.sparql.dataset import Graphs, Reading
from triplake.sparql.path_closure import PathTables
from triplake.sparql.patterns import GRAPH, Planned, iris_of, match, subjects_of
from triplake.sparql.relation import Column, Relation, Steps
from triplestore.dictionary.object_types import ObjectType
from triplestore.expressions.compare import sort_keys
from triplestore.expressions.compiler import Expressions
from triplestore.expressions.evaluation import is_volatile, least, weight
from triplestore.expressions.staging import Staging
from triplestore.expressions.values import Value, known_of, token
from triplestore.model.errors import LimitError, UnsupportedError
from triplestore.model.expression import Call, Constant, Exists, Expression, Variable
from triplestore.model.stopping import check

EXPRESSIONS: Final = 500_000
"""Characters of SQL that the expressions of one FILTER, one layer of BINDs or one ORDER BY may come to."""


@dataclass(slots=True)
class Compiler:
    """Compiles the patterns of one query. Use once.

    ids: the id each constant has where it is a value (canonical answers: its representative's). base, now: what IRI()
    and NOW() give. orders: of the joins of each basic graph pattern, by the name of its step. rows: of all leaves
    joined, at most, by estimate. repeats: whether there may be repeated paths. Others: see `sparql.context`.
    """

    steps: Steps
    graphs: Graphs
    ids: dict[str, int]
    base: str | None = None
    now: str | None = None
    reading: Reading = field(init=False)
    graph: str | None = None
    outer: Relation | None = None
    orders: dict[str, list[Planned]] = field(default_factory=dict)
    rows: float = 1.0
    givens: Givens = ()
    repeats: bool = True

    def __post_init__(self) -> None:
        self.reading = self.graphs.default()

    @property
    def paths(self) -> PathTables:
        """The working tables of repeated property paths, made as the query is compiled."""
        return self.reading.paths

    def select(self, node: Node, variables: Sequence[str], decoded: bool = True) -> str:
        """The statement that yields `variables` as columns c0, c1 ...; NULL is unbound.

        decoded: all of them as tokens. Else as tokens what is computed, and as ids what is in the data.
        """
        relation = only(self.steps, self.node(node, frozenset(variables)), variables)
        return self._yielding(expanded(self.steps, relation), variables, decoded)

    def construct(self, node: Node, template: Sequence[Triple], decoded: bool = True) -> str:
        """The statement that yields the triples of a template as columns c0, c1, c2; decoded as for `select`."""
        return self._yielding(constructed(self, node, template), PLACES, decoded)

    def _yielding(self, relation: Relation, variables: Sequence[str], decoded: bool) -> str:
        steps = self.steps
        joins, values = steps.tokens(relation, variables) if decoded else ("", steps.values(relation, variables))
        source = f"{relation.name} x {joins}"
        selected = ", ".join(f"{sql} AS c{place}" for place, sql in enumerate(values)) or "1 AS unit"
        if relation.weighted:
            keys = "".join(f", {key}" for key, _ in relation.order)
            names = ", ".join(f"c{place}" for place in range(len(values))) or "unit"
            inner = copied(steps.dialect, f"{selected}{keys}", f"{names}{keys}", source)
            return steps.statement(f"SELECT {names} FROM ({inner}) r{relation.sorting}")
        return steps.statement(f"SELECT {selected} FROM {source}{relation.sorting}")

    def ask(self, node: Node) -> str:
        """The statement that yields a row if the pattern has a solution."""
        relation = self.node(node, frozenset())
        return self.steps.statement(f"SELECT 1 AS unit FROM {relation.name} LIMIT 1")

    # -- patterns ---------------------------------------------------------------------------------------------------

    def node(self, node: Node, needed: Needed) -> Relation:
        """The solutions of a pattern, with (at least) the columns of those needed variables that it binds."""
        check()
        if self.outer is not None:
            if isinstance(node, Project | Distinct | Slice | OrderBy | Group):
                return self._subselect(node)
            needed |= self.outer.columns.keys()
        if self.graph is not None:
            needed |= {self.graph}
        match node:
            case Bgp(triples):
                return self._leaf(self._bgp(triples, needed), needed)
            case GraphPattern():
                return self._leaf(graph_patterns.in_graph(self, node, needed), needed)
            case PathPattern():
                matched = self._leaf(self._path(node, needed), needed)
                zero = exists.zero_lengths(self, node)
                return matched if zero is None else joins.union(self, matched, zero)
            case Values(variables, rows):
                return self._leaf(inline.values(self, variables, rows), needed)
            case Kept():
                return self._leaf(inline.kept(self, node), needed)
            case Service():
                raise AssertionError(node)  # it was replaced before (`triplake.sparql.federation`)
            case Join(left, right):
                found = path_starts.join(self, node, needed) if self.repeats else None
                if found is not None:
                    return found
                shared = needed | (frozenset(in_scope(left)) & frozenset(in_scope(right)))
                return joins.join(self, self.node(left, shared), self.node(right, shared), needed)
            case LeftJoin(left, right, condition):
                wanted = needed | mentioned(condition) | (frozenset(in_scope(left)) & frozenset(in_scope(right)))
                a, b = self.beside(self.node(left, wanted), right, wanted)
                return joins.left_join(self, a, b, condition, needed)
            case Union(left, right):
                return joins.union(self, self.node(left, needed), self.node(right, needed))
            case Minus(left, right):
                return joins.minus(self, left, right, needed)
            case Filter(pattern, condition):
                read = mentioned(condition) & frozenset(in_scope(pattern))
                with self._passing(more=path_starts.chosen(self, pattern, condition) if self.repeats else ()):
                    inner = self.node(pattern, needed | read)
                return self.filtered(inner, condition)
            case Extend():
                return self._extend(node, needed)
            case Project(pattern, variables):
                kept = variables if self.graph is None else (*variables, self.graph)
                with self._passing(variables):
                    return only(self.steps, self.node(pattern, needed & frozenset(variables)), kept)
            case Distinct(pattern):
                return self._distinct(self.node(pattern, frozenset(in_scope(pattern))))
            case OrderBy(pattern, keys):
                return self._order(pattern, keys, needed)
            case Slice(pattern, start, length):
                with self._passing(()):
                    return self._slice(self.node(pattern, needed), start, length)
            case Group():
                with self._passing(node.keys):
                    return graph_patterns.grouped(self, node)

    def _passing(
        self, names: Collection[str] | None = None, more: Sequence[Given] = ()
    ) -> AbstractContextManager[None]:
        """See `path_starts.passing`: without repeated paths there is nothing to do."""
        return path_starts.passing(self, names, more) if self.repeats else nullcontext()

    def _leaf(self, relation: Relation, needed: Needed) -> Relation:
        """A leaf of a pattern: in a GRAPH with the graph that it is matched in (any, if the leaf reads none), in an
        EXISTS with the outer solutions substituted."""
        if self.graph is not None and self.graph not in relation.columns:
            relation = joins.join(self, graph_patterns.names(self), relation, needed | relation.columns.keys())
        if self.outer is None:
            return relation
        return joins.join(self, self.outer, relation, needed | relation.columns.keys())

    def beside(self, left: Relation, right: Node, needed: Needed) -> tuple[Relation, Relation]:
        """The left side of an OPTIONAL or MINUS, and the solutions of its right side: at least those that are
        compatible with one of the left side."""
        return path_starts.right_of(self, left, right, needed) if self.repeats else (left, self.node(right, needed))

    def _subselect(self, node: Node) -> Relation:
        """A sub-SELECT inside EXISTS: evaluated by itself, then joined; what it does not project is not substituted."""
        outer, self.outer = self.outer, None
        assert outer is not None
        inner = replace(self.flat(self.node(node, frozenset(in_scope(node)))), order=())
        self.outer = outer
        return self._leaf(inner, frozenset(in_scope(node)) | outer.columns.keys())

    # -- leaves -----------------------------------------------------------------------------------------------------

    def _bgp(self, triples: Sequence[Triple], needed: Needed) -> Relation:
        if not triples and self.graph is not None:
            return graph_patterns.names(self)
        return only(self.steps, self._matches(triples, iris_of(triples), subjects_of(triples)), needed)

    def factors(self, triples: Sequence[Triple]) -> list[Relation]:
        """The matches of each triple of a basic graph pattern by itself."""
        return [self._matches((triple,), iris_of(triples), subjects_of(triples)) for triple in triples]

    def _matches(self, triples: Sequence[Triple], iris: Collection[str], subjects: Collection[str]) -> Relation:
        """Matches over representatives. iris: the variables that range over IRIs; subjects: over IRIs and blank
        nodes."""
        names = sorted({t.name for triple in triples for t in triple if isinstance(t, Variable)})
        columns, how = {name: self.steps.column(name) for name in names}, self.reading.matching
        representatives = {t: self.reading.constants.matched(t) for t in self.ids}
        members = dict.fromkeys(names, CHOSEN if how.choosing else None)
        if how.expanding:
            members = {name: IRI_MEMBERS if name in iris else how.members for name in names}
        if self.graph is not None:
            columns[GRAPH] = self.steps.column(self.graph)
        sql, order = match(triples, columns, representatives, how, {*iris, *subjects})
        step = self.steps.add("pattern", sql)
        self.orders[step] = order
        self.rows *= max(order[-1].rows if order else 1.0, 1.0)
        found = {name: Column(members=members[name]) for name in names}
        if self.reading is self.graphs.closure or self.graphs.union:
            types = object_types.of_variables(triples, self.reading, self.graphs)
            for name, kinds in types.items():  # no literal stands for a class
                found[name] = Column(members=members[name] if ObjectType.RESOURCE in kinds else None, types=kinds)
        return Relation(step, found if self.graph is None else found | {self.graph: Column()})

    def _path(self, node: PathPattern, needed: Needed) -> Relation:
        columns = {t.name: self.steps.column(t.name) for t in (node.subject, node.object) if isinstance(t, Variable)}
        how, constants = self.reading.matching, self.reading.constants
        chosen = CHOSEN if how.choosing else None
        ids = {t: constants.representative(t) for t in self.ids} if chosen else self.ids
        own = {} if self.graph is None else {GRAPH: self.steps.column(self.graph)}
        self.rows *= how.statistics.whole.facts + 1
        step = self.steps.add(
            "path", self.reading.paths.solutions(node, columns | own, ids, path_starts.seeds_for(self, node))
        )
        found = {name: Column(members=chosen) for name in columns if name in needed}
        return Relation(step, found if self.graph is None else found | {self.graph: Column()})

    def filtered(self, relation: Relation, condition: Expression) -> Relation:
        """The solutions for which a condition holds."""
        parts = [exists_of(part) for part in conjuncts(condition)]
        plain = []
        for part in parts:
            chosen = chosen_of(part)
            if chosen and folded(relation, chosen[:1]) and not relation.nullable(chosen[0]) and not relation.order:
                tokens = {self.ids[token]: token for token in chosen[1]}.values()  # those of a class may be one
                values = inline.values(self, chosen[:1], [[token] for token in tokens])
                relation = joins.join(self, relation, values, frozenset(relation.columns))
            elif not isinstance(part, Exists):
                plain.append(part)
        if any(map(is_volatile, plain)):
            relation = self.flat(relation)
        if plain:
            relation = expanded(self.steps, relation, frozenset().union(*map(mentioned, plain)))
            kept = relation.columns
            relation, tested = exists.with_flags(self, relation, plain)
            staging = Staging()
            expressions = self.expressions(self.steps.value(relation, ""), staging, tested)
            where = expressions.condition(Call("&&", tuple(plain)))
            source = self._staged(relation, staging, where)
            relation = replace(relation, columns=kept)
            sql = f"SELECT {self.steps.listed(relation)} FROM {source} x WHERE {where}"
            relation = replace(relation, name=self.steps.add("filter", sql))
        for part in parts:
            if isinstance(part, Exists):
                relation = exists.semi_join(self, relation, part)
        return relation

    def _extend(self, node: Extend, needed: Needed) -> Relation:
        """A chain of BINDs: those that nothing needs left out, those that do not read each other in one step."""
        inner: Node = node
        wanted, chain = set(needed), list[Extend]()
        while isinstance(inner, Extend):
            if inner.variable in wanted:
                if self.outer is not None and inner.variable in self.outer.columns:
                    raise UnsupportedError(f"BIND of ?{inner.variable} inside EXISTS: it is bound outside already")
                wanted.discard(inner.variable)
                wanted |= mentioned(inner.expression)
                chain.append(inner)
            inner = inner.pattern
        relation = self.node(inner, frozenset(wanted))
        long = sum(weight(bind.expression) for bind in chain) >= least(self.rows, self.steps.dialect)
        while chain:
            layer, bound = list[Extend](), set[str]()
            while chain and bound.isdisjoint(mentioned(chain[-1].expression)):
                layer.append(chain.pop())
                bound.add(layer[-1].variable)
            relation = self._bind(relation, layer, long)
        return relation

    def _bind(self, relation: Relation, layer: Sequence[Extend], long: bool) -> Relation:
        """One step of BINDs over the same relation. long: they are part of a long chain."""
        if any(is_volatile(bind.expression) for bind in layer):
            relation = self.flat(relation)
        relation = expanded(self.steps, relation, frozenset().union(*(mentioned(bind.expression) for bind in layer)))
        kept = relation.columns
        relation, tested = exists.with_flags(self, relation, [bind.expression for bind in layer])
        columns, selected, staging = dict(kept), [], Staging()
        expressions = self.expressions(self.steps.value(relation, ""), staging, tested)
        expressions = replace(expressions, least=1) if long else expressions
        for bind in layer:
            name = self.steps.column(bind.variable)
            match bind.expression:
                case Variable(other):
                    if other not in kept:
                        continue
                    columns[bind.variable] = kept[other]
                    selected.append(f"{self.steps.column(other)} AS {name}")
                case Constant(text):
                    types = object_types.of_terms([(text, self.ids[text])])
                    columns[bind.variable] = Column(types=types)
                    selected.append(f"CAST({self.ids[text]} AS BIGINT) AS {name}")
                case computed:
                    value = expressions.value(computed)
                    columns[bind.variable] = Column(token=True, nullable=not bind.bound, known=known_of(value))
                    selected.append(f"{token(value)} AS {name}")
        source = self._staged(relation, staging, *selected)
        relation = replace(relation, columns=kept)
        step = self.steps.add("bind", f"SELECT {self.steps.listed(relation, more=selected)} FROM {source} x")
        return replace(relation, name=step, columns=columns)

    # -- solution modifiers -----------------------------------------------------------------------------------------

    def _distinct(self, relation: Relation) -> Relation:
        listed = ", ".join(self.steps.column(name) for name in relation.columns) or "1 AS unit"
        if not relation.order:
            step = self.steps.add("distinct", f"SELECT DISTINCT {listed} FROM {relation.name}")
            return Relation(step, relation.columns)
        # The first of equal rows keeps its place.
        place = f"row_number() OVER ({relation.sorting.strip()}) AS place"
        ranked = self.steps.add("ranked", f"SELECT {listed}, {place} FROM {relation.name}")
        keys = ", ".join(self.steps.column(name) for name in relation.columns)
        grouped = f"SELECT {listed}, min(place) AS place FROM {ranked}" + (
            f" GROUP BY {keys}" if keys else " HAVING count(*) > 0"
        )
        return Relation(self.steps.add("distinct", grouped), relation.columns, order=(("place", False),))

    def _order(self, pattern: Node, keys: Sequence[tuple[Expression, bool]], needed: Needed) -> Relation:
        read = frozenset().union(*(mentioned(key) for key, _ in keys))
        relation = self.node(pattern, needed | read)
        if any(is_volatile(key) for key, _ in keys):
            relation = self.flat(relation)
        relation = replace(expanded(self.steps, relation, read), order=())
        kept = relation.columns
        relation, tested = exists.with_flags(self, relation, [key for key, _ in keys])
        staging = Staging()
        expressions = self.expressions(self.steps.value(relation, ""), staging, tested)
        order: list[tuple[str, bool]] = []
        selected: list[str] = []
        for key, descending in keys:
            for sql in sort_keys(self.steps.dialect, expressions.value(key)):
                order.append((f"k{len(order)}", descending))
                selected.append(f"{sql} AS {order[-1][0]}")
        source = self._staged(relation, staging, *selected)
        relation = replace(relation, columns=kept)
        step = self.steps.add("ordered", f"SELECT {self.steps.listed(relation, more=selected)} FROM {source} x")
        return replace(relation, name=step, order=tuple(order))

    def _slice(self, relation: Relation, start: int, length: int | None) -> Relation:
        if self.graph is not None:
            return graph_patterns.slice_of_each(self, self.flat(relation), start, length)
        relation = self.flat(relation) if length is None else first(self.steps, relation, start + length)
        limit = "" if length is None else f" LIMIT {length}"
        offset = f" OFFSET {start}" if start else ""
        sql = f"SELECT {self.steps.listed(relation)} FROM {relation.name}{relation.sorting}{limit}{offset}"
        return replace(relation, name=self.steps.add("slice", sql))

    def flat(self, relation: Relation) -> Relation:
        """The relation with a row for each solution."""
        return repeated(self.steps, expanded(self.steps, relation))

    # -- parts ------------------------------------------------------------------------------------------------------

    def _staged(self, relation: Relation, staging: Staging, *sql: str) -> str:
        """`Steps.staged` for the expressions of one step. Raises LimitError where planning them would take longer than
        any limit: an engine that plans heeds no interruption."""
        source = self.steps.staged(relation, staging, *sql)
        if staging.length(*sql) > EXPRESSIONS:
            raise LimitError(
                "the query goes beyond a limit: its expressions are too long for one statement: ask for less"
            )
        return source

    def expressions(
        self, variable: Callable[[str], Value], staging: Staging, flags: dict[Exists, str] | None = None
    ) -> Expressions:
        """A compiler of expressions over these variables. flags: the columns of the EXISTS in them."""
        return Expressions(
            *(self.steps.dialect, self.ids, variable, staging.stage, (flags or {}).__getitem__, self.base, self.now),
            refusing=False,
            triples=self.graphs.view.triple_terms,
            least=least(self.rows, self.steps.dialect),
        )
