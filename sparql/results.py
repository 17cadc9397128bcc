"""The answer to a query: rows of RDF terms, and every form that people want them in.

Its terms are kept from one answer to the next by a node cache (`Nodes`), as Apache Jena's TDB has it: an answer is
found as ids, each of which is read from the dictionary once, and made an rdflib term once, for all answers over the
same version of a store.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from html import escape
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, TextIO, TypeVar

import pyarrow as pa

from triplake.sparql.formats import write_result
from triplake.sparql.frames import data_frame
from triplake.sparql.typed import typed_column
from triplestore.dictionary.encoding import decode
from triplestore.engine import Workbench
from triplestore.engine.arrow import int64s
from triplestore.model import arguments
from triplestore.model.errors import EngineError, UsageError
from triplestore.model.prefixes import Names
from triplestore.model.tables import token_sql
from triplestore.model.terms import from_rdflib, to_ntriples, to_rdflib_all
from triplestore.model.thresholds import SIZES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from rdflib.term import Node

if TYPE_CHECKING:
    from rdflib.term import Node


SHOWN: Final = 20
"""Rows that a notebook shows."""

_STYLE: Final = "text-align:left; vertical-align:top; overflow-wrap:anywhere"


def table_html(names: Sequence[str], rows: Iterable[Sequence[str]], below: str = "") -> str:
    """A table of cells that are HTML already, and a line below it, which is text."""
    head = "".join(f'<th style="{_STYLE}">{escape(name)}</th>' for name in names)
    body = "".join("<tr>" + "".join(f'<td style="{_STYLE}">{cell}</td>' for cell in row) + "</tr>" for row in rows)
    note = f"<p>{escape(below)}</p>" if below else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{note}"


def term_html(token: str | None, names: Names) -> str:
    """A term: an IRI as a link where it is one of the web, by its prefix; nothing where it is unbound."""
    if token is None:
        return ""
    text = escape(names.token(token))
    if token.startswith(("<http://", "<https://")):
        return f'<a href="{escape(token[1:-1])}">{text}</a>'
    return text


UNBOUND: Final = -1
"""What stands for no term among ids."""


class Nodes:
    """Tokens and rdflib terms by id. Entries are never changed or removed: answers share them.

    characters: those of all tokens.
    """

    def __init__(self) -> None:
        self.characters = 0
        self._tokens: dict[int, str | None] = {UNBOUND: None}
        self._terms: dict[int, Node | None] = {UNBOUND: None}

    def __len__(self) -> int:
        return len(self._tokens)

    def lacking(self, ids: Iterable[int]) -> list[int]:
        """Those ids that have not been learned."""
        return [number for number in ids if number not in self._tokens]

    def learn(self, engine: Workbench, ids: Collection[int]) -> None:
        """Read the tokens of ids from the dictionary (table `term`). Raises EngineError where it lacks one."""
        if ids:
            self.add(decode(engine, ids) if len(ids) <= SIZES.objects else _decoded(engine, ids))
            if lacking := self.lacking(ids):
                raise EngineError(f"the dictionary has no term {lacking[0]}, which an answer holds")

    def add(self, tokens: Mapping[int, str]) -> None:
        """Take what ids stand for from elsewhere."""
        self._tokens.update(tokens)
        self.characters += sum(map(len, tokens.values()))

    def some(self, ids: Iterable[int]) -> Nodes:
        """A copy with these ids, which have been learned, to add others to."""
        found = Nodes()
        found.add({number: token for number in ids if (token := self._tokens[number]) is not None})
        return found

    def tokens(self, ids: Iterable[int]) -> list[str | None]:
        """The tokens of ids that have been learned; None for `UNBOUND`."""
        return list(map(self._tokens.__getitem__, ids))

    def column(self, ids: pa.Array) -> pa.Array:
        """A column of ids that have been learned, as one of tokens."""
        encoded = ids.dictionary_encode()
        return pa.array(self.tokens(encoded.dictionary.to_pylist()), pa.string()).take(encoded.indices)

    def width(self, batch: pa.RecordBatch) -> int:
        """Bytes that the tokens of a row take at most, one byte at least. All ids have been learned."""
        width = 0
        for column in batch.columns:
            if pa.types.is_int64(column.type):
                tokens = self.tokens(column.fill_null(UNBOUND).unique().to_pylist())
                width += 4 * max((len(token) for token in tokens if token is not None), default=0)
        return max(width, 1)

    def terms(self, ids: Collection[int]) -> list[Node | None]:
        """The rdflib terms of ids that have been learned; None for `UNBOUND`."""
        try:
            return list(map(self._terms.__getitem__, ids))
        except KeyError:
            fresh = [number for number in set(ids) if number not in self._terms]
            self._terms.update(zip(fresh, to_rdflib_all(map(self._tokens.__getitem__, fresh)), strict=True))  # type: ignore[arg-type]
            return list(map(self._terms.__getitem__, ids))


def _decoded(engine: Workbench, ids: Collection[int]) -> dict[int, str]:
    """The tokens of many ids, by a join."""
    with engine.scratch() as scratch:
        asked = scratch.load("answer_id", pa.table({"id": int64s(ids)}))
        found = engine.query(f"SELECT t.id, {token_sql()} AS token FROM term t JOIN {asked} a ON a.id = t.id")
    return dict(zip(found.column(0).to_numpy().tolist(), found.column(1).to_pylist(), strict=True))


T = TypeVar("T")


class Row(tuple["Node | None", ...]):
    """A row: a tuple of rdflib terms, None where a variable is unbound, whose values are also had by the names of the
    variables: `row.name`, or `row["name"]` where tuples have a method of the name. Each result has its own class."""

    __slots__ = ()
    _fields: tuple[str, ...] = ()

    def __getattr__(self, name: str) -> Node | None:
        try:
            found: Node | None = self[self._fields.index(name)]
            return found
        except ValueError:
            raise AttributeError(f"the row has no {name!r}: its variables are {', '.join(self._fields)}") from None

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            try:
                return tuple.__getitem__(self, self._fields.index(key.removeprefix("?")))
            except ValueError:
                raise KeyError(f"the row has no {key!r}: its variables are {', '.join(self._fields)}") from None
        return tuple.__getitem__(self, key)

    def __reduce__(self) -> tuple[Any, ...]:
        """For pickle and copy. As tokens: pickled literals of rdflib's get another lexical form."""
        return _restored, (self._fields, tuple(None if term is None else from_rdflib(term) for term in self))

    def as_dict(self) -> dict[str, Node]:
        """The variables that are bound, with their terms."""
        return {name: term for name, term in zip(self._fields, self, strict=True) if term is not None}


