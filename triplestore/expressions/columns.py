"""Columns in the SQL text of expressions, marked where they are named, so that no text is parsed to know what it reads.

Which columns of terms and of subexpressions a step must make is known only once the SQL that reads them is complete
(projection pruning). A `reference` has the name of such a column between two marks. The mark is half of a surrogate
pair, which no term has, as no UTF-8 does: a name in a literal is not marked, and no name is taken for part of another.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from operator import methodcaller
from typing import Final

from triplestore.expressions.thresholds import THRESHOLDS

_MARK: Final = "\ud800"


def reference(name: str) -> str:
    """SQL that reads a column, which is made for that."""
    return f"{_MARK}{name}{_MARK}"


def columns_read(*sql: str) -> set[str]:
    """The names of the columns that the references in some SQL read."""
    return {name for text in sql for name in text.split(_MARK)[1::2]}


unmarked: Final[Callable[[str], str]] = methodcaller("replace", _MARK, "")
"""The SQL as an engine takes it."""


def is_repeatable(sql: str) -> bool:
    """Whether SQL is as well repeated as made a column: it is short, and calls no function, or a literal. (A bracket in
    a literal costs a column, no more.)"""
    return "(" not in sql and (len(sql) <= THRESHOLDS.short or re.fullmatch("'[^']{,80}'", sql) is not None)
