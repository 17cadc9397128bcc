"""The terms that ids of answers stand for, kept from one answer to the next: a node cache, as Apache Jena's TDB has it.

An answer is found as ids. Each of its terms is read from the dictionary once, and made an rdflib term once, for all
answers over the same version of a store.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from triplestore.dictionary.encoding import SMALL, decode
from triplestore.engine import Workbench
from triplestore.engine.arrow import int64s
from triplestore.model.errors import EngineError
from triplestore.model.tables import token_sql
from triplestore.model.terms import to_rdflib_all

if TYPE_CHECKING:
    from rdflib.term import Node

UNBOUND: Final = -1
"""What stands for no term among ids."""

MOST: Final = 1 << 18
"""Terms that are kept from one answer to the next, at most."""

MOST_CHARACTERS: Final = 1 << 26
"""Characters of their tokens, at most."""


class Nodes:
    """Tokens and rdflib terms by id. Entries are never changed or removed: answers share them.

    characters: those of all tokens.
    """

    def __init__(self) -> None:
        self.characters = 0
        self._tokens: dict[int, str | None] = {UNBOUND: None}
        self._terms: dict[int, Node | None] = {UNBOUND: None}

    def __len__(self) -> int:
        return len(self._tokens)

    def lacking(self, ids: Iterable[int]) -> list[int]:
        """Those ids that have not been learned."""
        return [number for number in ids if number not in self._tokens]

    def learn(self, engine: Workbench, ids: Collection[int]) -> None:
        """Read the tokens of ids from the dictionary (table `term`). Raises EngineError where it lacks one."""
        if ids:
            self.add(decode(engine, ids) if len(ids) <= SMALL else _decoded(engine, ids))
            if lacking := self.lacking(ids):
                raise EngineError(f"the dictionary has no term {lacking[0]}, which an answer holds")

    def add(self, tokens: Mapping[int, str]) -> None:
        """Take what ids stand for from elsewhere."""
        self._tokens.update(tokens)
        self.characters += sum(map(len, tokens.values()))

    def some(self, ids: Iterable[int]) -> Nodes:
        """A copy with these ids, which have been learned, to add others to."""
        found = Nodes()
        found.add({number: token for number in ids if (token := self._tokens[number]) is not None})
        return found

    def tokens(self, ids: Iterable[int]) -> list[str | None]:
        """The tokens of ids that have been learned; None for `UNBOUND`."""
        return list(map(self._tokens.__getitem__, ids))

    def column(self, ids: pa.Array) -> pa.Array:
        """A column of ids that have been learned, as one of tokens."""
        encoded = ids.dictionary_encode()
        return pa.array(self.tokens(encoded.dictionary.to_pylist()), pa.string()).take(encoded.indices)

    def width(self, batch: pa.RecordBatch) -> int:
        """Bytes that the tokens of a row take at most, one byte at least. All ids have been learned."""
        width = 0
        for column in batch.columns:
            if pa.types.is_int64(column.type):
                tokens = self.tokens(column.fill_null(UNBOUND).unique().to_pylist())
                width += 4 * max((len(token) for token in tokens if token is not None), default=0)
        return max(width, 1)

    def terms(self, ids: Collection[int]) -> list[Node | None]:
        """The rdflib terms of ids that have been learned; None for `UNBOUND`."""
        try:
            return list(map(self._terms.__getitem__, ids))
        except KeyError:
            fresh = [number for number in set(ids) if number not in self._terms]
            self._terms.update(zip(fresh, to_rdflib_all(map(self._tokens.__getitem__, fresh)), strict=True))  # type: ignore[arg-type]
            return list(map(self._terms.__getitem__, ids))


def _decoded(engine: Workbench, ids: Collection[int]) -> dict[int, str]:
    """The tokens of many ids, by a join."""
    with engine.scratch() as scratch:
        asked = scratch.load("answer_id", pa.table({"id": int64s(ids)}))
        found = engine.query(f"SELECT t.id, {token_sql()} AS token FROM term t JOIN {asked} a ON a.id = t.id")
    return dict(zip(found.column(0).to_numpy().tolist(), found.column(1).to_pylist(), strict=True))
