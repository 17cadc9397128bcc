"""The one renderer of shapes to SQL: a shape, a source for each of its atoms, and its instances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from triplestore.compile.join import Instances, Join, StagedJoin, Terms, is_expressive
from triplestore.compile.plan import Made, Row, Shape
from triplestore.engine.dialect import Dialect

__all__ = ["Instances", "Terms"]

_FRESH: Final = " AND r.fresh = 1"


def inline(rows: Sequence[Row]) -> Instances:
    """Instances written into the statement."""
    if len(rows) == 1:
        return Instances(None, rows[0])
    names = ", ".join(f"k{i}" for i in range(len(rows[0])))
    values = ", ".join(
        f"({', '.join(f'CAST({v} AS BIGINT)' if n == 0 else str(v) for v in row)})" for n, row in enumerate(rows)
    )
    return Instances(f"(SELECT * FROM (VALUES {values}) w({names}))")


def select(
    shape: Shape,
    scans: Sequence[str],
    instances: Instances,
    head: Sequence[str] = ("s", "p", "o"),
    terms: Terms | None = None,
    occurring: str = "occurs",
) -> str:
    """The matches of a shape: one row per match, columns named by `head` (None of it is DISTINCT); column `one` of a
    shape without output.

    scans: for each body element the table or subquery that it reads: columns s, p, o for a pattern, `term` for an
    `Occurs`, c0, c1 ... for a `Grouped`. Columns that expressions make (`Made`) are tokens. `terms` may be None for a
    shape without expressions. Negated groups read `fact`, and `occurring` for the terms that occur.
    """
    joined = joined_by(shape, scans, instances, terms, occurring)
    columns = [f"{joined.output(column)} AS {name}" for column, name in zip(shape.output, head, strict=True)]
    return joined.select(columns or ["1 AS one"])


def select_links(
    member: Shape, scans: Sequence[str], focused: Sequence[Sequence[str]], instances: Instances, equal: int
) -> str:
    """The links of groups: (s, p, o) = (least member, `equal`, other member), one for each member but the least.

    member: the half of a symmetric shape (`triplestore.compile.symmetry`). scans: what its elements read. focused: the
    scans that find new members; only groups that have one are linked, all groups where there are no such scans.
    """
    keys = [f"g{place}" for place in range(len(member.output) - 1)]
    steps = {}
    if focused:
        group = Shape(member.body, member.conditions, member.output[1:])
        found = (select(group, each, instances, keys) for each in focused)
        steps["touched"] = f"SELECT DISTINCT {', '.join(keys)} FROM ({' UNION ALL '.join(found)}) n"
    joined = Join.of(member, scans, instances)
    columns = [joined.output(slot) for slot in member.output]
    if focused:
        joined.froms.insert(0, "touched t")
        joined.wheres += [f"t.{key} = {column}" for key, column in zip(keys, columns[1:], strict=True)]
    named = [f"{column} AS {name}" for column, name in zip(columns, ["member", *keys], strict=True)]
    steps["member"] = joined.select(named, distinct=True)
    steps["least"] = (
        f"SELECT {', '.join(keys)}, min(member) AS hub FROM member GROUP BY {', '.join(keys)} "
        "HAVING min(member) <> max(member)"
    )
    same = " AND ".join(f"l.{key} = m.{key}" for key in keys)
    return (
        f"WITH {', '.join(f'{name} AS ({sql})' for name, sql in steps.items())} "
        f"SELECT l.hub AS s, CAST({equal} AS BIGINT) AS p, m.member AS o FROM member m JOIN least l ON {same} "
        "WHERE m.member <> l.hub"
    )


def select_star(members: str, scan: str, delta: str | None) -> str:
    """The facts of instances of a star, `x a :C` of all of several `x a :Ci`, as (s, p, o), distinct.

    members: a table of what instances ask of x (number: of the instance, p, o), with how much it is (needed) and what
    follows (head_p, head_o). scan: the facts, distinct. delta: only x with one of these are looked at; None: every x.
    """
    touched = f"SELECT DISTINCT d.s, m.number FROM {delta} d JOIN {members} m ON m.p = d.p AND m.o = d.o"
    only = f" JOIN ({touched}) t ON t.s = f.s AND t.number = m.number" if delta else ""
    return (
        f"SELECT f.s, m.head_p AS p, m.head_o AS o FROM {members} m JOIN {scan} f ON f.p = m.p AND f.o = m.o{only} "
        "GROUP BY f.s, m.number, m.head_p, m.head_o, m.needed HAVING count(*) = m.needed"
    )


@dataclass(frozen=True, slots=True)
class Reached:
    """Tables of transitive relations by their components: component (relation, node, component), reached (relation,
    low, high, fresh: whether it was not reached before). See `triplestore.materialise.transitive`."""

    component: str
    reached: str


def select_closure(relations: Sequence[int], tables: Reached, fresh: bool) -> str:
    """The closure of transitive relations that are known by their components, as (s, p, o), distinct. fresh: only what
    was not reached before."""
    return (
        f"SELECT a.node AS s, r.relation AS p, b.node AS o FROM {tables.reached} r "
        f"JOIN {tables.component} a ON a.relation = r.relation AND a.component = r.low "
        f"JOIN {tables.component} b ON b.relation = r.relation AND b.component = r.high "
        f"WHERE r.relation IN ({', '.join(map(str, relations))}){_FRESH if fresh else ''}"
    )


def select_reached(scan: str, instances: Instances, tables: Reached, fresh: bool) -> str:
    """The facts T(x, z) of T(x, y), S(y, z), S being transitive and known by its components, as (s, p, o), distinct for
    each S. fresh: only what was not reached before.

    scan: the facts T, among others. instances: T and S as parameters 0 and 1.
    """
    source = f"{instances.source} i, " if instances.source else ""
    t, s = ("i.k0", "i.k1") if instances.source else map(str, instances.constants[:2])
    reached, component = tables.reached, tables.component
    leading = f" AND c.component IN (SELECT r.low FROM {reached} r WHERE r.fresh = 1)" if fresh else ""
    has = (
        f"SELECT DISTINCT f.s, {t} AS p, {s} AS relation, c.component FROM {source}{scan} f, {component} c "
        f"WHERE f.p = {t} AND c.relation = {s} AND c.node = f.o{leading}"
    )
    found = (
        f"SELECT DISTINCT h.s, h.p, h.relation, r.high FROM ({has}) h "
        f"JOIN {reached} r ON r.relation = h.relation AND r.low = h.component{_FRESH if fresh else ''}"
    )
    return (
        f"SELECT n.s, CAST(n.p AS BIGINT) AS p, c.node AS o FROM ({found}) n "
        f"JOIN {component} c ON c.relation = n.relation AND c.component = n.high"
    )


def select_array(
    shape: Shape, scans: Sequence[str], instances: Instances, rule: str, dialect: Dialect, terms: Terms | None = None
) -> str:
    """The matches of a constraint, as rows of the VIOLATION table."""
    joined = joined_by(shape, scans, instances, terms)
    triples = dialect.array([f"CAST({joined.output(slot)} AS BIGINT)" for slot in shape.output])
    return joined.select([f"{dialect.string(rule)} AS rule", f"{triples} AS facts"], distinct=True)


def joined_by(
    shape: Shape, scans: Sequence[str], instances: Instances, terms: Terms | None, occurring: str = "occurs"
) -> Join | StagedJoin:
    """The join of a shape; staged where it has expressions."""
    if not any(map(is_expressive, shape.conditions)) and not any(isinstance(column, Made) for column in shape.output):
        return Join.of(shape, scans, instances, occurring)
    assert terms is not None, "a shape with expressions needs its terms"
    return StagedJoin(shape, scans, instances, terms, occurring)
