"""What keeps the closure of a window: IMaRS, or updates of a store of their own."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, Protocol

import pyarrow as pa

from triplake.sparql import Graph
from triplake.sparql.constants import Known
from triplestore.dictionary import encoding
from triplestore.engine import Engine, temporary
from triplestore.engine.queries import count
from triplestore.maintain import dred, rematerialise
from triplestore.materialise.statements import absent, triples_table
from triplestore.model.dataset import DefaultGraph
from triplestore.model.errors import UsageError
from triplestore.model.tables import ASSERTED, FACT, QUAD, SAME_AS, TERM, token_sql
from triplestore.read import query
from triplestore.read.reasoning import reasoning
from triplestore.read.session import Session
from triplestore.storage.backup import copy_of
from triplestore.storage.retention import Retention
from triplestore.streams.imars import Imars, NotExpiringError
from triplestore.streams.terms import StreamTerms
from triplestore.write.update import apply

ALGORITHMS: Final = ("auto", "imars", "dred", "naive")

TRIPLES: Final = pa.schema([("s", pa.string()), ("p", pa.string()), ("o", pa.string()), ("e", pa.int64())])
"""What comes into a window: tokens, and when each leaves."""

Triple = tuple[str, str, str]


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
    def facts(self) -> int:
        """Facts of the closure, the background's among them."""

    def graph(self) -> Graph:
        """What queries read, until the next `slide`."""

    def close(self) -> None:
        """Free what it holds."""


class ByExpiry:
    """IMaRS, in working tables of an engine of its own."""

    name, switched = "imars", ""

    def __init__(self, background: Session, engine: Engine) -> None:
        """Raises NotExpiringError; the engine is not closed then."""
        manifest = background.manifest
        self.engine, self._session = engine, Session(background.versions, engine, manifest, pinned=True)
        self._session.services = background.services
        workspace = self._session.workspace
        workspace.tables(TERM, ASSERTED, FACT, SAME_AS)
        workspace.views(QUAD)
        known = reasoning(engine, manifest)
        terms = StreamTerms(engine, manifest.counters)
        self._terms, self._imars = terms, Imars(engine, known, terms)
        engine.create("background_asserted", "SELECT s, p, o FROM asserted")
        engine.drop("asserted")
        engine.view("asserted", "SELECT s, p, o FROM background_asserted UNION SELECT s, p, o FROM streamed")

    @property
    def size(self) -> int:
        """See `WindowClosure`."""
        return self._imars.size

    @property
    def facts(self) -> int:
        """See `WindowClosure`."""
        return self._imars.facts

    def slide(self, now: int, arrived: pa.Table | None) -> None:
        """See `WindowClosure`."""
        with self.engine.scratch() as scratch:
            self._imars.slide(now, None if arrived is None else scratch.load("raw", arrived))

    def window(self, now: int) -> pa.Table:
        """What is in the window at a time: tokens (s, p, o) and when each leaves (e)."""
        joins = " ".join(f"JOIN term t_{c} ON t_{c}.id = w.{c}" for c in "spo")
        columns = ", ".join(f"{token_sql(f't_{c}')} AS {c}" for c in "spo")
        return self.engine.query(f"SELECT {columns}, w.e FROM streamed w {joins} WHERE w.e > {now}")

    def graph(self) -> Graph:
        """See `WindowClosure`."""
        manifest, view = self._session.manifest, self._session.view
        classes = count(self.engine, "same_as WHERE term = representative")
        equal_values = view.by_value and self._terms.counters.equal_valued > 0
        view = replace(view, classes=classes, equal_values=equal_values, generalised=True, triple_terms=True)
        self._terms.ready()
        return Graph(
            self.engine,
            view,
            known=Known(linked=True),
            prefixes=manifest.prefixes,
            union=manifest.default_graph == DefaultGraph.UNION,
            services=self._session.services,
        )

    def close(self) -> None:
        """See `WindowClosure`."""
        self._session.reading.end()
        self.engine.close()


