"""A Triplake store as a store of RDFLib's: `Graph(store="Triplake")`, or `Dataset(store="Triplake")`, then
`graph.open(path, create=True)`.

RDFLib adds and removes one triple at a time, Triplake by transactions. So changes are gathered, and become one
transaction with `commit` or `close`, or before anything is read: what is read is the closure, all equalities expanded;
of a named graph what is asserted in it.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Iterator, Mapping
from typing import Any

import rdflib
import rdflib.store
from rdflib.graph import DATASET_DEFAULT_GRAPH_ID
from rdflib.plugins.stores.memory import SimpleMemory
from rdflib.query import Result
from rdflib.store import NO_STORE, VALID_STORE
from rdflib.term import BNode, URIRef, Variable

from triplestore.model.dataset import DEFAULT, TRIPLE
from triplestore.model.errors import UsageError
from triplestore.model.terms import to_rdflib
from triplestore.storage.versions import Versions
from triplestore.store import Store
from triplestore.write.update import to_add, to_delete


class TriplakeStore(rdflib.store.Store):
    """The store that RDFLib knows as "Triplake".

    Its configuration is the path of a store, or a mapping with `path` and options of `Store.create` and `Store.open`
    (`rules`, `equality`, `default_graph`, `engine`, `spark`, `at` ...). A new store has no rules unless some are asked
    for, and its default graph is the unnamed one: it holds what was added, as RDFLib's own stores do. Only asserted
    triples can be removed; namespaces that are bound are kept in memory, beside the store's prefixes. `rollback`
    forgets what was changed since the last commit or read.

    A `Graph` that is named by an IRI is a named graph; one that is named by a blank node is the default graph, unless
    `Dataset.graph` has made it, or this store has named it.

    Invariant: `_pending` holds what has changed and is not in the store yet, in order: a triple, with the name of a
    graph as a fourth if it is in one, and whether it is to be there.
    """

    transaction_aware = True
    context_aware = True
    graph_aware = True

    def __init__(self, configuration: Any = None, identifier: Any = None) -> None:
        self._store: Store | None = None
        self._pending: list[tuple[Any, bool]] = []
        self._blank: set[BNode] = set()  # the graphs named by blank nodes that a Dataset has made, or that are stored
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
        path = options.pop("path")
        making = {name: options.pop(name) for name in ("rules", "equality", "default_graph") if name in options}
        self.close()
        if Versions(path).numbers():
            self._store = Store.open(path, **options)
        elif create:
            self._store = Store.create(path, **{"rules": "none", "default_graph": "separate", **making}, **options)
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
        """Delete the store at a path, for good. Raises UsageError where there is none. What is open is closed, and what
        was changed in it committed, unless it is that store."""
        versions = Versions(configuration["path"] if isinstance(configuration, Mapping) else configuration)
        versions.check()
        if self._store is not None and self._store.path == versions.path:
            self.rollback()
        self.close()
        versions.place.destroy()

    # -- changing ------------------------------------------------------------------------------------------------------

    def add(self, triple: Any, context: Any = None, quoted: bool = False) -> None:
        """Add a triple to those that the next commit asserts. Raises UsageError for one that it would refuse."""
        if quoted:
            raise UsageError("Triplake holds no quoted statements")
        if self._store is None:
            self._opened()
        name = self._graph_name(context)
        self._gather((*triple, name) if name is not None else triple, True)
        if self.dispatcher.get_map():  # type: ignore[no-untyped-call]  # somebody wants to know
            super().add(triple, context, quoted)

    def remove(self, triple: Any, context: Any = None) -> None:
        """Take the asserted triples that match a pattern (None is any) away at the next commit, from one graph, or from
        all without a context (or where the default graph is the union of all, and the context a `Graph` without a
        name). What follows from others still holds then."""
        separate = self._opened().default_graph == "separate"
        name = self._graph_name(context)
        named = name is not None or _is_default(context) or (separate and context is not None)
        if None not in triple and named:
            self._gather((*triple, name or _UNNAMED), False)
        elif None not in triple and not self._several():
            self._gather(triple, False)
        else:
            self.commit()
            s, p, o = triple
            graph = (name or _UNNAMED) if named else None
            found = self.triplake.match_quads(s, p, o, graph)
            self._pending += [((s, p, o, g or _UNNAMED), False) for s, p, o, g in found]
        super().remove(triple, context)

    def _gather(self, quad: Any, there: bool) -> None:
        """Note a change for the next commit, of a quad that it takes: it would refuse all for one that it does not."""
        (to_add if there else to_delete)((quad,))
        self._pending.append((quad, there))

    def add_graph(self, graph: Any) -> None:
        """Let there be a graph, maybe an empty one."""
        if isinstance(graph.identifier, BNode):
            self._blank.add(graph.identifier)
        elif not _is_default(graph):
            self.commit()
            self._opened().sparql_update(f"CREATE SILENT GRAPH {graph.identifier.n3()}")

    def remove_graph(self, graph: Any) -> None:
        """Remove a named graph and what is in it. The default graph stays as it is: RDFLib's readers of N-Quads remove
        it from any store before they read, and take it for empty."""
        name = self._graph_name(graph)
        if isinstance(name, URIRef):
            self.commit()
            self._opened().sparql_update(f"DROP SILENT GRAPH {name.n3()}")
        elif name is not None:
            self.remove((None, None, None), graph)
            self._blank.discard(name)

    def _graph_name(self, context: Any) -> Any:
        """The name of the graph that a context is, None for the default graph."""
        if context is None or _is_default(context):
            return None
        name = getattr(context, "identifier", context)
        if isinstance(name, BNode) and name not in self._blank:
            return None
        return name

    def commit(self) -> None:
        """Make what has changed one transaction, and bring the closure up to date."""
        if self._pending:
            pending, self._pending = self._pending, []  # what another thread changes meanwhile is of the next
            delete = list[Any]()
            add: Iterable[Any] = (quad for quad, _ in pending)
            try:
                if not all(there for _, there in pending):
                    add, delete = self._net(pending)
                self.triplake.update(add=add, delete=delete)
            except BaseException as error:
                self._pending[:0] = pending
                if isinstance(error, UsageError):
                    error.add_note(
                        "what was changed since the last commit is still to be committed: `rollback` forgets it"
                    )
                raise

    def _net(self, pending: list[tuple[Any, bool]]) -> tuple[list[Any], list[Any]]:
        """What is to be added, and what is to be deleted before that, by the last word on each triple in each graph."""
        everywhere = None if self.triplake.default_graph == "union" else _UNNAMED
        last: dict[Any, dict[Any, bool]] = {}
        for (s, p, o, *graph), there in pending:
            names = last.setdefault((s, p, o), {})
            name = graph[0] if graph else _UNNAMED if there else everywhere
            if name is None:
                names.clear()
            names[name] = there
        quads = [(triple if g is None else (*triple, g), there) for triple, n in last.items() for g, there in n.items()]
        return [quad for quad, there in quads if there], [quad for quad, there in quads if not there]

    def rollback(self) -> None:
        """Forget what has changed since the last commit, or read."""
        self._pending.clear()

    # -- reading -------------------------------------------------------------------------------------------------------

    def triples(self, triple_pattern: Any, context: Any = None) -> Iterator[tuple[Any, Iterator[Any]]]:
        """The triples of a graph that match a pattern (None is any), or of all, each with the graphs that it is in. The
        default graph's are the closure's."""
        self.commit()
        store, name = self.triplake, self._graph_name(context)
        if name is not None:
            subject, predicate, obj = triple_pattern
            for s, p, o, _ in store.match_quads(subject, predicate, obj, name):
                yield (s, p, o), iter((context,))
            return
        if context is not None or not self._named():
            default = self._default() if context is None else context
            for triple in store.match(*triple_pattern):
                yield triple, iter((default,))
            return
        yield from self._everywhere(triple_pattern)

    def _everywhere(self, pattern: Any) -> Iterator[tuple[Any, Iterator[Any]]]:
        """The triples of all graphs, each with those that it is in; what is inferred is in the default graph."""
        store, graphs = self.triplake, dict[Any, list[Any]]()
        for s, p, o, name in store.match_quads(*pattern):
            graphs.setdefault((s, p, o), []).append(self._default() if name is None else self._graph(name))
        for triple in store.match(*pattern):
            found = graphs.pop(triple, None)
            yield triple, iter([self._default()] if found is None else found)
        for triple, found in graphs.items():
            yield triple, iter(found)

    def contexts(self, triple: Any = None) -> Generator[Any, None, None]:
        """The graphs, or those that a triple is in."""
        self.commit()
        if triple is None or triple == (None, None, None):
            names = [to_rdflib(size.name) for size in self.triplake.graphs()[1:]]
            yield from map(self._graph, dict.fromkeys((*names, *self._blank)))
            return
        for _, found in list(self.triples(triple)):
            yield from found

    def _named(self) -> bool:
        """Whether there are named graphs with triples."""
        return self.triplake.has_named_graphs

    def _several(self) -> bool:
        """Whether a triple may be in named graphs that deleting it from the default graph leaves it in."""
        pending = any(len(quad) > TRIPLE for quad, _ in self._pending)
        return self.triplake.default_graph == "separate" and (self._named() or pending)

    def _graph(self, name: Any) -> rdflib.Graph:
        if isinstance(name, BNode):
            self._blank.add(name)
        return rdflib.Graph(store=self, identifier=name)

    def _default(self) -> rdflib.Graph:
        return self._graph(DATASET_DEFAULT_GRAPH_ID)

    def __len__(self, context: Any = None) -> int:
        """Distinct triples of a graph, or of all; the default graph's are the closure's."""
        self.commit()
        name = self._graph_name(context)
        if name is not None:
            return sum(1 for _ in self.triplake.match_quads(graph=name))
        if context is None and self._named() and self.triplake.default_graph == "separate":
            return sum(1 for _ in self._everywhere((None, None, None)))
        return self.triplake.count()

    def query(self, query: Any, initNs: Any, initBindings: Any, queryGraph: Any, **options: Any) -> Result:  # noqa: N803
        """Answer a query by Triplake. RDFLib does it itself, over `triples`, where there are bindings or options other
        than `same_as` (see `Store.query`), it has parsed the query, or asks it of a named graph, or of all graphs where
        these are not the store's default graph."""
        if not isinstance(query, str) or initBindings or options.keys() - {"same_as"} or self._elsewhere(queryGraph):
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
        if not isinstance(update, str) or initBindings or options or self._elsewhere(queryGraph):
            raise NotImplementedError
        self.commit()
        self.triplake.sparql_update(_prologue(initNs, update) + update)

    def _elsewhere(self, graph: Any) -> bool:
        """Whether RDFLib asks something of other triples than the default graph's. graph: a name, or `__UNION__`."""
        if graph == "__UNION__":
            return self._opened().default_graph == "separate" and self._named()
        return self._graph_name(graph) is not None

    # -- prefixes ------------------------------------------------------------------------------------------------------

    def bind(self, prefix: str, namespace: URIRef, override: bool = True) -> None:
        self._names.bind(prefix, namespace, override)

    def namespace(self, prefix: str) -> URIRef | None:
        return self._names.namespace(prefix)

    def prefix(self, namespace: URIRef) -> str | None:
        return self._names.prefix(namespace)

    def namespaces(self) -> Iterator[tuple[str, URIRef]]:
        yield from self._names.namespaces()


_UNNAMED = URIRef(DEFAULT[1:-1])
"""The name of the unnamed graph."""


def _is_default(context: Any) -> bool:
    """Whether a context is the default graph of a `Dataset`."""
    return bool(getattr(context, "identifier", context) == DATASET_DEFAULT_GRAPH_ID)


def _prologue(spaces: Mapping[str, Any], text: str) -> str:
    """Declarations, in front of its first line, of the prefixes that a text uses and does not declare."""
    declared = set(re.findall(r"\bPREFIX\s+([^\s:]*):", text, re.IGNORECASE))
    used = (name for name in spaces if f"{name}:" in text and name not in declared)
    return "".join(f"PREFIX {name}: <{spaces[name]}> " for name in used)
