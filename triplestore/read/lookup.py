"""Finding single triples in memory: what a program asks that walks over a graph, thousands of times.

The triples of a version, with all equalities expanded, become three sorted arrays of keys, one for each order of their
places (as Hexastore has six; Weiss, Karras and Bernstein 2008): 24 bytes a triple and some hundred for each term. A
pattern is two binary searches then. They are made once enough has been asked of a version to be worth it, in stores
that are not too large. What only a query knows (what holds of every term, literals by value) is left to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from triplestore.closure import expand
from triplestore.engine import Engine
from triplestore.engine.arrow import as_numpy, int64s
from triplestore.model.equality import Equality
from triplestore.model.tables import ASSERTED, FACT, SAME_AS, TERM, token_sql
from triplestore.model.terms import OWL, RDF, RDFS, builtin, to_rdflib
from triplestore.model.terms import SAME_AS as EQUALS
from triplestore.read.reasoning import by_value, equal_literals, named, resources, twins
from triplestore.read.workspace import Workspace
from triplestore.storage.manifest import Manifest

if TYPE_CHECKING:
    from rdflib.term import Node

Triple = tuple["Node", "Node", "Node"]
Pattern = Sequence[str | None]
Ids = npt.NDArray[np.int64]

MOST: Final = 1_000_000
"""Triples that are held, at most."""

TRIPLE_BYTES: Final = 24
TERM_BYTES: Final = 500
"""What a triple takes, and a term about: its token, the entries that lead to it, and its node."""

SHARE: Final = 4
"""Of the engine's memory one part in so many is taken, at most."""

WORTH: Final = 10_000
"""Triples that take as long to index as a statement takes that finds some."""

_BITS: Final = 21
_MASK: Final = (1 << _BITS) - 1
_AT_ONCE: Final = 1_000

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
            start, size = start + size, _AT_ONCE

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
    """The asserted triples of a version, or all: how often they were asked for, and the index (None: not made)."""

    asked: int = 0
    index: Index | None = None


@dataclass(slots=True)
class Lookups:
    """The indexes of the version at hand; `tokens` of terms are kept from one version to the next."""

    manifest: Manifest | None = None
    tokens: dict[int, str] = field(default_factory=dict)
    parts: dict[str, _Part] = field(default_factory=dict)
    left: tuple[frozenset[str], frozenset[str], frozenset[str]] = (frozenset(), frozenset(), frozenset())

    def index(self, workspace: Workspace, what: str, pattern: Pattern) -> Index | None:
        """The index that finds "asserted" triples, or "all", of a pattern; None where a statement is to find them."""
        manifest = workspace.manifest
        if self.manifest is not manifest:
            self._move(manifest)
        part = self.parts.setdefault(what, _Part())
        part.asked += 1
        rows = manifest.files_of((ASSERTED if what == "asserted" else FACT).name).rows
        if part.index is None:
            if rows > min(MOST, part.asked * WORTH):
                return None
            part.index = self._made(workspace, what)
            if part.index is None:
                part.asked = -MOST  # too large: not to be tried again
                return None
        if what == "asserted" or not self._virtual(pattern):
            return part.index
        return part.index if None not in pattern and part.index.has(pattern) else None

    def _move(self, manifest: Manifest) -> None:
        if self.manifest is not None:
            old, new = self.manifest.files_of(TERM.name).files, manifest.files_of(TERM.name).files
            if old != new[: len(old)]:  # terms have been numbered anew, for all that is known
                self.tokens.clear()
        self.manifest = manifest
        self.parts.clear()

    def _virtual(self, pattern: Pattern) -> bool:
        """Whether a query may find more than the triples: what holds of every term, or other forms of a literal."""
        _, p, o = pattern
        assert self.manifest is not None
        if o is not None and o.startswith('"') and by_value(self.manifest):
            return True
        same, types, every = self.left
        return p in same or (p in types and o in every)

    def _made(self, workspace: Workspace, what: str) -> Index | None:
        manifest, engine = workspace.manifest, workspace.engine
        workspace.views(TERM, ASSERTED, FACT, SAME_AS)
        several, own, literals = twins(manifest), named(manifest), equal_literals(manifest)
        if what == "asserted":
            sql, rows = "SELECT s, p, o FROM asserted", manifest.files_of(ASSERTED.name).rows
        else:
            sql = expand.triples_sql("all", "expand", manifest.equality, several, None, own, literals)
            ((rows,),) = engine.rows(expand.expanded_count_sql(manifest.equality, several, own, literals))
        terms = min(3 * rows, manifest.files_of(TERM.name).rows)
        if rows > MOST or TRIPLE_BYTES * rows + TERM_BYTES * terms > engine.memory() // SHARE:
            return None
        found = engine.query(sql)
        s, p, o = (as_numpy(found.column(c)) for c in "spo")
        self._learn(engine, np.unique(np.concatenate((s, p, o))).tolist())
        if what != "asserted":
            self.left = _left(engine, resources(manifest), manifest.equality)
        return Index(s, p, o, self.tokens)

    def _learn(self, engine: Engine, ids: list[int]) -> None:
        fresh = [number for number in ids if number not in self.tokens]
        if fresh:
            engine.load("looked_up", pa.table({"id": int64s(fresh)}))
            found = engine.query(f"SELECT t.id, {token_sql()} AS token FROM term t JOIN looked_up a ON a.id = t.id")
            engine.drop("looked_up")
            self.tokens.update(zip(as_numpy(found.column(0)).tolist(), found.column(1).to_pylist(), strict=True))


def _left(engine: Engine, resource: bool, equality: Equality) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """What is left to queries: patterns of a predicate among the first (owl:sameAs and what equals it), or among the
    second (rdf:type) with an object among the third (rdfs:Resource, where all are)."""
    if equality == Equality.OFF:
        return frozenset(), *_resources(engine, resource)
    return _equals(engine, EQUALS, OWL + "sameAs"), *_resources(engine, resource)


def _resources(engine: Engine, resource: bool) -> tuple[frozenset[str], frozenset[str]]:
    if not resource:
        return frozenset(), frozenset()
    return _equals(engine, _TYPE, RDF + "type"), _equals(engine, _RESOURCE, RDFS + "Resource")


def _equals(engine: Engine, number: int, iri: str) -> frozenset[str]:
    """The tokens of a built-in term and of its equals."""
    rows = engine.rows(
        f"SELECT {token_sql()} AS token FROM term t JOIN same_as m ON m.term = t.id "
        f"JOIN same_as b ON b.representative = m.representative WHERE b.term = {number}"
    )
    return frozenset((f"<{iri}>", *(row[0] for row in rows)))
