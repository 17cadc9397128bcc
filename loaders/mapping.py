"""Rows to triples: a template over a table as one SELECT of tokens (see `triplestore.model.terms`), run by DuckDB.

A row without a value for a column has none of the triples that need it. Values in IRIs are encoded as R2RML's section
7.3 says; datatypes follow the columns' types by its section 10.2, but that FLOAT is xsd:float, and numbers keep the
digits that they have.
"""

from __future__ import annotations

import difflib
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
from pyoxigraph import NamedNode

from triplake.loaders.tables import Table, identifier, opened
from triplake.loaders.template import Column, Kind, Shape, Template
from triplestore.engine import Engine, temporary
from triplestore.engine.dialect import string
from triplestore.engine.written import AT_ONCE, gathered
from triplestore.model.errors import InputError
from triplestore.model.stopping import check, waited
from triplestore.model.terms import XSD
from triplestore.model.thresholds import SIZES

_SAFE: Final = (
    r"A-Za-z0-9._~\-\x{A0}-\x{D7FF}\x{F900}-\x{FDCF}\x{FDF0}-\x{FFEF}"
    + "".join(rf"\x{{{plane:X}0000}}-\x{{{plane:X}FFFD}}" for plane in range(1, 14))
    + r"\x{E1000}-\x{EFFFD}"
)
"""RFC 3987's iunreserved."""

_PLAIN_IRI: Final = (
    r"[A-Za-z][A-Za-z0-9+.-]*:(//[A-Za-z0-9._~-]+)?/?([A-Za-z0-9._~-][A-Za-z0-9._~/-]*)?(#[A-Za-z0-9._~/-]*)?"
)
_ODD: Final = "!"
"""What begins in place of < where an IRI of a column is not plainly one."""

_SHOWN: Final = 60

_DATATYPES: Final = {
    "BOOLEAN": "boolean",
    **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "BIGNUM"), "integer"),
    **dict.fromkeys(("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"), "integer"),
    "DECIMAL": "decimal",
    "FLOAT": "float",
    "DOUBLE": "double",
    "DATE": "date",
    "TIME": "time",
    "TIMESTAMP": "dateTime",
    "BLOB": "hexBinary",
}
_TEXTS: Final = ("VARCHAR", "ENUM", "UUID", "JSON")
_NO_VALUES: Final = ('"NULL"', "NULL")


def read_tables(engine: Engine, name: str, given: Sequence[object], template: Template, first: int, graph: str) -> int:
    """Make working table `name(s, p, o)` of the triples that a template gives of the rows of tables (as
    `loaders.tables.tables` gives them); duplicates stay; how many. graph: the name (token) of their graph; not empty:
    the working table has a column `g`. Blank nodes are scoped: table number N is first + index in `given`.

    Raises UsageError for a column that a table has not, or of a type that gives no terms, InputError for what cannot be
    read, with the row (from 1)."""
    made, triples = False, 0
    folder = tempfile.mkdtemp(prefix=temporary.prefix("table"))
    try:
        for index, one in enumerate(given):
            with opened(one, index + 1, folder, engine.memory()) as table:
                for batch in _tokens(table, template, first + index):
                    if graph:
                        batch = batch.append_column(
                            "g", pa.array([graph], pa.string()).take(pa.array([0] * len(batch)))
                        )
                    if made:
                        with engine.scratch() as scratch:
                            engine.append(name, [f"SELECT * FROM {scratch.load(f'{name}_batch', batch)}"])
                    else:
                        engine.load(name, batch)
                        made = True
                    triples += batch.num_rows
        if not made:
            columns = "spog" if graph else "spo"
            engine.load(name, pa.table({column: pa.array([], pa.string()) for column in columns}))
    except BaseException:
        engine.drop(name)
        raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return triples


def _tokens(table: Table, template: Template, number: int) -> Iterator[pa.Table]:
    """The triples of a table, in batches."""
    shapes = [shape for triple in template.triples for shape in triple]
    table = table.typed({c.name for shape in shapes if shape.kind is Kind.VALUE for c in shape.columns})
    sql = _Select(table, template, number).sql()
    whole = any(shape.kind is Kind.WHOLE for shape in shapes)
    with table.reading():
        reader = waited(lambda: table.connection.sql(sql).to_arrow_reader(AT_ONCE), table.connection.interrupt)
        for batch in gathered(iter(lambda: _next(reader, table), None), SIZES.rows, SIZES.batch):
            rows = pa.table(batch)
            if rows.num_rows:
                yield _checked(rows, table) if whole else rows


def _next(reader: Iterator[pa.RecordBatch], table: Table) -> pa.RecordBatch | None:
    check()
    return waited(lambda: next(reader, None), table.connection.interrupt)


