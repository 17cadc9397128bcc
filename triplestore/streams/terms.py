"""The dictionary of a stream: the terms of the background, and those that windows mention, for as long as they do."""

from __future__ import annotations

from typing import Final

from triplestore.dictionary import encoding
from triplestore.engine import Engine
from triplestore.engine.queries import count
from triplestore.model.tables import EQUAL_VALUED, TERM, token_sql
from triplestore.storage.manifest import Counters

FORGET: Final = 100_000
"""Terms that no window mentions any more, beyond which they are forgotten, once they are half of those of windows."""


class StreamTerms:
    """Working tables `stored_term` (of the background), `new_term` (of windows), the view `term` of both, and
    `stream_token` (token, id) of all of them."""

    def __init__(self, engine: Engine, counters: Counters) -> None:
        """Take over the terms in `term`."""
        self.engine, self.counters = engine, counters
        self._new, self._union = 0, True
        engine.create("stored_term", f"SELECT {TERM.select} FROM term")
        engine.create("new_term", f"SELECT {TERM.select} FROM stored_term WHERE FALSE")
        encoding.terms_view(engine)
        engine.create("stream_token", f"SELECT {token_sql('t')} AS token, t.id FROM stored_term t")

    def encode(self, raw: str, name: str) -> None:
        """Make working table `name` (s, p, o, e: ids, of a triple the last end) of the tokens in `raw` (s, p, o, e)."""
        with self.engine.scratch() as scratch:
            occurring = scratch.create(
                "occurring",
                f"SELECT s AS token FROM {raw} UNION SELECT p FROM {raw} UNION SELECT o FROM {raw}",
            )
            absent = "NOT EXISTS (SELECT 1 FROM stream_token k WHERE k.token = a.token)"
            missing = scratch.create("missing", f"SELECT token FROM {occurring} a WHERE {absent}")
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

    def forget(self, tables: list[str], live: int) -> None:
        """Forget the terms of windows that are in none of the tables of facts, if they are many. live: how many facts
        these have, about."""
        if self._new < max(FORGET, 2 * live):
            return
        columns = " UNION ".join(f"SELECT {c} AS id FROM {table}" for table in tables for c in "spo")
        with self.engine.scratch() as scratch:
            kept = scratch.create("kept", columns)
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

    def by_value(self, facts: str) -> str:
        """The rows (s, p, o, e) of a table, literals by their values, as SQL."""
        if not self.counters.equal_valued:
            return f"SELECT s, p, o, e FROM {facts}"
        valued = f"{facts} t LEFT JOIN {EQUAL_VALUED} v ON v.id = t.o"
        return f"SELECT t.s, t.p, coalesce(v.value, t.o) AS o, t.e FROM {valued}"
