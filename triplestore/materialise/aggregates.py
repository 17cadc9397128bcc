"""The tables of AGGREGATEs: keys and results of each group of matches.

Matches are distinct up to equality: equal terms are one, so that COUNT counts resources, not their names. With
equality `axioms`, where facts hold every name, the smallest of each class stands for it, as the representative does
with `rewrite`, and the rows of the table are multiplied out again. A group without a match has no row; one with an
error has none either.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from triplestore.compile.plan import Group, Grouped, K, Row, Shape
from triplestore.compile.sql import Instances, Terms, select
from triplestore.engine import Workbench
from triplestore.engine.sql import Scratch
from triplestore.expressions import Expressions, parts, result, token
from triplestore.expressions.columns import unmarked
from triplestore.expressions.decoding import decoded, decoded_value
from triplestore.expressions.staging import Staging
from triplestore.materialise.mint import Mint
from triplestore.model.equality import Equality
from triplestore.model.terms import SAME_AS

CLASSES: Final = (
    f"(SELECT s AS term, least(s, min(o)) AS representative FROM fact WHERE p = {SAME_AS} AND s <> o GROUP BY s)"
)
"""(term, representative), as in `same_as`, where equality is axiomatised: for the members of classes of several."""


class Aggregates:
    """The tables of one run, made in its `scratch` when they are first asked for."""

    def __init__(self, engine: Workbench, scratch: Scratch, equality: Equality, terms: Terms, mint: Mint) -> None:
        self._scratch = scratch
        self.engine, self.equality, self.terms, self.mint = engine, equality, terms, mint
        self._tables: dict[tuple[Group, Row], str] = {}

    def forget(self, element: Grouped, row: Row) -> None:
        """Make an instance's table again when it is next read: its facts may have been added by now."""
        self._tables.pop((element.group, parameters(element, row)), None)

    def forget_all(self) -> None:
        """Make every table again."""
        self._tables.clear()

    def by_tables(self, shape: Shape, rows: Sequence[Row]) -> Iterator[tuple[Mapping[int, str], Sequence[Row]]]:
        """Instances with the tables that they read (by body element), those of equal tables together."""
        groups = [(i, element) for i, element in enumerate(shape.body) if isinstance(element, Grouped)]
        together: dict[tuple[tuple[int, str], ...], list[Row]] = {}
        for row in rows:
            together.setdefault(tuple((i, self.table(element, row)) for i, element in groups), []).append(row)
        yield from ((dict(tables), some) for tables, some in together.items())

    def table(self, element: Grouped, row: Row) -> str:
        """The table of an instance: columns c0, c1 ... hold the keys, then the results, as ids."""
        key = element.group, parameters(element, row)
        if key not in self._tables:
            self._tables[key] = self._scratch.table("aggregate")
            with self.engine.scratch() as scratch:
                self._tabulate(*key, self._tables[key], scratch)
        return self._tables[key]

    def _tabulate(self, group: Group, constants: Row, name: str, scratch: Scratch) -> None:
        shape = group.matches
        columns = [f"c{i}" for i in range(len(shape.output))]
        keys = columns[: group.keys]
        matches = select(shape, ["fact"] * len(shape.body), Instances(None, constants), columns, self.terms)
        represented = self._mapped(matches, columns, "term", "representative")
        matched = scratch.create("matched", f"SELECT DISTINCT {', '.join(columns)} FROM ({represented}) m")
        results, table = tabulated(group, matched, keys, self.terms)
        _, rows = self.mint.rows(scratch, table, [*keys, *results], results)
        self.engine.create(name, self._mapped(rows, [*keys, *results], "representative", "term"))

    def _mapped(self, sql: str, columns: list[str], old: str, new: str) -> str:
        """The rows with their terms, which are `old` of a class, exchanged for `new`: "term" or "representative"."""
        if self.equality != Equality.AXIOMS:
            return sql
        joins = "".join(f" LEFT JOIN {CLASSES} e_{c} ON e_{c}.{old} = a.{c}" for c in columns)
        listed = ", ".join(f"coalesce(e_{c}.{new}, a.{c}) AS {c}" for c in columns)
        return f"SELECT {listed} FROM ({sql}) a{joins}"


def parameters(element: Grouped, row: Row) -> Row:
    """The parameters of an instance's group."""
    return tuple(row[slot.number] for slot in element.parameters if isinstance(slot, K))


def tabulated(group: Group, matched: str, keys: Sequence[str], terms: Terms) -> tuple[Sequence[str], str]:
    """(names, SELECT) of the results of a group, as tokens, after the columns `keys`, one row for each of their values.
    matched: a table of those and of the distinct matches, c0, c1 ..."""
    columns = [f"c{i}" for i in range(len(group.matches.output))]

    staging = Staging()
    expressions = Expressions(terms.dialect, terms.ids, decoded_value, staging.stage)
    values = [None if r.argument is None else expressions.value(r.argument) for r in group.results]
    marks = [
        f"row_number() OVER (PARTITION BY {', '.join([*keys, identity])} ORDER BY {identity}) AS d{place}"
        for place, (r, v) in enumerate(zip(group.results, values, strict=True))
        if v is not None and r.distinct and r.function in ("COUNT", "SUM", "AVG")
        for identity in [v.id or token(v)]
    ]
    raw = [
        part
        for place, (r, v) in enumerate(zip(group.results, values, strict=True))
        for part in parts(terms.dialect, place, r.function, r.distinct and v is not None, v)
    ]
    read = staging.prune(*marks, *raw)
    source = staging.source(terms.dialect, decoded(terms.dialect, matched, keys, columns, read))
    if marks:
        source = f"(SELECT x.*, {', '.join(marks)} FROM {source} x)"
    grouped = f"SELECT {', '.join([*keys, *raw])} FROM {source} y"
    if keys:
        grouped += f" GROUP BY {', '.join(keys)}"
    else:
        grouped = f"SELECT * FROM ({grouped}) z WHERE EXISTS (SELECT 1 FROM {matched})"
    results = [f"c{group.keys + place}" for place in range(len(group.results))]
    tokens = [
        f"{result(terms.dialect, place, r.function, v)} AS {column}"
        for place, (r, v, column) in enumerate(zip(group.results, values, results, strict=True))
    ]
    bound = " AND ".join(f"{c} IS NOT NULL" for c in results)
    table = f"SELECT * FROM (SELECT {', '.join([*keys, *tokens])} FROM ({grouped}) g) r WHERE {bound}"
    return results, unmarked(table)
