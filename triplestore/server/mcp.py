"""A server of the Model Context Protocol on standard input and output: the tools of `triplestore.server.tools`."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from importlib.metadata import version
from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations

from triplestore.model.errors import TriplakeError
from triplestore.server.tools import Tools

INSTRUCTIONS = (
    "An RDF graph that reasons (OWL 2 RL, owl:sameAs). Call overview first: it has the prefixes, predicates and "
    "classes to write SPARQL with. Find terms by search. Results include inferred triples; explain and describe prove "
    "them down to asserted ones, which is what to cite. If two things are wrongly one, ask why_same and suspects."
)
"""What a model learns of the server."""

READING = ("overview", "query", "describe", "explain", "why_same", "suspects", "search", "check")
"""The tools that change nothing."""


def server(tools: Tools, write: bool) -> MCPServer[Any]:
    """A server of the tools, of `update` too if `write` allows it."""
    made: MCPServer[Any] = MCPServer(
        "triplake", log_level="WARNING", version=version("triplake"), instructions=INSTRUCTIONS
    )
    for name in (*READING, *(("update",) if write else ())):
        reads = name in READING
        hints = ToolAnnotations(read_only_hint=reads, destructive_hint=not reads, open_world_hint=False)
        made.add_tool(_answered(getattr(tools, name)), name=name, annotations=hints, structured_output=False)
    return made


def _answered(tool: Callable[..., Any]) -> Callable[..., Any]:
    """A tool whose errors the model gets to read."""

    @wraps(tool)
    def answered(*given: Any, **named: Any) -> Any:
        try:
            return tool(*given, **named)
        except TriplakeError as error:
            raise ToolError(str(error)) from error

    return answered
