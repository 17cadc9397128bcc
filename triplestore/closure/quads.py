"""The triples of graphs, as SQL over `asserted` and `quad` (`triplestore.model.tables.QUAD`)."""

from __future__ import annotations

from collections.abc import Sequence

from triplestore.engine.sql import minus
from triplestore.model.dataset import UNNAMED


def named_sql(graphs: Sequence[int] | None = None) -> str:
    """The quads (g, s, p, o) of named graphs, by the ids of their names; None: of all."""
    if graphs is None:
        return f"SELECT g, s, p, o FROM quad WHERE g <> {UNNAMED}"
    if not graphs:
        return "SELECT g, s, p, o FROM quad WHERE FALSE"
    if len(graphs) == 1:
        return f"SELECT g, s, p, o FROM quad WHERE g = {graphs[0]}"
    return f"SELECT g, s, p, o FROM quad WHERE g IN ({', '.join(map(str, graphs))})"


def unnamed_sql(union: bool) -> str:
    """The triples of the unnamed graph. union: the default graph is the union of all."""
    if not union:
        return "SELECT s, p, o FROM asserted"
    return f"{minus('asserted', 'quad', 'spo')} UNION ALL SELECT s, p, o FROM quad WHERE g = {UNNAMED}"


def quads_sql(union: bool) -> str:
    """All quads (g, s, p, o), those of the unnamed graph with g = UNNAMED."""
    unnamed = f"SELECT CAST({UNNAMED} AS BIGINT) AS g, s, p, o FROM ({unnamed_sql(union)}) u"
    return f"{named_sql()} UNION ALL {unnamed}"
