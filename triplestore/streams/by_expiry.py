"""The closure of a window by facts that expire: IMaRS."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
import pyarrow as pa

from triplake.sparql import Graph
from triplestore.dictionary.encoding import decode
from triplestore.engine import Engine
from triplestore.engine.arrow import as_numpy
from triplestore.engine.sql import count
from triplestore.maintain.cache import ClosureCache
from triplestore.maintain.imars import NAME, Imars
from triplestore.maintain.keys import LayoutFullError
from triplestore.maintain.program import NotMaintainableError
from triplestore.maintain.relation import StoredTables
from triplestore.materialise.datatypes import types_sql
from triplestore.model.tables import FACT
from triplestore.model.terms import BUILTIN_IDS, FIRST_LITERAL
from triplestore.model.thresholds import SIZES
from triplestore.read.reasoning import touched
from triplestore.read.session import Session
from triplestore.storage.manifest import Manifest
from triplestore.streams.terms import arrive
from triplestore.streams.window_closure import InTables


class ByExpiry(InTables):
    """The closure in memory; each fact has an end, after which it is dropped."""

    name: Final = NAME
    switched: Final = ""

    def __init__(self, background: Session, manifest: Manifest, engine: Engine, terms: int = 0) -> None:
        """terms: how many there are to be in windows, about. Raises NotMaintainableError; the engine is not closed
        then."""
        super().__init__(background, manifest, engine)
        now, room = self.terms.counters, max(terms, SIZES.rows)
        counts = (len(BUILTIN_IDS), *(n + room for n in (now.iri, now.blank, now.literal, now.triple)))
        if self.view.literals_in_classes:
            raise NotMaintainableError("a literal equals an IRI or a blank node")
        large = manifest.files_of(FACT.name).rows > SIZES.resident
        try:
            memory = ClosureCache.read(
                *(engine, self.known, counts, self.terms.several_forms),
                stored=(lambda layout: StoredTables(background.versions, manifest.files_of, layout, SIZES.resident))
                if large
                else None,
                expiring=True,
            )
            self._imars = Imars(memory, lambda term: decode(engine, [term]).get(term, str(term)))
        except LayoutFullError:
            raise NotMaintainableError("the background has too many terms") from None
        self.size, self.restated, self.facts = 0, 0, count(engine, "fact")
        self.begin()

    def slide(self, now: int, arrived: pa.Table | None) -> None:
        """See `WindowClosure`. Raises NotMaintainableError, LayoutFullError; the closure is not to be used then."""
        engine, terms, state = self.engine, self.terms, self._imars.state
        self.size -= engine.keep("streamed", f"e > {now}")
        self.restated = 0
        rows = [np.empty(0, dtype=np.int64)] * 4
        if arrived is not None:
            with engine.scratch() as scratch:
                terms.encode(scratch.load("raw", arrived), "arrived")
            if touched(self.known, terms.literals):
                raise NotMaintainableError("the stream has literals of the value of one that a rule mentions")
            found = engine.query(" UNION ALL ".join([terms.by_value("arrived"), *self._types()]))
            rows = [as_numpy(column) for column in found.columns]
            more, self.restated = arrive(engine)
            self.size += more
        terms.show_forms_of("streamed")
        *triples, ends = rows
        self._imars.slide(now, state.layout.keys(*map(state.layout.encode, triples)), ends)
        self._show()
        self.tidy(self.facts + self.size)

    def graph(self) -> Graph:
        """See `WindowClosure`."""
        return self.read_by(self.view)

    def _show(self) -> None:
        """Bring the tables that queries read up to date with the last slide."""
        state = self._imars.state
        added, removed = state.ids_of(state.added), state.ids_of(state.removed)
        equal = [[(self._id(t), self._id(r)) for t, r in pairs] for pairs in state.classes.change()]
        self.patch((added, removed), equal)
        self.facts += len(added[0]) - len(removed[0])
        if any(equal):
            self.view = replace(self.view, classes=count(self.engine, "same_as WHERE term = representative"))

    def _id(self, code: int) -> int:
        return self._imars.state.layout.id(code)

    def _types(self) -> list[str]:
        """The types that rules ask for of the literals in `arrived`, each for as long as the literal is there."""
        if not self._imars.typed:
            return []
        there = (
            f"(SELECT o, max(e) AS e FROM ({self.terms.by_value('arrived')}) r WHERE o >= {FIRST_LITERAL} GROUP BY o)"
        )
        literals = f"(SELECT n.* FROM term n WHERE n.id IN (SELECT o FROM {there} h)) w"
        types = types_sql(self.engine.dialect, self._imars.typed, self._imars.datatypes, literals)
        return [f"SELECT t.s, t.p, t.o, h.e FROM ({types}) t JOIN {there} h ON h.o = t.s"]
