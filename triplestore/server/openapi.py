"""What the server offers, as an OpenAPI 3.1 document."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

from triplestore.server.bodies import FORM, MULTIPART
from triplestore.server.graph_store import SUFFIXES
from triplestore.server.negotiation import GRAPHS, ROWS
from triplestore.server.protocol import QUERY, UPDATE
from triplestore.server.settings import Settings
from triplestore.server.streams import EVENTS

_REASONS: Final = {
    400: "The request cannot be carried out as written: the message says why, and where.",
    401: "This needs a token or a user's password.",
    403: "The server is read-only, the account's role is too low, or the request comes from another site's page.",
    404: "There is no such graph, or query.",
    405: "The method is not for this address.",
    406: "None of the accepted media types can be made.",
    408: "The body comes too slowly.",
    409: "The server was started without what this needs.",
    411: "There is neither a body nor a length.",
    413: "The body is larger than the limit.",
    414: "The address is too long.",
    415: "The body's media type, charset or coding is not understood.",
    431: "The headers are too long.",
    500: "A fault of the server's.",
    502: "An endpoint that the query asks by SERVICE fails.",
    503: "The server is busy, or the time limit is over.",
    507: "The disk is full, or fails.",
}

_TEXT: Final[dict[str, Any]] = {"schema": {"type": "string"}}
_GRAPHS: Final[dict[str, Any]] = dict.fromkeys(GRAPHS, _TEXT) | {"application/ld+json": {"schema": {"type": "array"}}}
_TERM: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["type", "value"],
    "properties": {
        "type": {"enum": ["uri", "bnode", "literal"]},
        "value": {"type": "string"},
        "xml:lang": {"type": "string"},
        "datatype": {"type": "string"},
    },
}

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
            "/health": {"get": _json("Whether the server works.", {"type": "object", "required": ["status"]}, ())},
            "/stats": {"get": {**_json("Counts of the store.", {"type": "object", "required": ["facts"]}), **read}},
            "/api/overview": {"get": {**_json("The store at a glance.", {"type": "object"}), **read}},
            "/api/graphs": {"get": {**_json("The graphs and their sizes.", {"type": "object"}), **read}},
            "/api/vocabulary": {"get": {**_json("Words for queries.", {"type": "object"}), **read}},
            "/streams": {
                "get": {
                    **_json("The continuous queries, and their figures.", {"type": "object"}, ()),
                    **read,
                },
                "post": {**_stream_post(), **secured},
            },
            "/streams/{name}": {"get": {**_stream_get(), **read}},
            **_managing(secured),
            "/api/resource": {
                "get": {
                    **_json(
                        "The facts of a resource, asserted and inferred apart, and what it equals.",
                        {"type": "object", "required": ["term", "asserted", "inferred", "graphs", "equals", "more"]},
                        (400, 503),
                    ),
                    "parameters": [
                        _parameter(
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
                    **_json("The links that are most likely wrong.", {"type": "object", "required": ["found", "more"]}),
                    **read,
                }
            },
            "/api/class": {
                "get": {
                    **_json(
                        "The class of equals of a term, and what joins them.",
                        {"type": "object", "required": ["size", "members", "joined"]},
                        (400, 404, 503),
                    ),
                    "parameters": [_parameter("term", "An IRI, a prefixed name, or _:label.", required=True)],
                    **read,
                }
            },
            "/api/plan": {
                "post": {
                    "operationId": "plan",
                    "summary": "How a query is answered: algebra, SQL, and the steps of the engine with their rows.",
                    "parameters": [_SAME_AS, _TIMEOUT],
                    "requestBody": {"required": True, "content": {QUERY: _TEXT}},
                    "responses": {
                        "200": {"description": "The plan.", "content": {"text/plain": _TEXT}},
                        **_failures((400, 401, 408, 411, 413, 415, 500, 503)),
                    },
                    **read,
                }
            },
            "/api/search": {
                "get": {
                    **_json(
                        "The terms of which some literal has words, those first that fit best.",
                        {"type": "object", "required": ["found", "more"]},
                        (400, 503),
                    ),
                    "parameters": [_parameter("text", "Words, phrases, prefixes, AND, OR, NOT.", required=True)],
                    **read,
                }
            },
            "/api/explain": {
                "get": {
                    **_json(
                        "Why a triple holds, or why the closure is inconsistent: steps, premises first.",
                        _PROOF,
                        (400, 404, 503),
                    ),
                    "parameters": [
                        *(
                            _parameter(
                                name,
                                "A term as N-Triples writes it, or a name with a prefix that /api/vocabulary lists.",
                            )
                            for name in ("subject", "predicate", "object")
                        ),
                        _parameter("violation", "Instead of a triple: a rule and the number of its inconsistency."),
                    ],
                    **read,
                }
            },
        },
        "components": {
            "schemas": {
                "Term": _TERM,
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


def _parameter(name: str, text: str, required: bool = False, schema: dict[str, Any] | None = None) -> dict[str, Any]:
    return {
        "name": name,
        "in": "query",
        "description": text,
        "required": required,
        "schema": schema or {"type": "string"},
    }


_SAME_AS: Final = _parameter(
    "same_as",
    "Answers over every member of a class of equals, or one for each class.",
    schema={"type": "string", "enum": ["expand", "canonical"]},
)
_PREFER: Final = _parameter(
    "prefer",
    "With same_as=canonical: a class appears as its member that starts with this IRI, or with the first of several.",
    schema={"type": "array", "items": {"type": "string"}},
)
_TIMEOUT: Final = _parameter(
    "timeout", "Seconds, less than the server's limit.", schema={"type": "number", "exclusiveMinimum": 0}
)
_DRY_RUN: Final = _parameter(
    "dry_run",
    "An update changes nothing, and says what it would do.",
    schema={"type": "string", "enum": ["true", "false"]},
)
_GRAPH: Final = _parameter("graph", "The name of a graph, an IRI; urn:x-triplake:default is the unnamed one.")
_DEFAULT: Final = _parameter("default", "In place of a name: the default graph; of what is written, the unnamed one.")
_OWN: Final = _parameter("name", "What a graph is called below /data: its name is this address.", required=True) | {
    "in": "path"
}


def _graphs(name: str, text: str) -> dict[str, Any]:
    return _parameter(name, text, schema={"type": "array", "items": {"type": "string"}})


_DATASET: Final = [
    _graphs("default-graph-uri", "Graphs that a query reads, in place of its FROM."),
    _graphs("named-graph-uri", "Graphs that a query reads by GRAPH, in place of its FROM NAMED."),
]
_USING: Final = [
    _graphs("using-graph-uri", "Graphs that the patterns of an update read, where it has neither USING nor WITH."),
    _graphs("using-named-graph-uri", "Graphs that the patterns of an update read by GRAPH."),
]


def _failures(statuses: Iterable[int]) -> dict[str, Any]:
    content = dict.fromkeys(("text/plain",), _TEXT)
    content["application/problem+json"] = {"schema": {"type": "object", "required": ["title", "status", "detail"]}}
    told = sorted({*statuses, 414, 431})
    return {str(status): {"description": _REASONS[status], "content": content} for status in told}


def _answers() -> dict[str, Any]:
    found: dict[str, Any] = dict.fromkeys(ROWS, _TEXT) | _GRAPHS
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
    number = _parameter("number", "As the list has it.", required=True, schema={"type": "integer", "minimum": 1})
    listed = _json("The queries that run, the oldest first.", {"type": "object", "required": ["requests"]}, (401, 403))
    stopped = _json("Stop a query.", {"type": "object", "required": ["stopped"]}, (401, 403, 404))
    backup = _json("Bring the backup up to date.", {"type": "object", "required": ["new"]}, (401, 403, 409, 500, 507))
    return {
        "/admin/requests": {"get": {**listed, **secured}},
        "/admin/requests/{number}": {"delete": {**stopped, "parameters": [number | {"in": "path"}], **secured}},
        "/admin/backup": {"post": {**backup, **secured}},
    }


def _sparql_get() -> dict[str, Any]:
    return {
        "operationId": "query",
        "summary": "Answer a query; without one, the service's description.",
        "parameters": [_parameter("query", "SPARQL 1.1."), *_DATASET, _SAME_AS, _PREFER, _TIMEOUT],
        "responses": {
            "200": {"description": "The answer.", "content": _answers()},
            "303": {"description": "A browser without a query is sent to the page."},
            **_failures((400, 401, 406, 500, 502, 503)),
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
        "requestBody": {"required": True, "content": {FORM: form, QUERY: _TEXT, UPDATE: _TEXT}},
        "responses": {
            "200": {"description": "The answer to the query, or what the update did.", "content": content},
            **_failures((400, 401, 403, 406, 408, 411, 413, 415, 500, 502, 503)),
        },
    }


def _graph_store(read: dict[str, Any], secured: dict[str, Any], where: list[dict[str, Any]]) -> dict[str, Any]:
    parts = {"type": "string", "enum": ["all", "asserted", "inferred"]}
    part = _parameter("what", "The whole closure, or a part of it.", schema=parts)
    graph = {"description": "The graph.", "content": _GRAPHS}
    content: dict[str, Any] = dict.fromkeys(SUFFIXES, _TEXT)
    files = {"type": "object", "additionalProperties": {"type": "string", "contentMediaType": "text/turtle"}}
    body = {"required": True, "content": {**content, MULTIPART: {"schema": files}}}
    failing = _failures((400, 401, 403, 408, 411, 413, 415, 500, 503))
    getting = {"parameters": [*where, part, _SAME_AS], **read}
    return {
        "get": {
            "summary": "The triples of a graph; of the default one what queries see; without a graph all, as quads.",
            "responses": {"200": graph, **_failures((400, 401, 404, 406, 500, 503))},
            **getting,
        },
        "put": {
            "summary": "Replace the triples of a graph, or make it.",
            "parameters": where,
            "requestBody": body,
            "responses": {**_changed(new=True), **failing},
            **secured,
        },
        "post": {
            "summary": "Add triples to a graph, or make one.",
            "parameters": where,
            "requestBody": body,
            "responses": {**_changed(new=True), **failing},
            **secured,
        },
        "delete": {
            "summary": "Take a graph away; of the unnamed one, its triples.",
            "parameters": where,
            "responses": {**_changed(), **_failures((400, 401, 403, 404, 500, 503))},
            **secured,
        },
    }


def _stream_get() -> dict[str, Any]:
    after = "Only answers after this time, an integer or as 2024-05-01T12:00:00Z; so does the header Last-Event-ID."
    return {
        "operationId": "followStream",
        "summary": "The answers of a continuous query as they come: events answer, missed, figures and end.",
        "parameters": [
            _parameter("name", "What the query is called.", required=True) | {"in": "path"},
            _parameter("after", after),
        ],
        "responses": {
            "200": {"description": "The events.", "content": {EVENTS: _TEXT}},
            **_failures((400, 401, 404, 406)),
        },
    }


def _stream_post() -> dict[str, Any]:
    content = {"application/json": {"schema": {"type": "object", "required": ["triples"]}}}
    return {
        "operationId": "postToStream",
        "summary": "More of a stream, lines of TIME TRIPLE .",
        "parameters": [_parameter("stream", "The stream, where clients post several.")],
        "requestBody": {"required": True, "content": {"text/plain": _TEXT}},
        "responses": {
            "202": {"description": "How many timed triples were taken.", "content": content},
            **_failures((400, 401, 403, 404, 408, 411, 413, 415, 503)),
        },
    }


def _json(summary: str, schema: dict[str, Any], failures: Iterable[int] = (401, 500, 503)) -> dict[str, Any]:
    return {
        "summary": summary,
        "responses": {
            "200": {"description": summary, "content": {"application/json": {"schema": schema}}},
            **_failures(failures),
        },
    }
