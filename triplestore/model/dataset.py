"""RDF datasets: one unnamed graph and named ones, and which of them a query reads where it names none.

A *quad* is a triple of tokens, with the name of its graph as a fourth where it is in a named one.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Final

Quad = tuple[str, ...]
"""Subject, predicate, object; then the name of the graph, where it has one."""

QuadOperation = tuple[bool, Sequence[Quad]]
"""Whether quads are added, or else deleted, and these."""

TRIPLE: Final = 3
"""Tokens of a quad that is in the unnamed graph."""

UNNAMED: Final = -1
"""What stands for the unnamed graph among the ids of graphs (0 is owl:sameAs, which may name one)."""

EVERYWHERE: Final = -2
"""What stands for all graphs among the ids of graphs, of a triple to delete."""


class DefaultGraph(StrEnum):
    """The default graph of a store's queries, and what its rules see: all graphs together, or the unnamed one."""

    UNION = "union"
    SEPARATE = "separate"


_SPACE: Final = "urn:x-triplake:"

ASSERTED: Final = f"<{_SPACE}asserted>"
"""The name by which queries read the asserted triples of the default graph."""

INFERRED: Final = f"<{_SPACE}inferred>"
"""The name by which they read what follows from these and is not asserted."""

DEFAULT: Final = f"<{_SPACE}default>"
"""The name by which queries read, and updates change, the unnamed graph alone."""

PARTS: Final = (ASSERTED, INFERRED, DEFAULT)
"""The names that are no graph's own."""
