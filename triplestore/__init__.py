"""Triplake: an RDF triple store that reasons (OWL 2 RL), on DuckDB or Spark over the same files.

from triplestore import Store
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from triplestore.store import Store, Violation

__all__ = ["Store", "Violation"]


def __getattr__(name: str) -> Any:  # imported when asked for: the readers below the store import this package too
    if name in __all__:
        from triplestore import store

        return getattr(store, name)
    raise AttributeError(f"module 'triplestore' has no attribute '{name}'")
