"""The dictionary: terms to ids and back, as joins.

New terms get dense ids, numbered per kind in the byte order of what they spell: the same data gives the same ids on
either engine, neighbours in spelling are neighbours in number (so columns compress and zone maps work on both), and one
sort does it. A small set of tokens is looked up by its own lexical forms only, whatever the size of the dictionary.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import pyarrow as pa

from triplestore.dictionary.datatypes import value_of
from triplestore.dictionary.fingerprints import Fingerprints
from triplestore.dictionary.literals import candidates, equals, settle
from triplestore.dictionary.term_rows import DECIMALS, EXACT, names_rows, names_sql, term_sql
from triplestore.engine import Queries, Workbench
from triplestore.engine.arrow import int64s, strings
from triplestore.engine.sql import Scratch, Select, Spelled, count
from triplestore.model.dataset import UNNAMED
from triplestore.model.tables import TERM, token_sql
from triplestore.model.terms import (
    BUILTIN_IDS,
    FIRST_BLANK,
    FIRST_IRI,
    FIRST_LITERAL,
    FIRST_TRIPLE,
    KIND_BITS,
    SPELLING,
    XSD,
    Kind,
    iri_token,
    lexical_of,
    literal_token,
    spelling,
    split_literal,
)
from triplestore.model.thresholds import SIZES
from triplestore.storage.manifest import Counters


def builtin_terms(engine: Workbench, name: str) -> int:
    """Make working table `name` of the built-in vocabulary, as rows of the TERM table; rows."""
    with engine.scratch() as scratch:
        tokens = pa.table({"id": int64s(BUILTIN_IDS.values()), "token": strings(BUILTIN_IDS)})
        rows = engine.create(name, term_sql(engine.dialect, scratch.load("builtin_token", tokens)))
        settle(engine, name, name, few=True)
    return rows


def encode(
    engine: Workbench, raw: str, counters: Counters, extra: Iterable[str] = (), graphs: bool = False
) -> tuple[int, Counters]:
    """Turn working table `raw` (s, p, o: tokens) into ids, numbering the terms that `term` lacks.

    extra: tokens that get an id too, whether or not a triple mentions them. graphs: `raw` has the names of graphs (g),
    empty for the unnamed one. Makes the working tables `encoded` (s, p, o: ids, before them g with `graphs`; distinct)
    and `new_term` (rows of TERM). Returns (number of new terms, counters after it).
    """
    with engine.scratch() as scratch:
        names = f" UNION ALL SELECT token FROM (SELECT DISTINCT g AS token FROM {raw}) g WHERE token <> ''" * graphs
        occurring = scratch.create(
            "occurring",
            f"SELECT DISTINCT token FROM (SELECT s AS token FROM {raw} UNION ALL "
            f"SELECT token FROM (SELECT DISTINCT p AS token FROM {raw}) p UNION ALL SELECT o FROM {raw}{names}) t",
        )
        tokens = sorted(set(extra))
        if tokens:
            more = scratch.load("extra_token", pa.table({"token": strings(tokens)}))
            engine.create(occurring, f"SELECT token FROM {occurring} UNION SELECT token FROM {more}")
        ids = _number(engine, scratch, occurring, counters)
        joins = " ".join(f"JOIN {ids.dictionary} d_{c} ON d_{c}.token = r.{c}" for c in "spo")
        joins += f" LEFT JOIN {ids.dictionary} d_g ON d_g.token = r.g" * graphs
        listed = f"coalesce(d_g.id, {UNNAMED}) AS g, " * graphs + "d_s.id AS s, d_p.id AS p, d_o.id AS o"
        engine.create("encoded", f"SELECT DISTINCT {listed} FROM {raw} r {joins}")
        return _settled(engine, "new_term", ids.numbered, ids.existing, counters, ids.counters)


@dataclass(frozen=True, slots=True)
class Numbered:
    """A few terms. ids: of tokens; new: the part of them that `term` lacks. values: new literal -> the first met of
    equal value, where that is another; ill_typed: new literals that have none. counters: after it."""

    ids: Mapping[str, int]
    new: Mapping[str, int]
    values: Mapping[int, int]
    ill_typed: Sequence[int]
    counters: Counters
    rows: pa.Table | None = None


def numbered(
    engine: Workbench,
    asked: Collection[str],
    wanted: Collection[str],
    counters: Counters,
    known: Fingerprints | None = None,
) -> Numbered:
    """The ids of tokens as `encode` gives them, without running over every term: of those in `asked` that `term` has,
    and of all in `wanted`. Of new ones that are all names (IRIs and blank nodes), `rows` are those of TERM; else where
    some are new, working table `new_term` is made. known: of the terms in `term`, so that no file is looked at for
    others than new literals that may have equals."""
    with engine.scratch() as scratch:
        return _numbered(engine, scratch, {*asked, *wanted}, wanted, counters, known, "new_term", rows=True)


def in_new_term(engine: Workbench, counters: Counters) -> Numbered:
    """The terms in working table `new_term`, which `encode` made; counters: after it."""
    found = engine.query(f"SELECT {token_sql('t')} AS token, id, value, ill_typed FROM new_term t").to_pydict()
    ids = dict(zip(found["token"], found["id"], strict=True))
    values = {number: home for number, home in zip(found["id"], found["value"], strict=True) if home is not None}
    ill = [number for number, is_ill in zip(found["id"], found["ill_typed"], strict=True) if is_ill]
    return Numbered(ids, ids, values, ill, counters)


def extend_few(engine: Workbench, tokens: Collection[str], counters: Counters) -> Numbered:
    """As `extend`, for a few tokens, without running over every term."""
    with engine.scratch() as scratch:
        made = scratch.table("made_term")
        found = _numbered(engine, scratch, tokens, tokens, counters, None, made)
        if found.new:
            engine.append("new_term", [Select(made, TERM.names)])
            terms_view(engine)
        return found


def _numbered(
    engine: Workbench,
    scratch: Scratch,
    tokens: Collection[str],
    wanted: Collection[str],
    counters: Counters,
    known: Fingerprints | None,
    name: str,
    rows: bool = False,
) -> Numbered:
    """See `numbered`; working table `name` is made where some are new, unless `rows` are enough."""
    ids = _found(engine, {*tokens}) if known is None else known.ids(tokens)
    before, new, values, ill = counters, dict[str, int](), dict[int, int](), list[int]()
    for token in sorted({*wanted} - ids.keys(), key=spelling):
        if token[0] == '"':
            new[token], counters = FIRST_LITERAL + counters.literal, replace(counters, literal=counters.literal + 1)
        elif token[0] == "(":
            new[token], counters = FIRST_TRIPLE + counters.triple, replace(counters, triple=counters.triple + 1)
        elif token[0] == "<":
            new[token], counters = FIRST_IRI + counters.iri, replace(counters, iri=counters.iri + 1)
        else:
            new[token], counters = FIRST_BLANK + counters.blank, replace(counters, blank=counters.blank + 1)
    if rows and new and all(token[0] in "<_" for token in new):
        return Numbered({**ids, **new}, new, values, ill, counters, names_rows(new))
    if new:
        named = scratch.load("numbered", pa.table({"id": int64s(new.values()), "token": strings(new)}))
        existing = scratch.create("equal_term", equals(engine.dialect, new)) if len(tokens) <= SIZES.objects else "term"
        _, counters = _settled(engine, name, named, existing, before, counters)
        if (counters.equal_valued, counters.ill_typed) != (before.equal_valued, before.ill_typed):
            special = engine.query(f"SELECT id, value, ill_typed FROM {name}").to_pydict()
            for number, home, is_ill in zip(special["id"], special["value"], special["ill_typed"], strict=True):
                if home is not None:
                    values[number] = home
                if is_ill:
                    ill.append(number)
    return Numbered({**ids, **new}, new, values, ill, counters)


def terms_view(engine: Workbench) -> None:
    """Make the view `term` of working tables `stored_term` and `new_term`."""
    columns = TERM.select
    engine.view("term", f"SELECT {columns} FROM stored_term UNION ALL SELECT {columns} FROM new_term")


def extend(engine: Workbench, scratch: Scratch, tokens: str, counters: Counters) -> tuple[str, Counters]:
    """Number the tokens of a one-column SELECT (token) that `term` lacks; `term` is the view of `terms_view`.

    Appends to `new_term`. Returns the name of a table (token, id) of all the tokens, made in `scratch`, and the
    counters after it.
    """
    ids = _number(engine, scratch, scratch.create("occurring", f"SELECT DISTINCT token FROM ({tokens}) t"), counters)
    made = scratch.table("made_term")
    new, counters = _settled(engine, made, ids.numbered, ids.existing, counters, ids.counters)
    if new:
        engine.append("new_term", [Select(made, TERM.names)])
        terms_view(engine)
    return ids.dictionary, counters


def extend_by(engine: Workbench, scratch: Scratch, missing: str, rows: int, counters: Counters) -> tuple[str, Counters]:
    """As `extend`, of a table of so many tokens of which it is known that `term` has none."""
    made = scratch.table("made_term")
    numbered, after = _numbered_all(engine, scratch, f"SELECT token FROM {missing}", rows, counters)
    _, after = _settled(engine, made, numbered, "term", counters, after)
    engine.append("new_term", [Select(made, TERM.names)])
    if not engine.resident:  # a view of Spark's is of the files that the tables had
        terms_view(engine)
    return numbered, after


def _settled(
    engine: Workbench, name: str, numbered: str, existing: str, before: Counters, counters: Counters
) -> tuple[int, Counters]:
    """Make working table `name`, rows of TERM, of `numbered` (token, id): (rows, the counters with what is special
    about them). existing: the table of the known terms, or of those that matter."""
    if (counters.literal, counters.triple) == (before.literal, before.triple):
        return engine.create(name, names_sql(engine.dialect, numbered)), counters
    new = engine.create(name, Spelled(engine.dialect, lambda dialect: term_sql(dialect, numbered)))
    settle(engine, name, existing, few=existing != "term")
    found = engine.query(
        f"SELECT count(value) AS equal_valued, count(CASE WHEN ill_typed THEN 1 END) AS ill FROM {name}"
    )
    equal_valued, ill = (int(column[0].as_py()) for column in found.columns)
    return new, replace(counters, equal_valued=counters.equal_valued + equal_valued, ill_typed=counters.ill_typed + ill)


@dataclass(frozen=True, slots=True)
class _Ids:
    """Tables: `dictionary` (token, id), `numbered`, the part of it that is new, and `existing`, the known terms that
    matter (`term`, or a few of them). counters: after it."""

    dictionary: str
    numbered: str
    existing: str
    counters: Counters


def _number(engine: Workbench, scratch: Scratch, occurring: str, counters: Counters) -> _Ids:
    """The ids of the tokens in table `occurring` (token)."""
    existing, rows = "term", count(engine, occurring)
    if rows <= SIZES.objects:
        tokens = engine.query(f"SELECT token FROM {occurring}").column(0).to_pylist()
        existing = scratch.create("known_term", candidates(engine.dialect, tokens))
    known = f"SELECT {token_sql()} AS token, t.id FROM {existing} t"
    dictionary = scratch.create(
        "dictionary", f"SELECT k.token, k.id FROM ({known}) k JOIN {occurring} n ON n.token = k.token"
    )
    new = f"SELECT token FROM {occurring} a WHERE NOT EXISTS (SELECT 1 FROM {dictionary} d WHERE d.token = a.token)"
    numbered, counters = _numbered_all(engine, scratch, new, rows, counters)
    engine.append(dictionary, [Select(numbered, ("token", "id"))])
    return _Ids(dictionary, numbered, existing, counters)


def _numbered_all(
    engine: Workbench, scratch: Scratch, source: str, rows: int, counters: Counters
) -> tuple[str, Counters]:
    """A table (token, id) of new ids for the tokens of a SELECT, and the counters after it. rows: at most."""
    numbered, sizes = scratch.table("numbered"), dict.fromkeys('"(<_', 0)
    for mark, n in _pairs(engine, f"SELECT substr(token, 1, 1) AS mark, count(*) AS n FROM ({source}) t GROUP BY 1"):
        sizes[mark] = n
    # Byte order puts literals first, then triple terms, IRIs and blank nodes, so one running number serves all four.
    literal, triple, iri, blank = (sizes[mark] for mark in '"(<_')
    select = (
        "token, CASE substr(token, 1, 1) "
        f"WHEN '\"' THEN n + {FIRST_LITERAL + counters.literal - 1} "
        f"WHEN '(' THEN n + {FIRST_TRIPLE + counters.triple - literal - 1} "
        f"WHEN '<' THEN n + {FIRST_IRI + counters.iri - literal - triple - 1} "
        f"ELSE n + {FIRST_BLANK + counters.blank - literal - triple - iri - 1} END AS id"
    )
    engine.number(numbered, source, SPELLING, rows, select)
    counters = replace(
        counters,
        iri=counters.iri + iri,
        blank=counters.blank + blank,
        literal=counters.literal + literal,
        triple=counters.triple + triple,
    )
    return numbered, counters


def lookup(engine: Queries, tokens: Iterable[str]) -> dict[str, int]:
    """The ids of those tokens that are in the dictionary."""
    found: dict[str, int] = {}
    ordered = sorted(set(tokens))
    for start in range(0, len(ordered), SIZES.objects):
        found |= _found(engine, {*ordered[start : start + SIZES.objects]})
    return found


def _found(engine: Queries, tokens: set[str]) -> dict[str, int]:
    """The same by one statement, which reads no values: pages of literals hold many, so that one excludes few pages."""
    lexicals = sorted({lexical_of(token) for token in tokens})
    named = f"t.lexical IN {engine.dialect.listed(lexicals)}" if lexicals else "FALSE"
    return {token: number for number, token in _terms(engine, f"term t WHERE {named}") if token in tokens}


def decode(engine: Queries, ids: Iterable[int]) -> dict[int, str]:
    """The tokens of ids, for the few that are printed. Ids that the dictionary lacks are left out."""
    ordered = sorted(set(ids))
    found: dict[int, str] = {}
    for start in range(0, len(ordered), SIZES.objects):
        part = ordered[start : start + SIZES.objects]
        source = f"term t WHERE t.id IN ({', '.join(map(str, part))})"
        if len(part) > SIZES.inline:  # a join passes its keys down to the scan, a long IN does not
            source = f"(VALUES {', '.join(f'({i})' for i in part)}) a(id) JOIN term t ON t.id = a.id"
        found.update(_terms(engine, source))
    return found


def numbers_equal_to(engine: Queries, tokens: Iterable[str]) -> dict[str, list[int]]:
    """For each token of an exact number, the ids of the literals in the dictionary that have its value."""
    values: dict[Decimal, list[str]] = {}
    for token in tokens:
        if token.startswith('"') and (value := _exact(*split_literal(token)[:2])) is not None:
            values.setdefault(value, []).append(token)
    narrow = [f"CAST('{v:f}' AS DECIMAL(38,18))" for v in values if re.fullmatch(EXACT, f"{v:f}")]
    wide = [_near(v) for v in values if not re.fullmatch(EXACT, f"{v:f}")]
    tests = [f"decimal IN ({', '.join(narrow)})"] if narrow else []
    if wide:
        datatypes = engine.dialect.listed(DECIMALS)
        tests.append(f"(decimal IS NULL AND datatype IN {datatypes} AND ({' OR '.join(wide)}))")
    if not tests:
        return {}
    found: dict[str, list[int]] = {}
    numbers = engine.rows(f"SELECT id, lexical, datatype FROM term WHERE {' OR '.join(tests)} ORDER BY id")
    for number, lexical, datatype in numbers:
        value = _exact(lexical, datatype)
        for token in values.get(value, ()) if value is not None else ():
            found.setdefault(token, []).append(number)
    return found


def computed_forms(tokens: Iterable[str]) -> set[str]:
    """The literals that arithmetic makes of the exact numbers among these: their values as xsd:integer and
    xsd:decimal, in the canonical form."""
    found = set[str]()
    for token in tokens:
        if token.startswith('"') and (value := _exact(*split_literal(token)[:2])) is not None:
            text = f"{value:f}"
            text = (text.rstrip("0").rstrip(".") if "." in text else text) if value else "0"
            found.add(f'"{text}"^^<{XSD}decimal>')
            if "." not in text:
                found.add(f'"{text}"^^<{XSD}integer>')
    return found


def _exact(lexical: str, datatype: str) -> Decimal | None:
    """The value of an exact number; None of anything else, and of what is beyond the bounds of its datatype."""
    if datatype not in DECIMALS:
        return None
    value = value_of(literal_token(lexical.strip(" \t\r\n"), datatype))
    return value.number if value is not None and isinstance(value.number, Decimal) else None


def _near(value: Decimal) -> str:
    """A condition on TERM that holds for literals of a value, and of others near it."""
    low, high = sorted(float(value) * factor for factor in (1 - 1e-12, 1 + 1e-12))
    return f"double BETWEEN CAST('{low!r}' AS DOUBLE) AND CAST('{high!r}' AS DOUBLE)"


def _terms(engine: Queries, source: str) -> Iterator[tuple[int, str]]:
    """The ids and tokens of a few terms `t`. The tokens are put together here: an engine takes longer to plan that than
    to find the terms."""
    for number, lexical, datatype, language in engine.rows(f"SELECT t.id, t.lexical, t.datatype, t.lang FROM {source}"):
        match Kind(number >> KIND_BITS):
            case Kind.LITERAL:
                yield number, literal_token(lexical, datatype, language)
            case Kind.TRIPLE:
                yield number, f"({lexical})"
            case Kind.BLANK:
                yield number, f"_:{lexical}"
            case _:
                yield number, iri_token(lexical)


def _pairs(engine: Queries, sql: str) -> Iterable[tuple[Any, Any]]:
    table = engine.query(sql)
    return zip(table.column(0).to_pylist(), table.column(1).to_pylist(), strict=True)
