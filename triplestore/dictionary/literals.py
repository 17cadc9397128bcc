"""Which literals are ill-typed and which are equal: the columns `ill_typed`, `canonical` and `value` of TERM.

What a literal's value is, `triplestore.dictionary.datatypes` says, a literal at a time. Here the same is done for all
new terms of a load: the common datatypes by SQL (plain strings, numbers, dates in their canonical form), the others by
that module, on what is left. The number columns distinguish numbers, canonical tokens all else; a canonical
token is stored only where it is not the literal's own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Final

import pyarrow as pa

from triplestore.dictionary.datatypes import KNOWN, NO_CHARACTERS, Space, Value, is_ill_typed, value_of
from triplestore.engine import Queries, Workbench
from triplestore.engine.arrow import int64s, strings
from triplestore.engine.dialect import Dialect
from triplestore.engine.sql import Spelled, count
from triplestore.model.tables import EQUAL_VALUED, TERM, token_sql
from triplestore.model.terms import FIRST_LITERAL, FIRST_TRIPLE, XSD, lexical_of, split_literal

_FINITE: Final = "abs({0}) > 0 AND abs({0}) <= {1}"
_SINGLE: Final = "TRY_CAST(lexical AS FLOAT)"
_DOUBLE: Final = _FINITE.format("double", "1.7976931348623157e308")
_FLOAT: Final = _FINITE.format(f"CAST({_SINGLE} AS DOUBLE)", "3.4028234663852886e38")
_DAY: Final = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_ZONE: Final = "(Z|[+-](0[1-9]|1[0-3]):[0-5][0-9]|[+-]00:(0[1-9]|[1-5][0-9])|[+-]14:00)?"
_DATE_TIME: Final = _DAY + r"T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{0,5}[1-9])?" + _ZONE


def ill_typed_sql(dialect: Dialect) -> str:
    """Whether a row of TERM is an ill-typed literal, or a triple term with one in it, as SQL over its columns up to
    `micros`; NULL where SQL cannot say, or where the canonical token may be another than the literal's own and no
    number column tells the value."""
    known = ", ".join(f"'{datatype}'" for datatype in KNOWN)
    odd = ["chr(0)" if c == "\0" else f"'{c}'" for c in NO_CHARACTERS]
    no_text = " OR ".join(f"{dialect.position(c, 'lexical')} > 0" for c in odd)
    quotes = dialect.position("""'"'""", "lexical")
    # A number with white space around it has a number in its column, for SPARQL, but is ill-typed.
    bare = f"lexical = {dialect.trim('lexical')}"
    return (
        f"CASE WHEN id < {FIRST_LITERAL} THEN FALSE "
        f"WHEN id >= {FIRST_TRIPLE} THEN CASE WHEN {quotes} = 0 THEN FALSE END "
        f"WHEN lang IS NOT NULL OR datatype IN ('{XSD}string', '{XSD}anyURI') THEN {no_text} "
        f"WHEN datatype NOT IN ({known}) THEN FALSE "
        f"WHEN decimal IS NOT NULL THEN NOT {bare} "
        f"WHEN datatype = '{XSD}double' THEN CASE WHEN {bare} AND {_DOUBLE} THEN FALSE END "
        f"WHEN datatype = '{XSD}float' THEN CASE WHEN {bare} AND double IS NOT NULL AND {_FLOAT} THEN FALSE END "
        f"WHEN datatype = '{XSD}boolean' THEN CASE WHEN lexical IN ('true', 'false') THEN FALSE END "
        f"WHEN micros IS NULL THEN NULL "
        f"WHEN datatype = '{XSD}dateTime' AND {dialect.matches('lexical', _DATE_TIME)} THEN FALSE "
        f"WHEN datatype = '{XSD}date' AND {dialect.matches('lexical', _DAY + _ZONE)} THEN FALSE END"
    )


_FAMILIES: Final = (
    ("decimal", "decimal IS NOT NULL"),
    ("double", f"datatype = '{XSD}double' AND {_DOUBLE}"),
    (_SINGLE, f"datatype = '{XSD}float' AND {_FLOAT}"),
)
"""Columns of numbers that tell a value, and the rows that they tell it of (if they are not ill-typed)."""


def settle(engine: Workbench, new: str, existing: str, few: bool) -> None:
    """Fill in `ill_typed`, `canonical` and `value` of the rows of working table `new`, which has the columns of TERM up
    to `micros`.

    existing: the table of the terms that were there before, or those of them that `candidates` asks for. few: both are
    small enough to be gone through one by one.
    """
    columns = ", ".join(TERM.names[: TERM.names.index("ill_typed")])

    def filled(dialect: Dialect) -> str:
        return (
            f"SELECT {columns}, {ill_typed_sql(dialect)} AS ill_typed, CAST(NULL AS STRING) AS canonical, "
            f"CAST(NULL AS BIGINT) AS value FROM {new}"
        )

    engine.create(new, Spelled(engine.dialect, filled))
    if few:
        _settle_few(engine, new, existing)
    elif count(engine, f"{new} WHERE id >= {FIRST_LITERAL}"):
        _settle_unclear(engine, new)
        _settle_values(engine, new, existing)


def _settle_few(engine: Workbench, new: str, existing: str) -> None:
    """One by one, by `triplestore.dictionary.datatypes` alone."""
    tokens = engine.rows(f"SELECT t.id, {token_sql('t')} AS token FROM {new} t WHERE t.id >= {FIRST_LITERAL}")
    if not tokens:
        return
    fresh = [(number, token) for number, token in tokens if token[0] == '"']
    triples = [(number, is_ill_typed(token), None, None) for number, token in tokens if token[0] == "("]
    values = {number: value_of(token) for number, token in fresh}
    wanted = {value.canonical for value in values.values() if value}
    first: dict[str, int] = {}
    for number, token, home in _literals(engine, existing):
        known = value_of(token)
        if known and known.canonical in wanted:
            first[known.canonical] = home if home is not None else number
    for number, value in sorted(values.items()):
        if value:
            first.setdefault(value.canonical, number)
    homes = {number: first[value.canonical] for number, value in values.items() if value}
    rows = [(number, token, values[number], homes.get(number, number)) for number, token in fresh]
    settled = [(n, v is None, _stored(v, token), home if home != n else None) for n, token, v, home in rows]
    _join(engine, new, [*settled, *triples])


def _settle_unclear(engine: Workbench, new: str) -> None:
    """Validity and canonical tokens of the literals on which SQL had no verdict."""
    ids: list[int] = []
    ill: list[bool] = []
    canonical: list[str | None] = []
    for batch in engine.batches(f"SELECT id, {token_sql('t')} AS token FROM {new} t WHERE ill_typed IS NULL"):
        ids += batch.column(0).to_pylist()
        for token in batch.column(1).to_pylist():
            value = value_of(token) if token[0] == '"' else None
            ill.append(is_ill_typed(token) if token[0] == "(" else value is None)
            canonical.append(_stored(value, token))
    if ids:
        _join(engine, new, list(zip(ids, ill, canonical, [None] * len(ids), strict=True)))


def _settle_values(engine: Workbench, new: str, existing: str) -> None:
    """The column `value`: literals of one family with one key are equal; the smallest id was met first."""
    with engine.scratch() as scratch:
        selects = []
        for key, condition in _FAMILIES:
            rows = f"SELECT id, {key} AS k FROM {{}} WHERE {condition} AND NOT ill_typed"
            fresh, old = rows.format(new), rows.format(existing)
            selects.append(_homes(fresh, f"SELECT id, k FROM ({old}) o WHERE k IN (SELECT k FROM ({fresh}) f)"))
        # Literals that are not in canonical form, and those that are the canonical form of one.
        odd = "SELECT id, canonical AS k FROM {} WHERE canonical IS NOT NULL"
        spelled = scratch.table("odd")
        if engine.create(spelled, f"{odd.format(new)} UNION ALL {odd.format(existing)}"):
            own = (
                f"SELECT id, k FROM (SELECT id, {token_sql('t')} AS k FROM {{}} t WHERE id >= {FIRST_LITERAL} "
                f"AND canonical IS NULL AND NOT ill_typed) w WHERE k IN (SELECT k FROM {spelled})"
            )
            engine.append(spelled, [own.format(new), own.format(existing)])
            fresh = f"SELECT o.id, o.k FROM {spelled} o JOIN {new} n ON n.id = o.id"
            selects.append(_homes(fresh, f"SELECT id, k FROM {spelled}"))
        home = scratch.create("home", selects[0])
        engine.append(home, selects[1:])
        if count(engine, home):
            kept = ", ".join(f"n.{name}" for name in TERM.names if name != "value")
            engine.create(new, f"SELECT {kept}, h.home AS value FROM {new} n LEFT JOIN {home} h ON h.id = n.id")


def _homes(fresh: str, old: str) -> str:
    """Rows (id, home) of the new literals (id, k) of `fresh` that are not the first with their key."""
    return (
        f"SELECT n.id, h.home FROM ({fresh}) n JOIN (SELECT k, min(id) AS home FROM "
        f"({fresh} UNION ALL {old}) b GROUP BY k) h ON h.k = n.k WHERE h.home <> n.id"
    )


def candidates(dialect: Dialect, tokens: Collection[str]) -> str:
    """A SELECT of the rows of `term` of the tokens and of every literal of equal value (and perhaps of some others)."""
    lexicals = {lexical_of(token) for token in tokens}
    named = f"lexical IN ({', '.join(sorted(map(dialect.string, lexicals)))})" if lexicals else "FALSE"
    return _any_of((named, *_equals(dialect, tokens)))


def equals(dialect: Dialect, tokens: Iterable[str]) -> str:
    """A SELECT of the rows of `term` of every literal of equal value, if perhaps of another spelling, that one of the
    tokens has; and perhaps of some other terms."""
    return _any_of([f"id >= {FIRST_LITERAL} AND {condition}" for condition in _equals(dialect, tokens)] or ["FALSE"])


def _any_of(conditions: Iterable[str]) -> str:
    """The rows of `term` for which one of the conditions holds. Each has a SELECT of its own: an engine passes over the
    pages that a condition rules out, but not those that an OR does."""
    return " UNION ".join(f"SELECT {TERM.select} FROM term WHERE {condition}" for condition in conditions)


def _equals(dialect: Dialect, tokens: Iterable[str]) -> list[str]:
    """Conditions on TERM, one of which holds for each such literal."""
    lexicals, canonicals, decimals, doubles = set(), set(), set(), set()
    for token in tokens:
        value = value_of(token) if token[0] == '"' else None
        if value is None or value.space is Space.OTHER:
            continue
        if not value.is_plain_number:
            canonicals.add(value.canonical)
            lexicals.add(split_literal(value.canonical)[0])
        elif value.space is Space.NUMBER:
            decimals.add(f"CAST('{split_literal(value.canonical)[0]}' AS DECIMAL(38,18))")
        else:
            doubles.add(value)
    conditions = [f"lexical IN ({', '.join(sorted(map(dialect.string, lexicals)))})"] if lexicals else []
    if canonicals:
        conditions.append(f"canonical IN ({', '.join(sorted(map(dialect.string, canonicals)))})")
    if decimals:
        conditions.append(f"decimal IN ({', '.join(sorted(decimals))})")
    conditions += sorted(_near(value) for value in doubles)
    return conditions


def _near(value: Value) -> str:
    """Rows whose `double` may be this one; that of a float may not be rounded to single precision, in files of store
    format 3."""
    number = float(value.number or 0)
    slack = abs(number) * 1e-6 if value.space is Space.FLOAT else 0.0
    return f"double BETWEEN CAST('{number - slack!r}' AS DOUBLE) AND CAST('{number + slack!r}' AS DOUBLE)"


def equal_to(engine: Queries, tokens: Iterable[str]) -> dict[str, int]:
    """For each literal's token, the id that stands for its value: that of the first met literal which equals it.
    Tokens whose value no literal of `term` has are left out. One statement."""
    canonicals: dict[str, list[str]] = {}
    for token in tokens:
        value = value_of(token)
        canonicals.setdefault(value.canonical if value else token, []).append(token)
    if not canonicals:
        return {}
    found: dict[str, int] = {}
    asked = [token for same in canonicals.values() for token in same]
    for number, token, home in _literals(engine, f"({candidates(engine.dialect, asked)})"):
        value = value_of(token)
        for same in canonicals.get(value.canonical if value else token, ()):
            found[same] = home if home is not None else number
    return found


def _literals(engine: Queries, source: str) -> list[tuple[int, str, int | None]]:
    """(id, token, value) of the literals of a table like TERM, or of a SELECT of such rows in parentheses."""
    return engine.rows(
        f"SELECT t.id, {token_sql('t')} AS token, t.value FROM {source} t "
        f"WHERE t.id >= {FIRST_LITERAL} AND t.id < {FIRST_TRIPLE}"
    )


def _stored(value: Value | None, token: str) -> str | None:
    """The column `canonical` of a literal."""
    if value is None or value.is_plain_number or value.canonical == token:
        return None
    return value.canonical


def _join(engine: Workbench, new: str, rows: Sequence[tuple[int, bool, str | None, int | None]]) -> None:
    """Put (id, ill_typed, canonical, value) into the rows of `new`."""
    ids, ill, canonical, value = zip(*rows, strict=True)
    none = -1
    columns = {
        "id": int64s(ids),
        "ill": int64s(map(int, ill)),
        "c": strings(text or "" for text in canonical),
        "v": int64s(none if home is None else home for home in value),
    }
    kept = ", ".join(f"n.{name}" for name in TERM.names[: TERM.names.index("ill_typed")])
    with engine.scratch() as scratch:
        settled = scratch.load("settled", pa.table(columns))
        engine.create(
            new,
            f"SELECT {kept}, coalesce(z.ill = 1, n.ill_typed) AS ill_typed, nullif(z.c, '') AS canonical, "
            f"nullif(z.v, {none}) AS value FROM {new} n LEFT JOIN {settled} z ON z.id = n.id",
        )


def by_value(source: str) -> str:
    """The triples of `source` with each literal object replaced by the first met literal of its value, distinct, as
    SQL over `term` too."""
    value = f"LEFT JOIN {EQUAL_VALUED} v ON v.id = a.o"
    return f"SELECT DISTINCT a.s, a.p, coalesce(v.value, a.o) AS o FROM {source} a {value}"
