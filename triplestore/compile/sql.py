"""The one renderer of shapes to SQL: a shape, a source for each of its atoms, and its instances."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from triplestore.compile.plan import (
    Absent,
    Condition,
    Element,
    Equal,
    Holds,
    K,
    Made,
    Member,
    Occurs,
    Pattern,
    Row,
    Shape,
    Slot,
    Unequal,
    V,
)
from triplestore.engine.dialect import Dialect
from triplestore.expressions import Expressions, Value, stored, token
from triplestore.expressions.decoding import derived, mentioned

_FRESH: Final = " AND r.fresh = 1"


@dataclass(frozen=True, slots=True)
class Instances:
    """The instances of a shape as SQL: constants if there is just one, otherwise a source with columns k0, k1 ..."""

    source: str | None
    constants: Row = ()


def inline(rows: Sequence[Row]) -> Instances:
    """Instances written into the statement."""
    if len(rows) == 1:
        return Instances(None, rows[0])
    names = ", ".join(f"k{i}" for i in range(len(rows[0])))
    values = ", ".join(
        f"({', '.join(f'CAST({v} AS BIGINT)' if n == 0 else str(v) for v in row)})" for n, row in enumerate(rows)
    )
    return Instances(f"(SELECT * FROM (VALUES {values}) w({names}))")


@dataclass(frozen=True, slots=True)
class Terms:
    """What expressions need to become SQL. ids: the constants' own ids, not their representatives'."""

    dialect: Dialect
    ids: Mapping[str, int]


def select(
    shape: Shape,
    scans: Sequence[str],
    instances: Instances,
    head: Sequence[str] = ("s", "p", "o"),
    terms: Terms | None = None,
    occurring: str = "occurs",
) -> str:
    """The matches of a shape: one row per match, columns named by `head` (None of it is DISTINCT).

    scans: for each body element the table or subquery that it reads: columns s, p, o for a pattern, `term` for an
    `Occurs`, c0, c1 ... for a `Grouped`. Columns that expressions make (`Made`) are tokens. `terms` may be None for a
    shape without expressions. Negated groups read `fact`, and `occurring` for the terms that occur.
    """
    joined = _Join(shape, scans, instances, terms, occurring)
    columns = [f"{joined.output(column)} AS {name}" for column, name in zip(shape.output, head, strict=True)]
    return f"SELECT {', '.join(columns)}{joined.tail(' '.join(columns))}"


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
    joined = _Join(member, scans, instances, None)
    columns = [joined.output(slot) for slot in member.output]
    if focused:
        joined.froms.insert(0, "touched t")
        joined.wheres += [f"t.{key} = {column}" for key, column in zip(keys, columns[1:], strict=True)]
    named = (f"{column} AS {name}" for column, name in zip(columns, ["member", *keys], strict=True))
    steps["member"] = f"SELECT DISTINCT {', '.join(named)}{joined.tail('')}"
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


def select_closure(relations: Sequence[int], fresh: bool) -> str:
    """The closure of transitive relations that are known by their components, as (s, p, o), distinct. fresh: only what
    was not reached before. Tables: see `select_reached`."""
    return (
        "SELECT a.node AS s, r.relation AS p, b.node AS o FROM reached r "
        "JOIN component a ON a.relation = r.relation AND a.component = r.low "
        "JOIN component b ON b.relation = r.relation AND b.component = r.high "
        f"WHERE r.relation IN ({', '.join(map(str, relations))}){_FRESH if fresh else ''}"
    )


def select_reached(scan: str, instances: Instances, fresh: bool) -> str:
    """The facts T(x, z) of T(x, y), S(y, z), S being transitive and known by its components, as (s, p, o), distinct for
    each S. fresh: only what was not reached before.

    scan: the facts T, among others. instances: T and S as parameters 0 and 1. Tables: component (relation, node,
    component), reached (relation, low, high, fresh), see `triplestore.materialise.transitive`.
    """
    source = f"{instances.source} i, " if instances.source else ""
    t, s = ("i.k0", "i.k1") if instances.source else map(str, instances.constants[:2])
    leading = " AND c.component IN (SELECT r.low FROM reached r WHERE r.fresh = 1)" if fresh else ""
    has = (
        f"SELECT DISTINCT f.s, {t} AS p, {s} AS relation, c.component FROM {source}{scan} f, component c "
        f"WHERE f.p = {t} AND c.relation = {s} AND c.node = f.o{leading}"
    )
    comes = (
        f"SELECT DISTINCT h.s, h.p, h.relation, r.high FROM ({has}) h "
        f"JOIN reached r ON r.relation = h.relation AND r.low = h.component{_FRESH if fresh else ''}"
    )
    return (
        f"SELECT n.s, CAST(n.p AS BIGINT) AS p, c.node AS o FROM ({comes}) n "
        "JOIN component c ON c.relation = n.relation AND c.component = n.high"
    )


def select_array(
    shape: Shape, scans: Sequence[str], instances: Instances, rule: str, dialect: Dialect, terms: Terms | None = None
) -> str:
    """The matches of a constraint, as rows of the VIOLATION table."""
    joined = _Join(shape, scans, instances, terms)
    triples = dialect.array([f"CAST({joined.output(slot)} AS BIGINT)" for slot in shape.output])
    return f"SELECT DISTINCT {dialect.string(rule)} AS rule, {triples} AS facts{joined.tail('')}"


class _Join:
    """The FROM and WHERE of a shape in the making.

    Expressions see the members of classes: each `Member` that one reads is an alias of `same_as` (e0, e1 ...) and,
    where more than its id is read, one of `term` (t0, t1 ...).
    """

    def __init__(
        self,
        shape: Shape,
        scans: Sequence[str],
        instances: Instances,
        terms: Terms | None,
        occurring: str = "occurs",
    ) -> None:
        self.instances, self.terms, self.occurring = instances, terms, occurring
        self.variables: dict[V, str] = {}
        self.members: dict[Member, str] = {}
        self.froms = [f"{instances.source} i"] if instances.source else []
        self.wheres = self._scan(shape.body, scans, "f")
        for condition in shape.conditions:
            self.wheres.append(self._condition(condition))

    def output(self, column: Slot | Made) -> str:
        """An output column; what an expression makes is made sure not to be NULL."""
        if not isinstance(column, Made):
            return self._slot(column)
        made = token(self._expressions(column.reads).value(column.expression))
        self.wheres.append(f"({made}) IS NOT NULL")
        return made

    def tail(self, columns: str) -> str:
        """FROM and WHERE, for a select list."""
        conditions = " AND ".join(self.wheres)
        sources = ", ".join(self.froms)
        if self.members:
            sources = " CROSS JOIN ".join(self.froms or ["(SELECT 1 AS one) u"])
            sources += self._decoded(self.members, f"{columns} {conditions}")
        return (f" FROM {sources}" if sources else "") + (f" WHERE {conditions}" if conditions else "")

    def _scan(self, body: Sequence[Element], scans: Sequence[str], alias: str) -> list[str]:
        wheres: list[str] = []
        for number, (element, scan) in enumerate(zip(body, scans, strict=True)):
            self.froms.append(f"{scan} {alias}{number}")
            for slot, name in zip(element.slots, columns_of(element), strict=True):
                column = f"{alias}{number}.{name}"
                if isinstance(slot, V) and slot not in self.variables:
                    self.variables[slot] = column
                else:
                    wheres.append(f"{column} = {self._slot(slot)}")
        return wheres

    def _slot(self, slot: Slot) -> str:
        if isinstance(slot, K):
            return f"i.k{slot.number}" if self.instances.source else str(self.instances.constants[slot.number])
        return self.variables[slot]

    def _condition(self, condition: Condition) -> str:
        match condition:
            case Equal(left, right):
                return f"{self._slot(left)} = {self._slot(right)}"
            case Unequal(left, right):  # two members of one class are different terms
                one, other = self._slot(left), self._slot(right)
                return f"({one} <> {other} OR {one} IN (SELECT representative FROM same_as))"
            case Holds(expression, reads):
                return self._expressions(reads).condition(expression)
            case Absent():
                return f"NOT EXISTS ({self._group(condition)})"

    def _group(self, group: Absent) -> str:
        """The matches of a negated group, correlated with the row around it."""
        outer, around, froms = dict(self.variables), dict(self.members), self.froms
        for member in group.reads:  # members of outer classes are chosen outside
            if isinstance(member.slot, K) or member.slot in outer:
                around.setdefault(member, f"{len(around)}")
        self.froms, self.members = [], dict(around)
        scans = [self.occurring if isinstance(element, Occurs) else "fact" for element in group.body]
        wheres = self._scan(group.body, scans, f"n{len(around)}_{len(outer)}_")
        wheres += [self._condition(condition) for condition in group.conditions]
        own = {m: alias for m, alias in self.members.items() if m not in around}
        text = " AND ".join(wheres)
        sources = " CROSS JOIN ".join(self.froms) + self._decoded(own, text)
        self.variables, self.members, self.froms = outer, around, froms
        return f"SELECT 1 AS one{f' FROM {sources}' if sources else ''} WHERE {text or 'TRUE'}"

    def _decoded(self, members: Mapping[Member, str], text: str) -> str:
        """The joins that give expressions the members of classes, and of their terms what the SQL `text` reads."""
        read = set(re.findall(r"\bt([0-9]+)\.", text))
        joins = []
        for member, alias in members.items():
            slot = self._slot(member.slot)
            joins.append(f" LEFT JOIN same_as e{alias} ON e{alias}.representative = {slot}")
            if alias in read and self.terms is not None:
                terms = derived(self.terms.dialect, "term", mentioned(rf"t{alias}\.", text))
                joins.append(f" JOIN {terms} t{alias} ON t{alias}.id = coalesce(e{alias}.term, {slot})")
        return "".join(joins)

    def _expressions(self, reads: Sequence[Member]) -> Expressions:
        assert self.terms is not None, "a shape with expressions needs its terms"
        for member in reads:
            self.members.setdefault(member, f"{len(self.members)}")

        def value(name: str) -> Value:
            member = reads[int(name)]
            alias = self.members[member]
            number = f"coalesce(e{alias}.term, {self._slot(member.slot)})"
            return stored(lambda part: number if part == "id" else f"t{alias}.{part}", token=False)

        return Expressions(self.terms.dialect, dict(self.terms.ids), value)


def columns_of(element: Element) -> Sequence[str]:
    """The columns of what a body element reads."""
    if isinstance(element, Pattern):
        return "s", "p", "o"
    return ("term",) if isinstance(element, Occurs) else [f"c{i}" for i in range(len(element.slots))]
