"""Rows of tables, loaded as the triples that a template makes of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from triplake.loaders import LoadReport
from triplake.loaders.mapping import read_tables
from triplake.loaders.tables import tables
from triplake.loaders.template import read_template
from triplestore.model.prefixes import Prefix, Prefixes
from triplestore.read.session import Session
from triplestore.write.graphs import own_name
from triplestore.write.load import Into, add_encoded, several
from triplestore.write.netting import encoded
from triplestore.write.transaction import writing


def load_tables(
    session: Session,
    given: Sequence[object],
    template: str | Path,
    format: str | None,
    materialise: bool,
    algorithm: str,
    graph: str,
    dry: bool,
) -> LoadReport:
    """See `Store.load_table`. dry: a dry run."""
    into = Into.graph(graph)
    name = own_name(into.name) if into.name else ""
    with writing(session, "load", dry) as tx:
        found = tables(given, format)
        read = read_template(template, tx.prefixes.known)
        counters = session.manifest.counters
        triples = read_tables(session.engine, "raw", found, read, counters.files + 1, name)
        source = Path(read.source).name if read.source else "a template"
        declared = Prefixes().met(Prefix(short, iri, source) for short, iri in read.prefixes.items())
        report = LoadReport(triples, 0, None, triples if name else 0, len(found), prefixes=declared)
        session.notify(f"made {triples:,} triples of {len(found)} table(s) in {tx.seconds:.2f} s")
        quads = several(session, report, into.name)
        with session.engine.scratch() as scratch:
            raw = "raw"
            if quads and not name:
                raw = scratch.table("raw")
                session.engine.view(raw, "SELECT s, p, o, '' AS g FROM raw")
            counters = replace(counters, files=counters.files + len(found))
            new_terms, counters = encoded(tx, raw, counters, quads)
        session.engine.drop("raw")
        return add_encoded(tx, session, report, new_terms, counters, algorithm if materialise else None, into, dry)
