"""The FROM and WHERE of a shape: the join of its elements, and what expressions say of the rows.

A shape without expressions is one join (`Join`). Otherwise the join is a subquery with a column for each thing that is
read of it, and long values are columns of subqueries around that (`triplestore.expressions.staging`), so that the text
of a value is not repeated by what is built on it (`StagedJoin`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from triplestore.compile.keys import Equation, Side, equations, is_among, part_of
from triplestore.compile.plan import (
    Absent,
    Before,
    Condition,
    Element,
    Equal,
    Holds,
    K,
    Listed,
    Made,
    Member,
    Occurs,
    Pattern,
    Row,
    Shape,
    Slot,
    Unequal,
    V,
    equated,
)
from triplestore.compile.thresholds import THRESHOLDS
from triplestore.engine.dialect import Dialect
from triplestore.expressions import Expressions, Value, stored, token
from triplestore.expressions.columns import reference, unmarked
from triplestore.expressions.decoding import derived, parts_read
from triplestore.expressions.staging import Staging


@dataclass(frozen=True, slots=True)
class Instances:
    """The instances of a shape as SQL: constants if there is just one, otherwise a source with columns k0, k1 ..."""

    source: str | None
    constants: Row = ()


@dataclass(frozen=True, slots=True)
class Terms:
    """What expressions need to become SQL. ids: the constants' own ids, not their representatives'."""

    dialect: Dialect
    ids: Mapping[str, int]


class Join:
    """Body elements and conditions as FROM and WHERE. source: the alias of what has the instances' constants."""

    def __init__(self, instances: Instances, occurring: str, source: str = "i") -> None:
        self.instances, self.occurring, self.source = instances, occurring, source
        self.variables: dict[V, str] = {}
        self.froms: list[str] = []
        self.wheres: list[str] = []

    @classmethod
    def of(cls, shape: Shape, scans: Sequence[str], instances: Instances, occurring: str = "occurs") -> Self:
        """The join of a shape, with the conditions that have no expressions."""
        join = cls(instances, occurring)
        if instances.source:
            join.froms.append(f"{instances.source} i")
        if is_wide(shape.body):
            for number, (element, scan, read) in enumerate(_in_order(shape, scans)):
                if number:
                    join.fold(read)
                join.add([element], [scan], "f")
        else:
            join.add(shape.body, scans, "f")
        join.wheres += [join.condition(c) for c in shape.conditions if not is_expressive(c)]
        pairs = (equated(c) for c in shape.conditions if isinstance(c, Holds))
        join.wheres += [f"{join.slot(pair[0])} = {join.slot(pair[1])}" for pair in pairs if pair and join.binds(pair)]
        return join

    def add(self, body: Sequence[Element], scans: Sequence[str], alias: str) -> None:
        """Join body elements, which read `scans`."""
        for number, (element, scan) in enumerate(zip(body, scans, strict=True), len(self.froms)):
            self.froms.append(f"{scan} {alias}{number}")
            for slot, name in zip(element.slots, columns_of(element), strict=True):
                column = f"{alias}{number}.{name}"
                if isinstance(slot, V) and slot not in self.variables:
                    self.variables[slot] = column
                else:
                    self.wheres.append(f"{column} = {self.slot(slot)}")

    def binds(self, slots: Iterable[Slot]) -> bool:
        """Whether all of some slots have a column or a constant."""
        return all(isinstance(slot, K) or slot in self.variables for slot in slots)

    def fold(self, read: Collection[Slot]) -> None:
        """Make a subquery `b` of what is joined so far: its columns are v0, v1 .. and the constants of instances, k0,
        k1 .. Variables that are not read any more are left out, and what then is one row is: x and y may agree in a
        property by several of its values, and in n of them by the n-th power of that."""
        kept = [v for v in self.variables if v in read]
        found = [f"{self.variables[v]} AS v{v.number}" for v in kept]
        numbers = sorted(slot.number for slot in read if isinstance(slot, K)) if self.instances.source else []
        columns = [*(f"{self.source}.k{number}" for number in numbers), *found]
        self.froms = [f"({self.select(columns or ['1 AS one'], distinct=len(kept) < len(self.variables))}) b"]
        self.wheres, self.source = [], "b"
        self.variables = {v: f"b.v{v.number}" for v in kept}

    def slot(self, slot: Slot) -> str:
        """The id that a slot has in a row."""
        if isinstance(slot, K):
            return (
                f"{self.source}.k{slot.number}" if self.instances.source else str(self.instances.constants[slot.number])
            )
        return self.variables[slot]

    def condition(self, condition: Condition) -> str:
        """A condition without expressions."""
        match condition:
            case Equal(left, right):
                return f"{self.slot(left)} = {self.slot(right)}"
            case Before(left, right):
                return f"{self.slot(left)} < {self.slot(right)}"
            case Unequal(left, right):  # two members of one class are different terms
                one, other = self.slot(left), self.slot(right)
                return f"({one} <> {other} OR {one} IN (SELECT representative FROM same_as))"
            case Absent():
                group = Join(self.instances, self.occurring, self.source)
                group.variables |= self.variables
                group.add_group(condition)
                return f"NOT EXISTS ({group.select(['1 AS one'])})"
        raise AssertionError(condition)

    def add_group(self, group: Absent) -> None:
        """Join the elements of a NOT, with its conditions that have no expressions."""
        scans = [self.occurring if isinstance(element, Occurs) else "fact" for element in group.body]
        self.add(group.body, scans, "n")
        self.wheres += [self.condition(c) for c in group.conditions if not is_expressive(c)]

    def output(self, column: Slot | Made) -> str:
        """An output column."""
        assert not isinstance(column, Made), "a shape with expressions is staged"
        return self.slot(column)

    def select(self, columns: Sequence[str], decoded: str = "", distinct: bool = False) -> str:
        """The rows. decoded: explicit joins to follow the others."""
        froms = ", ".join(self.froms)
        if decoded:
            froms = " CROSS JOIN ".join(self.froms or ["(SELECT 1 AS one) u"]) + decoded
        start = f"SELECT {'DISTINCT ' if distinct else ''}{', '.join(columns)}"
        return start + (f" FROM {froms}" if froms else "") + where(self.wheres)


