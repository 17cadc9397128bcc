"""Equalities that expire: the classes of equal terms, and until when each term is in its class.

A class is kept with its links, each with its end. Two terms are equal until the end of the best way between them: the
way whose first link to expire expires last. Those ways form a maximum-bottleneck spanning tree; from the representative
it is found as Prim's algorithm finds a maximum spanning tree (Prim 1957), so what an expired link parts is known from
the links of its class alone.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable

from triplestore.streams.times import FOREVER

Pair = tuple[int, int]


class Classes:
    """Classes of two or more equal terms.

    members: term -> (representative, until when it is equal to it), for every term of a class; the representative, the
    smallest id, itself for ever.
    """

    def __init__(self) -> None:
        self.members: dict[int, Pair] = {}
        self._ends: dict[int, dict[int, int]] = {}  # term -> equal term -> end of the link
        self._expiring: list[tuple[int, int, int]] = []  # (end, a, b), a heap; of renewed links earlier ends too

    def change(self, now: int, links: Iterable[tuple[int, int, int]] = ()) -> set[int]:
        """Let links (a, b, end) come, and those expire that end by `now`; the terms whose entry in `members` is another
        now. A link that is there already counts until the later of its ends."""
        touched = set[int]()
        while self._expiring and self._expiring[0][0] <= now:
            end, a, b = heapq.heappop(self._expiring)
            if self._ends.get(a, {}).get(b) == end:
                for one, other in ((a, b), (b, a)):
                    del self._ends[one][other]
                    if not self._ends[one]:
                        del self._ends[one]
                touched |= {a, b}
        for a, b, end in links:
            if a != b and end > max(now, self._ends.get(a, {}).get(b, now)):
                self._ends.setdefault(a, {})[b] = end
                self._ends.setdefault(b, {})[a] = end
                if end < FOREVER:
                    heapq.heappush(self._expiring, (end, a, b))
                touched |= {a, b}
        return self._renewed(touched)

    def __len__(self) -> int:
        """How many classes there are."""
        return sum(term == representative for term, (representative, _) in self.members.items())

    def _renewed(self, touched: set[int]) -> set[int]:
        """Find the classes of terms again; the terms of which something is new."""
        changed, done = set[int](), set[int]()
        for start in touched:
            if start in done:
                continue
            found = self._class(start)
            done |= found.keys()
            for term, entry in found.items():
                if len(found) == 1:
                    if self.members.pop(term, None) is not None:
                        changed.add(term)
                elif self.members.get(term) != entry:
                    self.members[term] = entry
                    changed.add(term)
        return changed

    def _class(self, start: int) -> dict[int, Pair]:
        """The class of a term."""
        terms, waiting = {start}, [start]
        while waiting:
            new = self._ends.get(waiting.pop(), {}).keys() - terms
            terms |= new
            waiting += new
        hub = min(terms)
        found, best = dict[int, Pair](), [(-FOREVER, hub)]
        while best:
            end, term = heapq.heappop(best)
            if term not in found:
                found[term] = hub, -end
                for other, link in self._ends.get(term, {}).items():
                    if other not in found:
                        heapq.heappush(best, (max(end, -link), other))
        return found
