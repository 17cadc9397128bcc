"""SPARQL 1.1 queries and updates over a store's tables.

`query(graph, text)` answers SELECT, ASK, CONSTRUCT and DESCRIBE from the working tables `fact`, `asserted`, `same_as`
and `term` (columns in `triplestore.model.tables`) of an engine; `sparql.update.parse_update` reads updates, and
`changes` finds what one of their operations comes to.
"""

from triplake.sparql.query import Graph, changes, explain, match, query
from triplake.sparql.results import Result

__all__ = ["Graph", "Result", "changes", "explain", "match", "query"]
