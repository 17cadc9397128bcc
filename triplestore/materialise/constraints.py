"""Constraints: rules whose head is false. What they find in a closure goes to the table `violation`."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

import pyarrow as pa

from triplestore.compile.plan import Pattern, Row, Shape
from triplestore.compile.specialise import Program
from triplestore.compile.sql import Terms, select_array
from triplestore.engine import Engine
from triplestore.engine.arrow import id_lists, strings
from triplestore.materialise.aggregates import Aggregates
from triplestore.materialise.statements import instances, possible


def find_violations(
    engine: Engine,
    program: Program,
    before: Mapping[tuple[str, Shape], Mapping[Row, str]],
    predicates: Container[int],
    since: str | None,
    terms: Terms,
    aggregates: Aggregates,
) -> None:
    """Append to `violation` what the program's constraints find in `fact`.

    since: a working table of facts that are new, the constraints in `before` having been checked without them; only
    matches that involve one of them, or a new instance, are looked for. None: look everywhere.
    predicates: those that occur in `fact`. terms, aggregates: for rules with expressions and AGGREGATE.
    """
    selects = []

    def find(rule: str, shape: Shape, rows: Sequence[Row], name: str, focus: int | None) -> None:
        for part, (tables, some) in enumerate(aggregates.by_tables(shape, rows)):
            scans = [
                tables.get(i) or (str(since) if i == focus else "fact" if isinstance(element, Pattern) else "occurs")
                for i, element in enumerate(shape.body)
            ]
            source = instances(engine, shape, some, f"{name}_{part}")
            selects.append(select_array(shape, scans, source, rule, engine.dialect, terms))

    for number, ((rule, shape), rows) in enumerate(program.constraints.items()):
        usable = [row for row in rows if possible(shape, row, predicates)]
        known = before.get((rule, shape), {}) if since and shape.monotone and not shape.uses_occurs else {}
        fresh = [row for row in usable if row not in known]
        find(rule, shape, fresh, f"c{number}", None)
        old = [row for row in usable if row in known]
        for focus in range(len(shape.body)) if old else ():
            find(rule, shape, old, f"c{number}_{focus}", focus)
    direct = sorted(program.violations)
    if direct:
        rules, facts = zip(*direct, strict=True)
        at_fault = id_lists(facts)
        engine.load("at_fault", pa.table({"rule": strings(rules), "facts": at_fault}))
        selects.append("SELECT rule, facts FROM at_fault")
    if selects:
        engine.append("violation", selects)
