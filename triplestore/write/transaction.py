"""From working tables to the next version: what every write of a store has in common.

Nothing is visible before `publish` creates the manifest, and that is the last thing done.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import pyarrow as pa

from triplestore.compile.schema import Fact
from triplestore.dictionary import encoding, literals
from triplestore.engine.arrow import int64s, strings
from triplestore.engine.queries import common, minus
from triplestore.maintain import Change, Outcome, Task, rematerialise
from triplestore.maintain.choose import LEARNT, maintain
from triplestore.maintain.regrouping import remember
from triplestore.materialise.figures import Figures, Phases, RoundFigures
from triplestore.materialise.mint import Mint
from triplestore.materialise.statements import absent, triples_table
from triplestore.model.stopping import finishing
from triplestore.model.tables import ASSERTED, FACT, SAME_AS, STATED, STATISTIC, STORED, TERM, TWIN, VIOLATION, Table
from triplestore.read.reasoning import by_value, head_constants, reasoning, twins
from triplestore.read.workspace import Workspace
from triplestore.storage import segments, statistics
from triplestore.storage.manifest import Counters, TableFiles
from triplestore.write.derivations import counts_written, stats_of
from triplestore.write.figures import class_diff, figures_of, lines_of

DEARER: Final = 1.25
"""What computing the closure anew is taken to cost at most, as a multiple of what it cost before."""

TRIED: Final = "tried"
"""The phase of maintaining the closure in memory that was given up."""

TOLD: Final = 100
"""Rounds after which progress is told."""

SILENT: Final = 10.0
"""Seconds after which it is told sooner."""

BESIDES: Final = ("read", "net", TRIED)
"""Phases that an update takes whatever maintains the closure, or for nothing."""

Tokens = tuple[str, str, str]


class Transaction:
    """One write on a workspace. `started` is when the operation began (`time.perf_counter`)."""

    def __init__(
        self, workspace: Workspace, verbose: Callable[[str], None], notify: Callable[[str], None] = lambda line: None
    ) -> None:
        self.workspace, self.verbose, self.notify = workspace, verbose, notify
        self._rounds, self._told = 0, time.perf_counter()
        self.engine, self.versions = workspace.engine, workspace.versions
        self.started = time.perf_counter()
        self.phases = Phases()  # of what is done around the maintenance itself
        self.phase = self.phases.timed
        self._remembered = False  # the classes of before, for a dry run

    def initialise(self) -> dict[str, Any]:
        """Publish version 1: the built-in vocabulary, and the closure of nothing."""
        engine = self.engine
        encoding.builtin_terms(engine, "term")
        engine.load("raw", token_table([]))
        _, counters = encoding.encode(engine, "raw", Counters(), head_constants(self.workspace.manifest))
        engine.append("term", [f"SELECT {TERM.select} FROM new_term"])
        engine.create("stored_term", f"SELECT {TERM.select} FROM term")
        engine.create("new_term", f"SELECT {TERM.select} FROM term WHERE FALSE")
        encoding.terms_view(engine)
        engine.load("asserted", no_facts())
        self.workspace.stated(twins=False)
        figures, counters = self._run(counters)
        outcome = Outcome("rematerialise", "new store", figures, True, self.workspace.count("fact"), 0, 0, 0)
        self.maintained(outcome)
        files = {t.name: self.write_whole(t) for t in STORED if t is not STATISTIC}
        return self.publish("init", outcome, files, counters, STORED)

    def encode(self, raw: str, counters: Counters) -> tuple[int, Counters]:
        """`encoding.encode` with the constants that the store's rules can derive."""
        self.workspace.views(TERM, ASSERTED)
        return encoding.encode(self.engine, raw, counters, head_constants(self.workspace.manifest))

    def materialise(self, counting: bool) -> dict[str, Any]:
        """Publish the closure, computed from scratch; from now on derivations are counted, or not."""
        known = self.workspace.manifest
        kept = {k: v for k, v in known.stats.items() if counting == known.counting or k not in LEARNT}
        self.workspace.manifest = replace(known, counting=counting, stats=kept)
        self.workspace.tables(ASSERTED, FACT, SAME_AS)
        self.workspace.views(TERM)
        self.workspace.stated(twins(self.workspace.manifest))
        before = self.workspace.manifest.files_of(FACT.name).rows
        self.engine.create("new_term", f"SELECT {TERM.select} FROM term WHERE FALSE")
        self.extend_terms()
        figures, counters = self._run(self.workspace.manifest.counters)
        now = self.workspace.count("fact")
        added, deleted = max(now - before, 0), max(before - now, 0)
        outcome = Outcome("rematerialise", "asked for", figures, True, added, deleted, figures.merged, 0)
        self.maintained(outcome)
        changed = (FACT, SAME_AS, VIOLATION)
        files = {TERM.name: self.terms_written(), **{t.name: self.write_whole(t) for t in changed}}
        files |= counts_written(self.workspace, counters, self.verbose)
        return self.publish("materialise", outcome, files, counters, changed, True)

    def net(
        self,
        add: Sequence[Tokens],
        delete: Sequence[Tokens],
        counters: Counters,
        clear: bool = False,
    ) -> tuple[int, int, int, Counters]:
        """Make `plus`, `minus` and `new_term`, which `commit` takes, of triples to add and (others) to delete; with
        `clear` all that is asserted goes first. Returns the rows of `plus` and of `minus`, how many of the triples to
        delete were not asserted, and the counters."""
        engine = self.engine
        engine.load("raw", token_table(add))
        self.workspace.tables(ASSERTED)
        _, counters = self.encode("raw", counters)
        unasserted = 0
        if clear:
            gone = engine.create("minus", minus("asserted", "encoded", "spo"))
        else:
            known = encoding.lookup(engine, {token for triple in delete for token in triple})
            wanted = [t for t in delete if all(token in known for token in t)]
            engine.load("unwanted", triples_table([(known[s], known[p], known[o]) for s, p, o in wanted]))
            gone = engine.create("minus", common("unwanted", "asserted", "spo"))
            unasserted = len(delete) - gone
        new = engine.create("plus", minus("encoded", "asserted", "spo"))
        engine.drop("raw", "encoded", "unwanted")
        return new, gone, unasserted, counters

    def netted(self, plus: Sequence[Fact], minus: Sequence[Fact], new_terms: bool) -> None:
        """Make the tables that `net` makes, of facts that truly come and go. new_terms: `new_term` is there already."""
        self.engine.load("plus", triples_table(plus))
        self.engine.load("minus", triples_table(minus))
        if not new_terms:
            self.workspace.views(TERM)
            self.engine.create("new_term", f"SELECT {TERM.select} FROM term WHERE FALSE")

    def commit(
        self,
        operation: str,
        plus: int,
        minus: int,
        counters: Counters,
        algorithm: str | None,
        dry_run: bool = False,
        draft: bool = False,
        reason: str = "",
    ) -> dict[str, Any]:
        """Turn the working tables `plus` and `minus` (asserted facts, with their numbers of rows) and `new_term` into
        the next version. algorithm: how the closure is maintained; None leaves it as it is. draft: the working tables
        and the files are the next version's, but nothing is published yet (see `finish`). reason: why the algorithm was
        chosen, where that has been said already. Returns the figures."""
        engine, before = self.engine, self.workspace.manifest
        if not minus:
            engine.load("minus", no_facts())
        self.workspace.tables(ASSERTED)
        self.extend_terms()
        several = twins(replace(before, counters=counters))
        if several:
            self.workspace.stated(several)
        if plus:
            engine.append("asserted", ["SELECT s, p, o FROM plus"])
        if minus:
            engine.remove("asserted", "SELECT s, p, o FROM minus")
        said = ("plus", "minus")
        if several:
            said = ("asserted_plus", "asserted_minus")
            plus, minus = self._state(*said)
        else:
            self.workspace.stated(several)
        outcome: Outcome | None = None
        changed: tuple[Table, ...] = (ASSERTED,)
        if algorithm is not None:
            outdated = self.workspace.outdated()
            self.workspace.tables(FACT, SAME_AS, VIOLATION)
            change = Change(plus, minus, before.files_of(FACT.name).rows)
            mint = Mint(engine, counters, by_value(before), self.workspace.limits)
            known = reasoning(engine, replace(before, counters=counters))
            if dry_run and not self._remembered:
                remember(engine)
                self._remembered = True
            task = Task(engine, known, change, self.report, mint)
            if outdated:
                algorithm, reason = rematerialise.NAME, outdated
            outcome = maintain(task, algorithm if before.materialised else rematerialise.NAME, reason)
            self.maintained(outcome)
            counters = mint.counters or counters
            changed = (ASSERTED, FACT, SAME_AS, VIOLATION)
        if dry_run and not draft:
            figures = self.figures(operation, outcome)
            figures.update(class_diff(engine) if outcome is not None else {})
            self.workspace.forget()
            return figures
        with self.phase("write"):
            files = self._write_change(outcome, *said)
            files |= counts_written(self.workspace, counters, self.verbose) if outcome is not None else {}
        last = self.publish(operation, outcome, files, counters, changed, algorithm is not None, draft)
        engine.drop("plus", "minus", "added", "removed", *said)
        return last

    def _state(self, plus: str, minus: str) -> tuple[int, int]:
        """Bring `stated` up to date with `asserted` after the change in `plus` and `minus`, which move to the names
        given; `plus` and `minus` become the net change of `stated`. Their numbers of rows."""
        engine = self.engine
        for name, kept in (("plus", plus), ("minus", minus)):
            engine.create(kept, f"SELECT s, p, o FROM {name}")
        come = engine.create("plus", f"SELECT s, p, o FROM ({literals.by_value(plus)}) n WHERE {absent('n', STATED)}")
        left = (
            f"SELECT 1 FROM asserted a LEFT JOIN {TWIN} v ON v.id = a.o "
            "WHERE a.s = n.s AND a.p = n.p AND coalesce(v.value, a.o) = n.o"
        )
        gone = engine.create("minus", f"SELECT s, p, o FROM ({literals.by_value(minus)}) n WHERE NOT EXISTS ({left})")
        if come:
            engine.append(STATED, ["SELECT s, p, o FROM plus"])
        if gone:
            engine.remove(STATED, "SELECT s, p, o FROM minus")
        return come, gone

    def write_whole(self, table: Table) -> TableFiles:
        """Write a working table as the whole of a stored one."""
        return segments.write_whole(self.engine, self.versions, table, table.name)

    def publish(
        self,
        operation: str,
        outcome: Outcome | None,
        files: Mapping[str, TableFiles],
        counters: Counters,
        changed: Sequence[Table],
        materialised: bool | None = None,
        draft: bool = False,
        stats: Mapping[str, int] | None = None,
    ) -> dict[str, Any]:
        """Make the next version of the written files; `changed` are the tables whose working tables hold it. stats: the
        version's, where they are known.

        Raises ConflictError where another writer was first. Returns the figures.
        """
        before = self.workspace.manifest
        if stats is None:
            stats = dict(before.stats)
            if outcome is not None:
                stats |= stats_of(self.workspace) | self._cost(operation, outcome)
        if outcome is not None:
            files, changed = dict(files), tuple(changed)
            stats = {**stats, "uncounted": self._counted(outcome, files, changed)}
        last = self.figures(operation, outcome)
        manifest = replace(
            before,
            engine=self.engine.name,
            counters=counters,
            tables={**before.tables, **files},
            materialised=before.materialised if materialised is None else materialised,
            stats=dict(stats),
            last=last,
        )
        if not draft:
            with finishing():
                manifest = self.versions.publish(replace(manifest, version=before.version + 1))
        self.workspace.moved(manifest, changed)
        return last

    def _counted(self, outcome: Outcome, files: dict[str, TableFiles], changed: Sequence[Table]) -> int:
        """Add the table `statistic` of the closure to the files, where it is out of date (none for few facts); how many
        facts have come or gone since it was taken. `files` and `changed` as `publish` has them."""
        before = self.workspace.manifest
        since = before.stats.get("uncounted", 0) + outcome.added + outcome.deleted
        stored = files.get(FACT.name, before.files_of(FACT.name))
        if not outcome.whole and since <= statistics.STALE * stored.rows:
            return since
        if stored.rows <= statistics.FEW:
            files[STATISTIC.name] = TableFiles()
            return 0
        facts = FACT.name
        if FACT not in changed:
            facts = "counted_fact"
            there = replace(before, tables={**before.tables, **files})
            segments.attach(self.engine, self.versions, there, FACT, facts)
        self.engine.create(STATISTIC.name, statistics.counted_sql(facts))
        files[STATISTIC.name] = self.write_whole(STATISTIC)
        self.workspace.unbind(STATISTIC)
        if facts != FACT.name:
            self.engine.drop(facts, f"{facts}_added", f"{facts}_dead")
        return 0

    def finish(self, last: Mapping[str, Any], counters: Counters) -> None:
        """Publish the drafts of this transaction as one version. Raises ConflictError where another writer was
        first."""
        draft = self.workspace.manifest
        manifest = replace(draft, version=draft.version + 1, last=dict(last), counters=counters)
        with finishing():
            self.workspace.moved(self.versions.publish(manifest), ())

    def _write_change(self, outcome: Outcome | None, plus: str, minus: str) -> dict[str, TableFiles]:
        engine, versions, before = self.engine, self.versions, self.workspace.manifest
        files = {TERM.name: self.terms_written()}

        def changed(table: Table, added: str, removed: str) -> TableFiles:
            stored = before.files_of(table.name)
            return segments.write_change(engine, versions, table, stored, added, removed, table.name)

        files[ASSERTED.name] = changed(ASSERTED, plus, minus)
        if outcome is not None:
            files[FACT.name] = self.write_whole(FACT) if outcome.whole else changed(FACT, "added", "removed")
            files.update((t.name, self.write_whole(t)) for t in (SAME_AS, VIOLATION))
        return files

    def terms_written(self) -> TableFiles:
        """The files of `term`, with one more for the new terms."""
        before = self.workspace.manifest.files_of(TERM.name)
        return segments.write_more(self.engine, self.versions, TERM, before, "new_term")

    def extend_terms(self) -> None:
        """Make `term` read the new terms too."""
        segments.attach(self.engine, self.versions, self.workspace.manifest, TERM, "stored_term")
        encoding.terms_view(self.engine)
        self.workspace.unbind(TERM)

    def _cost(self, operation: str, outcome: Outcome) -> dict[str, int]:
        """What computing the closure from scratch took, for choosing what maintains it next: milliseconds of the
        reasoning (`materialise_ms`), and with all that an update does besides (`anew_ms`, the mean of what was known
        and of the last one; 0 where that is not known). Not much more than what was known, if the store has not grown:
        a machine that is busy with something else tells little."""
        if outcome.algorithm != rematerialise.NAME:
            return {}
        before, rows = self.workspace.manifest.stats, self.workspace.manifest.files_of(FACT.name).rows
        grown = max(1.0, (rows + outcome.added - outcome.deleted) / max(rows, 1))

        def likely(name: str, now: float) -> int:
            known = before.get(name, 0) if operation in ("update", "materialise") else 0
            return int(min(1000 * now, DEARER * grown * known) if known else 1000 * now)

        # A load reads files, too; materialising does not compare with what was there.
        total = time.perf_counter() - self.started - sum(self.phases.get(name, 0.0) for name in BESIDES)
        if operation not in ("update", "rules"):
            total = 0.0
        anew, known = likely("anew_ms", total), before.get("anew_ms", 0) if operation == "update" else 0
        return {
            "materialise_ms": likely("materialise_ms", outcome.figures.seconds),
            "materialise_derived": outcome.figures.derived,
            "anew_ms": (anew + known) // 2 if known else anew,
        }

    def _run(self, counters: Counters) -> tuple[Figures, Counters]:
        """Materialise; the figures, and the dictionary's counters after it."""
        manifest = self.workspace.manifest
        key = (manifest.rulesets, manifest.equality, manifest.files_of(TERM.name))
        if self.workspace.reasoning is None or self.workspace.reasoning[0] != key:
            self.workspace.reasoning = key, reasoning(self.engine, manifest)
        mint = Mint(self.engine, counters, by_value(manifest), self.workspace.limits)
        run = self.workspace.reasoning[1].evaluation(self.engine, self.report, mint)
        return run.materialise(), mint.counters or counters

    def figures(self, operation: str, outcome: Outcome | None = None) -> dict[str, Any]:
        """The figures of this transaction as it stands."""
        return figures_of(operation, time.perf_counter() - self.started, outcome, self.phases)

    def maintained(self, outcome: Outcome) -> None:
        """Put an algorithm's phases among the transaction's, and say what it did, why, and at what cost."""
        self.phases.more(outcome.figures.phases)
        for line in lines_of(outcome, self.phases):
            self.verbose(line)

    def report(self, figures: RoundFigures) -> None:
        """Say what a round did; every hundredth, or one after ten seconds, to those too who want no details."""
        self._rounds += 1
        if self._rounds % TOLD == 0 or time.perf_counter() - self._told > SILENT:
            made = f", {figures.made:,} terms made by rules" if figures.made else ""
            self.notify(f"round {self._rounds:,} of materialisation: {figures.delta:,} new facts{made}")
            self._told = time.perf_counter()
        self.verbose(
            f"round: {figures.delta:,} facts in, {figures.derivations:,} derivations, {figures.merged:,} terms merged, "
            f"{figures.rewritten:,} facts rewritten, {figures.seconds:.3f} s"
        )
        for shape in sorted(figures.shapes, key=lambda s: -s.rows):
            if shape.rows:
                self.verbose(f"  {shape.rows:>12,} {shape.seconds:>8.3f} s  {shape.focus:<9} {shape.shape}")


def token_table(triples: Sequence[tuple[str, str, str]]) -> pa.Table:
    """Token triples as an Arrow table (s, p, o)."""
    columns = zip(*triples, strict=True) if triples else ((), (), ())
    return pa.table({name: strings(c) for name, c in zip("spo", columns, strict=True)})


def no_facts() -> pa.Table:
    """An empty Arrow table of facts."""
    return pa.table({c: int64s() for c in "spo"})
