"""What was asserted that makes terms equal, over a whole store: owl:sameAs triples, and values of keys that are shared.

Read off what was asserted: two terms that a rule makes one by asserted triples are joined, terms of other classes being
what they are. Merges that rest on derived triples are not among them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from triplestore.compile.plan import K, Pattern, Row, Shape, Slot, V
from triplestore.compile.specialise import Specialiser
from triplestore.compile.sql import select
from triplestore.compile.symmetry import half
from triplestore.engine.sql import Scratch
from triplestore.materialise.statements import instances
from triplestore.model.equality import Equality
from triplestore.model.terms import OWL, SAME_AS, TYPE
from triplestore.proof.computed import Source
from triplestore.proof.proof import ASSERTED
from triplestore.proof.slices import Slice


@dataclass(frozen=True, slots=True, eq=False)
class Hubs:
    """What one rule ("asserted" for owl:sameAs triples) makes equal. on: the properties (ids) that its instances read.
    rows: (hub, term, representative), the members of each hub, which are two or more of one class."""

    rule: str
    on: tuple[int, ...]
    rows: pa.Table


def asserted_hubs(source: Source) -> list[Hubs]:
    """The hubs of all classes; `source.same_as` is not None."""
    engine, pi = source.engine, str(source.same_as)
    region = Slice(source)
    found = []
    with engine.scratch() as scratch:
        asserted = scratch.create("hub_asserted", asserted_sql(source))
        same = f"SELECT DISTINCT s0, o0 FROM {asserted} WHERE p = {region.normal(SAME_AS)} AND s0 <> o0"
        pairs = scratch.create("hub_pair", f"SELECT row_number() OVER (ORDER BY s0, o0) AS hub, s0, o0 FROM ({same}) t")
        members = f"SELECT hub, s0 AS term FROM {pairs} UNION ALL SELECT hub, o0 FROM {pairs}"
        rows = f"SELECT x.hub, x.term, m.representative FROM ({members}) x JOIN {pi} m ON m.term = x.term"
        found.append(Hubs(ASSERTED, (SAME_AS,), engine.query(f"{rows} ORDER BY x.hub, x.term")))
        for shape, names in equality_shapes(region).items():
            for row, rule in names.items():
                with engine.scratch() as own:
                    matched = match(own, asserted, shape, [row])
                    found.append(Hubs(rule, properties(shape, row), engine.query(_grouped(matched, pi))))
    return [hubs for hubs in found if hubs.rows.num_rows]


def equality_shapes(region: Slice) -> dict[Shape, dict[Row, str]]:
    """The program of the rules that say owl:sameAs in their heads."""
    source = region.source
    rules = [r for r in source.rules if r.monotone and any(head.p == f"<{OWL}sameAs>" for head in r.heads)]
    normal = source.own_constants.under(region.normal)
    program = Specialiser(rules, Equality.REWRITE).program(region.source.schema, normal)
    same = region.normal(SAME_AS)
    kept: dict[Shape, dict[Row, str]] = {}
    for shape, rows in program.instances.items():
        predicate = shape.output[1]
        if all(isinstance(e, Pattern) for e in shape.body) and isinstance(predicate, K):
            kept[shape] = {row: name for row, name in rows.items() if row[predicate.number] == same}
    return {shape: rows for shape, rows in kept.items() if rows}


def asserted_sql(source: Source) -> str:
    """The SELECT of the asserted triples, normalised (s, p, o), with the subject and object as asserted (s0, o0)."""
    columns = ", ".join(f"coalesce({c}m.representative, t.{c}) AS {c}" for c in "spo")
    joins = " ".join(f"LEFT JOIN {source.same_as} {c}m ON {c}m.term = t.{c}" for c in "spo")
    return f"SELECT {columns}, t.s AS s0, t.o AS o0 FROM {source.given} t {joins}"


@dataclass(frozen=True, slots=True)
class Matched:
    """A working table of what instances of a shape relate: (a, b), or where all that share something are one, (b);
    besides the columns `by`: what is shared, and the row of the instance, in its last columns `keys`."""

    table: str
    pairs: bool
    by: tuple[str, ...]
    keys: tuple[str, ...]


def match(scratch: Scratch, asserted: str, shape: Shape, rows: Sequence[Row]) -> Matched:
    """What instances of a shape find in table `asserted` (of `asserted_sql`)."""
    a, _, b = shape.output
    assert isinstance(a, V | K)
    assert isinstance(b, V | K)
    given = instances(scratch, rows)
    parameters = [K(i) for i in range(len(rows[0]))]
    keys = tuple(f"k{i}" for i in range(len(rows[0])))
    member = half(shape)
    if member is not None:
        groups = tuple(f"g{i}" for i in range(len(member.output) - 1))
        body, output, names, by = member, (*member.output, *parameters), ["b", *groups, *keys], (*groups, *keys)
    else:
        body, output, names, by = shape, (a, b, *parameters), ["a", "b", *keys], keys
    ends = {slot for slot in ((a, b) if member is None else (a,)) if isinstance(slot, V)}
    scans = [_scan(asserted, element, ends) for element in body.body if isinstance(element, Pattern)]
    found = select(Shape(body.body, body.conditions, output), scans, given, names)
    table = scratch.create("hub_member", f"SELECT DISTINCT {', '.join(names)} FROM ({found}) x")
    return Matched(table, member is None, by, keys)


def properties(shape: Shape, row: Row) -> tuple[int, ...]:
    """The properties that an instance reads of the ends of its links; rdf:type only if there is no other."""

    def value(slot: Slot) -> int | None:
        return row[slot.number] if isinstance(slot, K) else None

    ends = {slot for slot in (shape.output[0], shape.output[2]) if isinstance(slot, V)}
    near = [e for e in shape.body if isinstance(e, Pattern) and ends & {e.s, e.o}]
    read = dict.fromkeys(p for e in near if (p := value(e.p)) is not None)
    return tuple(p for p in read if p != TYPE) or tuple(read)


def _grouped(matched: Matched, pi: str) -> str:
    """The SELECT of (hub, term, representative) of the instances of one row: groups of two or more of one class."""
    if matched.pairs:
        low, high = "CASE WHEN a < b THEN a ELSE b END", "CASE WHEN a < b THEN b ELSE a END"
        pairs = f"SELECT DISTINCT {low} AS a, {high} AS b FROM {matched.table} WHERE a <> b"
        numbered = f"SELECT row_number() OVER (ORDER BY a, b) AS hub, a, b FROM ({pairs}) p"
        members = f"SELECT hub, a AS term FROM ({numbered}) l UNION ALL SELECT hub, b FROM ({numbered}) r"
        return f"SELECT x.hub, x.term, m.representative FROM ({members}) x JOIN {pi} m ON m.term = x.term"
    by = ", ".join(f"t.{column}" for column in matched.by)
    joined = (
        f"SELECT dense_rank() OVER (ORDER BY {by}, m.representative) AS hub, t.b AS term, m.representative, "
        f"count(*) OVER (PARTITION BY {by}, m.representative) AS n "
        f"FROM {matched.table} t JOIN {pi} m ON m.term = t.b"
    )
    return f"SELECT hub, term, representative FROM ({joined}) x WHERE n > 1 ORDER BY hub, term"


def _scan(asserted: str, element: Pattern, ends: set[V]) -> str:
    """What an atom reads: the ends of links as they were asserted, everything else normalised."""
    s, o = ("s0 AS s" if element.s in ends else "s"), ("o0 AS o" if element.o in ends else "o")
    return f"(SELECT {s}, p, {o} FROM {asserted})"
