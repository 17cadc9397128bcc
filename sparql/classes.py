"""Columns that stand for whole equality classes: expanded late, and only where a term is asked for.

Patterns match representatives (`sparql.patterns`). A row with the representative r in a *folded* column stands for one
solution per member of r's class, whatever its other columns are. Joins of two folded columns, DISTINCT and GROUP BY are
the same over representatives as over members, a column that nothing needs any more multiplies the row's count by the
size of its class (Motik et al. 2015, "Handling owl:sameAs via rewriting"), and a LIMIT bounds the rows before they are
expanded. Expressions, ORDER BY and the answer read terms: there the columns they read are expanded.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from triplake.sparql.relation import Column, Relation, Steps
from triplestore.engine.dialect import Dialect
from triplestore.model.terms import FIRST_BLANK

_BATCH = 1 << 14
"""Copies of a row in one list."""

MEMBERS = "same_as"
"""(term, representative) of the classes that a variable ranges over."""

IRI_MEMBERS = f"(SELECT term, representative FROM same_as WHERE term < {FIRST_BLANK})"
"""The same for a variable in predicate position."""

CHOSEN = "chosen"
"""That each class has one member, the one that stands for it in canonical answers."""


def folded(relation: Relation, names: Collection[str] | None = None) -> list[str]:
    """The folded columns among `names` (default: all)."""
    return [n for n, c in relation.columns.items() if c.members is not None and (names is None or n in names)]


def expanded(steps: Steps, relation: Relation, names: Collection[str] | None = None) -> Relation:
    """The relation with these columns (default: all) ranging over the members of their classes."""
    found = folded(relation, names)
    if not found:
        return relation
    changed, joins = {}, []
    for name in found:
        column = steps.column(name)
        members = relation.columns[name].members
        if members == CHOSEN:
            members = f"({steps.chosen(f'SELECT {column} FROM {relation.name}')})"
        changed[name] = f"coalesce(e_{column}.term, x.{column})"
        joins.append(f"LEFT JOIN {members} e_{column} ON e_{column}.representative = x.{column}")
    columns = {name: replace(relation.columns[name], members=None) for name in found}
    return steps.changed("expanded", relation, columns, changed, " ".join(joins))


def only(steps: Steps, relation: Relation, kept: Collection[str]) -> Relation:
    """The relation without the columns that are not `kept`; a folded one of them counts as often as its class has
    members."""
    several = [name for name in folded(relation) if relation.columns[name].members != CHOSEN]
    dropped = [name for name in several if name not in kept]
    if dropped:
        relation = sized(steps, relation, dropped)
    return replace(relation, columns={n: c for n, c in relation.columns.items() if n in kept})


def sized(steps: Steps, relation: Relation, names: Collection[str]) -> Relation:
    """The relation with these folded columns as mere representatives; each row counts as often as it stands for
    solutions, and the column of `size_of` says how large the class is."""
    columns, joins, more = dict(relation.columns), [], []
    sizes = []
    for name in names:
        column, members = steps.column(name), relation.columns[name].members
        if members == CHOSEN:
            sizes.append("1")
        else:
            counts = f"SELECT representative, count(*) AS size FROM {members} c GROUP BY representative"
            joins.append(f"LEFT JOIN ({counts}) z_{column} ON z_{column}.representative = x.{column}")
            sizes.append(f"coalesce(z_{column}.size, 1)")
        more.append(f"{sizes[-1]} AS {steps.column(size_of(name))}")
        columns[name] = replace(columns[name], members=None)
        columns[size_of(name)] = Column()
    more.append(f"{' * '.join(['x.n'] * relation.weighted + sizes)} AS n")
    listed = steps.listed(replace(relation, weighted=False), "x.", more)
    step = steps.add("sized", f"SELECT {listed} FROM {relation.name} x {' '.join(joins)}")
    return replace(relation, name=step, columns=columns, weighted=True)


def size_of(variable: str) -> str:
    """The hidden column with the size of a variable's class."""
    return f".size.{variable}"


def repeated(steps: Steps, relation: Relation) -> Relation:
    """The relation with each row as many times as it counts."""
    if not relation.weighted:
        return relation
    plain = replace(relation, weighted=False)
    listed = steps.listed(plain)
    inner = copied(steps.dialect, listed, listed, relation.name)
    return replace(plain, name=steps.add("flat", f"SELECT {listed} FROM ({inner}) x"))


