"""The store: what a program that uses Triplake sees. Every command of the command line is a method here.

A write (load, materialise, update, change_rules, compact) reads the newest version, works in the engine's working
tables, writes new files and publishes the next version; whatever fails before that leaves the store as it was.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from loaders import LoadReport, OnError, Progress, Source, read_into, sources
from loaders.patch import Change as PatchChange
from triplestore import closure, dictionary
from triplestore.engine import Engine
from triplestore.engine.queries import minus
from triplestore.engine.select import make_engine
from triplestore.errors import ConflictError, UsageError
from triplestore.imports import missing_imports
from triplestore.incremental import Incremental
from triplestore.maintain.choose import check as check_algorithm
from triplestore.profile import Finding, findings
from triplestore.reasoning import (
    all_rules,
    by_value,
    mentions_same_as,
    reasoning,
    resources,
    rules_of,
    ruleset_text,
    twins,
)
from triplestore.storage import segments
from triplestore.storage.manifest import Counters, Manifest, RulesetText, TableFiles, Versions
from triplestore.tables import ASSERTED, FACT, SAME_AS, STORED, TERM, VIOLATION
from triplestore.terms import BUILTIN_IRIS, from_rdflib, to_ntriples, to_rdflib
from triplestore.transaction import Transaction, figures_of, no_facts, token_table
from triplestore.updates import Request, plain_change, read_changes, sparql_request
from triplestore.workspace import Workspace

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from rdflib.term import Node

    from sparql import Graph, Result
    from sparql.constants import Known
    from sparql.explain import QueryExplanation
    from triplestore.entails import Entailment
    from triplestore.proof.computed import Source as ProofSource
    from triplestore.proof.proof import Proof
    from triplestore.proof.why_same import Chain, EqualityClass

EQUALITY_MODES: Final = ("rewrite", "axioms", "off")

OFTEN: Final = 2
"""Queries of one version that are answered from its files; from then on its tables are held in memory."""

MOST_RESIDENT: Final = 1 << 28
"""Bytes of files up to which they are."""

TokenTriple = tuple[str, str, str]

Notify = Callable[[str], None]
"""Where progress goes: one readable line at a time."""


@dataclass(frozen=True, slots=True)
class Violation:
    """An inconsistency: the rule's id and the triples at fault (rdflib terms; representatives of their classes).

    by: for an equality with a literal, if asked for, the rules that say so ("asserted": it was said)."""

    rule: str
    triples: tuple[tuple[Node, Node, Node], ...]
    by: tuple[str, ...] = ()


class Store:
    """A triple store on disk, at one of its versions. Make one with `Store.create` or `Store.open`; close it."""

    def __init__(
        self,
        versions: Versions,
        engine: Engine,
        manifest: Manifest,
        pinned: bool,
        workspace: Workspace | None = None,
    ) -> None:
        self._versions, self._engine, self._pinned = versions, engine, pinned
        self._workspace = workspace or Workspace(engine, versions, manifest)
        self._known: tuple[Manifest, Known] | None = None  # what queries of that version have looked up
        self._asked = 0  # queries of that version
        self.notify: Notify = lambda line: None
        self.verbose: Notify = lambda line: None

    # -- opening and closing ---------------------------------------------------------------------------------------

    @classmethod
    def create(
        cls,
        path: str | Path,
        rules: Sequence[str] = ("owl2rl",),
        equality: str | None = None,
        engine: str = "auto",
        spark: SparkSession | None = None,
        master: str | None = None,
        memory_limit: str | None = None,
    ) -> Store:
        """Make an empty store at `path` and open it.

        rules: names of built-in rulesets or paths of rule files. equality: "rewrite", "axioms" or "off"; by default
        "rewrite" if the rules mention owl:sameAs, else "off". Raises UsageError, InputError (a faulty rule file).
        """
        texts = tuple(ruleset_text(name) for name in rules)
        mentioned = any(mentions_same_as(r) for text in texts for r in rules_of(text))
        equality = equality or ("rewrite" if mentioned else "off")
        if equality not in EQUALITY_MODES:
            raise UsageError(f"no equality mode '{equality}'; give one of {', '.join(EQUALITY_MODES)}")
        versions = Versions(path)
        versions.create()
        small = make_engine("duckdb")
        try:
            store = cls(versions, small, Manifest(0, texts, equality, small.name), pinned=False)
            Transaction(store._workspace, store.verbose).initialise()
        except ConflictError:  # another process made a store there meanwhile: it is theirs
            raise
        except BaseException:
            shutil.rmtree(path, ignore_errors=True)
            raise
        finally:
            small.close()
        return cls.open(path, engine, spark, master=master, memory_limit=memory_limit)

    @classmethod
    def open(
        cls,
        path: str | Path,
        engine: str = "auto",
        spark: SparkSession | None = None,
        at: int | None = None,
        master: str | None = None,
        memory_limit: str | None = None,
    ) -> Store:
        """Open a store at its newest version, or at an older one (`at`), then read only.

        engine: "auto", "duckdb" or "spark"; a Spark session given means Spark. Raises UsageError where there is no
        store or no such version, DamagedStoreError where files are missing.
        """
        versions = Versions(path)
        versions.check()
        manifest = versions.read(at)
        versions.verify(manifest)
        return cls(versions, make_engine(engine, spark, master, memory_limit), manifest, pinned=at is not None)

    def close(self) -> None:
        """Free the engine. The store on disk needs no closing."""
        self._engine.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    @property
    def path(self) -> Path:
        """The store's folder."""
        return self._versions.path

    @property
    def version(self) -> int:
        """The version that this object reads."""
        return self._manifest.version

    @property
    def equality(self) -> str:
        """How owl:sameAs is handled: "rewrite", "axioms" or "off"."""
        return self._manifest.equality

    @property
    def materialised(self) -> bool:
        """Whether the closure is up to date."""
        return self._manifest.materialised

    @property
    def engine_name(self) -> str:
        """ "duckdb" or "spark"."""
        return self._engine.name

    @property
    def _manifest(self) -> Manifest:
        return self._workspace.manifest

    # -- writing ---------------------------------------------------------------------------------------------------

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
        with self._writing() as transaction:
            report, new_terms, counters = self._read(transaction, files, format, on_error, rejects, base)
            started = transaction.started
            plus = self._engine.create("plus", minus("encoded", "asserted", "spo"))
            self._engine.drop("encoded")
            seconds = time.perf_counter() - started
            self.notify(f"encoded {plus:,} new triples, {new_terms:,} new terms {_rate(report.triples, seconds)}")
            transaction.commit("load", plus, 0, counters, maintain if materialise else None)
            return report

    def replace(self, *files: str | Path, format: str | None = None, base: str | None = None) -> LoadReport:
        """Let the triples of RDF files (none: nothing) take the place of all that were asserted, as one transaction.

        format, base, errors: as for `load`. What is asserted before and after keeps its ids.
        """
        with self._writing() as transaction:
            report, _, counters = self._read(transaction, files, format, "stop", None, base)
            plus = self._engine.create("plus", minus("encoded", "asserted", "spo"))
            gone = self._engine.create("minus", minus("asserted", "encoded", "spo"))
            self._engine.drop("encoded")
            if plus or gone or not self._manifest.materialised:
                transaction.commit("replace", plus, gone, counters, "auto")
            return report

    def _read(
        self,
        transaction: Transaction,
        files: Sequence[str | Path],
        format: str | None,
        on_error: OnError,
        rejects: str | Path | None,
        base: str | None,
    ) -> tuple[LoadReport, int, Counters]:
        """Make the working table `encoded` of the triples of files; the report, new terms, and the counters."""
        found = [replace(s, base=base) if base else s for s in sources([str(f) for f in files], format)]
        counters = self._manifest.counters
        report = read_into(
            self._engine,
            "raw",
            found,
            first_file=counters.files + 1,
            on_error=on_error,
            rejects=Path(rejects) if rejects else None,
            progress=self._reading,
        )
        seconds = time.perf_counter() - transaction.started
        self.notify(f"read {report.triples:,} triples from {report.files} file(s) {_rate(report.triples, seconds)}")
        new_terms, counters = transaction.encode("raw", replace(counters, files=counters.files + len(found)))
        self._engine.drop("raw")
        return report, new_terms, counters

    def materialise(self) -> None:
        """Compute the closure from scratch."""
        with self._writing() as transaction:
            transaction.materialise()

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
        added = {_tokens(t): None for t in add}
        deleted = {_tokens(t): None for t in delete if _tokens(t) not in added}
        return self._apply(PatchChange(list(added), list(deleted)), maintain, dry_run)

    def update_files(
        self,
        *files: str | Path,
        add: Sequence[str | Path] = (),
        delete: Sequence[str | Path] = (),
        maintain: str = "auto",
        dry_run: bool = False,
        load_folder: str | Path | None = None,
    ) -> list[dict[str, Any]]:
        """Apply update files in order, each transaction in them one of ours, then the triples of the RDF files in
        `add` and `delete` as one more; the figures of each.

        Files: RDF Patch (.rdfp, .patch) and SPARQL Update (.ru, see `sparql_update`), plain or compressed. All are read
        before the first is applied: InputError (file, line, column) leaves the store as it was.
        """
        self._newest()
        number = self._manifest.counters.files + 1
        changes: list[PatchChange | Request] = []
        for file in files:
            found = read_changes(str(file), number)
            number = max((change.last + 1 for change in found if isinstance(change, Request)), default=number)
            changes += found
        if add or delete:
            changes.append(plain_change([str(f) for f in add], [str(f) for f in delete], number))
            number += len(add)
        return [
            self._carry_out(change, maintain, dry_run, load_folder)
            if isinstance(change, Request)
            else self._apply(change, maintain, dry_run, number - 1)
            for change in changes
        ]

    def sparql_update(
        self, text: str, maintain: str = "auto", dry_run: bool = False, load_folder: str | Path | None = None
    ) -> dict[str, Any]:
        """Carry out a SPARQL 1.1 Update request on the default graph, as one transaction; figures as `update` has.

        Patterns are matched with the closure, all equalities expanded; only asserted triples can be deleted, and
        `not_asserted` of the figures says how many triples to delete were not. load_folder: LOAD may read the files in
        it. Raises InputError (line, column) for a syntax error, UnsupportedError for named graphs.
        """
        self._newest()
        request = sparql_request(text, self._manifest.counters.files + 1)
        return self._carry_out(request, maintain, dry_run, load_folder)

    def _carry_out(
        self, request: Request, algorithm: str, dry_run: bool, load_folder: str | Path | None
    ) -> dict[str, Any]:
        from triplestore.request import RequestRun

        with self._writing() as transaction:
            folder = None if load_folder is None else Path(load_folder)
            return RequestRun(transaction, self._graph, folder, algorithm, dry_run).carry_out(request)

    def _apply(self, change: PatchChange, algorithm: str, dry_run: bool, file: int = 0) -> dict[str, Any]:
        check_algorithm(algorithm)
        with self._writing() as transaction:
            small = Incremental(transaction)
            if (figures := small.apply(change.add, change.delete, algorithm, dry_run, file)) is not None:
                return figures
            if not self._manifest.materialised and not dry_run:
                self.verbose("the closure was not up to date: it is computed from scratch with this update")
            counters = self._manifest.counters
            new, gone, unasserted, counters = transaction.net(
                change.add, change.delete, replace(counters, files=max(counters.files, file))
            )
            if not new and not gone and self._manifest.materialised:
                self.verbose(f"nothing to change: the store stays at version {self.version}")
                figures = figures_of("update", time.perf_counter() - transaction.started)
            else:
                figures = transaction.commit("update", new, gone, counters, algorithm, dry_run, reason=small.reason)
            return {**figures, "not_asserted": unasserted}

    def change_rules(self, add: Sequence[str] = (), remove: Sequence[str] = ()) -> None:
        """Add rulesets (built-in names or files), remove some by the names that `rulesets` shows, and bring the
        closure up to date. Raises UsageError for a name that is not there."""
        with self._writing() as transaction:
            kept = list(self._manifest.rulesets)
            for name in remove:
                found = [
                    r for r in kept if r.name == name or (r.text is not None and Path(r.name).name == Path(name).name)
                ]
                if not found:
                    raise UsageError(f"the store has no ruleset '{name}'; it has {_names(kept)}")
                kept.remove(found[0])
            for name in add:
                text = ruleset_text(name)
                if any(r.name == text.name for r in kept):
                    raise UsageError(f"the store has ruleset '{text.name}' already; remove it first to replace it")
                kept.append(text)
            self._workspace.manifest = replace(self._manifest, rulesets=tuple(kept))
            self._workspace.tables(ASSERTED)
            self._engine.load("raw", token_table([]))
            _, counters = transaction.encode("raw", self._manifest.counters)
            self._engine.load("plus", no_facts())
            transaction.commit("rules", 0, 0, counters, "rematerialise")

    def compact(self) -> None:
        """Rewrite every table as one sorted file (per engine task), without tombstones. A new version, same content."""
        with self._writing() as transaction:
            changed = [t for t in STORED if _fragmented(self._manifest.files_of(t.name))]
            self._workspace.forget()
            self._workspace.views(*changed)
            files = {t.name: transaction.write_whole(t) for t in changed}
            if files:
                transaction.publish("compact", None, files, self._manifest.counters, ())

    def vacuum(self, keep: int = 1) -> tuple[int, int, int]:
        """Forget all but the newest `keep` versions and delete what only they used: (versions, files, bytes)."""
        if keep < 1:
            raise UsageError("vacuum keeps at least one version; give --keep 1 or more")
        return self._versions.vacuum(keep)

    def copy(self, path: str | Path) -> None:
        """Write a compact copy of this version to a new folder, as version 1 of a store of its own."""
        target = Versions(path)
        target.create()
        try:
            copied = Workspace(self._engine, self._versions, self._manifest)
            copied.views(*STORED)
            files = {t.name: segments.write_whole(self._engine, target, t, t.name) for t in STORED}
            self._workspace.forget()
            target.publish(replace(self._manifest, version=1, tables=files, engine=self._engine.name))
        except ConflictError:  # another process made a store there meanwhile: it is theirs
            raise
        except BaseException:
            shutil.rmtree(path, ignore_errors=True)
            raise

    # -- reading ---------------------------------------------------------------------------------------------------

    def query(
        self,
        text: str,
        same_as: str = "expand",
        stream: bool = False,
        generalised: bool = False,
        prefer: Sequence[str] = (),
    ) -> Result:
        """Answer a SPARQL query (SELECT, ASK, CONSTRUCT, DESCRIBE) over the closure.

        same_as: "expand" answers over every member of a class, "canonical" one row per class. stream: the rows come as
        they are found, to be read once, before anything else is asked of this store; memory does not grow with them.
        generalised: match also the derived triples that RDF has no place for (a literal as subject, a blank node as
        predicate). prefer: in canonical answers a class appears as its member that starts with the first of these.
        """
        from sparql import query as run_query  # when asked for: other commands start without it

        return run_query(self._graph(generalised), text, same_as, stream, prefer=prefer)

    def explain_query(self, text: str, same_as: str = "expand", prefer: Sequence[str] = ()) -> QueryExplanation:
        """Run a SPARQL query for how it is answered: algebra, SQL, and the engine's plan with the rows it counted."""
        from sparql import explain as explain_query

        return explain_query(self._graph(), text, same_as, prefer)

    def _graph(self, generalised: bool = False) -> Graph:
        """What queries read; see `query`."""
        from sparql import Graph
        from sparql.constants import Known

        self._readable()
        stats = self._manifest.stats
        self._workspace.views(TERM, ASSERTED, FACT, SAME_AS)
        hidden = stats.get("generalised", 0) > 0 and not generalised
        several = twins(self._manifest)
        virtual = ("all" if generalised else "terms") if resources(self._manifest) else ""
        classes, matched = stats.get("classes", 0), by_value(self._manifest)
        if self._known is None or self._known[0] is not self._manifest:
            self._known, self._asked = (self._manifest, Known()), 0
        self._asked += 1
        if self._asked > OFTEN and self._engine.resident and self._manifest.bytes <= MOST_RESIDENT:
            self._workspace.tables(TERM, ASSERTED, FACT, SAME_AS)
        return Graph(self._engine, self.equality, classes, hidden, matched, several, virtual, self._known[1])

    def triples(
        self, what: str = "all", same_as: str = "expand", virtual: bool = False
    ) -> Iterator[tuple[Node, Node, Node]]:
        """The store's triples as rdflib terms: "asserted", "inferred" or "all".

        virtual: also what holds of every term and is not stored: that it equals itself (unless equality is off) and, by
        the rules of RDFS, is an rdfs:Resource.
        """
        for rows in self.token_batches(what, same_as, virtual):
            for s, p, o in rows:
                yield to_rdflib(s), to_rdflib(p), to_rdflib(o)

    def match(
        self,
        subject: Node | None = None,
        predicate: Node | None = None,
        object: Node | None = None,
        what: str = "all",
    ) -> Iterator[tuple[Node, Node, Node]]:
        """The triples of the closure (or of its asserted or inferred part) that have these terms; None is any."""
        pattern = tuple(None if term is None else from_rdflib(term) for term in (subject, predicate, object))
        for triple in self._matching(pattern, what):
            s, p, o = map(to_rdflib, triple)
            yield s, p, o

    def token_batches(
        self, what: str = "all", same_as: str = "expand", virtual: bool = False
    ) -> Iterator[list[TokenTriple]]:
        """The store's triples as tokens, in batches; see `triples`."""
        for batch in self._engine.batches(closure.tokens_sql(self._triples_sql(what, same_as, virtual))):
            yield list(zip(*(column.to_pylist() for column in batch.columns), strict=True))

    def lines(
        self,
        what: str = "all",
        same_as: str = "expand",
        ordered: bool = False,
        virtual: bool = False,
        prefer: Sequence[str] = (),
    ) -> Iterator[list[str]]:
        """The store's triples as N-Triples lines, in batches; `ordered` sorts them by their bytes. See `triples`, and
        `query` for `prefer`."""
        triples = self._triples_sql(what, same_as, virtual)
        if prefer:
            if same_as == "expand" or what == "asserted":
                raise UsageError("a preferred prefix chooses one member of each class: ask for canonical triples too")
            triples = closure.shown_sql(triples, closure.preferred_sql(prefer, self._engine.dialect))
        sql = closure.ntriples_sql(triples, self._engine.dialect)
        for batch in self._engine.batches(f"SELECT line FROM ({sql}) l" + (" ORDER BY line" if ordered else "")):
            yield batch.column(0).to_pylist()

    def equality_classes(self, most: int = 10, members: int = 50) -> list[tuple[int, list[Node]]]:
        """The largest classes of equal terms: the size of each, and its first members (the first represents)."""
        self._readable()
        self._workspace.views(SAME_AS, TERM)
        return self._largest_classes(SAME_AS.name, most, members)

    def _largest_classes(self, pi: str, most: int, members: int) -> list[tuple[int, list[Node]]]:
        sizes = self._engine.query(
            f"SELECT representative, count(*) AS n FROM {pi} GROUP BY representative "
            f"ORDER BY n DESC, representative LIMIT {int(most)}"
        ).to_pylist()
        if not sizes:
            return []
        listed = ", ".join(str(row["representative"]) for row in sizes)
        rows = self._engine.query(
            f"SELECT term, representative FROM (SELECT term, representative, row_number() OVER "
            f"(PARTITION BY representative ORDER BY term) AS n FROM {pi} WHERE representative IN ({listed})) m "
            f"WHERE n <= {int(members)} ORDER BY term"
        ).to_pylist()
        tokens = dictionary.decode(self._engine, (row["term"] for row in rows))
        found: dict[int, list[Node]] = {row["representative"]: [] for row in sizes}
        for row in rows:
            found[row["representative"]].append(to_rdflib(tokens[row["term"]]))
        return [(int(row["n"]), found[row["representative"]]) for row in sizes]

    def check(self, limit: int | None = None, by: bool = False) -> list[Violation]:
        """The inconsistencies: rule id and triples at fault, in a stable order; `limit` of each rule at most.

        by: also look for the rules that make a literal equal to another term.
        """
        from triplestore.materialise.same_as import REFUSED

        found = self._violations(limit)
        refused = [tuple(row) for violation, row in found if violation.rule in REFUSED and len(row) == 3]
        if not by or not refused:
            return [violation for violation, _ in found]
        from triplestore.proof.explain import derived_by

        rules = derived_by(self._proof_source(), [(s, p, o) for s, p, o in refused])
        return [replace(v, by=rules.get((row[0], row[1], row[2]), ()) if len(row) == 3 else ()) for v, row in found]

    def explain(self, triple: Any) -> Proof | None:
        """Why a triple (rdflib terms) of the closure holds: a proof of smallest depth, down to asserted triples. None
        if it does not hold."""
        from triplestore.proof.explain import explain  # when asked for: a query starts without it

        return explain(self._proof_source(), _tokens(triple))

    def explain_violation(self, rule: str, number: int = 1) -> Proof:
        """Why the closure is inconsistent: a proof of the violation of that number (from 1) of a rule in `check`."""
        from triplestore.proof.explain import explain_violation

        rows = [row for violation, row in self._violations() if violation.rule == rule]
        if not 1 <= number <= len(rows):
            raise UsageError(f"no inconsistency {rule}:{number}: `triplake check` lists {len(rows)} of {rule}")
        return explain_violation(self._proof_source(), rule, rows[number - 1])

    def why_same(self, left: Node, right: Node) -> Chain | None:
        """Why two terms (rdflib's) are one: the shortest chain of links between them, each with its rule and the
        asserted triples behind it. None if they are not one. Raises UsageError with equality off."""
        from triplestore.proof.why_same import why_same

        return why_same(self._equality_source(), from_rdflib(left), from_rdflib(right))

    def equality_class(self, term: Node, most: int | None = 20) -> EqualityClass | None:
        """The class of terms that are one with a term (rdflib's): members, links, and up to `most` bridges (None:
        all), links without which it would fall apart. None if the term equals no other."""
        from triplestore.proof.why_same import equality_class

        return equality_class(self._equality_source(), from_rdflib(term), most)

    def equality_stats(self, most: int = 10) -> dict[str, Any]:
        """What terms are one, and why, over the whole store; keys as `triplake stats --same-as --json` documents them.

        most: the largest classes that are listed. Raises UsageError with equality off.
        """
        from triplestore.proof.causes import causes

        found = causes(self._equality_source())
        pi = self._equality_source().same_as
        rows = self._engine.query(
            "SELECT size, count(*) AS classes FROM "
            f"(SELECT count(*) AS size FROM {pi} GROUP BY representative) c GROUP BY size ORDER BY size"
        ).to_pylist()
        sizes: dict[int, int] = {}
        for row in rows:
            bucket = 1 << (int(row["size"]).bit_length() - 1)
            sizes[bucket] = sizes.get(bucket, 0) + int(row["classes"])
        return {
            "classes": sum(int(row["classes"]) for row in rows),
            "members": sum(int(row["size"]) * int(row["classes"]) for row in rows),
            "sizes": [{"from": least, "to": 2 * least - 1, "classes": n} for least, n in sizes.items()],
            "largest": [
                {"size": size, "members": [term.n3() for term in terms]}
                for size, terms in self._largest_classes(str(pi), most, 5)
            ],
            "causes": [{"rule": c.rule, "on": [to_ntriples(t) for t in c.on], "links": c.links} for c in found.causes],
            "by_derived_facts": found.derived,
        }

    def violated(self) -> dict[str, int]:
        """How many inconsistencies there are of each rule, by the rule's id."""
        self._readable()
        self._workspace.views(VIOLATION)
        rows = self._engine.query("SELECT rule, count(*) AS n FROM violation GROUP BY rule ORDER BY rule").to_pylist()
        return {row["rule"]: int(row["n"]) for row in rows}

    def entails(self, graph: Iterable[tuple[Node, Node, Node]]) -> Entailment:
        """Whether a graph (rdflib triples, an rdflib Graph) follows from the store: from the closure, or by the
        reductions that `triplestore.entails` describes."""
        from triplestore.entails import entails  # when asked for: rdflib takes a fifth of a second to import

        owl = any(r.name == "owl2rl" for r in self.rulesets)
        return entails(self, graph, lambda folder: Store.open(folder, engine="duckdb"), owl)

    def outside_profile(self) -> list[Finding]:
        """The asserted axioms that this store's rules do not use, or use in part: outside OWL 2 RL, or without rule."""
        self._workspace.views(ASSERTED, TERM)
        profile = any(r.name == "owl2rl" for r in self.rulesets)
        return findings(self._engine, all_rules(self._manifest), profile)

    def missing_imports(self) -> dict[str, list[str]]:
        """What is imported by owl:imports and was not loaded: IRI -> the IRIs of the ontologies that import it."""
        self._workspace.views(ASSERTED, TERM)
        return missing_imports(self._engine)

    def stats(self) -> dict[str, Any]:
        """Counts of this version; keys as `triplake stats --json` documents them."""
        manifest = self._manifest
        self._workspace.views(ASSERTED, FACT, SAME_AS, TERM)
        several = twins(manifest)
        number = {
            name: int(self._engine.query(sql).column(0)[0].as_py())
            for name, sql in (
                ("expanded", closure.expanded_count_sql(self.equality, several)),
                ("inferred", closure.inferred_count_sql(self.equality, several)),
            )
        }
        return {
            "version": manifest.version,
            "engine_written": manifest.engine,
            "ruleset": [r.name for r in manifest.rulesets],
            "equality": manifest.equality,
            "terms": manifest.files_of(TERM.name).rows - len(BUILTIN_IRIS),
            "asserted": manifest.files_of(ASSERTED.name).rows,
            "facts": manifest.files_of(FACT.name).rows,
            "inferred": number["inferred"],
            "expanded": number["expanded"],
            "classes": manifest.stats.get("classes", 0),
            "largest_class": manifest.stats.get("largest_class", 0),
            "violations": manifest.files_of(VIOLATION.name).rows,
            "bytes": manifest.bytes,
            "materialised": manifest.materialised,
            "outside_profile": [asdict(finding) for finding in self.outside_profile()],
            "last": dict(manifest.last),
        }

    def log(self) -> list[Mapping[str, Any]]:
        """The versions that can be read, oldest first: version, created, engine, and the operation's figures."""
        manifests = [self._versions.read(n) for n in self._versions.numbers()]
        return [
            {
                "version": m.version,
                "created": m.created,
                "engine": m.engine,
                "asserted": m.files_of(ASSERTED.name).rows,
                "facts": m.files_of(FACT.name).rows,
                "bytes": m.bytes,
                **m.last,
            }
            for m in manifests
        ]

    @property
    def rulesets(self) -> tuple[RulesetText, ...]:
        """The store's rulesets: names, and texts of users' files."""
        return self._manifest.rulesets

    def facts_df(self) -> DataFrame:
        """The normalised closure (s, p, o: ids) as a Spark DataFrame; see also `table_df`."""
        return self.table_df(FACT.name)

    def table_df(self, name: str) -> DataFrame:
        """A stored table ("term", "asserted", "fact", "same_as", "violation") as a Spark DataFrame."""
        tables = {t.name: t for t in STORED}
        if name not in tables:
            raise UsageError(f"no table '{name}'; give one of {', '.join(tables)}")
        if self._engine.name != "spark":
            raise UsageError("DataFrames need the Spark engine: open the store with Store.open(path, spark=session)")
        self._workspace.views(tables[name])
        frame: DataFrame = self._engine.spark.table(name)  # type: ignore[attr-defined]
        return frame

    # -- inside ----------------------------------------------------------------------------------------------------

    @contextmanager
    def _writing(self) -> Iterator[Transaction]:
        """A transaction on the newest version; whatever goes wrong in it leaves the store as it was."""
        if self._pinned:
            raise UsageError(f"version {self.version} was opened to read (--at); open the newest version to change it")
        self._newest()
        manifest = self._manifest
        try:
            yield Transaction(self._workspace, self.verbose)
        except BaseException:
            self._workspace.forget(manifest)
            raise

    def _newest(self) -> None:
        """Move on to the version that another writer may have published since."""
        newest = self._versions.read()
        if newest.version != self._manifest.version:
            self._workspace.forget(newest)

    def _readable(self) -> None:
        if not self._manifest.materialised:
            raise UsageError(
                f"the closure of {self.path} is not up to date (files were loaded with --no-materialise); "
                f"run `triplake materialise {self.path}` first"
            )

    def _violations(self, limit: int | None = None) -> list[tuple[Violation, list[int]]]:
        """The inconsistencies in the order of `check`, with their rows."""
        self._readable()
        self._workspace.views(VIOLATION, TERM)
        ranked = "SELECT rule, facts, row_number() OVER (PARTITION BY rule ORDER BY facts) AS n FROM violation"
        bounded = "" if limit is None else f" WHERE n <= {limit}"
        rows = self._engine.query(f"SELECT rule, facts FROM ({ranked}) v{bounded} ORDER BY rule, n").to_pylist()
        tokens = dictionary.decode(self._engine, (i for row in rows for i in row["facts"]))
        found = []
        for row in rows:
            terms = [to_rdflib(tokens[i]) for i in row["facts"]]
            triples = tuple((terms[i], terms[i + 1], terms[i + 2]) for i in range(0, len(terms), 3))
            found.append((Violation(row["rule"], triples), list(row["facts"])))
        return found

    def _equality_source(self) -> ProofSource:
        if self.equality == "off":
            raise UsageError(
                f"{self.path} has equality off: owl:sameAs is a property like any other there, and makes nothing one"
            )
        return self._proof_source()

    def _proof_source(self) -> ProofSource:
        """The closure as proofs read it; kept for as long as the workspace's tables are."""
        from triplestore.proof.computed import Source
        from triplestore.proof.source import source

        self._readable()
        self._workspace.views(TERM, ASSERTED, FACT, SAME_AS)
        self._workspace.stated(twins(self._manifest))
        kept = self._workspace.proofs
        if kept is None or kept[0] is not self._manifest:
            congruence = rules_of(RulesetText("equality")) if self.equality == "axioms" else ()
            kept = self._manifest, source(self._engine, reasoning(self._engine, self._manifest), congruence)
            self._workspace.proofs = kept
        assert isinstance(kept[1], Source)
        return kept[1]

    def _reading(self, at: Progress) -> None:
        if at.stage != "parsed":
            done = f", {at.done_triples:,} triples so far" if at.done_triples else ""
            self.notify(f"{at.stage} {at.file}{done}, {at.seconds:.1f} s")

    def _triples_sql(self, what: str, same_as: str, virtual: bool = False) -> str:
        if what != "asserted":
            self._readable()
        self._workspace.views(ASSERTED, FACT, SAME_AS, TERM)
        typed = resources(self._manifest) if virtual else None
        return closure.triples_sql(what, same_as, self.equality, twins(self._manifest), typed)

    def _matching(self, pattern: Sequence[str | None], what: str) -> Iterator[TokenTriple]:
        """Token triples that have the terms of a pattern."""
        if what == "asserted" or all(token is None for token in pattern):
            yield from self._among(pattern, what)
            return
        if what not in closure.WHAT:
            raise UsageError(f"no part '{what}' of a store; give one of {', '.join(closure.WHAT)}")
        from sparql import match

        stated = set(self._among(pattern, "asserted")) if what == "inferred" else ()
        for row in match(self._graph(), *pattern).tokens():
            if row not in stated:
                yield row  # type: ignore[misc]

    def _among(self, pattern: Sequence[str | None], what: str) -> Iterator[TokenTriple]:
        self._workspace.views(TERM)
        ids = dictionary.lookup(self._engine, (token for token in pattern if token is not None))
        if any(token is not None and token not in ids for token in pattern):
            return
        bound = [f"{c} = {ids[token]}" for c, token in zip("spo", pattern, strict=True) if token is not None]
        where = f" WHERE {' AND '.join(bound)}" if bound else ""
        triples = f"SELECT s, p, o FROM ({self._triples_sql(what, 'expand')}) t{where}"
        for batch in self._engine.batches(closure.tokens_sql(triples)):
            yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def _tokens(triple: Any) -> TokenTriple:
    s, p, o = triple[:3]
    return from_rdflib(s), from_rdflib(p), from_rdflib(o)


def _fragmented(files: TableFiles) -> bool:
    return len(files.files) > 1 or bool(files.tombstones)


def _names(rulesets_: Iterable[RulesetText]) -> str:
    return ", ".join(r.name for r in rulesets_) or "none"


def _rate(rows: int, seconds: float) -> str:
    return f"in {seconds:.2f} s ({rows / max(seconds, 1e-6):,.0f}/s)"


__all__ = ["EQUALITY_MODES", "LoadReport", "Source", "Store", "Violation"]
