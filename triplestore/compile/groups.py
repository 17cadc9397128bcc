"""Links of groups whose members share a value of each of many properties, as a key of many properties asks.

A member with two values of each of n properties is in 2^n groups by values, which are few sets of members. So groups
are found one property after the other, and after each those with the same members become one.
"""

from __future__ import annotations

from collections.abc import Sequence

from triplestore.compile.join import Instances, is_wide, where
from triplestore.compile.plan import K, Pattern, Shape, V
from triplestore.engine.dialect import Dialect


def is_by_property(member: Shape) -> bool:
    """Whether a half of a symmetric shape asks for values of so many properties that its groups are found one property
    after the other: all that it says is of the member, and each value is a parameter or a variable of its own."""
    x, patterns = member.output[0], [e for e in member.body if isinstance(e, Pattern)]
    values = [e.o for e in patterns if isinstance(e.o, V)]
    return (
        is_wide(member.body)
        and not member.conditions
        and len(patterns) == len(member.body)
        and all(e.s == x and e.o != x and isinstance(e.p, K) for e in patterns)
        and 0 < len(values) == len(set(values))
        and set(values) <= set(member.output)
    )


def select_links_by_property(
    member: Shape, scan: str, fresh: str | None, instances: Instances, equal: int, dialect: Dialect
) -> str:
    """The links of groups, as `select_links` gives them: (s, p, o) = (least member, `equal`, other member), distinct.

    member: one for which `is_by_property` holds. scan: the facts. fresh: facts whose subjects are the new members: only
    groups that have one by the first property are linked; None: all groups.
    """
    patterns = [e for e in member.body if isinstance(e, Pattern)]
    has = [e for e in patterns if isinstance(e.o, K)]
    shares = [e for e in patterns if isinstance(e.o, V)]
    keys = _keys(patterns) if instances.source else []
    steps: list[str] = []
    for element in [*has, *shares]:
        rows = _rows(element, keys, f"t{len(steps) - 1}" if steps else None, scan, instances)
        if isinstance(element.o, V):
            rows = _taken_apart(rows, keys, fresh if element is shares[0] else None, dialect)
        steps.append(rows)
    least = f"min(member) OVER (PARTITION BY {', '.join([*keys, 'number'])})"
    return (
        f"WITH {', '.join(f't{number} AS ({sql})' for number, sql in enumerate(steps))} "
        f"SELECT DISTINCT s, CAST({equal} AS BIGINT) AS p, o "
        f"FROM (SELECT {least} AS s, member AS o FROM t{len(steps) - 1}) l WHERE s <> o"
    )


def _keys(patterns: Sequence[Pattern]) -> list[str]:
    """The columns of instances that are read."""
    return [f"k{n}" for n in sorted({slot.number for e in patterns for slot in e.slots if isinstance(slot, K)})]


def _rows(element: Pattern, keys: Sequence[str], groups: str | None, scan: str, instances: Instances) -> str:
    """The members of groups that match an element too, with its values: the instance, number (of a group), member,
    value. groups: rows of members so far; None: all that match, in one group."""

    def parameter(slot: K) -> str:
        return f"b.k{slot.number}" if keys else str(instances.constants[slot.number])

    before = groups or instances.source
    columns = [*(f"b.{key}" for key in keys), "b.number" if groups else "0 AS number", "f.s AS member", "f.o AS value"]
    wheres = [f"f.{c} = {parameter(slot)}" for c, slot in (("p", element.p), ("o", element.o)) if isinstance(slot, K)]
    wheres += ["f.s = b.member"] if groups else []
    return f"SELECT {', '.join(columns)} FROM {f'{before} b, ' if before else ''}{scan} f{where(wheres)}"


def _taken_apart(rows: str, keys: Sequence[str], fresh: str | None, dialect: Dialect) -> str:
    """Groups taken apart by a value: those of several members that are left, each set of members once."""
    several = "min(member) <> max(member)"
    if fresh:
        rows = f"SELECT r.*, d.s AS new FROM ({rows}) r LEFT JOIN (SELECT DISTINCT s FROM {fresh}) d ON d.s = r.member"
        several += " AND count(new) > 0"
    by = ", ".join([*keys, "number", "value"])
    columns = ", ".join([*keys, "members"])
    sets = (
        f"SELECT DISTINCT {columns} FROM (SELECT {by}, {dialect.sorted_set('member')} AS members FROM ({rows}) m "
        f"GROUP BY {by} HAVING {several}) g"
    )
    partition = f"PARTITION BY {', '.join(keys)} " if keys else ""
    number = f"row_number() OVER ({partition}ORDER BY members) AS number"
    numbered = f"SELECT {columns}, {number} FROM ({sets}) s"
    return f"SELECT {', '.join([*keys, 'number'])}, {dialect.explode('members')} AS member FROM ({numbered}) n"
