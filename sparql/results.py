"""The answer to a query: rows of RDF terms, and every form that people want them in."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TextIO

import pyarrow as pa

from sparql.formats import write_result
from triplestore.terms import to_ntriples, to_rdflib

if TYPE_CHECKING:
    from rdflib.term import Node


class Result:
    """The answer to a query.

    kind: select, ask, construct or describe. variables: the columns, in order (the triples of CONSTRUCT and DESCRIBE
    have subject, predicate, object). Iterating gives tuples of rdflib terms, None where a variable is unbound; an ASK
    has one answer, `boolean`, and no rows. The rows are in memory, as an Arrow table of tokens.
    """

    def __init__(self, kind: str, variables: tuple[str, ...], table: pa.Table, truth: bool | None = None) -> None:
        self.kind, self.variables, self._table, self._truth = kind, variables, table, truth

    @property
    def boolean(self) -> bool:
        """The answer of ASK; for the others, whether there is any row."""
        return self._truth if self._truth is not None else len(self) > 0

    def __bool__(self) -> bool:
        return self.boolean

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def tokens(self) -> Iterator[tuple[str | None, ...]]:
        """The rows as tokens (`triplestore.terms`), None where a variable is unbound."""
        if not self.variables:
            yield from ((),) * len(self)
            return
        for batch in self._table.to_batches():
            yield from zip(*(batch.column(i).to_pylist() for i in range(len(self.variables))), strict=True)

    def __iter__(self) -> Iterator[tuple[Node | None, ...]]:
        known: dict[str, Node] = {}
        for row in self.tokens():
            terms: list[Node | None] = []
            for token in row:
                if token is not None and token not in known:
                    known[token] = to_rdflib(token)
                terms.append(None if token is None else known[token])
            yield tuple(terms)

    def to_arrow(self) -> pa.Table:
        """One string column per variable: the terms as N-Triples writes them, NULL where unbound."""
        columns = []
        for place in range(len(self.variables)):
            tokens = self._table.column(place).to_pylist()
            columns.append(pa.array([None if t is None else to_ntriples(t) for t in tokens], pa.string()))
        return pa.table(columns, names=list(self.variables))

    def to_pandas(self) -> Any:
        """`to_arrow` as a pandas DataFrame. Needs pandas."""
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """`to_arrow` as a polars DataFrame. Needs polars."""
        polars = importlib.import_module("polars")
        return polars.from_arrow(self.to_arrow())

    def to_spark(self, spark: Any) -> Any:
        """`to_arrow` as a DataFrame of a Spark session."""
        return spark.createDataFrame(self.to_arrow())

    def write(self, out: TextIO, format: str = "table") -> None:
        """Write the answer: table, csv, tsv, json, xml (SPARQL 1.1 results), or nt, ttl for triples.

        Raises UsageError for a format that does not fit the kind of query.
        """
        write_result(self, out, format)
