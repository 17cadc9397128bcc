"""What a sequence of operations on quads amounts to: some are deleted, then some are added.

Each sequence has this normal form. It is not the last word on each quad as written: the unnamed graph has two names
(none, and `DEFAULT`), and in a store whose default graph is the union, deleting a triple without the name of a graph
deletes it from all of them, those that it was added to just before among them; what is added later is there again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from triplestore.model.dataset import DEFAULT, TRIPLE, DefaultGraph, Quad
from triplestore.write.graphs import own_name


@dataclass(slots=True)
class Pending:
    """Quads to delete, then those to add. clear: all that was there is removed first, and `delete` is of no account.
    default_graph: of the store.

    Invariant: each quad is written in one way in each, the unnamed graph without a name. But in `delete` of a store
    whose default graph is the union, that means all graphs, and `DEFAULT` the unnamed one; such a triple alone may be
    in both."""

    default_graph: str
    clear: bool = False
    add: dict[Quad, None] = field(default_factory=dict)
    delete: dict[Quad, None] = field(default_factory=dict)
    _named: dict[Quad, set[Quad]] = field(default_factory=dict)  # of each triple: what it was added to, in a union

    def __bool__(self) -> bool:
        return self.clear or bool(self.add) or bool(self.delete)

    def put(self, insert: bool, quads: Iterable[Quad]) -> None:
        """Add, or delete, quads. Raises UsageError for a name that is not a graph's own."""
        union = self.default_graph == DefaultGraph.UNION
        for quad in quads:
            place = quad if len(quad) == TRIPLE or own_name(quad[TRIPLE]) else quad[:TRIPLE]
            if insert:
                self.add[place] = None
                self.delete.pop((*place, DEFAULT) if union and len(place) == TRIPLE else place, None)
                if union and len(place) > TRIPLE:
                    self._named.setdefault(place[:TRIPLE], set()).add(place)
                continue
            self.delete[quad if union else place] = None
            self.add.pop(place, None)
            if union and len(quad) == TRIPLE:
                for named in self._named.pop(quad, ()):
                    self.add.pop(named, None)

    def remove_all(self) -> None:
        """Delete all that there is."""
        self.clear = True
        for quads in (self.add, self.delete, self._named):
            quads.clear()
