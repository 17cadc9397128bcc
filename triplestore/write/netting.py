"""Netting: of triples to add and delete, the facts (as ids) that were not asserted, and those that were."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import pyarrow as pa

from triplestore.dictionary import encoding
from triplestore.dictionary.encoding import Numbered
from triplestore.dictionary.fingerprints import Fingerprints
from triplestore.engine.arrow import int64s, strings
from triplestore.engine.sql import common, minus
from triplestore.maintain.cache import ClosureCache
from triplestore.materialise.statements import triples_table
from triplestore.model.dataset import TRIPLE, UNNAMED, Quad
from triplestore.model.tables import ASSERTED, QUAD, TERM, token_sql
from triplestore.model.thresholds import SIZES
from triplestore.read.reasoning import rule_constants
from triplestore.read.workspace import Workspace
from triplestore.storage.manifest import Counters
from triplestore.storage.verify import to_read
from triplestore.write import graphs
from triplestore.write.change import Change, Facts
from triplestore.write.transaction import Transaction


def net_in_memory(
    tx: Transaction, memory: ClosureCache, add: Sequence[Quad], delete: Sequence[Quad], file: int
) -> Change:
    """Net a small change (a quad in both is added) against the asserted facts in memory. file: the number of the last
    input file."""
    terms = numbered(tx.workspace, graphs.names_of(delete), graphs.names_of(add))
    ids = terms.ids
    if graphs.concerned(tx.workspace, add, delete):
        return _net_quads_in_memory(tx, memory, add, delete, terms, file)
    plus = {(ids[s], ids[p], ids[o]) for s, p, o in add}
    unwanted = {(ids[s], ids[p], ids[o]) for s, p, o in delete if s in ids and p in ids and o in ids} - plus
    new = set(terms.new.values())
    asserted = memory.asserted_among([f for f in (*plus, *unwanted) if new.isdisjoint(f)])
    added, removed = sorted(plus - asserted), sorted(unwanted & asserted)
    return Change(
        len(added),
        len(removed),
        _with_file(terms.counters, file),
        len(set(delete) - set(add)) - len(removed),
        Facts(added, removed, terms),
    )


def _net_quads_in_memory(
    tx: Transaction,
    memory: ClosureCache,
    add: Sequence[Quad],
    delete: Sequence[Quad],
    terms: Numbered,
    file: int,
) -> Change:
    """The same where there are named graphs."""
    ids, everywhere = terms.ids, graphs.Membership.of(tx.workspace).unnamed
    wanted = graphs.with_ids(add, ids, UNNAMED)
    unwanted = graphs.with_ids(delete, ids, everywhere)
    touched = {(s, p, o) for _, s, p, o in (*wanted, *unwanted)}
    new = set(terms.new.values())
    asserted = memory.asserted_among([fact for fact in touched if new.isdisjoint(fact)])
    added, removed, quads, missing = graphs.net_in_memory(tx.workspace, asserted, touched, wanted, unwanted)
    return Change(
        len(added),
        len(removed),
        _with_file(terms.counters, file),
        missing + len(delete) - len(unwanted),
        Facts(added, removed, terms),
        quads,
    )


def net_in_tables(
    tx: Transaction, add: Sequence[Quad], delete: Sequence[Quad], file: int, clear: bool = False
) -> Change:
    """Net a change against the tables of asserted facts. clear: all that is asserted is removed first; `delete` is not
    looked at then."""
    engine, several = tx.engine, graphs.concerned(tx.workspace, add, delete)
    engine.load("raw", token_table(add, several))
    if not several:
        tx.workspace.tables(ASSERTED)
    _, counters = encoded(tx, "raw", _with_file(tx.workspace.manifest.counters, file), several)
    engine.drop("raw")
    if clear:
        return net_encoded(tx, counters, replacing=True, graphs_too=several)
    if several:
        return _net_quads_in_tables(tx, counters, add, delete)
    gone = {*delete} - {*add}
    known = encoding.lookup(engine, {token for triple in gone for token in triple})
    found = [t for t in gone if all(token in known for token in t)]
    with engine.scratch() as scratch:
        unwanted = scratch.load("unwanted", triples_table([(known[s], known[p], known[o]) for s, p, o in found]))
        removed = engine.create("minus", common(unwanted, "asserted", "spo"))
    return replace(net_encoded(tx, counters), removed=removed, not_asserted=len(gone) - removed)


def _net_quads_in_tables(tx: Transaction, counters: Counters, add: Sequence[Quad], delete: Sequence[Quad]) -> Change:
    """Net the quads in working table `encoded` and those to delete against the tables."""
    engine, everywhere = tx.engine, graphs.Membership.of(tx.workspace).unnamed
    known, gone = encoding.lookup(engine, graphs.names_of(delete)), {*delete} - {*add}
    unwanted = graphs.with_ids(delete, known, everywhere)
    with engine.scratch() as scratch:
        change = graphs.net_in_tables(tx, counters, "encoded", graphs.load_quads(scratch, "unwanted", unwanted))
    engine.drop("encoded")
    unknown = len(gone) - len(graphs.with_ids(gone, known, everywhere))
    return replace(change, not_asserted=change.not_asserted + unknown)


def net_encoded(
    tx: Transaction, counters: Counters, replacing: bool = False, graphs_too: bool = False, graph: str = ""
) -> Change:
    """Net the triples in working table `encoded` against what is asserted. replacing: they are all that is to be (in a
    graph, where its name is given). graphs_too: they are quads, or there are some."""
    engine = tx.engine
    if graphs_too:
        with engine.scratch() as scratch:
            tx.workspace.views(ASSERTED, QUAD)
            unwanted = graphs.all_of(tx.workspace, scratch, graph) if replacing else None
            change = graphs.net_in_tables(tx, counters, "encoded", unwanted)
        engine.drop("encoded")
        return replace(change, not_asserted=0)
    removed = engine.create("minus", minus("asserted", "encoded", "spo")) if replacing else 0
    added = engine.create("plus", minus("encoded", "asserted", "spo"))
    engine.drop("encoded")
    return Change(added, removed, counters)


def encoded(tx: Transaction, raw: str, counters: Counters, graphs_too: bool = False) -> tuple[int, Counters]:
    """`encoding.encode` with the constants that the store's rules can derive. graphs_too: with the names of graphs."""
    tx.workspace.without_terms()
    tx.workspace.views(TERM, ASSERTED)
    return encoding.encode(tx.engine, raw, counters, rule_constants(tx.workspace.manifest), graphs_too)


