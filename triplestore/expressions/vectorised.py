"""Functions that SQL lacks, as vectorised functions of Arrow columns of text; each works on distinct inputs only.

In SQL they are called by their names in `VECTORISED`; `register` makes them known to an engine.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from typing import Final
from urllib.parse import quote

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from triplestore.engine import Queries
from triplestore.engine.dialect import BEYOND
from triplestore.expressions import calendar, exact, terms
from triplestore.expressions.casts import cast
from triplestore.expressions.decoding import rest
from triplestore.expressions.evaluation import evaluated
from triplestore.expressions.limits import MOST_BYTES, too_long, within
from triplestore.expressions.numerals import plain_text
from triplestore.expressions.regex import read, replacement
from triplestore.model.errors import LimitError, UsageError
from triplestore.model.legal_terms import TERM_DEPTH, is_iri
from triplestore.model.stopping import check_for
from triplestore.model.terms import is_absolute, resolve
from triplestore.model.thresholds import SIZES
from triplestore.model.triple_terms import depth, split_triple, triple_token

_LOOK: Final = 0.05
"""Seconds between two looks whether to stop."""

Text = str | None
Columns = Callable[..., pa.Array]


def on_distinct(function: Callable[..., Text]) -> Columns:
    """The function of columns that applies `function` once to each distinct combination of inputs, NULL to NULL; of
    long texts, to each of some of them.

    What is outside of its domain, it maps to NULL too: an engine may call functions for rows that CASE leaves out, as
    Spark does for all of them. Only a LimitError, of a value that is too much, fails the statement.
    """

    def total(*inputs: Text) -> Text:
        try:
            return None if None in inputs else function(*inputs)
        except (ValueError, ArithmeticError, LookupError):
            return None

    def apply(*columns: pa.Array) -> pa.Array:
        inputs, places = _distinct(columns)
        found: list[Text] = []
        looked = began = time.monotonic()
        for row in inputs:
            if time.monotonic() - looked > _LOOK:
                check_for(began)
                looked = time.monotonic()
            found.append(total(*row))
        return pa.array(found, pa.string()).take(pa.array(places))

    return _in_parts(apply)


def on_texts(function: Callable[..., pa.Array]) -> Columns:
    """The function of columns that applies `function` to a column of texts together with each distinct combination of
    the other inputs. NULL in any input gives NULL, and so does a wrong combination, for which it raises UsageError. A
    LimitError fails the statement."""

    def apply(texts: pa.Array, *others: pa.Array) -> pa.Array:
        inputs, places = _distinct(others)
        found, order = [], []
        began = time.monotonic()
        for number, row in enumerate(inputs):
            check_for(began)
            here = np.flatnonzero(places == number)
            order.append(here)
            try:
                found.append(pa.nulls(len(here), pa.string()) if None in row else function(texts.take(here), *row))
            except LimitError:
                raise
            except UsageError:
                found.append(pa.nulls(len(here), pa.string()))
        if not found:
            return pa.nulls(0, pa.string())
        return pa.concat_arrays(found).take(pa.array(np.argsort(np.concatenate(order))))

    return _in_parts(apply)


def _in_parts(function: Columns) -> Columns:
    """The function of columns, applied to some rows at a time where their texts are long."""

    def apply(*columns: pa.Array | pa.ChunkedArray) -> pa.Array:
        rows = len(columns[0])
        if rows > 1 and sum(column.nbytes for column in columns) > SIZES.batch:
            halves = ([column.slice(start, rows - rows // 2) for column in columns] for start in (0, rows - rows // 2))
            return pa.concat_arrays([apply(*half) for half in halves])
        whole = (column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column for column in columns)
        return function(*(column.cast(pa.string()) for column in whole))

    return apply


def _distinct(columns: Sequence[pa.Array]) -> tuple[list[list[Text]], npt.NDArray[np.int64]]:
    """The distinct rows of some columns of text, and the number of each row's one."""
    codes = np.zeros(len(columns[0]), dtype=np.int64)
    values: list[list[Text]] = []
    for column in columns:
        coded = column.dictionary_encode()
        values.append([*coded.dictionary.to_pylist(), None])
        none = len(values[-1]) - 1
        codes = codes * len(values[-1]) + coded.indices.fill_null(none).to_numpy(zero_copy_only=False)
    distinct, places = np.unique(codes, return_inverse=True)
    rows = []
    for code in distinct.tolist():
        row: list[Text] = []
        for texts in reversed(values):
            code, place = divmod(code, len(texts))
            row.append(texts[place])
        rows.append(row[::-1])
    return rows, places.reshape(-1)


