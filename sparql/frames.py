"""Answers as data frames of Spark, made where their rows are found: none passes the driver."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from triplake.sparql.typed import CONVERSIONS, Conversion, fitting
from triplestore.closure.expand import escaped
from triplestore.engine.dialect import SparkDialect

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_SQL: Final = SparkDialect()


def data_frame(rows: DataFrame, variables: tuple[str, ...], typed: bool) -> DataFrame:
    """Rows of tokens (columns c0, c1 ..) as `Result.to_arrow` gives them.

    typed: the rows are found once for what the columns have, and again when the data frame is read.
    """
    columns = [_Column(f"c{place}") for place in range(len(variables))]
    chosen = _conversions(rows, columns) if typed else [None] * len(columns)
    shown = []
    for name, column, conversion in zip(variables, columns, chosen, strict=True):
        text = column.text if typed else column.written
        shown.append(f"{column.value(conversion) if conversion else text} AS `{name}`")
    return rows.selectExpr(*shown)


def _conversions(rows: DataFrame, columns: list[_Column]) -> list[Conversion | None]:
    """The conversion of each column, None where it is one of texts."""
    datatypes = sorted(set().union(*(conversion.datatypes for conversion in CONVERSIONS)))
    known = ", ".join(map(_SQL.string, datatypes))
    asked = []
    for column in columns:
        kind = f"CASE WHEN {column.literal} AND {column.datatype} IN ({known}) THEN {column.datatype} ELSE '' END"
        asked.append(f"collect_set(CASE WHEN {column.name} IS NOT NULL THEN {kind} END)")
        for conversion in CONVERSIONS:
            held = f"{column.matches(conversion)} AND {column.value(conversion)} IS NOT NULL"
            asked.append(f"bool_and({column.name} IS NULL OR ({held}))")
    found = rows.selectExpr(*asked).first()
    assert found is not None  # an aggregate without GROUP BY
    answers = iter(found)
    chosen: list[Conversion | None] = []
    for _ in columns:
        kinds = set(next(answers))
        holding = [conversion for conversion in CONVERSIONS if next(answers)]
        chosen.append(next((conversion for conversion in fitting(kinds) if conversion in holding), None))
    return chosen


class _Column:
    """What SQL finds in the tokens (`triplestore.model.terms`) of a column: a token is a literal, an IRI, a blank node
    or a triple term."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.literal = f"startswith({name}, '\"')"
        tail = f"substring_index({name}, '\"', -1)"
        self.lexical = f"substring({name}, 2, length({name}) - 2 - length({tail}))"
        self.datatype = f"substring({tail}, 4, length({tail}) - 4)"
        inner = f"substring({name}, 2, length({name}) - 2)"
        triple = f"WHEN startswith({name}, '(') THEN concat('<<( ', {inner}, ' )>>')"
        self.text = (
            f"CASE WHEN {self.literal} THEN {self.lexical} WHEN startswith({name}, '<') THEN {inner} {triple} "
            f"ELSE {name} END"
        )
        quoted = escaped(self.lexical, _SQL)
        self.written = f"CASE WHEN {self.literal} THEN concat('\"', {quoted}, '\"', {tail}) {triple} ELSE {name} END"

    def value(self, conversion: Conversion) -> str:
        """The value of a literal."""
        return conversion.cast.format(_SQL.trim(self.lexical))

    def matches(self, conversion: Conversion) -> str:
        return f"{self.literal} AND {_SQL.matches(_SQL.trim(self.lexical), conversion.pattern)}"