def _row_of(fields: tuple[str, ...]) -> type[Row]:
    """The class of the rows that have these variables."""
    return type("Row", (Row,), {"__slots__": (), "_fields": fields})


def _restored(fields: tuple[str, ...], tokens: tuple[str | None, ...]) -> Row:
    terms = iter(to_rdflib_all(token for token in tokens if token is not None))
    return _row_of(fields)(None if token is None else next(terms) for token in tokens)


class Result:
    """The answer to a query.

    kind: select, ask, construct or describe. variables: the columns, in order (the triples of CONSTRUCT and DESCRIBE
    have subject, predicate, object). Iterating gives a `Row` of rdflib terms for each, `result[n]` one of them and
    `result[m:n]` a list; an ASK has one answer, `boolean`, and no rows.

    The rows are an Arrow table, or a stream of batches of it, of tokens or (columns of integers) of ids that `nodes`
    has learned. A stream is read once, unless `len` or one of the `to_` methods has collected it before.
    warnings: what is legal in the query, but hardly meant. names: how IRIs are written for people. frame: a stream as a
    data frame of tokens (c0, c1 ..), where the engine is Spark.
    """

    warnings: tuple[str, ...] = ()
    names: Names = Names()
    frame: Callable[[], DataFrame] | None = None

    def __init__(
        self,
        kind: str,
        variables: tuple[str, ...],
        rows: pa.Table | Iterator[pa.RecordBatch],
        truth: bool | None = None,
        nodes: Nodes | None = None,
    ) -> None:
        self.kind, self.variables, self._truth = kind, variables, truth
        self._nodes = nodes or Nodes()
        self._table: pa.Table | None = rows if isinstance(rows, pa.Table) else None
        self._stream: Iterator[pa.RecordBatch] | None = None if isinstance(rows, pa.Table) else iter(rows)

    @property
    def boolean(self) -> bool:
        """The answer of ASK; for the others, whether there is any row."""
        return self._truth if self._truth is not None else len(self) > 0

    if not TYPE_CHECKING:  # type checkers know which attributes there are

        def __getattr__(self, name: str) -> Any:
            raise arguments.absent("'Result' object", name, arguments.RESULT)

    def __bool__(self) -> bool:
        return self.boolean

    def __len__(self) -> int:
        return int(self._whole().num_rows)

    def at_most(self, rows: int) -> Result:
        """The same answer; reading more rows than that raises UsageError."""
        found = Result(self.kind, self.variables, self._bounded(rows), self._truth, self._nodes)
        found.warnings, found.names = self.warnings, self.names
        return found

    def through(
        self,
        pieces: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]],
        call: Callable[[Callable[[], DataFrame]], DataFrame],
    ) -> Result:
        """The same answer, a stream read by way of `pieces`, or made a data frame by `call`; what is whole already
        stays as it is."""
        if self._stream is not None:
            self._stream = pieces(self._stream)
        if self.frame is not None:
            self.frame = partial(call, self.frame)
        return self

    def _bounded(self, rows: int) -> Iterator[pa.RecordBatch]:
        found = 0
        for batch in self._batches():
            found += batch.num_rows
            if found > rows:
                raise UsageError(f"the answer has more than {rows:,} rows, the limit here: ask for fewer (LIMIT)")
            yield batch

    def _batches(self) -> Iterator[pa.RecordBatch]:
        """The rows: from the table, or once from the stream. Raises UsageError for a stream that was read."""
        if self._table is not None:
            yield from self._table.to_batches()
        elif self._stream is None:
            raise UsageError("a streamed result is read once: collect it with to_arrow(), or ask without stream=True")
        else:
            stream, self._stream = self._stream, None
            try:
                yield from stream
            finally:
                if close := getattr(stream, "close", None):
                    close()

    def _whole(self) -> pa.Table:
        if self._table is None:
            batches = list(self._batches())
            empty = pa.schema([(f"c{place}", pa.string()) for place in range(len(self.variables))])
            self._table = pa.Table.from_batches(batches, batches[0].schema if batches else empty)
        return self._table

    def tokens(self) -> Iterator[tuple[str | None, ...]]:
        """The rows as tokens (`triplestore.model.terms`), None where a variable is unbound."""
        for rows in self.token_batches():
            yield from rows

    def token_batches(self, size: int = 1_000) -> Iterator[list[tuple[str | None, ...]]]:
        """The rows as tokens, so many at a time at most."""
        for part in self._parts(size):
            yield _rows(part, [self._tokens(column) for column in part.columns[: len(self.variables)]])

    def _parts(self, size: int) -> Iterator[pa.RecordBatch]:
        """The rows, so many at a time at most, and `SIZES.batch` of them."""
        for batch in self._batches():
            rows = min(size, max(SIZES.batch * batch.num_rows // max(batch.nbytes, 1), 1))
            for start in range(0, batch.num_rows, rows):
                yield batch.slice(start, rows)

    def _tokens(self, column: pa.Array) -> list[str | None]:
        return self._nodes.tokens(_ids(column)) if pa.types.is_integer(column.type) else column.to_pylist()

    def __iter__(self) -> Iterator[Row]:
        known: dict[str | None, Node | None] = {}
        row = _row_of(self.variables)
        for part in self._parts(SIZES.objects):
            if len(known) > SIZES.remembered:
                known.clear()
            columns = part.columns[: len(self.variables)]
            yield from map(row, _rows(part, [self._terms(column, known) for column in columns]))

    def __getitem__(self, place: int | slice) -> Any:
        """A row, or a list of rows. Raises IndexError beyond the last."""
        places = range(len(self))[place]
        if isinstance(places, range):
            part = self._whole().take(pa.array(places, pa.int64()))
            return list(Result(self.kind, self.variables, part, self._truth, self._nodes))
        return next(iter(Result(self.kind, self.variables, self._whole().slice(places, 1), self._truth, self._nodes)))

    def _terms(self, column: pa.Array, known: dict[str | None, Node | None]) -> list[Node | None]:
        """The rdflib terms of a column; `known` has those of tokens that were met before."""
        if pa.types.is_integer(column.type):
            return self._nodes.terms(_ids(column))
        tokens = column.to_pylist()
        known[None] = None
        fresh = [token for token in set(tokens) if token not in known]
        known.update(zip(fresh, to_rdflib_all(fresh), strict=True))
        return [known[token] for token in tokens]

    def to_arrow(self, typed: bool = True) -> pa.Table:
        """One column per variable, NULL where it is unbound: numbers, truth values, dates and times as such where all
        of a column are (`triplake.sparql.typed`), else the texts of literals, and IRIs.

        typed: False gives all terms as N-Triples writes them, with datatypes and languages."""
        columns = []
        for place in range(len(self.variables)):
            encoded = self._whole().column(place).combine_chunks().dictionary_encode()
            tokens = self._tokens(encoded.dictionary)
            texts = [None if t is None else to_ntriples(t) for t in tokens]
            columns.append((typed_column(tokens) if typed else pa.array(texts, pa.string())).take(encoded.indices))
        return pa.table(columns, names=list(self.variables))

    def to_pandas(self, typed: bool = True) -> Any:
        """`to_arrow` as a pandas DataFrame. Raises UsageError where pandas is not installed."""
        try:
            importlib.import_module("pandas")
        except ImportError as error:
            raise UsageError("to_pandas needs pandas, which is not installed: pip install pandas") from error
        return self.to_arrow(typed).to_pandas()

    def to_polars(self, typed: bool = True) -> Any:
        """`to_arrow` as a polars DataFrame. Raises UsageError where polars is not installed."""
        try:
            polars = importlib.import_module("polars")
        except ImportError as error:
            raise UsageError("to_polars needs polars, which is not installed: pip install polars") from error
        return polars.from_arrow(self.to_arrow(typed))

    def to_spark(self, spark: SparkSession | None = None, typed: bool = True) -> DataFrame:
        """`to_arrow` as a DataFrame of a Spark session: the one given, else the one that is active in this process.

        A stream of a store on Spark that nobody has read is a DataFrame of the store's own session, whose rows do not
        pass the driver: it stays as it is when the store changes, and can be read until it is closed or what it reads
        is vacuumed. Raises UsageError where no session is active, and for ASK, which has no rows.
        """
        if self.kind == "ask":
            raise UsageError("the answer to ASK has no rows for a DataFrame: read result.boolean")
        if self.frame is not None and self._table is None and self.variables:
            return data_frame(self.frame(), self.variables, typed)
        return (spark or _active_session()).createDataFrame(self.to_arrow(typed))

    def _repr_html_(self) -> str:
        """The first rows, for notebooks; of a stream, which is read once, only what it is."""
        if self._truth is not None:
            return f"<p>{'yes' if self._truth else 'no'}</p>"
        if self._table is None:
            return "<p>a streamed result, which is read once</p>"
        rows = ([term_html(token, self.names) for token in row] for row in islice(self.tokens(), SHOWN))
        return table_html(self.variables, rows, f"the first {SHOWN} of {len(self):,} rows" if len(self) > SHOWN else "")

    def write(self, out: TextIO, format: str = "table") -> None:
        """Write the answer: table, csv, tsv, json, xml (SPARQL 1.1 results), or nt, ttl, rdf for triples.

        All but `table` are written as the rows come. Raises UsageError for a format that does not fit the query.
        """
        write_result(self, out, format)


def _active_session() -> SparkSession:
    """The Spark session that is active in this process. Raises UsageError where there is none."""
    if "pyspark" in sys.modules:  # else nobody has started a session
        from pyspark.errors import PySparkRuntimeError
        from pyspark.sql import SparkSession

        with suppress(PySparkRuntimeError):
            return SparkSession.active()
    raise UsageError(
        "no Spark session is active here: pass one, as in to_spark(session), or open the store with engine='spark'"
    )


def _ids(column: pa.Array) -> list[int]:
    """A column of ids, unbound ones too."""
    found: list[int] = column.fill_null(UNBOUND).to_numpy().tolist()
    return found


def _rows(part: pa.RecordBatch, columns: Sequence[Sequence[T]]) -> list[tuple[T, ...]]:
    """Columns as rows; as many without columns as the part has."""
    return list(zip(*columns, strict=True)) if columns else [()] * part.num_rows
