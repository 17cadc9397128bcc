"""What the members of classes of equal terms say of themselves, each on its own: records, contradictions, sources."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from typing import Final

import numpy as np

from triplestore.dictionary import encoding
from triplestore.engine.sql import Scratch
from triplestore.model.terms import FIRST_BLANK, FIRST_LITERAL, FIRST_TRIPLE, OWL, RDF, RDFS, SAME_AS, TYPE, builtin
from triplestore.proof.computed import Source
from triplestore.proof.record_linkage import Value, words

PAIRS: Final = 200
"""Pairs of members of one class that are looked at of one kind of clash."""

DIFFERENT: Final = "different"
DISJOINT: Final = "disjoint"
FUNCTIONAL: Final = "functional"
SOURCE: Final = "source"

_NAMESPACE: Final = re.compile(r"[^/#]*$")


@dataclass(frozen=True, slots=True)
class Clash:
    """Two members (ids) of a class that speak against being one. about: the disjoint classes that they are of, or a
    functional property and the value of each (ids); of two names of one source, its name (a token or a namespace)."""

    kind: str
    a: int
    b: int
    about: tuple[int | str, ...] = ()


Clashes = Mapping[int, Sequence[Clash]]
"""Of classes, by representative."""


class Records:
    """What was asserted of each member of a class, equalities and types aside."""

    def __init__(self, source: Source) -> None:
        pi, apart = source.same_as, ", ".join(map(str, (SAME_AS, TYPE, builtin(OWL + "differentFrom"))))
        self._rows = source.engine.query(
            "SELECT m.representative, t.s AS term, coalesce(pm.representative, t.p) AS p, "
            "coalesce(om.representative, t.o) AS o, l.lexical, l.lang "
            f"FROM {source.given} t JOIN {pi} m ON m.term = t.s LEFT JOIN {pi} pm ON pm.term = t.p "
            f"LEFT JOIN {pi} om ON om.term = t.o LEFT JOIN term l ON l.id = t.o AND t.o >= {FIRST_LITERAL} "
            f"WHERE t.p NOT IN ({apart}) AND NOT (t.o >= {FIRST_BLANK} AND t.o < {FIRST_LITERAL}) "
            "ORDER BY m.representative, t.s"
        )
        self._classes = self._rows.column("representative").to_numpy()

    def of(self, representative: int) -> dict[int, dict[int, list[Value]]]:
        """Of each member that is the subject of some triple: property -> values."""
        first, last = np.searchsorted(self._classes, [representative, representative + 1])
        found: dict[int, dict[int, list[Value]]] = {}
        part = self._rows.slice(first, last - first).select(["term", "p", "o", "lexical", "lang"])
        for term, prop, value, text, lang in zip(*(c.to_pylist() for c in part.columns), strict=True):
            known = Value(value) if text is None else Value(value, lang, words(text))
            found.setdefault(term, {}).setdefault(prop, []).append(known)
        return found


def clashes(source: Source, graphs: bool) -> tuple[Clashes, Counter[str]]:
    """Contradictions within classes, and members that are names of one source: of one namespace, or subjects in one
    named graph (`graphs`: the view `quad` can be read); and in how many classes each source has a name."""
    found: dict[int, list[Clash]] = defaultdict(list)
    names = _names(source, graphs)
    with source.engine.scratch() as scratch:
        for representative, clash in (*_declared(source), *_disjoint(source, scratch), *_functional(source)):
            found[representative].append(clash)
    for (representative, name), terms in names.items():
        for a, b in islice(combinations(terms, 2), PAIRS):
            found[representative].append(Clash(SOURCE, a, b, (name,)))
    return found, Counter(name for _, name in names)


def _declared(source: Source) -> Iterator[tuple[int, Clash]]:
    """Members that owl:differentFrom, or a list of owl:AllDifferent, tells apart."""
    pi, different = source.same_as, builtin(OWL + "differentFrom")
    for representative, a, b in source.engine.rows(
        f"SELECT x.representative, t.s, t.o FROM {source.given} t JOIN {pi} x ON x.term = t.s "
        f"JOIN {pi} y ON y.term = t.o AND y.representative = x.representative WHERE t.p = {different} AND t.s <> t.o "
        "ORDER BY t.s, t.o"
    ):
        yield representative, Clash(DIFFERENT, a, b)
    for items in _lists(source, OWL + "AllDifferent"):
        for representative, terms in _by_class(source, items).items():
            for a, b in islice(combinations(terms, 2), PAIRS):
                yield representative, Clash(DIFFERENT, a, b)


def _disjoint(source: Source, scratch: Scratch) -> Iterator[tuple[int, Clash]]:
    """Members of disjoint classes, by their own types, and by the domains and ranges of their own triples."""
    engine, pi = source.engine, source.same_as
    apart, complement = builtin(OWL + "disjointWith"), builtin(OWL + "complementOf")
    pairs = [tuple(row) for row in engine.rows(f"SELECT s, o FROM {source.fact} WHERE p IN ({apart}, {complement})")]
    for items in _lists(source, OWL + "AllDisjointClasses"):
        pairs += combinations(sorted(items), 2)
    both = sorted({pair for a, b in pairs for pair in ((a, b), (b, a)) if a != b})
    if not both:
        return
    values = ", ".join(f"(CAST({a} AS BIGINT), CAST({b} AS BIGINT))" for a, b in both)
    disjoint = scratch.create("apart", f"SELECT v.a, v.b FROM (VALUES {values}) v(a, b)")
    joins = f"FROM {source.given} t JOIN {pi} m ON m.term = t.{{end}} LEFT JOIN {pi} n ON n.term = t.{{of}}"
    types = [
        "SELECT t.s AS term, m.representative, coalesce(n.representative, t.o) AS class "
        f"{joins.format(end='s', of='o')} WHERE t.p = {TYPE}",
        *(
            f"SELECT t.{end} AS term, m.representative, f.o AS class {joins.format(end=end, of='p')} "
            f"JOIN {source.fact} f ON f.s = coalesce(n.representative, t.p) AND f.p = {builtin(RDFS + name)}"
            for end, name in (("s", "domain"), ("o", "range"))
        ),
    ]
    own = scratch.create("own_type", " UNION ".join(types))
    wider = f"JOIN {source.fact} f ON f.s = w.class AND f.p = {builtin(RDFS + 'subClassOf')}"
    every = (
        f"SELECT term, representative, class FROM {own} UNION SELECT w.term, w.representative, f.o FROM {own} w {wider}"
    )
    typed = scratch.create("apart_type", f"SELECT e.* FROM ({every}) e WHERE e.class IN (SELECT d.a FROM {disjoint} d)")
    for representative, a, b, of_a, of_b in engine.rows(
        "SELECT representative, a, b, c, d FROM (SELECT x.representative, x.term AS a, y.term AS b, x.class AS c, "
        "y.class AS d, row_number() OVER (PARTITION BY x.representative ORDER BY x.term, y.term, x.class) AS n "
        f"FROM {typed} x JOIN {typed} y ON y.representative = x.representative AND x.term < y.term "
        f"JOIN {disjoint} p ON p.a = x.class AND p.b = y.class) z WHERE n <= {PAIRS} ORDER BY representative, n"
    ):
        yield representative, Clash(DISJOINT, a, b, (of_a, of_b))


def _functional(source: Source) -> Iterator[tuple[int, Clash]]:
    """Members that a functional property gives different values."""
    pi, functional = source.same_as, builtin(OWL + "FunctionalProperty")
    values = (
        "SELECT m.representative, t.s, f.s AS p, t.o, min(t.o) OVER (PARTITION BY m.representative, f.s) AS least, "
        "max(t.o) OVER (PARTITION BY m.representative, f.s) AS most "
        f"FROM {source.given} t JOIN {pi} m ON m.term = t.s LEFT JOIN {pi} n ON n.term = t.p "
        f"JOIN {source.fact} f ON f.s = coalesce(n.representative, t.p) AND f.p = {TYPE} AND f.o = {functional} "
        f"WHERE t.o >= {FIRST_LITERAL} AND t.o < {FIRST_TRIPLE}"
    )
    groups: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for representative, term, prop, value in source.engine.rows(
        f"SELECT representative, s, p, o FROM ({values}) v WHERE least < most ORDER BY representative, p, s, o"
    ):
        groups[representative, prop].append((term, value))
    for (representative, prop), told in groups.items():
        pairs = ((a, v, b, w) for (a, v), (b, w) in combinations(told, 2) if a != b and v != w)
        for a, v, b, w in islice(pairs, PAIRS):
            yield representative, Clash(FUNCTIONAL, a, b, (prop, v, w))


def _names(source: Source, graphs: bool) -> dict[tuple[int, str], list[int]]:
    """(representative, source) -> the members that are names of the source."""
    engine, pi = source.engine, source.same_as
    names: dict[tuple[int, str], list[int]] = defaultdict(list)
    for representative, term, iri in engine.rows(
        f"SELECT m.representative, m.term, t.lexical FROM {pi} m JOIN term t ON t.id = m.term "
        f"WHERE m.term < {FIRST_BLANK} ORDER BY m.term"
    ):
        names[representative, _NAMESPACE.sub("", iri)].append(term)
    if not graphs:
        return names
    rows = engine.rows(
        f"SELECT DISTINCT m.representative, q.g, q.s FROM quad q JOIN {pi} m ON m.term = q.s WHERE q.g >= 0 "
        f"AND q.p <> {SAME_AS} ORDER BY q.s"
    )
    tokens = encoding.decode(engine, {g for _, g, _ in rows})
    for representative, graph, term in rows:
        if graph in tokens:
            names[representative, tokens[graph]].append(term)
    return names


def _lists(source: Source, kind: str) -> Iterator[list[int]]:
    """The items of the lists of `kind` axioms (owl:members, owl:distinctMembers), as asserted."""
    of_kind = f"k.s = t.s AND k.p = {TYPE} AND k.o = {builtin(kind)}"
    heads = source.engine.rows(
        f"SELECT t.o FROM {source.given} t JOIN {source.given} k ON {of_kind} "
        f"WHERE t.p IN ({builtin(OWL + 'members')}, {builtin(OWL + 'distinctMembers')})"
    )
    if not heads:
        return
    first, rest = (
        dict(source.engine.rows(f"SELECT s, o FROM {source.given} WHERE p = {builtin(RDF + name)}"))
        for name in ("first", "rest")
    )
    for (head,) in heads:
        cell, met, items = head, set[int](), list[int]()
        while cell in first and cell not in met:
            met.add(cell)
            items.append(first[cell])
            cell = rest.get(cell, -1)
        yield items


def _by_class(source: Source, terms: Iterable[int]) -> dict[int, list[int]]:
    """The terms of each class."""
    found: dict[int, list[int]] = defaultdict(list)
    ordered = sorted(set(terms))
    for start in range(0, len(ordered), 1000):
        listed = ", ".join(map(str, ordered[start : start + 1000]))
        for term, representative in source.engine.rows(
            f"SELECT term, representative FROM {source.same_as} WHERE term IN ({listed}) ORDER BY term"
        ):
            found[representative].append(term)
    return found
