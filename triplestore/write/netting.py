"""Netting: of triples to add and delete, the facts (as ids) that were not asserted, and those that were."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import pyarrow as pa

from triplestore.dictionary import encoding
from triplestore.dictionary.encoding import Numbered
from triplestore.dictionary.fingerprints import Fingerprints
from triplestore.engine.arrow import int64s, strings
from triplestore.engine.queries import common, minus
from triplestore.maintain.cache import ClosureCache
from triplestore.materialise.statements import triples_table
from triplestore.model.tables import ASSERTED, TERM, token_sql
from triplestore.read.reasoning import head_constants
from triplestore.read.workspace import Workspace
from triplestore.storage.manifest import Counters
from triplestore.write.change import Change, Facts, TokenTriple
from triplestore.write.transaction import Transaction


def net_in_memory(
    tx: Transaction, memory: ClosureCache, add: Sequence[TokenTriple], delete: Sequence[TokenTriple], file: int
) -> Change:
    """Net a small change (a triple in both is added) against the asserted facts in memory. file: the number of the last
    input file."""
    tokens = [{token for triple in triples for token in triple} for triples in (delete, add)]
    terms = numbered(tx.workspace, tokens[0], tokens[1])
    ids = terms.ids
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


def net_in_tables(
    tx: Transaction, add: Sequence[TokenTriple], delete: Sequence[TokenTriple], file: int, clear: bool = False
) -> Change:
    """Net a change against the table of asserted facts. clear: all that is asserted is removed first; `delete` is not
    looked at then."""
    engine = tx.engine
    engine.load("raw", token_table(add))
    tx.workspace.tables(ASSERTED)
    _, counters = encoded(tx, "raw", _with_file(tx.workspace.manifest.counters, file))
    engine.drop("raw")
    if clear:
        return net_encoded(tx, counters, replacing=True)
    known = encoding.lookup(engine, {token for triple in delete for token in triple})
    wanted = [t for t in delete if all(token in known for token in t)]
    with engine.scratch() as scratch:
        unwanted = scratch.load("unwanted", triples_table([(known[s], known[p], known[o]) for s, p, o in wanted]))
        removed = engine.create("minus", common(unwanted, "asserted", "spo"))
    return replace(net_encoded(tx, counters), removed=removed, not_asserted=len(delete) - removed)


def net_encoded(tx: Transaction, counters: Counters, replacing: bool = False) -> Change:
    """Net the triples in working table `encoded` against what is asserted. replacing: they are all that is to be."""
    engine = tx.engine
    removed = engine.create("minus", minus("asserted", "encoded", "spo")) if replacing else 0
    added = engine.create("plus", minus("encoded", "asserted", "spo"))
    engine.drop("encoded")
    return Change(added, removed, counters)


def encoded(tx: Transaction, raw: str, counters: Counters) -> tuple[int, Counters]:
    """`encoding.encode` with the constants that the store's rules can derive."""
    tx.workspace.views(TERM, ASSERTED)
    return encoding.encode(tx.engine, raw, counters, head_constants(tx.workspace.manifest))


def extend_terms(workspace: Workspace) -> None:
    """Make `term` read the terms in `new_term` too."""
    workspace.attach(TERM, "stored_term")
    encoding.terms_view(workspace.engine)
    workspace.unbind(TERM)


def numbered(workspace: Workspace, known: Collection[str], wanted: Collection[str]) -> Numbered:
    """The ids of tokens: of those in `known` that the dictionary has, of all in `wanted`."""
    return encoding.numbered(workspace.engine, known, wanted, workspace.manifest.counters, _fingerprints(workspace))


def _fingerprints(workspace: Workspace) -> Fingerprints | None:
    """Of the terms of the version at hand; None the first time, as a process that makes one change has found its terms
    in the files before they would be ready."""
    files, known = workspace.manifest.files_of(TERM.name), None
    if kept := workspace.cache.last("fingerprints"):
        before, known = kept
        if known is None or not {*before.files} <= {*files.files}:
            known = Fingerprints.read(workspace.engine)
        elif new := [f for f in files.files if f not in before.files]:
            paths = [str(workspace.versions.data / f.path) for f in new]
            with workspace.engine.scratch() as scratch:
                further = scratch.table("further_term")
                workspace.engine.attach(further, paths, TERM.columns)
                known.add(dict(workspace.engine.rows(f"SELECT {token_sql('t')} AS token, t.id FROM {further} t")))
    workspace.cache.put("fingerprints", files, known)
    return known


def token_table(triples: Sequence[TokenTriple]) -> pa.Table:
    """Token triples as an Arrow table (s, p, o)."""
    columns = zip(*triples, strict=True) if triples else ((), (), ())
    return pa.table({name: strings(c) for name, c in zip("spo", columns, strict=True)})


def no_facts() -> pa.Table:
    """An empty Arrow table of facts."""
    return pa.table({c: int64s() for c in "spo"})


def _with_file(counters: Counters, file: int) -> Counters:
    return replace(counters, files=max(counters.files, file))
