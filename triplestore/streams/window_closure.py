"""What the closures of windows have in common: their tables, and how they are read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, Protocol

import pyarrow as pa

from triplake.sparql import Graph
from triplake.sparql.constants import Known
from triplestore.closure.view import ClosureView
from triplestore.engine import Engine
from triplestore.engine.sets import Ids
from triplestore.maintain.annotation import FOREVER
from triplestore.model.dataset import DefaultGraph
from triplestore.model.rule import constants_of
from triplestore.model.tables import ASSERTED, FACT, QUAD, SAME_AS, TERM, token_sql
from triplestore.model.thresholds import SIZES
from triplestore.read.reasoning import all_rules, reasoning
from triplestore.read.session import Session
from triplestore.storage.manifest import Manifest
from triplestore.streams.terms import StreamTerms
from triplestore.write.table_changes import same_as_rows, table_of

TRIPLES: Final = pa.schema([("s", pa.string()), ("p", pa.string()), ("o", pa.string()), ("e", pa.int64())])
"""What comes into a window: tokens, and when each leaves."""


class WindowClosure(Protocol):
    """The closure of a window over the background."""

    @property
    def name(self) -> str:
        """The algorithm's."""

    @property
    def switched(self) -> str:
        """Why it is not IMaRS, if that could not; or nothing."""

    @property
    def engine(self) -> Engine:
        """The engine that has the closure."""

    def slide(self, now: int, arrived: pa.Table | None) -> None:
        """Let the window be that of `now`. arrived: what was added to it since the last time, tokens (s, p, o), and the
        time at which each leaves (e)."""

    @property
    def size(self) -> int:
        """Triples in the window."""

    @property
    def restated(self) -> int:
        """How many triples of those that the last slide brought the window had already."""

    @property
    def facts(self) -> int:
        """Facts of the closure, the background's among them."""

    def window(self, now: int) -> pa.Table:
        """What is in the window at a time: tokens (s, p, o) and when each leaves (e)."""

    def graph(self) -> Graph:
        """What queries read, until the next `slide`."""

    def close(self) -> None:
        """Free what it holds."""


class InTables:
    """The terms, the background and the window in working tables of an engine of its own: `background_asserted`,
    `streamed` (s, p, o, e), and the view `asserted` of both. known: the rules. manifest: the background's."""

    def __init__(self, background: Session, manifest: Manifest, engine: Engine) -> None:
        """manifest: the version that is the background; the store may have moved on since."""
        self.engine, self.session = engine, Session(background.versions, engine, manifest, pinned=True)
        self.session.services = background.services
        self.limits = background.workspace.limits
        workspace = self.session.workspace
        workspace.tables(TERM, ASSERTED, FACT, SAME_AS)
        workspace.views(QUAD)
        self.manifest, self.view = manifest, self.session.view
        self._loose = 0  # rows that were added since the tables were compressed
        constants = {t for rule in all_rules(manifest) for t in constants_of(rule) if t.startswith('"')}
        by_value = self.view.by_value
        self.terms = StreamTerms(engine, manifest.counters, by_value, watched=bool(constants) and not by_value)
        if by_value:
            self.terms.pin(constants)
        self.known = reasoning(engine, replace(manifest, counters=self.terms.counters))

    def begin(self) -> None:
        """Make the tables of the window."""
        engine = self.engine
        engine.create("streamed", f"SELECT s, p, o, {FOREVER} AS e FROM asserted WHERE FALSE")
        engine.create("background_asserted", "SELECT s, p, o FROM asserted")
        engine.drop("asserted")
        engine.view("asserted", "SELECT s, p, o FROM background_asserted UNION SELECT s, p, o FROM streamed")

    def window(self, now: int) -> pa.Table:
        """See `WindowClosure`."""
        joins = " ".join(f"JOIN term t_{c} ON t_{c}.id = w.{c}" for c in "spo")
        columns = ", ".join(f"{token_sql(f't_{c}')} AS {c}" for c in "spo")
        return self.engine.query(f"SELECT {columns}, w.e FROM streamed w {joins} WHERE w.e > {now}").cast(TRIPLES)

    def patch(self, facts: Sequence[Sequence[Ids]], equal: Sequence[Sequence[tuple[int, int]]]) -> None:
        """Change the working tables `fact` and `same_as`. facts: columns s, p, o of the rows that are added, and of
        those that are removed; equal: the same of pairs (term, representative)."""
        for name, (added, removed) in (
            ("fact", [table_of(FACT, columns) for columns in facts]),
            ("same_as", [same_as_rows(pairs) for pairs in equal]),
        ):
            with self.engine.scratch() as scratch:
                if removed.num_rows:
                    self.engine.remove(name, f"SELECT * FROM {scratch.load('removed_rows', removed)}")
                if added.num_rows:
                    self.engine.append(name, [f"SELECT * FROM {scratch.load('added_rows', added)}"])
                    self._loose += added.num_rows

    def tidy(self, facts: int) -> None:
        """After a slide: forget terms that nothing mentions any more, and compress the tables, once that is worth it.
        facts: how many the closure and the window have."""
        columns = {**dict.fromkeys(("fact", "streamed", "background_asserted"), "s p o"), "same_as": "term"}
        self.terms.forget(columns, facts)
        if self._loose > SIZES.share * facts:
            self.engine.settle()
            self._loose = 0

    def read_by(self, view: ClosureView) -> Graph:
        """What queries read. view: of the closure."""
        view = replace(view, equal_values=self.terms.several_forms, generalised=True, triple_terms=True)
        self.terms.ready()
        return Graph(
            self.engine,
            view,
            known=Known(linked=True),
            prefixes=self.manifest.prefixes,
            union=self.manifest.default_graph == DefaultGraph.UNION,
            services=self.session.services,
        )

    def close(self) -> None:
        """See `WindowClosure`."""
        self.session.reading.end()
        self.engine.close()
