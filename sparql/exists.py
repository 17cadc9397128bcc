"""EXISTS (SPARQL 1.1, section 18.6): the current solution is substituted into the pattern, which has a solution or not.

Set at a time: the distinct values of the variables that pattern and solutions share are the `outer` solutions; every
leaf of the pattern is joined with them (`sparql.to_sql`), so that a FILTER or BIND inside reads them wherever it is. An
outer variable that may be unbound is carried twice: the one that the pattern may bind, and ``.outer.x``, what it was.
Where no such reading is possible, the pattern is evaluated by itself and joined, which is cheaper.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from triplake.sparql import joins
from triplake.sparql.algebra import (
    Extend,
    Filter,
    Group,
    LeftJoin,
    Minus,
    Node,
    OrderBy,
    PathPattern,
    Slice,
    in_scope,
    mentioned,
    pattern_of,
)
from triplake.sparql.classes import expanded, joinable
from triplake.sparql.context import Context
from triplake.sparql.path_starts import alone, kept_for
from triplake.sparql.paths import has_zero_length
from triplake.sparql.relation import Column, Relation
from triplestore.model.expression import Call, Exists, Expression, Variable, walk


def semi_join(compiler: Context, relation: Relation, test: Exists) -> Relation:
    """The solutions for which an EXISTS holds."""
    pattern = pattern_of(test)
    if not _reads_outside(pattern, frozenset(relation.columns)):
        shared = frozenset(relation.columns) & frozenset(in_scope(pattern))
        outer, compiler.outer = compiler.outer, None
        relation, more = kept_for(compiler, relation, pattern)
        with alone(compiler, more):
            a, b = joinable(compiler.steps, relation, compiler.node(pattern, shared))
        compiler.outer = outer
        conditions = [compiler.steps.compatible(a, b, name) for name in a.columns if name in b.columns]
        return joins.semi_join(compiler, a, b, conditions, test.negated)
    relation, keys, found = _substituted(compiler, relation, pattern)
    relation = _matched(compiler, keys, relation, found)
    return joins.semi_join(compiler, relation, found, _agree(compiler, keys, relation), test.negated)


def with_flags(
    compiler: Context, relation: Relation, expressions: Sequence[Expression]
) -> tuple[Relation, dict[Exists, str]]:
    """The relation with a column for each EXISTS in the expressions: whether it holds; and those columns."""
    flags: dict[Exists, str] = {}
    for test in (test for expression in expressions for test in _tests(expression)):
        if test in flags:
            continue
        steps = compiler.steps
        relation, keys, found = _substituted(compiler, relation, pattern_of(test))
        relation = _matched(compiler, keys, relation, found)
        hidden = f".exists{len(steps.done)}"
        held = ", ".join(["TRUE AS held", *(steps.column(key) for key in keys.values())])
        selected = f"r.held IS {'' if test.negated else 'NOT '}NULL AS {steps.column(hidden)}"
        sql = (
            f"SELECT {steps.listed(relation, 'l.', [selected])} FROM {relation.name} l "
            f"LEFT JOIN (SELECT DISTINCT {held} FROM {found.name}) r "
            f"ON {' AND '.join(_agree(compiler, keys, relation)) or 'TRUE'}"
        )
        step = steps.add("flagged", sql)
        relation = replace(relation, name=step, columns={**relation.columns, hidden: Column()})
        flags[test] = steps.column(hidden)
    return relation, flags


def zero_lengths(compiler: Context, node: PathPattern) -> Relation | None:
    """What a path of length zero adds to the pattern's solutions where outer solutions are substituted for its ends: a
    term leads to itself whether it is in the graph or not, as a constant of a query does (SPARQL 1.1, 9.3)."""
    outer, steps = compiler.outer, compiler.steps
    ends = [t.name for t in (node.subject, node.object) if isinstance(t, Variable)]
    if outer is None or len(ends) < 2 or not has_zero_length(node.path):
        return None
    known = [name for name in dict.fromkeys(ends) if name in outer.columns]
    if not known:
        return None
    outer = steps.tokenised(outer, known) if len({outer.columns[name].token for name in known}) > 1 else outer
    listed = [steps.column(name) for name in outer.columns if name not in ends]
    one = f"coalesce({', '.join(steps.column(name) for name in known)})" if len(known) > 1 else steps.column(known[0])
    listed += [f"{one} AS {steps.column(name)}" for name in dict.fromkeys(ends)]
    same = [f"({steps.column(name)} IS NULL OR {steps.column(name)} = {one})" for name in known]
    sql = f"SELECT {', '.join(listed)} FROM {outer.name} WHERE {one} IS NOT NULL AND {' AND '.join(same)}"
    end = replace(outer.columns[known[0]].or_else(outer.columns[known[-1]]), nullable=False)
    columns = {name: column for name, column in outer.columns.items() if name not in ends} | dict.fromkeys(ends, end)
    return Relation(steps.add("zero", sql), columns)


def _tests(expression: Expression) -> list[Exists]:
    """The EXISTS in an expression, but not those inside their patterns."""
    match expression:
        case Exists():
            return [expression]
        case Call(_, arguments):
            return [test for argument in arguments for test in _tests(argument)]
        case _:
            return []


def _substituted(compiler: Context, relation: Relation, pattern: Node) -> tuple[Relation, dict[str, str], Relation]:
    """The relation, as it is read from now on; variable of the outer solutions -> the variable of the result that holds
    its value; the pattern's solutions."""
    steps = compiler.steps
    read = mentioned(pattern)
    relation, more = kept_for(compiler, expanded(steps, relation, read), pattern)
    names = [name for name in relation.columns if name in read or name == compiler.graph]
    columns: dict[str, Column] = {}
    selected, keys = [], {}
    for name in names:
        columns[name], keys[name] = relation.columns[name], name
        selected.append(steps.column(name))
        if relation.columns[name].nullable:
            keys[name] = f".outer.{name}"
            columns[keys[name]] = relation.columns[name]
            selected.append(f"{steps.column(name)} AS {steps.column(keys[name])}")
    listed = ", ".join(selected) or "1 AS unit"
    outer = Relation(steps.add("outer", f"SELECT DISTINCT {listed} FROM {relation.name}"), columns)
    before, compiler.outer = compiler.outer, outer
    with alone(compiler, more):
        found = compiler.node(pattern, frozenset(columns))
    compiler.outer = before
    return relation, keys, found


