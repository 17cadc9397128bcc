"""The ids of a query's constants, looked up once before it is compiled.

A constant that the dictionary lacks gets an id of this query's own, in the upper half of its kind's range (the
dictionary numbers from below), so that VALUES and BIND can carry any term as an id; no fact has such an id.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Final, TypeVar

from triplake.sparql.algebra import GraphPattern, Query
from triplake.sparql.results import Nodes
from triplestore.dictionary.encoding import lookup
from triplestore.dictionary.literals import equal_to
from triplestore.engine import Queries
from triplestore.model.terms import BUILTIN_IDS, KIND_BITS, kind_of_token
from triplestore.model.thresholds import SIZES

T = TypeVar("T")

_OWN: Final = 1 << (KIND_BITS - 1)


@dataclass(frozen=True, slots=True)
class Constants:
    """ids: token -> id; representatives: id -> its class's representative, where it is in a class;
    own: of the tokens with an id of this query's own those that a solution can have; values: literal -> the id that
    `fact` has for its value."""

    ids: dict[str, int]
    representatives: dict[int, int]
    own: dict[str, int]
    values: dict[str, int]

    def matched(self, token: str) -> int:
        """The id that `fact` has for a constant of a pattern."""
        number = self.value(token)
        return self.representatives.get(number, number)

    def value(self, token: str) -> int:
        """The id of a term; a literal's is that of its value, where it is matched by that."""
        return self.values[token] if token in self.values else self.ids[token]

    def is_equal(self, token: str) -> bool:
        """Whether a term is in a class of two or more."""
        return self.ids[token] in self.representatives

    def representative(self, token: str) -> int:
        """pi of a constant."""
        number = self.ids[token]
        return self.representatives.get(number, number)


@dataclass(slots=True)
class Known:
    """What has been looked up in one version of a store, by all who read it: it is true for as long as they do.

    ids: token -> id. representatives: id -> its class's, None where it is alone. values: literal -> the id that
    `fact` has for its value, None where it has none. nodes: terms of answers. linked: whether there is any triple of
    owl:sameAs over representatives (None: not looked up). lacking: tokens that the dictionary has no id for."""

    ids: dict[str, int] = field(default_factory=dict)
    representatives: dict[int, int | None] = field(default_factory=dict)
    values: dict[str, int | None] = field(default_factory=dict)
    nodes: Nodes = field(default_factory=Nodes)
    linked: bool | None = None
    lacking: frozenset[str] = frozenset()

    def later(self, same_classes: bool) -> Known:
        """What of it is true of a later version, which has the same terms and more. same_classes: and no others equal.

        Terms keep their ids. The nodes are those of both: an id stands for its term in any version."""
        representatives = dict(self.representatives) if same_classes else {}
        values: dict[str, int | None] = {k: v for k, v in dict(self.values).items() if v is not None}
        return Known(dict(self.ids), representatives, values, self.nodes)


def look_up(
    engine: Queries,
    query: Query,
    classes: int,
    by_value: bool = False,
    known: Known | None = None,
    given: dict[str, int] | None = None,
    made: Collection[str] = (),
) -> Constants:
    """The constants of a query. One statement, one more where there are equality classes, and one where literals are
    matched by value; none of them for what is `known`, which what they find is added to. given: the ids that terms
    have had in queries before, which the dictionary lacks; they keep them, and are among `own`; new ones are added.
    made: graphs that are there even without triples."""
    known = known or Known()
    if max(len(known.ids), len(known.values)) > SIZES.remembered:
        known.ids, known.representatives, known.values = {}, {}, {}  # others may be reading the old ones
    known_ids, known_representatives, known_values = known.ids, known.representatives, known.values
    parts = query.parts
    graphs = frozenset(made if GraphPattern in parts.kinds else ())
    carried, tokens = parts.carried | graphs, parts.constants | graphs
    ids = {token: BUILTIN_IDS[token] for token in tokens if token in BUILTIN_IDS}
    ids.update((token, known_ids[token]) for token in tokens if token in known_ids)
    if missing := tokens - ids.keys() - known.lacking:
        found = lookup(engine, missing)
        ids.update(found)
        known_ids.update(_short(found))
        lacking = _short(dict.fromkeys(missing - found.keys()))
        known.lacking = frozenset(islice(chain(lacking, known.lacking), SIZES.objects))
    own = {} if given is None else given
    for token in sorted(tokens - ids.keys() - own.keys()):
        own[token] = (kind_of_token(token) << KIND_BITS) | _OWN | len(own)
    values: dict[str, int] = {}
    if by_value:
        literals = [token for token in tokens if token.startswith('"')]
        values = {token: number for token in literals if (number := known_values.get(token)) is not None}
        if fresh := [token for token in literals if token not in known_values]:
            equal = equal_to(engine, fresh)
            values.update(equal)
            known_values.update(_short({token: equal.get(token) for token in fresh}))
    representatives: dict[int, int] = {}
    if classes and (ids or values):
        numbers = {*ids.values(), *values.values()}
        if unknown := sorted(number for number in numbers if number not in known_representatives):
            listed = ", ".join(map(str, unknown))
            leaders = dict(engine.rows(f"SELECT term, representative FROM same_as WHERE term IN ({listed})"))
            known_representatives.update((number, leaders.get(number)) for number in unknown)
        found_leaders = ((number, known_representatives[number]) for number in numbers)
        representatives = {number: leader for number, leader in found_leaders if leader is not None}
    shown = {token: number for token, number in own.items() if given is not None or token in carried}
    return Constants({**ids, **own}, representatives, shown, values)


def _short(found: Mapping[str, T]) -> dict[str, T]:
    """What was found for constants that are short, some of them: the rest is not worth its memory."""
    short = ((token, value) for token, value in found.items() if len(token) <= SIZES.text)
    return dict(islice(short, SIZES.remembered))
