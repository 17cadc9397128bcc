"""The service's description of itself (SPARQL 1.1 Service Description), by GET without a query."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from triplake.rulesets import BUILT_IN
from triplestore.model.dataset import DefaultGraph
from triplestore.model.prefixes import Names
from triplestore.model.terms import RDF, XSD
from triplestore.read.graphs import GraphSize
from triplestore.server.faults import HttpError
from triplestore.server.jobs import Answer
from triplestore.server.negotiation import GRAPHS
from triplestore.store import Store

if TYPE_CHECKING:
    from triplestore.server.work import Service

MOST: Final = 1_000
"""Named graphs that the description lists."""

_SD: Final = "http://www.w3.org/ns/sparql-service-description#"
_VOID: Final = "http://rdfs.org/ns/void#"
_FORMATS: Final = (
    *("SPARQL_Results_JSON", "SPARQL_Results_XML", "SPARQL_Results_CSV", "SPARQL_Results_TSV"),
    *("Turtle", "N-Triples", "RDF_XML", "JSON-LD", "TriG", "N-Quads"),
)


def describe(store: Store, endpoint: str, service: Service, media: str | None) -> Answer:
    """The description as triples in a media type of `negotiation.GRAPHS`. Raises HttpError (406) for None."""
    from triplake.sparql.graph_formats import GRAPH_FORMATS

    if media is None:
        raise HttpError(406, f"the service description can be had as {', '.join(GRAPHS)}: accept one")
    size = store.count()
    me, dataset, graph = "_:service", "_:dataset", "_:graph"
    features = ["EmptyGraphs"] + (["UnionDefaultGraph"] if store.default_graph == DefaultGraph.UNION else [])
    languages = ["SPARQL11Query"] + ([] if service.settings.access.read_only else ["SPARQL11Update"])
    own = (BUILT_IN[ruleset.name] for ruleset in store.rulesets if ruleset.text is None)
    regime = next((ruleset.regime for ruleset in own if ruleset.regime), None)
    triples = [
        (me, f"<{RDF}type>", f"<{_SD}Service>"),
        (me, f"<{_SD}endpoint>", f"<{endpoint}>"),
        *((me, f"<{_SD}supportedLanguage>", f"<{_SD}{language}>") for language in languages),
        *((me, f"<{_SD}resultFormat>", f"<http://www.w3.org/ns/formats/{name}>") for name in _FORMATS),
        *(((me, f"<{_SD}feature>", f"<{_SD}BasicFederatedQuery>"),) if service.settings.services else ()),
        *(((me, f"<{_SD}defaultEntailmentRegime>", f"<{regime}>"),) if regime else ()),
        *((me, f"<{_SD}feature>", f"<{_SD}{name}>") for name in features),
        (me, f"<{_SD}defaultDataset>", dataset),
        (dataset, f"<{RDF}type>", f"<{_SD}Dataset>"),
        (dataset, f"<{_SD}defaultGraph>", graph),
        (graph, f"<{RDF}type>", f"<{_SD}Graph>"),
        (graph, f"<{_VOID}triples>", _integer(size)),
        *(triple for number, named in enumerate(_named(store)) for triple in _named_graph(dataset, number, named)),
    ]
    charset = "; charset=utf-8" if media.startswith("text/") else ""
    return Answer(media + charset, GRAPH_FORMATS[GRAPHS[media]]([triples], Names({"sd": _SD, "void": _VOID})))


def _named(store: Store) -> list[GraphSize]:
    """The first `MOST` graphs that have an IRI."""
    return list(islice((graph for graph in store.graphs()[1:] if graph.name[0] == "<"), MOST))


def _named_graph(dataset: str, number: int, named: GraphSize) -> list[tuple[str, str, str]]:
    """The triples about a named graph: nothing is inferred in it."""
    me, graph = f"_:named{number}", f"_:graph{number}"
    return [
        (dataset, f"<{_SD}namedGraph>", me),
        (me, f"<{RDF}type>", f"<{_SD}NamedGraph>"),
        (me, f"<{_SD}name>", named.name),
        (me, f"<{_SD}entailmentRegime>", f"<{BUILT_IN['none'].regime}>"),
        (me, f"<{_SD}graph>", graph),
        (graph, f"<{RDF}type>", f"<{_SD}Graph>"),
        (graph, f"<{_VOID}triples>", _integer(named.triples)),
    ]


def _integer(number: int) -> str:
    return f'"{number}"^^<{XSD}integer>'
