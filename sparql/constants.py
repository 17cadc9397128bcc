"""The ids of a query's constants, looked up once before it is compiled.

A constant that the dictionary lacks gets an id of this query's own, in the upper half of its kind's range (the
dictionary numbers from below), so that VALUES and BIND can carry any term as an id; no fact has such an id.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sparql.algebra import Query, Values
from triplestore.dictionary import lookup
from triplestore.engine import Engine
from triplestore.expression import Constant, walk
from triplestore.literals import equal_to
from triplestore.terms import BUILTIN_IDS, KIND_BITS, kind_of_token

_OWN: Final = 1 << (KIND_BITS - 1)


@dataclass(frozen=True, slots=True)
class Constants:
    """ids: token -> id; representatives: id -> its class's representative, where that is another or a class at all;
    own: the tokens with an id of this query's own; values: literal -> the id that `fact` has for its value."""

    ids: dict[str, int]
    representatives: dict[int, int]
    own: dict[str, int]
    values: dict[str, int]

    def matched(self, token: str) -> int:
        """The id that `fact` has for a constant of a pattern."""
        return self.values[token] if token in self.values else self.representative(token)

    def representative(self, token: str) -> int:
        """pi of a constant."""
        number = self.ids[token]
        return self.representatives.get(number, number)


def look_up(engine: Engine, query: Query, classes: int, by_value: bool = False) -> Constants:
    """The constants of a query. One statement, one more where there are equality classes, and one where literals are
    matched by value."""
    tokens = {part.token for part in walk(query) if isinstance(part, Constant)}
    for part in walk(query):
        if isinstance(part, Values):
            tokens.update(token for row in part.rows for token in row if token is not None)
    ids = {token: BUILTIN_IDS[token] for token in tokens if token in BUILTIN_IDS}
    if missing := tokens - ids.keys():
        ids.update(lookup(engine, missing))
    own = {
        token: (kind_of_token(token) << KIND_BITS) | _OWN | number
        for number, token in enumerate(sorted(tokens - ids.keys()))
    }
    representatives: dict[int, int] = {}
    if classes and ids:
        listed = ", ".join(str(number) for number in sorted(ids.values()))
        found = engine.query(f"SELECT term, representative FROM same_as WHERE term IN ({listed})")
        representatives = dict(zip(found.column(0).to_pylist(), found.column(1).to_pylist(), strict=True))
    values = equal_to(engine, [token for token in tokens if token.startswith('"')]) if by_value else {}
    return Constants({**ids, **own}, representatives, own, values)
