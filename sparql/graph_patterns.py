"""GRAPH (SPARQL 1.1, section 18.6): a pattern is matched in each graph by itself.

Set at a time, as EXISTS is (`triplake.sparql.exists`): a hidden variable, `Context.graph`, says in which graph each
solution is found. Every leaf of the pattern has it, every join agrees on it, and every step carries it through; the
name of the graph takes its place at the end.
"""

from __future__ import annotations

from dataclasses import replace

from triplake.sparql import joins
from triplake.sparql.aggregates import group
from triplake.sparql.algebra import GraphPattern, Group, Values
from triplake.sparql.classes import CHOSEN, only
from triplake.sparql.context import Context, Needed
from triplake.sparql.relation import Column, Relation
from triplestore.model.expression import Constant, Variable


def in_graph(compiler: Context, node: GraphPattern, needed: Needed) -> Relation:
    """The solutions of a GRAPH."""
    before, hidden = (compiler.reading, compiler.graph), f".graph{len(compiler.steps.done)}"
    name = node.name.name if isinstance(node.name, Variable) else None
    token = node.name.token if isinstance(node.name, Constant) else None
    compiler.reading, compiler.graph = compiler.graphs.named(token), hidden
    found = compiler.node(node.pattern, needed if name is None else needed | {name})
    if name is not None:
        found = _named(compiler, found, name, needed)
    compiler.reading, compiler.graph = before
    return only(compiler.steps, found, found.columns.keys() - {hidden})


def names(compiler: Context) -> Relation:
    """The graphs that a pattern is matched in, as the hidden variable."""
    assert compiler.graph is not None
    sql = f"SELECT g AS {compiler.steps.column(compiler.graph)} FROM {compiler.reading.matching.graphs} q"
    return Relation(compiler.steps.add("graphs", sql), {compiler.graph: Column()})


def grouped(compiler: Context, node: Group) -> Relation:
    """Groups; in a GRAPH those of each graph, where without keys each graph has one, maybe of no solutions."""
    found = group(compiler, node)
    if compiler.graph is None or node.keys:
        return found
    before, compiler.graph, compiler.outer = (compiler.graph, compiler.outer), None, None
    empty = group(compiler, replace(node, pattern=Values((), ())))
    compiler.graph, compiler.outer = before
    graph = compiler.steps.column(before[0])
    others = joins.semi_join(compiler, names(compiler), found, [f"l.{graph} = r.{graph}"], negated=True)
    both = joins.join(compiler, others, empty, frozenset((*others.columns, *empty.columns)))
    return joins.union(compiler, found, both)


def slice_of_each(compiler: Context, relation: Relation, start: int, length: int | None) -> Relation:
    """Of the solutions in each graph those from `start` on, up to `length`."""
    assert compiler.graph is not None
    steps = compiler.steps
    graph = steps.column(compiler.graph)
    place = f"row_number() OVER (PARTITION BY {graph}{relation.sorting or f' ORDER BY {graph}'}) AS rank_in_graph"
    ranked = steps.add("ranked", f"SELECT {steps.listed(relation, more=[place])} FROM {relation.name}")
    most = "" if length is None else f" AND rank_in_graph <= {start + length}"
    sql = f"SELECT {steps.listed(relation)} FROM {ranked} WHERE rank_in_graph > {start}{most}"
    return replace(relation, name=steps.add("slice", sql))


def _named(compiler: Context, relation: Relation, variable: str, needed: Needed) -> Relation:
    """The solutions with a variable for the graph that they are in; if they have it already, those that agree."""
    assert compiler.graph is not None
    steps = compiler.steps
    graph, column, own = steps.column(compiler.graph), steps.column(variable), Column()
    name, classes = f"x.{graph}", ""
    if compiler.reading.matching.choosing:
        name, classes, own = (
            f"coalesce(m.representative, {name})",
            f" LEFT JOIN same_as m ON m.term = {name}",
            Column(members=CHOSEN),
        )
    if variable not in relation.columns:
        listed = steps.listed(relation, "x.", [f"{name} AS {column}"])
        step = steps.add("named", f"SELECT {listed} FROM {relation.name} x{classes}")
        return replace(relation, name=step, columns={**relation.columns, variable: own})
    step = steps.add("name", f"SELECT x.{graph}, {name} AS {column} FROM {names(compiler).name} x{classes}")
    both = Relation(step, {compiler.graph: Column(), variable: own})
    return joins.join(compiler, relation, both, needed | relation.columns.keys())
