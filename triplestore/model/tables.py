"""Every table of the store and its columns: the one place where they are written.

Ids are int64 (see `triplestore.model.terms`). Column types are SQL names that DuckDB and Spark share.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from triplestore.model.terms import FIRST_BLANK, FIRST_LITERAL, FIRST_TRIPLE, XSD

GROUP: Final = 122_880
"""Rows of a group of a file: small enough for zone maps to skip, large enough to compress."""

PAGE: Final = 16_384
"""Rows of a group of the tables that are looked up by the page: 0.3 ms to read one of triples. A scan of all takes up
to half as long again as with larger groups."""


@dataclass(frozen=True, slots=True)
class Table:
    """A stored table: `columns` is (name, SQL type) in order, `order` the columns its files are sorted by. page: the
    rows of a group of theirs. turned: the columns of a second order, in which a file of more than one is
    written too."""

    name: str
    columns: tuple[tuple[str, str], ...]
    order: tuple[str, ...]
    turned: tuple[str, ...] = ()
    page: int = GROUP

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.columns)

    @property
    def select(self) -> str:
        """The column names, as a select list."""
        return ", ".join(self.names)


_TRIPLE = (("s", "BIGINT"), ("p", "BIGINT"), ("o", "BIGINT"))

TERM: Final = Table(
    "term",
    (
        ("id", "BIGINT"),
        ("lexical", "STRING"),  # the IRI, the blank node's label, the literal's lexical form, or a triple, as N-Triples
        ("datatype", "STRING"),  # the datatype IRI of a literal (of one with a tag: of RDF's two); NULL otherwise
        ("lang", "STRING"),  # the language tag, lower case, with a base direction (en--ltr); NULL otherwise
        ("double", "DOUBLE"),  # the (nearest) value of a well-formed numeric literal; NULL otherwise
        ("decimal", "DECIMAL(38,18)"),  # exact value, integer and decimal families, where it fits; NULL otherwise
        ("micros", "BIGINT"),  # dateTime, dateTimeStamp and date: microseconds since 1970 UTC (no zone: UTC)
        ("ill_typed", "BOOLEAN"),  # whether it is a literal that its (known) datatype gives no value
        (
            "canonical",
            "STRING",
        ),  # the canonical token of the value, where neither the term itself nor a number tells it
        ("value", "BIGINT"),  # the id of the first met literal of equal value, where that is another one; else NULL
    ),
    ("id",),
    page=PAGE,
)
"""The dictionary: one row per term that occurs (or is built in). Rows never change."""

EQUAL_VALUED: Final = "(SELECT id, value FROM term WHERE value IS NOT NULL)"
"""The literals that are another one's equals, as SQL: (id, value)."""


def token_sql(term: str = "t") -> str:
    """The token of a row of `term` (alias given), as an SQL expression; see `triplestore.model.terms`."""
    return (
        f"CASE WHEN {term}.id < {FIRST_BLANK} THEN concat('<', {term}.lexical, '>') "
        f"WHEN {term}.id < {FIRST_LITERAL} THEN concat('_:', {term}.lexical) "
        f"WHEN {term}.id >= {FIRST_TRIPLE} THEN concat('(', {term}.lexical, ')') "
        f"WHEN {term}.lang IS NOT NULL THEN concat('\"', {term}.lexical, '\"@', {term}.lang) "
        f"WHEN {term}.datatype = '{XSD}string' THEN concat('\"', {term}.lexical, '\"') "
        f"ELSE concat('\"', {term}.lexical, '\"^^<', {term}.datatype, '>') END"
    )


ASSERTED: Final = Table("asserted", _TRIPLE, ("p", "s", "o"), page=PAGE)
"""E: the asserted triples, in the user's own ids, never rewritten. A set."""

QUAD: Final = Table("quad", (("g", "BIGINT"), *_TRIPLE), ("g", "p", "s", "o"))
"""The triples of named graphs, by the id of the graph's name; a set. With the default graph `union`, `asserted` has all
triples of all graphs, and one that is in a named graph and in the unnamed one has a row of graph
`triplestore.model.dataset.UNNAMED` besides: without rows it is in the unnamed graph alone. With `separate`, `asserted`
is the unnamed graph."""

GIVEN: Final = "given"
"""The name of the asserted facts as the reasoner reads them: literal objects replaced by the first met of equal value,
where the rules hold dt-eq. Not stored."""

FACT: Final = Table("fact", _TRIPLE, ("p", "s", "o"), ("p", "o", "s"), PAGE)
"""I: the closure, normalised: every id is its representative. A set; no `c owl:sameAs c` with equality `rewrite`."""

SAME_AS: Final = Table("same_as", (("term", "BIGINT"), ("representative", "BIGINT")), ("representative", "term"))
"""pi: every member of a class of two or more, the representative (the smallest id) included as its own row."""

VIOLATION: Final = Table("violation", (("rule", "STRING"), ("facts", "ARRAY<BIGINT>")), ("rule",))
"""Inconsistencies: the rule and the triples at fault, flattened: s1, p1, o1, s2, p2, o2 ... (normalised ids)."""

STATISTIC: Final = Table(
    "statistic",
    (
        ("predicate", "BIGINT"),
        ("class", "BIGINT"),  # of the facts of rdf:type with this object; NULL: of all facts of the predicate
        ("facts", "BIGINT"),
        ("subjects", "BIGINT"),  # distinct ones, about
        ("objects", "BIGINT"),
    ),
    ("predicate", "class"),
)
"""Counts of the closure for planning; see `triplestore.storage.statistics`."""

OBJECT_TYPE: Final = Table("object_type", (("predicate", "BIGINT"), ("type", "BIGINT")), ("predicate", "type"))
"""The types that the objects of each predicate may have; see `triplestore.dictionary.object_types`."""

LOOKED_UP: Final = ((TERM, "id"), (TERM, "lexical"), (FACT, "s"), (FACT, "o"))
"""Columns by whose single values queries find rows, and by which the tables are not ordered."""

QUERIED: Final = (TERM, ASSERTED, QUAD, FACT, SAME_AS)
"""The tables that queries read."""

STORED: Final = (*QUERIED, VIOLATION, STATISTIC, OBJECT_TYPE)
"""Every table that a version of a store holds."""

COUNT: Final = Table("count", (*_TRIPLE, ("nonrecursive", "BIGINT"), ("recursive", "BIGINT")), ("p", "s", "o"))
"""How many derivations each fact has, in stores that keep count: see `triplestore.maintain.counts`."""
