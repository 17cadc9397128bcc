"""Every table of the store and its columns: the one place where they are written.

Ids are int64 (see `triplestore.terms`). Column types are SQL names that DuckDB and Spark share.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Table:
    """A stored table: `columns` is (name, SQL type) in order, `order` the columns its files are sorted by."""

    name: str
    columns: tuple[tuple[str, str], ...]
    order: tuple[str, ...]

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
        ("lexical", "STRING"),  # the IRI, the blank node's label, or the literal's lexical form, unescaped
        ("datatype", "STRING"),  # the datatype IRI of a literal (rdf:langString with a tag); NULL otherwise
        ("lang", "STRING"),  # the language tag, lower case; NULL otherwise
        ("double", "DOUBLE"),  # the value of a well-formed numeric literal; NULL otherwise
        ("decimal", "DECIMAL(38,18)"),  # exact value, integer and decimal families, where it fits; NULL otherwise
        ("micros", "BIGINT"),  # dateTime, dateTimeStamp and date: microseconds since 1970 UTC (no zone: UTC)
    ),
    ("id",),
)
"""The dictionary: one row per term that occurs (or is built in)."""

ASSERTED: Final = Table("asserted", _TRIPLE, ("p", "s", "o"))
"""E: what the user said, in the user's own ids, never rewritten. A set."""

FACT: Final = Table("fact", _TRIPLE, ("p", "s", "o"))
"""I: the closure, normalised: every id is its representative. A set; no `c owl:sameAs c` with equality `rewrite`."""

SAME_AS: Final = Table("same_as", (("term", "BIGINT"), ("representative", "BIGINT")), ("representative", "term"))
"""pi: every member of a class of two or more, the representative (the smallest id) included as its own row."""

VIOLATION: Final = Table("violation", (("rule", "STRING"), ("facts", "ARRAY<BIGINT>")), ("rule",))
"""Inconsistencies: the rule and the triples at fault, flattened: s1, p1, o1, s2, p2, o2 ... (normalised ids)."""

STORED: Final = (TERM, ASSERTED, FACT, SAME_AS, VIOLATION)
"""Every table that a version of a store holds."""