class ByUpdates:
    """A store of its own that has the window's triples asserted besides the background's: the baselines. naive: the
    closure is computed from scratch each time; else what left is deleted by DRed, then what was added is inserted."""

    def __init__(self, background: Session, version: int, engine: Engine, naive: bool, switched: str = "") -> None:
        """version: that of the background, which may have moved on since the run began."""
        self.engine, self.switched = engine, switched
        self.name = "naive" if naive else "dred"
        self._maintain = rematerialise.NAME if naive else dred.NAME
        self._folder = tempfile.mkdtemp(prefix=temporary.prefix("stream"))
        path = Path(self._folder, "window")
        versions = copy_of(background.versions, version, path)
        versions.change_retention(Retention(1))  # each slide makes a version
        self._session = Session(versions, engine, versions.read(), pinned=False)
        self._session.services = background.services
        self._session.workspace.limits = background.workspace.limits
        self._ends: dict[Triple, int] = {}
        self._session.workspace.views(ASSERTED)
        engine.create("background", "SELECT s, p, o FROM asserted")

    @property
    def size(self) -> int:
        """See `WindowClosure`."""
        return len(self._ends)

    @property
    def facts(self) -> int:
        """See `WindowClosure`."""
        return self._session.manifest.files_of(FACT.name).rows

    def slide(self, now: int, arrived: pa.Table | None) -> None:
        """See `WindowClosure`."""
        ends, new = self._ends, dict[Triple, None]()
        for s, p, o, end in zip(*(column.to_pylist() for column in arrived.columns), strict=True) if arrived else ():
            if (s, p, o) not in ends:
                new[s, p, o] = None
            ends[s, p, o] = max(end, ends.get((s, p, o), end))
        gone = [triple for triple, end in ends.items() if end <= now]
        for triple in gone:
            del ends[triple]
        add = self._others([triple for triple in new if triple in ends])
        delete = self._others([triple for triple in gone if triple not in new])
        if add or delete:
            apply(self._session, [(False, delete), (True, add)], self._maintain, False)

    def _others(self, triples: Sequence[Triple]) -> list[Triple]:
        """Those that the background does not assert itself."""
        session = self._session
        session.workspace.views(TERM)
        ids = encoding.lookup(session.engine, {token for triple in triples for token in triple})
        known = [(ids[s], ids[p], ids[o]) for s, p, o in triples if s in ids and p in ids and o in ids]
        if not known:
            return list(triples)
        with session.engine.scratch() as scratch:
            asked = scratch.load("asked", triples_table(known))
            rows = session.engine.rows(f"SELECT s, p, o FROM {asked} a WHERE NOT {absent('a', 'background')}")
        own = {tuple(row) for row in rows}
        return [t for t in triples if tuple(ids.get(token, -1) for token in t) not in own]

    def graph(self) -> Graph:
        """See `WindowClosure`."""
        return query.graph(self._session)

    def close(self) -> None:
        """See `WindowClosure`."""
        self._session.reading.end()
        self._session.versions.withdraw()
        self._session.engine.close()
        shutil.rmtree(self._folder, ignore_errors=True)


class Maintainer:
    """Slides a window: `closure` is IMaRS for as long as that can, if it was not ruled out, then DRed."""

    def __init__(self, background: Session, algorithm: str, engine: Callable[[], Engine]) -> None:
        """algorithm: one of ALGORITHMS. Raises UsageError, also where only IMaRS is asked for and cannot."""
        if algorithm not in ALGORITHMS:
            raise UsageError(f"no algorithm '{algorithm}' for streams: give one of {', '.join(ALGORITHMS)}")
        self._background, self._make, self._only = background, engine, algorithm == "imars"
        self._version = background.manifest.version
        self.closure: WindowClosure
        made = engine()
        try:
            if algorithm in ("dred", "naive"):
                self.closure = ByUpdates(background, self._version, made, algorithm == "naive")
            else:
                self.closure = ByExpiry(background, made)
        except NotExpiringError as error:
            made.close()
            self.closure = self._other(error)
        except BaseException:
            made.close()
            raise

    def slide(self, now: int, arrived: pa.Table | None) -> None:
        """See `WindowClosure`."""
        try:
            self.closure.slide(now, arrived)
        except NotExpiringError as error:
            before = self.closure
            assert isinstance(before, ByExpiry)
            content = before.window(now)
            self.closure = self._other(error)
            before.close()
            whole = content if arrived is None else pa.concat_tables([content.cast(TRIPLES), arrived.cast(TRIPLES)])
            self.closure.slide(now, whole)

    def _other(self, why: NotExpiringError) -> ByUpdates:
        if self._only:
            raise UsageError(f"IMaRS cannot keep the windows: {why}; leave out --algorithm imars, or choose dred")
        return ByUpdates(self._background, self._version, self._make(), naive=False, switched=str(why))
