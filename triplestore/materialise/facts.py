"""The facts of a run under way, as a round of semi-naive evaluation sees them.

Working tables: `fact` (old: all that earlier rounds read), `delta` (new: what this round reads first), `derived` (what
it finds), and, if a rule asks for the terms that occur, `occurs` and `occurs_delta`; `identity` has the terms of which
the run has found `x owl:sameAs x`, which is stored nowhere. With `track` also `added` and `removed`, the net change of
`fact`.
"""

from __future__ import annotations

from collections import Counter

import pyarrow as pa

from triplestore.compile.plan import Element, Pattern, Read, Row
from triplestore.compile.schema import Fact
from triplestore.engine import Workbench
from triplestore.engine.arrow import int64s
from triplestore.engine.sql import Scratch, Select, Statement, count
from triplestore.materialise.statements import absent, touched, triples_table
from triplestore.model.equality import Equality
from triplestore.model.terms import SAME_AS, TYPE


class Facts:
    """The working tables, and what is known of their rows.

    old, new: rows of `fact` and of `delta`. new_terms: rows of `occurs_delta`. predicates: those of `fact`. sizes: rows
    of `delta` by predicate and class (-1 where the predicate is not rdf:type). classes: those that had instances in a
    delta so far. held: facts by predicate, of a run from scratch (not `resumed`). rewrites: how often facts were taken
    out to be rewritten. late: tables of what was added to the delta after `triplestore.materialise.transitive` read it.
    scratch: the run's other working tables; `fact` and those named here have fixed names, since a run changes them in
    place.
    """

    def __init__(self, engine: Workbench, scratch: Scratch, equality: Equality, track: bool) -> None:
        self.scratch = scratch
        self.engine, self.equality, self.track = engine, equality, track
        self.old = self.new = self.new_terms = 0
        self.predicates: set[int] = set()
        self.sizes: dict[tuple[int, int], int] = {}
        self.classes: set[int] = set()
        self.held: Counter[int] = Counter()
        self.resumed, self.rewrites = False, 0
        self.late: list[str] = []
        self._touched_predicates: set[int] = set()  # those of `delta`
        self._occurs = False  # whether `occurs` is kept

    # -- the tables ------------------------------------------------------------------------------------------------

    def empty(self, *names: str) -> None:
        """Make working tables of facts that hold nothing."""
        for name in names:
            self.engine.load(name, pa.table({c: int64s() for c in "spo"}))

    def begin_identities(self, sql: str = "") -> None:
        """Let `identity` have the terms of a SELECT; none without one."""
        if sql:
            self.engine.create("identity", sql)
        else:
            self.engine.load("identity", pa.table({"term": int64s()}))

    def note_identities(self) -> None:
        """Keep the terms of which `derived` has `x owl:sameAs x`: they occur, whatever other facts they are in."""
        known = "EXISTS (SELECT 1 FROM identity k WHERE k.term = d.s)"
        self.engine.append(
            "identity", [f"SELECT DISTINCT s AS term FROM derived d WHERE p = {SAME_AS} AND s = o AND NOT {known}"]
        )

    def resume(self) -> None:
        """Go on from a closure that is in `fact`."""
        self.resumed = True
        self.old = count(self.engine, "fact")
        self.predicates = set(self.column("SELECT DISTINCT p FROM fact"))
        self.empty("delta", *(("added", "removed") if self.track else ()))

    def column(self, sql: str) -> list[int]:
        """The first column of a query."""
        found: list[int] = self.engine.query(sql).column(0).to_pylist()
        return found

    # -- the delta -------------------------------------------------------------------------------------------------

    def begin(self, sql: Statement) -> None:
        """Let `delta` be the facts of a SELECT, none of which is in `fact`."""
        self.new = self.engine.create("delta", sql)

    def extend(self, facts: list[Fact]) -> None:
        """Add facts that are new to the delta."""
        closed = self.scratch.load("closed", triples_table(facts))
        self.new += self.engine.append("delta", [Select(closed, "spo")])[0]
        self.late.append(closed)

    def extend_by(self, sql: str, name: str) -> int:
        """Add to the delta what is new of a SELECT, by way of a new table `name`; how much that was."""
        new = f"SELECT s, p, o FROM ({sql}) t WHERE {absent('t', 'fact')} AND {absent('t', 'delta')}"
        added = self.engine.create(name, new)
        if added:
            self.engine.append("delta", [Select(name, "spo")])
        self.new += added
        return added

    def summarise(self) -> None:
        """Take stock of the delta."""
        self.sizes = {}
        if self.new:
            found = self.engine.query(
                f"SELECT p, CASE WHEN p = {TYPE} THEN o ELSE -1 END AS c, count(*) AS n FROM delta GROUP BY 1, 2"
            ).to_pydict()
            self.sizes = {(p, c): n for p, c, n in zip(found["p"], found["c"], found["n"], strict=True)}
        self._touched_predicates = {p for p, _ in self.sizes}

    def touched(self, pattern: Element, row: Row) -> bool:
        """Whether the delta can hold a match of the pattern of an instance."""
        known = self.sizes, self._touched_predicates
        return isinstance(pattern, Pattern) and bool(self.sizes) and touched(pattern, row, *known)

    def scan(self, element: Element, read: Read) -> str:
        """What a body element reads."""
        old, delta, columns = (
            ("fact", "delta", "s, p, o") if isinstance(element, Pattern) else ("occurs", "occurs_delta", "term")
        )
        if read is Read.DELTA:
            return delta
        fresh = self.new if isinstance(element, Pattern) else self.new_terms
        if read is Read.OLD or not fresh:
            return old
        if isinstance(element, Pattern) and not self.old:
            return delta
        return f"(SELECT {columns} FROM {old} UNION ALL SELECT {columns} FROM {delta})"

    def moved(self) -> None:
        """Take note that `fact` was changed other than by the delta: what is known of its rows is found again."""
        self.rewrites += 1
        self.late = []
        if self._occurs:
            self.occur()

    def promote(self) -> None:
        """The delta becomes part of `fact`."""
        if self.new:
            self.engine.append("fact", [Select("delta", "spo")])
            self.old += self.new
            self.predicates |= {p for p, _ in self.sizes}
            for (p, _), rows in self.sizes.items():
                self.held[p] += rows
            self.classes |= {c for p, c in self.sizes if p == TYPE}
            if self.track:
                self.engine.append("added", [Select("delta", "spo")])
        if self.new_terms:
            self.engine.append("occurs", [Select("occurs_delta", ("term",))])

    # -- facts that leave ------------------------------------------------------------------------------------------

    def take_out(self, sql: str) -> int:
        """Move the facts of a SELECT from `fact` to `derived`; how many they are."""
        self.rewrites += 1
        if not self.old:
            return 0
        with self.engine.scratch() as scratch:
            outdated = scratch.table("outdated")
            rows = self.engine.create(outdated, sql)
            if rows:
                self.leave_out(outdated)
                self.engine.append("derived", [Select(outdated, "spo")])
        return rows

    def leave_out(self, table: str) -> None:
        """Take the facts of a table out of `fact`, as if they had never been derived."""
        self.engine.remove("fact", f"SELECT s, p, o FROM {table}")
        self.old -= count(self.engine, table)
        if self.track:
            self.engine.append("removed", [f"SELECT s, p, o FROM {table} t WHERE {absent('t', 'added')}"])
            self.engine.remove("added", f"SELECT s, p, o FROM {table}")

    def net(self) -> None:
        """Take out of `added` and `removed` what is in both (a fact rewritten to itself)."""
        if count(self.engine, "removed"):
            both = f"SELECT s, p, o FROM added a WHERE NOT {absent('a', 'removed')}"
            with self.engine.scratch() as scratch:
                unchanged = scratch.create("unchanged", both)
                self.engine.remove("added", f"SELECT s, p, o FROM {unchanged}")
                self.engine.remove("removed", f"SELECT s, p, o FROM {unchanged}")

    # -- terms that occur ------------------------------------------------------------------------------------------

    def occur(self) -> None:
        """Make `occurs` of the closure in `fact`, without what occurs by `x owl:sameAs x` alone: the run finds
        that again."""
        self._occurs = True
        self.engine.create("occurs", f"SELECT DISTINCT term FROM ({self._terms_of('fact')}) t")

    def occurring(self, wanted: bool) -> None:
        """Keep `occurs` and `occurs_delta`, if they are wanted."""
        self.new_terms = 0
        if not wanted:
            return
        if not self._occurs:
            self._occurs = True
            terms = f"SELECT DISTINCT term FROM ({self._terms_of('fact')}) t"
            self.engine.create("occurs", terms if self.old else "SELECT s AS term FROM fact")
        self.new_terms = self.engine.create(
            "occurs_delta",
            f"SELECT DISTINCT term FROM ({self._terms_of('delta')}) t "
            "WHERE NOT EXISTS (SELECT 1 FROM occurs k WHERE k.term = t.term)",
        )

    def forget_terms(self, terms: str) -> None:
        """Take the terms of a SELECT, whose classes are others now, out of `occurs`."""
        if self._occurs:
            self.engine.remove("occurs", terms)

    def _terms_of(self, facts: str) -> str:
        """Where owl:sameAs is more than a property, it occurs as soon as anything does (eq-ref: `x owl:sameAs x`)."""
        terms = " UNION ALL ".join(f"SELECT {c} AS term FROM {facts}" for c in "spo")
        if self.equality != Equality.OFF:
            terms += " UNION ALL SELECT term FROM identity"
            tables = [facts, "identity", *(["same_as"] if self.equality == Equality.REWRITE else [])]
            for table in tables:
                terms += f" UNION ALL SELECT CAST({SAME_AS} AS BIGINT) WHERE EXISTS (SELECT 1 FROM {table})"
        if self.equality == Equality.REWRITE:
            terms += " UNION ALL SELECT representative FROM same_as"
            terms = (
                "SELECT coalesce(m.representative, x.term) AS term "
                f"FROM ({terms}) x LEFT JOIN same_as m ON m.term = x.term"
            )
        return terms
