"""The hierarchy of classes, level by level, as JSON, for the page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from rdflib.term import Node
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from triplestore.model.terms import from_rdflib
from triplestore.server.bodies import asked
from triplestore.server.facts import term_object, token
from triplestore.server.faults import HttpError
from triplestore.server.work import Service
from triplestore.store import Store

if TYPE_CHECKING:
    from triplake.sparql.results import Row

MOST: Final = 500
"""Classes of a level that are shown."""

_PREFIXES: Final = "PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> PREFIX owl: <http://www.w3.org/2002/07/owl#> "
_TOP: Final = f"""{_PREFIXES}SELECT DISTINCT ?c {{
  {{ ?c a owl:Class }} UNION {{ ?c a rdfs:Class }} UNION {{ ?c rdfs:subClassOf ?any }}
  UNION {{ ?any rdfs:subClassOf ?c }} UNION {{ SELECT DISTINCT ?c {{ ?x a ?c }} }}
  FILTER(isIRI(?c) && ?c NOT IN (owl:Thing, owl:Nothing))
  FILTER NOT EXISTS {{
    ?c rdfs:subClassOf ?d FILTER(isIRI(?d) && ?d != ?c && ?d != owl:Thing)
    FILTER NOT EXISTS {{ ?d rdfs:subClassOf ?c }}
  }}
}} ORDER BY ?c LIMIT {MOST + 1}"""
_UNDER: Final = f"""{_PREFIXES}SELECT DISTINCT ?c {{
  ?c rdfs:subClassOf %(top)s FILTER(isIRI(?c) && ?c != %(top)s && ?c != owl:Nothing)
  FILTER NOT EXISTS {{ %(top)s rdfs:subClassOf ?c }}
  FILTER NOT EXISTS {{
    ?c rdfs:subClassOf ?m . ?m rdfs:subClassOf %(top)s FILTER(isIRI(?m) && ?m != ?c && ?m != %(top)s)
    FILTER NOT EXISTS {{ ?m rdfs:subClassOf ?c }}
    FILTER NOT EXISTS {{ %(top)s rdfs:subClassOf ?m }}
  }}
}} ORDER BY ?c LIMIT {MOST + 1}"""
_THINGS: Final = "SELECT ?c (COUNT(*) AS ?n) { VALUES ?c { %s } ?x a ?c } GROUP BY ?c"
_PARENTS: Final = f"""{_PREFIXES}SELECT DISTINCT ?c {{
  VALUES ?c {{ %s }} ?d rdfs:subClassOf ?c FILTER(isIRI(?d) && ?d != ?c && ?d != owl:Nothing)
  FILTER NOT EXISTS {{ ?c rdfs:subClassOf ?d }}
}}"""


async def classes(request: Request) -> Response:
    """The classes right below one; without it those below no other."""
    service: Service = request.app.state.served.service
    sent = asked(request)
    if "under" not in sent:
        return JSONResponse(await service.kept(request, "hierarchy", lambda store: _level(store, _TOP)))

    def below(store: Store) -> dict[str, Any]:
        top = token(sent, "under", store)
        if not top.startswith("<"):
            raise HttpError(400, "under is the IRI of a class")
        return _level(store, _UNDER % {"top": top})

    return JSONResponse(await service.find(request, below))


def _level(store: Store, text: str) -> dict[str, Any]:
    """The classes that a query finds: with how many things, equal ones once, and whether there are others below."""
    found = [c for (c,) in store.query(text, "canonical") if c is not None]
    shown = found[:MOST]
    things = {row[0]: int(str(row[1])) for row in _of(store, _THINGS, shown)}
    parents = {row[0] for row in _of(store, _PARENTS, shown)}
    listed = [{"term": term_object(c), "things": things.get(c, 0), "more": c in parents} for c in shown]
    return {"classes": listed, "more": len(found) > MOST, "version": store.version}


def _of(store: Store, text: str, shown: Sequence[Node]) -> list[Row]:
    """What a query finds of some classes."""
    return list(store.query(text % " ".join(map(from_rdflib, shown)), "canonical")) if shown else []
