"""What the OpenAPI document is made of: answers, parameters, errors with their reasons."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from triplestore.server.negotiation import GRAPHS

REASONS: Final = {
    400: "The request cannot be carried out as written: the message says why, and where.",
    401: "This needs a token or a user's password.",
    403: "The server is read-only, the account's role is too low, or the request comes from another site's page.",
    404: "There is no such graph, or query.",
    405: "The method is not for this address.",
    406: "None of the accepted media types can be made.",
    408: "The body comes too slowly.",
    409: "The server was started without what this needs.",
    411: "There is neither a body nor a length.",
    412: "If-Match or If-None-Match does not hold.",
    413: "The body is larger than the limit.",
    414: "The address is too long.",
    415: "The body's media type, charset or coding is not understood.",
    422: "Rules would make terms without end, or the result does not conform to the shapes.",
    429: "This address has sent too many wrong passwords or tokens.",
    431: "The headers are too long.",
    500: "A fault of the server's.",
    502: "An endpoint that the query asks by SERVICE fails.",
    503: "The server is busy, or the time limit is over.",
    507: "The disk is full, or fails.",
    508: "The query is nested in too many queries of other endpoints.",
}


TEXT: Final[dict[str, Any]] = {"schema": {"type": "string"}}
OF_GRAPHS: Final[dict[str, Any]] = dict.fromkeys(GRAPHS, TEXT) | {"application/ld+json": {"schema": {"type": "array"}}}
_TERM: Final = {"$ref": "#/components/schemas/Term"}
TERM: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["type", "value"],
    "properties": {"type": {"enum": ["uri", "bnode", "literal", "triple"]}},
    "if": {"properties": {"type": {"const": "triple"}}},
    "then": {
        "properties": {
            "value": {
                "type": "object",
                "required": ["subject", "predicate", "object"],
                "properties": dict.fromkeys(("subject", "predicate", "object"), _TERM),
            }
        }
    },
    "else": {
        "properties": {
            "value": {"type": "string"},
            "xml:lang": {"type": "string"},
            "its:dir": {"enum": ["ltr", "rtl"]},
            "datatype": {"type": "string"},
        }
    },
}


def failures(statuses: Iterable[int]) -> dict[str, Any]:
    """The answers to what fails, and those that any request may have."""
    content = dict.fromkeys(("text/plain",), TEXT)
    content["application/problem+json"] = {"schema": {"type": "object", "required": ["title", "status", "detail"]}}
    told = sorted({*statuses, 414, 431, *((429,) if 401 in statuses else ())})
    return {str(status): {"description": REASONS[status], "content": content} for status in told}


def parameter(name: str, text: str, required: bool = False, schema: dict[str, Any] | None = None) -> dict[str, Any]:
    """A parameter of an address."""
    return {
        "name": name,
        "in": "query",
        "description": text,
        "required": required,
        "schema": schema or {"type": "string"},
    }


def json_of(summary: str, schema: dict[str, Any], statuses: Iterable[int] = (401, 500, 503)) -> dict[str, Any]:
    """What answers with JSON."""
    return {
        "summary": summary,
        "responses": {
            "200": {"description": summary, "content": {"application/json": {"schema": schema}}},
            **failures(statuses),
        },
    }