def _checked(rows: pa.Table, table: Table) -> pa.Table:
    """The same with every IRI that a column has looked at. Raises InputError for what is none."""
    for place, column in enumerate(rows.column_names):
        odd = pc.starts_with(rows.column(column), _ODD)
        if not pc.any(odd).as_py():
            continue
        for value in pc.unique(rows.column(column).filter(odd)).to_pylist():
            row, _, rest = value[1:].partition(" ")
            name, _, iri = rest[:-1].partition("\0")
            _check(iri, table.name, row, name)
        found = pc.replace_substring_regex(rows.column(column), f"^{_ODD}[^\\x00]*\\x00", "<")
        rows = rows.set_column(place, column, found)
    return rows


def _check(iri: str, table: str, row: str, column: str) -> None:
    reason = "an IRI begins with its scheme, as in http://"
    if re.match("[A-Za-z][A-Za-z0-9+.-]*:", iri):
        try:
            NamedNode(iri)
            return
        except ValueError as error:
            reason = str(error)
    raise InputError(
        f"row {int(row):,}, column {column!r}: {iri[:_SHOWN]!r} is not an absolute IRI ({reason}): correct it, "
        f"or write an IRI around {{{column}}} in the template, which encodes it",
        table,
    )


def _label(text: str) -> str:
    """A text as part of the label of a blank node, as `_Select._in_label` makes one of a value."""
    return "".join(
        c if c.isascii() and (c.isalnum() or c == "-") else "".join(f"_{b:02X}" for b in c.encode()) for c in text
    )


