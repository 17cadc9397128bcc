"""Property paths as automata whose transitions follow single triples (Glushkov 1961, "Abstract theory of automata").

A state is a step of the path, an automaton is in it after it has followed that step, and there are no transitions
without a step. So whatever is nested in a path, it is evaluated by one loop over (start, state, node).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from triplake.sparql.paths import Alternative, Inverse, Negated, Path, Repeat, Sequence
from triplestore.model.expression import Constant, Variable

Edge = tuple[Constant | Negated, bool]
"""What a step follows, and whether it does so from object to subject."""


@dataclass(frozen=True, slots=True)
class State:
    """edges: the ways to take this step. first: a path may begin with it. last: a path may end with it. after: the
    numbers of the states that it may follow."""

    edges: tuple[Edge, ...]
    first: bool
    last: bool
    after: frozenset[int]


@dataclass(frozen=True, slots=True)
class Automaton:
    """The states of a path. empty: the path also relates each term to itself, by no step at all."""

    states: tuple[State, ...]
    empty: bool

    @property
    def repeats(self) -> bool:
        """Whether there are paths of several steps."""
        return any(state.after for state in self.states)


def automaton(path: Path, backwards: bool = False) -> Automaton:
    """The automaton of a path, or of the same path read from its end to its start."""
    built = _Builder()
    part = built.add(path, backwards)
    return Automaton(built.states(part), part.empty)


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a path: whether it may take no step, and the positions that it may begin and end with."""

    empty: bool
    first: frozenset[int]
    last: frozenset[int]


@dataclass(slots=True)
class _Builder:
    """Numbers the steps of a path: `edges` of each position, and the positions that it may come `after`."""

    edges: list[tuple[Edge, ...]] = field(default_factory=list)
    after: list[set[int]] = field(default_factory=list)

    def add(self, path: Path, backwards: bool) -> _Part:
        if (edges := _single(path, backwards)) is not None:
            self.edges.append(tuple(dict.fromkeys(edges)))
            self.after.append(set())
            here = frozenset({len(self.edges) - 1})
            return _Part(False, here, here)
        match path:
            case Inverse(inner):
                return self.add(inner, not backwards)
            case Alternative(one, other):
                a, b = self.add(one, backwards), self.add(other, backwards)
                return _Part(a.empty or b.empty, a.first | b.first, a.last | b.last)
            case Sequence(first, second):
                a, b = (self.add(part, backwards) for part in ((second, first) if backwards else (first, second)))
                self._follow(a.last, b.first)
                first_ = a.first | b.first if a.empty else a.first
                return _Part(a.empty and b.empty, first_, a.last | b.last if b.empty else b.last)
            case Repeat(inner, zero, many):
                a = self.add(inner, backwards)
                if many:
                    self._follow(a.last, a.first)
                return _Part(a.empty or zero, a.first, a.last)
        raise AssertionError(path)

    def _follow(self, last: Collection[int], first: Collection[int]) -> None:
        for position in first:
            self.after[position].update(last)

    def states(self, part: _Part) -> tuple[State, ...]:
        """The positions, those that come after and before the same ones as one state."""
        before: list[set[int]] = [set() for _ in self.edges]
        for position, after in enumerate(self.after):
            for earlier in after:
                before[earlier].add(position)
        alike: dict[tuple[object, ...], list[int]] = {}
        for position, after in enumerate(self.after):
            ends = (position in part.first, position in part.last)
            alike.setdefault((frozenset(after), frozenset(before[position]), *ends), []).append(position)
        number = {position: place for place, group in enumerate(alike.values()) for position in group}
        return tuple(
            State(
                tuple(dict.fromkeys(edge for position in group for edge in self.edges[position])),
                group[0] in part.first,
                group[0] in part.last,
                frozenset(number[position] for position in self.after[group[0]]),
            )
            for group in alike.values()
        )


def _single(path: Path, backwards: bool) -> list[Edge] | None:
    """The edges of a path that always takes one step; None for any other."""
    match path:
        case Constant():
            return [(path, backwards)]
        case Negated(forward, backward):
            found: list[Edge] = []
            if forward is not None:
                found.append((Negated(forward, None), backwards))
            if backward is not None:
                found.append((Negated(backward, None), not backwards))
            return found
        case Inverse(inner):
            return _single(inner, not backwards)
        case Alternative(one, other):
            first = _single(one, backwards)
            second = None if first is None else _single(other, backwards)
            return None if first is None or second is None else first + second
        case Variable():
            raise AssertionError(path)
    return None
