"""Terms that RDFLib lacks."""

from __future__ import annotations

from typing import Any

from rdflib.term import Identifier


class TripleTerm(Identifier):
    """A triple term of RDF 1.2. As text it is its token (see `triplestore.model.terms`)."""

    __slots__ = ()

    def n3(self, namespace_manager: Any = None) -> str:
        """The term as N-Triples writes it."""
        return f"<<( {self[1:-1]} )>>"
