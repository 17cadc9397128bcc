"""The one renderer of shapes to SQL: a shape, a source for each of its atoms, and its instances."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from triplestore.compile.plan import Equal, K, Pattern, Row, Shape, Slot, V
from triplestore.engine.dialect import Dialect
from triplestore.terms import FIRST_LITERAL

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


def select_links(
    member: Shape, scans: Sequence[str], focused: Sequence[Sequence[str]], instances: Instances, equal: int
) -> str:
    """The links of groups: (s, p, o) = (least member, `equal`, other member), one for each member but the least.

    member: the half of a symmetric shape (`triplestore.compile.symmetry`). scans: what its elements read. focused: the
    scans that find new members; only groups that have one are linked, all groups where there are no such scans.
    Literals of a group, which never join a class, are linked among themselves, and one of them to the least member.
    """
    keys = [f"g{place}" for place in range(len(member.output) - 1)]
    steps = {}
    if focused:
        group = Shape(member.body, member.conditions, member.output[1:])
        found = (select(group, each, instances, keys) for each in focused)
        steps["touched"] = f"SELECT DISTINCT {', '.join(keys)} FROM ({' UNION ALL '.join(found)}) n"
    froms, wheres, variables = _joined(member, scans, instances)
    columns = [_expression(slot, variables, instances) for slot in member.output]
    if focused:
        froms.insert(0, "touched t")
        wheres += [f"t.{key} = {column}" for key, column in zip(keys, columns[1:], strict=True)]
    named = (f"{column} AS {name}" for column, name in zip(columns, ["member", *keys], strict=True))
    steps["member"] = f"SELECT DISTINCT {', '.join(named)}{_tail(froms, wheres)}"
    steps["least"] = (
        f"SELECT {', '.join(keys)}, min(member) AS hub, min(CASE WHEN member >= {FIRST_LITERAL} THEN member END) "
        f"AS literal FROM member GROUP BY {', '.join(keys)} HAVING min(member) <> max(member)"
    )
    same = " AND ".join(f"l.{key} = m.{key}" for key in keys)
    return (
        f"WITH {', '.join(f'{name} AS ({sql})' for name, sql in steps.items())} "
        f"SELECT CASE WHEN m.member > l.literal THEN l.literal ELSE l.hub END AS s, "
        f"CAST({equal} AS BIGINT) AS p, m.member AS o FROM member m JOIN least l ON {same} WHERE m.member <> l.hub"
    )


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