def numbered(workspace: Workspace, known: Collection[str], wanted: Collection[str]) -> Numbered:
    """The ids of tokens: of those in `known` that the dictionary has, of all in `wanted`. The view
    `term` has the new ones once `Workspace.views` has made it."""
    workspace.without_terms()
    prints = _fingerprints(workspace)
    if prints is None or any(token[0] not in "<_" for token in wanted):
        workspace.views(TERM)
    found = encoding.numbered(workspace.engine, known, wanted, workspace.manifest.counters, prints)
    workspace.new_terms = found.rows
    if found.new and found.rows is None:
        workspace.extend_terms()
    return found


def _fingerprints(workspace: Workspace) -> Fingerprints | None:
    """Of the terms of the version at hand; None where the look at the files is less work: the first times, and always
    for very many terms."""
    files = workspace.manifest.files_of(TERM.name)
    kept = workspace.cache.last("fingerprints")
    before, known = kept if kept is not None else (files, 0)
    if isinstance(known, int):  # changes so far
        if known * SIZES.rows < files.rows or files.rows > SIZES.in_memory:
            workspace.cache.put("fingerprints", files, known + 1)
            return None
        workspace.views(TERM)
        known = Fingerprints.read(workspace.engine)
    elif not {*before.files} <= {*files.files}:
        workspace.views(TERM)
        known = Fingerprints.read(workspace.engine)
    elif new := [f for f in files.files if f not in before.files]:
        paths = to_read(workspace.versions.place, workspace.engine, new)
        with workspace.engine.scratch() as scratch:
            further = scratch.table("further_term")
            workspace.engine.attach(further, paths, TERM.columns)
            known.add(dict(workspace.engine.rows(f"SELECT {token_sql('t')} AS token, t.id FROM {further} t")))
    workspace.cache.put("fingerprints", files, known)
    return known


def token_table(quads: Sequence[Quad], graphs_too: bool = False) -> pa.Table:
    """Quads as an Arrow table of tokens (s, p, o). graphs_too: with the names of their graphs (g)."""
    table = {name: strings(quad[place] for quad in quads) for place, name in enumerate("spo")}
    if graphs_too:
        table["g"] = strings("".join(map(graphs.own_name, quad[TRIPLE:])) for quad in quads)
    return pa.table(table)


def no_facts() -> pa.Table:
    """An empty Arrow table of facts."""
    return pa.table({c: int64s() for c in "spo"})


def _with_file(counters: Counters, file: int) -> Counters:
    return replace(counters, files=max(counters.files, file))