def _hash(name: str, text: str) -> str:
    return hashlib.new(name, text.encode(), usedforsecurity=False).hexdigest()


def _encode(text: str) -> Text:
    return within(quote(text[: MOST_BYTES + 1], safe="-_.~"), "ENCODE_FOR_URI")


def _too_long(name: str, size: str) -> Text:
    raise LimitError(BEYOND + too_long(name))


def _resolve(text: str, base: str) -> Text:
    """Where the first segment of a relative path has a colon, it is no reference (RFC 3986, section 4.2)."""
    if ":" in re.split("[/?#]", text, maxsplit=1)[0] and not is_absolute(text):
        return None
    found = text if is_absolute(text) else resolve(text, base)
    return _iri(found)


def _iri(text: str) -> Text:
    return text if is_iri(text) else None


def _regex(texts: pa.Array, pattern: str, flags: str) -> pa.Array:
    return pc.if_else(read(pattern, flags).matches(texts), "true", "false")


def _replace(texts: pa.Array, pattern: str, new: str, flags: str) -> pa.Array:
    return replacement(pattern, new, flags).of(texts)


def _next_day(text: str) -> Text:
    """A time at 24:00:00 as the first moment of the next day."""
    found = re.fullmatch(r"(-?[0-9]+)-([0-9]{2})-([0-9]{2})T24:00:00(?:[.]0+)?(.*)", text)
    if found is None:
        return None
    year, like = int(found[1]), 2000 + int(found[1]) % 400  # years 400 apart have one calendar
    day = date(like, int(found[2]), int(found[3])) + timedelta(days=1)
    year += day.year - like
    return f"{'-' * (year < 0)}{abs(year):04}-{day.month:02}-{day.day:02}T00:00:00{found[4]}"


def _triple(subject: str, predicate: str, obj: str) -> Text:
    if obj.startswith("(") and depth(obj) >= TERM_DEPTH:
        raise LimitError(
            f"{BEYOND}TRIPLE would make a triple term more than {TERM_DEPTH} deep: name the inner ones by rdf:reifies, "
            "and refer to the names"
        )
    return triple_token(subject, predicate, obj)


def _part(triple: str, place: str) -> str:
    return split_triple(f"({triple})")[int(place)]


def _triples_equal(a: str, b: str) -> Text:
    try:
        return "true" if terms.triples_equal(f"({a})", f"({b})") else "false"
    except terms.TermError:
        return None


VECTORISED: Final[dict[str, tuple[int, Columns]]] = {
    "tl_hash": (2, on_distinct(_hash)),
    "tl_encode": (1, on_distinct(_encode)),
    "tl_too_long": (2, on_distinct(_too_long)),
    "tl_resolve": (2, on_distinct(_resolve)),
    "tl_iri": (1, on_distinct(_iri)),
    "tl_regex": (3, on_texts(_regex)),
    "tl_exact": (3, on_distinct(exact.computed)),
    "tl_plain": (1, on_distinct(plain_text)),
    "tl_rest": (2, on_distinct(rest)),
    "tl_cast": (3, on_distinct(cast)),
    "tl_evaluate": (2, on_distinct(evaluated)),
    "tl_calendar": (3, on_distinct(calendar.computed)),
    "tl_next_day": (1, on_distinct(_next_day)),
    "tl_upper": (1, on_distinct(str.upper)),
    "tl_lower": (1, on_distinct(str.lower)),
    "tl_triple": (3, on_distinct(_triple)),
    "tl_part": (2, on_distinct(_part)),
    "tl_triples_equal": (2, on_distinct(_triples_equal)),
    "tl_replace": (4, on_texts(_replace)),
}
"""Name in SQL -> number of arguments (texts), and the function of Arrow columns that gives texts."""


def register(engine: Queries) -> None:
    """Make the functions known to an engine: 2 ms on DuckDB and 0.1 s on Spark the first time, then next to nothing."""
    for name, (arity, columns) in VECTORISED.items():
        engine.functions.add(name, arity, columns)
    engine.functions.ready = True