class StagedJoin:
    """A join, and expressions over its rows."""

    def __init__(self, shape: Shape, scans: Sequence[str], instances: Instances, terms: Terms, occurring: str) -> None:
        self.terms = terms
        join = Join.of(shape, scans, instances, occurring)
        for number, sides in enumerate(_joining(shape)):
            self._join_equal(join, number, sides, shape, scans)
        self.rows = _Rows(join, terms)
        self.rows.see(m for m in shape.members if isinstance(m.slot, K) or m.slot in self.rows.join.variables)
        self.wheres = [self.rows.holds(c) for c in shape.conditions if isinstance(c, Holds)]
        self.absent = [self._absent(c) for c in shape.conditions if isinstance(c, Absent) and is_expressive(c)]

    def output(self, column: Slot | Made) -> str:
        """An output column; what an expression makes is made sure not to be NULL."""
        if not isinstance(column, Made):
            return self.rows.name(column)
        expressions = self.rows.expressions(column.reads)
        made = expressions.keep(token(expressions.value(column.expression)))
        self.wheres.append(f"({made}) IS NOT NULL")
        return made

    def select(self, columns: Sequence[str], distinct: bool = False) -> str:
        """The rows for which all expressions hold."""
        asked = (name for names, _ in self.absent for name in names)
        source, _ = self.rows.source(*columns, *self.wheres, *map(reference, asked))
        start = f"SELECT {'DISTINCT ' if distinct else ''}{', '.join(columns)} FROM"
        sql = f"{start} {source} j{where(self.wheres)}"
        if self.absent:
            tests = [f"NOT EXISTS ({group})" for _, group in self.absent]
            rows = f"SELECT * FROM {source} x{where(self.wheres)}"
            sql = f"SELECT * FROM (WITH j AS ({rows}) {start} j{where(tests)}) w"
        return unmarked(sql)

    def _join_equal(self, join: Join, number: int, sides: Equation, shape: Shape, scans: Sequence[str]) -> None:
        """Join the parts of a body that only an equation ties to each other, by what both sides compute: by the pairs
        of values of their variables of which the equation may hold."""
        tables, columns, wheres = [], [], []
        for name, side in zip("ab", sides, strict=True):
            tables.append(f"({self._keyed(join, side, shape, scans)}) {name}")
            for slot in side.slots:
                columns.append(f"{name}.v{slot.number}")
                wheres.append(f"q{number}.v{slot.number} = {join.variables[slot]}")
        pairs = f"SELECT DISTINCT {', '.join(columns)} FROM {' JOIN '.join(tables)} ON a.made = b.made"
        join.froms.append(f"({pairs}) q{number}")
        join.wheres += wheres

    def _keyed(self, join: Join, side: Side, shape: Shape, scans: Sequence[str]) -> str:
        """SELECT of the values of a side's variables, by the part of the body that has them, and their keys."""
        part = part_of(shape.body, side.slots)
        body = tuple(shape.body[place] for place in part)
        alone = Join.of(Shape(body, (), side.slots), [scans[n] for n in part], join.instances, join.occurring)
        rows = _Rows(alone, self.terms)
        rows.see(side.reads)
        key = rows.expressions(side.reads).key(side.expression)
        names = [rows.name(slot) for slot in side.slots]
        source, _ = rows.source(key, *map(reference, names))
        return unmarked(
            f"SELECT DISTINCT {', '.join(names)}, {key} AS made FROM {source} j{where([f'({key}) IS NOT NULL'])}"
        )

    def _absent(self, group: Absent) -> tuple[list[str], str]:
        """What a NOT reads of the rows, and its matches for the row `j`.

        Engines do not let what a subquery computes depend on the row around it: the matches for all rows are found at
        once, by the distinct values of what is read, and then compared with each.
        """
        outer = self.rows.join
        join = Join(outer.instances, outer.occurring, "o")
        join.variables |= {v: f"o.v{v.number}" for v in outer.variables}
        join.add_group(group)
        read = [name for n, sides in enumerate(self._tying(group)) for name in self._join_outer(join, n, sides, group)]
        rows = _Rows(join, self.terms, self.rows.members)
        rows.see(group.reads)
        wheres = [rows.holds(c) for c in group.conditions if isinstance(c, Holds)]
        ends = (slot for c in group.conditions if not isinstance(c, Holds) for slot in (c.left, c.right))
        slots = (slot for element in group.body for slot in element.slots)
        for slot in dict.fromkeys([*slots, *ends]):
            if slot in outer.variables or (isinstance(slot, K) and outer.instances.source):
                self.rows.name(slot)
                rows.name(slot)
        chosen = dict.fromkeys(member for member in group.reads if member in self.rows.members)
        keys = [*rows.named, *(f"m{self.rows.members[member]}_id" for member in chosen)]
        source, asked = rows.source(*wheres, *map(reference, keys))
        same = [f"g.{key} = j.{key}" for key in keys]
        return [*asked, *read], f"SELECT 1 AS one FROM {source} g{where([*wheres, *same])}"

    def _tying(self, group: Absent) -> Iterator[Equation]:
        """The equations of what the rows around a NOT have chosen, first, and of what it has itself, which nothing else
        ties to them."""
        for sides in equations(group.conditions):
            for mine, its in (sides, sides[::-1]):
                part = part_of(group.body, its.slots)
                variables = {slot for place in part for slot in group.body[place].slots}
                if (
                    self.rows.members.keys() >= {*mine.reads}
                    and self.rows.members.keys().isdisjoint(its.reads)
                    and variables.isdisjoint(self.rows.join.variables)
                    and is_among(group.body, part, its.slots)
                ):
                    yield mine, its

    def _join_outer(self, join: Join, number: int, sides: Equation, group: Absent) -> list[str]:
        """As `_join_equal`, of an equation of `_tying`; the columns that it reads of the rows around."""
        mine, its = sides
        rows = _Rows(Join(join.instances, join.occurring), self.terms, self.rows.members)
        key = rows.expressions(mine.reads).key(mine.expression)
        ids = [f"m{self.rows.members[member]}_id" for member in dict.fromkeys(mine.reads)]
        outer, read = rows.over("j", key, *map(reference, ids))
        outer = unmarked(f"SELECT DISTINCT {', '.join(ids)}, {key} AS made FROM {outer} j")
        scans = [join.occurring if isinstance(element, Occurs) else "fact" for element in group.body]
        inner = self._keyed(join, its, Shape(group.body, (), ()), scans)
        names = [f"v{slot.number}" for slot in its.slots]
        columns = ", ".join([*(f"a.{name}" for name in ids), *(f"b.{name}" for name in names)])
        join.froms.append(f"(SELECT DISTINCT {columns} FROM ({outer}) a JOIN ({inner}) b ON a.made = b.made) q{number}")
        join.wheres += [f"q{number}.{name} = o.{name}" for name in ids]
        join.wheres += [f"q{number}.v{slot.number} = {join.variables[slot]}" for slot in its.slots]
        return read