def _matched(compiler: Context, keys: dict[str, str], relation: Relation, found: Relation) -> Relation:
    """The relation, with tokens where the pattern's solutions have tokens of its variables."""
    return compiler.steps.tokenised(relation, [name for name, key in keys.items() if found.columns[key].token])


def _agree(compiler: Context, keys: dict[str, str], relation: Relation) -> list[str]:
    """The conditions that r, a solution of the pattern, is one for l."""
    steps = compiler.steps
    conditions = []
    for name, key in keys.items():
        sign = "IS NOT DISTINCT FROM" if relation.columns[name].nullable else "="
        conditions.append(f"l.{steps.column(name)} {sign} r.{steps.column(key)}")
    return conditions


def _reads_outside(pattern: Node, outer: frozenset[str]) -> bool:
    """Whether substituting the outer solution could differ from joining with it."""
    for part in walk(pattern):
        reads: frozenset[str] = frozenset()
        inside: frozenset[str] = frozenset()
        match part:
            case Filter(inner, condition):
                reads, inside = mentioned(condition), frozenset(in_scope(inner))
            case Extend(inner, variable, expression):
                reads, inside = mentioned(expression), frozenset(in_scope(inner))
                reads |= {variable} - inside
            case LeftJoin(left, right, condition):
                reads = mentioned(condition) | frozenset(in_scope(right))
                inside = frozenset(in_scope(left))
            case PathPattern(subject, path, object_) if has_zero_length(path):
                reads = frozenset(t.name for t in (subject, object_) if isinstance(t, Variable))
            case Minus() | Group() | Slice() | OrderBy() | Exists():
                return True
        if (reads - inside) & outer:
            return True
    return False
