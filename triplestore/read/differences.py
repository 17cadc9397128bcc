"""What a version changed: the triples added and removed since the version before it, asserted and inferred apart.

Versions are compared file by file (`triplestore.storage.segments.difference`), so it does not matter how a version was
written: as patches, or whole. The closure is compared by representatives, each version under its own: a class of equal
terms that was added or removed is listed by its members, and the rest of the change is not multiplied by them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final

from triplestore.closure.expand import RDF_ONLY, normalised_sql, ntriples_sql
from triplestore.closure.view import ClosureView
from triplestore.engine import Engine, Queries
from triplestore.engine.sql import Scratch, minus
from triplestore.model.dataset import UNNAMED
from triplestore.model.errors import EngineError, UsageError
from triplestore.model.tables import ASSERTED, FACT, QUAD, SAME_AS, TERM, Table
from triplestore.model.terms import FIRST_LITERAL
from triplestore.model.terms import SAME_AS as EQUALS
from triplestore.read.workspace import Workspace
from triplestore.storage import segments
from triplestore.storage.manifest import Manifest
from triplestore.storage.verify import look_for_damage
from triplestore.storage.versions import Versions

KINDS: Final = ("asserted", "inferred", "equal")
"""The kinds of triples in a change: asserted triples; stored facts that are not asserted; equalities of a term with the
one that represents its class, of mode `rewrite`, where they are no facts. Where a store has named graphs, `QUADS`
too."""

QUADS: Final = "quads"
"""The kind of quads of named graphs: a graph may gain and lose triples that stay asserted."""

SIGNS: Final = ("added", "removed")
_COMPARED: Final = (ASSERTED, FACT, SAME_AS)


@dataclass(frozen=True, slots=True)
class Difference:
    """The change from version `before` (None: from nothing) to `version`: `counts[kind][sign]` triples, and `lines`."""

    version: int
    before: int | None
    counts: dict[str, dict[str, int]]
    _engine: Queries
    _tables: Mapping[tuple[str, str], str]  # by kind and sign

    def lines(self, kind: str, sign: str, limit: int | None = None) -> Iterator[str]:
        """The triples of a kind and sign as N-Triples lines in the order of their bytes, up to `limit`."""
        if not self.counts[kind][sign]:
            return
        columns = "s, p, o, g" if kind == QUADS else "s, p, o"
        lines = ntriples_sql(f"SELECT {columns} FROM {self._tables[kind, sign]}", self._engine.dialect, kind == QUADS)
        most = "" if limit is None else f" LIMIT {int(limit)}"
        for batch in self._engine.batches(f"SELECT line FROM ({lines}) l ORDER BY line{most}"):
            yield from batch.column(0).to_pylist()


@contextmanager
def difference(engine: Engine, versions: Versions, number: int, most: int | None = None) -> Iterator[Difference]:
    """The change of a version, to be read within the context. The engine's stored tables are that version's then.

    Raises UsageError where there is no such version, the one before it has been vacuumed, or more than `most` rows of
    files would be compared.
    """
    after = versions.read(number)
    before = _before(versions, after)
    named = before.has_graphs or after.has_graphs
    kinds, compared = ((*KINDS, QUADS), (*_COMPARED, QUAD)) if named else (KINDS, _COMPARED)
    if most is not None and (rows := _rows(before, after, compared)) > most:
        raise UsageError(
            f"version {number} wrote, or took away, files of {rows:,} rows, more than are compared here: "
            f"`triplake log {versions.path} {number} --facts` lists what it changed"
        )
    counts: dict[str, dict[str, int]] = {kind: {} for kind in kinds}
    with engine.scratch() as scratch:
        tables = {(kind, sign): scratch.table(f"{kind}_{sign}") for kind in kinds for sign in SIGNS}
        try:
            changed = {table.name: _changed(engine, scratch, versions, before, after, table) for table in compared}
            for sign, manifest in (("removed", before), ("added", after)):  # the terms of the later one are all
                Workspace(engine, versions, manifest).views(ASSERTED, SAME_AS, TERM)
                for kind, sql in _triples(manifest, {name: signs[sign] for name, signs in changed.items()}):
                    counts[kind][sign] = engine.create(tables[kind, sign], sql)
            yield Difference(number, before.version or None, counts, engine, tables)
        except EngineError:
            look_for_damage(versions, after, before)
            raise


def _rows(before: Manifest, after: Manifest, compared: Sequence[Table]) -> int:
    """The rows of the files of tables that one of two versions has and the other has not."""
    files = [{file for table in compared for file in m.files_of(table.name).read} for m in (before, after)]
    return sum(file.rows for file in files[0] ^ files[1])


def _changed(
    engine: Engine, scratch: Scratch, versions: Versions, before: Manifest, after: Manifest, table: Table
) -> dict[str, str]:
    """Views of the rows of a table that were added and removed, by sign."""
    views = {sign: scratch.table(f"{table.name}_{sign}") for sign in SIGNS}
    segments.difference(engine, scratch, versions, before, after, table, views["added"], views["removed"])
    return views


def _triples(manifest: Manifest, changed: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Of each kind the triples (s, p, o: ids) that were added to a version, or removed from it, as SQL."""
    facts = f"(SELECT s, p, o FROM {changed[FACT.name]} WHERE {RDF_ONLY})"
    yield "asserted", f"SELECT s, p, o FROM {changed[ASSERTED.name]}"
    yield "inferred", minus(facts, f"({normalised_sql(ClosureView.of(manifest), forms=False)})", "spo")
    if QUAD.name in changed:
        yield QUADS, f"SELECT {QUAD.select} FROM {changed[QUAD.name]} WHERE g <> {UNNAMED}"
    literal = f"term >= {FIRST_LITERAL}"
    yield (
        "equal",
        f"SELECT CASE WHEN {literal} THEN representative ELSE term END AS s, CAST({EQUALS} AS BIGINT) AS p, "
        f"CASE WHEN {literal} THEN term ELSE representative END AS o FROM {changed[SAME_AS.name]} "
        f"WHERE term <> representative AND representative < {FIRST_LITERAL}",
    )


def _before(versions: Versions, manifest: Manifest) -> Manifest:
    """The version that another was made from; an empty one before the first."""
    if manifest.version == 1:
        return replace(manifest, version=0, tables={})
    numbers = versions.numbers()
    if manifest.version - 1 in numbers:
        return versions.read(manifest.version - 1)
    able = [str(n) for n in numbers if n - 1 in numbers]
    which = f"the change of {'version' if len(able) == 1 else 'versions'} {', '.join(able[-10:])} can be listed"
    raise UsageError(
        f"what version {manifest.version} of {versions.path} changed cannot be listed any more: version "
        f"{manifest.version - 1}, which it was made from, has been vacuumed" + (f"; {which}" if able else "")
    )