def copied(dialect: Dialect, selected: str, names: str, source: str) -> str:
    """The SELECT of rows of `source` (to stand after FROM), each as many times as its column `n` says.

    selected, names: what to select, and the names that it gets. Engines make a list of the copies of each row for
    thousands of rows at a time, so lists are of batches first, then of the copies in one.
    """
    most = _BATCH * _BATCH
    refused = dialect.error(f"a solution occurs more than {most:,} times: join fewer patterns")
    counted = f"CASE WHEN n > {most} THEN {refused} ELSE CAST(floor((n + {_BATCH - 1}) / {_BATCH}.0) AS BIGINT) END"
    batches = f"SELECT {selected}, n, {dialect.repeat(counted)} AS batch FROM {source}"
    left = f"least(CAST({_BATCH} AS BIGINT), n - {_BATCH} * (batch - 1))"
    return f"SELECT {names}, {dialect.repeat(left)} AS copy FROM ({batches}) p"


def first(steps: Steps, relation: Relation, length: int) -> Relation:
    """At least the first `length` solutions of the relation (all, if it has fewer), expanded.

    Each row stands for one solution at least, so no more rows than that are ever expanded, one column at a time.
    """
    for name in (*folded(relation), None):
        if name is not None or relation.weighted:
            sql = f"SELECT {steps.listed(relation)} FROM {relation.name}{relation.sorting} LIMIT {length}"
            relation = replace(relation, name=steps.add("first", sql))
        if name is not None:
            relation = expanded(steps, relation, (name,))
    return repeated(steps, relation)


def aligned(steps: Steps, a: Relation, b: Relation) -> tuple[Relation, Relation]:
    """Both, with shared variables of one sort: representatives on both sides, ids on both, or tokens on both."""
    shared = [name for name in a.columns if name in b.columns]
    unlike = [name for name in shared if a.columns[name].members != b.columns[name].members]
    a, b = expanded(steps, a, unlike), expanded(steps, b, unlike)
    mixed = [name for name in shared if a.columns[name].token != b.columns[name].token]
    return steps.tokenised(a, mixed), steps.tokenised(b, mixed)


def joinable(steps: Steps, a: Relation, b: Relation, inner: bool = False) -> tuple[Relation, Relation]:
    """Both, `aligned` for a join that keeps the rows of `a` (inner: of neither) whatever they meet.

    A column of terms meets a folded one at the representatives of its terms: these go into a hidden column, and the
    folded column takes the hidden one's name. That is not done for the side that is kept: some members of a class may
    meet a row where others do not.
    """
    for name in [name for name in a.columns if name in b.columns and not (a.nullable(name) or b.nullable(name))]:
        if _is_term(a.columns[name]) and b.columns[name].members is not None:
            a, b = _by_class(steps, a, b, name)
        elif inner and _is_term(b.columns[name]) and a.columns[name].members is not None:
            b, a = _by_class(steps, b, a, name)
    return aligned(steps, a, b)


def _is_term(column: Column) -> bool:
    return column.members is None and not column.token


def _by_class(steps: Steps, terms: Relation, classes: Relation, name: str) -> tuple[Relation, Relation]:
    """`terms` with the representatives of a column in a hidden one, and `classes` with its folded column so named."""
    column, hidden = steps.column(name), f".class.{name}"
    members = classes.columns[name].members
    representative = f"coalesce(m.representative, x.{column})"
    source = MEMBERS if members in (CHOSEN, IRI_MEMBERS) else members
    if members == IRI_MEMBERS:
        representative = f"CASE WHEN x.{column} < {FIRST_BLANK} THEN {representative} END"
    terms = replace(terms, columns={n: c for n, c in terms.columns.items() if n != hidden})  # of a join before
    listed = steps.listed(terms, "x.", [f"{representative} AS {steps.column(hidden)}"])
    step = steps.add("classed", f"SELECT {listed} FROM {terms.name} x LEFT JOIN {source} m ON m.term = x.{column}")
    terms = replace(terms, name=step, columns={**terms.columns, hidden: Column()})
    renamed = steps.listed(classes, "x.", [f"x.{column} AS {steps.column(hidden)}"])
    columns = {n: c for n, c in classes.columns.items() if n != name} | {hidden: Column()}
    step = steps.add("renamed", f"SELECT {renamed} FROM {classes.name} x")
    return terms, replace(classes, name=step, columns=columns)
