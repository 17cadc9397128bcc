"""Small graphs for the SPARQL tests: the tables made by hand, and the expanded graph that answers must be over."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import product

import pyarrow as pa
import pyoxigraph as ox

from triplake.sparql import Graph
from triplestore.closure.view import ClosureView
from triplestore.dictionary import object_types
from triplestore.dictionary.term_rows import term_sql
from triplestore.engine import Engine
from triplestore.model.equality import Equality
from triplestore.model.terms import (
    BUILTIN_IRIS,
    FIRST_BLANK,
    FIRST_IRI,
    FIRST_LITERAL,
    FIRST_TRIPLE,
    OWL,
    RDF,
    XSD,
    split_literal,
)

Triple = tuple[str, str, str]
Quad = tuple[str, str, str, str]
Row = tuple[str, ...]
"""A triple, or a quad."""

SAME = f"<{OWL}sameAs>"


def numbered(tokens: Iterable[str]) -> dict[str, int]:
    """Ids for tokens, by kind, in an order unlike the alphabet's (nothing may rely on it)."""
    ids = {f"<{iri}>": number for number, iri in enumerate(BUILTIN_IRIS)}
    firsts = {"<": FIRST_IRI, "_": FIRST_BLANK, '"': FIRST_LITERAL, "(": FIRST_TRIPLE}
    for token in sorted(set(tokens) - ids.keys(), key=lambda t: t[::-1]):
        ids[token] = firsts[token[0]]
        firsts[token[0]] += 1
    return ids


def make_graph(
    engine: Engine,
    facts: Iterable[Triple],
    classes: Sequence[Sequence[str]] = (),
    asserted: Iterable[Triple] = (),
    equality: str = "rewrite",
    generalised: bool = False,
    quads: Iterable[Quad] = (),
) -> Graph:
    """The working tables of a graph; `facts` are normalised here. quads: of named graphs beside it (s, p, o, g)."""
    facts, asserted, quads = list(facts), list(asserted), list(quads)
    used = [t for row in [*facts, *asserted, *quads] for t in row] + [t for members in classes for t in members]
    ids = numbered(used)
    leader = {ids[t]: min(ids[m] for m in members) for members in classes for t in members}

    def table(rows: Iterable[tuple[int, ...]], names: Sequence[str]) -> pa.Table:
        listed = sorted(set(rows))
        return pa.table({n: pa.array([r[i] for r in listed], pa.int64()) for i, n in enumerate(names)})

    engine.load("term_token", pa.table({"id": pa.array(ids.values(), pa.int64()), "token": list(ids)}))
    engine.create("term", term_sql(engine.dialect, "term_token"))
    engine.drop("term_token")
    engine.load("fact", table((tuple(leader.get(ids[t], ids[t]) for t in f) for f in facts), "spo"))
    engine.load("asserted", table((tuple(ids[t] for t in a) for a in asserted), "spo"))
    engine.load("quad", table(((ids[g], ids[s], ids[p], ids[o]) for s, p, o, g in quads), "gspo"))
    engine.load("same_as", table(leader.items(), ("term", "representative")))
    view = ClosureView(Equality(equality), len(classes), generalised=generalised)
    types = object_types.grouped(object_types.of_triples(engine, "fact", "asserted"))
    return Graph(engine, view, union=False, types=lambda: types)


def expanded(facts: Iterable[Triple], classes: Sequence[Sequence[str]], asserted: Iterable[Triple]) -> set[Triple]:
    """The graph that answers must be over: every fact for all members of its terms' classes, and the equalities."""
    members = {token: tuple(group) for group in classes for token in group}
    found = {
        triple
        for fact in facts
        for triple in product(*(members.get(t, (t,)) for t in fact))
        if triple[0][0] not in '"(' and triple[1][0] == "<"
    }
    found |= {(a, SAME, b) for group in classes for a in group for b in group}
    return found | {triple for triple in asserted if triple[1] == SAME and triple[0] == triple[2]}


def ox_term(token: str) -> ox.NamedNode | ox.BlankNode | ox.Literal:
    if token[0] == "<":
        return ox.NamedNode(token[1:-1])
    if token[0] == "_":
        return ox.BlankNode(token[2:])
    lexical, datatype, lang = split_literal(token)
    return ox.Literal(lexical, language=lang) if lang else ox.Literal(lexical, datatype=ox.NamedNode(datatype))


def ox_store(quads: Iterable[Row]) -> ox.Store:
    store = ox.Store()
    store.extend(ox.Quad(*(ox_term(t) for t in quad)) for quad in quads)  # type: ignore[arg-type]
    return store


def ox_token(term: object) -> str | None:
    if term is None:
        return None
    if isinstance(term, ox.NamedNode):
        return f"<{term.value}>"
    if isinstance(term, ox.BlankNode):
        return f"_:{term.value}"
    assert isinstance(term, ox.Literal)
    if term.language:
        return f'"{term.value}"@{term.language}'
    datatype = term.datatype.value
    return f'"{term.value}"' if datatype == XSD + "string" else f'"{term.value}"^^<{datatype}>'


def canonical(token: str | None) -> object:
    """A term with numbers by type and value: engines write computed decimals and doubles differently."""
    if token is None or token[0] != '"':
        return token
    lexical, datatype, _ = split_literal(token)
    if datatype in (XSD + "decimal", XSD + "double", XSD + "float"):
        try:
            return datatype, str(round(float(lexical), 9))
        except ValueError:
            return token
    return token


def bag(rows: Iterable[Sequence[str | None]]) -> Counter[tuple[object, ...]]:
    return Counter(tuple(canonical(t) for t in row) for row in rows)


def reference(store: ox.Store, text: str, variables: Sequence[str]) -> list[tuple[str | None, ...]]:
    """Oxigraph's answer, in its order."""
    return [tuple(ox_token(row[name]) for name in variables) for row in store.query(text)]


__all__ = ["RDF", "SAME", "bag", "expanded", "make_graph", "ox_store", "reference"]
