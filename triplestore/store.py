"""The store: what a program that uses Triplake sees. Every command of the command line is a method here.

A write (load, materialise, update, change_rules, compact) reads the newest version, works in memory or in the engine's
working tables, writes new files and publishes the next version; whatever fails before that leaves the store as it was.

What the methods do is in `triplestore.write`; those that load are in `triplestore.write.loading`, those that read in
`triplestore.read.version`, those that ask streams in `triplestore.streams.asking`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Self

from triplake.loaders import LoadReport, Source
from triplestore.closure.view import built_in
from triplestore.engine import temporary
from triplestore.engine.select import make_engine
from triplestore.materialise.limits import Limits
from triplestore.model.arguments import check_text, check_whole
from triplestore.model.errors import UsageError
from triplestore.model.report import UpdateReport
from triplestore.read import shapes
from triplestore.read.names import graph_token
from triplestore.read.proofs import Violation
from triplestore.read.session import Session, in_turn, several
from triplestore.storage import backup
from triplestore.storage.backup import BackedUp
from triplestore.storage.retention import Retention
from triplestore.storage.vacuum import VacuumReport
from triplestore.storage.verify import examine
from triplestore.storage.versions import Versions
from triplestore.streams.asking import StreamedStore
from triplestore.write import admin, datasets, queue, rulesets, update, update_files
from triplestore.write.datasets import GraphSupport
from triplestore.write.loading import LoadedStore
from triplestore.write.queue import Outcome, UpdateQueue, Waiting

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from rdflib.term import Node

    from triplestore.ontology.entails import Entailment


class Store(StreamedStore, LoadedStore):
    """A triple store on disk, at one of its versions. `Store.open` opens one, `Store.create` makes one, `Store(path)`
    does whichever is possible; close it.

    Several threads may call it: they take turns (`triplestore.read.session`)."""

    # -- opening and closing ---------------------------------------------------------------------------------------

    def __init__(
        self,
        path: str | Path | None = None,
        rules: str | Path | Sequence[str | Path] | None = None,
        engine: str = "auto",
        spark: SparkSession | None = None,
        master: str | None = None,
        memory_limit: str | None = None,
    ) -> None:
        """Open the store at `path`, or make one where there is none. Without a path, make a temporary one: a folder
        among the system's temporary files that goes when the store is closed, or the process ends.

        rules: of a store that is made, "owl2rl" if none are given. Raises UsageError where a store that is there has
        other rules; otherwise see `create` and `open`.
        """
        on = engine, spark, master, memory_limit
        self._folder: TemporaryDirectory[str] | None = None
        if path is None:
            self._folder = TemporaryDirectory(prefix=temporary.prefix("store"))
            path = Path(self._folder.name, "store")
        if not Versions(path).exists():
            super().__init__(_created(path, ("owl2rl",) if rules is None else rules, *on))
            return
        super().__init__(_opened(path, None, False, *on))
        names = {ruleset.name for ruleset in self.rulesets}
        if rules is not None and {Path(name).name for name in several(rules)} - {"none"} != names - {"none"}:
            self.close()
            raise UsageError(
                f"{path} has the rules {', '.join(sorted(names)) or 'none'}: open it without rules, and change them by "
                "store.change_rules"
            )

    def _free(self) -> None:
        super()._free()
        if self._folder is not None:
            self._folder.cleanup()

    @classmethod
    def from_session(cls, session: Session) -> Self:
        """A store of a session."""
        store = cls.__new__(cls)
        store._folder = None
        StreamedStore.__init__(store, session)
        return store

    @classmethod
    def create(
        cls,
        path: str | Path,
        rules: str | Path | Sequence[str | Path] = ("owl2rl",),
        equality: str | None = None,
        engine: str = "auto",
        spark: SparkSession | None = None,
        master: str | None = None,
        memory_limit: str | None = None,
        counting: bool = False,
        hold: bool = False,
        default_graph: str = "union",
    ) -> Self:
        """Make an empty store at `path` and open it.

        rules: names of built-in rulesets or paths of rule files, or one such. equality: "rewrite", "axioms" or "off";
        by default "rewrite" if the rules mention owl:sameAs, else "off". counting: keep derivation counts, for the
        maintenance algorithms that need them. hold: it is there for others when the first load has succeeded; if it is
        closed before, nothing is left of it. default_graph: what queries read that name no graph, and rules see: the
        "union" of all graphs, or the unnamed graph alone ("separate"). Raises UsageError, InputError (a faulty rule
        file), ConflictError (another process makes one there).
        """
        on = engine, spark, master, memory_limit
        return cls.from_session(_created(path, rules, *on, equality, counting, hold, default_graph))

    @classmethod
    def open(
        cls,
        path: str | Path,
        engine: str = "auto",
        spark: SparkSession | None = None,
        at: int | None = None,
        master: str | None = None,
        memory_limit: str | None = None,
        verify: bool = False,
    ) -> Self:
        """Open a store at its newest version, or at an older one (`at`), then read only.

        engine: "auto", "duckdb" or "spark"; a Spark session given means Spark. verify: first read every file of the
        version, and see that it is what was written. Raises UsageError where there is no store or no such version,
        DamagedStoreError where files are missing or damaged.
        """
        return cls.from_session(_opened(path, at, verify, engine, spark, master, memory_limit))

    @staticmethod
    def restore(path: str | Path, version: int) -> int:
        """Make the content of an older version that is whole the newest version, whose number is returned: the way back
        from a damaged one, or from a mistake. Nothing of the versions in between is read. Raises UsageError,
        DamagedStoreError, ConflictError."""
        check_whole("version", version, 1)
        return admin.restore(path, version)

    @staticmethod
    def backup(path: str | Path, dest: str | Path) -> BackedUp:
        """Bring a backup of a store up to date, or make it: see `triplestore.storage.backup`."""
        return backup.backup(path, dest)

    @staticmethod
    def restore_from(path: str | Path, copy: str | Path) -> BackedUp:
        """Bring a store back from a backup: what is missing or damaged, or all of it; see
        `triplestore.storage.backup`."""
        return backup.restore(path, copy)

    @property
    def limits(self) -> Limits:
        """How many terms rules may make in one materialisation, in how many rounds. Set it to allow more, or less."""
        return self._session.workspace.limits

    @limits.setter
    def limits(self, limits: Limits) -> None:
        self._session.workspace.limits = limits

    @property
    def retries(self) -> int:
        """How often a change is carried out again, on the newer version, where another process has published one
        meanwhile; then it is a ConflictError. Loads of files are not."""
        return self._session.retries

    @retries.setter
    def retries(self, times: int) -> None:
        check_whole("retries", times)
        self._session.retries = times

    @property
    def shapes(self) -> tuple[str, ...]:
        """The names of the shapes (SHACL) that guard the store while it is open: a change whose result does not conform
        to them is refused (NonConformingError), and nothing committed. Set it to files, or an rdflib Graph; () for
        none."""
        return tuple(shape.name for shape in self._session.shapes)

    @shapes.setter
    def shapes(self, given: str | Path | Iterable[Any]) -> None:
        self._session.shapes = shapes.read(self._session, given)

    @in_turn
    def refresh(self) -> int:
        """Move on to the newest version, which another process may have published; its number. A version that was
        opened by its number stays."""
        if not self._session.pinned:
            self._session.newest()
        return self.version

    # -- writing ---------------------------------------------------------------------------------------------------

    @in_turn
    def materialise(self, counting: bool | None = None) -> None:
        """Compute the closure from scratch. counting: from now on keep derivation counts, or do not (None: as before);
        see `create`."""
        admin.materialise(self._session, counting)

    @in_turn
    def update(
        self,
        add: Iterable[Any] = (),
        delete: Iterable[Any] = (),
        maintain: str = "auto",
        dry_run: bool = False,
    ) -> UpdateReport:
        """Add and delete asserted triples (any iterables of rdflib triples, an rdflib Graph among them) as one
        transaction, and maintain the closure. A triple in both ends up added.

        Returns the report that `stats().last` then is, with `not_asserted`. With `dry_run` nothing is committed, and
        the report has `classes`: which classes of equal terms would merge (with equality "rewrite") and which would
        split, up to 50 of either, the largest first.
        """
        return update.update(self._session, add, delete, maintain, dry_run)

    def updates(self, load_folder: str | Path | None = None) -> UpdateQueue:
        """A queue for updates of many threads, or of one that does not wait for each: those that come while others are
        carried out become one transaction together, in the order in which they were brought. Use it with `with`, or
        close it.

            with store.updates() as queue:
                done = queue.submit(add=[triple], delete=[other])  # a concurrent.futures.Future
                report = done.result()

        load_folder: see `sparql_update`.
        """
        with self._turns.turn():  # not of a closed store
            return UpdateQueue(lambda waiting: self.update_together(waiting, load_folder))

    @in_turn
    def update_together(self, waiting: Sequence[Waiting], load_folder: str | Path | None = None) -> list[Outcome]:
        """Carry out updates as one transaction, in order: the report of the transaction for each of them, or the
        InputError of one that cannot be read. Whatever else fails is raised, and nothing is changed then.

        load_folder: see `sparql_update`."""
        return queue.carry_out(self._session, waiting, load_folder)

    @in_turn
    def update_files(
        self,
        *files: str | Path,
        add: str | Path | Sequence[str | Path] = (),
        delete: str | Path | Sequence[str | Path] = (),
        maintain: str = "auto",
        dry_run: bool = False,
        load_folder: str | Path | None = None,
        batch: int = 1,
        base: str | None = None,
        drop_graphs: str | Sequence[str] = (),
        each: Callable[[UpdateReport], None] = lambda report: None,
    ) -> list[UpdateReport]:
        """Apply update files in order, each transaction in them one of ours, then the triples of the RDF files in
        `add` and `delete` as one more; the report of each, which `each` is called with as soon as it is committed.

        Files: RDF Patch (.rdfp, .patch) and SPARQL Update (.ru, see `sparql_update`), plain or compressed, and folders
        of them. All are read before the first is applied: InputError (file, line, column) leaves the store as it was.
        batch: so many transactions become one of ours, in a dry run all of them; `transactions` of the report says how
        many there were. base: what relative IRIs are resolved against (default: each RDF file's own `file:` IRI).
        drop_graphs: the IRIs of graphs that are dropped after that, one transaction.
        """
        if batch < 1:
            raise UsageError("a batch has one transaction at least")
        given = files, several(add), several(delete), base, several(drop_graphs)
        return update_files.apply_files(self._session, *given, batch, maintain, dry_run, load_folder, each)

    @in_turn
    def sparql_update(
        self,
        text: str,
        maintain: str = "auto",
        dry_run: bool = False,
        load_folder: str | Path | None = None,
        base: str | None = None,
        default_graphs: str | Sequence[str] = (),
        named_graphs: str | Sequence[str] = (),
    ) -> UpdateReport:
        """Carry out a SPARQL 1.1 Update request as one transaction; a report as of `update`.

        Patterns are matched with the closure, all equalities expanded; only asserted triples can be deleted, and
        `not_asserted` of the report says how many triples to delete were not. load_folder: LOAD may read the files in
        it. base: what other relative IRIs are resolved against. default_graphs, named_graphs: names of graphs (IRIs)
        that patterns read, as if each operation had USING and USING NAMED for them. Raises InputError (line, column)
        for a syntax error, UsageError for an update with graphs given that has USING or WITH itself.
        """
        check_text("an update", text)
        chosen = several(default_graphs), several(named_graphs)
        return update_files.sparql_update(self._session, text, maintain, dry_run, load_folder, base, *chosen)

    @in_turn
    def change_rules(
        self,
        add: str | Path | Sequence[str | Path] = (),
        remove: str | Path | Sequence[str | Path] = (),
        maintain: str = "auto",
    ) -> UpdateReport:
        """Add rulesets (built-in names or files), remove some by the names that `rulesets` shows, and maintain the
        closure; a report as of `update`. Raises UsageError for a name that is not there."""
        return rulesets.change_rules(self._session, several(add), several(remove), maintain)

    @in_turn
    def change_default_graph(self, name: str, maintain: str = "auto") -> UpdateReport:
        """Let the default graph be the "union" of all graphs, or the unnamed one ("separate"); the closure is
        maintained. A report as of `update`."""
        return datasets.change_default_graph(self._session, name, maintain)

    @in_turn
    def graph_support(self, graph: str) -> GraphSupport:
        """What a named graph (an IRI, or a token as `graphs` has it) alone supports: triples, facts and classes of
        equal terms that would go without it, by a dry run. Raises UsageError where there is no such graph."""
        return datasets.support(self._session, graph_token(graph))

    @in_turn
    def upgrade(self) -> bool:
        """Let a store of an older format be of the newest, as its next change would; whether it was an older one."""
        return datasets.upgrade(self._session)

    @in_turn
    def change_prefixes(self, add: Mapping[str, str] | None = None, remove: Sequence[str] = ()) -> None:
        """Add prefixes (name -> IRI), which then hold before all others of the name, and remove some by name. A new
        version, with the same triples. Raises UsageError for what is not a prefix, and for a name that is not there."""
        admin.change_prefixes(self._session, add or {}, remove)

    @in_turn
    def compact(self) -> None:
        """Rewrite every table as one sorted file (per engine task), without tombstones. A new version, same content."""
        admin.compact(self._session)

    @in_turn
    def vacuum(self, keep: int | None = None, keep_days: float = 0.0, dry_run: bool = False) -> VacuumReport:
        """Forget the versions that are not to be kept, and delete what no version that is left needs.

        keep, keep_days: keep the newest so many versions, and of the older ones the last of each minute of so many
        days; where neither is given, the store's rule holds (`retention`). What another process reads or writes stays.
        dry_run: only tell what would go. Raises UsageError, DamagedStoreError (a version to keep is damaged)."""
        check_whole("keep", keep, 1, none="the store's rule")
        return admin.vacuum(self._session, keep, keep_days, dry_run)

    @property
    def retention(self) -> Retention:
        """Which versions are kept, by the vacuum that writers do now and then too. Set it to keep others."""
        return self._session.versions.retention

    @retention.setter
    def retention(self, rule: Retention) -> None:
        if not isinstance(rule, Retention):
            raise UsageError(f"retention is a Retention, as Retention(versions=10): not {rule!r}")
        self._session.versions.change_retention(rule)

    @in_turn
    def copy(self, path: str | Path) -> None:
        """Write a compact copy of this version to a new folder, as version 1 of a store of its own."""
        admin.copy(self._session, path)

    @in_turn
    def entails(self, graph: Iterable[tuple[Node, Node, Node]]) -> Entailment:
        """Whether a graph (rdflib triples, an rdflib Graph) follows from the store: from the closure, or by the
        reductions that `triplestore.ontology.entails` describes."""
        from triplestore.ontology.entails import entails  # when asked for: rdflib takes a fifth of a second to import

        own = built_in(self._session.manifest)
        return entails(
            self,
            graph,
            lambda folder: Store.open(folder, engine="duckdb"),
            extensional=any(ruleset.profile for ruleset in own),
            axiomatic=any(ruleset.vocabulary for ruleset in own),
            resources=any(ruleset.resources for ruleset in own),
        )


def _created(
    path: str | Path,
    rules: str | Path | Sequence[str | Path],
    engine: str,
    spark: SparkSession | None,
    master: str | None,
    memory_limit: str | None,
    equality: str | None = None,
    counting: bool = False,
    hold: bool = False,
    default_graph: str = "union",
) -> Session:
    """See `Store.create`."""
    started = make_engine(engine, spark, master, memory_limit)  # first: without it nothing is made
    try:
        versions = admin.create(path, several(rules), equality, counting, hold, default_graph)
        with admin.withdrawing(versions):
            return Session(versions, started, versions.read(), pinned=False)
    except BaseException:
        started.close()
        raise


def _opened(
    path: str | Path,
    at: int | None,
    verify: bool,
    engine: str,
    spark: SparkSession | None,
    master: str | None,
    memory_limit: str | None,
) -> Session:
    """See `Store.open`."""
    versions = Versions(path)
    versions.check()
    manifest = versions.read(at)
    versions.verify(manifest)
    if verify:
        examine(versions, manifest, sums=True)
    return Session(versions, make_engine(engine, spark, master, memory_limit), manifest, pinned=at is not None)


__all__ = ["LoadReport", "Source", "Store", "Violation"]
