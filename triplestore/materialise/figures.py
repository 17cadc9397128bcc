"""What a run did: rounds, derivations, rows and seconds per shape."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field


class Phases(dict[str, float]):
    """The seconds of each phase of an operation."""

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        """Time a phase, or some more of it."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self.more({name: time.perf_counter() - started})

    def more(self, seconds: Mapping[str, float]) -> None:
        """Put the phases of a part among these."""
        for name, taken in seconds.items():
            self[name] = self.get(name, 0.0) + taken


@dataclass(slots=True)
class ShapeFigures:
    """What one statement of a round did. seconds: its share, where the engine runs a round's statements as one job;
    rules: the names of the rules whose instances it runs, once for each instance."""

    shape: str
    focus: str
    rows: int
    seconds: float
    rules: Collection[str] = ()


@dataclass(slots=True)
class RoundFigures:
    """What one round did: rows read as delta, derivations, facts new to `fact`, terms merged and made, seconds."""

    delta: int
    derivations: int = 0
    merged: int = 0
    rewritten: int = 0
    made: int = 0
    seconds: float = 0.0
    shapes: list[ShapeFigures] = field(default_factory=list)


@dataclass(slots=True)
class Figures:
    """What a run did.

    Of a maintenance run also: facts doubted (overdeleted), those of them that another proof was searched for (checked)
    and that one was found for (proved); the sizes of the algorithm's own sets, by the names that docs/maintenance.md
    gives them; and seconds by phase.
    """

    rounds: list[RoundFigures] = field(default_factory=list)
    absorbed: RoundFigures = field(default_factory=lambda: RoundFigures(0))
    """The effect of the given facts before the first round: equalities among them merge terms."""
    seconds: float = 0.0
    doubted: int = 0
    dissolved: int = 0
    """Classes of equals that were taken apart while facts were overdeleted."""
    checked: int = 0
    proved: int = 0
    looked_at: int = 0
    """Facts met while rules were read backwards, each as often as it was met."""
    joins: int = 0
    """Joins in memory: one for each shape and focus (or shape read backwards) of a step."""
    sets: dict[str, int] = field(default_factory=dict)
    phases: Phases = field(default_factory=Phases)

    @contextmanager
    def round(self, delta: int, report: Report | None, began: float | None = None) -> Iterator[RoundFigures]:
        """Time a round, and report it. began: by `time.perf_counter`, if not now."""
        started = time.perf_counter() if began is None else began
        figures = RoundFigures(delta)
        self.rounds.append(figures)
        yield figures
        figures.seconds = time.perf_counter() - started
        if report:
            report(figures)

    @property
    def derived(self) -> int:
        """Derivations: rule instances fired forwards, and facts met backwards. D in table 1 of Motik et al. 2015."""
        return self.looked_at + sum(r.derivations for r in self.rounds)

    @property
    def statements(self) -> int:
        """Joins that were run: statements of the engine, or in memory."""
        return self.joins + sum(len(r.shapes) for r in self.rounds)

    @property
    def merged(self) -> int:
        """Terms that lost their place as representatives."""
        return self.absorbed.merged + sum(r.merged for r in self.rounds)


Report = Callable[[RoundFigures], None]
"""Where the figures of a round go as soon as it is done."""
