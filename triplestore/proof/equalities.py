"""Which terms are one, since which round, and why: a union-find over hubs.

A *hub* joins the terms that one reason makes equal: the two ends of an owl:sameAs triple, or all terms that share the
key of a rule instance. The graph of terms and hubs is bipartite, so a group of k terms costs k edges. Proofs are paths
in it (Nieuwenhuis and Oliveras 2007 keep a proof forest for the same end; a graph also gives the shortest chain).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(slots=True, eq=False)
class Hub:
    """Terms that are one since `round`. members: (term, what shows it to belong here, for rules with like halves)."""

    round: int
    reason: Any
    members: Sequence[tuple[int, tuple[Any, ...]]]


class Equalities:
    """The equalities known so far among the members of `classes` (representative of the whole closure -> members)."""

    def __init__(self, classes: dict[int, list[int]]) -> None:
        self._parent: dict[int, int] = {}
        self._members: dict[int, list[int]] = {}  # of roots with more than one
        self._class = {member: rep for rep, members in classes.items() for member in members}
        self._parts = {rep: len(members) for rep, members in classes.items()}
        self.joined: dict[int, int] = {}  # representative -> the round since which the class is one
        self.at: dict[int, list[tuple[Hub, int]]] = {}  # term -> hubs that it belongs to, and its place there
        self.hubs: list[Hub] = []

    def find(self, term: int) -> int:
        """The root of a term; terms are one if their roots are."""
        parent = self._parent
        root = parent.get(term, term)
        if root == term:
            return term
        while (above := parent.get(root, root)) != root:
            root = above
        while term != root:
            parent[term], term = root, parent.get(term, term)
        return root

    def members(self, root: int) -> Sequence[int]:
        """The terms whose root this is."""
        return self._members.get(root, (root,))

    def other(self, term: int) -> int | None:
        """Another term that is one with this one."""
        return next((t for t in self.members(self.find(term)) if t != term), None)

    def add(self, hub: Hub, now: int) -> list[int]:
        """Make the members of a hub one; the representatives (of the whole closure) of the classes that grew."""
        self.hubs.append(hub)
        grown: dict[int, None] = {}
        first = hub.members[0][0]
        for place, (term, _) in enumerate(hub.members):
            self.at.setdefault(term, []).append((hub, place))
            a, b = self.find(first), self.find(term)
            if a == b:
                continue
            keep, lose = (a, b) if len(self.members(a)) >= len(self.members(b)) else (b, a)
            self._members.setdefault(keep, [keep]).extend(self._members.pop(lose, [lose]))
            self._parent[lose] = keep
            rep = self._class.get(term, term)
            grown[rep] = None
            self._parts[rep] = self._parts.get(rep, 2) - 1
            if self._parts[rep] == 1:
                self.joined[rep] = now
        return list(grown)

    def chain(self, start: int, end: int, usable: Callable[[Hub], bool]) -> list[tuple[int, Hub, int]] | None:
        """The shortest way from one term to another over usable hubs: (term, hub, term) of each step, in order; None
        if there is none. Breadth first, hubs and members in the order in which they were found."""
        reached_from: dict[int, tuple[int, Hub]] = {}
        entered: set[int] = set()
        queue = deque([start])
        while queue:
            term = queue.popleft()
            if term == end:
                steps = []
                while term != start:
                    before, hub = reached_from[term]
                    steps.append((before, hub, term))
                    term = before
                return steps[::-1]
            for hub, _ in self.at.get(term, ()):
                if id(hub) in entered or not usable(hub):
                    continue
                entered.add(id(hub))
                for other, _ in hub.members:
                    if other != start and other not in reached_from:
                        reached_from[other] = term, hub
                        queue.append(other)
        return None