class _Rows:
    """The rows of a join with columns for expressions: v0, v1 .. are its variables, k0, k1 .. the constants of
    instances, m0_id, m0_lexical .. what is read of terms.

    Expressions see the members of classes: each `Member` that one reads is a row of its own of `same_as` (e0, e1 ..),
    and where more than its id is read, of `term` (t0, t1 ..). given: those that rows `o` around have chosen.
    """

    def __init__(self, join: Join, terms: Terms, given: Mapping[Member, int] | None = None) -> None:
        self.join, self.terms = join, terms
        self.members: dict[Member, int] = {}
        self.named: dict[str, str] = {}
        self._given = given
        self._staging = Staging()
        self._kept: dict[str, str] = {}

    def see(self, members: Iterable[Member]) -> None:
        """Have a row for each of some members that are not given."""
        given = self._given or {}
        for member in members:
            if member not in given:
                self.members.setdefault(member, len(given) + len(self.members))

    def name(self, slot: Slot) -> str:
        """The column of a slot, or the constant that it is."""
        if isinstance(slot, K) and not self.join.instances.source:
            return self.join.slot(slot)
        name = f"{'k' if isinstance(slot, K) else 'v'}{slot.number}"
        self.named[name] = self.join.slot(slot)
        return name

    def expressions(self, reads: Sequence[Member]) -> Expressions:
        """Expressions whose variables "0", "1" .. are `reads`."""
        known = {**(self._given or {}), **self.members}

        def value(name: str) -> Value:
            number = known[reads[int(name)]]
            return stored(lambda part: reference(f"m{number}_{part}"), token=False)

        return Expressions(self.terms.dialect, self.terms.ids, value, self._staging.stage, kept=self._kept)

    def holds(self, condition: Holds) -> str:
        """A condition on the rows."""
        return self.expressions(condition.reads).condition(condition.expression)

    def over(self, table: str, *sql: str) -> tuple[str, list[str]]:
        """A table that has the members' columns, with what is computed of them for some SQL, to stand after FROM; and
        the columns that are read of it."""
        read = self._staging.prune(*sql)
        numbers = {**(self._given or {}), **self.members}.values()
        columns = [f"m{number}_{part}" for number in numbers for part in parts_read(f"m{number}", read)]
        # The table has staged columns of its own, maybe of the same names.
        return self._staging.source(self.terms.dialect, f"(SELECT DISTINCT {', '.join(columns)} FROM {table})"), columns

    def source(self, *sql: str) -> tuple[str, list[str]]:
        """The rows with the columns that some SQL reads, to stand after FROM, and what of them the rows around have."""
        read = self._staging.prune(*sql)
        columns = [f"{found} AS {name}" for name, found in self.named.items()]
        asked = []
        if self._given is not None:
            given = (f"m{number}" for number in self._given.values())
            asked = [*self.named, *(f"{start}_{part}" for start in given for part in parts_read(start, read))]
            columns += [f"o.{name}" for name in asked if name not in self.named]
            if asked:
                self.join.froms.insert(0, f"(SELECT DISTINCT {', '.join(asked)} FROM j) o")
        decoded = ""
        for member, number in self.members.items():
            parts = parts_read(f"m{number}", read)
            slot = self.join.slot(member.slot)
            chosen = f"coalesce(e{number}.term, {slot})"
            decoded += f" LEFT JOIN same_as e{number} ON e{number}.representative = {slot}"
            if parts not in ([], ["id"]):
                decoded += f" JOIN {derived(self.terms.dialect, 'term', parts)} t{number} ON t{number}.id = {chosen}"
            columns += [f"{chosen if part == 'id' else f't{number}.{part}'} AS m{number}_{part}" for part in parts]
        rows = self.join.select(columns or ["1 AS one"], decoded)
        return self._staging.source(self.terms.dialect, f"({rows})"), asked


