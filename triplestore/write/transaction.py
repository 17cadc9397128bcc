"""Where every write begins: a transaction on the newest version, and what it tells while it runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial, wraps
from typing import Concatenate, Final, ParamSpec, TypeVar

from triplestore.maintain import Outcome
from triplestore.materialise.figures import Phases, RoundFigures
from triplestore.model.errors import ConflictError, InputError, UsageError
from triplestore.model.report import UpdateReport
from triplestore.model.stopping import interrupting
from triplestore.read import shapes
from triplestore.read.session import Session
from triplestore.read.workspace import Workspace
from triplestore.storage.thresholds import THRESHOLDS
from triplestore.storage.vacuum import tidy

REPORTED: Final = 100
"""Rounds after which progress is reported."""

SILENT: Final = 10.0
"""Seconds after which it is reported sooner."""

P = ParamSpec("P")
T = TypeVar("T")


@contextmanager
def writing(session: Session, operation: str, dry: bool = False) -> Iterator[Transaction]:
    """A transaction on the newest version, begun when it is this writer's turn; whatever goes wrong in it leaves the
    store as it was. dry: it publishes nothing, and waits for nobody."""
    session.writable()
    # Versions after the one at hand are protected too.
    with session.versions.working(session.manifest.version, not dry, session.notify):
        session.newest()
        manifest = session.manifest
        try:
            with interrupting(session.engine):
                tx = Transaction(session.workspace, operation, session.verbose, session.notify, session.rounds)
                tx.guard = partial(shapes.guard, session) if session.shapes else None
                yield tx
        except (InputError, UsageError):  # a refusal: what is in memory has been put back
            session.workspace.forget(manifest)
            raise
        except BaseException:  # between any two statements
            session.workspace.abandon(manifest)
            raise
    session.reading.at(session.manifest.version)
    if session.manifest.version // max(THRESHOLDS.every, 1) != manifest.version // max(THRESHOLDS.every, 1):
        tidy(session.versions)


class RenumberError(ConflictError):
    """Another process has read files since those of this change were numbered: their blank nodes would be its own."""


def check_numbers(session: Session, began: int | None) -> None:
    """Raise RenumberError where the numbers after `began`, by which blank nodes are named, are not free any more. None:
    they are reserved, or there are none."""
    if began is not None and session.manifest.counters.files != began:
        raise RenumberError(
            f"another process has read files into {session.path} meanwhile; nothing was changed, run the command again"
        )


def repeated(session: Session, call: Callable[[], T], error: type[ConflictError] = ConflictError) -> T:
    """What a call gives that is carried out again where it raises this error (and none of its subclasses):
    `Session.retries` times at most, without losing the turn in between."""
    with session.versions.attempts():
        for number in range(session.retries):
            try:
                return call()
            except error as raised:
                if type(raised) is not error:
                    raise
                session.notify(f"another writer was first: carried out again, {number + 1} of {session.retries} times")
        return call()


def retried(transaction: Callable[Concatenate[Session, P], T]) -> Callable[Concatenate[Session, P], T]:
    """A function that is one transaction, carried out again on the newer version where another process has published
    one meanwhile. Raises ConflictError after `Session.retries` times."""

    @wraps(transaction)
    def again(session: Session, /, *args: P.args, **options: P.kwargs) -> T:
        return repeated(session, lambda: transaction(session, *args, **options))

    return again


class Transaction:
    """One write on a workspace: its name, when it began (`started`, by `time.perf_counter`), the version that it began
    with (`before`), the seconds of its phases, and where its lines go."""

    def __init__(
        self,
        workspace: Workspace,
        operation: str,
        verbose: Callable[[str], None],
        notify: Callable[[str], None] = lambda line: None,
        rounds: Callable[[RoundFigures], None] = lambda figures: None,
    ) -> None:
        self.workspace, self.operation, self.verbose, self.notify = workspace, operation, verbose, notify
        self.rounds = rounds
        self.engine, self.versions, self.before = workspace.engine, workspace.versions, workspace.manifest
        self.prefixes = workspace.manifest.prefixes  # of the version that it makes
        self.graphs = workspace.manifest.graphs  # that there are in it even where they are empty
        self.default_graph = workspace.manifest.default_graph  # of it
        self.started = time.perf_counter()
        self.phases = Phases()  # of what is done around the maintenance itself
        self.phase = self.phases.timed
        self.guard: Callable[[], None] | None = None  # looks at what is staged before it is published
        self._rounds, self._reported = 0, self.started

    @property
    def seconds(self) -> float:
        """Since it began."""
        return time.perf_counter() - self.started

    @property
    def same(self) -> bool:
        """Whether what it makes has the prefixes, the empty graphs and the default graph of what it began with."""
        before = self.before
        now = self.prefixes, self.graphs, self.default_graph
        return now == (before.prefixes, before.graphs, before.default_graph)

    def report(self, outcome: Outcome | None = None) -> UpdateReport:
        """What it has done so far. outcome: of what maintained the closure, if anything did."""
        phases = {name: round(taken, 4) for name, taken in self.phases.items()}
        if outcome is None:
            return UpdateReport(self.operation, seconds=round(self.seconds, 4), phases=phases)
        figures = outcome.figures
        return UpdateReport(
            operation=self.operation,
            algorithm=outcome.algorithm,
            seconds=round(self.seconds, 4),
            rounds=len(figures.rounds),
            statements=figures.statements,
            derived=figures.derived,
            added=outcome.added,
            deleted=outcome.deleted,
            merged=outcome.merged,
            split=outcome.split,
            doubted=figures.doubted,
            checked=figures.checked,
            proved=figures.proved,
            sets=dict(figures.sets),
            phases=phases,
            reason=outcome.reason,
        )

    def maintained(self, outcome: Outcome) -> None:
        """Put an algorithm's phases among the transaction's, and report what it did, why, and at what cost."""
        self.phases.more(outcome.figures.phases)
        figures = outcome.figures
        self.verbose(f"maintained by {outcome.algorithm}: {outcome.reason}")
        self.verbose(
            f"  {len(figures.rounds):,} rounds, {figures.statements:,} statements, {figures.derived:,} derivations, "
            f"{figures.doubted:,} facts doubted, {figures.checked:,} checked, {figures.proved:,} proved"
        )
        if figures.sets:
            self.verbose(f"  sets: {', '.join(f'{name} {size:,}' for name, size in figures.sets.items())}")
        if self.phases:
            self.verbose(f"  seconds: {', '.join(f'{name} {taken:.4f}' for name, taken in self.phases.items())}")

    def round_done(self, figures: RoundFigures) -> None:
        """Report what a round did; every hundredth, or one after ten seconds, to those too who want no details."""
        self._rounds += 1
        self.rounds(figures)
        if self._rounds % REPORTED == 0 or time.perf_counter() - self._reported > SILENT:
            made = f", {figures.made:,} terms made by rules" if figures.made else ""
            self.notify(f"round {self._rounds:,} of materialisation: {figures.delta:,} new facts{made}")
            self._reported = time.perf_counter()
        self.verbose(
            f"round: {figures.delta:,} facts in, {figures.derivations:,} derivations, {figures.merged:,} terms merged, "
            f"{figures.rewritten:,} facts rewritten, {figures.seconds:.3f} s"
        )
        for shape in sorted(figures.shapes, key=lambda s: -s.rows):
            if shape.rows:
                self.verbose(f"  {shape.rows:>12,} {shape.seconds:>8.3f} s  {shape.focus:<9} {shape.shape}")
