"""What made terms equal, over a whole store: links by rule and by the properties that the rule reads.

Counted on what was asserted: two terms that a rule makes one by asserted triples are a link, terms of other classes
being what they are; k terms that share a key are k - 1 links. What these do not bring about rests on derived triples.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from triplestore.compile.plan import Row, Shape
from triplestore.dictionary import encoding
from triplestore.engine import Workbench
from triplestore.engine.sql import Scratch, count
from triplestore.model.terms import SAME_AS
from triplestore.proof.computed import Source
from triplestore.proof.hubs import asserted_sql, equality_shapes, match, properties
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
    shapes = equality_shapes(region)
    found = Counter[tuple[str, tuple[int, ...]]]()
    with engine.scratch() as scratch:
        asserted = scratch.create("cause", asserted_sql(source))
        link = scratch.create(
            "cause_link",
            "SELECT DISTINCT CASE WHEN s0 < o0 THEN s0 ELSE o0 END AS a, CASE WHEN s0 < o0 THEN o0 ELSE s0 END AS b "
            f"FROM {asserted} WHERE p = {region.normal(SAME_AS)} AND s0 <> o0",
        )
        found[ASSERTED, (SAME_AS,)] = count(engine, link)
        for shape, rows in shapes.items():
            for row, links in _links(engine, asserted, link, shape, list(rows)).items():
                found[rows[row], properties(shape, row)] += links
        joined = engine.components(f"SELECT a, b FROM {link}")
    merges = count(engine, pi) - count(engine, f"(SELECT DISTINCT representative FROM {pi}) c")
    direct = joined.num_rows - len(joined.column(1).unique())
    tokens = encoding.decode(engine, (i for _, on in found for i in on))
    listed = [Cause(rule, tuple(tokens[i] for i in on), links) for (rule, on), links in found.items() if links]
    return Causes(tuple(sorted(listed, key=lambda c: (-c.links, c.rule, c.on))), merges - direct)


def _links(engine: Workbench, asserted: str, link: str, shape: Shape, rows: Sequence[Row]) -> dict[Row, int]:
    """The links of each instance of a shape in table `asserted`; they are added to table `link`."""
    with engine.scratch() as scratch:
        return _linked(engine, scratch, asserted, link, shape, rows)


def _linked(
    engine: Workbench, scratch: Scratch, asserted: str, link: str, shape: Shape, rows: Sequence[Row]
) -> dict[Row, int]:
    matched = match(scratch, asserted, shape, rows)
    by, each = ", ".join(matched.by), ", ".join(matched.keys)
    if matched.pairs:
        low, high = "CASE WHEN a < b THEN a ELSE b END", "CASE WHEN a < b THEN b ELSE a END"
        edges = f"SELECT DISTINCT {low} AS a, {high} AS b, {by} FROM {matched.table}"
    else:
        edges = f"SELECT DISTINCT min(b) OVER (PARTITION BY {by}) AS a, b, {by} FROM {matched.table}"
    engine.append(link, [f"SELECT a, b FROM ({edges}) e WHERE a <> b"])
    return {
        tuple(row[:-1]): row[-1]
        for row in engine.rows(f"SELECT {each}, count(*) AS links FROM ({edges}) e WHERE a <> b GROUP BY {each}")
    }
