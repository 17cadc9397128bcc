"""What an ontology imports (owl:imports) and was not loaded: its axioms are missing from the closure.

Nothing is fetched: an import is resolved by giving its file to the load, too. It is there if a triple says that it is
an ontology, by its IRI or the IRI of its version ("OWL 2 Structural Specification", section 3.4); a `#` at the end of
either makes no difference. No literal or blank node is imported, or names an ontology.
"""

from __future__ import annotations

from typing import Final

from triplestore.engine import Queries
from triplestore.model.terms import FIRST_BLANK, OWL, TYPE, builtin

_IMPORTS, _ONTOLOGY, _VERSION = (builtin(OWL + name) for name in ("imports", "Ontology", "versionIRI"))

_MISSING: Final = f"""
    WITH wanted AS (
        SELECT DISTINCT CASE WHEN i.id < {FIRST_BLANK} THEN i.lexical ELSE concat('_:', i.lexical) END AS ontology,
            t.lexical AS imported
        FROM asserted a JOIN term i ON i.id = a.s JOIN term t ON t.id = a.o
        WHERE a.p = {_IMPORTS} AND a.o < {FIRST_BLANK}
    ), given AS (
        SELECT DISTINCT t.lexical AS name FROM (
            SELECT s AS id FROM asserted WHERE p = {TYPE} AND o = {_ONTOLOGY}
            UNION ALL SELECT o AS id FROM asserted WHERE p = {_VERSION}
        ) g JOIN term t ON t.id = g.id WHERE g.id < {FIRST_BLANK}
    )
    SELECT ontology, imported FROM wanted w
    WHERE NOT EXISTS (SELECT 1 FROM given g WHERE g.name = w.imported OR g.name = concat(w.imported, '#')
        OR concat(g.name, '#') = w.imported)
    ORDER BY imported, ontology
"""


def missing_imports(engine: Queries) -> dict[str, list[str]]:
    """IRI of an ontology that is imported and not there -> the IRIs (or blank nodes) of those that import it.

    Reads the working tables (or views) `asserted` and `term`.
    """
    rows = engine.query(_MISSING)
    found: dict[str, list[str]] = {}
    for ontology, imported in zip(rows.column(0).to_pylist(), rows.column(1).to_pylist(), strict=True):
        found.setdefault(imported, []).append(ontology)
    return found
