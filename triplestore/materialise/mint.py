"""Terms that rules make: their tokens get ids within a round, as new terms of the version under way."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from triplestore.compile.plan import Made, Shape
from triplestore.dictionary import encoding
from triplestore.engine import Workbench
from triplestore.engine.sql import Scratch
from triplestore.materialise.limits import Limits
from triplestore.model.tables import EQUAL_VALUED
from triplestore.storage.manifest import Counters


class Mint:
    """Numbers new terms. `counters` are those of the dictionary, kept up to date; None where no rule makes terms.
    by_value: a literal gets the id that stands for its value in `fact`. limits: how far the rules that use it may go.

    The view `term` reads the working tables `stored_term` and `new_term` (`encoding.terms_view`); rows for new terms
    go to the latter.
    """

    def __init__(
        self,
        engine: Workbench,
        counters: Counters | None = None,
        by_value: bool = False,
        limits: Limits | None = None,
    ) -> None:
        self.engine, self.counters, self.by_value = engine, counters, by_value
        self.limits = limits or Limits()
        self._before = self._terms

    @property
    def _terms(self) -> int:
        now = self.counters
        return now.iri + now.blank + now.literal + now.triple if now else 0

    @property
    def made(self) -> int:
        """How many terms are new since it was made."""
        return self._terms - self._before

    @property
    def literals(self) -> int:
        """How many literals the dictionary has."""
        return self.counters.literal if self.counters else 0

    def encode(self, scratch: Scratch, tokens: str) -> str:
        """Make a table (token, id) of the one-column SELECT `tokens` (token); its name."""
        assert self.counters is not None, "rules that make terms need the dictionary's counters"
        dictionary, self.counters = encoding.extend(self.engine, scratch, tokens, self.counters)
        return dictionary

    def ids(self, tokens: Collection[str]) -> dict[str, int]:
        """The ids of a few tokens, literals by value."""
        assert self.counters is not None, "rules that make terms need the dictionary's counters"
        found = encoding.extend_few(self.engine, tokens, self.counters)
        self.counters = found.counters
        if not (self.by_value and self.counters.equal_valued):
            return dict(found.ids)
        listed = ", ".join(map(str, found.ids.values())) or "NULL"
        values = self.engine.rows(f"SELECT id, value FROM {EQUAL_VALUED} e WHERE id IN ({listed})")
        of_value = dict(values)
        return {token: of_value.get(number, number) for token, number in found.ids.items()}

    def facts(self, scratch: Scratch, shape: Shape, sql: str) -> tuple[int, str]:
        """Run a statement whose output has tokens: (matches, SELECT of the facts as normalised ids). The SELECT reads
        tables of `scratch`."""
        made = [name for name, column in zip("spo", shape.output, strict=True) if isinstance(column, Made)]
        return self.rows(scratch, sql, ("s", "p", "o"), made)

    def rows(self, scratch: Scratch, sql: str, columns: Sequence[str], made: Sequence[str]) -> tuple[int, str]:
        """The same for any columns; `made` are those that hold tokens."""
        rows = scratch.table("made")
        count = self.engine.create(rows, sql)
        dictionary = self.encode(scratch, " UNION ".join(f"SELECT {column} AS token FROM {rows}" for column in made))
        joins, stored = "", {c: f"m.{c}" for c in columns}
        for c in made:
            joins += f" JOIN {dictionary} d_{c} ON d_{c}.token = m.{c}"
            made_id = f"d_{c}.id"
            if self.by_value and self.counters and self.counters.equal_valued:
                joins += f" LEFT JOIN {EQUAL_VALUED} t_{c} ON t_{c}.id = d_{c}.id"
                made_id = f"coalesce(t_{c}.value, d_{c}.id)"
            joins += f" LEFT JOIN same_as e_{c} ON e_{c}.term = {made_id}"
            stored[c] = f"coalesce(e_{c}.representative, {made_id})"
        listed = ", ".join(f"{sql} AS {c}" for c, sql in stored.items())
        return count, f"SELECT {listed} FROM {rows} m{joins}"
