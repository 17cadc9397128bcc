"""A version of a store, open for reading: what a `Store` can do that changes nothing.

What the methods do is in the modules beside this one, over a `Session`: `query`, `proofs`, `stats`, `equality`, `log`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from html import escape
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Never, Self

from triplestore.closure.expand import written, written_sql
from triplestore.model import arguments
from triplestore.model.arguments import check_text
from triplestore.model.dataset import Quad
from triplestore.model.endpoints import normalised_all
from triplestore.model.errors import UsageError
from triplestore.model.prefixes import Prefixes
from triplestore.model.tables import ASSERTED, FACT, QUAD, SAME_AS, STORED, TERM
from triplestore.model.terms import from_rdflib, to_rdflib_all
from triplestore.ontology.profile import Finding
from triplestore.read import graphs, log, query, shapes, stats
from triplestore.read.explained import Explained
from triplestore.read.graphs import GraphSize
from triplestore.read.log import LogEntry
from triplestore.read.names import graph_token
from triplestore.read.session import Notify, in_turn, several
from triplestore.read.stats import StoreStats
from triplestore.storage.manifest import RulesetText

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pyspark.sql import DataFrame
    from rdflib.term import Node

    from triplake.loaders import Progress
    from triplake.sparql import Result
    from triplake.sparql.explain import QueryExplanation
    from triplestore.materialise.figures import RoundFigures
    from triplestore.read.differences import Difference
    from triplestore.shapes.report import ValidationReport

_OF_IDS: Final = tuple(table.name for table in (ASSERTED, QUAD, FACT, SAME_AS))
"""The tables whose columns are ids of terms."""

TokenTriple = tuple[str, str, str]

Pattern = tuple["Node | None", ...]
"""Terms to look for, None for any."""


class StoreVersion(Explained):
    """A store at one of its versions. Several threads may call it: they take turns (`triplestore.read.session`)."""

    def _repr_html_(self) -> str:
        """What it is, for notebooks."""
        manifest = self._session.manifest
        found = {
            "store": str(self.path),
            "version": f"{self.version:,}",
            "asserted": f"{manifest.files_of(ASSERTED.name).rows:,}",
            "stored facts": f"{manifest.files_of(FACT.name).rows:,}" + ("" if self.materialised else ", out of date"),
            "rules": ", ".join(ruleset.name for ruleset in manifest.rulesets) or "none",
            "equality": self.equality,
            "engine": self.engine_name,
        }
        rows = (f"<tr><th>{name}</th><td>{escape(text)}</td></tr>" for name, text in found.items())
        return f"<table><tbody>{''.join(rows)}</tbody></table>"

    def close(self) -> None:
        """Free the engine, once the call of another thread has ended; any further one raises UsageError.
        The store on disk needs no closing."""
        self._turns.close(self._free)

    def _free(self) -> None:
        self._session.reading.end()
        self._session.versions.withdraw()
        self._session.engine.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.path}, version {self.version}>"

    if not TYPE_CHECKING:  # type checkers know which attributes there are

        def __getattr__(self, name: str) -> Any:
            raise arguments.absent(f"{type(self).__name__!r} object", name, arguments.STORE)

    def __bool__(self) -> bool:
        """True: an empty store is a store too."""
        return True

    def __len__(self) -> int:
        """How many triples the closure has: see `count`."""
        return self.count()

    def __iter__(self) -> Iterator[tuple[Node, Node, Node]]:
        """The triples of the closure: see `triples`."""
        return self.triples()

    def __contains__(self, triple: object) -> bool:
        """Whether a triple is in the closure; None is any term, as for `match`."""
        if not isinstance(triple, tuple):
            raise UsageError(f"{triple!r} is not a triple: write (s, p, o) in store, with rdflib terms")
        return next(self.match(triple), None) is not None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    @property
    def path(self) -> Path | str:
        """The store's folder, or its URL."""
        return self._session.path

    @property
    def version(self) -> int:
        """The version that this object reads."""
        return self._session.manifest.version

    @property
    def equality(self) -> str:
        """How owl:sameAs is handled: "rewrite", "axioms" or "off"."""
        return self._session.manifest.equality.value

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
    def live(self) -> Callable[[Progress], None] | None:
        """What gets, each half second and in another thread, how far the files of a load are read. Set it to see it."""
        return self._session.live

    @live.setter
    def live(self, live: Callable[[Progress], None] | None) -> None:
        self._session.live = live

    @property
    def rounds(self) -> Callable[[RoundFigures], None]:
        """What gets the figures of each round of a materialisation. Set it to see any."""
        return self._session.rounds

    @rounds.setter
    def rounds(self, rounds: Callable[[RoundFigures], None]) -> None:
        self._session.rounds = rounds

    @property
    def services(self) -> tuple[str, ...]:
        """The SPARQL endpoints that SERVICE in queries and updates may ask, by their addresses: none, until you set
        some. Raises UsageError for what is not an address of http or https."""
        return self._session.services

    @services.setter
    def services(self, addresses: str | Sequence[str]) -> None:
        self._session.services = normalised_all(several(addresses))

    @property
    def rulesets(self) -> tuple[RulesetText, ...]:
        """The store's rulesets: names, and texts of users' files."""
        return self._session.manifest.rulesets

    @property
    def default_graph(self) -> str:
        """What queries read that name no graph, and rules see: "union", all graphs, or "separate", the unnamed one."""
        return self._session.manifest.default_graph.value

    @property
    def has_named_graphs(self) -> bool:
        """Whether a triple is in a named graph."""
        return self._session.manifest.has_graphs

    @property
    def prefixes(self) -> Prefixes:
        """The prefixes that the store keeps: those that the user has added, then those of loaded files and updates."""
        return self._session.manifest.prefixes

    def query(
        self,
        text: str,
        same_as: str = "expand",
        stream: bool = False,
        generalised: bool = False,
        prefer: str | Sequence[str] = (),
        base: str | None = None,
        default_graphs: str | Sequence[str] = (),
        named_graphs: str | Sequence[str] = (),
        bindings: Mapping[str, object] | None = None,
        **unknown: Never,
    ) -> Result:
        """Answer a SPARQL query (SELECT, ASK, CONSTRUCT, DESCRIBE) over the closure.

        same_as: "expand" answers over every member of a class, "canonical" one row per class. stream: the rows come as
        they are found, to be read once, before the store changes; memory does not grow with them.
        generalised: match also the derived triples that RDF has no place for (a literal as subject, a blank node as
        predicate). prefer: in canonical answers a class appears as its member that starts with the first of these, or
        as the one that comes first anyhow: built-in vocabulary, IRIs, blank nodes, of these the shortest.
        base: what relative IRIs are resolved against, unless the text has a BASE. default_graphs, named_graphs: names
        of graphs (IRIs) to read in place of those that the text chooses by FROM and FROM NAMED; none: what it says.
        bindings: variables -> rdflib terms, or Python values: as VALUES at the start of the WHERE.
        """
        with self._turns.turn():
            arguments.check_keywords("query", unknown, arguments.QUERY)
            check_text("a query", text)
            chosen = several(default_graphs), several(named_graphs)
            how = same_as, stream, generalised, several(prefer), base, *chosen, bindings
            found = query.query(self._session, text, *how)
        return found.through(self._turns.pieces, self._turns.call) if stream else found

    @in_turn
    def explain_query(
        self, text: str, same_as: str = "expand", prefer: str | Sequence[str] = (), base: str | None = None
    ) -> QueryExplanation:
        """Run a SPARQL query for how it is answered: algebra, SQL, and the engine's plan with the rows it counted.
        base: see `query`."""
        check_text("a query", text)
        return query.explain_query(self._session, text, same_as, several(prefer), base)

    def triples(
        self, what: str | Pattern = "all", same_as: str = "expand", virtual: bool = False
    ) -> Iterator[tuple[Node, Node, Node]]:
        """The store's triples as rdflib terms: "asserted", "inferred" or "all". Given a tuple (s, p, o), as rdflib's
        graphs are, it is `match`.

        virtual: also what holds of every term and is not stored: that it equals itself (unless equality is off) and, by
        the rules of RDFS, is an rdfs:Resource.
        """
        if isinstance(what, tuple):
            return self.match(what)
        return chain.from_iterable(self._turns.pieces(query.triples(self._session, what, same_as, virtual)))

    def match(
        self,
        subject: Node | Pattern | None = None,
        predicate: Node | None = None,
        object: Node | None = None,
        what: str = "all",
    ) -> Iterator[tuple[Node, Node, Node]]:
        """The triples of the closure (or of its asserted or inferred part) that have these terms; None is any. The
        three may be given as one tuple."""
        pattern = _pattern(subject, predicate, object)
        return chain.from_iterable(self._turns.pieces(query.matching(self._session, pattern, what)))

    def match_quads(
        self,
        subject: Node | Pattern | None = None,
        predicate: Node | None = None,
        object: Node | None = None,
        graph: Node | None = None,
    ) -> Iterator[tuple[Node, Node, Node, Node | None]]:
        """The asserted triples that have these terms (None is any), each with the name of a graph that it is in, None
        for the unnamed one. graph: only those in this graph; the unnamed one is <urn:x-triplake:default>. The four may
        be given as one tuple."""
        *pattern, name = _pattern(subject, predicate, object, graph)
        found = self._turns.pieces(graphs.matching(self._session, pattern, name))
        nodes = (tuple(to_rdflib_all(quad)) for quads in found for quad in quads)
        return ((s, p, o, named[0] if named else None) for s, p, o, *named in nodes)

    def token_batches(
        self,
        what: str = "all",
        same_as: str = "expand",
        virtual: bool = False,
        prefer: str | Sequence[str] = (),
        grouped: bool = False,
    ) -> Iterator[list[TokenTriple]]:
        """The store's triples as tokens, in batches; see `triples`, and `query` for `prefer`. grouped: those of a
        subject come together."""
        found = query.token_batches(self._session, what, same_as, virtual, several(prefer), grouped)
        return self._turns.pieces(found)

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
    def graphs(self) -> list[GraphSize]:
        """The unnamed graph, then the named ones by name, with their numbers of triples. Names are tokens; the unnamed
        one's is `<urn:x-triplake:default>`."""
        return graphs.graphs(self._session)

    def quad_batches(self, ordered: bool = False) -> Iterator[list[Quad]]:
        """All asserted quads as tokens, in batches, those of the unnamed graph as triples. ordered: those of a graph
        come together, of these those of a subject."""
        return self._turns.pieces(graphs.quad_batches(self._session, ordered))

    def graph_batches(self, graph: str, grouped: bool = False) -> Iterator[list[TokenTriple]]:
        """The asserted triples of a graph (an IRI, or a token) as tokens, in batches. grouped: those of a subject come
        together. Of a graph that there is not, none."""
        return self._turns.pieces(graphs.token_batches(self._session, graph, grouped))

    @in_turn
    def asserted_in(self, triples: Sequence[TokenTriple]) -> list[list[str]]:
        """The graphs of each of some asserted triples (tokens) of the default graph, by name (tokens): the unnamed one,
        `<urn:x-triplake:default>`, first."""
        return graphs.asserted_in(self._session, triples)

    @in_turn
    def has_graph(self, graph: str) -> bool:
        """Whether there is a named graph (an IRI, or a token), be it empty."""
        return graphs.exists(self._session, graph_token(graph))

    @in_turn
    def validate(self, given: str | Path | Iterable[Any], format: str | None = None) -> ValidationReport:
        """Validate the closure, all equalities expanded, against shapes of SHACL Core: their files, or an rdflib Graph.

        Raises InputError for a graph that is no shapes graph and for recursive shapes, UnsupportedError for shapes that
        need more than SHACL Core."""
        return shapes.validate(self._session, shapes.read(self._session, given, format, "--shapes-format"))

    @in_turn
    def outside_profile(self) -> list[Finding]:
        """The asserted axioms that this store's rules do not use, or use in part: outside OWL 2 RL, or without rule."""
        return stats.outside_profile(self._session)

    @in_turn
    def missing_imports(self) -> dict[str, list[str]]:
        """What is imported by owl:imports and was not loaded: IRI -> the IRIs of the ontologies that import it."""
        return stats.missing_imports(self._session)

    @in_turn
    def count(self, what: str = "all") -> int:
        """How many triples `triples` gives of a part: "asserted", "inferred" or "all". Of a closure that is not up to
        date those that it has."""
        return stats.count(self._session, what)

    @in_turn
    def stats(self) -> StoreStats:
        """Counts of this version; keys as `triplake stats --json` documents them."""
        return stats.stats(self._session)

    @in_turn
    def log(self, version: int | None = None) -> list[LogEntry]:
        """The versions that can be read (or one of them), oldest first: version, created, engine, and the operation's
        figures. Raises UsageError for an unknown one."""
        return log.log(self._session, version)

    def log_facts(self, version: int | None = None, most: int | None = None) -> AbstractContextManager[Difference]:
        """What a version (default: the newest) added and removed, to be read before anything else is asked of this
        store. Raises UsageError where the version before it has been vacuumed, or where more than `most` rows of files
        would be compared."""
        return log.log_facts(self._session, version, most)

    def plot_versions(self, ax: Axes | None = None) -> Axes:
        """Draw how many triples each version has, asserted and stored. ax: where; None: on a figure of its own (extra
        `plots`)."""
        from triplestore.read.plots import plot_versions  # when asked for: a store opens without it

        return plot_versions(self.log(), ax)

    def facts_df(self, terms: bool = False) -> DataFrame:
        """The normalised closure (s, p, o) as a Spark DataFrame; see `table_df`."""
        return self.table_df(FACT.name, terms)

    def asserted_df(self, terms: bool = False) -> DataFrame:
        """What is asserted (s, p, o) as a Spark DataFrame; see `table_df`."""
        return self.table_df(ASSERTED.name, terms)

    def same_as_df(self, terms: bool = False) -> DataFrame:
        """The members of the classes of equals (term, representative) as a Spark DataFrame; see `table_df`."""
        return self.table_df(SAME_AS.name, terms)

    @in_turn
    def terms_df(self) -> DataFrame:
        """The dictionary (id, and term as N-Triples writes it) as a Spark DataFrame."""
        self.table_df(TERM.name)
        return self._frame(f"SELECT t.id, {written('t', self._session.engine.dialect)} AS term FROM term t")

    @in_turn
    def table_df(self, name: str, terms: bool = False) -> DataFrame:
        """A stored table ("term", "asserted", "fact", "same_as", "violation" ..) as a Spark DataFrame of this version.

        terms: in place of ids the terms as N-Triples writes them, of the tables that have ids alone. Raises UsageError
        for another table, or on another engine.
        """
        tables = {t.name: t for t in STORED}
        if name not in tables:
            raise UsageError(f"no table '{name}'; give one of {', '.join(tables)}")
        if self._session.engine.name != "spark":
            raise UsageError("DataFrames need the Spark engine: open the store with Store.open(path, spark=session)")
        self._session.workspace.views(tables[name], TERM)
        if not terms:
            return self._frame(f"SELECT * FROM {name}")
        if name not in _OF_IDS:
            raise UsageError(f"the table '{name}' has more than ids: terms=True is for {', '.join(_OF_IDS)}")
        return self._frame(written_sql(name, tables[name].names, self._session.engine.dialect))

    def _frame(self, sql: str) -> DataFrame:
        frame: DataFrame = self._session.engine.frame(sql)  # type: ignore[attr-defined]
        return frame


def _pattern(first: Node | Pattern | None, *others: Node | None) -> tuple[str | None, ...]:
    """Terms to look for as tokens; the first may be a tuple of all. Raises UsageError for what are not so many rdflib
    terms."""
    given: Sequence[Node | None] = (first, *others) if not isinstance(first, tuple) else first
    if len(given) != len(others) + 1 or (isinstance(first, tuple) and any(term is not None for term in others)):
        raise UsageError(f"{first!r} is not a pattern: give {len(others) + 1} rdflib terms, None for any")
    return tuple(None if term is None else from_rdflib(term) for term in given)
