"""How the types of objects (`triplestore.dictionary.object_types`) follow a change."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from triplestore.dictionary import object_types
from triplestore.dictionary.object_types import ObjectType, Types, plain_type
from triplestore.maintain.keys import Ids
from triplestore.materialise.statements import triples_table
from triplestore.model.tables import OBJECT_TYPE, TERM
from triplestore.model.terms import FIRST_LITERAL, FIRST_TRIPLE
from triplestore.read.workspace import Workspace
from triplestore.storage.manifest import TableFiles
from triplestore.storage.patches import ArrowRows
from triplestore.write.table_changes import Extended, Whole, table_of

Pair = tuple[int, int]
"""A predicate, and the type of an object of it."""


def of_facts(workspace: Workspace, facts: Sequence[Sequence[Ids]], tokens: Mapping[str, int]) -> list[Pair]:
    """The types of the objects of some facts (columns s, p, o), as far as they matter to what is known of their
    predicates. tokens: the ids of some terms of theirs, which are not looked up."""
    known = workspace.object_types or {}
    p, o = (np.concatenate([columns[place] for columns in facts]) for place in (1, 2))
    literal = (o >= FIRST_LITERAL) & (o < FIRST_TRIPLE)
    found = {(int(predicate), int(ObjectType.RESOURCE)) for predicate in np.unique(p[o < FIRST_LITERAL])}
    found |= {(int(predicate), int(ObjectType.OTHER)) for predicate in np.unique(p[o >= FIRST_TRIPLE])}
    mixed = {q for q, types in known.items() if ObjectType.OTHER in types}
    open_ = np.array([predicate for predicate in np.unique(p[literal]) if predicate not in mixed], dtype=np.int64)
    chosen = literal & np.isin(p, open_)
    pairs = {*zip(p[chosen].tolist(), o[chosen].tolist(), strict=True)}
    if not pairs:
        return [*found]
    plain = {number: plain_type(token) for token, number in tokens.items() if FIRST_LITERAL <= number < FIRST_TRIPLE}
    found |= {(q, kind) for q, number in pairs if (kind := plain.get(number)) is not None}
    unclear = sorted((q, q, number) for q, number in pairs if plain.get(number) is None)
    if unclear:
        workspace.views(TERM)
        with workspace.engine.scratch() as scratch:
            found.update(object_types.of_triples(workspace.engine, scratch.load("typed", triples_table(unclear))))
    return [*found]


def written(workspace: Workspace, pairs: Collection[Pair], whole: bool) -> TableFiles | None:
    """The files of the table with more pairs, or with these alone; None where it stays as it is."""
    before: Types = {} if whole else workspace.object_types or {}
    fresh = sorted((q, kind) for q, kind in pairs if kind not in before.get(q, ()))
    if not fresh and not whole:
        return None
    columns = [np.array(column, dtype=np.int64) for column in zip(*fresh, strict=True)] or [np.zeros(0, np.int64)] * 2
    rows = ArrowRows(table_of(OBJECT_TYPE, columns))
    change = Whole(rows) if whole else Extended(rows)
    files = change.written(workspace.versions, OBJECT_TYPE, workspace.manifest.files_of(OBJECT_TYPE.name))
    workspace.cache.put(OBJECT_TYPE.name, files, object_types.extended(before, fresh))
    return files
