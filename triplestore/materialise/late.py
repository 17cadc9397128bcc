"""When the rounds of a run leave the tables, and what comes back.

A round in tables costs about as much as reading some facts into memory (`THRESHOLDS.round`). So a run leaves the tables
once its small rounds have cost as much as reading all its facts would: it never takes more than twice the time of the
better choice, whatever follows (the ski-rental argument).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from triplestore.engine import Engine
from triplestore.engine.sets import Ids
from triplestore.materialise.figures import Figures, Report
from triplestore.materialise.specialisation import Specialisation
from triplestore.materialise.thresholds import THRESHOLDS
from triplestore.model.thresholds import SIZES


@dataclass(frozen=True, slots=True)
class LateRounds:
    """The net change that rounds in memory made of the working tables: facts (s, p, o), rows of `same_as` (term,
    representative). apart: whether two literals were derived to be equal."""

    added: tuple[Ids, Ids, Ids]
    removed: tuple[Ids, Ids, Ids]
    merged: tuple[Ids, Ids]
    outdated: tuple[Ids, Ids]
    apart: bool
    figures: Figures


Late = Callable[[Engine, Specialisation, Report | None], LateRounds | None]
"""Carries a run on to its fixpoint in memory (`triplestore.maintain.late_rounds`); None where it cannot."""


class LeavingTables:
    """Decides when a run leaves the tables, by the sizes of its deltas."""

    def __init__(self) -> None:
        self._small = 0

    def due(self, delta: int, facts: int) -> bool:
        """Count a round that begins with so many new facts; whether it is better done in memory."""
        if not 0 < delta <= SIZES.small or facts > SIZES.in_memory:
            return False
        self._small += 1
        return self._small > THRESHOLDS.first + facts // THRESHOLDS.round

    def stay(self) -> None:
        """The run cannot leave the tables, or has come back: count again, for longer."""
        self._small = -10 * max(self._small, 1)
