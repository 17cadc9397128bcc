"""Which algorithm keeps the closure of a window, where two can: by what each has cost.

What is cheaper depends on the rules, on the share of facts that the stream restates, and on the size of the window, and
no count tells all of it in advance. So the other algorithm is tried, and the one whose slides took less time stays. A
trial computes the closure of a whole window, so the first comes once the stream has brought as many triples as the
window has: by then its slides have cost about as much. After a trial that changes nothing the next one has to wait for
ten times as long as that one took, then twenty times, and so on. Where the stream begins or ceases to restate most of
its facts it waits for as long as the last one took. So a run is hardly longer than with the better algorithm alone, and
trials cost next to nothing in the long run.
"""

from __future__ import annotations

from collections import deque
from statistics import median

from triplestore.streams.thresholds import THRESHOLDS


class Choice:
    """Chooses between the algorithm `at_hand` and `other`, which change places with each move."""

    def __init__(self, at_hand: str, other: str) -> None:
        self.at_hand, self.other = at_hand, other
        self._trying = False
        self._new = False  # whether the next slide is the first, which may read the closure into memory
        self._seconds = deque[float](maxlen=THRESHOLDS.compared)  # of slides of the algorithm at hand
        self._shares = deque[tuple[int, int]](
            maxlen=THRESHOLDS.compared
        )  # of these, triples that arrived, and were restated
        self._before = list[float]()  # of as many slides of the other one, during a trial
        self._arrived = 0  # triples since the last comparison
        self._since = 0.0  # seconds since then
        self._trial = 0.0  # seconds that the last trial took
        self._patience = 0
        self._mostly: bool | None = None  # whether most triples were restated by then

    def move(self, seconds: float, arrived: int, restated: int, size: int) -> bool:
        """Take note of a slide: its time, how many triples the stream brought, how many of these the window had
        already, and how many the window has. Whether the other algorithm is to take over."""
        self._since += seconds
        if not arrived:
            return False
        self._arrived += arrived
        if self._new:
            self._new = False
            return False
        self._seconds.append(seconds)
        self._shares.append((arrived, restated))
        whole = len(self._seconds) == THRESHOLDS.compared
        if self._trying:
            if not whole and sum(self._seconds) < 2 * sum(self._before):
                return False
            better = whole and median(self._seconds) < median(self._before)
            self._trying, self._trial = False, self._since
            self._since, self._arrived = 0.0, 0
            if better:
                self._patience = 0
                return False
            self._patience = max(THRESHOLDS.patience, 2 * self._patience)
            return self._moved()
        if not whole or self._arrived < size:
            return False
        mostly = 2 * sum(again for _, again in self._shares) > sum(some for some, _ in self._shares)
        patience = self._patience if mostly == self._mostly else 1
        if self._since < patience * self._trial:
            return False
        self._trying, self._before, self._mostly, self._since = True, [*self._seconds], mostly, 0.0
        return self._moved()

    def moved(self, seconds: float) -> None:
        """Take note of how long the move took."""
        if self._trying:
            self._since += seconds
        else:
            self._trial += seconds

    def _moved(self) -> bool:
        self.at_hand, self.other = self.other, self.at_hand
        self._seconds.clear()
        self._shares.clear()
        self._new = True
        return True
