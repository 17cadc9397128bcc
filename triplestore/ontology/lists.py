"""RDF lists of a graph of rdflib."""

from __future__ import annotations

from typing import NamedTuple

from rdflib import RDF, BNode, Graph
from rdflib.term import Node

from triplestore.ontology.axioms import Triple


class RdfList(NamedTuple):
    """The members of a list, and the triples that make it up."""

    members: tuple[Node, ...]
    triples: tuple[Triple, ...]


def read_list(graph: Graph, head: Node) -> RdfList | None:
    """The list that begins at a node; None where it is none, or more than one: where a node has not one rdf:first and
    one rdf:rest, or leads back to itself, or is an IRI, or where it has something else, which would be lost with the
    list."""
    members: list[Node] = []
    triples: list[Triple] = []
    met: set[Node] = set()
    while head != RDF.nil:
        about = {(p, o) for p, o in graph.predicate_objects(head)} - {(RDF.type, RDF.List)}
        if (
            not isinstance(head, BNode)
            or head in met
            or len(about) != 2
            or {p for p, _ in about} != {RDF.first, RDF.rest}
        ):
            return None
        met.add(head)
        triples += graph.triples((head, None, None))
        asserted = dict(about)
        members.append(asserted[RDF.first])
        head = asserted[RDF.rest]
    return RdfList(tuple(members), tuple(triples))
