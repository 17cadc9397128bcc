"""What a store loads: its methods that add the triples of files and tables."""

from __future__ import annotations

from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Never, get_args

from triplake.loaders import MOST, LoadReport, Mapping, OnError
from triplestore.model import arguments
from triplestore.model.errors import UsageError
from triplestore.read.session import in_turn
from triplestore.read.version import StoreVersion
from triplestore.write import frames, load

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from rdflib import Graph


def _check_on_error(on_error: str) -> None:
    if on_error not in get_args(OnError):
        raise UsageError(f"on_error is one of {', '.join(map(repr, get_args(OnError)))}, not {on_error!r}")


class LoadedStore(StoreVersion):
    """A store that what is elsewhere can be loaded into."""

    def load(
        self,
        *files: str | Path | IO[Any] | Graph,
        data: str | bytes | None = None,
        format: str | None = None,
        materialise: bool = True,
        on_error: OnError = "stop",
        rejects: str | Path | None = None,
        maintain: str = "auto",
        base: str | None = None,
        graph: str = "",
        graph_per_file: bool = False,
        most_fetched: int = MOST,
        dry_run: bool = False,
        **unknown: Never,
    ) -> LoadReport:
        """Add the triples of RDF files (folders, globs and "-" too), of http(s) URLs, of files that are open, and of
        graphs and datasets of rdflib, then bring the closure up to date.

        data: a text in the syntax that `format` names, as well. format: a name, or a media type, where suffixes (of
        URLs also media types) do not tell. most_fetched: bytes of a document that is fetched. on_error: "skip" leaves
        out what cannot be parsed and writes it to `rejects`. base: what relative IRIs are resolved against (default:
        each file's own `file:` IRI, or URL). graph: the IRI of the graph that what is in no named graph goes into;
        graph_per_file: into one of each file, named by its `file:` IRI, or URL. dry_run: commit nothing; `effect` of
        the report tells what would be. Raises InputError with file, line and column; nothing is committed then.
        """
        arguments.check_keywords("load", unknown, arguments.LOAD)
        _check_on_error(on_error)
        into = load.Into.graph(graph, graph_per_file)
        given = self._session, files, format, materialise, on_error, rejects, maintain, base, into
        with self._turns.turn():
            return load.load(*given, data=data, most=most_fetched, dry=dry_run)

    @in_turn
    def load_dataframe(self, frame: DataFrame, on_error: OnError = "stop", maintain: str = "auto") -> LoadReport:
        """Add the triples of a Spark DataFrame (s, p, o, and g for those of named graphs), each term as N-Triples
        writes it, then bring the closure up to date. Rows where s, p or o is NULL are left out.

        on_error: as for `load`. The store need not be on Spark itself. Raises UsageError for other columns, InputError
        for what is no term.
        """
        _check_on_error(on_error)
        with frames.as_files(frame, self._session.versions.place) as files:
            return load.load(self._session, files, frames.FORMAT, True, on_error, None, maintain, None, load.Into())

    @in_turn
    def load_table(
        self,
        *given: object,
        template: str | Path,
        format: str | None = None,
        materialise: bool = True,
        maintain: str = "auto",
        graph: str = "",
        dry_run: bool = False,
    ) -> LoadReport:
        """Add the triples that a template makes of each row of tables, then bring the closure up to date.

        given: DataFrames (pandas, polars, Spark), Arrow tables and streams, DuckDB relations, lists of dicts, and paths
        of CSV and Parquet files (globs and "-" too). template: its text, or the Path of its file: Turtle with
        `{column}` for values (docs/tables.md). format: "csv", "tsv" or "parquet", where suffixes do not tell. graph:
        the IRI of the graph that the triples go into. dry_run: as for `load`.
        Raises UsageError for what is no table, a template that cannot be read (InputError, if it is a file) and a
        column that a table has not, InputError for what cannot be read, with the row; nothing is committed then.
        """
        from triplestore.write.tables import load_tables  # slow to import, for those who have no table

        return load_tables(self._session, given, template, format, materialise, maintain, graph, dry_run)

    @in_turn
    def load_rml(
        self,
        *mappings: str | Path,
        database: str = "",
        materialise: bool = True,
        maintain: str = "auto",
        graph: str = "",
        dry_run: bool = False,
    ) -> LoadReport:
        """Add the triples that mappings make of tables and other documents, then bring the closure up to date.

        mappings: documents of RML or R2RML (Turtle) or YARRRML; paths in them are relative to this process's folder.
        database: the URL of the one that their tables are in, as SQLAlchemy writes it. graph: the IRI of the graph that
        what is in no named graph goes into. morph-kgc does the work, in the Python that the environment variable
        TRIPLAKE_MORPH_KGC names (docs/tables.md). dry_run: as for `load`.
        Raises UsageError where there is none, InputError for a mapping that fails; nothing is committed then.
        """
        given = [Mapping(str(path), database) for path in mappings]
        into = load.Into.graph(graph, False)
        return load.load(self._session, given, None, materialise, "stop", None, maintain, None, into, dry=dry_run)

    @in_turn
    def replace(
        self,
        *files: str | Path,
        format: str | None = None,
        base: str | None = None,
        graph: str = "",
        dry_run: bool = False,
    ) -> LoadReport:
        """Let the triples of RDF files (none: nothing) take the place of all that were asserted, as one transaction.

        format, base, dry_run, errors: as for `load`. What is asserted before and after keeps its ids; blank nodes of a
        single file keep the labels that the store gave them. graph: the name of a graph (an IRI, or a token), of which
        alone the triples are replaced: `urn:x-triplake:default` is the unnamed one. Without triples there is an empty
        graph then. Raises UsageError where files with other graphs are to replace one.
        """
        return load.replace_all(self._session, files, format, base, graph, dry_run)
