"""The closure of a window by updates of a closure in memory, or computed from scratch each time."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from triplake.sparql import Graph
from triplestore.closure.view import ClosureView
from triplestore.compile.schema import Fact
from triplestore.dictionary.literals import by_value
from triplestore.engine import Engine
from triplestore.engine.sql import count
from triplestore.maintain import dred
from triplestore.maintain.cache import ClosureCache
from triplestore.maintain.keys import LayoutFullError
from triplestore.maintain.policy import is_large
from triplestore.maintain.program import NotMaintainableError
from triplestore.maintain.violations import clashes_in, wrong_types_in
from triplestore.materialise.mint import Mint
from triplestore.materialise.statements import absent
from triplestore.model.tables import ASSERTED, GIVEN, VIOLATION
from triplestore.model.terms import BUILTIN_IDS
from triplestore.model.thresholds import SIZES
from triplestore.read.reasoning import reasoning, touched
from triplestore.read.session import Session
from triplestore.storage.manifest import Counters, Manifest
from triplestore.streams.terms import arrive
from triplestore.streams.window_closure import InTables
from triplestore.write.statistics import stats_after, stats_of

if TYPE_CHECKING:
    from triplestore.maintain.evaluation import Evaluator


class ByUpdates(InTables):
    """The closure is that of the asserted triples, of the background and the window: what has left is deleted, and what
    is new inserted, by DRed over the closure in memory; or (naive) the closure is computed from scratch each time, as
    it is where it cannot be maintained in memory. Nothing is written to any store."""

    def __init__(
        self, background: Session, manifest: Manifest, engine: Engine, naive: bool, switched: str = ""
    ) -> None:
        super().__init__(background, manifest, engine)
        self.name, self.switched = "naive" if naive else "dred", switched
        self.session.workspace.tables(VIOLATION)
        self.begin()
        self._memory: ClosureCache | None = None
        self._filled = False
        self._stats: dict[str, int] = dict(manifest.stats)
        self.size, self.restated, self.facts = 0, 0, count(engine, "fact")

    def slide(self, now: int, arrived: pa.Table | None) -> None:
        """See `WindowClosure`."""
        engine, terms, before = self.engine, self.terms, self.terms.counters
        if self.name == "dred" and self._memory is None and self._filled:
            self._memory = self._read()
        with engine.scratch() as scratch:
            gone = scratch.create("gone", f"SELECT s, p, o FROM streamed WHERE e <= {now}")
            if arrived is not None:
                terms.encode(scratch.load("raw", arrived), "arrived")
            else:
                engine.create("arrived", "SELECT s, p, o, e FROM streamed WHERE FALSE")
            other = f"{absent('f', 'background_asserted')} AND {absent('f', '{}')}"
            plus = engine.rows(f"SELECT s, p, o FROM arrived f WHERE {other.format('streamed')}")
            minus = engine.rows(f"SELECT s, p, o FROM {gone} f WHERE {other.format('arrived')}")
            self.size -= engine.keep("streamed", f"e > {now}")
            more, self.restated = arrive(engine)
            self.size += more
        if touched(self.known, terms.literals) or terms.counters.ill_typed > before.ill_typed:
            self.known = reasoning(engine, replace(self.manifest, counters=terms.counters))
        if (plus or minus) and not self._maintained(plus, minus, before):
            self._computed()
        self._filled = True
        self._show_forms()
        self.tidy(self.facts + self.size)

    def graph(self) -> Graph:
        """See `WindowClosure`."""
        return self.read_by(self._now)

    @property
    def _now(self) -> ClosureView:
        """How the closure is to be read."""
        return ClosureView.of(replace(self.manifest, stats=self._stats, counters=self.terms.counters))

    # -- the closure -----------------------------------------------------------------------------------------------

    def _read(self) -> ClosureCache | None:
        """The closure in memory, if it can be maintained there."""
        if self._now.literals_in_classes or self.facts > SIZES.resident:
            return None
        terms, now = self.terms, self.terms.counters
        counts = (len(BUILTIN_IDS), now.iri, now.blank, now.literal, now.triple)
        with suppress(NotMaintainableError, LayoutFullError):
            return ClosureCache.read(self.engine, self.known, counts, terms.several_forms, now.ill_typed > 0)
        return None

    def _maintained(self, plus: Sequence[Fact], minus: Sequence[Fact], before: Counters) -> bool:
        """Bring the closure up to date in memory, if that is possible. before: the dictionary's counters before the
        terms of these facts."""
        memory = self._memory
        if memory is None or is_large(len(plus) + len(minus), self.facts):
            return False
        engine, mint = self.engine, self._mint()
        values, ill_typed = self.terms.special(before)
        try:
            rows = memory.update(
                *(self.known, plus, minus, dred.NAME),
                *(partial(clashes_in, engine), partial(wrong_types_in, engine)),
                values=values if self.view.by_value else {},
                ill_typed=ill_typed,
                evaluator=self._evaluator(memory, mint),
            )
        except (NotMaintainableError, LayoutFullError):
            return False
        finally:
            self.terms.made(mint.counters or before)
        self._stats = stats_after(self._stats, rows, memory)
        memory.commit()
        self.facts += len(rows.added[0]) - len(rows.removed[0])
        self.patch((rows.added, rows.removed), (rows.equal_added, rows.equal_removed))
        return True

    def _evaluator(self, memory: ClosureCache, mint: Mint) -> Evaluator | None:
        """What evaluates the expressions and aggregates of rules, where there are any."""
        if self.known.monotone:
            return None
        from triplestore.maintain.evaluation import Evaluator  # slow to import, and few rules need it

        return Evaluator(self.engine, self.known.constants, mint, memory.remembered, lambda: None)

    def _mint(self) -> Mint:
        return Mint(self.engine, self.terms.counters, self.view.by_value, self.limits)

    def _computed(self) -> None:
        """Compute the closure from scratch."""
        engine, mint = self.engine, self._mint()
        self._memory = None
        if self.terms.several_forms:
            engine.create(GIVEN, by_value(ASSERTED.name))
        else:
            engine.view(GIVEN, "SELECT s, p, o FROM asserted")
        self.known.evaluation(engine, None, mint).materialise()
        self.terms.made(mint.counters or self.terms.counters)
        self._stats, self.facts = stats_of(self.session.workspace), count(engine, "fact")

    def _show_forms(self) -> None:
        """See `StreamTerms.show_forms_of`."""
        exchanged = self.terms.show_forms_of("streamed")
        if exchanged and self._memory is not None:
            listed = ", ".join(map(str, exchanged))
            after = self.engine.rows(f"SELECT s, p, o FROM streamed WHERE o IN ({listed})")
            self._memory.exchange([(s, p, exchanged[o]) for s, p, o in after], after)
