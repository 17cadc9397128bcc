"""What the server offers, as an OpenAPI 3.1 document."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

from triplestore.server.bodies import FORM, MULTIPART
from triplestore.server.graph_store import SUFFIXES
from triplestore.server.negotiation import ROWS
from triplestore.server.openapi_parts import OF_GRAPHS, TERM, TEXT, failures, json_of, parameter
from triplestore.server.protocol import QUERY, UPDATE
from triplestore.server.settings import Settings
from triplestore.server.streams import EVENTS

_PROOF: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["depth", "steps"],
    "properties": {
        "depth": {"type": "integer"},
        "steps": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["triple", "by", "premises"],
                "properties": {
                    "triple": {"type": ["array", "null"], "items": {"$ref": "#/components/schemas/Term"}},
                    "by": {"type": "string"},
                    "premises": {"type": "array", "items": {"type": "integer"}},
                    "conditions": {"type": "array", "items": {"type": "string"}},
                },
            },
        },
    },
}


def document(settings: Settings, root: str = "") -> dict[str, Any]:
    """The document of a store with these settings, whose paths begin with `root` where it is one of several."""
    try:
        number = version("triplake")
    except PackageNotFoundError:
        number = "0"
    secured: dict[str, Any] = {"security": [{"bearer": []}, {"basic": []}]} if settings.access.authenticates else {}
    read = dict(secured) if settings.access.protect_reads else {}
    graph_paths = {
        "/data": _graph_store(read, secured, [_GRAPH, _DEFAULT]),
        "/data/default": _graph_store(read, secured, []),
        "/data/{name}": _graph_store(read, secured, [_OWN]),
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "Triplake", "version": number, "description": "A triple store that reasons, over HTTP."},
        "servers": [{"url": root or "/"}],
        "paths": {
            "/sparql": {"get": {**_sparql_get(), **read}, "post": {**_sparql_post(), **read}},
            **graph_paths,
            "/health": {"get": json_of("Whether the server works.", {"type": "object", "required": ["status"]}, ())},
            "/stats": {"get": {**json_of("Counts of the store.", {"type": "object", "required": ["facts"]}), **read}},
            "/api/overview": {"get": {**json_of("The store at a glance.", {"type": "object"}), **read}},
            "/api/graphs": {"get": {**json_of("The graphs and their sizes.", {"type": "object"}), **read}},
            "/api/vocabulary": {"get": {**json_of("Words for queries.", {"type": "object"}), **read}},
            "/streams": {
                "get": {
                    **json_of("The continuous queries, and their figures.", {"type": "object"}, ()),
                    **read,
                },
                "post": {**_stream_post(), **secured},
            },
            "/streams/{name}": {"get": {**_stream_get(), **read}},
            **_managing(secured),
            **({} if root else _of_the_process(read, secured)),
            "/api/resource": {
                "get": {
                    **json_of(
                        "The facts of a resource, asserted and inferred apart, and what it equals.",
                        {"type": "object", "required": ["term", "asserted", "inferred", "graphs", "equals", "more"]},
                        (400, 503),
                    ),
                    "parameters": [
                        parameter(
                            "term",
                            "An IRI, a name with a prefix that /api/vocabulary lists, or _:label.",
                            required=True,
                        )
                    ],
                    **read,
                }
            },
            "/api/suspects": {
                "get": {
                    **json_of(
                        "The links that are most likely wrong.", {"type": "object", "required": ["found", "more"]}
                    ),
                    **read,
                }
            },
            "/api/class": {
                "get": {
                    **json_of(
                        "The class of equals of a term, and what joins them.",
                        {"type": "object", "required": ["size", "members", "joined"]},
                        (400, 404, 503),
                    ),
                    "parameters": [parameter("term", "An IRI, a prefixed name, or _:label.", required=True)],
                    **read,
                }
            },
            "/api/plan": {
                "post": {
                    "operationId": "plan",
                    "summary": "How a query is answered: algebra, SQL, and the steps of the engine with their rows.",
                    "parameters": [_SAME_AS, _TIMEOUT],
                    "requestBody": {"required": True, "content": {QUERY: TEXT}},
                    "responses": {
                        "200": {"description": "The plan.", "content": {"text/plain": TEXT}},
                        **failures((400, 401, 408, 411, 413, 415, 500, 503)),
                    },
                    **read,
                }
            },
            "/api/changes": {
                "get": {
                    **json_of(
                        "What a version added and removed, asserted and inferred apart.",
                        {"type": "object", "required": ["version", "before", "after", "kinds"]},
                        (400, 404, 503),
                    ),
                    "parameters": [parameter("version", "Its number.", required=True, schema={"type": "integer"})],
                    **read,
                }
            },
            "/api/hierarchy": {
                "get": {
                    **json_of(
                        "The classes right below one, or those below no other, with how many things they have.",
                        {"type": "object", "required": ["classes", "more", "version"]},
                        (400, 503),
                    ),
                    "parameters": [parameter("under", "The IRI of a class, or a name with a known prefix.")],
                    **read,
                }
            },
            "/api/search": {
                "get": {
                    **json_of(
                        "The terms of which some literal has words, those first that fit best.",
                        {"type": "object", "required": ["found", "more"]},
                        (400, 503),
                    ),
                    "parameters": [parameter("text", "Words, phrases, prefixes, AND, OR, NOT.", required=True)],
                    **read,
                }
            },
            "/api/explain": {
                "get": {
                    **json_of(
                        "Why a triple holds, or why the closure is inconsistent: steps, premises first.",
                        _PROOF,
                        (400, 404, 503),
                    ),
                    "parameters": [
                        *(
                            parameter(
                                name,
                                "A term as N-Triples writes it, or a name with a prefix that /api/vocabulary lists.",
                            )
                            for name in ("subject", "predicate", "object")
                        ),
                        parameter("violation", "Instead of a triple: a rule and the number of its inconsistency."),
                    ],
                    **read,
                }
            },
        },
        "components": {
            "schemas": {
                "Term": TERM,
                "Results": {
                    "type": "object",
                    "required": ["head"],
                    "properties": {
                        "head": {"type": "object"},
                        "boolean": {"type": "boolean"},
                        "results": {
                            "type": "object",
                            "required": ["bindings"],
                            "properties": {
                                "bindings": {
                                    "type": "array",
                                    "items": {
                                        "type": "object",
                                        "additionalProperties": {"$ref": "#/components/schemas/Term"},
                                    },
                                }
                            },
                        },
                    },
                },
                "Change": {"type": "object", "required": ["version"], "properties": {"version": {"type": "integer"}}},
            },
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "basic": {"type": "http", "scheme": "basic"},
            },
        },
    }


_SAME_AS: Final = parameter(
    "same_as",
    "Answers over every member of a class of equals, or one for each class.",
    schema={"type": "string", "enum": ["expand", "canonical"]},
)
_PREFER: Final = parameter(
    "prefer",
    "With same_as=canonical: a class appears as its member that starts with this IRI, or with the first of several.",
    schema={"type": "array", "items": {"type": "string"}},
)
_TIMEOUT: Final = parameter(
    "timeout", "Seconds, less than the server's limit.", schema={"type": "number", "exclusiveMinimum": 0}
)
_DRY_RUN: Final = parameter(
    "dry_run",
    "The request changes nothing, and tells what it would do.",
    schema={"type": "string", "enum": ["true", "false"]},
)
_GRAPH: Final = parameter("graph", "The name of a graph, an IRI; urn:x-triplake:default is the unnamed one.")
_DEFAULT: Final = parameter("default", "In place of a name: the default graph; of what is written, the unnamed one.")
_OWN: Final = parameter("name", "What a graph is called below /data: its name is this address.", required=True) | {
    "in": "path"
}


def _graphs(name: str, text: str) -> dict[str, Any]:
    return parameter(name, text, schema={"type": "array", "items": {"type": "string"}})


_DATASET: Final = [
    _graphs("default-graph-uri", "Graphs that a query reads, in place of its FROM."),
    _graphs("named-graph-uri", "Graphs that a query reads by GRAPH, in place of its FROM NAMED."),
]
_USING: Final = [
    _graphs("using-graph-uri", "Graphs that the patterns of an update read, where it has neither USING nor WITH."),
    _graphs("using-named-graph-uri", "Graphs that the patterns of an update read by GRAPH."),
]


def _answers() -> dict[str, Any]:
    found: dict[str, Any] = dict.fromkeys(ROWS, TEXT) | OF_GRAPHS
    for media in ("application/sparql-results+json", "application/json"):
        found[media] = {"schema": {"$ref": "#/components/schemas/Results"}}
    return found


def _changed(new: bool = False) -> dict[str, Any]:
    """The answers to a change. new: it may make a graph."""
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/Change"}}}
    done = {"200": {"description": "What the change did.", "content": content}}
    if new:
        headers = {"Location": {"description": "Where the graph is.", "schema": {"type": "string"}}}
        done["201"] = {"description": "A graph was made.", "content": content, "headers": headers}
    return done


def _managing(secured: dict[str, Any]) -> dict[str, Any]:
    """What who runs the server may do."""
    number = parameter("number", "As the list has it.", required=True, schema={"type": "integer", "minimum": 1})
    listed = json_of(
        "The queries that run, the oldest first.", {"type": "object", "required": ["requests"]}, (401, 403)
    )
    stopped = json_of("Stop a query.", {"type": "object", "required": ["stopped"]}, (401, 403, 404))
    backup = json_of("Bring the backup up to date.", {"type": "object", "required": ["new"]}, (401, 403, 409, 500, 507))
    return {
        "/admin/requests": {"get": {**listed, **secured}},
        "/admin/requests/{number}": {"delete": {**stopped, "parameters": [number | {"in": "path"}], **secured}},
        "/admin/backup": {"post": {**backup, **secured}},
    }


def _of_the_process(read: dict[str, Any], secured: dict[str, Any]) -> dict[str, Any]:
    """What is at the root of the address alone, of however many stores."""
    figures = {"description": "Its figures, as Prometheus reads them.", "content": {"text/plain": TEXT}}
    again = json_of("Read accounts and the certificate again.", {"type": "object"}, (400, 401, 403))
    return {
        "/metrics": {"get": {"summary": "Figures.", "responses": {"200": figures, **failures((401,))}, **read}},
        "/admin/reload": {"post": {**again, **secured}},
    }


def _sparql_get() -> dict[str, Any]:
    return {
        "operationId": "query",
        "summary": "Answer a query; without one, the service's description.",
        "parameters": [parameter("query", "SPARQL 1.1."), *_DATASET, _SAME_AS, _PREFER, _TIMEOUT],
        "responses": {
            "200": {"description": "The answer.", "content": _answers()},
            "303": {"description": "A browser without a query is sent to the page."},
            **failures((400, 401, 406, 500, 502, 503, 507, 508)),
        },
    }


def _sparql_post() -> dict[str, Any]:
    fields = {name: {"type": "string"} for name in ("query", "update")}
    form = {"schema": {"type": "object", "properties": fields, "minProperties": 1, "maxProperties": 1}}
    content = _answers()
    content["application/json"] = {"schema": {"type": "object"}}
    return {
        "operationId": "queryOrUpdate",
        "summary": "Answer a query, or carry out an update as one transaction.",
        "parameters": [*_DATASET, *_USING, _DRY_RUN, _SAME_AS, _PREFER, _TIMEOUT],
        "requestBody": {"required": True, "content": {FORM: form, QUERY: TEXT, UPDATE: TEXT}},
        "responses": {
            "200": {"description": "The answer to the query, or what the update did.", "content": content},
            **failures((400, 401, 403, 406, 408, 411, 413, 415, 422, 500, 502, 503, 507, 508)),
        },
    }


def _graph_store(read: dict[str, Any], secured: dict[str, Any], where: list[dict[str, Any]]) -> dict[str, Any]:
    parts = {"type": "string", "enum": ["all", "asserted", "inferred"]}
    part = parameter("what", "The whole closure, or a part of it.", schema=parts)
    graph = {"description": "The graph.", "content": OF_GRAPHS}
    content: dict[str, Any] = dict.fromkeys(SUFFIXES, TEXT)
    files = {"type": "object", "additionalProperties": {"type": "string", "contentMediaType": "text/turtle"}}
    body = {"required": True, "content": {**content, MULTIPART: {"schema": files}}}
    failing = failures((400, 401, 403, 408, 411, 412, 413, 415, 422, 500, 503, 507))
    getting = {"parameters": [*where, part, _SAME_AS], **read}
    return {
        "get": {
            "summary": "The triples of a graph; of the default one what queries see; without a graph all, as quads.",
            "responses": {"200": graph, **failures((400, 401, 404, 406, 500, 503))},
            **getting,
        },
        "put": {
            "summary": "Replace the triples of a graph, or make it.",
            "parameters": [*where, _DRY_RUN],
            "requestBody": body,
            "responses": {**_changed(new=True), **failing},
            **secured,
        },
        "post": {
            "summary": "Add triples to a graph, or make one.",
            "parameters": [*where, _DRY_RUN],
            "requestBody": body,
            "responses": {**_changed(new=True), **failing},
            **secured,
        },
        "delete": {
            "summary": "Take a graph away; of the unnamed one, its triples.",
            "parameters": [*where, _DRY_RUN],
            "responses": {**_changed(), **failures((400, 401, 403, 404, 412, 422, 500, 503, 507))},
            **secured,
        },
    }


def _stream_get() -> dict[str, Any]:
    after = "Only answers after this time, an integer or as 2024-05-01T12:00:00Z; so does the header Last-Event-ID."
    return {
        "operationId": "followStream",
        "summary": "The answers of a continuous query as they come: events answer, missed, figures and end.",
        "parameters": [
            parameter("name", "What the query is called.", required=True) | {"in": "path"},
            parameter("after", after),
        ],
        "responses": {
            "200": {"description": "The events.", "content": {EVENTS: TEXT}},
            **failures((400, 401, 404, 406)),
        },
    }


def _stream_post() -> dict[str, Any]:
    content = {"application/json": {"schema": {"type": "object", "required": ["triples"]}}}
    return {
        "operationId": "postToStream",
        "summary": "More of a stream, lines of TIME TRIPLE .",
        "parameters": [parameter("stream", "The stream, where clients post several.")],
        "requestBody": {"required": True, "content": {"text/plain": TEXT}},
        "responses": {
            "202": {"description": "How many timed triples were taken.", "content": content},
            **failures((400, 401, 403, 404, 408, 411, 413, 415, 503)),
        },
    }
