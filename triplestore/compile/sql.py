"""The one renderer of shapes to SQL: a shape, a source for each of its atoms, and its instances."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from triplestore.compile.plan import Equal, K, Pattern, Row, Shape, Slot, V
from triplestore.engine.dialect import Dialect

INLINE: Final = 100
"""Instances up to which they are written into the statement; more become a working table."""


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


def select(shape: Shape, scans: Sequence[str], instances: Instances, head: Sequence[str] = ("s", "p", "o")) -> str:
    """The matches of a shape: one row per match, columns named by `head` (None of it is DISTINCT).

    scans: for each body element the table or subquery that it reads: columns s, p, o for a pattern, `term` for an
    `Occurs`.
    """
    froms, wheres, variables = _joined(shape, scans, instances)
    columns = (
        f"{_expression(slot, variables, instances)} AS {name}" for slot, name in zip(shape.output, head, strict=True)
    )
    return f"SELECT {', '.join(columns)}{_tail(froms, wheres)}"


def select_array(shape: Shape, scans: Sequence[str], instances: Instances, rule: str, dialect: Dialect) -> str:
    """The matches of a constraint, as rows of the VIOLATION table."""
    froms, wheres, variables = _joined(shape, scans, instances)
    triples = dialect.array([f"CAST({_expression(slot, variables, instances)} AS BIGINT)" for slot in shape.output])
    return f"SELECT DISTINCT {dialect.string(rule)} AS rule, {triples} AS facts{_tail(froms, wheres)}"


def _joined(shape: Shape, scans: Sequence[str], instances: Instances) -> tuple[list[str], list[str], dict[V, str]]:
    variables: dict[V, str] = {}
    froms = [f"{instances.source} i"] if instances.source else []
    wheres: list[str] = []
    for number, (element, scan) in enumerate(zip(shape.body, scans, strict=True)):
        froms.append(f"{scan} f{number}")
        names = ("s", "p", "o") if isinstance(element, Pattern) else ("term",)
        for slot, name in zip(element.slots, names, strict=True):
            column = f"f{number}.{name}"
            if isinstance(slot, V) and slot not in variables:
                variables[slot] = column
            else:
                wheres.append(f"{column} = {_expression(slot, variables, instances)}")
    for condition in shape.conditions:
        left, right = (_expression(s, variables, instances) for s in (condition.left, condition.right))
        if isinstance(condition, Equal):
            wheres.append(f"{left} = {right}")
        else:  # two members of one class are different terms
            wheres.append(f"({left} <> {right} OR {left} IN (SELECT representative FROM same_as))")
    return froms, wheres, variables


def _expression(slot: Slot, variables: dict[V, str], instances: Instances) -> str:
    if isinstance(slot, K):
        return f"i.k{slot.number}" if instances.source else str(instances.constants[slot.number])
    return variables[slot]


def _tail(froms: Iterable[str], wheres: Iterable[str]) -> str:
    sources, conditions = ", ".join(froms), " AND ".join(wheres)
    return (f" FROM {sources}" if sources else "") + (f" WHERE {conditions}" if conditions else "")
