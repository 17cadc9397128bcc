"""The datatype rules of OWL 2 RL (Profiles, table 8) that are more than reading literals by value.

dt-type2, `lt rdf:type dt` for each literal in the value space of dt, is virtual: the facts are made for those datatypes
only that the specialised program asks for by name, and for one literal of each value of the dictionary. They hold
without condition. A literal that equals another term has all of its types, which are that term's too (eq-rep-s).
dt-not-type is a check of the closure: an ill-typed literal in a given fact, or a literal with a type that its value is
not in.

dt-type1 is written out in owl2rl.dlog; dt-eq is `given` (see `triplestore.model.tables`). dt-diff is not made, the
number of its facts being the square of that of the literals: what follows of it, a class with two values, is in
`same_as.clashes`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

from triplestore.compile.plan import Absent, Grouped, K, Pattern, Row, Shape, V
from triplestore.compile.program import Program
from triplestore.dictionary.datatypes import BOUNDS, DATATYPES, KNOWN, TEXTS
from triplestore.engine import Queries
from triplestore.engine.dialect import Dialect
from triplestore.engine.sql import count
from triplestore.materialise.aggregates import parameters
from triplestore.materialise.same_as import ILL_TYPED
from triplestore.model.equality import Equality
from triplestore.model.tables import GIVEN
from triplestore.model.terms import FIRST_LITERAL, RDF, RDFS, SAME_AS, TYPE, XSD, builtin

RULE: Final = ILL_TYPED

Names = Mapping[int, Sequence[str]]
"""Representative -> the datatypes in its class."""


@dataclass(frozen=True, slots=True)
class Datatypes:
    """That the datatype rules are in force. ill_typed: whether the dictionary has any ill-typed literal."""

    ill_typed: bool


def representatives(engine: Queries, equality: Equality) -> Names:
    """The datatypes by the ids that `fact` has for them."""
    ids = {builtin(name): name for name in DATATYPES}
    pi: dict[int, int] = {}
    if equality == Equality.REWRITE:
        listed = ", ".join(map(str, ids))
        rows = engine.query(f"SELECT term, representative FROM same_as WHERE term IN ({listed})")
        pi = dict(zip(rows.column(0).to_pylist(), rows.column(1).to_pylist(), strict=True))
    found: dict[int, list[str]] = {}
    for number, name in ids.items():
        found.setdefault(pi.get(number, number), []).append(name)
    return found


def asked(program: Program, names: Names) -> set[int]:
    """The datatypes (representatives) of which some rule instance asks for the instances, or a list that is joined."""
    every = (*program.instances.items(), *((s, r) for (_, s), r in program.constraints.items()))
    listed = {item for _, _, item in program.listed if item in names}
    return listed | {o for shape, rows in every for row in rows for o in _classes(shape, row) if o in names}


def joined(program: Program, tables: Collection[str], names: Names) -> str:
    """The same where the facts that say which class it is are joined, not part of the instance: a SELECT of the
    datatypes (representatives) that are in such a place in one of the tables; empty if there is no such place."""
    places: set[tuple[int, str]] = set()
    for shape, rows in (*program.instances.items(), *((s, r) for (_, s), r in program.constraints.items())):
        patterns = [e for e in shape.body if isinstance(e, Pattern) and isinstance(e.p, K)]
        open_ = [e for e in patterns if isinstance(e.o, V)]
        for row in rows if open_ else ():
            classes = {e.o for e in open_ if isinstance(e.p, K) and row[e.p.number] == TYPE}
            for e in patterns if classes else ():
                predicate = row[e.p.number] if isinstance(e.p, K) else TYPE
                places |= {(predicate, c) for c in "so" if getattr(e, c) in classes and (predicate, c) != (TYPE, "o")}
    listed = ", ".join(map(str, names))
    selects = [
        f"SELECT {c} AS d FROM {table} WHERE p = {p} AND {c} IN ({listed})"
        for p, c in sorted(places)
        for table in tables
    ]
    return " UNION ".join(selects)


def _classes(shape: Shape, row: Row) -> Iterator[int]:
    """The classes that an instance asks for the instances of, in its NOTs and AGGREGATEs too."""
    groups = (c.body for c in shape.conditions if isinstance(c, Absent))
    for element in (*shape.body, *chain.from_iterable(groups)):
        if isinstance(element, Grouped):
            yield from _classes(element.group.matches, parameters(element, row))
        elif isinstance(element, Pattern) and isinstance(element.p, K) and isinstance(element.o, K):
            found = row[element.p.number], row[element.o.number]
            yield from found[1:] if found[0] == TYPE else ()


def types_sql(dialect: Dialect, datatypes: Collection[int], names: Names, source: str = "term") -> str:
    """The facts of dt-type2 for those datatypes and the literals of `source` (like TERM), as SQL."""
    selects = []
    for number in sorted(datatypes):
        within = " OR ".join(f"({_within(dialect, name)})" for name in names[number])
        selects.append(
            f"SELECT id AS s, CAST({TYPE} AS BIGINT) AS p, CAST({number} AS BIGINT) AS o FROM {source} "
            f"WHERE id >= {FIRST_LITERAL} AND value IS NULL AND {_VALUED} AND ({within})"
        )
    return " UNION ALL ".join(selects)


def every_type_sql(dialect: Dialect, source: str) -> str:
    """All facts of dt-type2 for the literals of `source` (like TERM), under no representatives, as SQL."""
    names = {builtin(name): (name,) for name in DATATYPES}
    return types_sql(dialect, names, names, source)


def violations_sql(
    engine: Queries, has: Datatypes, given: str, facts: str, datatypes: Collection[int], names: Names
) -> list[str]:
    """SELECTs of VIOLATION rows for dt-not-type: an ill-typed literal in the given facts `given`, or in `facts` if it
    is in no given fact at all (rules put it there); an instance, in `facts`, of one of the datatypes (representatives)
    given. Literals in classes of `same_as` are looked for in the whole of `fact`: their class may be new."""
    dialect = engine.dialect
    triple = dialect.array([f"f.{c}" for c in "spo"])
    head = f"SELECT DISTINCT {dialect.string(RULE)} AS rule, {triple} AS facts"
    selects = []
    if has.ill_typed:
        ill_typed = "JOIN (SELECT id FROM term WHERE ill_typed) t ON t.id = f.o"
        nowhere = f"NOT EXISTS (SELECT 1 FROM {GIVEN} w WHERE w.o = f.o)"
        selects.append(f"{head} FROM {given} f {ill_typed}")
        selects.append(f"{head} FROM {facts} f {ill_typed} WHERE {nowhere}")
    for number in sorted(datatypes):
        outside = " OR ".join(f"NOT ({_within(dialect, name)})" for name in names[number])
        selects.append(
            f"{head} FROM {facts} f JOIN (SELECT id FROM term WHERE id >= {FIRST_LITERAL} "
            f"AND (ill_typed OR ({_VALUED} AND ({outside})))) t ON t.id = f.s WHERE f.p = {TYPE} AND f.o = {number}"
        )
    if count(engine, f"same_as WHERE term >= {FIRST_LITERAL}"):
        selects += _violations_of_classes(dialect, has, datatypes, names)
    return selects


def _violations_of_classes(dialect: Dialect, has: Datatypes, datatypes: Collection[int], names: Names) -> Iterator[str]:
    """As `violations_sql`, for literals that equal other terms."""
    classes = f"(SELECT term, representative FROM same_as WHERE term >= {FIRST_LITERAL}) m JOIN term t ON t.id = m.term"

    def row(p: str, o: str) -> str:
        return f"SELECT {dialect.string(RULE)} AS rule, {dialect.array(['m.term', p, o])} AS facts"

    if has.ill_typed:
        equal = dialect.array(["m.representative", f"CAST({SAME_AS} AS BIGINT)", "m.term"])
        yield (
            f"SELECT {dialect.string(RULE)} AS rule, {equal} AS facts FROM {classes} WHERE t.ill_typed "
            f"AND NOT EXISTS (SELECT 1 FROM {GIVEN} w WHERE w.o = m.term)"
        )
    for number in sorted(datatypes):
        outside = " OR ".join(f"NOT ({_within(dialect, name)})" for name in names[number])
        yield (
            f"{row('f.p', 'f.o')} FROM {classes} JOIN fact f ON f.s = m.representative "
            f"WHERE f.p = {TYPE} AND f.o = {number} AND (ill_typed OR ({_VALUED} AND ({outside})))"
        )


def _list(names: Collection[str]) -> str:
    quoted = ", ".join(f"'{name}'" for name in names)
    return f"({quoted})"


_VALUED: Final = f"NOT ill_typed AND (lang IS NOT NULL OR datatype IN {_list(KNOWN)})"
"""A literal of which it is known what its value is."""

_NUMBERS: Final = (XSD + "decimal", *BOUNDS)
_STRINGS: Final = (XSD + "string", *TEXTS)
_PLAIN: Final = f"datatype = '{RDF}PlainLiteral'"
_UNTAGGED: Final = f"{_PLAIN} AND lexical LIKE '%@'"
_OF_LANGUAGE: Final = "(lang IS NOT NULL AND lang NOT LIKE '%--%')"
_TAGGED: Final = f"{_OF_LANGUAGE} OR ({_PLAIN} AND lexical NOT LIKE '%@')"


def _within(dialect: Dialect, datatype: str) -> str:
    """Whether the value of a row of TERM is in the datatype's value space, as SQL; asked of valid literals."""
    if datatype == RDFS + "Literal":
        return "TRUE"
    if datatype == XSD + "decimal":
        return f"datatype IN {_list(_NUMBERS)}"
    if datatype in BOUNDS:
        whole = dialect.matches("lexical", r"[+-]?[0-9]*(\.0*)?")
        return f"datatype IN {_list(_NUMBERS)} AND {whole} AND {_bounded(*BOUNDS[datatype])}"
    if datatype == XSD + "string":
        return f"datatype IN {_list(_STRINGS)} OR {_UNTAGGED}"
    if datatype == RDF + "PlainLiteral":
        return f"datatype IN {_list(_STRINGS)} OR {_PLAIN} OR {_OF_LANGUAGE}"
    if datatype == RDF + "langString":
        return _TAGGED
    if datatype in TEXTS:
        text = "substr(lexical, 1, length(lexical) - 1)"
        return (
            f"(datatype IN {_list(_STRINGS)} AND {dialect.matches('lexical', TEXTS[datatype])}) "
            f"OR ({_UNTAGGED} AND {dialect.matches(text, TEXTS[datatype])})"
        )
    instants = _list((XSD + "dateTime", XSD + "dateTimeStamp"))
    if datatype == XSD + "dateTime":
        return f"datatype IN {instants}"
    if datatype == XSD + "dateTimeStamp":
        return f"datatype IN {instants} AND {dialect.matches('lexical', '.*(Z|[+-][0-9]{2}:[0-9]{2})')}"
    return f"datatype = '{datatype}'"


def _bounded(low: int | None, high: int | None) -> str:
    """Whether a whole number is within bounds; `decimal` is NULL for one of over 20 digits."""
    if low is None and high is None:
        return "TRUE"
    if low is None:
        return f"CASE WHEN decimal IS NULL THEN lexical LIKE '-%' ELSE decimal <= {high} END"
    if high is None:
        return f"CASE WHEN decimal IS NULL THEN lexical NOT LIKE '-%' ELSE decimal >= {low} END"
    ends = [f"CAST('{end}' AS DECIMAL(38,18))" for end in (low, high)]
    return f"coalesce(decimal BETWEEN {ends[0]} AND {ends[1]}, FALSE)"
