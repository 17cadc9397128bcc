"""The dictionary of a stream: the terms of the background, and those that windows mention, for as long as they do."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import pyarrow as pa

from triplestore.dictionary import encoding
from triplestore.engine import Engine
from triplestore.engine.arrow import strings
from triplestore.engine.sql import count
from triplestore.model.tables import EQUAL_VALUED, TERM, token_sql
from triplestore.model.terms import FIRST_LITERAL, SPELLING
from triplestore.model.thresholds import SIZES
from triplestore.storage.manifest import Counters


class StreamTerms:
    """Working tables `stored_term` (of the background), `new_term` (of windows), the view `term` of both, and
    `stream_token` (token, id) of all of them."""

    def __init__(self, engine: Engine, counters: Counters, by_value: bool, watched: bool = False) -> None:
        """Take over the terms in `term`. by_value: literals of equal value are one to the rules. watched: keep in
        `literals` those that are new with the last triples."""
        self.engine, self.counters, self._stored = engine, counters, counters
        self._by_value, self._watched = by_value, watched
        self.literals: list[str] = []
        self._pinned: list[int] = []
        self._new, self._union = 0, True
        engine.create("stored_term", f"SELECT {TERM.select} FROM term")
        engine.create("new_term", f"SELECT {TERM.select} FROM stored_term WHERE FALSE")
        encoding.terms_view(engine)
        engine.create("stream_token", f"SELECT {token_sql('t')} AS token, t.id FROM stored_term t")

    def pin(self, literals: Collection[str]) -> None:
        """Number literals that rules mention, and keep them: their values then have the same ids throughout the
        stream, whenever it brings them."""
        if not literals:
            return
        with self.engine.scratch() as scratch:
            table = scratch.load("pinned", pa.table({"token": strings(sorted(literals))}))
            numbered, counters = encoding.extend(self.engine, scratch, f"SELECT token FROM {table}", self.counters)
            self._pinned = [i for (i,) in self.engine.rows(f"SELECT id FROM {numbered}")]
        self.made(counters)

    def encode(self, raw: str, name: str) -> None:
        """Make working table `name` (s, p, o, e: ids, of a triple the last end) of the tokens in `raw` (s, p, o, e)."""
        with self.engine.scratch() as scratch:
            occurring = scratch.create(
                "occurring",
                f"SELECT s AS token FROM {raw} UNION SELECT p FROM {raw} UNION SELECT o FROM {raw}",
            )
            absent = "NOT EXISTS (SELECT 1 FROM stream_token k WHERE k.token = a.token)"
            missing = scratch.create("missing", f"SELECT token FROM {occurring} a WHERE {absent}")
            if self._watched:
                found = self.engine.query(f"SELECT token FROM {missing} WHERE substr(token, 1, 1) = '\"'")
                self.literals = found.column(0).to_pylist()
            if rows := count(self.engine, missing):
                numbered, self.counters = encoding.extend_by(self.engine, scratch, missing, rows, self.counters)
                self._union = True
                self._new += self.engine.append("stream_token", [f"SELECT token, id FROM {numbered}"])[0]
            ids = scratch.create(
                "ids", f"SELECT k.token, k.id FROM stream_token k JOIN {occurring} a ON a.token = k.token"
            )
            joins = " ".join(f"JOIN {ids} d_{c} ON d_{c}.token = r.{c}" for c in "spo")
            self.engine.create(
                name,
                f"SELECT d_s.id AS s, d_p.id AS p, d_o.id AS o, max(r.e) AS e FROM {raw} r {joins} "
                "GROUP BY d_s.id, d_p.id, d_o.id",
            )

    def ready(self) -> None:
        """Make `term` ready for queries: Spark 4.3 makes invalid plans of some that read a union twice."""
        if not self.engine.resident and self._union:
            self.engine.create("term", f"SELECT {TERM.select} FROM term")
            self._union = False

    def made(self, counters: Counters) -> None:
        """Take note of terms that rules have made: `new_term` has them. counters: the dictionary's after it."""
        if counters != self.counters:
            self.counters, self._union = counters, True
            known = "NOT EXISTS (SELECT 1 FROM stream_token k WHERE k.id = t.id)"
            self._new += self.engine.append(
                "stream_token", [f"SELECT {token_sql('t')} AS token, t.id FROM new_term t WHERE {known}"]
            )[0]

    def special(self, before: Counters) -> tuple[dict[int, int], list[int]]:
        """Of the literals that are new since the counters were `before`: literal -> the one that stands for its value,
        where that is another; those that are ill-typed."""
        now = self.counters
        if (now.equal_valued, now.ill_typed) == (before.equal_valued, before.ill_typed):
            return {}, []
        rows = self.engine.rows(
            f"SELECT id, value, ill_typed FROM new_term WHERE id >= {FIRST_LITERAL + before.literal} "
            f"AND id < {FIRST_LITERAL + now.literal} AND (value IS NOT NULL OR ill_typed)"
        )
        return {i: value for i, value, _ in rows if value is not None}, [i for i, _, ill in rows if ill]

    def forget(self, tables: Mapping[str, str], live: int) -> None:
        """Forget the terms of windows that are in none of these columns of tables, if they are many. live: how many
        facts these have, about."""
        if self._new < max(SIZES.rows, 2 * live):
            return
        columns = " UNION ".join(
            f"SELECT {c} AS id FROM {table}" for table, names in tables.items() for c in names.split()
        )
        with self.engine.scratch() as scratch:
            kept = scratch.create("kept", columns)
            self.engine.append(kept, [f"SELECT {i} AS id" for i in self._pinned])
            values = f"SELECT n.value FROM new_term n JOIN {kept} k ON k.id = n.id WHERE n.value IS NOT NULL"
            all_kept = f"SELECT id FROM {kept} UNION {values}"
            self._new = self.engine.create(
                "new_term",
                f"SELECT {', '.join(f'n.{c}' for c in TERM.names)} FROM new_term n WHERE n.id IN ({all_kept})",
            )
            self.engine.create(
                "stream_token",
                "SELECT k.token, k.id FROM stream_token k "
                "JOIN (SELECT id FROM stored_term UNION SELECT id FROM new_term) t ON t.id = k.id",
            )
        encoding.terms_view(self.engine)
        self._union = True

    @property
    def several_forms(self) -> bool:
        """Whether some literals have equal values, and are one to the rules."""
        return self._by_value and self.counters.equal_valued > 0

    def by_value(self, facts: str) -> str:
        """The rows (s, p, o, e) of a table, literals by their values, as SQL."""
        if not self.several_forms:
            return f"SELECT s, p, o, e FROM {facts}"
        valued = f"{facts} t LEFT JOIN {EQUAL_VALUED} v ON v.id = t.o"
        return f"SELECT t.s, t.p, coalesce(v.value, t.o) AS o, t.e FROM {valued}"

    def show_forms_of(self, facts: str) -> dict[int, int]:
        """Let each value that the background has no literal of be shown in the first form, by spelling, that the
        working table `facts` (s, p, o, e) has now. Else its form would be the one that was first in the stream, which
        may have left the window. The two forms exchange their ids: the id that stands for the value stays, and with it
        the closure. id -> the id with which it was exchanged."""
        if not self._by_value or self.counters.equal_valued == self._stored.equal_valued:
            return {}
        engine = self.engine
        with engine.scratch() as scratch:
            several = scratch.create(
                "several",
                "SELECT n.id, n.value AS home FROM new_term n JOIN new_term h ON h.id = n.value "
                "UNION SELECT h.id, h.id AS home FROM new_term n JOIN new_term h ON h.id = n.value",
            )
            if not count(engine, several):
                return {}
            spelled = f"SELECT m.id, m.home, k.token FROM {several} m JOIN stream_token k ON k.id = m.id"
            moved = scratch.create(
                "moved",
                "SELECT id, home FROM ("
                f"SELECT id, home, row_number() OVER (PARTITION BY home ORDER BY {SPELLING}) AS n "
                f"FROM ({spelled}) l WHERE id IN (SELECT o FROM {facts})) f WHERE n = 1 AND id <> home",
            )
            if not count(engine, moved):
                return {}
            other = scratch.create(
                "other", f"SELECT id, home AS other, home FROM {moved} UNION ALL SELECT home, id, home FROM {moved}"
            )
            columns = ", ".join(f"n.{name}" for name in TERM.names if name not in ("id", "value"))
            exchanged = dict(engine.rows(f"SELECT id, other FROM {other}"))
            engine.create(
                "new_term",
                f"SELECT coalesce(x.other, n.id) AS id, {columns}, CASE WHEN x.id IS NULL THEN n.value "
                f"ELSE nullif(x.home, x.other) END AS value FROM new_term n LEFT JOIN {other} x ON x.id = n.id",
            )
            engine.create(
                "stream_token",
                f"SELECT k.token, coalesce(x.other, k.id) AS id FROM stream_token k LEFT JOIN {other} x ON x.id = k.id",
            )
            engine.create(
                facts,
                f"SELECT f.s, f.p, coalesce(x.other, f.o) AS o, f.e FROM {facts} f LEFT JOIN {other} x ON x.id = f.o",
            )
        encoding.terms_view(engine)
        self._union = True
        return exchanged


def arrive(engine: Engine) -> tuple[int, int]:
    """Let `streamed` have the triples of `arrived`, of one that it has already the later end: (how many more it has,
    how many it had)."""
    same = " AND ".join(f"w.{c} = a.{c}" for c in "spo")
    gone = 0
    with engine.scratch() as scratch:
        again = scratch.table("again")
        if engine.create(again, f"SELECT w.s, w.p, w.o, w.e FROM streamed w JOIN arrived a ON {same}"):
            gone = engine.remove("streamed", f"SELECT s, p, o, e FROM {again}")
            engine.create(
                "arrived",
                f"SELECT s, p, o, max(e) AS e FROM (SELECT s, p, o, e FROM arrived UNION ALL SELECT s, p, o, e "
                f"FROM {again}) t GROUP BY s, p, o",
            )
    return engine.append("streamed", ["SELECT s, p, o, e FROM arrived"])[0] - gone, gone
