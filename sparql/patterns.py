"""Basic graph patterns over (pi, I): a row of representatives stands for all that members of their classes make of it.

Semantics (Motik et al. 2015, "Handling owl:sameAs via rewriting"): the answers are those over the expanded graph, as a
bag. Equalities themselves are not stored: they are the triples `r owl:sameAs r` over representatives r of classes of
two or more (and over what was asserted equal to itself; over all terms where owl:sameAs itself is in a class), expanded
like any other. `sparql.classes` says what becomes of a row.

The order of their joins is by cost. Each pattern's matches, and the rows of joining them, are estimated from counts of
predicates and classes as Selinger et al. 1979 ("Access path selection in a relational database management system") do:
a join over a variable keeps one row in as many as the side with more distinct values has. Greedy: from every pattern
the next is the connected one that leaves fewest rows; of these orders the one with the fewest rows in all its steps
(Moerkotte 2003, the cost C_out). Where there are many patterns, only those with the fewest matches are tried first.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from triplake.sparql.algebra import Triple
from triplake.sparql.classes import MEMBERS
from triplake.sparql.thresholds import THRESHOLDS
from triplestore.closure.expand import RESOURCES, spelled_sql
from triplestore.closure.virtual import RESOURCE, alone_sql, resources_sql
from triplestore.model.expression import Constant, Variable
from triplestore.model.stopping import check
from triplestore.model.terms import FIRST_BLANK, FIRST_LITERAL, SAME_AS, TYPE
from triplestore.storage.statistics import Statistics


@dataclass(frozen=True, slots=True)
class Planned:
    """A triple pattern in its place. matches: of the pattern alone, rows: of the join up to it; both estimated."""

    triple: Triple
    matches: float
    rows: float


@dataclass(frozen=True, slots=True)
class _Estimate:
    """rows: how many; distinct: of how many values, for each variable."""

    rows: float
    distinct: Mapping[str, float]

    def rows_joined(self, other: _Estimate) -> float:
        """How many rows a join has."""
        rows = self.rows * other.rows
        for name in self.distinct.keys() & other.distinct.keys():
            rows /= max(self.distinct[name], other.distinct[name], 1.0)
        return rows

    def joined(self, other: _Estimate) -> _Estimate:
        rows = self.rows_joined(other)
        distinct = {**self.distinct, **other.distinct}
        for name in self.distinct.keys() & other.distinct.keys():
            distinct[name] = min(self.distinct[name], other.distinct[name])
        return _Estimate(rows, {name: min(number, max(rows, 1.0)) for name, number in distinct.items()})


def planned(triples: Sequence[Triple], ids: Mapping[str, int], known: Statistics) -> list[Planned]:
    """The patterns in the order in which to join them. ids: what the closure has for the constants."""
    alone = {triple: _matches(triple, ids, known) for triple in triples}
    starts = sorted(alone, key=lambda triple: alone[triple].rows)[: max(1, THRESHOLDS.ranks // (len(alone) ** 2 or 1))]
    orders = [_greedy(first, triples, alone) for first in starts]
    return min(orders, key=lambda order: sum(step.rows for step in order), default=[])


def _matches(triple: Triple, ids: Mapping[str, int], known: Statistics) -> _Estimate:
    s, p, o = triple
    number = ids[p.token] if isinstance(p, Constant) else None
    counts = known.of(number, ids[o.token] if isinstance(o, Constant) else None)
    rows = counts.facts
    if isinstance(s, Constant):
        rows /= max(counts.subjects, 1.0)
    if isinstance(o, Constant):
        rows /= max(counts.objects, 1.0)
    distinct: dict[str, float] = {}
    sizes = (counts.subjects, float(max(len(known.predicates), 1)), counts.objects)
    for term, size in zip(triple, sizes, strict=True):
        if isinstance(term, Variable):
            distinct[term.name] = min(distinct.get(term.name, size), size, max(rows, 1.0))
    return _Estimate(rows, distinct)


def _greedy(first: Triple, triples: Sequence[Triple], alone: Mapping[Triple, _Estimate]) -> list[Planned]:
    found, now = [Planned(first, alone[first].rows, alone[first].rows)], alone[first]
    left = [triple for triple in triples if triple != first]

    def rank(triple: Triple) -> tuple[bool, float, float]:
        connected = bool(now.distinct.keys() & alone[triple].distinct.keys())
        return not connected, now.rows_joined(alone[triple]), alone[triple].rows

    while left:
        check()
        best = min(left, key=rank)
        left.remove(best)
        now = now.joined(alone[best])
        found.append(Planned(best, alone[best].rows, now.rows))
    return found


_CLASSES: Final = (
    f"SELECT representative AS s, CAST({SAME_AS} AS BIGINT) AS p, representative AS o FROM same_as "
    f"WHERE term = representative AND representative < {FIRST_LITERAL}"
)
_ASSERTED: Final = (
    f"SELECT a.s, a.p, a.o FROM asserted a WHERE a.p = {SAME_AS} AND a.s = a.o "
    "AND NOT EXISTS (SELECT 1 FROM same_as e WHERE e.term = a.s)"
)

_PLACES: Final = "spo"

GRAPH: Final = ".graph"
"""The name of the graph of a pattern that is matched with quads, among the names of variables."""


@dataclass(frozen=True, slots=True)
class Matching:
    """How patterns read the tables.

    rewriting: `fact` holds representatives and no owl:sameAs. expanding: variables range over classes. reflexive: `c
    owl:sameAs c` holds for every c. generalised: some facts are no RDF, and hidden. facts: what stands after FROM for
    the facts with literals in their asserted forms: variables range over these, a literal in a pattern matches by its
    value, in `fact`; values: the same, not in those forms. literals: some of the classes that are expanded have
    literals, which are objects in answers, never subjects: `facts` and `values` spell them out
    (`triplestore.closure.expand.spelled_sql`), and classes stand for their other members. barred: a literal is no
    subject even where it equals one. choosing: variables show the member of each class that stands for it, which need
    not be the representative. linked: there may be triples of owl:sameAs over representatives. resources: every term is
    an rdfs:Resource (`triplestore.closure.virtual`): "terms" without literals, "all" with them, "" if there is no such
    rule. named: owl:sameAs itself is in a class. base: what stands after FROM for the triples themselves: `fact`, or
    those of graphs (`triplake.sparql.dataset`). single: predicates whose objects have one form each, so that `base` has
    them as they were asserted. graphs: what stands after FROM for the graphs (g) that there are, where
    these are quads: a column g says which graph each is in, and a pattern is matched within one. statistics: see
    `sparql.query.Graph`.
    """

    rewriting: bool
    expanding: bool
    reflexive: bool
    generalised: bool
    facts: str = "fact"
    values: str = "fact"
    literals: bool = False
    barred: bool = False
    choosing: bool = False
    linked: bool = True
    resources: str = ""
    named: bool = False
    base: str = "fact"
    single: frozenset[int] = frozenset()
    graphs: str = ""
    statistics: Statistics = field(default_factory=Statistics)

    @property
    def links(self) -> str:
        """owl:sameAs over representatives, each standing for its whole class, as SQL; as `facts` has triples."""
        links = f"{_CLASSES} UNION ALL {alone_sql() if self.named else _ASSERTED}"
        if self.facts == self.base:
            return links
        if self.literals:
            return spelled_sql(f"({links})", forms=self.facts != self.values)
        return f"SELECT s, p, o, o AS v FROM ({links}) l"

    @property
    def members(self) -> str:
        """(term, representative) of the classes that a variable ranges over."""
        return RESOURCES if self.literals else MEMBERS


def match(
    triples: Sequence[Triple],
    columns: Mapping[str, str],
    representatives: Mapping[str, int],
    how: Matching,
    subjects: Collection[str] = (),
) -> tuple[str, list[Planned]]:
    """The SELECT of a basic graph pattern's matches over representatives: a column per variable, rows distinct; and the
    order of its joins.

    columns: the column of each variable; of `GRAPH` that of the graph, where the pattern is matched with quads.
    representatives: the (normalised) ids of the constants. subjects: variables that are no literals.
    """
    atoms: list[Triple] = []
    for triple in dict.fromkeys(triples):
        s, p, o = (representatives[t.token] if isinstance(t, Constant) else None for t in triple)
        barred = how.barred and isinstance(triple[0], Constant) and triple[0].token[0] in '"('
        ends = how.reflexive and p == SAME_AS and s is not None and o is not None
        if barred or (ends and (s == o or how.rewriting)):
            if s == o and ends and not barred:
                continue
            nulls = [f"CAST(NULL AS BIGINT) AS {column}" for column in columns.values()]
            return f"SELECT {', '.join(nulls) or '1 AS unit'} WHERE FALSE", []
        atoms.append(triple)
    order = planned(atoms, representatives, how.statistics)
    return (_joined(atoms, order, columns, representatives, how, subjects) if atoms else "SELECT 1 AS unit"), order


def _joined(
    atoms: Sequence[Triple],
    order: Sequence[Planned],
    columns: Mapping[str, str],
    representatives: Mapping[str, int],
    how: Matching,
    subjects: Collection[str],
) -> str:
    """The join of the atoms over representatives. A variable that several have as object is joined by value, and shows
    the forms that the first of them, as they were written, has."""
    shows = {o.name: (s, p, o) for s, p, o in reversed(atoms) if isinstance(o, Variable)}
    if how.literals:
        shows = {name: atom for name, atom in shows.items() if name not in subjects}
    shown: dict[str, str] = {}
    values: dict[str, str] = {}
    steps: list[str] = []
    filters: list[str] = []
    for number, atom in enumerate(step.triple for step in order):
        alias, conditions = f"f{number}", []
        predicate = representatives[atom[1].token] if isinstance(atom[1], Constant) else None
        forms = how.facts != how.base and isinstance(atom[2], Variable) and shows.get(atom[2].name) == atom
        forms = forms and predicate not in how.single
        for place, term in zip(_PLACES, atom, strict=True):
            column = f"{alias}.{place}"
            if isinstance(term, Constant):
                conditions.append(f"{column} = {representatives[term.token]}")
                continue
            value = f"{alias}.v" if forms and place == "o" else column
            if term.name in values:
                conditions.append(f"{value} = {values[term.name]}")
            values.setdefault(term.name, value)
            if term.name not in shown or value != column:
                shown[term.name] = column
        if how.graphs:
            conditions += [f"{alias}.g = f0.g"] * (number > 0)
            shown[GRAPH] = "f0.g"
        if how.generalised:
            conditions += [f"{alias}.s < {FIRST_LITERAL}", f"{alias}.p < {FIRST_BLANK}"]
        reading = how if forms else replace(how, facts=how.base)
        end = representatives[atom[2].token] if isinstance(atom[2], Constant) else None
        table = f"{source(predicate, reading, end)} {alias}"
        if number == 0:
            steps.append(table)
            filters = conditions
        else:
            steps.append(f"JOIN {table} ON {' AND '.join(conditions)}" if conditions else f"CROSS JOIN {table}")
    selected = ", ".join(f"{shown[name]} AS {column}" for name, column in columns.items()) or "1 AS unit"
    where = f" WHERE {' AND '.join(filters)}" if filters else ""
    return f"SELECT {selected} FROM {' '.join(steps)}{where}"


def source(predicate: int | None, how: Matching, end: int | None = None) -> str:
    """The triples over representatives that a pattern with this predicate and object (None: any) may match, as a
    table; with a column v, the object by value, if `how.facts` has it."""
    links, value = how.links, ", v" if how.facts != how.base else ""
    if how.resources and (predicate, end) == (TYPE, RESOURCE):
        return f"({resources_sql(source(None, replace(how, facts=how.base)), how.resources == 'all')})"
    if not how.rewriting or (predicate is None and not how.linked):
        return how.facts
    if predicate is None:
        return f"(SELECT s, p, o{value} FROM {how.facts} f UNION ALL {links})"
    return f"({links})" if predicate == SAME_AS else how.facts


def triples_of_rdf(table: str, how: Matching, condition: str = "TRUE") -> str:
    """The SELECT of those triples of a table that RDF has a place for."""
    if how.generalised:
        condition += f" AND s < {FIRST_LITERAL} AND p < {FIRST_BLANK}"
    return f"SELECT {'g, ' if how.graphs else ''}s, p, o FROM {table} f WHERE {condition}"


def iris_of(triples: Sequence[Triple]) -> frozenset[str]:
    """The variables in predicate position."""
    return frozenset(p.name for _, p, _ in triples if isinstance(p, Variable))


def subjects_of(triples: Sequence[Triple]) -> frozenset[str]:
    """The variables in subject position."""
    return frozenset(s.name for s, _, _ in triples if isinstance(s, Variable))
