"""What made terms equal, over a whole store: links by rule and by the properties that the rule reads.

Counted on what was asserted: two terms that a rule makes one by asserted triples are a link, terms of other classes
being what they are; k terms that share a key are k - 1 links. What these do not bring about rests on derived triples.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from triplestore.compile.plan import K, Pattern, Row, Shape, Slot, V
from triplestore.compile.specialise import Specialiser
from triplestore.compile.sql import select
from triplestore.compile.symmetry import half
from triplestore.dictionary import encoding
from triplestore.engine import Workbench
from triplestore.engine.queries import count
from triplestore.engine.scratch import Scratch
from triplestore.materialise.statements import instances
from triplestore.model.equality import Equality
from triplestore.model.terms import OWL, SAME_AS, TYPE
from triplestore.proof.computed import Source
from triplestore.proof.proof import ASSERTED
from triplestore.proof.slices import Slice


@dataclass(frozen=True, slots=True)
class Cause:
    """Links by one rule ("asserted" for owl:sameAs triples). on: the properties (tokens) that its instances read."""

    rule: str
    on: tuple[str, ...]
    links: int


@dataclass(frozen=True, slots=True)
class Causes:
    """The causes, those of most links first. derived: how many of the merges (a class of k terms is k - 1) no such
    link brings about: rules made them from derived triples."""

    causes: tuple[Cause, ...]
    derived: int


def causes(source: Source) -> Causes:
    """What made the classes of a closure; `source.same_as` is not None."""
    engine, pi = source.engine, str(source.same_as)
    region = Slice(source)
    shapes = _shapes(region)
    found = Counter[tuple[str, tuple[int, ...]]]()
    with engine.scratch() as scratch:
        asserted = scratch.create("cause", _asserted(source))
        link = scratch.create(
            "cause_link",
            "SELECT DISTINCT CASE WHEN s0 < o0 THEN s0 ELSE o0 END AS a, CASE WHEN s0 < o0 THEN o0 ELSE s0 END AS b "
            f"FROM {asserted} WHERE p = {region.normal(SAME_AS)} AND s0 <> o0",
        )
        found[ASSERTED, (SAME_AS,)] = count(engine, link)
        for shape, rows in shapes.items():
            for row, links in _links(engine, asserted, link, shape, list(rows)).items():
                found[rows[row], _properties(shape, row)] += links
        joined = engine.components(f"SELECT a, b FROM {link}")
    merges = count(engine, pi) - count(engine, f"(SELECT DISTINCT representative FROM {pi}) c")
    direct = joined.num_rows - len(joined.column(1).unique())
    tokens = encoding.decode(engine, (i for _, on in found for i in on))
    listed = [Cause(rule, tuple(tokens[i] for i in on), links) for (rule, on), links in found.items() if links]
    return Causes(tuple(sorted(listed, key=lambda c: (-c.links, c.rule, c.on))), merges - direct)


def _shapes(region: Slice) -> dict[Shape, dict[Row, str]]:
    """The program of the rules that say owl:sameAs in their heads."""
    source = region.source
    rules = [r for r in source.rules if r.monotone and any(head.p == f"<{OWL}sameAs>" for head in r.heads)]
    normal = source.own_constants.under(region.normal)
    program = Specialiser(rules, Equality.REWRITE).program(region.schema, normal)
    same = region.normal(SAME_AS)
    kept: dict[Shape, dict[Row, str]] = {}
    for shape, rows in program.instances.items():
        predicate = shape.output[1]
        if all(isinstance(e, Pattern) for e in shape.body) and isinstance(predicate, K):
            kept[shape] = {row: name for row, name in rows.items() if row[predicate.number] == same}
    return {shape: rows for shape, rows in kept.items() if rows}


def _asserted(source: Source) -> str:
    """The SELECT of the asserted triples, normalised (s, p, o), with the subject and object as asserted (s0, o0)."""
    columns = ", ".join(f"coalesce({c}m.representative, t.{c}) AS {c}" for c in "spo")
    joins = " ".join(f"LEFT JOIN {source.same_as} {c}m ON {c}m.term = t.{c}" for c in "spo")
    return f"SELECT {columns}, t.s AS s0, t.o AS o0 FROM {source.given} t {joins}"


def _links(engine: Workbench, asserted: str, link: str, shape: Shape, rows: Sequence[Row]) -> dict[Row, int]:
    """The links of each instance of a shape in table `asserted`; they are added to table `link`."""
    with engine.scratch() as scratch:
        return _linked(engine, scratch, asserted, link, shape, rows)


def _linked(
    engine: Workbench, scratch: Scratch, asserted: str, link: str, shape: Shape, rows: Sequence[Row]
) -> dict[Row, int]:
    matched = scratch.table("cause_member")
    a, _, b = shape.output
    assert isinstance(a, V | K)
    assert isinstance(b, V | K)
    given = instances(scratch, rows)
    parameters = [K(i) for i in range(len(rows[0]))]
    keys = [f"k{i}" for i in range(len(rows[0]))]
    member = half(shape)
    if member is not None:
        groups = [f"g{i}" for i in range(len(member.output) - 1)]
        body, output, names = member, (*member.output, *parameters), ["b", *groups, *keys]
        by = ", ".join([*groups, *keys])
        edges = f"SELECT DISTINCT min(b) OVER (PARTITION BY {by}) AS a, b, {by} FROM {matched}"
    else:
        body, output, names = shape, (a, b, *parameters), ["a", "b", *keys]
        by = ", ".join(keys)
        low, high = "CASE WHEN a < b THEN a ELSE b END", "CASE WHEN a < b THEN b ELSE a END"
        edges = f"SELECT DISTINCT {low} AS a, {high} AS b, {by} FROM {matched}"
    ends = {slot for slot in ((a,) if member is not None else (a, b)) if isinstance(slot, V)}
    scans = [_scan(asserted, element, ends) for element in body.body if isinstance(element, Pattern)]
    found = select(Shape(body.body, body.conditions, output), scans, given, names)
    engine.create(matched, f"SELECT DISTINCT {', '.join(names)} FROM ({found}) x")
    engine.append(link, [f"SELECT a, b FROM ({edges}) e WHERE a <> b"])
    each = ", ".join(keys)
    return {
        tuple(row[:-1]): row[-1]
        for row in engine.rows(f"SELECT {each}, count(*) AS links FROM ({edges}) e WHERE a <> b GROUP BY {each}")
    }


def _scan(asserted: str, element: Pattern, ends: set[V]) -> str:
    """What an atom reads: the ends of links as they were asserted, everything else normalised."""
    s, o = ("s0 AS s" if element.s in ends else "s"), ("o0 AS o" if element.o in ends else "o")
    return f"(SELECT {s}, p, {o} FROM {asserted})"


def _properties(shape: Shape, row: Row) -> tuple[int, ...]:
    """The properties that an instance reads of the ends of its links; rdf:type only if there is no other."""

    def value(slot: Slot) -> int | None:
        return row[slot.number] if isinstance(slot, K) else None

    ends = {slot for slot in (shape.output[0], shape.output[2]) if isinstance(slot, V)}
    near = [e for e in shape.body if isinstance(e, Pattern) and ends & {e.s, e.o}]
    read = dict.fromkeys(p for e in near if (p := value(e.p)) is not None)
    return tuple(p for p in read if p != TYPE) or tuple(read)
