"""Semi-naive evaluation with rewriting: the fixpoint that loads, insertions, rederivations and windows share.

Source: Motik, Nenov, Piro, Horrocks 2015 (the r-materialisation (pi, I)); semi-naive evaluation as in Abiteboul, Hull
and Vianu 1995. Per round:

1. if new facts or a merge touched the schema, the rules are specialised again: new instances look at all facts;
2. every instance of a rule with a fact of the delta fires once; the delta joins the facts that are old;
3. equalities among what was derived merge classes of terms; facts that mention a lost representative are taken out and
   rewritten; what is new, normalised, is the next delta.

The fixpoint is an empty delta, nothing else. The facts are in one of two places, each a `Backend`: the tables of an
engine for bulk (`triplestore.materialise.tables`), sorted keys in memory for small deltas
(`triplestore.maintain.extend`). A run in tables goes on over keys once its rounds have become small.
"""

from __future__ import annotations

import time
from typing import Protocol

from triplestore.materialise.figures import Figures, Report, RoundFigures
from triplestore.model.stopping import check


class Backend(Protocol):
    """The place where the facts of a run are; it knows what was derived, and which of it is new (the delta)."""

    def absorb(self, figures: RoundFigures) -> None:
        """Make the next delta of what was derived, normalised, after its equalities have merged classes."""

    def specialise(self) -> int | None:
        """Bring the program up to date with the delta and the classes. Returns the size of the delta; None if there is
        nothing left to derive from: no delta, no new instance, no new fact that holds without condition."""

    def derive(self, figures: RoundFigures) -> None:
        """Derive what instances with a fact of the delta do, and new instances from all facts; the delta is old now."""

    def begin_stratum(self) -> bool:
        """At the fixpoint of a stratum, let the instances of the next one run; whether there are any."""


def semi_naive(backend: Backend, figures: Figures, report: Report | None = None) -> None:
    """Run to the fixpoint, from a delta that there is already. Raises StoppedError where the time limit is over."""
    while True:
        check()
        began = time.perf_counter()
        delta = backend.specialise()
        if delta is not None:
            with figures.round(delta, report, began) as done:
                backend.derive(done)
                backend.absorb(done)
        elif not backend.begin_stratum():
            return