def _joining(shape: Shape) -> Iterator[Equation]:
    """The equations of a body that tie parts to each other which nothing else does."""
    for sides in equations(shape.conditions):
        left, right = (part_of(shape.body, side.slots) for side in sides)
        parts = zip((left, right), sides, strict=True)
        if all(is_among(shape.body, part, side.slots) for part, side in parts) and {*left}.isdisjoint(right):
            yield sides


def where(conditions: Sequence[str]) -> str:
    """WHERE all of some conditions; nothing where there are none."""
    return f" WHERE {' AND '.join(conditions)}" if conditions else ""


def is_wide(body: Sequence[Element]) -> bool:
    """Whether too many elements are about one variable for the engine to order them."""
    about = Counter(slot for element in body for slot in set(element.slots) if isinstance(slot, V))
    return max(about.values(), default=0) > THRESHOLDS.together


def _in_order(shape: Shape, scans: Sequence[str]) -> Iterator[tuple[Element, str, Collection[Slot]]]:
    """Elements, what they read, and what they and those after them read of the rows before.

    Each has a variable in common with those before it, where one has; of these it is the first after which most
    variables are not read any more, and the first that has most in common."""
    left = list(zip(shape.body, scans, strict=True))
    readers = Counter(slot for element in shape.body for slot in set(element.slots))
    read, known = shape.read, set[Slot]()

    def rank(place: int) -> tuple[bool, int, int, int]:
        slots = {slot for slot in left[place][0].slots if isinstance(slot, V)}
        common = len(slots & known)
        return common > 0, sum(readers[slot] == 1 and slot not in read for slot in slots), common, -place

    while left:
        element, scan = left.pop(max(range(len(left)), key=rank))
        known.update(slot for slot in element.slots if isinstance(slot, V))
        yield element, scan, read.union(readers)
        readers -= Counter(set(element.slots))


def is_expressive(condition: Condition) -> bool:
    """Whether a condition has an expression."""
    return isinstance(condition, Holds) or (
        isinstance(condition, Absent) and any(isinstance(c, Holds) for c in condition.conditions)
    )


def columns_of(element: Element) -> Sequence[str]:
    """The columns of what a body element reads."""
    if isinstance(element, Pattern | Listed):
        return "s", "p", "o"
    return ("term",) if isinstance(element, Occurs) else [f"c{i}" for i in range(len(element.slots))]
