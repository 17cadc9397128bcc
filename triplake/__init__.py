"""Triplake: an RDF triple store that reasons (OWL 2 RL), on DuckDB or Spark over the same files.

from triplake import Store

Beside `Store` this package has the errors that its methods raise, all of them subclasses of `TriplakeError`, and
`__version__`. Its subpackages `loaders`, `rulesets` and `sparql` are the folders of these names at the top of the
repository: only here can they be installed without taking names that other packages and scripts use as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from triplestore.model.errors import (
        ConflictError,
        DamagedStoreError,
        EndlessError,
        EndpointError,
        EngineError,
        FaultyFilesError,
        FormatError,
        InputError,
        LimitError,
        MemoryLimitError,
        NonConformingError,
        PublishedError,
        StoppedError,
        StorageError,
        TriplakeError,
        UnsupportedError,
        UsageError,
    )
    from triplestore.store import Store, Violation

    __version__: str

__all__ = [
    "ConflictError",
    "DamagedStoreError",
    "EndlessError",
    "EndpointError",
    "EngineError",
    "FaultyFilesError",
    "FormatError",
    "InputError",
    "LimitError",
    "MemoryLimitError",
    "NonConformingError",
    "PublishedError",
    "StoppedError",
    "StorageError",
    "Store",
    "TriplakeError",
    "UnsupportedError",
    "UsageError",
    "Violation",
    "__version__",
]


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext triplake` in IPython and Jupyter: see `triplestore.notebook`."""
    from triplestore.notebook import load_ipython_extension as load

    load(shell)


def __getattr__(name: str) -> Any:  # imported when asked for: the library's own modules import this package too
    if name == "__version__":
        from importlib.metadata import version

        return version("triplake")
    if name not in __all__:
        from triplestore.model import arguments

        raise arguments.absent("module 'triplake'", name, arguments.MODULE)
    if name.endswith("Error"):
        from triplestore.model import errors

        return getattr(errors, name)
    from triplestore import store

    return getattr(store, name)
