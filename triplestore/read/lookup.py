"""Finding single triples in memory: what a program asks that walks over a graph, thousands of times.

The triples of a version, with all equalities expanded, become three sorted arrays of keys, one for each order of their
places (as Hexastore has six; Weiss, Karras and Bernstein 2008): 24 bytes a triple and some hundred for each term. A
pattern is two binary searches then. They are made once enough has been asked of a version to be worth it, in stores
that are not too large. What only a query knows (what holds of every term, literals by value) is left to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from triplestore.closure import expand
from triplestore.closure.view import ClosureView
from triplestore.engine import Queries, Workbench
from triplestore.engine.arrow import as_numpy, int64s
from triplestore.model.tables import ASSERTED, FACT, SAME_AS, TERM, token_sql
from triplestore.model.terms import OWL, RDF, RDFS, builtin, to_rdflib
from triplestore.model.terms import SAME_AS as EQUALS
from triplestore.model.thresholds import SIZES
from triplestore.read.workspace import VersionCache, Workspace
from triplestore.storage.manifest import Manifest

if TYPE_CHECKING:
    from rdflib.term import Node

Triple = tuple["Node", "Node", "Node"]
Pattern = Sequence[str | None]
Ids = npt.NDArray[np.int64]

TRIPLE_BYTES: Final = 24
TERM_BYTES: Final = 500
"""What a triple takes, and a term about: its token, the entries that lead to it, and its node."""

_BITS: Final = 21
_MASK: Final = (1 << _BITS) - 1
_RESOURCE: Final = builtin(RDFS + "Resource")
_TYPE: Final = builtin(RDF + "type")


class _Nodes(dict[int, "Node"]):
    """The rdflib terms of codes, made when they are first asked for."""

    def __init__(self, tokens: list[str]) -> None:
        super().__init__()
        self._of = tokens

    def __missing__(self, code: int) -> Node:
        node = self[code] = to_rdflib(self._of[code])
        return node


class Index:
    """Distinct triples, found by any of their places. s, p, o: columns of ids. tokens: what the ids stand for."""

    def __init__(self, s: Ids, p: Ids, o: Ids, tokens: dict[int, str]) -> None:
        ids = np.unique(np.concatenate((s, p, o)))
        texts = [tokens[number] for number in ids.tolist()]
        self._codes = {token: code for code, token in enumerate(texts)}
        self._nodes = _Nodes(texts)
        s, p, o = (np.searchsorted(ids, column) for column in (s, p, o))
        self._orders = tuple(
            np.sort((a << 2 * _BITS) | (b << _BITS) | c) for a, b, c in ((s, p, o), (p, o, s), (o, s, p))
        )

    def find(self, pattern: Pattern) -> Iterator[list[Triple]]:
        """The triples with these terms (tokens; None is any), some at a time."""
        codes = [None if token is None else self._codes.get(token, -1) for token in pattern]
        if -1 in codes:
            return
        s, p, o = (code is not None for code in codes)
        order = _ORDERS[s, p, o]
        low, bits = 0, 3 * _BITS
        for place in (order, order + 1, order + 2):
            code = codes[place % 3]
            if code is None:
                break
            bits -= _BITS
            low |= code << bits
        keys = self._orders[order]
        start, end = keys.searchsorted((low, min(low + (1 << bits), _LAST))) if bits < 3 * _BITS else (0, len(keys))
        size = 16  # whoever asks whether there is any reads no more
        while start < end:
            found = keys[start : min(start + size, end)].tolist()
            n = self._nodes
            if order == 0:
                yield [(n[k >> 42], n[k >> 21 & _MASK], n[k & _MASK]) for k in found]
            elif order == 1:
                yield [(n[k & _MASK], n[k >> 42], n[k >> 21 & _MASK]) for k in found]
            else:
                yield [(n[k >> 21 & _MASK], n[k & _MASK], n[k >> 42]) for k in found]
            start, size = start + size, SIZES.objects

    def has(self, pattern: Pattern) -> bool:
        """Whether there is any."""
        return next(self.find(pattern), None) is not None


_LAST: Final = (1 << 63) - 1
_ORDERS: Final = {  # which places are known -> the order of places that begins with them: spo, pos, osp
    (False, False, False): 0, (True, False, False): 0, (True, True, False): 0, (True, True, True): 0,
    (False, True, False): 1, (False, True, True): 1, (False, False, True): 2, (True, False, True): 2,
}  # fmt: skip


@dataclass(slots=True)
class _Part:
    """The asserted triples of a version, or all: how often they were asked for, and the index (None: not made). left:
    what is left to queries, see `_left`."""

    asked: int = 0
    index: Index | None = None
    left: tuple[frozenset[str], frozenset[str], frozenset[str]] = (frozenset(), frozenset(), frozenset())


class Lookups:
    """The indexes of the version at hand, in its cache; tokens of terms are kept from one version to the next."""

    def __init__(self, cache: VersionCache) -> None:
        self.cache = cache

    def index(self, workspace: Workspace, what: str, pattern: Pattern) -> Index | None:
        """The index that finds "asserted" triples, or "all", of a pattern; None where a statement is to find them."""
        manifest = workspace.manifest
        part = self.cache.get(what, manifest, _Part)
        part.asked += 1
        rows = manifest.files_of((ASSERTED if what == "asserted" else FACT).name).rows
        if part.index is None:
            if rows > min(SIZES.one_thread, part.asked * SIZES.small):
                return None
            part.index = self._made(workspace, what, part)
            if part.index is None:
                part.asked = -SIZES.one_thread  # too large: not to be tried again
                return None
        if what == "asserted" or not _virtual(pattern, manifest, part):
            return part.index
        return part.index if None not in pattern and part.index.has(pattern) else None

    def _made(self, workspace: Workspace, what: str, part: _Part) -> Index | None:
        manifest, engine = workspace.manifest, workspace.engine
        workspace.views(TERM, ASSERTED, FACT, SAME_AS)
        view = ClosureView.of(manifest)
        if what == "asserted":
            sql, rows = "SELECT s, p, o FROM asserted", manifest.files_of(ASSERTED.name).rows
        else:
            sql = expand.triples_sql(view, "all", "expand")
            ((rows,),) = engine.rows(expand.expanded_count_sql(view))
        terms = min(3 * rows, manifest.files_of(TERM.name).rows)
        if (
            rows > SIZES.one_thread
            or terms > _MASK
            or TRIPLE_BYTES * rows + TERM_BYTES * terms > engine.memory() // SIZES.part
        ):
            return None
        found = engine.query(sql)
        s, p, o = (as_numpy(found.column(c)) for c in "spo")
        tokens = self._tokens(engine, manifest, np.unique(np.concatenate((s, p, o))).tolist())
        if what != "asserted":
            part.left = _left(engine, view)
        return Index(s, p, o, tokens)

    def _tokens(self, engine: Workbench, manifest: Manifest, ids: list[int]) -> dict[int, str]:
        """The tokens of these ids, and of others."""
        files, before = manifest.files_of(TERM.name), self.cache.last("tokens")
        tokens: dict[int, str] = before[1] if before is not None and files.extend(before[0]) else {}
        self.cache.put("tokens", files, tokens)
        fresh = [number for number in ids if number not in tokens]
        if fresh:
            with engine.scratch() as scratch:
                asked = scratch.load("looked_up", pa.table({"id": int64s(fresh)}))
                found = engine.query(f"SELECT t.id, {token_sql()} AS token FROM term t JOIN {asked} a ON a.id = t.id")
            tokens.update(zip(as_numpy(found.column(0)).tolist(), found.column(1).to_pylist(), strict=True))
        return tokens


def _virtual(pattern: Pattern, manifest: Manifest, part: _Part) -> bool:
    """Whether a query may find more than the triples: what holds of every term, or other forms of a literal."""
    _, p, o = pattern
    if o is not None and o.startswith('"') and ClosureView.of(manifest).by_value:
        return True
    same, types, every = part.left
    return p in same or (p in types and o in every)


def _left(engine: Queries, view: ClosureView) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """What is left to queries: patterns of a predicate among the first (owl:sameAs and what equals it), or among the
    second (rdf:type) with an object among the third (rdfs:Resource, where all are)."""
    none = frozenset[str]()
    equals = _equals(engine, EQUALS, OWL + "sameAs") if view.congruent else none
    if not view.resources:
        return equals, none, none
    return equals, _equals(engine, _TYPE, RDF + "type"), _equals(engine, _RESOURCE, RDFS + "Resource")


def _equals(engine: Queries, number: int, iri: str) -> frozenset[str]:
    """The tokens of a built-in term and of its equals."""
    rows = engine.rows(
        f"SELECT {token_sql()} AS token FROM term t JOIN same_as m ON m.term = t.id "
        f"JOIN same_as b ON b.representative = m.representative WHERE b.term = {number}"
    )
    return frozenset((f"<{iri}>", *(row[0] for row in rows)))
