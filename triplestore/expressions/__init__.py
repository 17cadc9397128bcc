"""Expressions to SQL: an expression tree over the columns of decoded terms becomes a `Value`, or a condition.

What a compiler of queries or rules does with it:

1. `Expressions(dialect, ids, variable, stage)`: `variable("x")` is, say, a `stored(lambda part:
   columns.reference(f"x_{part}"), token=False)`, `ids` has the ids of the constants (any number that no term has, for
   one that the dictionary lacks), and `stage` is that of a `staging.Staging`, which makes columns of long values.
2. `.condition(expression)` is for WHERE: an error counts as false, as in FILTER. `.value(expression)` is a `Value`: SQL
   for kind (1 IRI, 2 blank node, 3 literal, NULL for an error), lexical form, datatype, language tag and the numeric
   and time values; `token(value)` its token, NULL for an error.
3. `Staging.prune` of the SQL so made is what it reads. Join `term` (`triplestore.model.tables`) once for each variable
   of which it reads `decoding.parts_read`: ``x_id, x_lexical, x_datatype ...``. `Staging.source` adds its columns.
4. `columns.unmarked` of the statement is what an engine takes.

Aggregates: `parts` are what is selected per group, `result` makes the token of them.
"""

from triplestore.expressions.aggregates import parts, result
from triplestore.expressions.compiler import Expressions
from triplestore.expressions.values import ERROR, Value, constant, stored, token, truth

__all__ = ["ERROR", "Expressions", "Value", "constant", "parts", "result", "stored", "token", "truth"]
