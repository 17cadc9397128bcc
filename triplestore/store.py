"""The store: what a program that uses Triplake sees. Every command of the command line is a method here.

A write (load, materialise, update, change_rules, compact) reads the newest version, works in the engine's working
tables, writes new files and publishes the next version; whatever fails before that leaves the store as it was.

What the methods do is in the modules beside this one, over a `Session`: `changing`, `reading`, `proofs`, `figures`,
`keeping`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from triplake.loaders import LoadReport, OnError, Source
from triplestore.engine.select import make_engine
from triplestore.materialise.limits import Limits
from triplestore.model.errors import UsageError
from triplestore.model.tables import FACT, STORED
from triplestore.model.terms import from_rdflib
from triplestore.ontology.profile import Finding
from triplestore.read import figures, proofs, query
from triplestore.read.proofs import Violation
from triplestore.read.reasoning import check_countable
from triplestore.read.session import Notify, Session, several
from triplestore.read.turns import in_turn
from triplestore.storage.manifest import RulesetText, Versions
from triplestore.storage.verify import examine
from triplestore.write import admin, changing
from triplestore.write.admin import EQUALITY_MODES
from triplestore.write.begin import writing

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from rdflib.term import Node

    from triplake.sparql import Result
    from triplake.sparql.explain import QueryExplanation
    from triplestore.ontology.entails import Entailment
    from triplestore.proof.proof import Proof
    from triplestore.proof.why_same import Chain, EqualityClass
    from triplestore.read.differences import Difference

TokenTriple = tuple[str, str, str]


class Store:
    """A triple store on disk, at one of its versions. Make one with `Store.create` or `Store.open`; close it.

    Several threads may call it: they take turns (`triplestore.read.turns`)."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._turns = session.turns

    # -- opening and closing ---------------------------------------------------------------------------------------

    @classmethod
    def create(
        cls,
        path: str | Path,
        rules: str | Sequence[str] = ("owl2rl",),
        equality: str | None = None,
        engine: str = "auto",
        spark: SparkSession | None = None,
        master: str | None = None,
        memory_limit: str | None = None,
        counting: bool = False,
        hold: bool = False,
    ) -> Store:
        """Make an empty store at `path` and open it.

        rules: names of built-in rulesets or paths of rule files, or one such. equality: "rewrite", "axioms" or "off";
        by default "rewrite" if the rules mention owl:sameAs, else "off". counting: keep derivation counts, for the
        maintenance algorithms that need them. hold: it is there for others when the first load has succeeded; if it is
        closed before, nothing is left of it. Raises UsageError, InputError (a faulty rule file), ConflictError (another
        process makes one there).
        """
        started = make_engine(engine, spark, master, memory_limit)  # first: without it nothing is made
        try:
            versions = admin.create(path, several(rules), equality, counting, hold)
            with admin.withdrawing(versions):
                return cls(Session(versions, started, versions.read(), pinned=False))
        except BaseException:
            started.close()
            raise

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
    ) -> Store:
        """Open a store at its newest version, or at an older one (`at`), then read only.

        engine: "auto", "duckdb" or "spark"; a Spark session given means Spark. verify: first read every file of the
        version, and see that it is what was written. Raises UsageError where there is no store or no such version,
        DamagedStoreError where files are missing or damaged.
        """
        versions = Versions(path)
        versions.check()
        manifest = versions.read(at)
        versions.verify(manifest)
        if verify:
            examine(versions, manifest, sums=True)
        return cls(Session(versions, make_engine(engine, spark, master, memory_limit), manifest, pinned=at is not None))

    @staticmethod
    def restore(path: str | Path, version: int) -> int:
        """Make the content of an older version that is whole the newest version, whose number is returned: the way back
        from a damaged one, or from a mistake. Nothing of the versions in between is read. Raises UsageError,
        DamagedStoreError, ConflictError."""
        return admin.restore(path, version)

    def close(self) -> None:
        """Free the engine, once the call of another thread has ended; any further one raises UsageError.
        The store on disk needs no closing."""
        self._turns.close(self._free)

    def _free(self) -> None:
        self._session.versions.withdraw()
        self._session.engine.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    @property
    def path(self) -> Path:
        """The store's folder."""
        return self._session.path

    @property
    def version(self) -> int:
        """The version that this object reads."""
        return self._session.manifest.version

    @property
    def equality(self) -> str:
        """How owl:sameAs is handled: "rewrite", "axioms" or "off"."""
        return self._session.manifest.equality

    @property
    def materialised(self) -> bool:
        """Whether the closure is up to date."""
        return self._session.manifest.materialised

    @property
    def engine_name(self) -> str:
        """ "duckdb" or "spark"."""
        return self._session.engine.name

    @property
    def notify(self) -> Notify:
        """Where progress goes: one readable line at a time. Set it to see any."""
        return self._session.notify

    @notify.setter
    def notify(self, notify: Notify) -> None:
        self._session.notify = notify

    @property
    def verbose(self) -> Notify:
        """Where details go: rounds, derivations, why an algorithm was chosen. Set it to see any."""
        return self._session.verbose

    @verbose.setter
    def verbose(self, notify: Notify) -> None:
        self._session.verbose = notify

    @property
    def limits(self) -> Limits:
        """How many terms rules may make in one materialisation, in how many rounds. Set it to allow more, or less."""
        return self._session.workspace.limits

    @limits.setter
    def limits(self, limits: Limits) -> None:
        self._session.workspace.limits = limits

    # -- writing ---------------------------------------------------------------------------------------------------

    @in_turn
    def load(
        self,
        *files: str | Path,
        format: str | None = None,
        materialise: bool = True,
        on_error: OnError = "stop",
        rejects: str | Path | None = None,
        maintain: str = "auto",
        base: str | None = None,
    ) -> LoadReport:
        """Add the triples of RDF files (folders, globs and "-" too), then bring the closure up to date.

        format: name of the format where suffixes do not tell. on_error: "skip" leaves out what cannot be parsed and
        writes it to `rejects`. base: what relative IRIs are resolved against (default: each file's own `file:` IRI).
        Raises InputError with file, line and column; nothing is committed then.
        """
        return changing.load(self._session, files, format, materialise, on_error, rejects, maintain, base)

    @in_turn
    def replace(self, *files: str | Path, format: str | None = None, base: str | None = None) -> LoadReport:
        """Let the triples of RDF files (none: nothing) take the place of all that were asserted, as one transaction.

        format, base, errors: as for `load`. What is asserted before and after keeps its ids.
        """
        return changing.replace_all(self._session, files, format, base)

    @in_turn
    def materialise(self, counting: bool | None = None) -> None:
        """Compute the closure from scratch. counting: from now on keep derivation counts, or do not (None: as before);
        see `create`."""
        with writing(self._session) as transaction:
            manifest = self._session.manifest
            if counting:
                check_countable(manifest.rulesets, manifest.equality)
            transaction.materialise(manifest.counting if counting is None else counting)

    @in_turn
    def update(
        self,
        add: Iterable[Any] = (),
        delete: Iterable[Any] = (),
        maintain: str = "auto",
        dry_run: bool = False,
    ) -> dict[str, Any]:
        """Add and delete asserted triples (any iterables of rdflib triples, an rdflib Graph among them) as one
        transaction, and maintain the closure. A triple in both ends up added.

        Returns the figures that `stats()["last"]` then shows. With `dry_run` nothing is committed, and the figures say
        besides, with equality "rewrite", which classes of equal terms would change: `classes_merged` and `merges` (for
        each class that would come of some, these), `classes_split` and `splits` (`class`, `into`): each class by the
        `term` that represents it and its number of `members`, up to 50 of either, the largest first.
        """
        return changing.update(self._session, add, delete, maintain, dry_run)

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
        each: Callable[[Mapping[str, Any]], None] = lambda figures: None,
    ) -> list[dict[str, Any]]:
        """Apply update files in order, each transaction in them one of ours, then the triples of the RDF files in
        `add` and `delete` as one more; the figures of each, which `each` is called with as soon as it is committed.

        Files: RDF Patch (.rdfp, .patch) and SPARQL Update (.ru, see `sparql_update`), plain or compressed, and folders
        of them. All are read before the first is applied: InputError (file, line, column) leaves the store as it was.
        batch: so many transactions become one of ours, in a dry run all of them; `transactions` of the figures says how
        many there were. base: what relative IRIs are resolved against (default: each RDF file's own `file:` IRI).
        """
        if batch < 1:
            raise UsageError("a batch has one transaction at least")
        changes, number = changing.read_updates(self._session, files, several(add), several(delete), base)
        size = max(1, len(changes)) if dry_run else batch
        return changing.apply_all(self._session, changes, size, number, maintain, dry_run, load_folder, each)

    @in_turn
    def sparql_update(
        self,
        text: str,
        maintain: str = "auto",
        dry_run: bool = False,
        load_folder: str | Path | None = None,
        base: str | None = None,
    ) -> dict[str, Any]:
        """Carry out a SPARQL 1.1 Update request on the default graph, as one transaction; figures as `update` has.

        Patterns are matched with the closure, all equalities expanded; only asserted triples can be deleted, and
        `not_asserted` of the figures says how many triples to delete were not. load_folder: LOAD may read the files in
        it. base: what other relative IRIs are resolved against. Raises InputError (line, column) for a syntax error,
        UnsupportedError for named graphs.
        """
        return changing.sparql_update(self._session, text, maintain, dry_run, load_folder, base)

    @in_turn
    def change_rules(
        self, add: str | Sequence[str] = (), remove: str | Sequence[str] = (), maintain: str = "auto"
    ) -> dict[str, Any]:
        """Add rulesets (built-in names or files), remove some by the names that `rulesets` shows, and maintain the
        closure; figures as `update` has. Raises UsageError for a name that is not there."""
        return changing.change_rules(self._session, several(add), several(remove), maintain)

    @in_turn
    def compact(self) -> None:
        """Rewrite every table as one sorted file (per engine task), without tombstones. A new version, same content."""
        admin.compact(self._session)

    @in_turn
    def vacuum(self, keep: int | None = None) -> tuple[int, int, int]:
        """Forget all but the newest `keep` versions (None: none of them) and delete what no version that is left needs:
        (versions, files, bytes). What a process needs that is writing stays."""
        return admin.vacuum(self._session, keep)

    @in_turn
    def copy(self, path: str | Path) -> None:
        """Write a compact copy of this version to a new folder, as version 1 of a store of its own."""
        admin.copy(self._session, path)

    # -- reading ---------------------------------------------------------------------------------------------------

    @in_turn
    def query(
        self,
        text: str,
        same_as: str = "expand",
        stream: bool = False,
        generalised: bool = False,
        prefer: str | Sequence[str] = (),
        base: str | None = None,
    ) -> Result:
        """Answer a SPARQL query (SELECT, ASK, CONSTRUCT, DESCRIBE) over the closure.

        same_as: "expand" answers over every member of a class, "canonical" one row per class. stream: the rows come as
        they are found, to be read once, before the store changes; memory does not grow with them.
        generalised: match also the derived triples that RDF has no place for (a literal as subject, a blank node as
        predicate). prefer: in canonical answers a class appears as its member that starts with the first of these, or
        as the one that comes first anyhow: built-in vocabulary, IRIs, blank nodes, of these the shortest.
        base: what relative IRIs are resolved against, unless the text has a BASE.
        """
        found = query.query(self._session, text, same_as, stream, generalised, several(prefer), base)
        return found.through(self._turns.pieces) if stream else found

    @in_turn
    def explain_query(self, text: str, same_as: str = "expand", prefer: str | Sequence[str] = ()) -> QueryExplanation:
        """Run a SPARQL query for how it is answered: algebra, SQL, and the engine's plan with the rows it counted."""
        return query.explain_query(self._session, text, same_as, several(prefer))

    def triples(
        self, what: str = "all", same_as: str = "expand", virtual: bool = False
    ) -> Iterator[tuple[Node, Node, Node]]:
        """The store's triples as rdflib terms: "asserted", "inferred" or "all".

        virtual: also what holds of every term and is not stored: that it equals itself (unless equality is off) and, by
        the rules of RDFS, is an rdfs:Resource.
        """
        return chain.from_iterable(self._turns.pieces(query.triples(self._session, what, same_as, virtual)))

    def match(
        self,
        subject: Node | None = None,
        predicate: Node | None = None,
        object: Node | None = None,
        what: str = "all",
    ) -> Iterator[tuple[Node, Node, Node]]:
        """The triples of the closure (or of its asserted or inferred part) that have these terms; None is any."""
        pattern = tuple(None if term is None else from_rdflib(term) for term in (subject, predicate, object))
        return chain.from_iterable(self._turns.pieces(query.matching(self._session, pattern, what)))

    def token_batches(
        self, what: str = "all", same_as: str = "expand", virtual: bool = False
    ) -> Iterator[list[TokenTriple]]:
        """The store's triples as tokens, in batches; see `triples`."""
        return self._turns.pieces(query.token_batches(self._session, what, same_as, virtual))

    def lines(
        self,
        what: str = "all",
        same_as: str = "expand",
        ordered: bool = False,
        virtual: bool = False,
        prefer: str | Sequence[str] = (),
    ) -> Iterator[list[str]]:
        """The store's triples as N-Triples lines, in batches; `ordered` sorts them by their bytes. See `triples`, and
        `query` for `prefer`."""
        return self._turns.pieces(query.lines(self._session, what, same_as, ordered, virtual, several(prefer)))

    @in_turn
    def equality_classes(self, most: int = 10, members: int = 50) -> list[tuple[int, list[Node]]]:
        """The largest classes of equal terms: the size of each, and its first members (the first represents)."""
        return figures.equality_classes(self._session, most, members)

    @in_turn
    def check(self, limit: int | None = None, by: bool = False) -> list[Violation]:
        """The inconsistencies: rule id and triples at fault, in a stable order; `limit` of each rule at most.

        by: also look for the rules by which two values are one.
        """
        return proofs.check(self._session, limit, by)

    @in_turn
    def explain(self, triple: Any) -> Proof | None:
        """Why a triple (rdflib terms) of the closure holds: a proof of smallest depth, down to asserted triples. None
        if it does not hold."""
        from triplestore.proof.explain import explain  # when asked for: a query starts without it

        s, p, o = triple[:3]
        return explain(proofs.source(self._session), (from_rdflib(s), from_rdflib(p), from_rdflib(o)))

    @in_turn
    def explain_violation(self, rule: str, number: int = 1) -> Proof:
        """Why the closure is inconsistent: a proof of the violation of that number (from 1) of a rule in `check`."""
        return proofs.explain_violation(self._session, rule, number)

    @in_turn
    def why_same(self, left: Node, right: Node) -> Chain | None:
        """Why two terms (rdflib's) are one: the shortest chain of links between them, each with its rule and the
        asserted triples behind it. None if they are not one. Raises UsageError with equality off."""
        from triplestore.proof.why_same import why_same

        return why_same(proofs.equality_source(self._session), from_rdflib(left), from_rdflib(right))

    @in_turn
    def equality_class(self, term: Node, most: int | None = 20) -> EqualityClass | None:
        """The class of terms that are one with a term (rdflib's): members, links, and up to `most` bridges (None:
        all), links without which it would fall apart. None if the term equals no other."""
        from triplestore.proof.why_same import equality_class

        return equality_class(proofs.equality_source(self._session), from_rdflib(term), most)

    @in_turn
    def equality_stats(self, most: int = 10) -> dict[str, Any]:
        """What terms are one, and why, over the whole store; keys as `triplake stats --same-as --json` documents them.

        most: the largest classes that are listed. Raises UsageError with equality off.
        """
        return figures.equality_stats(self._session, most)

    @in_turn
    def violated(self) -> dict[str, int]:
        """How many inconsistencies there are of each rule, by the rule's id."""
        return proofs.violated(self._session)

    @in_turn
    def entails(self, graph: Iterable[tuple[Node, Node, Node]]) -> Entailment:
        """Whether a graph (rdflib triples, an rdflib Graph) follows from the store: from the closure, or by the
        reductions that `triplestore.ontology.entails` describes."""
        from triplestore.ontology.entails import entails  # when asked for: rdflib takes a fifth of a second to import

        names = {r.name for r in self.rulesets}
        return entails(
            self,
            graph,
            lambda folder: Store.open(folder, engine="duckdb"),
            extensional="owl2rl" in names,
            axiomatic="rdfs-axiomatic" in names,
        )

    @in_turn
    def outside_profile(self) -> list[Finding]:
        """The asserted axioms that this store's rules do not use, or use in part: outside OWL 2 RL, or without rule."""
        return figures.outside_profile(self._session)

    @in_turn
    def missing_imports(self) -> dict[str, list[str]]:
        """What is imported by owl:imports and was not loaded: IRI -> the IRIs of the ontologies that import it."""
        return figures.missing_imports(self._session)

    @in_turn
    def count(self, what: str = "all") -> int:
        """How many triples `triples` gives of a part: "asserted", "inferred" or "all". Of a closure that is not up to
        date those that it has."""
        return figures.count(self._session, what)

    @in_turn
    def stats(self) -> dict[str, Any]:
        """Counts of this version; keys as `triplake stats --json` documents them."""
        return figures.stats(self._session)

    @in_turn
    def log(self, version: int | None = None) -> list[Mapping[str, Any]]:
        """The versions that can be read (or one of them), oldest first: version, created, engine, and the operation's
        figures. Raises UsageError for an unknown one."""
        return figures.log(self._session, version)

    def log_facts(self, version: int | None = None) -> AbstractContextManager[Difference]:
        """What a version (default: the newest) added and removed, to be read before anything else is asked of this
        store. Raises UsageError where the version before it has been vacuumed."""
        return figures.log_facts(self._session, version)

    @property
    def rulesets(self) -> tuple[RulesetText, ...]:
        """The store's rulesets: names, and texts of users' files."""
        return self._session.manifest.rulesets

    def facts_df(self) -> DataFrame:
        """The normalised closure (s, p, o: ids) as a Spark DataFrame; see also `table_df`."""
        return self.table_df(FACT.name)

    @in_turn
    def table_df(self, name: str) -> DataFrame:
        """A stored table ("term", "asserted", "fact", "same_as", "violation") as a Spark DataFrame."""
        tables = {t.name: t for t in STORED}
        if name not in tables:
            raise UsageError(f"no table '{name}'; give one of {', '.join(tables)}")
        if self._session.engine.name != "spark":
            raise UsageError("DataFrames need the Spark engine: open the store with Store.open(path, spark=session)")
        self._session.workspace.views(tables[name])
        frame: DataFrame = self._session.engine.spark.table(name)  # type: ignore[attr-defined]
        return frame


__all__ = ["EQUALITY_MODES", "LoadReport", "Source", "Store", "Violation"]
