"""The number columns of terms that a Triplake of store format 3 or less wrote: those of some literals were others.

Then, xsd:float was not rounded to single precision, an integer out of the bounds of its derived type was a number, and
exact numbers had a negative zero. Rows of TERM never change, so such a store is corrected where it is read.
"""

from __future__ import annotations

from triplestore.dictionary.term_rows import DECIMALS, single_sql, unsigned_zero, within_sql
from triplestore.engine.dialect import Dialect
from triplestore.model.tables import TERM
from triplestore.model.terms import XSD


def corrected_sql(dialect: Dialect, source: str) -> str:
    """Rows of `source`, a table like TERM, with the number columns that they would be written with today, as SQL."""
    text = dialect.trim("lexical")
    exact = ", ".join(f"'{name}'" for name in DECIMALS)
    within = within_sql(dialect, text, "datatype")
    columns = {
        "double": f"CASE WHEN double IS NULL THEN NULL WHEN datatype = '{XSD}float' THEN {single_sql(text)} "
        f"WHEN datatype NOT IN ({exact}) THEN double WHEN {within} THEN {unsigned_zero('double')} END",
        "decimal": f"CASE WHEN decimal IS NOT NULL AND {within} THEN decimal END",
    }
    selected = (f"{columns[name]} AS {name}" if name in columns else name for name in TERM.names)
    return f"SELECT {', '.join(selected)} FROM {source}"