class _Select:
    """The SELECT of a template over a table."""

    def __init__(self, table: Table, template: Template, number: int) -> None:
        self._table, self._template, self._number = table, template, number
        self._places = {name: f"c{place}" for place, name in enumerate(template.columns)}
        for column in template.columns.values():
            if column.name not in table.columns:
                template.fault(self._unknown(column.name), column.at)
        self._made: dict[str, str] = {}  # expression -> its column

    def _unknown(self, name: str) -> str:
        known = list(self._table.columns)
        near = difflib.get_close_matches(name, known, 1) or [c for c in known if c.lower() == name.lower()]
        hint = f"is {{{near[0]}}} meant? It has" if near else "it has"
        return f"{self._table.name} has no column {name!r}: {hint} {', '.join(known)}"

    def sql(self) -> str:
        """The text: columns of the table under names of ours, terms as columns, triples as rows."""
        triples = [tuple(self._term(shape) for shape in triple) for triple in self._template.triples]
        chosen = [f"{identifier(name)} AS {place}" for name, place in self._places.items()]
        source = f"SELECT {', '.join([*chosen, 'row_number() OVER () AS n'])} FROM {self._table.view}"
        terms = ", ".join(f"{expression} AS {name}" for expression, name in self._made.items())
        structs = ", ".join(f"struct_pack(s := {s}, p := {p}, o := {o})" for s, p, o in triples)
        unfolded = f"SELECT unnest([{structs}]) AS t FROM (SELECT {terms} FROM ({source}) rows) terms"
        whole = "t.s IS NOT NULL AND t.p IS NOT NULL AND t.o IS NOT NULL"
        return f"SELECT t.s AS s, t.p AS p, t.o AS o FROM ({unfolded}) triples WHERE {whole}"

    def _term(self, shape: Shape) -> str:
        """The name of the column of a term."""
        return self._made.setdefault(self._expression(shape), f"t{len(self._made)}")

    def _expression(self, shape: Shape) -> str:
        match shape.kind:
            case Kind.IRI:
                return self._joined("<", shape, ">", self._in_iri)
            case Kind.WHOLE:
                text, name = self._text(shape.columns[0]), shape.columns[0].name
                odd = f"'{_ODD}' || n || {string(f' {name}')} || chr(0) || {text} || '>'"
                plain = f"regexp_full_match({text}, {string(_PLAIN_IRI)})"
                return f"CASE WHEN {plain} THEN '<' || {text} || '>' ELSE {odd} END"
            case Kind.NODE:
                return self._joined(f"_:f{self._number}_", shape, "", self._in_label, _label)
            case Kind.OWN:
                label = "".join(_label(part) for part in shape.parts if isinstance(part, str))
                return f"'_:f{self._number}g' || n || {string(f'_{label}')}"
            case Kind.TEXT:
                return self._joined('"', shape, f'"{shape.end}', self._text)
            case Kind.VALUE:
                text, datatype = self._value(shape.columns[0])
                return f"""'"' || {text} || {string('"' + datatype)}"""

    def _joined(
        self,
        begin: str,
        shape: Shape,
        end: str,
        of_column: Callable[[Column], str],
        of_text: Callable[[str], str] = str,
    ) -> str:
        parts = [of_column(p) if isinstance(p, Column) else string(of_text(p)) for p in shape.parts]
        return " || ".join([string(begin), *parts, string(end)])

    def _kind(self, column: Column) -> str:
        """The type of a column, without parameters. Raises an error of the template for one that gives no terms."""
        kind = self._table.columns[column.name]
        if kind in _NO_VALUES:
            return ""
        base = kind.partition("(")[0]
        if base.startswith("TIMESTAMP"):
            return "TIMESTAMP WITH TIME ZONE" if "ZONE" in base else "TIMESTAMP"
        if kind.endswith("]") or base not in (*_DATATYPES, *_TEXTS):
            what = "unnest it, so that each row has one value" if kind.endswith("]") else "make text of it first"
            self._template.fault(
                f"column {column.name!r} of {self._table.name} is of type {kind}, which gives no term: {what}",
                column.at,
            )
        return base

    def _lexical(self, column: Column) -> str:
        """A value as its datatype writes it."""
        place, kind = self._places[column.name], self._kind(column)
        if self._table.texts:
            changed = {"BOOLEAN": f"lower({place})", "TIMESTAMP": f"replace({place}, ' ', 'T')"}
            return changed.get(kind, place)
        text = f"CAST({place} AS VARCHAR)"
        match kind:
            case "":
                return "CAST(NULL AS VARCHAR)"
            case "FLOAT" | "DOUBLE":
                return (
                    f"CASE {text} WHEN 'inf' THEN 'INF' WHEN '-inf' THEN '-INF' WHEN 'nan' THEN 'NaN' ELSE {text} END"
                )
            case "DATE":
                return _date(place)
            case "TIMESTAMP":
                return f"{_date(place)} || 'T' || split_part({text}, ' ', -1)"
            case "TIMESTAMP WITH TIME ZONE":
                date = _date(f"CAST({place} AS TIMESTAMP)")  # whose years before 1 are negative
                return f"{date} || 'T' || split_part(split_part({text}, ' ', -1), '+', 1) || 'Z'"
            case "BLOB":
                return f"hex({place})"
        return text

    def _value(self, column: Column) -> tuple[str, str]:
        kind = self._kind(column)
        datatype = "dateTime" if kind.startswith("TIMESTAMP") else _DATATYPES.get(kind)
        return self._lexical(column), f"^^<{XSD}{datatype}>" if datatype else ""

    def _text(self, column: Column) -> str:
        """A value as text: a whole number of a column of doubles without a fraction, since a column of whole numbers
        with gaps is one of doubles in pandas."""
        place, kind = self._places[column.name], self._kind(column)
        if kind not in ("FLOAT", "DOUBLE") or self._table.texts:
            return place if self._table.texts else self._lexical(column)
        whole = f"isfinite({place}) AND abs({place}) < 1e15 AND {place} = trunc({place})"
        return f"(CASE WHEN {whole} THEN CAST(CAST({place} AS BIGINT) AS VARCHAR) ELSE {self._lexical(column)} END)"

    def _in_iri(self, column: Column) -> str:
        text, safe = self._text(column), string(f"[{_SAFE}]*")
        runs = f"regexp_extract_all({text}, {string(f'(?s)[{_SAFE}]+|[^{_SAFE}]+')})"
        encoded = f"CASE WHEN regexp_full_match(run, {safe}) THEN run ELSE url_encode(run) END"
        joined = f"array_to_string(list_transform({runs}, lambda run: {encoded}), '')"
        return f"(CASE WHEN regexp_full_match({text}, {safe}) THEN {text} ELSE {joined} END)"

    def _in_label(self, column: Column) -> str:
        """A value in a label: letters, digits and hyphens as they are, other bytes as _ and two digits."""
        found = f"url_encode({self._text(column)})"
        for character in "_.~":
            found = f"replace({found}, '{character}', '%{ord(character):02X}')"
        return f"replace({found}, '%', '_')"


def _date(place: str) -> str:
    """The date of a date or timestamp, years by XSD 1.1: 0000 is the year before 0001."""
    year = f"year({place})"
    shown = f"CAST(abs({year}) AS VARCHAR)"
    digits = f"CASE WHEN length({shown}) < 4 THEN lpad({shown}, 4, '0') ELSE {shown} END"
    padded = " || ".join(f"'-' || lpad(CAST({part}({place}) AS VARCHAR), 2, '0')" for part in ("month", "day"))
    return f"(CASE WHEN {year} < 0 THEN '-' ELSE '' END || {digits} || {padded})"
