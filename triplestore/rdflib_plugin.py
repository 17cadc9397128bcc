"""A Triplake store as a store of RDFLib's: `Graph(store="Triplake")`, then `graph.open(path, create=True)`.

RDFLib adds and removes one triple at a time, Triplake by transactions. So changes are gathered, and become one
transaction with `commit` or `close`, or before anything is read: what is read is the closure, all equalities expanded.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import rdflib
import rdflib.store
from rdflib.plugins.stores.memory import SimpleMemory
from rdflib.query import Result
from rdflib.store import NO_STORE, VALID_STORE
from rdflib.term import URIRef, Variable

from triplestore.model.errors import UsageError
from triplestore.storage.versions import Versions
from triplestore.store import Store


class TriplakeStore(rdflib.store.Store):
    """The store that RDFLib knows as "Triplake".

    Its configuration is the path of a store, or a mapping with `path` and options of `Store.create` and `Store.open`
    (`rules`, `equality`, `engine`, `spark`, `at` ...). A new store has no rules unless some are asked for: it holds
    what was added, as RDFLib's own stores do. Only asserted triples can be removed; namespaces that are bound are kept
    in memory, beside the store's prefixes. `rollback` forgets what was changed since the last commit or read.

    Invariant: `_pending` holds what has changed and is not in the store yet, in order: a triple, and whether it is
    to be there.
    """

    transaction_aware = True

    def __init__(self, configuration: Any = None, identifier: Any = None) -> None:
        self._store: Store | None = None
        self._pending: list[tuple[Any, bool]] = []
        self._names = SimpleMemory()  # for its prefixes
        super().__init__(configuration, identifier)

    @property
    def triplake(self) -> Store:
        """The store itself, for what RDFLib has no words for: `explain`, `stats`, `check` ... Raises UsageError where
        none is open."""
        return self._opened()

    def _opened(self) -> Store:
        if self._store is None:
            raise UsageError("no store is open: call graph.open(path), or graph.open(path, create=True) for a new one")
        return self._store

    # -- opening and closing -------------------------------------------------------------------------------------------

    def open(self, configuration: Any, create: bool = False) -> int:
        """Open a store; with `create`, make it if there is none. Returns VALID_STORE, or NO_STORE where there is none
        and none is to be made."""
        options = dict(configuration) if isinstance(configuration, Mapping) else {"path": configuration}
        path = Path(options.pop("path"))
        making = {name: options.pop(name) for name in ("rules", "equality") if name in options}
        self.close()
        if Versions(path).numbers():
            self._store = Store.open(path, **options)
        elif create:
            self._store = Store.create(path, **{"rules": "none", **making}, **options)
        else:
            return int(NO_STORE)
        for name, iri in self._store.prefixes.declared.items():
            self._names.bind(name, URIRef(iri))
        return int(VALID_STORE)

    def close(self, commit_pending_transaction: bool = False) -> None:
        """Commit the changes, whatever the argument is (RDFLib passes False by default; `rollback` forgets it), and
        close."""
        if self._store is not None:
            self.commit()
            self._store.close()
            self._store = None

    def destroy(self, configuration: Any) -> None:
        """Delete the store at a path, for good. Raises UsageError where there is none."""
        path = Path(configuration["path"] if isinstance(configuration, Mapping) else configuration)
        self.rollback()
        self.close()
        Versions(path).check()
        shutil.rmtree(path)

    # -- changing ------------------------------------------------------------------------------------------------------

    def add(self, triple: Any, context: Any = None, quoted: bool = False) -> None:
        """Add a triple to those that the next commit asserts."""
        if quoted:
            raise UsageError("Triplake holds no quoted statements")
        if self._store is None:
            self._opened()
        self._pending.append((triple, True))
        if self.dispatcher.get_map():  # type: ignore[no-untyped-call]  # somebody wants to know
            super().add(triple, context, quoted)

    def remove(self, triple: Any, context: Any = None) -> None:
        """Take the asserted triples that match a pattern (None is any) away at the next commit. What follows from
        others still holds then."""
        self._opened()
        if None not in triple:
            self._pending.append((triple, False))
        else:
            self.commit()
            s, p, o = triple
            self._pending += [(found, False) for found in self.triplake.match(s, p, o, what="asserted")]
        super().remove(triple, context)

    def commit(self) -> None:
        """Make what has changed one transaction, and bring the closure up to date."""
        if self._pending:
            delete = []
            add: Iterable[Any] = (triple for triple, _ in self._pending)
            if not all(there for _, there in self._pending):
                last = dict(self._pending)
                add = [triple for triple, there in last.items() if there]
                delete = [triple for triple, there in last.items() if not there]
            self.triplake.update(add=add, delete=delete)
            self._pending.clear()

    def rollback(self) -> None:
        """Forget what has changed since the last commit, or read."""
        self._pending.clear()

    # -- reading -------------------------------------------------------------------------------------------------------

    def triples(self, triple_pattern: Any, context: Any = None) -> Iterator[tuple[Any, Iterator[Any]]]:
        """The triples of the closure that match a pattern (None is any)."""
        self.commit()
        for triple in self.triplake.match(*triple_pattern):
            yield triple, iter((context,))

    def __len__(self, context: Any = None) -> int:
        """Distinct triples of the closure."""
        self.commit()
        return self.triplake.count()

    def query(self, query: Any, initNs: Any, initBindings: Any, queryGraph: Any, **options: Any) -> Result:  # noqa: N803
        """Answer a query by Triplake. RDFLib does it itself, over `triples`, where there are bindings or options other
        than `same_as` (see `Store.query`), or it has parsed the query."""
        if not isinstance(query, str) or initBindings or options.keys() - {"same_as"}:
            raise NotImplementedError
        self.commit()
        found = self.triplake.query(_prologue(initNs, query) + query, **options)
        result = Result(found.kind.upper())
        if found.kind == "ask":
            result.askAnswer = found.boolean
        elif found.kind == "select":
            result.vars = [Variable(name) for name in found.variables]
            rows: Iterable[Any] = found
            result.bindings = [
                {v: term for v, term in zip(result.vars, row, strict=True) if term is not None} for row in rows
            ]
        else:
            result.graph = rdflib.Graph()
            for triple in found:
                result.graph.add(triple)  # type: ignore[arg-type]
        return result

    def update(self, update: Any, initNs: Any, initBindings: Any, queryGraph: Any, **options: Any) -> None:  # noqa: N803
        """Carry out an update by Triplake; RDFLib does it where `query` says so."""
        if not isinstance(update, str) or initBindings or options:
            raise NotImplementedError
        self.commit()
        self.triplake.sparql_update(_prologue(initNs, update) + update)

    # -- prefixes ------------------------------------------------------------------------------------------------------

    def bind(self, prefix: str, namespace: URIRef, override: bool = True) -> None:
        self._names.bind(prefix, namespace, override)

    def namespace(self, prefix: str) -> URIRef | None:
        return self._names.namespace(prefix)

    def prefix(self, namespace: URIRef) -> str | None:
        return self._names.prefix(namespace)

    def namespaces(self) -> Iterator[tuple[str, URIRef]]:
        yield from self._names.namespaces()


def _prologue(spaces: Mapping[str, Any], text: str) -> str:
    """Declarations, in front of its first line, of the prefixes that a text uses and does not declare."""
    declared = set(re.findall(r"\bPREFIX\s+([^\s:]*):", text, re.IGNORECASE))
    used = (name for name in spaces if f"{name}:" in text and name not in declared)
    return "".join(f"PREFIX {name}: <{spaces[name]}> " for name in used)
